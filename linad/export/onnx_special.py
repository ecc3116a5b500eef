"""Special functions, from series and from polynomials that are fitted when a model is written.

A smooth function is fitted by Chebyshev interpolation of SciPy's values on an interval, to
rounding; the model holds the coefficients.

erf         x p(x^2) below 1, and 1 - e^(-x^2) erfcx(x) beyond
erfcx       p((x - c) / (x + c)) / (1 + 2 x) for x >= 0
gammaln     (z - 1/2) log z - z + log(2 pi) / 2 + 1 / 12z - ...   at z = x + n, less log x(x+1)...
psi         log z - 1 / 2z - 1 / 12z^2 + ...                      the same way
zeta(s, x)  Euler's and Maclaurin's sum

Source: NIST Digital Library of Mathematical Functions, 7.6, 5.5, 5.11, 25.11; L. N. Trefethen,
"Approximation Theory and Approximation Practice", 2013.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from linad.core.array_type import Array
from linad.core.tape import Equation, Var
from linad.export.onnx_values import NoForm
from linad.export.onnx_writer import Writer, composed, form

SQRT_PI = math.sqrt(math.pi)


@functools.cache
def _coefficients(function: Callable[..., Any], degree: int) -> tuple[float, ...]:
    """Of the Chebyshev series on [-1, 1] of a function."""
    fitted = np.polynomial.chebyshev.chebinterpolate(function, degree)
    return tuple(fitted.tolist())


def fitted_series(function: Callable[..., Any], degree: int, t: Array) -> Any:
    """The series at t, by Clenshaw's recurrence."""
    coefficients = _coefficients(function, degree)
    now, last = t * 0, t * 0
    for c in coefficients[:0:-1]:
        now, last = c + 2 * t * now - last, now
    return coefficients[0] + t * now - last


# The error function.

CENTRE = 3.0


def _erf_near(t: Any) -> Any:
    """erf(x) / x for x^2 = (t + 1) / 2."""
    x = np.sqrt(np.maximum((t + 1) / 2, 0.0))
    small = x < 1e-8
    return np.where(small, 2 / SQRT_PI, scipy.special.erf(x) / np.where(small, 1.0, x))


def _erfcx_far(t: Any) -> Any:
    """(1 + 2 x) erfcx(x) for t = (x - c) / (x + c)."""
    end = t == 1
    x = CENTRE * (1 + t) / np.where(end, 1.0, 1 - t)
    return np.where(end, 2 / SQRT_PI, (1 + 2 * x) * scipy.special.erfcx(x))


def _erf_small(x: Any) -> Any:
    """erf where |x| <= 1."""
    return x * fitted_series(_erf_near, 18, 2 * x * x - 1)


def _erfcx_positive(x: Any) -> Any:
    """erfcx where x >= 0."""
    x = np.minimum(x, 1e300 if x.dtype == np.float64 else 1e18)
    t = (x - CENTRE) / (x + CENTRE)
    return fitted_series(_erfcx_far, 40, t) / (1 + 2 * x)


def _bell(x: Any) -> Any:
    """e^(-x^2), with what squaring rounds away made up for."""
    step = 64.0
    head = np.rint(np.minimum(np.abs(x), 40.0) * step) / step
    tail = np.abs(x) - head
    return np.exp(-head * head) * np.exp(-tail * (head + np.abs(x)))


@composed("erf")
def erf(x: Any) -> Any:
    size = np.abs(x)
    near = size <= 1
    inside, outside = np.where(near, x, 0.0), np.where(near, 1.0, size)
    far = 1 - _bell(outside) * _erfcx_positive(outside)
    return np.where(x != x, x, np.where(near, _erf_small(inside), np.sign(x) * far))


@composed("erfc")
def erfc(x: Any) -> Any:
    near = np.abs(x) <= 0.5
    size = np.where(near, 0.5, np.abs(x))
    far = _bell(size) * _erfcx_positive(size)
    far = np.where(x < 0, 2 - far, far)
    return np.where(x != x, x, np.where(near, 1 - _erf_small(np.where(near, x, 0.0)), far))


@composed("erfcx")
def erfcx(x: Any) -> Any:
    y = _erfcx_positive(np.abs(x))
    below = np.minimum(x, 0.0)
    return np.where(x != x, x, np.where(x < 0, 2 / _bell(below) - y, y))


