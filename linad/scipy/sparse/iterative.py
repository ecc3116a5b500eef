"""Iterative solvers, differentiated by the equation they solve.

    A x = b      dx = A^-1 (db - dA x),      adjoint  b̄ = A^-H x̄

The iteration itself is not differentiated: the derivative is that of the solution, found by the
same solver with the same tolerances, and is as accurate as they ask for. An iteration that does
not converge for a derivative raises LinAlgError; for the solution it says so in ``info``, as in
SciPy.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.errors import ShapeError, UnsupportedError
from linad.operators.foreign import apply_operator
from linad.rules.shaping import concrete
from linad.rules.sparsearrays import System, sparse_solve
from linad.scipy.mirror import holds_traced, inexact, traced_form
from linad.scipy.sparse.arrays import SparseArray
from linad.scipy.sparse.operator_closures import is_closure
from linad.solve.solutions import linear

OF_HERMITIAN = ("cg", "minres")
"""Solvers of systems whose matrix is its own adjoint, as is their preconditioner."""


class Iteration:
    """A^-1 by one of SciPy's solvers.

    Parameters
    ----------
    solver : callable
        ``solver(A, b, M=M, **options) -> (x, info)``
    preconditioner : operator or None
        M.
    options : dict
    first : tuple
        The right side that was solved for first, its solution: it is not solved twice.
    """

    def __init__(
        self, solver: Callable[..., Any], preconditioner: Any, options: Any, first: tuple[Any, ...]
    ) -> None:
        self.solver, self.preconditioner, self.options = solver, preconditioner, options
        self.first = first

    def columns(self, A: Any, b: Array, trans: str) -> Any:
        """A^-1 b, A^-T b or A^-H b for columns b (n,) or (n, k)."""
        if b.ndim == 2:
            return np.stack([self.columns(A, c, trans) for c in b.T], 1) if b.size else b
        right, solution = self.first
        if trans == "N" and np.array_equal(b, right):
            return solution
        real = np.dtype(A.dtype).kind != "c"
        if real and b.dtype.kind == "c":
            return self.columns(A, b.real, trans) + 1j * self.columns(A, b.imag, trans)
        M = self.preconditioner
        if trans == "T" and not real:
            return np.conj(self.columns(A, np.conj(b), "H"))
        if trans != "N" and self.solver.__name__ not in OF_HERMITIAN:
            A = A.conj().T if scipy.sparse.issparse(A) else A.H
            M = M if M is None else scipy.sparse.linalg.aslinearoperator(M).H
        x, info = self.solver(A, b, M=M, **self.options)
        if info:
            raise np.linalg.LinAlgError(
                f"{self.solver.__name__}: no convergence for a derivative (info={info})"
            )
        return x


class IteratedSystem(System):
    """The systems of a matrix with traced entries, by iteration."""

    def __init__(self, pattern: Any, iteration: Iteration) -> None:
        super().__init__(pattern)
        self.iteration = iteration

    def prepare(self, matrix: Any) -> Any:
        return matrix

    def solve_columns(self, prepared: Any, b: Array, trans: str) -> Any:
        return self.iteration.columns(prepared, b, trans)


def _solve(
    solver: Callable[..., Any], A: Any, b: Array, x0: Any, M: Any, options: dict[str, Any]
) -> Any:
    name = solver.__name__
    if isinstance(A, Traced) or isinstance(M, Traced) or holds_traced(options):
        raise UnsupportedError(
            f"{name}: a traced dense matrix, preconditioner or option; use np.linalg.solve, or a "
            f"sparse array with traced entries, made by linad.scipy.sparse.csr_array"
        )
    b = inexact(b)
    if b.ndim == 2 and b.shape[1] == 1:
        b = b[:, 0]
    if b.ndim != 1 or A.shape != (b.shape[0],) * 2:
        raise ShapeError(f"{name}: A has shape {A.shape} and b {b.shape}")
    if is_closure(A):  # whatever the preconditioner, to more digits than were asked for
        rtol = options.get("rtol", 1e-5)
        return linear(A.matvec, b, linear_solver="krylov", rtol=min(rtol, 1e-10)), 0
    if is_closure(M):
        raise UnsupportedError(
            f"{name}: a preconditioner whose products depend on traced values; leave M out, or "
            f"make it of linad.stop_gradient of them"
        )
    plain = A.pattern.matrix(concrete(A.data)) if isinstance(A, SparseArray) else _never_written(A)
    M = _never_written(M)
    right = concrete(b)
    x, info = solver(plain, right, x0=concrete(x0), M=M, **options)
    calm = {key: value for key, value in options.items() if key != "callback"}
    iteration = Iteration(solver, M, calm, (np.array(right), x))
    if isinstance(A, SparseArray):
        system = IteratedSystem(A.pattern, iteration)
        return sparse_solve(A.data, b, system=system, transposed=False), info
    op = scipy.sparse.linalg.aslinearoperator(plain)
    forth = functools.partial(iteration.columns, op, trans="N")
    back = functools.partial(iteration.columns, op, trans="H")
    dtype = np.promote_types(op.dtype, np.float32)
    inverse = LinearOperator(
        op.shape, matvec=forth, matmat=forth, rmatvec=back, rmatmat=back, dtype=dtype
    )
    return apply_operator(b, op=inverse, adjoint=False), info


def _never_written(A: Any) -> Any:
    """A matrix that the caller does not write into: derivatives solve with it later."""
    return A.copy() if isinstance(A, np.ndarray) or scipy.sparse.issparse(A) else A


def _mirror(name: str) -> Callable[..., Any]:
    original = getattr(scipy.sparse.linalg, name)

    @traced_form(original)
    def solve(A: Any, b: Array, x0: Any = None, *, M: Any = None, **options: Any) -> Any:
        return _solve(original, A, b, x0, M, options)

    return solve


cg = _mirror("cg")
bicg = _mirror("bicg")
bicgstab = _mirror("bicgstab")
cgs = _mirror("cgs")
gcrotmk = _mirror("gcrotmk")
tfqmr = _mirror("tfqmr")
gmres = _mirror("gmres")
lgmres = _mirror("lgmres")
minres = _mirror("minres")
