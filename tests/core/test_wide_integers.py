"""Integers that no dtype holds, beside arrays: as NumPy takes them."""

import numpy as np
import pytest

from linad.core.wide_integers import LEAST, MOST, as_met

HUGE = 2**70


def test_the_range_is_that_of_int64():
    assert (np.iinfo(np.int64).min, np.iinfo(np.int64).max) == (LEAST, MOST)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_beside_floats(dtype):
    x = np.ones(2, dtype)
    met = as_met(HUGE, [np.ones(2, int), x])
    assert type(met) is float
    np.testing.assert_array_equal(x + met, x + HUGE)
    assert (x + met).dtype == (x + HUGE).dtype


def test_beside_integers_it_stays():
    assert as_met(HUGE, [np.ones(2, int), 1.5]) is HUGE
    assert as_met(HUGE, []) is HUGE
