"""Inverse error functions, complete elliptic integrals, exponential integral, polynomials.

erfcinv q    Newton's steps on log erfc x = log q for q <= 1/2, of which each doubles the digits
erfinv y     the same beyond 1/2; below, Newton's steps on erf x = y
K, E         the arithmetic and geometric mean of 1 and sqrt(1 - m)
E_1(x)       -γ - log x + an entire function below 2; e^-x / x by a function of 1 / x beyond; fitted
P_n, T_n ... by their recurrences

Source: NIST Digital Library of Mathematical Functions, 7.17, 19.8, 6.6, 18.9.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from linad.core.tape import Equation, Var
from linad.export.onnx_special import SQRT_PI, erf, erfcx, fitted_series
from linad.export.onnx_values import NoForm
from linad.export.onnx_writer import Writer, composed, form

# Inverse error functions.


def _erfcinv_low(q: Any) -> Any:
    """erfcinv where 0 < q <= 1/2."""
    t = np.sqrt(-2 * np.log(0.5 * q))
    x = 0.70711 * (t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t)))
    target = np.log(q)
    for _ in range(4):
        scaled = erfcx(x)
        x = x + 0.5 * SQRT_PI * scaled * (np.log(scaled) - x * x - target)
    return x


def _erfinv_near(y: Any) -> Any:
    """erfinv where |y| <= 1/2."""
    x = 0.5 * SQRT_PI * y * (1 + 0.2617993877991494 * y * y)
    for _ in range(4):
        x = x - 0.5 * SQRT_PI * np.exp(x * x) * (erf(x) - y)
    return x


@composed("erfcinv")
def erfcinv(q: Any) -> Any:
    low = np.minimum(q, 2 - q)
    tail = (low > 0) & (low < 0.5)
    far = _erfcinv_low(np.where(tail, low, 0.25))
    far = np.where(low == 0, np.inf, far)
    near = _erfinv_near(np.where(low >= 0.5, 1 - q, 0.0))
    y = np.where(low >= 0.5, near, np.where(q > 1, -far, far))
    return np.where(low >= 0, y, np.nan)


@composed("erfinv")
def erfinv(y: Any) -> Any:
    near = np.abs(y) <= 0.5
    tail = 1 - np.abs(y)
    far = _erfcinv_low(np.where(near | (tail <= 0), 0.25, tail))
    far = np.sign(y) * np.where(tail == 0, np.inf, far)
    found = np.where(near, _erfinv_near(np.where(near, y, 0.0)), far)
    return np.where(tail >= 0, found, np.nan)


@composed("ndtri")
def ndtri(p: Any) -> Any:
    return -math.sqrt(2) * erfcinv(2 * p)


# Complete elliptic integrals.


MEANS = 14
"""Steps of the mean, each of which doubles the digits, down to p = 1e-300."""


def _mean(p: Any) -> tuple[Any, Any]:
    """The arithmetic and geometric mean of 1 and sqrt(p), and Σ 2^(k-1) c_k^2, for p > 0."""
    a, b, total, weight = np.ones_like(p), np.sqrt(p), 0.5 * (1 - p), 1.0
    for _ in range(MEANS):
        c = 0.5 * (a - b)
        a, b = 0.5 * (a + b), np.sqrt(a * b)
        total, weight = total + weight * c * c, 2 * weight
    return a, total


@composed("ellipkm1")
def ellipkm1(p: Any) -> Any:
    y = 0.5 * np.pi / _mean(np.where(p > 0, p, 1.0))[0]
    return np.where(p > 0, y, np.where(p == 0, np.inf, np.nan))


@composed("ellipk")
def ellipk(m: Any) -> Any:
    return ellipkm1(1 - m)


@composed("ellipe")
def ellipe(m: Any) -> Any:
    p = 1 - m
    mean, total = _mean(np.where(p > 0, p, 1.0))
    y = 0.5 * np.pi / mean * (1 - total)
    return np.where(p > 0, y, np.where(p == 0, 1.0, np.nan))


# The exponential integral.


def _entire(t: Any) -> Any:
    """E_1(x) + log x, for x = t + 1."""
    x = t + 1
    small = x == 0
    z = np.where(small, 1.0, x)
    return np.where(small, -np.euler_gamma, scipy.special.exp1(z) + np.log(z))


def _slow(t: Any) -> Any:
    """x e^x E_1(x) for x = 4 / (t + 1)."""
    end = t == -1
    x = 4 / np.where(end, 1.0, t + 1)
    # e^x overflows where E_1 has vanished: from there on the function is 1 - 1 / x + 2 / x^2 - ...
    far = x > 200
    z = np.where(far, 1.0, x)
    tail = 1 - (1 - (2 - (6 - (24 - 120 / x) / x) / x) / x) / x
    return np.where(end, 1.0, np.where(far, tail, z * np.exp(z) * scipy.special.exp1(z)))


@composed("exp1")
def exp1(x: Any) -> Any:
    near = x <= 2
    inside, outside = np.where(near & (x > 0), x, 1.0), np.where(near, 2.0, x)
    low = fitted_series(_entire, 26, inside - 1) - np.log(inside)
    high = np.exp(-outside) / outside * fitted_series(_slow, 50, 4 / outside - 1)
    y = np.where(near, low, np.where(x == np.inf, 0.0, high))
    return np.where(x == 0, np.inf, np.where(x >= 0, y, np.nan))


# Orthogonal polynomials of known degree.

Recurrence = Callable[[Any, int, Any, Any], Any]
"""From x, k, p_k and p_(k-1) to p_(k+1)."""

RECURRENCES: dict[str, tuple[Callable[[Any], Any], Recurrence]] = {
    "eval_chebyt": (lambda x: x, lambda x, k, p, q: 2 * x * p - q),
    "eval_chebyu": (lambda x: 2 * x, lambda x, k, p, q: 2 * x * p - q),
    "eval_hermite": (lambda x: 2 * x, lambda x, k, p, q: 2 * x * p - 2 * k * q),
    "eval_hermitenorm": (lambda x: x, lambda x, k, p, q: x * p - k * q),
    "eval_laguerre": (lambda x: 1 - x, lambda x, k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "eval_legendre": (lambda x: x, lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
}
"""By name: p_1, and the recurrence; p_0 is 1."""


def _polynomial(writer: Writer, eqn: Equation) -> Any:
    degree = eqn.inputs[0]
    known = not isinstance(degree, Var) and np.size(degree) == 1
    if not known or float(np.ravel(degree)[0]) % 1 or not 0 <= np.ravel(degree)[0] <= 100:
        raise NoForm("its degree must be one whole number from 0 to 100 that is known")
    n = int(np.ravel(degree)[0])
    first, recurrence = RECURRENCES[eqn.primitive.name]

    def value(_: Any, x: Any) -> Any:
        before, now = np.ones_like(x), first(x)
        for k in range(1, n):
            before, now = now, recurrence(x, k, now, before)
        return now if n else before

    return writer.compose(eqn, value)


form(*RECURRENCES)(_polynomial)
