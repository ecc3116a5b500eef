"""The digamma function beside SciPy's."""

import numpy as np
import pytest
import scipy.special

from linad.sweeps.cuda.digamma import psi

X = [1e-300, 1e-9, 0.1, 0.5, 1.0, 1.4, 1.5, 2.0, 3.7, 9.99, 10.0, 11.0, 1e3, 1e10, 1e300]
X += [-0.1, -0.5, -1.5, -2.25, -7.001, -30.3, -1e5 - 0.25, 0.0, -0.0, -3.0, np.inf, -np.inf]


@pytest.mark.parametrize("x", [*X, np.nan], ids=str)
def test_like_scipy(x):
    with np.errstate(all="ignore"):
        found, wanted = psi(np.float64(x)), scipy.special.psi(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)
