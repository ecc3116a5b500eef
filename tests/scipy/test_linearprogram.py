"""The linear program: everything that its result tells moves as differences say."""

import numpy as np
import pytest

import linad
from linad.scipy import optimize
from linad.testing import check_derivatives

COST = np.array([-1.0, -1.1, 0.3])
UPPER = np.array([[1.0, 2.0, 0.4], [3.0, 1.0, 0.1]])
SIDES = np.array([4.0, 6.0])
EQUAL = np.array([3.0, 0.8, 0.1])


def told(c, A, b, u):
    found = optimize.linprog(
        c,
        A_ub=A,
        b_ub=b,
        A_eq=np.ones((1, 3)),
        b_eq=u[:1],
        bounds=[(0, None), (None, u[1]), (u[2], 5)],
    )
    return {
        "x": found.x,
        "fun": found.fun,
        "slack": found.slack,
        "marginals": [getattr(found, k).marginals for k in ("ineqlin", "eqlin", "lower", "upper")],
        "residuals": [found.ineqlin.residual, found.lower.residual[::2], found.upper.residual[1:]],
    }


def test_all_parts_of_the_result():
    check_derivatives(told, COST, UPPER, SIDES, EQUAL)


def test_marginals_are_the_derivatives_of_the_cost():
    slopes = linad.grad(lambda b: told(COST, UPPER, b, EQUAL)["fun"])(SIDES)
    np.testing.assert_allclose(slopes, told(COST, UPPER, SIDES, EQUAL)["marginals"][0], atol=1e-12)


def test_a_bound_at_infinity_stays_there():
    def residual(u):
        found = optimize.linprog([1.0, 1.0], bounds=[(u, None), (0.0, np.inf)])
        return found.upper.residual

    y, J = linad.linearize(residual, 0.3)
    assert np.all(y == np.inf)
    assert np.all(J.pushforward(1.0) == 0)


@pytest.mark.parametrize("integrality", [[1, 1, 1]])
def test_whole_numbers_are_refused(integrality):
    with pytest.raises(linad.errors.UnsupportedError, match="integrality"):
        linad.grad(lambda c: optimize.linprog(c, integrality=integrality).fun)(COST)