@composed("ndtr")
def ndtr(x: Any) -> Any:
    return 0.5 * erfc(x * -math.sqrt(0.5))


@composed("log_ndtr")
def log_ndtr(x: Any) -> Any:
    t = x * math.sqrt(0.5)
    below = t < -1
    tail = -t * t + np.log(0.5 * _erfcx_positive(np.where(below, -t, 1.0)))
    return np.where(below, tail, np.log1p(-0.5 * erfc(np.where(below, 0.0, t))))


# The gamma function and its logarithmic derivatives.

SHIFT = 10
BERNOULLI = scipy.special.bernoulli(24)[2::2].tolist()
"""B_2, B_4, ..."""


def _shifted(x: Array) -> Any:
    """x + SHIFT and x (x + 1) ... (x + SHIFT - 1) where x is small; x and 1 elsewhere."""
    low = x < SHIFT
    z = np.where(low, x, 1.0)
    product = z
    for k in range(1, SHIFT):
        product = product * (z + k)
    return np.where(low, x + SHIFT, x), np.where(low, product, 1.0)


def _stirling_series(z: Array) -> Any:
    """What log gamma is more than (z - 1/2) log z - z + log(2 pi) / 2, for z >= SHIFT."""
    square = 1 / (z * z)
    total = square * 0
    for k in range(8, 0, -1):
        total = total * square + BERNOULLI[k - 1] / (2 * k * (2 * k - 1))
    return total / z


def _gammaln_positive(x: Any) -> Any:
    z, product = _shifted(x)
    stirling = (z - 0.5) * np.log(z) - z + 0.5 * math.log(2 * math.pi) + _stirling_series(z)
    return stirling - np.log(product)


def _sine_of_pi(x: Array) -> Any:
    """sin(pi x), exact at whole numbers."""
    whole = np.rint(x)
    odd = whole - 2 * np.floor(whole / 2)
    return np.sin(np.pi * (x - whole)) * (1 - 2 * odd)


def _near(x: Any, at: int) -> Any:
    """gammaln at x = at + d, |d| <= 0.3, to relative rounding at its zeros 1 and 2."""

    def quotient(t: Any) -> Any:
        d = 0.3 * t
        small = np.abs(d) < 1e-7
        slope = scipy.special.digamma(at) + 0.5 * scipy.special.polygamma(1, at) * d
        exact = scipy.special.gammaln(at + d) / np.where(small, 1.0, d)
        return np.where(small, slope, exact)

    quotient = _NEAR.setdefault(at, quotient)
    d = x - at
    return d * fitted_series(quotient, 26, d / 0.3)


_NEAR: dict[int, Any] = {}


@composed("gammaln")
def gammaln(x: Any) -> Any:
    negative = x < 0.5
    size = np.where(negative, 1 - x, x)
    y = _gammaln_positive(size)
    for at in (1, 2):
        close = np.abs(size - at) <= 0.3
        y = np.where(close, _near(np.where(close, size, 1.0 * at), at), y)
    reflected = math.log(math.pi) - np.log(np.abs(_sine_of_pi(x))) - y
    y = np.where(negative, reflected, y)
    return np.where(x != x, x, np.where(np.abs(x) == np.inf, np.inf, y))


@composed("gammasgn")
def gammasgn(x: Any) -> Any:
    whole = np.floor(x)
    odd = whole - 2 * np.floor(whole / 2)
    y = np.where(x >= 0, 1.0, np.where(x == whole, np.nan, 1 - 2 * odd))
    return np.where((x == 0) & np.signbit(x), -1.0, y)


def _gamma_positive(x: Array) -> Any:
    """gamma for x >= 0.5: the power in two halves, as it overflows earlier than the quotient."""
    w, product = _shifted(x)
    half = np.power(w, 0.5 * w - 0.25)
    y = half * np.exp(-w) * half * math.sqrt(2 * math.pi) * np.exp(_stirling_series(w))
    return np.where(w > 200, np.inf, y) / product  # in double precision from 171.7 on


