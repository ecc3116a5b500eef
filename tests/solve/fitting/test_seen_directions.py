"""What residuals tell of parameters: covariances, open directions, errors of what is computed."""

import numpy as np
import pytest

from linad.solve.fitting.seen_directions import SeenDirections

rng = np.random.default_rng(3)
UNITS = np.array([1e-9, 1.0, 1e100])


@pytest.mark.parametrize("units", [np.ones(3), UNITS], ids=["alike", "of many sizes"])
def test_a_covariance_is_that_of_the_normal_equations(units):
    J = rng.standard_normal((8, 3))
    expected = 2.5 * np.linalg.inv(J.T @ J)
    directions = SeenDirections(J * units)
    assert directions.known
    assert directions.unseen() == []
    found = directions.covariance(2.5) * units[:, None] * units
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    a = rng.standard_normal((4, 3))
    errors = np.sqrt(np.diagonal(a @ expected @ a.T))
    np.testing.assert_allclose(directions.spread(a * units, 2.5), errors, rtol=1e-12)


@pytest.mark.parametrize("variance", [0.0, 1.0])
def test_what_no_residual_sees_is_open(variance):
    """x_0 + 2 x_1 and x_2 are seen; a perfect fit leaves the rest as open as another."""
    J = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 2.0], [1.0, 2.0, 5.0]])
    directions = SeenDirections(J)
    covariance = directions.covariance(variance)
    assert np.isinf(covariance[:2]).all()
    assert np.isfinite(covariance[2, 2])
    ((places, steps),) = directions.unseen()
    assert places.tolist() == [0, 1]
    np.testing.assert_allclose(steps, [1.0, -0.5])
    found = directions.spread(
        np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), variance
    )
    assert np.isfinite(found).tolist() == [True, True, False]


def test_fewer_residuals_than_parameters():
    directions = SeenDirections(np.array([[0.0, 1.0, 0.0]]))
    assert [places.tolist() for places, _ in directions.unseen()] == [[0], [2]]
    covariance = directions.covariance(4.0)
    assert covariance[1, 1] == 4.0
    assert np.isinf(covariance[[0, 2]]).all()


def test_a_jacobian_that_is_not_finite_tells_nothing():
    directions = SeenDirections(np.array([[1.0, np.nan], [0.0, 1.0]]))
    assert not directions.known
    assert directions.unseen() == []


@pytest.mark.parametrize("units", [1.0, 1e9])
def test_the_weakest_direction(units):
    x = np.linspace(0.0, 1.0, 9)
    J = np.stack([np.ones(9), x, x + 1e-6 * x**2], axis=1) * np.array([1.0, units, 1.0 / units])
    change, moved = SeenDirections(J).weakest()
    assert 1e-8 < change < 1e-6
    assert moved == [1, 2]
    assert SeenDirections(np.zeros((3, 2))).weakest() == (1.0, [])
    assert SeenDirections(np.full((3, 2), np.nan)).weakest() == (1.0, [])
