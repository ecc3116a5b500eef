"""Filters of scipy.ndimage that pick a pixel of each neighbourhood by its rank, traced.

The derivative is that of the pixel that was picked, as for a maximum. Flat erosion is the minimum
over a neighbourhood, dilation the maximum over its mirror image; with a structure b they are
min_j x_i+j - b_j and max_j x_i-j + b_j.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage
from numpy.lib.stride_tricks import sliding_window_view

from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.scipy.boundaries import check_mode, chosen_axes, delivered, each, image, padded
from linad.scipy.mirror import traced_form


def _neighbourhoods(
    name: str, x: Any, size: Any, footprint: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> tuple[Any, Any]:
    """The pixels around each, (..., m), and which of a full box they are."""
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


def _extreme(name: str, pick: Any, one_axis: bool) -> Callable[..., Any]:
    original = getattr(scipy.ndimage, name)
    if one_axis:

        @traced_form(original)
        def along_one(
            input: Any,
            size: int,
            axis: int = -1,
            output: Any = None,
            mode: str = "reflect",
            cval: Any = 0.0,
            origin: int = 0,
        ) -> Any:
            x = image(name, input)
            near, _ = _neighbourhoods(name, x, size, None, mode, cval, origin, axis)
            return delivered(name, pick(near, axis=-1), x, output)

        return along_one

    @traced_form(original)
    def function(
        input: Any,
        size: Any = None,
        footprint: Any = None,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
        *,
        axes: Any = None,
    ) -> Any:
        x = image(name, input)
        near, _ = _neighbourhoods(name, x, size, footprint, mode, cval, origin, axes)
        return delivered(name, pick(near, axis=-1), x, output)

    return function


maximum_filter = _extreme("maximum_filter", np.max, False)
minimum_filter = _extreme("minimum_filter", np.min, False)
maximum_filter1d = _extreme("maximum_filter1d", np.max, True)
minimum_filter1d = _extreme("minimum_filter1d", np.min, True)


def _by_rank(name: str, rank_of: Callable[[int], int], input: Any, output: Any, *given: Any) -> Any:
    x = image(name, input)
    near, _ = _neighbourhoods(name, x, *given)
    return delivered(name, np.sort(near, axis=-1)[..., rank_of(near.shape[-1])], x, output)


@traced_form(scipy.ndimage.rank_filter)
def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    def chosen(n: int) -> int:
        if not -n <= rank < n:
            raise ValueError(f"rank_filter: rank {rank} of a neighbourhood of {n} pixels")
        return rank

    return _by_rank("rank_filter", chosen, input, output, size, footprint, mode, cval, origin, axes)


@traced_form(scipy.ndimage.percentile_filter)
def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    part = percentile + 100.0 if percentile < 0 else percentile
    if not 0 <= part <= 100:
        raise ValueError(f"percentile_filter: percentile {percentile} is not within -100 and 100")

    def chosen(n: int) -> int:
        return n - 1 if part == 100.0 else int(float(n) * part / 100.0)

    return _by_rank(
        "percentile_filter", chosen, input, output, size, footprint, mode, cval, origin, axes
    )


@traced_form(scipy.ndimage.median_filter)
def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    return _by_rank(
        "median_filter", lambda n: n // 2, input, output, size, footprint, mode, cval, origin, axes
    )


# Morphology.


def _eroded(name: str, sign: int, x: Any, given: dict[str, Any]) -> Any:
    """Erosion for sign -1, dilation for sign 1."""
    structure, footprint, origin = given["structure"], given["footprint"], given["origin"]
    along = chosen_axes(name, given["axes"], x.ndim)
    if structure is not None:
        structure = asarray(structure)
        footprint = np.ones(structure.shape, bool) if footprint is None else np.asarray(footprint)
    if footprint is None and given["size"] is not None:
        footprint = np.ones([int(n) for n in each(name, given["size"], len(along))], bool)
    if sign > 0 and footprint is not None:
        origins = each(name, origin, len(along))
        origin = [-o - (n % 2 == 0) for o, n in zip(origins, np.shape(footprint), strict=True)]
        footprint = np.flip(footprint)
        structure = None if structure is None else np.flip(structure)
    near, footprint = _neighbourhoods(
        name, x, None, footprint, given["mode"], given["cval"], origin, given["axes"]
    )
    if structure is not None:
        near = near + sign * structure.reshape(-1)[np.flatnonzero(footprint)]
    return (np.max if sign > 0 else np.min)(near, axis=-1)


def _morphology(name: str, combine: Callable[..., Any]) -> Callable[..., Any]:
    @traced_form(getattr(scipy.ndimage, name))
    def function(
        input: Any,
        size: Any = None,
        footprint: Any = None,
        structure: Any = None,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
        *,
        axes: Any = None,
    ) -> Any:
        x = image(name, input)
        given = {"size": size, "footprint": footprint, "structure": structure, "mode": mode}
        given |= {"cval": cval, "origin": origin, "axes": axes}

        def erode(x: Any) -> Any:
            return _eroded(name, -1, x, given)

        def dilate(x: Any) -> Any:
            return _eroded(name, 1, x, given)

        return delivered(name, combine(x, erode, dilate), x, output)

    return function


grey_erosion = _morphology("grey_erosion", lambda x, erode, dilate: erode(x))
grey_dilation = _morphology("grey_dilation", lambda x, erode, dilate: dilate(x))
grey_opening = _morphology("grey_opening", lambda x, erode, dilate: dilate(erode(x)))
grey_closing = _morphology("grey_closing", lambda x, erode, dilate: erode(dilate(x)))
white_tophat = _morphology("white_tophat", lambda x, erode, dilate: x - dilate(erode(x)))
black_tophat = _morphology("black_tophat", lambda x, erode, dilate: erode(dilate(x)) - x)
morphological_gradient = _morphology(
    "morphological_gradient", lambda x, erode, dilate: dilate(x) - erode(x)
)
morphological_laplace = _morphology(
    "morphological_laplace", lambda x, erode, dilate: dilate(x) + erode(x) - 2 * x
)
