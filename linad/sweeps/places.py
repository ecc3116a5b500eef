"""Where values live: buffers, and the parts of them that variables are."""

import functools
from typing import Any, Literal, NamedTuple

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.regions import Positions, Region, read_region
from linad.core.shapes import Shape, size_of
from linad.transforms.plain_operands import is_frozen
from linad.transforms.rewriting import number_of, params_key

NARROW = 16
"""Entries behind an axis below which a loop over them is too short to be the inner one."""

REMEMBERED = 4096
"""Layouts that are remembered: long programs have few."""

_views: dict[Any, Any] = {}


class InColumns(NamedTuple):
    """Numbers of a program's inputs and results that lie in order F; the others lie in order C."""

    inputs: frozenset[int] = frozenset()
    results: frozenset[int] = frozenset()


ALL_IN_ROWS = InColumns()


class Result(NamedTuple):
    """What `numpy.empty` makes the array of a result with."""

    shape: Shape
    dtype: Any
    order: Literal["C", "F"] = "C"


class Buffer:
    """A stretch of memory of a program.

    Attributes
    ----------
    kind : str
        "arena": scratch of a workspace. "kept": memory of a workspace, zeros at first, in which
        stays what a run leaves. "input", "output": an array of the caller's.
        "constant": an array of the program's, `data`.
    size : int
        Bytes.
    number : int
        Of the input or output.
    offset : int
        Place in the arena.
    owned : bool
        Whether an input may be overwritten, and is then the result of the same number.
    """

    __slots__ = ("data", "first", "kind", "last", "number", "offset", "owned", "size")

    def __init__(self, kind: str, size: int, number: int = -1, data: Any = None) -> None:
        self.kind, self.size, self.number, self.data = kind, size, number, data
        self.offset = 0
        self.owned = False
        self.first = self.last = -1


