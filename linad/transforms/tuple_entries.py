"""One of several arrays, as the tuple in which they meet."""

from typing import Any

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
    """

    unknown = EVERYTHING

    owns_result = True  # nobody writes into a tuple; its entries are told apart later

    def __init__(self, k: int, value: Any, count: int) -> None:
        self.k, self.count = k, count
        super().__init__(value.shape, value.shape, value.dtype)

    def pushforward(self, tangent: Array) -> Array:
        entries: list[Any] = [None] * self.count
        entries[self.k] = tangent
        return tuple(entries)

    def pullback(self, cotangent: Array) -> Array:
        return cotangent[self.k]
