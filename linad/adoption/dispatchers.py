"""Functions of adopted modules that Numba compiled: for traced values their Python runs.

They are those of ``numba.njit``, and those of ``numba.vectorize``, which are ufuncs. One keeps its
identity, and the compiled code that calls it never sees a difference: its class alone is exchanged,
while a trace runs. The Python that it was compiled from stays as it is, since Numba may compile it
again; a copy of it calls the forms.
"""

import types
from collections.abc import Callable
from typing import Any

from linad.adoption.exchanges import Exchange
from linad.arrays.conversions import held
from linad.numpy import vectorize

_FUNCTION, _UFUNC, _TRACED = "CPUDispatcher", "DUFunc", "TracedDispatcher"
"""Names of classes: of Numba's functions and ufuncs, and of either while a trace runs."""


def is_dispatcher(value: Any) -> bool:
    """Whether a value is a function that Numba compiles. Numba is not imported to know."""
    return is_kind_of_dispatchers(type(value))


def is_kind_of_dispatchers(kind: type) -> bool:
    """Whether a class is that of such functions."""
    return kind.__name__ in (_FUNCTION, _UFUNC, _TRACED)


def python_of(dispatcher: Any) -> types.FunctionType:
    """The function that was compiled; that of a ufunc takes numbers."""
    python = getattr(dispatcher, "py_func", None)
    return python or dispatcher._dispatcher.py_func  # type: ignore[no-any-return]


def _copy(f: types.FunctionType, code: types.CodeType) -> types.FunctionType:
    new = types.FunctionType(code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    new.__kwdefaults__ = f.__kwdefaults__
    return new


def exchange(dispatcher: Any, code: Callable[[types.FunctionType], types.CodeType]) -> Exchange:
    """Let a dispatcher run Python where it is called with traced values.

    Parameters
    ----------
    dispatcher : numba dispatcher
    code : callable
        The code that calls forms, of the function that was compiled; asked for once, when a
        traced value first comes.
    """
    kinds = type(dispatcher).__mro__
    compiled = next(cls for cls in kinds if cls.__name__ in (_FUNCTION, _UFUNC))
    made: list[Callable[..., Any]] = []

    class TracedDispatcher(compiled):  # type: ignore[misc, valid-type]
        """A dispatcher while a trace runs."""

        def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
            if not held((*args, *kwargs.values())):
                return compiled.__call__(self, *args, **kwargs)
            if not made:
                copy = _copy(python_of(self), code(python_of(self)))
                made.append(vectorize(copy) if compiled.__name__ == _UFUNC else copy)
            return made[0](*args, **kwargs)

    def put(kind: type) -> None:
        dispatcher.__class__ = kind

    return Exchange(put, compiled, TracedDispatcher)
