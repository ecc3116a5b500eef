"""Dtypes that kernels compute in, by NumPy's short names."""

import functools
from typing import Any

import numpy as np

NAMES = ("b1", "i4", "i8", "f4", "f8", "c8", "c16")
"""Booleans, integers, floating and complex numbers."""


@functools.lru_cache(256)
def name_of_dtype(dtype: Any) -> str | None:
    """NumPy's short name of a dtype that kernels know, else None."""
    dtype = np.dtype(dtype)
    name = f"{dtype.kind}{dtype.itemsize}"
    return name if dtype.isnative and name in NAMES else None
