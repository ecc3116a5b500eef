"""Writing into traced arrays, with NumPy's semantics of views.

A traced array is a handle on storage. A view (a slice, a transpose, a reshape) remembers the
array that owns the storage, its root; a write through any of them makes a new version of the
root, and a view made before reads the new version the next time it is used.

The first write gives the root storage of its own, so what earlier operations have captured
and the caller's arrays stay as they are. From then on the storage is written in place, and
an operation that reads from it captures a copy of what it reads, no more. So n writes of one
entry cost O(n), and residuals never change.
"""

from typing import Any

import numpy as np

from linad.errors import ShapeError, TracerError, UnsupportedError
from linad.primitive import Primitive, Traced
from linad.shapes import Shape, size_of


class Storage:
    """What a root array knows of its versions.

    Attributes
    ----------
    version : int
        Number of writes so far.
    private : bool
        Whether the value is storage that nobody else holds; so from the first write on.
    private_node : bool
        The same for the tangent that a forward trace keeps with the array.
    """

    __slots__ = ("private", "private_node", "version")

    def __init__(self) -> None:
        self.version = 0
        self.private = False
        self.private_node = False


class View:
    """What a view knows of its root.

    Attributes
    ----------
    root : Tracer
        The array that owns the storage.
    version : int
        Version of the root it was last read at.
    region : Region
        Its entries in the root.
    """

    __slots__ = ("region", "root", "version")

    def __init__(self, root: Any, version: int, region: "Region | None") -> None:
        self.root, self.version, self.region = root, version, region


class Region:
    """Entries of a C-contiguous array, as another array: where a view reads and writes.

    Attributes
    ----------
    shape : tuple of int
        Of what is read there.
    ndim : int
        Number of axes of the array; axes in front of them are seeds.
    """

    __slots__ = ("ndim", "shape")

    shape: Shape
    ndim: int

    @property
    def overlaps(self) -> bool:
        """Whether an entry may be read twice, as by a broadcast or a sliding window."""
        return False

    def read(self, array: Any) -> Any:
        """The entries of an array (*seeds, ...), as (*seeds, *shape); a view if possible."""
        raise NotImplementedError

    def assign(self, array: Any, value: Any) -> None:
        """Write into an array (*seeds, ...) in place; ``value`` broadcasts."""
        raise NotImplementedError

    def add(self, array: Any, value: Any) -> None:
        """Add in place."""
        raise NotImplementedError


class Window(Region):
    """Entries at ``offset + i_0 strides_0 + i_1 strides_1 + ...`` of the flat array.

    Strides count entries, not bytes; a stride of zero cannot occur in what is written.
    """

    __slots__ = ("offset", "strides")

    def __init__(self, offset: int, shape: Shape, strides: Shape, ndim: int) -> None:
        self.offset, self.shape, self.strides, self.ndim = offset, shape, strides, ndim

    @property
    def overlaps(self) -> bool:
        reach = 0
        for step, n in sorted([(abs(s), n) for s, n in zip(self.strides, self.shape, strict=True)]):
            if n > 1:
                if step <= reach:
                    return True
                reach += step * (n - 1)
        return False

    def of(self, array: np.ndarray) -> np.ndarray:
        """The NumPy view of an array (*seeds, ...) in C order."""
        size, lead = array.itemsize, array.ndim - self.ndim
        return np.ndarray(
            array.shape[:lead] + self.shape,
            array.dtype,
            array,
            self.offset * size,
            array.strides[:lead] + tuple([s * size for s in self.strides]),
        )

    def read(self, array: Any) -> Any:
        if isinstance(array, Traced):
            return read_region(array, region=self)
        if not array.size:
            return np.zeros(array.shape[: array.ndim - self.ndim] + self.shape, array.dtype)
        return self.of(np.ascontiguousarray(array).reshape(array.shape))

    def assign(self, array: Any, value: Any) -> None:
        if isinstance(array, Traced):
            write_into(array, self, value)
        elif array.size:
            self.of(array)[...] = value

    def add(self, array: Any, value: Any) -> None:
        if isinstance(array, Traced):
            write_into(array, self, read_region(array, region=self) + value)
        elif self.overlaps:
            lead = array.shape[: array.ndim - self.ndim]
            positions: Any = (..., _numbers(self))
            np.add.at(array.reshape((*lead, -1)), positions, value)
        elif array.size:
            self.of(array)[...] += value

    def __repr__(self) -> str:
        return f"window({self.offset}, {self.shape}, strides={self.strides})"


class Positions(Region):
    """Entries at given positions of the flat array; no position occurs twice."""

    __slots__ = ("flat",)

    def __init__(self, flat: np.ndarray, ndim: int) -> None:
        self.flat, self.shape, self.ndim = flat, flat.shape, ndim

    def _rows(self, array: Any) -> Any:
        lead = array.shape[: array.ndim - self.ndim]
        return array.reshape((*lead, size_of(array.shape[len(lead) :])))

    def read(self, array: Any) -> Any:
        return self._rows(array)[..., self.flat]

    def assign(self, array: Any, value: Any) -> None:
        if isinstance(array, Traced):
            write_into(array, self, value)
        else:
            self._rows(array)[..., self.flat] = value

    def add(self, array: Any, value: Any) -> None:
        if isinstance(array, Traced):
            write_into(array, self, self.read(array) + value)
        else:
            self._rows(array)[..., self.flat] += value

    def __repr__(self) -> str:
        return f"positions({np.array2string(self.flat, threshold=6, separator=',')})"


