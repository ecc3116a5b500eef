"""What code that is compiled anew calls, in place of a call or a write that was refused.

A plain array, sparse ones of SciPy's as well, becomes a traced constant, to be written into, where
all that refers to it is a name here and names of those that wait for this call: then no other name
and no view can disagree with it. Elsewhere the refusal stands. A Series or DataFrame is itself made
to hold traced values (`linad.adoption.labelled_writes`).
"""

import functools
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.adoption.callers_names import rebound
from linad.adoption.object_arrays import gathered, gathered_to_write
from linad.adoption.sparse_writes import (
    by_number,
    by_places,
    is_plain_sparse,
    plain_data,
)
from linad.arrays.conversions import held
from linad.arrays.memory import constant_under
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.arrays.written_values import refuse_records
from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.rules.creation import asarray
from linad.scipy.sparse.arrays import SparseArray
from linad.scipy.sparse.written import WRITABLE, WrittenSparse


def _references() -> int:
    """References to an array that one local name and the function it was given to have."""

    def inner(v: Any, y: Array) -> int:
        return sys.getrefcount(y)

    y = np.zeros(1)
    return inner(0, y)


_SOLE = _references()


def _may_be_promoted(y: Any) -> bool:
    return type(y) is np.ndarray or is_plain_sparse(y)


def _promoted(y: Any) -> Any:
    """The array as a traced constant; None where that may not be."""
    trace = running_trace()
    if trace is None:
        return None
    if type(y) is not np.ndarray:
        return WrittenSparse(y) if y.format in WRITABLE else None
    if _is_seen_elsewhere(y) or not y.flags.writeable or y.dtype.kind not in "fc":
        return None
    return trace.constant(y.copy())


def _is_seen_elsewhere(y: Array) -> bool:
    """Whether another array has the memory of a plain one.

    What ``np.linspace(0, 1, n)`` and ``np.ones(6).reshape(2, 3)`` give are views of an array that
    has no name: a view that is all that refers to its base is the only one.
    """
    base = y.base
    if base is None:
        return False
    return not (
        type(base) is np.ndarray and base.flags.owndata and sys.getrefcount(base) <= _SOLE_BASE
    )


def _base_references() -> int:
    """References to the base of a view, where the view and one local name are all there are."""
    y = np.zeros(1)[:]
    base = y.base
    return sys.getrefcount(base)


_SOLE_BASE = _base_references()


def _to_write(y: Any, v: Any, references: int, promoted: Any = _promoted, frame: Any = None) -> Any:
    """What a traced value is written into, in the place of a plain array.

    Parameters
    ----------
    y : object
        As the caller's caller names it.
    v : object
        What is to be written.
    references : int
        To ``y``, beside those that one name and the calls up to here have.
    promoted : callable
        What takes traced values in the place of a plain array; None for none.
    frame : frame, optional
        The caller's caller, where this is called on the behalf of the caller.
    """
    if not _is_traced(v) or _holds_in_place(y) or not _may_be_promoted(y):
        return y
    new = promoted(y)
    frame = frame or sys._getframe(2)
    if new is None or (references > 0 and not rebound(y, new, frame, references)):
        return y
    return new


def _to_write_at(y: Any, v: Any, references: int) -> Any:
    """As `_to_write`, of what an index leads to: entries may come into a sparse array."""
    frame = sys._getframe(2)
    if type(y) is SparseArray:
        return _sparse(y, v, references, by_places, frame)
    return _to_write(y, v, references, frame=frame)


def _is_traced(v: Any) -> bool:
    return held((v,)) or getattr(type(v), "holds_array", False)


LABELLED: dict[type, Callable[[Any, str | None], Callable[[], None] | None]] = {}
"""The classes of pandas, and what lets an object of them hold traced values, to be written by an
index of it or of an attribute, and returns what undoes it."""

TURNED: dict[int, list[Callable[[], None]]] = {}
"""What makes objects plain again, by the trace."""


def _holds_in_place(y: Any, name: str | None = None) -> bool:
    """Whether an object is itself made to hold traced values, in the place of another array."""
    hold, trace = LABELLED.get(type(y)), running_trace()
    if hold is None or trace is None:
        return False
    undo = hold(y, name)
    if undo is not None:
        TURNED.setdefault(id(trace), []).append(undo)
    return undo is not None


def _value(v: Any, y: Any) -> Any:
    """What is written into ``y``, or computes with it: to an array a list of traced numbers is one.

    To an array of objects it is one of objects, as NumPy has it.
    """
    if not hasattr(y, "dtype") and not hasattr(y, "dtypes"):
        return v  # a list, a dict, or a container of a package's
    if type(y) is np.ndarray and y.dtype.kind == "O":
        return asarray(v, object) if isinstance(v, (list, tuple)) and held(v) else v
    if type(v) in (list, tuple) and type(y) is np.ndarray and y.dtype.names and held(v):
        refuse_records(y.dtype)
    return gathered_to_write(v) if isinstance(y, _ARRAYS) else gathered(v)


