"""Triangular systems and LU."""

import numpy as np
import pytest
import scipy.linalg

import linad
import linad.scipy.linalg
from linad.errors import DegenerateError, SingularError
from linad.rules.triangular import lu_, permutation, solve_triangular_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)


def well(*shape):
    return rng.standard_normal(shape) + 3 * np.eye(shape[-1])


CASES = [
    Case(solve_triangular_, well(3, 3), rng.standard_normal((3, 2)), lower=True, unit=False,
         check={"complex_": True}),
    Case(solve_triangular_, well(3, 3), rng.standard_normal((3, 1)), lower=False, unit=True),
    Case(solve_triangular_, well(2, 2, 2), rng.standard_normal((2, 1)), lower=False, unit=False),
    Case(solve_triangular_, well(2, 2), rng.standard_normal((2, 2, 1)), lower=True, unit=True),
    Case(solve_triangular_, np.zeros((0, 0)), np.zeros((0, 2)), lower=True, unit=False),
    Case(lu_, rng.standard_normal((3, 3)), check={"complex_": True}),
    Case(lu_, rng.standard_normal((2, 2, 2))),
    Case(lu_, np.zeros((0, 0))),
    # The last entry of U is 0: nothing is divided by it.
    Case(lu_, np.array([[4.0, 2.0, 1.0], [1.0, 5.0, 2.0], [2.0, 1.0, 0.5]])),
]  # fmt: skip


def test_lu_solves():
    a, b = rng.standard_normal((4, 4)), rng.standard_normal((4, 2))
    lu, pivots = lu_(a)
    order = permutation(pivots)
    lower = np.tril(lu, -1) + np.eye(4)
    np.testing.assert_allclose(lower @ np.triu(lu), a[order], atol=1e-14)
    y = solve_triangular_(lu, b[order], lower=True, unit=True)
    x = solve_triangular_(lu, y, lower=False, unit=False)
    np.testing.assert_allclose(x, scipy.linalg.solve(a, b))


def test_only_the_triangle_is_read():
    a, b = well(3, 3), rng.standard_normal((3, 1))
    J = linad.linearize(lambda a: solve_triangular_(a, b, lower=True, unit=False), a)[1]
    gradient = J.pullback(np.ones((3, 1)))
    assert np.all(gradient[np.triu_indices(3, 1)] == 0)


FACTORS = {
    "lu: no derivative": lambda m, a: m.lu_factor(a)[0],
    "qr: no derivative": lambda m, a: m.qr(a)[1],
    "ldl: no derivative": lambda m, a: m.ldl(a)[1],
    "a 0 on its diagonal": lambda m, a: m.cho_solve((a, True), np.ones(3)),
}


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize("name", FACTORS)
def test_singular_factors_are_told(name):
    with pytest.raises((SingularError, DegenerateError), match=name):
        linad.grad(lambda a: FACTORS[name](linad.scipy.linalg, a).sum())(np.zeros((3, 3)))


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
def test_what_a_singular_matrix_raised_is_not_kept():
    f = linad.jit(lambda a: linad.scipy.linalg.lu_factor(a)[0])
    gradient = linad.grad(lambda a: f(a).sum())
    with pytest.raises(SingularError):
        gradient(np.zeros((2, 2)))
    np.testing.assert_allclose(gradient(np.diag([2.0, 1.0])), [[1.0, 1.0], [0.5, 1.0]])
