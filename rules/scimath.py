"""numpy.emath: functions that answer in complex numbers outside of their real domain.

sqrt, log, log2, log10, power, logn      complex where an entry is negative
arcsin, arccos, arctanh                  complex where one is beyond [-1, 1]

An array becomes complex as a whole, as in NumPy; the functions themselves are NumPy's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.rules.shaping import as_array, astype


def _complex_if(outside: Callable[[Any], Any], x: Array) -> Any:
    """``x``, made complex if it is real and has an entry outside of the domain."""
    x = as_array(x)
    if x.dtype.kind == "c" or not bool(outside(x).any()):
        return x
    return astype(x, np.result_type(x.dtype, np.complex64))


def _signed(x: Array) -> Any:
    return _complex_if(lambda x: x < 0, x)


def _bounded(x: Array) -> Any:
    return _complex_if(lambda x: np.abs(x) > 1, x)


def _extend(name: str, domain: Callable[[Any], Any]) -> None:
    function = getattr(np, name)

    def extended(x: Array) -> Any:
        return function(domain(x))

    extended.__name__ = extended.__qualname__ = name
    implements(getattr(np.emath, name))(extended)


for _name in ("sqrt", "log", "log2", "log10"):
    _extend(_name, _signed)
for _name in ("arcsin", "arccos", "arctanh"):
    _extend(_name, _bounded)


@implements(np.emath.power)
def power(x: Array, p: Array) -> Any:
    p = as_array(p)
    if p.dtype.kind in "iu" and bool((p < 0).any()):
        p = p.astype(float)  # NumPy has no negative integer powers of integers
    return np.power(_signed(x), p)


@implements(np.emath.logn)
def logn(n: Array, x: Array) -> Any:
    return np.log(_signed(x)) / np.log(_signed(n))
