"""The part of scipy.linalg that is about functions of matrices and matrices of a structure."""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.primitive import Traced
from linad.errors import ShapeError, UnsupportedError
from linad.rules import linalg, matrixfunctions
from linad.rules.creation import asarray
from linad.rules.shaping import as_array, ravel, still
from linad.scipy.mirror import check_finite as check, inexact, traced_form

# Functions of matrices.


@traced_form(scipy.linalg.expm)
def expm(A: Any) -> Any:
    linalg.check_square(A, "expm")
    return matrixfunctions.expm_(A)


@traced_form(scipy.linalg.expm_frechet)
def expm_frechet(
    A: Any,
    E: Any,
    method: Any = None,
    compute_expm: bool = True,
    check_finite: bool = True,
) -> Any:
    A, E = inexact(A), inexact(E)
    check(check_finite, A, E)
    n = A.shape[-1]
    both = matrixfunctions.expm_(np.block([[A, E], [np.zeros(A.shape, A.dtype), A]]))
    derivative = both[:n, n:]
    return (both[:n, :n], derivative) if compute_expm else derivative


@traced_form(scipy.linalg.logm)
def logm(A: Any) -> Any:
    linalg.check_square(A, "logm")
    return matrixfunctions.logm_(A)


@traced_form(scipy.linalg.sqrtm)
def sqrtm(A: Any) -> Any:
    linalg.check_square(A, "sqrtm")
    return matrixfunctions.sqrtm_(A)


@traced_form(scipy.linalg.fractional_matrix_power)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    if isinstance(t, Traced):
        raise UnsupportedError(
            "fractional_matrix_power: a traced exponent t is not supported; expm(t * logm(A)) is"
        )
    linalg.check_square(A, "fractional_matrix_power")
    return matrixfunctions.fractional_power_(A, t=t)


def _of_matrix(name: str) -> Any:
    primitive = getattr(matrixfunctions, f"{name}_")

    @traced_form(getattr(scipy.linalg, name))
    def function(A: Any) -> Any:
        linalg.check_square(A, name)
        return primitive(A)

    return function


cosm = _of_matrix("cosm")
sinm = _of_matrix("sinm")
tanm = _of_matrix("tanm")
coshm = _of_matrix("coshm")
sinhm = _of_matrix("sinhm")
tanhm = _of_matrix("tanhm")


# Equations for matrices.


@traced_form(scipy.linalg.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    return matrixfunctions.sylvester_(inexact(a), inexact(b), inexact(q))


@traced_form(scipy.linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    a = inexact(a)
    return solve_sylvester(a, linalg.adjoint(a), q)


solve_lyapunov = solve_continuous_lyapunov


@traced_form(scipy.linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    a, q = inexact(a), inexact(q)
    n = a.shape[0]
    system = np.eye(n * n, dtype=a.dtype) - np.kron(a, np.conj(a))
    return linalg.solve(system, ravel(q)).reshape(q.shape)


# Matrices of a structure: SciPy's own arranges the numbers of the entries, the entries follow.


def _arranged(arrange: Any, *arrays: Any) -> Any:
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
def toeplitz(c: Any, r: Any = None) -> Any:
    if r is None:
        c = as_array(c)
        return _arranged(scipy.linalg.toeplitz, c, np.conj(c))
    return _arranged(scipy.linalg.toeplitz, c, r)


@traced_form(scipy.linalg.convolution_matrix)
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    return _arranged(lambda numbers: scipy.linalg.convolution_matrix(numbers, n, mode), a)


@traced_form(scipy.linalg.circulant)
def circulant(c: Any) -> Any:
    return _arranged(scipy.linalg.circulant, c)


@traced_form(scipy.linalg.matmul_toeplitz)
def matmul_toeplitz(
    c_or_cr: Any, x: Any, check_finite: bool = False, workers: int | None = None
) -> Any:
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return toeplitz(c, r) @ x


def _row(name: str, a: Any) -> Any:
    a = inexact(a)
    if a.ndim != 1:
        raise ShapeError(f"{name}: only one row of numbers is traced by linad, got {a.shape}")
    return a


@traced_form(scipy.linalg.companion)
def companion(a: Any) -> Any:
    a = _row("companion", a)
    n = a.shape[0] - 1
    if n < 1:
        raise ShapeError("companion: the length of a must be at least 2")
    return np.concatenate([(-a[1:] / a[0])[None], np.eye(n - 1, n, dtype=a.dtype)])


@traced_form(scipy.linalg.leslie)
def leslie(f: Any, s: Any) -> Any:
    f, s = _row("leslie", f), _row("leslie", s)
    if f.shape[0] != s.shape[0] + 1 or not s.shape[0]:
        raise ShapeError(
            f"leslie: f must have one more entry than s, and s one, got {f.shape} and {s.shape}"
        )
    survivors = np.concatenate([np.diag(s), np.zeros((s.shape[0], 1), s.dtype)], axis=1)
    return np.concatenate([f[None], survivors])


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
