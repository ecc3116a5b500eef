"""How a traced form stands in for a function of SciPy."""

import functools
from collections.abc import Callable
from typing import Any

from linad.arrays.traces import running_trace
from linad.core.primitive import Traced
from linad.core.shapes import is_inexact
from linad.errors import UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import astype, require_finite

Function = Callable[..., Any]


def holds_traced(value: Any) -> bool:
    """Whether a traced value is among nested lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_traced, value))
    if isinstance(value, dict):
        return any(map(holds_traced, value.values()))
    # A sparse array of `linad.scipy.sparse` says so itself.
    return isinstance(value, Traced) or getattr(type(value), "holds_traced", False)


def traced_form(scipy_function: Function) -> Callable[[Function], Function]:
    """Make the decorated function take over when an argument is traced.

    Parameters
    ----------
    scipy_function : callable
        Called for plain arguments; the decorated function has its name, its documentation
        and its signature.
    """

    def decorate(traced: Function) -> Function:
        @functools.wraps(scipy_function)
        def function(*args: Any, **kwargs: Any) -> Any:
            if running_trace() is not None and holds_traced((args, kwargs)):
                return traced(*args, **kwargs)
            return scipy_function(*args, **kwargs)

        return function

    return decorate


def inexact(x: Any) -> Any:
    """``x``, which may be lists of traced numbers, as an array of floats or complex numbers."""
    x = asarray(x)
    return x if is_inexact(x.dtype) else astype(x, float)


def check_finite(wanted: bool, *arrays: Any) -> None:
    """Raise ValueError for infinities and NaNs, as SciPy does."""
    if wanted:
        for a in arrays:
            require_finite(a)


def refuse(name: str, **keywords: Any) -> None:
    """Raise for keywords that have no traced meaning; each comes with its default."""
    for key, (value, default) in keywords.items():
        if value is not default and value != default:
            raise UnsupportedError(
                f"{name}: {key}={value!r} is not traced by linad; leave it at {default!r}"
            )
