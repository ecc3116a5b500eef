"""Inverses that iterate: each application runs a Krylov solver of SciPy on the operator.

    conjugate gradients   hermitian and positive definite
    MINRES                symmetric
    GMRES                 any other square matrix
    LSMR                  rectangular: the least-squares solution of least norm

Nothing that did not converge is returned: the residual is computed anew and compared.

Source: R. Barrett et al., "Templates for the Solution of Linear Systems", SIAM 1994; D. Fong and
M. Saunders, "LSMR: an iterative algorithm for sparse least-squares problems", 2011.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg, gmres, lsmr, minres

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.showing import shown
from linad.errors import ConvergenceError, OperandError, UnsupportedError
from linad.linalg.probing import largest_singular_value
from linad.operators.base import JacobianOperator
from linad.operators.facts import DEFINITE, HERMITIAN

METHODS = ("cg", "minres", "gmres", "lsmr")

RESTART = 100
"""Vectors that GMRES keeps."""

ATTAINABLE = 1e-6
"""A larger relative residual is refused even where it is all that rounding allows."""

REFINEMENTS = 4
"""Most calls of a solver for one right side."""


@dataclass(frozen=True)
class Options:
    """Of an iteration: its method, when it ends, and a preconditioner (about the inverse)."""

    method: str
    rtol: float
    maxiter: int
    M: Any = field(default=None, compare=False)


def method_for(op: JacobianOperator, level: int) -> tuple[str, str]:
    """The method for a matrix of which so much is proven, and why."""
    if op.shape[0] != op.shape[1]:
        return "lsmr", "the matrix is rectangular"
    if level == DEFINITE:
        return "cg", "the matrix is hermitian and positive definite"
    if level >= HERMITIAN and op.dtype.kind != "c":
        return "minres", "the matrix is symmetric"
    return "gmres", "nothing is known of the matrix"


class Iterative(LinearOperator):
    """The inverse, or pseudo-inverse, of an operator: a Krylov iteration a vector.

    Parameters
    ----------
    op : JacobianOperator (m, n)
        Without traced numbers.
    options : Options

    Attributes
    ----------
    iterations : int
        Of all vectors so far.
    """

    def __init__(self, op: JacobianOperator, options: Options) -> None:
        self.op, self.options = op, options
        self.iterations = 0
        super().__init__(op.dtype, op.shape[::-1])

    def _matvec(self, x: Array) -> Any:
        return self._solve(self.op, x, self.options.M)

    def _rmatvec(self, x: Array) -> Any:
        M = self.options.M
        return self._solve(self.op.H, x, None if M is None else M.H)

    def _matmat(self, X: Array) -> Any:
        return self._columns(self._matvec, X)

    def _rmatmat(self, X: Array) -> Any:
        return self._columns(self._rmatvec, X)

    def _columns(self, solve: Callable[..., Any], X: Array) -> Any:
        if X.shape[1] == 0:
            return np.zeros((self.shape[0], 0), self.dtype)
        return np.stack([solve(X[:, k]) for k in range(X.shape[1])], axis=-1)

    def _solve(self, op: Any, b: Array, M: Any) -> Any:
        b = np.asarray(b).reshape(-1)
        if not np.isfinite(b).all():
            raise ValueError(f"{op._label()}: the right side holds infinities or NaNs")
        if b.dtype.kind == "c" and self.dtype.kind != "c" and self.options.method == "minres":
            return self._solve(op, b.real, M) + 1j * self._solve(op, b.imag, M)
        if not b.any():
            return np.zeros(op.shape[1], np.result_type(b, self.dtype))
        if isinstance(op @ np.zeros(op.shape[1]), Traced):
            raise UnsupportedError(
                f"{op._label()} hides traced numbers in a function of the user, so a solution "
                f"by iteration cannot be differentiated in them; use an array, or method='dense'"
            )
        # A breakdown divides by zero; the residual at the end tells.
        with np.errstate(all="ignore"):
            if self.options.method == "lsmr":
                return self._least_squares(op, b)
            return self._square(op, b, M)

    def _square(self, op: Any, b: Array, M: Any) -> Any:
        rtol, kind = self.options.rtol, np.result_type(b, self.dtype)
        # The iterations watch a recurrence; rounding separates it from the residual.
        target = max(10 * rtol, 1e3 * float(np.finfo(kind).eps))
        size = float(np.linalg.norm(b))
        x, rest, residual = np.zeros(len(b), kind), b, 1.0
        for _ in range(REFINEMENTS):
            # MINRES stops by its own measure, which may be early: then once more, for the rest.
            new = x + self._run(op, rest, M, max(rtol / residual, target / 1e3))
            before, rest = residual, b - op @ new
            residual = float(np.linalg.norm(rest)) / size
            if not residual < before:
                residual = before
                break
            x = new
            if residual <= target:
                return x.astype(kind, copy=False)
        if residual <= ATTAINABLE and residual <= self._noise(op, x, size, kind):
            return x.astype(kind, copy=False)
        raise ConvergenceError(
            f"{self.options.method} on {op._label()} stopped at a relative residual of "
            f"{residual:.1e} where {rtol:.1e} is asked for: the matrix is singular, or too "
            f"ill-conditioned for this iteration; give a preconditioner M, more iterations "
            f"(maxiter={self.options.maxiter}), or method='dense'",
            x,
        )

    def _noise(self, op: Any, x: Array, size: float, kind: np.dtype[Any]) -> float:
        """The relative residual that rounding in a product with x explains."""
        norm, _, _ = largest_singular_value(op, 8, 0)
        return 32 * float(np.finfo(kind).eps) * norm * float(np.linalg.norm(x)) / size

    def _run(self, op: Any, b: Array, M: Any, rtol: float) -> Any:
        """One call of SciPy's solver."""
        maxiter = self.options.maxiter
        if self.options.method == "cg":
            return cg(op, b, rtol=rtol, maxiter=maxiter, M=M, callback=self._count, atol=0.0)[0]
        if self.options.method == "minres":
            return minres(op, b, rtol=rtol, maxiter=maxiter, M=M, callback=self._count)[0]
        restart = min(op.shape[0], RESTART)
        return gmres(
            op,
            b,
            rtol=rtol,
            maxiter=max(1, -(-maxiter // restart)),
            M=M,
            atol=0.0,
            restart=restart,
            callback=self._count,
            callback_type="pr_norm",
        )[0]

    def _least_squares(self, op: Any, b: Array) -> Any:
        rtol, maxiter = self.options.rtol, self.options.maxiter
        x, stop, iterations = lsmr(op, b, atol=rtol, btol=rtol, conlim=0, maxiter=maxiter)[:3]
        self.iterations += int(iterations)
        if stop == 7 or not np.isfinite(x).all():
            raise ConvergenceError(
                f"lsmr on {op._label()} did not converge in maxiter={maxiter} iterations", x
            )
        return x.astype(np.result_type(b, self.dtype), copy=False)

    def _count(self, state: Array) -> None:
        self.iterations += 1


def as_preconditioner(M: Any, op: JacobianOperator) -> Any:
    """A preconditioner that a user gave, as a SciPy operator of the right shape."""
    from scipy.sparse.linalg import aslinearoperator

    if M is None:
        return None
    shape = getattr(M, "shape", None)
    if shape != op.shape:
        raise OperandError(
            f"solve_linear: M must be an operator or matrix of shape {op.shape}, about the "
            f"inverse, got {f'shape {shape}' if shape is not None else shown(M)}"
        )
    return aslinearoperator(M)
