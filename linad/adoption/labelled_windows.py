"""``s.rolling(n)`` and ``s.expanding()`` of Series and DataFrames around traced values.

pandas computes windows in C. Here each is a reduction of its known entries, as those of
`linad.adoption.labelled_arrays`; where there are fewer than the least number, it is missing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.adoption.labelled_arrays import REDUCTIONS, TracedArray
from linad.errors import UnsupportedError

_NAMES = ("sum", "mean", "std", "var", "sem", "min", "max", "median", "skew", "kurt")


class LabelledWindows:
    """The windows that end at each entry.

    Parameters
    ----------
    columns : callable
        Gives what has the labels of a Series or DataFrame, and a function's results in the place
        of each column.
    size : int or None
        Entries in a window; None for all up to the last.
    least : int
        Known entries that a window must have.
    """

    def __init__(
        self, columns: Callable[[Callable[[Any], Any]], Any], size: int | None, least: int
    ) -> None:
        self._columns, self._size, self._least = columns, size, least

    def _reduced(self, reduce: Callable[[Any], Any]) -> Any:
        def of_column(x: Any) -> Any:
            missing = np.asarray(np.isnan(x))
            found: list[Any] = []
            for end in range(1, len(missing) + 1):
                start = 0 if self._size is None else max(0, end - self._size)
                gone = missing[start:end]
                part = x[start:end][~gone] if gone.any() else x[start:end]
                found.append(reduce(part) if part.size >= max(self._least, 1) else np.nan)
            return TracedArray._from_sequence(found)

        return self._columns(of_column)

    def quantile(self, q: float, interpolation: Any = "linear") -> Any:
        """As pandas has it."""
        return self._reduced(lambda x: np.quantile(x, q, method=interpolation))

    def apply(self, func: Any, raw: bool = False, args: Any = (), **kwargs: Any) -> Any:
        """A function of the entries of each window, given as an array."""
        return self._reduced(lambda x: func(x, *args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        if name not in _NAMES:
            raise UnsupportedError(
                f"{name} of windows of traced values is not traced by linad; take windows of the "
                f"array, np.lib.stride_tricks.sliding_window_view(s.to_numpy(), n)"
            )
        reduce = REDUCTIONS[name]

        def method(*args: Any, ddof: int = 1, **kwargs: Any) -> Any:
            lost = ddof if name in ("std", "var", "sem") else _LOST.get(name, 0)
            return self._reduced(lambda x: reduce(x, ddof=ddof) if x.size > lost else np.nan)

        return method


_LOST = {"skew": 2, "kurt": 3}
"""Entries of which a reduction has no value yet."""


def checked_size(window: Any, options: dict[str, Any]) -> int:
    """The entries in a window, where nothing else is asked for."""
    asked = [name for name, value in options.items() if value not in (None, False, "single")]
    if asked or not isinstance(window, (int, np.integer)):
        what = asked[0] if asked else f"window={window!r}"
        raise UnsupportedError(
            f"rolling: {what} of traced values is not traced by linad; use rolling(n) with a "
            f"number of entries"
        )
    return int(window)
