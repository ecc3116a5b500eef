"""Concatenation by index: ``r_[...]`` and ``c_[...]`` of traced entries."""

from typing import Any

import numpy as np

from linad.core.primitive import Traced
from linad.errors import UnsupportedError
from linad.numpy.array_makers import arange
from linad.numpy.nested_lists import is_traced
from linad.rules import creation
from linad.rules.shaping import ravel


class _Concatenator:
    """``np.r_`` or ``np.c_``.

    NumPy's own arranges the numbers of the entries; the entries follow.
    """

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not any(is_traced(p) or _has_traced_ends(p) for p in parts):
            return self._plain[key]
        numbers: list[Any] = []
        entries, start = [], 0
        for part in parts:
            if isinstance(part, str):
                if part in ("r", "c"):
                    raise UnsupportedError(
                        f"r_[{part!r}, ...]: np.matrix has no traced form; use np.concatenate"
                    )
                numbers.append(part)
                continue
            values = _range(part) if isinstance(part, slice) else creation.asarray(part)
            numbers.append(start + np.arange(values.size).reshape(values.shape))
            entries.append(ravel(values))
            start += values.size
        order = self._plain[tuple(numbers)]
        return np.concatenate(entries)[order]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def __len__(self) -> int:
        return 0


def _has_traced_ends(part: Any) -> bool:
    return isinstance(part, slice) and any(
        [isinstance(end, Traced) for end in (part.start, part.stop, part.step)]
    )


def _range(part: slice) -> Any:
    """The numbers a slice stands for; an imaginary step is a count, as in NumPy."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return np.linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


r_ = _Concatenator(np.r_)
c_ = _Concatenator(np.c_)
