"""Subspaces, and the eigenvalues of matrices with bands, of scipy.linalg; traced.

A basis of a space turns as little as it can while the space moves (`linad.rules.complements`): what
depends on the space alone has derivatives, as the projector on it.

orthogonal_procrustes    R = U V^H for A^H B = U S V^H,      scale Σ s
subspace_angles          cos θ: the singular values of Q_A^H Q_B, sin θ: of Q_B - Q_A Q_A^H Q_B

Source: A. Björck, G. Golub, "Numerical Methods for Computing Angles Between Linear Subspaces",
Mathematics of Computation 27, 1973.
"""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.core.shapes import Shape, matrix_transpose
from linad.errors import DegenerateError, ShapeError, UnsupportedError
from linad.rules import singularvalues, spectral
from linad.rules.linalg import adjoint
from linad.rules.shaping import still
from linad.scipy.implicit_solutions import plain
from linad.scipy.mirror import (
    bound_form,
    check_finite as check,
    check_real,
    inexact,
    traced_form,
)


def _rank(s: Array, shape: Shape, rcond: Any) -> int:
    """How many singular values count, as SciPy has it."""
    s = still(s)
    cut = np.finfo(s.dtype).eps * max(shape[-2:]) if rcond is None else rcond
    return int(np.sum(s > cut * np.max(s, initial=0.0)))


@bound_form(scipy.linalg.null_space)
def null_space(A: Array, rcond: Any) -> Any:
    A = inexact(A)
    _check_matrix("null_space", A)
    _, s, vh = singularvalues.svd(A, True)
    return adjoint(vh)[:, _rank(s, A.shape, rcond) :]


@traced_form(scipy.linalg.orth)
def orth(A: Array, rcond: Any = None) -> Any:
    A = inexact(A)
    _check_matrix("orth", A)
    u, s, _ = singularvalues.svd(A, False)
    return u[:, : _rank(s, A.shape, rcond)]


def _check_matrix(name: str, A: Array) -> None:
    if A.ndim != 2:
        raise ShapeError(f"{name}: only one matrix is traced by linad, got shape {A.shape}")


@traced_form(scipy.linalg.orthogonal_procrustes)
def orthogonal_procrustes(A: Array, B: Array, check_finite: bool = True) -> Any:
    A, B = inexact(A), inexact(B)
    check(check_finite, A, B)
    if A.shape != B.shape or A.ndim != 2:
        raise ShapeError(
            f"orthogonal_procrustes: two matrices of one shape are needed, got {A.shape} and "
            f"{B.shape}"
        )
    u, w, vh = singularvalues.svd(matrix_transpose(matrix_transpose(B) @ np.conj(A)), False)
    n, rank = w.shape[0], _rank(w, (A.shape[1], A.shape[1]), None)
    # Real vectors turn within the null space if it has two dimensions, a complex one by a phase.
    if n - rank > (0 if u.dtype.kind == "c" else 1):
        raise DegenerateError(
            f"orthogonal_procrustes: A^H B has rank {rank}, which leaves a part of the {n} x {n} "
            f"matrix R free, and R no derivative; give more rows that are independent, or, for "
            f"the scale alone, take np.linalg.norm(A.conj().T @ B, 'nuc')"
        )
    return u @ vh, np.sum(w)


@traced_form(scipy.linalg.subspace_angles)
def subspace_angles(A: Array, B: Array) -> Any:
    QA, QB = orth(A), orth(B)
    if QA.shape[0] != QB.shape[0]:
        raise ShapeError(
            f"subspace_angles: A and B need as many rows each, got {QA.shape[0]} and {QB.shape[0]}"
        )
    cosines = QA.conj().T @ QB
    sigma = np.linalg.svd(cosines, compute_uv=False)
    if QA.shape[1] >= QB.shape[1]:
        rest = QB - QA @ cosines
    else:
        rest = QA - QB @ cosines.conj().T
    # Arcus sinus is accurate for small angles, arcus cosinus for large ones.
    small = still(sigma) ** 2 >= 0.5
    sines = np.clip(np.linalg.svd(rest, compute_uv=False)[::-1], -1.0, 1.0)
    sines = np.where(small, sines, 0.0)[: sigma.shape[0]]
    return np.where(small, np.arcsin(sines), np.arccos(np.where(small, 0.0, sigma)))[::-1]


# Matrices with bands.


