"""A recorded tape that repeats becomes a loop: the same program."""

import numpy as np
import pytest

import linad
from linad.control.body_derivatives import pull_of, push_of
from linad.control.repeat import Repeat
from linad.control.rolling import roll
from linad.core.primitive import Primitive
from linad.core.tape import guards_in
from linad.operators.structured import Diagonal

pytestmark = pytest.mark.usefixtures("kernels")

X = np.array([0.7, 0.3, 0.5])
ROWS = np.random.default_rng(0).standard_normal((60, 3))


def step(y, x):
    a = y + 0.1 * np.sin(y * x[0]) * x[1]
    return np.stack([a[0] * 0.9, a[1] - a[2] * x[2], np.cos(a[0])])


def plain(x):
    y = x
    for _ in range(60):
        y = step(y, x)
    return np.sum(y * y)


def with_rows(x):
    y, total = x, 0.0
    for row in ROWS:
        y = step(y, x) + row
        total = total + np.sum(y)
    return total + y[0]


def with_time(x):
    y, t = x, 0.0
    for k in range(60):
        t = 0.1 * k
        y = step(y, x) * np.exp(-0.01 * t) + x * t
    return np.sum(y)


def with_path(x):
    y, path = x, []
    for _ in range(60):
        y = step(y, x)
        path.append(y[1])
    return np.sum(np.stack(path) ** 2) + y[0]


def broken_off(x):
    y = x
    for k in range(60):
        y = step(y, x) if k < 50 else step(y * 2.0, x) + 1.0
    return np.sum(y)


def two_states(x):
    u, v = x, x * 2.0
    for _ in range(60):
        u, v = np.tanh(u + 0.1 * v), v - 0.1 * np.sin(u) * x
    return np.sum(u * v)


def guarded(x):
    y = x
    for _ in range(60):
        if np.sum(y) < 1e6:
            y = step(y, x)
    return np.sum(y)


def guarded_by_time(x):
    y = x
    for k in range(60):
        if 0.1 * k > x[0] + 90:
            break
        y = step(y, x) if k < x[1] + 1e6 else y
    return np.sum(y)


def nothing(x):
    for k in range(60):
        x = [np.sin, np.cos, np.tanh, np.abs][(k * k) % 7 % 4](x) * (k + 1.5)
    return np.sum(x)


def two_back(x):
    a, b = x, x * 0.5
    for _ in range(80):
        a, b = b, np.sin(b + 0.1 * a) * x[0] + 0.1
    return np.sum(b)


def first_round_apart(x):
    y = x * 0.5
    before = y
    for _ in range(60):
        y -= 0.1 * np.sin(y)  # in the first round this changes ``before`` as well
        now = y / (1.0 + y * y)
        y = now + 0.3 * (now - before)
        before = now
    return np.sum(y)


def loop_in_a_loop(x):
    y, path = x, []
    for k in range(6):
        h = 0.1 * x[0] / (k + 1)
        for _ in range(20):
            y = step(y * (1 - h), x)
        path.append(y)
    return np.sum(np.stack(path) ** 2)


def put_together_twice(x):
    y = np.stack([x[0], x[1], x[2]])  # is x itself
    y = np.stack([y[1], np.sin(y[0]), y[2]])
    for _ in range(60):
        y = step(y, x)
    return np.sum(y * y)


PROGRAMS = [
    plain,
    with_rows,
    with_time,
    with_path,
    broken_off,
    two_states,
    guarded,
    guarded_by_time,
    nothing,
    two_back,
    first_round_apart,
    put_together_twice,
]
ROLLED = {*PROGRAMS} - {nothing}


def rolled_tape(f):
    tape = linad.trace(f, X)[1]
    return tape, roll(tape, lambda: [X])


