"""What lies beyond the ends of an axis: as scipy.ndimage has it."""

import numpy as np
import pytest
import scipy.ndimage

from linad.errors import DTypeError, ShapeError, UnsupportedError
from linad.scipy.boundaries import (
    MODES,
    beyond,
    check_mode,
    check_order,
    chosen_axes,
    delivered,
    each,
    image,
    padded,
)

SAMPLED = [mode for mode in MODES if "constant" not in mode]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("mode", MODES)
def test_an_axis_that_is_continued(mode, n):
    """A filter that moves by k shows what SciPy puts there."""
    x = np.arange(1.0, n + 1)
    reach = 2 * n + 1
    made = padded(x, reach, reach, mode, 7.0)
    for k in range(-reach, reach + 1):
        weights = np.zeros(2 * reach + 1)
        weights[reach + k] = 1.0
        moved = scipy.ndimage.correlate1d(x, weights, mode=mode, cval=7.0)
        np.testing.assert_array_equal(made[reach + k : reach + k + n], moved)
    if mode in SAMPLED:
        places = np.arange(-reach, n + reach)
        np.testing.assert_array_equal(x[beyond(places, n, mode)], made)


def test_arguments():
    with pytest.raises(ValueError, match="f: mode must be one of reflect.*got 'round'"):
        check_mode("f", "round")
    with pytest.raises(ValueError, match="f: order must be an integer from 0 to 5, got 6"):
        check_order("f", 6)
    with pytest.raises(DTypeError, match=r"pass input\.astype\(float\)"):
        image("f", np.arange(3))
    assert each("f", "wrap", 2) == ["wrap", "wrap"]
    assert each("f", (1, 2), 2) == [1, 2]
    with pytest.raises(ShapeError, match="one entry for each of 3 axes"):
        each("f", (1, 2), 3)
    assert chosen_axes("f", None, 2) == (0, 1)
    assert chosen_axes("f", (-1, 0), 3) == (2, 0)
    with pytest.raises(ValueError, match="repeated"):
        chosen_axes("f", (0, -2), 2)


def test_the_type_of_a_result():
    x, y = np.ones(2, np.float32), np.ones(2)
    assert delivered("f", y, x, None).dtype == np.float32
    assert delivered("f", y + 0j, x, None).dtype == np.complex64
    assert delivered("f", y, x, "f8").dtype == float
    with pytest.raises(DTypeError, match="cannot hold a result of complex128"):
        delivered("f", y + 0j, x, float)
    with pytest.raises(UnsupportedError, match="use the returned value"):
        delivered("f", y, x, np.zeros(2))
