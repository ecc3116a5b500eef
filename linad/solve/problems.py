"""The functions that solvers work on, as functions of one flat vector, with true counts.

Users write functions of arrays or containers, and pass extra arguments; a solver sees vectors.
Every evaluation and every sweep is counted where it happens.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from linad.api.derivatives import linearize
from linad.api.gradients import value_and_grad
from linad.core import tree
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import is_inexact, name_of, size_of
from linad.core.showing import shown
from linad.errors import DTypeError, OptionError, OutputError, ShapeError, TracerError, TreeError
from linad.jit.jitted import operation_by_operation
from linad.operators.facts import EVERYTHING
from linad.operators.typed import Typed
from linad.operators.wrappers import Wrapper
from linad.solve.waiting import Waiting
from linad.sparsity.assemble import seeds_of
from linad.transforms.spaces import Slot, common_dtype, joined, split


@dataclass
class Evaluations:
    """What was asked of a function.

    Attributes
    ----------
    nfev : int
        Runs of the function, those that also made a Jacobian operator among them.
    njev : int
        Jacobian operators (or gradients) made.
    njvp, nvjp : int
        Tangents pushed forward and cotangents pulled back; a dense Jacobian of n columns
        counts n, a gradient 1.
    """

    nfev: int = 0
    njev: int = 0
    njvp: int = 0
    nvjp: int = 0


class CountedOperator(Wrapper):
    """An operator that counts the seeds it is applied to, and looks at the clock."""

    unknown = EVERYTHING  # whatever is asked of it is to be counted

    def __init__(self, op: Any, problem: "Residual | Objective") -> None:
        self.bare, self.counts, self.waiting = op, problem.counts, problem.waiting
        super().__init__(op.flat, op.flat.out_shape, op.flat.in_shape)

    def _label(self) -> str:
        return str(self.bare._label())

    def pushforward(self, tangent: Array) -> Array:
        self.counts.njvp += size_of(tangent.shape[: tangent.ndim - len(self.in_shape)])
        with self.waiting:
            return self.op.pushforward(tangent)

    def pullback(self, cotangent: Array) -> Array:
        self.counts.nvjp += size_of(cotangent.shape[: cotangent.ndim - len(self.out_shape)])
        with self.waiting:
            return self.op.pullback(cotangent)

    def tosparse(self, format: str = "csr") -> Any:
        """The matrix as a sparse array; each colour that is swept counts as one seed."""
        with self.waiting:
            matrix = self.bare.tosparse(format)
        count_sweeps(self.op, self.counts)
        return matrix

    @property
    def nnz(self) -> int:
        """Number of entries of the pattern."""
        return int(self.bare.nnz)


def count_sweeps(op: Any, counts: Evaluations) -> None:
    """Count what making the sparse matrix of an operator has swept."""
    for adjoint, seeds in seeds_of(op):
        if adjoint:
            counts.nvjp += seeds
        else:
            counts.njvp += seeds


def quiet() -> Any:
    """Trial points may overflow; solvers look at what came out, so NumPy need not warn."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def _of_unknown(f: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[Any], Any]:
    """A user's function of the unknown alone, in its own name."""
    return functools.update_wrapper(lambda x: f(x, *args), f, updated=())


def as_point(x0: Any) -> Any:
    """A list or tuple of plain numbers, or of rows of such, as the array that SciPy makes of it."""
    return np.array(x0) if _shape(x0) else x0


def _shape(given: Any) -> tuple[int, ...] | None:
    """The shape of nested lists of plain numbers; None for anything else."""
    if isinstance(given, (int, float, complex, np.number)):
        return ()
    if type(given) not in (list, tuple):
        return None
    rows = {_shape(row) for row in given}
    row = rows.pop() if len(rows) == 1 else None
    return None if row is None else (len(given), *row)


