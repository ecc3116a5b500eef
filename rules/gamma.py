"""scipy.special: the gamma function and its relatives.

d log Γ(x) = ψ(x) dx        ψ'(x) = ζ(2, x)        ζ_q(s, q) = -s ζ(s + 1, q)

ζ of complex q is not SciPy's: see `linad.rules.polygammas`.

Source: DLMF chapters 5, 25.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.rules.elementwise import NO_SLOPE, constant
from linad.rules.kinks import tip
from linad.rules.polygammas import polygamma
from linad.rules.special import special


def _trigamma(y: Array, x: Array) -> Any:
    return polygamma(x, n=1) if y.dtype.kind == "c" else sp.zeta(2, x)


special("psi", x=_trigamma)
special("_zeta", s=NO_SLOPE, q=lambda y, s, q: -s * sp.zeta(s + 1, q))
special("gamma", x=lambda y, x: y * sp.psi(x))
special("gammaln", x=lambda y, x: sp.psi(x))
special("loggamma", x=lambda y, x: sp.psi(x))
constant("gammasgn", sp.gammasgn)


def _rgamma_slope(y: Array, x: Array) -> Any:
    """-ψ(x) / Γ(x); left of 1/2 reflected, since the product is 0 times inf at the poles."""
    left = np.real(x) < 0.5
    right = np.where(left, 1, x)
    mirror = np.where(left, 1 - x, 1)
    turn = math.pi * x
    reflected = np.cos(turn) - np.sin(turn) / math.pi * sp.psi(mirror)
    return np.where(left, sp.gamma(mirror) * reflected, -y * sp.psi(right))


special("rgamma", x=_rgamma_slope)


def _psi_gap(x: Array, m: Array) -> Any:
    """ψ(x + m) - ψ(x); where both are poles, a whole m apart, the limit along x.

    There it is ψ(1 - x - m) - ψ(1 - x), for the cotangents of the reflection are equal. Along m
    it has no limit.
    """
    whole = np.rint(m)
    poles = (x <= 0) & (x == np.rint(x)) & (m == whole) & (x + m <= 0)
    if not isinstance(poles, Traced) and not np.any(poles):
        return sp.psi(x + m) - sp.psi(x)
    left, shift = np.where(poles, x, 0.0), np.where(poles, whole, 0.0)
    along_m = np.where(poles, tip(m - whole) - 1.0, 0.0)  # 0, without a derivative
    right, step = np.where(poles, 1.0, x), np.where(poles, 1.0, m)
    apart = sp.psi(right + step) - sp.psi(right)
    return np.where(poles, sp.psi(1 - left - shift) - sp.psi(1 - left) + along_m, apart)


special(
    "beta",
    a=lambda y, a, b: -y * _psi_gap(a, b),
    b=lambda y, a, b: -y * _psi_gap(b, a),
)
special("betaln", a=lambda y, a, b: -_psi_gap(a, b), b=lambda y, a, b: -_psi_gap(b, a))


def _over_gamma(scale: Array, lift: Array, x: Array) -> Any:
    """scale / Γ(x) lift + scale (1 / Γ)'(x): the slope of scale / Γ(x) where 1 / Γ(x) may be 0."""
    y = sp.rgamma(x)
    return scale * (lift * y + _rgamma_slope(y, x))


def _choice(cases: Any, args: tuple[Any, ...], y: Array) -> Any:
    """The slope of the first case that holds, each asked where it holds only.

    Parameters
    ----------
    cases : list of (where, slope, numbers)
        ``slope(y, *args)``, and what stands for the arguments elsewhere.
    """
    taken: Any = np.zeros((), bool)
    result: Any = 0.0
    for where, slope, numbers in cases:
        here = ~taken & where
        inside = [np.where(here, v, w) for v, w in zip(args, numbers, strict=True)]
        result = np.where(here, slope(np.where(here, y, 1.0), *inside), result)
        taken = taken | here
    return result


def _binom_n(y: Array, n: Array, k: Array) -> Any:
    # 1 / Γ(n - k + 1) is 0 where n + 1 <= k.
    def few(y: Array, n: Array, k: Array) -> Any:
        return _over_gamma(sp.poch(k + 1, n - k), sp.psi(n + 1), n - k + 1)

    def usual(y: Array, n: Array, k: Array) -> Any:
        return y * _psi_gap(n - k + 1, k)

    is_few = (n - k < -0.5) & (k > -0.5) & (n > -1)
    return _choice([(is_few, few, (1.0, 2.5)), (True, usual, (1.0, 0.5))], (n, k), y)


def _binom_k(y: Array, n: Array, k: Array) -> Any:
    # Γ(n + 1) / (Γ(k + 1) Γ(n - k + 1)): one of the factors below may be 0.
    def low(y: Array, n: Array, k: Array) -> Any:
        return _over_gamma(sp.poch(n - k + 1, k), sp.psi(n - k + 1), k + 1)

    def high(y: Array, n: Array, k: Array) -> Any:
        return -low(y, n, n - k)

    def usual(y: Array, n: Array, k: Array) -> Any:
        return y * (sp.psi(n - k + 1) - sp.psi(k + 1))

    cases = [
        ((k < -0.5) & (n > -1), low, (1.0, -0.75)),
        ((n - k < -0.5) & (n > -1), high, (1.0, 1.75)),
        (True, usual, (1.0, 0.75)),
    ]
    return _choice(cases, (n, k), y)


special("binom", n=_binom_n, k=_binom_k)


def _poch_a(y: Array, a: Array, m: Array) -> Any:
    # Γ(a + m) / Γ(a), where 1 / Γ(a) may be 0.
    def left(y: Array, a: Array, m: Array) -> Any:
        return _over_gamma(sp.gamma(a + m), sp.psi(a + m), a)

    def usual(y: Array, a: Array, m: Array) -> Any:
        return y * _psi_gap(a, m)

    # Far to the left 1 / Γ overflows; there it is needed at its zeros only.
    is_left = (a < 0.5) & ((a > -100) | (a == np.rint(a)))
    is_left = is_left & ((a + m > 0) | (m != np.rint(m)))
    return _choice([(is_left, left, (0.25, 1.0)), (True, usual, (1.0, 1.0))], (a, m), y)


special("poch", a=_poch_a, m=lambda y, a, m: y * sp.psi(a + m))
