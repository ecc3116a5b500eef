"""The functions that solvers work on, as functions of one flat vector, with true counts.

Users write functions of arrays or containers, and pass extra arguments; a solver sees vectors.
Every evaluation and every sweep is counted where it happens.
"""

import functools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.api.derivatives import linearize
from linad.core import tree
from linad.core.array_type import Array
from linad.core.former_names import class_from
from linad.core.options import args_for
from linad.core.primitive import Traced
from linad.core.shapes import is_inexact, name_of, size_of
from linad.core.showing import shown
from linad.core.tolerances import watched_tolerances
from linad.errors import DTypeError, OutputError, ShapeError, TracerError, TreeError
from linad.jit.jitted import operation_by_operation
from linad.linalg.sparsity.assemble import seeds_of
from linad.operators.facts import EVERYTHING
from linad.operators.wrappers import Wrapper
from linad.solve.described_starts import is_result, refuse_parameters
from linad.solve.trials import GIVEN_UP, Trials
from linad.solve.waiting import waiting_of
from linad.transforms.spaces import Slot, common_dtype, joined, split

if TYPE_CHECKING:
    from linad.solve.objectives import Objective


def __getattr__(name: str) -> Any:
    return class_from(__name__, name)


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


def of_unknown(f: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[Any], Any]:
    """A user's function of the unknown alone, in its own name."""
    return functools.update_wrapper(lambda x: f(x, *args), f, updated=())


