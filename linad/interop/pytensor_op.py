"""`pytensor`: a NumPy function as an operation of PyTensor, for models of PyMC."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.op import Op
from pytensor.tensor.exceptions import ShapeError as NoShape

from linad.core import tree
from linad.core.shapes import check_function, is_inexact, name_of
from linad.errors import ArgumentError, DTypeError, ShapeError
from linad.interop.flat_programs import FlatFunction, Positions, Program, Pulled, stand_in


def pytensor(f: Callable[..., Any], *, result: Any = None) -> Callable[..., Any]:
    """Make a NumPy function an operation of PyTensor, which has a gradient.

    Parameters
    ----------
    f : callable
        A function of real arrays, or containers of arrays, in plain NumPy; compiled by `jit`
        or not.
    result : container, optional
        What ``f`` returns: types or variables of PyTensor (``pytensor.tensor.dscalar``), in its
        containers. By default it is found by running ``f``.

    Returns
    -------
    callable
        Takes variables where ``f`` takes arrays, and returns variables in the containers that
        ``f`` returns. Other arguments go to ``f`` as they are.

    Raises
    ------
    ImportError
        If PyTensor is not installed.
    ArgumentError
        When called, if ``f`` fails at the numbers that types of results are found with.
    DTypeError
        When called, for complex variables.
    ShapeError
        When computed, if a result has another number of axes, or another dtype, than before.

    Notes
    -----
    The operation has an ``L_op`` and an ``R_op`` of any order, so `pytensor.grad`, Hessians and
    the samplers of PyMC work. Value and gradient at one point run ``f`` once. PyTensor must know
    the types of results before it runs: they are those of one run of ``f`` at the values of
    constants and shared variables, and at made-up numbers for others (positive ones; square
    matrices are positive definite, integers 0, axes of unknown length 3), or ``result``. No
    cotangents are computed for constants, so pass data as such or in a closure.

    Examples
    --------
    >>> import numpy as np, pytensor, pytensor.tensor as pt, linad
    >>> norm = linad.interop.pytensor(lambda x: np.sqrt(np.sum(x**2)))
    >>> x = pt.dvector("x")
    >>> pytensor.function([x], pytensor.grad(norm(x), x))([3.0, 4.0])
    array([0.6, 0.8])
    """
    check_function("interop.pytensor", f)

    @functools.wraps(f)
    def operation(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs))
        places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Variable)]
        variables = [pt.as_tensor_variable(leaves[k]) for k in places]
        for k, x in zip(places, variables, strict=True):
            if np.dtype(x.dtype).kind == "c":
                raise DTypeError(
                    f"interop.pytensor: the variable {tree.leaf_paths(structure)[k]} of "
                    f"{name_of(f)} is complex, and PyTensor's gradients are of real variables; "
                    f"pass its real and imaginary parts"
                )
        flat = FlatFunction(f, "pytensor", leaves, structure, places)
        program = Program(flat)
        if result is None:
            types, out_tree = _tried(program, variables, name_of(f)), flat.out_tree
        else:
            found, out_tree = tree.flatten(result)
            types = [getattr(y, "type", y) for y in found]
        return tree.unflatten(out_tree, ProgramOp(program, types)(*variables, return_list=True))

    return operation


def _tried(program: Program, variables: Sequence[Any], name: str) -> list[Any]:
    """The types of the results of a program, from one run of it."""
    try:
        with np.errstate(all="ignore"):
            results = program(*[_sample(x) for x in variables])
    except Exception as error:
        raise ArgumentError(
            f"interop.pytensor: PyTensor must know the types of results before it runs {name}, "
            f"and it fails at made-up numbers ({type(error).__name__}: {error}); state them: "
            f"linad.interop.pytensor({name}, result=pytensor.tensor.dscalar)"
        ) from error
    fixed = all(None not in x.type.shape for x in variables)
    return [
        pt.TensorType(str(y.dtype), np.shape(y) if fixed else (None,) * np.ndim(y)) for y in results
    ]


def _sample(x: Any) -> np.ndarray:
    if isinstance(x, Constant):
        return np.asarray(x.data)
    if isinstance(x, SharedVariable):
        return np.asarray(x.get_value())
    return stand_in([3 if n is None else n for n in x.type.shape], x.dtype)


class ProgramOp(Op):
    """A program as an operation of PyTensor. Its derivatives are programs, and such operations.

    Parameters
    ----------
    program : Program
    types : list of TensorType
        Of the results.
    """

    __props__ = ("program",)

    def __init__(self, program: Program, types: Sequence[Any]) -> None:
        self.program, self.types = program, types

    def __str__(self) -> str:
        return f"linad({name_of(self.program.function)})"

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(map(pt.as_tensor_variable, inputs)), [t() for t in self.types])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        results = self.program.value(*inputs)
        for y, expected, storage in zip(results, self.types, output_storage, strict=True):
            if y.ndim != expected.ndim or str(y.dtype) != expected.dtype:
                raise ShapeError(
                    f"interop.pytensor: {name_of(self.program.function)} returned "
                    f"{y.dtype}{list(y.shape)}, and the operation was made for {expected}; "
                    f"state what it returns: result=..."
                )
            storage[0] = y

    def infer_shape(self, fgraph: Any, node: Apply, shapes: Any) -> Any:
        if not isinstance(self.program, Pulled):
            raise NoShape("known when the function has run")
        return [shapes[i] for i in self.program.wrt]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        wrt = self._differentiable(node.inputs)
        floating = [is_inexact(np.dtype(t.dtype)) for t in self.types]
        return [[i in wrt and f for f in floating] for i in range(len(node.inputs))]

    @staticmethod
    def _differentiable(inputs: Sequence[Any]) -> Positions:
        return tuple(
            [
                i
                for i, x in enumerate(inputs)
                if is_inexact(np.dtype(x.dtype)) and not isinstance(x, Constant)
            ]
        )

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        wrt = self._differentiable(inputs)
        cotangents = [
            y.zeros_like() if isinstance(w.type, DisconnectedType) else w
            for y, w in zip(outputs, output_grads, strict=True)
            if is_inexact(np.dtype(y.dtype))
        ]
        program = self.program.pulled(wrt, len(inputs))
        pulled = ProgramOp(program, [inputs[i].type for i in wrt])
        found = iter(pulled(*inputs, *cotangents, return_list=True))
        return [next(found) if i in wrt else DisconnectedType()() for i in range(len(inputs))]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        wrt = tuple([i for i, t in enumerate(eval_points) if t is not None])
        floating = [is_inexact(np.dtype(t.dtype)) for t in self.types]
        program = self.program.pushed(wrt, len(inputs))
        pushed = ProgramOp(program, [t for t, f in zip(self.types, floating, strict=True) if f])
        tangents = [eval_points[i] for i in wrt]
        found = iter(pushed(*inputs, *tangents, return_list=True))
        return [next(found) if f else None for f in floating]
