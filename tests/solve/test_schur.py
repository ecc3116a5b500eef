"""Unknowns that are eliminated: Schur complements of normal equations."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from programs import bundle

from linad.solve import levenberg_marquardt
from linad.solve.schur import elimination_for


def scene(cameras=3, points=60, seed=0):
    """Cameras on a street that see points before them; unknowns near the truth."""
    rng = np.random.default_rng(seed)
    place = np.linspace(0.0, 5.0, cameras)
    turned = 0.1 * rng.standard_normal((cameras, 3))
    centre = np.stack([place, 0.1 * np.sin(place), 0 * place], axis=1)
    rest = np.tile([500.0, -0.01, 0.001], (cameras, 1))
    cams = np.concatenate([turned, -bundle.rotate(centre, turned), rest], axis=1)
    cloud = rng.uniform([-1.0, -2.0, -9.0], [6.0, 2.0, -4.0], (points, 3))
    camera = np.tile(np.arange(cameras), points)
    point = np.repeat(np.arange(points), cameras)
    pixels = bundle.project(cloud[point], cams[camera])
    pixels += 0.3 * rng.standard_normal(pixels.shape)
    start = {
        "cameras": cams + rng.standard_normal(cams.shape) * [*[0.005] * 3, *[0.05] * 3, 5, 0, 0],
        "points": cloud + 0.1 * rng.standard_normal(cloud.shape),
    }

    def residual(x):
        return bundle.project(x["points"][point], x["cameras"][camera]) - pixels

    return residual, start


class TestSchur:
    def test_bundle_adjustment(self, monkeypatch):
        """The Schur complement gives the same as the whole normal equations."""
        residual, start = scene()
        found = levenberg_marquardt(residual, start, linear_solver="sparse")
        assert found.success, found.message
        monkeypatch.setattr("linad.solve.damped.elimination_for", lambda normal: None)
        whole = levenberg_marquardt(residual, start, linear_solver="sparse")
        np.testing.assert_allclose(found.cost, whole.cost, rtol=1e-8)

    def normal(self, first, k, count, kept, dtype=float):
        """A positive definite matrix with ``count`` blocks of ``k`` from ``first`` on."""
        rng = np.random.default_rng(1)
        n = kept + k * count
        inner = np.arange(first, first + k * count)
        outer = np.setdiff1d(np.arange(n), inner)
        rows = []
        for block in inner.reshape(count, k):
            a = np.zeros((k + 1, n), dtype)
            a[:, block] = rng.standard_normal((k + 1, k))
            if len(outer):
                seen = rng.choice(outer, 2)
                a[:, seen] = rng.standard_normal((k + 1, 2))
            if np.dtype(dtype).kind == "c":
                a = a * np.exp(1j * np.arange(k + 1))[:, None]
            rows.append(a)
        J = np.concatenate([*rows, np.eye(n)])
        return scipy.sparse.csc_array(J.conj().T @ J)

    @pytest.mark.parametrize("k", [1, 2, 3, 7])
    @pytest.mark.parametrize("place", ["tail", "head", "all"])
    @pytest.mark.parametrize("dtype", [float, complex])
    def test_found_and_solved(self, k, place, dtype):
        kept = 0 if place == "all" else 10
        normal = self.normal(kept if place == "tail" else 0, k, 60, kept, dtype)
        found = elimination_for(normal)
        assert found.block == k
        assert found.last - found.first == 60 * k
        n = normal.shape[0]
        rng = np.random.default_rng(2)
        damping, rhs = rng.uniform(0.1, 1.0, n), rng.standard_normal(n)
        exact = np.linalg.solve(normal.toarray() + np.diag(damping), rhs)
        np.testing.assert_allclose(found.solve(normal, damping, rhs), exact, rtol=1e-9, atol=1e-12)

    def test_none_where_there_is_none(self):
        band = scipy.sparse.diags_array([1.0, 4.0, 1.0], offsets=[-1, 0, 1], shape=(500, 500))
        assert elimination_for(band.tocsc()) is None
        few = self.normal(10, 3, 20, 10)
        assert elimination_for(few) is None
        kept = scipy.sparse.csc_array(np.ones((40, 40)))
        assert elimination_for(kept) is None

    def test_not_positive_definite(self):
        normal = self.normal(10, 3, 60, 10)
        found = elimination_for(normal)
        n = normal.shape[0]
        with pytest.raises(np.linalg.LinAlgError, match="a block of the normal equations"):
            found.solve(normal, np.full(n, -1e3), np.ones(n))
        damping = np.zeros(n)
        damping[:10] = -1e3
        with pytest.raises(np.linalg.LinAlgError, match="the Schur complement is singular"):
            found.solve(normal, damping, np.ones(n))
