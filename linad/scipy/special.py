"""scipy.special, traced.

The ufuncs of scipy.special dispatch by themselves; here are the functions that do not.

Legendre functions and spherical harmonics are in `linad.scipy.sphericalharmonics`. Spherical Bessel
functions and Riemann's zeta function are in `linad.scipy.special_series`.

logsumexp(a) = m + log Σ b exp(a - m)      with m = max Re a, which has no part in the derivative
             = m + log1p(Σ (exp(a - m) - [a = m]) + c - 1)      c = Σ [a = m]

The second, without weights: where one entry is far above the others the sum is 1 and what they
add, of which 1 + x keeps no digit. The result is that of log1p, as SciPy's since version 1.15.
Source: P. Blanchard, D. Higham and N. Higham, "Accurately computing the log-sum-exp and softmax
functions", IMA Journal of Numerical Analysis 41, 2021.
"""

import math
from typing import Any

import numpy as np
import scipy.special

from linad.api.derivatives import stop_gradient
from linad.arrays.zero_dim import gives, number
from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.core.primitive import Traced
from linad.errors import UnsupportedError
from linad.rules.shaping import as_array, still
from linad.scipy.gaussnodes import (
    roots_gegenbauer as roots_gegenbauer,
    roots_jacobi as roots_jacobi,
)
from linad.scipy.mirror import check_real, doubled, inexact, refuse, traced_form
from linad.scipy.special_series import (
    spherical_in as spherical_in,
    spherical_jn as spherical_jn,
    spherical_kn as spherical_kn,
    spherical_yn as spherical_yn,
    zeta as zeta,
    zetac as zetac,
)
from linad.scipy.sphericalharmonics import (
    assoc_legendre_p as assoc_legendre_p,
    assoc_legendre_p_all as assoc_legendre_p_all,
    legendre_p as legendre_p,
    legendre_p_all as legendre_p_all,
    sph_harm_y as sph_harm_y,
    sph_harm_y_all as sph_harm_y_all,
    sph_legendre_p as sph_legendre_p,
    sph_legendre_p_all as sph_legendre_p_all,
)
from linad.scipy.twinforms import twins_among

TWINS = ("factorial2", "perm", "roots_sh_jacobi")
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(scipy.special, twins_among(scipy.special, TWINS))


def _largest(x: Array, axis: Any) -> Any:
    """The largest entries, kept as axes of length 1; 0 where that is infinite or NaN."""
    largest = np.max(stop_gradient(x), axis=axis, keepdims=True, initial=-np.inf)
    return np.where(np.isfinite(largest), largest, np.zeros((), largest.dtype))


