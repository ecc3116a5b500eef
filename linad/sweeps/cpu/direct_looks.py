"""What stands outside, looked at in machine code.

What a function reads from outside its arguments is compared at each call, by lines of Python:
`linad.jit.outside` writes them. To call a function of such lines takes longer than a small
program; most of them ask what stands in one place, and the places are words of memory:

    f.__code__ is k             a word of the function; so its defaults, the class of an object, and
                                the classes that a class looks through
    cell.cell_contents is k     the word of the cell
    variables['name'] is k      an entry of a dictionary; so those of a class, and of an object
    'name' not in variables
    variables.keys().isdisjoint(names)      as many of them
    items[2] is k               the item of a list
    len(items) == 3             a word of the list, or of the dictionary

Arrays are read from such places, too. Where a line asks for more, Python looks.
"""

import ast
import ctypes
import functools
import itertools
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.sweeps.cpu.made_results import address_of_c, call_c
from linad.sweeps.cpu.native import HEADER, TUPLE_ITEMS, set_word, word

# Words of a look: C functions, how many tests and arrays there are, where the arrays that were
# found are noted; and for each test and array the kind of the place, where it is, the key or index
# there, and what a test wants to find.
FIND, HOLD, DROP, TESTS, ARRAYS, NOTED, FIRST = range(0, 56, 8)
KIND, PLACE, KEY, WANTED, NEXT = range(0, 40, 8)

WORD, ENTRY, ITEM = range(3)
"""Kinds of places: a word of memory, an entry of a dictionary, an item of a list."""

LENGTH, LIST_ITEMS = HEADER, HEADER + 8
"""Where lists and dictionaries have their length, and lists the address of their items."""


def _found(w, at):
    """The address of what stands in a place, or 0."""
    kind, place, key = word(at + KIND), word(at + PLACE), word(at + KEY)
    if kind == WORD:
        return word(place)
    if kind == ENTRY:
        return call_c(word(w + FIND), (place, key))
    if key < word(place + LENGTH):
        return word(word(place + LIST_ITEMS) + 8 * key)
    return 0


def released(w, count):
    """Let go of the arrays that were noted."""
    for k in range(count):
        call_c(word(w + DROP), (word(word(w + NOTED) + 8 * k),))
    return 0


def looked(w):
    """Whether all is as it was. Then the arrays are noted and held, until they are released."""
    at = w + FIRST
    for _ in range(word(w + TESTS)):
        if _found(w, at) != word(at + WANTED):
            return False
        at += NEXT
    for k in range(word(w + ARRAYS)):
        array = _found(w, at)
        if array == 0:
            released(w, k)
            return False
        call_c(word(w + HOLD), (array,))
        set_word(word(w + NOTED) + 8 * k, array)
        at += NEXT
    return True


