"""Python's `statistics` in adopted code."""

import statistics

import numpy as np
import pytest

import linad

X = np.array([0.3, 1.5, 0.7, 2.2])

SOURCE = """
import math
import statistics
import numpy as np

Y = np.array([1.0, 0.4, 0.8, 0.1])

FUNCTIONS = {
    "lists": lambda x: statistics.mean([x[0], 2.0, x[1] * x[2]]),
    "iterators": lambda x: statistics.mean(v * v for v in x),
    "weights": lambda x: statistics.harmonic_mean(x, weights=[1, 2, 3, 4]),
    "weighted": lambda x: statistics.fmean([1.0, 2.0, 3.0, 4.0], x),
    "about": lambda x: statistics.variance(x, x[0]),
    "covariance": lambda x: statistics.covariance(x, Y),
    "correlation": lambda x: statistics.correlation(Y, x),
    "slope": lambda x: statistics.linear_regression(Y, x).slope,
    "intercept": lambda x: statistics.linear_regression(x, Y).intercept,
    "proportional": lambda x: statistics.linear_regression(x, Y, proportional=True).slope,
    "quantiles": lambda x: statistics.quantiles(list(x))[0],
    "sum": lambda x, f=sum: f(x), "mean of a table": lambda x, f=statistics.mean: f(x),
}
for name in (
    *("mean", "fmean", "geometric_mean", "harmonic_mean", "median", "median_low"),
    *("variance", "pvariance", "stdev", "pstdev"),
):
    FUNCTIONS[name] = lambda x, f=getattr(statistics, name): f(x)

def few(x):
    return statistics.stdev([x])

def integers(x):
    assert type(statistics.mean([1, 3])) is int
    k = np.int64(x[1])
    assert type(k) is np.int64
    assert isinstance(k, np.int_)
    return np.take(x, np.intp(k)) * k
"""


@pytest.fixture
def package(installed):
    made = installed(SOURCE)
    with linad.adopt(made):
        yield made


@pytest.mark.usefixtures("kernels")
def test_functions(package):
    for name, f in package.FUNCTIONS.items():
        plain = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(X.size)]
        y, gradient = linad.value_and_grad(f)(X)
        compiled = linad.jit(linad.grad(f))
        np.testing.assert_allclose(y, f(X), rtol=1e-14, err_msg=name)
        np.testing.assert_allclose(gradient, plain, rtol=1e-7, atol=1e-9, err_msg=name)
        for x in (X, X[::-1].copy(), X):
            expected = linad.grad(f)(x)
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-14, atol=1e-15, err_msg=name)


def test_errors_are_those_of_python(package):
    with pytest.raises(statistics.StatisticsError, match="two data points"):
        linad.grad(package.few)(1.0)


def test_types_of_integers(package):
    compiled = linad.jit(linad.grad(package.integers))
    for x in (X, X + np.eye(4)[1], X):
        np.testing.assert_array_equal(compiled(x), np.eye(4)[int(x[1])] * int(x[1]))
