"""Derivatives of every order of compiled loops, against those of Python's loops, uncompiled.

An axis of seeds that a second derivative adds stands in front of every array of a loop: of entries
it reads and writes, of its rows and carries, of what its conditions and solutions are made of.
"""

import numpy as np
import pytest
from derivatives_by_order import agree
from random_loops import RowsWriter

import linad
from linad.control import rolling

pytestmark = pytest.mark.usefixtures("kernels")

FEW = ["hessian(jit)", "jit(hessian)", "seeds pulled", "jit(grad(jvp))"]


@pytest.fixture(autouse=True)
def short_loops_are_rolled(monkeypatch):
    monkeypatch.setattr(rolling, "LEAST_EQUATIONS", 10)


@pytest.mark.whole
@pytest.mark.parametrize(
    "seeds",
    [
        range(1),
        pytest.param(range(1, 5), marks=pytest.mark.rest),
        pytest.param([112], id="masks without axes", marks=pytest.mark.rest),
        pytest.param([189], id="moving places", marks=pytest.mark.rest),
        *[pytest.param(range(k, k + 10), marks=pytest.mark.full) for k in range(20, 220, 10)],
    ],
)
def test_random_loops(seeds):
    for seed in seeds:
        text, f, x = RowsWriter(seed).program()
        agree(f, x, ways=FEW if seed < 20 else None, err_msg=text)


# Loops in loops, and in what is solved.

A = np.array([[2.1, 0.3, -0.2], [0.1, 1.8, 0.4], [-0.3, 0.2, 2.3]])
B = np.array([[0.5, -0.3, 0.8], [0.2, 0.9, -0.4], [-0.6, 0.4, 0.1], [0.7, 0.2, 0.3]])
X = np.array([0.4, 0.7, 0.9])


RAIN = np.array([0.3, 0.0, 0.7, 0.1, 0.5, 0.9, 0.2, 0.4, 0.6, 0.8])


def days(x):
    """A model of some days, each a step: what it reads moves with the loop."""
    n = len(RAIN)
    rain, state, flow = np.outer(RAIN, x), np.zeros(n, like=x), np.zeros((n, 2), like=x)
    for i in range(1, n):
        state[i] = state[i - 1] * (1 - 0.3 * x[0]) + rain[i, 1]
        flow[i, 0] = np.tanh(state[i]) * x[1]
        flow[i, 1] = flow[i - 1, 0] * rain[i - 1, 2]
    return np.sum(flow**2) + state[-1]


def loops_under_a_map(x):
    def row(r):
        c, ys = linad.scan(
            lambda c, k: (c * np.cos(r[k]) + r[k] * x[0], c * r[2]), r[0], np.arange(3)
        )
        return c + np.sum(ys)

    return np.sum(linad.map(row, np.outer(x, x)) ** 2)


def a_map_in_a_loop(x):
    def step(c, b):
        rows = linad.map(lambda r: np.sin(r @ c) * r, np.outer(c, b))
        return c + 0.1 * np.sum(rows, 0), np.sum(rows)

    c, ys = linad.scan(step, x, B)
    return np.sum(c**2) + np.sum(ys**3)


def two_counters(x):
    def outer(i, u):
        def inner(j, u):
            u[i, j] = u[i, j] * np.sin(u[i, 2 - j]) + u[j, i]
            return u

        return linad.fori_loop(0, 3, inner, u)

    return np.sum(linad.fori_loop(0, 3, outer, np.outer(x, x)) ** 2)


def solutions_in_a_loop(x):
    def step(c, b):
        M = A + np.outer(c, x) * 0.2
        return np.linalg.solve(M, b + c), c[0] * np.log(np.linalg.det(M))

    c, ys = linad.scan(step, x, B)
    return np.sum(c**2) + np.sum(ys)


def branches_in_a_loop(x):
    def body(i, c):
        c = linad.switch(i % 3, [lambda c: c * c, lambda c: np.sin(c) * x[0], lambda c: c + 0.2], c)
        return linad.cond(np.sum(c) > 1.2, lambda c: c * x, lambda c: c + c[::-1] ** 2, c)

    return np.sum(linad.fori_loop(0, 6, body, x) ** 2)


def whiles_in_a_loop(x):
    def step(c, b):
        def more(s):
            return s[0] + 1, s[1] * 0.7 * np.cos(s[1][0] * x[1])

        _, d = linad.while_loop(lambda s: s[1] @ s[1] > 0.3, more, (0, c + b))
        return d + 0.5 * x, np.sum(d)

    c, ys = linad.scan(step, x, B)
    return np.sum(c**2) + np.sum(ys**2)


def a_loop_in_a_while(x):
    def body(s):
        more = linad.fori_loop(0, 3, lambda i, d: d + 0.1 * d[i] * np.sin(x), s[1])
        return s[0] + 1, more

    return np.sum(linad.while_loop(lambda s: np.sum(s[1]) < 4.0, body, (0, x))[1] ** 2)


