"""Operations on whole arrays, as they are written down for the repetitions of a loop.

What differs from repetition to repetition has the axes of the repetitions in front of its own; what
is the same in all stays as it is.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linad.control.carried_arrays import CarriedArray, Place
from linad.core.primitive import Primitive
from linad.core.shapes import Shape
from linad.core.tape import Equation, Var


class RowValue(NamedTuple):
    """What the body has in a variable, for all repetitions.

    Attributes
    ----------
    operand : Var or array
        ``(*lead, *shape)``, or ``shape`` where it is the same in all.
    shape : tuple of int
        In one repetition.
    moves : bool
        Whether it has the axes of repetitions.
    """

    operand: Any
    shape: Shape
    moves: bool


class RowProgram:
    """The operations, one after the other.

    Parameters
    ----------
    n : int
        How many repetitions there are.
    lead : tuple of int
        Their axes: of n repetitions in all.
    operands : sequence
        Those of the loop.

    Attributes
    ----------
    inputs : list of Var
        They stand for the operands.
    """

    def __init__(self, n: int, lead: Shape, operands: Sequence[Any]) -> None:
        self.n, self.lead = n, lead
        self.equations: list[Equation] = []
        self._count = 0
        self.inputs = [self.var(np.shape(a), a.dtype) for a in operands]

    def var(self, shape: Shape, dtype: np.dtype[Any]) -> Var:
        self._count += 1
        return Var(self._count, tuple(shape), np.dtype(dtype))

    def emit(
        self, name: str, inputs: Sequence[Any], shape: Shape, dtype: np.dtype[Any], /, **params: Any
    ) -> Var:
        """Add an operation; its result."""
        out = self.var(shape, dtype)
        self.equations.append(Equation(Primitive.registry[name], tuple(inputs), params, (out,)))
        return out

    def compute(self, eqn: Equation, values: Sequence[RowValue]) -> RowValue:
        """An operation of the body that goes entry by entry, on all repetitions at once."""
        out = eqn.outputs[0]
        moves = any([v.moves for v in values])
        operands = tuple([self.aligned(v, len(out.shape)) for v in values])
        shape = (*self.lead, *out.shape) if moves else out.shape
        var = self.var(shape, out.dtype)
        self.equations.append(Equation(eqn.primitive, operands, eqn.params, (var,), eqn.source))
        return RowValue(var, out.shape, moves)

    # Axes.

    def aligned(self, value: RowValue, ndim: int) -> Any:
        """The operand, with the axes of one repetition at the end of as many."""
        missing = ndim - len(value.shape)
        if not value.moves or missing <= 0:
            return value.operand
        return self._reshaped(value.operand, (*self.lead, *(1,) * missing, *value.shape))

    def spread(self, rows: Any, shape: Shape) -> Any:
        """An operand with a row for each repetition, with the axes of repetitions."""
        return self._reshaped(rows, (*self.lead, *shape))

    def in_one_axis(self, value: RowValue) -> Any:
        """The reverse."""
        return self._reshaped(value.operand, (self.n, *value.shape))

    def as_row(self, value: RowValue, out: Var) -> Any:
        """A result of the loop that has a row for each repetition."""
        if value.moves:
            return self.in_one_axis(value)
        shape = (self.n, *out.shape)
        return self.emit("broadcast_to", [value.operand], shape, out.dtype, shape=shape)

    def _reshaped(self, operand: Any, shape: Shape) -> Any:
        if operand.shape == shape:
            return operand
        return self.emit("reshape", [operand], shape, operand.dtype, shape=shape)

    # Entries of arrays.

    def read(self, array: Any, place: Place, out: Var) -> RowValue:
        """What ``out`` is in all repetitions, which is read of an array."""
        shape = (*self.lead, *out.shape) if place.moves else out.shape
        var = self.emit("read_region", [array], shape, out.dtype, region=place.region)
        return RowValue(var, out.shape, place.moves)

    def updated(self, chain: CarriedArray) -> Any:
        """An array that goes round, after all repetitions."""
        array = chain.operand
        shape, dtype = array.shape, array.dtype
        for update in chain.ordered:
            region = update.use.place.region
            value = self.aligned(update.value, len(region.shape) - len(self.lead))
            if update.operation:
                before = self.emit("read_region", [array], region.shape, dtype, region=region)
                value = self.emit(update.operation, [before, value], region.shape, dtype)
            array = self.emit("write_region", [array, value], shape, dtype, region=region)
        return array
