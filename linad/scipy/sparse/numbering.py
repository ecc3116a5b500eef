"""Moving the entries of sparse arrays, traced ones among them.

SciPy does the moving, on arrays whose entries are numbers from 1 on in place of what they stand
for; where each ends up says which entry stands there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from linad.core.primitive import Traced
from linad.errors import UnsupportedError
from linad.rules.sparsearrays import Pattern


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse array with traced entries."""
    return getattr(type(value), "holds_traced", False) and hasattr(value, "pattern")


def holds_sparse(value: Any) -> bool:
    """Whether a sparse array with traced entries is among nested lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_sparse, value))
    if isinstance(value, dict):
        return any(map(holds_sparse, value.values()))
    return is_sparse(value)


class _Entries:
    """All entries of the arrays that are moved, in one row."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.count = 0
        self.kind: Any = None

    def numbered(self, value: Any) -> Any:
        """An array with numbers as its entries; of lists and tuples each."""
        if value is None:
            return None
        if isinstance(value, (list, tuple)):
            return type(value)([self.numbered(v) for v in value])
        if isinstance(value, Traced):
            raise UnsupportedError(
                "a traced dense array among sparse arrays is not traced by linad; make a sparse "
                "array of it, from its entries and their places"
            )
        if is_sparse(value):
            array = value.tocoo(copy=False).tocsr()  # entries at one place added
            self.kind = type(array)
        elif scipy.sparse.issparse(value):
            array = value.tocsr(copy=True)
            array.sum_duplicates()
        elif isinstance(value, np.ndarray) and value.ndim == 2:
            array = scipy.sparse.csr_array(value)
        else:
            raise UnsupportedError(
                f"{value!r} among sparse arrays with traced entries is not traced by linad; pass "
                f"sparse arrays, or arrays of two axes"
            )
        self.parts.append(array.data)
        numbers = np.arange(self.count + 1, self.count + 1 + array.nnz, dtype=float)
        self.count += array.nnz
        is_matrix = getattr(value, "is_matrix", isinstance(value, scipy.sparse.spmatrix))
        make = scipy.sparse.csr_matrix if is_matrix else scipy.sparse.csr_array
        return make((numbers, array.indices, array.indptr), shape=array.shape)

    def taken_from(self, moved: Any) -> Any:
        """The array with the entries that the numbers in ``moved`` stand for."""
        if moved.ndim != 2:
            raise UnsupportedError(
                f"a sparse array of {moved.ndim} axes with traced entries is not traced by linad; "
                f"use slices, as in A[i : i + 1], which keep two axes"
            )
        coo = moved.tocoo(copy=False)
        data = np.concatenate(self.parts)[coo.data.astype(np.intp) - 1]
        pattern = Pattern(coo.row.astype(np.intp), coo.col.astype(np.intp), coo.shape)
        made = self.kind(data, pattern, "coo", is_matrix=isinstance(moved, scipy.sparse.spmatrix))
        return made.asformat(moved.format if moved.format in ("csr", "csc") else "coo")


def rearranged(function: Callable[..., Any], arrays: Any, *args: Any, **options: Any) -> Any:
    """What a SciPy function that moves entries gives for arrays with traced entries.

    Parameters
    ----------
    function : callable
    arrays : sparse array, or nested lists of those
        Its first argument.
    *args, **options
        The others, which hold no entries.
    """
    entries = _Entries()
    moved = function(entries.numbered(arrays), *args, **options)
    if scipy.sparse.issparse(moved):
        return entries.taken_from(moved)
    # One entry, or a row of them in a dense array; 0 is an entry that is not there.
    data = np.concatenate(entries.parts)
    return np.concatenate([np.zeros(1, data.dtype), data])[np.asarray(moved).astype(np.intp)]
