"""Convolution on grids, recursive filters, running means."""

import numpy as np
import pytest
import scipy.signal

from linad.rules.filters import allpole_, convolve_grid_, running_mean_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(7)
IMAGE = rng.standard_normal((4, 5))
KERNEL = rng.standard_normal((2, 3))
STACK = rng.standard_normal((2, 3, 4))
POLES = np.array([1.3, -0.5, 0.2])
LONG = rng.standard_normal(6)
COMPLEX = {"complex_": True}

CASES = [
    Case(convolve_grid_, IMAGE, KERNEL, mode="full", axes=2, check=COMPLEX),
    Case(convolve_grid_, KERNEL, IMAGE, mode="full", axes=2),
    Case(convolve_grid_, IMAGE, KERNEL, mode="valid", axes=2, check=COMPLEX),
    Case(convolve_grid_, STACK, KERNEL, mode="full", axes=2),
    Case(convolve_grid_, STACK, KERNEL, mode="valid", axes=2),
    Case(convolve_grid_, KERNEL, STACK[:, :2, :3], mode="valid", axes=2),
    Case(allpole_, POLES, LONG, check=COMPLEX),
    Case(allpole_, POLES, STACK),
    Case(allpole_, POLES, LONG[:2]),
    Case(allpole_, POLES[:1], LONG),
    Case(allpole_, POLES, np.zeros((2, 0))),
    Case(allpole_, POLES, np.zeros(0)),
    Case(running_mean_, LONG, size=3, check=COMPLEX),
    Case(running_mean_, STACK, size=4),
    Case(running_mean_, LONG, size=1),
]


@pytest.mark.parametrize("mode", ["full", "valid"])
def test_grids_are_scipys(mode):
    found = convolve_grid_(IMAGE, KERNEL, mode=mode, axes=2)
    np.testing.assert_allclose(found, scipy.signal.convolve(IMAGE, KERNEL, mode), rtol=1e-12)


def test_allpole_solves_the_difference_equation():
    y = allpole_(POLES, LONG)
    np.testing.assert_allclose(np.convolve(POLES, y)[:6], LONG, rtol=1e-12)


def test_running_means():
    expected = np.convolve(LONG, np.ones(4) / 4, "valid")
    np.testing.assert_allclose(running_mean_(LONG, size=4), expected, rtol=1e-12)
