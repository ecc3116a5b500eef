"""Python's `statistics.NormalDist` in adopted code."""

import statistics

import numpy as np
import pytest

import linad

X = np.array([0.3, 1.5, 0.7, 0.9])

SOURCE = """
import statistics
from statistics import NormalDist

STANDARD = NormalDist()
OTHER = NormalDist(0.4, 1.3)
CDF = OTHER.cdf

FUNCTIONS = {
    "pdf": lambda x: STANDARD.pdf(x[0]) + OTHER.pdf(x[1]),
    "cdf": lambda x: STANDARD.cdf(x[0] - x[1]),
    "inv_cdf": lambda x: OTHER.inv_cdf(x[0]),
    "bound": lambda x: CDF(x[1]),
    "zscore": lambda x: OTHER.zscore(x[2]),
    "made": lambda x: NormalDist(x[0], x[1]).pdf(0.2),
    "made, inverse": lambda x: NormalDist(x[0], sigma=x[1]).inv_cdf(x[2]),
    "quantiles": lambda x: sum(q**2 for q in NormalDist(x[0], x[1]).quantiles(5)),
    "samples": lambda x: NormalDist.from_samples(x).cdf(0.5),
    "overlap": lambda x: NormalDist(x[0], x[1]).overlap(OTHER),
    "overlapped": lambda x: OTHER.overlap(NormalDist(x[0], x[1])),
    "arithmetic": lambda x: (3 * (NormalDist(x[0], x[1]) + OTHER) - x[2]).cdf(1.0),
    "plain first": lambda x: (OTHER - NormalDist(x[0], x[1]) / x[2]).stdev,
    "variance": lambda x: NormalDist(x[0], x[1]).variance * STANDARD.mean + x[0],
    "of a module": lambda x: statistics.NormalDist(mu=x[0]).cdf(x[1]),
}

def backwards(x):
    return NormalDist(x[0], -x[1]).mean

def outside(x):
    return OTHER.inv_cdf(x[1])

def tested(x):
    assert isinstance(NormalDist(x[0], x[1]), NormalDist)
    assert isinstance(STANDARD, NormalDist)
    assert NormalDist(0.4, 1.3) == OTHER
    return x[0]
"""


@pytest.fixture
def package(installed):
    made = installed(SOURCE)
    with linad.adopt(made):
        yield made


@pytest.mark.rest
def test_functions(package):
    for name, f in package.FUNCTIONS.items():
        plain = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(X.size)]
        y, gradient = linad.value_and_grad(f)(X)
        compiled = linad.jit(linad.grad(f))
        np.testing.assert_allclose(y, f(X), rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(gradient, plain, rtol=1e-7, atol=1e-9, err_msg=name)
        for x in (X, X + 0.05, X):
            expected = linad.grad(f)(x)
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-12, atol=1e-15, err_msg=name)


def test_errors_are_those_of_python(package):
    with pytest.raises(statistics.StatisticsError, match="non-negative"):
        linad.grad(package.backwards)(X)
    with pytest.raises(statistics.StatisticsError, match="p must be in the range"):
        linad.grad(package.outside)(X)


def test_distributions_are_of_the_class(package):
    np.testing.assert_array_equal(linad.grad(package.tested)(X), [1, 0, 0, 0])
