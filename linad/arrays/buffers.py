"""Storage of traced arrays and views of it, which see what is written later, as NumPy's do.

A traced array is a handle on storage. A view (a slice, a transpose, a reshape) remembers the
array that owns the storage, its root; a write through any of them makes a new version of the
root, and a view made before reads the new version the next time it is used.

The first write gives the root storage of its own, so what earlier operations have captured
and the caller's arrays stay as they are. From then on the storage is written in place, and
an operation that reads from it captures a copy of what it reads, no more. A view of it costs
nothing until it is read. So n writes of one entry cost O(n), and residuals never change.
"""

import weakref
from typing import Any

import numpy as np
from numpy import generic, ndarray

from linad.core.memory_layouts import copied
from linad.core.moving_regions import Moving, in_a_body, shifted
from linad.core.primitive import Primitive, Traced
from linad.core.regions import Part, Positions, Region, Window, counted_window, read_region
from linad.core.shapes import Shape, memory_of
from linad.core.view_regions import region_of, repeats
from linad.errors import UnsupportedError

_bare: Any = object.__new__  # without the calls of a constructor


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

    __slots__ = ("_most", "_views", "private", "private_node", "version", "viewed")

    def __init__(self) -> None:
        self.version = 0
        self.viewed = False
        self.private = False
        self.private_node = False
        self._views: list[weakref.ref[Any]] = []
        self._most = 16  # of these, until those that are gone are left out

    def looked_into_by(self, view: Any) -> None:
        """Take note of a view; of which one, if somebody follows the function and may ask."""
        self.viewed = True
        if view._trace.pending is None:
            return
        self._views.append(weakref.ref(view))
        if len(self._views) > self._most:
            self._views = [r for r in self._views if r() is not None]
            self._most = 16 + 2 * len(self._views)

    def held_views(self) -> list[Any]:
        """The views that somebody holds, of those that were taken note of."""
        return [v for v in [r() for r in self._views] if v is not None]


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
    source : Region or RepeatedView
        Where it reads. A region costs microseconds, and few views are written: until somebody
        asks, it is a tuple of NumPy's view, its base, and the call that made it.
    """

    __slots__ = ("base", "root", "source", "version")

    def __init__(self, root: Any, version: int, source: Any) -> None:
        self.root, self.version, self.base = root, version, root._value
        self.source = source

    def where(self) -> Any:
        """The region in the root, or how to make the view again if it repeats entries."""
        if type(self.source) is tuple:
            self.source = _resolved(*self.source)
        return self.source


def _resolved(
    view: np.ndarray, base: np.ndarray, primitive: Primitive, parent: Any, params: dict[str, Any]
) -> Any:
    """Where a NumPy view lies that a call made."""
    if "index" in params and type(parent._buffer) is not View:
        part = counted(parent, base, params["index"])
        if part is not None:
            return part
    if repeats(view) or (base.flags.writeable and not view.flags.writeable):
        return RepeatedView(primitive, parent, params)
    return with_parent(parent, region_of(view, base))


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


def in_memory(x: Any) -> Any:
    """As `concrete`, lying where it belongs: a view is one of its root's plain array, of which an
    inner trace may have read a copy."""
    view = x._buffer if isinstance(x, Traced) else None
    if type(view) is not View or type(view.where()) is Moving:
        return concrete(x)
    source = view.source
    if type(source) is RepeatedView:
        return source.primitive(in_memory(source.parent), **source.params)
    return source.under(x._trace).read(concrete(view.root))


def root_of(x: Any) -> Any:
    """The traced array that owns the storage of ``x``."""
    return x._buffer.root if type(x._buffer) is View else x


def is_private(x: Any) -> bool:
    """Whether the storage of ``x`` will be written in place."""
    root = root_of(x)
    return root._buffer is not None and root._buffer.private


def is_settled(buffer: Storage | View, for_view: bool = False) -> bool:
    """Whether an operation may take the value of an array as it is: the array is up to date, and
    is not in storage written in place, of which only views are made."""
    if type(buffer) is View:
        storage: Storage = buffer.root._buffer
        return buffer.version == storage.version and not storage.private
    return for_view or not buffer.private  # type: ignore[union-attr]


def attach_view(y: Any, x: Any, primitive: Primitive, params: dict[str, Any]) -> None:
    """Remember that ``y``, made by a view primitive from ``x``, shares its storage if it does."""
    value, new = x._value, y._value
    if type(value) is not ndarray and isinstance(value, generic):
        return  # a number has none
    if type(new) is not ndarray:
        new = concrete(y)
    root = x._buffer.root if type(x._buffer) is View else x
    held = base = root._value
    if type(base) is not ndarray:
        base = concrete(root)
    if "shape" in params and value.ndim > 1 and _layout_decides(primitive, x, new):
        x._trace.shape_counts()
    if type(new) is not ndarray:
        return
    owner = new.base  # of both, if it is: what is asked first needs no call
    if owner is base or (owner is not None and owner is base.base) or _is_view_of_root(new, base):
        storage = root._buffer
        if storage is None:
            storage = root._buffer = Storage()
        view = y._buffer = _bare(View)
        view.root, view.version, view.base = root, storage.version, held
        view.source = (new, base, primitive, x, params)
        storage.viewed = True
        if y._trace.pending is not None:
            storage.looked_into_by(y)


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
        region = counted(x, base, index) or region_of(concrete(x)[(*index, ...)], base)
        region.scalar = True
        return with_parent(x, region).read_from(root)
    y = primitive(x._value, **params)
    new = concrete(y)
    if "shape" in params and _layout_decides(primitive, x, new):
        x._trace.shape_counts()
    if type(new) is not ndarray or not _is_view_of_root(new, base):
        return None
    result = type(x)(x._trace, None, y)
    result._buffer = View(root, -1, (new, base, primitive, x, params))
    root._buffer.looked_into_by(result)
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
    kind = type(region.inner if type(region) is Part else region)
    if kind is not Window and (in_a_body.get() or kind is not Positions):
        raise UnsupportedError(
            "an array of integers or a mask, as the index of a part of an array that moves with a "
            "loop, is not supported; make a copy of the part first"
        )
    return Moving(shifted(region, -int(concrete(at))), at)


def counted(x: Any, base: np.ndarray, index: tuple[Any, ...]) -> Window | None:
    """The region of ``base``, in which ``x`` lies, that integers and slices of x name; None where
    only NumPy's view can tell it, at three times the cost."""
    if not base.flags.c_contiguous:
        return None
    if type(x._buffer) is not View:
        return counted_window(index, 0, base.shape, base.strides, base.itemsize, base.ndim)
    seen = x._buffer.where()
    if type(seen) is not Window:
        return None
    return counted_window(index, seen.offset, seen.shape, seen.strides, 1, base.ndim)


def read_at(root: Any, region: Moving) -> Any:
    """The entries of a traced array at a region that moves: a view, or a number."""
    root._value = region.under(root._trace).home(root._value)
    y = region.read_from(root)
    if type(concrete(y)) is ndarray:
        if root._buffer is None:
            root._buffer = Storage()
        y._buffer = View(root, root._buffer.version, region)
        root._buffer.looked_into_by(y)
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
