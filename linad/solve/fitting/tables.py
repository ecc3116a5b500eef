"""Tables of pandas as xdata: a row belongs to a point of the data.

Which columns a model reads is not known before it runs, so all of those that hold numbers count.
"""

from typing import Any

import numpy as np

from linad.solve.fitting.given_data import NUMBERS


def is_table(place: Any) -> bool:
    """Whether it is a table of columns, each of a kind of its own."""
    return hasattr(place, "columns") and hasattr(place, "isetitem")


def is_column(place: Any) -> bool:
    """Whether it is one column of a table, with labels of its own."""
    return hasattr(type(place), "iloc") and not hasattr(type(place), "columns")


def nan_rows(table: Any) -> Any:
    """The rows in which a column of numbers is NaN, or has no entry."""
    found = np.zeros(len(table), bool)
    for _, column in _columns(table):
        found |= np.asarray(column.isna(), bool)
    return found


def finite_rows(table: Any, out: Any) -> Any:
    """A table with numbers that are finite in rows that are left out; itself where it has those."""
    held = table
    for i, column in _columns(table):
        good = _finite_entries(column)
        if not (out & ~good).any():
            continue
        held = table.copy() if held is table else held
        fill = column[good].iloc[0] if good.any() else 0
        held.isetitem(i, column.where(good | ~out, fill))
    return held


def not_finite_columns(table: Any) -> list[Any]:
    """The names of columns that hold infinities or NaNs."""
    return [
        table.columns[i]
        for i, column in _columns(table)
        if not _finite_entries(column).all()
    ]


def count_not_finite_places(table: Any) -> tuple[int, int, str]:
    """How many numbers are infinite or NaN, of how many entries, and the row and column of the
    first. Columns of texts may stand beside."""
    bad = np.zeros(table.shape, bool)
    for i, column in _columns(table):
        bad[:, i] = ~_finite_entries(column)
    places = np.argwhere(bad)
    return len(places), bad.size, ", ".join(map(str, places[0].tolist())) if len(places) else ""


def _finite_entries(column: Any) -> Any:
    """Which entries of a column of numbers are finite; those that are missing are not."""
    if column.dtype.kind == "c":
        return np.isfinite(np.asarray(column))
    return np.isfinite(column.to_numpy(float, na_value=np.nan))


def _columns(table: Any) -> list[tuple[int, Any]]:
    """Columns of numbers, with their places: names may occur twice."""
    every = [(i, table.iloc[:, i]) for i in range(table.shape[1])]
    return [(i, column) for i, column in every if column.dtype.kind in NUMBERS]
