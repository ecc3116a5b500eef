"""Inverses in closed form: a table from classes to functions that make them.

    (A B)^-1 = B^-1 A^-1            (α A)^-1 = α^-1 A^-1          (A^H)^-1 = (A^-1)^H
    (L ⊗ R)^-1 = L^-1 ⊗ R^-1       diag(d)^-1 = diag(1/d)        P^-1 = P^T
    (F^-1 Λ F)^-1 = F^-1 Λ^-1 F     running sum^-1 = difference
    A ⊗ I + I ⊗ B by Schur forms, or eigenvectors      (`linad.linalg.kronecker_sums`)
    (D + U V)^-1 = D^-1 - D^-1 U (I + V D^-1 U)^-1 V D^-1         (Woodbury)

and block diagonal matrices block by block, block triangular ones by substitution. An operator
that has none of these is left to a factorisation or an iteration.

Sources: G. Golub and C. Van Loan, "Matrix Computations", 4th edition, sections 2.1.4 and 4.8;
M. Woodbury, "Inverting modified matrices", 1950.
"""

from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.primitive import Traced
from linad.core.shapes import matrix_transpose, size_of
from linad.errors import SingularError
from linad.linalg.block_substitution import BlockTriangularSolve
from linad.linalg.factors import Banded, DenseLU, Triangular
from linad.linalg.kronecker_sums import kronecker_sum_inverse
from linad.linalg.structure import low_rank_split, triangles_of
from linad.operators.algebra import compose, matching, scale, subtract
from linad.operators.base import JacobianOperator
from linad.operators.blocks import Blocks
from linad.operators.circulant import Circulant, circulant
from linad.operators.composites import Adjoint, Chain, Reshaped, Scaled, Sum, Transpose
from linad.operators.dft import Fourier
from linad.operators.foreign import Foreign
from linad.operators.matrix_inverse import Solve
from linad.operators.placement import Roll
from linad.operators.recurrences import BackwardDifference, CumulativeSum, Recurrence
from linad.operators.rewrites import INVERSES, adjoint_of, inverts
from linad.operators.structured import (
    Diagonal,
    Identity,
    Kronecker,
    Masked,
    Matrix,
    Permutation,
    Reshape,
    Zero,
)
from linad.operators.tagged import Tagged, band_of

MOST_COLUMNS = 1000
"""Largest rank of the low-rank part in Woodbury's formula."""

MOST_NUMBERS = 2**25
"""Largest size of the two thin matrices it keeps."""

TRUSTED = 1e8
"""Size and condition number of Woodbury's small matrix up to which the formula is used: so many
times rounding is what it may lose."""


def closed_form(op: JacobianOperator) -> JacobianOperator | None:
    """The inverse of a square, simplified operator, or None if the table has none.

    Raises
    ------
    SingularError
        If the structure shows that there is no inverse.
    """
    invert = INVERSES.get(type(op))
    return None if invert is None else invert(op)


# Entries and orders.


@inverts(Identity, Permutation, Roll)
def _(op: Any) -> JacobianOperator:
    # P^-1 = P^T
    return adjoint_of(op)


@inverts(Reshape)
def _(op: Reshape) -> JacobianOperator:
    return Reshape(op.in_shape, op.out_shape, op.dtype)


@inverts(Zero)
def _(op: Zero) -> JacobianOperator:
    if op.shape[0]:
        raise SingularError(f"inverse: {op._label()} is zero")
    return Zero(op.in_shape, op.out_shape, op.dtype)


@inverts(Diagonal)
def _(op: Diagonal) -> JacobianOperator:
    # diag(d)^-1 = diag(1/d)
    if size_of(op.in_shape):
        _check_entries(op, concrete(op.entries))
    return Diagonal(1 / op.entries, op.in_shape, op.dtype)


@inverts(Masked)
def _(op: Masked) -> JacobianOperator:
    _check_entries(op, op.mask)
    return Identity(op.in_shape, op.dtype)


def _check_entries(op: Any, d: Any) -> None:
    wrong = np.argwhere(~(np.isfinite(d) & (np.asarray(d) != 0)))
    if len(wrong):
        raise SingularError(
            f"inverse: {op._label()} is diagonal with {d[tuple(wrong[0])]} at "
            f"{tuple(wrong[0].tolist())}"
            if np.ndim(d)
            else f"inverse: {op._label()} is {d} times the identity"
        )


# Circulants and running sums.


