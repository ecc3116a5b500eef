"""Factors, eigenvalues and singular values of scipy.linalg, traced.

They read the triangles that SciPy reads. Rules are in `linad.rules.decompositions` and
`linad.rules.spectral`.
"""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.errors import ShapeError, UnsupportedError
from linad.rules import decompositions, linalg, singularvalues, spectral
from linad.rules.decompositions import hermitian_argument, symmetrized
from linad.rules.indefinite import ldl_, symmetric_mean
from linad.rules.shaping import still
from linad.rules.triangular import lu_, permutation, permute_rows, solve_triangular_
from linad.scipy.mirror import bound_form, check_finite as check, inexact
from linad.scipy.plain_results import by_scipy


@bound_form(scipy.linalg.cholesky)
def cholesky(a: Array, lower: bool, check_finite: bool) -> Any:
    check(check_finite, a)
    linalg.check_square(a, "cholesky")
    return np.linalg.cholesky(a, upper=not lower)


@bound_form(scipy.linalg.cho_factor)
def cho_factor(a: Array, lower: bool, check_finite: bool) -> Any:
    # The other triangle, which SciPy leaves as it was, holds zeros.
    return cholesky(a, lower=lower, check_finite=check_finite), lower


@bound_form(scipy.linalg.lu_factor)
def lu_factor(a: Array, check_finite: bool) -> Any:
    a = inexact(a)
    check(check_finite, a)
    _check_lu(a, "lu_factor")
    return lu_(a)


def _check_lu(a: Array, name: str) -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise UnsupportedError(f"{name}: only square matrices are traced by linad, got {a.shape}")


@bound_form(scipy.linalg.lu)
def lu(a: Any, permute_l: bool, check_finite: bool, p_indices: bool) -> Any:
    a = inexact(a)
    check(check_finite, a)
    _check_lu(a, "lu")
    both, pivots = lu_(a)
    back = np.argsort(permutation(pivots), axis=-1)  # A = P L U, and P A is what lu_ factors
    eye = np.eye(a.shape[-1], dtype=a.dtype)
    lower, upper = np.tril(both, -1) + eye, np.triu(both)
    if permute_l:
        return permute_rows(lower, back), upper
    return (back if p_indices else eye.real[back]), lower, upper


@bound_form(scipy.linalg.ldl)
def ldl(A: Array, lower: bool, hermitian: bool, check_finite: bool) -> Any:
    A = inexact(A)
    check(check_finite, A)
    if A.ndim != 2:
        raise ShapeError(f"ldl: one square matrix is traced by linad, got shape {A.shape}")
    hermitian = bool(hermitian) or A.dtype.kind != "c"
    linalg.check_square(A, "ldl")
    A = symmetrized(A) if hermitian else symmetric_mean(A)
    return tuple(ldl_(A, lower=bool(lower), hermitian=hermitian))


@bound_form(scipy.linalg.qr)
def qr(a: Array, mode: str, check_finite: bool, pivoting: bool) -> Any:
    check(check_finite, a)
    if mode not in ("full", "r", "economic"):
        raise UnsupportedError(f"qr: mode={mode!r} is not traced by linad; use 'economic'")
    if pivoting:
        order = by_scipy(_pivots, a)
        a = np.take_along_axis(a, order[..., None, :], axis=-1)
    if mode != "r":
        factors = tuple(decompositions.qr(a, {"full": "complete", "economic": "reduced"}[mode]))
    else:
        factors = (_upper(a),)
    return (*factors, order) if pivoting else factors


def _pivots(a: Array) -> Any:
    return scipy.linalg.qr(a, mode="r", pivoting=True)[1]


def _upper(a: Array) -> Any:
    """R, with the rows of zeros that belong to a whole Q."""
    r = decompositions.qr(a, "r")
    below = a.shape[-2] - r.shape[-2]
    if below:
        r = np.concatenate([r, np.zeros((*r.shape[:-2], below, r.shape[-1]), r.dtype)], axis=-2)
    return r


@bound_form(scipy.linalg.rq)
def rq(a: Array, mode: str, check_finite: bool) -> Any:
    """By A^H = Q R with rows and columns in the opposite order, and LAPACK's signs."""
    a = inexact(a)
    check(check_finite, a)
    m, n = a.shape[-2:]
    if mode not in ("full", "r", "economic") or (mode == "full" and m < n):
        raise UnsupportedError(f"rq: mode={mode!r} is not traced by linad; use 'economic'")
    if m > n:
        raise UnsupportedError(
            "rq: matrices of more rows than columns are not traced by linad; "
            "take the qr of the conjugate transpose"
        )
    q, r = decompositions.qr(linalg.adjoint(np.flip(a, -2)), "reduced")
    r, q = np.flip(linalg.adjoint(r), (-2, -1)), np.flip(linalg.adjoint(q), -2)
    theirs = by_scipy(_rows_of_rq, a)
    signs = np.copysign(1.0, np.real(np.sum(np.conj(theirs) * still(q), axis=-1)))
    r, q = r * signs[..., None, :], q * signs[..., :, None]
    if mode != "r":
        return r, q
    return r if m == n else np.concatenate([np.zeros((*a.shape[:-1], n - m), r.dtype), r], -1)


def _rows_of_rq(a: Array) -> Any:
    return scipy.linalg.rq(a, mode="economic")[1]


