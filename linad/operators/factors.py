"""Factorised matrices as SciPy operators that apply the inverse: dense, banded, sparse.

Each is checked for singularity when it is made. Rows and columns are scaled first, so that a
matrix is not taken for a singular one because its units differ; then it is refused if the
estimated reciprocal condition number lies below the precision of its numbers. ``what`` names the
matrix in messages.

Source: N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, chapters 7, 15.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import LinearOperator

from linad.core.array_type import Array
from linad.core.shapes import matrix_transpose
from linad.errors import SingularError


class Factored(LinearOperator):
    """The inverse of a factorised matrix (n, n), on vectors and columns.

    A subclass solves in double precision, for a right side of its own kind of numbers.
    """

    method: str

    def __init__(self, dtype: np.dtype[Any], n: int) -> None:
        super().__init__(dtype, (n, n))

    def solve(self, b: Any, adjoint: bool) -> Any:
        """Return A^-1 b or A^-H b for b (n, k)."""
        raise NotImplementedError

    def _apply(self, b: Array, adjoint: bool) -> Any:
        b = np.asarray(b)
        columns = b.reshape(-1, 1) if b.ndim == 1 else b
        if columns.dtype.kind == "c" and self.dtype.kind != "c":
            x = self.solve(columns.real, adjoint) + 1j * self.solve(columns.imag, adjoint)
        else:
            x = self.solve(columns, adjoint)
        return x.astype(np.result_type(self.dtype, b.dtype), copy=False).reshape(b.shape)

    def _matvec(self, x: Array) -> Any:
        return self._apply(x, False)

    def _rmatvec(self, x: Array) -> Any:
        return self._apply(x, True)

    def _matmat(self, X: Array) -> Any:
        return self._apply(X, False)

    def _rmatmat(self, X: Array) -> Any:
        return self._apply(X, True)


def double(dtype: np.dtype[Any]) -> Any:
    """The dtype in which to factorise: single precision is solved in double, as in NumPy."""
    return np.promote_types(dtype, np.float64)


WHAT = "inverse: the matrix"

FEW = 1000
"""Up to this size four right sides cost no more than the call."""


def check_finite(a: Array, what: str) -> None:
    """Raise SingularError for a matrix with infinities or NaNs."""
    if not np.isfinite(a).all():
        raise SingularError(f"{what} holds infinities or NaNs, and has no inverse")


def check_condition(rcond: float, dtype: np.dtype[Any], what: str) -> None:
    """Raise SingularError if a reciprocal condition number is below the precision."""
    if not rcond >= np.finfo(dtype).eps:
        raise SingularError(
            f"{what} is singular to working precision (reciprocal condition number "
            f"{rcond:.1e} after scaling)"
        )


def reciprocal_condition(solve: Callable[..., Any], norm: float, n: int) -> float:
    """Estimate 1 / (|A| |A^-1|) in the maximum norm from solutions ``solve(b, adjoint)``.

    An entry of A^-1 v, with v of n normal numbers, is as large as a row of A^-1 is long, which is
    at least 1/sqrt(n) of the sum of its entries; so ten times that is taken. One vector in fifty
    meets less than 1/50 of a row: small matrices get four. A better estimate of large ones costs
    ten solutions and more.
    """
    v = np.random.default_rng(0).standard_normal((n, 4 if n <= FEW else 1))
    with np.errstate(over="ignore", invalid="ignore"):
        found = 10 * norm * float(np.max(np.abs(solve(v, False)), initial=0.0))
    return 1 / found if found > 0 else 0.0


def scales(sizes: Array) -> Any:
    """Powers of two near the sizes of rows or columns; 1 for a row of zeros."""
    return np.exp2(-np.round(np.log2(np.where(sizes > 0, sizes, 1))))


def _largest(sizes: Array, place: Array, n: int) -> Any:
    """The largest of the sizes at each of n places, 0 where there is none."""
    found = np.zeros(n)
    np.maximum.at(found, place, sizes)
    return found


class Equilibrated(Factored):
    """Factors of a matrix whose rows and columns are scaled."""

    rows: Any
    columns: Any

    def scaled_solve(self, b: Any, adjoint: bool) -> Any:
        """Solve with the scaled matrix."""
        raise NotImplementedError

    def solve(self, b: Array, adjoint: bool) -> Any:
        before, after = (self.columns, self.rows) if adjoint else (self.rows, self.columns)
        return after[:, None] * self.scaled_solve(before[:, None] * b, adjoint)


class DenseLU(Equilibrated):
    """LU with partial pivoting of a dense matrix, its rows and columns scaled.

    Notes
    -----
    2/3 n^3 operations, then 2 n^2 per right side.
    """

    method = "dense LU"

    def __init__(self, a: Array, what: str = WHAT) -> None:
        dtype, n = a.dtype, a.shape[0]
        super().__init__(dtype, n)
        check_finite(a, what)
        a = a.astype(double(dtype))
        self.rows = scales(np.max(np.abs(a), axis=1, initial=0))
        a *= self.rows[:, None]
        self.columns = scales(np.max(np.abs(a), axis=0, initial=0))
        a *= self.columns
        if n == 0:
            return
        norm = np.linalg.norm(a, 1)
        getrf, gecon = get_lapack_funcs(("getrf", "gecon"), (a,))
        self.lu, self.pivots, info = getrf(a)
        check_condition(0.0 if info > 0 else float(gecon(self.lu, norm)[0]), dtype, what)

    def solve(self, b: Array, adjoint: bool) -> Any:
        return super().solve(b, adjoint) if self.shape[0] else b.astype(self.dtype)

    def scaled_solve(self, b: Array, adjoint: bool) -> Any:
        return solved_by_lu(self.lu, self.pivots, b, adjoint)


def solved_by_lu(lu: Array, pivots: Array, b: Array, adjoint: bool) -> Any:
    """Solve with LU factors, which several threads may do at once.

    SciPy counts the pivots from one while LAPACK runs, in the array that it is given, and lets
    other threads run meanwhile: each call needs pivots of its own.
    """
    factors = lu, pivots.copy()
    return scipy.linalg.lu_solve(factors, b, trans=2 if adjoint else 0, check_finite=False)


class Cholesky(Factored):
    """Cholesky factors of a positive definite dense matrix, scaled to a diagonal of ones.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it is not positive definite in floating-point numbers.

    Notes
    -----
    1/3 n^3 operations, then 2 n^2 per right side.
    """

    method = "Cholesky"

    def __init__(self, a: Array, what: str = WHAT) -> None:
        dtype, n = a.dtype, a.shape[0]
        super().__init__(dtype, n)
        check_finite(a, what)
        a = a.astype(double(dtype))
        self.scale = np.sqrt(scales(np.abs(np.diagonal(a))))
        a = self.scale[:, None] * a * self.scale
        if n == 0:
            return
        norm = np.linalg.norm(a, 1)
        self.factor = scipy.linalg.cho_factor(a, lower=True, check_finite=False)
        (pocon,) = get_lapack_funcs(("pocon",), (a,))
        check_condition(float(pocon(self.factor[0], norm, uplo="L")[0]), dtype, what)

    def solve(self, b: Array, adjoint: bool) -> Any:
        if self.shape[0] == 0:
            return b.astype(self.dtype)
        b = self.scale[:, None] * b
        return self.scale[:, None] * scipy.linalg.cho_solve(self.factor, b, check_finite=False)


class Triangular(Factored):
    """A triangular matrix. n^2 operations per right side."""

    def __init__(self, a: Array, lower: bool, what: str = WHAT) -> None:
        self.method = f"{'forward' if lower else 'back'} substitution"
        super().__init__(a.dtype, a.shape[0])
        check_finite(a, what)
        self.a, self.lower = a.astype(double(a.dtype)), lower
        zeros = np.flatnonzero(np.diagonal(a) == 0)
        if zeros.size:
            raise SingularError(f"{what} is triangular with a zero on its diagonal, at {zeros[0]}")

    def solve(self, b: Array, adjoint: bool) -> Any:
        a = np.conj(matrix_transpose(self.a)) if adjoint else self.a
        lower = self.lower != adjoint
        return scipy.linalg.solve_triangular(a, b, lower=lower, check_finite=False)


class Banded(Equilibrated):
    """LU of a banded matrix.

    Parameters
    ----------
    bands : array (below + above + 1, n)
        As `scipy.linalg.solve_banded` takes them.
    below, above : int

    Notes
    -----
    O(n below (below + above)) operations, and O(n (below + above)) per right side.
    """

    method = "banded LU"

    def __init__(self, bands: Array, below: int, above: int, what: str = WHAT) -> None:
        dtype, n = bands.dtype, bands.shape[1]
        super().__init__(dtype, n)
        check_finite(bands, what)
        self.below, self.above = below, above
        bands = bands.astype(double(dtype))
        rows = np.arange(n) + np.arange(-above, below + 1)[:, None]  # of each entry of the bands
        inside = (rows >= 0) & (rows < n)
        bands = np.where(inside, bands, 0)
        self.rows = scales(_largest(np.abs(bands[inside]), rows[inside], n))
        bands *= np.where(inside, self.rows[np.clip(rows, 0, n - 1)], 0)
        self.columns = scales(np.max(np.abs(bands), axis=0, initial=0))
        bands *= self.columns
        norm = float(np.max(np.bincount(rows[inside], np.abs(bands[inside])), initial=0.0))
        padded = np.concatenate([np.zeros((below, n), bands.dtype), bands])
        gbtrf, self._gbtrs = get_lapack_funcs(("gbtrf", "gbtrs"), (bands,))
        self.lu, self.pivots, info = gbtrf(padded, below, above)
        found = 0.0 if info > 0 else reciprocal_condition(self.scaled_solve, norm, n)
        check_condition(found, dtype, what)

    def scaled_solve(self, b: Array, adjoint: bool) -> Any:
        b, trans = b.astype(self.lu.dtype), 2 if adjoint else 0
        pivots = self.pivots.copy()  # as `solved_by_lu` says
        return self._gbtrs(self.lu, self.below, self.above, b, pivots, trans=trans)[0]


class SparseLU(Equilibrated):
    """SuperLU of a sparse matrix, its rows and columns scaled."""

    method = "sparse LU"

    def __init__(self, a: Any, what: str = WHAT) -> None:
        from scipy.sparse import csc_array

        dtype, n = a.dtype, a.shape[0]
        super().__init__(dtype, n)
        check_finite(a.data, what)
        a = csc_array(a, dtype=double(dtype), copy=True)
        a.sum_duplicates()
        row, column = a.indices, np.repeat(np.arange(n), np.diff(a.indptr))
        self.rows = scales(_largest(np.abs(a.data), row, n))
        a.data *= self.rows[row]
        self.columns = scales(_largest(np.abs(a.data), column, n))
        a.data *= self.columns[column]
        try:
            self.factors = SparseFactors(a, **_order_for(a))
        except RuntimeError as error:  # what SuperLU has to say
            raise SingularError(f"{what} is singular ({error})") from None
        norm = float(np.max(np.bincount(row, np.abs(a.data)), initial=0.0))
        check_condition(reciprocal_condition(self.scaled_solve, norm, n), dtype, what)

    def scaled_solve(self, b: Array, adjoint: bool) -> Any:
        return self.factors.solve(b.astype(double(self.dtype), copy=False), "H" if adjoint else "N")

    def sign(self) -> float:
        """Of the determinant: of the pivots', and of both permutations'."""
        negative = np.count_nonzero(self.factors.U.diagonal() < 0)
        swaps = negative + _swaps(self.factors.perm_r) + _swaps(self.factors.perm_c)
        return -1.0 if swaps % 2 else 1.0


def _swaps(permutation: Array) -> int:
    """How many swaps of two make a permutation: its size less the number of its cycles."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(permutation)
    graph = csr_array((np.ones(n), permutation, np.arange(n + 1)), shape=(n, n))
    return n - int(connected_components(graph, directed=False, return_labels=False))


