"""Points that do not count: masked ones, and those of weight 0, whatever is in them.

Where data set j has the weight 0 nothing may come of its numbers, nor of the xdata that belong to
them: 0 * NaN is NaN, so what is not finite there is replaced by numbers that are.
"""

from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.errors import ArgumentError
from linad.solve.fitting.tables import finite_rows, is_table, nan_rows

Related = list[tuple[int, int]]
"""Which array of xdata belongs, point by point, to which data set."""


def related(places: list[Any], sets: list[Any]) -> Related:
    """The arrays of xdata of the shape of a data set, and the tables of as many rows: all to one
    set, one to all, or in pairs."""
    if len(sets) == 1:
        pairs = [(i, 0) for i in range(len(places))]
    elif len(places) == 1:
        pairs = [(0, j) for j in range(len(sets))]
    elif len(places) == len(sets):
        pairs = [(i, i) for i in range(len(places))]
    else:
        return []
    return [(i, j) for i, j in pairs if _shape_of_points(places[i]) == np.shape(sets[j])]


def _shape_of_points(place: Any) -> tuple[int, ...]:
    return (len(place),) if is_table(place) else np.shape(place)


def is_nan(j: int, places: list[Any], sets: list[Any], also: Any) -> Any:
    """The points of data set j at which it, its xdata or a further array is NaN.

    An array of xdata that has more axes than the one data set has its points along the last one,
    as in SciPy, or along the first.
    """
    y = sets[j]
    found = _nans(y).reshape(np.shape(y))
    if np.shape(also) == np.shape(y):
        found = found | _nans(also)
    mine = {i for i, k in related(places, sets) if k == j}
    for i, place in enumerate(places):
        nans = _nans(place)
        if i in mine:
            found = found | nans
        elif len(sets) == 1 and np.ndim(y) == 1 and nans.ndim > 1 and nans.any():
            axis = _axis_of_points(nans.shape, len(y))
            if axis is not None:
                found = found | np.moveaxis(nans, axis, -1).any(axis=tuple(range(nans.ndim - 1)))
    return found


def _axis_of_points(shape: tuple[int, ...], count: int) -> int | None:
    return next((axis for axis in (-1, 0) if shape[axis] == count), None)


def _nans(array: Any) -> Any:
    """Where an array is NaN; nowhere, if it holds no floats, and where it is masked. Of a table,
    its rows."""
    if is_table(array):
        return nan_rows(array)
    if hasattr(array, "isna"):  # a Series, which may have entries that are missing
        return np.asarray(array.isna(), bool)
    values = np.asarray(np.ma.getdata(array))
    if values.dtype.kind not in "fc":
        return np.zeros(values.shape, bool)
    return np.isnan(values) & ~np.ma.getmaskarray(array)


def is_masked(array: Array) -> bool:
    """Whether an array has a mask, with something in it."""
    return isinstance(array, np.ma.MaskedArray) and bool(np.ma.getmaskarray(array).any())


def masked(j: int, pairs: Related, places: list[Any], sets: list[Any], also: Array) -> Any:
    """The points of data set j that are masked: in it, in its xdata, or in a further array."""
    given = [sets[j], *[places[i] for i, k in pairs if k == j], also]
    found = np.zeros(np.shape(sets[j]), bool)
    for array in given:
        if is_masked(array):
            found |= np.ma.getmaskarray(array)
    return found


def finite(array: Array, out: Array) -> Any:
    """A plain array with numbers that are finite where points are left out."""
    values = np.ma.getdata(array)
    if values.dtype.kind not in "fc":
        return values
    bad = out & ~np.isfinite(values)
    if not bad.any():
        return values
    good = values[np.isfinite(values)]
    return np.where(bad, good[0] if len(good) else 0.0, values)


def with_finite_places(xdata: Array, pairs: Related, out: list[Any]) -> Any:
    """xdata without masks, and with finite numbers at points that count in no data set.

    Raises
    ------
    ArgumentError
        If something is masked of which it is not known what point it belongs to.
    """
    places, structure = tree.flatten(xdata)
    held = list(places)
    for i, place in enumerate(places):
        if len(out) == 1 and out[0].ndim == 1 and type(place) is np.ndarray and place.ndim > 1:
            axis = _axis_of_points(place.shape, len(out[0]))
            if axis is not None:
                held[i] = np.moveaxis(finite(np.moveaxis(place, axis, -1), out[0]), -1, axis)
                continue
        mine = [out[j] for k, j in pairs if k == i]
        if is_table(place):
            held[i] = finite_rows(place, np.logical_and.reduce(mine)) if mine else place
            continue
        if not isinstance(place, np.ndarray):
            if mine and hasattr(place, "where"):  # of pandas or xarray: it stays one
                values = np.asarray(place)
                numbers = finite(values, np.logical_and.reduce(mine))
                if numbers is not values:
                    held[i] = place.where(np.isfinite(values), numbers)
            continue
        if is_masked(place) and not mine:
            count = int(np.ma.getmaskarray(place).sum())
            raise ArgumentError(
                f"curve_fit: xdata is masked in {count} of {place.size} places, and has not the "
                f"shape of ydata, so that it does not say which points are left out; mask these "
                f"in ydata, or give weights that are 0 there, and xdata.filled(0.0)"
            )
        if isinstance(place, np.ma.MaskedArray):
            held[i] = np.ma.getdata(place)
        if type(held[i]) is np.ndarray and mine:
            held[i] = finite(held[i], np.logical_and.reduce(mine))
    same = all(new is old for new, old in zip(held, places, strict=True))
    return xdata if same else tree.unflatten(structure, held)
