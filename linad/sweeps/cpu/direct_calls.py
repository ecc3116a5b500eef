"""Calls that go from the interpreter straight into machine code.

A call of an object whose class defines ``__call__`` in Python makes a frame and a dictionary for
keywords, and looks things up: that takes longer than a small program. What the interpreter calls
is the C function in the slot ``tp_call`` of the class; here it is compiled code, which takes the
arguments out of their tuple, makes the results and runs the program. Whatever it is not for goes
to a method in Python.

The class with that slot is made by ``PyType_FromSpec``, of Python's stable interface. An object
joins it by its ``__class__`` when its program is there.
"""

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy._core import _ufunc_config

from linad.core.array_type import Array
from linad.core.error_state import INITIAL, quiet_state
from linad.core.settings import changed, current
from linad.sweeps.cpu.direct_looks import ARRAYS, NOTED, DirectLook, looked, released
from linad.sweeps.cpu.made_containers import Recipe, contained
from linad.sweeps.cpu.made_results import (
    INPUTS,
    OTHER_WAY,
    address_of_c,
    call_c,
    made,
    number_of,
    place_of,
    room_for,
)
from linad.sweeps.cpu.native import (
    ARRAY_DATA,
    HEADER,
    TUPLE_ITEMS,
    set_word,
    word,
)
from linad.sweeps.cpu.own_functions import address_of

METHOD = sys.intern("_call_in_python")
"""The method for what machine code is not for."""

SLOT, LIST_LENGTH, VALUE, KIND = HEADER, HEADER, HEADER, HEADER - 8
"""Where the object has its entry, a list its length, a number its value, and all have their type.

Python's and NumPy's numbers are structs of the header and the value."""

# Words of an entry: C functions, objects of the process, among them the error states that it is
# for, and what is the program's own: a word to write into, whether it is in use, the plan of its
# results, its header, what is looked at outside or 0, the function that looks outside or 0, the
# recipe of a container or 0, how many arguments there are; and for each 0 or an array that a number
# is put into, and the types of such numbers.
LOOK_UP, CALL, ASK, CONTEXT_VALUE, HOLD, DROP = range(0, 48, 8)
NAME, CONTEXT, STATE, OTHER_STATE, CHANGED, CURRENT, CHOSEN, NONE = range(48, 112, 8)
FOUND, BUSY, PLAN, PROGRAM, LOOK, OUTSIDE, RECIPE, COUNT, ARGUMENTS = range(112, 184, 8)

TP_CALL, MAY_HAVE_SUBCLASSES = 50, 1 << 10
"""Numbers of Python's stable interface: of the slot, and of a flag."""


def _fits(w, args):
    """Whether settings and error state are those of the program, and numbers where they were."""
    if word(word(w + CHANGED) + LIST_LENGTH) != 0:
        chosen = call_c(word(w + ASK), (word(w + CURRENT),))
        call_c(word(w + DROP), (chosen,))
        if chosen != word(w + CHOSEN):
            return False
    call_c(word(w + CONTEXT_VALUE), (word(w + CONTEXT), 0, w + FOUND))
    state = word(w + FOUND)
    call_c(word(w + DROP), (state,))
    if state != word(w + STATE) and state != word(w + OTHER_STATE):
        return False
    for k in range(word(w + COUNT)):
        at = w + ARGUMENTS + 24 * k
        if word(at) != 0:
            kind = word(word(args + TUPLE_ITEMS + 8 * k) + KIND)
            if kind != word(at + 8) and kind != word(at + 16):
                return False
    return True


def _run(w, args, arrays):
    """Note the arguments, and the arrays that stand outside, and run."""
    p, count = word(w + PLAN), word(w + COUNT)
    several = room_for(p)
    if several == -1:
        return 0
    for k in range(count):
        given, number = word(args + TUPLE_ITEMS + 8 * k), word(w + ARGUMENTS + 24 * k)
        if number != 0:
            set_word(number + ARRAY_DATA, given + VALUE)
            given = number
        set_word(place_of(p, k), given)
    for k in range(word(p + INPUTS) - count):
        set_word(place_of(p, count + k), word(arrays + 8 * k))
    result = made(word(w + PROGRAM), p, several)
    if word(w + RECIPE) == 0 or result == 0 or result == OTHER_WAY:
        return result
    return contained(word(w + RECIPE), result, several != 0)


