"""`torch`: a NumPy function as an operation of PyTorch."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch as pytorch

from linad.core import tree
from linad.core.shapes import check_function, name_of
from linad.errors import ArgumentError, DTypeError
from linad.interop.flat_programs import FlatFunction, Program, Pulled, Pushed


def torch(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a NumPy function an operation of PyTorch, which autograd differentiates.

    Parameters
    ----------
    f : callable
        A function of arrays, or containers of arrays, in plain NumPy; compiled by `jit` or not.

    Returns
    -------
    callable
        Takes tensors where ``f`` takes arrays, and returns tensors in the containers that ``f``
        returns. Other arguments go to ``f`` as they are.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    ArgumentError
        When called, for a tensor that is not on the CPU, or is sparse.
    DTypeError
        When called, for a tensor of a dtype that NumPy does not have.
    OutputError
        When called, if ``f`` returns something other than arrays.

    Notes
    -----
    ``f`` runs once in a forward pass, and is linearized where a tensor needs a gradient; only
    cotangents that are asked for are computed. Gradients may be differentiated again
    (``create_graph=True``, at the price of another run of ``f``). `torch.func.grad`, ``vjp``,
    ``jvp`` and ``hessian`` work as well; `torch.func.vmap` calls ``f`` for one entry after the
    other. ``f`` gets copies: what it writes into its arguments is not seen outside.

    Examples
    --------
    >>> import numpy as np, torch, linad
    >>> norm = linad.interop.torch(lambda x: np.sqrt(np.sum(x**2)))
    >>> x = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> norm(x).backward()
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    check_function("interop.torch", f)

    @functools.wraps(f)
    def operation(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs))
        places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, pytorch.Tensor)]
        for k in places:
            _check(leaves[k], f"{name_of(f)}: the tensor {tree.leaf_paths(structure)[k]}")
        flat = FlatFunction(f, "torch", leaves, structure, places)
        tensors = [leaves[k] for k in places]
        program = Program(flat)
        if pytorch.is_grad_enabled():
            program.wanted = tuple([i for i, t in enumerate(tensors) if t.requires_grad])
        results = _Apply.apply(program, *tensors)
        return tree.unflatten(flat.out_tree, list(results))

    return operation


class _Apply(pytorch.autograd.Function):
    """A program of tensors. Its derivatives are programs as well, and so have derivatives."""

    @staticmethod
    def forward(program: Program, *tensors: Any) -> Any:
        results = program.value(*[_array(t) for t in tensors])
        return tuple([pytorch.from_numpy(y) for y in results])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.program, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.floating = [y.is_floating_point() or y.is_complex() for y in output]
        ctx.mark_non_differentiable(
            *[y for y, floating in zip(output, ctx.floating, strict=True) if not floating]
        )

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        point = ctx.saved_tensors
        wrt = tuple([i for i, needed in enumerate(ctx.needs_input_grad[1:]) if needed])
        given = [w for w, floating in zip(cotangents, ctx.floating, strict=True) if floating]
        pulled = iter(_Apply.apply(Pulled(ctx.program, wrt, len(point)), *point, *given))
        return None, *[next(pulled) if i in wrt else None for i in range(len(point))]

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        point = ctx.saved_tensors
        wrt = tuple([i for i, t in enumerate(tangents) if t is not None])
        given = [tangents[i] for i in wrt]
        pushed = iter(_Apply.apply(Pushed(ctx.program, wrt, len(point)), *point, *given))
        return tuple([next(pushed) if floating else None for floating in ctx.floating])

    @staticmethod
    def vmap(info: Any, in_dims: Any, program: Program, *tensors: Any) -> Any:
        rows = [
            _Apply.apply(
                program,
                *[
                    t if axis is None else t.select(axis, k)
                    for t, axis in zip(tensors, in_dims[1:], strict=True)
                ],
            )
            for k in range(info.batch_size)
        ]
        stacked = tuple([pytorch.stack(column) for column in zip(*rows, strict=True)])
        return stacked, (0,) * len(stacked)


def _array(tensor: Any) -> np.ndarray:
    """A tensor's numbers as an array, of the same memory where that can be."""
    return tensor.detach().resolve_conj().resolve_neg().numpy()


def _check(tensor: Any, what: str) -> None:
    """Raise if a tensor's numbers cannot be had as an array."""
    if tensor.device.type != "cpu":
        raise ArgumentError(
            f"interop.torch: {what} is on the device {tensor.device}, and NumPy computes on the "
            f"CPU; pass x.cpu(), which autograd differentiates"
        )
    if tensor.layout is not pytorch.strided:
        raise ArgumentError(
            f"interop.torch: {what} has the layout {tensor.layout}, which has no NumPy array; "
            f"pass x.to_dense()"
        )
    if tensor.dtype in (pytorch.bfloat16, pytorch.complex32):
        raise DTypeError(
            f"interop.torch: {what} has dtype {tensor.dtype}, which NumPy does not have; "
            f"pass x.float()"
        )
