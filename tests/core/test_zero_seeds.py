"""Where results are known to be zeros: in recordings on zeros, whose seeds are zeros as well."""

import numpy as np
import pytest

from linad.core.zero_seeds import (
    linear_in_seeds,
    read_results,
    results_are_zeros,
    unread_results,
    zero_seeds,
)

ZERO, ONE = np.zeros(2), np.array([0.0, 1.0])


def test_outside_nothing_is_known():
    with linear_in_seeds([ZERO]):
        assert not results_are_zeros()
    assert not results_are_zeros()


@pytest.mark.parametrize(
    "seeds, known", [([ZERO], True), ([None, ZERO], True), ([ZERO, ONE], False)]
)
def test_of_zeros(seeds, known):
    with zero_seeds():
        assert not results_are_zeros()
        with linear_in_seeds(seeds):
            assert results_are_zeros() == known
            with read_results():
                assert not results_are_zeros()
                with linear_in_seeds([ZERO]):
                    assert not results_are_zeros()
            assert results_are_zeros() == known


def test_what_nobody_reads():
    with unread_results():
        assert results_are_zeros()
    assert not results_are_zeros()
