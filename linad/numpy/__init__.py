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
import itertools
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from linad.arrays.conversions import sample
from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.core.dispatch import NAMESPACE
from linad.core.mirrored_names import mirrored_names
from linad.core.numpy_options import check_options
from linad.core.primitive import Traced
from linad.core.shapes import is_inexact, size_of
from linad.core.tree import bare
from linad.errors import UnsupportedError
from linad.numpy.broadcasting import TracedBroadcast
from linad.numpy.list_arguments import gathered, holds_traced, joining, list_forms
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
from linad.rules import creation
from linad.rules.joining import stack as _stack
from linad.rules.shaping import astype, ravel, require_finite

globals().update(_INTEGERS)

__getattr__, __dir__ = mirrored_names(
    np, list_forms(np), package=__name__, rooms=("fft", "linalg", "polynomial")
)


def _is_traced(nested: Any) -> bool:
    """As `holds_traced`; outside of a trace the lists are not searched."""
    return isinstance(nested, Traced) or (running_trace() is not None and holds_traced(nested))


# Arrays made of numbers.


@functools.wraps(np.array)
def array(object: Any, dtype: Any = None, **keywords: Any) -> Any:
    if bare(object) is not object:  # of adopted code: an array with units, say
        made = array(bare(object), dtype, **keywords)
        return object._like(made) if keywords.get("subok") and hasattr(object, "_like") else made
    if not _is_traced(object):
        return np.array(object, dtype, **keywords)
    keywords.pop("like", None)
    check_options(np.array, keywords)
    return creation.array(object, dtype, **keywords)


def _converter(numpy_function: Callable[..., Any], traced: Callable[..., Any]) -> Any:
    keeps = numpy_function is np.asanyarray

    @functools.wraps(numpy_function)
    def convert(a: Any, dtype: Any = None, *args: Any, **keywords: Any) -> Any:
        if bare(a) is not a:
            made = convert(bare(a), dtype, *args, **keywords)
            return a._like(made) if keeps and hasattr(a, "_like") else made
        if not _is_traced(a):
            return numpy_function(a, dtype, *args, **keywords)
        keywords.pop("like", None)
        check_options(numpy_function, keywords)
        return traced(a, dtype, *args, **keywords)

    return convert


asarray = _converter(np.asarray, creation.asarray)
asanyarray = _converter(np.asanyarray, creation.asarray)
ascontiguousarray = _converter(np.ascontiguousarray, creation.ascontiguousarray)
asfortranarray = _converter(np.asfortranarray, creation.asfortranarray)
require = _converter(np.require, creation.require)


@functools.wraps(np.asarray_chkfinite)
def asarray_chkfinite(a: Array, dtype: Any = None, order: Any = None) -> Any:
    if not _is_traced(a):
        return np.asarray_chkfinite(a, dtype, order)
    made = creation.asarray(a, dtype, order)
    require_finite(made)
    return made


@functools.wraps(np.fromiter)
def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, **keywords: Any) -> Any:
    if running_trace() is None:
        return np.fromiter(iter, dtype, count, **keywords)
    items = list(itertools.islice(iter, count if count >= 0 else None))
    if not holds_traced(items):
        return np.fromiter(items, dtype, count, **keywords)
    if len(items) < count:
        raise ValueError(f"iterator too short: expected {count} but iterator had only {len(items)}")
    return astype(creation.array(items), dtype, copy=False)


@functools.wraps(np.arange)
def arange(*args: Any, **keywords: Any) -> Any:
    if not any(map(_is_traced, (*args, *keywords.values()))):
        return np.arange(*args, **keywords)
    keywords.pop("like", None)
    check_options(np.arange, keywords)
    return creation.arange(*args, **keywords)


@functools.wraps(np.isscalar)
def isscalar(element: Any) -> bool:
    return np.isscalar(sample(element))


# Arrays to be written into.


def _writable(made: Array) -> Any:
    """A new array, as a traced constant while a trace is running."""
    trace = running_trace()
    if trace is None or isinstance(made, Traced) or not is_inexact(made.dtype):
        return made
    return trace.constant(made)


def _plain_like(a: Any) -> Any:
    """A plain array of the shape and type of a traced one, or of a list of traced numbers."""
    if not isinstance(a, Traced) and not holds_traced(a):
        return a
    a = creation.asarray(a)
    return np.empty(a.shape, a.dtype)


