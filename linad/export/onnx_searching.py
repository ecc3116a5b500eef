"""Orders and places: positions of entries, which Python and later operations go by."""

from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.core.tape import Equation, Var
from linad.export.onnx_nodes import truth
from linad.export.onnx_values import NoForm
from linad.export.onnx_writer import Writer, composed, form


def _order(writer: Writer, name: str, dtype: np.dtype[Any], n: int, axis: int) -> str:
    """Positions in ascending order; of equal entries the first comes first."""
    if dtype.kind != "f":
        name = writer.cast(name, dtype, np.int64)
    found = writer.node("TopK", [name, writer.numbers([n])], 2, axis=axis, largest=0, sorted=1)
    made: str = found[1]
    return made


@form("argsort", "argpartition", "ordered_places")
def argsort(writer: Writer, eqn: Equation) -> Any:
    # A whole order is a partition as well: what has to lie at each place lies there.
    x, (y,) = eqn.inputs[0], eqn.outputs
    if not isinstance(x, Var) or eqn.params.get("order") is not None:
        raise NoForm("it sorts by fields")
    if not size_of(x.shape):
        return writer.constant(np.zeros(y.shape, y.dtype))
    axis, shape, name = eqn.params.get("axis", -1), x.shape, writer.read(x)
    if axis is None:
        name, axis, shape = writer.reshape(name, shape, (size_of(shape),)), 0, (size_of(shape),)
    axis = int(axis) % len(shape)
    return writer.cast(_order(writer, name, x.dtype, shape[axis], axis), np.int64, y.dtype)


@form("lexsort")
def lexsort(writer: Writer, eqn: Equation) -> Any:
    # One key after the other, the last one last; each sort keeps the order of equal entries.
    (y,) = eqn.outputs
    axis = int(eqn.params["axis"]) % len(y.shape)
    order = ""
    for key in eqn.inputs:
        dtype = key.dtype if isinstance(key, Var) else np.asarray(key).dtype
        name = writer.expand(writer.read(key), np.shape(key), y.shape)
        if not order:
            order = _order(writer, name, dtype, y.shape[axis], axis)
            continue
        moved = writer.node("GatherElements", [name, order], axis=axis)
        step = _order(writer, moved, dtype, y.shape[axis], axis)
        order = writer.node("GatherElements", [order, step], axis=axis)
    return writer.cast(order, np.int64, y.dtype)


@composed("nanargmax")
def nanargmax(x: Any, *, axis: Any = None) -> Any:
    return np.argmax(np.where(x != x, -np.inf, x), axis=axis)


@composed("nanargmin")
def nanargmin(x: Any, *, axis: Any = None) -> Any:
    return np.argmin(np.where(x != x, np.inf, x), axis=axis)


@composed("searchsorted")
def searchsorted(a: Any, v: Any, *, side: str = "left", sorter: Any = None) -> Any:
    # How many entries lie below, in the whole list.
    wide = np.reshape(v, (*np.shape(v), 1)) if np.ndim(v) else v
    if sorter is not None:
        a = np.asarray(a)[sorter] if isinstance(a, np.ndarray) else a[sorter]
    below = np.less(a, wide) if side == "left" else np.less_equal(a, wide)
    return np.count_nonzero(below, axis=-1)


@composed("digitize")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    # Bins that fall are counted from the other end.
    wide = np.reshape(x, (*np.shape(x), 1)) if np.ndim(x) else x
    fall = np.shape(bins)[0] > 1 and bool(np.asarray(bins)[0] > np.asarray(bins)[-1])
    if fall:
        above = np.greater_equal(bins, wide) if right else np.greater(bins, wide)
        return np.count_nonzero(above, axis=-1)
    below = np.less(bins, wide) if right else np.less_equal(bins, wide)
    return np.count_nonzero(below, axis=-1)


@composed("isin")
def isin(element: Any, test_elements: Any, **keywords: Any) -> Any:
    flat = np.reshape(test_elements, (-1,))
    wide = np.reshape(element, (*np.shape(element), 1)) if np.ndim(element) else element
    found = np.any(np.equal(wide, flat), axis=-1)
    return np.logical_not(found) if keywords.get("invert") else found


@composed("position")
def position(a: Any, *, n: int, mode: str) -> Any:
    if mode == "wrap":
        return a - n * np.floor_divide(a, n)
    return np.minimum(np.maximum(a, 0), n - 1) if mode == "clip" else a


@form("logical_and_reduce", "logical_or_reduce", "logical_xor_reduce")
def logical_reduce(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    axis = eqn.params.get("axis", 0)
    ndim = len(x.shape)
    axes = range(ndim) if axis is None else [int(k) % ndim for k in np.atleast_1d(axis)]
    if not set(eqn.params) <= {"axis", "keepdims"} or not size_of(x.shape):
        raise NoForm(f"parameters {sorted(eqn.params)}")
    numbers = writer.cast(truth(writer, x), bool, np.int32)
    op = {"and": "ReduceMin", "or": "ReduceMax"}.get(eqn.primitive.name.split("_")[1], "ReduceSum")
    found = writer.node(op, [numbers, writer.numbers(list(axes))], keepdims=0) if axes else numbers
    if op == "ReduceSum":
        found = writer.node("BitwiseAnd", [found, writer.constant(1, np.int32)])
    return writer.cast(writer.node("Reshape", [found, writer.numbers(y.shape)]), np.int32, bool)
