"""SciPy's writing into arrays, of traced ones."""

import numpy as np
import pytest
from released import OLD_SCIPY

import linad
import linad.numpy as lnp
from linad.scipy.atoperator import at

if OLD_SCIPY:
    pytest.skip("SciPy writes in other ways", allow_module_level=True)
from scipy._lib._array_api import xpx

X = np.array([0.4, -1.0, 2.0])
CALLS = {
    "set": lambda at, x: at(x)[1].set(3.0),
    "set-mask": lambda at, x: at(x, x > 0).set(x[x > 0] ** 2, copy=True),
    "add": lambda at, x: at(x)[:2].add(x[1:]),
    "subtract": lambda at, x: at(x, 0).subtract(1.0),
    "multiply": lambda at, x: at(x)[...].multiply(x),
    "divide": lambda at, x: at(x)[2].divide(4.0),
    "power": lambda at, x: at(x)[2].power(2.0),
    "min": lambda at, x: at(x)[:].min(0.5),
    "max": lambda at, x: at(x)[:].max(0.5, copy=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_scipys(name):
    expected = CALLS[name](xpx.at, 1 * X)
    y, J = linad.linearize(lambda x: CALLS[name](at, 1 * x), X)
    np.testing.assert_allclose(y, expected)
    h = 1e-6 * np.array([1.0, 2.0, -1.0])
    moved = CALLS[name](xpx.at, X + h) - CALLS[name](xpx.at, X - h)
    np.testing.assert_allclose(J.pushforward(h), moved / 2, rtol=1e-5, atol=1e-12)


def test_writing_is_in_place_unless_a_copy_is_asked_for():
    def f(x):
        y, z = lnp.zeros(3), lnp.zeros(3)
        at(y)[0].set(x[0])
        at(z)[0].set(x[0], copy=True)
        return y, z

    y, z = linad.linearize(f, X)[0]
    np.testing.assert_array_equal(y, [0.4, 0.0, 0.0])
    np.testing.assert_array_equal(z, np.zeros(3))


def test_a_number_is_replaced_or_stays():
    def f(x):
        s = np.sum(x)
        return (
            at(s, s > 1).set(s[s > 1] ** 2 if s > 1 else 0.0),
            at(s, s < 1).set(0.0),
            at(s)[()].add(1),
        )

    np.testing.assert_allclose(linad.linearize(f, X)[0], [1.4**2, 1.4, 2.4])