def _numbers(v: Any, y: Any) -> Any:
    """What is written: of a constant of the trace, into an array that stays plain, its numbers."""
    if type(v) is not Tracer or type(y) is not np.ndarray:
        return v
    plain = constant_under(v)
    return v if plain is None else plain


def write(v: Any, y: Any, index: Any) -> Any:
    """``y[index] = v``; returns what to bind ``y`` to."""
    references = sys.getrefcount(y) - _SOLE
    v = _value(v, y)
    y = _to_write_at(y, v, references)
    y[index] = _numbers(v, y)
    return y


def update(v: Any, y: Any, op: str) -> Any:
    """``y op= v``; returns what to bind ``y`` to."""
    references = sys.getrefcount(y) - _SOLE
    v = _value(v, y)
    y = _to_write(y, v, references)
    return getattr(operator, op)(y, _numbers(v, y))


def update_entry(entry: Array, v: Array, y: Any, index: Any, op: str) -> Any:
    """``y[index] op= v``, where ``entry`` is ``y[index]``; returns what to bind ``y`` to."""
    v = _value(v, entry)
    entry = _apart(entry, v)
    references = sys.getrefcount(y) - _SOLE
    new = _to_write_at(y, v, references)
    if new is not y:
        y, entry = new, new[index]
    y[index] = _updated(entry, _numbers(v, y), op)
    return y


def _updated(entry: Any, v: Any, op: str) -> Any:
    """``entry op= v``, of what an index gave; pandas does not leave that to a traced value."""
    in_place = type(entry) not in LABELLED or not _is_traced(v)
    return getattr(operator, op if in_place else op.removeprefix("i"))(entry, v)


def _apart(entry: Any, v: Any) -> Any:
    """What stands at an index, before a traced value is written there: no view of the array."""
    return entry.copy() if type(entry) is np.ndarray and _is_traced(v) else entry


def write_shared(v: Any, y: Any, index: Any) -> None:
    """``y[index] = v``, where the name is no local variable: ``y`` stays the object that it is."""
    v = _value(v, y)
    _hold_if_traced(v, y)
    y[index] = _numbers(v, y)


def update_shared(v: Any, y: Any, op: str) -> Any:
    """``y op= v``, where the name is no local variable; returns what to bind ``y`` to."""
    v = _value(v, y)
    _hold_if_traced(v, y)
    return getattr(operator, op)(y, _numbers(v, y))


def update_shared_entry(entry: Array, v: Array, y: Any, index: Any, op: str) -> None:
    """``y[index] op= v``, where the name is no local variable and ``entry`` is ``y[index]``."""
    v = _value(v, entry)
    _hold_if_traced(v, y)
    y[index] = _updated(entry, _numbers(v, y), op)


def _hold_if_traced(v: Any, y: Any) -> None:
    if _is_traced(v):
        _holds_in_place(y)


def write_attribute(v: Array, owner: Any, name: str, index: Any) -> None:
    """``owner.name[index] = v``."""
    v = _value(v, getattr(owner, name))
    y = _lend(owner, name, v)
    y[index] = _numbers(v, y)


def update_whole(v: Array, owner: Any, name: str, op: str) -> None:
    """``owner.name op= v``."""
    v = _value(v, getattr(owner, name))
    y = _lend(owner, name, v)
    setattr(owner, name, getattr(operator, op)(y, _numbers(v, y)))


def update_attribute(entry: Array, v: Array, owner: Any, name: str, index: Any, op: str) -> None:
    """``owner.name[index] op= v``, where ``entry`` is what stands there."""
    v = _value(v, entry)
    entry = _apart(entry, v)
    y = _lend(owner, name, v)
    if isinstance(y, (Tracer, WrittenSparse)) and type(entry) in (np.ndarray, np.float64):
        entry = y[index]
    y[index] = _updated(entry, _numbers(v, y), op)


def _lend(owner: Any, name: str, v: Array) -> Any:
    """The array of an attribute, promoted for a traced value until the trace ends."""
    if _is_traced(v) and (_holds_in_place(owner, name) or _holds_in_place(getattr(owner, name))):
        return getattr(owner, name)
    y = getattr(owner, name)
    if not held((v,)) or not _may_be_promoted(y):
        return y
    if getattr(owner, "__dict__", {}).get(name) is not y or sys.getrefcount(y) > _SOLE:
        return y
    new = _promoted(y)
    if new is None:
        return y
    LENT.setdefault(id(running_trace()), []).append((owner, name, y, new))
    setattr(owner, name, new)
    return new


