"""A stand-in for NumPy where it cannot see traced values: ``import linad.numpy as np``.

Everything here is NumPy's own, except functions that NumPy does not hand to a traced
argument, or that have none:

- ``array``, ``asarray``, ``fromiter``, ``r_``, ``c_``, ``full``, ``arange``, ``vectorize`` take
  traced numbers: ``np.array([s, 1.0])`` is a traced array.
- ``zeros``, ``ones``, ``empty``, ``full``, ``eye``, ``identity``, the ``_like`` forms and
  ``copy`` give, while a function is being differentiated, a traced constant, so that
  ``y = np.zeros(n)``, ``y[0] = s`` works. It belongs to the innermost running derivative. Only
  floating and complex ones: integer and boolean arrays have no derivative and stay plain.
- All other functions and ufuncs, those of ``linalg`` and ``fft`` among them, take lists of traced
  numbers: ``np.hypot([a, b], c)``, ``np.linalg.norm([a, b])``.
- ``polynomial`` is `numpy.polynomial` with coefficients and points that may be traced.

For plain arguments outside of a derivative each function returns what NumPy returns. Inside,
the traced constants are all that differs: code that needs a plain array there (an index, the
data of a sparse matrix) makes it with ``np.array`` of plain numbers, or with NumPy itself.
"""

import functools
import sys
from typing import Any

import numpy as np

from linad.arrays.conversions import sample
from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.core.dispatch import NAMESPACE
from linad.core.mirrored_names import mirrored_names
from linad.core.primitive import Traced
from linad.numpy.array_makers import (
    arange as arange,
    array as array,
    asanyarray as asanyarray,
    asarray as asarray,
    asarray_chkfinite as asarray_chkfinite,
    ascontiguousarray as ascontiguousarray,
    asfortranarray as asfortranarray,
    copy as copy,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    fromiter as fromiter,
    full as full,
    full_like as full_like,
    identity as identity,
    ones as ones,
    ones_like as ones_like,
    require as require,
    writable,
    zeros as zeros,
    zeros_like as zeros_like,
)
from linad.numpy.broadcasting import TracedBroadcast
from linad.numpy.concatenators import c_ as c_, r_ as r_
from linad.numpy.descending import descending_too
from linad.numpy.entry_by_entry import ndenumerate as ndenumerate, vectorize as vectorize
from linad.numpy.iterators import nditer as nditer
from linad.numpy.list_arguments import list_forms
from linad.numpy.nested_lists import is_traced, joining
from linad.numpy.scalar_types import (
    INTEGERS as _INTEGERS,
    cdouble as cdouble,
    complex64 as complex64,
    complex128 as complex128,
    csingle as csingle,
    double as double,
    float32 as float32,
    float64 as float64,
    single as single,
)

globals().update(_INTEGERS)

__getattr__, __dir__ = mirrored_names(
    np, list_forms(np), package=__name__, rooms=("fft", "linalg", "polynomial")
)


@functools.wraps(np.isscalar)
def isscalar(element: Any) -> bool:
    return np.isscalar(sample(element))


_PIECEWISE: Any = np.piecewise


@functools.wraps(_PIECEWISE)
def piecewise(x: Array, condlist: Any, funclist: Any, *args: Any, **keywords: Any) -> Any:
    # The functions may close over traced values that x knows nothing of.
    if running_trace() is not None and not isinstance(x, Traced):
        x = writable(np.array(x))
    return _PIECEWISE(x, condlist, funclist, *args, **keywords)


@functools.wraps(np.kaiser)
def kaiser(M: int, beta: Any) -> Any:
    if not is_traced(beta):
        return np.kaiser(M, beta)
    alpha = (M - 1) / 2
    share = 1 - ((np.arange(M) - alpha) / alpha) ** 2 if M > 1 else np.ones(M)
    ends = share <= 0  # where the root has no derivative, and no part in that of the window
    inside = np.i0(beta * np.sqrt(np.where(ends, 1.0, share)))
    return np.where(ends, 1.0, inside) / np.i0(beta)


# Shapes that go together.


@functools.wraps(np.broadcast)
def broadcast(*arrays: Any) -> Any:
    traced = any([is_traced(a) or getattr(type(a), "holds_array", False) for a in arrays])
    return TracedBroadcast(*arrays) if traced else np.broadcast(*arrays)


sort = descending_too(np.sort)
argsort = descending_too(np.argsort)
concatenate = concat = joining("concatenate")
stack = joining("stack")
hstack = joining("hstack")
vstack = joining("vstack")
dstack = joining("dstack")
column_stack = joining("column_stack")

NAMESPACE[:] = [sys.modules[__name__]]
