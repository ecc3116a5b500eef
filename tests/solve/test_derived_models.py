"""Searches of a jitted function ask programs of its gradient and Hessian where they ask often."""

import pickle

import numpy as np
import pytest

import linad
from linad.solve import derived_models

pytestmark = pytest.mark.usefixtures("kernels")

T = np.linspace(0.0, 3.0, 20)
COUNTS = np.round(30 * np.exp(-0.8 * T) + 3)


def likelihood(height, rate, ground):
    expected = height * np.exp(-rate * T) + ground
    return np.sum(COUNTS * np.log(expected) - expected)


def valley(p):
    return (p["a"] - 1.0) ** 2 + 30.0 * np.sum((p["b"] - p["a"] ** 2) ** 2) + np.sum(p["b"] ** 4)


START = {"a": -1.2, "b": np.array([1.0, 2.0])}


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(derived_models, "OFTEN", 0)


@pytest.mark.full
@pytest.mark.parametrize("bounds", [None, (0.0, 50.0), ([0, 0, 5], [50, 5, 9])])
def test_likelihoods_are_the_same(bounds, at_once):
    given = {} if bounds is None else {"bounds": bounds}
    plain, jitted = [
        linad.solve.maximum_likelihood(f, [20.0, 1.0, 6.0], **given)
        for f in (likelihood, linad.jit(likelihood))
    ]
    np.testing.assert_allclose(jitted.x, plain.x, rtol=1e-6)
    np.testing.assert_allclose(jitted.covariance, plain.covariance, rtol=1e-5, atol=1e-12)
    ends = [np.array(list(fit.profile_intervals().values())) for fit in (jitted, plain)]
    np.testing.assert_allclose(*ends, rtol=1e-5)
    assert jitted.solve.derived.asked > 0
    again = pickle.loads(pickle.dumps(jitted))
    np.testing.assert_allclose(again.covariance, plain.covariance, rtol=1e-5, atol=1e-12)


@pytest.mark.rest
@pytest.mark.parametrize("solver", ["newton_cg", "trust_region", "lbfgs"])
def test_minima_are_the_same(solver, at_once):
    solve = getattr(linad.solve, solver)
    plain, jitted = solve(valley, START), solve(f := linad.jit(valley), START)
    assert plain.success
    assert jitted.success
    for key in START:
        np.testing.assert_allclose(jitted.x[key], plain.x[key], rtol=1e-5)
        np.testing.assert_allclose(jitted.jac[key], 0.0, atol=1e-4)
    assert any(type(key) is tuple and key[0] == "model" for key in f.related)


def test_programs_are_made_for_those_who_ask_often():
    f = linad.jit(valley)
    linad.solve.trust_region(f, START, maxiter=3)
    (model,) = f.related.values()
    assert 0 < model.asked < derived_models.OFTEN
    assert not model.slope.variants


def test_many_unknowns_and_many_paths_are_left_to_products(at_once):
    def kinked(x):
        return np.sum(x**2) if x[0] > 1 else np.sum(x**2 + x**4) if x[1] > 1 else np.sum(x**4) + 1

    f = linad.jit(kinked)
    for x in ([2.0, 2.0], [0.5, 2.0], [0.5, 0.5]):
        f(np.array(x))
    linad.solve.trust_region(f, np.array([2.0, 2.0]))
    (model,) = f.related.values()
    assert not model.slope.variants
    many = linad.jit(lambda x: np.sum((x - 1.0) ** 2))
    linad.solve.trust_region(many, np.zeros(derived_models.FEW + 1))
    assert not many.related
