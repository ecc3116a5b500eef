"""Sparse matrices whose entries move: products and systems, differentiable in the entries.

A has entries d_e at (r_e, c_e); entries at one place add up.

    y = A x        y_i = Σ_e [r_e = i] d_e x_(c_e)
                   dy  = A dx + Σ_e dd_e x_(c_e) at r_e
                   adjoint: x̄ = A^H ȳ,  d̄_e = conj(x_(c_e)) ȳ_(r_e)
    A x = b        dx = A^-1 (db - dA x)
                   adjoint: b̄ = A^-H x̄,  d̄_e = -conj(x_(c_e)) b̄_(r_e)

So a gradient has the pattern of A, and no dense matrix is made. Vectors are rows here, (..., n):
the axes in front are right sides, or seeds. A system is factorised once; the factors serve the
solution, its derivatives in both modes and of all orders, and all seeds.

Source: M. Giles, "An extended collection of matrix derivative results for forward and reverse
mode algorithmic differentiation", 2008, section 2.2; the restriction to a pattern is ours.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, size_of
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.linear_solves import LinearSolve, solution_rules
from linad.operators.relations import Relation


class Pattern:
    """Where the entries of a sparse matrix are.

    Parameters
    ----------
    rows, cols : ndarray of int (nnz,)
        In any order; a place may occur several times.
    shape : tuple of int
        (m, n)
    """

    def __init__(self, rows: Array, cols: Array, shape: tuple[int, int]) -> None:
        self.rows, self.cols, self.shape = rows, cols, shape

    def __repr__(self) -> str:
        return f"Pattern{self.shape}"

    @cached_property
    def T(self) -> "Pattern":
        """The pattern of the transpose, with the entries in the same order."""
        other = Pattern(self.cols, self.rows, self.shape[::-1])
        other.__dict__["T"] = self
        return other

    @cached_property
    def _by_rows(self) -> tuple[Any, Any, Any]:
        """The order of the entries by rows, their columns, and where each row starts."""
        order = np.argsort(self.rows, kind="stable")
        starts = np.zeros(self.shape[0] + 1, np.intp)
        np.cumsum(np.bincount(self.rows, minlength=self.shape[0]), out=starts[1:])
        return order, self.cols[order], starts

    def matrix(self, data: Array) -> Any:
        """The matrix with these entries, as SciPy's CSR array."""
        order, cols, starts = self._by_rows
        return scipy.sparse.csr_array((data[order], cols, starts), shape=self.shape)

    @cached_property
    def in_rows(self) -> tuple[Any, Any, Any]:
        """The numbers of the entries in the order of `matrix`, its ``indices`` and ``indptr``."""
        made = self.matrix(np.arange(len(self.rows)))
        return made.data, made.indices, made.indptr

    @cached_property
    def gathering(self) -> "Pattern":
        """Of the matrix (m, nnz) that adds entry e to row r_e; its entries are ones."""
        n = len(self.rows)
        return Pattern(self.rows, np.arange(n), (self.shape[0], n))

    def gather(self, terms: Array) -> Any:
        """Add the terms (..., nnz) up by rows: (..., m)."""
        ones = np.ones(len(self.rows), terms.dtype.char.lower())
        return sparse_product(ones, terms, pattern=self.gathering)


def _rows(x: Array, n: int, apply: Callable[..., Any]) -> Any:
    """Apply a function of columns (n, k) to rows (..., n)."""
    columns = x.reshape((size_of(x.shape[:-1]), n)).T
    y = apply(columns).T
    return np.ascontiguousarray(y).reshape(x.shape[:-1] + y.shape[-1:])


sparse_product = Primitive(
    "sparse_product",
    lambda data, x, *, pattern: _rows(x, pattern.shape[1], lambda X: pattern.matrix(data) @ X),
)
"""A x of the entries (nnz,) of A and vectors (..., n)."""


