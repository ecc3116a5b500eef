"""Incomplete gamma and beta functions, and distribution functions of them; see `onnx_special`.

P(a, x)      x^a e^-x / Γ(a + 1) Σ x^k / ((a + 1) ... (a + k))   for x < a + 1, else 1 - Q
Q(a, x)      x^a e^-x / Γ(a) by a continued fraction             for x >= a + 1, else 1 - P
I_x(a, b)    x^a (1 - x)^b / (a B(a, b)) by a continued fraction where x < (a + 1) / (a + b + 2),
             else 1 - I_{1-x}(b, a)

The sum and the fractions, these by Lentz's method, are loops of the model with a fixed number of
steps, enough for shapes up to LARGEST; beyond it is NaN.

Source: NIST Digital Library of Mathematical Functions, 8.7, 8.9, 8.17; W. Lentz, "Generating
Bessel functions in Mie scattering calculations using continued fractions", 1976.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.tape import Equation, Var
from linad.export.onnx_exponentials import log1p
from linad.export.onnx_special import gammaln
from linad.export.onnx_values import NoForm
from linad.export.onnx_writer import Writer, composed, form

STEPS, LARGEST = 300, 200.0
TINY = 1e-300


def _not_zero(x: Any) -> Any:
    """Lentz's way past a denominator that vanishes."""
    return np.where(x == 0, TINY, x)


def _next(top: Any, bottom: Any, c: Any, d: Any, f: Any) -> tuple[Any, Any, Any]:
    """One more term top / (bottom + ...) of a fraction f, by Lentz's recurrence."""
    d = 1 / _not_zero(bottom + top * d)
    c = _not_zero(bottom + top / c)
    return c, d, f * c * d


def _written(
    writer: Writer,
    eqn: Equation,
    name: str,
    steps: list[Any],
    start: Callable[..., Any],
    end: Callable[..., Any],
) -> Any:
    """A function of the model: ``start`` of each loop, its steps, and ``end`` of what they make."""
    (y,) = eqn.outputs
    if y.dtype != np.float64:
        raise NoForm("it is written in double precision only")
    kind = y.shape, y.dtype
    for a in eqn.inputs[:-1]:
        if not isinstance(a, Var) and np.max(a) > LARGEST:
            raise NoForm(f"its shapes must be at most {LARGEST:g}, got {np.max(a):g}")
    operands = [
        (writer.expand(writer.read(a, y.dtype), np.shape(a), y.shape), *kind) for a in eqn.inputs
    ]

    def body(inner: Writer, *given: Any) -> str:
        last = []
        for k, (step, count) in enumerate(steps):
            names = inner.record(lambda *a, k=k: start(*a)[k], list(given), [kind] * count)
            made = inner.loop(STEPS, step, [(n, *kind) for n in names])
            last.append((made[-1], *kind))
        (found,) = inner.record(end, [*given, *last], [kind])
        return found

    return writer.call(name, body, operands)


# The incomplete gamma function.


def _gamma_sum(k: Any, a: Any, x: Any, term: Any, total: Any) -> Any:
    term = term * x / (a + (np.astype(k, a.dtype) + 1))
    return a, x, term, total + term


def _gamma_fraction(k: Any, a: Any, x: Any, c: Any, d: Any, f: Any) -> Any:
    # 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...
    n = np.astype(k, a.dtype) + 1
    return a, x, *_next(-n * (n - a), x + 2 * n + 1 - a, c, d, f)


def _gamma_start(a: Any, x: Any) -> Any:
    near = x < a + 1
    one = np.ones_like(x)
    far = np.where(near | (x == np.inf), np.abs(a) + 2, x)
    d = 1 / _not_zero(far + 1 - a)
    return (a, np.where(near, x, 0.0), one, one), (a, far, one / TINY, d, d)


def _gamma_end(upper: bool) -> Callable[..., Any]:
    def end(a: Any, x: Any, total: Any, fraction: Any) -> Any:
        inside = (x > 0) & (x < np.inf) & (a > 0)
        shape, size = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
        front = np.exp(shape * np.log(size) - size - gammaln(shape))
        lower = front * total / shape
        far = front * fraction
        near = x < a + 1
        y = np.where(near, 1 - lower, far) if upper else np.where(near, lower, 1 - far)
        left, right = (1.0, 0.0) if upper else (0.0, 1.0)
        y = np.where(x == 0, left, np.where(x == np.inf, right, y))
        y = np.where(a == 0, np.where(x > 0, right, np.nan), y)
        return np.where((a >= 0) & (a <= LARGEST) & (x >= 0), y, np.nan)

    return end


GAMMA = [(_gamma_sum, 4), (_gamma_fraction, 5)]


@form("gammainc")
def gammainc(writer: Writer, eqn: Equation) -> Any:
    return _written(writer, eqn, "GammaLower", GAMMA, _gamma_start, _gamma_end(False))


@form("gammaincc")
def gammaincc(writer: Writer, eqn: Equation) -> Any:
    return _written(writer, eqn, "GammaUpper", GAMMA, _gamma_start, _gamma_end(True))


# The incomplete beta function.


