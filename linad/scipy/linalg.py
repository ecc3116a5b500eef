"""scipy.linalg, traced.

Systems and decompositions read the triangles that SciPy reads; where a matrix is exactly
Hermitian its gradient is Hermitian (see `linad.rules.decompositions`). ``overwrite_a`` and its
kind are ignored, and the choice of a LAPACK driver too.
"""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.frames import public_names
from linad.core.shapes import matrix_transpose
from linad.errors import ShapeError, UnsupportedError
from linad.rules import decompositions, linalg, spectral
from linad.rules.banded import solve_banded_
from linad.rules.shaping import concrete
from linad.rules.triangular import lu_, permutation, permute_rows, solve_triangular_
from linad.scipy.implicit_solutions import plain, root_of_vector
from linad.scipy.matrix_functions import (
    block_diag as block_diag,
    circulant as circulant,
    companion as companion,
    convolution_matrix as convolution_matrix,
    coshm as coshm,
    cosm as cosm,
    expm as expm,
    expm_frechet as expm_frechet,
    fiedler as fiedler,
    fractional_matrix_power as fractional_matrix_power,
    hankel as hankel,
    khatri_rao as khatri_rao,
    leslie as leslie,
    logm as logm,
    matmul_toeplitz as matmul_toeplitz,
    sinhm as sinhm,
    sinm as sinm,
    solve_continuous_lyapunov as solve_continuous_lyapunov,
    solve_discrete_lyapunov as solve_discrete_lyapunov,
    solve_lyapunov as solve_lyapunov,
    solve_sylvester as solve_sylvester,
    sqrtm as sqrtm,
    tanhm as tanhm,
    tanm as tanm,
    toeplitz as toeplitz,
)
from linad.scipy.mirror import bound_form, check_finite as check, inexact, traced_form
from linad.scipy.subspaces import (
    eig_banded as eig_banded,
    eigh_tridiagonal as eigh_tridiagonal,
    eigvals_banded as eigvals_banded,
    eigvalsh_tridiagonal as eigvalsh_tridiagonal,
    null_space as null_space,
    orth as orth,
    orthogonal_procrustes as orthogonal_procrustes,
    subspace_angles as subspace_angles,
)

adjoint = linalg.adjoint


def __getattr__(name: str) -> Any:
    return getattr(scipy.linalg, name)


def __dir__() -> list[str]:
    return public_names(scipy.linalg)


# Systems.


def _hermitian(a: Any, lower: bool) -> Any:
    """The Hermitian matrix of which one triangle is read."""
    a = decompositions.symmetrized(a)
    return decompositions.hermitian_(a, lower=lower)


def _symmetric(a: Any, lower: bool) -> Any:
    """The complex symmetric matrix of which one triangle is read."""
    strict = np.tril(a, -1) if lower else np.triu(a, 1)
    return strict + matrix_transpose(strict) + a * np.eye(a.shape[-1], dtype=a.dtype)


def _read(a: Any, assume_a: str | None, lower: bool, name: str) -> Any:
    """The matrix that SciPy sees under an assumption about its structure."""
    if assume_a in (None, "gen", "general", "banded"):
        return a
    if assume_a in ("pos", "positive definite", "her", "hermitian"):
        return _hermitian(a, lower)
    if assume_a in ("sym", "symmetric"):
        return _symmetric(a, lower) if a.dtype.kind == "c" else _hermitian(a, lower)
    n = a.shape[-1]
    if assume_a == "diagonal":
        return a * np.eye(n, dtype=a.dtype)
    if assume_a == "tridiagonal":
        return np.triu(np.tril(a, 1), -1)
    if assume_a in ("upper triangular", "lower triangular"):
        return np.triu(a) if assume_a.startswith("upper") else np.tril(a)
    raise ValueError(f"{name}: assume_a={assume_a!r} is not a recognized matrix structure")


@bound_form(scipy.linalg.solve)
def solve(
    a: Any, b: Any, lower: bool, check_finite: bool, assume_a: str | None, transposed: bool
) -> Any:
    a, b = inexact(a), inexact(b)
    check(check_finite, a, b)
    linalg.check_square(a, "solve")
    a = _read(a, assume_a, lower, "solve")
    return linalg.solve(matrix_transpose(a) if transposed else a, b)


def _triangular(a: Any, b: Any, lower: bool, unit: bool = False) -> Any:
    """Solve for a vector b (n,), or columns (..., n, k)."""
    if b.ndim == 1:
        return solve_triangular_(a, b.reshape((-1, 1)), lower=lower, unit=unit)[..., 0]
    return solve_triangular_(a, b, lower=lower, unit=unit)


