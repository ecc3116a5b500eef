"""Arrays in another shape, order or dtype: the same numbers, so linear maps without arithmetic.

reshape      vec(Y) = vec(X)                 J = I
transpose    Y = X with axes permuted        J a permutation, J^H its inverse
broadcast    Y = X repeated                  J^H sums what was repeated
astype       Y = X in another dtype          J^H casts back, keeping the real part
copy         Y = X in other memory           J = I

An order other than "C" is a permutation of axes around a reshape. "A" and "K" look at the
memory of the concrete value, as NumPy does.
"""

import numbers
from collections.abc import Callable, Sequence
from operator import index as as_index
from typing import Any

import numpy as np
from numpy import generic, ndarray

from linad.arrays.buffers import refresh
from linad.arrays.written_values import stacked
from linad.arrays.zero_dim import array as no_number, gives, is_number
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import EVERY_AXIS, Shape, is_inexact, normalize_axes, normalize_axis
from linad.core.tape import stop
from linad.core.tree import bare
from linad.errors import UnsupportedError
from linad.operators.base import JacobianOperator
from linad.operators.reordering import Broadcast, Permutation, Reshape
from linad.operators.structured import Cast, Identity
from linad.rules.arrays_of_objects import objects_of


def _reshape(x: Array, *, shape: Shape) -> Any:
    return x.reshape(shape) if isinstance(x, (ndarray, generic)) else np.reshape(x, shape)


def _transpose(x: Array, *, axes: tuple[Any, ...]) -> Any:
    return x.transpose(axes) if type(x) is ndarray else np.transpose(x, axes)


reshape_ = Primitive("reshape", _reshape, view=True)
transpose_ = Primitive("transpose", _transpose, view=True)
broadcast_to_ = Primitive("broadcast_to", lambda x, *, shape: np.broadcast_to(x, shape), view=True)


def _astype(x: Array, *, dtype: np.dtype[Any]) -> Any:
    y = np.asarray(x).astype(dtype)
    return y if y.ndim or isinstance(x, np.ndarray) else y[()]


astype_ = Primitive("astype", _astype)
astype_exact = Primitive("astype_exact", _astype, constant=True)
copy_ = Primitive("copy", lambda x, *, layout: np.array(x, order=layout))


@reshape_.jacobian(wrt=0)
def reshape_wrt_x(y: Array, x: Array, *, shape: Shape) -> JacobianOperator:
    return Reshape(y.shape, x.shape, y.dtype)


@transpose_.jacobian(wrt=0)
def transpose_wrt_x(y: Array, x: Array, *, axes: tuple[Any, ...]) -> JacobianOperator:
    return Permutation(axes, x.shape, y.dtype)


@broadcast_to_.jacobian(wrt=0)
def broadcast_to_wrt_x(y: Array, x: Array, *, shape: Shape) -> JacobianOperator:
    return Broadcast(y.shape, x.shape, y.dtype)


@astype_.jacobian(wrt=0)
def astype_wrt_x(y: Array, x: Array, *, dtype: np.dtype[Any]) -> JacobianOperator:
    return Cast(x.shape, y.dtype, x.dtype)


@copy_.jacobian(wrt=0)
def copy_wrt_x(y: Array, x: Array, *, layout: Any) -> JacobianOperator:
    return Identity(y.shape, y.dtype)


def as_array(x: Array) -> Any:
    """``x`` as an array; a traced value stays as it is, and lists that hold some become one."""
    if type(x) is ndarray:
        if not x.dtype.hasobject:
            return x
        array = x
    elif isinstance(x, Traced):
        return x
    else:
        x = of_holder(bare(x))
        if isinstance(x, Traced):
            return x
        array = stacked(x) if isinstance(x, (list, tuple)) else np.asanyarray(x)
    if array.dtype.kind == "O":
        array = of_holder(array)
        if not isinstance(array, Traced):
            raise UnsupportedError(
                f"a {type(x).__name__} of dtype object beside a traced value: arrays of numbers "
                f"are needed"
            )
    return array


