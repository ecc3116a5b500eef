"""Reading entries of arrays: slices, integers, arrays of integers, masks.

y = x[index]              J selects rows of the identity; an entry read twice has two rows
x = add_at(y, index)      its adjoint: zeros, with the values of y added at the index

Each is the adjoint of the other, so the pair is closed under differentiation. Masks become
integer arrays while the function runs (they do not move with x); any other index becomes a
canonical one first, see `linad.core.indices`.
"""

from types import NoneType
from typing import Any

import numpy as np
from numpy import ndarray

from linad.arrays.buffers import concrete, root_of, with_parent
from linad.arrays.moving import moves, moving_region, names_a_part, taken_up
from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import array, gives, is_number, number
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.indices import WHOLE, BasicIndex, DistinctIndex, Index, canonical
from linad.core.moving_regions import in_a_body
from linad.core.primitive import Primitive, Traced, innermost_trace
from linad.core.shapes import Shape, normalize_axis, size_of
from linad.core.traced_positions import has_positions, is_position
from linad.core.ufunc_keywords import refuse_out
from linad.core.view_regions import repeats
from linad.errors import ShapeError
from linad.operators.base import JacobianOperator
from linad.operators.facts import real_dtype
from linad.operators.relation_shapes import moved
from linad.operators.relations import Gather
from linad.rules.gathering import by_positions
from linad.rules.shaping import (
    as_array,
    broadcast_to,
    copy_,
    form,
    laid_out,
    ravel,
    reshape_,
    transpose_,
)


def _accumulate(total: Array, index: Index, values: Array) -> None:
    """``total[..., index] += values``, in place, an entry named twice collecting twice."""
    if index.repeats(total.shape):
        np.add.at(total, index.seeded, values)
    else:
        total[index.seeded] += values


def _add_at(values: Array, *, index: Index, shape: Shape) -> Any:
    total = np.zeros(shape, values.dtype)
    _accumulate(total, index, values)
    return total


getitem_ = Primitive("getitem", lambda x, *, index: x[index], view=True)
add_at = Primitive("add_at", _add_at)


