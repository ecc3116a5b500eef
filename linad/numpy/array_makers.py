"""Arrays made of numbers, and arrays to be written into, while a trace may be running."""

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.core.numpy_options import check_options
from linad.core.primitive import Traced
from linad.core.shapes import is_inexact
from linad.core.tree import bare
from linad.numpy.nested_lists import holds_traced, is_traced
from linad.rules import creation
from linad.rules.shaping import astype, require_finite

# Arrays made of numbers.


@functools.wraps(np.array)
def array(object: Any, dtype: Any = None, **keywords: Any) -> Any:
    if bare(object) is not object:  # of adopted code: an array with units, say
        made = array(bare(object), dtype, **keywords)
        return object._like(made) if keywords.get("subok") and hasattr(object, "_like") else made
    if not is_traced(object):
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
        if not is_traced(a):
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
    if not is_traced(a):
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
    if not any(map(is_traced, (*args, *keywords.values()))):
        return np.arange(*args, **keywords)
    keywords.pop("like", None)
    check_options(np.arange, keywords)
    return creation.arange(*args, **keywords)


# Arrays to be written into.


def writable(made: Array) -> Any:
    """A new array, as a traced constant while a trace is running."""
    trace = running_trace()
    if trace is None or isinstance(made, Traced) or not is_inexact(made.dtype):
        return made
    return trace.constant(made)


def plain_like(a: Any) -> Any:
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
            args = (plain_like(args[0]), *args[1:])
        return writable(traced(*args, **keywords))

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
    if not is_traced(fill_value):
        return writable(np.full(shape, fill_value, *args, **keywords))
    keywords.pop("like", None)
    check_options(np.full, keywords)
    return creation.full(shape, creation.asarray(fill_value), *args, **keywords)


@functools.wraps(np.full_like)
def full_like(a: Any, fill_value: Array, *args: Any, **keywords: Any) -> Any:
    if not is_traced(fill_value):
        a = a if isinstance(a, Traced) else plain_like(a)
        return writable(np.full_like(a, fill_value, *args, **keywords))
    check_options(np.full_like, keywords)
    like = a if isinstance(a, Traced) else np.asanyarray(plain_like(a))
    return creation.full_like(like, creation.asarray(fill_value), *args, **keywords)


@functools.wraps(np.copy)
def copy(a: Any, *args: Any, **keywords: Any) -> Any:
    return writable(np.copy(creation.asarray(a) if is_traced(a) else a, *args, **keywords))
