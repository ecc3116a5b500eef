"""scipy.special, part one: error functions, exponentials, logarithms, losses.

Each line is one function with its slopes: y = f(x), dy = f'(x) dx. Arguments marked
`NO_SLOPE` (orders, degrees, discrete ones) have no derivative of closed form and may be
plain numbers only.

Source: NIST Digital Library of Mathematical Functions (DLMF), chapters 4, 6, 7, 25; the
definitions of SciPy's reference for losses and entropies.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.errors import MissingRuleError
from linad.operators.slopes import SINGULAR
from linad.rules import elementary
from linad.rules.arithmetic import power_slope
from linad.rules.comparison import rint
from linad.rules.elementwise import NO_SLOPE, Slope, fan, levels_off, register, several, steep

SQRT_PI = math.sqrt(math.pi)
SQRT_2PI = math.sqrt(2 * math.pi)
DEGREE = math.pi / 180

POLES_IN = {
    **dict.fromkeys(("beta", "betaln", "poch", "zeta", "elliprc"), (0, 1)),
    **dict.fromkeys(("boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p", "powm1"), (0,)),
    **dict.fromkeys(("elliprd", "elliprf", "elliprg", "voigt_profile"), (0, 1, 2)),
    **dict.fromkeys(("gdtria", "gdtrix"), (0, 2)),
    "elliprj": (0, 1, 2, 3),
    "chndtrix": (0,),
}
"""The arguments in which functions have poles, where these are not the last ones: a quantile at the
level 1, or x log 0, is infinite whatever their other arguments are."""

GROWING = {"erfi", "exp10", "exprel", "i0", "i1"}
"""What is infinite where it overflows only: its inverse is 0 there, and so is its slope."""


def special(name: str, **slopes: Slope) -> Primitive:
    """A primitive for a ufunc of scipy.special, ``argument=slope`` in order."""
    orders = [s is NO_SLOPE for s in slopes.values()]
    primitive = several(
        name.lstrip("_"),
        ufunc_of(name),
        **{k: s if s is NO_SLOPE else _rounded(s, orders) for k, s in slopes.items()},
    )
    places = () if name in GROWING else POLES_IN.get(name, (len(slopes) - 1,))
    return steep(primitive, SINGULAR, *[i for i in places if not orders[i]])


def special_fan(name: str, **slopes: Slope) -> Primitive:
    """A primitive for a ufunc with several results, one slope a result."""
    ufunc = ufunc_of(name)
    return fan(name, ufunc, ufunc.nout, **slopes)


def ufunc_of(name: str) -> Any:
    """The ufunc behind a function of scipy.special; the underlined ones are not exported."""
    return getattr(sp._ufuncs, name)


def _rounded(slope: Slope, orders: list[bool]) -> Slope:
    """``slope`` in y's type: a constant of scipy.special is a double in single precision."""

    def rounded(y: Array, *args: Any) -> Any:
        d = slope(y, *map(_number, args, [*orders, *[True] * len(args)]))
        return d if d.dtype is y.dtype or d.dtype == y.dtype else d.astype(y.dtype)

    return rounded


def _number(a: Any, order: bool) -> Any:
    """An argument that formulas may negate and subtract from; integers without sign wrap around.

    Orders stay integers: SciPy has other routines for these.
    """
    dtype = getattr(a, "dtype", None)  # Python's own numbers do not wrap around
    if dtype is None or dtype.kind in "fc" or (order and dtype.kind == "i"):
        return a
    return a.astype(np.int64 if order else np.float64)


def real_only(name: str, x: Array) -> None:
    """Raise where the function is not holomorphic, or its slope unknown to SciPy there."""
    if isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c":
        raise MissingRuleError(f"{name}: no derivative of closed form at complex arguments")


# The same functions as NumPy's.

for _name in ("exp2", "expm1", "log1p", "cbrt"):
    register(getattr(sp, _name), getattr(elementary, _name))
register(sp.round, rint)

# Error functions.

levels_off(special("erf", x=lambda y, x: 2 / SQRT_PI * np.exp(-x * x)), 0)
levels_off(special("erfc", x=lambda y, x: -2 / SQRT_PI * np.exp(-x * x)), 0)
levels_off(special("erfcx", x=lambda y, x: 2 * x * y - 2 / SQRT_PI), 0)
special("erfi", x=lambda y, x: 2 / SQRT_PI * np.exp(x * x))
levels_off(special("dawsn", x=lambda y, x: 1 - 2 * x * y), 0)
special("wofz", x=lambda y, x: 2j / SQRT_PI - 2 * x * y)
special("erfinv", x=lambda y, x: SQRT_PI / 2 * np.exp(y * y))
special("erfcinv", x=lambda y, x: -SQRT_PI / 2 * np.exp(y * y))
special_fan("fresnel", x=lambda y, x: (np.sin(math.pi / 2 * x * x), np.cos(math.pi / 2 * x * x)))


