"""Each solver of linad.solve inside `linad.jit`, inside loops and inside derivatives: the numbers
that it gives outside, by a loop of the program where there is one."""

import numpy as np
import pytest
import scipy.optimize

import linad
from linad import solve

full = pytest.mark.full
T = np.linspace(0.0, 3.0, 9)
HEAVY = np.where(np.arange(9) == 4, 0.7, 0.0)


def root(a, **options):
    return solve.root(lambda x: x**3 + a * x - 1.0 + 0.1 * np.roll(x, 1), np.ones(3), **options)


def lowest(a, **options):
    def f(x):
        return np.sum(np.exp(x) - a * x) + 0.1 * np.sum(np.diff(x) ** 2)

    return solve.minimum(f, np.zeros(3), **options)


def fit(a, **options):
    y = a[0] * np.exp(-a[1] * T) + a[2] + 0.01 * np.sin(9 * T)
    if "loss" in options:
        y = y + HEAVY
    return solve.least_squares(
        lambda c: c[0] * np.exp(-c[1] * T) + c[2] - y, np.array([1.0, 1.0, 0.0]), **options
    )


KRYLOV = {"solver": solve.newton_krylov}
TIGHT = {"solver": solve.lbfgs, "gtol": 1e-9, "ftol": 0.0}
BOX = (np.zeros(3), np.array([1.5, 10.0, 10.0]))
COMPILED = {
    "root": lambda a: root(a),
    "root by Krylov": lambda a: root(a, **KRYLOV, linear_solver="krylov"),
    "fixed point": lambda a: solve.fixed_point(lambda x: np.cos(a * x), np.full(3, 0.5)),
    "linear": lambda a: solve.linear(lambda x: a * x + 0.1 * np.roll(x, 1), np.ones(3)),
    "trust region": lambda a: lowest(a),
    "newton_cg": lambda a: lowest(a, solver=solve.newton_cg),
    "lbfgs": lambda a: lowest(a, **TIGHT),
    "fit": lambda a: fit(a),
    "fit to a tolerance": lambda a: fit(a, xtol=1e-12, ftol=1e-14),
    "fit in a box": lambda a: fit(a, bounds=BOX),
    "robust fit": lambda a: fit(a, loss="soft_l1", f_scale=0.1, gtol=1e-10),
    "gauss_newton": lambda a: fit(a, solver=solve.gauss_newton),
}
BY_PYTHON = {
    "root by sparse factors": lambda a: root(a, linear_solver="sparse"),
    "root, preconditioned": lambda a: root(a, **KRYLOV, preconditioner="diagonal"),
    "root by SciPy": lambda a: root(a, solver=scipy.optimize.root, tol=1e-13),
    "lbfgs in a box": lambda a: lowest(a, **TIGHT, bounds=[(None, 0.1), (0, 5), (None, None)]),
}
CASES = COMPILED | BY_PYTHON
POINT = np.array([2.0, 1.2, 0.7])


def total(f):
    return lambda a: np.sum(np.sin(f(a)))


def stepping(f):
    """A solution in each step of a scan."""

    def stepped(a):
        def step(c, _):
            return 0.5 * f(c) + 0.5 * a, np.sum(c)

        return np.sum(linad.scan(step, a, length=4)[1])

    return stepped


def until(f):
    """Solutions until they stay."""

    def last(a):
        def moves(c):
            return np.max(np.abs(c[0] - c[1])) > 1e-3

        def step(c):
            return 0.1 * f(c[0]) + a, c[0]

        return np.sum(linad.while_loop(moves, step, (a, a + 1.0), limit=50)[0])

    return last


MODES = {
    "value": lambda f: f,
    "gradient": lambda f: linad.grad(total(f)),
    "jvp": lambda f: lambda a: linad.jvp(f, (a,), (np.arange(1.0, 4.0),))[1],
    "hessian": lambda f: linad.hessian(total(f)),
    "scan": stepping,
    "gradient of a scan": lambda f: linad.grad(stepping(f)),
    "while": until,
    "gradient of a while": lambda f: linad.grad(until(f)),
}


def agree(f):
    """Compiled numbers against those outside of programs, to the six digits that fits promise."""
    made = linad.jit(f)
    made(POINT), made(POINT)
    found = made(1.1 * POINT)
    np.testing.assert_allclose(found, f(1.1 * POINT), rtol=1e-6, atol=1e-6)


@full
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CASES)
def test_every_solver(name, mode):
    f = MODES[mode](CASES[name])
    agree(f)
    if name in COMPILED:
        assert not linad.explain(f)(POINT).fallbacks


@pytest.mark.rest
@pytest.mark.parametrize("name", ["newton_cg", "gauss_newton", "root, preconditioned"])
def test_gradients(name):
    agree(MODES["gradient"](CASES[name]))