@composed("gamma")
def gamma(x: Array) -> Any:
    negative = x < 0.5
    y = _gamma_positive(np.where(negative, 1 - x, x))
    sine = np.where(negative, _sine_of_pi(x), 1.0)
    pole = (x == np.floor(x)) & (x < 0)
    y = np.where(negative, np.pi / np.where(sine == 0, x, sine) / y, y)
    return np.where(x != x, x, np.where(pole, np.nan, np.where(x == np.inf, np.inf, y)))


@composed("rgamma")
def rgamma(x: Array) -> Any:
    negative = x < 0.5
    y = _gamma_positive(np.where(negative, 1 - x, x))
    return np.where(negative, _sine_of_pi(np.where(negative, x, 0.0)) * y / np.pi, 1 / y)


@composed("psi")
def psi(x: Array) -> Any:
    negative = x < 0.5
    size = np.where(negative, 1 - x, x)
    low = size < SHIFT
    z = np.where(low, size, 1.0)
    total = 1 / z
    for k in range(1, SHIFT):
        total = total + 1 / (z + k)
    w = np.where(low, size + SHIFT, size)
    square = 1 / (w * w)
    rest = square * 0
    for k in range(8, 0, -1):
        rest = square * (BERNOULLI[k - 1] / (2 * k) + rest)
    y = np.log(w) - 0.5 / w - rest - np.where(low, total, 0.0)
    turn = np.pi * (x - np.rint(x))
    tangent = np.where(negative, np.tan(turn), 1.0)
    pole = (x == np.floor(x)) & (x <= 0)
    return np.where(pole, np.nan, np.where(negative, y - np.pi / tangent, y))


@composed("zeta")
def zeta(s: Any, x: Any) -> Any:
    # Σ_{k<N} (x+k)^-s + w^(1-s) / (s-1) + w^-s / 2 + Σ_j B_2j / (2j)! s (s+1) ... w^(-s-2j+1)
    # For negative x, where s is whole, as many terms more.
    negative = x < 0
    first = _powers(np.where(negative, x, 1.0), s, NEGATIVE)
    x = np.where(negative, x + NEGATIVE, x)
    total = _powers(x, s, COUNT)
    w = x + COUNT
    power = np.power(w, -s)
    total = total + w * power / (s - 1) + 0.5 * power
    factor, power = s, power / w
    for j in range(1, 12):
        total = total + BERNOULLI[j - 1] / math.factorial(2 * j) * factor * power
        factor, power = factor * (s + 2 * j - 1) * (s + 2 * j), power / w / w
    total = np.where(negative, first + total, total)
    good = (s > 1) & (x >= 0) & (~negative | (s == np.floor(s)))
    return np.where(good, total, np.nan)


COUNT, NEGATIVE = 12, 64


def _powers(x: Any, s: Any, count: int) -> Any:
    """Σ_{k<count} (x + k)^-s"""
    wide = np.reshape(x, (*np.shape(x), 1)) + np.arange(count, dtype=x.dtype)
    s = np.reshape(s, (*np.shape(s), 1)) if np.ndim(s) else s
    return np.sum(np.power(wide, -s), axis=-1)


@composed("betaln")
def betaln(a: Any, b: Any) -> Any:
    return gammaln(a) + gammaln(b) - gammaln(a + b)


@composed("beta")
def beta(a: Any, b: Any) -> Any:
    sign = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    return sign * np.exp(betaln(a, b))


@composed("poch")
def poch(a: Any, m: Any) -> Any:
    sign = gammasgn(a) * gammasgn(a + m)
    return sign * np.exp(gammaln(a + m) - gammaln(a))


# The modified Bessel functions of whole orders: two intervals each.

EDGE = 8.0


def _bessel(function: Callable[..., Any], x: Array) -> Any:
    """A scaled Bessel function e^-x I(x), x >= 0."""
    near = x <= EDGE
    inside, outside = np.where(near, x, EDGE), np.where(near, EDGE, x)
    low = fitted_series(_pieces(function, False), 40, 2 * inside / EDGE - 1)
    high = fitted_series(_pieces(function, True), 40, 2 * EDGE / outside - 1) / np.sqrt(outside)
    return np.where(near, low, high)


@functools.cache
def _pieces(function: Callable[..., Any], far: bool) -> Callable[..., Any]:
    def low(t: Array) -> Any:
        return function(EDGE * (t + 1) / 2)

    def high(t: Array) -> Any:
        start = t == -1
        x = 2 * EDGE / np.where(start, 1.0, t + 1)
        return np.where(start, 1 / math.sqrt(2 * math.pi), function(x) * np.sqrt(x))

    return high if far else low