def _beta_fraction(k: Any, a: Any, b: Any, x: Any, c: Any, d: Any, f: Any) -> Any:
    # Two terms a step: m (b - m) x / ..., then -(a + m) (a + b + m) x / ...
    m = np.astype(k, a.dtype) + 1
    even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
    c, d, f = _next(even, np.ones_like(x), c, d, f)
    odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    return a, b, x, *_next(odd, np.ones_like(x), c, d, f)


def _beta_lanes(a: Any, b: Any, x: Any) -> Any:
    """Shapes and point of the fraction, and whether it is that of 1 - x."""
    good = (a > 0) & (b > 0) & (x > 0) & (x < 1)
    a, b, x = np.where(good, a, 1.0), np.where(good, b, 1.0), np.where(good, x, 0.25)
    turned = x >= (a + 1) / (a + b + 2)
    return np.where(turned, b, a), np.where(turned, a, b), np.where(turned, 1 - x, x), turned


def _beta_start(a: Any, b: Any, x: Any) -> Any:
    a, b, x, _ = _beta_lanes(a, b, x)
    d = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    return ((a, b, x, np.ones_like(x), d, d),)


def _beta_end(complement: bool) -> Callable[..., Any]:
    def end(a: Any, b: Any, x: Any, fraction: Any) -> Any:
        first, second, size, turned = _beta_lanes(a, b, x)
        ends = gammaln(first + second) - gammaln(first) - gammaln(second)
        # log(1 - size) of the turned lane is log x itself, which is exact.
        rest = np.where(turned, np.log(np.where(turned, x, 1.0)), log1p(-size))
        y = np.exp(ends + first * np.log(size) + second * rest) * fraction / first
        y = np.where(turned, y, 1 - y) if complement else np.where(turned, 1 - y, y)
        left, right = (1.0, 0.0) if complement else (0.0, 1.0)
        y = np.where(x == 0, left, np.where(x == 1, right, y))
        # Of a shape that is 0 all weight lies at one end.
        at_zero = np.where(x > 0, right, left)
        at_one = np.where(x == 1, right, left)
        y = np.where(a == 0, at_zero, np.where(b == 0, at_one, y))
        good = (a >= 0) & (b >= 0) & (a + b > 0) & (x >= 0) & (x <= 1)
        return np.where(good & (a <= LARGEST) & (b <= LARGEST), y, np.nan)

    return end


BETA = [(_beta_fraction, 6)]


@form("betainc")
def betainc(writer: Writer, eqn: Equation) -> Any:
    return _written(writer, eqn, "BetaLower", BETA, _beta_start, _beta_end(False))


@form("betaincc")
def betaincc(writer: Writer, eqn: Equation) -> Any:
    return _written(writer, eqn, "BetaUpper", BETA, _beta_start, _beta_end(True))


# Distribution functions: chi square, gamma, Poisson, F, Student's.


@composed("chdtr")
def chdtr(v: Any, x: Any) -> Any:
    return sp.gammainc(0.5 * v, 0.5 * x)


@composed("chdtrc")
def chdtrc(v: Any, x: Any) -> Any:
    return sp.gammaincc(0.5 * v, 0.5 * x)


def _of_rate(a: Any, x: Any, y: Any) -> Any:
    return np.where((x >= 0) & ((a >= 0) | (x == 0)), y, np.nan)


@composed("gdtr")
def gdtr(a: Any, b: Any, x: Any) -> Any:
    return _of_rate(a, x, sp.gammainc(b, a * x))


@composed("gdtrc")
def gdtrc(a: Any, b: Any, x: Any) -> Any:
    return _of_rate(a, x, sp.gammaincc(b, a * x))


def _of_counts(k: Any, m: Any, at_zero: float, y: Any) -> Any:
    return np.where(k < 0, np.nan, np.where(m == 0, at_zero, y))


@composed("pdtr")
def pdtr(k: Any, m: Any) -> Any:
    return _of_counts(k, m, 1.0, sp.gammaincc(np.floor(k) + 1, m))


@composed("pdtrc")
def pdtrc(k: Any, m: Any) -> Any:
    return _of_counts(k, m, 0.0, sp.gammainc(np.floor(k) + 1, m))


def _of_ratio(a: Any, b: Any, x: Any, y: Any) -> Any:
    return np.where((a > 0) & (b > 0) & (x >= 0), y, np.nan)


@composed("fdtr")
def fdtr(a: Any, b: Any, x: Any) -> Any:
    return _of_ratio(a, b, x, sp.betainc(0.5 * a, 0.5 * b, a * x / (a * x + b)))


@composed("fdtrc")
def fdtrc(a: Any, b: Any, x: Any) -> Any:
    return _of_ratio(a, b, x, sp.betainc(0.5 * b, 0.5 * a, b / (a * x + b)))


@composed("stdtr")
def stdtr(df: Any, t: Any) -> Any:
    # Of the two points that add up to 1 the smaller one, which is exact, is handed on.
    square = t * t
    near, far = np.minimum(square, df), np.maximum(square, df)
    inner = sp.betaincc(0.5, 0.5 * df, near / (df + near))
    outer = sp.betainc(0.5 * df, 0.5, df / (df + far))
    tail = 0.5 * np.where(square < df, inner, outer)
    return np.where(df > 0, np.where(t < 0, tail, 1 - tail), np.nan)
