"""Damped least-squares steps: (J^H J + λ D²) p = -J^H r, dense, sparse or by LSMR.

    dense    QR of J once; for each λ the QR of [R; sqrt(λ) D], so J^H J, whose condition is
             the square of J's, is not formed
    sparse   J^H J + λ D² as a sparse matrix: its Schur complement where part of it is block
             diagonal (`linad.solve.schur`), else SuperLU without pivoting
    krylov   LSMR on J D^-1, damped by sqrt(λ); nothing is formed

D scales the unknowns, so λ has no unit. With λ = 0 the step is Gauss's and Newton's.

Sources: J. J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", 1978.
D. C.-L. Fong, M. Saunders, "LSMR", SIAM Journal on Scientific Computing 33, 2011.
"""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from scipy.linalg import qr, solve_triangular
from scipy.sparse.linalg import lsmr, splu

from linad.core.array_type import Array
from linad.errors import SingularError
from linad.linalg.linear_systems import DENSE, SMALL
from linad.linalg.structure import is_thin
from linad.operators.structured import Diagonal
from linad.solve.schur import Elimination, elimination_for

MANY = 2_000_000
"""Entries of a dense Jacobian up to which its pattern is not even looked at."""

SAMPLES = 16
"""Cotangents from which the norms of columns are estimated, within a quarter or so."""

MOST = 50_000_000
"""Entries up to which one that is not a sparse matrix is made dense."""


class Factory:
    """Chooses how steps are found, once, and keeps what later steps can use again."""

    def __init__(self, linear_solver: str) -> None:
        self.kind = linear_solver
        self.elimination: Elimination | None = None
        self.looked = False

    def __call__(
        self, J: Any, r: Any, weights: Any = None, free: Any = None, cleaned: Any = None
    ) -> Any:
        """What gives the steps from a point with Jacobian J and residual r.

        Parameters
        ----------
        J : Counted
        r : ndarray (m,)
        weights : ndarray (m,), optional
            By which the rows of J are multiplied; those of r are already.
        free : callable, optional
            From the gradient to a mask of the unknowns that move; all of them by default.
        cleaned : callable, optional
            From a dense Jacobian to one without rounding errors and overflow.
        """
        if self.kind == "auto":
            self.kind = _choose(J)
        if self.kind == "krylov":
            if weights is not None:
                J = Diagonal(weights, J.out_shape, J.dtype) @ J
            if free is None or (mask := free(J.H @ r)).all():
                return KrylovSteps(J, r)
            return KrylovSteps(J @ Diagonal(mask.astype(J.dtype), J.in_shape, J.dtype), r)
        matrix = J.todense() if self.kind == "dense" else J.tosparse("csr")
        if self.kind == "dense" and cleaned is not None:
            matrix = cleaned(matrix)
        _check_finite(matrix)
        if weights is not None:
            rows = weights if self.kind == "sparse" else weights[:, None]
            matrix = scipy.sparse.diags_array(rows) @ matrix if rows is weights else rows * matrix
        if free is not None and not (mask := free(matrix.conj().T @ r)).all():
            return FreeSteps((DenseSteps if self.kind == "dense" else SparseSteps), matrix, r, mask)
        if self.kind == "dense":
            return DenseSteps(matrix, r)
        steps = SparseSteps(matrix, r)
        if not self.looked:
            self.looked, self.elimination = True, elimination_for(steps.normal)
        steps.elimination = self.elimination
        return steps


def _choose(J: Any) -> str:
    m, n = J.shape
    if n <= SMALL and m * n <= MANY:
        return "dense"
    if is_thin(J):
        return "sparse"
    return "dense" if n <= DENSE and m * n <= MOST else "krylov"


def least_norm(dtype: np.dtype[Any]) -> float:
    """Down to which the squares in a norm have their digits."""
    return float(np.sqrt(np.finfo(dtype).tiny / np.finfo(dtype).eps))


