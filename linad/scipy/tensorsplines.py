"""Splines on grids: products of B-splines, one along each axis, traced.

s(x) = Σ c_{ij...} N_i(x_1) N_j(x_2) ..., with the coefficients by interpolation along one axis
after the other. Beyond the grid `RectBivariateSpline` has its value at the edge.

Source: C. de Boor, "A Practical Guide to Splines", 2001, chapter 17.
"""

import itertools
from typing import Any

import numpy as np
import scipy.interpolate

from linad.core.array_type import Array
from linad.errors import ShapeError, UnsupportedError
from linad.rules.gathering import entries_at
from linad.rules.shaping import astype, still
from linad.scipy.bsplines import Spline, basis_at
from linad.scipy.mirror import StandIn, TracedClass, check_real, holds_traced, inexact, traced_form
from linad.scipy.piecewise import increasing
from linad.scipy.splinemakers import interpolated, knots_of


class TensorSpline:
    """A spline on a grid of d axes.

    Parameters
    ----------
    t : sequence of d arrays (n_k + degree_k + 1,)
        Knots along each axis.
    c : array (n_1, ..., n_d, ...)
    degrees : sequence of d ints
    """

    def __init__(self, t: Any, c: Array, degrees: Any) -> None:
        self.t, self.c, self.degrees = tuple(t), c, tuple(degrees)

    @classmethod
    def through(cls, grid: Any, values: Array, degrees: Any) -> "TensorSpline":
        """The spline through values (n_1, ..., n_d, ...) on a grid."""
        knots, c = [], values
        for k, (x, degree) in enumerate(zip(grid, degrees, strict=True)):
            made = interpolated(x, np.moveaxis(c, k, 0), degree, knots_of(x, degree))
            knots.append(made.t)
            c = np.moveaxis(made.c, 0, k)
        return cls(knots, c, degrees)

    def derivative(self, orders: Any) -> "TensorSpline":
        """The spline of the derivative of an order along each axis."""
        return self._along("derivative", orders)

    def antiderivative(self) -> "TensorSpline":
        """The spline of the integral along all axes, 0 at the first knots."""
        return self._along("antiderivative", [1] * len(self.t))

    def _along(self, method: str, orders: Any) -> "TensorSpline":
        t, c, degrees = list(self.t), self.c, list(self.degrees)
        for k, order in enumerate(orders):
            if order:
                made = getattr(Spline(t[k], np.moveaxis(c, k, 0), degrees[k]), method)(int(order))
                t[k], degrees[k], c = made.t, made.k, np.moveaxis(made.c, 0, k)
        return TensorSpline(t, c, degrees)

    def ends(self, k: int) -> tuple[Any, Any]:
        """Where the first and the last piece along an axis begin and end."""
        t, degree = self.t[k], self.degrees[k]
        return t[degree], t[t.shape[0] - degree - 1]

    def at(self, points: Any) -> Any:
        """The values at points, given by d arrays (q,); beyond the grid the outer pieces."""
        bases, places = [], []
        for t, degree, x in zip(self.t, self.degrees, points, strict=True):
            basis, first = basis_at(t, degree, x)
            bases.append(basis)
            places.append(first)
        tail = (1,) * (self.c.ndim - len(self.t))
        total: Any = 0.0
        for corner in itertools.product(*[range(degree + 1) for degree in self.degrees]):
            at = tuple([first + j for first, j in zip(places, corner, strict=True)])
            term = entries_at(self.c, at)
            for basis, j in zip(bases, corner, strict=True):
                term = basis[:, j].reshape((-1, *tail)) * term
            total = total + term
        return total

    def on_grid(self, points: Any) -> Any:
        """The values on the grid of d arrays of points."""
        y = self.c
        for k, (t, degree, x) in enumerate(zip(self.t, self.degrees, points, strict=True)):
            y = np.moveaxis(Spline(t, np.moveaxis(y, k, 0), degree)(x), 0, k)
        return y


