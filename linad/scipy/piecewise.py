"""Piecewise polynomials of scipy.interpolate, traced in data, breakpoints and points of evaluation.

On [x_i, x_{i+1}) the polynomial is Σ_k c_ki (x - x_i)^(K-k), k = 0 ... K. Cubic splines are Hermite
cubics, given by values y and slopes s at the breakpoints; with h = dx, m = dy / h,

    c_3 = y_i,   c_2 = s_i,   c_1 = (m - s_i)/h - t,   c_0 = t/h,   t = (s_i + s_{i+1} - 2 m)/h

The slopes are those of `spline_slopes`. Source: C. de Boor, "A Practical Guide to Splines", 2001.
"""

import math
from typing import Any

import numpy as np
import scipy.interpolate

from linad.arrays.zero_dim import array, gives
from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import DegenerateError, ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.gathering import entries_at
from linad.rules.shaping import astype, concrete, still
from linad.scipy.implicit_solutions import Watched, roots_of_numbers
from linad.scipy.mirror import StandIn, TracedClass, check_real, holds_traced, inexact
from linad.scipy.spline_slopes import column, local_slopes, monotone_slopes, smooth_slopes


def interval(knots: Array, x: Array) -> Any:
    """The i with knots[i] <= x < knots[i+1]; beyond the ends that of the first or last one."""
    found = np.searchsorted(still(knots), still(x), side="right") - 1
    return np.clip(found, 0, knots.shape[0] - 2)


def increasing(name: str, x: Any) -> Any:
    """Breakpoints, as a row of strictly increasing real numbers."""
    check_real(name, x=x)
    x = inexact(x)
    if x.ndim != 1 or x.shape[0] < 2:
        raise ShapeError(f"{name}: x must be a row of at least 2 numbers, got shape {x.shape}")
    if not np.all(np.isfinite(still(x))):
        raise ValueError(f"{name}: x must contain only finite values")
    if np.any(np.diff(still(x)) <= 0):
        raise ValueError(f"{name}: x must be strictly increasing")
    return astype(x, float, copy=False)


