"""Banded systems, compiled: bands, dtypes, stacks of right sides."""

import numpy as np
import pytest
from compiled_runs import check_compiled

import linad
from linad.core.primitive import Primitive
from linad.scipy.interpolate import CubicSpline

solve_banded = Primitive.registry["solve_banded"]
RNG = np.random.default_rng(0)


def bands(lower, upper, n, dtype="f8"):
    """Bands of a regular matrix; what lies outside of it is NaN."""
    ab = RNG.normal(size=(lower + upper + 1, n)) * (1 if np.dtype(dtype).kind == "f" else 1 + 0.5j)
    ab[upper] += 5
    for k in range(-lower, upper + 1):
        ab[upper - k, : max(k, 0)] = np.nan
        ab[upper - k, n + min(k, 0) :] = np.nan
    return ab.astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("l_and_u", [(1, 1), (0, 0), (2, 1), (0, 3)])
def test_solutions(l_and_u, dtype):
    for n in (4, 9):
        for shape in ((n, 1), (n, 3), (2, n, 1), (3, 1, n, 2), (2, n, 0), (0, n, 1)):
            b = RNG.normal(size=shape).astype("f4" if dtype == "c8" else "f8")
            ab = bands(*l_and_u, n, dtype)
            rtol = 1e-5 if np.finfo(dtype).bits == 32 else 1e-12
            check_compiled(lambda ab, b: solve_banded(ab, b, l_and_u=l_and_u), ab, b, rtol=rtol)


def test_one_equation():
    ab = np.array([[np.nan], [4.0], [np.nan]])
    check_compiled(lambda ab, b: solve_banded(ab, b, l_and_u=(1, 1)), ab, np.ones((1, 2)))


@pytest.mark.parametrize("l_and_u", [(1, 1), (2, 1)])
def test_a_singular_matrix_stops_the_run(l_and_u):
    def f(ab, b):
        return solve_banded(ab, b, l_and_u=l_and_u)

    ab, b = bands(*l_and_u, 5), np.ones((5, 1))
    program = linad.jit(f)
    for _ in range(3):
        program(ab, b)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        program(0 * np.nan_to_num(ab), b)
    np.testing.assert_array_equal(program(ab, b), f(ab, b))


def test_splines_through_moving_heights_need_no_numpy():
    t = np.linspace(0, 1, 12)

    def f(y):
        return np.sum(CubicSpline(t, y)(t[:-1] + 0.01) ** 2)

    gradient, y = linad.jit(linad.grad(f)), RNG.normal(size=12)
    for _ in range(3):
        np.testing.assert_allclose(gradient(y), linad.grad(f)(y), rtol=1e-12)
    assert not linad.explain(gradient)(y).fallbacks
