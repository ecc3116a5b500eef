"""Functions that a device computes by others, beside NumPy's."""

import numpy as np
import pytest
import scipy.special as sp
from device_runs import checked
from fake_device import fake_gpu
from runs_on_fake_device import check as check_on_device

import linad
from linad.sweeps.cuda import compositions

RNG = np.random.default_rng(0)
X, V = RNG.normal(size=(6, 5)), RNG.normal(size=7)
EDGES = np.array([0.0, -0.0, 1.0, 2.5, -1.0, 1e-300, np.inf, np.nan])
FAR = np.array([-1e5, -40.0, -1.0, -0.99, 0.0, 1.0, 9.0, 40.0, -np.inf, np.inf])

CASES = {
    "isclose": (lambda x: np.isclose(x, x + 1e-9, atol=1e-3), X),
    "equal NaN": (lambda x: np.isclose(x, EDGES, equal_nan=True), EDGES),
    "unequal NaN": (lambda x: np.isclose(x, EDGES), EDGES),
    "allclose": (lambda x: x * np.allclose(x, 2 * x), X),
    "array_equal": (lambda x: x * np.array_equal(x, x), X),
    "unequal shapes": (lambda x: x * np.array_equal(x, x[:2]), X),
    "round": (lambda x: (np.round(x, 2), np.round(x), np.round(100 * x, -1)), X),
    "single round": (lambda x: np.round(x, 3), X.astype(np.float32)),
    "polyval": (lambda x: np.polyval(x[:4], x), V),
    "convolve": (lambda x: [np.convolve(x, x[:3], m) for m in ("full", "same", "valid")], V),
    "longer kernel": (lambda x: np.convolve(x[:2], x, "valid"), V + 1j * V[::-1]),
    "cross": (lambda x: np.cross(x[:, :3], x[:, 1:4]), X),
    "rel_entr": (lambda x: sp.rel_entr(np.abs(x), np.abs(x[::-1])), V),
    "kl_div": (lambda x: sp.kl_div(np.abs(x), np.abs(x[::-1])), V),
    "huber": (lambda x: sp.huber(0.5, x), V),
    "log_ndtr": (sp.log_ndtr, V * 5),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    checked(*CASES[name])


def test_far_out():
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(compositions.log_ndtr(FAR), sp.log_ndtr(FAR), rtol=1e-13)


def test_matrices():
    """By the libraries."""
    square = X[:5] + np.eye(5)
    for f, a in (
        (linad.grad(np.linalg.det), square),
        (np.linalg.pinv, X),
        (np.linalg.pinv, X.T + 1j),
        (lambda a: np.linalg.lstsq(a, a[:, :2])[0], X),
        (linad.grad(lambda a: np.sum(np.linalg.pinv(a) ** 2)), X),
    ):
        assert check_on_device(f, a)


def test_a_singular_matrix_has_an_adjugate():
    """NumPy's form, by the host."""
    a = np.ones((2, 2))
    with fake_gpu():
        found = linad.jit(linad.grad(np.linalg.det))(linad.cuda.asarray(a))
        found = found.numpy() if hasattr(found, "numpy") else found
        np.testing.assert_allclose(found, [[1, -1], [-1, 1]], atol=1e-14)