@inverts(Circulant)
def _(op: Circulant) -> JacobianOperator:
    # (F^-1 Λ F)^-1 = F^-1 Λ^-1 F
    sizes = np.abs(np.asarray(concrete(op.eigenvalues)))
    eps = np.finfo(op.dtype).eps
    if sizes.size and not np.min(sizes) > eps * np.max(sizes):
        raise SingularError(
            f"inverse: {op._label()} is circulant with the eigenvalue {np.min(sizes):.1e}, which "
            f"is zero to working precision"
        )
    return Circulant(1 / op.eigenvalues, op.axes, op.in_shape, op.dtype)


@inverts(Fourier)
def _(op: Fourier) -> JacobianOperator:
    # F^-1 = F^H / n: the other direction, with NumPy's factor for this norm
    return Fourier(op.axes, not op.backward, op.norm, op.in_shape, op.dtype)


@inverts(CumulativeSum)
def _(op: CumulativeSum) -> JacobianOperator:
    # Differences undo running sums.
    return BackwardDifference(op._axis, op.in_shape, op.dtype)


@inverts(Recurrence)
def _(op: Recurrence) -> JacobianOperator:
    # h = (I - A S)^-1 b, hence b = h - A S h
    return BackwardDifference(
        op._axis, op.in_shape, op.dtype, op.coefficients, backward=op._backward
    )


# Matrices.


def solver(a: Any) -> Any:
    """What applies the inverse of a matrix (n, n) to vectors: its factors, or, of a traced one,
    the matrix to solve with."""
    lower, upper = triangles_of(a)
    if isinstance(a, Traced):
        DenseLU(np.asarray(concrete(a)))  # raises if it is singular
        return a
    return Triangular(a, lower) if lower or upper else DenseLU(a)


def _solving_rows(a: Any, lead: tuple[int, ...], dtype: Any) -> JacobianOperator:
    """Apply the inverse of a matrix along the last axis of arrays (*lead, n)."""
    factors, n = solver(a), a.shape[-1]
    if not isinstance(factors, Traced):
        return Foreign(factors, lead=lead)
    columns, rows = (n, size_of(lead)), (*lead, n)
    into = compose(Permutation((1, 0), columns[::-1], dtype), Reshape(columns[::-1], rows, dtype))
    solve = Solve(factors, columns, columns, dtype)
    return compose(adjoint_of(into), compose(solve, into))


@inverts(Matrix)
def _(op: Matrix) -> JacobianOperator:
    return _solving_rows(op.a, (), op.dtype)


@inverts(Kronecker)
def _(op: Kronecker) -> JacobianOperator | None:
    # (L ⊗ R)^-1 = L^-1 ⊗ R^-1: X -> L^-1 X R^-T
    shape, dtype = op.in_shape, op.dtype
    if op.out_shape != shape:
        return None
    if any(f is not None and f.ndim > 2 for f in (op.left, op.right)):
        return _stack_inverse(op)
    found: JacobianOperator = Identity(shape, dtype)
    if op.right is not None:
        found = _solving_rows(op.right, shape[:-1], dtype)
    if op.left is not None:
        k = len(shape)
        swap = Permutation((*range(k - 2), k - 1, k - 2), shape, dtype)
        rows = _solving_rows(op.left, swap.out_shape[:-1], dtype)
        found = compose(adjoint_of(swap), compose(compose(rows, swap), found))
    return found


def _stack_inverse(op: Kronecker) -> JacobianOperator:
    """Of stacks of matrices, one for each batch index."""
    for f in (op.left, op.right):
        if f is not None:
            check_stack(np.asarray(concrete(f)), op)
    left, right = [f if f is None else np.linalg.inv(f) for f in (op.left, op.right)]
    return Kronecker(left, right, op.in_shape, op.out_shape, op.dtype)


def check_stack(a: Any, op: JacobianOperator) -> None:
    """Raise SingularError if a matrix of a stack is singular to working precision."""
    worst = float(np.max(np.linalg.cond(a), initial=1.0)) if a.size else 1.0
    if not worst * np.finfo(a.dtype).eps < 1:
        raise SingularError(f"inverse: {op._label()} holds a singular matrix")


@inverts(Solve)
def _(op: Solve) -> JacobianOperator | None:
    # (A^-1)^-1 = A
    a = op.matrix.a
    if op.in_shape != op.out_shape:
        return None
    return Kronecker(a, None, op.out_shape, op.in_shape, op.dtype)


# Views and numbers.


