"""Functions of adopted modules that Numba compiled: for traced values their Python runs.

They are those of ``numba.njit``, and those of ``numba.vectorize``, which are ufuncs. One keeps its
identity, and the compiled code that calls it never sees a difference: its class alone is exchanged,
while a trace runs; a copy of the Python that it was compiled from calls the forms. That itself,
which has a name of its own in ``fast = njit(f)``, gets other code while a trace runs, and Numba,
which may compile it again, a copy of what it was.
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


def exchange_of_python(
    f: types.FunctionType, dispatchers: list[Any], code: types.CodeType
) -> Exchange | None:
    """Let a function that Numba compiles call forms where it is called as it is.

    ``fast = njit(f)``, or ``linad.kernel(f)``, stand beside ``f``. Numba goes on compiling what it
    was. None for what a ufunc is made of, which holds it elsewhere.
    """
    if not all([hasattr(d, "_compiler") for d in dispatchers]):
        return None
    original = f.__code__
    for d in dispatchers:
        d._compiler.py_func = _copy(f, original)

    def put(code: types.CodeType) -> None:
        f.__code__ = code

    return Exchange(put, original, code)