def few_rows_are_kept(x):
    c, ys = linad.scan(
        lambda c, b: (np.sin(c) * b + x, c @ c), x, np.tile(B, (2, 1)), checkpoints=2
    )
    return np.sum(c**2) + np.sum(ys**2)


def few_rows_of_a_while_are_kept(x):
    def body(s):
        return s[0] + 1, np.sin(s[1]) * x + 0.3

    return np.sum(linad.while_loop(lambda s: s[0] < 9, body, (0, x), checkpoints=2)[1] ** 3)


def a_root_of_a_loop(x):
    def g(y):
        return linad.fori_loop(0, 3, lambda i, c: c + 0.1 * np.sin(c * x), y) - 2 * x + y**3

    return np.sum(linad.solve.root(g, x, xtol=1e-12) ** 2)


def a_fixed_point_of_a_loop(x):
    def g(y):
        return linad.scan(lambda y, b: (0.4 * np.cos(y) * x + 0.1 * b, None), y, B)[0]

    return np.sum(linad.solve.fixed_point(g, x, xtol=1e-12) ** 2)


def a_minimum_of_a_loop(x):
    def loss(y):
        return linad.scan(lambda c, b: (c + np.sum((b * y - x) ** 2 + y**4), None), 0.0, B)[0]

    return np.sum(linad.solve.minimum(loss, x) ** 2)


def roots_in_a_loop(x):
    def step(c, b):
        r = linad.solve.root(lambda y: y**3 + y * c[0] - x - b * 0.1, 0 * x + 0.5, xtol=1e-12)
        return c * 0.5 + r, r[0]

    c, ys = linad.scan(step, x, B[:2])
    return np.sum(c**2) + np.sum(ys)


def containers_backwards(x):
    def step(c, b):
        return {"a": c["a"] * b[0] + x[0], "b": np.sin(c["b"]) * b}, c["a"] * c["b"]

    c, ys = linad.scan(step, {"a": x[1], "b": x}, B, reverse=True)
    return np.sum(c["b"] ** 2) + c["a"] + np.sum(ys**2)


def carries_that_do_not_move(x):
    """They are computed of others that do: by a step, and where no derivative goes through."""

    def signs(carry, _):
        a, sign, total = carry
        return (a * np.cos(a), np.sign(a), total + sign * a), None

    (a, sign, total), _ = linad.scan(signs, (x[0], x[0] * 0.0, x[1]), length=4)

    def counts(carry):
        a, k, _ = carry
        s = linad.while_loop(lambda s: s < 3.0, lambda s: s + 1.0, linad.stop_gradient(a))
        return a * np.cos(a * x[2]), k + 1.0, s

    b, _, s = linad.while_loop(lambda carry: carry[1] < 4, counts, (x[1], 0.0, 0.0))
    return a * total + sign + b * s


def test_carries_that_do_not_move():
    agree(carries_that_do_not_move, X, ways=FEW)


NESTED = [
    *(loops_under_a_map, a_map_in_a_loop, two_counters, solutions_in_a_loop, branches_in_a_loop),
    *(whiles_in_a_loop, a_loop_in_a_while, few_rows_are_kept, few_rows_of_a_while_are_kept),
    *(a_root_of_a_loop, a_fixed_point_of_a_loop, a_minimum_of_a_loop, roots_in_a_loop),
    *(containers_backwards, days),
]


def test_days():
    agree(days, X, ways=FEW)


@pytest.mark.rest
@pytest.mark.parametrize("f", NESTED)
def test_nested(f):
    agree(f, X, third=f is not roots_in_a_loop, tolerance=1e-7)


IN_ONE_DTYPE = [
    *(days, two_counters, loops_under_a_map, branches_in_a_loop, a_loop_in_a_while),
    few_rows_of_a_while_are_kept,
]
"""Others have rows of double precision, and carries must stay what they are."""


@pytest.mark.rest
@pytest.mark.parametrize("f", IN_ONE_DTYPE)
def test_single_precision(f):
    agree(f, X.astype("f4"), ways=FEW, tolerance=2e-3)


@pytest.mark.rest
@pytest.mark.parametrize("f", [days, two_counters, few_rows_are_kept, a_root_of_a_loop])
def test_sparse(f):
    """Second derivatives by colours, of which seeds are sums of columns."""
    close = {"rtol": 1e-8, "atol": 1e-10}
    for x in (X, 0.9 * X):
        wanted = linad.hessian(f)(x)
        for h in (f, linad.jit(f)):
            np.testing.assert_allclose(linad.sparse_hessian(h, x).toarray(), wanted, **close)
            found = linad.sparse_jacobian(linad.grad(h), x).toarray()
            np.testing.assert_allclose(found, wanted, **close)
