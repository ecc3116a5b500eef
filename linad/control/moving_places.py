"""Where an equation reads or writes, apart from what it does there: an operand of its own.

    x[3, 1:4]            read_moving(x, at=13), region (3,) with strides (1,)
    x[5, 1:4] = v        write_moving(x, v, at=21), the same region

Then equations that differ in the place alone are one equation with another number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.moving_regions import read_moving, write_moving
from linad.core.primitive import Primitive
from linad.core.regions import Window
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Tape, Var
from linad.transforms.rewriting import params_key

REGIONS = "getitem", "read_region", "view_region", "write_region"
"""Primitives that name a part of an array."""


class Places:
    """Takes the places of a tape's reads and writes apart, and puts them together again."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.origin: dict[int, Any] = {}  # by the identity of parameters, and these

    def apart(self, tape: Tape) -> Tape:
        equations = [self.one_apart(e) for e in tape.equations]
        return Tape(tape.name, tape.inputs, equations, tape.outputs, tape.in_tree, tape.out_tree)

    def together(self, equations: Sequence[Equation]) -> list[Equation]:
        """The equations, those whose place is known as they were."""
        return [self._together(e) for e in equations]

    def read_by(self, e: Equation) -> tuple[Primitive, dict[str, Any]] | None:
        """The primitive and the parameters that an equation had before it was taken apart."""
        found = self.origin.get(id(e.params))
        return None if found is None else (found[1], found[3])

    def one_apart(self, e: Equation) -> Equation:
        if e.primitive.name not in REGIONS:
            return e
        shape = getattr(e.inputs[0], "shape", ())
        if not isinstance(e.inputs[0], Var) or not size_of(e.outputs[0].shape):
            return e
        try:
            key = params_key(e.params), shape
            found = self.known.get(key)
        except TypeError:
            return e
        if found is None:
            found = self.known[key] = window_of(e.params, shape) or ()
        if not found:
            return e
        at, region = found
        params = {"region": region}
        moving = write_moving if e.primitive.name == "write_region" else read_moving
        made = Equation(moving, (*e.inputs, at), params, e.outputs, e.source)
        self.origin[id(params)] = params, e.primitive, at, e.params
        return made

    def _together(self, e: Equation) -> Equation:
        found = self.origin.get(id(e.params))
        if found is None or isinstance(e.inputs[-1], Var):
            return e
        _, primitive, _, params = found
        return Equation(primitive, e.inputs[:-1], params, e.outputs, e.source)


def window_of(params: dict[str, Any], shape: Shape) -> tuple[np.int64, Window] | None:
    """What a read or a write names: the number of the first entry, and a window at 0."""
    region = params.get("region")
    if region is None:
        return _of_index(params["index"], shape)
    if type(region) is not Window or region.ndim != len(shape):
        return None
    moved = Window(0, region.shape, region.strides, region.ndim)
    moved.scalar = region.scalar
    return np.int64(region.offset), moved


def _of_index(index: Any, shape: Shape) -> tuple[np.int64, Window] | None:
    offset, strides, lengths, stride = 0, [], [], size_of(shape)
    axis = 0
    for entry in index:
        if entry is None:
            lengths.append(1)
            strides.append(0)
            continue
        n = shape[axis]
        stride //= n
        axis += 1
        if type(entry) is int:
            offset += (entry + n if entry < 0 else entry) * stride
        elif type(entry) is slice:
            start, stop, step = entry.indices(n)
            offset += start * stride
            lengths.append(len(range(start, stop, step)))
            strides.append(step * stride)
        else:
            return None
    window = Window(0, tuple(lengths), tuple(strides), len(shape))
    window.scalar = not lengths
    return np.int64(offset), window
