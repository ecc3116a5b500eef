"""``len`` of traced values: arrays have one, numbers and arrays without axes have none."""

import numpy as np
import pytest

import linad
from linad.arrays.lengths import NoLengthError


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("x", [np.ones(3), np.array(1.0), np.float64(2.0)], ids=["row", "0d", "s"])
def test_as_of_numpy(x, order):
    found = []

    def look(y):
        found.append((hasattr(y, "__len__"), len(y) if np.ndim(y) else None))
        return np.sum(y * y)

    f = look
    for _ in range(order):
        f = linad.grad(lambda z, f=f: np.sum(f(z)))
    f(x)
    assert set(found) == {(type(x) is np.ndarray, len(x) if np.ndim(x) else None)}


def test_what_is_raised():
    for x, error in ((np.float64(1.0), NoLengthError), (np.array(1.0), TypeError)):
        with pytest.raises(error, match=r"has no len\(\)|len\(\) of unsized object"):
            linad.grad(lambda x: x * len(x))(x)