class Selection(JacobianOperator):
    """y = x[..., index]: rows of the identity.

    Parameters
    ----------
    index : Index
        In canonical form, for the trailing axes of x.
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    The pushforward costs a read of y's entries. So does `pullback_into`, whatever the size of
    x, which is why a sweep that holds the cotangent of x uses it; `pullback` has to make
    zeros of the size of x first.
    """

    copies = True
    unknown = "triangles definiteness diagonal_entries spectral_norm adjoint_form multiple"

    def __init__(
        self, index: Index, out_shape: Shape, in_shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.index = index
        self.owns_result = index.advanced
        # A 0-d cotangent may be a NumPy scalar, which cannot be added to in place.
        self.scatters = in_shape != ()
        self.out_shape, self.in_shape, self.dtype = out_shape, in_shape, dtype

    def pushforward(self, tangent: Array) -> Array:
        return tangent[self.index.seeded]

    def pullback(self, cotangent: Array) -> Array:
        seeds = cotangent.shape[: cotangent.ndim - len(self.out_shape)]
        return add_at(cotangent, index=self.index, shape=seeds + self.in_shape)

    def pullback_into(self, cotangent: Array, total: Array) -> None:
        index = self.index
        if total.ndim == len(self.in_shape) and type(total) is np.ndarray and not index.advanced:
            total[tuple(index)] += cotangent  # no seeds: of one entry, this is a sum of numbers
        else:
            _accumulate(total, index, cotangent)

    def relation(self) -> Gather:
        return moved(self)

    def relation_key(self) -> Any:
        return self.index

    def is_permutation(self) -> bool:
        """Whether every entry is read exactly once."""
        return self.shape[0] == self.shape[1] and not self.index.repeats(self.in_shape)

    def pattern_names(self) -> set[str]:
        return {"permutation", "unitary"} if self.is_permutation() else {"selection"}

    def isometric(self) -> bool:
        return self.is_permutation()

    def column_squares(self) -> Any:
        """How often each entry is read."""
        reads = np.bincount(self.relation().source, minlength=self.shape[1])
        return reads.astype(real_dtype(self.dtype))

    def inverse_form(self) -> JacobianOperator | None:
        # S^-1 = S^T where S is a permutation
        return self.H if self.is_permutation() else None


@getitem_.jacobian(wrt=0)
def getitem_wrt_x(y: Array, x: Array, *, index: Any) -> JacobianOperator:
    return Selection(index, y.shape, x.shape, y.dtype)


@add_at.jacobian(wrt=0)
def add_at_wrt_values(y: Array, values: Array, *, index: Any, shape: Shape) -> JacobianOperator:
    return Selection(index, values.shape, shape, y.dtype).H


SIMPLE = {int, slice, NoneType}
PLAIN = {*SIMPLE, list, ndarray, type(Ellipsis)}
_INT = {int}

NUMBERED = 64
_numbered = [BasicIndex((k,)) for k in range(NUMBERED)]
"""Indices of the first entries of a vector, which need not be made again."""


@implements(np.ndarray.__getitem__)
def getitem(x: Array, index: Any) -> Any:
    kind = type(index)
    ndim = x._value.ndim if type(x) is Tracer else x.ndim  # a call of Python less
    if kind is int and ndim == 1 and 0 <= index < NUMBERED:
        return getitem_.on((x,), {"index": _numbered[index]})
    if in_a_body.get() and moves(index):
        return _moving(x, index)
    # The common cases, without the general reading of indices.
    if (kind is slice or kind is int) and ndim:
        return getitem_.on((x,), {"index": BasicIndex((index,) + (WHOLE,) * (ndim - 1))})
    entries = index if kind is tuple else (index,)
    if kind is NoneType or SIMPLE.issuperset(map(type, entries)):
        missing = ndim - len(entries) + entries.count(None)
        if missing >= 0:
            if missing:
                entries += (WHOLE,) * missing
            return getitem_.on((x,), {"index": BasicIndex(entries)})
    elif kind is tuple and entries[0] is Ellipsis and SIMPLE.issuperset(map(type, entries[1:])):
        entries = entries[1:]
        missing = ndim - len(entries) + entries.count(None)
        if missing > 0 or (not missing and slice in map(type, entries)):  # else it is one entry
            return getitem_.on((x,), {"index": BasicIndex((WHOLE,) * missing + entries)})
        entries = index
    if kind is ndarray and ndim and index.ndim and index.dtype.kind in "iu":
        # Entries of the first axis; of a copy, since the caller may write into the index.
        return getitem_.on((x,), {"index": Index((index.copy("K"), *(WHOLE,) * (ndim - 1)))})
    if not PLAIN.issuperset(map(type, entries)) and any([is_position(e) for e in entries]):
        if _is_copy(x, entries):
            return by_positions(x, entries)
        if names_a_part(index) and _shows_parts(x):
            return _moving(x, index)
    place = 0 if kind is ndarray else _of_one_array(entries)
    if place is not None:
        known = _with_one_array(entries, place, x.shape)
        if known is not None:
            return getitem_.on((x,), {"index": known})
    return _by_general_index(x, index, entries)


def _is_copy(x: Array, entries: tuple[Any, ...]) -> bool:
    """Whether an index with traced integers in it gives a copy, or a number, of known shape."""
    if not has_positions(entries):
        return False
    if any([type(e) is not slice and np.ndim(e) for e in entries if e is not Ellipsis]):
        return True
    if len(entries) == x.ndim and all([is_position(e) or type(e) is int for e in entries]):
        return True
    return _has_scalar_array(entries) and not any([e is Ellipsis for e in entries])


def _by_general_index(x: Array, index: Any, entries: tuple[Any, ...]) -> Any:
    """Entries by an index of any kind; ``entries`` are its parts as they were given."""
    given = x
    shape, axes, index = canonical(index, x.shape)
    if shape != x.shape:
        x = reshape_(x, shape=shape)
    if axes is not None:
        x = transpose_(x, axes=axes)
    with_gap = any([entry is Ellipsis for entry in entries])
    if _INT.issuperset(map(type, index)):
        if not with_gap:
            return getitem_(x, index=index)
        if not index:
            return array(x)
        if not _has_scalar_array(entries):
            return _entry_as_view(x, index)
        return copy_(getitem_(x, index=index), layout="K")
    if _has_scalar_array(entries):
        # NumPy makes a copy where the integer is an array, and a view where it is a number.
        return copy_(getitem_(x, index=index), layout="K")
    if x is not given and all([type(entry) is slice and entry == WHOLE for entry in index]):
        return x
    return getitem_.on((x,), {"index": index})


def _of_one_array(entries: tuple[Any, ...]) -> int | None:
    """Which entry of an index is an array, if one is and the others are slices."""
    kinds = list(map(type, entries))
    if kinds.count(ndarray) == 1 and kinds.count(slice) == len(kinds) - 1:
        return kinds.index(ndarray)
    return None


def _with_one_array(entries: tuple[Any, ...], place: int, shape: Shape) -> Index | None:
    """The index of one array of integers, or a mask, among slices; None if it is no such."""
    array = entries[place]
    stop = place + array.ndim
    if array.dtype.kind in "iu" and array.ndim:
        parts, rest = (array.copy("K"),), len(shape) - len(entries)  # the caller may write into it
    elif array.dtype.kind == "b" and array.ndim and array.shape == shape[place:stop]:
        parts, rest = array.nonzero(), len(shape) - len(entries) - array.ndim + 1
    else:
        return None
    if rest < 0:
        return None
    kind = DistinctIndex if array.dtype.kind == "b" else Index
    return kind((*entries[:place], *parts, *entries[place + 1 :], *(WHOLE,) * rest))


def _moving(x: Array, index: Any) -> Any:
    """``x[index]`` with integers in it that are traced, in the body of a loop."""
    index = taken_up(index)
    entries = index if type(index) is tuple else (index,)
    if not isinstance(x, Traced):
        array = base = np.asarray(x, order="C")
        return moving_region(index, array, base)[0].read_from(array)
    trace = _innermost(entries)
    if trace.level > x._trace.level:
        x = trace.own(x)
    view = x._trace.level >= trace.level and _shows_parts(x)
    if not view:
        x = copy_(x, layout="C")
    root = root_of(x)
    moving, target = moving_region(index, concrete(x), concrete(root))
    region: Any = with_parent(x, moving)
    if not target.ndim and not any([e is Ellipsis for e in entries]):
        region.inner.scalar = True
        return region.read_from(root)
    y = root.read_at(region)
    if not view:
        return broadcast_to(y, y.shape)  # NumPy's is a view: this one refuses writes
    return copy_(y, layout="K") if _has_arrays(entries) else y


def _shows_parts(x: Any) -> bool:
    """Whether a part of a traced array that moves can be shown: it lies in memory in C order."""
    if not isinstance(x, Traced):
        return False
    base: Any = concrete(root_of(x))
    return base.flags.c_contiguous and not repeats(concrete(x))


def _innermost(entries: tuple[Any, ...]) -> Any:
    """The trace of the integers in an index."""
    found = [v for e in entries for v in ((e.start, e.stop) if type(e) is slice else (e,))]
    return innermost_trace(tuple(found))


def _has_arrays(entries: tuple[Any, ...]) -> bool:
    return any([isinstance(e, Traced) and not is_number(e) for e in entries])


def _entry_as_view(x: Array, index: Index) -> Any:
    """``x[1, 2, ...]``: a 0-d view, where ``x[1, 2]`` is a number."""
    form(x)[index]  # raises where an integer is out of range, as a slice does not
    view = getitem_(x, index=BasicIndex([slice(i, i + 1 or None) for i in index]))
    return reshape_(view, shape=())


def _has_scalar_array(entries: tuple[Any, ...]) -> bool:
    """Whether an index has integer arrays without axes, and no others."""
    arrays = [e for e in entries if isinstance(e, np.ndarray | Traced) and not is_number(e)]
    return bool(arrays) and all(e.ndim == 0 and e.dtype.kind != "b" for e in arrays)


def along(x: Array, axis: int, entry: Any) -> Any:
    """``x[:, ..., entry, ..., :]`` with the entry at ``axis``."""
    return getitem(x, (WHOLE,) * axis + (entry,) if axis else entry)


@implements(np.take)
@gives(number)
def take(
    a: Array, indices: Array, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Any:
    if out is not None:
        refuse_out("take", (out,))
    a = as_array(a)
    if axis is None and a.ndim == 1:
        axis = 0
    elif axis is None or (not a.ndim and axis in (0, -1)):
        a, axis = ravel(a), 0
    else:
        axis = normalize_axis(axis, a.ndim, "take")
    if mode == "raise" and moves(indices):
        return copy_(along(a, axis, indices), layout="C") if a.ndim > 1 else getitem(a, indices)
    if is_position(indices) and a.size:
        picked = _within(indices, a.shape[axis], mode)
        y = by_positions(a, ((WHOLE,) * axis + (picked,)))
        return laid_out(y, "C", "take") if y.ndim > 1 else y
    picked = np.asarray(indices)
    if picked.size == 0 and not isinstance(indices, np.ndarray):
        picked = picked.astype(np.intp)
    if picked.dtype != np.intp:
        if not np.can_cast(picked.dtype, np.intp, "same_kind"):
            raise TypeError(f"take: indices must be integers, got dtype {picked.dtype}")
        picked = picked.astype(np.intp)
    if not size_of(a.shape[:axis]) and picked.size:  # no lane is taken from: any index will do
        return np.reshape(a, a.shape[:axis] + picked.shape + a.shape[axis + 1 :])
    y = along(a, axis, _within(picked, a.shape[axis], mode))
    # An index leaves the axes of an array of integers in front in memory, take does not.
    return laid_out(y, "C", "take") if y.ndim > 1 else y


def _within(indices: Array, n: int, mode: str) -> Any:
    """Indices of an axis of length n as `numpy.take` reads them."""
    if mode == "raise":
        return indices
    if mode not in ("wrap", "clip"):
        raise ValueError(f"take: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if n == 0 and indices.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    return indices % n if mode == "wrap" else np.clip(indices, 0, n - 1)


@implements(np.take_along_axis)
def take_along_axis(arr: Array, indices: Array, axis: int | None = -1) -> Any:
    arr = as_array(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
        if np.ndim(indices) != 1:
            raise ValueError("take_along_axis: with axis=None, indices must have one axis")
    axis = normalize_axis(axis, arr.ndim, "take_along_axis")
    if not isinstance(indices, Traced):
        indices = np.asarray(indices)
    if indices.dtype.kind not in "iu":
        raise IndexError(f"take_along_axis: indices must be integers, got {indices.dtype}")
    if indices.ndim != arr.ndim:
        raise ValueError(
            f"take_along_axis: indices {indices.shape} must have as many axes as arr {arr.shape}"
        )
    if arr.ndim == 1:
        return getitem(arr, indices)
    # Every other axis reads its own position.
    ones = (1,) * arr.ndim
    grid = [
        np.arange(n).reshape(*ones[:k], n, *ones[k + 1 :]) if k != axis else indices
        for k, n in enumerate(arr.shape)
    ]
    return getitem(arr, tuple(grid))


@implements(np.compress)
def compress(condition: Any, a: Array, axis: int | None = None, out: Any = None) -> Any:
    if out is not None:
        refuse_out("compress", (out,))
    condition = as_array(condition)
    if condition.ndim != 1:
        raise ShapeError(f"compress: the condition must have one axis, got {condition.shape}")
    return take(a, np.flatnonzero(condition), axis)


@implements(np.extract)
def extract(condition: Array, arr: Array) -> Any:
    return take(ravel(arr), np.flatnonzero(as_array(condition)))


# Where entries are nonzero: integers, which do not move with x.

nonzero = Primitive("nonzero", np.nonzero, constant=True)
flatnonzero = Primitive("flatnonzero", np.flatnonzero, constant=True)
argwhere = Primitive("argwhere", np.argwhere, constant=True)
count_nonzero_ = Primitive(
    "count_nonzero",
    lambda a, *, axis, keepdims: np.asarray(np.count_nonzero(a, axis, keepdims=keepdims)),
    constant=True,
)


def _places(function: Any, primitive: Primitive) -> None:
    @implements(function)
    def places(a: Array) -> Any:
        # How many there are is the length of the result, which anybody may read: a decision.
        int(np.count_nonzero(a))
        return primitive(a)

    places.__name__ = places.__qualname__ = primitive.name


_places(np.nonzero, nonzero)
_places(np.flatnonzero, flatnonzero)
_places(np.argwhere, argwhere)


@implements(np.count_nonzero)
def count_nonzero(a: Array, axis: Any = None, *, keepdims: bool = False) -> Any:
    return count_nonzero_(a, axis=axis, keepdims=keepdims)[()]
