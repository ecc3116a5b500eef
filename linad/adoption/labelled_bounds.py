"""``clip`` of Series and DataFrames around traced values, as pandas has it.

A bound that is NaN is none, an entry that is NaN stays so, and of two numbers the lower one is the
lower bound. What is equal to a bound is the entry, whose derivative it keeps.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.rules.shaping import concrete


def clipped(x: Any, lower: Any, upper: Any, options: dict[str, Any]) -> Callable[[Array], Any]:
    """What takes an array of ``x`` within bounds: numbers, or, of a Series, one for each entry.

    Raises
    ------
    UnsupportedError
        If it is to be done in place, or bounds are arrays of a DataFrame or have other labels.
    """
    if any(value is not None and value is not False for value in options.values()):
        raise UnsupportedError(
            f"clip: {', '.join(options)}= of traced values is not traced by linad; use "
            f"y = x.clip(lower=..., upper=...)"
        )
    low, high = (None if bound is None else _bound(x, bound) for bound in (lower, upper))
    if low is not None and high is not None and not np.ndim(low) and not np.ndim(high):
        low, high = np.minimum(low, high), np.maximum(low, high)

    def within(entries: Array) -> Any:
        if low is not None:
            entries = np.where(entries < low, low, entries)
        return entries if high is None else np.where(entries > high, high, entries)

    return within


def _bound(x: Any, bound: Any) -> Any:
    """Numbers to compare entries with; nothing is beyond one that is NaN."""
    if isinstance(bound, pd.Series):
        if x.ndim > 1 or not bound.index.equals(x.index):
            raise UnsupportedError(
                "clip: bounds of a Series with traced values must have the labels of it, and those "
                "of a DataFrame be numbers"
            )
        return bound.to_numpy()
    if isinstance(bound, (list, tuple)):
        bound = np.stack(list(bound))
    if not np.ndim(bound):
        return None if np.isnan(concrete(bound)) else bound
    if x.ndim > 1 or np.shape(bound) != x.shape:
        raise UnsupportedError(
            f"clip: bounds of traced values must be numbers, or, of a Series, as many as it has "
            f"entries: {len(x)}, got shape {np.shape(bound)}"
        )
    return bound