@pytest.mark.parametrize("f", PROGRAMS)
def test_same_program(f):
    tape, rolled = rolled_tape(f)
    rolled.check()
    roll(rolled, lambda: [X]).check()  # as a loop that takes up what came before it
    loops = [e for e in rolled.equations if isinstance(e.primitive, Repeat)]
    assert bool(loops) == (f in ROLLED)
    for x in (X, X * 1.1):
        np.testing.assert_allclose(rolled(x), f(x), rtol=1e-12)
    np.testing.assert_allclose(linad.grad(rolled)(X), linad.grad(f)(X), rtol=1e-10)


@pytest.mark.parametrize("f", PROGRAMS)
def test_expanded_again(f):
    """The loop, run repetition by repetition, is the recorded list of equations."""
    tape, rolled = rolled_tape(f)
    found = []
    for e in rolled.equations:
        if isinstance(e.primitive, Repeat):
            found += [i.primitive.name for i in e.primitive.body.tape.equations] * e.primitive.n
        else:
            found.append(e.primitive.name)
    rows = len(found) - len(tape.equations)
    names = [e.primitive.name for e in tape.equations]
    if f not in (with_path, put_together_twice):  # rows are taken together
        assert rows == 0
        assert found == names


@pytest.mark.parametrize(
    "f",
    [pytest.param(f, marks=[] if f in (plain, with_path) else pytest.mark.full) for f in PROGRAMS],
)
def test_compiled(f):
    for transform in (lambda f: f, linad.grad):
        g = linad.jit(transform(f))
        for x in (X, X, X * 1.1):
            np.testing.assert_allclose(g(x), transform(f)(x), rtol=1e-9)
    g = linad.grad(linad.jit(f))
    np.testing.assert_allclose(g(X), linad.grad(f)(X), rtol=1e-9)


def test_long_functions_are_differentiated_as_loops():
    def f(x):
        y = x
        for _ in range(150):
            y = step(y, x)
        return np.sum(y * y)

    g = linad.jit(linad.grad(f))
    g(X)
    np.testing.assert_allclose(g(X), linad.grad(f)(X), rtol=1e-9)
    assert len(linad.explain(linad.grad(f))(X).steps) < 100


def test_loop_in_a_loop_is_one_of_two_levels():
    rolled = rolled_tape(loop_in_a_loop)[1]
    loops = [e.primitive for e in rolled.equations if isinstance(e.primitive, Repeat)]
    inner = [e.primitive for e in loops[0].body.tape.equations if isinstance(e.primitive, Repeat)]
    assert [loop.n for loop in (*loops, *inner)] == [6, 20]
    for x in (X, X * 1.1):
        np.testing.assert_allclose(rolled(x), loop_in_a_loop(x), rtol=1e-12)
    expected = linad.grad(loop_in_a_loop)(X)
    np.testing.assert_allclose(linad.grad(rolled)(X), expected, rtol=1e-10)


def test_each_of_several_loops_is_one():
    def f(x):
        y, z = x, x * 0.3
        for _ in range(60):
            y = step(y, x)
        for _ in range(50):
            z = np.cos(z) * x + y / (1.0 + z * z) - z[::-1] * y[0]
        return np.sum(y * z)

    rolled = rolled_tape(f)[1]
    loops = [e.primitive.n for e in rolled.equations if isinstance(e.primitive, Repeat)]
    assert loops == [60, 50]
    for x in (X, X * 1.1):
        np.testing.assert_allclose(rolled(x), f(x), rtol=1e-12)
    np.testing.assert_allclose(linad.grad(rolled)(X), linad.grad(f)(X), rtol=1e-10)


