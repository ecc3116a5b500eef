"""Sums of a diagonal and a matrix of low rank, and Woodbury's formula for their inverses.

    (D + U V)^-1 = D^-1 - D^-1 U (I + V D^-1 U)^-1 V D^-1

Source: M. Woodbury, "Inverting modified matrices", 1950; G. Golub and C. Van Loan, "Matrix
Computations", 4th edition, section 2.1.4.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.shapes import matrix_transpose
from linad.errors import SingularError
from linad.operators.algebra import compose, matching, scale, subtract
from linad.operators.base import JacobianOperator
from linad.operators.blocks import Blocks
from linad.operators.composites import Chain, Sum, chain_of, recognises
from linad.operators.facts import NOTHING
from linad.operators.matrices import Matrix
from linad.operators.structured import Identity
from linad.operators.wrappers import Scaled

MOST_COLUMNS = 1000
"""Largest rank of the low-rank part in Woodbury's formula."""

MOST_NUMBERS = 2**25
"""Largest size of the two thin matrices it keeps."""

TRUSTED = 1e8
"""Size and condition number of Woodbury's small matrix up to which the formula is used: so many
times rounding is what it may lose."""


@dataclass
class LowRankPlusDiagonal:
    """A sum whose terms are diagonal, or have together a rank of at most half its size."""

    op: Sum
    diagonal: list[Any]
    others: list[Any]

    def pattern_names(self) -> set[str]:
        return {"low rank plus diagonal"}

    def definiteness(self) -> int:
        return NOTHING  # which its terms tell as well

    def inverse_form(self) -> JacobianOperator | None:
        return woodbury(self.op, self.diagonal, self.others)


def low_rank_split(op: Sum) -> tuple[list[Any], list[Any]] | None:
    """The diagonal terms of a sum, and the others, if these have a rank of at most n // 2."""
    if op.shape[0] != op.shape[1]:
        return None
    diagonal = [t for t in op.terms if t.triangles() == (True, True)]
    others = [t for t in op.terms if t.triangles() != (True, True)]
    if not diagonal or not others or sum(t.rank_bound() for t in others) > op.shape[0] // 2:
        return None
    return diagonal, others


@recognises(Sum)
def low_rank(op: Sum) -> LowRankPlusDiagonal | None:
    """A sum as a diagonal and a matrix of low rank, or None."""
    split = low_rank_split(op)
    return None if split is None else LowRankPlusDiagonal(op, *split)


def woodbury(op: Sum, diagonal: list[Any], others: list[Any]) -> JacobianOperator | None:
    """(D + U V)^-1 = D^-1 - D^-1 U (I + V D^-1 U)^-1 V D^-1, or None where it is not safe."""
    base = diagonal[0] if len(diagonal) == 1 else Sum(tuple(diagonal))
    pairs = [_narrowest(term) for term in others]
    rank = sum(u.shape[1] for u, _ in pairs)
    if op.wide or rank > MOST_COLUMNS or rank * op.shape[0] > MOST_NUMBERS:
        return None
    try:
        inverse = base.inverse_form()
    except SingularError:
        return None
    if inverse is None:
        return None
    # Rows of these are the columns of U, and of D^-1 U.
    columns = np.concatenate([_rows_of(u) for u, _ in pairs])
    solved = inverse._apply_rows(columns, False)
    small = np.concatenate([v._apply_rows(solved, False) for _, v in pairs], axis=-1)
    small = matrix_transpose(small) + np.eye(small.shape[0], dtype=op.dtype)
    numbers = np.asarray(concrete(small))
    if not max(np.linalg.cond(numbers, 1), np.linalg.norm(numbers, 1)) <= TRUSTED:
        return None
    middle = Matrix(small, op.dtype).inverse_form()
    left = Matrix(matrix_transpose(solved), op.dtype)  # D^-1 U
    right = _stacked([v for _, v in pairs])
    correction = compose(left, compose(middle, compose(right, inverse)))
    return subtract(inverse, matching(correction, inverse.out_shape, inverse.in_shape))


def _stacked(ops: list[JacobianOperator]) -> JacobianOperator:
    flat = [matching(op, op.shape[:1], op.shape[1:]) for op in ops]
    if len(flat) == 1:
        return flat[0]
    heights = [op.shape[0] for op in flat]
    return Blocks([(i, 0, op) for i, op in enumerate(flat)], heights, [flat[0].shape[1]])


def _narrowest(term: Any) -> tuple[JacobianOperator, JacobianOperator]:
    """A product U V, split where it is narrowest."""
    if type(term) is Scaled:
        u, v = _narrowest(term.op)
        return scale(term.alpha, u), v
    if type(term) is not Chain:
        return Identity(term.out_shape, term.dtype), term
    k = min(range(1, len(term.factors)), key=lambda i: term.factors[i].shape[0])
    left, right = term.factors[:k], term.factors[k:]
    return chain_of(left), chain_of(right)


def _rows_of(u: JacobianOperator) -> Any:
    """The columns of U, as rows."""
    return u._apply_rows(np.eye(u.shape[1], dtype=u.in_dtype), False)
