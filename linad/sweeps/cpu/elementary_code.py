"""Elementary functions as straight-line code, which loops vectorise with no call in them.

No branches, no tables, no conversion to integers. `exp`, `exp2`, `expm1`, `tanh`, `log1p` and
`erf` are right for every number. `sin`, `cos` and `tan` are so below `FAR`, `log`, `log2` and
`log10` for what is positive, finite and no denormal; `is_far` and `is_edge` say where they are
not, and `log_of_any` and its like hold everywhere. Errors stay below 4 units in the last place
(`tests/sweeps/cpu/test_elementary_code.py`).

To round to an integer, 1.5 2^52 is added and subtracted: the sum has no digits after the point,
and its last bits are the integer. `sin` and `cos` of one argument write the same reduction and
the same two polynomials, of which the compiler keeps one.

Sources: W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980
(reductions, in parts of ln 2 and of pi/2 whose products are exact); P. T. P. Tang, "Table-driven
implementation of the logarithm function", 1990 (log by 2 artanh(f / (2 + f))); G. Estrin,
"Organization of computer systems: the fixed plus variable structure computer", 1960 (order of
evaluation). Coefficients are Chebyshev fits computed in 60 digits.
"""

import math
from collections.abc import Callable
from typing import Any

from linad.sweeps.cpu.written_numbers import BIAS, EXPLICIT_DIGITS, Written, select

# (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
EXP = {
    64: [
        0.5,
        0.1666666666666667,
        0.04166666666666667,
        0.008333333333326141,
        0.0013888888888883752,
        0.00019841269874800493,
        2.4801587325533363e-05,
        2.7557255425746435e-06,
        2.7557273661348637e-07,
        2.510520637395701e-08,
        2.0914679376583935e-09,
    ],
    32: [0.5, 0.1666657702559799, 0.041666554662050534, 0.008363173074513711, 0.001392617611993558],
}

# (sin(r) / r - 1) / r^2 in r^2, for |r| <= pi / 4.
SIN = {
    64: [
        -0.16666666666666666,
        0.008333333333330948,
        -0.00019841269836756774,
        2.7557316101617874e-06,
        -2.505113165023518e-08,
        1.5918115263265974e-10,
    ],
    32: [-0.16666664661714697, 0.008332748154085032, -0.00019587865702101875],
}

# (cos(r) - 1 + r^2 / 2) / r^4 in r^2, for |r| <= pi / 4.
COS = {
    64: [
        0.041666666666666664,
        -0.0013888888888887398,
        2.480158729876456e-05,
        -2.7557317271145144e-07,
        2.087614614655861e-09,
        -1.1382623647474604e-11,
    ],
    32: [0.041666664658901405, -0.0013888302919113633, 2.4547916853691016e-05],
}

# (2 artanh(s) - 2 s) / s^3 in s^2, for s = f / (2 + f) and 1 + f between 2^-1/2 and 2^1/2.
LOG = {
    64: [
        0.6666666666666666,
        0.40000000000000885,
        0.28571428570799784,
        0.22222222392581045,
        0.18181795547521137,
        0.15386244737621665,
        0.13268638369266825,
        0.13088034850927555,
    ],
    32: [0.6666666655404201, 0.4000012221181065, 0.28550778633191964, 0.23331614471843498],
}

# erf(x) / x in x^2, for |x| <= 1.
ERF = {
    64: [
        1.1283791670955126,
        -0.3761263890318375,
        0.11283791670954879,
        -0.026866170645076792,
        0.0052239776248180145,
        -0.000854832698083379,
        0.0001205533111164271,
        -1.4925595266831182e-05,
        1.6461000484121368e-06,
        -1.6350312701054695e-07,
        1.4659775274047436e-08,
        -1.1372848856791674e-09,
        5.957176147748911e-11,
    ],
    32: [
        1.1283791658483509,
        -0.37612626666720334,
        0.11283594715160218,
        -0.026854212010626412,
        0.005189087423433974,
        -0.000801686428716587,
        7.875875062685488e-05,
    ],
}

