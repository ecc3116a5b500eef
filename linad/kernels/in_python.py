"""What generated functions call, in Python: the growth of a stack, and loops in any order."""

import numpy as np


def grown(stack: np.ndarray, needed: int) -> np.ndarray:
    """The stack, with room for ``needed`` values and twice as many as before."""
    new = np.empty(max(2 * stack.size, needed), stack.dtype)
    new[: stack.size] = stack
    return new


def any_order(numbers: range) -> range:
    """The numbers of a loop whose turns do not depend on each other."""
    return numbers
