"""Distributions whose formulas are linad's own, where SciPy's do not trace."""

import numpy as np
import pytest
import scipy.stats

import linad
import linad.scipy.stats as ls
from linad.errors import UnsupportedError
from linad.testing.derivative_checks import check_derivatives

X, P, B = np.array([0.2, 0.9, 3.0]), np.array(-0.7), np.array(1.3)


def test_generalized_inverse_gauss():
    mine, theirs = ls.geninvgauss, scipy.stats.geninvgauss
    loc, scale = np.array(0.1), np.array(1.5)
    for name in ("pdf", "logpdf"):
        f = getattr(mine, name)
        y, _ = linad.linearize(lambda x, f=f: f(x, P, B, loc, scale), X)
        np.testing.assert_allclose(y, getattr(theirs, name)(X, P, B, loc, scale), rtol=1e-13)
        check_derivatives(f, X, P, B, loc, scale)
    for name in ("mean", "var", "std"):
        f = getattr(mine, name)
        y, _ = linad.linearize(f, P, B)
        np.testing.assert_allclose(y, getattr(theirs, name)(P, B), rtol=1e-12)
        check_derivatives(f, P, B)
    for f in (mine.cdf, mine.sf, mine.ppf):
        with pytest.raises(UnsupportedError, match="geninvgauss.*quad"):
            linad.linearize(lambda x, f=f: f(x, P, B), X / 4)
