"""Padding: an array with a border.

constant              J pads with zeros, J^H cuts the border off
edge, reflect, ...    each entry of the border is one of x's: a selection, axis after axis
reflect_type="odd"    the border is twice the end less such a selection
mean, linear_ramp ... the border is a linear function of a slab of x, joined to it

Axes are padded one after the other, so corners are what NumPy makes them. A constant border does
not move with x; where its values are traced it is joined to x.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, lists_traced
from linad.core.shapes import with_length
from linad.errors import ShapeError, UnsupportedError
from linad.operators.base import JacobianOperator
from linad.operators.placement import Pad
from linad.rules.indexing import along, take
from linad.rules.joining import concatenate
from linad.rules.shaping import as_array, broadcast_to, copy_, laid_plainly
from linad.rules.spacing import linspace

pad_ = Primitive("pad", lambda x, *, widths, values: np.pad(x, widths, constant_values=values))


@pad_.jacobian(wrt=0)
def pad_wrt_x(y: Array, x: Array, *, widths: tuple[Any, ...], values: Any) -> JacobianOperator:
    return Pad([before for before, _ in widths], y.shape, x.shape, y.dtype)


KEYWORDS = {
    "constant": {"constant_values"},
    "empty": set(),
    "edge": set(),
    "wrap": set(),
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "maximum": {"stat_length"},
    "minimum": {"stat_length"},
    "linear_ramp": {"end_values"},
}


@implements(np.pad)
def pad(array: Array, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    x = as_array(array)
    widths = _widths(pad_width, x.ndim)
    if callable(mode):
        raise UnsupportedError("pad: a function as mode is not traced; use np.concatenate")
    if mode not in KEYWORDS:
        raise ValueError(f"pad: mode {mode!r} is not supported; known are {sorted(KEYWORDS)}")
    if unknown := sorted(kwargs.keys() - KEYWORDS[mode]):
        raise ValueError(f"pad: unsupported keyword arguments for mode {mode!r}: {unknown}")
    if x.ndim == 0:  # nothing is padded, with what must be right all the same
        for name, given in kwargs.items():
            if name != "reflect_type":
                _pairs(given, 0, name)
        return copy_(x, layout="K")
    return laid_plainly(_padded(x, widths, mode, kwargs), x)


def _padded(x: Array, widths: tuple[Any, ...], mode: Any, kwargs: Any) -> Any:
    if mode in ("constant", "empty"):
        values = kwargs.get("constant_values", 0)
        if lists_traced(values):
            return _bordered(x, widths, _pairs(values, x.ndim, "constant_values"))
        return pad_(x, widths=widths, values=values)
    for axis, pair in enumerate(widths):
        if not x.shape[axis] and pair != (0, 0):
            raise ValueError(
                f"pad: can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )
    if mode in ("linear_ramp", "mean", "median", "maximum", "minimum"):
        return _slab_pad(x, widths, mode, kwargs)
    oddly = kwargs.get("reflect_type") == "odd"
    for axis, pair in enumerate(widths):
        if pair == (0, 0):
            continue
        if oddly and x.shape[axis] > 1:
            x = _reflected_oddly(x, axis, *pair, edge_twice=mode == "symmetric")
        else:
            source = np.pad(np.arange(x.shape[axis]), pair, mode=mode)
            x = take(x, source, axis)
    return x if any(pair != (0, 0) for pair in widths) else copy_(x, layout="K")


def _reflected_oddly(x: Array, axis: int, before: int, after: int, *, edge_twice: bool) -> Any:
    """Continue x beyond each end as if it were odd about the entry there: 2 end - x reflected.

    A border that is wider than x is made of several reflections, each of whole periods of x.
    """
    skip = 0 if edge_twice else 1  # the end itself is reflected too, or it is not
    period = x.shape[axis] - skip
    while before or after:
        n = x.shape[axis]
        whole = (n - skip) // period * period
        low, high = min(whole, before), min(whole, after)
        left = along(x, axis, slice(skip, skip + low))
        right = along(x, axis, slice(n - skip - high, n - skip))
        first = 2 * along(x, axis, slice(0, 1)) - np.flip(left, axis)
        last = 2 * along(x, axis, slice(-1, None)) - np.flip(right, axis)
        x = concatenate([_like(first, x), x, _like(last, x)], axis)
        before, after = before - low, after - high
    return x


def _widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """pad_width as one pair (before, after) an axis."""
    if isinstance(pad_width, dict):
        pairs: Any = np.zeros((ndim, 2), np.intp)
        for axis, width in pad_width.items():
            pairs[axis] = width
        pad_width = pairs
    pairs = np.asarray(pad_width)
    if pairs.dtype.kind not in "iu":
        raise TypeError(f"pad: pad_width must be integers, got {pairs.dtype}")
    if (pairs < 0).any():
        raise ValueError(f"pad: pad_width cannot be negative, got {pad_width!r}")
    return tuple([(int(b), int(a)) for b, a in _pairs(pairs, ndim, "pad_width")])


def _pairs(given: Array, ndim: int, name: str) -> Any:
    """Numbers, plain or traced, as a pair an axis."""
    try:
        if not lists_traced(given):
            return np.broadcast_to(given, (ndim, 2)).tolist()
        every = broadcast_to(as_array(given), (ndim, 2))
        return [(every[axis, 0], every[axis, 1]) for axis in range(ndim)]
    except ValueError:
        raise ShapeError(
            f"pad: {name} of shape {np.shape(given)} does not give a pair for each of {ndim} axes"
        ) from None


def _bordered(x: Array, widths: tuple[Any, ...], values: Any) -> Any:
    """Join borders of these values to x, axis after axis."""
    for axis, (pair, ends) in enumerate(zip(widths, values, strict=True)):
        first, last = [
            broadcast_to(end, with_length(x.shape, axis, width))
            for width, end in zip(pair, ends, strict=True)
        ]
        x = concatenate([_like(first, x), x, _like(last, x)], axis)
    return x


def _slab_pad(x: Array, widths: tuple[Any, ...], mode: str, kwargs: dict[str, Any]) -> Any:
    """Pad with what ``mode`` makes of the slab of x next to the border."""
    ends = _pairs(kwargs.get("end_values", 0), x.ndim, "end_values")
    given = kwargs.get("stat_length")
    lengths = [(None, None)] * x.ndim if given is None else _pairs(given, x.ndim, "stat_length")
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue  # an axis of no entries, too
        if mode == "linear_ramp":
            first = _ramp(along(x, axis, slice(0, 1)), axis, before, ends[axis][0])
            last = _ramp(along(x, axis, slice(-1, None)), axis, after, ends[axis][1])
            parts = [first, x, np.flip(last, axis)]
        else:
            n = x.shape[axis]
            low, high = (n if m is None else min(m, n) for m in lengths[axis])
            first = _level(along(x, axis, slice(0, low)), axis, before, STATISTICS[mode])
            last = _level(along(x, axis, slice(n - high, n)), axis, after, STATISTICS[mode])
            parts = [first, x, last]
        x = concatenate(parts, axis)
    return x


def _like(border: Array, x: Array) -> Any:
    """A border in the dtype of the array, which it is written into."""
    return np.astype(border, x.dtype, copy=False)


STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": np.mean,
    "median": np.median,
    "maximum": np.max,
    "minimum": np.min,
}


def _ramp(edge: Array, axis: int, width: int, end: Array) -> Any:
    """From ``end`` at the outside to next to the edge, in equal steps."""
    edge = np.squeeze(edge, axis)
    return linspace(end, edge, width, endpoint=False, dtype=edge.dtype, axis=axis)


def _level(slab: Array, axis: int, width: int, statistic: Callable[..., Any]) -> Any:
    """A border of one value, repeated."""
    level = statistic(slab, axis=axis, keepdims=True)
    if slab.dtype.kind in "iu":
        level = np.round(level)
    level = _like(level, slab)
    return broadcast_to(level, with_length(slab.shape, axis, width))
