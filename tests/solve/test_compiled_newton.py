"""`root` and `fixed_point` in compiled programs: a loop, and the answers of the solver itself."""

import os
import subprocess
import sys

import numpy as np
import pytest
from compiled_runs import without_numpy as compiled

import linad
from linad import solve
from linad.errors import ConvergenceError

full = pytest.mark.full


def cubes(n):
    def f(a):
        b = np.linspace(1.0, 2.0, n)
        return solve.root(lambda x: x**3 + a * x - b + 0.1 * np.roll(x, 1), np.ones(n))

    return f


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("n", [1, pytest.param(3, marks=full)])
def test_every_mode_and_order(n):
    a = np.linspace(0.5, 1.5, n)

    def f(a):
        return np.sum(np.sin(cubes(n)(a)))

    for g in (f, linad.grad(f), linad.jacobian(cubes(n)), linad.hessian(f)):
        made = compiled(g, a)
        np.testing.assert_allclose(made(1.1 * a), g(1.1 * a), rtol=1e-11, atol=1e-13)
    made = compiled(f, a)
    np.testing.assert_allclose(linad.grad(made)(a), linad.grad(f)(a), rtol=1e-11)
    pushed = linad.jvp(made, (a,), (a,))[1]
    np.testing.assert_allclose(pushed, linad.jvp(f, (a,), (a,))[1], rtol=1e-11)
    np.testing.assert_allclose(linad.hessian(made)(a), linad.hessian(f)(a), rtol=1e-9, atol=1e-12)


@full
def test_containers_and_scalars():
    def f(a):
        x = solve.root(
            lambda x: {"u": x["u"] ** 2 - a * x["v"], "v": x["v"] - 1.0 - 0.1 * np.sum(x["u"])},
            {"u": np.ones(2), "v": 1.0},
        )
        return np.sum(x["u"]) + x["v"]

    np.testing.assert_allclose(compiled(f, 2.0)(3.0), f(3.0), rtol=1e-13)
    np.testing.assert_allclose(compiled(linad.grad(f), 2.0)(3.0), linad.grad(f)(3.0), rtol=1e-12)

    def cosine(a):
        return solve.fixed_point(lambda x: np.cos(a * x), 0.5)

    for g in (cosine, linad.derivative(cosine), linad.derivative(linad.derivative(cosine))):
        np.testing.assert_allclose(compiled(g, 1.0)(0.7), g(0.7), rtol=1e-12)


@full
def test_single_precision():
    a = np.array([2.0, 3.0], np.float32)

    def f(a):
        return solve.root(lambda x: x * x - a, np.ones(2, np.float32))

    found = compiled(f, a)(a)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.sqrt(a), rtol=3e-7)


@full
@pytest.mark.parametrize("start", [0.3, 1.5, 3.0, 20.0, -4.0])
def test_line_search(start):
    """Far from the root full steps lead away; the same root must be found by shorter ones."""

    def f(a):
        return solve.root(lambda x: np.arctan(a * x) + 0.1 * np.sin(3 * x), np.full(2, start))

    a = np.array([1.0, 2.0])
    np.testing.assert_allclose(compiled(f, a)(a), f(a), rtol=1e-12, atol=1e-15)


@full
def test_several_roots_and_badly_scaled_ones():
    rng = np.random.default_rng(3)
    for _ in range(4):
        start, b = rng.normal(size=3) * 4, rng.normal(size=3)

        def f(b, start=start):
            return solve.root(lambda x: np.cos(2 * x) * x - b + 0.3 * np.roll(x, 1) ** 2, start)

        try:
            expected = f(b)
        except ConvergenceError:
            continue
        np.testing.assert_allclose(linad_twice(f, b), expected, rtol=1e-9)

    def wide(a):
        return solve.root(
            lambda x: np.stack([x[0] * 1e-9 - a, x[1] - 2 * a, x[2] ** 2]), np.ones(3)
        )

    np.testing.assert_allclose(linad_twice(wide, 3.0), wide(3.0), rtol=1e-7)


