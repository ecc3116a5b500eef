"""The polynomial through given points, traced in nodes, values and points of evaluation.

Lagrange     p(x) = Σ_j y_j w_j Π_{m≠j} (x - x_m),   w_j = 1 / Π_{m≠j} (x_j - x_m)
Newton       p(x) = Σ_k f[x_0 ... x_k] Π_{j<k} (x - x_j)

with divided differences f[x_i ... x_j] = (f[x_i+1 ... x_j] - f[x_i ... x_j-1]) / (x_j - x_i), where
a node that stands k times in a row has derivatives, f[x_i ... x_i+r] = y^(r) / r!. Neither divides
by x - x_j, so both are differentiable at the nodes too.

Sources: J.-P. Berrut, L. Trefethen, "Barycentric Lagrange Interpolation", SIAM Review 46, 2004;
F. Krogh, "Efficient Algorithms for Polynomial Interpolation and Numerical Differentiation", 1970.
"""

import math
from typing import Any, ClassVar

import numpy as np
import scipy.interpolate
from scipy.interpolate import _bary_rational

from linad.arrays.zero_dim import array, gives
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError, UnsupportedError
from linad.rules.shaping import astype, still
from linad.scipy.mirror import StandIn, check_real, holds_traced, inexact
from linad.scipy.spline_slopes import column
from linad.scipy.twins import stands_for


def _placed(y: Array, ndim: int, axis: int) -> Any:
    """The axes of the points where the axis of interpolation was."""
    before = list(range(ndim, ndim + axis))
    rest = list(range(ndim + axis, y.ndim))
    return np.transpose(y, before + list(range(ndim)) + rest) if axis else y


class NodePolynomial(StandIn):
    """The polynomial through traced values at traced nodes.

    Parameters
    ----------
    name : str
        Of SciPy's class, for messages.
    xi : array (n,)
    yi : array (..., n, ...)
    axis : int

    Notes
    -----
    A call costs O(n^2) per point.
    """

    def __init__(self, name: str, xi: Array, yi: Array, axis: int = 0) -> None:
        check_real(name, xi=xi)
        xi, yi = astype(inexact(xi), float, copy=False), inexact(yi)
        self.axis = normalize_axis(axis, yi.ndim, name)
        if xi.ndim != 1 or not xi.shape[0] or xi.shape[0] != yi.shape[self.axis]:
            raise ShapeError(
                f"{name}: nodes of shape {xi.shape} need as many values along axis {self.axis}, "
                f"got shape {yi.shape}"
            )
        self.name, self.xi, self.yi = name, xi, np.moveaxis(yi, self.axis, 0)

    @gives(array)
    def __call__(self, x: Any) -> Any:
        """The value at points of any shape."""
        return self.derivatives(x, 1)[0]

    @gives(array)
    def derivative(self, x: Any, der: int = 1) -> Any:
        """The ``der``-th derivative at points of any shape."""
        return self.derivatives(x, der + 1)[der]

    def derivatives(self, x: Array, der: int | None = None) -> Any:
        """The value and the first ``der`` - 1 derivatives, in front; all of them for None."""
        check_real(self.name, x=x)
        x = astype(inexact(x), float, copy=False)
        count = self.xi.shape[0] if der is None else int(der)
        if count < 1:
            raise ValueError(f"{self.name}: the order of derivative must be 0 or more")
        found = self._jets(x.reshape(-1), count)
        shape = x.shape + self.yi.shape[1:]
        return np.stack([_placed(y.reshape(shape), x.ndim, self.axis) for y in found])

    def _jets(self, x: Any, count: int) -> list[Any]:
        raise NotImplementedError


class Newtonian(NodePolynomial):
    """As Newton has it; nodes may be repeated."""

    stands_for: type = scipy.interpolate.KroghInterpolator

    def __init__(self, name: str, xi: Array, yi: Array, axis: int = 0) -> None:
        super().__init__(name, xi, yi, axis)
        plain = still(self.xi)
        n = plain.shape[0]
        repeated = plain[1:] == plain[:-1]
        if isinstance(self.xi, Traced) and np.any(repeated):
            raise UnsupportedError(
                f"{name}: nodes that are repeated must be plain numbers; they have no derivative"
            )
        # Where the run of equal nodes that each belongs to starts.
        starts = np.maximum.accumulate(np.where(np.r_[True, ~repeated], np.arange(n), 0))
        level = [self.yi[k] for k in starts]
        self.coefficients = [level[0]]
        for r in range(1, n):
            level = [
                self.yi[starts[i] + r] / math.factorial(r)
                if starts[i + r] <= i
                else (level[i + 1] - level[i]) / (self.xi[i + r] - self.xi[i])
                for i in range(n - r)
            ]
            self.coefficients.append(level[0])

    def _jets(self, x: Array, count: int) -> list[Any]:
        x = column(x, self.yi)
        jets: list[Any] = [0.0 * x + 0.0 * self.yi[0]] * count
        for k in reversed(range(len(self.coefficients))):
            step = x - self.xi[k]
            for d in range(count - 1, 0, -1):
                jets[d] = jets[d] * step + d * jets[d - 1]
            jets[0] = jets[0] * step + self.coefficients[k]
        return jets


