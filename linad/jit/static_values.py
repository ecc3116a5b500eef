"""Values that are part of a jitted function's program, as keys.

A program is found again by what is static in a call, so two things have to be known of a static
value: whether it is the one that came before, and that it has not changed since.
"""

import enum
import functools
import hashlib
import operator
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable
from types import NoneType, SimpleNamespace
from typing import Any

import numpy as np

from linad.core.callers import defining_package
from linad.core.memory_layouts import layout_of
from linad.jit.told_apart import (
    ALIKE,
    has_more,
    hides_state,
    is_labelled,
    labelled,
    reduced,
    shown_entries,
)
from linad.transforms.plain_operands import is_frozen


class StaticValue:
    """An argument that is part of the program: equal values share it; of an object, without some
    of its attributes."""

    __slots__ = ("_key", "value", "without")

    def __init__(self, value: Any, without: frozenset[str] = frozenset()) -> None:
        self.value, self.without = value, without
        self._key = _key_of(value, (), without)
        if without:  # into this object, and no equal one, the program writes them
            self._key = self._key, without, Itself(value)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticValue) and self._key == other._key


def _key_of(
    value: Any, above: tuple[int, ...] = (), without: frozenset[str] = frozenset()
) -> Any:
    """Equal for values that a program cannot tell apart: 1, 1.0 and True it can, 0.0 and -0.0.

    What may be changed in place is told apart by its contents: arrays, containers and objects
    of a user's classes, by their attributes and those of their classes. Another object that
    cannot be hashed, or that is met inside itself (``above`` holds the ids of what is around
    it), is equal to itself only.
    """
    kind: Any = type(value)
    if kind in PLAIN:
        return kind, value
    if kind in (float, complex) or isinstance(value, np.generic):
        return kind, repr(value)
    if isinstance(value, np.ndarray):
        return kind, value.dtype, value.shape, layout_of(value), contents(value, above)
    if id(value) in above:
        return kind, Itself(value)
    around = (*above, id(value))
    if is_labelled(value):
        return kind, _key_of(labelled(value), around), _class_key(kind, around)
    if isinstance(value, memoryview):
        return kind, value.format, value.shape, value.readonly, value.tobytes()
    if isinstance(value, types.MethodType):
        return kind, Itself(value.__func__), _key_of(value.__self__, around)
    if isinstance(value, type):
        return kind, Itself(value), _class_key(value, around)
    held = _key_of_items(value, around)
    if not is_users(kind):
        if isinstance(value, ALIKE):
            held = _kept_key(value, around)
        if held is None:
            held = value if _hashable(value) else Itself(value)
        return kind, held
    return _key_of_users(value, held, around, without)


def _key_of_users(
    value: Any, held: Any, around: tuple[int, ...], without: frozenset[str]
) -> Any:
    """Of an object of a user's class, which holds items with the key ``held``, or none."""
    kind: Any = type(value)
    if isinstance(value, enum.Enum):
        return kind, Itself(value), _key_of(value._value_, around)
    for base, text in TEXTS:
        if isinstance(value, base):
            held = text(value)
    state: Any = {n: v for n, v in attributes(value).items() if n not in without}
    if hasattr(kind, "__array__"):
        state = shown_entries(value), state if has_more(kind) else None
    # Objects that are equal to themselves only may serve as keys, or be compared with ``is``.
    alone = held is None and kind.__hash__ in (object.__hash__, None)
    same = Itself(value) if alone else None
    if held is None and not alone and hides_state(kind):
        held = _kept_key(value, around)
        if defining_package(kind) == "pandas":  # whose attributes are what that is, and caches
            state = None
    return kind, same, held, _key_of(state, around), _class_key(kind, around)


def _key_of_items(value: Any, above: tuple[int, ...]) -> Any:
    """Of what a container holds; None of all else."""
    if isinstance(value, (tuple, list, deque)):
        return tuple([_key_of(v, above) for v in value])
    if isinstance(value, dict):
        keys = tuple([_key_of(k, above) for k in dict.keys(value)])
        return keys, tuple([_key_of(v, above) for v in dict.values(value)])
    if isinstance(value, (set, frozenset)):
        return frozenset([_key_of(v, above) for v in value])
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, functools.partial):
        return _key_of((value.func, value.args, value.keywords), above)
    return None


def _kept_key(value: Any, above: tuple[int, ...]) -> Any:
    """Of a value that is what `pickle` keeps of it, and shows nothing of that itself."""
    try:
        return _key_of(reduced(value), above)
    except ValueError:
        return Itself(value)