# erfc(x) exp(x^2) in 1 / (1 + x / 2), for x >= 1.
ERFC = {
    64: [
        9.034572678951088e-08,
        0.28209119187356047,
        0.28216113128850184,
        0.24608351614011334,
        0.18210619715165086,
        0.05128809158060131,
        0.13107050507737958,
        -0.48370910758121377,
        0.9616309349406202,
        -1.7945590783984564,
        2.3003496965467365,
        -1.7840043769693545,
        0.7460955263435299,
        -0.08366976972594717,
        -0.05391227354273007,
        0.01697951056245914,
    ],
    32: [
        -0.00010580983082009934,
        0.2840830539217485,
        0.26585925581312897,
        0.32178315786143846,
        -0.03563352567077991,
        0.4505856584923107,
        -0.3554683970975913,
        0.05201381481046153,
        0.016993231328225503,
    ],
}

# Numbers in two parts: the product of the first and of an exponent is exact.
LN2 = {
    64: (6.93147180369123816490e-01, 1.90821492927058770002e-10),
    32: (0.693359375, -2.12194440e-4),
}
LOG10_2 = {
    64: (3.01029995663611771306e-01, 3.69423907715893078616e-13),
    32: (3.0102920532e-01, 7.9034151668e-07),
}

LOG_2 = math.log(2)

# The product of each part but the last and of a quadrant below FAR is exact.
HALF_PI = {
    64: (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21),
    32: (1.5703125, 0.0004837512969970703, 7.549533620476723e-08, 2.5633440682570896e-12),
}

FAR = {64: 1.0e6, 32: 8.0e3}
"""From where on `sin`, `cos` and `tan` are not right."""

ROUNDING = {64: 1.5 * 2.0**52, 32: 1.5 * 2.0**23}
ROOT_BITS = {64: 0x3FE6A09E667F3BCD, 32: 0x3F3504F3}  # of 2^-1/2
LEAST_NORMAL = {64: 2.0**-1022, 32: 2.0**-126}
LEAST_NORMAL_BITS = {64: 1 << 52, 32: 1 << 23}
INFINITY_BITS = {64: 0x7FF << 52, 32: 0xFF << 23}


# Parts.


def polynomial(x: Written, coefficients: list[float]) -> Written:
    """c0 + c1 x + c2 x^2 + ..., pair by pair: chains are short."""
    terms: list[Any] = coefficients
    power = x
    while len(terms) > 1:
        pairs = [
            x.like(terms[k + 1]).fma(power, terms[k]) if k + 1 < len(terms) else terms[k]
            for k in range(0, len(terms), 2)
        ]
        terms, power = pairs, power * power
    return terms[0]  # type: ignore[no-any-return]


def rounded(x: Written) -> tuple[Written, Written]:
    """The nearest integer, and bits whose last ones are the integer's."""
    sum_ = x + ROUNDING[x.width]
    return sum_ - ROUNDING[x.width], sum_.bits()


def power_of_two(integer: Written) -> Written:
    """2 to an integer, of which the last bits count."""
    width = integer.width
    return integer.plus_bits(BIAS[width]).shifted_left(EXPLICIT_DIGITS[width]).number()


def within(x: Written, low: float, high: float) -> Written:
    """The number between two bounds that is nearest; NaN stays."""
    x = select(x.is_below(low), low, x)
    return select(x.like(high).is_below(x), high, x)


def _tiny(x: Written) -> Any:
    """Whether a function with f(x) = x + O(x^2) is x in this precision."""
    return x.abs().is_below(2.0 ** -(EXPLICIT_DIGITS[x.width] + 2))


# Exponentials.


def _power_of_e(x: Written) -> tuple[Written, Written]:
    """e^r - 1 and bits of k, where x = k ln(2) + r and r is least."""
    k, bits = rounded(x * math.log2(math.e))
    high, low = LN2[x.width]
    r = (-k).fma(low, (-k).fma(high, x))
    return (r * r).fma(polynomial(r, EXP[x.width]), r), bits


