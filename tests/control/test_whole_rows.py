"""Loops as operations on whole arrays: the numbers are those that the loops compute."""

import random
import re

import numpy as np
import pytest

import linad
from linad.control import rolling, whole_rows
from linad.control.bodies import Body
from linad.control.loop_axes import axes_of
from linad.control.repeat import repeat
from linad.core.moving_regions import read_moving, write_moving
from linad.core.primitive import Primitive
from linad.core.regions import Window
from linad.core.tape import Equation, Var, tape_of

pytestmark = pytest.mark.usefixtures("kernels")

N = 60
X = np.linspace(0.1, 1.3, N + 4)
ORDER = np.random.default_rng(0).permutation(N)


@pytest.fixture(autouse=True)
def short_loops_are_rolled(monkeypatch):
    monkeypatch.setattr(rolling, "LEAST_EQUATIONS", 10)


def has_loop(f, *args):
    return re.search(r"repeat \d+ x", str(linad.explain(f)(*args))) is not None


def agree(f, x, times=3):
    """Compiled values, gradients and products with the Hessian are those that Python computes."""
    for g in (f, linad.grad(f), lambda x: linad.hvp(f, (x,), (np.cos(x),))):
        jitted = linad.jit(g)
        for k in range(times):
            at = x + 0.01 * k
            np.testing.assert_allclose(jitted(at), g(at), rtol=1e-11, atol=1e-12)


def entries(x):
    y = np.zeros_like(x)
    for i in range(N):
        y[i + 1] = np.sin(x[i]) * x[i + 2]
    return np.sum(y**3)


def backwards(x):
    y = np.zeros_like(x)
    for i in range(N, 0, -1):
        y[i] = x[i] * x[i - 1]
    return np.sum(y * np.cos(x))


def by_a_permutation(x):
    y = np.zeros_like(x)
    for i in ORDER:
        y[i] = x[i] ** 2 + x[N - i]
    return np.sum(y * x)


def in_place(x):
    y = x + 0.0
    for i in range(N):
        y[i] = 0.5 * y[i] + y[i + 1] * x[i]  # read before it is written
    return np.sum(y**2)


def two_writes(x):
    y = x * 0.5
    for i in range(N):
        y[i] = x[i] ** 2
        y[i + 1] = x[i] * 3.0  # which the next repetition writes over, but for the last one
    return np.sum(y * x)


def added(x):
    y = x * 0.5
    for i in range(N):
        y[i + 2] += x[i] * x[i + 1]
        y[i] -= np.exp(-x[i])
    return np.sum(y**2)


def listed(x):
    return np.sum(np.stack([np.exp(-x[i]) * x[i + 1] for i in range(N)]) ** 2)


def scanned(x):
    def step(total, i):
        return total, np.sin(x[i]) * x[i + 1] + total

    return np.sum(linad.scan(step, x[0], np.arange(N))[1] ** 2)


def mapped(x):
    return np.sum(linad.map(lambda t: np.tanh(t) * t, x))


def with_the_counter(x):
    s = np.zeros_like(x)
    for i in range(N):
        s[i] = x[i] * (0.1 * i) + i
    return np.sum(s**2)


def grid(x):
    u = x.reshape(8, 8)
    v = np.zeros_like(u)
    for i in range(1, 7):
        for j in range(1, 7):
            v[i, j] = u[i, j] * np.exp(-u[i - 1, j]) + u[i + 1, j] * u[i, j - 1]
    return np.sum(v**2)


def three_loops(x):
    u = x.reshape(4, 4, 4)
    v = np.zeros_like(u)
    for i in range(4):
        for j in range(4):
            for k in range(4):
                v[i, j, k] = u[i, j, k] * u[i, 3 - j, k] + i * j
    return np.sum(v**2)


def assembled(x):
    """A row of finite elements: neighbours add to a node in common."""
    r = np.zeros_like(x)
    for e in range(N):
        force = (x[e + 1] - x[e]) ** 3
        r[e] -= force
        r[e + 1] += force
    return np.sum(r**2)


WHOLE = {
    f.__name__: f
    for f in (
        *(entries, backwards, by_a_permutation, in_place, two_writes, added, listed, scanned),
        *(mapped, with_the_counter, grid, assembled),
    )
}


WAY_BACK_IN_A_LOOP = ("scanned", "by_a_permutation", "two_writes", "added", "assembled")
"""A sum over repetitions; cotangents of one entry that come now in this order, now in that, or
that are set to zero before the repetition adds to them."""


@pytest.mark.parametrize("name", WHOLE)
def test_no_loop_is_left(name):
    f = WHOLE[name]
    assert not has_loop(f, X)
    if name not in WAY_BACK_IN_A_LOOP:
        assert not has_loop(linad.grad(f), X)
    agree(f, X)


def total(x):
    s = 0.0
    for i in range(N):
        s = s + np.sin(x[i]) * x[i + 1]
    return s


def total_and_differences(x):
    s, d = 1.0, 0.0
    for i in range(N):
        d = d - x[i] ** 2
        s = s + x[i]
    return s * d


