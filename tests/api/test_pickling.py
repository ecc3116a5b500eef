"""Transforms of a function travel to other processes as the function does."""

import functools
import inspect
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import joblib
import numpy as np
import pytest
from pickled_functions import MADE, Model, applied, curve, decorated, energy, wave

import linad
from linad.core import tree

X = np.linspace(0.1, 0.9, 3)


def assert_same(found, expected):
    for a, b in zip(tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("name", MADE)
def test_there_and_back(name):
    function = MADE[name]
    assert_same(pickle.loads(pickle.dumps(function))(X), function(X))


def test_options_go_along():
    f = linad.grad(np.multiply, argnums=1)
    again = pickle.loads(pickle.dumps(f))
    assert again(2.0, 3.0) == f(2.0, 3.0) == 2.0
    slope = pickle.loads(pickle.dumps(linad.derivative(wave)))
    assert slope(0.3) == linad.derivative(wave)(0.3)


def test_a_decorated_function_is_found_by_its_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_operators_and_pullbacks():
    for f in (curve, linad.jit(curve)):
        _, J = linad.linearize(f, X)
        assert_same(pickle.loads(pickle.dumps(J)) @ X, J @ X)
        _, pullback = linad.vjp(f, X)
        assert_same(pickle.loads(pickle.dumps(pullback))(X), pullback(X))
    H = linad.hessian_operator(energy, X)
    assert_same(pickle.loads(pickle.dumps(H)) @ X, H @ X)


def test_they_are_functions_still():
    """With the name, text and signature of the user's, and methods where a class has them."""
    g = linad.grad(energy)
    assert (g.__name__, g.__wrapped__) == ("energy", energy)
    assert inspect.signature(g) == inspect.signature(energy)
    assert "grad" in repr(g)

    class Owner:
        weight = 3.0

        @linad.jacobian
        def slope(self, x):
            return self.weight * x

    assert Owner.slope.__name__ == "slope"
    by_first = linad.grad(Model.loss, argnums=1)
    assert_same(by_first(Model(2.0), X), 4 * X)


@pytest.mark.rest
def test_in_processes_that_are_spawned():
    """As joblib does: the function is sent to workers that start from nothing."""
    context = multiprocessing.get_context("spawn")
    names = ["grad", "hessian", "jit of grad", "grad of jit", "decorated twice"]
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = [pool.submit(applied, MADE[name], X) for name in names]
        for name, answer in zip(names, found, strict=True):
            assert_same(answer.result(timeout=240), MADE[name](X))


@pytest.mark.rest
def test_by_joblib():
    """Its workers start from nothing, and take functions that have no name in a module."""
    scale = 3.0
    made = {
        **{name: MADE[name] for name in ("grad", "jacobian of grad", "jit of a method")},
        "lambda": linad.grad(lambda x: np.sum(scale * x**3)),
        "jit of lambda": linad.jit(linad.value_and_grad(lambda x: np.sum(scale * x**3))),
        "hvp": functools.partial(linad.hvp, energy, (X,)),
    }
    calls = [joblib.delayed(f)((X,) if name == "hvp" else X) for name, f in made.items()]
    found = joblib.Parallel(n_jobs=2, backend="loky", timeout=240)(calls)
    for (f, args, _), answer in zip(calls, found, strict=True):
        assert_same(answer, f(*args))


@pytest.mark.rest
@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot be forked here"
)
def test_in_processes_that_are_forked():
    """They have what was compiled before, and compile what comes."""
    before = MADE["jit of grad"]
    expected = before(X), before(X)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert_same(pool.submit(applied, before, X).result(timeout=240), expected[1])
        new = pool.submit(applied, MADE["grad of jit"], 2 * X).result(timeout=240)
    assert_same(new, MADE["grad of jit"](2 * X))