def _maker(name: str) -> Callable[..., Any]:
    numpy_function = getattr(np, name)
    # Uninitialised memory may hold NaN, and zero times NaN would reach the derivative.
    traced = getattr(np, name.replace("empty", "zeros"))
    is_like = name.endswith("_like")

    @functools.wraps(numpy_function)
    def make(*args: Any, **keywords: Any) -> Any:
        if running_trace() is None:
            return numpy_function(*args, **keywords)
        if args and (isinstance(args[0], Traced) or is_like):  # of an outer derivative, perhaps
            args = (_plain_like(args[0]), *args[1:])
        return _writable(traced(*args, **keywords))

    return make


zeros = _maker("zeros")
ones = _maker("ones")
empty = _maker("empty")
eye = _maker("eye")
identity = _maker("identity")
zeros_like = _maker("zeros_like")
ones_like = _maker("ones_like")
empty_like = _maker("empty_like")


@functools.wraps(np.full)
def full(shape: Any, fill_value: Any, *args: Any, **keywords: Any) -> Any:
    if not _is_traced(fill_value):
        return _writable(np.full(shape, fill_value, *args, **keywords))
    keywords.pop("like", None)
    check_options(np.full, keywords)
    return creation.full(shape, creation.asarray(fill_value), *args, **keywords)


@functools.wraps(np.full_like)
def full_like(a: Any, fill_value: Array, *args: Any, **keywords: Any) -> Any:
    if not _is_traced(fill_value):
        a = a if isinstance(a, Traced) else _plain_like(a)
        return _writable(np.full_like(a, fill_value, *args, **keywords))
    check_options(np.full_like, keywords)
    like = a if isinstance(a, Traced) else np.asanyarray(_plain_like(a))
    return creation.full_like(like, creation.asarray(fill_value), *args, **keywords)


@functools.wraps(np.copy)
def copy(a: Any, *args: Any, **keywords: Any) -> Any:
    return _writable(np.copy(creation.asarray(a) if _is_traced(a) else a, *args, **keywords))


_PIECEWISE: Any = np.piecewise


@functools.wraps(_PIECEWISE)
def piecewise(x: Array, condlist: Any, funclist: Any, *args: Any, **keywords: Any) -> Any:
    # The functions may close over traced values that x knows nothing of.
    if running_trace() is not None and not isinstance(x, Traced):
        x = _writable(np.array(x))
    return _PIECEWISE(x, condlist, funclist, *args, **keywords)


@functools.wraps(np.kaiser)
def kaiser(M: int, beta: Any) -> Any:
    if not _is_traced(beta):
        return np.kaiser(M, beta)
    alpha = (M - 1) / 2
    share = 1 - ((np.arange(M) - alpha) / alpha) ** 2 if M > 1 else np.ones(M)
    ends = share <= 0  # where the root has no derivative, and no part in that of the window
    inside = np.i0(beta * np.sqrt(np.where(ends, 1.0, share)))
    return np.where(ends, 1.0, inside) / np.i0(beta)


# Shapes that go together.


@functools.wraps(np.broadcast)
def broadcast(*arrays: Any) -> Any:
    traced = any([_is_traced(a) or getattr(type(a), "holds_array", False) for a in arrays])
    return TracedBroadcast(*arrays) if traced else np.broadcast(*arrays)


# Concatenation by index.


class _Concatenator:
    """``np.r_`` or ``np.c_``.

    NumPy's own arranges the numbers of the entries; the entries follow.
    """

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not any(_is_traced(p) or _has_traced_ends(p) for p in parts):
            return self._plain[key]
        numbers: list[Any] = []
        entries, start = [], 0
        for part in parts:
            if isinstance(part, str):
                if part in ("r", "c"):
                    raise UnsupportedError(
                        f"r_[{part!r}, ...]: np.matrix has no traced form; use np.concatenate"
                    )
                numbers.append(part)
                continue
            values = _range(part) if isinstance(part, slice) else creation.asarray(part)
            numbers.append(start + np.arange(values.size).reshape(values.shape))
            entries.append(ravel(values))
            start += values.size
        order = self._plain[tuple(numbers)]
        return np.concatenate(entries)[order]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def __len__(self) -> int:
        return 0


