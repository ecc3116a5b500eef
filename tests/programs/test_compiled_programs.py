"""The examples' functions, compiled: values, Jacobians and gradients."""

import importlib.util
from pathlib import Path

import numpy as np

import linad
from linad.core import tree

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(f, *args):
    """Value, both products with the Jacobian, and one of the second order."""
    rng = np.random.default_rng(0)
    v = rng.standard_normal(np.shape(args[0]))
    w = rng.standard_normal(np.shape(f(*args)))

    def products(x, v, w):
        y, J = linad.linearize(lambda x: f(x, *args[1:]), x)
        return y, J.pushforward(v), J.pullback(w)

    def second(x, v, w):
        pulled = linad.grad(lambda x: np.sum(f(x, *args[1:]) * w))
        return linad.jvp(pulled, (x,), (v,))[1]

    for function in (products, second):
        expected = tree.flatten(function(args[0], v, w))[0]
        jitted = linad.jit(function)
        for _ in range(3):
            for a, b in zip(tree.flatten(jitted(args[0], v, w))[0], expected, strict=True):
                scale = np.max(np.abs(b), initial=0)
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * scale)


def test_bratu():
    u = np.random.default_rng(1).random((6, 5))
    check(load("bratu_newton").bratu, u[:5, :5], 3.0)
    check(load("bratu_fold").bratu, u[:5, :5], 3.0)


def test_cavity():
    flow = load("driven_cavity").flow
    check(flow, np.random.default_rng(1).random((2, 6, 6)), 100.0)


def test_bundle_adjustment():
    project = load("bundle_adjustment").project
    cameras = np.random.default_rng(1).random((4, 6))
    check(lambda c, p: project(c, p), cameras, np.array([[0.1, 0.2, 3.0]] * 4))


def test_gaussian_process():
    likelihood = load("hessian_of_gp").negative_log_likelihood
    x = np.linspace(0, 3, 8)
    check(likelihood, np.log([1.5, 0.8, 0.2]), x, np.sin(x))