def column_norms(matrix: Array) -> Any:
    """The norms of the columns, also of those whose squares underflow or overflow."""
    norms = np.sqrt(np.sum(np.abs(matrix) ** 2, axis=0))
    if ((norms > least_norm(norms.dtype)) & np.isfinite(norms)).all():
        return norms
    largest = np.abs(matrix).max(axis=0, initial=0.0)
    largest = np.where(largest > np.finfo(norms.dtype).tiny, largest, 1.0)
    return largest * np.sqrt(np.sum(np.abs(matrix / largest) ** 2, axis=0))


class DenseSteps:
    """From a dense Jacobian."""

    def __init__(self, matrix: Array, r: Array) -> None:
        self.gradient = matrix.conj().T @ r
        self.column_norms = column_norms(matrix)
        self.matrix, self.dtype = matrix, matrix.dtype
        m, n = matrix.shape
        if m > n:
            self.q, self.R = qr(matrix, mode="economic", check_finite=False)
            self.z = self.q.conj().T @ r
        else:
            self.q, self.R, self.z = None, matrix, r
        self.factors: Any = None

    def step(self, lam: float, D: Array) -> Any:
        """p for a λ > 0."""
        rows = np.sqrt(lam) * D
        a = np.concatenate([self.R, np.diag(rows.astype(self.dtype))])
        q, R = qr(a, mode="economic", check_finite=False)
        if not np.abs(R.diagonal()).min(initial=np.inf) > 0:
            raise SingularError("the damped system is singular")
        self.factors = q[: len(self.R)], R
        return self._solve(self.z)

    def along(self, p: Array) -> Any:
        """J p."""
        return self.matrix @ p

    def bent(self, curvature: Array) -> Any:
        """The step of the last λ for another residual: what a curved path adds."""
        return self._solve(curvature if self.q is None else self.q.conj().T @ curvature)

    def _solve(self, z: Array) -> Any:
        q, R = self.factors
        return solve_triangular(R, -(q.conj().T @ z), check_finite=False)

    def gauss(self) -> tuple[Any, int]:
        """The shortest p for λ = 0, and the rank."""
        p, _, rank, _ = np.linalg.lstsq(self.R, -self.z, rcond=None)
        return p, int(rank)

    def product(self, p: Array) -> Any:
        """|J p|²."""
        return float(np.linalg.norm(self.R @ p)) ** 2


