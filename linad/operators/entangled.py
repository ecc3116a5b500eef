"""Operators whose results hold each alone, and not together.

Where eigenvalues are equal the rule for their vectors leaves out what turns them within their
space. A function of the vectors alone that has a derivative does not depend on it, nor does one of
the values alone; a function of both may. So whoever asks for both, and only then, is told where
something was left out: NaN, in all that depends on both. A sweep over a tape sees which results it
needs; forward mode without a tape sees it when the second of them is used.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.operators.base import JacobianOperator


class Entangled(JacobianOperator):
    """A map to values (..., k) and vectors, which are columns (..., m, k) or rows (..., k, n).

    Attributes
    ----------
    values_at : int
        Which result holds the values.
    rows_at : int or None
        Which one holds vectors that are rows.
    """

    values_at = 0
    rows_at: int | None = None

    @abstractmethod
    def undetermined(self, tangent: Array) -> Any:
        """Which of the values (..., k) this tangent entangles with others; None where none."""

    def pushforward_together(self, tangent: Array) -> Array:
        """The pushforward, for users of values and vectors: what is not known of these is NaN."""
        pushed, lost = self.pushforward(tangent), self.undetermined(tangent)
        if lost is None:
            return pushed
        return tuple(
            [
                part if k == self.values_at else self.spoilt(k, part, lost)
                for k, part in enumerate(pushed)
            ]
        )

    def spoilt(self, k: int, part: Array, lost: Array) -> Any:
        """The tangent of result k, NaN where values are lost."""
        if k != self.values_at:
            lost = np.expand_dims(lost, -1 if k == self.rows_at else -2)
        return np.where(lost, np.nan, part)

    def both(self, asked: Sequence[bool]) -> bool:
        """Whether values and vectors are among the results that are asked for."""
        return asked[self.values_at] and sum(asked) > 1


class Results:
    """The tangents of such results, in forward mode without a tape.

    Whoever uses the second of the two, values or vectors, gets NaN in place of what is not known of
    both together.

    Parameters
    ----------
    op : Entangled
    tangent : array
        Of its argument.
    pushed : tuple of array
        Of its results.
    """

    def __init__(self, op: Entangled, tangent: Array, pushed: tuple[Any, ...]) -> None:
        self._op, self._tangent = op, tangent
        self._found, self._told = pushed, [None] * len(pushed)
        self._values_hold = True

    def told(self, node: Array) -> Any:
        """The tangent to use in place of ``node``, which may be one of these."""
        for k, found in enumerate(self._found):
            if found is node:
                if self._told[k] is None:
                    self._told[k] = self._first(k, found)
                return self._told[k]
        return node

    def _first(self, k: int, found: Array) -> Any:
        at = self._op.values_at
        asked = [told is not None for told in self._told]
        asked[k] = True
        if not self._op.both(asked) or not self._values_hold:
            return found
        lost = self._op.undetermined(self._tangent)
        if lost is None:
            return found
        self._values_hold = k != at
        return self._op.spoilt(k, found, lost)