def _of_diagonals(d: Array, e: Array) -> Any:
    d, e = inexact(d), inexact(e)
    if d.ndim != 1 or e.shape != (d.shape[0] - 1,):
        raise ShapeError(
            f"eigh_tridiagonal: diagonals of lengths n and n - 1, got {d.shape} and {e.shape}"
        )
    return np.diag(d) + np.diag(e, -1) + np.diag(e, 1)


def _with_signs_of(theirs: Array, v: Array) -> Any:
    """Eigenvectors, each turned as SciPy's is; within an eigenspace they stay."""
    turn = np.sum(np.conj(still(v)) * theirs, axis=0)
    known = np.abs(turn) > 0.5
    return v * np.where(known, turn / np.where(known, np.abs(turn), 1.0), 1.0)


def _cut(name: str, select: str, select_range: Any) -> Any:
    if select == "a":
        return slice(None)
    if select == "i":
        return slice(int(select_range[0]), int(select_range[1]) + 1)
    raise UnsupportedError(
        f"{name}: select={select!r} is not traced by linad; use 'a' or 'i', which are fixed numbers"
    )


@bound_form(scipy.linalg.eigh_tridiagonal)
def eigh_tridiagonal(
    d: Array, e: Array, eigvals_only: bool, select: str, select_range: Any, check_finite: bool
) -> Any:
    # Through the dense matrix: n^3 operations for the derivative with vectors, as LAPACK's.
    check_real("eigh_tridiagonal", d=d, e=e)
    check(check_finite, d, e)
    cut = _cut("eigh_tridiagonal", select, select_range)
    matrix = _of_diagonals(d, e)
    if eigvals_only:
        return spectral.eigvalsh(matrix, "L")[cut]
    w, v = spectral.eigh(matrix, "L")
    return w[cut], _with_signs_of(scipy.linalg.eigh_tridiagonal(plain(d), plain(e))[1], v)[:, cut]


@bound_form(scipy.linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(d: Array, e: Array, **given: Any) -> Any:
    return eigh_tridiagonal(d, e, eigvals_only=True, **given)


def from_band(name: str, band: Any, lower: bool) -> Any:
    """The Hermitian matrix of which a band is stored, as `scipy.linalg.eig_banded` has it."""
    band = inexact(band)
    if band.ndim != 2 or not 0 < band.shape[0] <= band.shape[1]:
        raise ShapeError(f"{name}: expected a band (u + 1, n), u < n, got shape {band.shape}")
    n, u = band.shape[1], band.shape[0] - 1
    matrix: Any = np.diag(band[0] if lower else band[u]).real
    for k in range(1, u + 1):
        side = np.diag(band[k, : n - k] if lower else np.conj(band[u - k, k:]), -k)
        matrix = matrix + side + adjoint(side)
    return matrix


@bound_form(scipy.linalg.cholesky_banded)
def cholesky_banded(ab: Any, lower: bool, check_finite: bool) -> Any:
    # Through the dense matrix, as the eigenvalues: n^2 numbers.
    check(check_finite, ab)
    ab = inexact(ab)
    factor = np.linalg.cholesky(from_band("cholesky_banded", ab, lower))
    n, u = ab.shape[1], ab.shape[0] - 1
    rows = []
    for k in range(u + 1):  # what lies beside a diagonal stays as it is, as LAPACK leaves it
        side = np.diagonal(factor, -k)
        if lower:
            rows.append(np.concatenate([side, ab[k, n - k :]]))
        else:
            rows.append(np.concatenate([ab[u - k, :k], np.conj(side)]))
    return np.stack(rows if lower else rows[::-1])


@bound_form(scipy.linalg.eig_banded)
def eig_banded(
    a_band: Any, lower: bool, eigvals_only: bool, select: str, select_range: Any, check_finite: bool
) -> Any:
    check(check_finite, a_band)
    cut = _cut("eig_banded", select, select_range)
    matrix = from_band("eig_banded", a_band, lower)
    if eigvals_only:
        return spectral.eigvalsh(matrix, "L")[cut]
    w, v = spectral.eigh(matrix, "L")
    theirs = scipy.linalg.eig_banded(plain(inexact(a_band)), lower)[1]
    return w[cut], _with_signs_of(theirs, v)[:, cut]


@bound_form(scipy.linalg.eigvals_banded)
def eigvals_banded(a_band: Any, **given: Any) -> Any:
    return eig_banded(a_band, eigvals_only=True, **given)
