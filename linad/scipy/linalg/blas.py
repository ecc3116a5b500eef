"""scipy.linalg.blas, traced: the products that programs call it for most."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg.blas

from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.core.primitive import Traced
from linad.core.shapes import matrix_transpose
from linad.errors import UnsupportedError
from linad.rules.linalg import adjoint
from linad.scipy.linalg.prefixes import forms_of
from linad.scipy.matrix_systems import solve_triangular


def _turned(a: Array, trans: int) -> Any:
    """A, its transpose or its adjoint."""
    return (a, matrix_transpose(a), adjoint(a))[int(trans)]


def _plus(product: Array, beta: Any, c: Array | None) -> Any:
    return product if c is None else product + beta * c


def _gemm(
    alpha: Any, a: Array, b: Array, beta: Any = 0, c: Any = None, trans_a: int = 0, trans_b: int = 0
) -> Any:
    return _plus(alpha * (_turned(a, trans_a) @ _turned(b, trans_b)), beta, c)


def _gemv(
    alpha: Any, a: Array, x: Array, beta: Any = 0, y: Array | None = None, *, trans: int = 0
) -> Any:
    return _plus(alpha * (_turned(a, trans) @ x), beta, y)


def _symmetric(a: Array, lower: int, turn: Callable[[Any], Any] = matrix_transpose) -> Any:
    """The matrix of which BLAS reads one triangle."""
    strict = np.tril(a, -1) if lower else np.triu(a, 1)
    return strict + turn(strict) + a * np.eye(a.shape[0], dtype=a.dtype)


def _symv(alpha: Any, a: Any, x: Any, beta: Any = 0, y: Any = None, *, lower: int = 0) -> Any:
    return _plus(alpha * (_symmetric(a, lower) @ x), beta, y)


def _symm(
    alpha: Any, a: Array, b: Array, beta: Any = 0, c: Any = None, side: int = 0, lower: int = 0
) -> Any:
    whole = _symmetric(a, lower)
    return _plus(alpha * (b @ whole if side else whole @ b), beta, c)


def _syrk(
    alpha: Any, a: Array, beta: Any = 0, c: Any = None, trans: int = 0, lower: int = 0
) -> Any:
    product = alpha * (matrix_transpose(a) @ a if trans else a @ matrix_transpose(a))
    half = np.tril if lower else np.triu
    if c is None:
        return half(product)
    return half(product + beta * c) + (c - half(c))


def _trsm(
    alpha: Any, a: Array, b: Array, side: int = 0, lower: int = 0, trans_a: int = 0, diag: int = 0
) -> Any:
    if side:  # X op(A) = B is op(A)^T X^T = B^T
        turned = {0: 1, 1: 0}.get(int(trans_a))
        if turned is None:
            a, turned = np.conj(a), 0
        x = solve_triangular(a, matrix_transpose(b), turned, bool(lower), bool(diag))
        return alpha * matrix_transpose(x)
    return alpha * solve_triangular(a, b, trans_a, bool(lower), bool(diag))


def _trsv(a: Any, x: Any, *, lower: int = 0, trans: int = 0, diag: int = 0) -> Any:
    return solve_triangular(a, x, trans, bool(lower), bool(diag))


def _trmm(
    alpha: Any, a: Any, b: Any, side: int = 0, lower: int = 0, trans_a: int = 0, diag: int = 0
) -> Any:
    triangle = np.tril(a, -1) if lower else np.triu(a, 1)
    eye = np.eye(a.shape[0], dtype=a.dtype)
    triangle = _turned(triangle + (eye if diag else a * eye), trans_a)
    return alpha * (b @ triangle if side else triangle @ b)


# These write into their last array, which is what they return.


def _written(name: str, y: Array) -> Any:
    if not isinstance(y, Traced):
        raise UnsupportedError(
            f"{name}: a traced value would be written into a plain array; make it of traced "
            f"values, y = 0 * x + y, or write y + a * x"
        )
    return y


def _axpy(x: Array, y: Array, n: int | None = None, a: Any = 1.0) -> Any:
    y = _written("axpy", y)
    y[:n] += a * x[:n]  # type: ignore[index]
    return y


def _scal(a: Any, x: Array) -> Any:
    x = _written("scal", x)
    x[...] = a * x  # type: ignore[index]
    return x


ROUTINES: dict[str, Callable[..., Any]] = {
    "asum": lambda x: np.sum(np.abs(np.real(x)) + np.abs(np.imag(x))),
    "axpy": _axpy,
    "dot": np.dot,
    "dotc": np.vdot,
    "dotu": np.dot,
    "gemm": _gemm,
    "gemv": _gemv,
    "ger": lambda alpha, x, y, *, a=None: _plus(alpha * np.outer(x, y), 1.0, a),
    "nrm2": np.linalg.norm,
    "scal": _scal,
    "symm": _symm,
    "symv": _symv,
    "syrk": _syrk,
    "trmm": _trmm,
    "trsm": _trsm,
    "trsv": _trsv,
}


NAMES = forms_of(scipy.linalg.blas, ROUTINES)


__getattr__, __dir__ = mirrored_names(scipy.linalg.blas, NAMES.get)