@full
@pytest.mark.parametrize("name", COMPILED)
def test_the_solver_itself_does_not_run(name, monkeypatch):
    """The loop gets there; Python's solver would be the way out of trouble."""
    f = CASES[name]
    made = linad.jit(f)
    made(POINT), made(POINT)

    def fails(*args):
        raise AssertionError

    monkeypatch.setattr("linad.solve.implicit._solution", fails)
    made(1.1 * POINT)
    monkeypatch.undo()
    np.testing.assert_allclose(made(1.1 * POINT), f(1.1 * POINT), rtol=1e-6, atol=1e-6)


@full
def test_single_precision():
    a = POINT.astype(np.float32)
    tolerances = {"lbfgs": {"gtol": 1e-4}, "newton_cg": {}}
    for name, options in tolerances.items():
        f = lambda a: solve.minimum(  # noqa: E731
            lambda x: np.sum(np.exp(x) - a * x),
            np.zeros(3, np.float32),
            solver=getattr(solve, name),  # noqa: B023
            **options,  # noqa: B023
        )
        made = linad.jit(f)
        for _ in range(3):
            found = made(a)
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, f(a), atol=2e-4)


@full
@pytest.mark.parametrize("name", ["newton_cg", "lbfgs", "gauss_newton"])
def test_failures_are_named(name):
    """No minimum, and numbers that are not finite: the error of the solver, and the next call is
    right again."""
    solver = getattr(solve, name)

    def f(a):
        if name == "gauss_newton":
            return solve.least_squares(lambda x: x - np.sqrt(a), np.ones(2), solver=solver)
        return solve.minimum(lambda x: np.sum(a * x * x - x), np.ones(2), solver=solver)

    made = linad.jit(f)
    made(1.0), made(1.0)
    for a in (-1.0, np.nan, -1.0):
        with pytest.raises(linad.errors.ConvergenceError, match=name):
            made(a)
        np.testing.assert_allclose(made(4.0), f(4.0), rtol=1e-6)


@full
def test_a_solution_within_a_solution():
    def outer(a):
        def f(x):
            y = solve.minimum(
                lambda y: np.sum(np.cosh(y) - x * y), np.zeros(2), solver=solve.newton_cg
            )
            return np.sum((y - a) ** 2) + 0.1 * np.sum(x**4)

        return solve.minimum(f, np.zeros(2), solver=solve.lbfgs, gtol=1e-7, ftol=0.0)

    a = np.array([0.5, -0.3])
    for g in (outer, linad.grad(lambda a: np.sum(outer(a) ** 2))):
        made = linad.jit(g)
        made(a), made(a)
        np.testing.assert_allclose(made(1.1 * a), g(1.1 * a), rtol=1e-5, atol=1e-7)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.int8, np.bool_])
def test_equations_read_integers_of_the_program(dtype):
    """A counter of a loop, or an argument: no number of the run that was recorded."""
    numbers = np.array([1, 0, 1, 1]).astype(dtype)

    def equation(n, a, c):
        return lambda x: x**3 * (1 + n) - a * c

    def looped(a):
        step = lambda c, n: (linad.solve.root(equation(n, a, c), 1.0 + 0.0 * a), ())  # noqa: E731
        return linad.scan(step, a, numbers)[0]

    def by_hand(a):
        c = a
        for n in numbers:
            c = np.cbrt(a * c / (1.0 + n))
        return c

    slope = linad.derivative(by_hand)(1.5)
    for d in (linad.derivative, linad.grad):
        for wrap in (lambda f: f, linad.jit):
            np.testing.assert_allclose(wrap(d(looped))(1.5), slope, rtol=1e-9)
    jitted = linad.jit(lambda n, a: linad.solve.root(equation(n, a, 1.0), 1.0 + 0.0 * a))
    for n in numbers[:2]:
        np.testing.assert_allclose(jitted(n, 2.0), np.cbrt(2.0 / (1.0 + n)), rtol=1e-9)


@pytest.mark.parametrize(
    "n", [np.int64(2**53 + 5), np.int64(-(2**62) + 3), np.uint64(2**64 - 1)], ids=str
)
def test_equations_read_every_bit_of_an_integer(n):
    """Of one that no float is equal to."""
    jitted = linad.jit(lambda n, a: solve.root(lambda x: x - a * (n % 8), 1.0 + 0.0 * a))
    rest = float(n % type(n)(8))
    y, J = linad.linearize(lambda a: jitted(n, a), 2.0)
    np.testing.assert_allclose(y, 2.0 * rest, rtol=1e-12)
    np.testing.assert_allclose(J.pushforward(1.0), rest, rtol=1e-12)
