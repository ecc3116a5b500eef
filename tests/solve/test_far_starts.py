"""Fits from starts that make the model too large, or too small, by many powers of ten.

The first steps bring such a model down to the data; gradient, cost and columns of the Jacobian are
then tiny beside those of the start, and that says nothing of the point.
"""

import numpy as np
import pytest
from solve.problems import unfinished

import linad

R = 8.314462618


def growth(t, a, k):
    return a * np.exp(k * t)


def arrhenius(T, A, E):
    return A * np.exp(-E / (R * T))


def power(x, a, p):
    return a * x**p


def gaussian(x, a, m, s, b):
    return a * np.exp(-0.5 * ((x - m) / s) ** 2) + b


def hill(x, top, half, n):
    return top * x**n / (half**n + x**n)


def double(t, a, k, b, q):
    return a * np.exp(-k * t) + b * np.exp(-q * t)


def logistic(t, top, k, m):
    return top / (1 + np.exp(-k * (t - m)))


MODELS = {
    growth: (np.arange(0.0, 50.0, 2.0), [2.0, 0.1]),
    arrhenius: (np.arange(300.0, 450.0, 20.0), [3e13, 9.2e4]),
    power: (np.linspace(0.2, 10.0, 40), [0.01, 4.0]),
    gaussian: (np.linspace(0.0, 10.0, 60), [3.0, 4.0, 0.8, 0.5]),
    hill: (np.linspace(0.1, 10.0, 30), [5.0, 2.5, 2.0]),
    double: (np.linspace(0.0, 10.0, 50), [3.0, 2.0, 1.0, 0.3]),
    logistic: (np.linspace(0.0, 10.0, 40), [4.0, 1.5, 5.0]),
}
FAR = [
    (growth, [1.0, 0.6]),
    (growth, [1e3, 0.5]),
    (growth, [1.0, 1.0]),
    (growth, [1e6, 1.0]),
    (growth, [1.0, 2.0]),
    (arrhenius, [1e13, 2e4]),
    (arrhenius, [1e13, 90.0]),
    (arrhenius, [1e13, 9e3]),
    (arrhenius, [1e8, 10.0]),
    (power, [0.01, 12.0]),
    (power, [0.01, 14.0]),
    (power, [0.01, 16.0]),
]


def data(model):
    """Abscissae, observations, and their standard deviations."""
    x, truth = MODELS[model]
    y = model(x, *truth)
    sigma = 0.02 * np.abs(y) + 0.001 * np.abs(y).max()
    return x, y + sigma * np.random.default_rng(0).standard_normal(len(x)), sigma


def fitted(model, start, **options):
    x, y, sigma = data(model)
    with np.errstate(all="ignore"):
        return linad.solve.curve_fit(model, x, y, start, sigma=sigma, **options)


def cosine(found):
    """The largest between the residuals and a column that is no rounding error."""
    r, J = found.result.fun, found.result.jac.todense()[:, ~found.result.rounding]
    J = J / np.where(J.any(axis=0), np.abs(J).max(axis=0), 1.0)
    norms = np.linalg.norm(J, axis=0)
    return np.max(np.abs((r / np.linalg.norm(r)) @ J) / np.where(norms > 0, norms, 1.0), initial=0)


@pytest.mark.parametrize("options", [{}, {"gtol": 0.0}], ids=["default", "no gtol"])
@pytest.mark.parametrize("model, start", FAR)
def test_the_minimum_is_found(model, start, options):
    near = fitted(model, MODELS[model][1])
    found = fitted(model, start, **options)
    assert found.success, found.message
    np.testing.assert_allclose(found.x, near.x, rtol=1e-6)
    assert found.chi_square == pytest.approx(near.chi_square, rel=1e-9)


def test_a_valley_is_no_accuracy():
    """At 3e-128 exp(6.2 t), for the last point alone, D of the start hides that the way goes on."""
    found = fitted(growth, [191.16836096, 6.24848454])
    assert not found.success or found.chi_square < 30.0, found.message


