"""`linad.while_loop` against the Python loop, at every count where rows are thinned out."""

import numpy as np
import pytest

import linad
from linad.control import whiles
from linad.errors import ArgumentError, LoopLimitError, SearchError, ShapeError

pytestmark = pytest.mark.usefixtures("kernels")

X = np.array([1.3, 0.4])
MATRIX = np.random.default_rng(0).standard_normal((9, 9)) / 4


def small(y, x):
    return np.stack([np.sin(y[0] * x[0]) + 0.5 * y[1], np.cos(y[0]) * x[1]])


def large(y, x):
    return np.tanh(MATRIX @ y * x[0] + x[1])


STARTS = {small: np.array([0.7, 0.1]), large: np.linspace(0, 1, 9)}


def looped(step, n, **options):
    def f(x):
        init = (STARTS[step] * x[1], 0)
        y, k = linad.while_loop(
            lambda c: c[1] < n, lambda c: (step(c[0], x), c[1] + 1), init, **options
        )
        return np.sum(y * y)

    return f


def unrolled(step, n):
    def f(x):
        y = STARTS[step] * x[1]
        for _ in range(n):
            y = step(y, x)
        return np.sum(y * y)

    return f


COUNTS = [(c, n) for c in (1, 2, 3, 4) for n in sorted({0, 1, c - 1, c, c + 1, c * c, c * c + 1})]


@pytest.mark.parametrize("step", [small, large])
@pytest.mark.parametrize("rows, n", [*COUNTS, (2, 14), (3, 29), (4, 50), (None, 7), (None, 40)])
def test_counts(step, rows, n, monkeypatch):
    if rows is not None:  # so few at a time that segments are replayed in pieces
        monkeypatch.setattr(whiles, "SEGMENT", 1)
        monkeypatch.setattr(whiles, "LEAP", 2)
    f, g = looped(step, n, checkpoints=rows), unrolled(step, n)
    np.testing.assert_allclose(f(X), g(X), rtol=1e-12)
    np.testing.assert_allclose(linad.grad(f)(X), linad.grad(g)(X), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("leap", [2, 3, 7])
@pytest.mark.parametrize("n", [4, 5, 6, 15, 16, 29, 30, 31, 61])
def test_most_rows_go_the_first_time(leap, n, monkeypatch):
    """Five rows, of which one in ``leap`` stays at first, and then one in two."""
    monkeypatch.setattr(whiles, "SEGMENT", 8)
    monkeypatch.setattr(whiles, "LEAP", leap)
    f, g = looped(small, n, checkpoints=5), unrolled(small, n)
    np.testing.assert_allclose(linad.grad(f)(X), linad.grad(g)(X), rtol=1e-9, atol=1e-14)


MODES = {
    "jvp": lambda f: linad.jvp(f, (X,), (X,))[1],
    "hvp": lambda f: linad.hvp(f, (X,), (X,)),
    "hessian": lambda f: linad.hessian(f)(X),
    "grad of grad": lambda f: linad.grad(lambda x: linad.grad(f)(x) @ X)(X),
    "seeds": lambda f: linad.jacobian(lambda x: np.stack([f(x), f(2 * x)]))(X),
    "jit": lambda f: twice(linad.jit(f)),
    "jit grad": lambda f: twice(linad.jit(linad.grad(f))),
    "grad jit": lambda f: linad.grad(linad.jit(f))(X),
    "jit hessian": lambda f: twice(linad.jit(linad.hessian(f))),
}


def twice(f):
    f(X)
    return f(X)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "step, rows, n",
    [(small, 2, 7), (small, 9, 7), pytest.param(large, 3, 5, marks=pytest.mark.full)],
)
def test_modes(mode, step, rows, n):
    found = MODES[mode](looped(step, n, checkpoints=rows))
    np.testing.assert_allclose(found, MODES[mode](unrolled(step, n)), rtol=1e-9, atol=1e-13)


def test_count_follows_the_arguments():
    def newton(a):
        return linad.while_loop(
            lambda x: np.abs(x * x - a) > 1e-13 * a, lambda x: (x + a / x) / 2, a
        )

    f = linad.jit(linad.value_and_grad(newton))
    for a in (2.0, 2.0, 9.0, 1e6, 1e-3):
        value, slope = f(np.float64(a))
        np.testing.assert_allclose(value, np.sqrt(a), rtol=1e-12)
        np.testing.assert_allclose(slope, 0.5 / np.sqrt(a), rtol=1e-10)


