"""scipy.sparse.linalg, traced in vectors and right sides; matrices are constant.

`aslinearoperator` gives an operator whose products trace; `spsolve`, `splu`, `factorized` and
`spsolve_triangular` solve for traced right sides with one factorisation, of which both modes
make use: y = A^-1 b, dy = A^-1 db, and in reverse A^-H.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator

from linad.errors import ShapeError, UnsupportedError
from linad.operators.foreign import apply_operator
from linad.primitive import Traced
from linad.rules import sparse as products
from linad.rules.shaping import astype
from linad.scipy.mirror import refuse, traced_form


def __getattr__(name: str) -> Any:
    return getattr(scipy.sparse.linalg, name)


def __dir__() -> list[str]:
    return dir(scipy.sparse.linalg)


class TracedProducts(LinearOperator):
    """A SciPy LinearOperator whose products with traced vectors and matrices trace.

    Parameters
    ----------
    op : LinearOperator
    """

    def __init__(self, op: LinearOperator) -> None:
        self.op = op
        super().__init__(op.dtype, op.shape)

    def _matvec(self, x: Any) -> Any:
        return self.op.matvec(x)

    def _matmat(self, X: Any) -> Any:
        return self.op.matmat(X)

    def _rmatvec(self, x: Any) -> Any:
        return self.op.rmatvec(x)

    def _rmatmat(self, X: Any) -> Any:
        return self.op.rmatmat(X)

    def _adjoint(self) -> Any:
        return TracedProducts(self.op.H)

    def _transpose(self) -> Any:
        return TracedProducts(self.op.T)

    def dot(self, x: Any) -> Any:
        """The product with a vector, a matrix, a number or another operator."""
        return products.apply(self.op, x) if isinstance(x, Traced) else super().dot(x)

    def __matmul__(self, x: Any) -> Any:
        return products.apply(self.op, x) if isinstance(x, Traced) else super().__matmul__(x)

    def matvec(self, x: Any) -> Any:
        """The product with a vector."""
        return products.apply(self.op, x) if isinstance(x, Traced) else super().matvec(x)

    def matmat(self, X: Any) -> Any:
        """The product with a matrix."""
        return products.apply(self.op, X) if isinstance(X, Traced) else super().matmat(X)

    def rmatvec(self, x: Any) -> Any:
        """The product of the adjoint with a vector."""
        return products.apply(self.op.H, x) if isinstance(x, Traced) else super().rmatvec(x)


def aslinearoperator(A: Any) -> Any:
    """As `scipy.sparse.linalg.aslinearoperator`; products with traced vectors trace."""
    if isinstance(A, Traced):
        raise UnsupportedError(
            "aslinearoperator: the matrix must be constant; A @ x traces with a traced dense A"
        )
    op = scipy.sparse.linalg.aslinearoperator(A)
    return op if hasattr(op, "pushforward") else TracedProducts(op)


# Systems.


class _Inverse(LinearOperator):
    """A^-1 of the factors of a sparse A."""

    def __init__(self, factors: Any, dtype: Any) -> None:
        self.factors = factors
        super().__init__(dtype, factors.shape)

    def _solve(self, b: Any, trans: str) -> Any:
        b = np.asarray(b)
        if b.dtype.kind == "c" and np.dtype(self.dtype).kind != "c":
            return self._solve(b.real, trans) + 1j * self._solve(b.imag, trans)
        return self.factors.solve(np.ascontiguousarray(b.astype(self.dtype, copy=False)), trans)

    def _matvec(self, x: Any) -> Any:
        return self._solve(x, "N")

    def _matmat(self, X: Any) -> Any:
        return self._solve(X, "N")

    def _rmatvec(self, x: Any) -> Any:
        return self._solve(x, "H")

    def _rmatmat(self, X: Any) -> Any:
        return self._solve(X, "H")


def _apply_inverse(inverse: LinearOperator, b: Any, name: str) -> Any:
    """A^-1 b for b (n,) or (n, k)."""
    n = inverse.shape[0]
    if b.ndim not in (1, 2) or b.shape[0] != n:
        raise ShapeError(f"{name}: A has shape {inverse.shape} and b {b.shape}")
    if b.dtype.kind not in "fc":
        b = astype(b, float)
    if b.ndim == 1:
        return apply_operator(b, op=inverse, adjoint=False)
    return apply_operator(b.T, op=inverse, adjoint=False).T


def _inverse(factors: Any) -> LinearOperator:
    return _Inverse(factors, np.result_type(factors.L.dtype, factors.U.dtype))


def _plain_matrix(A: Any, name: str) -> Any:
    if isinstance(A, Traced):
        raise UnsupportedError(
            f"{name}: the matrix must be constant; np.linalg.solve traces with a dense one"
        )
    return A


@traced_form(scipy.sparse.linalg.spsolve)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    A = scipy.sparse.csc_array(_plain_matrix(A, "spsolve"))
    if A.dtype.kind not in "fc":
        A = A.astype(float)
    factors = scipy.sparse.linalg.splu(A, permc_spec=permc_spec)
    column = b.ndim == 2 and b.shape[1] == 1
    x = _apply_inverse(_inverse(factors), b, "spsolve")
    return x[:, 0] if column else x  # as SciPy's


@traced_form(scipy.sparse.linalg.spsolve_triangular)
def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    A = scipy.sparse.csr_array(_plain_matrix(A, "spsolve_triangular"))
    refuse("spsolve_triangular", unit_diagonal=(unit_diagonal, False))
    upper = scipy.sparse.csr_array(A.conj().T)

    def solve(matrix: Any, lower: bool) -> Callable[[Any], Any]:
        return lambda x: scipy.sparse.linalg.spsolve_triangular(matrix, x, lower=lower)

    forward, back = solve(A, lower), solve(upper, not lower)
    inverse = LinearOperator(
        A.shape,
        matvec=forward,
        matmat=forward,
        rmatvec=back,
        rmatmat=back,
        dtype=np.promote_types(A.dtype, float),
    )
    return _apply_inverse(inverse, b, "spsolve_triangular")


class Factors:
    """What `scipy.sparse.linalg.splu` returns; ``solve`` takes traced right sides."""

    def __init__(self, factors: Any) -> None:
        self._factors = factors

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """A^-1 rhs, or A^-T ("T") or A^-H ("H")."""
        if not isinstance(rhs, Traced):
            return self._factors.solve(rhs, trans)
        inverse = _inverse(self._factors)
        if trans == "T":
            return np.conj(_apply_inverse(inverse.H, np.conj(rhs), "splu"))
        return _apply_inverse(inverse.H if trans == "H" else inverse, rhs, "splu")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._factors, name)


def splu(A: Any, *args: Any, **keywords: Any) -> Factors:
    """As `scipy.sparse.linalg.splu`, with a ``solve`` that takes traced right sides."""
    return Factors(scipy.sparse.linalg.splu(_plain_matrix(A, "splu"), *args, **keywords))


def factorized(A: Any) -> Callable[[Any], Any]:
    """As `scipy.sparse.linalg.factorized`; the function it returns takes traced right sides."""
    return splu(scipy.sparse.csc_array(_plain_matrix(A, "factorized"))).solve
