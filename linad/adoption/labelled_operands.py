"""Operators between traced arrays and the Series and DataFrames of pandas."""

import operator
from typing import Any

import numpy as np
import pandas as pd

from linad.adoption.labelled import (
    Labelled,
    frame,
    holds_traced_values,
    labelled_as,
    series,
    values_of,
)
from linad.adoption.labelled_texts import refuse_column
from linad.arrays.traces import running_trace
from linad.core.dispatch import FOREIGN


def lifted(x: Any) -> Any:
    """A Series or DataFrame of numbers as one that takes traced operands; others stay.

    One of pandas's own class may hold traced arrays already, as pandas makes one of another's.
    """
    if not isinstance(x, Labelled) and holds_traced_values(x):
        return frame(x) if x.ndim == 2 else series(x)
    trace = running_trace()
    if trace is None or isinstance(x, Labelled) or x.to_numpy().dtype.kind not in "biufc":
        return x
    values = x.to_numpy()
    kind = complex if values.dtype.kind == "c" else float
    return labelled_as(x, trace.constant(values.astype(kind)))


_OPERATORS = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


def _beside(ufunc: Any, *operands: Any) -> Any:
    """An operator of a traced array and of what has labels."""
    if ufunc is np.matmul:
        return ufunc(*map(values_of, operands))
    labelled = [x for x in operands if isinstance(x, (pd.DataFrame, pd.Series))]
    if len(labelled) == 1 and (ufunc not in _OPERATORS or isinstance(labelled[0], pd.DataFrame)):
        plain = [x.to_numpy() if x is labelled[0] else x for x in operands]
        return labelled_as(labelled[0], ufunc(*plain))
    new = [lifted(x) if isinstance(x, pd.Series) else x for x in operands]
    for x in labelled:
        refuse_column(ufunc, x)
    if all(map(operator.is_, new, operands)) or ufunc not in _OPERATORS:
        return NotImplemented
    return _OPERATORS[ufunc](*new)


FOREIGN[pd.Series] = FOREIGN[pd.DataFrame] = _beside
