"""B-splines of scipy.interpolate, traced in knots, coefficients, data and points of evaluation.

On t_i <= x < t_i+1 the k + 1 basis functions that are not 0 follow from those of lower degree,

    N_j,r = (x - t_j)/(t_j+r - t_j) N_j,r-1 + (t_j+r+1 - x)/(t_j+r+1 - t_j+1) N_j+1,r-1

and s(x) = Σ_j c_j N_j,k(x); between knots that coincide 0 / 0 is 0. With
c'_j = k (c_j+1 - c_j)/(t_j+k+1 - t_j+1) the slope of s is the spline of c' of degree k - 1. How
splines are made of data is in `linad.scipy.splinemakers`.

Source: C. de Boor, "A Practical Guide to Splines", 2001.
"""

from typing import Any

import numpy as np
import scipy.interpolate

from linad.arrays.zero_dim import array, gives
from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.gathering import entries_at
from linad.rules.shaping import astype, still
from linad.scipy.mirror import StandIn, TracedClass, holds_traced, inexact
from linad.scipy.spline_slopes import column


def basis(t: Array, k: int, x: Array, i: Array) -> Any:
    """The k + 1 basis functions at points x (m,) of the intervals i: (m, k + 1)."""
    values: list[Any] = [np.ones(x.shape)]
    for r in range(1, k + 1):
        carried: Any = 0.0
        raised = []
        for j, value in enumerate(values):
            start, end = entries_at(t, i + 1 - r + j), entries_at(t, i + j + 1)
            right, left, width = end - x, x - start, end - start
            part = np.where(width == 0, 0.0, value / np.where(width == 0, 1.0, width))
            raised.append(carried + right * part)
            carried = left * part
        values = [*raised, carried]
    return np.stack(values, axis=-1)


def interval_of(t: Array, k: int, x: Array) -> Any:
    """The i with t_i <= x < t_i+1; beyond the base interval that of the first or last piece."""
    ticks, n = still(t), t.shape[0] - k - 1
    return np.clip(np.searchsorted(ticks, x, side="right") - 1, k, n - 1)


def basis_at(t: Array, k: int, x: Array) -> tuple[Any, Any]:
    """The basis functions that are not 0 at points (m,): (m, k + 1), and the first one's number."""
    i = interval_of(t, k, still(x))
    return basis(t, k, x, i), i - k


class Spline(StandIn):
    """A traced B-spline: what `BSpline` and its makers give for traced arguments.

    Parameters
    ----------
    t : array (n + k + 1,)
    c : array (n, ...)
        The axis of interpolation in front.
    k : int
    extrapolate : bool or "periodic"
    axis : int
        Where the axis of interpolation stands in what a call returns.

    Notes
    -----
    A call costs O(k^2) per point.
    """

    stands_for: type = scipy.interpolate.BSpline

    def __init__(self, t: Array, c: Array, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t, self.k, self.extrapolate, self.axis = t, k, extrapolate, axis
        self.c = c[: t.shape[0] - k - 1]

    @property
    def tck(self) -> Any:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value, or the ``nu``-th derivative, at points of any shape."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        spline = self.derivative(nu) if nu else self
        t, c, k = spline.t, spline.c, spline.k
        x = astype(inexact(x), float, copy=False)
        shape, x = x.shape, x.reshape(-1)
        low, high = t[k], t[t.shape[0] - k - 1]
        if extrapolate == "periodic":
            x = low + np.remainder(x - low, high - low)
        here = still(x)
        lost = np.isnan(here)
        if not extrapolate:
            lost = lost | (here < still(low)) | (here > still(high))
        x = np.where(lost, still(low), x)
        i = interval_of(t, k, still(x))
        values = entries_at(c, i[:, None] + np.arange(-k, 1))
        y = np.sum(basis(t, k, x, i).reshape((-1, k + 1) + (1,) * (c.ndim - 1)) * values, axis=1)
        if np.any(lost):
            y = np.where(lost.reshape((-1,) + (1,) * (c.ndim - 1)), np.nan, y)
        y = y.reshape(shape + c.shape[1:])
        before = list(range(len(shape), len(shape) + self.axis))
        after = list(range(len(shape) + self.axis, y.ndim))
        return np.transpose(y, before + list(range(len(shape))) + after) if self.axis else y

    def derivative(self, nu: int = 1) -> "Spline":
        """The spline of the ``nu``-th derivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            if k == 0:
                c = 0 * c
                continue
            width = t[k + 1 : -1] - t[1 : -k - 1]
            double = still(width) == 0
            slope = k / np.where(double, 1.0, width)
            c = column(np.where(double, 0.0, slope), c) * (c[1:] - c[:-1])
            t, k = t[1:-1], k - 1
        return Spline(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "Spline":
        """The spline of the ``nu``-th integral, 0 at the first knot."""
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            steps = column((t[k + 1 :] - t[: -k - 1]) / (k + 1), c) * c
            c = np.concatenate([0 * steps[:1], np.cumsum(steps, axis=0)], axis=0)
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return Spline(t, c, k, extrapolate, self.axis)

    @gives(array)
    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise UnsupportedError(
                "BSpline.integrate: extrapolate='periodic' is not traced by linad; integrate over "
                "one period and add"
            )
        if not extrapolate:
            low, high = self.t[self.k], self.t[self.t.shape[0] - self.k - 1]
            a, b = np.clip(a, low, high), np.clip(b, low, high)
        whole = self.antiderivative()
        return whole(b, extrapolate=True) - whole(a, extrapolate=True)


def spline_of(theirs: Any) -> Spline:
    """A B-spline of SciPy's, to be called with traced points; its axis is in front already."""
    return Spline(asarray(theirs.t), asarray(theirs.c), theirs.k, theirs.extrapolate, theirs.axis)


class BSpline(TracedClass, scipy.interpolate.BSpline):
    """As `scipy.interpolate.BSpline`; a traced argument makes a `Spline`."""

    @staticmethod
    def of_traced(t: Array, c: Array, k: int, extrapolate: Any, axis: int) -> Any:
        t, c = inexact(t), inexact(c)
        n = t.shape[0] - k - 1
        axis = normalize_axis(axis, c.ndim, "BSpline")
        if t.ndim != 1 or n < k + 1 or c.shape[axis] < n:
            raise ShapeError(
                f"BSpline: knots of shape {t.shape} and degree {k} need {n} coefficients along "
                f"axis {axis}, and {k + 1} at least; got shape {c.shape}"
            )
        if np.any(np.diff(still(t)) < 0):
            raise ValueError("BSpline: the knots must not decrease")
        if extrapolate != "periodic":
            extrapolate = bool(extrapolate)
        return Spline(t, np.moveaxis(c, axis, 0), int(k), extrapolate, axis)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        if holds_traced(x):
            return spline_of(self)(x, nu, extrapolate)
        return super().__call__(x, nu, extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        if holds_traced((a, b)):
            return spline_of(self).integrate(a, b, extrapolate)
        return super().integrate(a, b, extrapolate)