def linad_twice(f, *args):
    made = linad.jit(f)
    made(*args)
    return made(*args)


class TestTrouble:
    @pytest.mark.rest
    def test_none_is_found(self):
        f = linad.jit(lambda a: solve.root(lambda x: x * x + a, np.ones(2)))
        with pytest.raises(ConvergenceError, match="root"):
            f(1.0)
        f(-1.0), f(-1.0)
        for _ in range(2):
            with pytest.raises(ConvergenceError, match="root"):
                f(1.0)
            np.testing.assert_allclose(f(-4.0), [2.0, 2.0])

    @full
    def test_too_few_steps(self):
        f = linad.jit(lambda a: solve.root(lambda x: x**3 - a, np.ones(2), maxiter=3))
        f(1.001), f(1.001)
        with pytest.raises(ConvergenceError, match="3 steps"):
            f(1e6)

    @full
    def test_a_singular_matrix_on_the_way(self):
        """Least squares lead on, in Python."""
        residual = lambda x, a: np.stack([x[0] ** 2 - a, x[0] + x[1] - 2 * a])  # noqa: E731
        f = lambda a, x0: solve.root(lambda x, a: residual(x, a), x0, a)  # noqa: E731
        made = linad.jit(f)
        for x0 in ([1.0, 1.0], [1.0, 1.0], [0.0, 1.0], [2.0, 1.0]):
            x0 = np.array(x0)
            try:
                expected = f(1.0, x0)
            except ConvergenceError:
                with pytest.raises(ConvergenceError):
                    made(1.0, x0)
                continue
            np.testing.assert_allclose(made(1.0, x0), expected, rtol=1e-12)

    @full
    def test_no_derivative_where_the_jacobian_is_singular(self):
        def f(s):
            def residual(x):
                d = x[0] - x[1]
                return np.stack([x[0] + x[1] - 2.0, d**3 + s * d])

            return np.sum(solve.root(residual, np.ones(2)) * np.array([1.0, 3.0]))

        made = linad.jit(linad.derivative(f))
        made(1.0), made(2.0)
        for g in (linad.derivative(f), made):
            with pytest.raises(np.linalg.LinAlgError, match="no derivative here"):
                g(0.0)
        np.testing.assert_allclose(made(3.0), 0.0, atol=1e-14)

    @full
    def test_python_decides(self):
        def f(a):
            return solve.root(lambda x: x - a if x[0] > 0 else x + a, np.ones(2))

        np.testing.assert_allclose(linad_twice(f, 2.0), f(2.0))


@full
def test_in_loops():
    """Backward Euler: each step of a scan solves a system."""

    def f(k):
        def step(y, _):
            z = solve.root(lambda z: z - y - 0.1 * (np.roll(z, 1) - k * z**3), y)
            return z, np.sum(z)

        return np.sum(linad.scan(step, np.array([1.0, 2.0]), length=20)[1])

    for g in (f, linad.grad(f)):
        np.testing.assert_allclose(compiled(g, 0.7)(0.8), g(0.8), rtol=1e-11)


@full
def test_called_from_numba():
    numba = pytest.importorskip("numba")
    f, a, found = linad.jit(cubes(3)), np.ones(3), np.zeros(3)
    inner = f.njit(a)

    @numba.njit
    def call(a, found):
        inner(a, found)

    call(a, found)
    np.testing.assert_allclose(found, f(a), rtol=1e-13)


@pytest.mark.rest
def test_without_a_compiler():
    """Importing the solvers does not import Numba, and without it NumPy runs all."""
    text = (
        "import sys, numpy as np, linad, linad.solve, linad.scipy.integrate\n"
        "assert 'numba' not in sys.modules\n"
        "f = linad.jit(linad.grad(lambda a: linad.solve.root(lambda x: x * x - a, 1.0)))\n"
        "for a in (4.0, 4.0, 9.0):\n"
        "    np.testing.assert_allclose(f(a), a**-0.5 / 2)\n"
    )
    around = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", text], check=True, env=around, timeout=240)
