"""Entries at positions that a model computes, or is given: ``Gather``, and its adjoint."""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.export.onnx_complex import Pair, paired
from linad.export.onnx_selections import zeros
from linad.export.onnx_writer import Writer, form
from linad.rules.gathering import gather, scatter_add

INTEGER, TRUTH = np.dtype(np.int64), np.dtype(bool)


@form("counted")
def counted(writer: Writer, eqn: Equation) -> Any:
    size, shape = eqn.params["size"], eqn.outputs[0].shape

    def place(p: Array) -> Any:
        inside = (p >= -size) & (p < size)
        return np.where(inside, np.where(p < 0, p + size, p), 0), np.all(inside)

    given = (writer.read(eqn.inputs[0], INTEGER), shape, INTEGER)
    found, inside = writer.record(place, [given], [(shape, INTEGER), ((), TRUTH)])
    writer.holds.append(inside)
    return found


@form("gather")
def gathered(writer: Writer, eqn: Equation) -> Any:
    x, positions = eqn.inputs
    names = [writer.read(x), writer.read(positions, INTEGER)]
    return writer.node("Gather", names, axis=np.ndim(x) + eqn.params["axis"])


@form("scatter_add")
def scattered(writer: Writer, eqn: Equation) -> Any:
    (values, positions), (y,) = eqn.inputs, eqn.outputs
    axis = len(y.shape) + eqn.params["axis"]
    outer, n, inner = size_of(y.shape[:axis]), y.shape[axis], size_of(y.shape[axis + 1 :])
    old, count = np.shape(positions), size_of(np.shape(positions))
    places = writer.reshape(writer.read(positions, INTEGER), old, (1, count, 1))
    operands = [
        writer.reshape(zeros(writer, y), y.shape, (outer, n, inner)),
        writer.expand(places, (1, count, 1), (outer, count, inner)),
        writer.reshape(writer.read(values), np.shape(values), (outer, count, inner)),
    ]
    made = writer.node("ScatterElements", operands, axis=1, reduction="add")
    return writer.reshape(made, (outer, n, inner), y.shape)


@paired("gather")
def gathered_pair(x: Pair, positions: Array, *, axis: int) -> Pair:
    return Pair(*[gather(part, positions, axis=axis) for part in x])


@paired("scatter_add")
def scattered_pair(values: Pair, positions: Array, *, axis: int, size: int) -> Pair:
    return Pair(*[scatter_add(part, positions, axis=axis, size=size) for part in values])


@form("last_written")
def last_written(writer: Writer, eqn: Equation) -> Any:
    (positions,), (y,) = eqn.inputs, eqn.outputs
    count = size_of(np.shape(positions))
    operands = [
        writer.constant(np.full(y.shape, -1)),
        writer.read(positions, INTEGER),
        writer.constant(np.arange(count)),
    ]
    return writer.node("ScatterElements", operands, axis=0, reduction="max")
