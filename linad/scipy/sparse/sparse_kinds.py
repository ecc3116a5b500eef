"""Whether something is a sparse array: one with traced entries is."""

import functools
from collections.abc import Callable
from typing import Any

import scipy.sparse

from linad.scipy.sparse.arrays import SparseArray

Question = Callable[[Any], bool]


def _asked(original: Question, kinds: Any, format: str = "") -> Question:
    @functools.wraps(original)
    def question(x: Any) -> bool:
        if not isinstance(x, SparseArray):
            return original(x)
        return issubclass(x.stands_for, kinds) and format in ("", x.format)

    return question


issparse = _asked(scipy.sparse.issparse, (scipy.sparse.sparray, scipy.sparse.spmatrix))
isspmatrix = _asked(scipy.sparse.isspmatrix, scipy.sparse.spmatrix)
isspmatrix_coo = _asked(scipy.sparse.isspmatrix_coo, scipy.sparse.spmatrix, "coo")
isspmatrix_csc = _asked(scipy.sparse.isspmatrix_csc, scipy.sparse.spmatrix, "csc")
isspmatrix_csr = _asked(scipy.sparse.isspmatrix_csr, scipy.sparse.spmatrix, "csr")
isspmatrix_dia = _asked(scipy.sparse.isspmatrix_dia, scipy.sparse.spmatrix, "dia")
