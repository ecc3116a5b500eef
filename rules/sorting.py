"""Sorting and searching.

y = x[order]          J selects: row k of the identity is that of the entry that came k-th
order = argsort(x)    an integer result, constant wherever its derivative exists

So sort, partition and unique are selections along an axis, at indices that argsort,
argpartition and unique find. Equal entries keep their order in `sort`, if no other kind is asked
for: so the derivative at a tie is the same wherever it is computed. That of `argsort` and
`partition` is of the order which NumPy finds. `unique` gives the derivative of the first of equal
entries.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import FUNCTIONS, implements, implements_ufunc
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import normalize_axis
from linad.core.tape import Var
from linad.errors import UnsupportedError
from linad.rules.shaping import as_array, concrete, laid_as, of_list, ravel

# Results that are integers or booleans.

LEFT_OUT: dict[Any, Any] = {
    **{f: lambda a, where: a | ~where for f in (np.all, np.logical_and)},
    **{f: lambda a, where: a & where for f in (np.any, np.logical_or, np.logical_xor)},
}
"""What changes nothing stands where ``where=`` is False: of truth values, a traced mask is one."""


def _without_where(
    left_out: Callable[..., Any], a: Any, *args: Any, where: Array = True, **kwargs: Any
) -> Any:
    """The arguments of a reduction over truth values, its traced mask taken into ``a``."""
    if isinstance(where, Traced):
        a = as_array(a).astype(bool)
        return (left_out(a, np.broadcast_to(where, a.shape)), *args), kwargs
    return (a, *args), kwargs | {"where": where}


PICKED = {np.argmax, np.argmin, np.nanargmax, np.nanargmin}


def _note(values: Any) -> None:
    """Tell the traces of some values that one of these is picked: a search may do so."""
    held = values
    while isinstance(held, Traced):
        held._trace.pick(values)
        held = held._value


def constant(function: Any) -> Any:
    """Register a NumPy function whose results are constant; return its primitive."""
    primitive = Primitive(function.__name__, function, constant=True)
    left_out = LEFT_OUT.get(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(v, Traced) for v in kwargs.values()):
            bound = inspect.signature(function).bind(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
            if left_out is not None:
                args, kwargs = _without_where(left_out, *args, **kwargs)
        if function in PICKED:
            _note(args[0])
        return primitive(*args, **kwargs)

    call.__name__ = call.__qualname__ = function.__name__
    FUNCTIONS[function] = call
    return primitive


for _function in (
    np.all,
    np.any,
    np.argmax,
    np.argmin,
    np.argpartition,
    np.argsort,
    np.isin,
):
    constant(_function)
for _function in (np.nanargmax, np.nanargmin):
    constant(_function).partial = "a number in each slice"
digitize_ = constant(np.digitize)
digitize_.partial = "between ordered bins"
digitize_.stumbles = lambda x, bins, *right: isinstance(bins, Var)
if hasattr(np, "in1d"):  # until NumPy 2.3
    constant(np.in1d)  # noqa: NPY201


searchsorted_ = Primitive("searchsorted", np.searchsorted, constant=True)


@implements(np.searchsorted)
def searchsorted(a: Array, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if sorter is None:
        return searchsorted_(a, v, side=side)
    if not isinstance(sorter, Traced):
        return searchsorted_(a, v, side=side, sorter=sorter)
    if sorter.shape != np.shape(a):
        raise ValueError(
            f"searchsorted: sorter has the shape {sorter.shape}, and the array {np.shape(a)}"
        )
    return searchsorted_(np.take(a, sorter), v, side=side)


lexsort_ = Primitive("lexsort", lambda *keys, axis: np.lexsort(keys, axis), constant=True)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    return lexsort_(*keys, axis=axis)


def _logical_method(ufunc: Any, method: str) -> None:
    primitive = Primitive(f"{ufunc.__name__}_{method}", getattr(ufunc, method), constant=True)

    def call(*args: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("where"), Traced):
            args, kwargs = _without_where(LEFT_OUT[ufunc], *args, **kwargs)
        return primitive(*args, **kwargs)

    implements_ufunc(ufunc, method)(call)


for _ufunc in (np.logical_and, np.logical_or, np.logical_xor):
    for _method in ("reduce", "accumulate"):
        _logical_method(_ufunc, _method)


# Selections.


def _check_order(name: str, order: Any) -> None:
    if order is not None:
        raise UnsupportedError(f"{name}: order={order!r} names fields, which no array here has")


@implements(np.sort)
def sort(
    a: Array, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    _check_order("sort", order)
    if axis is None:
        a, axis = ravel(a), -1
    axis = normalize_axis(axis, a.ndim, "sort")
    if kind is None and stable is None:
        kind = "stable"
    places = np.argsort(a, axis=axis, kind=kind, stable=stable)
    return laid_as(np.take_along_axis(a, places, axis=axis), a)


@implements(np.sort_complex)
def sort_complex(a: Array) -> Any:
    y = sort(a)
    if y.dtype.kind == "c":
        return y
    # Of floats of single precision, too, doubles are made.
    return np.astype(y, np.complex64 if y.dtype.char in "bhBH" else np.complex128)


@implements(np.partition)
def partition(
    a: Array, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    _check_order("partition", order)
    if axis is None:
        a, axis = ravel(a), -1
    axis = normalize_axis(axis, a.ndim, "partition")
    places = np.argpartition(a, kth, axis=axis, kind=kind)
    return laid_as(np.take_along_axis(a, places, axis=axis), a)


# Unique entries, and sets of them.


def _unique_positions(a: Array, **keywords: Any) -> Any:
    return np.unique(a, return_index=True, return_inverse=True, return_counts=True, **keywords)[1:]


unique_positions = Primitive("unique_positions", _unique_positions, constant=True)


def _unsorted_positions(a: Array) -> Any:
    """Where the entries of np.unique_values(a) stand first.

    Since 2.3 NumPy gives them in the order of a hash table for some types.
    """
    values = np.unique_values(a)
    first = np.unique(a, return_index=True, equal_nan=False)[1]
    positions = np.empty_like(first)
    positions[np.argsort(values)] = first
    return positions


unsorted_positions = Primitive("unsorted_positions", _unsorted_positions, constant=True)


@implements(np.unique)
def unique(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    **keywords: Any,
) -> Any:
    ar = as_array(ar)
    found = unique_positions(ar, axis=axis, equal_nan=equal_nan, **keywords)
    values = ravel(ar)[found[0]] if axis is None else np.take(ar, found[0], axis=axis)
    asked = (return_index, return_inverse, return_counts)
    extra = [part for part, wanted in zip(found, asked, strict=True) if wanted]
    return (values, *extra) if extra else values


@implements(np.unique_values)
def unique_values(x: Array, /) -> Any:
    x = as_array(x)
    return ravel(x)[unsorted_positions(x)]


def _unique_tuple(function: Any, **asked: bool) -> None:
    """unique_all, unique_counts, unique_inverse: named tuples, of NumPy's own types."""
    kind = type(function(np.zeros(1)))

    @implements(function)
    def unique_(x: Array, /) -> Any:
        return kind(*unique(x, equal_nan=False, **asked))

    unique_.__name__ = unique_.__qualname__ = function.__name__


