"""Median, percentile, quantile: order statistics.

With x_(0) <= ... <= x_(n-1) and a position h(q) in [0, n-1],

    y = x_(i) + g (x_(i+1) - x_(i)),    i = floor(h),   g = h - i

The order is constant wherever the derivative exists, so y is a selection of two entries and a
line between them. Of equal entries those that come first are the smaller ones, as in a stable sort.
The methods of Hyndman and Fan differ in h: the continuous ones have a derivative in q as well, the
discrete ones take a fixed g. A lane that holds NaN gives NaN.

Source: R. Hyndman and Y. Fan, "Sample quantiles in statistical packages", 1996.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.zero_dim import array, number
from linad.core.array_type import Array
from linad.core.callers import warn_user
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import keep_axes, normalize_axes
from linad.core.ufunc_keywords import refuse_out
from linad.errors import UnsupportedError
from linad.rules.reductions import axes_kept
from linad.rules.shaping import as_array, astype, laid_out, not_boolean, still

# alpha, beta of the continuous methods: h = n q + alpha + q (1 - alpha - beta) - 1.
CONTINUOUS = {
    "linear": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def _up_unless(h: Array, stay: Array) -> Any:
    """The integer below ``h`` where ``stay``, above it elsewhere."""
    return np.maximum(np.where(stay, np.floor(h), np.floor(h) + 1), 0)


def _closest(n: Array, q: Array) -> Any:
    h = n * q - 1.5
    return _up_unless(h, (h == np.floor(h)) & (np.floor(h) % 2 == 1))


def _averaged(n: Any, q: Array) -> Any:
    h = n * q - 1
    return np.floor(h) + np.where(h == np.floor(h), 0.5, 1.0)


def _midpoint(n: Any, q: Any) -> Any:
    return 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))


DISCRETE = {
    "inverted_cdf": lambda n, q: _up_unless(n * q - 1, n * q == np.floor(n * q)),
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _closest,
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.round((n - 1) * q),
    "midpoint": _midpoint,
}


ENTRIES = {"inverted_cdf", "closest_observation", "lower", "higher", "nearest"}
"""Methods that give an entry as it is; the others are computed in the dtype of entries and q."""


def _position(method: str, n: Array, q: Array) -> Any:
    """h(q); traced when ``q`` is and the method is continuous."""
    if method == "linear":
        return (n - 1) * q
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    if method in DISCRETE:
        return DISCRETE[method](n, still(q))
    raise ValueError(
        f"{method!r} is not a valid method. Use one of: {sorted([*CONTINUOUS, *DISCRETE])}"
    )


def _lanes_at_end(a: Array, axes: tuple[int, ...]) -> Any:
    """``a`` with the given axes joined into one, at the end."""
    if axes == (a.ndim - 1,):
        return a
    rest = [k for k in range(a.ndim) if k not in axes]
    n = math.prod([a.shape[k] for k in axes])
    return np.transpose(a, (*rest, *axes)).reshape((*[a.shape[k] for k in rest], n))


def _dtype_of(a: Array, q: Any, method: str) -> Any:
    """What the quantiles of ``a`` are of."""
    if type(q) is float or method in ENTRIES or (method == "linear" and q.dtype.kind in "iu"):
        return a.dtype
    return np.result_type(a.dtype, q.dtype if q.dtype.kind == "f" else float)


_FEW = 1000
"""Entries of a lane that are all sorted sooner than a few are found and looked at."""


def _places(x: Array, *, kth: tuple[int, ...]) -> Any:
    """Where entries stand that come at these places of each lane, the last axis, sorted stably;
    what stands at other places is any."""
    if x.shape[-1] <= _FEW:
        return np.argsort(x, axis=-1, kind="stable")
    order = np.argpartition(x, kth, axis=-1)
    for k in kth:
        value = np.take_along_axis(x, order[..., k : k + 1], axis=-1)
        nan = value != value
        equal = (x == value) | (nan & (x != x))
        if (np.count_nonzero(equal, axis=-1) > 1).any():
            smaller = np.count_nonzero((x < value) | (nan & (x == x)), axis=-1, keepdims=True)
            order[..., k] = np.argmax(np.cumsum(equal, axis=-1) > k - smaller, axis=-1)
    return order


places = Primitive("ordered_places", _places, constant=True)


def _on_line(first: Array, second: Array, part: Any) -> Any:
    """A quantile between two entries: from the nearer one, as in NumPy, so that the rounding is
    the same."""
    nearer = still(part) >= 0.5
    if isinstance(nearer, Traced) or (np.ndim(nearer) and not np.all(nearer == np.any(nearer))):
        start = np.where(nearer, second, first)
    else:
        start = second if np.any(nearer) else first
    return start + (second - first) * (part - nearer)


def _in_middle(first: Array, second: Array, part: Any) -> Any:
    """The median: the mean of two entries, infinite ones too, or one entry where ``part`` is 0."""
    wide = np.dtype(np.float32) if first.dtype == np.float16 else first.dtype  # sums may overflow
    mean = (astype(first, wide, copy=False) + astype(second, wide, copy=False)) / wide.type(2)
    mean = astype(mean, first.dtype, copy=False)
    return np.where(part == 0, first, mean) if np.ndim(part) else mean


def _between_two(x: Array, h: Any, dtype: Any, mixed: Callable[..., Any]) -> Any:
    """The one quantile at position h of each lane, the last axis; no entry is NaN."""
    last = x.shape[-1] - 1
    below = math.floor(h)
    low = min(max(below, 0), last)
    high = low if below == h else min(max(below + 1, 0), last)
    order = places(x, kth=tuple(sorted({low, high, last})))

    def entry(k: int) -> Any:
        y = np.take_along_axis(x, order[..., k : k + 1], axis=-1)
        return y[0] if y.ndim == 1 else y[..., 0]

    first = entry(low)
    if low == high:
        return astype(first, dtype, copy=False)
    return mixed(first, entry(high), dtype.type(h - low))


def order_statistics(
    a: Array,
    q: Array,
    axes: tuple[int, ...],
    method: str,
    ignore_nan: bool,
    mixed: Callable[..., Any] = _on_line,
) -> Any:
    """Quantiles of ``a`` over ``axes``: an array (*q.shape, *other axes)."""
    x = _lanes_at_end(a, axes)
    lead, total = x.shape[:-1], x.shape[-1]
    if not total:
        raise IndexError("quantile of an empty array: there is no entry to choose")
    missing = np.asarray(np.isnan(x))
    if not ignore_nan and not np.shape(q) and not isinstance(q, Traced) and not missing.any():
        return _between_two(x, _position(method, total, q), _dtype_of(a, q, method), mixed)
    n = np.asarray(total - np.count_nonzero(missing, axis=-1)) if ignore_nan else total
    shape = np.shape(q)
    count = math.prod(shape)
    column = q.reshape(shape + (1,) * len(lead)) if shape and lead else q
    h = _position(method, n, column)
    below = np.floor(still(h))
    if isinstance(h, Traced) and np.isfinite(still(x)).all():
        below = np.where(still(h) == n - 1, n - 2, below)  # the end of the last line: its slope
    low = np.clip(below, 0, np.maximum(n - 1, 0)).astype(np.intp)
    high = np.clip(below + 1, 0, np.maximum(n - 1, 0)).astype(np.intp)
    if not isinstance(h, Traced):
        high = np.where(below == h, low, high)
    # An entry that is NaN makes the result NaN; sorted, it is the last.
    spoiled = n == 0 if ignore_nan else missing.any(axis=-1)
    low, high = (np.where(spoiled, total - 1, k) for k in (low, high))
    dtype = _dtype_of(a, q, method)
    if ignore_nan:
        order = np.argsort(x, axis=-1, kind="stable")
    else:
        chosen = np.unique(np.concatenate([low.ravel(), high.ravel(), [total - 1]]))
        order = places(x, kth=tuple(chosen.tolist()))

    def entry(k: Array) -> Any:
        picked = np.moveaxis(np.broadcast_to(k, shape + lead).reshape((count, *lead)), 0, -1)
        picked = np.take_along_axis(order, picked, axis=-1)
        y = np.moveaxis(np.take_along_axis(x, picked, axis=-1), -1, 0)
        return y.reshape(shape + lead)

    first = entry(low)
    if (low == high).all():
        return first.astype(dtype, copy=False)
    return mixed(first, entry(high), (h - low).astype(dtype))


def _quantile(
    name: str,
    a: Array,
    q: Any,
    axis: Any,
    method: str,
    keepdims: Any,
    weights: Any,
    ignore_nan: bool,
) -> Any:
    a = as_array(a)
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if type(q) is int and a.dtype.kind == "f":
        q = float(q)
    q = q if type(q) is float else as_array(q)
    whole = type(q) is not float and q.dtype.kind in "iu"
    if method not in ENTRIES and not (method == "linear" and whole):
        not_boolean(a, name)
        if a.dtype.kind in "biu":
            narrow = type(q) is not float and q.dtype.kind == "f"
            a = a.astype(np.result_type(a.dtype, q.dtype) if narrow else float)
    values = still(q if isinstance(q, Traced) else np.asarray(q))
    if values.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"{name}: the quantiles must be in the range [0, 1]")
    if weights is not None:
        raise UnsupportedError(
            f"{name}: weights= is not traced by linad; sort with order = np.argsort(a) and "
            f"choose the entry where np.cumsum(weights[order]) passes q"
        )
    if ignore_nan and not a.size:
        return np.nanmean(a, axis, keepdims=keepdims)  # whatever the shape of q, as in NumPy
    axes = normalize_axes(axis, a.ndim, name)
    y = laid_out(order_statistics(a, q, axes, method, ignore_nan), "C", name)
    if keepdims and keepdims is not np._NoValue:  # type: ignore[attr-defined]
        return array(y.reshape(np.shape(q) + keep_axes(a.shape, axes)))
    return number(y)


def _register(name: str, scale: int, ignore_nan: bool) -> None:
    @implements(getattr(np, name))
    def quantile(
        a: Array,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
    ) -> Any:
        if out is not None:
            refuse_out(name, (out,))
        if type(q) is float or (type(q) is int and scale != 1):
            q = q / float(scale)
        elif scale != 1:
            q = as_array(q)
            q = q / (q.dtype.type(scale) if q.dtype.kind == "f" else scale)
        return _quantile(name, a, q, axis, method, keepdims, weights, ignore_nan)

    quantile.__name__ = quantile.__qualname__ = name


_register("quantile", 1, False)
_register("percentile", 100, False)
_register("nanquantile", 1, True)
_register("nanpercentile", 100, True)


def _median(name: str, ignore_nan: bool) -> None:
    @implements(getattr(np, name))
    def median(
        a: Array,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        keepdims: Any = False,
    ) -> Any:
        if out is not None:
            refuse_out(name, (out,))
        axes = normalize_axes(axis, a.ndim, name)
        if not math.prod([a.shape[k] for k in axes]):
            return np.mean(a, axis=axis, keepdims=keepdims)  # NaN, and NumPy's warning
        y = order_statistics(a, 0.5, axes, "linear", ignore_nan, _in_middle)
        if ignore_nan and np.isnan(y).any():
            warn_user("All-NaN slice encountered", RuntimeWarning)
        if keepdims and keepdims is not np._NoValue:  # type: ignore[attr-defined]
            return array(axes_kept(y, a.shape, axes, keepdims))
        return number(y)

    median.__name__ = median.__qualname__ = name


_median("median", False)
_median("nanmedian", True)
