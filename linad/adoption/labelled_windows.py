"""``s.rolling(n)``, ``s.expanding()`` and ``s.ewm(...)`` of what has labels and traced values.

pandas computes windows in C. Here each is a reduction of its known entries, as those of
`linad.adoption.labelled_arrays`; where there are fewer than the least number, it is missing.
Exponential weights (1 - α)^k of the entry k steps ago are a filter of first order,

    S_t = x_t + (1 - α) S_(t-1)      mean_t = S_t / (the same of ones)

where ``adjust`` is left at True; else x_0 stands for what was before it. Source: the user guide
of pandas, "Exponentially weighted window".
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

from linad.adoption.labelled_arrays import REDUCTIONS, TracedArray
from linad.errors import UnsupportedError
from linad.rules.shaping import still
from linad.scipy.signal import lfilter

_NAMES = ("sum", "mean", "std", "var", "sem", "min", "max", "median", "skew", "kurt")


class LabelledWindows:
    """The windows that end at each entry, or have it in their middle.

    Parameters
    ----------
    columns : callable
        Gives what has the labels of a Series or DataFrame, and a function's results in the place
        of each column.
    size : int or None
        Entries in a window; None for all up to the last.
    least : int
        Known entries that a window must have.
    center : bool
    """

    def __init__(
        self,
        columns: Callable[[Callable[[Any], Any]], Any],
        size: int | None,
        least: int,
        center: bool = False,
    ) -> None:
        self._columns, self._size, self._least = columns, size, least
        self._ahead = (size - 1) // 2 if center and size is not None else 0

    def _reduced(self, reduce: Callable[[Any], Any]) -> Any:
        def of_column(x: Any) -> Any:
            missing = np.asarray(np.isnan(x))
            found: list[Any] = []
            for end in range(1 + self._ahead, len(missing) + 1 + self._ahead):
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


class ExponentialWindows:
    """All entries up to each, the later ones with more weight.

    Parameters
    ----------
    columns : callable
        As for `LabelledWindows`.
    alpha : float
        0 < α <= 1.
    least : int
        Entries that a value must have.
    adjust : bool
    """

    def __init__(
        self,
        columns: Callable[[Callable[[Any], Any]], Any],
        alpha: float,
        least: int,
        adjust: bool,
    ) -> None:
        self._columns, self._alpha, self._least, self._adjust = columns, alpha, least, adjust

    def _filtered(self, x: Any, alpha: float) -> Any:
        """The sums S, divided by those of ones; without ``adjust`` they need no division."""
        a = [1.0, alpha - 1.0]
        if not self._adjust:
            return lfilter([alpha], a, x, zi=(1 - alpha) * x[:1])[0]
        return lfilter([1.0], a, x) / scipy.signal.lfilter([1.0], a, np.ones(x.shape))

    def _of_columns(self, function: Callable[[Any], Any], least: int) -> Any:
        def of_column(x: Any) -> Any:
            if np.any(np.isnan(x)):
                raise UnsupportedError(
                    "ewm of traced values with missing entries is not traced by linad; drop or "
                    "fill them, s.dropna().ewm(...)"
                )
            early = np.arange(1, x.shape[0] + 1) < least
            return TracedArray(np.where(early, np.nan, function(x)))

        return self._columns(of_column)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """The weighted means."""
        return self._of_columns(lambda x: self._filtered(x, self._alpha), self._least)

    def var(self, bias: bool = False, *args: Any, **kwargs: Any) -> Any:
        """The weighted variances; without ``bias`` divided by 1 - Σ w², where Σ w = 1."""

        def of_column(x: Any) -> Any:
            x = x - still(x[0])  # squares of what is large would cancel
            mean = self._filtered(x, self._alpha)
            y = self._filtered(x * x, self._alpha) - mean * mean
            return y if bias else y / self._freedom(x.shape[0])

        return self._of_columns(of_column, max(self._least, 1 if bias else 2))

    def _freedom(self, n: int) -> Any:
        """1 - Σ w² of the weights of each entry; 1 for the first, which has no variance."""
        left = 1 - self._alpha
        powers = left ** np.arange(n)
        if self._adjust:
            squares = np.cumsum(powers**2) / np.cumsum(powers) ** 2
        else:
            earlier = np.concatenate([[0.0], np.cumsum(powers**2)[:-1]])
            squares = powers**2 + self._alpha**2 * earlier
        freedom = 1 - squares
        freedom[:1] = 1.0
        return freedom

    def std(self, bias: bool = False, *args: Any, **kwargs: Any) -> Any:
        """The roots of the variances."""
        return self.var(bias) ** 0.5

    def __getattr__(self, name: str) -> Any:
        raise UnsupportedError(
            f"{name} of exponential windows of traced values is not traced by linad; mean, var "
            f"and std are"
        )


def decay(com: Any, span: Any, halflife: Any, alpha: Any) -> float:
    """α by whichever of its names was given, as pandas has them."""
    if com is not None:
        return float(1 / (1 + com))
    if span is not None:
        return float(2 / (span + 1))
    return float(1 - np.exp(-np.log(2) / halflife)) if halflife is not None else float(alpha)


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
