"""What users give as data: lists, tables and arrays; units and texts, which are refused."""

import numbers
from array import array as packed_array
from collections import deque
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any, NoReturn

import numpy as np

from linad.core import tree
from linad.core.showing import shown
from linad.errors import ArgumentError, OptionError

NUMBERS = frozenset("biufc")
"""Kinds of dtypes that are numbers."""


def as_arrays(data: Any, foreign: bool = False, keep: bool = False) -> Any:
    """A container with lists of numbers as arrays, and tables of pandas' kind if ``foreign``.

    With ``keep`` the outermost list stays one: it has a number for each data set. What can be read
    again and again, in one order, is a list: ``data.values()`` of a dict, say.
    """
    if isinstance(data, (KeysView, ValuesView, ItemsView, deque)):
        data = list(data)
    if isinstance(data, packed_array):
        return np.asarray(data)
    if foreign and hasattr(data, "to_numpy"):
        return data.to_numpy()
    if type(data) is dict:
        return {key: as_arrays(value, foreign) for key, value in data.items()}
    if type(data) not in (list, tuple):
        return data
    if all(isinstance(part, numbers.Complex) for part in data):
        return data if keep else np.asarray(data)
    return type(data)(as_arrays(part, foreign) for part in data)


def shape_of(xdata: Any) -> tuple[int, ...] | None:
    """The shape of xdata, which may be a list of arrays of one shape."""
    if type(xdata) not in (list, tuple):
        return getattr(xdata, "shape", None)
    shapes = {np.shape(part) for part in xdata if hasattr(part, "shape")}
    alike = len(shapes) == 1 and all(hasattr(part, "shape") for part in xdata)
    return (len(xdata), *shapes.pop()) if alike else None


def refuse_units(option: str, given: Any) -> None:
    """Raise for quantities with units, which would lose them."""
    for leaf in tree.flatten(given)[0]:
        unit = getattr(leaf, "units", None) or getattr(leaf, "unit", None)
        if unit is not None and hasattr(leaf, "to"):
            number = "magnitude" if hasattr(leaf, "magnitude") else "value"
            raise ArgumentError(
                f"curve_fit: {option} is in {unit}, and a fit is of plain numbers; give "
                f"{option}.{number}, and let the model return numbers in that unit"
            )


def refuse_none(option: str, given: Any) -> None:
    """Raise for None among numbers, in lists and in arrays: as a container it would hold none."""
    if type(given) is dict:
        for key, part in given.items():
            refuse_none(f"{option}[{key!r}]", part)
    elif type(given) in (list, tuple):
        among = all(part is None or isinstance(part, numbers.Complex) for part in given)
        if among and len(given) > 1 and any(part is None for part in given):
            _refuse_none(option, given)
        for k, part in enumerate(given):
            refuse_none(f"{option}[{k}]", part)
    elif isinstance(given, np.ndarray) and given.dtype.kind == "O":
        entries = given.ravel()
        if len(entries) > 1 and any(part is None for part in entries):
            _refuse_none(option, entries)


def _refuse_none(option: str, given: Any) -> NoReturn:
    count = sum(part is None for part in given)
    raise ArgumentError(
        f"curve_fit: {option} holds None in {count} of {len(given)} places; what is missing is "
        f"np.nan, np.array({option}, float) makes it that, and nan_policy='omit' leaves it out"
    )


def as_array(leaf: Any) -> Any:
    """An array, whose mask is kept."""
    return leaf if isinstance(leaf, np.ma.MaskedArray) else np.asarray(leaf)


def refuse_texts(option: str, arrays: list[Any]) -> None:
    """Raise for what holds no numbers."""
    kinds = [np.asarray(array).dtype for array in arrays]
    if any(kind.kind not in NUMBERS for kind in kinds):
        words = dict.fromkeys(["texts" if k.kind in "SU" else k.name for k in kinds])
        remedy = _numbers_of(option, arrays)
        if any(kind.kind in "mM" for kind in kinds):
            since = f"({option} - {option}[0])" if any(k.kind == "M" for k in kinds) else option
            remedy = f"{since} / np.timedelta64(1, 'D') is in days"
        raise ArgumentError(
            f"curve_fit: {option} must hold numbers, got {', '.join(words)}; {remedy}"
        )


def _numbers_of(option: str, arrays: list[Any]) -> str:
    """How numbers are made of texts or objects, or the first that is not a number."""
    for array in map(np.asarray, arrays):
        if array.dtype.kind in NUMBERS:
            continue
        entries = array.ravel().tolist()
        if not array.ndim and isinstance(entries[0], Iterator):
            return f"it is a {type(entries[0]).__name__}, which gives them once: list({option})"
        for entry in entries:
            try:
                float(entry)
            except (TypeError, ValueError):
                if isinstance(entry, str) and _is_number(entry.replace(",", ".")):
                    return f"[float(text.replace(',', '.')) for text in {option}] reads its commas"
                return f"{shown(entry)} in it is not a number"
    return f"np.asarray({option}, float) makes numbers of them"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def count_not_finite(array: Any) -> tuple[int, int, str]:
    """How many numbers are infinite or NaN, of how many, and the index of the first."""
    if hasattr(array, "units"):
        return 0, 0, ""  # a quantity, which the model may take
    values = np.asarray(array)
    if values.dtype.kind not in "fc":
        return 0, values.size, ""
    bad = np.argwhere(~np.isfinite(values))
    return len(bad), values.size, ", ".join(map(str, bad[0].tolist())) if len(bad) else ""


def words_of_axes(xdata: Any, shape: tuple[int, ...]) -> str:
    """What to give where xdata holds the axes of a grid on which the data lie; "" elsewhere."""
    if type(xdata) not in (list, tuple, dict) or len(shape) < 2:
        return ""
    shapes = [np.shape(axis) for axis in tree.flatten(xdata)[0]]
    if any(len(one) != 1 for one in shapes):
        return ""
    lengths = tuple(n for (n,) in shapes)
    order = {(lengths[1], lengths[0], *lengths[2:]): "xy", lengths: "ij"} if lengths[1:] else {}
    if shape not in order:
        return ""
    grid = f"np.meshgrid(*xdata, indexing='{order[shape]}')"
    if type(xdata) is dict:
        grid = f"dict(zip(xdata, {grid.replace('*xdata', '*xdata.values()')}))"
    return (
        f"holds the axes, of lengths {', '.join(map(str, lengths))}, of a grid on which ydata "
        f"lies; give the places of all its points, {grid}"
    )


def for_each_point(option: str, value: Any, y: Any, name: str) -> Any:
    """Numbers in the shape of a data set: one for all, one for each, or one for each column.

    Raises
    ------
    OptionError
        If they are for something else, or it is not said whether for columns or for rows.
    """
    shape, wanted = np.shape(value), y.shape
    if shape in ((), wanted):
        return value
    by_columns = len(shape) == 1 and len(wanted) == 2 and shape[0] == wanted[1] != wanted[0]
    if by_columns or (len(shape) == len(wanted) and _stretches(shape, wanted)):
        return np.broadcast_to(value, wanted).copy()
    whole = f" of {name}" if name else ""
    remedy = ""
    if len(shape) == 1 and len(wanted) == 2 and shape[0] in wanted:
        remedy = f"; {option}[:, None] is one for each row"
        remedy += f", {option}[None, :] one for each column" * (wanted[0] == wanted[1])
    raise OptionError(
        f"curve_fit: {option}{whole} must have the shape {wanted} of ydata, or be a number; got "
        f"{shape}{remedy}"
    )


def _stretches(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return all(n in (1, m) for n, m in zip(shape, wanted, strict=True))