@inverts(Adjoint)
def _(op: Adjoint) -> JacobianOperator | None:
    # (A^H)^-1 = (A^-1)^H
    found = closed_form(op.op)
    return None if found is None else found.H


@inverts(Transpose)
def _(op: Transpose) -> JacobianOperator | None:
    found = closed_form(op.op)
    return None if found is None else found.T


@inverts(Scaled)
def _(op: Scaled) -> JacobianOperator | None:
    # (α A)^-1 = α^-1 A^-1
    if not concrete(op.alpha):
        raise SingularError(f"inverse: {op._label()} is zero times another operator")
    found = closed_form(op.op)
    return None if found is None else scale(1 / op.alpha, found)


@inverts(Reshaped)
def _(op: Reshaped) -> JacobianOperator | None:
    found = closed_form(op.op)
    return None if found is None else matching(found, op.in_shape, op.out_shape)


@inverts(Tagged)
def _(op: Tagged) -> JacobianOperator | None:
    found = closed_form(op.op)
    if found is not None or "banded" not in op.tags:
        return found
    below, above = op.tags["banded"]
    # A wide band is no cheaper than a full matrix.
    if 2 * below + above >= op.shape[0]:
        return None
    banded = Foreign(Banded(band_of(op.op, below, above), below, above))
    return matching(banded, op.in_shape, op.out_shape)


# Products and sums.


@inverts(Chain)
def _(op: Chain) -> JacobianOperator | None:
    # (A B)^-1 = B^-1 A^-1
    if op.wide or op.in_dtype != op.out_dtype or not op.clinear:
        return None
    if any(f.shape[0] != f.shape[1] or type(f) not in INVERSES for f in op.factors):
        return None
    found: JacobianOperator | None = None
    for factor in op.factors:
        part = closed_form(factor)
        if part is None:
            return None
        found = part if found is None else compose(part, found)
    return found


@inverts(Sum)
def _(op: Sum) -> JacobianOperator | None:
    as_circulant = circulant(op)
    if as_circulant is not None:
        return closed_form(as_circulant)
    found = kronecker_sum_inverse(op)
    if found is not None:
        return found
    split = low_rank_split(op)
    return None if split is None else woodbury(op, *split)


def woodbury(op: Sum, diagonal: list[Any], others: list[Any]) -> JacobianOperator | None:
    """(D + U V)^-1 = D^-1 - D^-1 U (I + V D^-1 U)^-1 V D^-1, or None where it is not safe."""
    base = diagonal[0] if len(diagonal) == 1 else Sum(tuple(diagonal))
    pairs = [_narrowest(term) for term in others]
    rank = sum(u.shape[1] for u, _ in pairs)
    if op.wide or rank > MOST_COLUMNS or rank * op.shape[0] > MOST_NUMBERS:
        return None
    try:
        inverse = closed_form(base)
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
    middle = closed_form(Matrix(small, op.dtype))
    assert middle is not None
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
    return _product(left), _product(right)


def _product(factors: Any) -> JacobianOperator:
    return factors[0] if len(factors) == 1 else Chain(tuple(factors))


def _rows_of(u: JacobianOperator) -> Any:
    """The columns of U, as rows."""
    return u._apply_rows(np.eye(u.shape[1], dtype=u.in_dtype), False)


# Blocks.


@inverts(Blocks)
def _(op: Blocks) -> JacobianOperator | None:
    if op.heights != op.widths or op.wide:
        return None
    places = [(i, j) for i, j, _ in op.blocks]
    lower, upper = all(i >= j for i, j in places), all(i <= j for i, j in places)
    if not (lower or upper) or len(set(places)) < len(places):
        return None
    diagonal: dict[int, JacobianOperator] = {}
    for i, j, block in op.blocks:
        if i == j:
            found = closed_form(block)
            if found is None:
                return None
            diagonal[i] = matching(found, (op.heights[i],), (op.heights[i],))
    missing = set(range(len(op.heights))) - set(diagonal)
    if any(op.heights[i] for i in missing):
        raise SingularError(
            f"inverse: {op._label()} is block triangular, and block {min(missing)} "
            f"on its diagonal is zero"
        )
    if missing:
        return None
    inverses = [diagonal[i] for i in range(len(op.heights))]
    if lower and upper:
        return Blocks([(i, i, b) for i, b in enumerate(inverses)], op.heights, op.widths)
    rest = [(i, j, block) for i, j, block in op.blocks if i != j]
    return BlockTriangularSolve(inverses, rest, op.heights, lower)
