"""`linad.loop` against ``range``: the same numbers, and an error where Python remembers."""

import collections
import itertools

import numpy as np
import pytest
import scipy.sparse

import linad
from linad.control.repeat import Repeat
from linad.errors import BrokenPromiseError, GuardError, OverwrittenError, TracerError

pytestmark = pytest.mark.usefixtures("kernels")

X = np.array([0.7, 0.3, 0.5])


def carried(span, n, x):
    y, s = x, 0.0
    for i in span(n):
        y = np.stack([np.cos(y[0]), y[1] * 0.9, y[2] - y[0]]) * np.exp(-0.1 * i) + x * i
        s = s + y[0]
    return np.sum(y) + s


def looking_back(span, n, x):
    a, b, c = x, x * 0.5, x * 0.2
    for i in span(n):
        a, b, c = b, c, np.sin(c + 0.1 * a) * x[0] + 0.1 * i
    return np.sum(a) + np.sum(b) + np.sum(c * c)


def written(span, n, x):
    u = np.zeros_like(x)
    u[0] = x[1]
    v = x.copy()
    for _ in span(n):
        v += 0.1 * np.sin(u) * x
        u[1] = v[2] * 0.5
        u[0] = u[1] * u[0] + 0.1
    return np.sum(u * v)


def read_afterwards(span, n, x):
    y = k = tail = x
    i, best = 0, None
    for i in span(n):  # noqa: B007  # it is read afterwards
        k = np.sin(y)
        tail = y[1:]
        y = y * 0.9 + k * 0.1 * x
        if best is None:
            best = y
    k[1] = 2.0  # tail is a view of what was y
    return np.sum(y) + np.sum(k) + np.sum(tail * tail) + i + (0.0 if best is None else best[0])


def nested(span, n, x):
    y = x
    for i in span(n):
        z = y
        for j in span(n):
            z = np.cos(z) * x + 0.01 * i * j
        y = y * 0.5 + z
    return np.sum(y)


def with_a_derivative(span, n, x):
    y = x
    for _ in span(n):
        y = y - 0.1 * linad.grad(lambda y: np.sum(np.sin(y) * x * y))(y)
    return np.sum(y * y)


def broken_off(span, n, x):
    y = x
    for i in span(n):
        y = np.cos(y) * x
        if i >= 1:
            break
    else:
        y = y * 100
    return np.sum(y)


def returned(span, n, x):
    y = x
    for i in span(n):
        y = np.cos(y) * x
        if i == 2:
            return np.sum(y)
    return np.sum(y) * 2


def to_the_end(span, n, x):
    y = x
    for i in span(n):
        y = np.cos(y) * x
        if i < 0:
            continue
    else:
        y = y * 3
    return np.sum(y)


def with_an_exception(span, n, x):
    y = x
    try:
        for i in span(n):
            y = np.sin(y)
            if i == 1:
                raise ValueError
    except ValueError:
        y = y * 2
    return np.sum(y)


PROGRAMS = [
    *(carried, looking_back, written, read_afterwards, nested, with_a_derivative),
    *(broken_off, returned, to_the_end, with_an_exception),
]


def twice(f, x):
    g = linad.jit(f)
    g(x)
    return g(x)


@pytest.mark.sweep(part=0.5)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("n", [0, 4, 6])
@pytest.mark.parametrize("check_loops", [False, True])
def test_same_as_range(program, n, check_loops):
    def f(x):
        return program(linad.loop, n, x)

    def g(x):
        return program(range, n, x)

    with linad.config(check_loops=check_loops):
        np.testing.assert_allclose(linad.trace(f, X)[1](X * 1.1), g(X * 1.1), rtol=1e-12)
        np.testing.assert_allclose(linad.grad(f)(X), linad.grad(g)(X), rtol=1e-10)
        found = linad.jvp(f, (X,), (X,))[1]
    np.testing.assert_allclose(found, linad.jvp(g, (X,), (X,))[1], rtol=1e-10)
    assert f(X) == g(X)


