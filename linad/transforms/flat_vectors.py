"""The derivative of a function of containers, as a matrix sees it: between flat vectors."""

from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core.array_type import Array
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.operators.wrappers import Wrapper
from linad.transforms.fold import folded
from linad.transforms.spaces import joined, split

if TYPE_CHECKING:
    from linad.transforms.tape_operator import TapeOperator


class FlatVectors(Wrapper):
    """A TapeOperator of containers, seen as one of flat vectors."""

    unknown = EVERYTHING

    def __init__(self, op: "TapeOperator") -> None:
        n, m = (sum([s.size for s in slots]) for slots in (op.in_slots, op.out_slots))
        super().__init__(op, (m,), (n,))
        # Real leaves beside complex ones: a sweep drops the imaginary part of the real ones.
        self.wide = self._in_dtype.kind == "c" and any(s.dtype.kind != "c" for s in op.in_slots)
        self.owns_result = False

    def _label(self) -> str:
        return self.op._label()

    def pushforward(self, tangent: Array) -> Array:
        seeds = tangent.shape[:-1]
        leaves = split(tangent, self.op.in_slots)
        return joined(self.op.push_leaves(leaves, seeds), seeds, self.out_dtype)

    def pullback(self, cotangent: Array) -> Array:
        seeds = cotangent.shape[:-1]
        leaves = split(cotangent, self.op.out_slots)
        return joined(self.op.pull_leaves(leaves, seeds), seeds, self.in_dtype)

    def _apply_rows(self, x: Array, adjoint: bool) -> Any:
        if not self.wide or not self.clinear:
            return super()._apply_rows(x, adjoint)
        if adjoint and self.out_dtype.kind != "c":
            # Real results of a map that is linear over the complex numbers: they depend on
            # the real leaves only.
            return self._sweep(x.real, adjoint) + 1j * self._sweep(x.imag, adjoint)
        slots = self.op.in_slots
        real = np.concatenate([np.full(s.size, s.dtype.kind != "c") for s in slots])
        y = self._sweep(x, adjoint)
        if adjoint:
            return y + 1j * (real * self._sweep(-1j * x, adjoint))
        return y + 1j * self._sweep(real * x.imag, adjoint)

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        return folded(self.op, simplify)
