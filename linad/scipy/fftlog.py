"""Hankel transforms of logarithmically spaced samples: FFTLog.

A_m = irfft(rfft(a) u)  reversed        u_m = (kr)^(-2iy) U_μ(q + 2iy),  y = π m / (n dln)
U_μ(x) = 2^x Γ((μ + 1 + x) / 2) / Γ((μ + 1 - x) / 2)

with a biased power law q taken out before and put back behind. Each of the samples, the spacing,
μ, log kr = offset and q = bias may be traced.

Source: A. Hamilton, "Uncorrelated modes of the non-linear power spectrum", MNRAS 312 (2000) 257,
appendix B; the reference of scipy.fft.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.core.callers import warn_user
from linad.core.primitive import Traced
from linad.rules.shaping import astype, still
from linad.scipy.mirror import inexact

LOG_2 = math.log(2)


def _coefficients(n: int, dln: Array, mu: Array, offset: Array, bias: Array, inverse: bool) -> Any:
    above, below = (mu + 1 + bias) / 2, (mu + 1 - bias) / 2
    y = np.arange(n // 2 + 1) * (math.pi / n) / dln
    first = sp.loggamma(above + 1j * y[1:])
    second = np.conj(sp.loggamma(below + 1j * y[1:]))
    u = np.exp(first - second + LOG_2 * bias + 2j * y[1:] * (LOG_2 - offset))
    if n % 2 == 0:  # the last one is real
        u = np.concatenate([u[:-1], np.real(u[-1:]) + 0j])
    # At 0 the quotient of gamma functions, which may have poles.
    zeroth = 2.0**bias * sp.poch(below, above - below)
    singular = 0.0 if inverse else np.inf
    if still(zeroth) == singular:
        kind = "singular inverse transform" if inverse else "singular transform"
        warn_user(f"{kind}; consider changing the bias")
        zeroth = np.inf if inverse else 0.0
    return np.concatenate([np.reshape(zeroth, (1,)) + 0j, u])


def _transform(a: Array, u: Array, inverse: bool) -> Any:
    n = a.shape[-1]
    coefficients = np.fft.rfft(a)
    u = astype(u, coefficients.dtype)
    coefficients = coefficients / np.conj(u) if inverse else coefficients * u
    return np.flip(np.fft.irfft(coefficients, n), -1)


def _power(n: int, dln: Array, bias: Array, offset: Array) -> Any:
    return np.exp(-bias * ((np.arange(n) - (n - 1) / 2) * dln + offset))


def fht(a: Array, dln: Array, mu: Array, offset: Array, bias: Array) -> Any:
    a, n = inexact(a), np.shape(a)[-1]
    u = _coefficients(n, dln, mu, offset, bias, False)
    if _is_zero(bias):
        return _transform(a, u, False)
    return _transform(a * _power(n, dln, bias, 0.0), u, False) * _power(n, dln, bias, offset)


def ifht(A: Array, dln: Array, mu: Array, offset: Array, bias: Array) -> Any:
    A, n = inexact(A), np.shape(A)[-1]
    u = _coefficients(n, dln, mu, offset, bias, True)
    if _is_zero(bias):
        return _transform(A, u, True)
    return _transform(A / _power(n, dln, bias, offset), u, True) / _power(n, dln, bias, 0.0)


def _is_zero(bias: Array) -> bool:
    return not isinstance(bias, Traced) and bool(bias == 0)