@bound_form(scipy.linalg.eigh)
def eigh(
    a: Array,
    b: Array | None,
    lower: bool,
    eigvals_only: bool,
    type: int,
    check_finite: bool,
    subset_by_index: Any,
) -> Any:
    """With B = L L^H:

    1    A x = w B x    L^-1 A L^-H y = w y    x = L^-H y
    2    A B x = w x    L^H A L y = w y        x = L^-H y
    3    B A x = w x    L^H A L y = w y        x = L y
    """
    a = inexact(a)
    check(check_finite, a)
    uplo = "L" if lower else "U"
    factor = None
    if type not in (1, 2, 3):
        raise ValueError(f"eigh: type must be 1, 2 or 3, got {type!r}")
    if b is not None:
        b = inexact(b)
        check(check_finite, b)
        factor = (
            np.linalg.cholesky(b) if lower else linalg.adjoint(np.linalg.cholesky(b, upper=True))
        )
        a = hermitian_argument(a, "eigh", lower)
        if type == 1:
            a = solve_triangular_(factor, a, lower=True, unit=False)
            a = solve_triangular_(factor, linalg.adjoint(a), lower=True, unit=False)
        else:
            a = linalg.adjoint(factor) @ a @ factor
        a = 0.5 * (a + linalg.adjoint(a))
    cut: Any = ...
    if subset_by_index is not None:
        first, last = subset_by_index
        if not 0 <= first <= last < a.shape[-1]:
            raise ValueError(
                f"eigh: subset_by_index={subset_by_index!r} is not a range of the numbers 0 to "
                f"{a.shape[-1] - 1} of eigenvalues"
            )
        cut = (..., slice(first, last + 1))
    if eigvals_only:
        return spectral.eigvalsh(a, uplo)[cut]
    w, v = spectral.eigh(a, uplo)
    if factor is not None and type == 3:
        v = factor @ v
    elif factor is not None:
        v = solve_triangular_(linalg.adjoint(factor), v, lower=False, unit=False)
    return w[cut], v[cut]


@bound_form(scipy.linalg.eigvalsh)
def eigvalsh(a: Array, **given: Any) -> Any:
    return eigh(a, eigvals_only=True, **given)


@bound_form(scipy.linalg.eig)
def eig(a: Array, b: Array, left: bool, right: bool, check_finite: bool) -> Any:
    check(check_finite, a)
    if b is not None:
        check(check_finite, b)
        if left:
            raise UnsupportedError(
                "eig: left=True with b is not traced by linad; take eig(a^H, b^H), whose right "
                "eigenvectors are the left ones"
            )
        return _generalized(inexact(a), inexact(b), right)
    if not (left or right):
        return np.linalg.eigvals(a) + 0j
    w, v = np.linalg.eig(a)
    if v.dtype.kind == "c" and inexact(a).dtype.kind != "c" and not np.any(np.imag(w)):
        v = np.real(v)  # NumPy's are complex from 2.5 on
    vectors = [_left_vectors(inexact(a), v)] if left else []
    return (w + 0j, *vectors, v) if right else (w + 0j, *vectors)


def _left_vectors(a: Array, v: Array) -> Any:
    """The rows of V^-1 as columns of norm 1, with the entry real that is so in SciPy's."""
    u = linalg.adjoint(np.linalg.inv(v))
    theirs = by_scipy(_plain_left_vectors, a)
    real = np.where(np.imag(theirs) == 0, np.abs(theirs), -1.0)
    rows = np.argmax(real, axis=-2)[..., None, :]
    at, sign = [np.take_along_axis(x, rows, axis=-2) for x in (u, np.sign(np.real(theirs)))]
    turned = u * (sign * np.conj(at) / np.abs(at))
    return turned / np.linalg.norm(turned, axis=-2, keepdims=True)


def _plain_left_vectors(a: Array) -> Any:
    return scipy.linalg.eig(a, left=True, right=False)[1]


def _generalized(a: Array, b: Array, vectors: bool) -> Any:
    """A v = w B v for a regular B, as B^-1 A v = w v; in SciPy's order, and with its signs."""
    w, v = np.linalg.eig(linalg.solve(b, a))
    theirs = by_scipy(scipy.linalg.eigvals, a, b)
    nearest = np.abs(theirs[:, None] - still(w))
    order = np.argmin(nearest, axis=1)
    if np.any(np.sort(order) != np.arange(order.shape[0])):
        raise UnsupportedError(
            "eig: b is singular, or eigenvalues meet: they are not traced by linad; pass "
            "np.linalg.solve(b, a) of a regular b"
        )
    w = w[order] + 0j
    if not vectors:
        return w
    plain = by_scipy(_vectors, a, b)
    if np.any(np.imag(plain)):  # LAPACK says of no phase that it chooses
        raise UnsupportedError(
            "eig: complex eigenvectors of a pair of matrices are not traced by linad; call "
            "eigvals(a, b), whose result is, or eig of np.linalg.solve(b, a)"
        )
    v = np.real(v[:, order])
    return w, v * np.sign(np.sum(still(v) * np.real(plain), axis=0))


def _vectors(a: Array, b: Array) -> Any:
    return scipy.linalg.eig(a, b)[1] + 0j


@bound_form(scipy.linalg.eigvals)
def eigvals(a: Array, b: Array, check_finite: bool) -> Any:
    return eig(a, b=b, right=False, check_finite=check_finite)


@bound_form(scipy.linalg.svd)
def svd(a: Any, full_matrices: bool, compute_uv: bool, check_finite: bool) -> Any:
    check(check_finite, a)
    result = singularvalues.svd(a, full_matrices, compute_uv)
    return tuple(result) if compute_uv else result


@bound_form(scipy.linalg.svdvals)
def svdvals(a: Any, check_finite: bool) -> Any:
    check(check_finite, a)
    return np.linalg.svdvals(a)


@bound_form(scipy.linalg.norm)
def norm(a: Any, ord: Any, axis: Any, keepdims: bool, check_finite: bool) -> Any:
    check(check_finite, a)
    return np.linalg.norm(a, ord, axis, keepdims)
