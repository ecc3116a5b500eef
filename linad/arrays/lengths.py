"""``len`` of a traced value: arrays have one; numbers, and arrays without axes, have none."""

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np

from linad.core.primitive import Traced


class NoLengthError(TypeError, AttributeError):
    """``len(s)`` of a number: TypeError for ``len``, AttributeError for ``hasattr``."""


class LengthOfArrays:
    """The method ``__len__``, which arrays have and NumPy's numbers do not.

    ``hasattr(x, "__len__")`` is how many functions tell one from the other.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method

    def __get__(self, x: Any, kind: Any = None) -> Any:
        if x is None:
            return self.method
        value = x._value
        while isinstance(value, Traced):
            value = value._value
        if type(value) is not np.ndarray:
            raise NoLengthError(f"object of type 'numpy.{x.dtype.name}' has no len()")
        return MethodType(self.method, x)
