"""`scipy.interpolate.interp1d`: interpolation in a table, traced."""

from typing import Any

import numpy as np
import scipy.interpolate

from linad.arrays.zero_dim import array, gives
from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.rules.gathering import entries_at
from linad.rules.shaping import astype, still
from linad.scipy.mirror import holds_traced, inexact
from linad.scipy.option_kinds import check_options
from linad.scipy.regulargrids import check_method
from linad.scipy.splinemakers import interpolated

KINDS = ("linear", "nearest", "nearest-up", "previous", "next", "quadratic", "cubic")
DEGREES = {"quadratic": 2, "cubic": 3}
OF_DEGREE = {1: "slinear", 2: "quadratic", 3: "cubic"}


def _fills(fill_value: Any) -> list[Any]:
    """What stands below and above."""
    if isinstance(fill_value, tuple) and len(fill_value) == 2:
        return list(fill_value)
    return [fill_value, fill_value]


def _check_fills(fill_value: Any, shape: tuple[int, ...]) -> None:
    """Raise unless what stands beyond the ends has the shape of a value, or broadcasts to it."""
    shape = shape or (1,)  # as SciPy has it: for numbers an array of one entry will do
    for fill in _fills(fill_value):
        given = asarray(fill).shape
        pairs = zip(reversed(given), reversed(shape), strict=False)
        if len(given) > len(shape) or any(n not in (1, m) for n, m in pairs):
            raise ShapeError(
                f"interp1d: fill_value must broadcast to the shape {shape} of a value, got {given}"
            )


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

    stands_for: type = scipy.interpolate.interp1d

    def __init__(
        self,
        x: Array,
        y: Array,
        kind: Any = "linear",
        axis: int = -1,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        check_method("interp1d", kind, (*KINDS, "slinear"))
        x, y = inexact(x), inexact(y)
        if kind == "slinear":  # a spline of degree 1, which SciPy makes in double precision
            x, y = [astype(a, np.result_type(a.dtype, float), copy=False) for a in (x, y)]
        if x.ndim != 1 or y.ndim == 0:
            raise ShapeError(f"interp1d: x must be a row and y an array, got {x.shape}, {y.shape}")
        axis = normalize_axis(axis, y.ndim, "interp1d")
        if y.shape[axis] != x.shape[0]:
            raise ShapeError(
                f"interp1d: y has {y.shape[axis]} entries along axis {axis}, x has {x.shape[0]}"
            )
        if kind == "slinear" and x.shape[0] < 2:
            raise ValueError(f"interp1d: 'slinear' needs two points or more, got {x.shape[0]}")
        extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        if extrapolates and bounds_error:
            raise ValueError("interp1d: cannot extrapolate and raise at the same time")
        if not extrapolates:
            _check_fills(fill_value, y.shape[:axis] + y.shape[axis + 1 :])
        if not assume_sorted:
            order = np.argsort(still(x), kind="mergesort")
            x, y = x[order], np.take(y, order, axis=axis)
        self.x, self.y, self.axis, self.fill_value = x, y, axis, fill_value
        self.kind = "linear" if kind == "slinear" else kind
        self._side: Any = "right" if kind == "slinear" else "left"  # which piece has a knot
        self.extrapolates = extrapolates
        self.bounds_error = not extrapolates if bounds_error is None else bounds_error
        self._rows = np.moveaxis(y, axis, 0)
        # SciPy has these of np.interp, which knows the value of a single point; else it is NaN.
        of_doubles = x.dtype == y.dtype == np.dtype(float)
        self._by_numpy = kind == "linear" and y.ndim == 1 and of_doubles and not extrapolates
        degree = DEGREES.get(self.kind)
        self._spline = None if degree is None else interpolated(x, self._rows, degree)

    @gives(array)
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

    def _found(self, x: Array, here: Array, ticks: Array) -> Any:
        """The rows for each point, with the table continued beyond its ends."""
        n, rows = ticks.shape[0], self._rows
        if self._spline is not None:
            return self._spline(x)
        if self.kind == "linear":
            if n == 1 and self._by_numpy:
                return rows[np.zeros(here.shape, int)]
            i = np.clip(np.searchsorted(ticks, here, side=self._side), 1, n - 1)
            low, high = entries_at(self.x, i - 1), entries_at(self.x, i)
            if np.any(np.isnan(here)):
                x = np.where(np.isnan(here), 0.0, x)  # its place is filled later
            trailing = (1,) * (rows.ndim - 1)
            width = high - low
            above = ((x - low) / width).reshape(x.shape + trailing)
            below = ((high - x) / width).reshape(x.shape + trailing)
            return above * entries_at(rows, i) + below * entries_at(rows, i - 1)
        if self.kind in ("nearest", "nearest-up"):
            side: Any = "left" if self.kind == "nearest" else "right"
            middles = ticks[1:] / 2 + ticks[:-1] / 2
            i = np.searchsorted(middles, here, side=side)
            return entries_at(rows, np.clip(i, 0, n - 1))
        if self.kind == "previous":
            i = np.searchsorted(np.nextafter(ticks, -np.inf), here, side="left") - 1
        else:
            i = np.searchsorted(np.nextafter(ticks, np.inf), here, side="right")
        return entries_at(rows, np.clip(i, 0, n - 1))

    def _filled(self, y: Array, here: Array, ticks: Array) -> Any:
        """What stands beyond the ends, and for NaN."""
        below, above = here < ticks[0], here > ticks[-1]
        fills: list[Any]
        if not self.extrapolates:
            fills = _fills(self.fill_value)
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
                if fill.ndim > y.ndim - here.ndim:  # one entry, for numbers
                    fill = fill.reshape(())
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
        x: Array,
        y: Array,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> Any:
        if holds_traced((x, y, fill_value)):
            check_options("scipy.interpolate.interp1d", "interp1d", {"copy": copy})
            return Table(x, y, kind, axis, bounds_error, fill_value, assume_sorted)
        return super().__new__(cls)

    def __call__(self, x: Any) -> Any:
        if not holds_traced(x):
            return super().__call__(x)
        kind = self._kind
        if kind == "spline":
            kind = OF_DEGREE.get(self._spline.k, f"a spline of degree {self._spline.k}")
        made = Table(
            *(self.x, self.y, kind, self.axis),
            *(self.bounds_error, self.fill_value, True),
        )
        return made(x)
