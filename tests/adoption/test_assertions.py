"""Assertions of `numpy.testing` in adopted code decide, and say what NumPy says."""

import numpy as np
import pytest

import linad

SOURCE = """
import numpy as np
from numpy.testing import assert_allclose

class Results:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        np.testing.assert_equal(self.x, other.x, err_msg="not of one member")
        return Results(self.x, self.y + other.y)

def added(x):
    at = np.zeros(3)
    at[1:] = x[:2]
    return (Results(at, x**2) + Results(at.copy(), 2 * x)).y

def close(x):
    assert_allclose([x[0], 1.0], [x[0] + 1e-9, 1.0], rtol=1e-6)
    np.testing.assert_array_less(x, desired(x))
    return x * x

def desired(x):
    return {"all": x + 1}["all"]

def positive(x):
    np.testing.assert_array_less(0.0, x)
    return np.log(x)
"""

X = np.array([0.3, 0.5, 0.7])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name, slope", [("added", 2 * X + 2), ("close", 2 * X)])
def test_assertions_that_hold(installed, name, slope):
    package = installed(SOURCE)
    f = getattr(package, name)
    with linad.adopt(package.__name__):
        np.testing.assert_allclose(linad.jacobian(f)(X), np.diag(slope))
        jitted = linad.jit(f)
        for x in (X, X + 0.1, X + 0.2):
            np.testing.assert_allclose(jitted(x), f(x))
        assert [len(paths) for paths in jitted.variants.values()] == [1]


def test_assertions_that_do_not(installed):
    package = installed(SOURCE)
    with linad.adopt(package.__name__):
        jitted = linad.jit(package.positive)
        np.testing.assert_allclose(linad.jacobian(jitted)(X), np.diag(1 / X))
        for f in (jitted, linad.jacobian(package.positive), linad.jacobian(jitted)):
            with pytest.raises(AssertionError, match="not strictly ordered"):
                f(X - 0.4)
        with pytest.raises(AssertionError, match="not of one member"):
            linad.jacobian(lambda x: (package.Results(x, x) + package.Results(2 * x, x)).y)(X)
