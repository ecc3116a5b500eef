"""What tells values apart whose state Python does not show: tables of pandas, times, decimals.

By it `linad.jit.static_values` makes keys of them.
"""

import datetime as dt
import decimal
import functools
import sys
from typing import Any

import numpy as np

from linad.arrays.foreign_operands import is_of_pandas
from linad.core.callers import defining_package
from linad.core.frames import defining_module
from linad.core.installed import file_of, is_installed

ALIKE = (dt.datetime, dt.time, decimal.Decimal)
"""Types of Python whose values may be equal and do not act alike: an instant in two time zones,
1.0 and 1.00."""


FLAGS = ("allows_duplicate_labels",)
"""Of pandas."""


def is_labelled(value: Any) -> bool:
    """Whether it is a Series, DataFrame or Index of pandas, or one of its arrays."""
    kind: Any = type(value)
    return _is_labelled(kind)


@functools.cache
def _is_labelled(kind: type) -> bool:
    array_like = hasattr(kind, "__array__") and not issubclass(kind, np.ndarray)
    return array_like and is_of_pandas(kind)


def labelled(value: Any) -> tuple[Any, ...]:
    """Entries and labels of an object of pandas, in arrays, lists, texts and numbers."""
    if hasattr(value, "columns"):
        columns = [_column_entries(value.iloc[:, k]) for k in range(value.shape[1])]
        parts = [value.index, value.columns, *columns]
    elif hasattr(value, "iloc"):
        parts = [value.index, value.name, _column_entries(value)]
    elif hasattr(value, "names"):
        return (list(value.names), *_of_index(value))
    else:
        return _column_entries(value)
    return (*parts, beside(value))


def beside(value: Any) -> dict[str, Any]:
    """What a Series or DataFrame has beside entries and labels: ``attrs``, flags, attributes that
    it was given, and those that its class names, as a user's subclass does."""
    given = {name: v for name, v in vars(value).items() if not name.startswith("_")}
    named = {name: getattr(value, name, None) for name in type(value)._metadata}
    flags = {name: getattr(value.flags, name) for name in FLAGS}
    return {**given, **named, **flags, "attrs": value.attrs}


def _of_index(index: Any) -> tuple[Any, ...]:
    if hasattr(index, "step"):  # a range, which may be long
        return index.start, index.stop, index.step
    if hasattr(index, "levels"):
        return tuple(index.levels), [np.array(codes) for codes in index.codes]
    return (*_column_entries(index), getattr(index, "freqstr", None))


def _column_entries(column: Any) -> tuple[Any, ...]:
    """Those of one column, in copies, and how pandas reads them.

    What pandas hands out may be another array each time, to be read only, which is told apart by
    itself.
    """
    dtype = column.dtype
    if hasattr(dtype, "categories"):
        codes = getattr(column, "array", column).codes
        return str(dtype), dtype.ordered, dtype.categories, np.array(codes)
    plain = isinstance(dtype, np.dtype) and dtype.kind != "O"
    # As objects, integers beside a missing one stay what they are.
    return str(dtype), np.array(column) if plain else np.asarray(column, object).tolist()


@functools.cache
def has_more(kind: type) -> bool:
    """Whether objects that are arrays to NumPy have attributes that count as well: those of
    xarray, with coordinates and ``attrs``, and of the user's own classes."""
    file = file_of(sys.modules.get(defining_module(kind)))
    return defining_package(kind) == "xarray" or not is_installed(file)


def shown_entries(value: Any) -> Any:
    """The array that an object is to NumPy; None of one that says then that it is none, as a
    Dataset of xarray."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        return None


def reduced(value: Any) -> Any:
    """What `pickle` would keep of it; ValueError for what cannot be kept."""
    try:
        return value.__reduce_ex__(4)
    except Exception as failure:  # which is the value's own
        raise ValueError("no state that can be kept") from failure


@functools.cache
def hides_state(kind: type) -> bool:
    """Whether objects of a class have memory that is neither in a dict nor in slots."""
    shown = ("__dict__", "__weakref__", "__slots__")
    return any(
        base.__basicsize__ > base.__base__.__basicsize__ and not any(n in vars(base) for n in shown)
        for base in kind.__mro__
        if base.__base__ is not None
    )
