"""How a traced form stands in for a function of SciPy."""

import functools
from collections.abc import Callable
from typing import Any

from linad.errors import ArgumentError, UnsupportedError
from linad.frames import package_of
from linad.primitive import Traced
from linad.rules.creation import asarray
from linad.rules.shaping import astype, require_finite
from linad.shapes import is_inexact
from linad.tracing import running_trace

Function = Callable[..., Any]


def holds_traced(value: Any) -> bool:
    """Whether a traced value is among nested lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_traced, value))
    if isinstance(value, dict):
        return any(map(holds_traced, value.values()))
    # A sparse array of `linad.scipy.sparse` says so itself.
    return isinstance(value, Traced) or getattr(type(value), "holds_traced", False)


PLAIN_ERRORS = (TypeError, ValueError, LookupError, AttributeError)


def _in_own_words(function: Any, error: Exception) -> None:
    """Raise an error of linad's own in the place of a bare one, which an option led to.

    Errors of a class of their own, `numpy.linalg.LinAlgError` for one, and those of the user's
    functions, stay.
    """
    if type(error) not in (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return
    place: Any = error.__traceback__
    while place is not None:
        if not package_of(place.tb_frame):
            return
        place = place.tb_next
    module, name = function.__module__ or "scipy", function.__name__
    module = ".".join(part for part in module.split(".") if not part.startswith("_"))
    raise ArgumentError(f"{module}.{name}: {error}") from error


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
                try:
                    return traced(*args, **kwargs)
                except PLAIN_ERRORS as error:
                    _in_own_words(scipy_function, error)
                    raise
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
