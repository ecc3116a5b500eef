"""What a jitted function reads from outside its arguments: part of what a call is known by.

Names are told from its code (`linad.jit.code_reads`), and from that of the functions it reaches in
the user's own modules; their values are looked at again at each call. Functions, objects and
numbers are known by themselves. Arrays are read at their addresses, as arguments are.

A `Look` is what was found, with lines of Python that tell whether all is as it was: the short
way of a call has them in it.
"""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.compiler_lock import books
from linad.core.memory_layouts import layout_of
from linad.jit.identity import says_is
from linad.jit.outside_walk import OutsideWalk
from linad.jit.state_walk import MOST, take_as_installed
from linad.jit.static_values import contents
from linad.jit.written_attributes import Attributes
from linad.transforms.plain_operands import is_frozen


class Look:
    """What stands outside at one time. Threads share it; each has arrays of its own from `still`.

    Attributes
    ----------
    key : tuple
        Equal for states that a program cannot tell apart, but for the entries of arrays.
    kinds : list of tuple
        Dtype, shape and layout of each array, each array once.
    lines : list of str
        Conditions, in Python, that hold as long as all but the arrays is as it was.
    texts : list of str
        Expressions that give the arrays as they are.
    scope : dict
        What the names in them stand for.
    compared : set of int
        Numbers of arrays that the code may reach in ways that it does not show.
    matrices : dict
        By their ids, sparse matrices that it reaches in no such way, and the names of the places
        where they stand.
    owners : list of set
        The ids of the sparse matrices that each array is part of; 0 where it stands elsewhere.
    functions : list of function
        The user's own that were met.
    objects : set of int
        Ids of the user's objects that were met.
    volatile : bool
        Whether an iterator is among it: to read one is to change it.
    given_once : list of str
        Functions that the code calls, as it names them, which answer otherwise at each call.
    generators : list
        Sources of random numbers.
    users : list
        The objects whose attributes were looked at.
    unread : dict
        Those that the function writes before it reads them.
    """

    def __init__(self, walk: OutsideWalk) -> None:
        self.key = tuple(walk.parts)
        self.texts, self.names = walk.texts, walk.array_names
        self.lines, self.scope, self.compared = walk.lines, walk.scope, walk.compared
        met = walk.matrices.items()
        self.matrices = {k: m for k, m in met if k not in walk.unseen_matrices}
        self.owners = walk.owners
        self.functions, self.objects = walk.functions, walk.objects
        self.of_users = {id(f) for f in self.functions}
        self.volatile, self.given_once = walk.volatile, walk.given_once
        self.generators = walk.generators
        self.users, self.unread = walk.users, walk.unread
        self.counts = bool(self.lines or walk.arrays or self.given_once)
        self.kinds = [(a.dtype, a.shape, layout_of(a)) for a in walk.arrays]
        self._still: Callable[[], Any] | None = None

    def still(self) -> list[np.ndarray] | None:
        """The arrays as they are now, in this thread; None where other things stand outside."""
        if self._still is None:
            test = " and ".join(self.lines) or "True"
            source = f"def still():\n    return ({''.join([t + ', ' for t in self.texts])})"
            scope = dict(self.scope)
            exec(f"{source} if ({test}) else None", scope)
            self._still = scope["still"]
        try:
            arrays = self._still()
        except (LookupError, AttributeError, ValueError, TypeError):
            return None  # a name was deleted, a cell emptied
        if arrays is None:
            return None
        for a, (dtype, shape, layout) in zip(arrays, self.kinds, strict=True):
            if type(a) is not np.ndarray or a.dtype is not dtype or a.shape != shape:
                return None
            flags = a.flags  # asked first: it is quicker than either function
            if (layout != "C" or not flags.c_contiguous) and layout_of(a) != layout:
                return None
            if not flags.writeable and is_frozen(a):
                return None
        return list(arrays)