def of_holder(x: Any) -> Any:
    """The traced array that an object of a class of its own gives where NumPy asks for one.

    So does an array of objects that are numbers, some of them traced.
    """
    if type(x) is ndarray and x.dtype.kind == "O":
        return stacked(x.tolist()) if _is_of_traced_numbers(x) else x
    if isinstance(x, (np.ndarray, np.generic, Traced)):
        return x
    if not hasattr(type(x), "__array__"):
        return _by_interface(x)
    made = x.__array__()  # NumPy takes no traced one
    return made if isinstance(made, Traced) else x


INTERFACES: list[Callable[[Any], Any]] = []
"""What makes arrays of objects with an ``__array_interface__`` of traced ones, in adopted code."""


def _by_interface(x: Any) -> Any:
    for made in INTERFACES:
        x = made(x)
    return x


def gives_traced(x: Array) -> bool:
    """Whether ``x`` is traced, or what `of_holder` makes traced and that has no say in ufuncs."""
    kind = type(x)
    if kind is float or kind is int:  # of which lists are long
        return False
    if isinstance(x, Traced):
        return True
    mute = kind is ndarray or not hasattr(kind, "__array_ufunc__")
    return mute and isinstance(of_holder(x), Traced)


def _is_of_traced_numbers(x: Array) -> bool:
    entries = x.ravel().tolist()
    traced = [entry for entry in entries if isinstance(entry, Traced)]
    return (
        bool(traced)
        and not any([entry.ndim for entry in traced])
        and all([isinstance(entry, (Traced, numbers.Number)) for entry in entries])
    )


def of_list(x: Array) -> Any:
    """A list or a table's column, which may hold traced numbers, as an array; a number as it is."""
    if isinstance(x, (Traced, ndarray, generic)):  # a tracer would be asked for its class below
        return x
    return as_array(x) if isinstance(x, (list, tuple)) or hasattr(x, "__array__") else x


def concrete(x: Any) -> Any:
    """The plain value of ``x``, for Python to decide on: of a traced one, what it stands for.

    A program that is being recorded holds for this value only, and checks it at each run. What
    can be said in traced operations is better said of `still`.
    """
    return x.decided if isinstance(x, Traced) else x  # type: ignore[attr-defined]


def still(x: Array) -> Any:
    """``x`` without its derivative, to find places, signs and the like.

    A plain array, or what a program that is being recorded computes again at each run: a constant
    to the derivatives of that program as well.
    """
    while isinstance(x, Traced):
        if x._trace.records:
            return stop(x)
        refresh(x)  # type: ignore[arg-type]
        x = x._value  # type: ignore[attr-defined]
    return x


def require_finite(a: Array) -> None:
    """Raise ValueError for infinities and NaNs, as `numpy.asarray_chkfinite`."""
    a = still(a)
    if not isinstance(a, Traced):
        np.asarray_chkfinite(a)
    elif not np.all(np.isfinite(a)):
        raise ValueError("array must not contain infs or NaNs")


def form(x: Any) -> Any:
    """A plain array in place of ``x``, to ask for its dtype and shape; values do not count."""
    return x.concrete if isinstance(x, Traced) else x  # type: ignore[attr-defined]


def layout(x: Array) -> Any:
    """A plain array in place of ``x``, to ask how it lies in memory.

    A program that is being recorded holds for arguments that lie as those it was recorded with.
    """
    return x.laid if isinstance(x, Traced) else x  # type: ignore[attr-defined]


def replaced(x: Array, bad: Array, value: Any) -> Any:
    """``x`` with a number in place of its bad entries.

    Plain arrays without any are not copied; a recorded program decides nothing.
    """
    return np.where(bad, value, x) if isinstance(bad, Traced) or bad.any() else x


def not_boolean(a: Array, name: str) -> Any:
    """``a``, or TypeError for truth values, which NumPy would have to subtract."""
    if a.dtype.kind == "b":
        raise TypeError(f"{name}: booleans cannot be subtracted; expected numbers, a.astype(int)")
    return a


