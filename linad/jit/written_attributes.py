"""Attributes that a function writes before it reads them: no part of what a call is known by.

    def model(self, x):
        self.gamma = np.exp(-x)         what stood there before, nobody has read:
        return self.gamma * x           each call of the program writes what Python would

Whether that is so is seen while the function is recorded, of the objects themselves: callbacks,
`getattr`, `vars` and copies of an object count as they come. A path on which an attribute is read
first makes it part of what calls are known by again, for good.

What no program can write, Python does at each call: the run that finds that, and one that raises,
leaves plain arrays there itself.
"""

import operator
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from types import MethodType
from typing import Any, NamedTuple

import numpy as np

from linad.arrays.buffers import refresh, root_of
from linad.arrays.tracer import Tracer
from linad.core import tree
from linad.core.compiler_lock import books
from linad.jit.process_state import MISSING
from linad.jit.static_values import is_users, slots_of

Attributes = dict[int, tuple[Any, frozenset[str]]]
"""Objects by their ids, each with names of its attributes."""

NONE: frozenset[str] = frozenset()

ALL_OF_THEM = frozenset({"__dict__", "__getstate__", "__reduce__", "__reduce_ex__"})
"""Attributes of an object through which the others are read: `vars`, `copy` and `pickle` do so."""

CONSTANTS = (bool, int, float, complex, str, bytes, type(None))


class StoredAttributes(NamedTuple):
    """What a run leaves in attributes.

    Attributes
    ----------
    places : list of tuple
        Objects and names.
    parts : list
        What the values hold, one after the other: `Given`, constants, and traced values; or, in a
        path, its ``COMPUTED``.
    structure
        Of the container of all values.
    """

    places: list[tuple[Any, str]]
    parts: list[Any]
    structure: Any

    def store(self, computed: Iterator[Any], arrays: Sequence[Any], mark: Any) -> None:
        """Put values in place; ``computed`` has those for parts that are ``mark``."""
        found = [
            next(computed) if p is mark else arrays[p.number] if type(p) is Given else p
            for p in self.parts
        ]
        values = tree.unflatten(self.structure, found)
        for (owner, name), value in zip(self.places, values, strict=True):
            setattr(owner, name, value)


class Given(NamedTuple):
    """An argument, as it is."""

    number: int


class AttributeWatch:
    """Sees which attributes a run reads before it writes them.

    Parameters
    ----------
    attributes : dict
        Those that are no part of what the call is known by.
    owners : sequence
        Other objects. What else the run writes into one of all these, and does not read before, is
        stored as well.

    Attributes
    ----------
    read : set of tuple
        Those among them that count after all, with the ids of their objects.
    """

    def __init__(self, attributes: Attributes, owners: Sequence[Any] = ()) -> None:
        watched = {id(x): (x, NONE) for x in owners} | attributes
        self.attributes = {k: (x, names) for k, (x, names) in watched.items() if can_watch(x)}
        self.kinds = {type(owner) for owner, _ in self.attributes.values()}
        self.before = {
            (k, name): _held(owner).get(name, MISSING)
            for k, (owner, names) in self.attributes.items()
            for name in names
        }
        self.written: set[tuple[int, str]] = set()
        self._met: set[tuple[int, str]] = set()
        self._opened: set[int] = set()
        self.read = {(k, n) for k, (_, names) in attributes.items() for n in names}
        self.read -= self.before.keys()

    def __enter__(self) -> None:
        with books:
            for kind in self.kinds:
                _WATCHES[kind] = (*_WATCHES.get(kind, ()), self)
                type.__setattr__(kind, "__getattribute__", _seen_reading(kind))
                type.__setattr__(kind, "__setattr__", _seen_writing(kind))

    def __exit__(self, *_: object) -> None:
        with books:
            for kind in self.kinds:
                _WATCHES[kind] = tuple([w for w in _WATCHES[kind] if w is not self])
                if not _WATCHES[kind]:
                    del _WATCHES[kind]
                    type.__delattr__(kind, "__getattribute__")
                    type.__delattr__(kind, "__setattr__")

    def reads(self, owner: Any, name: str) -> None:
        k = id(owner)
        if k not in self.attributes:
            return
        if name in ALL_OF_THEM:
            self._opened.add(k)
            self.read |= {(k, n) for n in self.attributes[k][1]} - self.written
        elif (k, name) not in self.written:
            self._met.add((k, name))
            self.read |= {(k, name)} & self.before.keys()

    def writes(self, owner: Any, name: str) -> None:
        if id(owner) in self.attributes:
            self.written.add((id(owner), name))

    def _value(self, k: int, name: str) -> Any:
        """What an attribute is now."""
        return _held(self.attributes[k][0]).get(name, MISSING)

    def stored(
        self, trace: Any, tracers: Sequence[Any], results: Sequence[Any]
    ) -> StoredAttributes:
        """What the run has left; what a program cannot write counts as read, and so does memory
        that somebody else holds: another attribute, an argument of which it is a part, a result."""
        places: list[tuple[Any, str]] = []
        values: list[Any] = []
        given = {id(t) for t in tracers}
        held = Counter(m for x in (*results, *tracers) for m in _memory(x, set()))
        held.update(m for k, name in self.written for m in _memory(self._value(k, name), given))

        def is_storable(now: Any) -> bool:
            alone = all([held[m] == 1 for m in _memory(now, given)])
            return alone and _is_storable(_outermost(now, trace), trace)

        for (k, name), before in self.before.items():
            owner = self.attributes[k][0]
            now = self._value(k, name)
            if (k, name) not in self.written:
                self.read |= set() if now is before else {(k, name)}
            elif is_storable(now):
                places.append((owner, name))
                values.append(_outermost(now, trace))
            else:
                self.read.add((k, name))
        for k, name in sorted(self.written - self.before.keys() - self._met):
            now = self._value(k, name)
            if k not in self._opened and is_storable(now):
                places.append((self.attributes[k][0], name))
                values.append(_outermost(now, trace))
        leaves, structure = tree.flatten(values)
        numbers = {id(t): k for k, t in enumerate(tracers)}
        parts = [Given(numbers[id(leaf)]) if id(leaf) in numbers else leaf for leaf in leaves]
        return StoredAttributes(places, parts, structure)


