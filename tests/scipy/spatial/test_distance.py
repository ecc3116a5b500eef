"""Second derivatives of distances where points are equal."""

import numpy as np
import pytest

import linad
import linad.scipy.spatial.distance as distance

X = np.array([[0.0, 0.0], [1.0, 2.0], [0.5, 0.1]])
VI = np.array([[2.0, 0.5], [0.5, 1.0]])
W = np.array([0.5, 2.0])
SQUARES = {
    "euclidean": ({}, np.eye(2)),
    "weighted": ({"w": W}, np.diag(W)),
    "minkowski": ({"p": 2.0, "w": W}, np.diag(W)),
    "seuclidean": ({"V": 1 / W}, np.diag(W)),
    "mahalanobis": ({"VI": VI}, VI),
}


@pytest.mark.parametrize("name", SQUARES)
def test_squares_of_distances_are_smooth(name):
    """The second derivative of a square is constant, at equal points as elsewhere."""
    options, matrix = SQUARES[name]
    metric = "euclidean" if name == "weighted" else name

    def f(x):
        return np.sum((distance.cdist(x[None], X, metric, **options) / 2) ** 2)

    for second in (linad.hessian(f), linad.jit(linad.hessian(f))):
        np.testing.assert_allclose(second(X[0]), 2 / 4 * 3 * matrix, atol=1e-14)


@pytest.mark.parametrize("p", [2.0, 3.0, 2.5])
def test_a_second_derivative_that_does_not_exist_is_nan(p):
    for f in (
        lambda x: distance.minkowski(x, X[0], p),
        lambda x: distance.minkowski(x, X[0], p, w=1 + 0 * x),
    ):
        np.testing.assert_array_equal(linad.grad(f)(X[0]), 0.0)
        with np.errstate(all="ignore"):
            assert np.all(np.isnan(np.diag(linad.hessian(f)(X[0]))))


def test_points_are_their_own_neighbours_wherever_they_are():
    """Matérn's kernel of points among themselves: the diagonal is 1, and has all derivatives."""

    def kernel(x):
        r = np.sqrt(3) * distance.cdist(x, x) / 1.3
        return np.sum((1 + r) * np.exp(-r))

    def apart(x):
        r = np.sqrt(3) * distance.pdist(x) / 1.3
        return 3 + 2 * np.sum((1 + r) * np.exp(-r))

    np.testing.assert_allclose(kernel(X), apart(X))
    for f in (kernel, linad.jit(kernel)):
        np.testing.assert_allclose(linad.hessian(f)(X), linad.hessian(apart)(X), atol=1e-13)
    x = np.array([[0.0, np.inf], [1.0, 2.0]])
    with np.errstate(invalid="ignore"):
        found = linad.linearize(lambda x: distance.cdist(x, x), x)[0]
    np.testing.assert_array_equal(found, [[np.nan, np.inf], [np.inf, 0]])
