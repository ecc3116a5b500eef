"""Functions under `functools.lru_cache` while a trace runs: what they keep must not be traced."""

import functools
import weakref
from collections.abc import Callable
from typing import Any

from linad.adoption.reached import reaches_traced
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