def test_arrays_that_are_written_in_loops_are_not_kept_whole():
    def f(x):
        y = np.zeros(101, like=x)
        y[0] = x[0]
        for k in range(5):
            h = 0.1 * x[1] / (k + 1)
            for j in range(20 * k, 20 * k + 20):
                a = np.sin(y[j]) * h + x[2] * y[j]
                y[j + 1] = np.cos(a) + np.tanh(a * a) * np.exp(-a) - 0.1 * np.sqrt(1 + a * a)
        return np.sum(y * y)

    rolled = rolled_tape(f)[1]
    for loop in [e.primitive for e in rolled.equations if isinstance(e.primitive, Repeat)]:
        assert loop.body.carry_bytes < 8 * 101
    np.testing.assert_allclose(linad.grad(rolled)(X), linad.grad(f)(X), rtol=1e-10)


def test_guard_of_a_loop_still_decides():
    def f(x):
        y = x
        for _ in range(60):
            y = y * 1.05 if y[0] > 0 else y * 0.5 + 0.1
        return np.sum(y)

    g = linad.jit(f)
    for x in (X, X, -X, -X, X):
        np.testing.assert_allclose(g(x), f(x), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_are_compared_stay_weak(dtype):
    """A float64 row of them would be compared in float64 with what is of single precision."""

    def f(x):
        y = x
        for k in range(80):
            y = step(y, x) if x[0] >= 0.1 + 1e-9 * k else y + 1.0
        return np.sum(y)

    x = np.array([0.1, 0.5, 0.3], dtype)
    g = linad.jit(f)
    for _ in range(3):
        np.testing.assert_allclose(g(x), f(x), rtol=1e-5)
    assert g(x).dtype == dtype
    tape = linad.trace(f, x)[1]
    rolled = roll(tape, lambda: [x])
    loops = [e for e in rolled.equations if isinstance(e.primitive, Repeat)]
    assert bool(loops) == (dtype == np.float64)


@pytest.mark.rest
@pytest.mark.parametrize("form", ["scan", "while"])
def test_a_loop_of_python_in_the_body_of_a_loop(form):
    """It becomes a loop in the loop."""

    def inner(c, t):
        c = c * 1.0
        for _ in range(60):
            c = c + 0.01 * np.sin(c * t) * c[2]
        return c

    def f(x):
        if form == "scan":
            return linad.scan(lambda c, t: (inner(c, t), np.sum(c)), x, np.linspace(0, 1, 4))[0]
        return linad.while_loop(
            lambda c: c[0] < 4, lambda c: (c[0] + 1, inner(c[1], c[0])), (0, x)
        )[1]

    def by_python(x):
        for t in np.linspace(0, 1, 4) if form == "scan" else range(4):
            x = inner(x, t)
        return x

    x, v = np.linspace(0.1, 1, 5), np.ones(5)
    loop = next(e.primitive for e in linad.trace(f, x)[1].equations if hasattr(e.primitive, "body"))
    assert sum([isinstance(e.primitive, Repeat) for e in loop.body.tape.equations]) == 1
    assert len(loop.body.tape.equations) < 20
    compiled = linad.jit(f)
    compiled(x / 2)
    np.testing.assert_allclose(compiled(x), by_python(x), rtol=1e-13)
    gradient = linad.jit(linad.grad(lambda x: np.sum(f(x) ** 2)))
    gradient(x / 2)
    expected = linad.grad(lambda x: np.sum(by_python(x) ** 2))(x)
    np.testing.assert_allclose(gradient(x), expected, rtol=1e-12)
    second = linad.hvp(lambda x: np.sum(by_python(x) ** 2), (x,), (v,))
    np.testing.assert_allclose(linad.hvp(lambda x: np.sum(f(x) ** 2), (x,), (v,)), second)


def most(x):
    return max(x)


def above(x):
    return x[0] * sum([1 for v in x if v > 0.5])


def rising(x):
    return x[0] if all(np.sin(x[k]) < 2 * x[k + 1] for k in range(len(x) - 1)) else 2 * x[0]


def place_of_the_first(x):
    k = 0
    while k < len(x) and x[k] < 0.5:
        k += 1
    return x[-1] * k


@pytest.mark.parametrize("function", [most, above, rising, place_of_the_first])
@pytest.mark.parametrize(
    "of",
    [lambda f: f, linad.grad, lambda f: linad.jit(linad.grad(f))],
    ids=["value", "gradient", "compiled gradient"],
)
def test_loops_that_only_decide_stay(function, of, kernels):
    """What a loop of comparisons gives is read by nobody: its guards have to hold all the same."""
    x = np.random.default_rng(0).uniform(0.3, 0.4, 120)
    compiled, wanted = of(linad.jit(function)), of(function)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x), wanted(x))
    for k in (1, 57, 119):
        for value in (0.9, 0.01):
            y = x.copy()
            y[k] = value
            np.testing.assert_array_equal(compiled(y), wanted(y))