@pytest.mark.parametrize("way", ["sparse", "krylov"])
def test_every_way_to_solve(way):
    """Here the largest columns of the way freeze the rate; there is one try alone."""
    t = np.linspace(0.0, 3.0, 200)
    y = 2.0 * np.exp(-1.3 * t) + 0.1 * np.sin(7.0 * t)

    def r(p):
        return p[0] * np.exp(-p[1] * t) - y

    near = linad.solve.levenberg_marquardt(r, np.ones(2))
    found = linad.solve.levenberg_marquardt(r, np.array([1e3, -20.0]), linear_solver=way)
    assert found.success, found.message
    np.testing.assert_allclose(found.x, near.x, rtol=1e-5)


@pytest.mark.usefixtures("kernels")
def test_in_a_program():
    x, y, sigma = data(growth)
    near = fitted(growth, [2.0, 0.1])

    @linad.jit
    def fit(start):
        return linad.solve.least_squares(lambda c: (growth(x, *c) - y) / sigma, start)

    for start in ([1.0, 0.2], [1.0, 0.2], *(start for model, start in FAR if model is growth)):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(fit(np.array(start)), near.x, rtol=1e-6)


def voce(x, s0, q, b, n):
    return s0 + q * (1 - np.exp(-b * x)) + n * x


@pytest.mark.parametrize("seed", range(8))
def test_a_valley_to_infinity_is_left(seed):
    """Voce's law of hardening: from the first damping it runs to q = 1e7, b = -0."""
    x = np.linspace(0.1, 10, 40)
    y = voce(x, 3, 4.0, 1.2, 0.2) + 0.1 * np.random.default_rng(seed).standard_normal(40)
    near = linad.solve.curve_fit(voce, x, y, [3.0, 4.0, 1.2, 0.2])
    found = linad.solve.curve_fit(voce, x, y, [6.9146, 0.5881, 2.0653, 0.2714])
    assert found.success, found.message
    np.testing.assert_allclose(found.x, near.x, rtol=1e-5)


@unfinished
def test_what_runs_away_is_named():
    """a (1 - exp(-b x)) + a b x of data on a line that bends upwards."""
    x = np.linspace(0.1, 10, 40)
    found = linad.solve.curve_fit(
        lambda x, a, b: a * (1 - np.exp(-b * x)) + b * a * x, x, x + 0.01 * x**2, [1.0, 1.0]
    )
    assert not found.success
    assert "has run away from its start: bounds= keep" in found.message


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), ([0, 0, -9], np.inf)])
def test_years_of_a_calendar(bounds):
    """A decay counted from year 0, whose factor is 1e17."""
    year = np.arange(1950, 2000.0)
    y = 2 * np.exp(-0.02 * (year - 1950)) + 0.5 + 0.02 * np.cos(7 * year)

    def decay(x, a, k, c):
        return a * np.exp(-k * x) + c

    near = linad.solve.curve_fit(decay, year - 1975, y, [1.0, 0.02, 0.0])
    found = linad.solve.curve_fit(decay, year, y, [1.0, 0.01, 0.0], bounds=bounds)
    assert found.success, found.message
    np.testing.assert_allclose(found.x[1:], near.x[1:], rtol=1e-4)
    np.testing.assert_allclose(found.errors[1:], near.errors[1:], rtol=1e-3)


@pytest.mark.filterwarnings("ignore:curve_fit. the data (do not|hardly) determine")
@pytest.mark.sweep(part=0.2)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("model", list(MODELS))
@unfinished
def test_a_success_is_a_minimum(model, seed):
    """A local one perhaps: no column leads down. What is no success says what to do."""
    truth = np.array(MODELS[model][1])
    found = fitted(model, truth * 10 ** np.random.default_rng(seed).uniform(-2, 2, truth.size))
    if found.success:
        assert cosine(found) < 1e-4, found.message
    else:
        helps = "start", "bounds", "leave that point out"
        assert any(words in found.message for words in helps), found.message
