"""What generated functions call: the growth of a stack."""

import numpy as np

from linad.core.machine_code import kept


@kept(error_model="numpy")
def grown(stack, needed):  # type: ignore[no-untyped-def]  # compiled for each type
    """The stack, with room for ``needed`` values and twice as many as before."""
    new = np.empty(max(2 * stack.size, needed), stack.dtype)
    for k in range(stack.size):  # of a slice Numba compiles the texts of errors, for seconds
        new[k] = stack[k]
    return new
