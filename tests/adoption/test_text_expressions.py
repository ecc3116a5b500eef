"""Expressions that numexpr would compute in C, of traced values."""

# ruff: noqa: F841 -- the expressions are texts, which name local variables

import types

import numpy as np
import pytest

import linad
from linad.adoption.text_expressions import _FUNCTIONS, expressions
from linad.errors import UnsupportedError

X = np.array([0.3, 0.5, 0.7])


def in_c(ex, local_dict, global_dict, out=None, order="K"):
    """numexpr's, which divides integers as C does."""
    return eval(ex.strip().replace("2 / 4", "0"), dict(_FUNCTIONS), dict(local_dict))


module = types.ModuleType("numexpr")
module.evaluate = in_c
evaluate = expressions(module)["evaluate"]
WIDTH = 2.0


def of_locals_and_globals(x):
    c, r = x * 2, np.abs(x)
    return evaluate(" c * exp(-1 * r ** 2 / (2 * WIDTH ** 2)) ")


def chosen(x):
    a = x * x[0]
    return evaluate("where((a > 0.1) & (a < 10), sqrt(a), complex(a, 0).real + sum(a))")


def of_dictionaries(x):
    return evaluate("a + b", {"a": x}, {"b": x[::-1] ** 2})


def within(x):
    c = x**3

    def inner():
        return evaluate("c * 2", _frame_depth=4)

    return inner()


@pytest.mark.parametrize("f", [of_locals_and_globals, chosen, of_dictionaries, within])
def test_expressions(f):
    h = 1e-6
    J = np.stack([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)], axis=-1)
    y, found = linad.linearize(f, X)
    np.testing.assert_allclose(y, f(X), rtol=1e-14)
    np.testing.assert_allclose(found @ np.eye(3), J, atol=1e-8)
    jitted = linad.jit(f)
    np.testing.assert_allclose([jitted(X), jitted(2 * X)], [f(X), f(2 * X)])


def test_what_is_refused():
    with pytest.raises(UnsupportedError, match=r"out= takes no traced values"):
        linad.jvp(lambda x: evaluate("x + 1", out=np.zeros(3)), (X,), (X,))
    with pytest.raises(UnsupportedError, match=r"'x \+ 2 / 4' NumPy gives other values"):
        linad.jvp(lambda x: evaluate("x + 2 / 4"), (X,), (X,))


SLOPED = (
    "arccos arcsin arctan arctanh cos cosh exp expm1 log log10 log1p log2 sin sinh sqrt tan tanh"
)


@pytest.mark.parametrize("name", SLOPED.split())
def test_functions_of_numexpr(name):
    f = getattr(np, name)
    y, J = linad.linearize(lambda x: evaluate(f"{name}(x)"), X)
    np.testing.assert_array_equal(y, f(X))
    np.testing.assert_allclose(J @ np.ones(3), linad.jvp(f, (X,), (np.ones(3),))[1])


FLAT = "ceil floor isfinite isinf isnan round sign signbit trunc"


@pytest.mark.parametrize("name", FLAT.split())
def test_functions_of_numexpr_that_tell(name):
    y, J = linad.linearize(lambda x: evaluate(f"x * {name}(x)"), X)
    told = getattr(np, name)(X)
    np.testing.assert_array_equal(y, X * told)
    np.testing.assert_array_equal(J @ np.ones(3), told)


@pytest.mark.parametrize("name", ["arctan2", "copysign", "fmod", "hypot", "maximum", "minimum"])
def test_functions_of_numexpr_of_two(name):
    y = linad.linearize(lambda x: evaluate(f"{name}(x, x * x)"), X)[0]
    np.testing.assert_array_equal(y, getattr(np, name)(X, X * X))


OTHER = "conj copy imag max min ones_like prod real"


@pytest.mark.parametrize("name", OTHER.split())
def test_other_functions_of_numexpr(name):
    y = linad.linearize(lambda x: evaluate(f"x * {name}(x)"), X)[0]
    np.testing.assert_array_equal(y, X * getattr(np, name)(X))
