"""What stands in the place of NumPy's functions in kernels: run by Python, it is NumPy's."""

import numpy as np
import pytest

from linad.kernels.numpy_functions import WRITTEN

RNG = np.random.default_rng(0)
V, W, THREE = RNG.standard_normal((3, 5))
A, SQUARE = RNG.standard_normal((3, 4)), RNG.standard_normal((4, 4))
GRID = np.sort(V)

ARGUMENTS = {
    np.any: [(np.zeros(3, bool),), (V > 0,)],
    np.all: [(np.ones(3, bool),), (V > 0,)],
    np.eye: [(4,)],
    np.identity: [(4,)],
    np.linspace: [(1.0, 2.0), (1.0, -2.0, 5), (1.0, 2.0, 1)],
    np.outer: [(V, W[:3])],
    np.cross: [(V[:3], W[:3])],
    np.trace: [(A,), (SQUARE,)],
    np.searchsorted: [(GRID, x) for x in (-9.0, GRID[2], 0.1, 9.0)],
    np.interp: [(x, GRID, W) for x in (-9.0, GRID[2], 0.1, 9.0)],
    np.linalg.norm: [(V,), (A,)],
    np.linalg.solve: [(SQUARE, V[:4]), (SQUARE[::-1], A.T)],
    np.linalg.inv: [(SQUARE,)],
    np.linalg.det: [(SQUARE,), (SQUARE[[1, 0, 3, 2]],), (np.ones((3, 3)),)],
}


@pytest.mark.whole
@pytest.mark.parametrize("function", WRITTEN, ids=lambda f: f.__name__)
def test_values(function):
    for args in ARGUMENTS.get(function, [(V,), (W[::2],)]):
        kept = [np.copy(a) for a in args]
        found, expected = WRITTEN[function](*args), function(*args)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
        assert np.shape(found) == np.shape(expected)
        for a, before in zip(args, kept, strict=True):
            np.testing.assert_array_equal(a, before)


def test_a_singular_matrix_is_refused():
    with pytest.raises(AssertionError, match="the matrix is singular"):
        WRITTEN[np.linalg.solve](np.zeros((2, 2)), np.ones(2))
