"""Functions of scipy.sparse that move entries about, for arrays with traced entries."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from linad.errors import UnsupportedError
from linad.rules.sparsearrays import Pattern
from linad.scipy.sparse.arrays import SparseArray, traced_form_of
from linad.scipy.sparse.numbering import holds_sparse, rearranged


def moving(name: str) -> Callable[..., Any]:
    """A function of scipy.sparse by `rearranged`."""
    original = getattr(scipy.sparse, name)

    def function(*args: Any, **options: Any) -> Any:
        if not holds_sparse((args, options)):
            return original(*args, **options)
        bound = inspect.signature(original).bind(*args, **options)
        arrays, *rest = bound.args
        return rearranged(original, arrays, *rest, **bound.kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = original.__doc__
    return function


hstack = moving("hstack")
vstack = moving("vstack")
bmat = moving("bmat")
block_array = moving("block_array")
block_diag = moving("block_diag")
triu = moving("triu")
tril = moving("tril")


def find(A: Any) -> Any:
    """As `scipy.sparse.find`; entries that are traced are kept where they are 0 as well."""
    if not isinstance(A, SparseArray):
        return scipy.sparse.find(A)
    A = A.tocsr()
    return A.pattern.rows, A.pattern.cols, A.data


def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """As `scipy.sparse.kron`; every entry of A times every entry of B."""
    if not holds_sparse((A, B)):
        return scipy.sparse.kron(A, B, format)
    is_matrix = any(getattr(x, "is_matrix", False) for x in (A, B))
    a, b = _sparse("kron", A), _sparse("kron", B)
    (m, n), (p, q) = a.shape, b.shape
    rows = np.add.outer(a.pattern.rows * p, b.pattern.rows).reshape(-1)
    cols = np.add.outer(a.pattern.cols * q, b.pattern.cols).reshape(-1)
    data = (a.data[:, None] * b.data[None, :]).reshape(-1)
    made = SparseArray(data, Pattern(rows, cols, (m * p, n * q)), "coo", is_matrix=is_matrix)
    return made if format is None else made.asformat(format)


def kronsum(A: Any, B: Any, format: str | None = None) -> Any:
    """As `scipy.sparse.kronsum`, I ⊗ A + B ⊗ I."""
    if not holds_sparse((A, B)):
        return scipy.sparse.kronsum(A, B, format)
    m, n = A.shape[0], B.shape[0]
    made = kron(scipy.sparse.eye_array(n), A) + kron(B, scipy.sparse.eye_array(m))
    return made if format is None else made.asformat(format)


def _sparse(name: str, value: Any) -> SparseArray:
    found = traced_form_of(
        value if not isinstance(value, np.ndarray) else scipy.sparse.csr_array(value)
    )
    if found is None:
        raise UnsupportedError(
            f"{name}: a dense array is not traced by linad; make it sparse first"
        )
    return found.tocsr()
