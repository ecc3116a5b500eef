"""linad.scipy.integrate: integrals of samples; see test_initialvalue.py for the rest."""

import numpy as np
import pytest
import scipy.integrate

import linad
import linad.scipy.integrate as si
from linad.errors import ShapeError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
Y = rng.standard_normal((3, 6))
X = np.cumsum(rng.random(6) + 0.2)
XS = np.cumsum(rng.random((3, 6)) + 0.2, axis=-1)

CASES = {
    "trapezoid": (lambda m, y, x: m.trapezoid(y, x), Y, X),
    "trapezoid-dx": (lambda m, y: m.trapezoid(y, dx=0.3, axis=0), Y),
    "cumulative": (lambda m, y, x: m.cumulative_trapezoid(y, x), Y, X),
    "cumulative-like": (lambda m, y, x: m.cumulative_trapezoid(y, x, initial=0), Y, XS),
    "cumulative-dx": (lambda m, y: m.cumulative_trapezoid(y, dx=0.5, axis=0), Y),
    "simpson-even": (lambda m, y, x: m.simpson(y, x), Y, X),
    "simpson-odd": (lambda m, y, x: m.simpson(y[:, 1:], x[1:]), Y, X),
    "simpson-like": (lambda m, y, x: m.simpson(y, x), Y, XS),
    "running-simpson": (lambda m, y, x: m.cumulative_simpson(y**2, x=x), Y, X),
    "running-simpson-even": (lambda m, y: m.cumulative_simpson(y[:, :4], dx=0.3, initial=1.5), Y),
    "simpson-axis": (lambda m, y: m.simpson(y, dx=0.5, axis=0), Y),
    "simpson-four": (lambda m, y: m.simpson(y[:, :4]), Y),
    "simpson-two": (lambda m, y, x: m.simpson(y[:, :2], x[:2]), Y, X),
    "simpson-one": (lambda m, y: m.simpson(y[:, :1] ** 2), Y),
}


@pytest.mark.parametrize("name", CASES)
def test_traces(name):
    f, *args = CASES[name]
    expected = f(scipy.integrate, *args)
    np.testing.assert_array_equal(f(si, *args), expected)
    y = linad.linearize(lambda *a: f(si, *a), *args)[0]
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
    check_derivatives(lambda *a: f(si, *a), *args)


def test_fixed_quad():
    def f(m):
        return lambda a, b: m.fixed_quad(lambda x, c: np.exp(c * a * x), 0.1 * a, b, (2.0,), n=8)[0]

    point = np.array(0.7), np.array(1.3)
    expected = f(scipy.integrate)(*point)
    assert f(si)(*point) == expected
    np.testing.assert_allclose(linad.linearize(f(si), *point)[0], expected, rtol=1e-13)
    check_derivatives(f(si), *point)


def test_single_precision_stays():
    y = Y.astype(np.float32)
    assert linad.linearize(si.simpson, y)[0].dtype == np.float32
    assert linad.linearize(si.cumulative_trapezoid, y)[0].dtype == np.float32


def test_errors():
    with pytest.raises(ShapeError, match="simpson"):
        linad.linearize(lambda y: si.simpson(y, X[1:]), Y)
    with pytest.raises(ValueError, match="initial"):
        linad.linearize(lambda y: si.cumulative_trapezoid(y, initial=1), Y)
    assert si.nquad is scipy.integrate.nquad
