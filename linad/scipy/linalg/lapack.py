"""scipy.linalg.lapack, traced: the systems and factors that programs call it for most.

A matrix that LAPACK finds to be singular or indefinite gives a positive ``info``, as there, and
what it names holds NaN.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg.lapack

from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.scipy.linalg.prefixes import forms_of
from linad.scipy.matrix_factors import cholesky, lu_factor
from linad.scipy.matrix_systems import cho_solve, lu_solve, solve_banded, solve_triangular
from linad.scipy.refusedparts import RefusedPart


def _or_info(compute: Callable[[], Any], like: Array) -> tuple[Any, int]:
    """What is computed, and 0; or NaN, and where the matrix fails in SciPy's words."""
    try:
        return compute(), 0
    except np.linalg.LinAlgError:
        return like * np.nan, 1


def _potrf(a: Array, lower: int = 0, clean: int = 1) -> Any:
    factor, info = _or_info(lambda: cholesky(a, lower=bool(lower)), a)
    if not clean:  # what stood in the other triangle stays
        factor = factor + (np.triu(a, 1) if lower else np.tril(a, -1))
    return factor, info


def _potrs(c: Array, b: Array, lower: int = 0) -> Any:
    return cho_solve((c, bool(lower)), b), 0


def _potri(c: Array, lower: int = 0) -> Any:
    inverse = cho_solve((c, bool(lower)), np.eye(c.shape[0], dtype=c.dtype))
    if lower:
        return np.tril(inverse) + np.triu(c, 1), 0
    return np.triu(inverse) + np.tril(c, -1), 0


def _trtrs(a: Array, b: Array, lower: int = 0, trans: int = 0, unitdiag: int = 0) -> Any:
    x, info = _or_info(lambda: solve_triangular(a, b, trans, bool(lower), bool(unitdiag)), b)
    return x, info


def _trtri(c: Array, lower: int = 0, unitdiag: int = 0) -> Any:
    eye = np.eye(c.shape[0], dtype=c.dtype)
    inverse, info = _or_info(lambda: solve_triangular(c, eye, 0, bool(lower), bool(unitdiag)), c)
    return inverse + (np.triu(c, 1) if lower else np.tril(c, -1)), info


def _getrf(a: Array) -> Any:
    both, pivots = lu_factor(a)
    return both, pivots, 0


def _getrs(lu: Array, piv: Array, b: Array, trans: int = 0) -> Any:
    return lu_solve((lu, piv), b, trans), 0


def _gesv(a: Any, b: Any) -> Any:
    both, pivots = lu_factor(a)
    x, info = _or_info(lambda: lu_solve((both, pivots), b), b)
    return both, pivots, x, info


def _posv(a: Array, b: Array, lower: int = 0) -> Any:
    c, info = _potrf(a, lower, clean=0)
    return c, (b * np.nan if info else cho_solve((c, bool(lower)), b)), info


def _gtsv(dl: Array, d: Array, du: Array, b: Array) -> Any:
    none = np.zeros(1, d.dtype)
    bands = np.stack([np.concatenate(r) for r in ([none, du], [d], [dl, none])])
    x, info = _or_info(lambda: solve_banded((1, 1), bands, b), b)
    factors = [RefusedPart("gtsv", part, FACTORS) for part in ("du2", "d", "du")]
    return *factors, x, info


def _gbsv(kl: int, ku: int, ab: Array, b: Array) -> Any:
    x, info = _or_info(lambda: solve_banded((kl, ku), ab[kl:], b), b)
    return *[RefusedPart("gbsv", part, FACTORS) for part in ("lub", "piv")], x, info


FACTORS = "take x, or the factors of the whole matrix by getrf"

ROUTINES: dict[str, Callable[..., Any]] = {
    "gbsv": _gbsv,
    "gesv": _gesv,
    "getrf": _getrf,
    "getrs": _getrs,
    "gtsv": _gtsv,
    "posv": _posv,
    "potrf": _potrf,
    "potri": _potri,
    "potrs": _potrs,
    "trtri": _trtri,
    "trtrs": _trtrs,
}

NAMES = forms_of(scipy.linalg.lapack, ROUTINES)


__getattr__, __dir__ = mirrored_names(scipy.linalg.lapack, NAMES.get)
