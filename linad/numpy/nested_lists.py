"""Lists of traced numbers, which NumPy does not look into."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.traces import running_trace
from linad.core.primitive import Traced
from linad.rules import creation
from linad.rules.shaping import gives_traced


def holds_traced(nested: Any) -> bool:
    """Whether a traced value is among nested lists and tuples, or in an object that is one."""
    if isinstance(nested, (list, tuple)):
        return any(map(holds_traced, nested))
    return gives_traced(nested)


def is_traced(nested: Any) -> bool:
    """As `holds_traced`; outside of a trace the lists are not searched."""
    return isinstance(nested, Traced) or (running_trace() is not None and holds_traced(nested))


def gathered(a: Any) -> Any:
    """Numbers in lists, or in an object that is an array, as a traced one; all else as it is."""
    kind = type(a)
    if kind is float or issubclass(kind, Traced) or (kind is np.ndarray and a.dtype.kind != "O"):
        return a  # most arguments
    return creation.array(a, copy=None) if holds_traced(a) else a


def joining(name: str) -> Callable[..., Any]:
    """A NumPy function that joins a list of arrays, each of which may be such a list."""
    numpy_function = getattr(np, name)

    @functools.wraps(numpy_function)
    def function(arrays: Any, *args: Any, **keywords: Any) -> Any:
        if running_trace() is not None and isinstance(arrays, (list, tuple)):
            arrays = [gathered(a) for a in arrays]
        return numpy_function(arrays, *args, **keywords)

    return function
