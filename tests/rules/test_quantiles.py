"""Median, percentile, quantile and their relatives that leave NaN out."""

import itertools
import re
import warnings

import numpy as np
import pytest
from released import OLD_NUMPY

import linad
from linad.errors import UnsupportedError
from linad.rules import quantiles
from linad.rules.quantiles import CONTINUOUS, DISCRETE
from linad.testing.rule_checks import Case

rng = np.random.default_rng(1)
SCALAR = np.array(0.7)
ODD = rng.standard_normal(5)
EVEN = rng.standard_normal(6)
MATRIX = rng.standard_normal((3, 4))
CUBE = rng.standard_normal((2, 3, 2))
HOLES = np.array([[1.0, np.nan, 2.0, 5.0], [np.nan, 4.0, np.nan, -1.0]])
SEVERAL = np.array([0.1, 0.6, 0.83])
METHODS = [*CONTINUOUS, *DISCRETE]

CASES = [
    Case(np.median, SCALAR),
    Case(np.median, ODD),
    Case(np.median, EVEN),
    Case(np.median, MATRIX, axis=-1, keepdims=True),
    Case(np.median, CUBE, axis=(0, 2)),
    Case(np.nanmedian, MATRIX, axis=0),
    Case(np.quantile, SCALAR, q=0.3),
    Case(np.quantile, ODD, q=0.3),
    Case(np.quantile, ODD, q=1),
    Case(np.quantile, MATRIX, q=SEVERAL, axis=0, check={"float32": False}),
    Case(np.quantile, CUBE, q=[0.2, 0.6], axis=(0, 2), keepdims=True, check={"float32": False}),
    Case(np.quantile, ODD, SEVERAL),
    Case(np.quantile, MATRIX, SEVERAL, axis=1, method="hazen"),
    Case(np.quantile, ODD, np.array(0.62), method="weibull"),
    *[Case(np.quantile, EVEN, q=0.42, method=method) for method in METHODS],
    Case(np.percentile, EVEN, q=30.0),
    Case(np.percentile, MATRIX, q=[20, 70], axis=0, keepdims=True, check={"float32": False}),
    Case(np.nanquantile, MATRIX, q=0.4, axis=1),
    Case(np.nanpercentile, MATRIX, q=40),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_values_are_numpys(method, n):
    x = rng.standard_normal((n, 2))
    q = np.linspace(0, 1, 21)
    y = linad.linearize(lambda x: np.quantile(x, q, axis=0, method=method), x)[0]
    np.testing.assert_allclose(y, np.quantile(x, q, axis=0, method=method), rtol=1e-12)


@pytest.mark.parametrize(
    "function, args",
    [
        (np.nanmedian, ()),
        (np.nanquantile, (0.3,)),
        (np.nanquantile, ([0.0, 0.4, 1.0],)),
        (np.nanpercentile, (70,)),
    ],
)
def test_nan_left_out(function, args):
    def f(x):
        return function(x, *args, axis=1)

    y, J = linad.linearize(f, HOLES)
    np.testing.assert_allclose(y, f(HOLES))
    step = np.where(np.isnan(HOLES), 0.0, rng.standard_normal(HOLES.shape))
    difference = (f(HOLES + 1e-4 * step) - f(HOLES - 1e-4 * step)) / 2e-4
    np.testing.assert_allclose(J.pushforward(step), difference, atol=1e-10)
    assert not np.any(J.pullback(np.ones_like(y))[np.isnan(HOLES)])


def test_nan_makes_nan():
    y = linad.linearize(lambda x: np.median(x, axis=1), HOLES)[0]
    assert np.isnan(y).all()
    y = linad.linearize(lambda x: np.quantile(x, 0.3, axis=0), HOLES)[0]
    np.testing.assert_array_equal(y, np.quantile(HOLES, 0.3, axis=0))


def test_lane_of_nothing_but_nan():
    with pytest.warns(RuntimeWarning, match="All-NaN"):
        y = linad.linearize(lambda x: np.nanmedian(x, axis=1), np.full((1, 3), np.nan))[0]
    assert np.isnan(y).all()


def test_median_selects():
    np.testing.assert_array_equal(linad.grad(np.median)(ODD), np.median(ODD) == ODD)
    middle = np.argsort(EVEN)[2:4]
    np.testing.assert_array_equal(linad.grad(np.median)(EVEN), 0.5 * np.isin(np.arange(6), middle))


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_long_lanes_are_in_the_order_of_short_ones(n, monkeypatch):
    signs = rng.choice([1.0, -1.0, np.nan], (20, n), p=[0.5, 0.3, 0.2])
    x = rng.integers(-3, 4, (20, n)) / 2 * signs
    kth = tuple(sorted({0, n // 3, n // 2, n - 1}))
    short = quantiles.places(x, kth=kth)
    monkeypatch.setattr(quantiles, "_FEW", 0)
    np.testing.assert_array_equal(quantiles.places(x, kth=kth)[:, kth], short[:, kth])


def test_derivative_in_q():
    x = np.array([1.0, 4.0, 2.0])
    q = np.array([0.2, 0.7])
    np.testing.assert_allclose(linad.jacobian(lambda q: np.quantile(x, q))(q), np.diag([2.0, 4.0]))
    assert linad.grad(lambda q: np.percentile(x, q))(20.0) == pytest.approx(0.02)


def test_single_precision_follows_numpy():
    x = ODD.astype(np.float32)
    assert linad.linearize(lambda x: np.quantile(x, 0.3), x)[0].dtype == np.float32
    y = linad.linearize(lambda x: np.quantile(x, SEVERAL), x)[0]
    assert y.dtype == np.quantile(x, SEVERAL).dtype


def test_infinite_entries():
    x = np.array([1.0, np.inf, 2.0])
    y, J = linad.linearize(np.median, x)
    assert y == 2.0
    np.testing.assert_array_equal(J.pullback(1.0), [0.0, 0.0, 1.0])


@pytest.mark.parametrize("function", [np.median, np.nanmedian])
def test_medians_between_infinities_and_of_large_numbers_are_numpys(function):
    of_infinities = itertools.product([np.inf, -np.inf, 1.0, np.nan], repeat=4)
    large = [] if function is np.nanmedian else [[1.7e308] * 4, [65504.0] * 4]
    x = np.array([*of_infinities, *large])
    for dtype in (np.float64, np.float16):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            a = x.astype(dtype)
            for run in (linad.jit(lambda a: function(a, axis=1)), lambda a: linad.vjp(
                lambda a: function(a, axis=1), a)[0]):  # fmt: skip
                np.testing.assert_array_equal(run(a), function(a, axis=1))
            for row in a[::17]:
                y = linad.linearize(lambda a: function(a), row)[0]
                np.testing.assert_array_equal(y, function(row))


DTYPES = ("f8",) if OLD_NUMPY else ("f2", "f4", "f8")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
def test_dtypes_are_numpys(method, name):
    scale = 100 if "percentile" in name else 1
    for q in (0.5, 1, [0.25, 0.75], [0, 1], np.float64(0.5), np.float32(0.5)):
        at = [scale * v for v in q] if isinstance(q, list) else scale * q

        def f(x, at=at):
            return getattr(np, name)(x, at, method=method)

        for n, dtype in itertools.product((1, 2, 3), DTYPES):
            x = np.arange(1.0, 1 + n, dtype=dtype)
            expected, y = f(x), linad.linearize(f, x)[0]
            assert (y.dtype, type(y)) == (expected.dtype, type(expected))
            np.testing.assert_allclose(y, expected, rtol=1e-3 if dtype == "f2" else 1e-6)


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda x: np.quantile(x, 1.5), ValueError, "range"),
        (lambda x: np.quantile(x, 0.5, method="best"), ValueError, "best"),
        (lambda x: np.quantile(x + 1j, 0.5), TypeError, "real"),
        (
            lambda x: np.quantile(x, 0.5, method="inverted_cdf", weights=np.ones(5)),
            UnsupportedError,
            "weights",
        ),
        (lambda x: np.quantile(x[:0], 0.5), IndexError, "empty"),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        linad.linearize(call, ODD)


def test_an_unknown_method_names_those_there_are():
    def named(a):
        with pytest.raises(ValueError, match="is not a valid method") as caught:
            np.quantile(a, 0.5, method="medium")
        return set(re.findall(r"'(\w+)'", str(caught.value))) - {"medium"}

    traced = []
    linad.linearize(lambda a: traced.append(named(a)) or a, np.arange(3.0))
    assert traced[0] == named(np.arange(3.0))


@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
def test_the_slope_in_q_at_both_ends_is_that_of_the_inner_side(f):
    x = np.array([0.3, 1.2, 0.5, 2.0, 0.9])
    for q, expected in ((0.0, 0.8), (1.0, 3.2)):
        y, J = linad.linearize(lambda q: f(x, q), q)
        assert y == f(x, q)
        assert J.pushforward(1.0) == pytest.approx(expected, rel=1e-14)
    assert linad.derivative(lambda q: f(x[:1], q))(1.0) == 0
