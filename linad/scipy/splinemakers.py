"""B-splines of scipy.interpolate through data, and near to data; traced.

Interpolation solves a banded system for the coefficients: a row of basis functions a point, and
one a condition at the ends. Knots that are given, and more points, make a least squares problem.

Source: C. de Boor, "A Practical Guide to Splines", 2001.
"""

from typing import Any

import numpy as np
import scipy.interpolate

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError, UnsupportedError
from linad.rules.banded import solve_banded_
from linad.rules.shaping import astype, still
from linad.scipy.bsplines import BSpline, Spline, basis, basis_at, interval_of
from linad.scipy.mirror import check_finite as check, check_real, holds_traced, inexact
from linad.scipy.option_kinds import check_options
from linad.scipy.piecewise import increasing

# Interpolation.


def knots_of(x: Array, k: int) -> Any:
    """Knots at the data without those next to the ends; between them for even degree."""
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2
    skipped = (k + 1) // 2 if k % 2 else k // 2
    inner = inner[skipped : inner.shape[0] - skipped]
    return np.concatenate([x[:1]] * (k + 1) + [inner] + [x[-1:]] * (k + 1))


NAMED_ENDS = {"natural": [(2, 0.0)], "clamped": [(1, 0.0)], "not-a-knot": []}


def _end_conditions(bc_type: Any) -> list[list[Any]]:
    """For each end a list of (order of derivative, value)."""
    pair = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else bc_type
    ends: list[list[Any]] = []
    for end in pair:
        if end is None:
            ends.append([])
        elif isinstance(end, str):
            if end not in NAMED_ENDS:
                raise UnsupportedError(
                    f"make_interp_spline: bc_type={end!r} is not traced by linad; pass one of "
                    f"{', '.join(NAMED_ENDS)}, or derivatives at both ends"
                )
            ends.append(list(NAMED_ENDS[end]))
        elif isinstance(end, (list, tuple)):
            ends.append(list(end))
        else:
            raise ValueError(
                f"make_interp_spline: bc_type holds a list of pairs (order, value) for each end, "
                f"as ([(1, 0.0)], [(2, 0.0)]); got {bc_type!r}"
            )
    return ends


def interpolated(
    x: Array, y: Array, k: int, t: Array | None = None, bc_type: Any = None, axis: int = 0
) -> Spline:
    """The spline through (x, y), y having the values along ``axis``."""
    name = "make_interp_spline"
    x, y = increasing(name, x), inexact(y)
    axis = normalize_axis(axis, y.ndim, name)
    y = np.moveaxis(y, axis, 0)
    if y.shape[0] != x.shape[0]:
        raise ShapeError(f"{name}: {x.shape[0]} points and {y.shape[0]} values")
    ends = _end_conditions(bc_type)
    if t is None and (ends[0] or ends[1]) and k > 1:
        t = np.concatenate([x[:1]] * k + [x] + [x[-1:]] * k)
    elif t is None and (k < 4 or k % 2):
        t = knots_of(x, k)
    elif t is None:
        raise ValueError(f"{name}: degree {k} is even; pass the knots t")
    t = astype(inexact(t), float, copy=False)
    n = t.shape[0] - k - 1
    if n != x.shape[0] + len(ends[0]) + len(ends[1]):
        raise ValueError(
            f"{name}: {n} coefficients, but {x.shape[0]} points and "
            f"{len(ends[0]) + len(ends[1])} conditions at the ends"
        )
    flat = y.reshape((y.shape[0], -1))
    unit = Spline(t, np.eye(n), k)
    rows, starts, targets = [], [], []
    for point, end, first in ((x[0], ends[0], 0), (x[-1], ends[1], n - k - 1)):
        known = [unit(point, order)[None, first : first + k + 1] for order, _ in end]
        values = [np.broadcast_to(inexact(v), y.shape[1:]).reshape((1, -1)) for _, v in end]
        rows.append(known)
        starts.append([first] * len(end))
        targets.append(values)
    i = interval_of(t, k, still(x))
    entries = np.concatenate([*rows[0], basis(t, k, x, i), *rows[1]], axis=0)
    first = np.array([*starts[0], *(i - k), *starts[1]])
    b = np.concatenate([*targets[0], flat, *targets[1]], axis=0)
    b = astype(b, complex if b.dtype.kind == "c" else float, copy=False)
    c = _solve_rows(entries, first, b)
    return Spline(t, c.reshape((n, *y.shape[1:])), k, True, axis)


