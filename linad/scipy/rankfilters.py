"""Filters of scipy.ndimage that pick a pixel of each neighbourhood by its rank, traced.

The derivative is that of the pixel that was picked, as for a maximum. Flat erosion is the minimum
over a neighbourhood, dilation the maximum over its mirror image; with a structure b they are
min_j x_i+j - b_j and max_j x_i-j + b_j.

What picks pixels by comparisons alone commutes with rising functions, so it may be given the ranks
of pixels (`picked_by_rank`). Ranks have no ties: of equal pixels the later one is the larger in all
neighbourhoods, in which a pixel may be several times at a border, and in all stages. That is the
derivative beside the point. An opening, max(min(a, b), min(a, c)), is a where a = b < c, and has
its slope there; shares at the ties of each stage would give a part of it to b.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage
from numpy.lib.stride_tricks import sliding_window_view

from linad.core.array_type import Array
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.scipy.boundaries import (
    check_border,
    check_mode,
    chosen_axes,
    each,
    filter_form,
    padded,
)
from linad.scipy.mirror import check_real


def neighbourhoods(
    name: str,
    x: Array,
    size: Any = None,
    footprint: Array | None = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    axes: Any = None,
) -> tuple[Any, Any]:
    """The pixels around each, (..., m), and which of a full box they are.

    Raises
    ------
    DTypeError
        For complex pixels, which have no order.
    """
    check_real(name, input=x)
    along = chosen_axes(name, axes, x.ndim)
    if footprint is None:
        if size is None:
            raise ValueError(f"{name}: pass size or footprint")
        footprint = np.ones([int(n) for n in each(name, size, len(along))], bool)
    footprint = np.asarray(footprint, bool)
    if footprint.ndim != len(along) or not footprint.any():
        raise ShapeError(
            f"{name}: the footprint must have {len(along)} axes and an entry that is set, got "
            f"shape {footprint.shape}"
        )
    modes, origins = each(name, mode, len(along)), each(name, origin, len(along))
    for axis, length, m, o in zip(along, footprint.shape, modes, origins, strict=True):
        check_mode(name, m)
        before = length // 2 + o
        if not 0 <= before < length:
            raise ValueError(f"{name}: origin {o} is not within a neighbourhood of {length} pixels")
        ends = padded(np.moveaxis(x, axis, -1), before, length - 1 - before, m, cval)
        x = np.moveaxis(ends, -1, axis)
    windows = sliding_window_view(x, footprint.shape, along)
    kept = windows.reshape((*windows.shape[: x.ndim], footprint.size))
    return kept[..., np.flatnonzero(footprint)], footprint


def picked_by_rank(x: Array, cval: Any, pick: Callable[[Array, Any], Any]) -> Any:
    """The pixels that ``pick`` picks of an image, given ranks of its pixels and of the border."""
    check_border(x, cval)
    values = np.append(asarray(cval).astype(x.dtype), x)
    order = np.argsort(values, kind="stable")
    ranks = np.argsort(order)
    return values[order[pick(ranks[1:].reshape(x.shape), ranks[0])]]


def _extreme(name: str, pick: Any) -> Callable[..., Any]:
    @filter_form(getattr(scipy.ndimage, name))
    def function(input: Array, **around: Any) -> Any:
        return pick(neighbourhoods(name, input, **around)[0], axis=-1)

    return function


def _extreme_along_one(name: str, pick: Any) -> Callable[..., Any]:
    @filter_form(getattr(scipy.ndimage, name))
    def function(input: Array, axis: int, **around: Any) -> Any:
        return pick(neighbourhoods(name, input, axes=axis, **around)[0], axis=-1)

    return function


maximum_filter = _extreme("maximum_filter", np.max)
minimum_filter = _extreme("minimum_filter", np.min)
maximum_filter1d = _extreme_along_one("maximum_filter1d", np.max)
minimum_filter1d = _extreme_along_one("minimum_filter1d", np.min)


def _ranked(
    name: str, x: Array, rank: Callable[[int], int], cval: Any = 0.0, **around: Any
) -> Any:
    """The pixels of a rank, a function of how many there are, in each neighbourhood."""
    check_real(name, input=x)

    def pick(ranks: Array, border: Any) -> Any:
        near, _ = neighbourhoods(name, ranks, cval=border, **around)
        return np.sort(near, axis=-1)[..., rank(near.shape[-1])]

    return picked_by_rank(x, cval, pick)


@filter_form(scipy.ndimage.rank_filter)
def rank_filter(input: Array, rank: int, **around: Any) -> Any:
    def among(n: int) -> int:
        if not -n <= rank < n:
            raise ValueError(f"rank_filter: rank {rank} of a neighbourhood of {n} pixels")
        return rank

    return _ranked("rank_filter", input, among, **around)


@filter_form(scipy.ndimage.percentile_filter)
def percentile_filter(input: Array, percentile: float, **around: Any) -> Any:
    part = percentile + 100.0 if percentile < 0 else percentile
    if not 0 <= part <= 100:
        raise ValueError(f"percentile_filter: percentile {percentile} is not within -100 and 100")

    def among(n: int) -> int:
        return n - 1 if part == 100.0 else int(float(n) * part / 100.0)

    return _ranked("percentile_filter", input, among, **around)


@filter_form(scipy.ndimage.median_filter)
def median_filter(input: Array, **around: Any) -> Any:
    return _ranked("median_filter", input, lambda n: n // 2, **around)


# Morphology.


def _eroded(
    name: str,
    sign: int,
    x: Array,
    size: Any = None,
    footprint: Array | None = None,
    structure: Array | None = None,
    origin: Any = 0,
    axes: Any = None,
    **ends: Any,
) -> Any:
    """Erosion for sign -1, dilation for sign 1."""
    along = chosen_axes(name, axes, x.ndim)
    if structure is not None:
        structure = asarray(structure)
        footprint = np.ones(structure.shape, bool) if footprint is None else np.asarray(footprint)
    if footprint is None and size is not None:
        footprint = np.ones([int(n) for n in each(name, size, len(along))], bool)
    if sign > 0 and footprint is not None:
        origins = each(name, origin, len(along))
        origin = [-o - (n % 2 == 0) for o, n in zip(origins, np.shape(footprint), strict=True)]
        footprint = np.flip(footprint)
        structure = None if structure is None else np.flip(structure)
    near, footprint = neighbourhoods(name, x, None, footprint, origin=origin, axes=axes, **ends)
    if structure is not None:
        near = near + sign * structure.reshape(-1)[np.flatnonzero(footprint)]
    return (np.max if sign > 0 else np.min)(near, axis=-1)


def _morphology(name: str, combine: Callable[..., Any]) -> Callable[..., Any]:
    @filter_form(getattr(scipy.ndimage, name))
    def function(input: Array, **around: Any) -> Any:
        check_real(name, input=input)
        return combine(name, input, around)

    return function


def _erode(name: str, x: Array, around: Any) -> Any:
    return _eroded(name, -1, x, **around)


def _dilate(name: str, x: Array, around: Any) -> Any:
    return _eroded(name, 1, x, **around)


def _after(second: Callable[..., Any], first: Callable[..., Any]) -> Callable[..., Any]:
    """Both, one after the other."""

    def both(name: str, x: Array, around: Any) -> Any:
        def pick(ranks: Array, border: Any) -> Any:
            near_ranks = around | {"cval": border}
            return second(name, first(name, ranks, near_ranks), near_ranks)

        if around.get("structure") is None:
            return picked_by_rank(x, around.get("cval", 0.0), pick)
        return second(name, first(name, x, around), around)

    return both


_open, _close = _after(_dilate, _erode), _after(_erode, _dilate)

grey_erosion = _morphology("grey_erosion", _erode)
grey_dilation = _morphology("grey_dilation", _dilate)
grey_opening = _morphology("grey_opening", _open)
grey_closing = _morphology("grey_closing", _close)
white_tophat = _morphology("white_tophat", lambda name, x, around: x - _open(name, x, around))
black_tophat = _morphology("black_tophat", lambda name, x, around: _close(name, x, around) - x)
morphological_gradient = _morphology(
    "morphological_gradient",
    lambda name, x, around: _dilate(name, x, around) - _erode(name, x, around),
)
morphological_laplace = _morphology(
    "morphological_laplace",
    lambda name, x, around: _dilate(name, x, around) + _erode(name, x, around) - 2 * x,
)
