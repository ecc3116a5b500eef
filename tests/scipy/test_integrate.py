"""linad.scipy.integrate: integrals of samples; see test_initialvalue.py for the rest."""

import numpy as np
import pytest
import scipy.integrate

import linad
import linad.scipy.integrate as si
from linad.errors import ShapeError, UnsupportedError
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
    "romberg": (lambda m, y: m.romb(y[:, :5], dx=0.3), Y),
    "romberg-one": (lambda m, y: m.romb(y[:2] ** 2, axis=0), Y),
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
    with pytest.raises(ValueError, match="power of 2"):
        linad.linearize(si.romb, Y)
    with pytest.raises(UnsupportedError, match="full_output"):
        linad.grad(lambda p: si.nquad(lambda x: x * p, [(0, 1)], full_output=True)[0])(1.0)
    assert si.qmc_quad is scipy.integrate.qmc_quad


def test_several_variables():
    def over_a_triangle(m):
        return lambda p: m.nquad(
            lambda x, y, c: np.exp(-p[0] * x * y) * c,
            [lambda y, c: (0, c * y), (p[1], 1)],
            (1.5,),
            {"epsabs": 1e-6},
        )[0]

    point = np.array([0.8, 0.2])
    expected = over_a_triangle(scipy.integrate)(point)
    assert over_a_triangle(si)(point) == expected
    value, slope = linad.jvp(over_a_triangle(si), (point,), (point,))
    np.testing.assert_allclose(value, expected)
    theirs = over_a_triangle(scipy.integrate)
    difference = (theirs(1.001 * point) - theirs(0.999 * point)) / 0.002
    np.testing.assert_allclose(slope, difference, rtol=1e-5)


@pytest.mark.full
def test_three_variables():
    def of_three(m, p):
        return m.tplquad(
            lambda z, y, x, c: c * p * x * y**2 * z,
            *(0, 1, lambda x: 0, 1, lambda x, y: x, lambda x, y: 1 + y),
            args=(2.0,),
        )

    expected = of_three(scipy.integrate, 0.7)
    assert of_three(si, 0.7) == expected
    value, slope = linad.jvp(lambda p: of_three(si, p)[0], (0.7,), (1.0,))
    np.testing.assert_allclose((value, slope), (expected[0], expected[0] / 0.7))


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_simpson_with_samples_at_one_place(n):
    y = np.array([1.0, 2.0, 4.0, 3.0, 0.5, 2.2])[:n]
    for x in ([0, 1, 1, 2, 3, 4], [0, 0, 1, 2, 3, 3], [0, 1, 2, 2, 2, 3], [0] * 6):
        at = np.array(x, float)[:n]
        expected = scipy.integrate.simpson(y, x=at)
        found, J = linad.linearize(lambda y, at=at: si.simpson(y, x=at), y)
        np.testing.assert_allclose(found, expected, atol=1e-14)
        np.testing.assert_allclose(J @ y, expected, atol=1e-14)  # linear in y
        value, _ = linad.linearize(lambda x: si.simpson(y, x=x), at)
        np.testing.assert_allclose(value, expected, atol=1e-14)
