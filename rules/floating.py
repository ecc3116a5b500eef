"""Functions that NumPy computes in floats, whatever numbers they are given.

Of integers and booleans, which jit traces as well, their traced forms take float64; so a norm of
int8 is not computed in int8.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import FUNCTIONS
from linad.core.primitive import Traced

FLOATING = (
    *(getattr(np.linalg, name) for name in (
        "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq",
        "matrix_norm", "norm", "qr", "slogdet", "solve", "svd", "svdvals", "tensorinv",
        "tensorsolve", "vector_norm",
    )),
    *(getattr(np.fft, name) for name in (
        "fft", "hfft", "ifft", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn",
    )),
    np.median, np.nanmedian, np.nanstd, np.nanvar, np.poly,
)  # fmt: skip


def in_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """A traced form that takes its arrays of integers as arrays of floats."""

    @functools.wraps(function)
    def form(*args: Any, **kwargs: Any) -> Any:
        return function(*[as_floats(a) for a in args], **kwargs)

    return form


def as_floats(a: Array) -> Any:
    if isinstance(a, Traced) and a.dtype.kind in "biu":
        return a.astype(np.float64)
    return a


def register() -> None:
    """Wrap the forms of these functions; once, when all are there."""
    for function in FLOATING:
        if function in FUNCTIONS:
            FUNCTIONS[function] = in_floats(FUNCTIONS[function])
