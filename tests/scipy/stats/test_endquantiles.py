"""Quantiles of probability 0 and 1: how the ends of supports move, and the slopes there."""

import numpy as np
import pytest
import scipy.stats
from distribution_shapes import CONTINUOUS, FURTHER

import linad
import linad.scipy.stats as ls

BOUNDED = [
    name
    for name, shapes in (CONTINUOUS | FURTHER).items()
    if np.any(np.isfinite(getattr(scipy.stats, name).support(*shapes)))
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BOUNDED)
def test_quantiles_at_ends(name):
    given = np.array([*(CONTINUOUS | FURTHER)[name], 0.3, 1.7])
    for function in ("ppf", "isf"):
        mine, theirs = (getattr(getattr(m, name), function) for m in (ls, scipy.stats))
        for q, h in ((0.0, 1e-7), (1.0, -1e-7)):
            value = theirs(q, *given)
            if not np.isfinite(value):
                continue
            y, J = linad.linearize(lambda p, f=mine, q=q: f(q, *p), given)
            np.testing.assert_allclose(y, value, rtol=1e-15)
            for e in 1e-6 * np.eye(given.size):
                moved = (theirs(q, *given + e) - theirs(q, *given - e)) / 2
                np.testing.assert_allclose(J.pushforward(e), moved, rtol=1e-4, atol=1e-10)
            slope = linad.derivative(lambda q, f=mine: f(q, *given))(q)
            near, far = ((theirs(q + k * h, *given) - value) / (k * h) for k in (1, 2))
            if abs(near - far) < 1e-3 * abs(near):
                np.testing.assert_allclose(slope, near, rtol=1e-3)
            else:
                assert np.isinf(slope) or abs(slope) < 1e-3 or abs(slope) > 1e3


def test_known_answers():
    """Of exponential variables x = -s log(1 - q): x' = s, x'' = s at q = 0."""
    x = linad.derivative(lambda q: ls.expon.ppf(q, 0.3, 1.7))
    assert x(0.0) == linad.derivative(x)(0.0) == pytest.approx(1.7, rel=1e-14)
    mixed = linad.hessian(lambda v: ls.expon.ppf(v[0], v[1], v[2]))(np.array([0.0, 0.3, 1.7]))
    np.testing.assert_allclose(mixed, [[1.7, 0, 1], [0, 0, 0], [1, 0, 0]], atol=1e-14)
    found = linad.jit(linad.grad(lambda p: np.sum(ls.uniform.ppf([0.0, 0.5, 1.0], *p))))
    for _ in range(3):
        np.testing.assert_allclose(found(np.array([0.3, 1.7])), [3.0, 1.5])