_INT = {int}


def as_shape(shape: Any) -> tuple[int, ...]:
    """An int or a sequence of ints as a tuple."""
    if type(shape) is int:
        return (shape,)
    if type(shape) is tuple and _INT.issuperset(map(type, shape)):
        return shape
    try:
        return tuple([as_index(n) for n in shape])
    except TypeError:
        return (as_index(shape),)


def memory_order(a: Array) -> tuple[int, ...]:
    """The axes of ``a`` as they lie in memory, slowest first, as order="K" reads them."""
    strides = np.asarray(layout(a)).strides
    return tuple(sorted(range(len(strides)), key=lambda k: -abs(strides[k])))


def _is_fortran(a: Array) -> bool:
    """Whether order="A" means "F" for this array."""
    return bool(np.asarray(layout(a)).flags.fnc)


def _check_order(order: str | None, allowed: str, name: str) -> str:
    """``order`` in capitals; None, as NumPy takes it, is the first that is allowed."""
    if order is None:
        return allowed[0]
    if not isinstance(order, str) or order.upper() not in tuple(allowed):
        raise ValueError(f"{name}: order must be one of {', '.join(allowed)}, got {order!r}")
    return order.upper()


def laid_out(a: Array, order: str | None, name: str) -> Any:
    """``a``, or a copy of it where ``order`` asks for a layout that it does not have."""
    order = _check_order(order or "K", "CFAK", name)
    flags = np.asarray(layout(a)).flags
    there = {"C": flags.c_contiguous, "F": flags.f_contiguous}.get(order, True)
    return a if there else copy_(a, layout=order)


def laid_as(y: Array, a: Array) -> Any:
    """``y`` as a copy of ``a``, which has its axes, lies in memory in order "K"."""
    if np.asarray(layout(a)).flags.c_contiguous:
        return laid_out(y, "C", "copy")
    order = memory_order(a)
    return transpose(laid_out(transpose(y, order), "C", "copy"), np.argsort(order))


def laid_plainly(y: Array, a: Array) -> Any:
    """``y`` in order "F" if ``a`` is in that order alone, else in order "C"."""
    return laid_out(y, "F" if _is_fortran(a) else "C", "copy")


@implements(np.reshape)
def reshape(a: Array, /, shape: Any, order: str | None = "C", *, copy: bool | None = None) -> Any:
    order = "C" if order == "C" else _check_order(order, "CFA", "reshape")
    target = as_shape(shape)
    if not target and is_number(a):
        return a
    if order == "F" or (order == "A" and _is_fortran(a)):
        y = transpose(reshape_(transpose(a), shape=target[::-1]))
    else:
        y = reshape_.on((a,), {"shape": target})
    if copy is False and not np.shares_memory(layout(y), layout(a)) and y.size:
        raise ValueError("reshape: a copy cannot be avoided")
    return copy_(y, layout="K") if copy else y


@implements(np.ravel)
def ravel(a: Array, order: str | None = "C") -> Any:
    a = as_array(a)
    order = _check_order(order, "CFAK", "ravel")
    if order == "K":
        a = transpose(a, memory_order(a))
    elif order == "F" or (order == "A" and _is_fortran(a)):
        a = transpose(a)
    y = reshape_.on((a,), {"shape": (-1,)})
    plain = layout(a)
    if plain.flags.c_contiguous or not np.may_share_memory(layout(y), plain):
        return y
    # x[::2] has a flat view, but ravel gives contiguous entries: what is written there stays there.
    return copy_(y, layout="K")


@implements(np.transpose)
def transpose(a: Array, axes: tuple[Any, ...] | None = None) -> Any:
    a = as_array(a)
    ndim = a.ndim
    if not ndim and is_number(a):
        return a
    if axes is None:
        order = EVERY_AXIS[ndim][::-1]
    else:
        order = tuple([normalize_axis(k, ndim, "transpose") for k in as_shape(axes)])
    return transpose_.on((a,), {"axes": order})