class SparseProduct(JacobianOperator):
    """x -> A x on vectors (..., n).

    Parameters
    ----------
    data : array (nnz,)
        The entries, kept by reference.
    pattern : Pattern
    lead : tuple of int
        Axes in front of the vectors.
    dtype : numpy.dtype

    Notes
    -----
    One sparse product for all seeds.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    weighted_by = ("data",)

    def __init__(self, data: Array, pattern: Pattern, lead: Shape, dtype: np.dtype[Any]) -> None:
        self.data, self.places = data, pattern
        m, n = pattern.shape
        super().__init__((*lead, m), (*lead, n), dtype)

    def pushforward(self, tangent: Array) -> Array:
        return sparse_product(self.data, tangent, pattern=self.places)

    def pullback(self, cotangent: Array) -> Array:
        data = np.conj(self.data) if self.dtype.kind == "c" else self.data
        return sparse_product(data, cotangent, pattern=self.places.T)

    def relation(self) -> Relation:
        lead = np.arange(size_of(self.in_shape[:-1]))[:, None]
        m, n = self.places.shape
        return Relation.of_pairs(
            lead * m + self.places.rows, lead * n + self.places.cols, self.shape
        )

    def relation_key(self) -> Any:
        return _places(self)


class EntryProducts(JacobianOperator):
    """d -> A(d) x, of the entries of a sparse matrix.

    Parameters
    ----------
    x : array (..., n)
        Kept by reference.
    pattern : Pattern
    dtype : numpy.dtype

    Notes
    -----
    nnz multiplications a vector and seed, and as much memory.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    weighted_by = ("x",)

    def __init__(self, x: Array, pattern: Pattern, dtype: np.dtype[Any]) -> None:
        self.x, self.places = x, pattern
        self._lead = x.ndim - 1
        super().__init__((*x.shape[:-1], pattern.shape[0]), pattern.rows.shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        entries = tangent.reshape(tangent.shape[:-1] + (1,) * self._lead + tangent.shape[-1:])
        return self.places.gather(entries * self.x[..., self.places.cols])

    def pullback(self, cotangent: Array) -> Array:
        x = np.conj(self.x) if self.dtype.kind == "c" else self.x
        terms = cotangent[..., self.places.rows] * x[..., self.places.cols]
        return np.sum(terms, axis=tuple(range(-1 - self._lead, -1))) if self._lead else terms

    def relation(self) -> Relation:
        """Each vector's row i reads the entries of row i."""
        lead = np.arange(size_of(self.out_shape[:-1]))[:, None]
        entries = np.arange(self.shape[1])
        return Relation.of_pairs(lead * self.out_shape[-1] + self.places.rows, entries, self.shape)

    def relation_key(self) -> Any:
        return _places(self)


def _places(op: Any) -> Any:
    # Copies, since the matrix may be the caller's to change.
    return op.places.rows.copy(), op.places.cols.copy()


@sparse_product.jacobian(wrt=0)
def sparse_product_wrt_data(
    y: Array, data: Array, x: Array, *, pattern: Pattern
) -> JacobianOperator:
    return EntryProducts(x, pattern, y.dtype)


@sparse_product.jacobian(wrt=1)
def sparse_product_wrt_x(y: Array, data: Array, x: Array, *, pattern: Pattern) -> JacobianOperator:
    return SparseProduct(data, pattern, x.shape[:-1], y.dtype)


# Systems.


class System:
    """How the systems of a sparse matrix are solved; keeps what its solutions share.

    Parameters
    ----------
    pattern : Pattern
        Of a square matrix.
    """

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self._kept: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.pattern!r})"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": None}  # SuperLU's factors cannot be pickled

    def prepare(self, matrix: Any) -> Any:
        """What solving with the matrix, a CSR array, needs; made once."""
        raise NotImplementedError

    def solve_columns(self, prepared: Any, b: Any, trans: str) -> Any:
        """A^-1 b, A^-T b or A^-H b, for trans "N", "T" or "H" and columns b (n, k)."""
        raise NotImplementedError

    def solve(self, data: Array, b: Array, transposed: bool) -> Any:
        """A^-1 b, or A^-T b, for the entries of A and vectors b (..., n)."""
        prepared, conjugate = self._prepared(data)

        def apply(columns: Array) -> Any:
            if not conjugate:
                return self.solve_columns(prepared, columns, "T" if transposed else "N")
            if transposed:  # (conj A)^T = A^H
                return self.solve_columns(prepared, columns, "H")
            return np.conj(self.solve_columns(prepared, np.conj(columns), "N"))

        dtype = np.result_type(data, b)
        return _rows(b, self.pattern.shape[0], apply).astype(dtype, copy=False)

    def _prepared(self, data: Array) -> tuple[Any, bool]:
        """What was prepared for these entries, or, second, for their conjugates."""
        kept = self._kept
        if kept is not None:
            if np.array_equal(kept[0], data):
                return kept[1], False
            if data.dtype.kind == "c" and np.array_equal(kept[0], np.conj(data)):
                return kept[1], True
        prepared = self.prepare(self.pattern.matrix(data))
        self._kept = (np.array(data), prepared)
        return prepared, False


