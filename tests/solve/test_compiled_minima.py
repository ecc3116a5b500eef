"""`minimum` and `least_squares` in compiled programs: loops, and the answers of the solvers."""

import numpy as np
import pytest
from compiled_runs import without_numpy as compiled

import linad
from linad import solve
from linad.errors import ConvergenceError

full = pytest.mark.full


def lowest(a):
    return solve.minimum(
        lambda x: np.sum(np.exp(x) - a * x) + 0.1 * np.sum(np.diff(x) ** 2), np.zeros(2)
    )


TIMES = np.linspace(0.0, 4.0, 12)
DECAY = 3.0 * np.exp(-0.7 * TIMES) + 0.5 + 0.01 * np.sin(40 * TIMES)


def decay(y):
    def residuals(c):
        return c["size"] * np.exp(-c["rate"] * TIMES) + c["rest"] - y

    found = solve.least_squares(residuals, {"size": 1.0, "rate": 1.0, "rest": 0.0})
    return np.stack([found["size"], found["rate"], found["rest"]])


@pytest.mark.rest
@pytest.mark.parametrize("f, a", [(lowest, np.array([2.0, 3.0])), (decay, DECAY)])
def test_the_gradient(f, a):
    slope = linad.grad(lambda a: np.sum(np.sin(f(a))))
    np.testing.assert_allclose(compiled(slope, a)(1.1 * a), slope(1.1 * a), rtol=1e-6, atol=1e-9)


@full
@pytest.mark.parametrize("f, a", [(lowest, np.array([2.0, 3.0])), (decay, DECAY)])
def test_every_mode_and_order(f, a):
    def total(a):
        return np.sum(np.sin(f(a)))

    for g in (f, total, linad.grad(total), linad.jacobian(f), linad.hessian(total)):
        np.testing.assert_allclose(compiled(g, a)(1.1 * a), g(1.1 * a), rtol=1e-6, atol=1e-9)
    made = compiled(total, a)
    np.testing.assert_allclose(
        linad.hessian(made)(a), linad.hessian(total)(a), rtol=1e-6, atol=1e-9
    )


@full
@pytest.mark.parametrize("start", [[-1.2, 1.0], [3.0, -2.0], [0.0, 0.0], [-5.0, 7.0]])
def test_far_from_the_end(start):
    start = np.array(start)

    def rosenbrock(a):
        f = lambda x: a * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2  # noqa: E731
        return solve.minimum(f, start)

    def squares(a):
        f = lambda x: np.stack([np.sqrt(a) * (x[1] - x[0] ** 2), 1 - x[0]])  # noqa: E731
        return solve.least_squares(f, start)

    for f in (rosenbrock, squares):
        made = linad.jit(f)
        for a in (100.0, 100.0, 10.0, 1000.0):
            np.testing.assert_allclose(made(a), f(a), rtol=1e-7)


@full
def test_options():
    for options in ({"gtol": 1e-6}, {"xtol": 1e-3}, {"initial_trust_radius": 0.1, "maxiter": 50}):

        def f(a):
            g = lambda x: np.sum(np.cosh(x - a)) + x[0] ** 4  # noqa: E731
            return solve.minimum(g, np.full(2, 3.0), **options)  # noqa: B023

        a = np.array([1.0, 2.0])
        np.testing.assert_allclose(compiled(f, a)(1.1 * a), f(1.1 * a), rtol=1e-12)


@full
def test_single_precision():
    a = np.array([2.0, 3.0], np.float32)

    def f(a):
        return solve.minimum(lambda x: np.sum(np.exp(x) - a * x), np.zeros(2, np.float32))

    found = compiled(f, a)(a)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.log(a), rtol=1e-5)

    def line(a):
        t = np.arange(4, dtype=np.float32)
        y = a[0] * t + a[1]
        return solve.least_squares(lambda c: c[0] * t + c[1] - y, np.zeros(2, np.float32))

    found = compiled(line, a)(a)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, a, rtol=1e-5)


class TestTrouble:
    """Where the loop does not get there the solver decides, and says so as it always does."""

    @full
    def test_a_saddle(self):
        f = lambda a: solve.minimum(  # noqa: E731
            lambda x: (x[0] ** 2 - a) ** 2 + x[1] ** 2, np.zeros(2)
        )
        made = linad.jit(f)
        for a in (1.0, 1.0, 4.0):
            np.testing.assert_allclose(made(a), f(a), atol=1e-12)
            assert abs(made(a)[0]) > 0.9

    @full
    def test_no_minimum(self):
        made = linad.jit(lambda a: solve.minimum(lambda x: np.sum(a * x * x), np.ones(2)))
        made(1.0), made(1.0)
        for a in (-1.0, np.nan, -1.0):
            with pytest.raises(ConvergenceError, match="minimum"):
                made(a)
            np.testing.assert_allclose(made(2.0), 0.0, atol=1e-9)

    @full
    def test_too_few_steps(self):
        def rosenbrock(a):
            f = lambda x: a * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2  # noqa: E731
            return solve.minimum(f, np.array([-1.2, 1.0]), maxiter=20)

        made = linad.jit(rosenbrock)
        made(0.1), made(0.1)
        with pytest.raises(ConvergenceError, match="20 steps"):
            made(1e4)

    @full
    def test_residuals_that_are_not_finite_or_know_nothing(self):
        def f(a):
            return solve.least_squares(
                lambda x: np.stack([np.sqrt(x[0]) - a, x[1] - 1.0]), np.array([4.0, 0.0])
            )

        made = linad.jit(f)
        for a in (0.5, 0.5, 1.5, 0.01):
            np.testing.assert_allclose(made(a), f(a), rtol=1e-7)
        with pytest.raises(ConvergenceError):
            made(np.nan)

        def lost(a):  # far out nothing depends on x
            return solve.least_squares(lambda x: np.exp(-x * x) - a, np.array([3.0]))

        made = linad.jit(lost)
        for a in (0.5, 0.5, 0.3):
            try:
                expected = lost(a)
            except ConvergenceError:
                with pytest.raises(ConvergenceError):
                    made(a)
                continue
            np.testing.assert_allclose(made(a), expected, rtol=1e-6)


@full
def test_in_loops():
    """A fit in each step of a scan, and its gradient."""

    def f(k):
        def step(y, _):
            x = solve.minimum(lambda x: np.sum((x - y) ** 2) + 0.1 * k * np.sum(x**4), y)
            return x, np.sum(x)

        return np.sum(linad.scan(step, np.array([1.0, 2.0]), length=5)[1])

    for g in (f, linad.grad(f)):
        np.testing.assert_allclose(compiled(g, 0.7)(0.8), g(0.8), rtol=1e-9)


@pytest.mark.rest
@pytest.mark.parametrize("solver", [solve.newton_cg, solve.trust_region])
def test_units_of_unknowns_decide_on_nothing(solver):
    """A program whose descent ends far from the minimum leaves it to the solver."""

    def found(a, units):
        def cost(p):
            q = p / units
            return np.sum(np.exp(q) - a * q) + 0.1 * (q[1] - q[0]) ** 2

        return solve.minimum(cost, units, solver=solver) / units

    a = np.array([2.0, 3.0])
    wanted = found(a, np.ones(2))
    for units in (np.ones(2), np.array([1e7, 1e-7])):
        jitted = linad.jit(lambda a, units=units: found(a, units))
        for _ in range(3):
            np.testing.assert_allclose(jitted(a), wanted, rtol=1e-6)
