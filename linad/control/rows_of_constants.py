"""Constants of the repetitions of a loop as an array of them, if that computes the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.tape import Equation, Var


def row_of(values: Sequence[Any], e: Equation) -> np.ndarray | None:
    """An array of constants that an equation takes one after the other; None if it would not do
    the same with entries of it."""
    kinds = {(np.shape(v), np.asarray(v).dtype, type(v)) for v in values}
    if len(kinds) > 1 or np.asarray(values[0]).dtype.kind not in "biufc":
        return None
    if type(values[0]) not in (int, float, complex):
        return np.stack([np.asarray(v) for v in values])
    # A weak number does not decide on the dtype that is computed in; where a row would, there is
    # none. The row keeps the number's kind, which may decide on the function: `ldexp` takes
    # integers only.
    dtype = np.dtype(type(values[0]))
    computed = _computed_in(e)
    if computed is None or not np.can_cast(dtype, computed):
        return None
    return np.array(values, dtype) if all([fits(v) for v in values]) else None


def _computed_in(e: Equation) -> np.dtype[Any] | None:
    """The dtype in which an equation computes: that of its result, or of what it compares."""
    if e.outputs and e.outputs[0].dtype.kind != "b":
        return e.outputs[0].dtype
    strong = [a.dtype for a in e.inputs if isinstance(a, (Var, np.ndarray, np.generic))]
    return np.result_type(*strong) if e.outputs and strong else None


def fits(a: complex) -> bool:
    """Whether a Python number has a place in a row of NumPy's."""
    return type(a) is not int or -(2**63) <= a < 2**63
