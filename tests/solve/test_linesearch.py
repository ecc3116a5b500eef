"""Backtracking: steps that bring enough decrease, and none where there is none."""

import itertools

import numpy as np
import pytest

from linad.solve.linesearch import DECREASE, NoDecrease, backtrack


def along(f, tried):
    def phi(alpha):
        tried.append(alpha)
        return f(alpha), f"at {alpha:g}"

    return phi


def test_a_whole_step_is_taken():
    tried = []
    found = backtrack(along(lambda a: (1 - a) ** 2, tried), 1.0, -2.0, 1e-10)
    assert found == (1.0, 0.0, "at 1")
    assert tried == [1.0]


def test_a_parabola_is_minimised_at_the_second_trial():
    tried = []
    alpha, value, _ = backtrack(along(lambda a: (1 - 4 * a) ** 2, tried), 1.0, -8.0, 1e-10)
    np.testing.assert_allclose([alpha, value], [0.25, 0.0], atol=1e-15)
    assert len(tried) == 2


def test_a_cubic_at_the_third():
    def f(a):
        return 1 - a + 3000 * a**3

    tried = []
    alpha, value, _ = backtrack(along(f, tried), 1.0, -1.0, 1e-10)
    assert value <= 1 - DECREASE * alpha
    assert all(0.1 * a <= b <= 0.5 * a * (1 + 1e-12) for a, b in itertools.pairwise(tried))
    np.testing.assert_allclose(alpha, (1 / 9000) ** 0.5, rtol=1e-6)


def test_what_is_not_finite_is_left_at_once():
    tried = []
    alpha, *_ = backtrack(along(lambda a: np.inf if a > 0.05 else 1 - a, tried), 1.0, -1.0, 1e-10)
    np.testing.assert_allclose(tried, [1.0, 0.1, 0.01])
    assert alpha == tried[-1]


@pytest.mark.parametrize("f, finite", [(lambda a: 1 + a, True), (lambda a: np.nan, False)])
def test_no_decrease(f, finite):
    with pytest.raises(NoDecrease) as caught:
        backtrack(along(f, []), 1.0, -1.0, 1e-6)
    assert caught.value.finite == finite


def test_noise_is_no_increase():
    assert backtrack(along(lambda a: 1 + 1e-15, []), 1.0, -1e-20, 1e-6, noise=1e-14)[0] == 1.0
