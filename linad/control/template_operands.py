"""Plain arrays that the operations of a template take: of equal ones one copy is kept."""

from typing import Any

import numpy as np

from linad.control.equal_operations import exact_key
from linad.core.settings import settings
from linad.transforms.plain_operands import PlainOperands, same_bits


class SharedOperands(PlainOperands):
    """Plain arrays as a recorder keeps them; of equal ones there is one copy. A derivative that is
    taken in each repetition makes copies of its own."""

    __slots__ = ("_equal", "_of", "_same")

    def __init__(self, of: PlainOperands) -> None:
        super().__init__()
        self._of = of
        self._same: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._equal: dict[Any, np.ndarray] = {}

    def keep(self, a: np.ndarray) -> np.ndarray:
        found = self._same.get(id(a))
        if found is None or not same_bits(a, found[1]):
            found = self._same[id(a)] = a, self._shared(a)
        return found[1]

    def _shared(self, a: np.ndarray) -> np.ndarray:
        if a.nbytes > settings().snapshot_bytes:
            return self._of.keep(a)
        key = exact_key(a)
        copy = self._equal.get(key)
        if copy is None:
            copy = self._equal[key] = self._of.keep(a)
        return copy
