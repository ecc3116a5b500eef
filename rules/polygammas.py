"""The polygamma functions ψ^(n) of complex arguments, which SciPy has for real ones only.

ψ^(n)(z) = ψ^(n)(z + 1) - (-1)^n n! z^(-n-1)

takes z far to the right, where

(-1)^(n-1) ψ^(n)(z) ~ (n-1)! / z^n + n! / (2 z^(n+1)) + Σ_k B_2k (2k+n-1)! / ((2k)! z^(2k+n)).

Left of 1/2 the reflection

ψ^(n)(z) = (-1)^n ψ^(n)(1 - z) - π (d/dz)^n cot(πz)

comes first. With c = cot(πz) each derivative of it is a polynomial p in c, for dp/dz = -π (1 + c²)
dp/dc.

Source: DLMF 5.5.2, 5.15.5, 5.15.6, 5.15.8.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp
from numpy.polynomial import Polynomial

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.rules.elementwise import several

SERIES = 12
"""How many numbers of Bernoulli count."""

BERNOULLI = sp.bernoulli(2 * SERIES)[2::2]


def _far(n: int, z: Array) -> Any:
    """The asymptotic series, for |z| above `_reach`."""
    t = 1 / z
    total = np.zeros(z.shape, complex)
    for k in range(SERIES, 0, -1):
        weight = BERNOULLI[k - 1] * math.factorial(2 * k + n - 1) / math.factorial(2 * k)
        total = (total + weight) * t * t
    return (-1) ** (n - 1) * t**n * (math.factorial(n - 1) + 0.5 * math.factorial(n) * t + total)


def _reach(n: int) -> int:
    return 10 + 2 * n


def _right(n: int, z: Array) -> Any:
    """For Re z >= 1/2."""
    steps = _reach(n)
    total = _far(n, z + steps)
    for k in reversed(range(steps)):
        total = total - (-1) ** n * math.factorial(n) * (1 / (z + k)) ** (n + 1)
    return total


def _cotangents(n: int, z: Array) -> Any:
    """π (d/dz)^n cot(πz), n > 0.

    cot is i (q + 1) / (q - 1) with q = e^(2πiz), of |q| <= 1, and 1 + cot² is -4q / (q - 1)².
    """
    below = z.imag < 0
    upper = np.where(below, np.conj(z), z)
    turn = 2j * math.pi * (upper - np.rint(upper.real))
    less_one = np.expm1(turn)
    c = 1j * (less_one + 2) / less_one
    polynomial = Polynomial([0.0, math.pi])
    for _ in range(n - 1):
        polynomial = -math.pi * Polynomial([1.0, 0.0, 1.0]) * polynomial.deriv()
    y = 4 * math.pi * np.exp(turn) / less_one**2 * polynomial.deriv()(c)
    return np.where(below, np.conj(y), y)


def _polygamma(z: Array, *, n: int) -> Any:
    dtype = np.asarray(z).dtype
    z = np.asarray(z, complex)
    left = z.real < 0.5
    with np.errstate(all="ignore"):  # poles are infinite or NaN, as ψ is there
        y = _right(n, np.where(left, 1 - z, z))
        if np.any(left):
            y = np.where(left, (-1) ** n * y - _cotangents(n, np.where(left, z, 0.5)), y)
    return y.astype(dtype)[()]


def _higher(y: Array, z: Array, *, n: int) -> Any:
    return polygamma(z, n=n + 1)


polygamma: Primitive = several("complex_polygamma", _polygamma, z=_higher)
