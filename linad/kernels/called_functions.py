"""The plain Python functions that a kernel calls, for Numba, which calls compiled ones alone.

linad's own derivatives write such a function out where it is called; Numba refuses its name. It is
given a copy of the caller, whose names stand for compiled functions: those that the caller finds in
its module, in its closure, and in modules (``helpers.side``), and in turn what they call.
"""

import contextlib
import types
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from linad.core.frames import held_by, names_in
from linad.kernels.function_source import name_of_function


class CalledFunctions:
    """Compiles functions with what they call, each once.

    Parameters
    ----------
    compiled : callable
        Compiles one, as Numba's decorator.
    """

    def __init__(self, compiled: Callable[[Any], Any]) -> None:
        self.compiled = compiled
        self.made: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def __call__(self, function: types.FunctionType) -> Any:
        """The function, compiled."""
        if function not in self.made:
            code = function.__code__
            names = set(names_in(code))
            space = dict(function.__globals__)
            cells = [types.CellType() for _ in code.co_freevars]
            copy = types.FunctionType(
                code, space, function.__name__, function.__defaults__, (*cells,)
            )
            copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
            copy.__kwdefaults__ = function.__kwdefaults__
            self.made[function] = self.compiled(copy)  # before the others: it may call itself
            space.update({n: self.instead(space[n], names) for n in names & space.keys()})
            for cell, given in zip(cells, function.__closure__ or (), strict=True):
                with contextlib.suppress(ValueError):  # it has no value yet
                    cell.cell_contents = self.instead(given.cell_contents, names)
        return self.made[function]

    def of_argument(self, value: Any) -> Any:
        """What stands for an argument; one that has been compiled is not looked at again."""
        known = isinstance(value, types.FunctionType) and value in self.made
        return self(value) if known or is_plain(value) else value

    def instead(self, value: Any, names: set[str]) -> Any:
        """What stands for a value from outside of a function that uses these names."""
        if is_plain(value):
            return self(value)
        if isinstance(value, types.ModuleType) and _calls_into(value, names):
            if value not in self.made:
                self.made[value] = types.ModuleType(value.__name__)
                vars(self.made[value]).update(vars(value))
            plain = {n: self(f) for n, f in vars(value).items() if n in names and is_plain(f)}
            vars(self.made[value]).update(plain)
            return self.made[value]
        return value


def calls_plain_functions(function: types.FunctionType) -> bool:
    """Whether a function names plain Python functions that Numba does not know."""
    names = set(names_in(function.__code__))
    found = [function.__globals__.get(n) for n in names]
    return any([is_plain(v) or _calls_into(v, names) for v in (*held_by(function), *found)])


def _calls_into(value: Any, names: set[str]) -> bool:
    """Whether a value is a module that has plain functions under some of the names."""
    if not isinstance(value, types.ModuleType):
        return False
    return any([is_plain(f) for n, f in vars(value).items() if n in names])


def is_plain(value: Any) -> bool:
    """Whether a value is a Python function that Numba does not know by itself."""
    if not isinstance(value, types.FunctionType) or name_of_function(value):
        return False
    from numba.core.errors import NumbaError
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()  # what `numba.extending.overload` has added
    try:
        cpu_target.typing_context.resolve_value_type(value)
    except (NumbaError, ValueError):
        return True
    return False
