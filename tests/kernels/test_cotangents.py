"""Adjoints for several seeds at once."""

import numpy as np
import pytest
from kernel_cases import CASES
from kernel_checks import is_float

import linad

NAMES = ["heat", "conjugate_gradients", "levinson", "soft_dtw", "finite_volumes", "kalman", "rk4"]


def results_of(name, checkpoints=0):
    """All that a kernel returns and writes, as one vector, as a function of its floats."""
    function, make, _ = CASES[name]
    arguments = make(np.random.default_rng(1))
    kernel = linad.kernel(checkpoints=checkpoints)(function)

    def f(floats):
        floats = iter(floats)
        given = [
            next(floats) * 1.0 if is_float(a) else a.copy() if isinstance(a, np.ndarray) else a
            for a in arguments
        ]
        found = kernel(*given)
        found = found if isinstance(found, tuple) else () if found is None else (found,)
        written = [a for a in given if np.ndim(a) and a.dtype.kind == "f"]
        return np.concatenate([np.ravel(v) for v in (*found, *written)])

    return f, [a for a in arguments if is_float(a)]


@pytest.mark.parametrize("checkpoints", [0, 2])
@pytest.mark.parametrize("name", NAMES)
def test_seeds_at_once_are_seeds_one_by_one(name, checkpoints, as_python):
    f, x = results_of(name, checkpoints)
    y, J = linad.linearize(f, x)
    seeds = np.random.default_rng(2).standard_normal((3, 2, *y.shape))
    at_once = J.pullback(seeds)
    for k in np.ndindex(3, 2):
        for a, b in zip(at_once, J.pullback(seeds[k]), strict=True):
            np.testing.assert_allclose(a[k], b, rtol=1e-12, atol=1e-12)
    none = J.pullback(np.zeros((0, *y.shape)))
    assert [np.shape(a) for a in none] == [(0, *np.shape(a)) for a in x]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "rk4" else pytest.mark.full) for n in NAMES]
)
def test_a_jacobian_is_differentiated_in_turn(name, as_python):
    f, x = results_of(name)
    weights = np.random.default_rng(4).standard_normal((2, *f(x).shape))

    def g(x):
        _, J = linad.linearize(f, x)
        return sum([np.sum(np.sin(a)) for a in J.pullback(weights)])

    v = [np.random.default_rng(3).standard_normal(np.shape(a)) for a in x]
    _, pushed = linad.jvp(g, (x,), (v,))
    pulled = sum([np.vdot(a, b) for a, b in zip(linad.grad(g)(x), v, strict=True)])
    np.testing.assert_allclose(pushed, pulled, rtol=1e-9)
    up, down = [[a + h * b for a, b in zip(x, v, strict=True)] for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(pushed, (g(up) - g(down)) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.compiles
def test_seeds_in_a_compiled_program():
    f, x = results_of("rk4")
    weights = np.random.default_rng(4).standard_normal((2, *f(x).shape))

    def pulled(x):
        _, J = linad.linearize(f, x)
        return J.pullback(weights)

    jitted = linad.jit(pulled)
    for _ in range(3):
        for a, b in zip(jitted(x), pulled(x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
