"""One of several arrays, as the tuple in which they meet."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING


class Entry(JacobianOperator):
    """One of several arrays, as a tuple with None for the others.

    Parameters
    ----------
    k : int
        Its place in the tuple.
    value : array
        Of the shape and dtype of the entry.
    count : int
        Length of the tuple.

    Attributes
    ----------
    read : array of one boolean, or None
        Where it is false the entry's cotangent is zero, whatever the tuple holds: nobody reads
        what is made of the tuple, see `linad.transforms.unread_entries`.
    """

    unknown = EVERYTHING

    owns_result = True  # nobody writes into a tuple; its entries are told apart later

    read: Any = None

    def __init__(self, k: int, value: Array, count: int) -> None:
        self.k, self.count = k, count
        super().__init__(value.shape, value.shape, value.dtype)

    def pushforward(self, tangent: Array) -> Array:
        entries: list[Any] = [None] * self.count
        entries[self.k] = tangent
        return tuple(entries)

    def pullback(self, cotangent: Array) -> Array:
        entry = cotangent[self.k]
        if self.read is None or entry is None:
            return entry
        return np.where(self.read, entry, np.zeros((), self.dtype))

    def where(self, read: Array) -> "Entry":
        """The same where the tuple is read, and zero cotangents elsewhere."""
        entry = copy.copy(self)
        entry.read = read
        return entry


def met(links: Sequence[tuple[int, Entry]], tangents: Sequence[Any]) -> Any:
    """The tuple of the tangents at these nodes, as the sum of what each entry is pushed to; None
    where all are.

    Of n entries that sum is n tuples of n parts.
    """
    entries: list[Any] = [None] * links[0][1].count
    for node, entry in links:
        entries[entry.k] = tangents[node]
    return None if all([tangent is None for tangent in entries]) else tuple(entries)