def _check_system(a: Any, b: Any, name: str) -> None:
    linalg.check_square(a, name)
    if b.ndim < 1 or a.shape[-1] != b.shape[-1 if b.ndim == 1 else -2]:
        raise ShapeError(f"{name}: shapes of a {a.shape} and b {b.shape} are incompatible")


@bound_form(scipy.linalg.solve_triangular)
def solve_triangular(
    a: Any, b: Any, trans: Any, lower: bool, unit_diagonal: bool, check_finite: bool
) -> Any:
    a, b = inexact(a), inexact(b)
    check(check_finite, a, b)
    _check_system(a, b, "solve_triangular")
    if trans in (1, "T"):
        a, lower = matrix_transpose(a), not lower
    elif trans in (2, "C"):
        a, lower = adjoint(a), not lower
    return _triangular(a, b, bool(lower), bool(unit_diagonal))


@bound_form(scipy.linalg.inv)
def inv(a: Any, check_finite: bool, assume_a: str | None = None, lower: bool = False) -> Any:
    check(check_finite, a)
    linalg.check_square(a, "inv")
    return linalg.inv(_read(a, assume_a, lower, "inv"))


@bound_form(scipy.linalg.det)
def det(a: Any, check_finite: bool) -> Any:
    check(check_finite, a)
    return np.linalg.det(a)


@bound_form(scipy.linalg.pinv)
def pinv(a: Any, atol: Any, rtol: Any, check_finite: bool) -> Any:
    check(check_finite, a)
    if a.ndim < 2:
        raise ValueError(f"pinv: expected at least two axes, got an array of {a.shape}")
    # SciPy cuts off singular values at max(M, N) eps s_1, NumPy at a rcond s_1.
    relative = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps) if rtol is None else rtol
    if rtol is None and atol is not None:
        relative = 0.0
    cutoff = relative
    if atol:
        largest = float(np.max(np.linalg.svd(concrete(a), compute_uv=False), initial=0.0))
        cutoff += atol / largest if largest else 0.0
    return np.linalg.pinv(a, cutoff)


@bound_form(scipy.linalg.lstsq)
def lstsq(a: Any, b: Any, cond: Any, check_finite: bool) -> Any:
    a, b = inexact(a), inexact(b)
    check(check_finite, a, b)
    if cond is None:
        cond = float(np.finfo(np.result_type(a.dtype, b.dtype)).eps)
    return tuple(np.linalg.lstsq(a, b, cond))


# Factors, and systems with them.


@bound_form(scipy.linalg.cholesky)
def cholesky(a: Any, lower: bool, check_finite: bool) -> Any:
    check(check_finite, a)
    linalg.check_square(a, "cholesky")
    return np.linalg.cholesky(a, upper=not lower)


@bound_form(scipy.linalg.cho_factor)
def cho_factor(a: Any, lower: bool, check_finite: bool) -> Any:
    # The other triangle, which SciPy leaves as it was, holds zeros.
    return cholesky(a, lower=lower, check_finite=check_finite), lower


@bound_form(scipy.linalg.cho_solve)
def cho_solve(c_and_lower: Any, b: Any, check_finite: bool) -> Any:
    c, lower = c_and_lower
    c, b = inexact(c), inexact(b)
    check(check_finite, c, b)
    _check_system(c, b, "cho_solve")
    first, second = (c, adjoint(c)) if lower else (adjoint(c), c)
    return _triangular(second, _triangular(first, b, True), False)


@bound_form(scipy.linalg.lu_factor)
def lu_factor(a: Any, check_finite: bool) -> Any:
    check(check_finite, a)
    _check_lu(a, "lu_factor")
    return lu_(a)


def _check_lu(a: Any, name: str) -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise UnsupportedError(f"{name}: only square matrices are traced by linad, got {a.shape}")


@bound_form(scipy.linalg.lu_solve)
def lu_solve(lu_and_piv: Any, b: Any, trans: int, check_finite: bool) -> Any:
    lu, pivots = lu_and_piv
    lu, b = inexact(lu), inexact(b)
    check(check_finite, lu, b)
    _check_system(lu, b, "lu_solve")
    if b.ndim == 1:
        return lu_solve((lu, pivots), b[:, None], trans, check_finite=False)[..., 0]
    order = permutation(pivots)
    if trans == 0:
        x = _triangular(lu, permute_rows(b, order), True, unit=True)
        return _triangular(lu, x, False)
    turned = matrix_transpose(lu) if trans == 1 else adjoint(lu)
    x = _triangular(turned, b, True)
    return permute_rows(_triangular(turned, x, False, unit=True), np.argsort(order, axis=-1))


