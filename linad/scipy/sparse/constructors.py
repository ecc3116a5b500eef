"""Constructors of sparse arrays that take traced entries, and give a `SparseArray`.

Indices are plain integers: the pattern is fixed. With plain arguments they are SciPy's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape
from linad.errors import ShapeError, UnsupportedError
from linad.rules.shaping import concrete
from linad.rules.sparsearrays import Pattern
from linad.scipy.mirror import inexact, made_form
from linad.scipy.sparse.arrays import SparseArray


def _integers(x: Any, name: str) -> Any:
    """Indices, which have no derivative: floats count by what is before the point, as in SciPy."""
    x = np.asarray(concrete(x))
    if x.dtype.kind not in "iuf" and x.size:
        raise TypeError(f"{name}: indices must be integers, got dtype {x.dtype}")
    return x.astype(np.intp)


def _from_coordinates(
    name: str, format: str, data: Array, coords: tuple[Any, ...], shape: Shape | None
) -> SparseArray:
    rows, cols = (_integers(c, name) for c in coords)
    data = inexact(data)
    if not rows.shape == cols.shape == data.shape or data.ndim != 1:
        raise ShapeError(
            f"{name}: data, rows and columns must be vectors of one length, got "
            f"{data.shape}, {rows.shape}, {cols.shape}"
        )
    if shape is None:
        shape = (int(rows.max()) + 1, int(cols.max()) + 1)
    shape = tuple(map(int, shape))
    if len(shape) != 2:
        raise ShapeError(f"{name}: expected two axes with traced entries, got shape {shape}")
    for indices, n in zip((rows, cols), shape, strict=True):
        if indices.size and not 0 <= indices.min() <= indices.max() < n:
            raise ShapeError(f"{name}: an index is outside of the shape {shape}")
    array = SparseArray(data, Pattern(rows, cols, shape), "coo")
    return {"coo": array.tocoo, "csr": array.tocsr, "csc": array.tocsc}[format]()


def _from_compressed(name: str, format: str, parts: Any, shape: Any) -> SparseArray:
    data, indices, indptr = inexact(parts[0]), *(_integers(p, name) for p in parts[1:])
    if data.ndim != 1 or data.shape != indices.shape or indptr[-1] != len(indices):
        raise ShapeError(
            f"{name}: data {data.shape}, indices {indices.shape} and indptr, whose last entry is "
            f"{indptr[-1]}, do not fit together"
        )
    major = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if shape is None:
        inner = int(indices.max()) + 1 if indices.size else 0
        shape = (len(indptr) - 1, inner) if format == "csr" else (inner, len(indptr) - 1)
    m, n = map(int, shape)
    if len(indptr) - 1 != (m if format == "csr" else n):
        raise ShapeError(f"{name}: indptr has length {len(indptr)} for the shape {(m, n)}")
    if indices.size and not 0 <= indices.min() <= indices.max() < (n if format == "csr" else m):
        raise ShapeError(f"{name}: an index is outside of the shape {(m, n)}")
    places = (major, indices) if format == "csr" else (indices, major)
    return SparseArray(data, Pattern(*places, (m, n)), format)


def _from_dense(name: str, format: str, matrix: Array, shape: Any) -> SparseArray:
    """A matrix with all its entries: one that is zero here may have a derivative."""
    matrix = np.atleast_2d(inexact(matrix))
    if matrix.ndim != 2:
        raise ShapeError(f"{name}: expected a matrix, got shape {matrix.shape}")
    if shape is not None and tuple(shape) != matrix.shape:
        raise ShapeError(f"{name}: the matrix has shape {matrix.shape}, not {tuple(shape)}")
    rows, cols = np.indices(matrix.shape).reshape(2, -1)
    return _from_coordinates(name, format, matrix.reshape(-1), (rows, cols), matrix.shape)


def _constructor(name: str, format: str) -> Callable[..., Any]:
    is_matrix = name.endswith("_matrix")

    @made_form(getattr(scipy.sparse, name))
    def construct(arg1: Any, shape: Shape | None, dtype: Any) -> Any:
        if isinstance(arg1, SparseArray):
            array = arg1.asformat(format)
            if array.is_matrix != is_matrix:
                array = SparseArray(array.data, array.pattern, format, is_matrix=is_matrix)
        elif not isinstance(arg1, tuple):
            array = _from_dense(name, format, arg1, shape)
        elif len(arg1) not in (2, 3):
            raise UnsupportedError(
                f"{name}: pass (data, (rows, cols)) with the pattern in plain integers, or a "
                f"matrix, all of whose entries are then kept"
            )
        elif len(arg1) == 2:
            array = _from_coordinates(name, format, *arg1, shape)
        elif format == "coo":
            raise UnsupportedError(f"{name}: pass (data, (rows, cols))")
        else:
            array = _from_compressed(name, format, arg1, shape)
        array.is_matrix = is_matrix
        return array if dtype in (None, array.dtype) else array.astype(dtype)

    return construct


csr_array = _constructor("csr_array", "csr")
csc_array = _constructor("csc_array", "csc")
coo_array = _constructor("coo_array", "coo")
csr_matrix = _constructor("csr_matrix", "csr")
csc_matrix = _constructor("csc_matrix", "csc")
coo_matrix = _constructor("coo_matrix", "coo")


@made_form(scipy.sparse.diags_array)
def diags_array(diagonals: Any, offsets: Any, shape: Any, format: Any, dtype: Any = None) -> Any:
    if np.ndim(offsets) == 0:
        lone = isinstance(diagonals, Traced) and diagonals.ndim == 1
        diagonals = [diagonals] if lone else list(diagonals)
        offsets = [offsets]
    offsets = [int(k) for k in _integers(offsets, "diags_array")]
    parts = [np.atleast_1d(inexact(d)) for d in diagonals]
    if len(parts) != len(offsets):
        raise ValueError(f"diags_array: {len(parts)} diagonals and {len(offsets)} offsets")
    if shape is None:
        n = parts[0].shape[0] + abs(offsets[0])
        shape = (n, n)
    m, n = shape
    entries, rows, cols = [], [], []
    for d, k in zip(parts, offsets, strict=True):
        length = min(m + min(k, 0), n - max(k, 0))
        if length < 0 or d.shape not in ((length,), (1,)):
            raise ValueError(f"diags_array: diagonal {k} of {shape} has {d.shape[0]} entries")
        entries.append(np.broadcast_to(d, (length,)))
        places = np.arange(length)
        rows.append(places - min(k, 0))
        cols.append(places + max(k, 0))
    data = np.concatenate(entries)
    if dtype is not None:
        data = data.astype(dtype)
    pattern = Pattern(np.concatenate(rows), np.concatenate(cols), (m, n))
    array = SparseArray(data, pattern, "dia" if format is None else "coo")
    return {"csr": array.tocsr, "csc": array.tocsc}.get(format or "", lambda: array)()


@made_form(scipy.sparse.diags)
def diags(diagonals: Any, **given: Any) -> Any:
    made = diags_array(diagonals, **given)
    made.is_matrix = True
    return made


def _of_columns(name: str, data: Array, offsets: Any, shape: Shape) -> SparseArray:
    """Diagonals whose entry in column j stands at place j of a row of data."""
    data, offsets = np.atleast_2d(inexact(data)), np.atleast_1d(_integers(offsets, name))
    m, n = map(int, shape)
    if data.shape[0] != len(offsets):
        raise ShapeError(f"{name}: {data.shape[0]} rows of data and {len(offsets)} offsets")
    parts, rows, cols = [], [], []
    for k, offset in enumerate(offsets):
        columns = np.arange(max(offset, 0), min(n, m + offset, data.shape[1]))
        parts.append(data[k][columns])
        rows.append(columns - offset)
        cols.append(columns)
    pattern = Pattern(np.concatenate(rows), np.concatenate(cols), (m, n))
    return SparseArray(np.concatenate(parts), pattern, "dia")


@made_form(scipy.sparse.spdiags)
def spdiags(data: Array, diags: Any, m: Any, n: Any, format: str | None) -> Any:
    shape = m if n is None and m is not None else (m, n)
    if shape == (None, None):
        shape = (np.shape(data)[-1],) * 2
    made = _of_columns("spdiags", data, diags, shape)
    made.is_matrix = True
    return made if format in (None, "dia") else made.asformat(format)


def _diagonal(name: str) -> Callable[..., Any]:
    @made_form(getattr(scipy.sparse, name))
    def construct(arg1: tuple[Any, ...], shape: Shape) -> Any:
        if not isinstance(arg1, tuple) or len(arg1) != 2 or shape is None:
            raise UnsupportedError(f"{name}: pass (data, offsets) and shape with traced entries")
        made = _of_columns(name, *arg1, shape)
        made.is_matrix = name.endswith("_matrix")
        return made

    return construct


dia_array = _diagonal("dia_array")
dia_matrix = _diagonal("dia_matrix")
