"""Functions of Python's that raise at a trial point of a fit."""

import math
import re

import numpy as np
import pytest

import linad
from linad.solve import curve_fit, maximum_likelihood

pytestmark = pytest.mark.usefixtures("adopting")

X = np.linspace(0.0, 5.0, 20)


def slow(x, a, k):
    return [a * math.log(k * v + 1.0) for v in x]


def log_likelihood(sd):
    return sum(-0.5 * (v / sd) ** 2 - math.log(sd) for v in X)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: curve_fit(slow, X, -np.exp(X), [1.0, 0.1]), "curve_fit: slow was .*np.nan"),
        (
            lambda: maximum_likelihood(log_likelihood, {"sd": 40.0}),
            "maximum_likelihood: log_likelihood was called with the parameters .*sd.*-np.inf",
        ),
    ],
)
def test_the_parameters_are_told(call, words):
    with linad.adopt(slow, log_likelihood), pytest.raises(ValueError, match="domain") as raised:
        call()
    (note,) = raised.value.__notes__
    assert re.search(words, note)
    assert "bounds= keep them" in note


def test_nan_elsewhere_is_the_remedy():
    def safe(x, a, k):
        return slow(x, a, k) if k > -0.19 else np.nan

    y = np.array([2.0 * math.log(0.5 * v + 1) for v in X])
    with linad.adopt(slow):
        found = curve_fit(safe, X, y, [-5.0, 3.0])
    np.testing.assert_allclose(found.x, [2.0, 0.5], rtol=1e-6)

    def safe_likelihood(sd):
        return log_likelihood(sd) if sd > 0 else -np.inf

    with linad.adopt(log_likelihood):
        found = maximum_likelihood(safe_likelihood, {"sd": 40.0})
    np.testing.assert_allclose(found["sd"], np.sqrt(np.mean(X**2)), rtol=1e-6)


def test_a_start_outside_is_told():
    with linad.adopt(slow), pytest.raises(ValueError, match="domain") as raised:
        curve_fit(slow, X, X, [1.0, -5.0])
    (note,) = raised.value.__notes__
    assert "start where it is defined" in note
