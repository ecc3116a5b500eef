"""Numbers, and arrays without axes: which of the two a result is.

NumPy's numbers cannot be changed: after ``t = s; s *= 2`` the name s stands for another one, and
t for the old. An array without axes has memory: both names stand for it, and see it change. Which
of the two a function gives depends on the function, and is as much a part of what it computes as
the value.

A primitive gives what its implementation gives. A function that is composed of others would give
what the last of them does; where NumPy's gives something else, it says so where it is registered:

    @implements(np.inner)
    @gives(number)
    def inner(a, b): ...
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import generic, ndarray

from linad.core.array_type import Array
from linad.core.dispatch import FUNCTIONS
from linad.core.primitive import Traced


def is_number(x: Array) -> bool:
    """Whether a value is a number, and no array: one that ``x += 1`` does not change."""
    while isinstance(x, Traced):
        x = x._value
    return type(x) is not ndarray and isinstance(x, (generic, int, float, complex))


def number(x: Array) -> Any:
    """An array without axes as a number of its own; anything else as it is."""
    if isinstance(x, Traced):
        if x.shape or is_number(x):
            return x
        if x._buffer is not None:  # others may see it change
            return FUNCTIONS[np.ndarray.__getitem__](x, ())
        return _handle(x, number(x._value))
    return x[()] if isinstance(x, np.ndarray) and not x.ndim else x


def array(x: Array) -> Any:
    """A number as an array of its own, without axes; anything else as it is."""
    if isinstance(x, Traced):
        if x.shape or not is_number(x):
            return x
        return _handle(x, array(x._value))
    return np.asarray(x)


def like(x: Any, y: Array) -> Any:
    """``y`` as a number if ``x`` is one; otherwise as an array."""
    return number(y) if is_number(x) else array(y)


def gives(kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register results without axes as numbers, or as arrays; of several, each."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def given(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if type(result) is tuple:
                return tuple([kind(part) for part in result])
            return kind(result)

        return given

    return decorate


def like_its_methods(x: Array, y: Array) -> Any:
    """``y``, which a method of ``x`` gave: the methods of a number give numbers."""
    return number(y) if is_number(x) else y


def as_its_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function that NumPy leaves to a method of its first argument."""
    name = next(iter(inspect.signature(function).parameters))

    @functools.wraps(function)
    def given(*args: Any, **kwargs: Any) -> Any:
        x = args[0] if args else kwargs[name]
        return like_its_methods(x, function(*args, **kwargs))

    return given


def _handle(x: Any, value: Any) -> Any:
    """Another handle on a traced value, which is another kind of thing."""
    made = type(x)(x._trace, x._node, value)  # type: ignore[call-arg]
    x._trace.aliased(made)
    return made
