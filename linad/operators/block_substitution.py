"""Block triangular systems by substitution, block row after block row."""

import itertools
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.operators.base import JacobianOperator
from linad.operators.facts import both
from linad.operators.typed import Typed


class BlockTriangularSolve(Typed):
    """x = A^-1 b for a block triangular A.

        x_i = A_ii^-1 (b_i - Σ_{j≠i} A_ij x_j)

    Parameters
    ----------
    inverses : list of JacobianOperator
        A_ii^-1, on flat vectors.
    rest : list of (row, column, operator)
        The blocks beside the diagonal.
    sizes : list of int
        Of the block rows.
    lower : bool
        Whether A is lower block triangular.

    Notes
    -----
    An application of every block.
    """

    unknown = (
        "definiteness diagonal_entries column_squares spectral_norm adjoint_form multiple "
        "inverse_form relation"
    )

    owns_result = True

    def __init__(
        self,
        inverses: list[JacobianOperator],
        rest: list[tuple[int, int, JacobianOperator]],
        sizes: list[int],
        lower: bool,
    ) -> None:
        self.inverses, self.rest, self.sizes, self.lower = inverses, rest, sizes, lower
        n = sum(sizes)
        first = inverses[0]
        self._in_dtype, self._out_dtype = first.in_dtype, first.out_dtype
        super().__init__((n,), (n,), np.result_type(*[op.dtype for op in inverses]))

    def pushforward(self, tangent: Array) -> Array:
        order = range(len(self.sizes)) if self.lower else range(len(self.sizes))[::-1]
        parts = self._parts(tangent)
        for i in order:
            for row, column, block in self.rest:
                if row == i:
                    parts[i] = parts[i] - block.pushforward(parts[column])
            parts[i] = self.inverses[i].pushforward(parts[i])
        return np.concatenate(parts, axis=-1)

    def pullback(self, cotangent: Array) -> Array:
        order = range(len(self.sizes))[::-1] if self.lower else range(len(self.sizes))
        parts = self._parts(cotangent)
        for j in order:
            for row, column, block in self.rest:
                if column == j:
                    parts[j] = parts[j] - block.pullback(parts[row])
            parts[j] = self.inverses[j].pullback(parts[j])
        return np.concatenate(parts, axis=-1)

    def _parts(self, x: Array) -> list[Any]:
        ends = [0, *itertools.accumulate(self.sizes)]
        return [x[..., a:b] for a, b in itertools.pairwise(ends)]

    def triangles(self) -> tuple[bool, bool]:
        lower, upper = both(inverse.triangles() for inverse in self.inverses)
        return lower and self.lower, upper and not self.lower
