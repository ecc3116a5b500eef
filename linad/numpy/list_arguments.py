"""NumPy's functions, given lists of traced numbers: ``np.hypot([a, b], [c, d])``.

NumPy makes an array of a list before it asks whether an entry is traced. Here the lists become
traced arrays first; all else, and all calls outside of a trace, are NumPy's own.
"""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from linad.arrays.traces import running_trace
from linad.numpy.nested_lists import gathered

OTHER_LISTS = frozenset(
    [
        "apply_over_axes",
        "block",
        "histogramdd",
        "ix_",
        "piecewise",
        "save",
        "savez",
    ]
)
"""Functions of NumPy that take a list for something else than an array."""

LISTS_OF_ARRAYS = frozenset(["choose", "lexsort", "multi_dot", "select"])
"""Functions of NumPy that take lists of arrays, each of which may be a list of numbers."""

_DISPATCHED: type = type(np.sum)


def _each(gather: Callable[[Any], Any], a: Any) -> Any:
    """A tuple of arrays: what is in a list np.lexsort does not ask whether it is traced."""
    return tuple([gather(x) for x in a]) if type(a) in (list, tuple) else gather(a)


class TakingLists:
    """A ufunc or function of NumPy, any of whose arguments may be a list of traced numbers."""

    takes_lists = True

    def __init__(self, original: Any) -> None:
        self._original = original
        functools.update_wrapper(self, original, updated=())

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if running_trace() is not None:
            args, kwargs = self._gathered_by(gathered, args, kwargs)
        return self._original(*args, **kwargs)

    def _gathered_by(
        self, gather: Callable[[Any], Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call, each as the array that it stands for, or as a list of them."""
        if self._original.__name__ in LISTS_OF_ARRAYS:
            gather = functools.partial(_each, gather)
        return tuple([gather(a) for a in args]), {name: gather(a) for name, a in kwargs.items()}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._original, name)
        return type(self)(found) if name in _METHODS_OF_UFUNCS else found

    @property
    def _numba_type_(self) -> Any:
        """What Numba compiles a call of it as: NumPy's own."""
        from numba.core.registry import cpu_target

        return cpu_target.typing_context.resolve_value_type(self._original)

    def __reduce__(self) -> Any:
        return type(self), (self._original,)

    def __repr__(self) -> str:
        return repr(self._original)


_METHODS_OF_UFUNCS = ("reduce", "accumulate", "outer", "reduceat")


def numpys_own(value: Any) -> Any:
    """NumPy's own function for one that takes lists, any other value as it is."""
    return value._original if isinstance(value, TakingLists) else value


def takes_arrays(function: Any) -> bool:
    """Whether a list that a function of NumPy is given stands for an array."""
    return type(function) in (np.ufunc, _DISPATCHED) and function.__name__ not in OTHER_LISTS


def list_forms(module: ModuleType) -> Callable[[str], Any]:
    """From a name to the function of a module that takes lists, None where its own does not."""

    @functools.cache
    def form(name: str) -> Any:
        function = getattr(module, name, None)
        return TakingLists(function) if takes_arrays(function) else None

    return form