class Piecewise(StandIn):
    """A traced piecewise polynomial: what the classes here make of traced arguments.

    Parameters
    ----------
    c : array (K + 1, m, ...)
        Coefficients, the highest power first.
    x : array (m + 1,)
        Breakpoints, increasing.
    extrapolate : bool or "periodic"
    axis : int
        Where the axis of interpolation stands in what a call returns.

    Notes
    -----
    A call costs K + 1 reads of the coefficients and as many multiplications a point.
    """

    stands_for: type = scipy.interpolate.PPoly

    def __init__(self, c: Array, x: Array, extrapolate: Any = True, axis: int = 0) -> None:
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis

    @gives(array)
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value, or the ``nu``-th derivative, at points of any shape."""
        if nu < 0:
            raise ValueError(f"the order of derivative must be non-negative, got {nu}")
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        x = astype(inexact(x), float, copy=False)
        if extrapolate == "periodic":
            start, period = self.x[0], self.x[-1] - self.x[0]
            x = start + np.remainder(x - start, period)
        here = still(x)
        lost = np.isnan(here)
        if not extrapolate:
            ends = still(self.x)
            lost = lost | (here < ends[0]) | (here > ends[-1])
        i = interval(self.x, np.where(lost, 0.0, here))
        tail = self.c.ndim - 2
        step = x - entries_at(self.x, i)
        step = np.where(lost, 0.0, step).reshape(x.shape + (1,) * tail)
        power = self.c.shape[0] - 1
        y = np.zeros(x.shape + self.c.shape[2:], self.c.dtype)
        for k in range(power - nu + 1):
            falling = math.perm(power - k, nu)
            y = y * step + falling * entries_at(self.c, (k, i))
        if np.any(lost):
            y = np.where(lost.reshape(x.shape + (1,) * tail), np.nan, y)
        order = list(range(x.ndim, x.ndim + self.axis))
        rest = list(range(x.ndim + self.axis, y.ndim))
        return np.transpose(y, order + list(range(x.ndim)) + rest) if self.axis else y

    def derivative(self, nu: int = 1) -> "Piecewise":
        """The piecewise polynomial of the ``nu``-th derivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        power = self.c.shape[0] - 1
        if nu > power:
            return Piecewise(0 * self.c[:1], self.x, self.extrapolate, self.axis)
        factors = np.array([math.perm(power - k, nu) for k in range(power - nu + 1)], float)
        c = self.c[: power - nu + 1] * column(factors, self.c)
        return Piecewise(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "Piecewise":
        """The ``nu``-th integral, 0 at the first breakpoint and continuous."""
        if nu < 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            n = c.shape[0]
            c = c / column(np.arange(n, 0.0, -1), c)
            step = column(self.x[1:] - self.x[:-1], c[0])
            gain = 0 * c[0]
            for part in [c[k] for k in range(n)]:
                gain = gain * step + part
            gain = gain * step
            start = np.concatenate([0 * gain[:1], np.cumsum(gain[:-1], axis=0)], axis=0)
            c = np.concatenate([c, start[None]], axis=0)
        extrapolate = False if self.extrapolate == "periodic" and nu else self.extrapolate
        return Piecewise(c, self.x, extrapolate, self.axis)

    @gives(array)
    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise UnsupportedError(
                "integrate: extrapolate='periodic' is not traced by linad; integrate over one "
                "period and add"
            )
        whole = self.antiderivative()
        return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)

    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Where the polynomials have a value, in order: SciPy's points, which move."""
        if self.c.ndim > 2:
            raise UnsupportedError(
                "roots and solve of several piecewise polynomials at once are not traced by linad; "
                "make one of each"
            )
        # Pieces of no length, which a spline of repeated knots has, are let through.
        known = scipy.interpolate.PPoly.construct_fast(
            concrete(self.c), concrete(self.x), self.extrapolate
        )
        found = known.solve(concrete(y), discontinuity, extrapolate)
        if not np.all(np.isfinite(found)):
            raise DegenerateError(
                f"PPoly.solve: a piece has the value {concrete(y)} everywhere, which no point of "
                f"it moves with; move the value, or the data"
            )
        if not found.size:
            return found
        reach = "periodic" if self.extrapolate == "periodic" else True
        gap = Watched(lambda x: self(x, extrapolate=reach) - y)
        return roots_of_numbers("PPoly.solve", gap, found)

    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Where the polynomials are zero."""
        return self.solve(0.0, discontinuity, extrapolate)


def extrapolation(extrapolate: Any, default: Any = True) -> Any:
    if extrapolate is None:
        return default
    return extrapolate if extrapolate == "periodic" else bool(extrapolate)


class Polynomials(TracedClass):
    """SciPy's piecewise polynomials, with calls at traced points."""

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        made = _polynomial(self, x)
        if made is None:
            return super().__call__(x, nu, extrapolate)  # type: ignore[misc]
        return made(x, nu, extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        made = _polynomial(self, (a, b))
        if made is None:
            return super().integrate(a, b, extrapolate)  # type: ignore[misc]
        return made.integrate(a, b, extrapolate)


def _polynomial(theirs: Any, given: Any) -> Piecewise | None:
    """A SciPy object, or of a class over it, for traced points; None if nothing is traced."""
    if not holds_traced((given, theirs.c, theirs.x)):
        return None
    return Piecewise(asarray(theirs.c), asarray(theirs.x), theirs.extrapolate, theirs.axis)


# Splines.


def _checked_data(name: str, x: Any, *values: Any, axis: int) -> tuple[Any, list[Any], int]:
    """Breakpoints and values, of double precision, with the axis of interpolation in front."""
    x = increasing(name, x)
    arrays = [inexact(v) for v in values]
    axis = normalize_axis(axis, arrays[0].ndim, name)
    wanted = complex if any(v.dtype.kind == "c" for v in arrays) else float
    for v in arrays:
        if v.shape != arrays[0].shape or v.shape[axis] != x.shape[0]:
            raise ShapeError(
                f"{name}: {x.shape[0]} breakpoints need as many values along axis {axis}, got "
                f"shapes {', '.join(str(v.shape) for v in arrays)}"
            )
        if not np.all(np.isfinite(still(v))):
            raise ValueError(f"{name}: the values must be finite")
    return x, [np.moveaxis(astype(v, wanted, copy=False), axis, 0) for v in arrays], axis


def _hermite(x: Array, y: Array, s: Array, extrapolate: Any, axis: int) -> Piecewise:
    """The cubics with values y and slopes s at the breakpoints."""
    h = column(x[1:] - x[:-1], y)
    slope = (y[1:] - y[:-1]) / h
    t = (s[:-1] + s[1:] - 2 * slope) / h
    c = np.stack([t / h, (slope - s[:-1]) / h - t, s[:-1], y[:-1]])
    return Piecewise(c, x, extrapolate, axis)


class CubicHermiteSpline(Polynomials, scipy.interpolate.CubicHermiteSpline):
    """As `scipy.interpolate.CubicHermiteSpline`; a traced argument makes a `Piecewise`."""

    @staticmethod
    def of_traced(x: Array, y: Array, dydx: Array, axis: int, extrapolate: Any) -> Any:
        x, [y, s], axis = _checked_data("CubicHermiteSpline", x, y, dydx, axis=axis)
        return _hermite(x, y, s, extrapolation(extrapolate), axis)


class PchipInterpolator(Polynomials, scipy.interpolate.PchipInterpolator):
    """As `scipy.interpolate.PchipInterpolator`; a traced argument makes a `Piecewise`."""

    @staticmethod
    def of_traced(x: Array, y: Array, axis: int, extrapolate: Any) -> Any:
        x, [y], axis = _checked_data("PchipInterpolator", x, y, axis=axis)
        check_real("PchipInterpolator", y=y)
        return _hermite(x, y, monotone_slopes(x, y), extrapolation(extrapolate), axis)


def pchip_at_each(x: Any, y: Any, points: Any) -> Any:
    """The monotone cubics through columns of y (n, q, ...), each at its own point: (q, ...)."""
    slopes, i, each = monotone_slopes(x, y), interval(x, points), np.arange(points.shape[0])
    start, low, high = entries_at(x, i), entries_at(y, (i, each)), entries_at(y, (i + 1, each))
    h = column(entries_at(x, i + 1) - start, y[0])
    u = column(points - start, y[0]) / h
    m = (high - low) / h
    before, after = entries_at(slopes, (i, each)), entries_at(slopes, (i + 1, each))
    t = before + after - 2 * m
    return low + h * u * (before + u * (m - before - t + u * t))


class Akima1DInterpolator(Polynomials, scipy.interpolate.Akima1DInterpolator):
    """As `scipy.interpolate.Akima1DInterpolator`; a traced argument makes a `Piecewise`."""

    @staticmethod
    def of_traced(x: Array, y: Array, axis: int, method: Any, extrapolate: Any) -> Any:
        if method not in ("akima", "makima"):
            raise ValueError(
                f"Akima1DInterpolator: method must be 'akima' or 'makima', got {method!r}"
            )
        x, [y], axis = _checked_data("Akima1DInterpolator", x, y, axis=axis)
        check_real("Akima1DInterpolator", y=y)
        slopes = local_slopes(x, y, method)
        return _hermite(x, y, slopes, extrapolation(extrapolate, False), axis)


class CubicSpline(Polynomials, scipy.interpolate.CubicSpline):
    """As `scipy.interpolate.CubicSpline`; a traced argument makes a `Piecewise`."""

    @staticmethod
    def of_traced(x: Any, y: Array, axis: int, bc_type: Any, extrapolate: Any) -> Any:
        x, [y], axis = _checked_data("CubicSpline", x, y, axis=axis)
        ends = _end_conditions(bc_type, y)
        wanted = np.result_type(y.dtype, *[end[1].dtype for end in ends if isinstance(end, tuple)])
        y = astype(y, wanted, copy=False)
        extrapolate = extrapolation(extrapolate, "periodic" if ends[0] == "periodic" else True)
        return _hermite(x, y, smooth_slopes(x, y, ends), extrapolate, axis)


def _end_conditions(bc_type: Any, y: Array) -> list[Any]:
    """For each end "not-a-knot", "periodic" or (order, value)."""
    if isinstance(bc_type, str):
        bc_type = (bc_type, bc_type)
        if bc_type[0] == "periodic":
            first, last = still(y[0]), still(y[-1])
            if not np.allclose(first, last, rtol=1e-15, atol=1e-15):
                raise ValueError("CubicSpline: the first and last y must agree to be periodic")
    elif len(bc_type) != 2 or any(isinstance(bc, str) and bc == "periodic" for bc in bc_type):
        raise ValueError(
            f"CubicSpline: bc_type must have a condition for each end, got {bc_type!r}"
        )
    shape = y.shape[1:]
    ends: list[Any] = []
    for bc in bc_type:
        if isinstance(bc, str):
            if bc in ("not-a-knot", "periodic"):
                ends.append(bc)
            elif bc in ("clamped", "natural"):
                ends.append((1 if bc == "clamped" else 2, np.zeros(shape)))
            else:
                raise ValueError(f"CubicSpline: bc_type={bc!r} is not allowed")
            continue
        order, value = bc
        value = inexact(value)
        if order not in (1, 2) or value.shape != shape:
            raise ValueError(
                f"CubicSpline: a condition is (1 or 2, value of shape {shape}), got "
                f"({order!r}, shape {value.shape})"
            )
        ends.append((order, value))
    return ends
