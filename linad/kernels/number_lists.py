"""Lists of numbers, or of tuples of numbers, as the lowering of kernels sees them.

A list is arrays that grow, one for each number of an entry, and a scalar that counts:

    l.append((a, b))      becomes      first[count] = a; second[count] = b; count += 1
"""

from collections.abc import Callable
from typing import Any

from linad.kernels.array_windows import ArrayWindow, Axis
from linad.kernels.expressions import ONE, ZERO, Expr, get, var


class NumberList:
    """A list.

    Parameters
    ----------
    count : str
        The scalar that has its length.
    depth : int
        How many loops and branches are around the place where it is made.

    Attributes
    ----------
    entry : Any
        What an entry is: the array with its numbers, or a list of these for a tuple; None so far.
    scalars : dict
        For each array the scalar that every number goes through; its kind is that of the array.
    looped : int
        How many loops over it are around.
    exact : bool
        Whether its arrays are as long as it is.
    """

    def __init__(self, count: str, depth: int) -> None:
        self.count, self.depth = count, depth
        self.entry: Any = None
        self.scalars: dict[str, str] = {}
        self.looped = 0
        self.exact = False

    @property
    def length(self) -> Expr:
        """The number of entries, as it is when it is read."""
        return var(self.count)

    @property
    def has_numbers(self) -> bool:
        """Whether its entries are numbers, no tuples."""
        return isinstance(self.entry, str)

    def window(self) -> ArrayWindow:
        """Its numbers, as an array."""
        return ArrayWindow(self.entry, (Axis(ZERO, ONE, self.length),))

    def at(self, k: Expr) -> Any:
        """An entry."""
        return mapped(self.entry, lambda array: get(array, k))


def mapped(entry: Any, f: Callable[[str], Any]) -> Any:
    """What a function makes of each array of an entry."""
    return [mapped(e, f) for e in entry] if isinstance(entry, list) else f(entry)


class Display(list[Any]):
    """The values of a list that is written out, ``[a, b]``, and has no name yet."""
