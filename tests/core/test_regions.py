"""Regions of arrays, read and written."""

import numpy as np

from linad.core.regions import Positions


def test_the_entry_of_numbers_that_do_not_lie_side_by_side():
    """A mask chose a number, of which there is one for each seed."""
    region, seeds = Positions(np.array([0]), 0), np.arange(6.0)[::2]
    np.testing.assert_array_equal(region.take(seeds), [[0.0], [2.0], [4.0]])
    region.put(seeds, np.array([[5.0], [6.0], [7.0]]))
    np.testing.assert_array_equal(seeds, [5.0, 6.0, 7.0])
