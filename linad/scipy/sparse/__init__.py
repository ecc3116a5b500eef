"""scipy.sparse, traced.

``A @ x`` and ``x @ A`` of a constant sparse A and a traced x work with SciPy's own classes;
see `linad.rules.sparse`. What is here is what they cannot do: arrays with traced entries, made by
`csr_array`, `csc_array`, `coo_array`, `diags_array`, and by the constructors of SciPy's matrices;
`hstack`, `vstack`, `block_diag`, `block_array`, `bmat`, `kron`, `triu`, `tril` of those, and
indices.
"""

import scipy.sparse

from linad.core.mirrored_names import mirrored_names
from linad.scipy.sparse.arrays import SparseArray
from linad.scipy.sparse.constructors import (
    coo_array,
    coo_matrix,
    csc_array,
    csc_matrix,
    csr_array,
    csr_matrix,
    dia_array,
    dia_matrix,
    diags,
    diags_array,
    spdiags,
)
from linad.scipy.sparse.moved_entries import (
    block_array,
    block_diag,
    bmat,
    find,
    hstack,
    kron,
    kronsum,
    tril,
    triu,
    vstack,
)
from linad.scipy.sparse.sparse_kinds import (
    issparse,
    isspmatrix,
    isspmatrix_coo,
    isspmatrix_csc,
    isspmatrix_csr,
    isspmatrix_dia,
)

__all__ = [
    "SparseArray",
    "block_array",
    "block_diag",
    "bmat",
    "coo_array",
    "coo_matrix",
    "csc_array",
    "csc_matrix",
    "csr_array",
    "csr_matrix",
    "dia_array",
    "dia_matrix",
    "diags",
    "diags_array",
    "find",
    "hstack",
    "issparse",
    "isspmatrix",
    "isspmatrix_coo",
    "isspmatrix_csc",
    "isspmatrix_csr",
    "isspmatrix_dia",
    "kron",
    "kronsum",
    "linalg",
    "spdiags",
    "tril",
    "triu",
    "vstack",
]


__getattr__, __dir__ = mirrored_names(
    scipy.sparse, package=__name__, rooms=("csgraph", "linalg"), more=("SparseArray",)
)
