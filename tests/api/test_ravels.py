"""`linad.ravel`: there and back, traced, and what it refuses."""

import numpy as np
import pytest

import linad

CONTAINERS = [
    2.0,
    np.arange(6.0).reshape(2, 3),
    {"b": np.ones(2), "a": 3.0},
    [1.0, (np.zeros((2, 1, 2)), {"c": np.float32(2)})],
    (np.ones(2, complex), 1),
    [np.zeros(0), np.ones(1)],
]


@pytest.mark.parametrize("container", CONTAINERS)
def test_there_and_back(container):
    vector, unravel = linad.ravel(container)
    assert vector.ndim == 1
    again, _ = linad.ravel(unravel(vector))
    np.testing.assert_array_equal(again, vector)
    doubled, _ = linad.ravel(unravel(2 * vector))
    np.testing.assert_array_equal(doubled, 2 * vector)


def test_traced():
    _, unravel = linad.ravel({"a": 1.0, "b": np.zeros(2)})

    def f(v):
        p = unravel(v)
        return p["a"] * np.sum(p["b"] ** 2)

    x = np.array([2.0, 3.0, 4.0])
    np.testing.assert_allclose(linad.grad(f)(x), [25.0, 12.0, 16.0])
    whole = linad.grad(lambda c: np.sum(linad.ravel(c)[0] ** 2))({"a": 1.0, "b": np.ones(2)})
    np.testing.assert_allclose(whole["b"], [2.0, 2.0])


def test_refusals():
    with pytest.raises(linad.errors.TreeError, match="holds no array"):
        linad.ravel([])
    with pytest.raises(linad.errors.ShapeError, match=r"expected a vector of shape \(3,\), got"):
        linad.ravel(np.ones(3))[1](np.ones(4))
