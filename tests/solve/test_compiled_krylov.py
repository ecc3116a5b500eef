"""GMRES in programs: alone, in Newton's method, and for the derivatives of solutions."""

import numpy as np
import pytest
from compiled_runs import without_numpy as compiled

import linad
from linad import solve
from linad.errors import ConvergenceError
from linad.solve.compiled_krylov import gmres

full = pytest.mark.full


def matrix(n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    if dtype is complex:
        A, b = A + 1j * rng.normal(size=(n, n)), b + 1j * rng.normal(size=n)
    return (A + n * np.eye(n)).astype(dtype), b.astype(dtype)


@full
@pytest.mark.parametrize(
    "n, dtype, restart",
    [
        (7, float, 30),
        (1, float, 5),
        (7, complex, 3),
        (40, float, 4),
        (9, np.float32, 5),
    ],
)
def test_gmres(n, dtype, restart):
    A, b = matrix(n, dtype)
    tolerance = 1e-5 if dtype == np.float32 else 1e-11

    def solution(A, b):
        found = gmres(lambda v: A @ v, b, tolerance, restart, 500)
        return found.x, found.rest, found.reached, found.products

    run = linad.jit(solution)
    for A in (A, A, A * 2.0):  # noqa: B020
        x, rest, reached, products = run(A, b)
        assert x.dtype == dtype
        assert np.linalg.norm(b - A @ x) <= 2 * tolerance * np.linalg.norm(b)
        np.testing.assert_allclose(rest, b - A @ x, atol=4 * np.finfo(dtype).eps * n)
        assert 0 <= reached <= tolerance
        assert 0 < products < 500
    x, _, reached, products = run(A, 0 * b)
    assert not x.any()
    assert (reached, products) == (0, 0)
    assert not run(0 * A, b)[2] <= tolerance  # singular: it says so
    assert not run(A * np.nan, b)[2] <= tolerance
    assert not run(A, b * np.nan)[2] <= tolerance


@full
def test_gmres_that_cannot_converge():
    """A cyclic shift moves nothing until the last product; restarts never get there."""
    A = np.roll(np.eye(8), 1, axis=0)
    b = np.eye(8)[0]

    def solution(A, b, restart):
        found = gmres(lambda v: A @ v, b, 1e-10, restart, 200)
        return found.x, found.reached, found.products

    for restart in (3, 8):
        run = linad.jit(lambda A, b: solution(A, b, restart))  # noqa: B023
        run(A, b)
        x, reached, products = run(A, b)
        assert products <= 12
        assert reached == (1.0 if restart == 3 else 0.0)
        np.testing.assert_allclose(np.linalg.norm(A @ x - b), reached, atol=1e-15)


def chain(n, **options):
    def f(a):
        b = np.linspace(1.0, 2.0, n)
        return solve.root(lambda x: x**3 + a * x - b + 0.1 * np.roll(x, 1), np.ones(n), **options)

    return f


@pytest.mark.rest
def test_the_gradient_of_a_root():
    f = chain(3, solver=solve.newton_krylov, linear_solver="krylov")
    slope = linad.grad(lambda a: np.sum(np.sin(f(a))))
    a = np.linspace(0.5, 1.5, 3)
    np.testing.assert_allclose(compiled(slope, a)(1.1 * a), slope(1.1 * a), rtol=1e-9)


@full
@pytest.mark.parametrize(
    "options",
    [
        {"solver": solve.newton_krylov, "linear_solver": "krylov"},
        {"linear_solver": "krylov"},
        {"solver": solve.newton_krylov, "ftol": 1e-13, "restart": 2},
    ],
)
def test_every_mode_and_order(options):
    f = chain(4, **options)
    a = np.linspace(0.5, 1.5, 4)

    def total(a):
        return np.sum(np.sin(f(a)))

    for g in (total, linad.grad(total), linad.jacobian(f), linad.hessian(total)):
        made = compiled(g, a)
        np.testing.assert_allclose(made(1.1 * a), g(1.1 * a), rtol=1e-9, atol=1e-12)


@full
@pytest.mark.parametrize("options", [{"linear_solver": "dense"}, {"linear_solver": "krylov"}])
def test_more_unknowns(options):
    n = 250
    if options["linear_solver"] == "krylov":
        options = options | {"solver": solve.newton_krylov, "preconditioner": None}

    def f(a):
        b = np.linspace(1.0, 2.0, n)

        def residual(x):
            return x**3 + a * x - b + 0.1 * np.roll(x, 1) + 0.01 * np.mean(x * x)

        return solve.root(residual, np.ones(n), **options)

    for g in (f, linad.grad(lambda a: np.sum(np.sin(f(a))))):
        np.testing.assert_allclose(compiled(g, 1.0)(1.3), g(1.3), rtol=1e-9, atol=1e-12)


@full
def test_complex_roots():
    a = np.array([1.0 + 1j, 2.0 - 0.5j, 0.3j])

    def f(a, **options):
        return solve.root(lambda x: x**3 + a * x - 2.0 + 0.1 * np.roll(x, 1), 1 + 0 * a, **options)

    for options in ({}, {"solver": solve.newton_krylov, "linear_solver": "krylov"}):
        g = lambda a: f(a, **options)  # noqa: B023, E731
        np.testing.assert_allclose(compiled(g, a)(1.1 * a), g(1.1 * a), rtol=1e-10)

        def size(a):
            return np.sum(np.abs(g(a)) ** 2)  # noqa: B023

        slope = linad.grad(size)
        np.testing.assert_allclose(compiled(slope, a)(1.1 * a), slope(1.1 * a), rtol=1e-9)


@full
def test_linear():
    n = 5
    A, b = matrix(n, float)

    def f(A, b, **options):
        return solve.linear(lambda x: A @ x + 0.1 * np.roll(x, 1), b, **options)

    for options in ({}, {"linear_solver": "krylov"}):
        g = lambda A, b: f(A, b, **options)  # noqa: B023, E731
        np.testing.assert_allclose(compiled(g, A, b)(A + 1, b), g(A + 1, b), rtol=1e-9)
        slope = linad.grad(lambda A: np.sum(np.sin(g(A, b))))  # noqa: B023
        np.testing.assert_allclose(compiled(slope, A)(A + 1), slope(A + 1), rtol=1e-8, atol=1e-12)
        run = linad.jit(g)
        run(A, b), run(A, b)
        nothing = -0.1 * np.roll(np.eye(n), 1, axis=0)
        with pytest.raises(ConvergenceError, match="linear"):
            run(nothing, b)


class TestTrouble:
    @full
    def test_none_is_found(self):
        def f(a):
            return solve.root(lambda x: x * x + a, np.ones(3), solver=solve.newton_krylov)

        run = linad.jit(f)
        run(-1.0), run(-1.0)
        for _ in range(2):
            with pytest.raises(ConvergenceError, match="root"):
                run(1.0)
            np.testing.assert_allclose(run(-4.0), np.full(3, 2.0))
        with pytest.raises(ConvergenceError):
            run(np.nan)

    @full
    def test_a_singular_jacobian_at_the_start(self):
        """Of so many unknowns that its structure decides how systems are solved."""

        def f(a):
            return solve.root(lambda x: x**3 + 0.0 * np.mean(x**2) - a, np.zeros(210))

        run = linad.jit(f)
        for _ in range(3):
            with pytest.raises(ConvergenceError):
                run(1.0)

    @full
    def test_too_few_products(self):
        def f(a):
            A = np.roll(np.eye(6), 1, axis=0)
            options = {"restart": 2, "inner_maxiter": 2, "preconditioner": None}
            solver = solve.newton_krylov
            return solve.root(
                lambda x: A @ x - a * np.eye(6)[0], np.zeros(6), solver=solver, **options
            )

        run = linad.jit(f)
        for _ in range(3):
            with pytest.raises(ConvergenceError, match="GMRES"):
                run(1.0)


@full
def test_in_loops():
    """Backward Euler: each step of a scan solves a system by iteration."""

    def f(k):
        def step(y, _):
            z = solve.root(
                lambda z: z - y - 0.1 * (np.roll(z, 1) - k * z**3),
                y,
                solver=solve.newton_krylov,
                linear_solver="krylov",
            )
            return z, np.sum(z)

        return np.sum(linad.scan(step, np.array([1.0, 2.0, 0.5]), length=20)[1])

    for g in (f, linad.grad(f)):
        np.testing.assert_allclose(compiled(g, 0.7)(0.8), g(0.8), rtol=1e-9)