def _scaled(p: Written, bits: Written) -> Written:
    """(1 + p) 2^k in two steps: results may be denormal, and there is no 2^1024."""
    shift = 50 if bits.width == 64 else 22
    k = bits.shifted_left(shift).shifted_right(shift)
    half = k.shifted_right(1)
    first = power_of_two(half)
    return p.fma(first, first) * power_of_two(k.minus_bits(half))


def exp(x: Written) -> Written:
    low, high = (-746.0, 710.0) if x.width == 64 else (-104.0, 89.0)
    return _scaled(*_power_of_e(within(x, low, high)))


def exp2(x: Written) -> Written:
    low, high = (-1076.0, 1025.0) if x.width == 64 else (-151.0, 129.0)
    x = within(x, low, high)
    k, bits = rounded(x)
    r = x - k
    p = polynomial(r, [c * LOG_2 ** (n + 2) for n, c in enumerate(EXP[x.width])])
    return _scaled(r.fma(LOG_2, r * r * p), bits)


def expm1(x: Written) -> Written:
    low, high = (-40.0, 710.0) if x.width == 64 else (-20.0, 89.0)
    p, bits = _power_of_e(within(x, low, high))
    s = power_of_two(bits.minus_bits(1))
    half = p.fma(s, s - 0.5)  # of the result, which may be more than 2^1024 / 2
    return select(_tiny(x), x, half + half)


def tanh(x: Written) -> Written:
    # (e^2x - 1) / (e^2x + 1)
    a = within(x.abs(), 0.0, 20.0 if x.width == 64 else 10.0)
    p, bits = _power_of_e(a + a)
    s = power_of_two(bits)
    t = p.fma(s, s - 1.0)
    return (t / (t + 2.0)).copysign(x)


# Logarithms.


def _exponent_and_rest(x: Written) -> tuple[Written, Written]:
    """k and f, where x = 2^k (1 + f) and 1 + f is between 2^-1/2 and 2^1/2."""
    digits, bits = EXPLICIT_DIGITS[x.width], x.bits()
    e = bits.minus_bits(ROOT_BITS[x.width]).shifted_right(digits)
    f = bits.minus_bits(e.shifted_left(digits)).number() - 1.0
    # To a number, by adding it to the bits of one whose last digit is 1.
    rounding = x.like(ROUNDING[x.width])
    return e.plus_bits(rounding.bits()).number() - rounding, f


def _log(f: Written, k: Written, parts: tuple[float, float], tail: Any = None) -> Written:
    """k ln(2) + log(1 + f) + tail, ln(2) in parts."""
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    rest = half + z * polynomial(z, LOG[f.width])
    low = k * parts[1] if tail is None else k.fma(parts[1], tail)
    return k.fma(parts[0], f - (half - s.fma(rest, low)))


def _log_of_rest(f: Written) -> Written:
    """log(1 + f)."""
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    return f - (half - s * (half + z * polynomial(z, LOG[f.width])))


def _log_of(f: Written, k: Written) -> Written:
    return _log(f, k, LN2[f.width])


def _log2_of(f: Written, k: Written) -> Written:
    return _log_of_rest(f).fma(math.log2(math.e), k)


def _log10_of(f: Written, k: Written) -> Written:
    high, low = LOG10_2[f.width]
    return k.fma(high, k.fma(low, _log_of_rest(f) * math.log10(math.e)))


def _logarithms(of: Callable[..., Any]) -> tuple[Any, Any]:
    """A logarithm for what is positive, finite and no denormal, and for any number."""

    def of_normal(x: Written) -> Written:
        k, f = _exponent_and_rest(x)
        return of(f, k)  # type: ignore[no-any-return]

    def of_any(x: Written) -> Written:
        digits = EXPLICIT_DIGITS[x.width] + 2
        denormal = x.is_below(LEAST_NORMAL[x.width])
        k, f = _exponent_and_rest(select(denormal, x * 2.0**digits, x))
        y = of(f, select(denormal, k - float(digits), k))
        return _at_edges(x, y, 0.0)

    return of_normal, of_any


