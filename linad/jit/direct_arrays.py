"""Which arrays from outside only ever meet traced values: those are operands of a program.

Of an array that plain NumPy makes something of before it meets a traced value, in
``A = data * 2`` or ``n = int(data[0])``, a program keeps what was made, and holds for the
entries of then only. Which arrays are of that kind is told from the code of the functions that
read them: the instructions are gone through with ``TRACED``, `KnownValue` or ``OTHER`` in the place
of each value. What is not certain counts as the first kind, which is right for all, and slower
when the array changes.

So are those that a sparse SciPy matrix is made of, where nothing is done with it, or its
transpose, but to multiply traced values by it: ``A @ x``, ``x @ A``, ``A.dot(x)``.
"""

import inspect
import types
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.frames import held_by
from linad.core.transformed_functions import Transformed
from linad.jit.followed_code import FollowedCode
from linad.jit.static_values import is_users
from linad.jit.traced_results import PASSED, is_jitted
from linad.jit.value_states import OTHER, TRACED, UNKNOWN, HeldContainer, KnownValue

LAZY = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def direct_arrays(
    f: Callable[..., Any],
    states: tuple[Sequence[Any], dict[str, Any]],
    look: Any,
    arrays: Sequence[np.ndarray],
) -> tuple[set[int], set[int]]:
    """Which arrays of a look meet traced values only, and which are parts of matrices that do, by
    their numbers.

    Parameters
    ----------
    f : callable
    states : tuple
        Of the arguments, by position and by name.
    look : Look
    arrays : list of ndarray
        Of the look.
    """
    places = Counter(map(id, arrays))  # one may have come to stand where another stood
    seen = [
        a
        for k, a in enumerate(arrays)
        if k not in look.compared and a.dtype.kind in "fc" and places[id(a)] == 1
    ]
    matrices = [A for A, _ in look.matrices.values() if not is_users(type(A))]
    found = {id(a): a for a in (*seen, *matrices)}
    if not found:
        return set(), set()
    proof = ArrayProof(look, arrays, found)
    proof.enter(f, list(states[0]), states[1])
    proof.finish()
    kept = found.keys() - proof.used
    direct = {k for k, a in enumerate(arrays) if id(a) in kept}
    return direct, {k for k, owners in enumerate(look.owners) if owners <= kept}


