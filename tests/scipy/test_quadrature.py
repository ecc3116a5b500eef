"""scipy.integrate.quad with traced integrands and ends, called as SciPy's own is."""

import warnings

import numpy as np
import pytest
import scipy.integrate

import linad
import linad.scipy.integrate as si
from linad.errors import ArgumentError, UnsupportedError


def gauss(x):
    return np.exp(-x * x)


FEW = (1e-8, 1e-8, 50, None)


QUADS = {
    "args": lambda m: m.quad(lambda x, a, b: a * gauss(x) + b, 0, 1, (2.0, 3.0)),
    "full_output": lambda m: m.quad(gauss, 0, np.inf, (), 1),
    "weight": lambda m: m.quad(gauss, 0, 1, (), 0, *FEW, "cos", 3.0),
    "weight, full": lambda m: m.quad(gauss, 0, np.inf, (), 1, *FEW, "cos", 3.0, None, 40, 30),
    "wvar": lambda m: m.quad(gauss, 0, 1, weight="alg", wvar=(0.5, 0.5)),
    "complex_func": lambda m: m.quad(lambda x: gauss(x) * 1j, 0, 1, complex_func=True),
    "points": lambda m: m.quad(gauss, 0, 1, points=[0.3]),
    "limit": lambda m: m.quad(lambda x: np.sin(200 * x) / np.sqrt(abs(x - 0.3)), 0, 1, limit=3),
    "dblquad": lambda m: m.dblquad(lambda y, x: gauss(x) * y, 0, 1, lambda x: 0, lambda x: x),
    "dblquad, tolerances": lambda m: m.dblquad(lambda y, x: y * x, 0, 1, 0, 2, (), 1e-3, 1e-3),
    "nquad": lambda m: m.nquad(lambda x, y: gauss(x) * y, [lambda y: (0, y), (0, 1)])[:1],
    "dblquad, args": lambda m: m.dblquad(lambda y, x, c: y * c, 0, 1, 0, 2, args=(3.0,)),
}


def within_a_derivative(call):
    found = []

    def f(p):
        found.append(call())
        return p * 1.0

    linad.grad(f)(1.0)
    return found[0]


@pytest.mark.parametrize("name", QUADS)
@pytest.mark.parametrize("wrap", [lambda call: call(), within_a_derivative])
def test_quad_of_plain_numbers_is_that_of_scipy(name, wrap):
    """Results, warnings, and how often the integrand is called."""

    def course(m):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = wrap(lambda: QUADS[name](m))
        some = [v.get("neval") if isinstance(v, dict) else v for v in found]
        return some, [(w.category, str(w.message)) for w in told]

    assert course(si) == course(scipy.integrate)


def test_quad_runs_once():
    calls = []

    def f(p):
        def integrand(x):
            calls.append(x)
            return np.exp(-p * x)

        return si.quad(integrand, 0.0, 1.0)[0]

    value = linad.value_and_grad(f)(1.0)
    np.testing.assert_allclose(value, (1 - np.exp(-1), 2 * np.exp(-1) - 1))
    assert len(calls) == 63  # 21 of SciPy's, and 21 on each half, traced
    with pytest.raises(ArgumentError, match="quad: .*nonsense"):
        linad.grad(lambda p: si.quad(lambda x: x * p, 0, 1, nonsense=1)[0])(1.0)
    with pytest.raises(UnsupportedError, match="weight="):
        linad.grad(lambda p: si.quad(lambda x: x * p, 0, 1, weight="cos", wvar=2.0)[0])(1.0)
    with pytest.warns(scipy.integrate.IntegrationWarning):
        linad.grad(lambda p: si.quad(lambda x: p / x, 0, 1)[0])(1.0)