def line_search(x):
    """Armijo's rule: at the minimum the test compares numbers that are equal but for rounding."""
    u = x[0]
    for _ in range(30):
        slope, s = 2 * (u - x[1]) + 0.4 * u**3, 1.0
        now = (u - x[1]) ** 2 + 0.1 * u**4
        while (u - s * slope - x[1]) ** 2 + 0.1 * (u - s * slope) ** 4 > now - 1e-4 * s * slope**2:
            s *= 0.5
        u = u - s * slope
    return u


@pytest.mark.rest
@pytest.mark.parametrize("start", [(3.0, 0.4), (3.03, 0.404), (2.5, 0.3)])
def test_decisions_are_asked_once(start):
    """What a derivative computes once more is rounded otherwise, where it is simplified or not."""
    x = np.array(start)
    gradient = linad.jit(linad.grad(line_search))
    u = line_search(x)
    wanted = [0, 2 / (2 + 1.2 * u**2)]  # of 2 (u - a) + 0.4 u^3 = 0
    for _ in range(3):
        np.testing.assert_allclose(gradient(x), wanted, atol=1e-5)
    pushed = linad.jit(lambda x: linad.jvp(line_search, (x,), (np.array([0.0, 1.0]),))[1])
    np.testing.assert_allclose([pushed(x), pushed(x)], wanted[1], rtol=1e-5)


def test_derivatives_ask_what_rules_decide():
    """The decisions of a loop are checked by the run forward; those of a rule by nobody else."""
    shrunk = Primitive("shrunk", lambda x: 0.9 * x, register=False)

    @shrunk.jacobian(wrt=0)
    def shrunk_wrt_x(y, x):
        return Diagonal(0.9 if np.all(x < 2.0) else 0.8, x.shape, x.dtype)

    def f(x):
        for _ in range(60):
            if x[0] < 5.0:
                x = np.sin(shrunk(x))
        return np.sum(x)

    (body,) = (e.primitive.body for e in rolled_tape(f)[1].equations if hasattr(e.primitive, "n"))

    def asked(body):
        guards = [e.inputs[0] for e in guards_in(body.tape.equations)]
        tests = [e for e in body.tape.equations if not guards or e.outputs[:1] == (guards[0],)]
        return [e.primitive.name for e in tests]

    assert asked(body) == ["less"]
    for derived in (pull_of(body, (0,), (0,), (), True), push_of(body, (0,), ())):
        assert asked(derived.body) == ["all"]


@pytest.mark.rest
def test_second_derivatives_of_short_loops_are_loops():
    noise = np.random.default_rng(1).standard_normal(60)

    def f(p):
        x, P, total = 0.0, 1.0, 0.0
        for z in noise:
            x, P = p[0] * x, p[0] * P * p[0] + p[1]
            S, r = P + 0.1, z - x
            x, P = x + P / S * r, (1 - P / S) * P
            total = total + 0.5 * (np.log(S) + r * r / S)
        return total

    p = np.array([0.5, 0.3])
    h = linad.jit(linad.hessian(f))
    np.testing.assert_allclose(h(p), linad.hessian(f)(p), rtol=1e-9)
    [(variant,)] = h.variants.values()
    assert len(variant.rolled.equations) < 500