def _solve_rows(entries: Array, first: Array, b: Array) -> Any:
    """Solve with rows that have k + 1 entries each, from the column ``first`` on."""
    n, count = entries.shape
    columns = first[:, None] + np.arange(count)
    down = np.arange(n)[:, None] - columns
    lower, upper = max(int(down.max()), 0), max(int(-down.min()), 0)
    # Where in the band each entry goes; place 0 of what is gathered from is 0.
    places = np.zeros((lower + upper + 1, n), np.intp)
    places[upper + down, columns] = 1 + np.arange(n * count).reshape(n, count)
    band = np.concatenate([np.zeros(1), entries.reshape(-1)])[places]
    return solve_banded_(astype(band, b.dtype, copy=False), b, l_and_u=(lower, upper))


def make_interp_spline(
    x: Array,
    y: Array,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Any:
    """As `scipy.interpolate.make_interp_spline`; a traced argument makes a `Spline`."""
    if holds_traced((x, y, t, bc_type)):
        name = "make_interp_spline"
        check_options(f"scipy.interpolate.{name}", name, {"t": t, "bc_type": bc_type})
        if k < 0:
            raise ValueError(f"{name}: k must not be negative, got {k}")
        check(check_finite, *[a for a in (x, y, t) if a is not None])
        return interpolated(x, y, k, t, bc_type, axis)
    made = scipy.interpolate.make_interp_spline(x, y, k, t, bc_type, axis, check_finite)
    made.__class__ = BSpline  # what it is but for its call
    return made


# Least squares, with knots that are given.


def knots_with_ends(x: Array, t: Any, k: int) -> Any:
    """Inner knots between k + 1 knots at each end of the data."""
    x, t = inexact(x), inexact(t)
    return np.concatenate([x[:1]] * (k + 1) + [t] + [x[-1:]] * (k + 1))


def least_squares_spline(
    name: str, x: Array, y: Array, t: Array, k: int, w: Any, axis: int = 0
) -> Spline:
    """The spline with knots t that makes Σ w^2 (y - s(x))^2 least."""
    check_real(name, x=x, t=t, w=w)
    x, y, t = inexact(x), inexact(y), inexact(t)
    axis = normalize_axis(axis, y.ndim, name)
    y = np.moveaxis(y, axis, 0)
    n = t.shape[0] - k - 1
    if x.ndim != 1 or t.ndim != 1 or x.shape[0] != y.shape[0] or n < k + 1:
        raise ShapeError(
            f"{name}: x {x.shape}, y {y.shape} and knots {t.shape} of degree {k} do not fit "
            f"together"
        )
    ticks, here = still(t), still(x)
    if np.any(np.diff(ticks) < 0) or np.any(np.diff(here) < 0):
        raise ValueError(f"{name}: x and the knots t must not decrease")
    if np.any((here < ticks[k]) | (here > ticks[n])):
        raise ValueError(f"{name}: a point of x is outside of the knots")
    matrix = spread(*basis_at(t, k, x), n)
    if np.linalg.matrix_rank(still(matrix)) < n:
        raise ValueError(f"{name}: too few points between the knots to determine the spline")
    right = y.reshape((y.shape[0], -1))
    if w is not None:
        w = inexact(w)
        matrix, right = w[:, None] * matrix, w[:, None] * right
    c = np.linalg.lstsq(matrix, right)[0]
    return Spline(t, c.reshape((n, *y.shape[1:])), k, True, axis)


def spread(entries: Array, first: Array, n: int) -> Any:
    """Rows of n columns, with entries (m, j) from the columns ``first`` on."""
    m, j = entries.shape
    places = np.zeros((m, n), np.intp)  # place 0 of what is gathered from is 0
    places[np.arange(m)[:, None], first[:, None] + np.arange(j)] = 1 + np.arange(m * j).reshape(
        m, j
    )
    return np.concatenate([np.zeros(1), entries.reshape(-1)])[places]


def make_lsq_spline(
    x: Array,
    y: Array,
    t: Array,
    k: int = 3,
    w: Any = None,
    axis: int = 0,
    check_finite: bool = True,
    **options: Any,
) -> Any:
    """As `scipy.interpolate.make_lsq_spline`; a traced argument makes a `Spline`."""
    if holds_traced((x, y, t, w)):
        name = "make_lsq_spline"
        check_options(f"scipy.interpolate.{name}", name, {"w": w})
        check(check_finite, *[a for a in (x, y, t, w) if a is not None])
        return least_squares_spline(name, x, y, t, k, w, axis)
    made = scipy.interpolate.make_lsq_spline(x, y, t, k, w, axis, check_finite, **options)
    made.__class__ = BSpline  # what it is but for its call
    return made