@pytest.mark.parametrize("of", [linad.grad, linad.hessian, lambda f: linad.grad(linad.grad(f))])
def test_what_an_earlier_call_has_left_in_the_rows_is_not_read(of):
    def powers(a):
        x, _ = linad.while_loop(lambda c: c[1] < a, lambda c: (c[0] * a, c[1] + 1.0), (a, 0.0))
        return x

    f = linad.jit(of(powers))
    with np.errstate(all="ignore"):
        for a in (2.5, 2.5, 300.0, 2.5):  # the third one overflows
            found = f(np.float64(a))
    expected = 4 * 2.5**3 if of is linad.grad else 12 * 2.5**2  # of the fourth power
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_limit_bounds_what_is_kept():
    rows = []

    def f(x):
        y = linad.while_loop(lambda y: y < 5.0, lambda y: y * x, x, limit=20)
        rows.append(y._trace.equations[-1].primitive.capacity)
        return y

    np.testing.assert_allclose(linad.grad(linad.jit(f))(2.0), 12.0)
    assert rows == [20]


def test_while_in_scan():
    def f(x):
        def step(y, row):
            z, _ = linad.while_loop(
                lambda c: c[1] < row, lambda c: (c[0] * x[0] + 0.1, c[1] + 1.0), (y, 0.0)
            )
            return z, z

        return np.sum(linad.scan(step, x[1], np.array([2.0, 0.0, 3.0]))[1])

    def g(x):
        y, total = x[1], 0.0
        for n in (2, 0, 3):
            for _ in range(n):
                y = y * x[0] + 0.1
            total = total + y
        return total

    np.testing.assert_allclose(f(X), g(X))
    np.testing.assert_allclose(linad.grad(f)(X), linad.grad(g)(X))


def test_limit():
    halve = lambda **o: linad.while_loop(lambda c: c > 0.1, lambda c: c / 2, 1.0, **o)  # noqa: E731
    assert halve(limit=4) == 0.0625
    with pytest.raises(LoopLimitError, match="has run 3 times.*limit=None"):
        halve(limit=3)


def test_errors():
    with pytest.raises(ArgumentError, match="one boolean, got float64"):
        linad.while_loop(lambda c: c, lambda c: c, 1.0)
    with pytest.raises(ArgumentError, match=r"one boolean, got bool\[2\]"):
        linad.while_loop(lambda c: c > 0, lambda c: c, np.ones(2))
    with pytest.raises(ShapeError, match=r"while_loop: carry went in as float64\[2\]"):
        linad.while_loop(lambda c: np.sum(c) > 0, lambda c: np.ones(3), np.ones(2))
    with pytest.raises(ArgumentError, match="limit must be an integer >= 0"):
        linad.while_loop(lambda c: c > 0, lambda c: c, 1.0, limit=2.5)


# Choices.


def test_cond_runs_one_branch():
    safe = lambda x: linad.cond(x > 0, np.sqrt, lambda x: 0 * x, x)  # noqa: E731
    with np.errstate(all="raise"):
        assert linad.grad(safe)(-1.0) == 0
    f = linad.jit(linad.grad(safe))
    for x, slope in ((4.0, 0.25), (4.0, 0.25), (-1.0, 0.0), (-1.0, 0.0), (16.0, 0.125)):
        assert f(np.array(x)) == slope


def chosen(scan, choose, x):
    """A loop in which repetitions differ; the branches refer to traced values."""

    def step(y, row):
        z = choose(y[0] > row, lambda v: np.sin(v) * x[0], lambda v: v * x[1] + row, y)
        return z, choose(row > 0.3, lambda: y[0] * 2.0, lambda: x[0])

    y, ys = scan(step, x, np.array([0.1, 0.9, 0.2, 0.5]))
    return np.sum(y * y) + np.sum(ys * ys)


def plain_scan(f, init, xs):
    ys = []
    for x in xs:
        init, y = f(init, x)
        ys.append(y)
    return init, np.stack(ys)


def plain_cond(condition, yes, no, *operands):
    return yes(*operands) if condition else no(*operands)


@pytest.mark.parametrize("mode", MODES)
def test_cond_in_a_loop(mode):
    found = MODES[mode](lambda x: chosen(linad.scan, linad.cond, x))
    wanted = MODES[mode](lambda x: chosen(plain_scan, plain_cond, x))
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)


