"""Damped steps: each way gives the solution of (J^H J + λ D²) p = -J^H r."""

import numpy as np
import pytest

from linad.errors import SingularError
from linad.operators.matrices import Matrix
from linad.solve.damped import Factory

RNG = np.random.default_rng(0)
REAL = RNG.standard_normal((7, 4)) * (RNG.random((7, 4)) < 0.7) + np.eye(7, 4)
JACOBIANS = {
    "tall": REAL,
    "square": REAL[:4],
    "wide": REAL.T,
    "complex": REAL + 1j * np.roll(REAL, 1, axis=0),
}
WAYS = ["dense", "sparse", "krylov"]


def exact(a, r, lam, D):
    return np.linalg.solve(a.conj().T @ a + lam * np.diag(D * D), -a.conj().T @ r)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", JACOBIANS)
def test_a_step(name, way):
    a = JACOBIANS[name]
    r, D = RNG.standard_normal(len(a)).astype(a.dtype), RNG.uniform(0.5, 2.0, a.shape[1])
    steps = Factory(way)(Matrix(a), r)
    np.testing.assert_allclose(steps.gradient, a.conj().T @ r, atol=1e-14)
    for lam in (1e-3, 10.0):
        p = steps.step(lam, D)
        np.testing.assert_allclose(p, exact(a, r, lam, D), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(steps.product(p), np.linalg.norm(a @ p) ** 2, rtol=1e-8)
    norms = np.linalg.norm(a, axis=0)
    np.testing.assert_allclose(steps.column_norms, norms, rtol=0.6 if way == "krylov" else 1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_without_damping(way):
    r = RNG.standard_normal(7)
    p, rank = Factory(way)(Matrix(REAL), r).gauss()
    np.testing.assert_allclose(p, -np.linalg.lstsq(REAL, r)[0], rtol=1e-6)
    assert rank == 4


@pytest.mark.parametrize("way", WAYS)
def test_weights_and_unknowns_that_are_held(way):
    r, w = RNG.standard_normal(7), RNG.uniform(0.5, 2.0, 7)
    mask, D = np.array([True, False, True, True]), np.ones(4)
    steps = Factory(way)(Matrix(REAL), w * r, w, lambda gradient: mask)
    p = steps.step(0.1, D)
    inner = w[:, None] * REAL[:, mask]
    np.testing.assert_allclose(p[mask], exact(inner, w * r, 0.1, D[mask]), rtol=1e-6)
    assert p[1] == 0.0


def test_a_step_that_is_bent():
    """The same system for another residual."""
    a, (r, c) = REAL, RNG.standard_normal((2, 7))
    steps = Factory("dense")(Matrix(a), r)
    steps.step(0.3, np.ones(4))
    np.testing.assert_allclose(steps.bent(c), exact(a, c, 0.3, np.ones(4)), rtol=1e-10)
    np.testing.assert_allclose(steps.along(np.arange(4.0)), a @ np.arange(4.0))


@pytest.mark.parametrize("way", ["dense", "sparse"])
def test_a_jacobian_that_is_not_finite(way):
    with pytest.raises(SingularError):
        Factory(way)(Matrix(np.where(REAL[0, 0] == REAL, np.nan, REAL)), np.ones(7))