def _modfresnel(sign: int) -> Slope:
    # F = int_x^inf exp(±i t^2) dt,  K = exp(∓i (x^2 + pi/4)) F / sqrt(pi)
    i = sign * 1j

    def slope(y: tuple[Any, ...], x: Array) -> Any:
        turn = complex(math.cos(math.pi / 4), -sign * math.sin(math.pi / 4)) / SQRT_PI
        return -np.exp(i * x * x), -2 * i * x * y[1] - turn

    return slope


special_fan("modfresnelp", x=_modfresnel(1))
special_fan("modfresnelm", x=_modfresnel(-1))


def _voigt(y: Array, x: Array, sigma: Array, gamma: Array) -> tuple[Any, Any, Any]:
    """z, w'(z) / (sigma sqrt 2) and the scale of V = Re w(z) / (sigma sqrt(2 pi))."""
    width = sigma * math.sqrt(2)
    z = (x + 1j * gamma) / width
    return z, (2j / SQRT_PI - 2 * z * sp.wofz(z)) / width, 1 / (sigma * SQRT_2PI)


def _voigt_x(y: Array, x: Array, sigma: Array, gamma: Array) -> Any:
    _, dw, scale = _voigt(y, x, sigma, gamma)
    return scale * np.real(dw)


def _voigt_sigma(y: Array, x: Array, sigma: Array, gamma: Array) -> Any:
    z, dw, scale = _voigt(y, x, sigma, gamma)
    return -y / sigma - scale * math.sqrt(2) * np.real(z * dw)


def _voigt_gamma(y: Array, x: Array, sigma: Array, gamma: Array) -> Any:
    _, dw, scale = _voigt(y, x, sigma, gamma)
    return -scale * np.imag(dw)


def _or_lorentz(slope: Slope, lorentz: Slope) -> Slope:
    """``slope``, and where sigma is 0 that of the limit Re L, L = i / (π (x + i gamma))."""

    def either(y: Array, x: Array, sigma: Array, gamma: Array) -> Any:
        narrow = np.equal(sigma, 0)
        if not isinstance(narrow, Traced) and not np.any(narrow):
            return slope(y, x, sigma, gamma)
        z = np.where(narrow, x + 1j * gamma, 1.0)
        wide = slope(
            np.where(narrow, 1.0, y),
            np.where(narrow, 0.0, x),
            np.where(narrow, 1.0, sigma),
            np.where(narrow, 1.0, gamma),
        )
        return np.where(narrow, lorentz(sigma, z), wide)

    return either


special(
    "voigt_profile",
    x=_or_lorentz(_voigt_x, lambda sigma, z: np.imag(1 / (z * z)) / math.pi),
    # dV/dsigma = sigma d²V/dx², as for heat that spreads.
    sigma=_or_lorentz(_voigt_sigma, lambda sigma, z: -2 * sigma * np.imag(1 / z**3) / math.pi),
    gamma=_or_lorentz(_voigt_gamma, lambda sigma, z: np.real(1 / (z * z)) / math.pi),
)
special(
    "owens_t",
    h=lambda y, h, a: -np.exp(-0.5 * h * h) * sp.erf(a * h / math.sqrt(2)) / (2 * SQRT_2PI),
    a=lambda y, h, a: np.exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)),
)

# Exponentials, logarithms, powers.

levels_off(special("exp10", x=lambda y, x: math.log(10) * y), 0)
levels_off(special("exprel", x=lambda y, x: 0.5 * sp.hyp1f1(2, 3, x)), 0)
special("cosm1", x=lambda y, x: -np.sin(x))
special(
    "powm1",
    a=power_slope,
    b=lambda y, a, b: (y + 1) * np.log(np.where(a == 0, 1, y.dtype.type(1) * a)),
)
special("sindg", x=lambda y, x: DEGREE * sp.cosdg(x))
special("cosdg", x=lambda y, x: -DEGREE * sp.sindg(x))
special("tandg", x=lambda y, x: DEGREE * (1 + y * y))
special("cotdg", x=lambda y, x: -DEGREE * (1 + y * y))
special(
    "radian",
    d=lambda y, d, m, s: y.dtype.type(DEGREE),
    m=lambda y, d, m, s: y.dtype.type(DEGREE / 60),
    s=lambda y, d, m, s: y.dtype.type(DEGREE / 3600),
)
levels_off(special("expit", x=lambda y, x: y * sp.expit(-x)), 0)
special("logit", x=lambda y, x: 1 / (x * (1 - x)))
levels_off(special("log_expit", x=lambda y, x: sp.expit(-x)), 0)


def _ratio(a: Array, b: Array) -> Any:
    """a / b; 0 where both are 0. Elsewhere b stays: at a = 0 the slope of this is 1 / b."""
    return a / np.where((a == 0) & (b == 0), np.inf, b)


