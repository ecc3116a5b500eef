"""Roots from a first guess, and fixed points, in compiled functions: one program each."""

import numpy as np
import pytest
import scipy.optimize

import linad
import linad.scipy.optimize as so
from linad.scipy import openloops

SOLVERS = {
    "secant": lambda m, p: m.newton(lambda x: x**3 - p * x - 1, 2.0),
    "two points": lambda m, p: m.newton(lambda x: x**3 - p * x - 1, 2, x1=1.5, tol=1e-12),
    "newton": lambda m, p: m.newton(
        lambda x, a: np.exp(x) - 10 * a, 1.0, lambda x, a: np.exp(x), (p,)
    ),
    "halley": lambda m, p: m.newton(
        *(lambda x: x**3 - p * x - 1, 0.5 * p, lambda x: 3 * x**2 - p), fprime2=lambda x: 6 * x
    ),
    "decides": lambda m, p: m.newton(lambda x: x - p if x < 1.5 else 2 * x - 1.5 - p, 4.0),
    "fixed point": lambda m, p: m.fixed_point(lambda x: np.cos(x) * p / 3, 1.0),
    "iteration": lambda m, p: m.fixed_point(lambda x: np.cos(x) * p / 3, 0.0, method="iteration"),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", SOLVERS)
def test_one_program(name):
    f = SOLVERS[name]
    root = linad.jit(lambda p: f(so, p))
    slope = linad.jit(linad.grad(lambda p: f(so, p)))
    for p in (1.0, 1.7, 2.5):
        h = 1e-5
        np.testing.assert_allclose(root(p), f(scipy.optimize, p), rtol=1e-7)
        step = root(p + h) - root(p - h)
        np.testing.assert_allclose(slope(p), step / (2 * h), rtol=1e-6)
    sides = 1 + (name == "decides")  # the slope at the root is that of its side
    assert [len(paths) for paths in root.variants.values()] == [sides]


@pytest.mark.parametrize("name", ["secant", "newton", "fixed point"])
def test_of_many_at_once(name):
    f, p = SOLVERS[name], np.array([1.0, 1.7, 2.5])
    J = linad.jacobian(lambda p: linad.map(lambda q: f(so, q), p))(p)
    np.testing.assert_allclose(
        J, np.diag([linad.grad(lambda q: f(so, q))(q) for q in p]), rtol=1e-9
    )


def test_steps_are_those_of_scipy(monkeypatch):
    """But for rounding: which of several roots is found depends on every one of them."""

    def in_python(goes_on, step, state):
        while goes_on(state):
            state = step(state)
        return state

    monkeypatch.setattr(openloops, "while_loop", in_python)
    rng, compared = np.random.default_rng(1), 0
    for _ in range(60):
        c = rng.normal(size=4)
        f = [lambda x, c=c: np.polyval(c, x)]
        f += [lambda x, c=c, k=k: np.polyval(np.polyder(c, k), x) for k in (1, 2)]
        x = rng.uniform(-3, 3)
        for slopes in ((), (f[1],), (f[1], f[2])):
            given = dict(zip(("fprime", "fprime2"), slopes, strict=False))
            wanted, r = scipy.optimize.newton(f[0], x, **given, full_output=True, disp=False)
            points = [x] if slopes else [x, x * (1 + 1e-4) + np.copysign(1e-4, x)]
            step = openloops.STEPS["tangent" if slopes else "secant"]
            every = [f[0], *slopes]
            (found, steps), good = openloops._found(
                step, lambda x, every=every: [g(x) for g in every], points, (1.48e-8, 0.0), 50
            )
            assert good == r.converged
            if good:
                compared += 1
                assert abs(steps - r.iterations) <= 1  # rounding may end it one step apart
                np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)
    assert compared > 100


def test_what_does_not_converge_is_refused_by_scipy():
    flat = linad.jit(lambda p: so.newton(lambda x: x**2 + p, 1.0))
    np.testing.assert_allclose(flat(-4.0), 2.0)
    with pytest.raises(RuntimeError, match="Failed to converge"):
        flat(1.0)
    with pytest.raises(RuntimeError, match="Derivative was zero"):
        linad.jit(lambda p: so.newton(lambda x: x**2 - p, 0.0, lambda x: 2 * x))(1.0)
    with pytest.raises(RuntimeError, match="Failed to converge"):
        linad.jit(lambda p: so.fixed_point(lambda x: x + p, 1.0, maxiter=5))(1.0)
    for limits, said in (({"tol": 0.0}, "tol too small"), ({"maxiter": 0}, "greater than 0")):
        with pytest.raises(ValueError, match=said):
            linad.jit(lambda p, limits=limits: so.newton(lambda x: x - p, 1.0, **limits))(1.0)


def test_complex_guesses_and_arrays_are_searched_by_scipy():
    root = linad.jit(lambda p: so.newton(lambda z: z**2 + p, 1j, lambda z: 2 * z).imag)
    np.testing.assert_allclose(root(4.0), 2.0)
    several = linad.jit(lambda p: so.newton(lambda x: x**2 - p, np.ones(2)))
    np.testing.assert_allclose(several(np.array([4.0, 9.0])), [2.0, 3.0])
