"""``x[i]`` in loops, for i their counter or an integer computed from it: against Python's loops."""

import numpy as np
import pytest
from loops_in_python import python_loop, python_while

import linad
from linad.errors import TracerError, UnsupportedError

pytestmark = pytest.mark.usefixtures("kernels")

RNG = np.random.default_rng(3)
N = 7
X = RNG.standard_normal(N) / 2
A = RNG.standard_normal((N, 3)) / 2
W = RNG.standard_normal(N)
PICKED = np.array([3, -2, 0, 5, 6, 1, 4])


LOOPS = {"fori_loop": python_loop, "while_loop": python_while}


def entries(linad, x):
    return linad.fori_loop(0, N, lambda i, c: c + np.sin(x[i]) * x[N - 1 - i], 0.0)


def negative(linad, x):
    return linad.fori_loop(-N, 0, lambda i, c: c * 0.5 + x[i] ** 2, 0.0)


def windows(linad, x):
    def body(i, c):
        return c + np.prod(x[i - 1 : i + 2]) + np.sum(x[i - 1 : i + 2 : 2] ** 2)

    return linad.fori_loop(1, N - 1, body, 0.0)


def written(linad, x):
    def body(i, u):
        u[i] = np.sin(u[i - 1]) * x[i] + u[i]
        return u

    return np.sum(linad.fori_loop(1, N, body, x * x) ** 2)


def added(linad, x):
    def body(i, u):
        u[i] += x[0] * u[i - 1]
        u[i - 1 : i + 1] *= 1.5
        return u

    return np.sum(linad.fori_loop(1, N, body, np.cos(x)) ** 2)


def swapped(linad, x):
    """At the first repetition both sides are the same entries."""

    def body(i, u):
        t = u[i]
        u[i] = u[0] * 1.0
        u[0] = t
        u[1:3] = u[i : i + 2]
        return u

    return linad.fori_loop(0, N - 1, body, x + 0) @ W


def permuted(linad, x):
    """Indices that are values of an array."""

    def body(i, c):
        k = np.take(PICKED, i)
        return c * x[k] + x[k - 1]

    return linad.fori_loop(0, N, body, 1.0)


def until(linad, x):
    def body(c):
        i, total = c
        return i + 2, total + x[i] * x[i + 1]

    return linad.while_loop(lambda c: c[0] < N - 1, body, (0, x[0]))[1]


def until_written(linad, x):
    def body(c):
        i, u = c
        u[i] = np.exp(u[i - 1]) * 0.3
        return i + 1, u

    def test(c):
        return (c[0] < N) & (c[1][c[0] - 1] < 10)

    return np.sum(linad.while_loop(test, body, (1, x + 0))[1] ** 2)


def nested(linad, a):
    def outer(i, c):
        return c + linad.fori_loop(0, 3, lambda j, d: d + a[i, j] * a[i - 1, 2 - j], 0.0) ** 2

    return linad.fori_loop(1, N, outer, 0.0)


def rows(linad, a):
    def body(i, c):
        return c * np.cos(a[i]) + a[i, 1:] @ a[i - 1, :2] + a[i - 1 : i + 1, 1].sum()

    return np.sum(linad.fori_loop(1, N, body, np.zeros(3)))


def columns(linad, a):
    def body(j, c):
        return c + a[:, j] * np.sum(a[..., j] ** 2) + a.T[j, ::-1] + a[None, 2, j]

    return np.sum(linad.fori_loop(0, 3, body, np.zeros(N)) ** 2)


def row_written(linad, a):
    """Through views: of a row, and of a part of one."""

    def body(i, u):
        row = u[i]
        row[0] = np.sin(u[i - 1, 1])
        part = row[1:]
        part += u[i - 1, :2]
        part[1] = part[0] * row[0]
        row *= 1.1
        return u

    return np.sum(linad.fori_loop(1, N, body, a * 1.0) ** 2)


