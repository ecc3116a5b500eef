"""scipy.special: hypergeometric functions and what they contain, differentiated in x.

d/dx 1F1(a; b; x) = (a / b) 1F1(a + 1; b + 1; x)         and so for the others
d/dx C_n^(α)(x)   = 2 α C_(n-1)^(α+1)(x)                 Gegenbauer
d/dx P_n^(α,β)(x) = (n + α + β + 1) / 2 P_(n-1)^(α+1,β+1)(x)      Jacobi

The derivatives in the parameters have no closed form.

Source: DLMF chapters 12, 13, 15, 18, 28.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.rules.elementwise import NO_SLOPE
from linad.rules.special import special, special_fan


def _times(top: Any, bottom: Any, f: Array) -> Any:
    """top / bottom f; 0 where top is 0 and the series ends, whatever f."""
    ended = np.equal(top, 0) & np.not_equal(bottom, 0)
    factor = np.true_divide(top, bottom)
    return np.where(ended, 0.0, factor * np.where(ended, 0.0, f))


special("hyp0f1", v=NO_SLOPE, x=lambda y, v, x: _times(1.0, v, sp.hyp0f1(v + 1, x)))
special(
    "hyp1f1",
    a=NO_SLOPE,
    b=NO_SLOPE,
    x=lambda y, a, b, x: _times(a, b, sp.hyp1f1(a + 1, b + 1, x)),
)
special(
    "hyp2f1",
    a=NO_SLOPE,
    b=NO_SLOPE,
    c=NO_SLOPE,
    x=lambda y, a, b, c, x: _times(a * b, c, sp.hyp2f1(a + 1, b + 1, c + 1, x)),
)
special("hyperu", a=NO_SLOPE, b=NO_SLOPE, x=lambda y, a, b, x: -a * sp.hyperu(a + 1, b + 1, x))
special("wright_bessel", a=NO_SLOPE, b=NO_SLOPE, x=lambda y, a, b, x: sp.wright_bessel(a, a + b, x))
special(
    "log_wright_bessel",
    a=NO_SLOPE,
    b=NO_SLOPE,
    x=lambda y, a, b, x: np.exp(sp.log_wright_bessel(a, a + b, x) - y),
)

# Orthogonal polynomials; n is a degree.


def _below(n: Array) -> Any:
    """n - 1, and 0 for n = 0, whose polynomial has slope 0 through a factor n."""
    return n - (n != 0)


def _gegenbauer(n: Array, a: Any, x: Array) -> Any:
    """C_(n-1)^(a)(x); 0 for n = 0, and for the degrees between -2a and 0."""
    absent = np.less_equal(n, 0) & np.greater(n, 1 - 2 * a) & np.equal(n, np.trunc(n))
    return np.where(absent, 0.0, sp.eval_gegenbauer(np.where(absent, 0, _below(n)), a, x))


def _jacobi(n: Any, a: Any, b: Any, x: Array) -> Any:
    return (n != 0) * sp.eval_jacobi(_below(n), a, b, x)


special(
    "eval_jacobi",
    n=NO_SLOPE,
    a=NO_SLOPE,
    b=NO_SLOPE,
    x=lambda y, n, a, b, x: 0.5 * (n + a + b + 1) * _jacobi(n, a + 1, b + 1, x),
)
special(
    "eval_sh_jacobi",
    n=NO_SLOPE,
    p=NO_SLOPE,
    q=NO_SLOPE,
    x=lambda y, n, p, q, x: (
        (n + p) * _jacobi(n, p - q + 1, q, 2 * x - 1) / sp.binom(2 * n + p - 1, n)
    ),
)
special(
    "eval_gegenbauer", n=NO_SLOPE, a=NO_SLOPE, x=lambda y, n, a, x: 2 * a * _gegenbauer(n, a + 1, x)
)


def _legendre_slope(n: Any, x: Array) -> Any:
    return _gegenbauer(np.where(np.less(n, 0), -1 - n, n), 1.5, x)  # P_(-n-1) = P_n


special("eval_legendre", n=NO_SLOPE, x=lambda y, n, x: _legendre_slope(n, x))
special("eval_sh_legendre", n=NO_SLOPE, x=lambda y, n, x: 2 * _legendre_slope(n, 2 * x - 1))
special("eval_chebyt", n=NO_SLOPE, x=lambda y, n, x: n * sp.eval_chebyu(_below(n), x))
special("eval_chebyu", n=NO_SLOPE, x=lambda y, n, x: 2 * _gegenbauer(n, 2, x))
special("eval_chebyc", n=NO_SLOPE, x=lambda y, n, x: n * sp.eval_chebys(_below(n), x))
special("eval_chebys", n=NO_SLOPE, x=lambda y, n, x: _gegenbauer(n, 2, 0.5 * x))
special(
    "eval_sh_chebyt", n=NO_SLOPE, x=lambda y, n, x: 2 * n * sp.eval_chebyu(_below(n), 2 * x - 1)
)
special("eval_sh_chebyu", n=NO_SLOPE, x=lambda y, n, x: 4 * _gegenbauer(n, 2, 2 * x - 1))
special(
    "eval_genlaguerre",
    n=NO_SLOPE,
    a=NO_SLOPE,
    x=lambda y, n, a, x: -((n != 0) * sp.eval_genlaguerre(_below(n), a + 1, x)),
)
special(
    "eval_laguerre",
    n=NO_SLOPE,
    x=lambda y, n, x: -((n != 0) * sp.eval_genlaguerre(_below(n), 1, x)),
)
special("eval_hermite", n=NO_SLOPE, x=lambda y, n, x: 2 * n * sp.eval_hermite(_below(n), x))
special("eval_hermitenorm", n=NO_SLOPE, x=lambda y, n, x: n * sp.eval_hermitenorm(_below(n), x))


def _lpmv_slope(y: Array, m: Any, v: Any, x: Array) -> Any:
    """By the degree below; at the ends, where that is 0 / 0, from

    P_v^m = (-1)^m (2m - 1)!! (1 - x²)^(m/2) C_(v-m)^(m+1/2)(x) for whole v >= m >= 0.
    """
    degree = np.where(np.less(v, 0), -1 - v, v)  # P_(-v-1) = P_v
    whole = np.equal(v, np.rint(v)) & np.equal(m, np.rint(m)) & np.greater_equal(degree, m)
    end = (np.abs(x) == 1) & whole & np.greater_equal(m, 0)
    end = end | ((x == 1) & np.equal(m, 0))  # any P_v is smooth there
    inside = np.where(end, 0.0, x)
    lower = np.where(np.equal(v + m, 0), 0.0, sp.lpmv(m, v - 1, inside))
    below = v * inside * np.where(end, 0.0, y) - (v + m) * lower
    k, n, at_end = np.where(end, m, 0), np.where(end, degree, 0), np.where(end, x, 0.0)
    rest, scale = 1 - at_end * at_end, (-2.0) ** k * sp.gamma(k + 0.5) / math.sqrt(math.pi)
    level = np.where(k == 0, 0.0, 0.5 * k - 1)
    falling = -k * at_end * rest**level * _gegenbauer(n - k + 1, k + 0.5, at_end)
    rising = (2 * k + 1) * rest ** (0.5 * k) * _gegenbauer(n - k, k + 1.5, at_end)
    return np.where(end, scale * (falling + rising), below / (inside * inside - 1))


special("lpmv", m=NO_SLOPE, v=NO_SLOPE, x=_lpmv_slope)

# Pairs of a function and its derivative: the equation gives the second derivative.

special_fan("pbdv", v=NO_SLOPE, x=lambda y, v, x: (y[1], (0.25 * x * x - v - 0.5) * y[0]))
special_fan("pbvv", v=NO_SLOPE, x=lambda y, v, x: (y[1], (0.25 * x * x - v - 0.5) * y[0]))
special_fan("pbwa", a=NO_SLOPE, x=lambda y, a, x: (y[1], (a - 0.25 * x * x) * y[0]))


def _mathieu(name: str, characteristic: Any, hyperbolic: bool) -> None:
    """y'' = ±(2 q cos 2x - a) y, in degrees for the angular functions."""

    def slopes(y: tuple[Any, ...], m: Any, q: Any, x: Array) -> Any:
        a = characteristic(m, q)
        if hyperbolic:
            return y[1], (a - 2 * q * np.cosh(2 * x)) * y[0]
        degree = math.pi / 180
        return degree * y[1], degree * (2 * q * np.cos(2 * degree * x) - a) * y[0]

    special_fan(name, m=NO_SLOPE, q=NO_SLOPE, x=slopes)


_mathieu("mathieu_cem", sp.mathieu_a, hyperbolic=False)
_mathieu("mathieu_sem", sp.mathieu_b, hyperbolic=False)
for _kind in ("1", "2"):
    _mathieu(f"mathieu_modcem{_kind}", sp.mathieu_a, hyperbolic=True)
    _mathieu(f"mathieu_modsem{_kind}", sp.mathieu_b, hyperbolic=True)
