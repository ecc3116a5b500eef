"""Sparse arrays into which traced entries are written, one by one or in blocks."""

from typing import Any, NoReturn

import numpy as np
import scipy.sparse

from linad.core.array_type import Array
from linad.errors import ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import as_array
from linad.rules.sparsearrays import Pattern
from linad.scipy.sparse.arrays import SparseArray, traced_form_of
from linad.scipy.sparse.sparse_diagonals import fitting


class WrittenSparse(SparseArray):
    """A sparse array that takes traced values: ``A[i, j] = v``, ``A[i] = row``, ``A.setdiag(v)``.

    Parameters
    ----------
    A : sparse array or matrix of SciPy, or SparseArray
        In a format that SciPy writes into: "lil", "dok", "csr" or "csc".

    Notes
    -----
    Values are kept as they come; the last one written at a place counts. A zero that is written is
    an entry, as it may not be 0 nearby.
    """

    def __init__(self, A: Any) -> None:
        first: Any = traced_form_of(A)
        first = first.tocsr() if first.format == "coo" else first
        self.is_matrix, self.format = first.is_matrix, A.format
        self._shape = first.shape
        self._parts: list[Any] = []
        self._size = 0
        self._places: dict[tuple[int, int], int] = {}
        self._made: Any = None
        self._take(first.pattern.rows, first.pattern.cols, first.data)

    def _take(self, rows: Array, cols: Array, values: Array) -> None:
        numbers = range(self._size, self._size + len(rows))
        self._places.update(
            zip(zip(rows.tolist(), cols.tolist(), strict=True), numbers, strict=True)
        )
        self._parts.append(values)
        self._size += len(rows)
        self._made = None

    def _collected(self) -> tuple[Any, Pattern]:
        """Entries and pattern, in the order of rows, or of columns of a CSC array."""
        if self._made is None:
            places = np.array(list(self._places), np.intp).reshape(-1, 2)
            numbers = np.array(list(self._places.values()), np.intp)
            order = np.lexsort(places.T if self.format == "csc" else places.T[::-1])
            pattern = Pattern(places[order, 0], places[order, 1], self._shape)
            self._made = np.concatenate(self._parts)[numbers[order]], pattern
        return self._made  # type: ignore[no-any-return]

    @property
    def _entries(self) -> Any:  # type: ignore[override]
        return self._collected()[0]

    @_entries.setter
    def _entries(self, values: Any) -> None:
        self.refuse_data()

    def refuse_data(self) -> NoReturn:
        """Raise: the entries are to be written by their numbers."""
        raise UnsupportedError(
            "A.data of a sparse array into which traced entries were written, by A[i, j] = v or "
            "A.setdiag(v): they are in the order of places, which that of SciPy may not be; "
            "multiply, A = A * 2.0, or write by places, A[i, j] = v"
        )

    @property
    def pattern(self) -> Pattern:  # type: ignore[override]
        """Where the entries are."""
        return self._collected()[1]

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)"""
        return self._shape

    def __getitem__(self, index: tuple[Any, ...]) -> Any:
        if isinstance(index, tuple) and all(isinstance(i, (int, np.integer)) for i in index):
            i, j = (range(n)[k] for n, k in zip(self._shape, index, strict=True))
            if (i, j) not in self._places:
                return np.zeros((), self.dtype)[()]
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        rows, cols = _places_of(index, self._shape)
        if isinstance(value, SparseArray) or scipy.sparse.issparse(value):
            value = value.toarray()
        value = as_array(asarray(value))
        longer = [n for n in rows.shape if n != 1]
        if [n for n in value.shape if n != 1] == longer:  # SciPy compares without axes of length 1
            value = value.reshape(rows.shape)
        try:
            value = np.broadcast_to(value, rows.shape)
        except ValueError as error:
            raise ShapeError(
                f"A[...] = value: the value of shape {value.shape} does not fit to the entries, of "
                f"shape {rows.shape}"
            ) from error
        self._take(rows.reshape(-1), cols.reshape(-1), value.reshape(-1))

    def setdiag(self, values: Array, k: int = 0) -> None:
        """Write the k-th diagonal: a number, or values, as many of which are taken as there fit."""
        length, values = fitting(self._shape, values, k)
        places = np.arange(length)
        self[places - min(k, 0), places + max(k, 0)] = values

    def copy(self) -> "WrittenSparse":
        """Another one with the same entries."""
        return WrittenSparse(self)

    def _with_entries(self, data: Array) -> SparseArray:
        format = self.format if self.format in ("csr", "csc") else "csr"
        return SparseArray(data, self.pattern, format, is_matrix=self.is_matrix)

    @property
    def T(self) -> SparseArray:
        """The transpose."""
        return self._with_entries(self._entries).T

    def tocsr(self) -> SparseArray:
        """As it is now, in the order of rows."""
        return self if self.format == "csr" else self._with_entries(self._entries).tocsr()

    def tocsc(self) -> SparseArray:
        """As it is now, in the order of columns."""
        return self if self.format == "csc" else self._with_entries(self._entries).tocsc()


WRITABLE = ("lil", "dok", "csr", "csc")


def _places_of(index: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Rows and columns of the entries that an index reads, of the shape that it reads."""
    if scipy.sparse.issparse(index) and index.dtype == bool:
        index = index.toarray()
    if isinstance(index, np.ndarray) and index.dtype == bool and index.ndim == 2:
        rows, cols = np.nonzero(index)
        return rows, cols
    parts = index if isinstance(index, tuple) else (index,)
    parts = (*[slice(None) if part is Ellipsis else part for part in parts], slice(None))[:2]
    rows, cols = [np.arange(n)[part] for n, part in zip(shape, parts, strict=True)]
    if any(isinstance(part, slice) for part in parts):
        rows, cols = rows.reshape(-1, 1), cols.reshape(1, -1)
    rows, cols = np.broadcast_arrays(rows, cols)
    return rows, cols