class OnGrid(StandIn):
    """A traced spline of d variables: what `NdBSpline` makes of traced arguments.

    Parameters
    ----------
    spline : TensorSpline
    extrapolate : bool
        Whether the outer pieces go on beyond the grid, where it is NaN otherwise.
    """

    stands_for: type = scipy.interpolate.NdBSpline

    def __init__(self, spline: TensorSpline, extrapolate: bool) -> None:
        self.spline, self.extrapolate = spline, extrapolate

    def __call__(self, xi: Any, *, nu: Any = None, extrapolate: Any = None) -> Any:
        """The values, or a derivative of an order along each axis, at points (..., d)."""
        extrapolate = self.extrapolate if extrapolate is None else bool(extrapolate)
        d, x = len(self.spline.t), astype(inexact(xi), float, copy=False)
        if not x.ndim or x.shape[-1] != d:
            raise ShapeError(f"NdBSpline: points of shape {x.shape}, expected (..., {d})")
        orders = np.zeros(d, int) if nu is None else np.asarray(nu, int)
        if orders.shape != (d,) or np.any(orders < 0):
            raise ValueError(f"NdBSpline: nu must be {d} orders, none negative, got {nu!r}")
        shape, x = x.shape[:-1], x.reshape((-1, d))
        made = self.spline.derivative(orders)
        y = made.at([x[:, k] for k in range(d)])
        lost = np.any(np.isnan(still(x)), axis=1)
        if not extrapolate:
            for k in range(d):
                low, high = self.spline.ends(k)
                lost = lost | (still(x[:, k]) < still(low)) | (still(x[:, k]) > still(high))
        if np.any(lost):
            y = np.where(lost.reshape((-1,) + (1,) * (y.ndim - 1)), np.nan, y)
        return y.reshape(shape + y.shape[1:])


class NdBSpline(TracedClass, scipy.interpolate.NdBSpline):
    """As `scipy.interpolate.NdBSpline`; a traced argument makes an `OnGrid`."""

    @staticmethod
    def of_traced(t: Any, c: Any, k: Any, extrapolate: Any) -> Any:
        t, c = [astype(inexact(knots), float, copy=False) for knots in t], inexact(c)
        degrees = [int(degree) for degree in np.broadcast_to(k, len(t))]
        for axis, (knots, degree) in enumerate(zip(t, degrees, strict=True)):
            wanted = knots.shape[0] - degree - 1
            if c.ndim < len(t) or c.shape[axis] != wanted or wanted < degree + 1:
                raise ShapeError(
                    f"NdBSpline: {knots.shape[0]} knots of degree {degree} need "
                    f"{wanted} coefficients along axis {axis}, got shape {c.shape}"
                )
            if np.any(np.diff(still(knots)) < 0):
                raise ValueError(f"NdBSpline: the knots along axis {axis} must not decrease")
        return OnGrid(TensorSpline(t, c, degrees), extrapolate is None or bool(extrapolate))

    def __call__(self, xi: Any, *, nu: Any = None, extrapolate: Any = None) -> Any:
        if not holds_traced(xi):
            return super().__call__(xi, nu=nu, extrapolate=extrapolate)
        made = TensorSpline(self.t, np.asarray(self.c), self.k)
        return OnGrid(made, self.extrapolate)(xi, nu=nu, extrapolate=extrapolate)


class Bivariate(StandIn):
    """A traced spline of two variables: what `RectBivariateSpline` makes of traced data.

    Parameters
    ----------
    spline : TensorSpline
        Of two axes.
    """

    stands_for: type = scipy.interpolate.BivariateSpline

    def __init__(self, spline: TensorSpline) -> None:
        self.spline = spline

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """Values, or derivatives, on the grid of x and y, or at points that broadcast."""
        points = [_held_within(self.spline.ends(k), v, f"{'xy'[k]}") for k, v in enumerate((x, y))]
        made = self._derivative(dx, dy)
        if grid:
            for v in (x, y):
                if np.ndim(v) > 1 or np.any(np.diff(still(np.atleast_1d(v))) < 0):
                    raise ValueError("BivariateSpline: x and y must be sorted rows where grid=True")
            return made.on_grid([np.atleast_1d(v) for v in points])
        points = list(np.broadcast_arrays(*points))
        return made.at([v.reshape(-1) for v in points]).reshape(points[0].shape)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """Values, or derivatives, at points that broadcast."""
        return self(xi, yi, dx, dy, grid=False)

    def partial_derivative(self, dx: int, dy: int) -> "Bivariate":
        """The spline of a derivative."""
        return Bivariate(self._derivative(dx, dy))

    def _derivative(self, *orders: int) -> TensorSpline:
        """The same of orders that SciPy takes: those below the degrees."""
        if any(n and not 0 <= n < k for n, k in zip(orders, self.spline.degrees, strict=True)):
            raise ValueError(
                f"BivariateSpline: orders of derivatives must be 0, or less than the degrees "
                f"{self.spline.degrees}; got {orders}"
            )
        return self.spline.derivative(orders)

    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        """The integral over [xa, xb] x [ya, yb]."""
        whole = self.spline.antiderivative()
        x, y = [
            np.stack([_held_within(self.spline.ends(k), inexact(v), "limits") for v in pair])
            for k, pair in enumerate(((xa, xb), (ya, yb)))
        ]
        corners = whole.on_grid([x, y])
        return corners[1, 1] - corners[0, 1] - corners[1, 0] + corners[0, 0]