@bound_form(scipy.linalg.lu)
def lu(a: Any, permute_l: bool, check_finite: bool, p_indices: bool) -> Any:
    check(check_finite, a)
    _check_lu(a, "lu")
    both, pivots = lu_(a)
    back = np.argsort(permutation(pivots), axis=-1)  # A = P L U, and P A is what lu_ factors
    eye = np.eye(a.shape[-1], dtype=a.dtype)
    lower, upper = np.tril(both, -1) + eye, np.triu(both)
    if permute_l:
        return permute_rows(lower, back), upper
    return (back if p_indices else eye[back]), lower, upper


@bound_form(scipy.linalg.qr)
def qr(a: Any, mode: str, check_finite: bool) -> Any:
    check(check_finite, a)
    if mode not in ("full", "r", "economic"):
        raise UnsupportedError(f"qr: mode={mode!r} is not traced by linad; use 'economic'")
    if mode != "r":
        return tuple(decompositions.qr(a, {"full": "complete", "economic": "reduced"}[mode]))
    r = decompositions.qr(a, "r")
    below = a.shape[-2] - r.shape[-2]
    if below:
        r = np.concatenate([r, np.zeros((*r.shape[:-2], below, r.shape[-1]), r.dtype)], axis=-2)
    return (r,)


# Eigenvalues and singular values.


@bound_form(scipy.linalg.eigh)
def eigh(
    a: Any, b: Any, lower: bool, eigvals_only: bool, check_finite: bool, subset_by_index: Any
) -> Any:
    a = inexact(a)
    check(check_finite, a)
    uplo = "L" if lower else "U"
    factor = None
    if b is not None:
        # A x = w B x with B = L L^H is L^-1 A L^-H y = w y with y = L^H x.
        b = inexact(b)
        check(check_finite, b)
        factor = np.linalg.cholesky(b) if lower else adjoint(np.linalg.cholesky(b, upper=True))
        a = solve_triangular_(factor, _hermitian(a, lower), lower=True, unit=False)
        a = solve_triangular_(factor, adjoint(a), lower=True, unit=False)
        a = 0.5 * (a + adjoint(a))
    cut: Any = ...
    if subset_by_index is not None:
        cut = (..., slice(subset_by_index[0], subset_by_index[1] + 1))
    if eigvals_only:
        return spectral.eigvalsh(a, uplo)[cut]
    w, v = spectral.eigh(a, uplo)
    if factor is not None:
        v = solve_triangular_(adjoint(factor), v, lower=False, unit=False)
    return w[cut], v[cut]


@bound_form(scipy.linalg.eigvalsh)
def eigvalsh(a: Any, **given: Any) -> Any:
    return eigh(a, eigvals_only=True, **given)


@bound_form(scipy.linalg.pinvh)
def pinvh(a: Any, lower: bool, **options: Any) -> Any:
    a = inexact(a)
    linalg.check_square(a, "pinvh")
    return pinv(_hermitian(a, lower), **options)


@bound_form(scipy.linalg.solveh_banded)
def solveh_banded(ab: Any, b: Any, lower: bool, check_finite: bool) -> Any:
    ab, b = inexact(ab), inexact(b)
    u = ab.shape[0] - 1
    n = ab.shape[-1]
    if ab.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != n or u >= n:
        raise ShapeError(
            f"solveh_banded: ab (u + 1, n), u < n, and b (n, ...): got {ab.shape} and {b.shape}"
        )
    # The other triangle of the band: row k below is row k above, conjugated and moved.
    rows = []
    for k in range(u, -u - 1, -1):
        given = ab[abs(k)] if lower else ab[u - abs(k)]
        stored_above = not lower
        inner = given[abs(k) :] if stored_above else given[: n - abs(k)]
        wanted_above = k > 0
        if k and wanted_above != stored_above:
            inner = np.conj(inner)
        zeros = np.zeros(abs(k), inner.dtype)
        parts = [zeros, inner] if wanted_above else [inner, zeros]
        rows.append(np.concatenate(parts) if k else np.real(inner) + 0 * inner)
    return solve_banded((u, u), np.stack(rows), b, check_finite=check_finite)


@bound_form(scipy.linalg.eig)
def eig(a: Any, right: bool, check_finite: bool) -> Any:
    check(check_finite, a)
    if not right:
        return np.linalg.eigvals(a) + 0j
    w, v = np.linalg.eig(a)
    if v.dtype.kind == "c" and inexact(a).dtype.kind != "c" and not np.any(np.imag(w)):
        v = np.real(v)  # NumPy's are complex from 2.5 on
    return w + 0j, v