class SparseFactors:
    """What `scipy.sparse.linalg.splu` returns, which cannot be copied, beside what it was made of:
    a copy, pickled or not, is made again.

    Parameters
    ----------
    a : sparse array
        Kept by reference; nothing may write into it.
    *args, **options
        As of `splu`.
    """

    def __init__(self, a: Any, *args: Any, **options: Any) -> None:
        from scipy.sparse.linalg import splu

        self.made_of = a, args, options
        self.superlu = splu(a, *args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.superlu, name)

    def __reduce__(self) -> Any:
        a, args, options = self.made_of
        return functools.partial(SparseFactors, **options), (a, *args)


def _order_for(a: Any) -> dict[str, Any]:
    """SuperLU's options for a CSC array: the order that suits the pattern.

    Minimum degree on the pattern of A + A^T where that is the pattern of A, as of discretised
    equations: about half the fill of the order for A^T A, which serves any pivoting. Pivots then
    stay on the diagonal unless they are ten times smaller than what stands below. The columns of
    such factors have little in common, so narrow panels serve them best.
    """
    if not _has_symmetric_pattern(a):
        return {}
    return {
        "permc_spec": "MMD_AT_PLUS_A",
        "diag_pivot_thresh": 0.1,
        "panel_size": 4,
        "options": {"SymmetricMode": True},
    }


def _has_symmetric_pattern(a: Any) -> bool:
    a.sort_indices()
    rows = a.tocsr()
    rows.sort_indices()
    return np.array_equal(rows.indptr, a.indptr) and np.array_equal(rows.indices, a.indices)