class Factorized(System):
    """Systems solved by SuperLU.

    Parameters
    ----------
    pattern : Pattern
    **options
        For `scipy.sparse.linalg.splu`.
    """

    def __init__(self, pattern: Pattern, **options: Any) -> None:
        super().__init__(pattern)
        self.options = options

    def prepare(self, matrix: Array) -> Any:
        try:
            return scipy.sparse.linalg.splu(scipy.sparse.csc_array(matrix), **self.options)
        except RuntimeError as error:
            if "singular" not in str(error):
                raise
            raise np.linalg.LinAlgError(
                f"a sparse system: the matrix, {matrix.shape}, is singular"
            ) from None

    def solve_columns(self, prepared: Any, b: Array, trans: str) -> Any:
        dtype = np.result_type(prepared.L.dtype, prepared.U.dtype)
        if b.dtype.kind == "c" and dtype.kind != "c":
            real, imag = (self.solve_columns(prepared, part, trans) for part in (b.real, b.imag))
            return real + 1j * imag
        return prepared.solve(np.ascontiguousarray(b, dtype), trans)


sparse_solve = Primitive(
    "sparse_solve",
    lambda data, b, *, system, transposed: system.solve(data, b, transposed),
)
"""A^-1 b, or A^-T b, of the entries (nnz,) of A and vectors (..., n)."""


class SparseInverse(LinearSolve):
    """b -> A^-1 b, or A^-T b, on vectors (..., n).

    Parameters
    ----------
    data : array (nnz,)
        The entries of A, kept by reference.
    system : System
    transposed : bool
    lead : tuple of int
        Axes in front of the vectors.
    dtype : numpy.dtype

    Notes
    -----
    One solution with factors that exist a vector and seed.
    """

    axes = (-1,)

    def __init__(
        self, data: Array, system: System, transposed: bool, lead: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.data, self.system, self.transposed = data, system, transposed
        shape = (*lead, system.pattern.shape[0])
        super().__init__(shape, shape, dtype)

    def solve_for(self, b: Array, adjoint: bool) -> Array:
        data = np.conj(self.data) if adjoint and self.dtype.kind == "c" else self.data
        return sparse_solve(data, b, system=self.system, transposed=self.transposed != adjoint)


def _minus_entries_times_x(
    x: Array, data: Array, b: Array, *, system: System, transposed: bool
) -> JacobianOperator:
    pattern = system.pattern.T if transposed else system.pattern
    return EntryProducts(-x, pattern, x.dtype)


solution_rules(
    sparse_solve,
    right_side=1,
    inverse=lambda x, shape, data, b, *, system, transposed: SparseInverse(
        data, system, transposed, shape[:-1], x.dtype
    ),
    changes={0: _minus_entries_times_x},
)