def _has_traced_ends(part: Any) -> bool:
    return isinstance(part, slice) and any(
        [isinstance(end, Traced) for end in (part.start, part.stop, part.step)]
    )


def _range(part: slice) -> Any:
    """The numbers a slice stands for; an imaginary step is a count, as in NumPy."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return np.linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


r_ = _Concatenator(np.r_)
c_ = _Concatenator(np.c_)


# A Python function, entry by entry.


class vectorize(np.vectorize):
    """As `numpy.vectorize`; entries may be traced, and so may what the function closes over.

    Notes
    -----
    A convenience, as in NumPy: one call of the function an entry. Write the function in NumPy
    to have one operation for all.
    """

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        decorating = not callable(getattr(self, "pyfunc", None))
        if running_trace() is None or decorating:
            return super().__call__(*args, **kwargs)
        excluded = self.excluded or set()
        names = [n for n in kwargs if n not in excluded]
        places = [i for i in range(len(args)) if i not in excluded]
        arrays = [asarray(args[i]) for i in places] + [asarray(kwargs[n]) for n in names]
        cores, outputs = _cores(self.signature, len(arrays))
        loop = np.broadcast_shapes(
            *[a.shape[: a.ndim - k] for a, k in zip(arrays, cores, strict=True)]
        )
        arrays = [
            np.broadcast_to(a, loop + a.shape[a.ndim - k :])
            for a, k in zip(arrays, cores, strict=True)
        ]
        if not size_of(loop):
            return super().__call__(*args, **kwargs)
        results = []
        for index in np.ndindex(*loop):
            given = list(args)
            for i, a in zip(places, arrays, strict=False):
                given[i] = a[index]
            named = {n: a[index] for n, a in zip(names, arrays[len(places) :], strict=True)}
            results.append(self.pyfunc(*given, **{**kwargs, **named}))
        if isinstance(results[0], tuple) or (outputs is not None and outputs > 1):
            columns = list(zip(*results, strict=True))
            return tuple([self._column(k, c, loop) for k, c in enumerate(columns)])
        return self._column(0, results, loop)

    def _column(self, k: int, values: Any, loop: tuple[int, ...]) -> Any:
        """Result ``k`` of all calls, in the type of the first, as NumPy has it."""
        column = _stack([asarray(v) for v in values])
        dtype = asarray(values[0]).dtype if self.otypes is None else np.dtype(self.otypes[k])
        return astype(column, dtype, copy=False).reshape(loop + column.shape[1:])


def _cores(signature: str | None, n: int) -> tuple[list[int], int | None]:
    """Number of core axes of each argument, and how many results, from "(m,n),(n)->(m)"."""
    if signature is None:
        return [0] * n, None
    inputs, outputs = [
        [len([d for d in core.strip("() ").split(",") if d.strip()]) for core in side.split("),")]
        for side in signature.split("->")
    ]
    if len(inputs) != n:
        raise TypeError(f"vectorize: {signature} has {len(inputs)} arguments, {n} were given")
    return inputs, len(outputs)


def _descending(function: Callable[..., Any]) -> Callable[..., Any]:
    """`sort` or `argsort` with the keyword of the array API standard, which NumPy's have not."""

    @functools.wraps(function)
    def sorting(
        a: Any, axis: Any = -1, *args: Any, descending: bool = False, **keywords: Any
    ) -> Any:
        if not descending:
            return function(gathered(a), axis, *args, **keywords)
        a = asarray(a)
        if axis is None:
            a, axis = ravel(a), -1
        # Backwards, so that equal entries keep their order.
        order = np.argsort(np.flip(a, axis), axis, *args, **{"stable": True, **keywords})
        order = a.shape[axis] - 1 - np.flip(order, axis)
        return order if function.__name__ == "argsort" else np.take_along_axis(a, order, axis)

    return sorting


sort = _descending(np.sort)
argsort = _descending(np.argsort)
concatenate = concat = joining("concatenate")
stack = joining("stack")
hstack = joining("hstack")
vstack = joining("vstack")
dstack = joining("dstack")
column_stack = joining("column_stack")

NAMESPACE[:] = [sys.modules[__name__]]
