"""Making arrays like a traced one, and questions about an array that have plain answers.

zeros_like(x), np.ones(n, like=x), ...    constants: they do not move with x
np.array([s, 1.0], like=s), np.full(n, s, like=s), np.arange(s, like=s)
                                          made of traced numbers: stacks and broadcasts

``np.result_type``, ``np.array_str`` and their kind answer for the value that stands there.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.written_values import parts_as_written, refuse_records
from linad.arrays.zero_dim import array as no_number
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import Shape
from linad.core.tree import bare
from linad.errors import UnsupportedError
from linad.rules.arrays_of_objects import objects_of
from linad.rules.joining import stack
from linad.rules.rearranging import spread
from linad.rules.shaping import (
    as_array,
    as_shape,
    astype,
    concrete,
    copy as duplicate,
    form,
    gives_traced,
    laid_as,
    laid_out,
    laid_plainly,
    reshape_,
)

# Constants of the shape of another array.


def _check_dtype(name: str, dtype: Any) -> None:
    """Raise for an array where a dtype belongs: NumPy would ask a traced one for its own."""
    if isinstance(dtype, Traced):
        raise TypeError(f"{name}: expected a dtype, got an array of {dtype.dtype}")


def _holds_no_numbers(dtype: Any) -> bool:
    """Whether arrays of a dtype are of texts or objects, which are plain in a program as well."""
    return dtype is not None and np.dtype(dtype).kind not in "biufc"


def _constant_like(numpy_function: Callable[..., Any], impl: Callable[..., Any]) -> Primitive:
    """A primitive that makes a constant of the shape and dtype of its argument."""
    name = numpy_function.__name__
    primitive = Primitive(name, impl, constant=True)

    def function(
        a: Array,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Shape | None = None,
        *,
        device: Any = None,
    ) -> Any:
        _check_dtype(name, dtype)
        if _holds_no_numbers(dtype):
            return numpy_function(form(a), dtype, order, shape=shape)
        return primitive(a, dtype=dtype, order=order, shape=shape)

    function.__name__ = function.__qualname__ = name
    implements(numpy_function)(function)
    return primitive


zeros_like = _constant_like(np.zeros_like, np.zeros_like)
ones_like = _constant_like(np.ones_like, np.ones_like)
# Uninitialised memory may hold NaN, and zero times NaN would reach the derivative.
empty_like = _constant_like(np.empty_like, np.zeros_like)
filled_like = Primitive("full_like", np.full_like, constant=True)


@implements(np.full_like)
def full_like(
    a: Array,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Shape | None = None,
    *,
    device: Any = None,
) -> Any:
    _check_dtype("full_like", dtype)
    if not isinstance(fill_value, Traced):
        if _holds_no_numbers(dtype):
            return np.full_like(form(a), fill_value, dtype, order, shape=shape)
        return filled_like(a, fill_value=fill_value, dtype=dtype, order=order, shape=shape)
    filled = astype(fill_value, a.dtype if dtype is None else dtype, copy=False)
    y = spread(filled, shape=np.shape(a) if shape is None else as_shape(shape))
    if order in ("K", "A") and shape is not None and y.ndim != np.ndim(a):
        return y
    if order == "K":
        return laid_as(y, a)
    return laid_plainly(y, a) if order == "A" else laid_out(y, order, "full_like")


# Constructors with like=x. NumPy has taken ``like`` away when they are called.

for _make in (np.zeros, np.ones, np.eye, np.identity, np.tri):
    implements(_make)(_make)
implements(np.empty)(np.zeros)


# What makes plain numbers of text and bytes; NumPy itself calls it for ``like=x``.

for _read in (np.frombuffer, np.fromfile, np.fromstring, np.loadtxt, np.genfromtxt):
    implements(_read)(_read)


@implements(np.fromiter)
def fromiter(iter: Any, dtype: Any, count: int = -1) -> Any:
    items = list(itertools.islice(iter, count if count >= 0 else None))
    if not _holds_traced(items):
        return np.fromiter(items, dtype, count)
    if len(items) < count:
        raise ValueError(f"iterator too short: expected {count} but iterator had only {len(items)}")
    return astype(_stacked(items), dtype, copy=False)


@implements(np.fromfunction)
def fromfunction(
    function: Callable[..., Any], shape: Shape, *, dtype: Any = float, **keywords: Any
) -> Any:
    return function(*np.indices(shape, dtype=dtype), **keywords)


@implements(np.full)
def full(
    shape: Any, fill_value: Array, dtype: Any = None, order: Any = "C", *, device: Any = None
) -> Any:
    if not isinstance(fill_value, Traced):
        return np.full(shape, fill_value, dtype, order)
    filled = fill_value if dtype is None else astype(fill_value, dtype, copy=False)
    return no_number(spread(filled, shape=as_shape(shape)))


@implements(np.array)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
) -> Any:
    if ndmax:
        raise UnsupportedError("array: ndmax= is not traced by linad")
    order = order or "K"
    if isinstance(copy, np._CopyMode):
        copy = None if copy is np._CopyMode.IF_NEEDED else bool(copy)
    is_list = isinstance(object, (list, tuple))
    if dtype is not None and np.dtype(dtype).kind == "O":
        return objects_of(object)
    if is_list and dtype is not None and _holds_traced(object):
        refuse_records(np.dtype(dtype))
        object = parts_as_written(object, np.dtype(dtype))
    made = _stacked(object)
    if dtype is not None:
        made = astype(made, dtype, copy=False)
    joined = is_list and isinstance(made, Traced) and made._buffer is None  # memory of its own
    if copy and not (joined and order != "F"):
        return duplicate(_with_axes(made, ndmin), order)
    laid = laid_out(made, order, "array")
    if copy is False and laid is not bare(object):
        raise ValueError(
            "array: copy=False, and a copy is needed; copy=None makes one where it is needed"
        )
    return no_number(_with_axes(laid, ndmin))


def _with_axes(made: Array, ndmin: int) -> Array:
    """An array with at least so many axes, the new ones in front."""
    if made.ndim >= ndmin:
        return made
    return reshape_(made, shape=(1,) * (ndmin - made.ndim) + made.shape)


def _stacked(nested: Any) -> Any:
    """Nested lists of numbers and arrays as one array, traced where an entry is."""
    if isinstance(nested, (list, tuple)) and _holds_traced(nested):
        numbers: list[Any] = []
        shape = _shape_of_numbers(nested, numbers)
        if shape is not None and len(shape) > 1:
            return reshape_(stack(numbers), shape=shape)  # in one step, whatever the depth
        return stack([_stacked(part) for part in nested])
    return as_array(nested)


def _shape_of_numbers(nested: Any, numbers: list[Any]) -> tuple[int, ...] | None:
    """The shape of nested lists of numbers, which are added to a list; None of any other."""
    if not isinstance(nested, (list, tuple)):
        numbers.append(nested)
        plain = isinstance(nested, (Traced, np.ndarray, np.generic, int, float, complex))
        return () if plain and np.ndim(form(nested)) == 0 else None
    shapes = {_shape_of_numbers(part, numbers) for part in nested}
    inner = shapes.pop() if len(shapes) == 1 else None
    return None if inner is None else (len(nested), *inner)


def _holds_traced(nested: Any) -> bool:
    if isinstance(nested, (list, tuple)):
        return any(_holds_traced(part) for part in nested)
    return gives_traced(bare(nested))


@implements(np.asarray, np.asanyarray)
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None
) -> Any:
    return array(a, dtype, copy=copy, order=order or "K")


@implements(np.ascontiguousarray)
def ascontiguousarray(a: Array, dtype: Any = None) -> Any:
    return array(a, dtype, copy=None, order="C", ndmin=1)


@implements(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None) -> Any:
    return array(a, dtype, copy=None, order="F", ndmin=1)


@implements(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    asked = [requirements] if isinstance(requirements, str) else requirements or ()
    asked = {word.upper() for word in asked}
    if asked & {"F", "FORTRAN", "F_CONTIGUOUS"}:
        order = "F"
    else:
        order = "C" if asked & {"C", "CONTIGUOUS", "C_CONTIGUOUS"} else "K"
    return array(a, dtype, copy=None, order=order)


@implements(np.arange)
def arange(
    start: Any = None, stop: Any = None, step: Any = None, *, dtype: Any = None, device: Any = None
) -> Any:
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    values = np.arange(concrete(start), concrete(stop), concrete(step), dtype=dtype)
    if values.dtype.kind not in "fc" or not (isinstance(start, Traced) or isinstance(step, Traced)):
        return values
    steps = np.arange(values.size).astype(values.dtype)
    return astype(start + steps * step, values.dtype, copy=False)


# Questions about the value that stands there now.


def _answer(numpy_function: Callable[..., Any]) -> None:
    plain = PLAIN.get(numpy_function, form)

    def answer(*args: Any, **kwargs: Any) -> Any:
        named = {name: plain(value) for name, value in kwargs.items()}
        return numpy_function(*[plain(a) for a in args], **named)

    answer.__name__ = answer.__qualname__ = numpy_function.__name__
    implements(numpy_function)(answer)


def _printed(x: Array) -> Any:
    return x.printed() if isinstance(x, Traced) else x


def _placed(x: Array) -> Any:
    return x.placed if isinstance(x, Traced) else x


PLAIN = {
    np.min_scalar_type: concrete,
    np.may_share_memory: _placed,
    np.shares_memory: _placed,
    np.array_repr: _printed,
    np.array_str: _printed,
    np.array2string: _printed,
}
"""What a function is asked of, where not of the value alone: a program that is being recorded
holds for values with this answer."""

for _question in (
    np.shape,
    np.ndim,
    np.size,
    np.result_type,
    np.common_type,
    np.min_scalar_type,
    np.iscomplexobj,
    np.isrealobj,
    np.may_share_memory,
    np.shares_memory,
    np.array_repr,
    np.array_str,
    np.array2string,
    np.diag_indices_from,
    np.tril_indices_from,
    np.triu_indices_from,
):
    _answer(_question)


@implements(np.can_cast)
def can_cast(from_: Array, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(_dtype(from_), _dtype(to), casting)


def _dtype(x: Any) -> Any:
    """The dtype of a traced array; anything else as it is."""
    return form(x).dtype if isinstance(x, Traced) else x