def _entered(w, args):
    """The result, 0 after an error, or `OTHER_WAY`."""
    if not _fits(w, args):
        return OTHER_WAY
    look = word(w + LOOK)
    if look != 0:
        if not looked(look):
            return OTHER_WAY
        result = _run(w, args, word(look + NOTED))
        released(look, word(look + ARRAYS))
        return result
    if word(w + OUTSIDE) == 0:
        return _run(w, args, 0)
    outside = call_c(word(w + ASK), (word(w + OUTSIDE),))
    if outside == 0:
        return 0
    result = OTHER_WAY if outside == word(w + NONE) else _run(w, args, outside + TUPLE_ITEMS)
    call_c(word(w + DROP), (outside,))
    return result


def _called(self, args, kwargs):
    """What the interpreter calls: the result, or 0 after an error."""
    entry = word(self + SLOT)
    w = word(word(entry + TUPLE_ITEMS) + ARRAY_DATA)
    if kwargs == 0 and word(w + COUNT) == word(args + HEADER) and word(w + BUSY) == 0:
        # Python may run in the midst of it, and give the object another entry.
        call_c(word(w + HOLD), (entry,))
        set_word(w + BUSY, 1)
        result = _entered(w, args)
        set_word(w + BUSY, 0)
        call_c(word(w + DROP), (entry,))
        if result != OTHER_WAY:
            return result
    w = word(word(word(self + SLOT) + TUPLE_ITEMS) + ARRAY_DATA)
    method = call_c(word(w + LOOK_UP), (self, word(w + NAME)))
    if method == 0:
        return 0
    result = call_c(word(w + CALL), (method, args, kwargs))
    call_c(word(w + DROP), (method,))
    return result


def entry(
    plan: Array | None = None,
    workspace: Any = None,
    outside: Callable[[], Any] | None = None,
    look: DirectLook | None = None,
    numbers: Sequence[tuple[type, ...]] = (),
    recipe: Recipe | None = None,
) -> tuple[Any, ...]:
    """What an object has in its slot for machine code.

    Parameters
    ----------
    plan : ndarray
        Of the results, `linad.sweeps.cpu.made_results.plan_of`; without one, all calls go to
        Python.
    workspace : Workspace
        Of the program; it is used by nothing else.
    outside : callable, optional
        Gives the tuple of arrays that follow the arguments, or None where other things stand
        outside.
    look : DirectLook, optional
        The same for machine code, if it can look.
    numbers : list of tuple
        For each argument that is a number, and not an array, the types that it may have: one or
        two.
    recipe : Recipe, optional
        Of the container that is returned; without one the result, or a tuple of several.
    """
    python = ctypes.pythonapi
    functions = [python.PyObject_GetAttr, python.PyObject_Call, python.PyObject_CallNoArgs]
    functions += [python.PyContextVar_Get, python.Py_IncRef, python.Py_DecRef]
    words = [address_of_c(f) for f in functions]
    context = _ufunc_config._extobj_contextvar  # type: ignore[attr-defined]  # not in its stub
    chosen, quiet = current(), quiet_state()
    words += [id(METHOD), id(context), id(INITIAL), id(quiet)]
    words += [id(changed), id(current), id(chosen), id(None)]
    boxes = [number_of(np.dtype(kinds[0])) if kinds else None for kinds in numbers]
    if plan is None:
        words += [0, 0, 0, 0, 0, 0, 0, -1]
    else:
        seen = look.words if look is not None else None
        words += [0, 0, plan.ctypes.data, workspace.header.ctypes.data]
        words += [seen.ctypes.data if seen is not None else 0]
        words += [id(outside) if outside is not None else 0]
        words += [recipe.words.ctypes.data if recipe is not None else 0, len(numbers)]
    for kinds, box in zip(numbers, boxes, strict=True):
        words += [0, 0, 0] if box is None else [box.ctypes.data, id(kinds[0]), id(kinds[-1])]
    kept = plan, workspace, outside, look, boxes, recipe, chosen, quiet
    return np.array(words, np.int64), *kept


NO_ENTRY = entry()
"""The entry of an object all of whose calls go to Python."""


class _Slot(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("value", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("item_size", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


@functools.cache
def _machine_called() -> type:
    """The class whose objects machine code is called for."""
    slots = (_Slot * 2)(_Slot(TP_CALL, address_of(_called)), _Slot(0, None))
    spec = _Spec(f"{__name__}.MachineCalled".encode(), 0, 0, MAY_HAVE_SUBCLASSES, slots)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Spec))
    return make(("PyType_FromSpec", ctypes.pythonapi))(ctypes.byref(spec))  # type: ignore[no-any-return]


@functools.cache
def machine_called(kind: type) -> type:
    """A class like another one, which machine code is called for.

    Its objects have an entry (`entry`) in their first slot, and the method `METHOD`.
    """
    scope = {"__doc__": kind.__doc__, "__module__": kind.__module__, "__slots__": ()}
    return type(kind.__name__, (_machine_called(), kind), scope)
