"""Random vectors: exact where the estimate has no variance, honest about its error elsewhere."""

import numpy as np
import pytest

from linad.linalg.probing import (
    diagonal,
    hutch_plus_plus,
    largest_singular_value,
    signs,
    squared_column_norms,
)
from linad.operators.matrices import Matrix

RNG = np.random.default_rng(0)
A = RNG.standard_normal((8, 8)) + 1j * RNG.standard_normal((8, 8))


@pytest.mark.parametrize("dtype", [np.float32, float, complex])
def test_signs(dtype):
    z = signs(np.random.default_rng(0), 50, 40, np.dtype(dtype))
    assert z.dtype == dtype
    np.testing.assert_allclose(np.abs(z), 1.0)
    assert abs(np.mean(z)) < 0.1


def test_diagonal_matrices_have_no_variance():
    d = A[0]
    found, error = diagonal(Matrix(np.diag(d)), 3, 0)
    np.testing.assert_allclose(found, d, rtol=1e-13)
    np.testing.assert_allclose(error, 0.0, atol=1e-14)
    found, error = squared_column_norms(Matrix(np.diag(d)), 2, 0)
    np.testing.assert_allclose(found, np.abs(d) ** 2, rtol=1e-13)


def test_errors_are_as_large_as_they_are_said_to_be():
    op = Matrix(A)
    for estimate, exact in (
        (diagonal, np.diagonal(A)),
        (squared_column_norms, np.sum(np.abs(A) ** 2, axis=0)),
    ):
        found, error = estimate(op, 4000, 1)
        assert np.all(np.abs(found - exact) < 5 * error)
        assert np.all(error < 0.1 * np.abs(A).sum())
    for samples in (2, 3, 12):
        found, error = hutch_plus_plus(op, samples, 3)
        assert abs(found - np.trace(A)) < 6 * error
    found, _ = hutch_plus_plus(op, 24, 3)  # its range is all there is
    np.testing.assert_allclose(found, np.trace(A), rtol=1e-12)


@pytest.mark.parametrize("a", [A, A[:5].real, A[:, :3], np.zeros((4, 3)), np.eye(6)])
def test_the_largest_singular_value(a):
    value, residual, steps = largest_singular_value(Matrix(a), 30, 0)
    exact = np.linalg.norm(a, 2)
    np.testing.assert_allclose(value, exact, rtol=1e-12, atol=1e-15)
    assert residual <= 1e-8 * max(exact, 1)
    assert steps <= min(a.shape)
    below, residual, _ = largest_singular_value(Matrix(a), 2, 0)
    singular = np.linalg.svd(a)[1]
    assert below <= exact * (1 + 1e-12)
    assert np.min(np.abs(singular - below)) <= residual + 1e-12