def as_point(x0: Any) -> Any:
    """A list or tuple of plain numbers, or of rows of such, as the array that SciPy makes of it,
    in dictionaries and in other lists too; of what a search has returned where that ended."""
    refuse_parameters(x0)
    if is_result(x0):
        return as_point(x0.x)
    if _shape(x0):
        return np.array(x0)
    if type(x0) in (dict, OrderedDict):
        return type(x0)([(key, as_point(value)) for key, value in x0.items()])
    return type(x0)(as_point(part) for part in x0) if type(x0) in (list, tuple) else x0


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
        Integers are taken as floats, and a list or tuple of numbers as an array, within it too.
    name : str
        The solver, for messages.

    Raises
    ------
    TreeError
        If it holds no array.
    DTypeError
        If a leaf is not a number, or real and complex leaves stand side by side.
    TracerError
        If it is traced: solvers are not traced, `linad.solve.root` and its kind are.
    """

    def __init__(self, x0: Any, name: str) -> None:
        leaves, self.structure = tree.flatten(as_point(x0))
        if not leaves:
            raise TreeError(f"{name}: x0 holds no array")
        self.given = leaves
        paths = tree.leaf_paths(self.structure)
        values = [self._leaf(leaf, name, path) for leaf, path in zip(leaves, paths, strict=True)]
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
    def _leaf(leaf: Array, name: str, path: str) -> Any:
        refuse_traced(name, x0=leaf)
        value = np.asarray(leaf)
        if value.dtype.kind in "iub":
            value = value.astype(float)
        if not is_inexact(value.dtype):
            text = f" (the text {shown(leaf)})" if isinstance(leaf, str) else ""
            raise DTypeError(f"{name}: x0{path} must hold numbers, got dtype {value.dtype}{text}")
        return value

    def container(self, vector: Array) -> Any:
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

    def __init__(self, f: Callable[..., Any], x0: Any, args: tuple[Any, ...], name: str) -> None:
        self.f, self.args, self.name = f, args_for(name, args), name
        self.x = Unknown(x0, name)
        self.counts = Evaluations()
        self.waiting = waiting_of(name, f)
        self.out_slots: list[Slot] | None = None
        self.out_tree: Any = None
        self.trials: Trials | None = None

    def limit_trials(self) -> "Trials":
        """From here on, points count at which F comes to no end as points where it is NaN."""
        self.trials = Trials(self.waiting.name, self.waiting.called, self.x.container)
        return self.trials

    @property
    def counted(self) -> dict[str, int]:
        """The counts, as a result names them."""
        return asdict(self.counts)

    @property
    def returns_number(self) -> bool:
        """Whether F is one number, and not an array of one."""
        return self.out_slots is not None and [s.shape for s in self.out_slots] == [()]

    def value(self, x: Array) -> Any:
        """F(x) as a vector."""
        self.counts.nfev += 1
        with quiet(), self.waiting:
            y = self._tried(x, lambda: self.f(self.x.container(x), *self.args))
        return self._nothing() if y is GIVEN_UP else self._vector(y)

    def linearize(self, x: Array) -> tuple[Any, Any]:
        """F(x) and the Jacobian operator there; None with it at a trial point that is given up."""
        self.counts.nfev += 1
        self.counts.njev += 1
        with quiet(), self.waiting, watched_tolerances() as iterations:
            found = self._tried(
                x, lambda: linearize(of_unknown(self.f, self.args), self.x.container(x))
            )
        if found is GIVEN_UP:
            return self._nothing(), None
        y, J = found
        self.waiting.saw(J, iterations)
        return self._vector(y), CountedOperator(J, self)

    def _tried(self, x: Array, evaluate: Callable[[], Any]) -> Any:
        return evaluate() if self.trials is None else self.trials.run(x, evaluate)

    def _nothing(self) -> Any:
        """What F is where it comes to no end."""
        assert self.out_slots is not None
        size = sum(slot.size for slot in self.out_slots)
        return np.full(size, np.nan, common_dtype(self.out_slots))

    def operator(self, x: Array, J: CountedOperator) -> Any:
        """The Jacobian J at x, as a result names it."""
        return J.bare

    def patterned(self, x: Array, J: CountedOperator) -> CountedOperator:
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
            known = linearize(of_unknown(beneath, self.args), self.x.container(x))[1]
        return CountedOperator(known, self)

    def result(self, vector: Array) -> Any:
        """A vector in the form of what ``f`` returns."""
        assert self.out_slots is not None
        leaves = [x[()] for x in split(vector, self.out_slots)]  # numbers stay numbers
        return tree.unflatten(self.out_tree, leaves)

    def _vector(self, y: Any) -> Any:
        leaves, structure = tree.flatten(y)
        values = [result_leaf(leaf, self.f, self.name) for leaf in leaves]
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
            remedy = "linad.solve.levenberg_marquardt fits where there are more"
            if m == 1:
                remedy = (
                    "return the equations r, not np.sum(r**2); linad.solve.trust_region, lbfgs and "
                    "newton_cg minimise one number"
                )
            raise ShapeError(
                f"{self.name}: {name_of(self.f)} must return {n} numbers for {n} unknowns, it "
                f"returned {m}; {remedy}"
            )
        if self.x.dtype.kind != "c" and common_dtype(self.out_slots).kind == "c":
            raise DTypeError(
                f"{self.name}: {name_of(self.f)} returned complex numbers for a real x0; start "
                f"from a complex x0, or return real and imaginary parts"
            )


def refuse_traced(name: str, **given: Any) -> None:
    """Raise where what a solver is given is traced, or holds traced values."""
    for argument, value in given.items():
        if any(isinstance(leaf, Traced) for leaf in tree.flatten(value)[0]):
            raise TracerError(
                f"{name}: {argument} is traced, and a solver's steps are not; {_THROUGH}, or pass "
                f"linad.stop_gradient({argument})"
            )


_THROUGH = (
    "linad.solve.root, minimum, least_squares and fixed_point, and linad.scipy.optimize.curve_fit, "
    "are differentiated through"
)


def result_leaf(leaf: Array, f: Any, name: str) -> Any:
    """One number array that a user's function returned."""
    if isinstance(leaf, Traced):
        raise TracerError(
            f"{name}: {name_of(f)} depends on a traced value that it captures from outside, whose "
            f"derivative would be lost, since a solver's steps are not traced; {_THROUGH} and take "
            f"such a function, or use linad.stop_gradient where none is meant"
        )
    value = np.asarray(leaf)
    if value.dtype.kind in "biu":
        value = value.astype(float)
    if not is_inexact(value.dtype):
        came = f"a {type(leaf).__name__}: {shown(leaf)}"
        came = "None: return the result" if leaf is None else came
        raise OutputError(
            f"{name}: {name_of(f)} must return arrays of numbers, it returned {came}"
        )
    return value
