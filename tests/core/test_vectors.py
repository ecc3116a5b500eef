"""Containers of arrays as vectors."""

import numpy as np

from linad.core.vectors import combine, difference, inner, norm, precision, random_like

A = {"x": np.array([1.0, -2.0]), "y": (np.array([[3.0 + 1j]]), np.float32(0.5))}


def test_inner_products():
    flat = np.array([1.0, -2.0, 3.0 + 1j, 0.5])
    rng = np.random.default_rng(0)
    B = random_like(A, rng)
    assert B["y"][0].dtype == complex
    assert B["y"][1].dtype == np.float32
    other = np.concatenate([B["x"], B["y"][0].ravel(), [B["y"][1]]])
    np.testing.assert_allclose(inner(A, B), np.real(np.vdot(flat, other)), rtol=1e-6)
    np.testing.assert_allclose(norm(A), np.linalg.norm(flat))
    total = combine(2.0, A, -1.0, B)
    np.testing.assert_allclose(total["x"], 2 * A["x"] - B["x"])
    assert total["y"][1].dtype == np.float32


def test_precision():
    assert precision((np.ones(2), np.ones(2, np.float32), np.arange(3))) == 2.0**-23
    assert precision(np.arange(3)) < 1e-15


def test_a_difference_says_how_well_it_is_known():
    x, d = np.array([0.3, 1e-3]), np.array([1.0, 2.0])
    found, noise = difference(lambda x: (np.sin(x), np.sum(np.exp(x))), (x,), (d,))
    np.testing.assert_allclose(found[0], np.cos(x) * d, atol=10 * noise)
    np.testing.assert_allclose(found[1], np.exp(x) @ d, atol=10 * noise)
    assert noise < 1e-11
