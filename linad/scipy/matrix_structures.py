"""Matrices of a structure of scipy.linalg, traced.

SciPy's own function arranges the numbers of the entries; the entries follow.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.rules.shaping import as_array, ravel, still
from linad.scipy.mirror import bound_form, doubled, traced_form


def _arranged(arrange: Callable[..., Any], *arrays: Any) -> Any:
    """Entries where ``arrange`` puts their numbers, from 1 on; 0 stands for zero."""
    parts = [as_array(a) for a in arrays]
    dtype = np.result_type(*[a.dtype for a in parts])
    numbers, start = [], 1
    for a in parts:
        numbers.append(start + np.arange(a.size).reshape(a.shape))
        start += a.size
    entries = np.concatenate([np.zeros(1, dtype), *[ravel(a) for a in parts]])
    return entries[arrange(*numbers)]


@traced_form(scipy.linalg.block_diag)
def block_diag(*arrs: Any) -> Any:
    return _arranged(scipy.linalg.block_diag, *map(asarray, arrs))


@traced_form(scipy.linalg.toeplitz)
def toeplitz(c: Array, r: Any = None) -> Any:
    if r is None:
        c = as_array(c)
        return _arranged(scipy.linalg.toeplitz, c, np.conj(c))
    return _arranged(scipy.linalg.toeplitz, c, r)


@bound_form(scipy.linalg.convolution_matrix)
def convolution_matrix(a: Any, n: int, mode: str) -> Any:
    return _arranged(lambda numbers: scipy.linalg.convolution_matrix(numbers, n, mode), a)


@traced_form(scipy.linalg.circulant)
def circulant(c: Any) -> Any:
    return _arranged(scipy.linalg.circulant, c)


@bound_form(scipy.linalg.matmul_toeplitz)
def matmul_toeplitz(c_or_cr: Any, x: Any) -> Any:
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return doubled(toeplitz(c, r)) @ x


def _row(name: str, a: Any) -> Any:
    a = np.atleast_1d(as_array(a))
    if a.ndim != 1:
        raise ShapeError(f"{name}: only one row of numbers is traced by linad, got {a.shape}")
    return a


@traced_form(scipy.linalg.fiedler)
def fiedler(a: Any) -> Any:
    a = _row("fiedler", a)
    gaps = a[:, None] - a[None, :]
    if gaps.dtype.kind == "c":
        return np.abs(gaps)
    return np.sign(still(gaps)) * gaps  # no kink on the diagonal, which is 0


@traced_form(scipy.linalg.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    if r is None:
        c = as_array(c)
        r = np.zeros(c.shape, c.dtype)
    return _arranged(scipy.linalg.hankel, c, r)


@traced_form(scipy.linalg.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    product = a[..., :, None, :] * b[..., None, :, :]
    return product.reshape((*product.shape[:-3], -1, product.shape[-1]))
