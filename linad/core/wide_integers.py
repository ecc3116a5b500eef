"""Python integers that no integer of 64 bits holds."""

from collections.abc import Sequence
from typing import Any

LEAST, MOST = -(2**63), 2**63 - 1
"""The range of int64."""

DOUBLE = {"f": 8, "c": 16}


def as_met(number: int, operands: Sequence[Any]) -> Any:
    """What NumPy makes of a large Python integer beside such operands.

    Beside arrays of floats it is a float; of integers, it is compared exactly, or refused.
    """
    dtypes = [a.dtype for a in operands if hasattr(a, "dtype")]
    if any([d.kind in "fc" and d.itemsize <= DOUBLE[d.kind] for d in dtypes]):
        return float(number)
    return number