def _written(x: Any, value: Any, *, region: Region) -> Any:
    """A copy of ``x`` with ``value`` written at the region."""
    y = np.array(x, order="C")
    region.assign(y, value)
    return y


def _inserted(value: Any, *, region: Region, shape: Shape) -> Any:
    """Zeros (*seeds, *shape) with ``value`` (*seeds, *region.shape) added at the region."""
    value = np.asarray(value)
    lead = value.shape[: value.ndim - len(region.shape)]
    y = np.zeros(lead + shape, value.dtype)
    region.add(y, value)
    return y


read_region = Primitive("read_region", lambda x, *, region: region.read(x), view=True)
write_region = Primitive("write_region", _written)
insert_region = Primitive("insert_region", _inserted)


# Where a handle points.


def concrete(x: Any) -> Any:
    """The plain array under a traced one."""
    while isinstance(x, Traced):
        x = x._value  # type: ignore[attr-defined]  # every Traced is a Tracer
    return x


def root_of(x: Any) -> Any:
    """The traced array that owns the storage of ``x``."""
    return x._buffer.root if type(x._buffer) is View else x


def attach_view(y: Any, x: Any) -> None:
    """Remember that ``y``, made by a view operation on ``x``, shares its storage if it does."""
    new, old = concrete(y), concrete(x)
    if type(new) is not np.ndarray or not np.may_share_memory(new, old):
        return
    root = root_of(x)
    if root._buffer is None:
        root._buffer = Storage()
    base = concrete(root)
    # Addresses are worth a microsecond; only a write asks for them while base is unchanged.
    y._buffer = View(root, root._buffer.version, _LazyRegion(new, base))


class _LazyRegion:
    """The region of a NumPy view in its root, computed when asked for."""

    __slots__ = ("base", "view")

    def __init__(self, view: np.ndarray, base: np.ndarray) -> None:
        self.view, self.base = view, base

    def resolve(self) -> Region:
        return region_of(self.view, self.base)