class ArrayProof:
    """What is known so far: which arrays were used, and by which arguments functions are called."""

    def __init__(self, look: Any, arrays: Sequence[np.ndarray], found: dict[int, Any]) -> None:
        self.look, self.arrays, self.found = look, arrays, found
        self.used: set[int] = set()
        self.calls: dict[int, tuple[types.FunctionType, dict[str, Any]]] = {}
        self.results: dict[int, Any] = {}
        self.running: set[int] = set()
        self.escaped: dict[int, Any] = {}

    # Values that go where nobody follows them.

    def use(self, state: Any, depth: int = 6) -> None:
        """Take note that something is made of a value."""
        if isinstance(state, HeldContainer):
            for part in state.parts.values():
                self.use(part, depth)
        elif isinstance(state, KnownValue):
            self.use_value(state.value, depth)
        elif isinstance(state, tuple) and callable(state[1]):
            self.use_value(state[1], depth)

    def use_value(self, value: Any, depth: int = 6) -> None:
        if id(value) in self.found:
            self.used.add(id(value))
        elif is_jitted(value):
            self.use_value(value.function, depth)
        elif isinstance(value, types.MethodType) and id(value.__self__) in self.found:
            self.used.add(id(value.__self__))
        elif isinstance(value, PASSED):
            self.escaped[id(value)] = value
            for cell in held_by(value) if id(value) not in self.look.of_users and depth else ():
                self.use_value(cell, depth - 1)
        elif isinstance(value, (np.generic, np.ndarray, str, bytes, int, float, types.ModuleType)):
            return
        elif not depth:
            self.used |= set(self.found)
        elif isinstance(value, dict):
            for part in list(value.values()):
                self.use_value(part, depth - 1)
        elif isinstance(value, (list, tuple, set, frozenset)):
            for part in list(value):
                self.use_value(part, depth - 1)
        elif id(value) in self.look.objects:
            for f in self.look.functions:
                if any([f in vars(base).values() for base in type(value).__mro__]):
                    self.escaped[id(f)] = f
            held = getattr(value, "__dict__", None)
            if held is None:
                self.used |= set(self.found)
                return
            for part in list(held.values()):
                if part is not value:
                    self.use_value(part, depth - 1)

    def use_name(self, name: str) -> None:
        """An attribute of that name is read of something unknown."""
        for a, place in zip(self.arrays, self.look.names, strict=True):
            if _last(place) == name:
                self.used.add(id(a))
        for key, (_, places) in self.look.matrices.items():
            if name in map(_last, places):
                self.used.add(key)
        for f in self.look.functions:
            if f.__name__ == name:
                self.escaped[id(f)] = f

    # Functions.

    def enter(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Go through a function called with these; return what it gives."""
        if isinstance(f, types.MethodType):
            return self.enter(f.__func__, [KnownValue(f.__self__), *args], kwargs)
        if is_jitted(f):
            return self.enter(f.function, args, kwargs)
        if type(f).__module__ == "functools" and hasattr(f, "func"):
            given = {k: KnownValue(v) for k, v in f.keywords.items()} | kwargs
            return self.enter(f.func, [*[KnownValue(a) for a in f.args], *args], given)
        if isinstance(f, Transformed):
            self.enter(f.function, args, kwargs)
            return OTHER
        if isinstance(f, types.FunctionType):
            if _is_derivative(f):
                for value in held_by(f):
                    if callable(value):
                        self.enter(value, args, kwargs)
                return OTHER
            if id(f) in self.look.of_users:
                return self._call(f, args, kwargs)
        call = vars(type(f)).get("__call__")
        if isinstance(call, types.FunctionType) and id(call) in self.look.of_users:
            return self._call(call, [KnownValue(f), *args], kwargs)
        for state in (*args, *kwargs.values()):
            self.use(state)
        return OTHER

    def _call(self, f: types.FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Any:
        bound: Any
        parameters: Any
        try:
            bound = inspect.signature(f, follow_wrapped=False).bind(*args, **kwargs).arguments
            parameters = inspect.signature(f, follow_wrapped=False).parameters
        except (TypeError, ValueError):
            bound, parameters = {}, {}
            for state in (*args, *kwargs.values()):
                self.use(state)
        states: dict[str, Any] = {}
        for name, parameter in parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                states[name] = HeldContainer(dict(enumerate(bound.get(name, ()))))
            elif parameter.kind is parameter.VAR_KEYWORD:
                states[name] = HeldContainer(bound.get(name, {}))
            elif name in bound:
                states[name] = bound[name]
            elif parameter.default is not parameter.empty:
                states[name] = KnownValue(parameter.default)
            else:
                states[name] = OTHER
        if not parameters and f.__code__.co_argcount:
            states = dict.fromkeys(f.__code__.co_varnames, OTHER)
        known = self.calls.get(id(f))
        if known is not None:
            joined = {n: self.join(known[1].get(n, UNKNOWN), s) for n, s in states.items()}
            if joined == known[1]:
                return self.results.get(id(f), OTHER)
            states = joined
        self.calls[id(f)] = f, states
        if id(f) in self.running:
            return OTHER
        self.running.add(id(f))
        result = FollowedCode(self, f, states).result()
        if f.__code__.co_flags & LAZY:
            result = OTHER
        self.running.discard(id(f))
        if self.calls[id(f)][1] != states:  # it called itself with something else
            result = OTHER
            for a in self.found:
                self.used.add(a)
        self.results[id(f)] = result
        return result

    def join(self, a: Any, b: Any) -> Any:
        """One state for a place where either may stand."""
        if a is UNKNOWN or a is b:
            return b
        if b is UNKNOWN:
            return a
        if isinstance(a, KnownValue) and isinstance(b, KnownValue) and a.value is b.value:
            return a
        if (
            isinstance(a, HeldContainer)
            and isinstance(b, HeldContainer)
            and a.parts.keys() == b.parts.keys()
        ):
            parts = {k: self.join(a.parts[k], b.parts[k]) for k in a.parts}
            return a if parts == a.parts else HeldContainer(parts)
        if a is not b:
            self.use(a)
            self.use(b)
        return OTHER

    def finish(self) -> None:
        """Go through functions that somebody else may call, with whatever arguments."""
        for f in self.look.functions:
            if id(f) not in self.calls:
                self.escaped[id(f)] = f
        done: set[int] = set()
        while self.escaped:
            _, f = self.escaped.popitem()
            f = getattr(f, "__func__", f)
            if id(f) in done or id(f) not in self.look.of_users:
                continue
            done.add(id(f))
            self._call(f, [OTHER] * f.__code__.co_argcount, {})


def _last(place: str) -> str:
    """The last of the names that lead to a place."""
    return place.replace("'", "").replace("]", "").replace("[", ".").split(".")[-1]


def _is_derivative(f: types.FunctionType) -> bool:
    """Whether a function is what `linad.grad` and the like have made of another."""
    package, _, module = f.__globals__.get("__name__", "").rpartition(".")
    return package.startswith("linad") and module in ("gradients", "derivatives")


def states_of(args: Sequence[Any], kwargs: dict[str, Any], moving: set[int]) -> Any:
    """The states of arguments, of which the leaves with these ids are traced."""

    def state(value: Array) -> Any:
        if id(value) in moving:
            return TRACED
        if type(value) is dict:
            return HeldContainer({k: state(v) for k, v in value.items()})
        if type(value) in (tuple, list):
            return HeldContainer({k: state(v) for k, v in enumerate(value)})
        if isinstance(value, np.ndarray) or hasattr(value, "__dataclass_fields__"):
            return OTHER
        return OTHER if isinstance(value, tuple) else KnownValue(value)

    return [state(a) for a in args], {k: state(v) for k, v in kwargs.items()}
