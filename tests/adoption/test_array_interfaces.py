"""Packages that hand arrays to NumPy by the description of their memory."""

import numpy as np
import pytest

import linad
from linad.errors import UnsupportedError
from linad.numpy.strides import as_strided

SOURCE = """
import numpy as np

class Holder:
    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__

class Described:
    def __init__(self, interface, base):
        self.__array_interface__, self.base = interface, base

def described(x, **changes):
    return np.asarray(Described({**x.__array_interface__, **changes}, x))

def held(x):
    y = np.array(Holder(2 * x)) * x + Holder(x) + np.asarray(Holder(np.ones(3)))
    y[:] = np.sin(Holder(y)) + np.add(Holder(x), 1.0)
    return np.concatenate([Holder(y), x])

def diagonal(x):
    y = np.outer(x, x)
    return described(y, shape=(3,), strides=(sum(y.strides),))

def windows(x):
    s, = x.strides
    return described(x, shape=(2, 2), strides=(s, s)) @ x[:2]

def behind(x):
    y = np.outer(x, x)
    begin, plain = y.__array_interface__["data"]
    assert begin + 8 - begin == 8
    return described(y, shape=(3,), data=(begin + y.strides[0], plain)) * x

def same(x, y):
    return x.__array_interface__["data"] == y.__array_interface__["data"]

def kept(x):
    y = x.copy()
    return x * (2.0 if same(x, x) else 3.0) * (2.0 if same(x, y) else 3.0)

def written(x):
    y = x * 1.0
    described(y)[0] = 7.0 * x[1]
    return y * x

def of_strided(x):
    y = x * 1.0
    described(y, shape=(2,), strides=(2 * y.strides[0],))[0] = x[2]
    return y * x
"""

X = np.array([0.3, 0.5, 0.7])


@pytest.mark.parametrize(
    "name", ["held", "diagonal", "windows", "behind", "kept", "written"]
)
def test_arrays_of_interfaces(installed, kernels, name):
    package = installed(SOURCE)
    f = getattr(package, name)
    steps = 1e-6 * np.eye(3)
    slopes = np.stack([(f(X + h) - f(X - h)) / 2e-6 for h in steps], axis=-1)
    with linad.adopt(package.__name__):
        np.testing.assert_allclose(linad.jacobian(f)(X), slopes, atol=1e-8)
        jitted = linad.jit(f)
        jitted(X)
        np.testing.assert_allclose(jitted(X + 0.1), f(X + 0.1))
        np.testing.assert_allclose(linad.jacobian(jitted)(X), slopes, atol=1e-8)


def test_writes_that_would_be_lost_raise(installed):
    package = installed(SOURCE)
    with linad.adopt(package.__name__), pytest.raises(ValueError, match="read-only"):
        linad.jacobian(package.of_strided)(X)


def test_addresses_of_views_are_not_compared(installed):
    package = installed(SOURCE)
    with linad.adopt(package.__name__), pytest.raises(UnsupportedError, match="shares_memory"):
        linad.jacobian(lambda x: x if package.same(x, x[:]) else 2 * x)(X)


def test_code_that_is_not_adopted_sees_no_interface():
    with pytest.raises(AttributeError, match="__array_interface__"):
        linad.jacobian(lambda x: x * x.__array_interface__["shape"][0])(X)


def test_strided_copies_are_read_only():
    def written(x):
        y = x * 1.0
        as_strided(y)[0] = 7.0 * x[1]  # all of it, which is a view
        with pytest.raises(ValueError, match="read-only"):
            as_strided(y, (2,), (16,))[0] = 1.0
        return y + 0.0 * as_strided(y, (2,), (16,)).sum()

    np.testing.assert_allclose(linad.jacobian(written)(X)[0], [0.0, 7.0, 0.0])