def _memory(value: Any, given: Container[int]) -> Iterator[int]:
    """The arrays, each by what it is a part of, and the lists and dictionaries in a value; without
    arguments, which stay the objects that they are."""
    if isinstance(value, Tracer):
        if value.shape and id(value) not in given:
            yield id(root_of(value))
    elif isinstance(value, (list, tuple, dict)):
        if not isinstance(value, tuple):
            yield id(value)
        for part in value.values() if isinstance(value, dict) else value:
            yield from _memory(part, given)


def _outermost(value: Any, trace: Any) -> Any:
    """What a container holds, values of derivatives inside the run as those that they are of.

    One in the body of a loop is of an example, not of the run: it stays what it is."""
    parts, structure = tree.flatten(value)
    for k, part in enumerate(parts):
        while isinstance(part, Tracer) and part._trace is not trace:
            refresh(part)
            part = part._value
        if isinstance(part, Tracer):
            parts[k] = part
    return tree.unflatten(structure, parts)


def _is_storable(value: Any, trace: Any) -> bool:
    """Whether a program can make it: an array that it does not compute may be somebody's."""
    return all(
        [
            type(part) in CONSTANTS
            or isinstance(part, np.generic)
            or (isinstance(part, Tracer) and part._trace is trace)
            for part in tree.flatten(value)[0]
        ]
    )


_WATCHES: dict[type, tuple[AttributeWatch, ...]] = {}
"""Those of runs that go on now, by the classes that they look at."""


def _seen_reading(kind: type) -> Callable[[Any, str], Any]:
    def __getattribute__(self: Any, name: str) -> Any:
        for watch in _WATCHES.get(kind, ()):
            watch.reads(self, name)
        return object.__getattribute__(self, name)

    return __getattribute__


