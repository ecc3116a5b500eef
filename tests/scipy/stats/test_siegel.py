"""Siegel's line: SciPy's values, derivatives by differences."""

import numpy as np
import pytest
import scipy.stats

import linad
import linad.scipy.stats as stats
from linad.errors import ShapeError
from linad.testing.derivative_checks import check_derivatives

RNG = np.random.default_rng(0)
X, Y = np.array([0.3, 1.1, 1.4, 2.0, 3.7, 4.2, 5.5]), RNG.standard_normal(7)
TIED = np.where(X == 1.4, 1.1, X)


@pytest.mark.parametrize("method", ["hierarchical", "separate"])
def test_a_line(method):
    def line(y, x):
        return tuple(stats.siegelslopes(y, x, method))

    value = linad.linearize(line, Y, X)[0]
    np.testing.assert_allclose(value, scipy.stats.siegelslopes(Y, X, method), rtol=1e-12)
    check_derivatives(line, Y, X, order=1)
    value = linad.linearize(lambda y: line(y, TIED), Y)[0]
    np.testing.assert_allclose(value, scipy.stats.siegelslopes(Y, TIED, method), rtol=1e-12)
    check_derivatives(lambda y: line(y, TIED), Y, order=1)


def test_without_abscissae():
    slope = linad.linearize(lambda y: stats.siegelslopes(y).slope, Y)[0]
    np.testing.assert_allclose(slope, scipy.stats.siegelslopes(Y).slope)
    with pytest.raises(ShapeError, match="expected y and x of one axis"):
        linad.grad(lambda y: stats.siegelslopes(y, X[:3]).slope)(Y)