class Place:
    """An array inside a buffer: offset and strides in bytes."""

    __slots__ = ("buffer", "dtype", "offset", "shape", "strides")

    def __init__(
        self, buffer: Buffer, offset: int, shape: Shape, strides: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.buffer, self.offset = buffer, offset
        self.shape, self.strides, self.dtype = shape, strides, dtype

    @property
    def whole(self) -> bool:
        """Whether it is its buffer, in C order."""
        return (
            self.offset == 0
            and self.contiguous
            and size_of(self.shape) * self.dtype.itemsize == self.buffer.size
        )

    @property
    def whole_in_columns(self) -> bool:
        """Whether it is its buffer, in order F."""
        return Place(
            self.buffer, self.offset, self.shape[::-1], self.strides[::-1], self.dtype
        ).whole

    @property
    def contiguous(self) -> bool:
        """Whether it lies in C order without gaps."""
        return all(
            n == 1 or s == t
            for n, s, t in zip(
                self.shape, self.strides, c_strides(self.shape, self.dtype), strict=True
            )
        )

    @property
    def extent(self) -> tuple[int, int]:
        """First byte, and the one after the last, in the buffer."""
        low = high = self.offset
        for n, s in zip(self.shape, self.strides, strict=True):
            low += min(0, (n - 1) * s)
            high += max(0, (n - 1) * s)
        return low, high + self.dtype.itemsize

    def same(self, other: "Place") -> bool:
        return (
            self.buffer is other.buffer
            and self.offset == other.offset
            and self.shape == other.shape
            and all(
                n == 1 or s == t
                for n, s, t in zip(self.shape, self.strides, other.strides, strict=True)
            )
            and self.dtype == other.dtype
        )

    def overlaps(self, other: "Place") -> bool:
        """Whether two places may have a byte in common.

        To the byte for windows of one array, such as its first and its last column; of others,
        whether the stretches of memory that they span meet.
        """
        if self.buffer is not other.buffer:
            return False
        (a, b), (c, d) = self.extent, other.extent
        if not (a < d and c < b):
            return False
        steps = sorted({*self._lengths(), *other._lengths()}, reverse=True)
        mine, its = self._window(steps), other._window(steps)
        if mine is None or its is None:
            return True
        pairs = zip(mine, its, strict=True)
        return all(first <= stop and start <= last for (first, last), (start, stop) in pairs)

    def _lengths(self) -> dict[int, int]:
        """The length along each stride; of axes of the same stride that of the last."""
        return {s: n for n, s in zip(self.shape, self.strides, strict=True) if n != 1}

    def _window(self, steps: list[int]) -> list[tuple[int, int]] | None:
        """Along each of some strides, and in bytes, where its entries are, from and to.

        None where a byte could be reached in two ways: then these numbers say nothing.
        """
        lengths = self._lengths()
        if len(lengths) != sum([n != 1 for n in self.shape]) or (steps and steps[-1] <= 0):
            return None
        rest, found = self.offset, []
        for step in steps:
            first, rest = divmod(rest, step)
            found.append((first, first + lengths.get(step, 1) - 1))
        found.append((rest, rest + self.dtype.itemsize - 1))
        reach, step = 0, 1
        for (_, last), outer in zip(found[:0:-1], steps[::-1], strict=True):
            reach += last * step
            if reach >= outer:
                return None
            step = outer
        return found

    def array(self, base: Array) -> np.ndarray:
        """The NumPy array that it is, in a buffer's memory."""
        return np.ndarray(self.shape, self.dtype, base, self.offset, self.strides)


@functools.lru_cache(REMEMBERED)
def c_strides(shape: Shape, dtype: np.dtype[Any]) -> Shape:
    """Strides, in bytes, of an array in C order."""
    strides = []
    step = np.dtype(dtype).itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def f_strides(shape: Shape, dtype: np.dtype[Any]) -> Shape:
    """Strides, in bytes, of an array in order F."""
    return c_strides(shape[::-1], dtype)[::-1]


@functools.lru_cache(256)
def canonical(dtype: np.dtype[Any]) -> Any:
    """The one object that NumPy gives its own arrays for a dtype; unpickled ones are others."""
    dtype = np.dtype(dtype)
    return np.dtype(dtype.type) if dtype.kind in "biufc" and dtype.isnative else dtype


def new_place(
    shape: Shape, dtype: np.dtype[Any], kind: str = "arena", in_columns: bool = False
) -> Place:
    """An array in a buffer of its own, in C order or ``in_columns``, in order F."""
    dtype = canonical(dtype)
    buffer = Buffer(kind, size_of(shape) * dtype.itemsize)
    strides = f_strides(shape, dtype) if in_columns else c_strides(shape, dtype)
    return Place(buffer, 0, shape, strides, dtype)


def place_with_rows_last(shape: Shape, dtype: np.dtype[Any], axis: int) -> Place:
    """An array in a buffer of its own, the entries of one axis side by side where those behind it
    are few."""
    place = new_place(shape, dtype)
    if not 1 < size_of(shape[axis + 1 :]) < NARROW:
        return place
    *strides, last = c_strides((*shape[:axis], *shape[axis + 1 :], shape[axis]), dtype)
    strides.insert(axis, last)
    return Place(place.buffer, 0, shape, tuple(strides), place.dtype)


def constant_place(value: Array) -> Place:
    """An array whose entries the program knows."""
    data = np.asarray(value)
    if not (data.flags.c_contiguous and data.flags.aligned and is_frozen(data)):
        data = np.array(value, order="C")
    buffer = Buffer("constant", data.nbytes, data=data)
    return Place(buffer, 0, data.shape, data.strides, data.dtype)


def known_place(value: Array) -> Place:
    """An operand that the program knows. Of equal entries it keeps one, which all of them are."""
    number = number_of(value) if np.size(value) > 1 else None
    if number is None:
        return constant_place(value)
    return spread_over(constant_place(number), np.shape(value), 0)


def view_place(primitive: Primitive, params: dict[str, Any], place: Place) -> Place | None:
    """Where the result of a view is, or None where the operation has to copy.

    NumPy itself is asked: the operation runs on an array laid out like the place. Nothing is
    read unless it copies, and then the answer is None. The answer is remembered.
    """
    if not size_of(place.shape):
        return None
    key = primitive, params_key(params), place.shape, place.strides, place.dtype
    try:
        found = _views.get(key, False)
    except TypeError:
        found = _find_view(primitive, params, place)
    else:
        if found is False:
            if len(_views) >= REMEMBERED:
                _views.clear()
            found = _views[key] = _find_view(primitive, params, place)
    if found is None:
        return None
    step, shape, strides, dtype = found
    return Place(place.buffer, place.offset + step, shape, strides, dtype)


def _find_view(primitive: Primitive, params: dict[str, Any], place: Place) -> Any:
    """Offset from a place, shape, strides and dtype of a view of it."""
    low, high = place.extent
    memory = np.empty(high - low, np.uint8)
    array = np.ndarray(place.shape, place.dtype, memory, place.offset - low, place.strides)
    view = _viewed(primitive, params, array)
    if not isinstance(view, np.ndarray) or not view.size or not np.may_share_memory(view, memory):
        return None
    offset = view.__array_interface__["data"][0] - memory.__array_interface__["data"][0] + low
    return offset - place.offset, view.shape, view.strides, view.dtype


def window_place(region: Region, place: Place) -> Place | None:
    """The part of a place that a region is, where that is a view."""
    if not place.contiguous or len(place.shape) < region.ndim or isinstance(region, Positions):
        return None  # a list of entries is not a view
    return view_place(read_region, {"region": region}, place)


def _viewed(primitive: Primitive, params: dict[str, Any], array: np.ndarray) -> Any:
    """The result of a view, an array even where NumPy would make a number of one entry."""
    if primitive.name == "getitem":
        return array[(..., *params["index"])]
    if primitive.name in ("read_region", "view_region"):
        return params["region"].take(array)
    return primitive.impl(array, **params)


def spread_over(place: Place, batch: Shape, core: int) -> Place:
    """The place as a stack of the shape ``batch``, of entries with ``core`` axes."""
    lead = len(place.shape) - core
    missing = len(batch) - lead
    strides = [
        0 if n == 1 else s for n, s in zip(place.shape[:lead], place.strides[:lead], strict=True)
    ]
    return Place(
        place.buffer,
        place.offset,
        batch + place.shape[lead:],
        (0,) * missing + tuple(strides) + place.strides[lead:],
        place.dtype,
    )


def transposed(place: Place) -> Place:
    """The same memory with the last two axes exchanged."""
    *shape, m, n = place.shape
    *strides, s, t = place.strides
    return Place(place.buffer, place.offset, (*shape, n, m), (*strides, t, s), place.dtype)


def moved(place: Place, positions: Array | None) -> Any:
    """Byte offsets in the buffer of the entries of a place, as an array of its shape."""
    total: Any = np.full((), place.offset, np.int64)
    for n, s in zip(place.shape, place.strides, strict=True):
        total = total[..., None] + np.arange(n, dtype=np.int64) * s
    return total if positions is None else total.ravel()[positions]
