"""Regions: the entries of an array that a view of it shows, as data.

A NumPy view is an address and strides. Kept relative to the array it looks at, it can be laid
over any array of the same shape: over the storage of the next version, over a tangent, over
many tangents at once. Reading, writing and inserting at a region are primitives.

    Window      affine in the numbers 0 ... n-1 of the entries: views of arrays in C order
    Grid        affine in each index: views of arrays in another order
    Positions   a list of entries: what is left, and indices that are arrays
    Part        the real or imaginary parts of the entries of another region
"""

import functools
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from linad.core.array_type import Array
from linad.core.places_on_axes import along_each_axis
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import Shape, size_of


class Region:
    """Entries of an array, as another array: where a view reads and writes.

    Attributes
    ----------
    shape : tuple of int
        Of what is read there.
    ndim : int
        Number of axes of the array; axes in front of them are seeds.
    scalar : bool
        Whether the one entry is read as a NumPy scalar, as ``x[i]`` reads it.

    Notes
    -----
    No entry occurs twice. A subclass writes `view_of` or, where NumPy has no such view, `take`
    and `put`.
    """

    __slots__ = ("ndim", "scalar", "shape")

    shape: Shape
    ndim: int
    scalar: bool

    def view_of(self, array: np.ndarray) -> np.ndarray:
        """The NumPy view of a plain array (*seeds, ...)."""
        raise NotImplementedError

    def take(self, array: np.ndarray) -> Any:
        """The entries of a plain array (*seeds, ...), as (*seeds, *shape)."""
        return self.view_of(array)

    def put(self, array: np.ndarray, value: Array) -> None:
        """Write into a plain array in place."""
        self.view_of(array)[...] = value

    def numbers(self, shape: Shape) -> np.ndarray:
        """Numbers of the entries in an array of that shape, counted in C order."""
        return self.take(np.arange(size_of(shape)).reshape(shape))

    def numbers_at(self, index: Any, shape: Shape) -> np.ndarray:
        """The same of the entries that an advanced index of the region names."""
        offset, strides = self._in_c_order(shape)
        if not self.shape:  # True and False, which no axis tells apart
            return np.full(np.empty(())[index].shape, offset)
        total: Any = offset
        for place, stride in zip(along_each_axis(index, self.shape), strides, strict=True):
            total = total + stride * place
        return np.asarray(total)

    def _in_c_order(self, shape: Shape) -> tuple[int, Shape]:
        """Offset and strides of the region in an array of that shape in C order."""
        raise NotImplementedError

    def among(self, flat: np.ndarray) -> "Region":
        """The region of entries of these numbers."""
        return Positions(flat, self.ndim)

    def covers(self, size: int) -> bool:
        """Whether these are all entries of an array of ``size`` entries."""
        return size_of(self.shape) == size

    def read(self, array: Any) -> Any:
        """The entries of an array (*seeds, ...), as (*seeds, *shape); a view if possible."""
        if isinstance(array, Traced):
            return view_region(array, region=self)
        entries = self.take(array)
        return entries[()] if self.scalar else entries

    def assign(self, array: Array, value: Array) -> None:
        """Write into an array (*seeds, ...) in place; ``value`` broadcasts."""
        if isinstance(array, Traced):
            array.write_at(self, value)  # type: ignore[attr-defined]  # a Tracer
        else:
            self.put(array, value)

    def add(self, array: Array, value: Array) -> None:
        """Add in place."""
        self.assign(array, self.read(array) + value)

    # As operations, of arrays plain or traced.

    def read_from(self, x: Array) -> Any:
        """The entries of ``x`` there."""
        return read_region(x, region=self)

    def written_in(self, x: Array, value: Any) -> Any:
        """``x`` with a value there."""
        return write_region(x, value, region=self)

    def inserted_in(self, value: Array, shape: Shape) -> Any:
        """Zeros with a value there."""
        return insert_region(value, region=self, shape=shape)

    # Of a region whose place is traced; others are the same everywhere.

    @property
    def operands(self) -> tuple[Any, ...]:
        """Values that its place depends on."""
        return ()

    def under(self, trace: Any) -> "Region":
        """The region for the values that a trace holds."""
        return self

    def home(self, array: Array) -> Any:
        """An array in which the region can be written: traced where its place is."""
        return array

    def same(self, other: "Region") -> bool:
        """Whether another region has the same entries, in the same order, of any array."""
        return self.key == other.key

    @property
    def key(self) -> Any:
        """What regions of the same entries have equal; hashable."""
        return type(self), self._identity()

    def _identity(self) -> Any:
        """What equal regions have equal."""
        raise NotImplementedError

    # What an array must be made of for its region to be of some dtype, and the reverse.

    def dtype_in(self, dtype: np.dtype[Any]) -> Any:
        """Type of what is read in an array of a dtype."""
        return dtype

    def dtype_around(self, dtype: np.dtype[Any]) -> Any:
        """Type of the array in which entries of a dtype are read."""
        return dtype