@traced_form(scipy.special.logsumexp)
@gives(number)
def logsumexp(
    a: Array,
    axis: Any = None,
    b: Array | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    a = inexact(a)
    exponents = np.real(a)
    real = exponents.dtype
    if b is not None:
        a, b = np.broadcast_arrays(a, as_array(b))
        # An entry of weight zero does not count, whatever its exponent.
        used = stop_gradient(b) != 0
        exponents = np.where(used, exponents, -np.inf)
    shift = _largest(exponents, axis).astype(real)
    if b is not None:
        # The derivative in its weight is e^(a - shift), as far as there is such a number.
        above = np.real(stop_gradient(a)) - shift
        largest = np.log(np.finfo(real).max) - 1
        far = np.where(above > 0, shift + largest, -np.inf).astype(a.dtype)
        a = np.where(used | (above < largest), a, far)
    terms = np.exp(a - shift)
    sign = None
    if b is None and not return_sign and a.dtype == real:
        top = (still(a) == shift).astype(real)
        rest = np.sum(terms - top, axis=axis, keepdims=True)
        rest = rest + (np.sum(top, axis=axis, keepdims=True) - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            result = np.log1p(rest) + shift
    else:
        total = np.sum(terms if b is None else terms * b, axis=axis, keepdims=True)
        if return_sign:
            size = np.abs(total)
            sign = total / size if total.dtype.kind == "c" else np.sign(total)
            total = size
        with np.errstate(divide="ignore", invalid="ignore"):
            result = np.log(total) + shift
    if not keepdims:
        axes = tuple(range(a.ndim)) if axis is None else axis
        result = np.squeeze(result, axis=axes)
        sign = None if sign is None else np.squeeze(sign, axis=axes)
    return (result, sign) if return_sign else result


@traced_form(scipy.special.softmax)
def softmax(x: Array, axis: Any = None) -> Any:
    x = inexact(x)
    e = np.exp(x - _largest(x, axis))
    return e / np.sum(e, axis=axis, keepdims=True)


@traced_form(scipy.special.log_softmax)
def log_softmax(x: Array, axis: Any = None) -> Any:
    x = inexact(x)
    shifted = x - _largest(x, axis)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


@traced_form(scipy.special.diric)
def diric(x: Array, n: Any) -> Any:
    """sin(n x / 2) / (n sin(x / 2)); about its 0 / 0, h from it, ±(1 - (n² - 1) h² / 6)."""
    x, n = inexact(x), as_array(n)
    x, n = np.broadcast_arrays(x.astype(np.result_type(x.dtype, n.dtype)), n)
    turns = np.round(still(x) / (2 * math.pi))
    h = x / 2 - turns * math.pi
    near = np.abs(still(h)) < (1e-3 if x.dtype == np.float32 else 1e-7)
    sign = np.where(turns * (still(n) - 1) % 2 == 0, 1, -1)
    small, away = np.where(near, h, 0.0), np.where(near, 1.0, x / 2)
    counts = (still(n) > 0) & (still(n) == np.floor(still(n)))
    n = np.where(counts, n, 1)
    y = np.where(
        near, sign * (1 - (n * n - 1) * small * small / 6), np.sin(n * away) / (n * np.sin(away))
    )
    return np.where(counts, y, np.nan).astype(x.dtype)


def _plain(name: str, **arguments: Any) -> None:
    """Refuse arguments that must be plain numbers."""
    for key, value in arguments.items():
        if isinstance(value, Traced):
            raise UnsupportedError(f"{name}: {key} must be a plain number; it has no derivative")


@traced_form(scipy.special.polygamma)
def polygamma(n: Array, x: Any) -> Any:
    _plain("polygamma", n=n)
    n, x = np.asarray(n), inexact(x)
    digamma = scipy.special.psi(x)
    if not np.any(n):
        return np.broadcast_to(digamma, np.broadcast_shapes(n.shape, x.shape))
    order = np.where(n == 0, 1, n)
    factor = (-1.0) ** (order + 1) * scipy.special.gamma(order + 1.0)
    higher = factor * scipy.special.zeta(order + 1, x)
    return higher if np.all(n) else np.where(n == 0, digamma, higher)


@traced_form(scipy.special.multigammaln)
def multigammaln(a: Array, d: int) -> Any:
    _plain("multigammaln", d=d)
    if not np.isscalar(d) or math.floor(d) != d:  # type: ignore[arg-type]
        raise ValueError("d should be a positive integer (dimension)")
    a = inexact(a)
    if np.any(stop_gradient(a) <= 0.5 * (d - 1)):
        raise ValueError(
            f"condition a ({stop_gradient(a)}) > 0.5 * (d-1) ({0.5 * (d - 1)}) not met"
        )
    halves = np.arange(int(d)) / 2
    parts = scipy.special.gammaln(a[..., None] - halves)
    return d * (d - 1) * 0.25 * math.log(math.pi) + np.sum(parts, axis=-1)


@traced_form(scipy.special.comb)
@gives(number)
def comb(N: Array, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    refuse("comb", exact=(exact, False))
    n = N + k - 1 if repetition else N
    possible = np.less_equal(k, n) & np.greater_equal(n, 0) & np.greater_equal(k, 0)
    # Where it is 0 the binomial, which may have a pole there, is not asked.
    y = scipy.special.binom(np.where(possible, n, 1.0), np.where(possible, k, 0.0))
    return np.where(possible, y, 0.0)


@traced_form(scipy.special.factorial)
@gives(number)
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    refuse("factorial", exact=(exact, False))
    if extend == "complex":
        return scipy.special.gamma(n + 1)
    check_real("factorial", n=n)
    n = doubled(n)
    negative = np.less(n, 0)
    return np.where(negative, 0.0, scipy.special.gamma(np.where(negative, 0.0, n) + 1))