class DirectLook:
    """What is looked at, for `looked`.

    Parameters
    ----------
    lines : list of str
        Conditions in Python.
    texts : list of str
        Expressions for arrays.
    scope : dict
        What the names in them stand for.

    Attributes
    ----------
    words : ndarray or None
        None where Python has to look.
    """

    def __init__(self, lines: Sequence[str], texts: Sequence[str], scope: dict[str, Any]) -> None:
        self._scope = scope
        self._kept: list[Any] = []
        """Objects of which the words have the addresses, beside those of the scope."""
        self.words: np.ndarray | None = None
        python = ctypes.pythonapi
        functions = [python.PyDict_GetItem, python.Py_IncRef, python.Py_DecRef]
        words = [address_of_c(f) for f in functions] + [0, len(texts), 0]
        for line in lines:
            tests = self._tests(_parsed(line))
            if tests is None:
                return
            words += itertools.chain(*tests)
        words[TESTS // 8] = (len(words) - FIRST // 8) // (NEXT // 8)
        for text in texts:
            place = self._place(_parsed(text))
            if place is None:
                return
            words += [*place, 0]
        self.words = np.array(words + [0] * len(texts), np.int64)
        self.words[NOTED // 8] = self.words.ctypes.data + 8 * len(words)

    def _tests(self, tree: Any) -> list[tuple[int, ...]] | None:
        """The words of a condition, which may be several tests."""
        places: list[tuple[int, ...] | None] = []
        found = 0
        match tree:
            case ast.Compare(left, [ast.Is()], [ast.Name(wanted)]):
                places, found = [self._place(left)], id(self._scope[wanted])
            case ast.Compare(ast.Constant(str(name)), [ast.NotIn()], [ast.Name(holder)]):
                places = [self._entry(self._scope[holder], name)]
            case ast.Call(
                ast.Attribute(ast.Call(ast.Attribute(ast.Name(holder), "keys")), "isdisjoint"),
                [ast.Name(names)],
            ):
                places = [self._entry(self._scope[holder], name) for name in self._scope[names]]
            case ast.Compare(
                ast.Call(ast.Name("len"), [ast.Name(holder)]), [ast.Eq()], [ast.Constant(int(n))]
            ) if type(self._scope[holder]) in (list, dict):
                places, found = [(WORD, id(self._scope[holder]) + LENGTH, 0)], n
            case _:
                return None
        known = [place for place in places if place is not None]
        return [(*place, found) for place in known] if len(known) == len(places) else None

    def _place(self, tree: Any) -> tuple[int, ...] | None:
        """The words of a place."""
        match tree:
            case ast.Attribute(ast.Name(holder), name):
                offset = _offset_in(self._scope[holder], name)
                return None if offset is None else (WORD, id(self._scope[holder]) + offset, 0)
            case ast.Subscript(ast.Name(holder), ast.Constant(str(name))):
                return self._entry(self._scope[holder], name)
            case ast.Subscript(ast.Name(holder), ast.Constant(int(index))):
                items = self._scope[holder]
                if type(items) is tuple:
                    return WORD, id(items) + TUPLE_ITEMS + 8 * index, 0
                return (ITEM, id(items), index) if type(items) is list else None
        return None

    def _entry(self, variables: Any, name: str) -> tuple[int, ...] | None:
        address = id(variables)
        if type(variables) is types.MappingProxyType:  # of the attributes of a class
            address = _word(address + HEADER)
            if _word(address + HEADER - 8) != id(dict):
                return None
        elif type(variables) is not dict:
            return None
        self._kept.append(sys.intern(name))  # a key that is the same object is found at once
        return ENTRY, address, id(self._kept[-1])


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _offset_in(holder: Any, name: str) -> int | None:
    """Where an object has an attribute, as the address of a Python object, if that is known."""
    kind = type(holder)
    if name == "__class__":
        own = [base for base in kind.__mro__[:-1] if name in vars(base)]
        return None if own else HEADER - 8
    if kind is types.CellType and name == "cell_contents":
        return HEADER
    if name == "__mro__" and isinstance(holder, type):
        own = [base for base in kind.__mro__ if base is not type and name in vars(base)]
        return None if own else _place_of_mro()
    return _fields().get(name) if kind is types.FunctionType else None


@functools.cache
def _fields() -> dict[str, int]:
    """Where functions have their parts: their struct is not the same in all versions."""

    def sample(x=0, *, y=0):  # type: ignore[no-untyped-def]  # only looked at
        return x + y

    words = [_word(id(sample) + at) for at in range(0, sample.__sizeof__() - 7, 8)]
    names = ("__code__", "__defaults__", "__kwdefaults__")
    parts = {name: id(getattr(sample, name)) for name in names}
    return {name: 8 * words.index(part) for name, part in parts.items() if part in words}


@functools.cache
def _place_of_mro() -> int | None:
    """Where classes have the tuple of those that they look through."""
    words = [_word(id(bool) + at) for at in range(0, type.__sizeof__(bool) - 7, 8)]
    return 8 * words.index(id(bool.__mro__)) if id(bool.__mro__) in words else None
