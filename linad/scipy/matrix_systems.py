"""Linear systems of scipy.linalg, inverses and least squares; traced.

They read the triangles that SciPy reads; where a matrix is exactly Hermitian its gradient is
Hermitian (see `linad.rules.decompositions`).
"""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.core.shapes import matrix_transpose
from linad.errors import ShapeError
from linad.rules import linalg
from linad.rules.banded import solve_banded_
from linad.rules.decompositions import hermitian_argument
from linad.rules.shaping import concrete
from linad.rules.triangular import permutation, permute_rows, solve_triangular_
from linad.scipy.matrix_structures import toeplitz
from linad.scipy.mirror import bound_form, check_finite as check, doubled, inexact, traced_form


def _symmetric(a: Any, lower: bool) -> Any:
    """The complex symmetric matrix of which one triangle is read."""
    strict = np.tril(a, -1) if lower else np.triu(a, 1)
    return strict + matrix_transpose(strict) + a * np.eye(a.shape[-1], dtype=a.dtype)


DEFINITE = ("pos", "positive definite")


def _read(a: Array, assume_a: str | None, lower: bool, name: str) -> Any:
    """The matrix that SciPy sees under an assumption about its structure."""
    if assume_a in (None, "gen", "general", "banded"):
        return a
    if assume_a in (*DEFINITE, "her", "hermitian"):
        return hermitian_argument(a, name, lower)
    if assume_a in ("sym", "symmetric"):
        return _symmetric(a, lower) if a.dtype.kind == "c" else hermitian_argument(a, name, lower)
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
    a: Array, b: Array, lower: bool, check_finite: bool, assume_a: str | None, transposed: bool
) -> Any:
    a, b = inexact(a), inexact(b)
    check(check_finite, a, b)
    linalg.check_square(a, "solve")
    a = _read(a, assume_a, lower, "solve")
    a = matrix_transpose(a) if transposed else a
    return _solve_definite(a, b) if assume_a in DEFINITE else linalg.solve(a, b)


def _triangular(a: Array, b: Array, lower: bool, unit: bool = False) -> Any:
    """Solve for a vector b (n,), or columns (..., n, k)."""
    if b.ndim == 1:
        return solve_triangular_(a, b.reshape((-1, 1)), lower=lower, unit=unit)[..., 0]
    return solve_triangular_(a, b, lower=lower, unit=unit)


def _check_system(a: Array, b: Array, name: str) -> None:
    linalg.check_square(a, name)
    if b.ndim < 1 or a.shape[-1] != b.shape[-1 if b.ndim == 1 else -2]:
        raise ShapeError(f"{name}: shapes of a {a.shape} and b {b.shape} are incompatible")


def _solve_definite(a: Array, b: Array) -> Any:
    """The solution by Cholesky's factors, which a matrix that is not positive definite has not."""
    if b.ndim == 1:
        return _solve_definite(a, b[:, None])[..., 0]
    factor = np.linalg.cholesky(a)
    return _triangular(linalg.adjoint(factor), _triangular(factor, b, True), False)


@bound_form(scipy.linalg.solve_triangular)
def solve_triangular(
    a: Array, b: Array, trans: Any, lower: bool, unit_diagonal: bool, check_finite: bool
) -> Any:
    a, b = inexact(a), inexact(b)
    check(check_finite, a, b)
    _check_system(a, b, "solve_triangular")
    if trans in (1, "T"):
        a, lower = matrix_transpose(a), not lower
    elif trans in (2, "C"):
        a, lower = linalg.adjoint(a), not lower
    return _triangular(a, b, bool(lower), bool(unit_diagonal))


@bound_form(scipy.linalg.inv)
def inv(a: Any, check_finite: bool, assume_a: str | None = None, lower: bool = False) -> Any:
    check(check_finite, a)
    linalg.check_square(a, "inv")
    a = _read(a, assume_a, lower, "inv")
    if assume_a in DEFINITE:
        return _solve_definite(a, np.eye(a.shape[-1], dtype=a.dtype))
    return linalg.inv(a)


@bound_form(scipy.linalg.det)
def det(a: Any, check_finite: bool) -> Any:
    check(check_finite, a)
    return np.linalg.det(doubled(a))


@bound_form(scipy.linalg.pinv)
def pinv(a: Any, atol: Any, rtol: Any, check_finite: bool) -> Any:
    a = inexact(a)
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


@bound_form(scipy.linalg.pinvh)
def pinvh(a: Any, lower: bool, **options: Any) -> Any:
    a = inexact(a)
    return pinv(hermitian_argument(a, "pinvh", lower), **options)


@bound_form(scipy.linalg.lstsq)
def lstsq(a: Array, b: Array, cond: Any, check_finite: bool, lapack_driver: Any) -> Any:
    a, b = inexact(a), inexact(b)
    check(check_finite, a, b)
    if cond is None:
        cond = float(np.finfo(np.result_type(a.dtype, b.dtype)).eps)
    x, residues, rank, singular_values = np.linalg.lstsq(a, b, cond)
    if not residues.size or lapack_driver == "gelsy":
        residues = np.zeros(0, x.dtype)
    if lapack_driver == "gelsy":
        return x, residues, rank, None
    # NumPy's is a row for one right side as well, SciPy's a number.
    return x, residues[0] if b.ndim == 1 and residues.size else residues, rank, singular_values


@bound_form(scipy.linalg.cho_solve)
def cho_solve(c_and_lower: Any, b: Array, check_finite: bool) -> Any:
    c, lower = c_and_lower
    c, b = inexact(c), inexact(b)
    check(check_finite, c, b)
    _check_system(c, b, "cho_solve")
    first, second = (c, linalg.adjoint(c)) if lower else (linalg.adjoint(c), c)
    return _triangular(second, _triangular(first, b, True), False)


@bound_form(scipy.linalg.lu_solve)
def lu_solve(lu_and_piv: Any, b: Array, trans: int, check_finite: bool) -> Any:
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
    turned = matrix_transpose(lu) if trans == 1 else linalg.adjoint(lu)
    x = _triangular(turned, b, True)
    return permute_rows(_triangular(turned, x, False, unit=True), np.argsort(order, axis=-1))


@traced_form(scipy.linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    # Through the dense matrix: n^3 operations, where SciPy's recursion needs n^2.
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    check(check_finite, c, b)
    return linalg.solve(doubled(toeplitz(c, r)), b)


@bound_form(scipy.linalg.solve_banded)
def solve_banded(l_and_u: Any, ab: Array, b: Array, check_finite: bool) -> Any:
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


@bound_form(scipy.linalg.cho_solve_banded)
def cho_solve_banded(cb_and_lower: Any, b: Array, check_finite: bool) -> Any:
    bands, lower = cb_and_lower
    bands = inexact(bands)
    if bands.ndim != 2:
        raise ShapeError(f"cho_solve_banded: cb must be bands (u + 1, n), got {bands.shape}")
    u, n = bands.shape[0] - 1, bands.shape[1]
    # The conjugate transpose: what was stored k below or above the diagonal is on its other side.
    rows = []
    for k in range(u + 1):
        given = np.conj(bands[k, : n - k] if lower else bands[u - k, k:])
        zeros = np.zeros(min(k, n), given.dtype)
        rows.append(np.concatenate([zeros, given] if lower else [given, zeros]))
    turned = np.stack(rows[::-1] if lower else rows)
    first, second = (bands, turned) if lower else (turned, bands)
    y = solve_banded((u, 0), first, b, check_finite=check_finite)
    return solve_banded((0, u), second, y, check_finite=check_finite)


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
