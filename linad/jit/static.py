"""Arguments of a jitted function that are part of its program, by request or by their kind.

A program is found again by what is static in a call, so two things have to be known of a static
value: whether it is the one that came before, and that it has not changed since.
"""

import functools
import inspect
import sys
from collections import deque
from collections.abc import Callable, Sequence
from types import NoneType, SimpleNamespace
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.shapes import name_of
from linad.errors import OptionError
from linad.transforms.plain_operands import fingerprint, is_frozen


class Static:
    """An argument that is part of the program: equal values share it."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = _key_of(value)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self._key == other._key


def _key_of(value: Any, above: tuple[int, ...] = ()) -> Any:
    """Equal for values that a program cannot tell apart: 1, 1.0 and True it can, 0.0 and -0.0.

    What may be changed in place is told apart by its contents: arrays, containers and objects
    of a user's classes, by their attributes. Another object that cannot be hashed, or that is
    met inside itself (``above`` holds the ids of what is around it), is equal to itself only.
    """
    kind: Any = type(value)
    hashed = kind.__hash__
    if kind in (bool, int, str, NoneType):
        return kind, value
    if kind in (float, complex) or isinstance(value, np.generic):
        return kind, repr(value)
    if isinstance(value, np.ndarray):
        return kind, value.dtype, value.shape, _contents(value)
    if id(value) in above:
        return kind, _Itself(value)
    around = (*above, id(value))
    if hashed is None or kind is tuple:
        if isinstance(value, (tuple, list, deque)):
            return kind, tuple([_key_of(v, around) for v in value])
        if isinstance(value, dict):
            keys = tuple([_key_of(k, around) for k in value])
            return kind, keys, tuple([_key_of(v, around) for v in value.values()])
        if isinstance(value, set):
            return kind, frozenset([_key_of(v, around) for v in value])
        if isinstance(value, bytearray):
            return kind, bytes(value)
    if hashed in (object.__hash__, None) and _is_users(kind):
        state = np.asarray(value) if hasattr(kind, "__array__") else _attributes(value)
        return kind, _Itself(value), _key_of(state, around)
    return kind, value if _hashable(value) else _Itself(value)


def _contents(array: np.ndarray) -> Any:
    """Small for a large array, and nothing to compute for one that nobody can write into."""
    if array.dtype.hasobject or is_frozen(array):
        return _Itself(array)
    return array.tobytes() if array.nbytes <= SMALL else fingerprint(array)


SMALL = 2**12
"""Bytes of an array that are kept as they are."""

OPAQUE = {"linad", "numpy", "scipy", "numba", "builtins", *sys.stdlib_module_names} - {"__main__"}
"""Modules whose objects look after themselves: operators, generators, files, locks."""


@functools.cache
def _is_users(kind: type) -> bool:
    module = kind.__module__.partition(".")[0]
    return kind is SimpleNamespace or (module not in OPAQUE and not issubclass(kind, type))


def _attributes(value: Any) -> dict[str, Any]:
    slots = [name for base in type(value).__mro__ for name in _slots(base)]
    return {n: getattr(value, n) for n in slots if hasattr(value, n)} | getattr(
        value, "__dict__", {}
    )


def _slots(base: type) -> list[str]:
    given = vars(base).get("__slots__", ())
    names = [n for n in ((given,) if isinstance(given, str) else given) if n != "__dict__"]
    private = f"_{base.__name__.lstrip('_')}"
    return [private + n if n.startswith("__") and not n.endswith("__") else n for n in names]


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


class _Itself:
    """Stands for an object in keys by identity, and keeps it alive as long."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.value is other.value


class StaticArguments:
    """Which arguments of a function are static by request.

    An argument is meant whether it comes by position or by keyword, where the function's
    signature says what its positions are called.

    Parameters
    ----------
    f : callable
    argnums : int or sequence of int
    argnames : str or sequence of str

    Raises
    ------
    OptionError
        If the function has no such argument.
    """

    def __init__(
        self, f: Callable[..., Any], argnums: int | Sequence[int], argnames: str | Sequence[str]
    ) -> None:
        self.argnums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        self.argnames = (argnames,) if isinstance(argnames, str) else tuple(argnames)
        self._numbers, self._names = set(self.argnums), set(self.argnames)
        if not (self.argnums or self.argnames):
            return
        try:
            known = list(inspect.signature(f).parameters.values())
        except (TypeError, ValueError):  # a function of C may not tell
            return
        kinds = {p.kind for p in known}
        placed = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        named = {p.name for p in known if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        count = len(placed)
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            for name in sorted(self._names - named):
                raise OptionError(
                    f"jit: static_argnames has {name!r}; {name_of(f)} takes by keyword: "
                    f"{sorted(named)}"
                )
        if inspect.Parameter.VAR_POSITIONAL not in kinds:
            for k in self.argnums:
                if not -count <= k < count:
                    raise OptionError(
                        f"jit: static_argnums has {k!r}; {name_of(f)} takes {count} arguments by "
                        f"position: {placed}"
                    )
            self._numbers = {k % count for k in self._numbers}
        self._names |= {placed[k] for k in self._numbers if 0 <= k < count}
        self._numbers |= {k for k, name in enumerate(placed) if name in self._names}

    def flatten(self, args: Any, kwargs: Any) -> tuple[list[Any], Any, set[int], tuple[Any, ...]]:
        """Leaves and structure of a call, which leaves are static by request, orders of keys."""
        if not self._names and not self._numbers:
            leaves, structure = tree.flatten((args, kwargs))
            return leaves, structure, set(), tree.key_orders((args, kwargs))
        numbers = {k % len(args) for k in self._numbers if -len(args) <= k < len(args)}
        wrapped = tuple([_Fixed(a) if k in numbers else a for k, a in enumerate(args)])
        named = {k: _Fixed(v) if k in self._names else v for k, v in kwargs.items()}
        leaves, structure = tree.flatten((wrapped, named))
        fixed = {k for k, x in enumerate(leaves) if type(x) is _Fixed}
        leaves = [x.value if type(x) is _Fixed else x for x in leaves]
        return leaves, structure, fixed, tree.key_orders((wrapped, named))


class _Fixed:
    """A static argument on its way through containers, which it hides from."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
