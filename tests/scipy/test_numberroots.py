"""Roots of a function of one number: inside loops, by each method's name, and what is told."""

import numpy as np
import pytest
import scipy.optimize

import linad
import linad.scipy.optimize as so

P = np.array([1.0, 2.0, 3.0])

WAYS = {
    "bracket": {"bracket": (0.0, 5.0)},
    "toms748": {"bracket": [0.0, 5.0], "method": "toms748", "options": {"k": 2}},
    "bisect": {"bracket": (0.0, 5.0), "method": "Bisect", "xtol": 1e-10},
    "newton": {"x0": 1.2},
    "secant": {"x0": 1.2, "x1": 1.4},
    "tangent": {"x0": 1.2, "fprime": lambda t, a: 3 * t**2},
    "halley": {"x0": 1.2, "fprime": lambda t, a: 3 * t**2, "fprime2": lambda t, a: 6 * t},
}


def _cubic(t, a):
    return t**3 - a


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("way", WAYS)
def test_root_scalar_in_a_loop(way):
    def roots(p):
        return linad.map(lambda a: so.root_scalar(_cubic, args=(a,), **WAYS[way]).root, p)

    np.testing.assert_allclose(roots(P), np.cbrt(P), rtol=1e-8)
    np.testing.assert_allclose(linad.jvp(roots, (P,), (P,))[1], np.cbrt(P) / 3, rtol=1e-8)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", ["toms748", "brentq"])
def test_what_a_search_in_a_loop_tells(name):
    def root(a):
        x, told = getattr(so, name)(_cubic, 0.0, 5.0, args=(a,), full_output=True)
        assert told.converged
        assert told.method == name
        return x + 0.0 * told.root

    slope = linad.grad(lambda p: np.sum(linad.map(root, p)))
    np.testing.assert_allclose(slope(P), P ** (-2 / 3) / 3, rtol=1e-8)

    def told_of(a):
        return getattr(so, name)(_cubic, 0.0, 5.0, (a,), full_output=True)[1]

    wanted = getattr(scipy.optimize, name)(_cubic, 0.0, 5.0, (2.0,), full_output=True)[1]
    steps = linad.jit(lambda a: told_of(a).iterations)
    assert steps(2.0) == wanted.iterations
    with pytest.raises(linad.errors.UnsupportedError, match="does not count the calls"):
        linad.jit(lambda a: a * told_of(a).function_calls)(1.0)


def test_a_function_that_gives_its_derivatives():
    def root(a):
        return so.root_scalar(lambda t: (t**3 - a, 3 * t**2, 6 * t), x0=1.2, fprime2=True).root

    for f in (linad.grad(root), linad.jit(linad.grad(root))):
        np.testing.assert_allclose(f(2.0), 2 ** (-2 / 3) / 3, rtol=1e-8)
    np.testing.assert_allclose(linad.map(root, P), np.cbrt(P), rtol=1e-8)


def test_a_search_that_does_not_end_is_told_as_scipy_tells_it():
    @linad.jit
    def converged(a):
        return so.root_scalar(lambda t: t**3 - a, bracket=(0.0, 5.0), maxiter=3).converged

    assert [bool(converged(1.0)) for _ in range(2)] == [False, False]
    with pytest.raises(ValueError, match="different signs"):
        linad.jit(lambda a: so.root_scalar(lambda t: t**3 - a, bracket=(4.0, 5.0)).root)(1.0)
    with pytest.raises(ValueError, match="not an interval"):
        linad.jit(lambda a: so.toms748(lambda t: t**3 - a, 5.0, 0.0))(1.0)


@pytest.mark.usefixtures("kernels")
def test_toms748_between_ends_that_are_arguments():
    root = linad.jit(lambda a, low, high: so.toms748(lambda t: t * t - a, low, high, k=2))
    for a, low, high in ((2.0, 0.0, 2.0), (9.0, 0.0, 3.0), (2.0, -2.0, 0.0)):
        wanted = scipy.optimize.toms748(lambda t, a=a: t * t - a, low, high)
        np.testing.assert_allclose(root(a, low, high), wanted, rtol=1e-11)
