"""Linear systems with a Jacobian: dense, sparse or by Krylov iteration, whichever fits.

    dense    LU of the equilibrated matrix; singular if its reciprocal condition is below eps
    sparse   SuperLU of ``J.tosparse()``
    krylov   GMRES on the operator, never formed, with a preconditioner where one is given

"auto" takes dense up to `DENSE` unknowns; above that sparse where the pattern is thin, dense
again up to `LARGE`, and Krylov beyond.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import LinearOperator, gmres, splu

from linad.errors import DensifyError, LinadError, OperandError
from linad.solve.problems import quiet
from linad.solve.right_gmres import right_gmres

SOLVERS = ("auto", "dense", "sparse", "krylov")
DENSE = 200
LARGE = 3000
THIN = 0.2
"""Share of entries that are not zero, up to which a matrix is factorised as a sparse one."""

REUSES = 15
"""Most GMRES steps with factors of another point."""

SingularError = np.linalg.LinAlgError


class KrylovError(LinadError, RuntimeError):
    """A Krylov iteration did not reach its tolerance."""


def check_solver(linear_solver: str, name: str) -> None:
    """Raise ValueError for a choice that is none of `SOLVERS`."""
    if linear_solver not in SOLVERS:
        raise ValueError(
            f"{name}: linear_solver={linear_solver!r} came, one of {', '.join(SOLVERS)} is needed"
        )


def choose(J: Any, linear_solver: str, M: Any = None) -> str:
    """Which of the ways to solve fits an operator, where "auto" leaves it open."""
    if linear_solver != "auto":
        return linear_solver
    if M is not None:
        return "krylov"
    n = J.shape[1]
    if n <= DENSE:
        return "dense"
    if is_thin(J):
        return "sparse"
    return "dense" if n <= LARGE else "krylov"


def is_thin(J: Any) -> bool:
    """Whether an operator has so few entries that it is factorised as a sparse matrix."""
    m, n = J.shape
    try:
        return bool(J.nnz <= THIN * m * n)
    except DensifyError:  # too many entries even for a pattern
        return False


def system(J: Any, linear_solver: str, rtol: float, M: Any = None) -> Any:
    """Make ``J x = b`` ready to be solved.

    Parameters
    ----------
    J : JacobianOperator (n, n)
    linear_solver : str
        One of `SOLVERS`.
    rtol : float
        Of a Krylov iteration.
    M : LinearOperator, optional
        Preconditioner of a Krylov iteration: about the inverse.

    Returns
    -------
    DenseSystem, SparseSystem or KrylovSystem
        With ``solve(b, adjoint=False)`` for vectors (n,) and columns (n, k).

    Raises
    ------
    numpy.linalg.LinAlgError
        If a factorised matrix is singular.
    """
    kind = choose(J, linear_solver, M)
    if kind == "dense":
        return DenseSystem(J.todense())
    if kind == "sparse":
        return SparseSystem(sparse_form(J))
    return KrylovSystem(J, rtol, M)


def sparse_form(J: Any) -> Any:
    """The matrix of an operator as a sparse array, its pattern taken from its structure."""
    return J.tosparse("csr")


class DenseSystem:
    """A dense matrix, equilibrated and factorised."""

    kind = "dense"

    def __init__(self, matrix: Any) -> None:
        self.dtype = matrix.dtype
        eps = float(np.finfo(matrix.dtype).eps)
        a = matrix.astype(np.promote_types(matrix.dtype, float))
        if not np.isfinite(a).all():
            raise SingularError("the Jacobian holds infinities or NaNs")
        self.rows = _largest(a, 1)
        a /= self.rows[:, None]
        self.columns = _largest(a, 0)
        a /= self.columns
        getrf, gecon = get_lapack_funcs(("getrf", "gecon"), (a,))
        norm = np.linalg.norm(a, 1) if a.size else 1.0
        self.lu, self.pivots, info = getrf(a)
        if info > 0 or (a.size and gecon(self.lu, norm)[0] < eps):
            raise SingularError("the Jacobian is singular to working precision")

    def solve(self, b: Any, adjoint: bool = False) -> Any:
        """A^-1 b, or A^-H b."""
        (getrs,) = get_lapack_funcs(("getrs",), (self.lu,))
        before, after = (self.columns, self.rows) if adjoint else (self.rows, self.columns)
        if b.ndim == 2:
            before, after = before[:, None], after[:, None]
        rhs = (b / before).astype(np.result_type(self.lu, b), copy=False)
        if rhs.dtype.kind == "c" and self.lu.dtype.kind != "c":
            return self.solve(b.real, adjoint) + 1j * self.solve(b.imag, adjoint)
        x, info = getrs(self.lu, self.pivots, rhs, trans=2 if adjoint else 0)
        return x / after


def _largest(a: Any, axis: int) -> Any:
    sizes = np.max(np.abs(a), axis=axis, initial=0.0)
    if (sizes == 0.0).any():
        raise SingularError("the Jacobian has a row or column of zeros")
    return sizes


class SparseSystem:
    """A sparse matrix and its LU factors."""

    kind = "sparse"

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix.tocsc()
        self.matrix = self.matrix.astype(np.promote_types(matrix.dtype, float), copy=False)
        if not np.isfinite(self.matrix.data).all():
            raise SingularError("the Jacobian holds infinities or NaNs")
        self.dtype = matrix.dtype
        try:
            self.factors = _factorised(self.matrix)
        except RuntimeError as error:  # what SuperLU has to say
            raise SingularError(f"the Jacobian is singular: {error}") from error
        # |A| |A^-1 v| / |v| for one random v: a lower bound of the condition, and seldom far off.
        v = np.random.default_rng(0).choice([-1.0, 1.0], matrix.shape[0])
        with quiet():
            x = self.solve(v)
            growth = np.abs(self.matrix).sum(axis=0).max(initial=0.0) * np.abs(x).max(initial=0.0)
        if not growth < 0.1 / np.finfo(float).eps:
            raise SingularError("the Jacobian is singular to working precision")

    def solve(self, b: Any, adjoint: bool = False) -> Any:
        """A^-1 b, or A^-H b."""
        if b.dtype.kind == "c" and self.matrix.dtype.kind != "c":
            return self.solve(b.real, adjoint) + 1j * self.solve(b.imag, adjoint)
        rhs = np.ascontiguousarray(b, self.matrix.dtype)
        return self.factors.solve(rhs, "H" if adjoint else "N")

    def apply(self, b: Any) -> Any:
        """As `solve`, for a preconditioner."""
        return self.solve(b)


def _factorised(matrix: Any) -> Any:
    """SuperLU's factors, in the order that suits the pattern.

    Minimum degree on the pattern of A + A^T where that is the pattern of A, as of discretised
    equations: about half the fill of the order for A^T A, which serves any pivoting. Pivots then
    stay on the diagonal unless they are ten times smaller than what stands below. The columns of
    such factors have little in common, so narrow panels serve them best.
    """
    if not _has_symmetric_pattern(matrix):
        return splu(matrix)
    return splu(
        matrix,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.1,
        panel_size=4,
        options={"SymmetricMode": True},
    )


def _has_symmetric_pattern(matrix: Any) -> bool:
    matrix.sort_indices()
    rows = matrix.tocsr()
    rows.sort_indices()
    return np.array_equal(rows.indptr, matrix.indptr) and np.array_equal(
        rows.indices, matrix.indices
    )


class KrylovSystem:
    """GMRES on an operator, to a fixed tolerance."""

    kind = "krylov"

    def __init__(self, J: Any, rtol: float, M: Any = None) -> None:
        self.J, self.rtol, self.M = J, rtol, M
        self.dtype = J.dtype

    def solve(self, b: Any, adjoint: bool = False) -> Any:
        """A^-1 b, or A^-H b.

        Raises
        ------
        KrylovError
            If the tolerance is not reached.
        """
        if b.ndim == 2:
            columns = [self.solve(column, adjoint) for column in b.T]
            return np.stack(columns, axis=1) if columns else b
        J = self.J.H if adjoint else self.J
        M = self.M.H if adjoint and self.M is not None else self.M
        x, reached = krylov_solve(J, b, self.rtol, M)
        if not reached <= 10 * self.rtol:
            raise KrylovError(
                f"GMRES reached a relative residual of {reached:.1e}, {self.rtol:.1e} was asked "
                f"for; give a preconditioner, or linear_solver='sparse' or 'dense'"
            )
        return x


def krylov_solve(
    J: Any, b: Any, rtol: float, M: Any = None, restart: int = 50, maxiter: int = 500
) -> tuple[Any, float]:
    """GMRES; the solution and the relative residual that it truly has."""
    size = float(np.linalg.norm(b))
    if size == 0.0:
        return np.zeros_like(b), 0.0
    restart = min(restart, b.size)
    cycles = max(1, maxiter // restart)
    x, _ = gmres(J, b, rtol=rtol, atol=0.0, restart=restart, maxiter=cycles, M=M)
    return x, float(np.linalg.norm(b - J @ x)) / size


class KeptFactors:
    """Sparse factors that serve the systems of nearby points as well.

    A factorisation costs as much as many solves with it. So it is used again, as the
    preconditioner of a few GMRES steps, and made anew only where these do not do.
    """

    def __init__(self) -> None:
        self.factors: Any = None

    def solve(self, J: Any, b: Any, rtol: float, make: Callable[[], Any]) -> tuple[Any, float]:
        """Solve J x = b; the solution, and its relative residual, 0 where it is exact.

        Parameters
        ----------
        J : operator
        b : array (n,)
        rtol : float
            Relative residual to reach with factors of another point.
        make : callable
            Returns a system of J, as `system` does.
        """
        if self.factors is not None:
            x, reached = right_gmres(J, b, rtol, self.factors.apply, REUSES)
            if reached <= rtol:
                return x, reached
        self.factors = None
        made = make()
        if made.kind == "sparse":
            self.factors = made
        return made.solve(b), made.rtol if made.kind == "krylov" else 0.0


def preconditioner(given: Any, x: Any, J: Any, name: str) -> Any:
    """What a user gave as a preconditioner, as an operator near the inverse of ``J``.

    Parameters
    ----------
    given : None, str, LinearOperator or callable
        "diagonal", "ilu", an operator, or ``given(x, J)`` that returns one.
    x : container
        The point.
    J : Counted
    name : str

    Raises
    ------
    OperandError
        For anything else, or an operator of another shape.
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given == "diagonal":
            return _diagonal(J)
        if given == "ilu":
            return _incomplete(J)
        raise OperandError(
            f"{name}: preconditioner={given!r} came; 'diagonal', 'ilu', an operator, or a "
            f"function (x, J) that returns one is needed"
        )
    M = (
        given(x, getattr(J, "bare", J))
        if callable(given) and not hasattr(given, "shape")
        else given
    )
    if getattr(M, "shape", None) != J.shape:
        raise OperandError(
            f"{name}: the preconditioner has shape {getattr(M, 'shape', None)}, {J.shape} is needed"
        )
    return M


def _diagonal(J: Any) -> Any:
    d = sparse_form(J).diagonal() if is_thin(J) else np.asarray(J.diagonal(rng=0))
    d = np.where(d == 0, 1.0, d)

    def apply(x: Any) -> Any:
        return x / d

    def apply_adjoint(x: Any) -> Any:
        return x / np.conj(d)

    return LinearOperator(J.shape, matvec=apply, rmatvec=apply_adjoint, dtype=J.dtype)


def _incomplete(J: Any) -> Any:
    from scipy.sparse.linalg import spilu

    matrix = sparse_form(J).tocsc()
    try:
        factors = spilu(matrix.astype(np.promote_types(matrix.dtype, float)), 1e-4, 20.0)
    except RuntimeError as error:
        raise SingularError(f"the incomplete factorisation failed: {error}") from error

    def apply(x: Any) -> Any:
        return factors.solve(np.asarray(x, matrix.dtype).astype(factors.L.dtype, copy=False))

    def apply_adjoint(x: Any) -> Any:
        return factors.solve(x.astype(factors.L.dtype, copy=False), "H")

    return LinearOperator(J.shape, matvec=apply, rmatvec=apply_adjoint, dtype=J.dtype)