def seen_again(linad, a):
    """A view shows what is written later."""

    def body(i, c):
        u, total = c
        row = u[i]
        before = row + 0
        u[i] = row * row
        return u, total + np.sum(row * before)

    u, total = linad.fori_loop(0, N, body, (a * 1.0, 0.0))
    return total + u[1, 1]


def grid(linad, a):
    """Gauss-Seidel, two loops."""

    def line(i, u):
        def entry(j, u):
            u[i, j] = (u[i - 1, j] + u[i, j - 1] + u[i, j] ** 2) / 3
            return u

        return linad.fori_loop(1, 3, entry, u)

    return np.sum(linad.fori_loop(1, N, line, a * 1.0) ** 3)


VECTORS = [
    *(entries, negative, windows, written, added, swapped, permuted, until, until_written),
]
MATRICES = [nested, rows, columns, row_written, seen_again, grid]
PROGRAMS = [(f, X) for f in VECTORS] + [(f, A) for f in MATRICES]
IDS = [f.__name__ for f, _ in PROGRAMS]


class Python:
    fori_loop = staticmethod(python_loop)
    while_loop = staticmethod(python_while)


def direction(x):
    return np.cos(np.arange(x.size)).reshape(x.shape)


MODES = {
    "value": lambda f, x: f(x),
    "jvp": lambda f, x: linad.jvp(f, (x,), (direction(x),))[1],
    "grad": lambda f, x: linad.grad(f)(x),
    "jit": lambda f, x: twice(linad.jit(f), x),
    "jit grad": lambda f, x: twice(linad.jit(linad.grad(f)), x),
    "seeds": lambda f, x: linad.jacobian(lambda x: np.stack([f(x), f(x * 0.9)]))(x),
    "grad jit": lambda f, x: linad.grad(linad.jit(f))(x),
    "hvp": lambda f, x: linad.hvp(f, (x,), (direction(x),)),
    "jit hvp": lambda f, x: twice(linad.jit(lambda x: linad.hvp(f, (x,), (direction(x),))), x),
    "tape": lambda f, x: linad.trace(f, x)[1](x),
}
SHORT = {"grad", "jit grad"}


def twice(f, x):
    f(x)
    return f(x)


@pytest.mark.parametrize("program, x", PROGRAMS, ids=IDS)
@pytest.mark.parametrize(
    "mode",
    [pytest.param(m, marks=[] if m in SHORT else pytest.mark.sweep(part=0.1)) for m in MODES],
)
def test_modes(mode, program, x):
    run = MODES[mode]
    found = run(lambda x: program(linad, x), x.copy())
    wanted = run(lambda x: program(Python, x), x.copy())
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


SINGLE = [swapped, added, written, until_written, row_written, grid]


@pytest.mark.parametrize("program", SINGLE)
def test_float32(program):
    x = next(x for f, x in PROGRAMS if f is program).astype(np.float32)
    found = linad.jit(linad.grad(lambda x: program(linad, x)))
    wanted = linad.grad(lambda x: program(Python, x))(x)
    assert found(x).dtype == found(x).dtype == np.float32
    np.testing.assert_allclose(found(x), wanted, rtol=2e-5, atol=1e-5)


def test_complex():
    z = X + 1j * W

    def f(loop, z):
        def body(i, u):
            u[i] = u[i - 1] * u[i] + 1j
            return u

        return np.sum(np.abs(loop(1, N, body, z * 1.0)) ** 2)

    found = linad.jit(linad.grad(lambda z: f(linad.fori_loop, z)))
    wanted = linad.grad(lambda z: f(python_loop, z))(z)
    np.testing.assert_allclose(found(z), wanted, rtol=1e-11)
    np.testing.assert_allclose(found(z), wanted, rtol=1e-11)


def test_parts_of_complex_entries():
    z = X + 1j * W

    def f(loop, z):
        def body(i, u):
            u.real[i] = u.imag[i - 1] ** 2
            return u

        return np.sum(np.abs(loop(1, N, body, z * 1.0)) ** 2)

    found = linad.jit(linad.grad(lambda z: f(linad.fori_loop, z)))
    wanted = linad.grad(lambda z: f(python_loop, z))(z)
    for _ in range(2):
        np.testing.assert_allclose(found(z), wanted, rtol=1e-11)