class Outside:
    """What a function reads from outside.

    Parameters
    ----------
    f : callable
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.names: set[str] = set()
        self.whole = False
        self.nothing = False
        self.unread: Attributes = {}
        self.read_first: set[tuple[int, str]] = set()
        self._looks: dict[tuple[int, ...], tuple[Look, list[Any]]] = {}

    def look(self, given: Sequence[tuple[str, Any]] = ()) -> tuple[Look | None, list[np.ndarray]]:
        """What stands outside now, and its arrays; None for a function that reads nothing there.

        Parameters
        ----------
        given : list of tuple
            Functions and objects among the arguments, with the names of their parameters, "" for
            those in containers: what their code reads counts, too.
        """
        if self.nothing and not given:
            return None, []
        place = tuple([id(g) for _, g in given])
        known = self._looks.get(place)
        if known is not None:
            look, arrays = known[0], known[0].still()
            if arrays is not None:
                return (look if look.counts else None), arrays
        # Until a walk meets no name that it did not look for. Other threads find names, too.
        names, whole = self.names, self.whole
        most: float = MOST
        while True:
            walk = OutsideWalk(names, whole)
            walk.most, walk.unread = most, self.unread
            walk.root(self.f)
            for name, value in given:
                walk.root(value, name, contents=False)
            if len(walk.slots) > most:
                if package := walk.largest_package():
                    take_as_installed(package)
                    names, whole = self.names, self.whole
                else:
                    most = math.inf
                continue
            if (walk.names, walk.whole) == (names, whole):
                break
            names, whole = walk.names, walk.whole
        with books:
            self.names = self.names | names
            self.whole = self.whole or whole
        walk.hold_first()
        if len(walk.arrays) > 1 and any([says_is(f.__code__) for f in walk.functions]):
            walk.lines.append(f"{walk.bind(_distinct)}({', '.join(walk.texts)})")
        look = Look(walk)
        if len(self._looks) >= REMEMBERED:
            self._looks.clear()
        self._looks[place] = look, list(given)
        self.nothing = not (given or look.counts)
        return (look if look.counts else None), walk.arrays

    def look_again(self) -> None:
        """What was looked for in vain is there now."""
        with books:
            self._looks.clear()

    def are_written(self, places: Sequence[tuple[Any, str]]) -> None:
        """Attributes that a run has changed: the next will tell whether it reads them before."""
        if "__getattribute__" in self.names:
            return  # which reads past those who watch
        for owner, name in places:
            with books:
                room = id(owner) in self.unread or len(self.unread) < REMEMBERED
                if room and (id(owner), name) not in self.read_first:
                    _, names = self.unread.get(id(owner), (owner, frozenset()))
                    self.unread = {**self.unread, id(owner): (owner, names | {name})}
                    self._looks.clear()

    def are_read(self, places: Collection[tuple[int, str]]) -> None:
        """Attributes that some path reads before it writes them."""
        for k, name in places:
            with books:
                self.read_first.add((k, name))
                owner, names = self.unread[k]
                self.unread = {**self.unread, k: (owner, names - {name})}
                self._looks.clear()


def _distinct(*arrays: Any) -> bool:
    """Whether no two of them are one object, as when each was found by itself."""
    return len(set(map(id, arrays))) == len(arrays)


REMEMBERED = 64
"""Looks that are kept, by the objects among the arguments; objects with attributes that do not
count."""


def state_of(value: Any, outside: Outside, prefix: str) -> tuple[list[str], dict[str, Any]]:
    """Lines that hold as long as an object among the arguments is as it is, and their names."""
    walk = OutsideWalk(outside.names, outside.whole, prefix)
    walk.of_object("", value, classes=False)
    walk.rest()
    for a, text in zip(walk.arrays, walk.texts, strict=True):
        now = type(a), a.dtype, a.shape, layout_of(a), contents(a)
        walk.lines.append(f"alike({text}, {walk.bind(now)})")
    scope = {name: v for name, v in walk.scope.items() if name.startswith(prefix)}
    return walk.lines, scope | {"alike": _alike}


def _alike(a: Array, before: tuple[Any, ...]) -> bool:
    if type(a) is not before[0] or a.dtype is not before[1] or a.shape != before[2]:
        return False
    return bool(layout_of(a) == before[3] and contents(a) == before[4])
