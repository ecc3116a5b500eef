"""Rolled arrays in compiled programs."""

import numpy as np
import pytest
from compiled_runs import check_compiled

from linad.sweeps.data_movement import SMALL

ROLLS = [(3, 0), (-1, 1), (5, 2), (0, 0), ((2, -1), (0, 2)), ((1, 2), (1, 1))]
ROLLS += [((1, -2, 9), (0, 1, 2))]
VIEWS = {
    "whole": lambda x: x,
    "backward, with gaps": lambda x: x[::-1, :, ::2],
    "permuted": lambda x: x.transpose(2, 0, 1),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4", "?"])
def test_rolled(dtype, view):
    def f(x):
        x = np.astype(VIEWS[view](x), dtype)
        return [np.roll(x, *given) for given in (*ROLLS, (7,))]

    done = check_compiled(f, np.random.default_rng(0).normal(size=(4, 3, 5 * SMALL)))
    assert "copy" in done