# Sparse arrays: their entries A[i, j], their diagonals, and A.data.


def _sparse(A: Any, v: Any, references: int, kind: Any, frame: Any = None) -> Any:
    """A sparse array as one that takes traced values.

    Parameters
    ----------
    A : object
        What is no sparse array stays what it is, and so does a plain one for a plain value.
    v : object
        What is to be written.
    references : int
        To ``A``, beside those that one name and the calls up to here have.
    kind : callable
        `by_places`, where entries may come in, or `by_number`, where each has its number.
    """
    frame = frame or sys._getframe(2)
    if not isinstance(A, SparseArray):
        return _to_write(A, v, references, kind, frame)
    if isinstance(A, WrittenSparse) == (kind is by_places):
        return A
    new = kind(A)
    if references > 0 and not rebound(A, new, frame, references):
        raise UnsupportedError(
            "A[i, j] = v of a sparse array of traced values that has other names, or stands in a "
            "list or an attribute: write into A.copy(), by one name"
        )
    return new


def set_diagonal(v: Any, A: Any, *k: Any, **named: Any) -> Any:
    """``A.setdiag(v)``; returns what to bind ``A`` to."""
    references = sys.getrefcount(A) - _SOLE
    if is_plain_sparse(A):
        v = gathered(v)
        A = _sparse(A, v, references, by_places)
    A.setdiag(v, *k, **named)
    return A


def set_data(v: Any, A: Any) -> Any:
    """``A.data = v``; returns what to bind ``A`` to."""
    references = sys.getrefcount(A) - _SOLE
    A = _sparse(A, v, references, by_number)
    A.data = plain_data(v) if is_plain_sparse(A) else v
    return A


def write_data(v: Any, A: Any, index: Any) -> Any:
    """``A.data[index] = v``; returns what to bind ``A`` to."""
    references = sys.getrefcount(A) - _SOLE
    A = _sparse(A, v, references, by_number)
    if is_plain_sparse(A):
        A.data[index] = _numbers(v, A.data)
    else:
        write_attribute(v, A, "data", index)
    return A


def update_data(entry: Any, v: Any, A: Any, index: Any, op: str) -> Any:
    """``A.data[index] op= v``, where ``entry`` is what stands there; returns what to bind to."""
    references = sys.getrefcount(A) - _SOLE
    new = _sparse(A, v, references, functools.partial(by_number, entry=entry))
    if isinstance(new, SparseArray) or is_plain_sparse(new):
        data = new.data
        data[index] = getattr(operator, op)(data[index], _numbers(v, data))
    else:
        update_attribute(entry, v, A, "data", index, op)
    return new


def update_all_data(v: Any, A: Any, op: str) -> Any:
    """``A.data op= v``; returns what to bind ``A`` to."""
    references = sys.getrefcount(A) - _SOLE
    A = _sparse(A, v, references, by_number)
    if isinstance(A, SparseArray):
        A.data = getattr(operator, op)(A.data, v)
    elif is_plain_sparse(A):
        A.data = plain_data(getattr(operator, op)(A.data, _numbers(v, A.data)))
    else:
        update_whole(v, A, "data", op)
    return A


LENT: dict[int, list[tuple[Any, str, Any, Any]]] = {}
"""Attributes that hold traced arrays, by the trace: owner, name, the plain array, the traced."""


def give_back(trace: Any) -> None:
    """Let attributes hold their own arrays again, with the values that were written."""
    for undo in TURNED.pop(id(trace), ()):
        undo()
    for owner, name, y, new in LENT.pop(id(trace), ()):
        if vars(owner).get(name) is new:
            if isinstance(new, WrittenSparse):
                y[new.coords] = new.data.concrete
            else:
                y[...] = new.concrete
            setattr(owner, name, y)


def binary(a: Any, b: Any, op: str) -> Any:
    """``a op b``: a list of traced numbers beside an array is an array."""
    a, b = _beside(a, b), _beside(b, a)
    return getattr(operator, op)(a, b)


def _beside(a: Any, b: Any) -> Any:
    """One side of arithmetic: an array of objects stays one beside a list or a plain number."""
    if not isinstance(b, _ARRAYS) or (type(a) is np.ndarray and type(b) is not Tracer):
        return a
    return _value(a, b)


_ARRAYS = (np.ndarray, np.generic, Tracer)

CALLED: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(write, update, update_entry),
        *(write_shared, update_shared, update_shared_entry),
        *(write_attribute, update_whole, update_attribute),
        *(set_diagonal, set_data, write_data, update_data, update_all_data),
        binary,
    )
}
