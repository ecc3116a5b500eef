"""What generated functions call, in Python: the growth of a stack, loops in any order, and what
looks at an index."""

import numpy as np


def grown(stack: np.ndarray, needed: int) -> np.ndarray:
    """The stack, with room for ``needed`` values and twice as many as before."""
    new = np.empty(max(2 * stack.size, needed), stack.dtype)
    new[: stack.size] = stack
    return new


def any_order(numbers: range) -> range:
    """The numbers of a loop whose turns do not depend on each other."""
    return numbers


def within(index: int, length: int) -> int:
    """An index of a part of an array, which has so many entries."""
    if not 0 <= index < length:
        raise IndexError(f"index {index} is out of bounds for a part with {length} entries")
    return index
