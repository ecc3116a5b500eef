"""Caches while a trace runs: they keep nothing traced, and find nothing of traced values.

@lru_cache             runs anew for traced values
cache[x.tobytes()]     a key that no other is equal to: it is not found, and the value computed
"""

import functools
import itertools
import weakref
from collections.abc import Callable
from typing import Any

from linad.adoption.reached import reaches_traced
from linad.arrays.memory import constant_under
from linad.arrays.traces import running_trace
from linad.core.marks import outside_of_traces

_MADE: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""By the id of a cached function, which its form holds: wherever it is kept, it is the same one."""


def uncached(cached: Any) -> Callable[..., Any]:
    """A cached function that runs anew for traced values; plain ones it keeps outside of traces."""
    known = _MADE.get(id(cached))
    if known is not None:
        return known  # type: ignore[no-any-return]

    @functools.wraps(cached)
    def function(*args: Any, **kwargs: Any) -> Any:
        if running_trace() is None:
            return cached(*args, **kwargs)
        if reaches_traced((*args, *kwargs.values())):
            return cached.__wrapped__(*args, **kwargs)
        with outside_of_traces():
            return cached(*args, **kwargs)

    function.__dict__.update(
        cache_clear=cached.cache_clear,
        cache_info=cached.cache_info,
        cache_parameters=cached.cache_parameters,
    )
    _MADE[id(cached)] = function
    return function


class BytesKey:
    """What stands for the bytes of a traced array: it can be a key, and has nothing to read.

    Equal values may have unlike derivatives, so it is equal to itself alone, and no hash of one is
    given again: code that keeps ``hash(x.tobytes())`` finds nothing of another value.
    """

    _counter = itertools.count()

    def __init__(self) -> None:
        self._number = hash((type(self).__qualname__, next(self._counter)))

    def __hash__(self) -> int:
        return self._number


def tobytes(x: Any, *args: Any, **kwargs: Any) -> Any:
    """As `numpy.ndarray.tobytes` of a constant; of what depends on arguments, a key alone."""
    plain = constant_under(x)
    return BytesKey() if plain is None else plain.tobytes(*args, **kwargs)
