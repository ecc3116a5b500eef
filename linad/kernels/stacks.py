"""What generated functions call: the growth of a stack."""

import numpy as np

from linad.core.machine_code import kept


@kept(error_model="numpy")
def grown(stack):  # type: ignore[no-untyped-def]  # compiled for each type
    """The stack with room for twice as many values."""
    new = np.empty(2 * stack.size, stack.dtype)
    new[: stack.size] = stack
    return new
