"""The rewrites of structured operators, each with its identity.

⊗ is Kronecker's product, P a permutation of entries, B a broadcast, F a Fourier transform,
E the pad that places an array among zeros. Operators of a table have one dtype in and out.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import size_of
from linad.operators.base import JacobianOperator
from linad.operators.circulant import Circulant, sandwich
from linad.operators.composites import Chain
from linad.operators.dft import Fourier
from linad.operators.facts import WORK
from linad.operators.matrices import Kronecker, Matrix
from linad.operators.placement import Pad, Roll
from linad.operators.recurrences import BackwardDifference, CumulativeSum
from linad.operators.reordering import Broadcast, Permutation, Reshape
from linad.operators.rewrites import product, total, whole
from linad.operators.structured import Diagonal, Identity, Masked, Zero
from linad.operators.wrappers import Adjoint


def as_entries(op: Any) -> Any:
    """The numbers of an Identity, Masked or Diagonal."""
    if type(op) is Identity:
        return 1.0
    return op.mask.astype(op.dtype) if type(op) is Masked else op.entries


# Diagonals.


@product(Diagonal, Diagonal)
def diagonal_times_diagonal(a: Diagonal, b: Diagonal) -> Diagonal:
    # diag(d) diag(e) = diag(d e)
    return Diagonal(a.entries * b.entries, a.in_shape, a.dtype)


@product(Masked, Diagonal, at_once=False)
def masked_times_diagonal(a: Masked, b: Diagonal) -> Diagonal:
    # diag(m) diag(d) = diag(m d), and 0 wherever m is, even if d is not finite
    return Diagonal(np.where(a.mask, b.entries, np.zeros((), b.dtype)), b.in_shape, b.dtype)


@product(Diagonal, Masked, at_once=False)
def diagonal_times_masked(a: Diagonal, b: Masked) -> Diagonal:
    # diag(d) diag(m) = diag(m d)
    return Diagonal(np.where(b.mask, a.entries, np.zeros((), a.dtype)), a.in_shape, a.dtype)


@product(Masked, Masked, at_once=False)
def masked_times_masked(a: Masked, b: Masked) -> Masked:
    # diag(m) diag(n) = diag(m and n)
    return Masked(a.mask & b.mask, a.in_shape, a.dtype)


@total(Diagonal, Diagonal)
@total(Diagonal, Identity)
@total(Identity, Identity)
def diagonal_plus_diagonal(a: Any, b: Any) -> Diagonal:
    # diag(d) + diag(e) = diag(d + e)
    return Diagonal(as_entries(a) + as_entries(b), a.in_shape, a.dtype)


@total(Masked, Masked, at_once=False)
@total(Masked, Diagonal, at_once=False)
@total(Masked, Identity, at_once=False)
def masked_plus_diagonal(a: Any, b: Any) -> Diagonal:
    # diag(m) + diag(d) = diag(m + d)
    return diagonal_plus_diagonal(a, b)


# Orders of entries. A diagonal in front of one is taken to its left: P diag(d) = diag(P d) P.


@product(Permutation, Permutation)
def permutation_times_permutation(a: Permutation, b: Permutation) -> JacobianOperator:
    # P_q P_p = P_{p∘q}
    axes = [b.axes[k] for k in a.axes]
    if axes == sorted(axes):
        return Identity(b.in_shape, b.dtype)
    return Permutation(axes, b.in_shape, b.dtype)


@product(Reshape, Reshape)
def reshape_times_reshape(a: Reshape, b: Reshape) -> JacobianOperator:
    # Two reshapes are one.
    if a.out_shape == b.in_shape:
        return Identity(b.in_shape, b.dtype)
    return Reshape(a.out_shape, b.in_shape, b.dtype)


@product(Roll, Roll, at_once=False)
def roll_times_roll(a: Roll, b: Roll) -> JacobianOperator:
    # Shifts add.
    shifts: dict[int, int] = {}
    for op in (a, b):
        for s, axis in zip(op.shifts, op._axes, strict=True):
            shifts[axis] = (shifts.get(axis, 0) + s) % max(a.in_shape[axis], 1)
    if not any(shifts.values()):
        return Identity(a.in_shape, a.dtype)
    ndim = len(a.in_shape)
    axes = [k + ndim for k in shifts]
    return Roll(list(shifts.values()), axes, a.in_shape, a.dtype)


@product(Permutation, Diagonal, at_once=False)
@product(Reshape, Diagonal, at_once=False)
@product(Roll, Diagonal, at_once=False)
def reordering_times_diagonal(a: Any, b: Diagonal) -> Chain:
    moved = b.entries if np.ndim(b.entries) == 0 else a.pushforward(b.full())
    return Chain((Diagonal(moved, a.out_shape, a.dtype), a))


# Broadcasts and pads.


def same_broadcast(a: Any, b: Any) -> bool:
    """Whether two operators are the same broadcast."""
    return (
        type(a) is type(b) is Broadcast
        and a.out_shape == b.out_shape
        and a.in_shape == b.in_shape
        and a._kept == b._kept
    )


@product(Broadcast, Broadcast)
def broadcast_times_broadcast(a: Broadcast, b: Broadcast) -> Broadcast:
    # One broadcast after another. Axes of length 1 carry nothing; the others keep their order.
    outer, inner = a.repeated_axes(), b.repeated_axes()
    carried = [k for k, n in enumerate(a.out_shape) if k not in outer and n != 1]
    between = [k for k, n in enumerate(b.out_shape) if n != 1]
    also = [k for k, j in zip(carried, between, strict=True) if j in inner]
    return Broadcast(a.out_shape, b.in_shape, b.dtype, sorted({*outer, *also}))


@product(Adjoint, Broadcast)
def broadcast_adjoint_times_broadcast(a: Adjoint, b: Broadcast) -> JacobianOperator | None:
    # B^H B = c I: each entry is repeated c times
    if not same_broadcast(a.op, b):
        return None
    return Diagonal(b.repeats(), b.in_shape, b.dtype)


@product(Pad, Pad, at_once=False)
def pad_times_pad(a: Pad, b: Pad) -> Pad:
    # Offsets add.
    before = [i + j for i, j in zip(a.before, b.before, strict=True)]
    return Pad(before, a.out_shape, b.in_shape, b.dtype)


@product(Adjoint, Pad, at_once=False)
def pad_adjoint_times_pad(a: Adjoint, b: Pad) -> JacobianOperator | None:
    # E_i^H E_j = I for the same place, 0 for places apart
    if type(a.op) is not Pad:
        return None
    if a.op.before == b.before and a.op.in_shape == b.in_shape:
        return Identity(b.in_shape, b.dtype)
    places = zip(a.op.before, a.op.in_shape, b.before, b.in_shape, strict=True)
    if any(i + m <= j or j + n <= i for i, m, j, n in places):
        return Zero(a.out_shape, b.in_shape, b.dtype)
    return None


@total(Chain, Chain, at_once=False)
def scaled_plus_scaled(a: Chain, b: Chain) -> Chain | None:
    # diag(d) B + diag(e) B = diag(d + e) B
    if len(a.factors) == len(b.factors) == 2 and type(a.factors[0]) is type(b.factors[0]):
        d, e = a.factors[0], b.factors[0]
        one = a.factors[1] is b.factors[1] or same_broadcast(a.factors[1], b.factors[1])
        if type(d) is Diagonal and one:
            return Chain((diagonal_plus_diagonal(d, e), a.factors[1]))
    return None


# Matrices and Kronecker products.


def is_smaller(left: Array, right: Array) -> bool:
    """Whether a product of matrices holds no more numbers than its factors, at fair cost."""
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    batch = max(left.size // max(m * k, 1), right.size // max(k * n, 1))
    return m * n <= m * k + k * n and batch * m * k * n <= WORK


def _times(left: Array | None, right: Array | None) -> Any:
    """``left @ right``, where None is the identity."""
    if left is None or right is None:
        return left if right is None else right
    return left @ right


@product(Kronecker, Kronecker, at_once=False)
def kronecker_times_kronecker(a: Kronecker, b: Kronecker) -> Kronecker | None:
    # (L ⊗ R)(M ⊗ S) = L M ⊗ R S
    pairs = [(a.left, b.left), (a.right, b.right)]
    if any(p is not None and q is not None and not is_smaller(p, q) for p, q in pairs):
        return None
    left, right = _times(a.left, b.left), _times(a.right, b.right)
    return Kronecker(left, right, a.out_shape, b.in_shape, b.dtype)


@total(Kronecker, Kronecker, at_once=False)
def kronecker_plus_kronecker(a: Kronecker, b: Kronecker) -> Kronecker | None:
    # L ⊗ R + L ⊗ S = L ⊗ (R + S), and the same on the left
    if a.in_shape[:-2] != b.in_shape[:-2]:
        return None
    if a.left is b.left and a.right is not None and b.right is not None:
        return Kronecker(a.left, a.right + b.right, a.out_shape, a.in_shape, a.dtype)
    if a.right is b.right and a.left is not None and b.left is not None:
        return Kronecker(a.left + b.left, a.right, a.out_shape, a.in_shape, a.dtype)
    return None


@product(Matrix, Matrix, at_once=False)
def matrix_times_matrix(a: Matrix, b: Matrix) -> Matrix | None:
    return Matrix(a.a @ b.a, a.dtype) if is_smaller(a.a, b.a) else None


@product(Diagonal, Matrix, at_once=False)
def diagonal_times_matrix(a: Diagonal, b: Matrix) -> Matrix:
    # diag(d) A: rows times d
    return Matrix(a.full()[:, None] * b.a, b.dtype)


@product(Matrix, Diagonal, at_once=False)
def matrix_times_diagonal(a: Matrix, b: Diagonal) -> Matrix:
    # A diag(d): columns times d
    return Matrix(a.a * b.full(), a.dtype)


@total(Matrix, Matrix, at_once=False)
def matrix_plus_matrix(a: Matrix, b: Matrix) -> Matrix:
    return Matrix(a.a + b.a, a.dtype)


@total(Matrix, Diagonal, at_once=False)
def matrix_plus_diagonal(a: Matrix, b: Diagonal) -> Matrix:
    return Matrix(a.a + b.full()[:, None] * np.eye(a.shape[0], dtype=a.dtype), a.dtype)


@total(Matrix, Identity, at_once=False)
def matrix_plus_identity(a: Matrix, b: Identity) -> Matrix:
    return Matrix(a.a + np.eye(a.shape[0], dtype=a.dtype), a.dtype)


# Fourier transforms and circulants.


@product(Fourier, Fourier, at_once=False)
def fourier_times_fourier(a: Fourier, b: Fourier) -> JacobianOperator | None:
    # F^-1 F = I, and c n I for other normalisations; here as F^H F = n c^2 I
    if a.backward == b.backward or set(a.axes) != set(b.axes):
        return None
    n = size_of([b.in_shape[k] for k in b.axes])
    scale = a.factor() * b.factor() * n
    return Identity(b.in_shape, b.dtype) if scale == 1 else Diagonal(scale, b.in_shape, b.dtype)


@whole
def fourier_sandwich(a: Chain) -> Circulant | None:
    # F^-1 diag(λ) F is circulant
    found = sandwich(a) if a.in_shape == a.out_shape and a.in_dtype == a.out_dtype else None
    return found and Circulant(*found, a.in_shape, a.dtype)


@product(Circulant, Circulant, at_once=False)
def circulant_times_circulant(a: Circulant, b: Circulant) -> Circulant | None:
    # F^-1 Λ F F^-1 M F = F^-1 Λ M F
    if a.axes != b.axes:
        return None
    return Circulant(a.eigenvalues * b.eigenvalues, a.axes, a.in_shape, a.dtype)


@total(Circulant, Circulant, at_once=False)
def circulant_plus_circulant(a: Circulant, b: Circulant) -> Circulant | None:
    if a.axes != b.axes:
        return None
    return Circulant(a.eigenvalues + b.eigenvalues, a.axes, a.in_shape, a.dtype)


@total(Circulant, Identity, at_once=False)
@total(Circulant, Diagonal, at_once=False)
def circulant_plus_scalar(a: Circulant, b: Any) -> Circulant | None:
    # F^-1 Λ F + c I = F^-1 (Λ + c) F
    c = as_entries(b)
    if np.ndim(c):
        return None
    return Circulant(a.eigenvalues + c, a.axes, a.in_shape, a.dtype)


# Running sums.


@product(CumulativeSum, BackwardDifference, at_once=False)
@product(BackwardDifference, CumulativeSum, at_once=False)
def sums_times_differences(a: Any, b: Any) -> Identity | None:
    # Sums of differences, and differences of sums
    steps = a if type(a) is BackwardDifference else b
    if a._axis != b._axis or steps.coefficients is not None or steps._backward:
        return None
    return Identity(a.in_shape, a.dtype)