def _at_edges(x: Written, y: Written, end: float) -> Written:
    """A logarithm that is -inf at ``end``, where it is not the finite number ``y``."""
    y = select(x.is_below(math.inf), y, x)  # inf and NaN
    y = select(x.is_below(end), math.nan, y)
    return select(x.equals(end), -math.inf, y)


log, log_of_any = _logarithms(_log_of)
log2, log2_of_any = _logarithms(_log2_of)
log10, log10_of_any = _logarithms(_log10_of)


def is_edge(x: Written) -> Any:
    """Whether `log`, `log2` and `log10` are not right: not positive, not finite, or denormal."""
    least = LEAST_NORMAL_BITS[x.width]
    return x.bits().minus_bits(least).reaches_bits(INFINITY_BITS[x.width] - least)


def log1p(x: Written) -> Written:
    u = x + 1.0
    k, f = _exponent_and_rest(u)
    near = k.equals(0.0)
    # What rounding lost of 1 + x, divided by u = 2^k m, for which two digits are enough: 1 / m is
    # about 2.99 - 2.89 m + 0.9 m^2. Nothing counts from 2^64 on.
    lost = select(x.like(1.0).is_below(x), 1.0 - (u - x), x - (u - 1.0))
    m = f + 1.0
    shrink = power_of_two(x.bits().like(0).minus_bits((k + ROUNDING[x.width]).bits()))
    tail = lost * ((m * m).fma(0.9, m * -2.89) + 2.99) * shrink
    tail = select(near, 0.0, select(k.is_below(64.0), tail, 0.0))
    y = _log(select(near, x, f), k, LN2[x.width], tail)
    return _at_edges(x, select(_tiny(x), x, y), -1.0)


# Trigonometric functions.


def _sin_cos(x: Written) -> tuple[Written, Written, Written]:
    """sin(r), cos(r) and bits of q, where x = q pi/2 + r and r is least."""
    q, bits = rounded(x * (2 / math.pi))
    r = x
    for part in HALF_PI[x.width]:
        r = (-q).fma(part, r)
    z = r * r
    s = (r * z).fma(polynomial(z, SIN[x.width]), r).copysign(r)  # -0 stays
    c = (z * z).fma(polynomial(z, COS[x.width]), z.fma(-0.5, 1.0))
    return s, c, bits


def _in_quadrant(s: Written, c: Written, quadrant: Written) -> Written:
    y = select(quadrant.is_odd(), c, s).bits()
    sign = quadrant.and_bits(2).shifted_left(quadrant.width - 2)
    return y.xor_bits(sign).number()


def sin(x: Written) -> Written:
    return _in_quadrant(*_sin_cos(x))


def cos(x: Written) -> Written:
    s, c, quadrant = _sin_cos(x)
    return _in_quadrant(s, c, quadrant.plus_bits(1))


def tan(x: Written) -> Written:
    s, c, quadrant = _sin_cos(x)
    odd = quadrant.is_odd()
    return select(odd, -c, s) / select(odd, s, c)


def is_far(x: Written) -> Any:
    """Whether `sin`, `cos` and `tan` are not right: large, or NaN."""
    return x.builder.not_(x.abs().is_below(FAR[x.width]))


# The error function.


def erf(x: Written) -> Written:
    a = within(x.abs(), 0.0, 6.5 if x.width == 64 else 4.2)
    near = a * polynomial(a * a, ERF[x.width])
    p, bits = _power_of_e(-(a * a))
    s = power_of_two(bits)
    t = 1.0 / a.fma(0.5, 1.0)
    far = 1.0 - p.fma(s, s) * polynomial(t, ERFC[x.width])
    return select(a.is_below(1.0), near, far).copysign(x)
