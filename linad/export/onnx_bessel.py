"""Bessel functions J, Y and K of whole orders; see `onnx_special`.

J_n            fitted below EDGE, Hankel's expansion beyond
Y_0, Y_1       (2 / pi) log(x / 2) J_n, less 2 / (pi x) for n = 1, and an entire function, fitted;
               Hankel's expansion beyond
K_0, K_1       -+ log(x / 2) I_n, and 1 / x for n = 1, and an entire function, fitted; beyond 2 the
               scaled function times sqrt(x) is one of 1 / x, fitted
Y_n, K_n       by recurrence, which is stable upwards

Hankel: with t = x - (n / 2 + 1 / 4) pi, and terms a_k of 1 / x alternately in P and Q,

    J = sqrt(2 / (pi x)) (P cos t - Q sin t)      Y = sqrt(2 / (pi x)) (P sin t + Q cos t)

Source: NIST Digital Library of Mathematical Functions, 10.8, 10.17, 10.31, 10.6.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from linad.core.array_type import Array
from linad.core.tape import Equation
from linad.export.onnx_special import fitted_series, scaled_bessel, whole_order
from linad.export.onnx_writer import Writer, composed, form

EDGE = 25.0
TERMS = 22
"""Of Hankel's expansion, which is exact to rounding from EDGE on for orders up to 6."""


def _hankel(n: int, x: Array) -> tuple[Any, Any]:
    """P cos t - Q sin t and P sin t + Q cos t, with the factor, for x >= EDGE."""
    a, parts = 1.0, [0.0 * x, 0.0 * x]
    power = 1.0 + 0.0 * x
    for k in range(TERMS):
        sign = (-1) ** (k // 2)
        parts[k % 2] = parts[k % 2] + sign * a * power
        a *= (4 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1))
        power = power / x
    turn = (n / 2 + 0.25) * math.pi
    cosine = np.cos(x) * math.cos(turn) + np.sin(x) * math.sin(turn)
    sine = np.sin(x) * math.cos(turn) - np.cos(x) * math.sin(turn)
    p, q = parts
    scale = np.sqrt(2 / (math.pi * x))
    return scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)


@functools.cache
def _first_kind(n: int) -> Callable[..., Any]:
    return lambda t: scipy.special.jv(n, EDGE * (t + 1) / 2)


def _j(n: int, x: Array) -> Any:
    size = np.abs(x)
    near = size <= EDGE
    inside, outside = np.where(near, size, 0.0), np.where(near, EDGE, size)
    y = np.where(
        near, fitted_series(_first_kind(n), 64, 2 * inside / EDGE - 1), _hankel(n, outside)[0]
    )
    y = np.where(size == np.inf, 0.0, y)
    return np.sign(x) * y if n % 2 else y


@functools.cache
def _second_kind(n: int) -> Callable[..., Any]:
    def rest(t: Array) -> Any:
        x = EDGE * (t + 1) / 2
        log = (2 / math.pi) * np.log(x / 2) * scipy.special.jv(n, x)
        pole = 2 / (math.pi * x) if n else 0.0
        return scipy.special.yv(n, x) - log + pole

    return rest


def _y(n: int, x: Array) -> Any:
    """Y_0 or Y_1."""
    near = x <= EDGE
    inside = np.where(near & (x > 0), x, 1.0)
    low = fitted_series(_second_kind(n), 64, 2 * inside / EDGE - 1)
    low = low + (2 / math.pi) * np.log(inside / 2) * _j(n, inside)
    if n:
        low = low - 2 / (math.pi * inside)
    y = np.where(near, low, _hankel(n, np.where(near, EDGE, x))[1])
    y = np.where(x == 0, -np.inf, np.where(x == np.inf, 0.0, y))
    return np.where(x >= 0, y, np.nan)


@functools.cache
def _modified(n: int) -> Callable[..., Any]:
    def rest(t: Array) -> Any:
        x = t + 1
        log = np.log(x / 2) * scipy.special.iv(n, x)
        return scipy.special.kv(n, x) + (log if n == 0 else -log - 1 / x)

    return rest


@functools.cache
def _modified_far(n: int) -> Callable[..., Any]:
    def scaled(t: Array) -> Any:
        end = t == -1
        x = 4 / np.where(end, 1.0, t + 1)
        return np.where(end, math.sqrt(math.pi / 2), scipy.special.kve(n, x) * np.sqrt(x))

    return scaled


def _ke(n: int, x: Array) -> Any:
    """K_0 or K_1 times e^x."""
    near = x <= 2
    inside, outside = np.where(near & (x > 0), x, 1.0), np.where(near, 2.0, x)
    log = np.log(inside / 2) * scaled_bessel(n, inside) * np.exp(inside)
    low = fitted_series(_modified(n), 24, inside - 1)
    low = low - log if n == 0 else low + log + 1 / inside
    high = fitted_series(_modified_far(n), 40, 4 / outside - 1) / np.sqrt(outside)
    y = np.where(near, low * np.exp(inside), high)
    return np.where(x == 0, np.inf, np.where(x >= 0, y, np.nan))


def _upwards(n: int, x: Any, first: Any, second: Any, sign: int) -> Any:
    """The function of order n from those of 0 and 1: f_k+1 = 2k f_k / x ∓ f_k-1."""
    if n == 0:
        return first
    for k in range(1, n):
        ratio = second / np.where(x == 0, 1.0, x)
        first, second = second, np.where(x == 0, second, 2 * k * ratio + sign * first)
    return second


composed("j0")(lambda x: _j(0, x))
composed("j1")(lambda x: _j(1, x))
composed("y0")(lambda x: _y(0, x))
composed("y1")(lambda x: _y(1, x))
composed("k0e")(lambda x: _ke(0, x))
composed("k1e")(lambda x: _ke(1, x))
composed("k0")(lambda x: _ke(0, x) * np.exp(-x))
composed("k1")(lambda x: _ke(1, x) * np.exp(-x))


def _signed(eqn: Equation) -> tuple[int, float]:
    """The size of the order, and what its sign does: (-1)^n for a negative one."""
    n = whole_order(eqn)
    negative = float(np.ravel(eqn.inputs[0])[0]) < 0
    return n, -1.0 if negative and n % 2 else 1.0


@form("jv")
def jv(writer: Writer, eqn: Equation) -> Any:
    n, sign = _signed(eqn)
    return writer.compose(eqn, lambda order, x: sign * _j(n, x))


@form("yv", "yn")
def yv(writer: Writer, eqn: Equation) -> Any:
    n, sign = _signed(eqn)
    return writer.compose(eqn, lambda order, x: sign * _upwards(n, x, _y(0, x), _y(1, x), -1))


@form("kve")
def kve(writer: Writer, eqn: Equation) -> Any:
    n = whole_order(eqn)
    return writer.compose(eqn, lambda order, x: _upwards(n, x, _ke(0, x), _ke(1, x), 1))


@form("kv", "kn")
def kv(writer: Writer, eqn: Equation) -> Any:
    n = whole_order(eqn)

    def unscaled(order: Any, x: Any) -> Any:
        return _upwards(n, x, _ke(0, x), _ke(1, x), 1) * np.exp(-x)

    return writer.compose(eqn, unscaled)