class Window(Region):
    """Entries numbered ``offset + i_0 strides_0 + i_1 strides_1 + ...`` in C order."""

    __slots__ = ("offset", "strides")

    def __init__(self, offset: int, shape: Shape, strides: Shape, ndim: int) -> None:
        self.offset, self.shape, self.strides, self.ndim = offset, shape, strides, ndim
        self.scalar = False

    def view_of(self, array: np.ndarray) -> np.ndarray:
        size, lead = array.itemsize, array.ndim - self.ndim
        return np.ndarray(
            array.shape[:lead] + self.shape,
            array.dtype,
            array,
            self.offset * size,
            array.strides[:lead] + tuple([s * size for s in self.strides]),
        )

    def take(self, array: np.ndarray) -> Any:
        if not array.size:
            return np.zeros(array.shape[: array.ndim - self.ndim] + self.shape, array.dtype)
        if not array.flags.c_contiguous:
            array = np.array(array, order="C")
        return self.view_of(array)

    def put(self, array: np.ndarray, value: Array) -> None:
        if not array.size:
            return
        if array.flags.c_contiguous:
            self.view_of(array)[...] = value
        else:
            shape = array.shape[array.ndim - self.ndim :]
            Positions(self.numbers(shape), self.ndim).put(array, value)

    def _in_c_order(self, shape: Shape) -> tuple[int, Shape]:
        return self.offset, self.strides

    def add(self, array: Array, value: Array) -> None:
        if type(array) is np.ndarray and array.size and array.flags.c_contiguous:
            self.view_of(array)[...] += value
        else:
            super().add(array, value)

    def _identity(self) -> Any:
        return self.offset, self.shape, self.strides, self.ndim, self.scalar

    def __repr__(self) -> str:
        return f"window({self.offset}, {self.shape}, strides={self.strides})"


