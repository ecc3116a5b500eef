"""Sparse arrays whose entries are traced.

A `SparseArray` is its traced entries and a pattern of integers. Products and sums are those of
`linad.rules.sparsearrays`; what acts on the entries alone (``2 * A``, ``-A``, ``A.multiply(v)``)
acts on ``A.data``. No dense matrix is made, but by ``toarray``.
"""

import functools
import inspect
import operator
import sys
from typing import Any

import numpy as np
import scipy.sparse

from linad.core.array_type import Array
from linad.core.dispatch import MATRIX, matrix_room
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError, TracerError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import as_array
from linad.rules.sparsearrays import Pattern, sparse_product
from linad.scipy.mirror import inexact
from linad.scipy.sparse.comparisons import comparison
from linad.scipy.sparse.entry_arithmetic import array_of, entries_at, merged, product, shared, total
from linad.scipy.sparse.numbering import rearranged
from linad.scipy.sparse.sparse_diagonals import fitting, length_of


class SparseArray:
    """A sparse array with traced entries, as the constructors of `linad.scipy.sparse` make it.

    Parameters
    ----------
    data : array (nnz,)
        The entries.
    pattern : Pattern
        Where they are.
    format : str
        "csr", "csc", "coo" or "dia": what SciPy would have made, and so the order of ``data``.
    is_matrix : bool
        Whether SciPy would have made one of its matrices, whose ``*`` is the matrix product.

    Notes
    -----
    It is not an array for NumPy's functions: use its methods, ``@``, and ``toarray``.
    """

    holds_traced = True
    __array_ufunc__ = None  # an array on the left leaves the operator to this class
    ndim = 2

    def __init__(
        self, data: Array, pattern: Pattern, format: str, *, is_matrix: bool = False
    ) -> None:
        self._entries, self.pattern, self.format = data, pattern, format
        self.is_matrix = is_matrix

    # What it is.

    @property
    def stands_for(self) -> type:
        """The class that SciPy would have made."""
        kind = "matrix" if self.is_matrix else "array"
        return getattr(scipy.sparse, f"{self.format}_{kind}")  # type: ignore[no-any-return]

    @property
    def data(self) -> Any:
        """The entries (nnz,), traced."""
        return self._entries

    @data.setter
    def data(self, values: Any) -> None:
        values = as_array(asarray(values))
        if values.shape != self._entries.shape:
            raise ShapeError(
                f"A.data = values: they have shape {values.shape}, and A has {self.nnz} entries"
            )
        self._entries = values

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)"""
        return self.pattern.shape

    @property
    def dtype(self) -> Any:
        """Type of the entries."""
        return self._entries.dtype

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.pattern.rows)

    @property
    def coords(self) -> tuple[Any, Any]:
        """Rows and columns of the entries."""
        return self.pattern.rows, self.pattern.cols

    @property
    def row(self) -> Any:
        """Rows of the entries."""
        return self.pattern.rows

    @property
    def col(self) -> Any:
        """Columns of the entries."""
        return self.pattern.cols

    @property
    def indices(self) -> Any:
        """Columns of the entries of a CSR array, rows of a CSC array."""
        return self.pattern.cols if self._compressed_rows() else self.pattern.rows

    @property
    def indptr(self) -> Any:
        """Where each row of a CSR array, or column of a CSC array, starts."""
        rows = self._compressed_rows()
        places = self.pattern.rows if rows else self.pattern.cols
        counts = np.bincount(places, minlength=self.shape[0 if rows else 1])
        return np.concatenate([[0], np.cumsum(counts)])

    def _compressed_rows(self) -> bool:
        if self.format not in ("csr", "csc"):
            raise AttributeError(f"a sparse array in format {self.format!r} has no indices, indptr")
        return self.format == "csr"

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<SparseArray {m} x {n}, {self.format}, {self.nnz} traced entries, {self.dtype}>"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(scipy.sparse.coo_array, name):
            raise UnsupportedError(
                f"{name} of a sparse array with traced entries is not traced by linad; compute it "
                f"from A.data, or use A.toarray()"
            )
        raise AttributeError(f"SparseArray has no attribute {name!r}")

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        if sys._getframe(1).f_code.co_name == "_matmul_dispatch":
            # SciPy's sparse arrays ask so before they multiply; see `linad.arrays.tracer`.
            shell = np.empty((), object)
            shell[()] = self
            return shell
        raise TracerError(
            "a sparse array with traced entries would become a plain array, and its derivative "
            "would be lost; use A @ x, the methods of A, or A.toarray()"
        )

    def __getitem__(self, index: Any) -> Any:
        return rearranged(operator.getitem, self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise UnsupportedError(
            "A[i, j] = v of a sparse array with traced entries: linad.adopt(__name__) lets code of "
            "this module write so; or write into A.data, or a dense array, A.toarray()"
        )

    def _with_entries(self, data: Array) -> "SparseArray":
        return self._of_pattern(data, self.pattern, self.format)

    def _of_pattern(self, data: Array, pattern: Pattern, format: str) -> "SparseArray":
        return SparseArray(data, pattern, format, is_matrix=self.is_matrix)

    # Other forms.

    @property
    def T(self) -> "SparseArray":
        """The transpose; the entries stay in their order."""
        format = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        return self._of_pattern(self._entries, self.pattern.T, format)

    def transpose(self, axes: Any = None, copy: bool = False) -> "SparseArray":
        """As `T`."""
        if axes is not None and tuple(axes) != (1, 0):
            raise ValueError(f"transpose: axes must be None or (1, 0), got {axes}")
        return self.T.copy() if copy else self.T

    def conj(self) -> "SparseArray":
        """The conjugate, entry by entry."""
        return self._with_entries(np.conj(self._entries))

    conjugate = conj

    @property
    def real(self) -> "SparseArray":
        """The real part, entry by entry."""
        return self._with_entries(np.real(self._entries))

    @property
    def imag(self) -> "SparseArray":
        """The imaginary part, entry by entry."""
        return self._with_entries(np.imag(self._entries))

    def copy(self) -> "SparseArray":
        """Another array with the same entries."""
        return self._with_entries(np.copy(self._entries))

    def astype(self, dtype: Any, casting: Any = "unsafe", copy: bool = True) -> "SparseArray":
        """The same in another type."""
        if not copy and self.dtype == dtype:
            return self
        return self._with_entries(self._entries.astype(dtype, casting=casting))

    def tocsr(self) -> "SparseArray":
        """In the order of rows, entries at one place added."""
        if self.format == "csr":
            return self
        return self._of_pattern(*merged(self._entries, self.pattern), "csr")

    def tocsc(self) -> "SparseArray":
        """In the order of columns, entries at one place added."""
        return self if self.format == "csc" else self.T.tocsr().T

    def tocoo(self, copy: bool | None = None) -> "SparseArray":
        """As rows, columns and entries: a copy of them, or not, as SciPy does by default."""
        if copy is None:
            theirs: Any = self.stands_for
            copy = inspect.signature(theirs.tocoo).parameters["copy"].default
        entries = np.copy(self._entries) if copy else self._entries
        return self._of_pattern(entries, self.pattern, "coo")

    def asformat(self, format: str | None, copy: bool = False) -> "SparseArray":
        """In the format "csr", "csc" or "coo"."""
        made = {"csr": self.tocsr, "csc": self.tocsc, "coo": self.tocoo, None: self.copy}
        if format not in made:
            raise UnsupportedError(
                f"format {format!r} of a sparse array with traced entries is not traced by linad; "
                f"use 'csr', 'csc' or 'coo'"
            )
        return self.copy() if copy and format == self.format else made[format]()

    def sum_duplicates(self) -> None:
        """Add entries at one place, here."""
        coo = self.tocoo(copy=False)
        merged = coo.tocsc() if self.format == "csc" else coo.tocsr()
        self._entries, self.pattern = merged._entries, merged.pattern

    def eliminate_zeros(self) -> None:
        """Nothing: entries that are 0 here may not be 0 nearby, and stay."""

    def sort_indices(self) -> None:
        """Put the entries in order, here."""
        if self.format in ("csr", "csc"):
            coo = self.tocoo(copy=False)
            made = coo.tocsr() if self.format == "csr" else coo.tocsc()
            self._entries, self.pattern = made._entries, made.pattern

    def nonzero(self) -> tuple[Any, Any]:
        """Rows and columns of the entries, those that are 0 as well."""
        merged = self.tocsr()
        return merged.pattern.rows, merged.pattern.cols

    def count_nonzero(self) -> int:
        """Number of entries, those that are 0 as well."""
        return self.tocsr().nnz

    def getrow(self, i: int) -> "SparseArray":
        """Row i, as (1, columns)."""
        i = range(self.shape[0])[i]
        return self[i : i + 1]  # type: ignore[no-any-return]

    def getcol(self, j: int) -> "SparseArray":
        """Column j, as (rows, 1)."""
        j = range(self.shape[1])[j]
        return self[:, j : j + 1]  # type: ignore[no-any-return]

    def toarray(self) -> Any:
        """A dense array (m, n), traced."""
        m, n = self.shape
        places = self.pattern.rows.astype(np.intp) * n + self.pattern.cols
        flat = Pattern(places, np.arange(self.nnz), (m * n, self.nnz))
        ones = np.ones(self.nnz, self.dtype.char.lower())
        return sparse_product(ones, self._entries, pattern=flat).reshape((m, n))

    def todense(self) -> Any:
        """As `toarray`; of one of SciPy's matrices a `numpy.matrix`."""
        return self._dense(self.toarray())

    def _dense(self, x: Any) -> Any:
        """What SciPy gives as an array, and as a `numpy.matrix` where it makes one of its own."""
        return matrix_room().as_matrix(x) if self.is_matrix else x

    def diagonal(self, k: int = 0) -> Any:
        """The k-th diagonal, traced."""
        length = length_of(self.shape, k)
        on = np.flatnonzero(self.pattern.cols - self.pattern.rows == k)
        places = self.pattern.rows[on] + min(k, 0)
        some = Pattern(places, np.arange(len(on)), (length, len(on)))
        return some.gather(self._entries[on])

    def setdiag(self, values: Array, k: int = 0) -> None:
        """Write the k-th diagonal, here: a number, or values, as many of which count as fit."""
        length, values = fitting(self.shape, values, k)
        new = np.arange(length) - min(k, 0)
        rows, cols = self.pattern.rows, self.pattern.cols
        kept = np.flatnonzero((cols - rows != k) | (rows >= length - min(k, 0)))
        places = np.concatenate([rows[kept], new]), np.concatenate([cols[kept], new + k])
        self._entries = np.concatenate([self._entries[kept], np.broadcast_to(values, (length,))])
        self.pattern = Pattern(*places, self.shape)
        self.sort_indices()

    def trace(self) -> Any:
        """The sum of the diagonal."""
        return np.sum(self.diagonal())

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum of the entries, of each column (axis 0) or of each row (axis 1)."""
        if out is not None:
            raise UnsupportedError("sum: out= is not traced by linad; use the returned value")
        if dtype is not None:
            return self.astype(dtype).sum(axis)
        if axis is None:
            return np.sum(self._entries)
        of_rows = normalize_axis(axis, 2, "sum") == 1
        sums = (self.pattern if of_rows else self.pattern.T).gather(self._entries)
        return self._dense(sums.reshape((-1, 1)) if of_rows and self.is_matrix else sums)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The mean, zeros counted."""
        m, n = self.shape
        number = m * n if axis is None else self.shape[normalize_axis(axis, 2, "mean")]
        return self.sum(axis, dtype, out) / number

    # Products.

    def dot(self, x: Any) -> Any:
        """As ``A @ x``."""
        return self @ x

    def __matmul__(self, x: Any) -> Any:
        other = traced_form_of(x)
        if other is not None:
            return self._of_pattern(*product(self, other), "csr")
        is_matrix, x = isinstance(x, MATRIX), array_of(x)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ShapeError(f"A @ x: A has shape {self.shape} and x {x.shape}")
        y = sparse_product(self._entries, inexact(x.T), pattern=self.pattern)
        return self._dense(y.T) if is_matrix else y.T

    def __rmatmul__(self, x: Array) -> Any:
        other = traced_form_of(x)
        if other is not None:
            return other._of_pattern(*product(other, self), "csr")
        is_matrix, x = isinstance(x, MATRIX), array_of(x)
        if x.ndim not in (1, 2) or x.shape[-1] != self.shape[0]:
            raise ShapeError(f"x @ A: A has shape {self.shape} and x {x.shape}")
        y = sparse_product(self._entries, inexact(x), pattern=self.pattern.T)
        return self._dense(y) if is_matrix else y

    def multiply(self, other: Array) -> "SparseArray":
        """Entry by entry with a number, an array that broadcasts to the shape of A, or a sparse one
        of its shape."""
        sparse = traced_form_of(other)
        if sparse is not None:
            found = self._of_pattern(*shared(self, sparse), "csr")
            return found.tocsc() if self.format == "csc" else found
        return self._with_entries(self._entries * entries_at(self, other, "multiply"))

    def __mul__(self, other: Any) -> Any:
        return self @ other if self._multiplies(other) else self.multiply(other)

    def __rmul__(self, other: Array) -> Any:
        return other @ self if self._multiplies(other) else self.multiply(other)

    def _multiplies(self, other: Array) -> bool:
        """Whether ``*`` is the matrix product, as of SciPy's matrices."""
        return self.is_matrix and (traced_form_of(other) is not None or np.ndim(other) > 0)

    def __truediv__(self, other: Array) -> "SparseArray":
        return self._with_entries(self._entries / entries_at(self, other, "A / x"))

    def __neg__(self) -> "SparseArray":
        return self._with_entries(-self._entries)

    def __pow__(self, power: Any) -> "SparseArray":
        if not self.is_matrix:
            return self.power(power)
        if power != int(power) or power < 1:
            raise UnsupportedError(f"A**{power} of a sparse matrix: the exponent must be 1, 2, ...")
        return functools.reduce(operator.matmul, [self] * int(power))

    def power(self, n: Any) -> "SparseArray":
        """The n-th power of each entry."""
        if np.ndim(n) or not n > 0:
            raise UnsupportedError(
                f"A**{n}: the exponent must be a number > 0, which leaves zeros zero"
            )
        return self._with_entries(self._entries**n)

    # Comparisons, which leave it without a hash, as SciPy's are.

    __lt__, __le__ = comparison(operator.lt), comparison(operator.le)
    __gt__, __ge__ = comparison(operator.gt), comparison(operator.ge)
    __eq__, __ne__ = comparison(operator.eq), comparison(operator.ne)
    __hash__ = None  # type: ignore[assignment]

    def __abs__(self) -> "SparseArray":
        return self._with_entries(np.abs(self._entries))

    # Sums.

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    def __radd__(self, other: Array) -> Any:
        return self._plus(other, 1)

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def _plus(self, other: Any, sign: int) -> Any:
        sparse = traced_form_of(other)
        if sparse is None:
            other = array_of(other)
            if other.ndim == 0:
                raise UnsupportedError(
                    "adding a number to a sparse array would fill it; use A.toarray()"
                )
            return self._dense(self.toarray() + sign * other)
        found = self._of_pattern(*total(self, sparse, sign), "csr")
        return found.tocsc() if self.format == "csc" else found


def traced_form_of(x: Any) -> SparseArray | None:
    """A sparse array, SciPy's too, as a `SparseArray`; None for what is not sparse."""
    if isinstance(x, SparseArray):
        return x
    if not scipy.sparse.issparse(x):
        return None
    x = x.tocoo()
    data = x.data if x.data.dtype.kind in "fc" else x.data.astype(float)
    is_matrix = isinstance(x, scipy.sparse.spmatrix)
    return SparseArray(data, Pattern(x.row, x.col, x.shape), "coo", is_matrix=is_matrix)
