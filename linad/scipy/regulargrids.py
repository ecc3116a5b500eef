"""Interpolation on regular grids, as scipy.interpolate does; traced.

Linear interpolation is, on each axis,

    i with x_i <= x < x_{i+1},   t = (x - x_i) / (x_{i+1} - x_i),   (1 - t) y_i + t y_{i+1}

and differentiable in values, points and grid; on a grid point the derivative is that from above.
"""

import itertools
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.sparse.linalg

from linad.core.array_type import Array
from linad.errors import ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.gathering import entries_at
from linad.rules.shaping import astype, still
from linad.scipy.mirror import StandIn, TracedClass, bound_form, holds_traced, inexact
from linad.scipy.piecewise import pchip_at_each
from linad.scipy.tensorsplines import TensorSpline

DEGREES_ON_GRIDS = {"slinear": 1, "cubic": 3, "quintic": 5}
LINEAR_OR_NEAREST = ("linear", "nearest")
GRID_METHODS = ("linear", "nearest", *DEGREES_ON_GRIDS, "pchip")


def check_method(name: str, method: Any, allowed: tuple[str, ...]) -> None:
    if method not in allowed:
        raise UnsupportedError(
            f"{name}: {method!r} is not traced by linad; pass one of {', '.join(allowed)}, or use "
            f"CubicSpline or PchipInterpolator, which are"
        )


class RegularGrid(StandIn):
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

    stands_for: type = scipy.interpolate.RegularGridInterpolator

    def __init__(
        self,
        points: tuple[Any, ...],
        values: Array,
        method: str,
        bounds_error: bool = True,
        fill_value: Any = np.nan,
    ) -> None:
        name = "RegularGridInterpolator"
        check_method(name, method, GRID_METHODS)
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
        check_method("RegularGridInterpolator", method, GRID_METHODS)
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

    def _between(self, coordinates: list[Any], method: str, trailing: tuple[Any, ...]) -> Any:
        """The value at the nearest corner, or the linear one between all."""
        ends = [_ends(g, x, method) for g, x in zip(self.grid, coordinates, strict=True)]
        total: Any = None
        for corner in itertools.product(*ends):
            term = entries_at(self.values, tuple([i for i, _ in corner]))
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

    def _coordinates(self, xi: Array) -> list[Any]:
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


def _ends(g: Array, x: Array, method: str) -> list[tuple[Any, Any]]:
    """The grid points beside x, with their weights; None is 1."""
    n = g.shape[0]
    if n == 1:
        return [(np.zeros(x.shape, np.intp), None)]
    here, ticks = np.nan_to_num(still(x)), still(g)
    i = np.clip(np.searchsorted(ticks, here, side="right") - 1, 0, n - 2)
    if method == "nearest":
        start = entries_at(ticks, i)
        t = (here - start) / (entries_at(ticks, i + 1) - start)
        return [(np.where(t <= 0.5, i, i + 1), None)]
    x = np.where(np.isnan(still(x)), 0.0, x)
    left = entries_at(g, i)
    weight = (x - left) / (entries_at(g, i + 1) - left)
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
        values: Array,
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
def interpn(points: Any, values: Array, xi: Array, method: str, **beyond: Any) -> Any:
    if method == "splinef2d":
        return _by_fitpack(points, values, xi, **beyond)
    check_method("interpn", method, GRID_METHODS)
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