class Unknown:
    """The point a solver starts from: a container of arrays, seen as a vector.

    Parameters
    ----------
    x0 : array or container
        Integers are taken as floats, and a list or tuple of numbers as an array.
    name : str
        The solver, for messages.

    Raises
    ------
    TreeError
        If it holds no array.
    DTypeError
        If a leaf is no number, or real and complex leaves stand side by side.
    TracerError
        If it is traced: solvers are not traced, `linad.solve.root` and its kind are.
    """

    def __init__(self, x0: Any, name: str) -> None:
        leaves, self.structure = tree.flatten(as_point(x0))
        if not leaves:
            raise TreeError(f"{name}: x0 holds no array")
        values = [self._leaf(leaf, name) for leaf in leaves]
        self.slots = [Slot(v) for v in values]
        if len({slot.dtype.kind for slot in self.slots}) > 1:
            raise DTypeError(
                f"{name}: x0 has real and complex leaves side by side; make all of them complex, "
                f"or give real and imaginary parts as arrays of their own"
            )
        self.dtype = common_dtype(self.slots)
        self.start = joined(values, (), self.dtype)
        self.eps = float(max(np.finfo(slot.dtype).eps for slot in self.slots))

    @staticmethod
    def _leaf(leaf: Any, name: str) -> Any:
        if isinstance(leaf, Traced):
            raise TracerError(
                f"{name}: x0 is traced, and a solver's steps are not; linad.solve.root, minimum, "
                f"least_squares and fixed_point are differentiated through, or pass "
                f"linad.stop_gradient(x0)"
            )
        value = np.asarray(leaf)
        if value.dtype.kind in "iub":
            value = value.astype(float)
        if not is_inexact(value.dtype):
            raise DTypeError(f"{name}: x0 must hold numbers, got dtype {value.dtype}")
        return value

    def container(self, vector: Any) -> Any:
        """A vector in the form of x0, in memory of its own."""
        leaves = [x.copy()[()] for x in split(vector, self.slots)]  # numbers stay numbers
        return tree.unflatten(self.structure, leaves)


class Residual:
    """A function F(x) with its Jacobian operator, on flat vectors.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns an array or a container of arrays.
    x0 : array or container
    args : tuple
    name : str
        The solver, for messages.
    """

    def __init__(self, f: Callable[..., Any], x0: Any, args: Any, name: str) -> None:
        self.f, self.args, self.name = f, args_tuple(args), name
        self.x = Unknown(x0, name)
        self.counts = Evaluations()
        self.waiting = f if isinstance(f, Waiting) else Waiting(name, name_of(f), f, f)
        self.out_slots: list[Slot] | None = None
        self.out_tree: Any = None

    @property
    def counted(self) -> dict[str, int]:
        """The counts, as a result names them."""
        return asdict(self.counts)

    def value(self, x: Any) -> Any:
        """F(x) as a vector."""
        self.counts.nfev += 1
        with quiet(), self.waiting:
            return self._vector(self.f(self.x.container(x), *self.args))

    def linearize(self, x: Any) -> tuple[Any, CountedOperator]:
        """F(x) and the Jacobian operator there."""
        self.counts.nfev += 1
        self.counts.njev += 1
        with quiet(), self.waiting:
            y, J = linearize(_of_unknown(self.f, self.args), self.x.container(x))
        return self._vector(y), CountedOperator(J, self)

    def operator(self, x: Any, J: CountedOperator) -> Any:
        """The Jacobian J at x, as a result names it."""
        return J.bare

    def entrywise(self, x: Any, J: CountedOperator) -> CountedOperator:
        """The Jacobian J at x as an operator whose pattern can be told.

        That of a function which `linad.jit` made is known as a whole only; so the function beneath
        is linearized. It counts as an evaluation.
        """
        beneath = operation_by_operation(self.f)
        if beneath is self.f:
            return J
        self.counts.nfev += 1
        self.counts.njev += 1
        with quiet():
            known = linearize(_of_unknown(beneath, self.args), self.x.container(x))[1]
        return CountedOperator(known, self)

    def result(self, vector: Any) -> Any:
        """A vector in the form of what ``f`` returns."""
        assert self.out_slots is not None
        leaves = [x[()] for x in split(vector, self.out_slots)]  # numbers stay numbers
        return tree.unflatten(self.out_tree, leaves)

    def _vector(self, y: Any) -> Any:
        leaves, structure = tree.flatten(y)
        values = [_result_leaf(leaf, self.f, self.name) for leaf in leaves]
        if self.out_slots is None:
            if not leaves:
                raise OutputError(
                    f"{self.name}: {name_of(self.f)} must return an array, it returned {shown(y)}"
                )
            self.out_slots, self.out_tree = [Slot(v) for v in values], structure
            self._check_sizes()
        elif [v.shape for v in values] != [slot.shape for slot in self.out_slots]:
            raise ShapeError(
                f"{self.name}: {name_of(self.f)} must return the same shapes at every point, "
                f"first {[slot.shape for slot in self.out_slots]}, now {[v.shape for v in values]}"
            )
        return joined(values, (), common_dtype(self.out_slots))

    def _check_sizes(self) -> None:
        """Raise where the numbers of equations and unknowns do not fit; any fit here."""