def _seen_writing(kind: type) -> Callable[[Any, str, Any], None]:
    def __setattr__(self: Any, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        for watch in _WATCHES.get(kind, ()):
            watch.writes(self, name)

    return __setattr__


IMMUTABLE = 1 << 8
"""Stands in the flags of classes of C that nobody may add a method to."""

ACCESS = ("__getattribute__", "__setattr__", "__delattr__")


def can_watch(owner: Any) -> bool:
    """Whether an object is of a user's class that does nothing of its own about attributes."""
    kind: Any = type(owner)
    above: Any = type(kind)
    if not is_users(kind) or isinstance(owner, type) or kind.__flags__ & IMMUTABLE:
        return False
    if above.__setattr__ is not type.__setattr__:
        return False
    plain = kind in _WATCHES or all([getattr(kind, n) is getattr(object, n) for n in ACCESS])
    return plain and not hasattr(kind, "__getattr__") and type(_held(owner)) is dict


def _held(owner: Any) -> Any:
    """The attributes of an object, without being seen."""
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None


class AttributesBefore:
    """What the attributes of a user's objects are before a run.

    Parameters
    ----------
    owners : sequence
        The objects.
    """

    def __init__(self, owners: Sequence[Any]) -> None:
        self.before = [(owner, _all_of(owner)) for owner in owners]

    def changed(self) -> list[tuple[Any, str]]:
        """Objects and names of those that are others now."""
        return [
            (owner, name)
            for owner, before in self.before
            for now in (_all_of(owner),)
            for name in before | now
            if now.get(name, MISSING) is not before.get(name, MISSING)
        ]

    def added(self) -> set[tuple[int, str]]:
        """Those that were not there."""
        return {
            (id(owner), name)
            for owner, before in self.before
            for name in _all_of(owner).keys() - before.keys()
        }

    def give_values(self, trace: Any, given: dict[int, Any]) -> None:
        """Put plain values where a run has left traced ones; ``given`` has, by the ids of those of
        the arguments, the caller's own."""
        met: set[int] = set()
        for owner, name in self.changed():
            _make_plain(owner, name, trace, given, met)


def _make_plain(owner: Any, name: str, trace: Any, given: dict[int, Any], met: set[int]) -> None:
    """Put a plain value in the place of an attribute that is, or holds, a traced one of a run."""
    value = _all_of(owner).get(name, MISSING)
    plain = _plain(value, trace, given, met)
    if plain is value:
        return
    held = _held(owner)
    if type(held) is dict and name in held:
        held[name] = plain
    else:
        object.__setattr__(owner, name, plain)


def _plain(value: Any, trace: Any, given: dict[int, Any], met: set[int]) -> Any:
    """A value without traced arrays of a run; what can be changed stays what it is."""
    if isinstance(value, Tracer):
        if id(value) not in given:
            given[id(value)] = _below(value, trace)
        return given[id(value)]
    if type(value) is tuple:
        parts = tuple([_plain(part, trace, given, met) for part in value])
        return value if all(map(operator.is_, parts, value)) else parts
    if id(value) in met:
        return value
    met.add(id(value))
    if type(value) is list:
        value[:] = [_plain(part, trace, given, met) for part in value]
    elif type(value) is dict:
        value.update({k: _plain(part, trace, given, met) for k, part in value.items()})
    elif is_changeable(value):
        for name in _all_of(value):
            _make_plain(value, name, trace, given, met)
    return value


def _below(value: Tracer, trace: Any) -> Any:
    """What a traced value of a run is to those around it, an array of its own."""
    part: Any = value
    while isinstance(part, Tracer):
        refresh(part)
        is_of_run, part = part._trace is trace, part._value
        if is_of_run:
            return part.copy() if isinstance(part, np.ndarray) else part
    return value


def is_changeable(x: Any) -> bool:
    """Whether it is an object of a user's class."""
    kind = type(x)
    return is_users(kind) and not isinstance(x, type) and not hasattr(kind, "__array__")


def changeable_objects(values: Sequence[Any]) -> list[Any]:
    """The user's objects among values, and in what they hold."""
    found: dict[int, Any] = {}
    met: set[int] = set()
    waiting = list(values)
    while waiting:
        x = waiting.pop()
        if id(x) in met:
            continue
        met.add(id(x))
        if isinstance(x, (list, tuple, dict)):
            waiting += x.values() if isinstance(x, dict) else x
        elif isinstance(x, MethodType):
            waiting.append(x.__self__)
        if is_changeable(x):
            found[id(x)] = x
            waiting += _all_of(x).values()
    return list(found.values())


def _all_of(owner: Any) -> dict[str, Any]:
    """The attributes of an object and those in its slots, without being seen."""
    held = _held(owner)
    found = dict(held) if type(held) is dict else {}
    for name in slots_of(type(owner)):
        try:
            found[name] = object.__getattribute__(owner, name)
        except AttributeError:
            continue  # a slot that is empty
    return found


def writable_first(places: Sequence[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Of objects and names, those that can be watched."""
    return [
        (owner, name)
        for owner, name in places
        if can_watch(owner) and not hasattr(type(getattr(type(owner), name, None)), "__set__")
    ]
