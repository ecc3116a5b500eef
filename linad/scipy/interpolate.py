"""scipy.interpolate, traced: interpolation on grids, in tables, and by splines.

The classes are SciPy's; made of plain data they are called with traced points, and made of traced
data they are a traced object with the same calls. Linear interpolation on a grid is, on each axis,

    i with x_i <= x < x_{i+1},   t = (x - x_i) / (x_{i+1} - x_i),   (1 - t) y_i + t y_{i+1}

and differentiable in values, points and grid; on a grid point the derivative is that from above.
Splines are in `linad.scipy.piecewise`, `linad.scipy.bsplines` and `linad.scipy.fitpack`, scattered
data in `linad.scipy.scattered`.
"""

import itertools
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.sparse.linalg

from linad.core.frames import public_names
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import astype, still
from linad.scipy.bsplines import BSpline as BSpline
from linad.scipy.fitpack import (
    InterpolatedUnivariateSpline as InterpolatedUnivariateSpline,
    LSQUnivariateSpline as LSQUnivariateSpline,
    UnivariateSpline as UnivariateSpline,
    spalde as spalde,
    splantider as splantider,
    splder as splder,
    splev as splev,
    splint as splint,
    splrep as splrep,
)
from linad.scipy.mirror import TracedClass, bound_form, holds_traced, inexact
from linad.scipy.node_polynomials import (
    BarycentricInterpolator as BarycentricInterpolator,
    KroghInterpolator as KroghInterpolator,
    barycentric_interpolate as barycentric_interpolate,
    krogh_interpolate as krogh_interpolate,
)
from linad.scipy.piecewise import (
    Akima1DInterpolator as Akima1DInterpolator,
    CubicHermiteSpline as CubicHermiteSpline,
    CubicSpline as CubicSpline,
    PchipInterpolator as PchipInterpolator,
    PPoly as PPoly,
    pchip_at_each,
    pchip_interpolate as pchip_interpolate,
)
from linad.scipy.scattered import (
    LinearNDInterpolator as LinearNDInterpolator,
    NearestNDInterpolator as NearestNDInterpolator,
    RBFInterpolator as RBFInterpolator,
    griddata as griddata,
)
from linad.scipy.smoothingsplines import make_smoothing_spline as make_smoothing_spline
from linad.scipy.splinemakers import (
    interpolated,
    make_interp_spline as make_interp_spline,
    make_lsq_spline as make_lsq_spline,
)
from linad.scipy.tensorsplines import (
    LSQBivariateSpline as LSQBivariateSpline,
    RectBivariateSpline as RectBivariateSpline,
    SmoothBivariateSpline as SmoothBivariateSpline,
    TensorSpline,
    bisplev as bisplev,
)


def __getattr__(name: str) -> Any:
    return getattr(scipy.interpolate, name)


def __dir__() -> list[str]:
    return public_names(scipy.interpolate)


# On a regular grid.

DEGREES_ON_GRIDS = {"slinear": 1, "cubic": 3, "quintic": 5}
LINEAR_OR_NEAREST = ("linear", "nearest")
GRID_METHODS = ("linear", "nearest", *DEGREES_ON_GRIDS, "pchip")


def _check_method(name: str, method: Any, allowed: tuple[str, ...]) -> None:
    if method not in allowed:
        raise UnsupportedError(
            f"{name}: {method!r} is not traced by linad; pass one of {', '.join(allowed)}, or use "
            f"CubicSpline or PchipInterpolator, which are"
        )