def test_with_branches():
    """An index that is out of range only where its branch is not taken."""

    def f(loop, cond, x):
        def body(i, c):
            return c + cond(i >= N - 1, lambda: x[0] ** 2, lambda: x[i + 1] * x[i])

        return loop(0, N, body, 0.0)

    def cond(c, yes, no):
        return yes() if c else no()

    found = linad.jit(linad.grad(lambda x: f(linad.fori_loop, linad.cond, x)))
    wanted = linad.grad(lambda x: f(python_loop, cond, x))(X)
    for _ in range(2):
        np.testing.assert_allclose(found(X), wanted, rtol=1e-11)


def test_a_loop_that_does_not_begin():
    def f(x):
        def body(c):
            return c[0] + 1, c[1] + x[c[0]]

        return linad.while_loop(lambda c: c[0] < N, body, (N, x[0]))[1]

    np.testing.assert_array_equal(linad.grad(f)(X), np.eye(N)[0])


@pytest.mark.parametrize("size", [3, 20])
def test_no_fallback_and_nothing_quadratic(size):
    """Large arrays stay where they are: nothing in the programs grows as n times n."""
    x = np.ones(size * size)

    def f(x):
        def body(i, u):
            u[i] = np.sin(u[i - 1]) * x[i]
            return u

        return np.sum(linad.fori_loop(1, len(x), body, x * 0.5))

    report = linad.explain(linad.jit(linad.grad(f)))(x)
    assert not report.fallbacks
    assert report.arena_bytes < 200 * x.size


def test_linad_loop():
    def f(loop, x):
        u = x * 1.0
        total = 0.0
        for i in loop(N - 1):
            u[i + 1] = np.sin(u[i]) * x[i + 1]
            total = total + u[i + 1] * np.take(W, i)
        return total

    found = linad.jit(linad.grad(lambda x: f(linad.loop, x)))
    wanted = linad.grad(lambda x: f(range, x))(X)
    np.testing.assert_allclose(linad.grad(lambda x: f(linad.loop, x))(X), wanted, rtol=1e-11)
    for _ in range(2):
        np.testing.assert_allclose(found(X), wanted, rtol=1e-11)


def by_python(u):
    for i in range(1, 30):
        u[i] = (u[i - 1] + u[i] * u[i + 1]) / 3
    return u


def by_rows(u):
    a = u[:30].reshape(6, 5) * 1.0
    for i in range(1, 6):
        for j in range(1, 5):
            a[i, j] = np.sin(a[i - 1, j]) + a[i, j - 1] * a[i, j] - np.sum(a[i - 1, j - 1 : j + 1])
    return a


def by_terms(u):
    total = 0.0
    for i in range(1, 60):
        total = total + np.sin(u[i]) * u[i - 1] + np.cos(u[-i]) * u[59 - i]
    return total


def by_windows(u):
    total = 0.0
    for i in range(2, 40):
        total = total * 0.9 + u[i - 2 : i + 1] @ u[i : i - 2 or None : -1][[0, 1, 1]]
        u[i + 1 : i - 1 : -1] = u[i - 1 : i + 1] * 0.5
    return total


@pytest.mark.parametrize("f", [by_python, by_rows, by_terms, by_windows])
def test_unchanged_python_loops(f, monkeypatch):
    """They are rolled, and one loop is compiled."""
    monkeypatch.setattr("linad.control.rolling.LEAST_EQUATIONS", 60)
    monkeypatch.setattr("linad.api.differentiated_call.LONG", 60)
    x = np.random.default_rng(1).standard_normal(61) / 2

    def g(x):
        return np.sum(f(x * 1.0) ** 2)

    wanted, v = linad.grad(g)(x), np.cos(x)
    compiled = linad.jit(linad.grad(g))
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), wanted, rtol=1e-11, atol=1e-13)
    steps = [s.name for s in linad.explain(compiled)(x).steps]
    assert sum(["repeat" in s for s in steps]) >= 1
    assert len(steps) < 40
    found = linad.jit(lambda x: linad.hvp(g, (x,), (v,)))
    for _ in range(2):
        np.testing.assert_allclose(found(x), linad.hvp(g, (x,), (v,)), rtol=1e-10, atol=1e-12)


