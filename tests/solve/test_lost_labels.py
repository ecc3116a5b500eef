"""Rows of pandas that have no partner: named where residuals are NaN."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import OptimizeWarning

import linad
from linad.errors import ConvergenceError

T = np.linspace(0.0, 4.0, 9)
Y = pd.Series(3.0 * T, index=np.arange(9) + 2)


def residuals(p):
    return p[0] * pd.Series(T) - Y


WAYS = {
    "fit": lambda f: linad.solve.fit(f, [1.0]),
    "levenberg_marquardt": lambda f: linad.solve.levenberg_marquardt(f, np.ones(1)),
    "least_squares": lambda f: linad.solve.least_squares(f, np.ones(1)),
    "newton": lambda f: linad.solve.newton(lambda p: f(p).to_numpy()[[0]], np.ones(1)),
    "trust_region": lambda f: linad.solve.trust_region(lambda p: f(p).to_numpy().sum(), np.ones(1)),
    "lbfgs": lambda f: linad.solve.lbfgs(lambda p: f(p).to_numpy().sum(), np.ones(1)),
    "jit": lambda f: linad.solve.levenberg_marquardt(
        linad.jit(lambda p: f(p).to_numpy()), np.ones(1)
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::scipy.optimize.OptimizeWarning")
def test_labels_are_named(way):
    try:
        said = WAYS[way](residuals).message
    except ConvergenceError as error:
        said = str(error)
    assert "4 labels are in one of two Series alone, as 0, which makes NaN of them" in said
    assert "test_lost_labels.py" in said


def test_other_nans_are_told_as_before():
    with pytest.warns(OptimizeWarning, match=r"that of index 1; start elsewhere, or leave such"):
        linad.solve.fit(lambda p: p[0] * np.array([1.0, np.nan]), [1.0])
