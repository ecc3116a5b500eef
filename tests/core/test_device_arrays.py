"""Which arguments are asked whether they lie in the memory of a GPU."""

import numpy as np

from linad.core import device_arrays


def test_most_arguments_are_told_by_their_type(monkeypatch):
    monkeypatch.setattr(device_arrays, "tree", None)  # nothing is taken apart
    assert not device_arrays.are_in(np.zeros(2), 1.0, 2, np.float64(3.0))
