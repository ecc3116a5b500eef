"""Writes of traced values into plain Series and DataFrames of pandas.

    s["b"] = v    s.iloc[k] = v    frame.loc[rows, "b"] = v    frame["b"] = v    s += v

The object itself becomes one that holds traced arrays, in columns of floating numbers: all its
names stay names of one object. Where pandas copies on writes, as it does from version 3 on, no
other object shares what it holds. The trace makes it plain again at its end, with the values that
were written.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from linad.adoption.labelled import TracedFrame, TracedSeries
from linad.adoption.labelled_arrays import TracedArray, bare_array
from linad.arrays.conversions import concrete_parts

INDEXERS = ("loc", "iloc", "at", "iat")

_TRACED: dict[type, type] = {pd.Series: TracedSeries, pd.DataFrame: TracedFrame}


def _copies_on_writes() -> bool:
    return int(pd.__version__.partition(".")[0]) >= 3 or pd.options.mode.copy_on_write is True


def hold_traced(x: Any, name: str | None) -> Callable[[], None] | None:
    """Let a plain Series or DataFrame take traced values; returns what makes it plain again.

    ``name`` is that of the attribute whose entry is written, as in ``x.loc[k] = v``. None, and
    nothing has changed, where it may not be: where writes may go through to another object, where
    no column is of floating numbers, and where the attribute is a column.
    """
    plain = type(x)
    if name is not None and name not in INDEXERS:
        return None
    columns = _columns(x)
    if not _copies_on_writes() or not any(column.dtype == np.float64 for column in columns):
        return None
    held = [
        TracedArray(column.to_numpy().copy()) if column.dtype == np.float64 else column
        for column in columns
    ]
    _become(x, held, _TRACED[plain])

    def undo() -> None:
        for block in x._mgr.blocks:  # which pandas would read by an index, of a trace that is over
            if isinstance(block.values, TracedArray):
                block.values.array = concrete_parts(block.values.array)
        _become(x, [bare_array(column.array) for column in _columns(x)], plain)

    return undo


def _columns(x: Any) -> list[Any]:
    return [x] if x.ndim == 1 else [x.iloc[:, j] for j in range(x.shape[1])]


def _become(x: Any, columns: list[Any], kind: type) -> None:
    made: Any
    if x.ndim == 1:
        made = pd.Series(columns[0], index=x.index)
    else:
        made = pd.DataFrame(dict(enumerate(columns)), index=x.index)
        made.columns = x.columns
    x._mgr = made._mgr
    x.__class__ = kind