def _held_within(ends: tuple[Any, ...], x: Array, what: str) -> Any:
    """Points moved to the edge where they lie beyond it."""
    check_real("BivariateSpline", **{what: x})
    x = astype(inexact(x), float, copy=False)
    low, high = ends
    x = np.where(still(x) < still(low), low, x)
    return np.where(still(x) > still(high), high, x)


def _of_tck(tck: Any, degrees: tuple[Any, ...]) -> Bivariate:
    tx, ty, c = (inexact(part) for part in tck)
    shape = [t.shape[0] - k - 1 for t, k in zip((tx, ty), degrees, strict=True)]
    return Bivariate(TensorSpline((tx, ty), c.reshape(shape), degrees))


class _AtTracedPlaces:
    """The calls of a SciPy spline that take traced numbers."""

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        if holds_traced((x, y)):
            made = _of_tck(self.tck[:3], self.degrees)  # type: ignore[attr-defined]
            return made(x, y, dx, dy, grid)
        return super().__call__(x, y, dx, dy, grid)  # type: ignore[misc]

    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        if holds_traced((xa, xb, ya, yb)):
            made = _of_tck(self.tck[:3], self.degrees)  # type: ignore[attr-defined]
            return made.integral(xa, xb, ya, yb)
        return super().integral(xa, xb, ya, yb)  # type: ignore[misc]


class RectBivariateSpline(_AtTracedPlaces, TracedClass, scipy.interpolate.RectBivariateSpline):
    """As `scipy.interpolate.RectBivariateSpline`; traced data with ``s=0`` make a `Bivariate`."""

    @staticmethod
    def of_traced(
        x: Array, y: Array, z: Array, bbox: Any, kx: int, ky: int, s: Any, maxit: int = 20
    ) -> Any:
        name = "RectBivariateSpline"
        if holds_traced(s) or s != 0 or any(b is not None for b in bbox):
            raise UnsupportedError(
                f"{name}: s={s!r} and bbox={list(bbox)}: smoothing and another rectangle are not "
                f"traced by linad; interpolate with s=0 on the rectangle of the data"
            )
        check_real(name, z=z)
        x, y = increasing(name, x), increasing(name, y)
        z = astype(inexact(z), float, copy=False)
        if z.shape != (x.shape[0], y.shape[0]):
            raise ShapeError(f"{name}: z must have shape {(x.shape[0], y.shape[0])}, got {z.shape}")
        return Bivariate(TensorSpline.through((x, y), z, (int(kx), int(ky))))


class SmoothBivariateSpline(_AtTracedPlaces, scipy.interpolate.SmoothBivariateSpline):
    """As `scipy.interpolate.SmoothBivariateSpline`, with points of evaluation that are traced."""


class LSQBivariateSpline(_AtTracedPlaces, scipy.interpolate.LSQBivariateSpline):
    """As `scipy.interpolate.LSQBivariateSpline`, with points of evaluation that are traced."""


@traced_form(scipy.interpolate.bisplev)
def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    *parts, kx, ky = tck
    check_real("bisplev", c=parts[2])
    z = _of_tck(parts, (kx, ky))(x, y, dx, dy)
    if z.shape[0] > 1:
        return z
    return z[0] if z.shape[1] > 1 else z[0, 0]