@composed("i0e")
def i0e(x: Any) -> Any:
    return _bessel(scipy.special.i0e, np.abs(x))


@composed("i1e")
def i1e(x: Any) -> Any:
    return np.sign(x) * _bessel(scipy.special.i1e, np.abs(x))


@composed("i0")
def i0(x: Any) -> Any:
    half = np.exp(0.5 * np.abs(x))
    return i0e(x) * half * half


@composed("i1")
def i1(x: Any) -> Any:
    half = np.exp(0.5 * np.abs(x))
    return i1e(x) * half * half


def scaled_bessel(order: int, x: Array) -> Any:
    """e^-x I(x) of a whole order, x >= 0."""
    return _bessel(_of_order(order), x)


@functools.cache
def _of_order(order: int) -> Callable[..., Any]:
    return lambda x: scipy.special.ive(order, x)


def whole_order(eqn: Equation) -> int:
    """The size of the order of a Bessel function, a known whole number up to 6."""
    order = eqn.inputs[0]
    if isinstance(order, Var) or np.size(order) != 1 or float(np.ravel(order)[0]) % 1:
        raise NoForm("its order must be one whole number that is known")
    found = abs(int(np.ravel(order)[0]))
    if found > 6:
        raise NoForm(f"its order must be at most 6, got {found}")
    return found


@form("ive")
def ive(writer: Writer, eqn: Equation) -> Any:
    function, odd = _of_order(whole_order(eqn)), whole_order(eqn) % 2

    def scaled(order: Any, x: Any) -> Any:
        y = _bessel(function, np.abs(x))
        return np.sign(x) * y if odd else y

    return writer.compose(eqn, scaled)


@form("iv")
def iv(writer: Writer, eqn: Equation) -> Any:
    function, odd = _of_order(whole_order(eqn)), whole_order(eqn) % 2

    def unscaled(order: Any, x: Any) -> Any:
        half = np.exp(0.5 * np.abs(x))
        y = _bessel(function, np.abs(x)) * half * half
        return np.sign(x) * y if odd else y

    return writer.compose(eqn, unscaled)


# Kummer's function of positive parameters: Σ (a)_k x^k / (b)_k k!, all terms positive.

TERMS, FARTHEST = 700, 400.0


@form("hyp1f1")
def hyp1f1(writer: Writer, eqn: Equation) -> Any:
    (a, b, x), (y,) = eqn.inputs, eqn.outputs
    known = not isinstance(a, Var) and not isinstance(b, Var) and np.size(a) == np.size(b) == 1
    if not known or not np.all((a > 0) & (b >= a)) or not isinstance(x, Var):
        raise NoForm("its parameters must be numbers 0 < a <= b that are known")
    if x.shape != y.shape:
        raise NoForm("its parameters must be numbers")
    first, second = float(np.ravel(a)[0]), float(np.ravel(b)[0])

    def step(k: Array, size: Array, upper: Array, term: Array, total: Array) -> Any:
        n = np.astype(k, size.dtype)
        term = term * (upper + n) / (second + n) * size / (n + 1)
        return size, upper, term, total + term

    def body(inner: Writer, x: tuple[Any, ...]) -> Any:
        # For x < 0 it is e^x times the function of b - a, b and -x.
        kinds = [(x[1], x[2])] * 3
        name, shape, dtype = x
        size, upper, one = inner.record(
            lambda x: (
                np.minimum(np.abs(x), FARTHEST),
                np.where(x < 0, second - first, first),
                np.ones_like(x),
            ),
            [x],
            kinds,
        )
        carried = [(n, shape, dtype) for n in (size, upper, one, one)]
        total = inner.loop(TERMS, step, carried)[3]
        (found,) = inner.record(
            lambda x, total: np.where(
                np.abs(x) > FARTHEST, np.nan, np.where(x < 0, np.exp(x) * total, total)
            ),
            [x, (total, shape, dtype)],
            kinds[:1],
        )
        return found

    name = f"Kummer_{first}_{second}".replace(".", "p")
    return writer.call(name, body, [(writer.read(x, y.dtype), x.shape, y.dtype)])
