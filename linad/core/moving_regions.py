"""Regions whose place is a value of the program: what ``x[i]`` names in a loop over i.

    first_entry(i)           i as NumPy counts it along an axis, checked
    at                       sum over axes of these times strides: an operand
    read_moving(x, at)       the entries of x at a region, moved by ``at`` entries
    write_moving(x, v, at)   x with v there
    add_moving(x, v, at)     x with v added there
    insert_moving(v, at)     zeros with v there

Which entries a region names, and where it moves, are told apart: shape and strides are
parameters, as those of other regions are.
"""

from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.during import during
from linad.core.primitive import Primitive, Traced, lifted
from linad.core.regions import Part, Positions, Region, Window
from linad.core.shapes import Shape

in_a_body: ContextVar[bool] = ContextVar("in_a_body", default=False)
"""Whether the body of a loop is being recorded: its values are examples, and integers move."""


def example_values() -> AbstractContextManager[None]:
    """Values in here are examples, as in a body that is being recorded."""
    return during(in_a_body, True)


def _first_entry(i: Any, *, size: int, axis: int, reach: int, width: int) -> Any:
    """The first entry that an index or a slice names.

    ``reach`` is how far the last entry is from the first, ``width`` stop - start of a slice, 0
    for an index.
    """
    k = int(i)
    if 0 <= k < size - reach:
        return np.int64(k)
    if -size <= k < min(0, -width + 1):
        return np.int64(k + size)
    if in_a_body.get() and reach < size:
        return np.int64(0)  # of an example: a repetition that runs will be checked
    if width:
        raise IndexError(
            f"slice {k}:{k + width} does not lie within axis {axis} with size {size}; in a loop "
            f"all slices have the same length"
        )
    raise IndexError(f"index {k} is out of bounds for axis {axis} with size {size}")


first_entry = Primitive("first_entry", _first_entry, constant=True)


def shifted(region: Region, by: int) -> Region:
    """The region, moved on by a number of entries."""
    if type(region) is Part:
        return Part(shifted(region.inner, by), region.name)
    if type(region) is Positions:
        return Positions(region.flat + by, region.ndim)
    assert type(region) is Window
    moved = Window(region.offset + by, region.shape, region.strides, region.ndim)
    moved.scalar = region.scalar
    return moved


def numbers_at_zero(region: Region) -> np.ndarray:
    """Numbers of the entries of a region that is not moved; some may lie before the array."""
    if type(region) is Positions:
        return region.flat
    assert type(region) is Window
    total = np.array(region.offset, np.int64)
    for n, stride in zip(region.shape, region.strides, strict=True):
        total = total[..., None] + stride * np.arange(n)
    return total


def _read(x: Array, at: Any, *, region: Region) -> Any:
    return shifted(region, int(at)).read(x)


def _written(x: Array, value: Array, at: Any, *, region: Region) -> Any:
    y = np.array(x, order="C")
    shifted(region, int(at)).assign(y, value)
    return y


def _added(x: Array, value: Array, at: Any, *, region: Region) -> Any:
    y = np.array(x, order="C")
    shifted(region, int(at)).add(y, value)
    return y


def _inserted(value: Array, at: Any, *, region: Region, shape: Shape) -> Any:
    value = np.asarray(value)
    lead = value.shape[: value.ndim - len(region.shape)]
    y = np.zeros(lead + shape, region.dtype_around(value.dtype))
    shifted(region, int(at)).assign(y, value)
    return y


read_moving = Primitive("read_moving", _read)
write_moving = Primitive("write_moving", _written)
add_moving = Primitive("add_moving", _added)
insert_moving = Primitive("insert_moving", _inserted)


class Moving(Region):
    """A region that is moved by a number of entries, which may be traced.

    Parameters
    ----------
    inner : Window, or Part of one
        Where it would lie at 0.
    at : int or Tracer
    """

    __slots__ = ("at", "inner")

    def __init__(self, inner: Region, at: Array) -> None:
        self.inner, self.at = inner, at
        self.shape, self.ndim, self.scalar = inner.shape, inner.ndim, inner.scalar

    @property
    def operands(self) -> tuple[Any, ...]:
        return (self.at,)

    def under(self, trace: Any) -> Region:
        at = self.at
        while isinstance(at, Traced) and at._trace.level >= trace.level:
            at = at._value
        return Moving(self.inner, at)

    @property
    def here(self) -> Region:
        """Where it lies, if that is a plain number."""
        return shifted(self.inner, int(self.at))

    def home(self, array: Array) -> Any:
        return lifted(array, self.at)

    def read(self, array: Any) -> Any:
        if isinstance(array, Traced):
            return array.read_at(self)
        return read_moving(array, self.at, region=self.inner)

    def take(self, array: np.ndarray) -> Any:
        return self.here.take(array)

    def put(self, array: np.ndarray, value: Array) -> None:
        self.here.put(array, value)

    def add(self, array: Array, value: Array) -> None:
        if isinstance(array, Traced):
            super().add(array, value)
        else:
            self.here.add(array, value)

    def numbers(self, shape: Shape) -> np.ndarray:
        return self.here.numbers(shape)

    def covers(self, size: int) -> bool:
        return self.inner.covers(size)

    def dtype_in(self, dtype: np.dtype[Any]) -> Any:
        return self.inner.dtype_in(dtype)

    def dtype_around(self, dtype: Any) -> Any:
        return self.inner.dtype_around(dtype)

    def read_from(self, x: Array) -> Any:
        return read_moving(x, self.at, region=self.inner)

    def written_in(self, x: Array, value: Any) -> Any:
        return write_moving(x, value, self.at, region=self.inner)

    def inserted_in(self, value: Array, shape: Shape) -> Any:
        return insert_moving(value, self.at, region=self.inner, shape=shape)

    def _identity(self) -> Any:
        if isinstance(self.at, Traced):
            # A place that is not known is like no other.
            return self.inner.key, object()
        return self.inner.key, int(self.at)

    def __repr__(self) -> str:
        return f"moving({self.inner!r})"