class SparseSteps:
    """From a sparse Jacobian, through its normal equations."""

    def __init__(self, matrix: Any, r: Array) -> None:
        matrix = matrix.astype(np.promote_types(matrix.dtype, float), copy=False)
        self.matrix = matrix
        adjoint = matrix.conj().T.tocsr() if matrix.dtype.kind == "c" else matrix.T.tocsr()
        self.gradient = adjoint @ r
        self.normal = (adjoint @ matrix).tocsc()
        self.column_norms = np.sqrt(np.abs(self.normal.diagonal()))
        self.dtype = matrix.dtype
        self.elimination: Elimination | None = None

    def step(self, lam: float, D: Array) -> Any:
        """p for a λ > 0."""
        if self.elimination is not None:
            return self.elimination.solve(self.normal, lam * D * D, -self.gradient)
        damped = (self.normal + scipy.sparse.diags_array(lam * D * D)).tocsc()
        try:
            factors = splu(
                damped,
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError as error:
            raise SingularError(f"the normal equations are singular: {error}") from error
        return factors.solve(-self.gradient)

    def gauss(self) -> tuple[Any, int]:
        """p for λ = 0, and the rank: n, or less where that is not solvable."""
        n = self.gradient.size
        try:
            p = self.step(0.0, np.ones(n))
        except SingularError:
            p = np.full(n, np.nan)
        left = np.linalg.norm(self.normal @ p + self.gradient)
        if left <= 1e-6 * np.linalg.norm(self.gradient):
            return p, n
        return -lsmr(self.matrix, self._right_side(), atol=1e-12, btol=1e-12)[0], n - 1

    def _right_side(self) -> Any:
        """Some r with this gradient: the least-squares problem is determined by it."""
        return lsmr(self.matrix.conj().T, self.gradient, atol=1e-14, btol=1e-14)[0]

    def product(self, p: Array) -> float:
        """|J p|²."""
        return float(np.linalg.norm(self.matrix @ p)) ** 2


class KrylovSteps:
    """From products with the Jacobian alone."""

    def __init__(self, J: Any, r: Array) -> None:
        self.J, self.r = J, r
        self.gradient = J.H @ r
        self.dtype = J.dtype
        self.tolerance = max(1e-10, 10 * float(np.finfo(J.dtype).eps))

    @cached_property
    def column_norms(self) -> Any:
        """Of the columns, estimated by a few cotangents, the same at every point."""
        return np.asarray(self.J.column_norms(exact=False, samples=SAMPLES, rng=0))

    def step(self, lam: float, D: Array) -> Any:
        """p for a λ > 0."""
        scaled = self.J @ Diagonal(1.0 / D, self.J.in_shape, self.dtype)
        y = self._lsmr(scaled, np.sqrt(lam))
        return y / D

    def gauss(self) -> tuple[Any, int]:
        """The shortest p for λ = 0; the rank is taken as full."""
        return self._lsmr(self.J, 0.0), self.J.shape[1]

    def _lsmr(self, J: Any, damp: float) -> Any:
        rtol = self.tolerance
        return lsmr(J, -self.r, damp, atol=rtol, btol=rtol, maxiter=10 * min(J.shape))[0]

    def product(self, p: Array) -> float:
        """|J p|²."""
        return float(np.linalg.norm(self.J @ p)) ** 2


class FreeSteps:
    """Steps of some unknowns, while the others are held."""

    def __init__(self, kind: Any, matrix: Array, r: Array, free: Array) -> None:
        self.free = free
        self.inner = kind(matrix[:, np.flatnonzero(free)], r)
        self.dtype = self.inner.dtype
        self.gradient = self._in_all_entries(self.inner.gradient)
        self.column_norms = self._in_all_entries(self.inner.column_norms)

    def _in_all_entries(self, values: Array) -> Any:
        full = np.zeros(self.free.shape, values.dtype)
        full[self.free] = values
        return full

    def step(self, lam: float, D: Array) -> Any:
        """p for a λ > 0."""
        return self._in_all_entries(self.inner.step(lam, D[self.free]))

    def along(self, p: Array) -> Any:
        """J p, for a p of the free unknowns."""
        return self.inner.along(p[self.free])

    def bent(self, curvature: Array) -> Any:
        """As of the steps inside."""
        return self._in_all_entries(self.inner.bent(curvature))

    def product(self, p: Array) -> float:
        """|J p|², for a p of the free unknowns."""
        return float(self.inner.product(p[self.free]))


def promise(steps: Any, p: Array, lam: float, D: Array) -> float:
    """|r|²/2 - |r + J p|²/2 = |J p|²/2 + λ |D p|²: both terms positive, no cancellation."""
    return 0.5 * steps.product(p) + lam * float(np.linalg.norm(D * p)) ** 2


def light_step(steps: Any) -> tuple[float, Any]:
    """What a step with hardly any damping promises, little only where the cost is lowest; and the
    step. It knows nothing of the way to the point: its D are the norms there."""
    D = steps.column_norms
    D = np.where(D > 0, D, 1.0).astype(float)
    try:
        p = steps.step(1e-8, D)
    except np.linalg.LinAlgError:
        p = np.full(D.shape, np.inf)
    return (promise(steps, p, 1e-8, D) if np.isfinite(p).all() else np.inf), p


def _check_finite(matrix: Array) -> None:
    """Say where a Jacobian, dense or sparse, holds infinities or NaNs."""
    values = matrix.data if scipy.sparse.issparse(matrix) else matrix
    if np.isfinite(values).all():
        return
    rows, columns = (matrix - matrix).nonzero()  # inf - inf is NaN, and all else is zero
    raise SingularError(
        f"{len(rows)} of its entries, first the derivative of residual {rows[0]} by unknown "
        f"{columns[0]}"
    )
