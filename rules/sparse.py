"""Products with constant sparse matrices and SciPy operators.

y = A x      dy = A dx        A sparse or a LinearOperator, (m, n); x (n,) or (n, k)
y = x A      dy = dx A        x (m,) or (k, m);  x A = (A^T x^T)^T

A is constant. Only `linad.operators.foreign.apply_operator` touches it: forward is one
product with A, reverse one with A^H, and A is never made dense. What a program reads from outside
is an operand of `linad.operators.stored_matrices.apply_stored`.
"""

import importlib
import operator
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from linad.core.array_type import Array
from linad.core.dispatch import FOREIGN
from linad.core.primitive import Traced
from linad.core.stand_ins import stand_in_of_view
from linad.errors import ShapeError, UnsupportedError
from linad.operators.base import JacobianOperator
from linad.operators.foreign import apply_operator
from linad.operators.stored_matrices import apply_stored, parts_of, storage_of


def apply(A: Array, x: Array) -> Any:
    """A @ x for a vector x (n,) or columns (n, k), traced or plain."""
    _check(A, x, 0, "A @ x", A.shape[-1])
    rows = _rows_times(A, x if x.ndim == 1 else x.T, transposed=False)
    return rows if x.ndim == 1 else rows.T


def apply_from_right(A: Array, x: Array) -> Any:
    """x @ A for a vector x (m,) or rows (k, m), traced or plain."""
    _check(A, x, x.ndim - 1, "x @ A", A.shape[0])
    return _rows_times(A, x, transposed=True)


def _rows_times(A: Any, x: Array, transposed: bool) -> Any:
    """A, or its transpose, times each of the vectors x (..., n)."""
    stored = _read_where_it_is(A, x)
    if stored:
        return apply_stored(x, *stored, storage=storage_of(A), transposed=transposed)
    op = aslinearoperator(_kept(A, x))
    if transposed and (np.dtype(op.dtype).kind == "c" or x.dtype.kind == "c"):
        return np.conj(apply_operator(np.conj(x), op=op, adjoint=True))
    return apply_operator(x, op=op, adjoint=transposed)


def _read_where_it_is(A: Any, x: Array) -> list[Any]:
    """What stands for the arrays of a matrix that are operands of a program; else nothing.

    Those that nobody can write into are not operands, and stay themselves.
    """
    if not (isinstance(x, Traced) and scipy.sparse.issparse(A)):
        return []
    if isinstance(getattr(A, "data", None), Traced):
        raise UnsupportedError(
            "A @ x: A.data of a SciPy array was set to traced values, which it cannot "
            "compute with; make it of them, linad.scipy.sparse.csr_array((v, A.indices, A.indptr))"
        )
    parts = [stand_in_of_view(a) for a in parts_of(A)]
    return parts if any([isinstance(a, Traced) for a in parts]) else []


def _kept(A: Any, x: Array) -> Any:
    """A matrix that stays as it is now, for the derivative, whatever the caller writes into it.

    A program outlives the run that it is recorded in, and owns a large one, too.
    """
    if not (isinstance(x, Traced) and scipy.sparse.issparse(A)):
        return A
    recording = [trace for trace in x._traces() if trace.records]
    for trace in recording:
        trace.holds_matrices = True
    operands = getattr(x._trace, "operands", None)
    return A if operands is None else operands.keep_sparse(A, large=bool(recording))


def _check(A: Array, x: Array, axis: int, what: str, n: int) -> None:
    if len(A.shape) != 2:
        raise ShapeError(f"{what}: A must have two axes to multiply a traced x, got {A.shape}")
    if x.ndim not in (1, 2) or x.shape[axis] != n:
        raise ShapeError(f"{what}: A has shape {A.shape} and x {x.shape}")


_OF_ENTRIES = {np.multiply: operator.mul, np.add: operator.add, np.subtract: operator.sub}
"""What is computed of the entries of a sparse array, as `linad.scipy.sparse` does it."""


def _array_operator(ufunc: Any, a: Any, b: Any) -> Any:
    """An operator between a sparse array or LinearOperator and a traced value."""
    A, t = (b, a) if isinstance(a, Traced) else (a, b)
    if ufunc is np.matmul:
        return apply_from_right(b, a) if A is b else apply(a, b)
    if ufunc in _OF_ENTRIES and scipy.sparse.issparse(A) and (t.ndim or ufunc is np.multiply):
        # It stands on a floor above, and is imported where somebody asks for it.
        made = importlib.import_module("linad.scipy.sparse.arrays").traced_form_of(A.tocsr())
        made = made.tocsr()
        found = _OF_ENTRIES[ufunc](*((t, made) if A is b else (made, t)))
        if ufunc is not np.multiply:
            return found  # dense
        form = "coo" if t.ndim else A.format
        return found.asformat(form) if form in ("csr", "csc", "coo") else found
    raise UnsupportedError(
        f"{ufunc.__name__} of a {type(A).__name__} and a traced value is not traced by linad; "
        f"A @ x and x @ A are, and for the rest A.toarray()"
    )


def _matrix_operator(ufunc: Any, a: Any, b: Any) -> Any:
    """The same for SciPy's older matrix classes, whose ``*`` is the product."""
    product = ufunc is np.multiply and a.ndim and b.ndim
    return _array_operator(np.matmul if product else ufunc, a, b)


FOREIGN[scipy.sparse.sparray] = FOREIGN[LinearOperator] = _array_operator
FOREIGN[scipy.sparse.spmatrix] = _matrix_operator
FOREIGN[JacobianOperator] = lambda ufunc, a, b: NotImplemented  # its own methods trace
