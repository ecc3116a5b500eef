"""Loops over prange that threads share: as those of one thread, to the last bit."""

import linecache
import types

import numpy as np
import pytest
from kernel_checks import check
from numba import prange

import linad

RNG = np.random.default_rng(5)


def newton(a):
    e = 0.0
    for i in prange(len(a)):
        x = 1.0
        dx = 1.0
        while abs(dx) > 1e-12:
            dx = (x * x * x + x - a[i]) / (3.0 * x * x + 1.0)
            x = x - dx
        e += np.exp(-x) * x
    return e


def likelihood(x, w, s, group):
    """Parameters that all turns read, entries that others read, and what follows the loop."""
    s = s * s + 0.1
    total = 0.0
    for i in prange(len(x)):
        mean = w[0] + w[group[i]] * x[i]
        tmp = np.zeros(2)
        tmp[0] = mean * s
        tmp[1] = np.sin(tmp[0])
        for j in range(2):
            total += tmp[j] * tmp[1]
    return np.sqrt(1.0 + total * total) * s


def rows(x, a, out):
    for i in prange(len(x)):
        t = x[i]
        for j in range(a.shape[1]):
            t = 0.5 * t * t + a[i, j]
            out[i] += t * a[i, j]
        out[i] = out[i] * t
    return out.sum()


def twice(x, w):
    y = np.zeros_like(x)
    for i in prange(len(x)):
        y[i] = x[i] * x[i] * w[0]
    norm = 0.0
    for i in prange(len(x)):
        norm += y[i] * y[i]
    return norm * w[1]


def arguments(n):
    return {
        newton: (1.0 + RNG.random(n),),
        likelihood: (RNG.random(n), RNG.random(4), 0.7, RNG.integers(0, 4, n)),
        rows: (RNG.random(n), RNG.random((n, 3)), RNG.random(n)),
        twice: (RNG.random(n), RNG.random(2)),
    }


LARGE, SMALL = arguments(100_000), arguments(5)
SHARED = [newton, likelihood, rows, twice]


def in_order(x, w):
    for i in prange(1, len(x)):
        x[i] = x[i] * x[i - 1] + w
    return x[-1]


def product(x):
    p = 1.0
    for i in prange(len(x)):
        p *= x[i]
    return p


def checked(x):
    s = 0.0
    for i in prange(len(x)):
        assert x[i] > 0.0, "a number that is not positive"
        s += np.log(x[i])
    return s


def calls(kernel, given):
    call = kernel.specialized(given)
    return call.call.tangent(call.floats()), call.call.adjoint(call.floats())


def gradient(function, given):
    def f(*floats):
        new = iter(floats)
        mine = [next(new) * 1.0 if _is_float(a) else a for a in given]
        return function(*mine)

    wrt = [a for a in given if _is_float(a)]
    return linad.grad(f, tuple(range(len(wrt)))), wrt


def _is_float(a):
    return isinstance(a, float) or np.asarray(a).dtype.kind == "f"


