"""Writing into traced arrays, with NumPy's semantics of views.

A traced array is a handle on storage. A view (a slice, a transpose, a reshape) remembers the
array that owns the storage, its root; a write through any of them makes a new version of the
root, and a view made before reads the new version the next time it is used.

The first write gives the root storage of its own, so what earlier operations have captured
and the caller's arrays stay as they are. From then on the storage is written in place, and
an operation that reads from it captures a copy of what it reads, no more. A view of it costs
nothing until it is read. So n writes of one entry cost O(n), and residuals never change.
"""

from typing import Any

import numpy as np

from linad.arrays.moving import moves, moving_region
from linad.core.memory_layouts import copied
from linad.core.moving_regions import Moving, in_a_body, shifted
from linad.core.primitive import Primitive, Traced
from linad.core.regions import Part, Region, Window, read_region, region_of, repeats
from linad.core.shapes import Shape, memory_of
from linad.errors import ShapeError, TracerError, UnsupportedError


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
    viewed : bool
        Whether there have been views of it.
    """

    __slots__ = ("private", "private_node", "version", "viewed")

    def __init__(self) -> None:
        self.version = 0
        self.viewed = False
        self.private = False
        self.private_node = False


class View:
    """What a view knows of its root.

    Attributes
    ----------
    root : Tracer
        The array that owns the storage.
    version : int
        Version of the root that its node stands for; -1 while it has none.
    base : array
        The value of the root that its own value looks into; None if it is a copy.
    source : Region, Replay or Memory
        Where it reads; a `ViewMemory` stands for a region until somebody asks.
    """

    __slots__ = ("base", "root", "source", "version")

    def __init__(self, root: Any, version: int, source: "ViewMemory | Moving") -> None:
        self.root, self.version, self.base = root, version, root._value
        self.source: Any = source

    def where(self) -> Any:
        """The region in the root, or how to make the view again if it repeats entries."""
        if type(self.source) is ViewMemory:
            self.source = self.source.resolve()
        return self.source


class ViewMemory:
    """Where a NumPy view lies; a region costs microseconds, and few views are written."""

    __slots__ = ("base", "call", "view")

    def __init__(self, view: np.ndarray, base: np.ndarray, call: tuple[Any, Any, Any]) -> None:
        self.view, self.base, self.call = view, base, call

    def resolve(self) -> Any:
        if repeats(self.view) or (self.base.flags.writeable and not self.view.flags.writeable):
            return RepeatedView(*self.call)
        return with_parent(self.call[1], region_of(self.view, self.base))


class RepeatedView:
    """A view to read only, made again by the call that made it: broadcasting, a diagonal."""

    __slots__ = ("params", "parent", "primitive")

    def __init__(self, primitive: Primitive, parent: Any, params: dict[str, Any]) -> None:
        self.primitive, self.parent, self.params = primitive, parent, params


# Where a handle points.


def concrete(x: Any) -> Any:
    """The plain array under a traced one."""
    while isinstance(x, Traced):
        if x._buffer is not None:
            refresh(x)
        x = x._value
    return x


def root_of(x: Any) -> Any:
    """The traced array that owns the storage of ``x``."""
    return x._buffer.root if type(x._buffer) is View else x


def is_private(x: Any) -> bool:
    """Whether the storage of ``x`` will be written in place."""
    root = root_of(x)
    return root._buffer is not None and root._buffer.private


def is_settled(buffer: Storage | View, for_view: bool) -> bool:
    """Whether an operation may take the value of an array as it is: the array is up to date, and
    is not in storage written in place, of which only views are made."""
    if type(buffer) is View:
        storage: Storage = buffer.root._buffer
        return buffer.version == storage.version and not storage.private
    return for_view or not buffer.private  # type: ignore[union-attr]


def attach_view(y: Any, x: Any, primitive: Primitive, params: dict[str, Any]) -> None:
    """Remember that ``y``, made by a view primitive from ``x``, shares its storage if it does."""
    new = y._value if type(y._value) is np.ndarray else concrete(y)
    root = root_of(x)
    base = root._value if type(root._value) is np.ndarray else concrete(root)
    if "shape" in params and _layout_decides(primitive, x, new):
        x._trace.shape_counts()
    if type(new) is np.ndarray and _is_view_of_root(new, base):
        if root._buffer is None:
            root._buffer = Storage()
        root._buffer.viewed = True
        y._buffer = View(root, root._buffer.version, ViewMemory(new, base, (primitive, x, params)))


def lazy_view(trace: Any, x: Any, primitive: Primitive, params: dict[str, Any]) -> Any:
    """A view of an array of the trace that is written in place, without an operation of it.

    Its node is made when something reads it, from the root at once: however many views lead
    there, a read costs what is read. None if the primitive must run as it always does.
    """
    root = root_of(x)
    if (
        root._buffer is None
        or not root._buffer.private
        or x._trace is not trace
        or primitive is read_region
    ):
        return None
    index = params.get("index")
    if index is not None and (index.advanced or (x is root and _names_an_entry(index))):
        return None
    refresh(x)
    base = concrete(root)
    if index is not None and _names_an_entry(index):
        region = region_of(concrete(x)[(*index, ...)], base)
        region.scalar = True
        return with_parent(x, region).read_from(root)
    y = primitive(x._value, **params)
    new = concrete(y)
    if "shape" in params and _layout_decides(primitive, x, new):
        x._trace.shape_counts()
    if type(new) is not np.ndarray or not _is_view_of_root(new, base):
        return None
    result = type(x)(x._trace, None, y)
    root._buffer.viewed = True
    result._buffer = View(root, -1, ViewMemory(new, base, (primitive, x, params)))
    return result


def _is_view_of_root(new: np.ndarray, base: Any) -> bool:
    """Whether what a view primitive gave is a view, if only of no entries."""
    if new.base is base:
        return True
    return np.may_share_memory(new, base) or (not new.size and new.base is not None)


def _layout_decides(primitive: Primitive, x: Any, new: Any) -> bool:
    """Whether it depends on the memory of ``x`` that a reshape of it is a view."""
    return primitive.name == "reshape" and x.ndim > 1 and _long(x.shape) != _long(new.shape)


def _long(shape: Shape) -> list[int]:
    return [n for n in shape if n != 1]


def _names_an_entry(index: Any) -> bool:
    return _ONLY_INTEGERS.issuperset(map(type, index))


_ONLY_INTEGERS = {int}


def with_parent(x: Any, region: Region) -> Region:
    """A region that was found in memory: if ``x``, of which it is a part, moves, it moves too."""
    view = x._buffer
    source = view.where() if type(view) is View else None
    if type(source) is not Moving:
        return region
    at = source.at
    if type(region) is Moving:
        return Moving(shifted(region.inner, -int(concrete(at))), at + region.at)
    if type(region.inner if type(region) is Part else region) is not Window:
        raise UnsupportedError(
            "an array of integers or a mask, as the index of a part of an array that moves with a "
            "loop, is not supported; make a copy of the part first"
        )
    return Moving(shifted(region, -int(concrete(at))), at)


def read_at(root: Any, region: Moving) -> Any:
    """The entries of a traced array at a region that moves: a view, or a number."""
    root._value = region.under(root._trace).home(root._value)
    y = region.read_from(root)
    if type(concrete(y)) is np.ndarray:
        if root._buffer is None:
            root._buffer = Storage()
        root._buffer.viewed = True
        y._buffer = View(root, root._buffer.version, region)
        y._buffer.base = None
        refresh(y)
    return y


def refresh(x: Any) -> None:
    """Bring the value of a view up to date with its root; its node may stay behind."""
    view = x._buffer
    if type(view) is View and view.base is not view.root._value:
        source = view.where()
        if type(source) is RepeatedView:
            refresh(source.parent)
            x._value = source.primitive(source.parent._value, **source.params)
        else:
            x._value = source.under(x._trace).read(view.root._value)
        shared = np.may_share_memory(concrete(x._value), concrete(view.root._value))
        view.base = view.root._value if shared else None


def refresh_node(x: Any) -> None:
    """Bring a view up to date with its root, value and node."""
    view = x._buffer
    if type(view) is View and view.version != view.root._buffer.version:
        source = view.where()
        if type(source) is RepeatedView:
            refresh_node(source.parent)
            fresh = source.primitive(source.parent.alias(), **source.params)
        else:
            fresh = source.read_from(view.root)
        x._node, x._value = fresh._node, fresh._value
        shared = np.may_share_memory(concrete(x._value), concrete(view.root._value))
        view.base = view.root._value if shared else None
        view.version = view.root._buffer.version


def own_storage(root: Any) -> None:
    """Give a root storage that nothing else refers to, laid out as the array was."""
    if root._buffer is None:
        root._buffer = Storage()
    if not root._buffer.private:
        root._trace.check_alone(root)
        value = root._value
        if isinstance(value, Traced):
            root._value = value.frozen()  # type: ignore[attr-defined]
        else:
            root._value = copied(value)
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
    if type(concrete(x)) is not np.ndarray:
        name = type(concrete(x)).__name__
        raise TypeError(f"{name!r} object does not support item assignment")
    root = root_of(x)
    own_storage(root)
    refresh(x)
    found = _target(x, root, index, value)
    if found is None:
        return
    region, shape, last = found
    value = _fitting(value, shape, region.dtype_in(root.dtype))
    if last is not None:
        value = value.reshape(-1)[last]
    write_into(root, region, value)


def _target(x: Any, root: Any, index: Any, value: Any) -> tuple[Region, Shape, Any] | None:
    """The region of the root that ``x[index]`` names, the shape a value must have there, and
    which of the values stay where an entry is named twice (None: all).

    None if the value is a view of these very entries: what is left of ``x[index] += v``.
    """
    array, base = concrete(x), concrete(root)
    if in_a_body.get() and moves(index):
        if not base.flags.c_contiguous:
            raise UnsupportedError(
                "writing at an index that moves with a loop, into an array that does not lie in "
                "memory in C order, is not supported; write into x.copy()"
            )
        moving, target = moving_region(index, array, base)
        _check_writable(x, target)
        return with_parent(x, moving), moving.shape, None
    if type(index) is int and x is root and array.ndim == 1 and base.flags.c_contiguous:
        n = len(array)
        if -n <= index < n:
            return Window(index % n, (), (), 1), (), None
    index = _plain_index(index)
    if _is_basic(index):
        full = index if isinstance(index, tuple) else (index,)
        target = array[full if _has_ellipsis(full) else (*full, ...)]
        _check_writable(x, target)
        if _is_view_of(value, root, target):
            return None
        region = with_parent(x, region_of(target, base))
        return region, region.shape, None
    _check_writable(x, array)
    region = region_of(array, base)
    flat = region.numbers_at(index, base.shape)
    unique, first = np.unique(flat.reshape(-1)[::-1], return_index=True)
    if unique.size == flat.size:
        return with_parent(x, region.among(flat)), flat.shape, None
    # Of several writes to one entry the last stays.
    return with_parent(x, region.among(unique)), flat.shape, flat.size - 1 - first


def _has_ellipsis(index: tuple[Any, ...]) -> bool:
    return any([entry is Ellipsis for entry in index])


def _is_view_of(value: Any, root: Any, target: np.ndarray) -> bool:
    """Whether a value is a view of the very entries it is to be written to."""
    if not isinstance(value, Traced) or type(value._buffer) is not View:  # type: ignore[attr-defined]
        return False
    if root_of(value) is not root or type(value._buffer.where()) is Moving:  # type: ignore[attr-defined]
        return False
    refresh(value)
    array = concrete(value)
    return (
        array.shape == target.shape
        and array.strides == target.strides
        and array.__array_interface__["data"] == target.__array_interface__["data"]
    )


def _check_writable(x: Any, target: np.ndarray) -> None:
    if repeats(target) or (type(x._buffer) is View and type(x._buffer.where()) is RepeatedView):
        raise ValueError("assignment destination is read-only")


def _is_basic(index: Any) -> bool:
    for e in index if isinstance(index, tuple) else (index,):
        if e is None or e is Ellipsis or isinstance(e, slice):
            continue
        if isinstance(e, (bool, np.bool_)) or not isinstance(e, (int, np.integer)):
            return False
    return True


def _plain_index(index: Any) -> Any:
    """An index without traced integers or masks."""
    if isinstance(index, tuple):
        return tuple([_plain_index(e) for e in index])
    return np.asarray(index) if isinstance(index, Traced) else index


def _fitting(value: Any, shape: Shape, dtype: Any) -> Any:
    """``value`` broadcast to a shape and cast to a dtype, as assignment does."""
    if not isinstance(value, Traced):
        value = _plain_value(value)
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


def _plain_value(value: Any) -> np.ndarray:
    if _holds_traced(value):
        raise TracerError(
            "assigning a list with traced values in it would lose their derivatives; use "
            "np.stack([...]) or linad.numpy.array([...])"
        )
    return np.asarray(value)


def _holds_traced(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any([_holds_traced(part) for part in value])
    return isinstance(value, Traced)


def write_into(root: Any, region: Region, value: Any) -> None:
    """Write a value that broadcasts to the region into a traced array."""
    trace = root._trace
    trace.check_alive()
    operands = [v for v in (value, *region.operands) if isinstance(v, Traced)]
    if any([v._trace.level > trace.level for v in operands]):
        raise TracerError(
            "a value of an inner derivative was written into an array made outside of it; make "
            "the array inside the differentiated function"
        )
    own_storage(root)
    trace.written_to()
    shape = root.shape[: root.ndim - region.ndim] + region.shape
    if 0 in shape and not isinstance(value, Traced):
        # Nothing moves; but NumPy refuses it for a read-only array.
        root._buffer.version += 1
        return
    if isinstance(value, Traced) and value.shape != shape:  # type: ignore[attr-defined]
        value = np.broadcast_to(value, shape)  # type: ignore[call-overload]
    trace.write(root, region, value)
    root._buffer.version += 1


def write_value(root: Any, region: Region, value: Any) -> None:
    """Write into the storage of a root, whatever it is made of."""
    root._value = region.home(root._value)
    if isinstance(value, Traced) and not isinstance(root._value, Traced):
        root._value = value._trace.constant(root._value)  # type: ignore[attr-defined]
    region.assign(root._value, _apart(value, root._value))


def _apart(value: Any, array: Any) -> Any:
    """The value, or a copy of it if it is a view of the array's storage.

    NumPy 2.5 and older overlook some overlaps: ``a[:, 3] = a[1]`` reads ``a[1, 3]`` when it is new.
    """
    if type(value) is not np.ndarray or type(array) is not np.ndarray or value.base is None:
        return value
    return value.copy() if np.may_share_memory(value, array) else value


def overwrite(x: Any, value: Any) -> None:
    """Replace all entries of a traced array: what ``x += v`` and ``out=x`` do."""
    same_trace = x._trace is getattr(value, "_trace", None)
    if (
        x._buffer is None
        and same_trace
        and value._buffer is None
        and _same_layout(concrete(x), concrete(value))
    ):
        x._trace.check_alone(x)
        x._trace.written_to()
        x._node, x._value = value._node, value._value
    else:
        write(x, ..., value)


def _same_layout(a: Any, b: Any) -> bool:
    return (
        type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
    )


def storage_of(x: Any) -> int:
    """A number of the storage of an array, plain or traced, that its views have too."""
    return memory_of(root_of(x) if isinstance(x, Traced) else x)


def share_storage(a: Any, b: Any) -> bool:
    """Whether two arrays, both plain or both traced, have entries in common."""
    if isinstance(a, Traced) or isinstance(b, Traced):
        return isinstance(a, Traced) and isinstance(b, Traced) and root_of(a) is root_of(b)
    try:
        return np.shares_memory(a, b, max_work=10_000)  # type: ignore[arg-type]  # any integer
    except np.exceptions.TooHardError:
        return True  # they interleave in a way that takes long to disentangle
