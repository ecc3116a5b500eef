"""scipy.sparse, traced.

``A @ x`` and ``x @ A`` of a constant sparse A and a traced x work with SciPy's own classes;
see `linad.rules.sparse`. What is here is what they cannot do: arrays with traced entries, made by
`csr_array`, `csc_array`, `coo_array` and `diags_array`.
"""

from typing import Any

import scipy.sparse

from linad.core.frames import public_names
from linad.scipy.sparse.arrays import SparseArray
from linad.scipy.sparse.constructors import coo_array, csc_array, csr_array, diags_array

__all__ = ["SparseArray", "coo_array", "csc_array", "csr_array", "diags_array", "linalg"]


def __getattr__(name: str) -> Any:
    if name == "linalg":
        import linad.scipy.sparse.linalg as linalg

        return linalg
    return getattr(scipy.sparse, name)


def __dir__() -> list[str]:
    return sorted([*public_names(scipy.sparse), "SparseArray"])
