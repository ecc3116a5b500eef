"""Which results of NumPy are of the subclass of ndarray that it was given: NumPy is asked.

np.sum(q)   np.sort(q)              of the class of q
np.concatenate([q, q])              a plain array
np.dot(q, q)   np.linalg.norm(q)    a number

It hangs on how NumPy's function is written. So the function is called with samples, arrays of the
same numbers whose class does nothing, once for each kind of call.
"""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from linad.arrays.conversions import number
from linad.arrays.tracer import Tracer
from linad.core.array_type import Array


class Sample(np.ndarray):
    """A subclass of ndarray that adds nothing."""


SAME, PLAIN, NUMBER = "same", "plain", "number"

_KNOWN: dict[Hashable, Any] = {}
"""What NumPy answered, by the kind of call."""

_MANY = 4096


def as_numpy_gives(
    result: Any, call: Callable[..., Any], args: Any, kwargs: Any, like: Callable[[Array], Any]
) -> Any:
    """A result of traced arrays, as NumPy's function gives it for arrays of a subclass.

    Parameters
    ----------
    result : object
        What ``call`` gave, where arrays stood for what holds them.
    call : callable
        The function, which samples are given to.
    args, kwargs : tuple, dict
        Its arguments, with what holds arrays.
    like : callable
        Makes an array one of the subclass.
    """
    if not isinstance(result, (Tracer, np.ndarray, list, tuple)):
        return result
    return _with_classes(result, _classes(call, args, kwargs), like)


def _with_classes(result: Any, classes: Any, like: Callable[[Array], Any]) -> Any:
    if isinstance(result, (list, tuple)):
        if type(classes) is not tuple or len(classes) != len(result):
            return result
        parts = [_with_classes(*pair, like) for pair in zip(result, classes, strict=True)]
        make = getattr(result, "_make", type(result))  # the results of np.linalg are named
        return make(parts)
    if type(result) not in (Tracer, np.ndarray) or classes == PLAIN:
        return result
    return number(result) if classes == NUMBER else like(result)


def _classes(call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The classes of the results, in a tuple where there are several; `SAME` if none are known."""
    try:
        kind = (call, _kind(args), _kind(kwargs))
    except TypeError:  # an argument that NumPy might call, or write into
        return SAME
    if kind not in _KNOWN:
        if len(_KNOWN) >= _MANY:
            _KNOWN.clear()
        _KNOWN[kind] = _asked(call, args, kwargs)
    return _KNOWN[kind]


def _asked(call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return _class_of(call(*_sample(args), **_sample(kwargs)))
    except Exception:  # of a call that went well: the samples are not what it wants
        return SAME


def _class_of(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return tuple([_class_of(part) for part in result])
    if isinstance(result, Sample):
        return SAME
    return PLAIN if isinstance(result, np.ndarray) else NUMBER


def holds_array(x: Any) -> bool:
    """Whether a value holds an array in place of bytes."""
    return getattr(type(x), "holds_array", False)


def _sample(x: Any) -> Any:
    """A sample in the place of what holds an array, in containers as well; copies of arrays."""
    if type(x) in (list, tuple):
        return type(x)([_sample(part) for part in x])
    if type(x) is dict:
        return {key: _sample(part) for key, part in x.items()}
    array = x._held if holds_array(x) else x
    array = array.concrete if type(array) is Tracer else array
    if not isinstance(array, np.ndarray):
        return array
    return array.copy().view(Sample) if holds_array(x) else array.copy()


def _kind(x: Any) -> Hashable:
    """What tells an argument from others that NumPy's answer may hang on."""
    if type(x) in (list, tuple):
        return (type(x), *[_kind(part) for part in x])
    if type(x) is dict:
        return tuple([(key, _kind(part)) for key, part in x.items()])
    if holds_array(x) or isinstance(x, (np.ndarray, Tracer)):
        return (type(x), np.ndim(x))
    if x is None or isinstance(x, (bool, int, str, slice, type, np.dtype, type(Ellipsis))):
        return (type(x), x if not isinstance(x, slice) else None)
    if isinstance(x, (float, complex, np.generic)):
        return type(x).__name__
    raise TypeError(f"an argument of {type(x)}")
