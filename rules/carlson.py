"""scipy.special: Carlson's symmetric elliptic integrals.

R_F = R_(-1/2)(½, ½, ½; x, y, z)              R_D = R_(-3/2)(½, ½, 3/2; x, y, z)
R_C = R_(-1/2)(½, 1; x, y)                    R_J = R_(-3/2)(½, ½, ½, 1; x, y, z, p)

are members of one family, homogeneous of degree -a, and closed under differentiation:

R_(-a)(b; z) = 1 / B(a, a') ∫_0^∞ t^(a'-1) Π (t + z_i)^(-b_i) dt,       a' = Σ b - a
∂R_(-a)(b; z) / ∂z_i = -a w_i R_(-a-1)(b + e_i; z),                     w_i = b_i / Σ b

Between two arguments x and p that are far apart the derivative is a divided difference, as
∂R_J / ∂x = (R_D(y, z, x) - R_J) / (2 (x - p)). Where they are near that is 0 / 0 or loses its
digits, and the member of the family takes its place: its integral, in u = log t, is a sum of
the trapezoidal rule, which converges exponentially.

Source: DLMF 19.16, 19.18, 19.25; B. Carlson, "Special Functions of Applied Mathematics", 1977.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.operators.algebra import Chain
from linad.operators.base import JacobianOperator
from linad.operators.structured import Diagonal
from linad.rules.elementwise import copied
from linad.rules.special import special

NEAR = 0.2
"""Relative distance of two arguments below which no difference is divided by it."""

DIGITS = 38.0
"""exp(-DIGITS) is what the sum leaves out."""

BLOCK = 64
"""Nodes of the sum that are looked at together."""


def _family(*z: Any, a: float, b: tuple[float, ...]) -> Any:
    """R_(-a)(b; z) by the trapezoidal rule in u = log t."""
    arrays = np.broadcast_arrays(*z)
    dtype = np.result_type(*arrays)
    flat = np.stack([np.ravel(x) for x in arrays]).astype(np.promote_types(dtype, float))
    size, powers = np.abs(flat), np.reshape(b, (-1, 1))
    zero, largest = size == 0, np.max(size, axis=0)
    # Towards -inf the integrand falls like e^(low u), as far as the least of the others reaches.
    low = sum(b) - a - np.sum(np.where(zero, powers, 0.0), axis=0)
    finite = (low > 0) & (largest > 0) & np.isfinite(largest)
    low, scale = np.where(finite, low, 1.0), np.where(finite, largest, 1.0)
    least = np.min(np.where(zero, largest, size), axis=0)
    start = np.log(np.where(finite, least, 1.0) / scale) - DIGITS / low
    # It is analytic up to the nearest u with t + z = 0, which the step of the sum respects.
    strip = math.pi - np.max(np.abs(np.angle(np.where(zero, 1.0, flat))), axis=0)
    step = 2 * math.pi * np.maximum(strip, 0.05) / (DIGITS + 8)
    length = DIGITS / a - start
    count = 1 + math.ceil(np.max(np.where(finite, length / step, 1.0), initial=1.0))
    width, total = length / count, np.zeros(scale.shape, flat.dtype)
    for first in range(0, count + 1, BLOCK):
        nodes = np.arange(first, min(first + BLOCK, count + 1))[:, None]
        t = np.exp(start + nodes * width)
        terms = np.prod((t + (flat / scale)[:, None]) ** -powers[:, None], axis=0)
        total += np.sum(t ** (sum(b) - a) * terms, axis=0)
    y = total * width * scale**-a / sp.beta(a, sum(b) - a)
    y = np.where(finite, y, np.where(largest == np.inf, 0.0, np.inf))
    return y.reshape(arrays[0].shape).astype(dtype)


carlson_ = Primitive("carlson", _family)


@carlson_.jacobian(wrt="each")
def carlson_wrt_z(i: int, y: Array, *z: Array, a: float, b: tuple[float, ...]) -> JacobianOperator:
    more = tuple([power + (k == i) for k, power in enumerate(b)])
    slope = -a * b[i] / sum(b) * carlson_(*z, a=a + 1, b=more)
    diagonal = Diagonal(slope.astype(y.dtype), y.shape, y.dtype)
    return diagonal if z[i].shape == y.shape else Chain((diagonal, copied(y, z[i])))


def _near(x: Array, p: Array) -> Any:
    """Where a difference x - p is not divided by."""
    return np.abs(x - p) < NEAR * np.abs(x)


def _between(
    x: Array,
    p: Array,
    divided: Callable[..., Any],
    f: Array,
    z: tuple[Any, ...],
    a: float,
    b: tuple[Any, ...],
) -> Any:
    """∂R_(-a)(b; z) / ∂x, x the first of z: ``divided(f, *z)``, or the integral if x is near p."""
    near = _near(x, p)
    if not isinstance(near, Traced) and not np.any(near):
        return divided(f, *z)
    here = [np.where(near, v, 1.0) for v in z]
    # The other way is not gone where it is not taken: its arguments are 4, 1, 1 ...
    there = [np.where(near, 4.0 if v is x else 1.0, v) for v in z]
    more = (b[0] + 1, *b[1:])
    value = (-a * b[0] / sum(b)) * carlson_(*here, a=a + 1, b=more)
    return np.where(near, value, divided(np.where(near, 1.0, f), *there))


special(
    "elliprf",
    x=lambda f, x, y, z: -sp.elliprd(y, z, x) / 6,
    y=lambda f, x, y, z: -sp.elliprd(x, z, y) / 6,
    z=lambda f, x, y, z: -sp.elliprd(x, y, z) / 6,
)


def _elliprg_slope(x: Array, y: Array, z: Array) -> Any:
    """∂R_G / ∂z; R_G(0, 0, z) is sqrt(z) / 2."""
    bare = (x == 0) & (y == 0)
    # z R_D is 0 where z is 0 and R_D infinite.
    above, below = np.where(bare, 1.0, x), np.where(z == 0, 1.0, z)
    rest = (sp.elliprf(above, y, z) - z * sp.elliprd(above, y, below) / 3) / 4
    return np.where(bare, 0.25 / np.sqrt(np.where(bare, z, 1.0)), rest)


special(
    "elliprg",
    x=lambda g, x, y, z: _elliprg_slope(y, z, x),
    y=lambda g, x, y, z: _elliprg_slope(x, z, y),
    z=lambda g, x, y, z: _elliprg_slope(x, y, z),
)


def _elliprc_x(f: Array, x: Array, y: Array) -> Any:
    def divided(f: Array, x: Array, y: Array) -> Any:
        return (1 / np.sqrt(x) - f) / (2 * (x - y))

    return _between(x, y, divided, f, (x, y), 0.5, (0.5, 1.0))


def _elliprc_y(f: Array, x: Array, y: Array) -> Any:
    def divided(f: Array, y: Array, x: Array) -> Any:
        return (f - np.sqrt(x) / y) / (2 * (x - y))

    return _between(y, x, divided, f, (y, x), 0.5, (1.0, 0.5))


special("elliprc", x=_elliprc_x, y=_elliprc_y)


def _elliprd_x(f: Array, x: Array, y: Array, z: Array) -> Any:
    def divided(f: Array, x: Array, y: Array, z: Array) -> Any:
        return (sp.elliprd(y, z, x) - f) / (2 * (x - z))

    return _between(x, z, divided, f, (x, y, z), 1.5, (0.5, 0.5, 1.5))


def _moment(slope: Callable[..., Any], x: Array) -> Any:
    """x ∂/∂x, which is 0 where x is 0 and the slope infinite."""
    zero = x == 0
    return np.where(zero, 0.0, x * slope(np.where(zero, 1.0, x)))


def _elliprd_z(f: Array, x: Array, y: Array, z: Array) -> Any:
    # Homogeneous of degree -3/2.
    rest = _moment(lambda x: _elliprd_x(f, x, y, z), x) + _moment(
        lambda y: _elliprd_x(f, y, x, z), y
    )
    return -(1.5 * f + rest) / z


special("elliprd", x=_elliprd_x, y=lambda f, x, y, z: _elliprd_x(f, y, x, z), z=_elliprd_z)


def _elliprj_x(f: Array, x: Array, y: Array, z: Array, p: Array) -> Any:
    def divided(f: Array, x: Array, y: Array, z: Array, p: Array) -> Any:
        return (sp.elliprd(y, z, x) - f) / (2 * (x - p))

    return _between(x, p, divided, f, (x, y, z, p), 1.5, (0.5, 0.5, 0.5, 1.0))


def _elliprj_p(f: Array, x: Array, y: Array, z: Array, p: Array) -> Any:
    rest = (
        _moment(lambda x: _elliprj_x(f, x, y, z, p), x)
        + _moment(lambda y: _elliprj_x(f, y, x, z, p), y)
        + _moment(lambda z: _elliprj_x(f, z, x, y, p), z)
    )
    return -(1.5 * f + rest) / p


special(
    "elliprj",
    x=_elliprj_x,
    y=lambda f, x, y, z, p: _elliprj_x(f, y, x, z, p),
    z=lambda f, x, y, z, p: _elliprj_x(f, z, x, y, p),
    p=_elliprj_p,
)


def _agm_b(mean: Array, a: Array, b: Array) -> Any:
    # agm(a, b) = π a / (2 R_F(0, p, 1)),  p = b² / a².  agm(0, b) = 0; at b = 0 it rises like
    # 1 / log(1 / b).
    bare = a == 0
    a = np.where(bare, 1.0, a)
    p = (np.where(bare, 1.0, b) / a) ** 2
    at_zero = p == 0
    p = np.where(at_zero, 1.0, p)
    mean = np.where(at_zero, 0.0, mean)
    slope = mean * sp.elliprd(0, 1, p) / sp.elliprf(0, p, 1) / 3 * (b / (a * a))
    return np.where(bare, 0.0, np.where(at_zero, np.inf, slope))


special("agm", a=lambda mean, a, b: _agm_b(mean, b, a), b=_agm_b)