TEXTS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (int, int.__repr__),
    (float, float.__repr__),
    (complex, complex.__repr__),
    (str, str.__repr__),
    (bytes, bytes.__repr__),
)
"""What tells values of subclasses of these apart."""


def _class_key(kind: type, above: tuple[int, ...]) -> Any:
    """What an object has from its classes, as far as they are a user's."""
    if id(kind) in above:
        return None
    values = list(class_attributes(kind).values())
    known = _classes.get(kind)
    if known and len(values) == len(known[0]) and all(map(operator.is_, values, known[0])):
        return known[1]
    key = tuple([_key_of(v, (*above, id(kind))) for v in values])
    if all([type(v) in UNCHANGING for v in values]):
        _classes[kind] = values, key
    return key


_classes: "weakref.WeakKeyDictionary[type, tuple[list[Any], Any]]" = weakref.WeakKeyDictionary()
"""Classes whose attributes cannot be changed in place, with these and their keys."""

UNCHANGING = frozenset(
    {bool, int, float, str, bytes, NoneType, types.FunctionType, property, staticmethod}
    | {classmethod, types.GetSetDescriptorType, types.MemberDescriptorType}
)


def class_attributes(kind: type) -> dict[str, Any]:
    """The attributes of a user's class and those it inherits from others of the user's."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if is_users(base):
            found |= {n: v for n, v in vars(base).items() if n not in MACHINERY}
    return found


def contents(array: np.ndarray, above: tuple[int, ...] = ()) -> Any:
    """Small for a large array, and nothing to compute for one that nobody can write into."""
    if array.dtype.hasobject:
        around = (*above, id(array))
        parts = array.ravel().tolist() if array.dtype == object else ()
        return Itself(array), tuple([_key_of(v, around) for v in parts if id(v) not in around])
    if is_frozen(array):
        return Itself(array)
    if type(array) is not np.ndarray:  # one with units, say, which may be written to as well
        held = getattr(array, "__dict__", {})  # a mask, too
        carried = tuple([(n, _held_key(v)) for n, v in held.items()])
        return contents(array.view(np.ndarray).copy()), carried
    if array.nbytes <= SMALL:
        return array.tobytes()
    return digest(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def _held_key(value: Any) -> Any:
    plain = type(value) is np.ndarray
    return (Itself(value), contents(value)) if plain else Itself(value)


def digest(memory: Any) -> bytes:
    """A hash of what stands in contiguous memory."""
    return hashlib.blake2b(memory, digest_size=16).digest()


SMALL = 2**8
"""Bytes of an array that are kept as they are."""

PLAIN = frozenset({bool, int, str, bytes, NoneType})

MACHINERY = {
    *("__dict__", "__weakref__", "__module__", "__doc__", "__qualname__", "__annotations__"),
    *("__slots__", "__static_attributes__", "__firstlineno__", "__hash__", "__orig_bases__"),
    *("__parameters__", "__abstractmethods__", "_abc_impl", "__dataclass_params__"),
    *("__dataclass_fields__", "__match_args__", "__annotate__", "__annotate_func__"),
    *("__annotations_cache__", "__conditional_annotations__"),
}
"""Entries of a class that no program reads."""

OPAQUE = {"linad", "numpy", "scipy", "numba", "builtins", *sys.stdlib_module_names} - {"__main__"}
"""Modules whose objects look after themselves: operators, generators, files, locks."""


def _is_users(kind: Any) -> bool:
    known = defining_package(kind) in OPAQUE
    return kind is SimpleNamespace or (not known and not issubclass(kind, type))


is_users: Callable[[Any], bool] = functools.cache(_is_users)


def attributes(value: Any) -> dict[str, Any]:
    slots = slots_of(type(value))
    held = getattr(value, "__dict__", None)  # a ``__getattr__`` may answer for it
    return {n: getattr(value, n) for n in slots if hasattr(value, n)} | (
        held if isinstance(held, dict) else {}
    )


def slots_of(kind: type) -> list[str]:
    return [name for base in kind.__mro__ for name in _slot_names(base)]


def _slot_names(base: type) -> list[str]:
    given = vars(base).get("__slots__", ())
    names = [n for n in ((given,) if isinstance(given, str) else given) if n != "__dict__"]
    private = f"_{base.__name__.lstrip('_')}"
    return [private + n if n.startswith("__") and not n.endswith("__") else n for n in names]


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except (TypeError, ValueError):  # ValueError: a memoryview that may be written
        return False
    return True


class Itself:
    """Stands for an object in keys by identity, and keeps it alive as long."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.value is other.value
