"""Infinite values of data stay where they are; at poles derivatives are NaN, or their limits."""

import numpy as np
import pytest
import scipy.special as sp

import linad
from linad.core.primitive import Primitive
from linad.operators.slopes import SlopeRule
from linad.rules.special import GROWING

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# Each at an end or inside of its domain, with the side on which it is finite.
POLES = {
    "1 / x": (lambda x: 1 / x, 0.0, 1),
    "1 / x²": (lambda x: 1 / x**2, 0.0, 1),
    "power": (lambda x: x**-1.5, 0.0, 1),
    "power of arrays": (lambda x: x ** np.array(-0.5), 0.0, 1),
    "reciprocal": (np.reciprocal, 0.0, 1),
    "log": (np.log, 0.0, 1),
    "log2": (np.log2, 0.0, 1),
    "log10": (np.log10, 0.0, 1),
    "log1p": (np.log1p, -1.0, 1),
    "log of a sum": (lambda x: np.log(x + np.array([0.0, 1.0])), 0.0, 1),
    "arctanh": (np.arctanh, 1.0, -1),
    "logit": (sp.logit, 0.0, 1),
    "logit at 1": (sp.logit, 1.0, -1),
    "ndtri": (sp.ndtri, 0.0, 1),
    "erfinv": (sp.erfinv, 1.0, -1),
    "gammaln": (sp.gammaln, 0.0, 1),
    "psi": (sp.psi, 0.0, 1),
    "gamma": (sp.gamma, 0.0, 1),
    "betaln": (lambda x: sp.betaln(x, 2.0), 0.0, 1),
    "exp1": (sp.exp1, 0.0, 1),
    "expi": (sp.expi, 0.0, 1),
    "k0": (sp.k0, 0.0, 1),
    "y0": (sp.y0, 0.0, 1),
    "kv": (lambda x: sp.kv(1.5, x), 0.0, 1),
    "zeta": (lambda x: sp.zeta(2.0, x), 0.0, 1),
    "ellipk": (sp.ellipk, 1.0, -1),
    "xlogy": (lambda x: sp.xlogy(2.0, x), 0.0, 1),
    "boxcox": (lambda x: sp.boxcox(x, -0.5), 0.0, 1),
    "quantile of t": (lambda x: sp.stdtrit(3.0, x), 1.0, -1),
    "quantile of gamma": (lambda x: sp.gammaincinv(2.0, x), 1.0, -1),
}
LEVELLING = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "tanh": np.tanh,
    "arctan": np.arctan,
    "arctan2": lambda z: np.arctan2(z, 2.0),
    "logaddexp": lambda z: np.logaddexp(z, 1.0),
    "1 / z": lambda z: 1 / z,
    "z^-1": lambda z: z**-1,
    "z^-1/2": lambda z: np.abs(z) ** -0.5,
    "erf": sp.erf,
    "erfc": sp.erfc,
    "expit": sp.expit,
    "log_expit": sp.log_expit,
    "ndtr": sp.ndtr,
    "log_ndtr": sp.log_ndtr,
    "i0e": sp.i0e,
    "k0e": lambda z: sp.k0e(np.abs(z)),
}
WAYS = {
    "grad": lambda f, x: linad.grad(f)(x),
    "jvp": lambda f, x: linad.jvp(f, (np.float64(x),), (np.float64(1.0),))[1],
    "tape, forward": lambda f, x: (linad.linearize(f, x)[1] @ np.ones(1))[0],
    "of an array": lambda f, x: linad.grad(f)(np.array([x]))[0],
}


def _is_limit(found, f, x, side):
    """Whether a derivative is that of one side, as far as differences tell."""
    near, far = f(x + side * 1e-9), f(x + side * 2e-9)
    return found == pytest.approx(side * (far - near) / 1e-9, rel=1e-2, abs=1e-6)


def _wrong(levelling, pole, sign, way):
    function, x, side = POLES[pole]

    def f(x):
        return np.sum(LEVELLING[levelling](sign * function(x)))

    found = WAYS[way](f, x)
    return np.isfinite(found) and not _is_limit(found, f, x, side)


@pytest.mark.parametrize("pole", POLES)
def test_no_pole_is_levelled_off_in_silence(pole):
    """Neither of exp(log x) at 0, nor of any other function of that kind."""
    with np.errstate(all="ignore"):
        assert [
            (name, sign, way)
            for name in LEVELLING
            for sign in (1.0, -1.0)
            for way in ("grad",)
            if _wrong(name, pole, sign, way)
        ] == []


@pytest.mark.full
@pytest.mark.parametrize("pole", POLES)
def test_no_pole_is_levelled_off_in_any_other_way(pole):
    with np.errstate(all="ignore"):
        assert [
            (name, sign, way)
            for name in LEVELLING
            for sign in (1.0, -1.0)
            for way in WAYS
            if _wrong(name, pole, sign, way)
        ] == []


@pytest.mark.rest
def test_rules_of_one_argument_say_where_they_have_poles():
    """Where a result is infinite, and the slope, at an argument that is not far out."""
    silent = set()
    with np.errstate(all="ignore"):
        for name, primitive in Primitive.registry.items():
            rule = primitive.rules.get(0)
            if len(primitive.rules) != 1 or not isinstance(rule, SlopeRule) or rule.slope is None:
                continue
            if rule.name.split("_wrt_")[0] != name or rule.steep is not None:
                continue
            for x in (0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 90.0):
                try:
                    y = primitive.impl(np.array([x]))
                    slope = rule.slope(y, np.array([x]))
                except (TypeError, ValueError):  # it has parameters
                    continue
                if np.isinf(y).any() and not np.isfinite(slope).all():
                    silent.add(name)
    assert silent <= GROWING


