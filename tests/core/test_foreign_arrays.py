"""Arrays of other libraries as points, through DLPack. tests/interop_agreement.py has real ones."""

import numpy as np
import pytest

import linad
from linad.errors import ArgumentError


class Foreign:
    """An array of another library, of which only the protocol is known."""

    def __init__(self, values):
        self.values = np.array(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class Refusing(Foreign):
    def __dlpack__(self, **options):
        raise BufferError("this one needs a gradient of its own")


def f(x, y):
    return np.sum(np.exp(x) * y["w"])


X, W = np.array([0.3, -1.0]), np.array([2.0, 5.0])
EXPECTED = np.exp(X) * W


@pytest.mark.parametrize("w", [W, Foreign(W)])
@pytest.mark.parametrize("x", [X, Foreign(X)])
def test_points(x, w, kernels):
    y = {"w": w}
    transforms = [linad.grad(f), linad.jit(linad.grad(f)), linad.grad(linad.jit(f))]
    for gradient in transforms:
        for _ in range(4):  # the short path of compiled calls comes third
            found = gradient(x, y)
            assert type(found) is np.ndarray
            np.testing.assert_allclose(found, EXPECTED, rtol=1e-15)
    assert linad.jit(f)(x, y) == f(X, {"w": W})
    np.testing.assert_allclose(linad.grad(f)(x, y=y), EXPECTED, rtol=1e-15)


def test_tangents_and_cotangents():
    _, dy = linad.jvp(np.exp, (Foreign(X),), (Foreign(W),))
    np.testing.assert_allclose(dy, EXPECTED, rtol=1e-15)
    _, pullback = linad.vjp(np.exp, Foreign(X))
    np.testing.assert_allclose(pullback(Foreign(W))[0], EXPECTED, rtol=1e-15)


def test_the_memory_is_shared_and_not_written():
    x = Foreign(X)

    def doubled(x):
        x *= 2
        return np.sum(x)

    np.testing.assert_array_equal(linad.grad(doubled)(x), [2.0, 2.0])
    np.testing.assert_array_equal(x.values, X)
    linad.jit(lambda x: x.__imul__(2))(x)
    np.testing.assert_array_equal(x.values, 2 * X)  # as of an array of NumPy


@pytest.mark.parametrize("transform", [linad.grad, linad.jit])
def test_a_refusal_is_told(transform):
    with pytest.raises(ArgumentError, match=r"Refusing.*DLPack: this one needs .*linad\.interop"):
        transform(np.sum)(Refusing(X))
