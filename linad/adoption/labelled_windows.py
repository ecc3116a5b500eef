"""``s.rolling(n)``, ``s.expanding()`` and ``s.ewm(...)`` of what has labels and traced values.

pandas computes windows in C. Here each is a reduction of its known entries, as those of
`linad.adoption.labelled_arrays`; where there are fewer than the least number, it is missing.
Exponential weights (1 - α)^k of the entry k steps ago are a filter of first order,

    S_t = x_t + (1 - α) S_(t-1)      mean_t = S_t / (the same of ones)

where ``adjust`` is left at True; else x_0 stands for what was before it. Between known entries with
missing ones in between more of the weight is lost, unless ``ignore_na``: the mean m_k of the known
entries up to the k-th is a_k m_(k-1) + (1 - a_k) x_k, a system with two bands. Source: the user
guide of pandas, "Exponentially weighted window".
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

from linad.adoption.labelled_arrays import REDUCTIONS, TracedArray
from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.rules.shaping import still
from linad.scipy.linalg import solve_banded
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
        def of_column(x: Array) -> Any:
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
    adjust, ignore_na : bool
        As pandas has them.
    """

    def __init__(
        self,
        columns: Callable[[Callable[[Any], Any]], Any],
        alpha: float,
        least: int,
        adjust: bool,
        ignore_na: bool,
    ) -> None:
        self._columns, self._alpha, self._least = columns, alpha, least
        self._adjust, self._ignore = adjust, ignore_na

    def _means(self, x: Any, shares: Any) -> Any:
        """The weighted means of what has no missing entries, or none any more."""
        if shares is not None:
            before, own = shares
            band = np.stack([np.ones(own.shape), -np.append(before[1:], 0.0)])
            return solve_banded((1, 0), band, own * x)
        a = [1.0, self._alpha - 1.0]
        if not self._adjust:  # the sums need no division
            return lfilter([self._alpha], a, x, zi=(1 - self._alpha) * x[:1])[0]
        return lfilter([1.0], a, x) / scipy.signal.lfilter([1.0], a, np.ones(x.shape))

    def _shares(self, places: Any) -> Any:
        """Of the mean at each known entry: the shares of the mean before it, and of the entry."""
        steps = np.ones(len(places) - 1) if self._ignore else np.diff(places)
        own, weight = [1.0], 1.0
        for left in (1 - self._alpha) ** steps:
            new = 1.0 if self._adjust else self._alpha
            weight = weight * left + new
            own.append(new / weight)
            weight = weight if self._adjust else 1.0
        return 1 - np.array(own), np.array(own)

    def _of_columns(self, function: Callable[[Any, Any], Any], least: int) -> Any:
        def of_column(x: Any) -> Any:
            known = ~np.asarray(np.isnan(x))
            counts = np.cumsum(known)
            early = counts < max(least, 1)
            if known.all():
                return TracedArray(np.where(early, np.nan, function(x, None)))
            places = np.flatnonzero(known)
            if not places.size:
                return TracedArray(x)
            found = function(x[places], self._shares(places))
            return TracedArray(np.where(early, np.nan, found[np.maximum(counts - 1, 0)]))

        return self._columns(of_column)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """The weighted means."""
        return self._of_columns(self._means, self._least)

    def var(self, bias: bool = False, *args: Any, **kwargs: Any) -> Any:
        """The weighted variances; without ``bias`` divided by 1 - Σ w², where Σ w = 1."""

        def of_column(x: Any, shares: Any) -> Any:
            x = x - still(x[0])  # squares of what is large would cancel
            mean = self._means(x, shares)
            y = self._means(x * x, shares) - mean * mean
            return y if bias else y / self._freedom(x.shape[0], shares)

        return self._of_columns(of_column, max(self._least, 1 if bias else 2))

    def _freedom(self, n: int, shares: Any) -> Any:
        """1 - Σ w² of the weights of each entry; 1 for the first, which has no variance."""
        before, own = self._shares(np.arange(n)) if shares is None else shares
        squares = [1.0]
        for a, b in zip(before[1:], own[1:], strict=True):
            squares.append(a * a * squares[-1] + b * b)
        freedom = 1 - np.array(squares)
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
