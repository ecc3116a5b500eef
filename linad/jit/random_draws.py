"""Random numbers that a function draws while it is traced.

They become constants of the program: every later call would use the same ones, in silence. So
the states of the generators that a function can reach are compared before and after, and a
warning says what was found, unless an operation drew for itself. Reached are NumPy's and Python's
own generators, and those in the closure, in the globals that the code names, and in attributes of
the arguments. A generator that the function makes itself gives the same numbers at every call
anyway.

NumPy's and Python's own generators belong to all threads. While others run, they count as drawn
from by the function only if its code, or code that it refers to, names something random.
"""

import functools
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from linad.core.callers import defining_package, warn_user
from linad.core.frames import held_by, names_in
from linad.core.shapes import name_of
from linad.errors import UnsupportedError

DEPTH = 4
"""How far functions that call functions are followed."""

RANDOM = {"random", "randint", "uniform", "gauss", "normal", "rand", "randn", "rvs", "resample"}
"""Names that code has which draws from a generator of a module."""

FUNCTIONS = (functools.partial, types.MethodType, types.FunctionType)


class RandomDraws:
    """The states of the generators that a function can reach.

    Parameters
    ----------
    f : callable
    leaves : list
        Of its arguments.
    met : sequence
        Generators that stand outside of it.
    """

    def __init__(
        self, f: Callable[..., Any], leaves: Sequence[Any], met: Sequence[Any] = ()
    ) -> None:
        self.f = f
        self.alone = threading.active_count() == 1
        shared, found = list(_of_modules()), [*met, *_reached(f, DEPTH, set())]
        found += [g for x in leaves for g in (x, *_attributes(x)) if is_generator(g)]
        self.own = {id(g) for g in found}
        self.generators = list({id(g): g for g in (*shared, *found)}.values())
        self.found = False
        self.start()

    def start(self) -> None:
        """What is drawn from here on counts."""
        self.before = [_state(g) for g in self.generators]

    def look(self) -> None:
        """Note whether one of them has moved since."""
        for generator, before in zip(self.generators, self.before, strict=True):
            if _state(generator) != before and self._is_drawn_here(generator):
                self.found = True

    def check(self) -> None:
        """Warn if one of them has moved."""
        self.look()
        if self.found:
            warn_user(
                f"linad.jit: {name_of(self.f)} drew random numbers while it was traced; later "
                f"calls use the same ones. Draw them outside, and pass them as arguments"
            )

    def _is_drawn_here(self, generator: Any) -> bool:
        """Whether it was the function, and not another thread, that moved a generator."""
        if id(generator) in self.own or (self.alone and threading.active_count() == 1):
            return True
        return not RANDOM.isdisjoint(_all_names(self.f, DEPTH, set()))


def is_generator(x: Any) -> bool:
    """Whether an object is a source of random numbers."""
    numpy, python = sys.modules.get("numpy.random"), sys.modules.get("random")
    kinds = [numpy.Generator, numpy.RandomState, numpy.BitGenerator] if numpy else []
    return isinstance(x, tuple(kinds + ([python.Random] if python else [])))


def refuse_generator(x: Any) -> None:
    """Raise if an argument is a generator.

    Raises
    ------
    UnsupportedError
    """
    if is_generator(x):
        raise UnsupportedError(
            f"jit: an argument is a {type(x).__name__}; the numbers drawn from it would be "
            f"the same at every call: draw them outside, and pass them as arguments"
        )


def _of_modules() -> Iterator[Any]:
    """The generators behind ``numpy.random.normal`` and ``random.random``."""
    for name, function in (("numpy.random", "normal"), ("random", "random")):
        if name in sys.modules:
            yield getattr(sys.modules[name], function).__self__


def _reached(f: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    """Generators in what a function refers to."""
    if not depth or id(f) in seen:
        return
    seen.add(id(f))
    for x in referred(f):
        if is_generator(x):
            yield x
        elif isinstance(x, FUNCTIONS) or wraps_function(x):
            yield from _reached(x, depth - 1, seen)


def _all_names(f: Callable[..., Any], depth: int, seen: set[int]) -> Iterator[str]:
    """The names in the code of a function, and of functions that it refers to."""
    if not depth or id(f) in seen:
        return
    seen.add(id(f))
    if isinstance(f, types.FunctionType):
        yield from names_in(f.__code__)
    for x in referred(f):
        if isinstance(x, FUNCTIONS) or wraps_function(x):
            yield from _all_names(x, depth - 1, seen)
        elif hasattr(type(x), "__self__") and is_generator(x.__self__):
            yield "random"  # a method of a generator, by whatever name


def wraps_function(x: Any) -> bool:
    """Whether an object of linad's has a function of its own: a jitted one, a derivative."""
    return defining_package(type(x)) == "linad" and hasattr(x, "function")


def referred(f: Any) -> list[Any]:
    """What a function refers to: arguments that are bound, cells, globals."""
    if isinstance(f, functools.partial):
        given = [*f.args, *f.keywords.values()]
        return [f.func, *given, *[a for x in given for a in _attributes(x)]]
    if isinstance(f, types.MethodType):
        return [f.__func__, *_attributes(f.__self__)]
    if isinstance(f, types.FunctionType):
        around = f.__globals__
        return [*held_by(f), *[around[n] for n in names_in(f.__code__) if n in around]]
    return [getattr(f, "function", None)]  # a jitted function's own


def _attributes(x: Any) -> Sequence[Any]:
    found = getattr(x, "__dict__", None)
    return list(found.values()) if isinstance(found, dict) else []


def _state(generator: Any) -> Any:
    if hasattr(generator, "getstate"):
        return generator.getstate()
    if hasattr(generator, "get_state"):
        return _frozen(generator.get_state(legacy=False))
    return _frozen(getattr(generator, "bit_generator", generator).state)


def _frozen(state: Any) -> Any:
    """A state that stays as it is, to compare with a later one."""
    if isinstance(state, dict):
        return [(key, _frozen(value)) for key, value in state.items()]
    return state.tobytes() if hasattr(state, "tobytes") else state
