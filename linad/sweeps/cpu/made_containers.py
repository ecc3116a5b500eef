"""Containers of results that compiled code makes: tuples, lists and dictionaries, nested.

`value_and_grad` returns a pair whose second part is often a tuple itself. To put that together
in Python takes longer than a small program. A recipe says what goes where, each container before
what is in it; what it holds by then goes with it after an error.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.sweeps.cpu.made_results import address_of_c, call_c, half
from linad.sweeps.cpu.native import HEADER, TUPLE_ITEMS, set_word, word

# Words of a recipe: C functions, how many steps, and for each what it makes, of what (the number of
# a result, how long a container is, or an object), the step of the container that it goes to or 0,
# the place or the key there, and what has been made.
NEW_TUPLE, NEW_LIST, NEW_DICT, SET_ITEM, HOLD, DROP, STEPS, FIRST = range(0, 64, 8)
MAKES, OF, HOLDER, PLACE, MADE, NEXT = range(0, 48, 8)

TUPLE, LIST, DICT, RESULT, SAME = range(5)
"""What a step makes: a container, a result, or what is the same at every call."""

LIST_ITEMS = HEADER + 8
"""Where a list has the address of its items."""


def _new(r, at, result, several):
    """What a step makes, with a reference to it; 0 after an error."""
    makes, of = word(at + MAKES), word(at + OF)
    if makes == TUPLE:
        return call_c(word(r + NEW_TUPLE), (of,))
    if makes == LIST:
        return call_c(word(r + NEW_LIST), (of,))
    if makes == DICT:
        return call_c(word(r + NEW_DICT), ())
    item = of
    if makes == RESULT:
        item = word(result + TUPLE_ITEMS + 8 * of) if several else result
    call_c(word(r + HOLD), (item,))
    return item


def _put(r, at, item):
    """Put what a step has made, whose reference goes with it, into its container."""
    holder = word(at + HOLDER)
    makes, container = word(holder + MAKES), word(holder + MADE)
    if makes == TUPLE:
        set_word(container + TUPLE_ITEMS + 8 * word(at + PLACE), item)
    elif makes == LIST:
        set_word(word(container + LIST_ITEMS) + 8 * word(at + PLACE), item)
    else:
        failed = half(call_c(word(r + SET_ITEM), (container, word(at + PLACE), item)))
        call_c(word(r + DROP), (item,))
        return failed == 0
    return True


def contained(r, result, several):
    """The container of a result, or of the items of a tuple of several; 0 after an error.

    The reference to the result is taken.
    """
    at, done = r + FIRST, True
    for _ in range(word(r + STEPS)):
        item = _new(r, at, result, several)
        set_word(at + MADE, item)
        done = item != 0 and (word(at + HOLDER) == 0 or _put(r, at, item))
        if not done:
            break
        at += NEXT
    call_c(word(r + DROP), (result,))
    whole = word(r + FIRST + MADE)
    if done or whole == 0:
        return whole
    call_c(word(r + DROP), (whole,))
    return 0


class Recipe:
    """What a container holds, for `contained`.

    Parameters
    ----------
    container : tuple, list or dict
        Its leaves are the entries of ``slots``, or what is the same at every call.
    slots : list
        One object a result, in order.

    Attributes
    ----------
    words : ndarray
    """

    def __init__(self, container: Any, slots: Sequence[Any]) -> None:
        self._slots = {id(s): k for k, s in enumerate(slots)}
        self._same: list[Any] = []
        """Objects of which the words have the addresses."""
        self._steps: list[list[int]] = []
        self._add(container, -1, 0)
        python = ctypes.pythonapi
        functions = [python.PyTuple_New, python.PyList_New, python.PyDict_New]
        functions += [python.PyDict_SetItem, python.Py_IncRef, python.Py_DecRef]
        head = [address_of_c(f) for f in functions] + [len(self._steps)]
        self.words = np.array(head + [w for step in self._steps for w in step], np.int64)
        steps = self.words[len(head) :].reshape(len(self._steps), NEXT // 8)
        first, holders = self.words.ctypes.data + FIRST, steps[:, HOLDER // 8]
        holders[:] = np.where(holders < 0, 0, first + NEXT * holders)

    def _address(self, value: Any) -> int:
        self._same.append(value)
        return id(value)

    def _add(self, value: Any, holder: int, place: int) -> None:
        """Add the step of a value, and those of what it holds."""
        number = len(self._steps)
        kinds: dict[type, int] = {tuple: TUPLE, list: LIST, dict: DICT}
        if id(value) in self._slots:
            self._steps.append([RESULT, self._slots[id(value)], holder, place, 0])
        elif type(value) not in kinds:
            self._steps.append([SAME, self._address(value), holder, place, 0])
        else:
            self._steps.append([kinds[type(value)], len(value), holder, place, 0])
            items = value.items() if type(value) is dict else enumerate(value)
            for key, item in items:
                self._add(item, number, self._address(key) if type(value) is dict else key)
