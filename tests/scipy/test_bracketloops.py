"""Bracketed roots in compiled functions: one program, whatever the values."""

import re

import numpy as np
import pytest
import scipy.optimize

import linad
import linad.scipy.optimize as so
from linad.scipy import bracketloops, enclosureloops

PROBLEMS = {
    "cubic": (lambda p: lambda x: x**3 - p * x - 1, 0, 3),
    "exponential": (lambda p: lambda x: np.exp(x) - 10 * p, -5, 10),
    "steep": (lambda p: lambda x: np.tanh(50 * (x - p)) + 0.1, -10, 10),
    "diode": (lambda p: lambda i: 3 - 1e-9 * (np.exp((0.6 + 0.02 * i * p) / 0.03) - 1) - i, -20, 4),
    "decides": (lambda p: lambda x: x - p if x < 1.5 else 2 * x - 1.5 - p, -3.0, 9),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", ["brentq", "ridder"])
def test_one_program(method, name):
    f, a, b = PROBLEMS[name]
    solver = getattr(so, method)
    root = linad.jit(lambda p: solver(f(p), a, b))
    slope = linad.jit(linad.grad(lambda p: solver(f(p), a, b)))
    for p in (1.0, 1.7, 2.5):
        wanted = scipy.optimize.brentq(f(p), a, b, xtol=1e-14)
        np.testing.assert_allclose(root(p), wanted, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(slope(p), linad.grad(lambda p: solver(f(p), a, b))(p), rtol=1e-9)
    sides = 1 + (name == "decides")  # the slope at the root is that of its side
    assert [len(paths) for paths in root.variants.values()] == [sides]


def test_steps_are_those_of_scipy(monkeypatch):
    """But for rounding: which of several roots is found depends on every one of them."""

    def in_python(goes_on, step, state):
        while goes_on(state):
            state = step(state)
        return state

    monkeypatch.setattr(bracketloops, "while_loop", in_python)
    monkeypatch.setattr(enclosureloops, "while_loop", in_python)
    limits = {"xtol": 2e-12, "rtol": 4 * np.finfo(float).eps, "maxiter": 100}
    rng = np.random.default_rng(1)
    for k in range(100):
        c = rng.normal(size=4)
        f = [lambda x, c=c: np.polyval(c, x), lambda x, c=c: np.sin(5 * c[0] * x + c[1]) + c[2]][
            k % 2
        ]
        a, b = rng.uniform(-3, 0), rng.uniform(0, 3)
        ends = (a, b) if k % 7 else (b, a)
        for name, search in bracketloops.SEARCHES.items():
            if np.sign(f(a)) == np.sign(f(b)):
                continue
            at, more = ends, {}
            if name == "toms748":  # takes them in order
                at, more = (a, b), {"k": 1 + k % 3}
            wanted, result = getattr(scipy.optimize, name)(f, *at, full_output=True, **more)
            with np.errstate(all="ignore"):
                (found, steps), good = search(f, *at, **limits, **more)
            assert good
            assert abs(steps - result.iterations) <= 1  # rounding may end it one step apart
            assert abs(found - wanted) < 4e-12


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", bracketloops.SEARCHES)
def test_the_root_of_several_is_that_of_scipy(name):
    solver, theirs = getattr(so, name), getattr(scipy.optimize, name)
    for f, a, b in (
        (lambda p: lambda x: p * np.sin(x), 1.0, 10.0),
        (lambda p: lambda x: p * (x - 0.5) * (x - 1.5) * (x - 2.5), 0.0, 3.1),
    ):
        root = linad.jit(lambda p, f=f, a=a, b=b: solver(f(p), a, b))
        for p in (1.0, 2.0):
            np.testing.assert_allclose(root(p), theirs(f(p), a, b), rtol=1e-11)


@pytest.mark.usefixtures("kernels")
def test_ends_that_are_arguments_and_roots_at_an_end():
    @linad.jit
    def root(p, low, high):
        return so.brentq(lambda x: x * x - p, low, high)

    for p, low, high in ((2.0, 0.0, 2.0), (4.0, 2.0, 3.0), (9.0, 0.0, 3.0), (2.0, -2.0, 0.0)):
        np.testing.assert_allclose(root(p, low, high), np.copysign(np.sqrt(p), low + high))


def test_what_is_refused_is_refused_by_scipy():
    root = linad.jit(lambda p: so.brentq(lambda x: x * x + p, 0.0, 2.0))
    np.testing.assert_allclose(root(-1.0), 1.0)
    for _ in range(2):
        with pytest.raises(ValueError, match="different signs"):
            root(1.0)
    with pytest.raises(RuntimeError, match="Failed to converge"):
        linad.jit(lambda p: so.brentq(lambda x: x**3 - p, -9.0, 9.0, maxiter=2))(1.0)


METHODS = ("brentq", "brenth", "bisect", "ridder", "toms748")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "limits", [{"xtol": 0.0}, {"rtol": 1e-17}, {"maxiter": -1}, {"maxiter": 9.0}], ids=str
)
def test_limits_that_scipy_does_not_take(method, limits):
    def root(solvers, p):
        return getattr(solvers, method)(lambda x: x * x - p, 0.0, 2.0, **limits)

    with pytest.raises((ValueError, TypeError)) as wanted:
        root(scipy.optimize, 2.0)
    with pytest.raises(type(wanted.value), match=re.escape(str(wanted.value))):
        linad.jit(root, static_argnums=0)(so, 2.0)


@pytest.mark.parametrize("method", METHODS)
def test_searches_that_meet_nan(method):
    """At an end, or on the way: SciPy goes no further."""

    def root(solvers, p, low):
        def f(x):
            return np.where(np.abs(x - p) < 0.3, np.nan, x - p)

        return getattr(solvers, method)(f, low, 2.0)

    jitted = linad.jit(root, static_argnums=0)
    for low in (0.9, -1.0):
        for solvers, found in ((scipy.optimize, root), (so, jitted)):
            with pytest.raises(ValueError, match="is NaN; solver cannot continue"):
                found(solvers, 1.0, low)
    outside = linad.jit(lambda p: getattr(so, method)(lambda x: np.sqrt(x) - p, -1.0, 4.0))
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="is NaN; solver cannot"):
        outside(1.0)


def test_ends_in_single_precision():
    low, high = np.float32(0.0), np.float32(2.0)
    for search in [getattr(so, method) for method in METHODS]:
        root = linad.jit(lambda p, a, b, search=search: search(lambda x: x - p, a, b))
        np.testing.assert_allclose(root(0.7, low, high), 0.7)
        np.testing.assert_allclose(linad.grad(root)(0.7, low, high), 1.0)


def test_roots_of_what_is_not_traced_stay_numbers():
    assert linad.jit(lambda p: p * so.brentq(lambda x: x - 1.0, 0, 3))(2.0) == pytest.approx(2.0)


@pytest.mark.rest
def test_a_decision_within_a_loop_that_may_repeat_itself():
    """Of a loop of Python's before the search, seen so late that it is not a template yet."""

    def root(p):
        t = p
        for _ in range(210):
            t = np.sin(t) + 0.5 * t
        return so.brentq(lambda x: x**3 - t if t > 0 else x + t, 0.0, 10.0)

    jitted = linad.jit(root)
    for p in (0.7, 0.8):
        np.testing.assert_allclose(jitted(p), root(p), rtol=1e-11)
    np.testing.assert_allclose(linad.grad(jitted)(0.7), linad.grad(root)(0.7), rtol=1e-9)
