"""Inner loops of different lengths are one loop, which is told its number of repetitions."""

import numpy as np
import pytest

import linad
from linad.control.repeat import Repeat
from linad.control.rolling import roll

pytestmark = pytest.mark.usefixtures("kernels")

N = 24
P = np.array([0.5, 0.3])
T = np.cumsum(np.random.default_rng(1).uniform(0.2, 1.0, N))


def triangle(p):
    s = 0.0
    for i in range(N):
        a = 0.0
        for j in range(i):
            a = a + np.sin(p[0] * j) * p[1]
        s = s + a * a
    return s


def self_exciting(p):
    total = 0.0
    for i in range(N):
        rate = 0.5
        for j in range(i):
            rate = rate + p[0] * np.exp(-p[1] * (T[i] - T[j]))
        total = total + np.log(rate)
    return total


def renewal(p):
    cases = np.zeros(N) + 0 * p[0]
    cases[0] = 1.0
    for t in range(1, N):
        s = 0.0
        for u in range(1, t + 1):
            s = s + cases[t - u] * np.exp(-p[1] * u)
        cases[t] = p[0] * s
    return np.sum(cases)


def downwards(p):
    y, s = T * p[0], 0.0
    for i in range(N):
        a = p[1]
        for j in range(N - 1, i, -1):
            a = a * 0.9 + np.tanh(y[j] - y[i])
        s = s * 0.5 + a
    return s


def any_lengths(p):
    s = p[0]
    for i in range(N):
        a = s * 0.1
        for j in range(7 * i % 11):
            a = a + np.sin(a) * p[1] * T[j] / (1 + i)
        s = s * 0.9 + a
    return s


def two_deep(p):
    K = np.exp(-np.abs(T[:, None] - T) * 0.3) * p[0] + p[1] * np.eye(N)
    L = np.zeros_like(K)
    for i in range(12):
        for j in range(i + 1):
            s = K[i, j]
            for k in range(j):
                s = s - L[i, k] * L[j, k]
            L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
    return np.sum(L)


def read_afterwards(p):
    s, last = 0.0, []
    for i in range(N):
        a = 0.0
        for j in range(i):
            a = a + np.sin(p[0] * j) * p[1]
            last.append(a)
        s = s + a * a
    return s + last[-1] + last[40]


TRIANGLES = [triangle, self_exciting, renewal, downwards, any_lengths]
PROGRAMS = [*TRIANGLES, two_deep, read_afterwards]


SOME = [
    pytest.param(f, marks=[] if f in (renewal, read_afterwards) else pytest.mark.rest)
    for f in PROGRAMS
]


def loops_of(tape):
    return [e.primitive for e in tape.equations if isinstance(e.primitive, Repeat)]


def rolled_tape(f):
    tape = linad.trace(f, P)[1]
    return tape, roll(tape, lambda: [P])


@pytest.mark.parametrize("f", SOME)
def test_same_program(f):
    tape, rolled = rolled_tape(f)
    rolled.check()
    for p in (P, P * 1.1):
        np.testing.assert_allclose(rolled(p), f(p), rtol=1e-12)
    np.testing.assert_allclose(linad.grad(rolled)(P), linad.grad(f)(P), rtol=1e-10)
    if f in TRIANGLES:
        assert len(rolled.equations) < len(tape.equations) / 8
        inner = [loop for outer in loops_of(rolled) for loop in loops_of(outer.body.tape)]
        assert any(loop.counted for loop in inner)


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(f, marks=pytest.mark.rest if f is renewal else pytest.mark.full)
        for f in PROGRAMS
    ],
)
def test_compiled(f):
    for transform in (lambda f: f, linad.grad, linad.hessian):
        g = linad.jit(transform(f))
        for p in (P, P, P * 1.1):
            np.testing.assert_allclose(g(p), transform(f)(p), rtol=1e-9)