def region_of(view: np.ndarray, base: np.ndarray) -> Region:
    """The entries of ``base``, in C order, that a NumPy view of it shows."""
    size = base.itemsize
    if view.dtype != base.dtype:
        raise UnsupportedError(
            f"writing through a view of dtype {view.dtype} of a traced array of dtype "
            f"{base.dtype} is not supported; assign to the array itself"
        )
    if base.flags.c_contiguous:
        offset = (_address(view) - _address(base)) // size
        strides = tuple([s // size for s in view.strides])
        return Window(offset if view.size else 0, view.shape, strides, base.ndim)
    # Another memory order: number the entries in C order, in an array laid out as base is,
    # and look at the numbers through the same view.
    numbers = np.empty_like(base, dtype=np.intp)
    numbers[...] = np.arange(base.size).reshape(base.shape)
    scale = numbers.itemsize
    if numbers.strides != tuple([s // size * scale for s in base.strides]):
        raise UnsupportedError(
            "writing through a view of an array with gaps in memory is not supported; copy it first"
        )
    offset = (_address(view) - _address(base)) // size
    strides = tuple([s // size * scale for s in view.strides])
    flat = np.ndarray(view.shape, np.intp, numbers.ravel("K"), offset * scale, strides)
    return Positions(flat.copy(), base.ndim)


def _address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


def settle(x: Any) -> None:
    """Bring a view up to date with its root."""
    view = x._buffer
    if type(view) is View and view.version != view.root._buffer.version:
        if type(view.region) is _LazyRegion:
            view.region = view.region.resolve()
        fresh = read_region(view.root, region=view.region)
        x._node, x._value = fresh._node, fresh._value
        view.version = view.root._buffer.version


def is_private(x: Any) -> bool:
    """Whether the storage of ``x`` will be written in place."""
    root = root_of(x)
    return root._buffer is not None and root._buffer.private


def own_storage(root: Any) -> None:
    """Give a root storage in C order that nothing else refers to."""
    if root._buffer is None:
        root._buffer = Storage()
    if not root._buffer.private:
        value = root._value
        root._value = value.copy() if isinstance(value, Traced) else np.array(value, order="C")
        root._buffer.private = True
        root._buffer.version += 1


# Writing.


def write(x: Any, index: Any, value: Any) -> None:
    """``x[index] = value`` for a traced ``x``, as NumPy does it.

    Parameters
    ----------
    x : Tracer
    index : object
        Anything NumPy takes as an index; with an entry named twice the last write stays.
    value : array_like
        Broadcasts to the entries.

    Raises
    ------
    ShapeError
        If it does not broadcast.
    TracerError
        If it belongs to a derivative inside the one that made ``x``.

    Notes
    -----
    Costs what the same write costs in NumPy, and an equation of the trace. The first write
    into an array copies it.
    """
    root = root_of(x)
    own_storage(root)
    settle(x)
    region, shape, last = _target(x, root, index)
    value = _fitting(value, shape, x.dtype)
    if last is not None:
        value = value.reshape(-1)[last]
    write_into(root, region, value)


def _target(x: Any, root: Any, index: Any) -> tuple[Region, Shape, Any]:
    """The region of the root that ``x[index]`` names, the shape a value must have there, and
    which of the values stay where an entry is named twice (None: all)."""
    array, base = concrete(x), concrete(root)
    if type(array) is not np.ndarray:
        raise TypeError(f"{type(array).__name__!r} object does not support item assignment")
    if x is not root:
        _check_writable(region_of(array, base))
    if type(index) is int and x is root and -len(array) <= index < len(array):
        step = base.size // len(array)
        window = Window(
            index % len(array) * step, array.shape[1:], _c_strides(array.shape[1:]), base.ndim
        )
        return window, window.shape, None
    index = _plain_index(index)
    if _is_basic(index):
        full = index if isinstance(index, tuple) else (index,)
        region = region_of(array[full if Ellipsis in full else (*full, ...)], base)
        return region, region.shape, None
    # The numbers of the entries, looked at through the same index.
    region = region_of(array, base)
    flat = _numbers(region)[index]
    unique, first = np.unique(flat.reshape(-1)[::-1], return_index=True)
    if unique.size == flat.size:
        return Positions(flat, base.ndim), flat.shape, None
    # Of several writes to one entry the last stays.
    return Positions(unique, base.ndim), flat.shape, flat.size - 1 - first


def _c_strides(shape: Shape) -> Shape:
    """Strides, in entries, of an array in C order."""
    strides = [1] * len(shape)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    return tuple(strides)


def _check_writable(region: Region) -> None:
    if region.overlaps:
        raise ValueError("assignment destination is read-only: it shows an entry more than once")


def _numbers(region: Region) -> np.ndarray:
    """Flat positions of the entries of a region."""
    if isinstance(region, Positions):
        return region.flat
    assert isinstance(region, Window)
    steps = [np.arange(n) * s for n, s in zip(region.shape, region.strides, strict=True)]
    total = np.full(region.shape, region.offset, np.intp)
    for k, step in enumerate(steps):
        total += step.reshape((-1,) + (1,) * (len(steps) - 1 - k))
    return total


def _is_basic(index: Any) -> bool:
    entries = index if isinstance(index, tuple) else (index,)
    return all(
        [
            e is None
            or e is Ellipsis
            or (isinstance(e, (int, np.integer, slice)) and not isinstance(e, (bool, np.bool_)))
            for e in entries
        ]
    )


def _plain_index(index: Any) -> Any:
    """An index without traced integers or masks."""
    if isinstance(index, tuple):
        return tuple([_plain_index(e) for e in index])
    return np.asarray(index) if isinstance(index, Traced) else index


def _fitting(value: Any, shape: Shape, dtype: Any) -> Any:
    """``value`` broadcast to a shape and cast to a dtype, as assignment does."""
    if not isinstance(value, Traced):
        value = np.asarray(value)
        if value.dtype == object:
            raise TracerError(
                "assigning a list with traced values in it would lose their derivatives; use "
                "np.stack([...]) or linad.numpy.array([...])"
            )
    if value.dtype != dtype:
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise TracerError(
                f"assigning complex values to an array of {dtype} would discard the imaginary "
                f"part; take .real, or make the array complex"
            )
        value = value.astype(dtype)
    if value.shape != shape:
        extra = value.ndim - len(shape)
        if extra > 0 and value.shape[:extra] == (1,) * extra:
            value = value.reshape(value.shape[extra:])
        try:
            value = np.broadcast_to(value, shape)
        except ValueError:
            raise ShapeError(
                f"could not broadcast a value of shape {value.shape} into entries of shape {shape}"
            ) from None
    return value


def write_into(root: Any, region: Region, value: Any) -> None:
    """Write a value of the region's shape (or a number) into a traced array that owns its storage."""
    trace = root._trace
    if isinstance(value, Traced) and value._trace.level > trace.level:
        raise TracerError(
            "a value of an inner derivative was written into an array made outside of it; make "
            "the array inside the differentiated function"
        )
    own_storage(root)
    trace.write(root, region, value)
    root._buffer.version += 1


def write_value(root: Any, region: Region, value: Any) -> None:
    """Write into the storage of a root, whatever it is made of."""
    if isinstance(value, Traced) and not isinstance(root._value, Traced):
        root._value = value._trace.constant(root._value)  # type: ignore[attr-defined]
    region.assign(root._value, value)


def overwrite(x: Any, value: Any) -> None:
    """Replace all entries of a traced array: what ``x += v`` and ``out=x`` do."""
    if x._buffer is None and x._trace is getattr(value, "_trace", None) and value._buffer is None:
        x._node, x._value = value._node, value._value
    else:
        write(x, ..., value)
