"""Sparse arrays of SciPy as ones that take traced values, where adopted code writes into them.

A[i, j] = v, A.setdiag(v)       by places: entries may come in
A.data[k] = v, A.data *= v      by number: each entry stays where it is in the data
"""

import sys
from typing import Any

import numpy as np
import scipy.sparse

from linad.arrays.memory import constant_under
from linad.arrays.traces import running_trace
from linad.errors import UnsupportedError
from linad.scipy.sparse.arrays import SparseArray, traced_form_of
from linad.scipy.sparse.written import WrittenSparse


def is_plain_sparse(y: Any) -> bool:
    """Whether it is a sparse SciPy array, of floating or complex entries."""
    return bool(scipy.sparse.issparse(y)) and y.ndim == 2 and y.dtype.kind in "fc"


def by_places(A: Any) -> Any:
    """A sparse array as one into which entries may come."""
    if not isinstance(A, SparseArray):
        return WrittenSparse(A)
    made = WrittenSparse(A.tocoo(copy=False))  # entries at one place added
    made.format = A.format
    return made


def by_number(A: Any, entry: Any = None) -> Any:
    """A sparse array as one whose data are written; None where something else refers to them.

    ``entry`` is what stands in the data where they are to be updated.
    """
    if isinstance(A, WrittenSparse):
        A.refuse_data()
    trace = running_trace()
    if trace is None or A.format not in _OF_ENTRIES or _is_shared(A, entry):
        return None
    form: Any = traced_form_of(A)
    data = trace.constant(np.array(A.data))
    return SparseArray(data, form.pattern, A.format, is_matrix=form.is_matrix)


def _is_shared(A: Any, entry: Any) -> bool:
    """Whether something else refers to the data of a plain sparse array: a name, or the transpose.

    ``entry``, which may be a view of the data, is one more reference to it.
    """
    if A.data.base is not None and getattr(A.data.base, "base", A) is not None:
        return True  # a view of a view, or of other memory
    base = entry.base if type(entry) is np.ndarray else None
    own = base is A.data, base is not None and base is A.data.base
    del base
    counts = zip(_references_to_data(A), _ALONE, own, strict=True)
    return any([n > alone + one for n, alone, one in counts])


def _references_to_data(A: Any) -> tuple[int, int]:
    data = A.data
    base = data.base
    return sys.getrefcount(data), 0 if base is None else sys.getrefcount(base)


_ALONE = _references_to_data(scipy.sparse.csr_array(np.eye(1)))
"""References to the data of a sparse array that only it has, and to what they are a view of."""

_OF_ENTRIES = ("csr", "csc", "coo")
"""Formats whose data are the entries, one by one."""


def plain_data(v: Any) -> Any:
    """The data of a sparse array that stays SciPy's: those of a constant."""
    plain = constant_under(v)
    if plain is None:
        raise UnsupportedError(
            "A.data = v, of traced values, for a sparse array that has other names, or whose data "
            "have, or that is none of the formats csr, csc and coo: make it of them, "
            "scipy.sparse.csr_array((v, A.indices, A.indptr), A.shape)"
        )
    return plain
