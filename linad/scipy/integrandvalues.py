"""An integrand at many nodes: in one call where it takes arrays.

Most integrands are written with NumPy's functions, and are as good for an array as for a number.
Whether one is nobody says; so it is tried, and what it gives is compared with what numbers give at
some of the nodes. Where it decides in Python, or does anything else, each node has a call.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.array_type import Array
from linad.core.marks import Attempt
from linad.rules.creation import asarray

COMPARED = 5
"""Nodes at which the integrand is asked for a number as well."""

ROUNDING = 1e-10
"""How far numbers may be from the entries of an array, which is rounded otherwise: in parts of the
largest entry."""


class Shares:
    """``share(u, w)`` of a node and its weight, for arrays of both.

    Parameters
    ----------
    share : callable
        Gives what has as many entries as u, if it can; of numbers one.
    """

    def __init__(self, share: Callable[[Any, Any], Any]) -> None:
        self.share, self.takes_arrays = share, True

    def sum(self, u: Array, w: Array) -> Any:
        """The sum over all nodes."""
        found = self._together(u, w)
        return np.sum(found) if found is not None else sum(self._one_by_one(u, w))

    def plain(self, u: Array) -> Array:
        """The shares of all nodes with weights of 1, as plain numbers."""
        ones = np.ones_like(u)
        found = self._together(u, ones)
        if found is not None:
            return concrete(found)
        return np.array([concrete(y) for y in self._one_by_one(u, ones)], float)

    def _one_by_one(self, u: Array, w: Array) -> list[Any]:
        return [self.share(*node) for node in zip(u, w, strict=True)]

    def _together(self, u: Array, w: Array) -> Any:
        """The shares of all nodes of one call; None if the integrand is none for arrays."""
        if not self.takes_arrays:
            return None
        found = None
        # Numbers it has taken already, of the same nodes or others: what it raises of an array,
        # whatever that is, says that it takes none.
        with Attempt(Exception), np.errstate(all="ignore"):
            found = asarray(self.share(u.copy(), w.copy()))
        if found is None or not self._agrees(found, u, w):
            self.takes_arrays = False
            return None
        return found

    def _agrees(self, found: Any, u: Array, w: Array) -> bool:
        values = concrete(found)
        if values.shape != u.shape or values.dtype.kind != "f":
            return False
        some = np.unique(np.linspace(0, len(u) - 1, COMPARED).astype(int))
        numbers = [concrete(asarray(y))[()] for y in self._one_by_one(u[some], w[some])]
        finite = np.abs(values[np.isfinite(values)])
        allowed = ROUNDING * np.max(finite, initial=0.0)
        return np.allclose(numbers, values[some], rtol=0, atol=allowed, equal_nan=True)