def recurrence(x):
    y = x + 0.0
    for i in range(1, N):
        y[i] = 0.5 * y[i - 1] + np.sin(x[i])
    return np.sum(y**2)


def gauss_seidel(x):
    y = x + 0.0
    for i in range(1, N):
        y[i] = 0.25 * (y[i - 1] + 2.0 * x[i] + y[i + 1])
    return np.sum(y**2)


def now_before_now_after(x):
    y = x + 0.0
    for i in range(N // 2):
        y[2 * i] = x[i] * 2.0
        y[N - 3 * (i // 2) - i % 2] = x[i + 1] * 3.0
    return np.sum(y**2)


def one_entry(x):
    y = x + 0.0
    for i in range(N):
        y[3] = x[i] * 2.0 + y[3]
    return np.sum(y**2)


def two_versions(x):
    y = x + 0.0
    kept = []
    for i in range(N):
        kept.append(y[i + 1])
        y[i + 1] = x[i] * x[i]
        y[i] = y[i + 1] * 2.0
    return np.sum(y**2) + kept[5]


def whole_array(x):
    y = x + 0.0
    s = 0.0
    for i in range(N):
        y[i] = x[i] * x[i]
        s = s + np.sum(y)
    return s


LOOPS = {
    f.__name__: f
    for f in (
        *(total, total_and_differences, recurrence, gauss_seidel, now_before_now_after, one_entry),
        *(two_versions, whole_array, three_loops),
    )
}


@pytest.mark.parametrize("name", LOOPS)
def test_what_needs_the_repetition_before_stays_a_loop(name):
    f = LOOPS[name]
    agree(f, X)
    if name not in ("now_before_now_after", "three_loops"):  # some of which is not rolled
        assert has_loop(f, X)


def test_the_gradient_of_a_sum_needs_no_loop():
    assert not has_loop(linad.grad(total), X)


def test_dear_functions_are_computed_ahead_of_a_loop():
    assert "sin multiply" in str(linad.explain(total)(X))


@pytest.mark.parametrize("name", ["total", "total_and_differences"])
def test_sums_keep_their_order(name):
    """Bit for bit, where no function of the vector library is met."""
    f = {"total": lambda x: total_of_products(x), "total_and_differences": LOOPS[name]}[name]
    x = np.random.default_rng(1).standard_normal(N + 4) * 10.0 ** np.arange(N + 4)[::-1] / 1e30
    jitted = linad.jit(f)
    for _ in range(3):
        assert jitted(x) == f(x)


def total_of_products(x):
    s = 0.0
    for i in range(N):
        s = s + x[i] * x[i + 1]
    return s


def test_compensated_sums_stay_compensated():
    def f(x):
        s, c = 0.0, 0.0
        for i in range(N):
            y = x[i] - c
            t = s + y
            c = (t - s) - y
            s = t
        return s

    x = np.random.default_rng(2).standard_normal(N + 4) * 1e8 ** np.linspace(-1, 1, N + 4)
    jitted = linad.jit(f)
    for _ in range(3):
        assert jitted(x) == f(x)


def test_indices_out_of_bounds_raise():
    def f(x, n):
        return linad.fori_loop(0, n, lambda i, s: s + np.sin(x[i]), 0.0 * x[0])

    jitted = linad.jit(f, static_argnums=1)
    for _ in range(3):
        with pytest.raises(IndexError):
            jitted(X, len(X) + 1)


@pytest.mark.parametrize("dtype", ["f4", "c16", "c8"])
def test_other_dtypes(dtype):
    x = (X * (1 + 0.5j) if dtype.startswith("c") else X).astype(dtype)

    def f(x):
        y = np.zeros_like(x)
        for i in range(N):
            y[i] = np.sin(x[i]) * x[i + 1]
        return y

    jitted = linad.jit(f)
    tolerance = 1e-5 if dtype in ("f4", "c8") else 1e-13
    for _ in range(3):
        found = jitted(x)
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found, f(x), rtol=tolerance)


def test_a_failure_of_the_rewrite_is_a_warning(monkeypatch):
    def broken(eqn):
        raise KeyError("a fault")

    monkeypatch.setattr(whole_rows, "in_rows", broken)
    jitted = linad.jit(total)
    jitted(X)
    with pytest.warns(RuntimeWarning, match="could not be compiled"):
        found = [jitted(X) for _ in range(3)]
    np.testing.assert_allclose(found, total(X), rtol=1e-14)


def test_axes_of_loops_in_loops():
    i, j, k = np.indices((3, 4, 5))
    n = i.size
    counters = [(20 * i + 5 * j + k).ravel(), (7 * i + 100 * j).ravel(), (9 - k).ravel()]
    assert axes_of(counters, n) == (3, 4, 5)
    assert axes_of(counters[:1], n) == (n,)
    assert axes_of([ORDER], N) == (N,)
    assert axes_of([], N) == (N,)
    assert axes_of([np.array([0, 4, 1, 5, 2, 6])], 6) == (3, 2)
    assert axes_of([np.array([0, 4, 1, 5, 6, 2])], 6) == (6,)


# Random loops.


class Writer:
    """Writes the body of a loop over i: reads, writes, sums, functions."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = ["a"]

    def index(self):
        return self.random.choice(["i", "i", "i + 1", "i + 2", "i + 3", "P[i]", "2"])

    def value(self, depth=2):
        r, kind = self.random, self.random.random()
        if depth == 0 or kind < 0.35:
            arrays = ["x"] * 5 + ["z", "y"]
            others = [*self.names, "0.3", "(i * 0.1)", *(["s", "c"] if r.random() < 0.3 else [])]
            if r.random() < 0.6:
                return f"{r.choice(arrays)}[{self.index()}]"
            return r.choice(others)
        if kind < 0.65:
            return f"({self.value(depth - 1)} {r.choice('+-*')} {self.value(depth - 1)})"
        return f"np.{r.choice(['sin', 'cos', 'tanh', 'arctan'])}({self.value(depth - 1)})"

    def statement(self):
        kind, r = self.random.random(), self.random
        if kind < 0.2:
            line = f"t = {self.value()}"
            self.names.append("t")
            return line
        if kind < 0.65:
            target = r.choice(["y", "y", "z"])
            return f"{target}[{self.index()}] {r.choice(['=', '=', '+=', '-='])} {self.value()}"
        if kind < 0.85:
            return f"s = s {r.choice('+-')} {self.value()}"
        return r.choice([f"c = {self.value()}", f"kept.append({self.value()})"])

    def program(self):
        r = self.random
        n = r.choice([6, 13, 30])
        counts = [f"range({n})", f"range({n - 1}, -1, -1)", f"range(1, {n}, 2)"]
        order = list(range(n + 4))
        r.shuffle(order)
        body = [self.statement() for _ in range(r.randint(1, 4))]
        lines = [
            "def f(x, a):",
            f"    y, z, P = x * {r.choice(['0.0', '0.5'])}, x + 1.0, {order}",
            "    s, c, kept = 0.0 * x[0], x[1] * 1.0, []",
            f"    for i in {r.choice(counts)}:",
            *[f"        {line}" for line in body],
            "    kept = np.sum(np.stack(kept)) if kept else 0.0",
            "    return np.sum(y * np.cos(np.arange(len(x)))) + s + c + np.sum(z**2) + kept",
        ]
        scope = {"np": np}
        exec("\n".join(lines), scope)
        return "\n".join(lines), scope["f"], n + 4


@pytest.mark.parametrize("seed", [*range(8), pytest.param(None, marks=pytest.mark.full)])
def test_random_loops(seed):
    for k in [seed] if seed is not None else range(1000, 1200):
        text, f, size = Writer(k).program()
        rng = np.random.default_rng(k)
        gradient = linad.grad(f)
        jitted = linad.jit(f), linad.jit(gradient)
        for _ in range(3):
            x = rng.uniform(0.1, 1.0, size)
            for found, expected in zip([j(x, 0.7) for j in jitted], (f, gradient), strict=True):
                np.testing.assert_allclose(
                    found, expected(x, 0.7), rtol=1e-10, atol=1e-10, err_msg=text
                )


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("seeds", [(), (3,), (2, 3)])
def test_entries_of_many_seeds(seeds, writes):
    """What a push of several seeds reads, and writes, has their axes in front of the entries."""
    n, index = 7, np.arange(7)
    shapes = {"c": seeds, "a": (*seeds, n), "b": (*seeds, n), "v": seeds}
    shapes |= {"w": seeds, "d": seeds}
    of = {name: Var(k, shape, np.dtype(float)) for k, (name, shape) in enumerate(shapes.items())}
    after, at = Var(9, (*seeds, n), np.dtype(float)), Var(10, (), np.dtype(np.int64))
    place = Window(0, (), (), 1)
    place.scalar = True
    equations = [
        Equation(read_moving, (of["a"], at), {"region": place}, (of["v"],)),
        Equation(Primitive.registry["sin"], (of["v"],), {}, (of["w"],)),
        Equation(Primitive.registry["multiply"], (of["c"], of["w"]), {}, (of["d"],)),
        Equation(write_moving, (of["b"], of["w"], at), {"region": place}, (after,)),
    ]
    carried = after if writes else of["b"]
    tape = tape_of("body", [of["c"], of["b"], at, of["a"]], equations, [of["d"], carried, of["w"]])
    rng = np.random.default_rng(len(seeds))
    c, b, a = (rng.random(of[name].shape) + 0.5 for name in "cba")
    loop = repeat(Body(tape, [c, b, np.int64(0), a], 2, 1), n)
    operands = of["c"], of["b"], index, of["a"]
    outputs = [Var(20 + k, shape, dtype) for k, (shape, dtype) in enumerate(loop.results)]
    rows = whole_rows.in_rows(Equation(loop, operands, {}, tuple(outputs)))
    assert (rows is not None) == (not seeds)
    if rows is not None:
        given = c, b, index, a
        for found, expected in zip(rows.run(given), loop.impl(*given), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-14)