class Equations(Residual):
    """F(x) = 0 with as many equations as unknowns."""

    def _check_sizes(self) -> None:
        assert self.out_slots is not None
        m, n = sum(slot.size for slot in self.out_slots), self.x.start.size
        if m != n:
            raise ShapeError(
                f"{self.name}: {name_of(self.f)} must return {n} numbers for {n} unknowns, it "
                f"returned {m}; linad.solve.levenberg_marquardt fits where there are more"
            )
        if self.x.dtype.kind != "c" and common_dtype(self.out_slots).kind == "c":
            raise DTypeError(
                f"{self.name}: {name_of(self.f)} returned complex numbers for a real x0; start "
                f"from a complex x0, or return real and imaginary parts"
            )


class Objective:
    """A scalar function with its gradient and Hessian operator, on flat vectors.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns a real scalar.
    x0 : array or container
    args : tuple
    jac, hess, hessp : callable or None
        Derivatives by hand, with SciPy's signatures; linad's own where None.
    name : str
    """

    def __init__(
        self,
        f: Callable[..., Any],
        x0: Any,
        args: Any,
        name: str,
        jac: Any = None,
        hess: Any = None,
        hessp: Any = None,
    ) -> None:
        self.f, self.args, self.name = f, args_tuple(args), name
        self.jac, self.hess, self.hessp = jac, hess, hessp
        self.x = Unknown(x0, name)
        if self.x.dtype.kind == "c":
            raise DTypeError(
                f"{name}: x0 is complex; minimise over its real and imaginary parts, as two arrays"
            )
        self.counts = Evaluations()
        self.waiting = Waiting(name, name_of(f), f, f)

    @property
    def counted(self) -> dict[str, int]:
        """The counts, as a result names them."""
        return asdict(self.counts)

    def value(self, x: Any) -> float:
        """f(x)."""
        self.counts.nfev += 1
        with quiet(), self.waiting:
            return self._scalar(self.f(self.x.container(x), *self.args))

    def model(self, x: Any) -> tuple[float, Any, Any]:
        """f(x), the gradient as a vector, and the Hessian operator on vectors."""
        if self.jac is None and self.hess is None and self.hessp is None:
            self.counts.nfev += 1
            self.counts.njev += 1
            self.counts.nvjp += 1
            with quiet(), self.waiting, self._own_words(x):
                (value, g), J = linearize(
                    value_and_grad(_of_unknown(self.f, self.args)), self.x.container(x)
                )
            return self._scalar(value), self._flat(g), _Hessian(J, self)
        value = self.value(x)
        return value, self._gradient(x), self._hessian(x)

    def value_and_gradient(self, x: Any) -> tuple[float, Any]:
        """f(x) and the gradient as a vector."""
        if self.jac is not None:
            return self.value(x), self._gradient(x)
        self.counts.nfev += 1
        self.counts.njev += 1
        self.counts.nvjp += 1
        with quiet(), self.waiting, self._own_words(x):
            value, g = value_and_grad(_of_unknown(self.f, self.args))(self.x.container(x))
        return self._scalar(value), self._flat(g)

    @contextmanager
    def _own_words(self, x: Any) -> Iterator[None]:
        """What f returns that is no scalar is refused in the name of the solver."""
        try:
            yield
        except OutputError:
            self._scalar(self.f(self.x.container(x), *self.args))
            raise

    def _gradient(self, x: Any) -> Any:
        if self.jac is None:
            return self.value_and_gradient(x)[1]
        self.counts.njev += 1
        with quiet():
            g = self._flat(self.jac(self.x.container(x), *self.args))
        if g.shape != x.shape:
            raise ShapeError(f"{self.name}: jac returned {g.size} numbers for {x.size} unknowns")
        return g

    def _hessian(self, x: Any) -> Any:
        from linad.operators.algebra import as_operator

        n = x.size
        point = self.x.container(x)
        if self.hessp is not None:
            hessp = self.hessp

            def product(v: Any) -> Any:
                return self._flat(hessp(point, self.x.container(v.ravel()), *self.args))

            from scipy.sparse.linalg import LinearOperator

            H: Any = LinearOperator((n, n), matvec=product, rmatvec=product, dtype=x.dtype)
        elif self.hess is not None:
            H = self.hess(point, *self.args)
        else:
            gradient = self.jac or value_and_grad(_of_unknown(self.f, self.args))
            with quiet(), self.waiting:
                H = linearize(lambda x: gradient(x, *self.args), point)[1]
        if getattr(H, "shape", None) != (n, n):
            raise ShapeError(
                f"{self.name}: the Hessian must have shape {(n, n)}, got "
                f"{getattr(H, 'shape', type(H).__name__)}"
            )
        return CountedOperator(as_operator(H), self)

    def _flat(self, g: Any) -> Any:
        leaves = [_result_leaf(leaf, self.f, self.name) for leaf in tree.flatten(g)[0]]
        return joined(leaves, (), self.x.dtype).astype(self.x.dtype, copy=False)

    def _scalar(self, value: Any) -> float:
        value = _result_leaf(value, self.f, self.name)
        if value.size != 1 or value.dtype.kind == "c":
            raise OutputError(
                f"{self.name}: {name_of(self.f)} must return a real scalar, it returned an array "
                f"of shape {value.shape}, {value.dtype}; linad.solve.levenberg_marquardt minimises "
                f"the sum of squares of several numbers"
            )
        return float(value.reshape(()))