_unique_tuple(np.unique_all, return_index=True, return_inverse=True, return_counts=True)
_unique_tuple(np.unique_counts, return_counts=True)
_unique_tuple(np.unique_inverse, return_inverse=True)


@implements(np.union1d)
def union1d(ar1: Array, ar2: Array) -> Any:
    return unique(np.concatenate([ravel(as_array(ar1)), ravel(as_array(ar2))]))


@implements(np.setdiff1d)
def setdiff1d(ar1: Array, ar2: Array, assume_unique: bool = False) -> Any:
    ar1 = ravel(as_array(ar1)) if assume_unique else unique(ar1)
    return ar1[~np.isin(ar1, of_list(ar2))]


@implements(np.setxor1d)
def setxor1d(ar1: Array, ar2: Array, assume_unique: bool = False) -> Any:
    ar1, ar2 = (ravel(as_array(a)) if assume_unique else unique(a) for a in (ar1, ar2))
    both = np.concatenate([ar1[~np.isin(ar1, ar2)], ar2[~np.isin(ar2, ar1)]])
    return sort(both)


@implements(np.intersect1d)
def intersect1d(
    ar1: Array, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    ar1, ar2 = ravel(as_array(ar1)), ravel(as_array(ar2))
    values, *where = np.intersect1d(
        np.asarray(concrete(ar1)), np.asarray(concrete(ar2)), assume_unique, True
    )
    # A common value belongs to the first set.
    values = ar1[where[0]]
    return (values, *where) if return_indices else values