def test_switch():
    branches = [np.sin, np.cos, lambda v: v * v]
    assert linad.switch(2, branches, 3.0) == 9.0

    def f(x):
        step = lambda y, k: (linad.switch(k, branches, y) * x, None)  # noqa: E731
        return linad.scan(step, x, np.array([0, 2, 1, 2]))[0]

    def g(x):
        y = np.sin(x) * x
        y = y * y * x
        y = np.cos(y) * x
        return y * y * x

    np.testing.assert_allclose(linad.grad(f)(0.8), linad.grad(g)(0.8))
    with pytest.raises(ArgumentError, match="not one of 3 branches"):
        linad.switch(3, branches, 1.0)
    with pytest.raises(ArgumentError, match="one integer"):
        linad.switch(1.0, branches, 1.0)


def test_branches_that_differ():
    step = lambda y, x: (linad.cond(x > 0, lambda v: v, lambda v: v[:1], y), None)  # noqa: E731
    with pytest.raises(ShapeError, match=r"branches must give the same, got .*float64\[2\]"):
        linad.scan(step, np.ones(2), np.ones(3))


def halved(mid, low, high, p):
    left = (mid**2 - p) * (low**2 - p) < 0
    return np.where(left, low, mid), np.where(left, mid, high)


def by_while(p):
    return linad.while_loop(
        lambda c: c[1] - c[0] > 1e-9,
        lambda c: halved((c[0] + c[1]) / 2, *c, p),
        (np.zeros(()), np.full((), 2.0)),
    )[0]


def by_fori(p):
    def body(k, c):
        return halved((c[0] + c[1]) / 2, *c, p)

    return linad.fori_loop(0, 40, body, (np.zeros(()), np.full((), 2.0)))[0]


def by_python(p):
    low, high = np.zeros(()), np.full((), 2.0)
    for _ in range(40):
        low, high = halved((low + high) / 2, low, high, p)
    return low


@pytest.mark.parametrize("root", [by_while, by_fori, by_python])
def test_nothing_moves_in_a_loop_that_only_compares(root):
    def f(p, x):
        return root(p) * x

    expected = 0.0, root(1.44)
    for g in (f, linad.jit(f)):
        with linad.config(disconnected="ignore"):
            np.testing.assert_allclose(linad.grad(g, (0, 1))(1.44, 2.0), expected)
            np.testing.assert_allclose(linad.jvp(g, (1.44, 2.0), (1.0, 1.0))[1], expected[1])
        with pytest.raises(SearchError):
            linad.grad(g, (0, 1))(1.44, 2.0)


def test_what_a_derivative_makes(caplog):
    """No program to find that pushed zeros are zeros, nor for one seed where there are several."""
    f = linad.jit(looped(small, 5))
    f(X)
    with caplog.at_level("INFO", "linad"):
        J = linad.linearize(f, X)[1]
        pushed = J @ np.eye(2)
    expected = linad.grad(unrolled(small, 5))(X)[None]
    np.testing.assert_allclose(pushed, expected, rtol=1e-12)
    made = [record.getMessage().rsplit(": ", 1)[1] for record in caplog.records]
    # The second "linearized" gives the residuals of several seeds.
    assert [n for n in made if "pull" in n or "push" in n] == ["push f"], made


@pytest.mark.parametrize("start", [np.sign, linad.stop_gradient], ids=["sign", "stop"])
def test_what_has_no_derivative_has_none_in_the_loop(start, monkeypatch):
    met = []
    linearized = whiles.While._linearized

    def noted(self, values, active):
        met.append(tuple(active))
        return linearized(self, values, active)

    monkeypatch.setattr(whiles.While, "_linearized", noted)

    def f(x):
        return linad.while_loop(lambda y: y < 9.0, lambda y: y * 1.5 + x, np.sin(start(x)))

    def beside(x, s):
        return linad.while_loop(lambda y: y < 9.0, lambda y: y * 1.5 + x, s)

    expected = linad.grad(beside)(1.2, np.sin(start(1.2)))
    assert linad.grad(f)(1.2) == expected
    assert met[-1] == (1,)
    assert linad.grad(lambda x: f(np.sign(x)) * x)(1.2) == f(1.0)
    assert met[-1] == ()


def test_a_push_goes_on_as_often_as_the_run_forward():
    def half(x):
        return linad.while_loop(lambda y: np.sin(y) > 0.3, lambda y: y * 0.5, x)

    tape = linad.trace(lambda x, v: linad.jvp(half, (x,), (v,)), 1.2, 1.0)[1]
    asked = [
        [i.primitive.name for i in e.primitive.test.tape.equations]
        for e in tape.equations
        if isinstance(e.primitive, whiles.While)
    ]
    assert asked == [["sin", "greater"], ["less"]]
    assert linad.jvp(half, (1.2,), (1.0,)) == (0.3, 0.25)
