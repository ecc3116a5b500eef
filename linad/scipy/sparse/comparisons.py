"""``A < 0``, ``A != B``: what is asked of traced entries, as a plain sparse array of booleans."""

import operator
from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse

from linad.arrays.conversions import decided


def comparison(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator of sparse arrays that compares: with a number, an array, or a sparse array."""

    def compare(self: Any, other: Any) -> Any:
        if isinstance(other, type(self)) or scipy.sparse.issparse(other):
            if other.shape != self.shape:
                return op is operator.ne if op in (operator.eq, operator.ne) else NotImplemented
            return _with_number(self - other, 0, op)
        if not isinstance(other, Number) and not hasattr(other, "ndim"):
            return NotImplemented
        if np.ndim(other):
            return op(self.toarray(), other)
        return _with_number(self, other, op)

    compare.__name__ = f"__{op.__name__}__"
    return compare


def _with_number(A: Any, number: Any, op: Callable[[Any, Any], Any]) -> Any:
    """Whether each entry is so, and those that are not stored, which are 0."""
    A = A.tocsr()
    rows, cols, mask = A.pattern.rows, A.pattern.cols, decided(op(A.data, number))
    kind = scipy.sparse.csr_matrix if A.is_matrix else scipy.sparse.csr_array
    if not decided(op(0, number)):
        return kind((mask[mask], (rows[mask], cols[mask])), shape=A.shape)
    everywhere = np.ones(A.shape, bool)
    everywhere[rows, cols] = mask
    return kind(everywhere)
