"""Random kernels from a grammar: the transformed source against the same source run by linad."""

import linecache

import numpy as np
import pytest
from numba import njit

import linad


@njit
def blend(x, y):
    if x < y:
        return 0.5 * x + 0.1
    return x * y


@njit
def smooth(a, k, w):
    for i in range(1, len(a)):
        if i == k:
            continue
        a[i] = np.tanh(w * a[i - 1] + a[i])
    return a[0]


class Writer:
    """Writes a random kernel of two arrays of six entries, a parameter and two scalars."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.lines = []
        self.depth = 1
        self.loops = []
        self.names = 0

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def emit(self, text):
        self.lines.append("    " * self.depth + text)

    def index(self):
        options = ["0", "-1", str(self.rng.integers(6)), f"order[{self.rng.integers(6)}]"]
        for i in self.loops:
            options += [i, f"({i} + {self.rng.integers(1, 5)}) % 6", f"order[{i}]", f"{i} - 1"]
        return self.pick(*options)

    def term(self):
        return self.pick(
            f"u[{self.index()}]",
            f"v[{self.index()}]",
            "s",
            "t",
            "a",
            repr(0.1 * self.rng.integers(1, 20)),
        )

    def value(self, depth=2):
        if depth == 0 or self.rng.random() < 0.2:
            return self.term()
        x, y = self.value(depth - 1), self.value(depth - 1)
        return self.pick(
            f"({x} + {y})",
            f"({x} - {y})",
            f"0.5 * {x} * {y}",
            f"{x} / (2.0 + {y} ** 2)",
            f"np.sin({x})",
            f"np.tanh({x}) * {y}",
            f"max({x}, {y})",
            f"abs({x})",
            f"np.exp(-({x}) ** 2)",
            f"(-{x})",
            f"np.sqrt(1.5 + np.cos({x}))",
        )

    def test(self):
        return self.pick(
            f"{self.term()} < {self.term()}",
            f"u[{self.index()}] > 0.3",
            f"{self.index()} != 2",
            f"s < t and v[{self.index()}] < 0.5",
            "not s > 0.2",
        )

    def block(self, size):
        for _ in range(size):
            self.statement()

    def nested(self, size=None):
        self.depth += 1
        self.block(size or self.rng.integers(1, 3))
        self.depth -= 1

    def statement(self):
        kind = self.rng.integers(12)
        deep = self.depth > 4
        if kind <= 3 or deep:
            op = self.pick("=", "=", "+=", "-=", "*=")
            target = self.pick(f"u[{self.index()}]", f"v[{self.index()}]")
            self.emit(f"{target} {op} {self.bounded()}")
        elif kind <= 5:
            self.emit(f"{self.pick('s', 't')} {self.pick('=', '+=', '*=')} {self.bounded()}")
        elif kind == 6:
            self.emit("s, t = t, " + self.bounded())
        elif kind <= 8:
            name = f"i{self.names}"
            self.names += 1
            self.emit(f"for {name} in range({self.pick('3', '6', '1, 5', '5, -1, -2', '0')}):")
            self.loops.append(name)
            self.nested()
            if self.rng.random() < 0.3:
                self.depth += 1
                self.emit(f"if {self.test()}:")
                self.emit("    " + self.pick("break", "continue"))
                self.block(1)
                self.depth -= 1
            self.loops.pop()
        elif kind == 9:
            name = f"n{self.names}"
            self.names += 1
            self.emit(f"{name} = 0")
            self.emit(f"while {name} < {self.rng.integers(4)} and {self.test()}:")
            self.depth += 1
            self.emit(f"{name} += 1")
            self.block(1)
            self.depth -= 1
        elif kind == 10:
            self.emit(f"if {self.test()}:")
            self.nested()
            if self.rng.random() < 0.5:
                self.emit("else:")
                self.nested()
        else:
            self.emit(self.pick("u[1:] = np.sin(u[:-1])", "v *= u", "u, v = v, u", "v[::2] += s"))

    def bounded(self):
        return f"np.tanh({self.value()})"

    def source(self):
        self.block(self.rng.integers(3, 7))
        if self.rng.random() < 0.3:
            self.emit(f"if {self.test()}:")
            self.emit("    return s")
            self.block(2)
        head = ["import numpy as np", "def f(u, v, order, a):", "    s = 0.3", "    t = a * 0.5"]
        return "\n".join([*head, *self.lines, "    return s * t + u[0] * v[1]", ""])


class WriterOfMore(Writer):
    """Writes views, tuples, local arrays, calls and returns from within loops as well."""

    def statement(self):
        if self.depth > 4 or self.rng.random() < 0.6:
            super().statement()
            return
        name = f"x{self.names}"
        self.names += 1
        kind = self.rng.integers(9)
        k = self.rng.integers(3)
        if kind == 0:
            self.emit(f"{name} = {self.pick('u[1:5]', 'v[::2]', 'u[:]', 'v[2:]', 'u[::-1]')}")
            self.emit(f"{name}[{k}] {self.pick('=', '+=', '*=')} {self.bounded()}")
            self.emit(f"s = s + {name}[{(k + 1) % 3}]")
        elif kind == 1:
            self.emit(f"{name} = ({self.bounded()}, {self.term()})")
            self.emit(f"s, t = {name}[1], {name}[0]")
        elif kind == 2:
            made = self.pick(
                "np.zeros_like(u)", "np.empty_like(v)", "u.copy()", "np.ones_like(v)", "u * v"
            )
            self.emit(f"{name} = {made}")
            self.emit(f"{name}[:] = {self.pick('s', 'u[0]', 't * a')}")
            self.emit(f"{name}[{k}] += {self.bounded()}")
            self.emit(f"{self.pick('s', 't', 'u[2]')} = np.sum({name} * {name}) / 6.0")
        elif kind == 3:
            self.emit(f"{self.pick('s', 't', f'u[{self.index()}]')} = blend(s, {self.value(1)})")
        elif kind == 4:
            self.emit(f"t = smooth({self.pick('u', 'v', 'u[1:]', 'v[::2]')}, {k}, {self.term()})")
        elif kind == 5 and self.loops:
            self.emit(f"if {self.test()}:")
            self.emit(f"    return {self.term()}")
        elif kind == 6:
            self.emit(f"for {name} in {self.pick('u', 'v[1:3]', '(s, t, a)')}:")
            self.emit(f"    s = np.tanh(s + {name} * {self.term()})")
        elif kind == 7:
            self.emit(f"u[{self.index()}], v[{self.index()}] = {self.bounded()}, {self.bounded()}")
        else:
            self.emit(f"v[1:4] = {self.pick('u[1:4] * s', 'v[2:5]', 'np.cos(v[:3])', 't')}")


class WriterOfLists(WriterOfMore):
    """Writes lists, comprehensions, other axes and functions within the kernel as well."""

    def statement(self):
        if self.depth > 4 or self.rng.random() < 0.6:
            super().statement()
            return
        name = f"y{self.names}"
        self.names += 1
        kind = self.rng.integers(8)
        k = self.rng.integers(3)
        if kind == 0:
            self.emit(f"{name} = [{self.bounded()}, {self.term()}, {self.value(1)}]")
            self.emit(f"{name}[{k}] {self.pick('=', '+=', '*=')} {self.bounded()}")
            self.emit(f"{name}.append({self.bounded()})")
            self.emit(f"s = {name}[-1] + {name}[{k}] * {name}.pop({k})")
        elif kind == 1:
            test = self.pick("", f" if z < {self.term()}")
            self.emit(f"{name} = [{self.bounded()} * z for z in {self.pick('u', 'v[1:]')}{test}]")
            self.emit(f"t = sum({name}) * 0.1 + 0.01 * len({name})")
        elif kind == 2:
            self.emit(f"{name} = []")
            self.emit(f"for z{name} in range(6):")
            self.emit(f"    if {self.test()}:")
            self.emit(f"        {name}.append(u[z{name}] * {self.term()})")
            self.emit(f"for z{name}, w{name} in enumerate({name}):")
            self.emit(f"    v[z{name}] += w{name}")
            self.emit(f"s = np.tanh(s + sum([q * q for q in {name}]))")
        elif kind == 3:
            self.emit(
                f"{name} = {self.pick('u', 'v', '(u * v)')}.reshape({self.pick('2, 3', '3, 2')})"
            )
            self.emit(f"{name}[{k - 2}, {k - 1}] {self.pick('=', '+=', '*=')} {self.bounded()}")
            self.emit(f"s = s * 0.5 + {name}[1, 0] * {name}.ravel()[{k}]")
        elif kind == 4:
            self.emit(f"{name} = lambda z, w=s: {self.bounded()} * z + w")
            self.emit(f"t = 0.5 * {name}({self.term()}) + 0.1 * {name}(t, {self.term()})")
        elif kind == 5:
            self.emit(f"def {name}(z):")
            self.depth += 1
            self.emit(f"u[{k}] *= np.cos(z)")
            self.emit(f"if {self.test()}:")
            self.emit(f"    return z * {self.term()}")
            self.emit(f"return {self.bounded()}")
            self.depth -= 1
            self.emit(f"s = {name}({self.value(1)})")
            self.emit(f"t = {name}(s)")
        elif kind == 6:
            self.emit(f"{name} = [({self.term()}, {self.bounded()})]")
            self.emit(f"for z{name} in u[:{k + 1}]:")
            self.emit(f"    {name}.append((z{name} * {self.term()}, {name}[-1][0]))")
            self.emit(f"s, t = {name}[-1][1], {name}[{k}][0]")
        else:
            self.emit(f"{name} = [s]")
            self.emit(f"while len({name}) < {k + 3}:")
            self.emit(f"    {name}.append(np.sin({name}[-1] + {self.term()}))")
            self.emit(f"t = {name}[{k + 1}] * {name}[-2]")


def defined(seed, writer=Writer, plain=False):
    """The random kernel of a seed, as a function with source; if plain, all of it in Python."""
    text = writer(seed).source()
    name = f"<random kernel {writer.__name__} {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    called = {"blend": blend, "smooth": smooth}
    scope = {n: getattr(f, "py_func", f) if plain else f for n, f in called.items()}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def check(seed, hessian=False, writer=Writer):
    function = defined(seed, writer, plain=True)
    kernel = linad.kernel(defined(seed, writer))
    rng = np.random.default_rng(seed)
    order = rng.integers(0, 6, 6)
    x = [rng.random(6), rng.random(6), 0.7]
    w = rng.standard_normal((2, 6))

    def objective(run):
        def f(x):
            u, v, a = x[0] * 1.0, x[1] * 1.0, x[2] * 1.0
            result = run(u, v, order, a)
            return result + np.sum(w[0] * u) + np.sum(w[1] * v * v)

        return f

    f, plain = objective(kernel), objective(function)
    value, g = linad.value_and_grad(f)(x)
    expected_value, expected = linad.value_and_grad(plain)(x)
    np.testing.assert_allclose(value, expected_value, rtol=1e-12)
    direction = [rng.standard_normal(np.shape(a)) for a in x]
    _, pushed = linad.jvp(f, (x,), (direction,))
    dot = sum([np.vdot(a, b) for a, b in zip(g, direction, strict=True)])
    np.testing.assert_allclose(pushed, dot, rtol=1e-9, atol=1e-11)
    for a, b in zip(g, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    if hessian:
        _, one = linad.jvp(linad.grad(f), (x,), (direction,))
        _, other = linad.jvp(linad.grad(plain), (x,), (direction,))
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(25))
def test_random_kernel(seed, as_python):
    check(seed, hessian=seed % 5 == 0)


@pytest.mark.parametrize("seed", range(12))
def test_random_kernel_with_views_tuples_and_calls(seed, as_python):
    check(seed, hessian=seed % 4 == 0, writer=WriterOfMore)


@pytest.mark.parametrize("seed", range(10))
def test_random_kernel_with_lists(seed, as_python):
    check(seed, hessian=seed % 4 == 0, writer=WriterOfLists)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 250))
def test_more_random_kernels_with_lists(seed, as_python):
    check(seed, hessian=seed % 4 == 0, writer=WriterOfLists)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 200))
def test_more_random_kernels_with_views_tuples_and_calls(seed, as_python):
    check(seed, hessian=seed % 4 == 0, writer=WriterOfMore)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1000, 1150))
def test_more_random_kernels(seed, as_python):
    check(seed, hessian=seed % 5 == 0)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2000, 2015))
def test_compiled_random_kernel(seed):
    check(seed)