@implements(np.swapaxes)
def swapaxes(a: Array, axis1: int, axis2: int) -> Any:
    i, j = (normalize_axis(k, a.ndim, "swapaxes") for k in (axis1, axis2))
    axes = list(range(a.ndim))
    axes[i], axes[j] = j, i
    return transpose_(a, axes=tuple(axes))


@implements(np.matrix_transpose)
def matrix_transpose(x: Array, /) -> Any:
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least two axes, got shape {x.shape}")
    return swapaxes(x, -1, -2)


@implements(np.moveaxis)
def moveaxis(a: Array, source: Any, destination: Any) -> Any:
    a = as_array(a)
    moved = _distinct(source, a.ndim, "moveaxis: source")
    places = _distinct(destination, a.ndim, "moveaxis: destination")
    if len(moved) != len(places):
        raise ValueError("moveaxis: source and destination must have the same number of axes")
    order = [k for k in range(a.ndim) if k not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return transpose_(a, axes=tuple(order))


def _distinct(axes: Any, ndim: int, name: str) -> tuple[int, ...]:
    """Axes in the order given, non-negative and without repetition."""
    found = tuple([normalize_axis(k, ndim, name) for k in as_shape(axes)])
    normalize_axes(found, ndim, name)
    return found


@implements(np.rollaxis)
def rollaxis(a: Array, axis: int, start: int = 0) -> Any:
    axis, start = normalize_axis(axis, a.ndim, "rollaxis"), as_index(start)
    if not -a.ndim <= start <= a.ndim:
        raise np.exceptions.AxisError(f"rollaxis: start {start} for an array of {a.ndim} axes")
    start += a.ndim if start < 0 else 0
    return moveaxis(a, axis, start - (axis < start))


@implements(np.expand_dims)
@gives(no_number)
def expand_dims(a: Array, axis: Any) -> Any:
    a = as_array(a)
    ndim = a.ndim + len(as_shape(axis))
    added = normalize_axes(as_shape(axis), ndim, "expand_dims")
    lengths = iter(a.shape)
    return reshape_(a, shape=tuple([1 if k in added else next(lengths) for k in range(ndim)]))


@implements(np.squeeze)
def squeeze(a: Array, axis: Any = None) -> Any:
    if axis is None:
        dropped: Sequence[int] = [k for k, n in enumerate(a.shape) if n == 1]
    else:
        # One axis 0 or -1 is taken for none where there is none.
        lenient = not a.ndim and axis in (0, -1)
        dropped = () if lenient else normalize_axes(as_shape(axis), a.ndim, "squeeze")
        if any(a.shape[k] != 1 for k in dropped):
            raise ValueError(
                f"squeeze: axis {axis} of an array of shape {a.shape} has not the length 1"
            )
    if not len(dropped):
        return a  # the array itself, as NumPy's is
    return reshape_(a, shape=tuple([n for k, n in enumerate(a.shape) if k not in dropped]))


@implements(np.broadcast_to)
def broadcast_to(array: Array, shape: Shape, subok: bool = False) -> Any:
    # Of the same shape it is a view, too, and read-only.
    return broadcast_to_(no_number(as_array(array)), shape=as_shape(shape))


@implements(np.broadcast_arrays)
@gives(no_number)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    arrays = [as_array(x) for x in args]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return tuple([x if x.shape == shape else broadcast_to(x, shape) for x in arrays])


@implements(np.astype)
def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return copy_(x, layout="K") if copy and not is_number(x) else x
    if is_inexact(dtype):
        return astype_(x, dtype=dtype)
    if dtype.kind == "O":
        return objects_of(x)
    # Integers, booleans and strings do not move with x.
    return astype_exact(x, dtype=dtype)


@implements(np.copy)
def copy(a: Array, order: str | None = "K", subok: bool = False) -> Any:
    return copy_(a, layout=_check_order("K" if order is None else order, "CFAK", "copy"))
