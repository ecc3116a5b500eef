"""Pseudoinverse and least squares, at matrices of constant rank.

P = A+       dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P
x = A+ b     dx = P (db - dA x) + P P^H dA^H r + (I - P A) dA^H P^H x     r = b - A x

The rank is that of the point: both functions jump where it changes, and the derivative is
along the matrices of equal rank.

A cutoff above rounding may leave singular values out that are not 0. Then P = V f(S) U^H with
f(s) = 1 / s for the large ones and 0 for the others, A = U S V^H with all vectors, and

    dP = V (F ∘ V^H dA^H U + G ∘ U^H dA V) U^H

    F_ij = F_ji = 1 / (s_i² - s_j²), G_ij = G_ji = s_j F_ij / s_i    for s_i large and s_j small
    F_ij = 0, G_ij = -1 / (s_i s_j)                                  for both large

G has a row and a column for each singular value; in F the vectors beyond them have the value 0.

Sources: G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear
least squares problems whose variables separate", SIAM J. Numer. Anal. 10, 1973. V. Noferini, "A
formula for the Fréchet derivative of a generalized matrix function", SIAM J. Matrix Anal. Appl.
38, 2017.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, matrix_transpose, size_of
from linad.operators.base import JacobianOperator
from linad.operators.matrices import Kronecker
from linad.operators.reordering import Permutation
from linad.operators.structured import Conjugation, Diagonal, Identity
from linad.rules.decompositions import hermitian_argument
from linad.rules.floating import as_floats
from linad.rules.linalg import LinAlgError, adjoint
from linad.rules.shaping import as_array, still


def _adjoint_of(shape: Shape, dtype: np.dtype[Any]) -> JacobianOperator:
    """dA -> dA^H."""
    ndim = len(shape)
    swap = Permutation((*range(ndim - 2), ndim - 1, ndim - 2), shape, dtype)
    return Conjugation(swap.out_shape, dtype) @ swap if dtype.kind == "c" else swap


def _eye(a: Array, axis: int) -> Any:
    return np.eye(a.shape[axis], dtype=a.dtype)


# Pseudoinverse.

pinv_ = Primitive("pinv", lambda a, *, rcond: np.linalg.pinv(a, rcond))
pinv_.partial = "finite"


@pinv_.jacobian(wrt=0)
def pinv_wrt_a(y: Array, a: Array, *, rcond: Any) -> JacobianOperator:
    p, ph = y, adjoint(y)
    shape, dtype = y.shape, y.dtype
    transposed = _adjoint_of(a.shape, dtype)
    direct = Kronecker(-p, matrix_transpose(p), shape, a.shape, dtype)
    *batch, n, m = shape
    small = (*batch, min(m, n), min(m, n))

    def times(left: Any, right: Any, out: Shape, given: Shape) -> JacobianOperator:
        right = None if right is None else matrix_transpose(right)
        return Kronecker(left, right, out, given, dtype)

    # No product has more rows and columns than A has of the fewer.
    whole = Identity(shape, dtype)
    if m >= n:
        outside = whole - times(None, p, shape, small) @ times(None, a, small, shape)
        rows = outside @ times(p @ ph, None, shape, shape)
        columns = times(_eye(a, -1) - p @ a, p, shape, small) @ times(None, ph, small, shape)
    else:
        rows = times(p, _eye(a, -2) - a @ p, shape, small) @ times(ph, None, small, shape)
        inside = whole - times(p, None, shape, small) @ times(a, None, small, shape)
        columns = inside @ times(None, ph @ p, shape, shape)
    return direct + (rows + columns) @ transposed


@implements(np.linalg.pinv)
def pinv(a: Array, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("pinv: rtol and rcond cannot both be given")
    if a.ndim < 2:
        raise LinAlgError(f"pinv: expected at least two axes, got shape {a.shape}")
    if a.dtype.kind in "biu" and not size_of(a.shape[-2:]):  # NumPy computes nothing here
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    a = as_floats(a)
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    if rcond is None:
        rcond = max(a.shape[-2:]) * np.finfo(a.dtype).eps
    a = hermitian_argument(a, "pinv") if hermitian else a
    if _leaves_out(a, rcond):
        return truncated_pinv_(a, rcond=rcond)
    return pinv_(a, rcond=rcond)


def _leaves_out(a: Array, rcond: Any) -> bool:
    """Whether the cutoff is above singular values that are more than rounding."""
    rounding = 10 * max(a.shape[-2:], default=0) * np.finfo(a.dtype).eps
    if not a.size or not np.max(rcond, initial=0.0) > rounding:
        return False
    s = np.linalg.svdvals(still(a))
    relative = s / np.where(s[..., :1] > 0, s[..., :1], 1)
    return bool(np.any((relative > rounding) & (relative <= np.expand_dims(rcond, -1))))


truncated_pinv_ = Primitive("truncated_pinv", lambda a, *, rcond: np.linalg.pinv(a, rcond))
truncated_pinv_.partial = "finite"


@truncated_pinv_.jacobian(wrt=0)
def truncated_pinv_wrt_a(y: Array, a: Array, *, rcond: Any) -> JacobianOperator:
    m, n = a.shape[-2:]
    u, s, vh = np.linalg.svd(a)
    v, k = adjoint(vh), min(m, n)
    large = s > np.expand_dims(rcond, -1) * s[..., :1]
    known, unknown = large[..., :, None], ~large[..., None, :]
    apart = known & unknown  # s_i large, s_j small
    squares = s[..., :, None] ** 2 - s[..., None, :] ** 2
    f = np.where(apart, 1 / np.where(apart, squares, 1), 0)
    ratio = np.where(apart, s[..., None, :] / np.where(known, s[..., :, None], 1), 0)
    g = f * ratio
    inverses = np.where(large, 1 / np.where(large, s, 1), 0)
    both = inverses[..., :, None] * inverses[..., None, :]
    g = g + matrix_transpose(g) - both
    # Vectors that belong to no singular value are as those of one that is 0.
    more = np.zeros((*s.shape[:-1], k, max(m, n) - k), s.dtype) + (inverses**2)[..., :, None]
    f = np.concatenate([f + matrix_transpose(f), more], axis=-1)
    f = f if m > n else matrix_transpose(f)
    shape, dtype = y.shape, y.dtype
    lead, transposed = shape[:-2], _adjoint_of(a.shape, dtype)
    inward = Kronecker(vh, matrix_transpose(u), shape, shape, dtype)
    outward = Kronecker(v, np.conj(u), shape, shape, dtype)
    among = (*lead, k, k)
    u, v = u[..., :k], v[..., :k]
    inside = Kronecker(adjoint(u), matrix_transpose(v), among, a.shape, dtype)
    outside = Kronecker(v, np.conj(u), shape, among, dtype)
    beyond = outward @ Diagonal(f, shape, dtype) @ inward @ transposed
    return beyond + outside @ Diagonal(g, among, dtype) @ inside


# Least squares.

lstsq_ = Primitive("lstsq", lambda a, b, *, rcond: np.linalg.lstsq(a, b, rcond)[0])
lstsq_.partial = "finite"


@lstsq_.jacobian(wrt=0)
def lstsq_wrt_a(y: Array, a: Array, b: Array, *, rcond: Any) -> JacobianOperator:
    p = np.linalg.pinv(a, rcond)
    ph = adjoint(p)
    shape, dtype = y.shape, y.dtype
    transposed = _adjoint_of(a.shape, dtype)
    between = transposed.out_shape
    direct = Kronecker(-p, matrix_transpose(y), shape, a.shape, dtype)
    residual = matrix_transpose(b - a @ y)
    rows = Kronecker(p @ ph, residual, shape, between, dtype) @ transposed
    inside = _eye(a, -1) - p @ a
    columns = Kronecker(inside, matrix_transpose(ph @ y), shape, between, dtype) @ transposed
    return direct + rows + columns


@lstsq_.jacobian(wrt=1)
def lstsq_wrt_b(y: Array, a: Array, b: Array, *, rcond: Any) -> JacobianOperator:
    return Kronecker(np.linalg.pinv(a, rcond), None, y.shape, b.shape, y.dtype)


@implements(np.linalg.lstsq)
def lstsq(a: Array, b: Array, rcond: Any = None) -> Any:
    """Solution, residuals and singular values are traced; the rank is an integer."""
    a, b = as_array(a), as_array(b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise LinAlgError(f"lstsq: a needs two axes and b one or two, got {a.shape} and {b.shape}")
    m, n = a.shape
    if b.shape[0] != m:
        raise LinAlgError(f"lstsq: Incompatible dimensions: a {a.shape}, b {b.shape}")
    columns = b.reshape((m, 1)) if b.ndim == 1 else b
    dtype = np.result_type(a.dtype, b.dtype)
    if rcond is None:
        rcond = np.finfo(np.promote_types(dtype, float)).eps * max(m, n)
    elif rcond <= 0 or rcond >= 1:  # as LAPACK takes these
        rcond = np.finfo(np.promote_types(dtype, float)).eps
    if _leaves_out(a.astype(dtype), rcond):
        x = np.linalg.pinv(a, rcond) @ columns
    else:
        x = lstsq_(a, columns, rcond=float(rcond))
    s = np.linalg.svdvals(a)  # of a plain matrix without its vectors
    rank = int(np.sum(s > rcond * np.max(s, initial=0.0)))
    if rank == n and m > n:
        residuals = np.sum(np.abs(columns - a @ x) ** 2, axis=0)
    else:
        residuals = np.zeros(0, np.dtype(dtype.char.lower()))
    return (x.reshape((n,)) if b.ndim == 1 else x), residuals, np.int32(rank), s
