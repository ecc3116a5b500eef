"""Forms of a matrix that keep its eigenvalues, of scipy.linalg, traced: Schur's, Hessenberg's.

hessenberg    A = Q H Q^H by reflections I - τ v v^H that make a column x (β, 0 ... 0), with
              β = -sign(Re x_1) |x|      τ = (β - x_1) / β      v = (1, x_2 ... x_m) / (x_1 - β)

funm          f(A) = V f(Λ) V^-1 of eigenvectors V

Balancing scales by powers of 2, which are constants, and so is the order of the rows.

Source: G. Golub and C. Van Loan, "Matrix Computations", 2013, sections 5.1, 7.4.
"""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.errors import DegenerateError, ShapeError, UnsupportedError
from linad.rules import linalg, matrixfunctions
from linad.rules.linalg import adjoint
from linad.rules.schurforms import schur_
from linad.rules.shaping import astype, form, still
from linad.scipy.implicit_solutions import while_tracing
from linad.scipy.mirror import bound_form, check_finite as check, doubled, inexact
from linad.scipy.plain_results import by_scipy


def _check_matrix(name: str, a: Array) -> None:
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ShapeError(f"{name}: one square matrix is traced by linad, got shape {a.shape}")


@bound_form(scipy.linalg.schur)
def schur(a: Array, output: str, sort: Any, check_finite: bool) -> Any:
    a = inexact(a)
    check(check_finite, a)
    linalg.check_square(a, "schur")
    if output not in ("real", "complex", "r", "c"):
        raise ValueError(f"schur: output must be 'real' or 'complex', got {output!r}")
    kind = "complex" if output[0] == "c" or a.dtype.kind == "c" else "real"
    t, z = schur_(a, output=kind, sort=sort)
    if sort is None:
        return t, z
    return t, z, by_scipy(lambda a: scipy.linalg.schur(a, kind, sort=sort)[2], a)


@bound_form(scipy.linalg.rsf2csf)
def rsf2csf(T: Any, Z: Any, check_finite: bool) -> Any:
    """By the complex form of T, with the phases of SciPy's."""
    T, Z = inexact(T), inexact(Z)
    check(check_finite, T, Z)
    _check_matrix("rsf2csf", T)
    if Z.shape != T.shape:
        raise ShapeError(f"rsf2csf: T and Z have different shapes, {T.shape} and {Z.shape}")
    t, u = schur_(T, output="converted", sort=None)
    return t, Z @ u


@bound_form(scipy.linalg.hessenberg)
def hessenberg(a: Array, calc_q: bool, check_finite: bool) -> Any:
    check(check_finite, a)
    _check_matrix("hessenberg", a)
    n = a.shape[0]
    if n > 2:
        a = inexact(a)
    q: Any = np.eye(n, dtype=a.dtype if n > 2 else float)
    steps = 0 if n < 3 else n - 1 if a.dtype.kind == "c" else n - 2
    for k in range(steps):
        v, tau = _reflector(a[k + 1 :, k])
        v = np.concatenate([np.zeros(k + 1, a.dtype), v])[:, None]
        q = q - tau * (q @ v) @ adjoint(v)
        a = a - np.conj(tau) * v @ (adjoint(v) @ a)
        a = a - tau * (a @ v) @ adjoint(v)
    h = a if n < 3 else np.triu(a, -1)
    return (h, q) if calc_q else h


def _reflector(x: Array) -> Any:
    """v and τ, as LAPACK has them."""
    if not np.any(form(x)[1:]) and not np.any(np.imag(form(x))):
        raise DegenerateError(
            "hessenberg: no derivative where a column is 0 below its first subdiagonal, for there "
            "a reflection changes its sign; a matrix of this form is its own, H = A with Q = I"
        )
    first = x[0]
    size = np.sqrt(np.sum(np.real(x * np.conj(x))))
    beta = np.where(np.real(first) < 0, size, -size)
    one = np.ones(1, x.dtype)
    return np.concatenate([one, x[1:] / (first - beta)]), (beta - first) / beta


@bound_form(scipy.linalg.matrix_balance)
def matrix_balance(A: Array, permute: bool, scale: bool, separate: bool) -> Any:
    A = inexact(A)
    _check_matrix("matrix_balance", A)

    def transform(a: Array) -> Any:
        return scipy.linalg.matrix_balance(a, permute, scale)[1]

    def sizes_and_order(a: Array) -> Any:
        return np.stack(scipy.linalg.matrix_balance(a, permute, scale, separate=True)[1])

    t = by_scipy(transform, A)  # one entry in each row and column
    back = np.where(t == 0, 0.0, 1 / np.where(t == 0, 1.0, t)).T
    balanced = astype(back @ A @ t, A.dtype, copy=False)
    if separate:
        sizes, order = by_scipy(sizes_and_order, A)
        return balanced, (sizes, order.astype(int))
    return balanced, t


@bound_form(scipy.linalg.signm)
def signm(A: Array, **disp: Any) -> Any:
    _check_shown("signm", **disp)
    A = inexact(A)
    _check_matrix("signm", A)
    return matrixfunctions.signm_(A)


def _check_shown(name: str, disp: Any = True) -> None:
    if disp is False:
        raise UnsupportedError(f"{name}: disp=False is not traced by linad; leave it out")


@while_tracing(scipy.linalg.funm)
def funm(A: Any, func: Any, **disp: Any) -> Any:
    _check_shown("funm", **disp)
    single = inexact(A).dtype.char in "fF"
    A = doubled(A)
    _check_matrix("funm", A)
    w, v = np.linalg.eig(A)
    y = np.linalg.solve(v.T, (v * func(w)).T).T
    if A.dtype.kind != "c" and np.allclose(np.imag(still(y)), 0, atol=1e3 * np.finfo(float).eps):
        y = np.real(y)
    return astype(y, np.float32 if y.dtype.kind == "f" else np.complex64) if single else y