def equal(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.compiles
@pytest.mark.parametrize("function", SHARED)
def test_threads_change_no_bit(function):
    kernel, given = linad.kernel(function), LARGE[function]
    for call in calls(kernel, given):
        assert call.shared is not None
    g, x = gradient(kernel, given)
    compiled = linad.jit(g)
    compiled(*x)
    found = g(*x)
    in_program = compiled(*x)
    with linad.config(threads=2):
        equal(g(*x), found)
        equal(compiled(*x), in_program)
    source = linad.kernel(_over_range(function))
    one_by_one, _ = gradient(source, given)
    for a, b, c in zip(found, in_program, one_by_one(*x), strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(b, c, rtol=1e-9, atol=1e-12)


def _over_range(function):
    scope = dict(function.__globals__, prange=range)
    return types.FunctionType(function.__code__, scope, function.__name__)


@pytest.mark.compiles
@pytest.mark.rest
@pytest.mark.parametrize("function", SHARED)
def test_derivatives(function):
    check(function, SMALL[function])


@pytest.mark.parametrize("function", [in_order, product, checked])
def test_not_shared(function):
    given = (RNG.random(6), 0.5)[: function.__code__.co_argcount]
    _, adjoint = calls(linad.kernel(function), given)
    assert adjoint.shared is None


def test_long_sums_are_left_to_one_thread():
    """What pieces add to is not to be larger than what they read."""
    _, adjoint = calls(linad.kernel(likelihood), LARGE[likelihood])
    n = 100_000
    given = [np.zeros(n), np.zeros(n), 0.7, np.zeros(n, int), np.zeros(1)]
    bars = [np.zeros(n), np.zeros(n), np.zeros(1), np.zeros(1)]
    assert adjoint.form([*given, *bars]) is adjoint.serial
    given[1], bars[1] = np.zeros(4), np.zeros(4)
    assert adjoint.form([*given, *bars]) is adjoint.shared


READS = ["x[i]", "w[1]", "s", "a[i, 0]", "x[idx[i]]", "w[idx[i] % 3]", "a[i, 2]", "a[idx[i], 1]"]


class Writer:
    """Writes random loops over prange, of which some can be shared."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def value(self, names, depth=0):
        if depth > 2 or self.rng.random() < 0.3:
            return self.pick(*names)
        x, y = self.value(names, depth + 1), self.value(names, depth + 1)
        return self.pick(
            f"({x} * {y})", f"({x} - 0.5 * {y})", f"np.sin({x})", f"{x} / (1.5 + {y} ** 2)"
        )

    def block(self, names, depth=0):
        out = []
        for _ in range(self.rng.integers(1, 4)):
            v, test = self.value(names), self.pick(*names)
            kind = self.rng.integers(8 if depth == 0 else 5)
            if kind == 0:
                out.append(f"e {self.pick('+=', '-=')} {v}")
            elif kind == 1:
                out.append(f"out[i] {self.pick('=', '+=', '*=')} {v}")
            elif kind == 2:
                out.append(f"g[i, {self.rng.integers(2)}] = {v} + out[i]")
            elif kind == 3 and depth < 2:
                inner = self.block([*names, "w[j]"], depth + 1)
                out += ["for j in range(3):", *[f"    {line}" for line in inner]]
            elif kind == 4 and depth < 2:
                yes, no = self.block(names, depth + 1), self.block(names, depth + 1)
                out += [f"if {test} > 0.4:", *[f"    {line}" for line in yes]]
                out += ["else:", *[f"    {line}" for line in no]]
            elif kind == 5:
                name = f"t{self.rng.integers(3)}"
                out.append(f"{name} = {v}")
                names = [*names, name]
            elif kind == 6:
                out += [f"z = {v}", "c = 0", "while abs(z) > 0.2 and c < 3:"]
                out += ["    z = 0.6 * z * np.cos(z)", "    c += 1"]
                names = [*names, "z"]
            elif kind == 7:
                out += ["tmp = np.zeros(3)", "for j in range(3):", f"    tmp[j] = a[i, j] * {v}"]
                out.append("tmp[1] *= tmp[0]")
                names = [*names, "tmp[1]", "tmp[2]"]
        return out or ["e += x[i]"]

    def source(self):
        lines = ["n = x.shape[0]", "e = 0.0", "g = np.zeros((n, 2))"]
        lines += ["s = s * s + 0.1"] * (self.rng.random() < 0.3)
        for _ in range(self.pick(1, 1, 2)):
            body = self.block([*READS, *["out[i]"] * (self.rng.random() < 0.5)])
            lines += ["for i in prange(n):", *[f"    {line}" for line in body]]
            lines.append(self.pick("e = np.sqrt(e * e + 1.0)", "s = s + 0.1 * e", "w = w * 1.1"))
        lines.append("return " + self.pick("e", "e * s", "np.sin(e) + out.sum()", "e + g.sum()"))
        return "def f(x, a, w, s, idx, out):\n" + "\n".join([f"    {line}" for line in lines])


def written(seed):
    source, name = Writer(seed).source(), f"<prange {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope = {"np": np, "prange": prange}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


@pytest.mark.compiles
@pytest.mark.full
@pytest.mark.parametrize("seed", range(60))
def test_random_loops(seed):
    function, n = written(seed), 100_000
    rng = np.random.default_rng(seed)
    given = (rng.random(n), rng.random((n, 3)), rng.random(3), 0.7, rng.permutation(n))
    given = (*given, rng.random(n))
    g, x = gradient(linad.kernel(function), given)
    found = g(*x)
    with linad.config(threads=2):
        equal(g(*x), found)
    expected, _ = gradient(linad.kernel(_over_range(function)), given)
    for a, b in zip(found, expected(*x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
