"""Caches while a trace runs: they keep nothing traced, and find nothing of traced values.

@lru_cache             keeps what it gives of traced numbers, for these alone, to the end of a trace
cache[x]               of a number is found within a trace (`linad.arrays.keys`), at the end of
                       which the entry is taken out of what outlives it
"""

import functools
import gc
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.adoption.reached import reaches_traced
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.core.marks import outside_of_traces
from linad.errors import UnsupportedError

_MADE: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""By the id of a cached function, which its form holds: wherever it is kept, it is the same one."""


def uncached(cached: Any) -> Callable[..., Any]:
    """A cached function that keeps apart what it gives of traced numbers, for each trace; plain
    ones it keeps outside of traces."""
    known = _MADE.get(id(cached))
    if known is not None:
        return known  # type: ignore[no-any-return]

    @functools.wraps(cached)
    def function(*args: Any, **kwargs: Any) -> Any:
        trace = running_trace()
        if trace is None:
            return cached(*args, **kwargs)
        if reaches_traced((*args, *kwargs.values())):
            return _of_traced(trace, cached, args, kwargs)
        with outside_of_traces():
            return cached(*args, **kwargs)

    function.__dict__.update(
        cache_clear=cached.cache_clear,
        cache_info=cached.cache_info,
        cache_parameters=cached.cache_parameters,
    )
    _MADE[id(cached)] = function
    return function


def _of_traced(trace: Any, cached: Any, args: Any, kwargs: Any) -> Any:
    """What a cached function gives of traced numbers: once, of the same ones, while they live."""
    kept = trace.__dict__.setdefault("results", {})
    try:
        key = cached, _key((args, *kwargs.items()))
        known = kept.get(key)
    except TypeError:  # arrays, or what holds traced values inside: each call for itself
        return cached.__wrapped__(*args, **kwargs)
    if known is None:
        known = kept[key] = cached.__wrapped__(*args, **kwargs), args, kwargs
    return known[0]


def _key(value: Any) -> Any:
    """Equal for the same traced numbers, and for equal plain values."""
    if type(value) is Tracer:
        if not isinstance(value.concrete, np.generic):
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return Tracer, id(value)
    if type(value) is tuple:
        return tuple(map(_key, value))
    if reaches_traced((value,)):
        raise TypeError("a traced value is inside")
    return type(value), value


# Keys that outlive their trace.

_DEEP = 3
"""A number in a tuple in a tuple, or in an object that is a key, is found."""


def forget_keys(trace: Any) -> None:
    """Take out of dictionaries, sets and caches what they keep by numbers of an ended trace.

    Raises `UnsupportedError` if a table that has been taken for one of results that a function
    keeps, where keys of one value were told apart, has another value for each.
    """
    living = [ref() for ref in trace.keys]
    trace.keys = ()
    parts = {id(x): x for x in living if x is not None}
    tables: dict[int, Any] = {}
    keys = dict(parts)
    for _ in range(_DEEP):
        if not parts:
            break
        found = {id(o): o for o in gc.get_referrers(*parts.values())}
        tables |= {n: o for n, o in found.items() if isinstance(o, (dict, set))}
        parts = {n: o for n, o in found.items() if n not in keys and _may_be_key(o)}
        keys |= parts
    of_tables = {id(t): (t, [k for k in list(t) if id(k) in keys]) for t in tables.values()}
    kept = [(table, held) for table, held in of_tables.values() if held]
    if not kept:
        return
    for holder in gc.get_referrers(*[table for table, _ in kept]):
        if type(holder) is functools._lru_cache_wrapper:
            holder.cache_clear()
    unlike = [_one_value(*of_table) for of_table in kept if trace.told_apart]
    for table, held in kept:
        for key in held:
            _take_out(table, key)
    for key in filter(None, unlike):
        raise UnsupportedError(
            f"a table of adopted code keeps unlike values by traced and plain numbers {key}, which "
            f"are one key to it; it was taken for one of results that a function keeps for later "
            f"calls. Clear it before the derivative is taken, or write what is kept in a list"
        )


def _may_be_key(holder: Any) -> bool:
    """Whether what holds a number may have a hash that depends on it."""
    kind = type(holder)
    if issubclass(kind, (tuple, frozenset)):
        return True
    return type(kind.__hash__) is types.FunctionType and not issubclass(kind, type)


def _take_out(table: Any, key: Any) -> None:
    if isinstance(table, set):
        set.discard(table, key)
    else:
        (OrderedDict if isinstance(table, OrderedDict) else dict).pop(table, key, None)


def _one_value(table: Any, held: list[Any]) -> Any:
    """The key of which a table keeps unlike values, beside one of the same value; None if none."""
    if isinstance(table, set):
        return None
    values: dict[Any, Any] = {}
    for key in held:
        plain = _plain(key)
        value = _plain(dict.get(table, key))
        for other in (values.setdefault(plain, value), dict.get(table, plain, value)):
            if not _agree(value, other):
                return plain
    return None


def _plain(value: Any) -> Any:
    if type(value) in (tuple, list):
        return type(value)(map(_plain, value))
    return value.concrete if type(value) is Tracer else value


def _agree(a: Any, b: Any) -> bool:
    """Whether a result is the same as another, but for how it was rounded."""
    if a is b:
        return True
    if type(a) in (tuple, list):
        return type(a) is type(b) and len(a) == len(b) and all(map(_agree, a, b))
    try:
        return bool(np.allclose(a, b, rtol=1e-6, atol=0.0, equal_nan=True))
    except (TypeError, ValueError):
        return bool(a == b)
