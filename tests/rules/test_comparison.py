"""Functions without derivative: results leave the trace, or stay in it with slope 0."""

import warnings

import numpy as np
import pytest
from numpy.testing.overrides import get_overridable_numpy_ufuncs

import linad
from linad.core.dispatch import UFUNCS
from linad.errors import TracerError, UnsupportedError

CASES = []
X = np.array([[1.25, -0.75, np.nan], [np.inf, -1.5, 0.0]])


def function_of(expression):
    """A function of x from its text, which names the test."""
    return eval(f"lambda x: {expression}", {"np": np, "X": X})


def traced_value(f, x):
    """What f gives inside a trace."""
    kept = []

    def g(x):
        kept.append(f(x))
        return x

    linad.linearize(g, x)
    return kept[0]


@pytest.mark.parametrize(
    "expression",
    [
        "x < 1",
        "1 >= x",
        "x != x",
        "np.equal(x, X)",
        "np.isnan(x)",
        "np.isfinite(x)",
        "np.isinf(x)",
        "np.signbit(x)",
        "np.isposinf(x)",
        "np.isneginf(x)",
        "np.isreal(x)",
        "np.iscomplex(x)",
        "np.logical_not(x)",
        "np.logical_and(x, x > 0)",
        "np.logical_or(x, x > 0)",
        "np.logical_xor(x, x > 0)",
        "(x > 0) & (x < 1)",
        "np.isclose(x, X)",
        "np.isclose(x, X + 1e-9, atol=1e-12, rtol=0, equal_nan=True)",
    ],
)
def test_yes_or_no_for_each_entry(expression):
    f = function_of(expression)
    found = traced_value(f, X)
    assert type(found) is np.ndarray
    assert np.array_equal(found, f(X))


@pytest.mark.parametrize("x", [X, np.array([1.0, 2.0]), np.array(1 + 2j)], ids=str)
@pytest.mark.parametrize(
    "expression",
    [
        "np.allclose(x, x)",
        "np.allclose(x, x, equal_nan=True)",
        "np.array_equal(x, x)",
        "np.array_equal(x, [1.0, 2.0])",
        "np.array_equal(x, x, equal_nan=True)",
        "np.array_equiv(x, x + 0)",
        "np.iscomplexobj(x)",
        "np.isrealobj(x)",
    ],
)
def test_yes_or_no_for_all(expression, x):
    f = function_of(expression)
    found = traced_value(f, x)
    assert type(found) is bool
    assert found == f(x)


@pytest.mark.parametrize(
    "expression",
    [
        "np.floor(x)",
        "np.ceil(x)",
        "np.trunc(x)",
        "np.rint(x)",
        "np.round(x)",
        "np.round(x, 1)",
        "np.around(x, decimals=-1)",
        "x.round(1)",
        "np.sign(x)",
        "np.spacing(x)",
        "x // 0.4",
        "np._core.umath._ones_like(x)",
    ],
)
def test_steps_have_slope_zero(expression):
    f = function_of(expression)
    x = np.array([[1.25, -0.75], [2.25, -1.6]])
    y, J = linad.linearize(lambda x: f(x) + x, x)
    assert np.array_equal(y, f(x) + x)
    assert np.array_equal(J.pushforward(x), x)
    assert np.array_equal(linad.jvp(f, (x,), (x,))[1], np.zeros_like(x))


def test_rounding_a_scalar():
    assert linad.jvp(lambda x: round(x, 1) * x, (np.float64(1.26),), (np.float64(1),))[1] == 1.3


def test_fix():
    x = np.array([1.25, -0.75])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # since NumPy 2.5
        y, dy = linad.jvp(np.fix, (x,), (x,))
    assert np.array_equal(y, [1, 0])
    assert np.array_equal(dy, [0, 0])


def test_out():
    for f, dtype in ((np.isposinf, bool), (np.isneginf, bool), (np.round, float)):
        found = np.ones(2, dtype)  # plain: no derivative is lost
        linad.linearize(lambda x, f=f, found=found: (f(x, out=found), x)[1], np.full(2, 0.3))
        assert not found.any()
    with pytest.raises(TracerError, match="out="):  # a program would not write there again
        linad.jit(lambda x: np.round(x, out=np.zeros(2)))(np.ones(2))


def test_every_ufunc_of_numbers_is_known():
    missing = [u for u in get_overridable_numpy_ufuncs() if u not in UFUNCS]
    names = {u.__name__ for u in missing if not u.__name__.startswith("_")}
    assert names <= set(np.strings.__all__)
    for ufunc in missing:
        with pytest.raises(UnsupportedError, match="not traced"):
            linad.linearize(lambda x, u=ufunc: u(*[x] * u.nin), np.ones(2))


@pytest.mark.parametrize("f", [np.invert, np.bitwise_count, np.isnat])
def test_numpy_refuses_numbers_where_they_have_no_meaning(f):
    with pytest.raises(TypeError, match=r"not supported|did not contain|only defined"):
        linad.linearize(f, np.ones(2))


CLOSE = {
    "rtol": lambda x, y, t: np.isclose(x, y, rtol=t),
    "atol beside plain arrays": lambda x, y, t: np.isclose([1.0, 2.0, 3.0], Y, atol=t),
    "rtol, for each": lambda x, y, t: np.isclose(x, b=y, atol=0.0, rtol=t * x / 2),
    "all by name": lambda x, y, t: np.isclose(a=x, b=y, rtol=0.0, atol=t, equal_nan=True),
    "of all": lambda x, y, t: np.allclose(x[:2], Y[:2], rtol=t),
    "equal": lambda x, y, t: np.array_equal(a1=[1.0, 2.0, 3.0], a2=x, equal_nan=True),
    "real": lambda x, y, t: np.isreal(x=x),
}
Y = np.array([1.0, 2.001, 3.3])


@pytest.mark.parametrize("name", CLOSE)
def test_operands_and_tolerances_by_name(name):
    """A traced value among the keywords only, too."""

    def f(x, y, t):
        return x * CLOSE[name](x, y, t)

    x = np.array([1.0, 2.0, 3.0])
    compiled = linad.jit(f)
    for t in (0.01, 1e-5, 0.2, 0.01):
        wanted = f(x, Y, t)
        assert np.array_equal(linad.linearize(f, x, Y, t)[0], wanted)
        assert np.array_equal(compiled(x, Y, t), wanted)
