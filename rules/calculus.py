"""Differences, gradients on a grid, the trapezoidal rule, linear interpolation.

diff         y_k = x_{k+1} - x_k
gradient     second-order differences inside, one-sided ones at the ends
trapezoid    y = Σ h_k (y_k + y_{k+1}) / 2
interp       y = f_i + (x - x_i) (f_{i+1} - f_i) / (x_{i+1} - x_i),  x_i <= x < x_{i+1}

Only diff is a primitive, and interp between plain knots where no program is recorded. The others
are short programs of slices and products, so spacings and abscissae may be traced as well as
values. At a knot interp has the slope of the interval on the right, at the last knot that on the
left; which interval an x belongs to, and the order of periodic knots, are constants.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import gives, number
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.indices import Index
from linad.core.marks import running_traces
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import normalize_axes, normalize_axis
from linad.core.showing import shown
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Sum
from linad.operators.recurrences import Difference, along
from linad.operators.structured import Diagonal
from linad.rules.floating import as_floats
from linad.rules.gathering import entries_at
from linad.rules.indexing import Selection
from linad.rules.shaping import as_array, astype, laid_as, laid_out, not_boolean

# Differences.

diff_ = Primitive("diff", lambda x, *, axis: np.diff(x, axis=axis))


@diff_.jacobian(wrt=0)
def diff_wrt_x(y: Array, x: Array, *, axis: int) -> JacobianOperator:
    return Difference(axis, x.shape, y.dtype)


def _edge(value: Array, a: Array, axis: int) -> Any:
    """An argument prepend or append: a scalar stands for one entry."""
    value = as_array(value)
    if value.ndim:
        return value
    return np.broadcast_to(value, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))


@implements(np.diff)
def diff(
    a: Array, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
) -> Any:
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"diff: order must be non-negative, got {n!r}")
    a = as_array(a)
    if not a.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis(axis, a.ndim, "diff")
    before = [] if prepend is np._NoValue else [_edge(prepend, a, axis)]
    after = [] if append is np._NoValue else [_edge(append, a, axis)]
    if before or after:
        a = np.concatenate([*before, a, *after], axis=axis)
    for _ in range(n):
        a = diff_(a, axis=axis)
    return a


@implements(np.ediff1d)
def ediff1d(ary: Array, to_end: Array | None = None, to_begin: Any = None) -> Any:
    ary = not_boolean(as_array(ary), "ediff1d")
    parts = [diff(np.ravel(ary))]
    if to_begin is not None:
        parts.insert(0, _end_of_ediff1d(to_begin, ary.dtype, "to_begin"))
    if to_end is not None:
        parts.append(_end_of_ediff1d(to_end, ary.dtype, "to_end"))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _end_of_ediff1d(value: Any, dtype: np.dtype[Any], name: str) -> Any:
    """What stands at an end, of the dtype of the differences."""
    value = as_array(value)
    if not np.can_cast(value.dtype, dtype, casting="same_kind"):
        raise TypeError(f"ediff1d: {name} of dtype {value.dtype} does not go into {dtype}")
    return np.ravel(value).astype(dtype, copy=False)


# Gradient.


@implements(np.gradient)
def gradient(f: Array, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = as_array(f)
    f = not_boolean(f, "gradient") if f.ndim else f  # a number has no neighbours
    f = f.astype(float) if f.dtype.kind in "biu" else f  # a plain one, too, over traced spacings
    varargs = tuple([as_floats(h) for h in varargs])
    axes = _gradient_axes(axis, f.ndim)
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    results = [
        laid_as(astype(_gradient(f, k - f.ndim, h, edge_order), f.dtype, copy=False), f)
        for k, h in zip(axes, _spacings(varargs, axes, f), strict=True)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _gradient_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes in the order they were given, which is that of the results."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, tuple):
        return (normalize_axis(axis, ndim, "gradient"),)
    normalize_axes(axis, ndim, "gradient")
    return tuple([normalize_axis(k, ndim, "gradient") for k in axis])


def _spacings(varargs: tuple[Any, ...], axes: tuple[Any, ...], f: Array) -> list[Any]:
    """For each axis a scalar spacing, or the spacings between 1-D coordinates."""
    if not varargs:
        return [1.0] * len(axes)
    if len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        return [varargs[0]] * len(axes)
    if len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    found = []
    for k, h in zip(axes, varargs, strict=True):
        if np.ndim(h) == 0:
            found.append(h)
            continue
        h = as_array(h)
        if h.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if h.shape[0] != f.shape[k]:
            raise ValueError(
                "when 1d, distances must match the length of the corresponding dimension"
            )
        found.append(diff(h if h.dtype.kind in "fc" else h.astype(float)))
    return found


def _gradient(f: Array, axis: int, h: Array, edge_order: int) -> Any:
    """Derivative of ``f`` along an axis counted from the end."""
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least "
            "(edge_order + 1) elements are required."
        )

    def at(start: int, stop: int) -> Any:
        return f[along(axis, slice(start, stop))]

    if np.ndim(h):
        column = h.reshape((n - 1,) + (1,) * (-axis - 1))
        spacing = [column[k : k + 1] for k in (0, 1, n - 3, n - 2)] if n > 2 else [column] * 4
        a, b = column[:-1], column[1:]
        inside = -(b / (a * (a + b))) * at(0, n - 2) + (b - a) / (a * b) * at(1, n - 1)
        inside = inside + a / (b * (a + b)) * at(2, n)
    else:
        spacing = [h] * 4
        inside = (at(2, n) - at(0, n - 2)) / (2.0 * h)
    if edge_order == 1:
        steps = diff_.on((f,), {"axis": axis % f.ndim})
        first, last = [
            entry if type(h) is float and h == 1.0 else entry / h
            for entry, h in (
                (steps[along(axis, slice(0, 1))], spacing[0]),
                (steps[along(axis, slice(n - 2, n - 1))], spacing[3]),
            )
        ]
    else:
        first = _one_sided(at(0, 1), at(1, 2), at(2, 3), spacing[0], spacing[1])
        last = -_one_sided(at(n - 1, n), at(n - 2, n - 1), at(n - 3, n - 2), spacing[3], spacing[2])
    return np.concatenate([first, inside, last], axis=axis)


def _one_sided(f0: Array, f1: Array, f2: Array, h1: Array, h2: Array) -> Any:
    """Second-order slope at f0 from two neighbours at distances h1 and h1 + h2."""
    whole = h1 + h2
    return -(h1 + whole) / (h1 * whole) * f0 + whole / (h1 * h2) * f1 - h1 / (h2 * whole) * f2


# Integration.


@implements(np.trapezoid)
def trapezoid(y: Array, x: Array | None = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = as_array(y)
    axis = normalize_axis(axis, y.ndim, "trapezoid") - y.ndim
    if x is None:
        d = dx
    else:
        x = as_array(x)
        d = diff(x, axis=-1 if x.ndim == 1 else axis)
        if x.ndim == 1:
            d = d.reshape(d.shape + (1,) * (-axis - 1))
    pairs = y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))]
    if type(d) is not float or d != 1.0:
        pairs = pairs * d
    return np.sum(pairs * 0.5, axis=axis)


# Interpolation.

interp_ = Primitive("interp", np.interp)  # of real numbers, between two knots or more


@interp_.jacobian(wrt=0)
def interp_wrt_x(y: Array, x: Array, *, xp: Array, fp: Array, **ends: Any) -> JacobianOperator:
    i = _number_of_interval(x, xp)
    width = xp[i + 1] - xp[i]
    slope = (fp[i + 1] - fp[i]) / np.where(width == 0, 1.0, width)
    slope = np.where((x < xp[0]) | (x > xp[-1]), 0.0, slope)
    return Diagonal(slope, y.shape, y.dtype)


interp_heights_ = Primitive(
    "interp_heights", lambda fp, *, x, xp, left, right: np.interp(x, xp, fp, left, right)
)  # the same at points and knots that are plain arrays


@interp_heights_.jacobian(wrt=0)
def interp_heights_wrt_fp(
    y: Array, fp: Array, *, x: Array, xp: Array, left: Any, right: Any
) -> JacobianOperator:
    """y = (1 - t) f_i + t f_{i+1}, where no height is given."""
    i = _number_of_interval(x, xp)
    start, end = xp[i], xp[i + 1]
    t = (x - start) / np.where(start == end, 1.0, end - start)
    below, above = x < xp[0], x > xp[-1]
    t = np.where(below, 0.0, np.where(above | (x == end), 1.0, t))
    given = (below & (left is not None)) | (above & (right is not None))
    shares = np.where(given, 0.0, 1.0 - t), np.where(given, 0.0, t)
    terms = []
    for share, k in zip(shares, (i, i + 1), strict=True):
        read = Selection(Index((k,)), y.shape, fp.shape, y.dtype)
        terms.append(Chain((Diagonal(share, y.shape, y.dtype), read)))
    return Sum(tuple(terms))


@implements(np.interp)
@gives(number)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    if "c" in [as_array(v).dtype.kind for v in (x, xp)]:
        raise TypeError("interp: x and xp must be real, and one of them is complex")
    x, xp, fp = (_double(v) for v in (x, xp, fp))
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if not xp.size:
        none = np.zeros(0)
        np.interp(np.zeros(x.shape), none, none)  # raises, before NumPy 2.5 for no x as well
        return x + fp.sum()
    for name, end in (("left", left), ("right", right)):
        if end is not None and (np.ndim(end) or as_array(end).dtype.kind not in "biufc"):
            raise TypeError(f"interp: {name} must be a number, got {shown(end)}")
    if period is not None:
        x, xp, fp = _unrolled(x, xp, fp, period)
        left = right = None
    n = xp.shape[0]
    if n == 1:
        left, right = [fp[0] if end is None else end for end in (left, right)]
        y = fp[0] + 0 * np.where(np.isfinite(x), x, 0.0)
        y = np.where(x < xp[0], left, np.where(x > xp[0], right, y))
        return laid_out(y, "C", "interp")
    if _is_plain(xp, fp, left, right) and not _recorded():
        return interp_(x, xp=xp, fp=fp, left=left, right=right)
    if _moves_heights_alone(x, xp, fp, left, right) and not _recorded():
        return interp_heights_(fp, x=x, xp=xp, left=left, right=right)
    entry = _interval(x, xp)
    # Knots may coincide: the interval between them holds no x.
    width = np.diff(xp)
    slope = entry(np.diff(fp) / np.where(width == 0, 1.0, width))
    start, end, low, high = entry(xp[:-1]), entry(xp[1:]), entry(fp[:-1]), entry(fp[1:])
    y = low + slope * (x - start)
    # Ends of the line that are infinite leave NaN: then, as in NumPy, it starts at the other end,
    # and what is at a knot, or between equal ends, is as there.
    lost = np.isnan(y)
    y = _instead((x == end) | lost, lambda: high + slope * (x - end), y)
    still_lost = np.isnan(y)
    known = (x == start) | (x == end) | (still_lost & (low == high) & (x == x))
    y = _instead((lost | still_lost) & known, lambda: np.where(x == end, high, low), y)
    y = _instead(x > xp[-1], lambda: fp[-1] if right is None else right, y)
    y = _instead(x < xp[0], lambda: fp[0] if left is None else left, y)
    return laid_out(y, "C", "interp")


def _instead(mask: Any, value: Callable[[], Any], y: Any) -> Any:
    """``y``, with another value where the mask is true; which nobody asks for where it never is."""
    if not isinstance(mask, Traced) and not mask.any():
        return y
    return np.where(mask, value(), y)


def _is_plain(xp: Any, fp: Any, left: Any, right: Any) -> bool:
    """Whether all but x are real numbers that nobody differentiates, the knots finite."""
    if type(xp) is not np.ndarray or type(fp) is not np.ndarray:
        return False
    return _is_finite(xp, fp, left, right)


def _moves_heights_alone(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> bool:
    """Whether all but the heights are real numbers that nobody differentiates."""
    if type(x) is not np.ndarray or not x.ndim or type(xp) is not np.ndarray:
        return False
    return type(fp) is Tracer and _is_finite(xp, fp.concrete, left, right)


def _is_finite(xp: Array, fp: Array, left: Any, right: Any) -> bool:
    """Whether knots and heights are finite real numbers, and the ends Python's numbers, if any."""
    if not all([end is None or isinstance(end, (int, float)) for end in (left, right)]):
        return False
    if fp.dtype.kind != "f" or not (math.isfinite(xp[0]) and math.isfinite(xp[-1])):
        return False
    return bool(np.isfinite(fp).all())


def _recorded() -> bool:
    return any([trace.records for trace in running_traces()])


def _number_of_interval(x: Array, xp: Array) -> Any:
    found = np.searchsorted(xp, x, side="right") - 1
    return np.minimum(np.maximum(found, 0), xp.shape[0] - 2)


def _interval(x: Array, xp: Array) -> Callable[[Any], Any]:
    """Takes from what each interval between knots has the entry of the interval that x lies in."""
    i = _number_of_interval(x, xp)
    return lambda entries: entries_at(entries, i)


def _double(a: Any) -> Any:
    """``a`` in double precision, which is what NumPy's interp computes in."""
    a = as_array(a)
    return astype(a, np.complex128 if a.dtype.kind == "c" else np.float64, copy=False)


def _unrolled(x: Array, xp: Array, fp: Array, period: Any) -> tuple[Any, Any, Any]:
    """Periodic data as data on one period, with one knot more at either end."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    period = np.abs(period)
    x, xp = x % period, xp % period
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, np.concatenate([fp[-1:], fp, fp[:1]])
