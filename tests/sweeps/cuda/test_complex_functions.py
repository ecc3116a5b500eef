"""Functions of complex numbers, made of real ones, beside NumPy's."""

import itertools

import numpy as np
import pytest

from linad.sweeps.cuda.complex_functions import WRITTEN

PARTS = [0.0, -0.0, 1.0, -2.5, 0.3, 1e-300, 1e-8, 25.0, -30.0, 700.0, np.pi / 2]
PARTS += [np.inf, -np.inf, np.nan]
NUMPY = {"acosh": np.arccosh}


def unsure(name, z):
    """Whether C leaves the sign of a result open: where a part is NaN, or lost in infinity."""
    return not (np.isfinite(z.real) and np.isfinite(z.imag))


@pytest.mark.parametrize("name", WRITTEN)
def test_like_numpy(name):
    reference = NUMPY.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        for x, y in itertools.product(PARTS, PARTS):
            z = np.complex128(complex(x, y))
            found, wanted = np.complex128(WRITTEN[name](z)), reference(z)
            for a, b in ((found.real, wanted.real), (found.imag, wanted.imag)):
                if np.isfinite(b):
                    assert abs(a - b) <= 1e-15 * max(abs(b), 1e-8 * abs(wanted), 5e-324), z
                else:
                    assert np.isnan(a) == np.isnan(b), z
                    assert np.isinf(a) == np.isinf(b), z
                if not unsure(name, z):
                    assert np.signbit(a) == np.signbit(b) or np.isnan(b), z