special("xlogy", a=lambda y, a, b: np.log(b * y.dtype.type(1)), b=lambda y, a, b: _ratio(a, b))
special(
    "xlog1py", a=lambda y, a, b: np.log1p(b * y.dtype.type(1)), b=lambda y, a, b: _ratio(a, 1 + b)
)
special("entr", x=lambda y, x: -np.log(x) - 1)


def _log_ratio(a: Array, b: Array) -> Any:
    """log(a / b), whose slope in b is -1 / b at a = 0 as well: there 0 would divide by 0."""
    at_zero = a == 0
    return np.log(np.where(at_zero, 1, a) / b) + np.log(np.where(at_zero, a, 1))


special("rel_entr", a=lambda y, a, b: _log_ratio(a, b) + 1, b=lambda y, a, b: -_ratio(a, b))
special("kl_div", a=lambda y, a, b: _log_ratio(a, b), b=lambda y, a, b: 1 - _ratio(a, b))


# (x^p - 1) / p = L exprel(p L) with L = log x: no division by p, which may be 0.
def boxcox_power(log: Array, p: Array) -> Any:
    """The derivative of (x^p - 1) / p in p."""
    return 0.5 * log * log * sp.hyp1f1(2, 3, p * log)


def _boxcox_p(x: Array, p: Array, log: Any, end: float) -> Any:
    """The same at the end of the domain, where the logarithm is -inf and y is -1 / p."""
    ended = np.equal(x, end) & np.greater(p, 0)
    inside = boxcox_power(log(np.where(ended, 1.0, x)), p)
    return np.where(ended, 1 / np.where(ended, p, 1.0) ** 2, inside)


special(
    "boxcox",
    x=lambda y, x, p: x ** (p - 1),
    p=lambda y, x, p: _boxcox_p(x, p, np.log, 0.0),
)
special(
    "boxcox1p",
    x=lambda y, x, p: (1 + x) ** (p - 1),
    p=lambda y, x, p: _boxcox_p(x, p, np.log1p, -1.0),
)
special(
    "inv_boxcox",
    y=lambda x, y, p: x ** (1 - p),
    p=lambda x, y, p: -boxcox_power(np.log(x), p) * x ** (1 - p),
)
special(
    "inv_boxcox1p",
    y=lambda x, y, p: (1 + x) ** (1 - p),
    p=lambda x, y, p: -boxcox_power(np.log1p(x), p) * (1 + x) ** (1 - p),
)

# Losses.

special(
    "huber",
    delta=lambda y, delta, r: np.maximum(np.abs(r) - delta, 0),
    r=lambda y, delta, r: np.clip(r * y.dtype.type(1), -delta, delta),
)


def _pseudo_huber_root(delta: Array, r: Array) -> Any:
    return np.sqrt(1 + (r / delta) ** 2)


def _pseudo_huber_r(y: Array, delta: Array, r: Array) -> Any:
    none = np.equal(delta, 0)  # the loss is 0
    return np.where(none, 0.0, r / _pseudo_huber_root(np.where(none, 1.0, delta), r))


special(
    "pseudo_huber",
    delta=lambda y, delta, r: 2 * y / delta - r * r / (delta * _pseudo_huber_root(delta, r)),
    r=_pseudo_huber_r,
)

# Exponential, sine and hyperbolic integrals.


def _expn_slope(y: Array, n: Any, x: Array) -> Any:
    n = np.trunc(n)  # as SciPy does
    first = -np.exp(-x) * (1 + x) / (x * x)
    return np.where(n == 0, first, -sp.expn(np.maximum(n - 1, 0), x))


levels_off(special("exp1", x=lambda y, x: -np.exp(-x) / x), 0)
levels_off(special("expi", x=lambda y, x: np.exp(x) / x), 0)
special("expn", n=NO_SLOPE, x=_expn_slope)
special_fan("sici", x=lambda y, x: (np.sinc(x / math.pi), np.cos(x) / x))
special_fan("shichi", x=lambda y, x: (0.5 * (_exprel(x) + _exprel(-x)), np.cosh(x) / x))


def _exprel(x: Array) -> Any:
    return sp.hyp1f1(1, 2, x)


def _spence_slope(y: Array, x: Array) -> Any:
    """log(x) / (1 - x), by its series where it is 0 / 0."""
    near = np.abs(x - 1) < 0.3
    far = np.where(near, 2, x)
    return np.where(near, -sp.hyp2f1(1, 1, 2, np.where(near, 1 - x, 0)), np.log(far) / (1 - far))


special("spence", x=_spence_slope)
special("_lambertw", z=lambda w, z, k, tol: np.exp(-w) / (1 + w))
special("wrightomega", z=lambda w, z: w / (1 + w))
