"""GMRES preconditioned from the right: against dense systems."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from linad.solve.right_gmres import right_gmres


def near(x):
    return x


@pytest.fixture(params=[float, complex])
def system(request):
    """A matrix near the identity, and a right hand side."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((12, 12)), rng.standard_normal(12)
    if request.param is complex:
        A, b = A + 1j * rng.standard_normal((12, 12)), b + 1j * rng.standard_normal(12)
    return np.eye(12) + 0.1 * A, b


def test_solution(system):
    A, b = system
    x, reached = right_gmres(aslinearoperator(A), b, 1e-12, near, 12)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-9)
    assert reached <= 1e-12


@pytest.mark.parametrize("most", [1, 3, 6])
def test_residual_is_the_smallest_and_the_true_one(system, most):
    """Least squares over the Krylov space, with a preconditioner."""
    A, b = system
    D = np.linspace(0.5, 2.0, 12)
    x, reached = right_gmres(aslinearoperator(A), b, 0.0, lambda v: D * v, most)
    assert reached == pytest.approx(np.linalg.norm(b - A @ x) / np.linalg.norm(b), rel=1e-9)
    space = [b]
    for _ in range(most - 1):
        space.append(A @ (D * space[-1]))
    images = np.stack([A @ (D * v / np.linalg.norm(v)) for v in space], axis=1)
    y = np.linalg.lstsq(images, b, rcond=None)[0]
    assert reached == pytest.approx(np.linalg.norm(b - images @ y) / np.linalg.norm(b), rel=1e-6)


def test_with_the_inverse_one_step_does(system):
    A, b = system
    products = []

    def inverse(v):
        products.append(v)
        return np.linalg.solve(A, v)

    x, reached = right_gmres(aslinearoperator(A), b, 1e-10, inverse, 5)
    assert len(products) == 1
    assert reached < 1e-13
    np.testing.assert_allclose(A @ x, b, rtol=1e-10)


def test_ends():
    A = aslinearoperator(np.diag([1.0, 2.0]))
    x, reached = right_gmres(A, np.zeros(2), 1e-10, near, 5)
    assert reached == 0
    np.testing.assert_array_equal(x, 0)
    _, reached = right_gmres(A, np.ones(2), 1e-10, lambda v: v * np.nan, 5)
    assert reached == np.inf
    # A singular matrix: the smallest residual, and the space ends.
    singular = aslinearoperator(np.diag([1.0, 0.0]))
    x, reached = right_gmres(singular, np.array([1.0, 1.0]), 1e-10, near, 5)
    assert reached == pytest.approx(np.sqrt(0.5))
    x, reached = right_gmres(singular, np.array([1.0, 0.0]), 1e-10, near, 5)
    np.testing.assert_allclose(x, [1.0, 0.0])