@pytest.mark.parametrize(
    "program",
    [pytest.param(f, marks=[] if f is carried else pytest.mark.full) for f in PROGRAMS],
)
def test_compiled(program):
    def f(x):
        return program(linad.loop, 9, x)

    def g(x):
        return program(range, 9, x)

    np.testing.assert_allclose(twice(f, X), g(X), rtol=1e-10)
    np.testing.assert_allclose(twice(linad.grad(f), X), linad.grad(g)(X), rtol=1e-10)
    np.testing.assert_allclose(linad.grad(linad.jit(f))(X), linad.grad(g)(X), rtol=1e-10)
    np.testing.assert_allclose(linad.hessian(f)(X), linad.hessian(g)(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_dtypes(dtype):
    x = X.astype(dtype)

    def f(span, x):
        y = x
        for i in span(7):
            y = np.sin(y) * x + 0.1 * float(dtype(3).real) + 0 * i
        return y

    found = linad.jvp(lambda x: f(linad.loop, x), (x,), (x,))
    expected = linad.jvp(lambda x: f(range, x), (x,), (x,))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_the_loop_is_one_operation_from_its_first_repetition():
    tape = linad.trace(lambda x: carried(linad.loop, 1000, x), X)[1]
    loops = [e.primitive for e in tape.equations if isinstance(e.primitive, Repeat)]
    assert [p.n for p in loops] == [1000]
    assert len(tape.equations) < 10


def test_the_body_runs_three_times(capsys):
    def f(x):
        for _ in linad.loop(100):
            print("run")
            x = np.sin(x)
        return np.sum(x)

    linad.grad(f)(X)
    assert capsys.readouterr().out.count("run") == 3
    with linad.config(check_loops=True):
        linad.grad(f)(X)
    assert capsys.readouterr().out.count("run") == 100


# What breaks the promise.

TOTAL = 0


class Model:
    def __init__(self):
        self.steps, self.path = 0, []

    def counted(self, y):
        self.steps += 1
        return np.sin(y)

    def logged(self, y):
        self.path.append(None)
        return np.sin(y)


class Slotted:
    __slots__ = ("steps",)

    def __init__(self):
        self.steps = 0

    def counted(self, y):
        self.steps += 1
        return np.sin(y)


def in_a_closure():
    k = 0

    def step(y):
        nonlocal k
        k += 1
        return np.sin(y)

    return step


def in_the_module():
    def step(y):
        global TOTAL
        TOTAL += 1
        return np.sin(y)

    return step


def in_a_list():
    held = []
    return lambda y: held.append(y) or np.sin(y)


def in_a_dict():
    held = {}
    return lambda y: held.setdefault(len(held), np.sin(y))


def in_a_deque():
    held = collections.deque()
    return lambda y: held.append(None) or np.sin(y)


def in_an_iterator():
    numbers = iter(range(100))
    return lambda y: np.sin(y) + 0 * next(numbers)


def in_a_counter():
    numbers = itertools.count()
    return lambda y: np.sin(y) if next(numbers) < 50 else y


def in_a_generator():
    def count():
        k = 0
        while True:
            k += 1
            yield k

    numbers = count()
    return lambda y: np.sin(y) if next(numbers) < 50 else y


def in_an_array():
    table = np.zeros(3)

    def step(y):
        table[0] += 1
        return np.sin(y)

    return step


def at_random():
    rng = np.random.default_rng(0)
    return lambda y: np.sin(y) if rng.random() < 2 else y


def in_a_default():
    def step(y, held=[0]):  # noqa: B006  # that is what is tested
        held[0] += 1
        return np.sin(y)

    return step


BROKEN = [
    (lambda: Model().counted, r"steps was \d+ and is \d+;"),
    (lambda: Model().logged, r"path had \d+ entries and has \d+"),
    (lambda: Slotted().counted, r"steps was"),
    (in_a_closure, "k was"),
    (in_the_module, "TOTAL was"),
    (in_a_list, "held had .* linad.scan stacks"),
    (in_a_dict, "held had"),
    (in_a_deque, "held"),
    (in_an_iterator, "numbers"),
    (in_a_counter, "numbers has changed"),
    (in_a_generator, "k was"),
    (in_an_array, "table has changed"),
    (at_random, "rng has changed"),
    (in_a_default, "was"),
]


@pytest.mark.parametrize("make, words", BROKEN)
def test_state_that_changes(make, words):
    step = make()

    def f(x):
        for _ in linad.loop(100):
            x = step(x)
        return np.sum(x)

    with pytest.raises(BrokenPromiseError, match=words):
        linad.grad(f)(X)
    with pytest.raises(BrokenPromiseError, match=words):
        linad.jit(f)(X)


def test_a_number_that_changes():
    def f(x):
        t = 0.0
        for _ in linad.loop(100):
            t += 0.1
            x = x * t
        return np.sum(x)

    with pytest.raises(BrokenPromiseError, match="t was 0.5 and is 0.6.*the loop's i"):
        linad.grad(f)(X)


def test_a_value_that_python_learns():
    def f(x):
        for i in linad.loop(100):
            x = np.sin(x) * int(i)
        return np.sum(x)

    with pytest.raises(BrokenPromiseError, match=r"Python learns 5 .* test_python_loop.py"):
        linad.grad(f)(X)


def test_another_path_later():
    def f(x):
        for i in linad.loop(100):
            x = np.sin(x) if i < 50 else np.cos(x)
        return np.sum(x)

    with pytest.raises(GuardError, match="linad.cond"):
        linad.grad(f)(X)
    with linad.config(check_loops=True), pytest.raises(BrokenPromiseError, match="repetition 50"):
        linad.grad(f)(X)


def test_what_only_checking_sees(tmp_path):
    """A file is no state that can be looked at."""
    (tmp_path / "log").write_text("")

    def f(x):
        for _ in linad.loop(20):
            with (tmp_path / "log").open("r+") as log:
                count = len(log.read())
                log.write("x")
            x = np.sin(x) if count < 10 else np.cos(x)
            del count, log
        return np.sum(x)

    with linad.config(check_loops=True), pytest.raises(BrokenPromiseError, match="cos in the"):
        linad.grad(f)(X)


def test_left_in_a_later_repetition():
    def f(x):
        numbers = {"left": 20}

        for i in linad.loop(20):
            x = np.sin(x)
            if i == 15:
                break
        return np.sum(x) + numbers["left"]

    with linad.config(check_loops=True), pytest.raises(BrokenPromiseError, match="leaves it"):
        linad.grad(f)(X)


def test_overwritten_workspaces_are_refused():
    workspace = np.ones(100)

    def step(y, _):
        workspace[:] = 2.0
        y = y * workspace
        workspace[:] = 3.0
        return y * workspace, None

    with pytest.raises(OverwrittenError, match="body of a loop"):
        linad.scan(step, np.ones(100), length=2)

    def f(x):
        y = np.ones(100) * x[0]
        for _ in linad.loop(10):
            y = step(y, None)[0]
        return np.sum(y)

    with pytest.raises(OverwrittenError):
        linad.grad(f)(X)


def test_arguments_are_not_written():
    def f(x):
        for _ in linad.loop(10):
            x += np.sin(x)
        return np.sum(x)

    with pytest.raises(TracerError, match="write into a copy"):
        linad.grad(f)(X.copy())


def test_errors_of_the_body_are_its_own():
    def f(x):
        for i in linad.loop(10):
            x = np.sin(x) + i
            raise KeyError("mine")
        return np.sum(x)

    with pytest.raises(KeyError, match="mine"):
        linad.grad(f)(X)
    assert linad.grad(lambda x: np.sum(np.sin(x)))(X)[0] == np.cos(X[0])


def test_without_a_trace_it_is_range():
    assert list(linad.loop(5)) == [0, 1, 2, 3, 4]
    with pytest.raises(linad.errors.OptionError, match="n must be an integer >= 0"):
        linad.loop(-1)


def test_large_constants_are_compared_by_their_entries():
    places = np.arange(99, -1, -1)

    def f(span, x):
        y = np.repeat(x, 40)
        for i in span(9):
            buffer = np.zeros_like(y)
            buffer[10:] = np.sin(y[10:])
            y = buffer[list(places)[:100]].sum() * 0.001 + y * 0.9 + np.linspace(0, 1, 120) * i
        return np.sum(y * y)

    found = linad.grad(lambda x: f(linad.loop, x))(X)
    np.testing.assert_allclose(found, linad.grad(lambda x: f(range, x))(X), rtol=1e-10)


def test_a_value_that_a_later_repetition_keeps_is_refused():
    """Kept by the second repetition for all others: they are not what it is."""

    def f(x):
        kept = []
        y = x
        for _ in linad.loop(20):
            z = np.sin(y)
            if len(kept) < 2:
                kept.append(z)
            y = z * kept[-1]
        return np.sum(y)

    with pytest.raises(BrokenPromiseError):
        linad.grad(f)(X)


def test_a_value_that_the_first_repetition_keeps():
    def f(span, x):
        kept = []
        y = x
        for _ in span(9):
            z = np.sin(y)
            if not kept:
                kept.append(z)
            y = z * kept[0] + x
        return np.sum(y)

    found = linad.grad(lambda x: f(linad.loop, x))(X)
    np.testing.assert_allclose(found, linad.grad(lambda x: f(range, x))(X), rtol=1e-10)


@pytest.mark.parametrize("of", [lambda f: f, linad.grad], ids=["value", "gradient"])
def test_a_sparse_matrix_that_scipy_multiplies_booleans_by(of):
    """SciPy asks for the booleans: the decision is in the loop, the matrix is nowhere."""
    matrix = scipy.sparse.csr_array(np.diag([1.0, 2.0, 3.0]))

    def f(x):
        y = x
        for _ in linad.loop(20):
            y = y * (0.9 + 0.01 * (matrix @ (y > 0)))
        return np.sum(y)

    compiled, wanted = linad.jit(of(f)), of(f)
    for factor in (1, 2, 2, 0.25):
        matrix.data *= factor
        for _ in range(2):
            np.testing.assert_allclose(compiled(X), wanted(X), rtol=1e-12)


def test_decisions_in_a_loop_are_explained():
    def f(x):
        s = x[0]
        for _ in linad.loop(20):
            s = np.sin(s) + x[1] if s < 9 else s
        return s

    assert "was True" in str(linad.explain(f)(X))