def counted_window(
    index: tuple[Any, ...], offset: int, shape: Shape, strides: Shape, unit: int, ndim: int
) -> Window | None:
    """What integers and slices name of a window whose offset and strides are multiples of
    ``unit``; None of an index with anything else in it, or out of bounds."""
    if index[-1:] and index[-1] is Ellipsis:
        index = index[:-1]
    if len(index) > len(shape):
        return None
    lengths, steps = [], []
    for entry, n, step in zip(index, shape, strides, strict=False):
        if type(entry) is int:
            if not -n <= entry < n:
                return None
            offset += entry % n * step
        elif type(entry) is slice:
            start, stop, by = entry.indices(n)
            lengths.append(len(range(start, stop, by)))
            steps.append(by * step // unit)
            offset += start * step
        else:
            return None
    for k in range(len(index), len(shape)):
        lengths.append(shape[k])
        steps.append(strides[k] // unit)
    if 0 in lengths:
        return Window(0, tuple(lengths), (0,) * len(lengths), ndim)
    return Window(offset // unit, tuple(lengths), tuple(steps), ndim)


class Grid(Region):
    """Entries ``start + i_0 steps_0 + i_1 steps_1 + ...``, each an index of as many axes."""

    __slots__ = ("start", "steps")

    def __init__(self, start: Shape, steps: tuple[Shape, ...], shape: Shape) -> None:
        self.start, self.steps, self.shape, self.ndim = start, steps, shape, len(start)
        self.scalar = False

    def view_of(self, array: np.ndarray) -> np.ndarray:
        lead = array.ndim - self.ndim
        inner = array.strides[lead:]
        corner: Any = (..., *[slice(s, None) for s in self.start])
        first = array[corner]
        strides = [sum([k * s for k, s in zip(step, inner, strict=True)]) for step in self.steps]
        return as_strided(
            first, array.shape[:lead] + self.shape, array.strides[:lead] + tuple(strides)
        )

    def _in_c_order(self, shape: Shape) -> tuple[int, Shape]:
        scale = [size_of(shape[k + 1 :]) for k in range(len(shape))]

        def along(step: Shape) -> int:
            return sum([k * s for k, s in zip(step, scale, strict=True)])

        return along(self.start), tuple([along(step) for step in self.steps])

    def _identity(self) -> Any:
        return self.start, self.steps, self.shape, self.scalar

    def __repr__(self) -> str:
        return f"grid({self.start}, {self.shape}, steps={self.steps})"


class Positions(Region):
    """Entries of given numbers, counted in C order.

    Parameters
    ----------
    flat : ndarray of int
        No number occurs twice.
    ndim : int
    memory : tuple, optional
        ``(strides of the array, offset, strides)`` in bytes, 0 for an axis of length 1: arrays
        laid out like that have the region as a NumPy view. The offset is None where they have gaps.
    """

    __slots__ = ("flat", "memory")

    def __init__(self, flat: np.ndarray, ndim: int, memory: Any = None) -> None:
        self.flat, self.shape, self.ndim, self.memory = flat, flat.shape, ndim, memory
        self.scalar = False

    def _index(self, array: np.ndarray) -> tuple[Any, ...]:
        return (..., *np.unravel_index(self.flat, array.shape[array.ndim - self.ndim :]))

    def take(self, array: np.ndarray) -> Any:
        if self.memory is not None and long_strides(array) == self.memory[0]:
            _, offset, strides = self.memory
            if offset is None:  # the array has gaps
                first = array[(*np.unravel_index(self.flat.flat[0], array.shape), ...)]
                return as_strided(first, self.shape, strides)
            return np.ndarray(self.shape, array.dtype, array.ravel("K"), offset, strides)
        if self.memory is not None and array.ndim == self.ndim:
            view = self._strided(array)
            if view is not None:
                return view
        if array.flags.c_contiguous:
            return self._rows(array)[..., self.flat]
        if not self.ndim:  # of a number, which has no axis to be numbered along
            return array[..., None][..., self.flat]
        return array[self._index(array)]

    def _strided(self, array: np.ndarray) -> np.ndarray | None:
        """A view of an array that lies otherwise, as a copy whose gaps are cut shorter does.

        None if the entries do not lie at regular steps there.
        """
        index = np.unravel_index(self.flat, array.shape)
        at = np.zeros(self.shape, np.intp)
        for i, step in zip(index, array.strides, strict=True):
            at += i * step
        start = at.flat[0]
        ends = [at[(0,) * k + (min(n - 1, 1),)].flat[0] for k, n in enumerate(self.shape)]
        strides = tuple([int(end - start) for end in ends])
        steps = [np.arange(n) * s for n, s in zip(self.shape, strides, strict=True)]
        regular = functools.reduce(np.add.outer, steps, np.array(0))
        if not np.array_equal(at - start, regular):
            return None
        first: Any = (*[int(i.flat[0]) for i in index], ...)
        return as_strided(array[first], self.shape, strides)

    def put(self, array: np.ndarray, value: Array) -> None:
        if array.flags.c_contiguous:
            self._rows(array)[..., self.flat] = value
        elif not self.ndim:
            array[..., None][..., self.flat] = value
        else:
            array[self._index(array)] = value

    def numbers_at(self, index: Any, shape: Shape) -> np.ndarray:
        return self.flat[index]

    def _rows(self, array: np.ndarray) -> np.ndarray:
        lead = array.shape[: array.ndim - self.ndim]
        return array.reshape((*lead, size_of(array.shape[len(lead) :])))

    def _identity(self) -> Any:
        return self.flat.tobytes(), self.shape, self.ndim, self.scalar

    def __repr__(self) -> str:
        return f"positions({np.array2string(self.flat, threshold=6, separator=',')})"


def long_strides(array: np.ndarray) -> Shape:
    """The strides that count: not those of axes of length 1."""
    return tuple([s if n > 1 else 0 for s, n in zip(array.strides, array.shape, strict=True)])


class Part(Region):
    """Real or imaginary parts of the entries of a region: ``z.real`` as a view of z."""

    __slots__ = ("inner", "name")

    def __init__(self, inner: Region, name: str) -> None:
        self.inner, self.name, self.shape, self.ndim = inner, name, inner.shape, inner.ndim
        self.scalar = False

    def take(self, array: np.ndarray) -> Any:
        return getattr(self.inner.take(array), self.name)

    def put(self, array: np.ndarray, value: Array) -> None:
        entries = np.array(self.inner.take(array))
        setattr(entries, self.name, value)
        self.inner.put(array, entries)

    def numbers(self, shape: Shape) -> np.ndarray:
        return self.inner.numbers(shape)

    def numbers_at(self, index: Any, shape: Shape) -> np.ndarray:
        return self.inner.numbers_at(index, shape)

    def among(self, flat: np.ndarray) -> Region:
        return Part(self.inner.among(flat), self.name)

    def covers(self, size: int) -> bool:
        return False  # the other part stays, and the dtype of the array

    def dtype_in(self, dtype: np.dtype[Any]) -> Any:
        return np.empty(0, dtype).real.dtype

    def dtype_around(self, dtype: np.dtype[Any]) -> Any:
        return np.result_type(dtype, np.complex64)

    def _identity(self) -> Any:
        return self.name, self.inner.key, self.scalar

    def __repr__(self) -> str:
        return f"{self.name}({self.inner!r})"


# The primitives.


def _written(x: Array, value: Array, *, region: Region) -> Any:
    """A copy of ``x`` with ``value`` written at the region."""
    y = np.array(x, order="C")
    region.assign(y, value)
    return y


def _inserted(value: Array, *, region: Region, shape: Shape) -> Any:
    """Zeros (*seeds, *shape) with ``value`` (*seeds, *region.shape) at the region."""
    value = np.asarray(value)
    lead = value.shape[: value.ndim - len(region.shape)]
    y = np.zeros(lead + shape, region.dtype_around(value.dtype))
    region.assign(y, value)
    return y


read_region = Primitive("read_region", lambda x, *, region: region.read(x), view=True)
# The same, for use as a view: it reads what later writes leave.
view_region = Primitive("view_region", lambda x, *, region: region.read(x), view=True)
write_region = Primitive("write_region", _written)
insert_region = Primitive("insert_region", _inserted)