class Lagrangian(NodePolynomial):
    """As Lagrange has it, stable for many nodes where those lie well; they must differ."""

    stands_for: type = scipy.interpolate.BarycentricInterpolator

    def __init__(self, name: str, xi: Array, yi: Array, axis: int = 0) -> None:
        super().__init__(name, xi, yi, axis)
        plain = still(self.xi)
        n = plain.shape[0]
        if np.unique(plain).size < n:
            raise ValueError(f"{name}: interpolation points xi must be distinct")
        # In units in which the products of differences neither overflow nor underflow.
        self.unit = 4.0 / (plain.max() - plain.min()) if n > 1 else 1.0
        gaps = (self.xi[:, None] - self.xi[None, :]) * self.unit
        apart = np.where(np.eye(n, dtype=bool), 1.0, gaps)
        self.weights = 1.0 / np.prod(apart, axis=1)

    def _jets(self, x: Array, count: int) -> list[Any]:
        steps = [(x - self.xi[k]) * self.unit for k in range(self.xi.shape[0])]
        one = np.ones(x.shape)
        before = _products(steps, one, self.unit, count)
        after = _products(steps[::-1], one, self.unit, count)[::-1]
        jets = []
        for order in range(count):
            basis = [
                sum(math.comb(order, d) * left[d] * right[order - d] for d in range(order + 1))
                for left, right in zip(before, after, strict=True)
            ]
            weighted = np.stack(basis, axis=-1) * self.weights
            jets.append(np.tensordot(weighted, self.yi, axes=(-1, 0)))
        return jets


def _products(steps: list[Any], one: Array, unit: float, count: int) -> list[list[Any]]:
    """The product of all steps before each, with its derivatives; a step has slope ``unit``."""
    jet = [one, *[0.0 * one] * (count - 1)]
    found = []
    for step in steps:
        found.append(jet)
        jet = [jet[0] * step, *[jet[d] * step + d * unit * jet[d - 1] for d in range(1, count)]]
    return found


def _of_plain(form: type[Newtonian] | type[Lagrangian], theirs: Any) -> Any:
    """A SciPy object, or of a class over it, for traced points."""
    rows = np.reshape(theirs.yi, (len(theirs.xi), *theirs._y_extra_shape))
    made = form(form.stands_for.__name__, theirs.xi, rows)
    made.axis = theirs._y_axis
    if isinstance(made, Newtonian):
        made.coefficients = list(np.reshape(theirs.c[: len(rows)], rows.shape))  # what SciPy reads
    return made


class _AtAnyPoints:
    """Methods of SciPy's object at plain points, and of what stands in for it at traced ones."""

    stand_in: ClassVar[type[Newtonian] | type[Lagrangian]]

    def _at(self, x: Any) -> Any:
        return _of_plain(self.stand_in, self) if holds_traced(x) else super()

    def __call__(self, x: Any) -> Any:
        return self._at(x).__call__(x)

    def derivative(self, x: Any, der: int = 1) -> Any:
        return self._at(x).derivative(x, der)

    def derivatives(self, x: Any, der: int | None = None) -> Any:
        return self._at(x).derivatives(x, der)


class KroghInterpolator(_AtAnyPoints, scipy.interpolate.KroghInterpolator):
    """As `scipy.interpolate.KroghInterpolator`; a traced argument makes a `Newtonian`."""

    stand_in = Newtonian

    def __new__(cls, xi: Array, yi: Array, axis: int = 0) -> Any:
        if not holds_traced((xi, yi)):
            return super().__new__(cls)
        return Newtonian("KroghInterpolator", xi, yi, axis)


class BarycentricInterpolator(_AtAnyPoints, scipy.interpolate.BarycentricInterpolator):
    """As `scipy.interpolate.BarycentricInterpolator`; a traced argument makes a `Lagrangian`."""

    stand_in = Lagrangian

    def __new__(cls, xi: Array, yi: Array | None = None, axis: int = 0, **options: Any) -> Any:
        if not holds_traced((xi, yi)):
            return super().__new__(cls)
        if yi is None or options.get("wi") is not None:
            raise UnsupportedError(
                "BarycentricInterpolator: wi=, and nodes without values, are not traced by linad; "
                "pass xi and yi"
            )
        return Lagrangian("BarycentricInterpolator", xi, yi, axis)


# Rational functions.


def _rational_value(self: Any, z: Any) -> Any:
    """A rational function in barycentric form at points z of any shape, nodes among them.

    r(z) = Σ_i w_i f_i d_i / Σ_i w_i d_i,   d_i = (z - z_j) / (z - z_i),   d_j = 1

    of the node z_j that is nearest. SciPy has no z - z_j, and writes f_j over 0 / 0 at the node:
    its slope is lost.
    """
    z = inexact(z)
    nodes, weights = self._support_points, self.weights
    values = self._support_values.reshape((nodes.shape[0], -1))
    flat = np.ravel(z)
    far = np.isinf(still(flat))
    away = np.where(far, 0.0, flat)[:, None] - nodes
    nearest = np.argmin(np.abs(still(away)), axis=1)[:, None]
    is_nearest = nearest == np.arange(nodes.shape[0])
    ratios = np.take_along_axis(away, nearest, axis=1) / np.where(is_nearest, 1.0, away)
    terms = np.where(is_nearest, 1.0, ratios) * weights
    terms = np.where(far[:, None], weights, terms)
    y = ((terms @ values) / np.sum(terms, axis=1, keepdims=True)).reshape(z.shape + self._shape)
    axis = getattr(self, "_axis", 0)  # SciPy before 1.16 has no other
    return np.moveaxis(y, 0, axis) if z.ndim else y


stands_for(_bary_rational._BarycentricRational.__call__, _rational_value)
