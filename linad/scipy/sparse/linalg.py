"""scipy.sparse.linalg, traced in vectors, right sides and the entries of sparse arrays.

`spsolve`, `splu`, `factorized` solve with one factorisation, of which both modes make use:
x = A^-1 b, dx = A^-1 (db - dA x), and in reverse A^-H. A is a constant matrix, or an array with
traced entries made by `linad.scipy.sparse`; then its gradient has the pattern of A.
`cg`, `gmres` and others do the same by iteration (`linad.scipy.sparse.iterative`). Eigenvalues are
in `linad.scipy.sparse.eigen`, least squares in `fits`, `expm_multiply` in `actions`.
`spsolve_triangular`, and `aslinearoperator`, whose products trace, take constant matrices.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator as _Operator

from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.core.primitive import Traced
from linad.errors import ShapeError, UnsupportedError
from linad.operators.factors import SparseFactors
from linad.operators.foreign import apply_operator
from linad.rules import sparse as products
from linad.rules.shaping import astype, concrete
from linad.rules.sparsearrays import Factorized, sparse_solve
from linad.scipy.mirror import bound_form, inexact, traced_form
from linad.scipy.sparse.actions import expm_multiply
from linad.scipy.sparse.arrays import SparseArray
from linad.scipy.sparse.eigen import eigs, eigsh, svds
from linad.scipy.sparse.iterative import (
    bicg,
    bicgstab,
    cg,
    cgs,
    gcrotmk,
    gmres,
    lgmres,
    minres,
    tfqmr,
)
from linad.scipy.sparse.lsqr import lsmr, lsqr
from linad.scipy.sparse.operator_closures import LinearOperator, is_closure

__all__ = [
    "LinearOperator",
    "aslinearoperator",
    "bicg",
    "bicgstab",
    "cg",
    "cgs",
    "eigs",
    "eigsh",
    "expm_multiply",
    "factorized",
    "gcrotmk",
    "gmres",
    "lgmres",
    "lsmr",
    "lsqr",
    "minres",
    "norm",
    "splu",
    "spsolve",
    "spsolve_triangular",
    "svds",
    "tfqmr",
]


__getattr__, __dir__ = mirrored_names(scipy.sparse.linalg)


class TracedProducts(_Operator):
    """A SciPy LinearOperator whose products with traced vectors and matrices trace.

    Parameters
    ----------
    op : LinearOperator
    """

    def __init__(self, op: _Operator) -> None:
        self.op = op
        super().__init__(op.dtype, op.shape)

    def _matvec(self, x: Array) -> Any:
        return self.op.matvec(x)

    def _matmat(self, X: Array) -> Any:
        return self.op.matmat(X)

    def _rmatvec(self, x: Array) -> Any:
        return self.op.rmatvec(x)

    def _rmatmat(self, X: Array) -> Any:
        return self.op.rmatmat(X)

    def _adjoint(self) -> Any:
        return TracedProducts(self.op.H)

    def _transpose(self) -> Any:
        return TracedProducts(self.op.T)

    def dot(self, x: Array) -> Any:
        """The product with a vector, a matrix, a number or another operator."""
        return products.apply(self.op, x) if isinstance(x, Traced) else super().dot(x)

    def __matmul__(self, x: Array) -> Any:
        return products.apply(self.op, x) if isinstance(x, Traced) else super().__matmul__(x)

    def matvec(self, x: Array) -> Any:
        """The product with a vector."""
        return products.apply(self.op, x) if isinstance(x, Traced) else super().matvec(x)

    def matmat(self, X: Array) -> Any:
        """The product with a matrix."""
        return products.apply(self.op, X) if isinstance(X, Traced) else super().matmat(X)

    def rmatvec(self, x: Array) -> Any:
        """The product of the adjoint with a vector."""
        return products.apply(self.op.H, x) if isinstance(x, Traced) else super().rmatvec(x)


def aslinearoperator(A: Any) -> Any:
    """As `scipy.sparse.linalg.aslinearoperator`; products with traced vectors trace."""
    if isinstance(A, (Traced, SparseArray)):
        raise UnsupportedError(
            "aslinearoperator: the matrix must be constant; use A @ x, which traces with a traced A"
        )
    if is_closure(A):
        return A
    op = scipy.sparse.linalg.aslinearoperator(A)
    return op if hasattr(op, "pushforward") else TracedProducts(op)


# Systems.


class _Inverse(_Operator):
    """A^-1 of the factors of a sparse A."""

    def __init__(self, factors: Any, dtype: np.dtype[Any]) -> None:
        self.factors = factors
        super().__init__(dtype, factors.shape)

    def _solve(self, b: Array, trans: str) -> Any:
        b = np.asarray(b)
        if b.dtype.kind == "c" and np.dtype(self.dtype).kind != "c":
            return self._solve(b.real, trans) + 1j * self._solve(b.imag, trans)
        return self.factors.solve(np.ascontiguousarray(b.astype(self.dtype, copy=False)), trans)

    def _matvec(self, x: Array) -> Any:
        return self._solve(x, "N")

    def _matmat(self, X: Array) -> Any:
        return self._solve(X, "N")

    def _rmatvec(self, x: Array) -> Any:
        return self._solve(x, "H")

    def _rmatmat(self, X: Array) -> Any:
        return self._solve(X, "H")


def _apply_inverse(inverse: _Operator, b: Array, name: str) -> Any:
    """A^-1 b for b (n,) or (n, k)."""
    n = inverse.shape[0]
    if b.ndim not in (1, 2) or b.shape[0] != n:
        raise ShapeError(f"{name}: A has shape {inverse.shape} and b {b.shape}")
    if b.dtype.kind not in "fc":
        b = astype(b, float)
    if b.ndim == 1:
        return apply_operator(b, op=inverse, adjoint=False)
    return apply_operator(b.T, op=inverse, adjoint=False).T


def _inverse(factors: Any) -> _Operator:
    return _Inverse(factors, np.result_type(factors.L.dtype, factors.U.dtype))


def _plain_matrix(A: Any, name: str) -> Any:
    if isinstance(A, Traced):
        raise UnsupportedError(
            f"{name}: a traced dense matrix; np.linalg.solve traces with it, and "
            f"linad.scipy.sparse.csc_array makes a sparse one of traced entries"
        )
    if isinstance(A, SparseArray):
        raise UnsupportedError(f"{name}: the matrix must be constant; spsolve takes traced entries")
    return A


def _solve_entries(A: Any, system: Any, b: Array, name: str, trans: str = "N") -> Any:
    """A^-1 b, or A^-T b ("T") or A^-H b ("H"), for A with traced entries."""
    if scipy.sparse.issparse(b) or isinstance(b, SparseArray):
        raise UnsupportedError(f"{name}: a sparse right side is not traced by linad; use a dense b")
    b = inexact(b)
    n = A.shape[0]
    if A.shape != (n, n) or b.ndim not in (1, 2) or b.shape[0] != n:
        raise ShapeError(f"{name}: A has shape {A.shape} and b {b.shape}")
    if trans == "H" and A.dtype.kind == "c":
        x = sparse_solve(A.data, np.conj(b).T, system=system, transposed=True)
        return np.conj(x).T
    return sparse_solve(A.data, b.T, system=system, transposed=trans != "N").T


@traced_form(scipy.sparse.linalg.spsolve)
def spsolve(A: Any, b: Array, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    if isinstance(A, SparseArray):
        x = _solve_entries(A, Factorized(A.pattern, permc_spec=permc_spec), b, "spsolve")
        return x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x  # as SciPy's
    A = scipy.sparse.csc_array(_plain_matrix(A, "spsolve"), copy=True)
    if A.dtype.kind not in "fc":
        A = A.astype(float)
    factors = SparseFactors(A, permc_spec=permc_spec)
    column = b.ndim == 2 and b.shape[1] == 1
    x = _apply_inverse(_inverse(factors), b, "spsolve")
    return x[:, 0] if column else x  # as SciPy's


@bound_form(scipy.sparse.linalg.spsolve_triangular)
def spsolve_triangular(A: Any, b: Array, lower: bool, overwrite_A: bool, overwrite_b: bool) -> Any:
    A = scipy.sparse.csr_array(_plain_matrix(A, "spsolve_triangular"), copy=True)
    upper = scipy.sparse.csr_array(A.conj().T)
    forward = functools.partial(_substituted, A, lower)
    back = functools.partial(_substituted, upper, not lower)
    inverse = _Operator(
        A.shape,
        matvec=forward,
        matmat=forward,
        rmatvec=back,
        rmatmat=back,
        dtype=np.promote_types(A.dtype, float),
    )
    return _apply_inverse(inverse, b, "spsolve_triangular")


def _substituted(matrix: Any, lower: bool, x: Array) -> Any:
    return scipy.sparse.linalg.spsolve_triangular(matrix, x, lower=lower)


class ConstantFactors:
    """What `scipy.sparse.linalg.splu` returns; ``solve`` takes traced right sides."""

    stands_for: type = scipy.sparse.linalg.SuperLU

    def __init__(self, factors: Any) -> None:
        self._factors = factors

    def solve(self, rhs: Array, trans: str = "N") -> Any:
        """A^-1 rhs, or A^-T ("T") or A^-H ("H")."""
        if not isinstance(rhs, Traced):
            return self._factors.solve(rhs, trans)
        inverse = _inverse(self._factors)
        if trans == "T":
            return np.conj(_apply_inverse(inverse.H, np.conj(rhs), "splu"))
        return _apply_inverse(inverse.H if trans == "H" else inverse, rhs, "splu")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._factors, name)


class TracedFactors:
    """The factors of a sparse array with traced entries; they are made at the first solution."""

    stands_for: type = scipy.sparse.linalg.SuperLU

    def __init__(self, A: Any, options: dict[str, Any]) -> None:
        self._matrix, self._system = A, Factorized(A.pattern, **options)
        self.shape = A.shape

    def solve(self, rhs: Array, trans: str = "N") -> Any:
        """A^-1 rhs, or A^-T ("T") or A^-H ("H")."""
        return _solve_entries(self._matrix, self._system, rhs, "splu", trans)


def splu(A: Any, *args: Any, **keywords: Any) -> Any:
    """As `scipy.sparse.linalg.splu`, with a ``solve`` that takes traced right sides.

    A may have traced entries; then only ``solve`` and ``shape`` are there. Options choose the
    pivots, on which the solution does not depend: of a traced one the value counts.
    """
    options = {name: _value(option) for name, option in keywords.items()}
    if isinstance(A, SparseArray):
        names = inspect.signature(scipy.sparse.linalg.splu).parameters
        return TracedFactors(A, dict(zip([*names][1:], map(_value, args), strict=False)) | options)
    A = scipy.sparse.csc_array(_plain_matrix(A, "splu"), copy=True)
    return ConstantFactors(SparseFactors(A, *map(_value, args), **options))


def _value(option: Any) -> Any:
    return concrete(option) if isinstance(option, Traced) else option


def factorized(A: Any) -> Callable[[Any], Any]:
    """As `scipy.sparse.linalg.factorized`; the function it returns takes traced right sides."""
    if isinstance(A, SparseArray):
        return TracedFactors(A, {}).solve
    return splu(scipy.sparse.csc_array(_plain_matrix(A, "factorized"))).solve


@traced_form(scipy.sparse.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    if not isinstance(x, SparseArray) or ord not in (None, "fro") or axis not in (None, (0, 1)):
        raise UnsupportedError(
            "norm: of sparse arrays with traced entries, the Frobenius norm only; use "
            "np.linalg.norm(A.toarray(), ...)"
        )
    return np.linalg.norm(x.tocsr().data if x.format == "coo" else x.data)


def _untraced(name: str, instead: str) -> Callable[..., Any]:
    """A SciPy function that refuses traced values, and says what traces."""

    @traced_form(getattr(scipy.sparse.linalg, name))
    def refused(*args: Any, **keywords: Any) -> Any:
        raise UnsupportedError(f"{name}: traced values are not traced by linad; {instead}")

    return refused


inv = _untraced(
    "inv",
    "solve with the matrix, spsolve(A, b), or take np.linalg.inv(A.toarray()), which is dense",
)
qmr = _untraced("qmr", "use gmres, bicgstab or bicg, whose solutions have derivatives")
onenormest = _untraced("onenormest", "use np.linalg.norm(A.toarray(), 1), the norm itself")
