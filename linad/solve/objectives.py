"""The functions that are minimised, as functions of one flat vector, with true counts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from linad.api.derivatives import linearize
from linad.api.gradients import value_and_grad
from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import args_for
from linad.core.shapes import name_of, size_of
from linad.core.showing import shown
from linad.core.tolerances import watched_tolerances
from linad.errors import DTypeError, OptionError, OutputError, ShapeError
from linad.operators.algebra import as_operator
from linad.operators.facts import EVERYTHING
from linad.operators.typed import Typed
from linad.solve.derived_models import derived_model
from linad.solve.problems import (
    CountedOperator,
    Evaluations,
    Unknown,
    count_sweeps,
    of_unknown,
    quiet,
    result_leaf,
)
from linad.solve.waiting import waiting_of
from linad.transforms.spaces import joined, split


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
        args: tuple[Any, ...],
        name: str,
        jac: Any = None,
        hess: Any = None,
        hessp: Any = None,
    ) -> None:
        self.f, self.args, self.name = f, args_for(name, args), name
        self.jac, self.hess, self.hessp = jac, hess, hessp
        self.x = Unknown(x0, name)
        if self.x.dtype.kind == "c":
            raise DTypeError(
                f"{name}: x0 is complex; minimise over its real and imaginary parts, as two arrays"
            )
        self.counts = Evaluations()
        self.waiting = waiting_of(name, f)
        by_hand = jac is not None or hess is not None or hessp is not None or bool(self.args)
        self.derived = None if by_hand else derived_model(f, self.x)

    @property
    def counted(self) -> dict[str, int]:
        """The counts, as a result names them."""
        return asdict(self.counts)

    def value(self, x: Array) -> float:
        """f(x)."""
        self.counts.nfev += 1
        with quiet(), self.waiting:
            return self._scalar(self.f(self.x.container(x), *self.args))

    def model(self, x: Array) -> tuple[float, Any, Any]:
        """f(x), the gradient as a vector, and the Hessian operator on vectors."""
        if self.derived is not None and self.derived.is_worth():
            self.counts.njvp += x.size
            value, g = self.value_and_gradient(x)
            with quiet(), self.waiting:
                H = self.derived.curvature(x)
            return value, g, CountedOperator(as_operator(H), self)
        if self.jac is None and self.hess is None and self.hessp is None:
            self.counts.nfev += 1
            self.counts.njev += 1
            self.counts.nvjp += 1
            ran = watched_tolerances()
            with quiet(), self.waiting, self._own_words(x), ran as iterations:
                (value, g), J = linearize(
                    value_and_grad(of_unknown(self.f, self.args)), self.x.container(x)
                )
            self.waiting.saw(J, iterations)
            return self._scalar(value), self._flat_gradient(g), _Hessian(J, self)
        value = self.value(x)
        return value, self._gradient(x), self._hessian(x)

    def value_and_gradient(self, x: Array) -> tuple[float, Any]:
        """f(x) and the gradient as a vector."""
        if self.jac is not None:
            return self.value(x), self._gradient(x)
        self.counts.nfev += 1
        self.counts.njev += 1
        self.counts.nvjp += 1
        if self.derived is not None and self.derived.is_worth():
            with quiet(), self.waiting:
                value, g = self.derived.slope(x)
            return float(value), g
        with quiet(), self.waiting, self._own_words(x):
            value, g = value_and_grad(of_unknown(self.f, self.args))(self.x.container(x))
        self.waiting.saw()
        return self._scalar(value), self._flat_gradient(g)

    @contextmanager
    def _own_words(self, x: Array) -> Iterator[None]:
        """What f returns that is not a scalar is refused in the name of the solver."""
        try:
            yield
        except OutputError:
            value = self.f(self.x.container(x), *self.args)
            self._scalar(value)
            if np.ndim(value):  # SciPy takes an array of one for a number
                raise self._no_scalar(result_leaf(value, self.f, self.name)) from None
            raise

    def _gradient(self, x: Array) -> Any:
        if self.jac is None:
            return self.value_and_gradient(x)[1]
        self.counts.njev += 1
        self.waiting.saw()
        with quiet():
            g = self._flat_gradient(self.jac(self.x.container(x), *self.args))
        if g.shape != x.shape:
            raise ShapeError(f"{self.name}: jac returned {g.size} numbers for {x.size} unknowns")
        return g

    def _hessian(self, x: Array) -> Any:
        n = x.size
        point = self.x.container(x)
        if self.hessp is not None:
            hessp = self.hessp

            def product(v: Array) -> Any:
                return self._flat_gradient(hessp(point, self.x.container(v.ravel()), *self.args))

            H: Any = LinearOperator((n, n), matvec=product, rmatvec=product, dtype=x.dtype)
        elif self.hess is not None:
            H = self.hess(point, *self.args)
        else:
            with quiet(), self.waiting:
                H = linearize(lambda x: self.jac(x, *self.args), point)[1]
        if getattr(H, "shape", None) != (n, n):
            raise ShapeError(
                f"{self.name}: the Hessian must have shape {(n, n)}, got "
                f"{getattr(H, 'shape', type(H).__name__)}"
            )
        return CountedOperator(as_operator(H), self)

    def _flat_gradient(self, g: Array) -> Any:
        leaves = [result_leaf(leaf, self.f, self.name) for leaf in tree.flatten(g)[0]]
        return joined(leaves, (), self.x.dtype).astype(self.x.dtype, copy=False)

    def _scalar(self, value: Any) -> float:
        value = result_leaf(value, self.f, self.name)
        if value.size != 1 or value.dtype.kind == "c":
            raise self._no_scalar(value)
        return float(value.reshape(()))

    def _no_scalar(self, value: Any) -> OutputError:
        """What f returned in place of one real number, and what to return."""
        remedy = "linad.solve.levenberg_marquardt minimises the sum of squares of several numbers"
        if value.size == 1:
            real = value.dtype.kind != "c"
            remedy = "return its one entry, y[0]" if real else "return np.abs() or np.real() of it"
        return OutputError(
            f"{self.name}: {name_of(self.f)} must return a real scalar, it returned an array of "
            f"shape {value.shape}, {value.dtype}; {remedy}"
        )


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
