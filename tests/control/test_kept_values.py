"""What the way back of a loop reads instead of computing it again."""

import pickle

import numpy as np
import pytest

import linad
from linad.control.body_derivatives import pull_of
from linad.control.kept_values import MOST, nothing_kept
from linad.control.repeat import Repeat

pytestmark = pytest.mark.usefixtures("kernels")

STEPS = {
    "exp": lambda s, w: 0.5 * s * np.exp(-w * s) + 0.1,
    "tanh": lambda s, w: np.tanh(w * s + 0.2),
    "expm1": lambda s, w: np.expm1(-0.3 * w * s) + w,
    "exp2": lambda s, w: 0.3 * np.exp2(-s) * w,
    "one of another": lambda s, w: np.tanh(np.exp(-s * w)) * s,
    "read twice": lambda s, w: (y := np.tanh(s)) * np.exp(y) * w,
    "of a constant": lambda s, w: s * np.exp(-w),
    "of a slice": lambda s, w: np.concatenate([np.tanh(s[1:]), s[:1] * w[:1]]),
}


def loop_of(step, steps=7):
    """The sum of the last state, and of what each step gives."""

    def f(s, w):
        def body(s, _):
            s = step(s, w)
            return s, np.sum(s**2)

        s, sizes = linad.scan(body, s, None, length=steps)
        return np.sum(np.sin(s)) + np.sum(sizes)

    return f


def written_out(step, steps=7):
    def f(s, w):
        total = 0.0
        for _ in range(steps):
            s = step(s, w)
            total = total + np.sum(s**2)
        return np.sum(np.sin(s)) + total

    return f


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n == "one of another" else pytest.mark.rest) for n in STEPS],
)
@pytest.mark.parametrize("size", [5, pytest.param(MOST + 1, marks=pytest.mark.rest)])
def test_derivatives_are_those_of_the_steps(name, size):
    f, plain = loop_of(STEPS[name]), written_out(STEPS[name])
    s, w = np.linspace(0.2, 0.9, size), np.linspace(1.1, 0.4, size)
    direction = np.cos(np.arange(size))

    def second(f):
        return lambda s, w: linad.hvp(f, (s, w), (direction, w))

    for derivative in (lambda f: linad.grad(f, argnums=(0, 1)), second):
        compiled, expected = linad.jit(derivative(f)), derivative(plain)
        for k in range(3):
            moved = s + 0.01 * k
            for found in (compiled(moved, w), derivative(f)(moved, w)):
                for a, b in zip(found, expected(moved, w), strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_other_numbers(dtype):
    """Complex values are computed again."""

    def f(s, w):
        return np.abs(np.sum(linad.fori_loop(0, 5, lambda k, s: np.tanh(w * s), s)))

    def plain(s, w):
        for _ in range(5):
            s = np.tanh(w * s)
        return np.abs(np.sum(s))

    s, w = np.linspace(0.2, 0.9, 4).astype(dtype), np.linspace(1.1, 0.4, 4).astype(dtype)
    gradient = linad.jit(linad.grad(f))
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for _ in range(3):
        found = gradient(s, w)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, linad.grad(plain)(s, w), rtol=tolerance)


@pytest.mark.parametrize("size, again", [(5, 0), (MOST + 1, 1)])
def test_small_arrays_are_not_computed_again(size, again):
    """Neither the value nor the product that it is made of."""
    w = np.eye(size) / 2
    run = linad.jit(lambda s: linad.fori_loop(0, 9, lambda k, s: np.tanh(w @ s), s))
    s = np.ones(size)
    run(s), run(s)
    [[path]] = run.variants.values()
    [loop] = [e.primitive for e in path.tape.equations if isinstance(e.primitive, Repeat)]
    names = [e.primitive.name for e in pull_of(loop.body, (0,), (0,), (), True).body.tape.equations]
    assert names.count("tanh") == again
    assert names.count("matvec") == 1 + again  # one of them takes the cotangent back


def test_what_is_kept_counts_as_memory():
    body = linad.jit(lambda s: linad.fori_loop(0, 9, lambda k, s: np.tanh(s) * np.exp(-s), s))
    body(np.ones(5)), body(np.ones(5))
    [[path]] = body.variants.values()
    [loop] = [e.primitive for e in path.tape.equations if isinstance(e.primitive, Repeat)]
    assert loop.body.carry_bytes == 3 * 5 * 8


def test_loops_that_keep_nothing_are_pulled_as_they_are():
    """As those of pickles from before, and in models whose axes have any length."""
    f, s, w = loop_of(STEPS["tanh"]), np.linspace(0.2, 0.9, 5), np.linspace(1.1, 0.4, 5)
    with nothing_kept():
        operators = [linad.linearize(f, s, w)[1]]
    operators.append(pickle.loads(pickle.dumps(operators[0])))
    for J in operators:
        for found, expected in zip(J.pullback(1.0), linad.grad(f, (0, 1))(s, w), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)
