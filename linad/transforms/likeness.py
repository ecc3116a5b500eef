"""Whether two things are known to be the same: parts of operators, and traced values.

No is always right. The values of two traces' numbers are compared level by level.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from linad.arrays.tracer import Tracer
from linad.operators.base import JacobianOperator

_PLAIN = (bool, int, float, complex, str, slice, type(None), np.generic, np.dtype)
_DEEP = 6
"""Operations, one after another, that are followed back."""

N = TypeVar("N")


def alike(a: Any, b: Any) -> bool:
    """Whether two parts of operators, or two values, are the same."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is Tracer:
        return a._trace is b._trace and a._trace.same(a, b)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, JacobianOperator):
        a, b = vars(a), vars(b)
        return a.keys() == b.keys() and all([alike(part, b[name]) for name, part in a.items()])
    return isinstance(a, _PLAIN) and bool(a == b)


def one_origin(
    a: N, b: N, makers: Callable[[N], tuple[Any, list[N]] | None], deep: int = _DEEP
) -> bool:
    """Whether two places in a program are one, or are made alike of places that are.

    Parameters
    ----------
    a, b : object
        The places.
    makers : callable
        What made the value at a place, and of the values at which; None of an argument.
    """
    if alike(a, b):
        return True
    p, q = (makers(a), makers(b)) if deep else (None, None)
    if p is None or q is None or len(p[1]) != len(q[1]) or not alike(p[0], q[0]):
        return False
    return all([one_origin(m, n, makers, deep - 1) for m, n in zip(p[1], q[1], strict=True)])