class RegularGrid:
    """Traced values on a regular grid: what `RegularGridInterpolator` makes of traced arguments.

    Parameters
    ----------
    points : sequence of d arrays (n_k,)
        The grid, strictly ascending or descending along each axis.
    values : array (n_1, ..., n_d, ...)
    method : {"linear", "nearest", "slinear", "cubic", "quintic", "pchip"}
    bounds_error : bool
    fill_value : number or None

    Notes
    -----
    2^d reads of the values a point, one where it is the nearest, (k + 1)^d for splines of degree k;
    "pchip" reads a row of the grid along the last axis, a column of those along the next, ...
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str,
        bounds_error: bool = True,
        fill_value: Any = np.nan,
    ) -> None:
        name = "RegularGridInterpolator"
        _check_method(name, method, GRID_METHODS)
        values = inexact(values)
        if len(points) > values.ndim:
            raise ShapeError(
                f"{name}: {len(points)} point arrays, but values has {values.ndim} axes"
            )
        grid = []
        for k, p in enumerate(points):
            p = astype(asarray(p), float, copy=False)
            if p.ndim != 1 or p.shape[0] != values.shape[k]:
                raise ShapeError(
                    f"{name}: axis {k} has {values.shape[k]} values and points of shape {p.shape}"
                )
            steps = np.diff(still(p))
            if not np.all(steps > 0):
                if not np.all(steps < 0):
                    raise ValueError(
                        f"{name}: the points in dimension {k} must be strictly ascending or "
                        f"descending"
                    )
                p, values = p[::-1], np.flip(values, axis=k)
            grid.append(p)
        self.grid, self.values, self.method = tuple(grid), values, method
        self.bounds_error, self.fill_value = bounds_error, fill_value

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """The value at points (..., d), or at a tuple of d arrays that broadcast."""
        method = self.method if method is None else method
        _check_method("RegularGridInterpolator", method, GRID_METHODS)
        if nu is not None and method not in DEGREES_ON_GRIDS:
            raise ValueError(f"RegularGridInterpolator: nu is not for method {method!r}")
        coordinates = self._coordinates(xi)
        values, d = self.values, len(self.grid)
        lost = np.zeros(coordinates[0].shape, bool)
        outside = lost.copy()
        for k, (x, g) in enumerate(zip(coordinates, self.grid, strict=True)):
            here, ticks = still(x), still(g)
            lost = lost | np.isnan(here)
            off = (here < ticks[0]) | (here > ticks[-1])
            if self.bounds_error and (np.any(off) or np.any(np.isnan(here))):
                raise ValueError(f"One of the requested xi is out of bounds in dimension {k}")
            outside = outside | off
        trailing = (1,) * (values.ndim - d)
        if method in LINEAR_OR_NEAREST:
            total = self._between(coordinates, method, trailing)
        else:
            shape = coordinates[0].shape
            points = [
                np.where(lost, still(g[0]), x).reshape(-1)
                for g, x in zip(self.grid, coordinates, strict=True)
            ]
            total = self._smooth(points, method, nu).reshape(shape + values.shape[d:])
        if not self.bounds_error and self.fill_value is not None:
            fill = astype(asarray(self.fill_value), total.dtype, copy=False)
            total = np.where(outside.reshape(outside.shape + trailing), fill, total)
        if np.any(lost):
            total = np.where(lost.reshape(lost.shape + trailing), np.nan, total)
        return total

    def _between(self, coordinates: list[Any], method: str, trailing: Any) -> Any:
        """The value at the nearest corner, or the linear one between all."""
        ends = [_ends(g, x, method) for g, x in zip(self.grid, coordinates, strict=True)]
        total: Any = None
        for corner in itertools.product(*ends):
            term = self.values[tuple([i for i, _ in corner])]
            for _, weight in corner:
                if weight is not None:
                    term = weight.reshape(weight.shape + trailing) * term
            total = term if total is None else total + term
        return total

    def _smooth(self, points: list[Any], method: str, nu: Any) -> Any:
        """The values (q, ...) of a spline, or of monotone cubics along one axis after the other."""
        degree = DEGREES_ON_GRIDS.get(method, 3)
        for k, g in enumerate(self.grid):
            if g.shape[0] <= degree:
                raise ValueError(
                    f"There are {g.shape[0]} points in dimension {k}, but method {method} requires "
                    f"at least {degree + 1} points per dimension."
                )
        d = len(self.grid)
        if method != "pchip":
            spline = TensorSpline.through(self.grid, self.values, [degree] * d)
            return spline.derivative([0] * d if nu is None else nu).at(points)
        values = self.values
        for k in reversed(range(d)):
            # (n_1, ..., n_k, [q,] ...) -> (n_k, q, n_1, ..., n_k-1, ...)
            values = np.moveaxis(values, k, 0)
            if k == d - 1:
                values = np.broadcast_to(
                    values[:, None], (values.shape[0], points[0].shape[0], *values.shape[1:])
                )
            else:
                values = np.moveaxis(values, 1 + k, 1)
            values = pchip_at_each(self.grid[k], values, points[k])
            # (q, n_1, ..., n_k-1, ...) -> (n_1, ..., n_k-1, q, ...)
            values = np.moveaxis(values, 0, k)
        return values

    def _coordinates(self, xi: Any) -> list[Any]:
        d = len(self.grid)
        if isinstance(xi, tuple) and len(xi) == 1:
            xi = xi[0]
        if isinstance(xi, tuple):
            found = list(np.broadcast_arrays(*[asarray(x) for x in xi]))
        else:
            xi = asarray(xi)
            if xi.ndim == 1:
                xi = xi.reshape((-1, d))
            found = [xi[..., k] for k in range(xi.shape[-1])]
        if len(found) != d:
            raise ShapeError(
                f"RegularGridInterpolator: the points xi have dimension {len(found)}, the grid {d}"
            )
        return [astype(x, float, copy=False) for x in found]


def _ends(g: Any, x: Any, method: str) -> list[tuple[Any, Any]]:
    """The grid points beside x, with their weights; None is 1."""
    n = g.shape[0]
    if n == 1:
        return [(np.zeros(x.shape, np.intp), None)]
    here, ticks = np.nan_to_num(still(x)), still(g)
    i = np.clip(np.searchsorted(ticks, here, side="right") - 1, 0, n - 2)
    if method == "nearest":
        t = (here - ticks[i]) / (ticks[i + 1] - ticks[i])
        return [(np.where(t <= 0.5, i, i + 1), None)]
    x = np.where(np.isnan(still(x)), 0.0, x)
    left = g[i]
    weight = (x - left) / (g[i + 1] - left)
    return [(i, 1 - weight), (i + 1, weight)]


class RegularGridInterpolator(TracedClass, scipy.interpolate.RegularGridInterpolator):
    """As `scipy.interpolate.RegularGridInterpolator`; traced data make a `RegularGrid`.

    Notes
    -----
    All methods are traced but those whose names end in "_legacy". The coefficients of "slinear",
    "cubic" and "quintic" are solved for directly; SciPy's own iteration, unless it is given
    ``solver=scipy.sparse.linalg.spsolve``, leaves errors of about 1e-6.
    """

    @staticmethod
    def of_traced(
        points: Any,
        values: Any,
        method: str,
        bounds_error: bool,
        fill_value: Any,
        solver: Any,
        solver_args: Any,
    ) -> Any:
        if solver not in (None, scipy.sparse.linalg.spsolve) or solver_args:
            raise UnsupportedError(
                "RegularGridInterpolator: solver and solver_args are not traced by linad; leave "
                "them out, as splines are solved for directly, or pass scipy.sparse.linalg.spsolve"
            )
        return RegularGrid(points, values, method, bounds_error, fill_value)

    def __call__(self, xi: Any, method: str | None = None, **options: Any) -> Any:
        if not holds_traced(xi):
            return super().__call__(xi, method, **options)
        method = self.method if method is None else method
        made = RegularGrid(self.grid, self.values, method, self.bounds_error, self.fill_value)
        return made(xi, **options)


@bound_form(scipy.interpolate.interpn)
def interpn(points: Any, values: Any, xi: Any, method: str, **beyond: Any) -> Any:
    if method == "splinef2d":
        return _by_fitpack(points, values, xi, **beyond)
    _check_method("interpn", method, GRID_METHODS)
    return RegularGrid(points, values, method, **beyond)(xi)


def _by_fitpack(
    points: Any, values: Any, xi: Any, bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    """A cubic spline of two variables, filled beyond the grid."""
    if not bounds_error and fill_value is None:
        raise ValueError("interpn: the method 'splinef2d' does not support extrapolation")
    made = RegularGrid(points, values, "cubic", bounds_error, fill_value)
    if len(made.grid) != 2 or made.values.ndim != 2:
        raise ValueError("interpn: the method 'splinef2d' is for scalar data on grids of two axes")
    return made(xi)


# In a table.

KINDS = ("linear", "nearest", "nearest-up", "previous", "next", "quadratic", "cubic")
DEGREES = {"quadratic": 2, "cubic": 3}


class Table:
    """Traced values in a table: what `interp1d` makes of traced arguments.

    Parameters
    ----------
    x : array (n,)
    y : array (..., n, ...)
    kind : str
        One of "linear", "slinear", "nearest", "nearest-up", "previous", "next", "quadratic" and
        "cubic".
    axis : int
    bounds_error : bool, optional
    fill_value : array, (below, above) or "extrapolate"
    assume_sorted : bool
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        _check_method("interp1d", kind, (*KINDS, "slinear"))
        x, y = inexact(x), inexact(y)
        if x.ndim != 1 or y.ndim == 0:
            raise ShapeError(f"interp1d: x must be a row and y an array, got {x.shape}, {y.shape}")
        axis = normalize_axis(axis, y.ndim, "interp1d")
        if y.shape[axis] != x.shape[0]:
            raise ShapeError(
                f"interp1d: y has {y.shape[axis]} entries along axis {axis}, x has {x.shape[0]}"
            )
        extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        if extrapolates and bounds_error:
            raise ValueError("interp1d: cannot extrapolate and raise at the same time")
        if not assume_sorted:
            order = np.argsort(still(x), kind="mergesort")
            x, y = x[order], np.take(y, order, axis=axis)
        self.x, self.y, self.axis, self.fill_value = x, y, axis, fill_value
        self.kind = "linear" if kind == "slinear" else kind
        self.extrapolates = extrapolates
        self.bounds_error = not extrapolates if bounds_error is None else bounds_error
        self._rows = np.moveaxis(y, axis, 0)
        degree = DEGREES.get(self.kind)
        self._spline = None if degree is None else interpolated(x, self._rows, degree)

    def __call__(self, x: Any) -> Any:
        """The value at points of any shape."""
        x = inexact(x)
        here, ticks = still(x), still(self.x)
        if self.bounds_error:
            for off, what in ((here < ticks[0], "below"), (here > ticks[-1], "above")):
                if np.any(off):
                    raise ValueError(f"interp1d: a value in x_new is {what} the range")
        y = self._filled(self._found(x, here, ticks), here, ticks)
        # SciPy's places the axes of x where the axis was.
        kept = list(range(x.ndim, x.ndim + self.axis))
        rest = list(range(x.ndim + self.axis, y.ndim))
        return np.transpose(y, kept + list(range(x.ndim)) + rest) if self.axis else y

    def _found(self, x: Any, here: Any, ticks: Any) -> Any:
        """The rows for each point, with the table continued beyond its ends."""
        n, rows = ticks.shape[0], self._rows
        if self._spline is not None:
            return self._spline(x)
        if self.kind == "linear":
            i = np.clip(np.searchsorted(ticks, here), 1, n - 1)
            low, high = self.x[i - 1], self.x[i]
            if np.any(np.isnan(here)):
                x = np.where(np.isnan(here), 0.0, x)  # its place is filled later
            trailing = (1,) * (rows.ndim - 1)
            width = high - low
            above = ((x - low) / width).reshape(x.shape + trailing)
            below = ((high - x) / width).reshape(x.shape + trailing)
            return above * rows[i] + below * rows[i - 1]
        if self.kind in ("nearest", "nearest-up"):
            side: Any = "left" if self.kind == "nearest" else "right"
            middles = ticks[1:] / 2 + ticks[:-1] / 2
            return rows[np.clip(np.searchsorted(middles, here, side=side), 0, n - 1)]
        if self.kind == "previous":
            i = np.searchsorted(np.nextafter(ticks, -np.inf), here, side="left") - 1
        else:
            i = np.searchsorted(np.nextafter(ticks, np.inf), here, side="right")
        return rows[np.clip(i, 0, n - 1)]

    def _filled(self, y: Any, here: Any, ticks: Any) -> Any:
        """What stands beyond the ends, and for NaN."""
        below, above = here < ticks[0], here > ticks[-1]
        fills: list[Any]
        if not self.extrapolates:
            given = self.fill_value
            fills = list(given) if isinstance(given, tuple) and len(given) == 2 else [given] * 2
        elif self.kind == "previous":
            fills = [np.nan, None]
        elif self.kind == "next":
            fills = [None, np.nan]
        else:
            fills = [None, None]
        trailing = (1,) * (y.ndim - here.ndim)
        for off, fill in zip((below, above), fills, strict=True):
            if fill is not None and np.any(off):
                fill = astype(asarray(fill), y.dtype, copy=False)
                y = np.where(off.reshape(off.shape + trailing), fill, y)
        if self.kind == "linear" and np.any(np.isnan(here)):
            y = np.where(np.isnan(here).reshape(here.shape + trailing), np.nan, y)
        return y


class interp1d(scipy.interpolate.interp1d):
    """As `scipy.interpolate.interp1d`; traced data make a `Table`.

    Notes
    -----
    The kinds "linear", "slinear", "nearest", "nearest-up", "previous", "next", "quadratic"
    and "cubic" are traced.
    """

    def __new__(
        cls,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> Any:
        if holds_traced((x, y, fill_value)):
            return Table(x, y, kind, axis, bounds_error, fill_value, assume_sorted)
        made = super().__new__(cls)
        made._traced_kind = kind
        return made

    def __call__(self, x: Any) -> Any:
        if not holds_traced(x):
            return super().__call__(x)
        made = Table(
            *(self.x, self.y, self._traced_kind, self.axis),
            *(self.bounds_error, self.fill_value, True),
        )
        return made(x)