@bound_form(scipy.linalg.eigvals)
def eigvals(a: Any, check_finite: bool) -> Any:
    check(check_finite, a)
    return np.linalg.eigvals(a) + 0j


@bound_form(scipy.linalg.svd)
def svd(a: Any, full_matrices: bool, compute_uv: bool, check_finite: bool) -> Any:
    check(check_finite, a)
    result = spectral.svd(a, full_matrices, compute_uv)
    return tuple(result) if compute_uv else result


@bound_form(scipy.linalg.svdvals)
def svdvals(a: Any, check_finite: bool) -> Any:
    check(check_finite, a)
    return np.linalg.svdvals(a)


@bound_form(scipy.linalg.norm)
def norm(a: Any, ord: Any, axis: Any, keepdims: bool, check_finite: bool) -> Any:
    check(check_finite, a)
    return np.linalg.norm(a, ord, axis, keepdims)


# Systems of a structure.


@traced_form(scipy.linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    # Through the dense matrix: n^3 operations, where SciPy's recursion needs n^2.
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    check(check_finite, c, b)
    return linalg.solve(toeplitz(c, r), b)


@bound_form(scipy.linalg.solve_banded)
def solve_banded(l_and_u: Any, ab: Any, b: Any, check_finite: bool) -> Any:
    ab, b = inexact(ab), inexact(b)
    check(check_finite, ab, b)
    bands = (int(l_and_u[0]), int(l_and_u[1]))
    if ab.ndim != 2 or b.ndim not in (1, 2) or ab.shape != (sum(bands) + 1, b.shape[0]):
        raise ShapeError(
            f"solve_banded: (l, u) = {bands} and b {b.shape}: ab must have shape "
            f"({sum(bands) + 1}, {b.shape[0] if b.ndim else 1}), got {ab.shape}"
        )
    if b.ndim == 1:
        return solve_banded_(ab, b[:, None], l_and_u=bands)[:, 0]
    return solve_banded_(ab, b, l_and_u=bands)


# Matrix equations, and the polar decomposition.


def _solution(name: str, found: Any, residual: Any) -> Any:
    """The solution of a matrix equation F(X) = 0, with its derivative."""
    shape = found.shape

    def flat(x: Any) -> Any:
        return residual(x.reshape(shape)).reshape(-1)

    return root_of_vector(name, flat, found.reshape(-1)).reshape(shape)


def _riccati(
    name: str, a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, **rest: Any
) -> Any:
    """Check what is asked for, and return SciPy's solution and the arrays."""
    if e is not None:
        raise UnsupportedError(f"{name}: e= is not traced by linad; multiply by its inverse first")
    arrays = [inexact(m) for m in (a, b, q, r)]
    arrays.append(np.zeros(arrays[1].shape) if s is None else inexact(s))
    found = getattr(scipy.linalg, name)(*[plain(m) for m in arrays[:4]], None, plain(s), **rest)
    return found, arrays


@bound_form(scipy.linalg.solve_continuous_are)
def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, **rest: Any) -> Any:
    found, (a, b, q, r, s) = _riccati("solve_continuous_are", a, b, q, r, **rest)

    def residual(X: Any) -> Any:
        gain = X @ b + s
        right = np.linalg.solve(r, gain.conj().T)
        return a.conj().T @ X + X @ a - gain @ right + q

    return _solution("solve_continuous_are", found, residual)


@bound_form(scipy.linalg.solve_discrete_are)
def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, **rest: Any) -> Any:
    found, (a, b, q, r, s) = _riccati("solve_discrete_are", a, b, q, r, **rest)

    def residual(X: Any) -> Any:
        gain = a.conj().T @ X @ b + s
        right = np.linalg.solve(r + b.conj().T @ X @ b, gain.conj().T)
        return a.conj().T @ X @ a - X - gain @ right + q

    return _solution("solve_discrete_are", found, residual)


@traced_form(scipy.linalg.polar)
def polar(a: Any, side: str = "right") -> Any:
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    a = inexact(a)
    if side == "left":
        u, p = polar(np.swapaxes(a, -1, -2).conj())
        return np.swapaxes(u, -1, -2).conj(), p
    found = scipy.linalg.polar(plain(a))[1]
    gram = a.conj().T @ a
    p = _solution("polar", found, lambda x: x @ x - gram)
    if a.shape[0] < a.shape[1]:
        raise UnsupportedError(
            "polar: of a matrix with more columns than rows the factors have no derivative; use "
            'side="left"'
        )
    return np.linalg.solve(p.T, a.T).T, p