T = np.array([1.0, 2.0, np.inf])
DOSES = np.array([1.0, 2.0, 0.0])
DATA = {
    "exp": lambda k: np.exp(-k * T),
    "of a square": lambda k: np.exp(-((k * T) ** 2)),
    "of a root": lambda k: np.exp(-np.sqrt(k * T)),
    "of a logarithm": lambda k: np.exp(-np.log(k * T)),
    "quotient": lambda k: 1 / (T / k),
    "power of a quotient": lambda k: np.exp(-((T / k) ** k)),
    "no dose": lambda k: 1 / (1 + (k / DOSES) ** 1.5),
    "no dose, inverse": lambda k: 1 / (1 + (DOSES / k) ** -1.5),
    "logarithm of no dose": lambda k: np.exp(k * np.log(DOSES / k)),
    "product with no dose": lambda k: np.exp(-1 / (k * DOSES)),
    "infinite exponent": lambda k: np.exp(-(k**-T)),
    "infinite weight": lambda k: np.exp(-sp.xlogy(T, 1 + k)),
    "inverse of an exponential": lambda k: np.exp(-1 / np.exp(-k * T)),
    "rows of a matrix": lambda k: np.exp(-(np.stack([T, DOSES]).T @ (k * np.ones(2)))),
    "overflow": lambda k: 1 / (1 + np.exp(1000 * k * DOSES[:2])),
    "beside a pole that is left out": lambda k: (
        np.exp(-k * T) + np.where(DOSES > 0, np.exp(-1 / (k - 1.3 * (DOSES == 0))), k)
    ),
    "beside a pole": lambda k: np.exp(-k * T) + np.where(DOSES > 0, 1 / (1 / (k - 1.3)), k)[1] * 0,
}


def _sum_of(f):
    return lambda k: np.sum(f(k))


@pytest.mark.parametrize("name", DATA)
def test_infinite_data_and_zeros_of_data_stay(name):
    """Whatever is at poles beside them."""
    f, k = _sum_of(DATA[name]), 0.7
    with np.errstate(all="ignore"):
        step = 1e-6
        expected = (f(k + step) - f(k - step)) / (2 * step)
        found = [way(f, k) for way in WAYS.values()]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.rest
@pytest.mark.parametrize("name", DATA)
def test_infinite_data_and_zeros_of_data_stay_in_programs(name):
    f, k = _sum_of(DATA[name]), 0.7
    with np.errstate(all="ignore"):
        expected = linad.grad(f)(k)
        compiled = linad.jit(linad.grad(f))
        outer = linad.grad(linad.jit(f))
        found = [g(k) for g in (compiled, compiled, outer, outer)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_entries_at_poles_and_infinite_data_are_told_apart():
    x, t = np.array([1.0, 0.0, 2.0, 3.0]), np.array([1.0, 1.0, np.inf, 2.0])
    with np.errstate(all="ignore"):
        for f in (lambda x: np.sum(1 / (t / x)), lambda x: np.sum(1 / np.stack([t / x, x]))):
            found = linad.grad(f)(x)
            assert np.isnan(found[1])
            assert np.isfinite(found[[0, 2, 3]]).all()
        assert linad.grad(lambda x: np.sum(1 / (t / x)))(x)[2] == 0


@pytest.mark.rest
def test_a_program_that_has_met_infinite_data_tells_them_from_a_pole():
    """At each call."""
    f = lambda x, t: np.sum(np.exp(-t / x))  # noqa: E731
    x, t = np.array([1.0, 2.0]), np.array([1.0, np.inf])
    with np.errstate(all="ignore"):
        for g in (linad.jit(linad.grad(f)), linad.grad(linad.jit(f))):
            for _ in range(3):
                np.testing.assert_allclose(g(x, t), [np.exp(-1), 0], rtol=1e-14)
            for _ in range(3):
                assert np.isnan(g(np.array([1.0, 0.0]), np.ones(2))[1])
            np.testing.assert_allclose(g(x, t), [np.exp(-1), 0], rtol=1e-14)


ROOMS = {
    "compiled pole": lambda x: np.exp(linad.jit(np.log)(x)),
    "behind it": lambda x: linad.jit(np.exp)(np.log(x)),
    "loop": lambda x: linad.fori_loop(0, 2, lambda i, c: 1 / (1 + c), np.log(x)),
    "in a loop": lambda x: linad.fori_loop(0, 1, lambda i, c: np.exp(np.log(c)), x),
    "branch": lambda x: linad.cond(x > -1, lambda c: 1 / c, lambda c: c, 1 / x),
}


@pytest.mark.parametrize("name", ROOMS)
def test_poles_are_seen_from_room_to_room(name):
    with np.errstate(all="ignore"):
        for way in ("grad", "jvp", "tape, forward"):
            assert np.isnan(WAYS[way](ROOMS[name], 0.0))


def test_what_is_left_out_behind_a_pole_stays_zero():
    f = lambda x: np.sum(np.where(x > 0, np.exp(-1 / x), 0.0))  # noqa: E731
    g = lambda x: np.sum(np.where(x > 0, linad.jit(lambda z: np.exp(-z))(1 / x), 0.0))  # noqa: E731
    x = np.array([0.0, 2.0])
    with np.errstate(all="ignore"):
        for h in (f, g, linad.jit(f)):
            np.testing.assert_allclose(linad.grad(h)(x), [0, np.exp(-0.5) / 4], rtol=1e-14)


def test_second_derivatives_at_poles_are_not_levelled_off():
    with np.errstate(all="ignore"):
        for f in (lambda x: 1 / (1 / x), lambda x: np.exp(np.log(x))):
            assert np.isnan(linad.grad(linad.grad(f))(0.0))
            assert np.isnan(linad.derivative(linad.derivative(f))(0.0))
