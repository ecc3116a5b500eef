"""Loops that multiply one number by another: their slopes are powers, or what loops find."""

import numpy as np
import pytest

import linad
from linad.control import growth

N = 60


def python_loop(x):
    y, a = x[0], x[1]
    for _ in range(N * 4):
        y = y * a
    return y


def counted_loop(x):
    return linad.fori_loop(0, N, lambda i, y: x[1] * y, x[0])


def scanned(x):
    return linad.scan(lambda y, _: (y * x[1], None), x[0], length=N, reverse=True)[0]


def within_a_loop(x):
    def step(k, s):
        return s + linad.fori_loop(0, N, lambda i, y: y * x[1], x[0] + 0.1 * k)

    return linad.fori_loop(0, 3, step, 0.0)


def sines(x):
    return np.sin(counted_loop(np.sin(x)))


LOOPS = [python_loop, counted_loop, scanned, within_a_loop, sines]
PLACES = [(0.9, 0.99), (-0.9, 1.02), (0.0, 0.97), (1.0, -1.01)]
FAR = [
    (1.0, 0.0),
    (0.0, 0.0),
    (1e300, 1e-3),
    (1e-300, 1e5),
    (1e-300, 1e9),
    (2.0, np.inf),
    (np.nan, 1.0),
    (1.0, np.nan),
    (np.inf, 0.99),
    (3.0, -1e-7),
]
"""Where a power overflows or underflows, or is not finite."""

DERIVATIVES = {
    "grad": lambda f: linad.grad(f),
    "jvp": lambda f: lambda x: linad.jvp(f, (x,), (np.array([1.0, -2.0]),))[1],
    "seeds": lambda f: lambda x: linad.linearize(f, x)[1].T @ np.ones((1, 3)),
    "hessian": lambda f: linad.hessian(f),
}
DERIVATIVES["value_and_grad"] = lambda f: lambda x: np.hstack(linad.value_and_grad(f)(x))


def by_loops(monkeypatch, run):
    """What comes out where no slope is a power."""
    with monkeypatch.context() as changed:
        changed.setattr(growth, "FEWEST", 10**9)
        return run()


@pytest.mark.parametrize("kind", list(DERIVATIVES))
@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_slopes_are_those_of_the_loops(f, kind, monkeypatch):
    derivative = DERIVATIVES[kind](f)
    for place in PLACES:
        x = np.array(place)
        expected = by_loops(monkeypatch, lambda x=x: derivative(x))
        np.testing.assert_allclose(derivative(x), expected, rtol=1e-13, atol=1e-13)
    jitted = linad.jit(DERIVATIVES[kind](f))
    for place in [*PLACES, *PLACES]:
        x = np.array(place)
        np.testing.assert_allclose(jitted(x), derivative(x), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("place", FAR)
@pytest.mark.parametrize("kind", ["grad", "jvp"])
def test_where_a_power_does_not_count_the_loops_do(kind, place, monkeypatch):
    x = np.array(place)
    derivative = DERIVATIVES[kind](counted_loop)
    jitted = linad.jit(derivative)
    with np.errstate(all="ignore"):
        for ready in PLACES:
            jitted(np.array(ready))
        expected = by_loops(monkeypatch, lambda: derivative(x))
        for run in (derivative, jitted):
            np.testing.assert_array_equal(run(x), expected)


def test_the_value_is_that_of_the_loop_to_the_bit():
    x = np.array([0.9, 0.993])
    run = linad.jit(linad.value_and_grad(python_loop))
    for _ in range(4):
        assert run(x)[0] == python_loop(x)


def test_the_loops_are_gone():
    gradient = linad.jit(linad.grad(python_loop))
    report = linad.explain(gradient)(np.array([0.9, 0.99]))
    assert not [step for step in report.steps if step.name.startswith("repeat")]


OTHERS = {
    "squares": lambda x: linad.fori_loop(0, N, lambda i, y: y * y, x[0]),
    "two factors": lambda x: linad.fori_loop(0, N, lambda i, y: y * x[1] * x[1], x[0]),
    "few": lambda x: linad.fori_loop(0, 3, lambda i, y: y * x[1], x[0]),
    "rows": lambda x: linad.scan(lambda y, r: (y * r, None), x[0], np.ones(N) * x[1])[0],
    "results": lambda x: np.sum(linad.scan(lambda y, _: (y * x[1], y), x[0], length=N)[1]),
    "arrays": lambda x: np.sum(linad.fori_loop(0, N, lambda i, y: y * x[1], x)),
    "single": lambda x: linad.fori_loop(
        0, N, lambda i, y: y * x[1].astype(np.float32), x[0].astype(np.float32)
    ),
}


@pytest.mark.parametrize("f", OTHERS.values(), ids=list(OTHERS))
def test_other_loops_stay_as_they_are(f, monkeypatch):
    x = np.array([0.9, 0.99])
    monkeypatch.setattr(growth, "GrowthJacobian", None)  # nobody asks for it
    g = linad.grad(f)(x)
    step = 1e-3
    for k in range(2):
        e = step * np.eye(2)[k]
        np.testing.assert_allclose(g[k], (f(x + e) - f(x - e)) / (2 * step), rtol=0.1, atol=1e-4)