# What Python reads itself.


@pytest.mark.parametrize("table", [W, list(W), dict(enumerate(W))], ids=["array", "list", "dict"])
@pytest.mark.parametrize("wrap", [lambda f: f, linad.jit], ids=["eager", "jit"])
def test_plain_tables(table, wrap):
    class Look:
        def __getitem__(self, i):
            return table[int(i)]

    look = Look() if isinstance(table, dict) else table
    f = wrap(lambda x: linad.fori_loop(0, N, lambda i, c: c + x[i] * look[i], 0.0))
    for _ in range(2):
        np.testing.assert_allclose(f(X), X @ W)
        np.testing.assert_allclose(linad.grad(f)(X), W)


def test_plain_tables_in_nested_loops():
    def f(loop, a):
        def outer(i, c):
            return c + loop(0, 3, lambda j, d: d + a[i, j] * W[i] * W[j], 0.0)

        return loop(0, N, outer, 0.0)

    np.testing.assert_allclose(f(linad.fori_loop, A), f(python_loop, A))
    found = linad.grad(lambda a: f(linad.fori_loop, a))(A)
    np.testing.assert_allclose(found, np.outer(W, W[:3]))


def test_plain_tables_in_while_loops():
    def f(x):
        def body(c):
            i, total = c
            return i + 1, total + x[i] * W[i]

        return linad.while_loop(lambda c: c[0] < N, body, (0, 0.0))[1]

    np.testing.assert_allclose(f(X), X @ W)
    np.testing.assert_allclose(linad.grad(f)(X), W)
    found = linad.jit(linad.grad(f))
    for _ in range(2):
        np.testing.assert_allclose(found(X), W)


def test_a_plain_carry_is_not_written():
    x = X.copy()

    def body(i, u):
        u[i] = u[i - 1] * W[i]
        return u

    linad.fori_loop(1, N, body, x)
    np.testing.assert_array_equal(x, X)


# Errors.


WRONG = {
    "index 7 is out of bounds for axis 0 with size 7": lambda x, i: x[i + 1],
    "index -8 is out of bounds for axis 0 with size 7": lambda x, i: x[i - 8],
    "slice -1:2 does not lie within axis 0": lambda x, i: np.sum(x[i - 1 : i + 2]),
    "slice 6:8 does not lie within axis 0": lambda x, i: np.sum(x[i : i + 2]),
    "too many indices": lambda x, i: x[i, 0],
}


@pytest.mark.parametrize("text", WRONG)
def test_out_of_range(text):
    def f(x):
        return linad.fori_loop(0, N, lambda i, c: c + WRONG[text](x, i), 0.0)

    compiled = linad.jit(linad.grad(f))
    for g in (linad.grad(f), compiled, compiled):
        with pytest.raises(IndexError, match=text):
            g(X)


def test_captured_arrays_are_not_written():
    def f(x):
        y = x * 1.0

        def body(i, c):
            y[i] = c
            return c + y[i - 1]

        return linad.fori_loop(1, N, body, x[0])

    with pytest.raises(TracerError, match="carry|inner derivative"):
        linad.grad(f)(X)


def test_masks_beside_moving_indices():
    def f(a):
        return linad.fori_loop(0, N, lambda i, c: c + a[i, [0, 2]].sum(), 0.0)

    with pytest.raises(UnsupportedError, match="index twice"):
        linad.grad(f)(A)


def test_other_layouts():
    """Arrays in Fortran's order are read; a copy is written."""

    def f(a):
        return linad.fori_loop(0, N, lambda i, c: c + a[i] ** 2, np.zeros(3)).sum()

    np.testing.assert_allclose(linad.grad(f)(np.asfortranarray(A)), 2 * A)
