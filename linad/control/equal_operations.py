"""When operations of two repetitions are the same: equal parameters, and constants to the bit."""

from typing import Any

import numpy as np

from linad.core.tape import Var
from linad.transforms.rewriting import params_key, value_key


def may_begin(a: Any, carried: Var) -> bool:
    """Whether an operand can be the first value of what is carried."""
    if isinstance(a, Var):
        return (a.shape, a.dtype) == (carried.shape, carried.dtype)
    value = np.asarray(a)
    if value.shape != carried.shape:
        return False
    weak = type(a) in (int, float, complex)
    return value.dtype == carried.dtype or (
        weak and np.can_cast(type(a), carried.dtype, "same_kind")
    )


def same_params(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(_equal(a[name], b[name]) for name in a)


def _equal(a: Any, b: Any) -> bool:
    """Whether two parameters are equal, large arrays in them entry by entry."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return exact_key(a) == exact_key(b)
    if isinstance(a, tuple) and type(a) is type(b):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return same_params(a, b)
    return params_key({"": a}) == params_key({"": b})


def exact_key(a: Any) -> Any:
    """Equal for equal values, however large."""
    if isinstance(a, np.ndarray) and not a.dtype.hasobject:
        return "array", a.shape, a.dtype, a.tobytes()
    return value_key(a)