class _Hessian(Typed):
    """The Hessian: the part of the derivative of (value, gradient) that maps to the gradient."""

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, J: Any, objective: Objective) -> None:
        self.J, self.objective = J, objective
        dtype = objective.x.dtype
        self._in_dtype = self._out_dtype = dtype
        n = objective.x.start.size
        super().__init__((n,), (n,), dtype)

    def pushforward(self, tangent: Array) -> Array:
        seeds = tangent.shape[:-1]
        self.objective.counts.njvp += size_of(seeds)
        with self.objective.waiting:
            pushed = self.J.push_leaves(split(tangent, self.objective.x.slots), seeds)
        return joined(pushed[1:], seeds, self.dtype)

    def pullback(self, cotangent: Array) -> Array:
        return self.pushforward(cotangent)  # it is symmetric

    def tosparse(self, format: str = "csr") -> Any:
        """The Hessian as a sparse array: J without its first row, the gradient."""
        with self.objective.waiting:
            matrix = self.J.tosparse("csr")[1:]
        count_sweeps(self.J.flat, self.objective.counts)
        return matrix.asformat(format)

    @property
    def nnz(self) -> int:
        """Number of entries of the pattern, at least."""
        return int(self.J.nnz) - self.shape[1]


def args_tuple(args: Any) -> tuple[Any, ...]:
    """SciPy's ``args``: a tuple, or one argument that is none."""
    return args if isinstance(args, tuple) else (args,)


def _result_leaf(leaf: Any, f: Any, name: str) -> Any:
    """One number array that a user's function returned."""
    if isinstance(leaf, Traced):
        raise TracerError(
            f"{name}: {name_of(f)} depends on a traced value that it captures from outside, whose "
            f"derivative would be lost, since a solver's steps are not traced; linad.solve.root, "
            f"minimum, least_squares and fixed_point take such a function and are "
            f"differentiated through, or use linad.stop_gradient where none is meant"
        )
    value = np.asarray(leaf)
    if value.dtype.kind in "biu":
        value = value.astype(float)
    if not is_inexact(value.dtype):
        raise OutputError(
            f"{name}: {name_of(f)} must return arrays of numbers, it returned a "
            f"{type(leaf).__name__}: {shown(leaf)}"
        )
    return value


def refuse_limits(name: str, bounds: Any, constraints: Any) -> None:
    """Raise ValueError for bounds and constraints, which `scipy.optimize.minimize` hands on."""
    if bounds is not None:
        raise OptionError(
            f"{name}: bounds must be None, got {shown(bounds)}; linad.solve.lbfgs takes them"
        )
    if isinstance(constraints, Sequence) and not constraints:
        return
    if constraints is not None:
        raise OptionError(
            f"{name}: constraints must be empty, got {shown(constraints)}; scipy.optimize.minimize "
            f"takes them, with linad.scipy_args(f, 'minimize', method='trust-constr')"
        )
