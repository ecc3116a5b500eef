"""Objectives: linad's own derivatives and those by hand, what they cost, what is refused."""

import numpy as np
import pytest

from linad.errors import OptionError, OutputError, ShapeError
from linad.solve.objectives import Objective, refuse_limits

X = np.array([0.5, -1.0, 2.0])
V = np.array([1.0, 2.0, -3.0])


def f(x, s):
    return s * np.sum(x**4)


def gradient(x, s):
    return 4 * s * x**3


BY_HAND = {
    "jac": {"jac": gradient},
    "hess": {"hess": lambda x, s: np.diag(12 * s * x**2)},
    "hessp": {"hessp": lambda x, v, s: 12 * s * x**2 * v},
    "all": {"jac": gradient, "hess": lambda x, s: np.diag(12 * s * x**2)},
    "none": {},
}


@pytest.mark.parametrize("given", BY_HAND)
def test_a_model(given):
    objective = Objective(f, X, 2.0, "newton_cg", **BY_HAND[given])
    value, g, H = objective.model(X)
    assert value == f(X, 2.0)
    np.testing.assert_allclose(g, gradient(X, 2.0))
    np.testing.assert_allclose(H @ V, 24 * X**2 * V)
    np.testing.assert_allclose(H.H @ V, 24 * X**2 * V)


def test_the_hessian_is_sparse_without_the_gradient():
    H = Objective(f, X, 1.0, "newton_cg").model(X)[2]
    np.testing.assert_allclose(H.tosparse().toarray(), np.diag(12 * X**2))
    assert H.nnz == 3


def test_evaluations_are_counted():
    objective = Objective(f, X, 1.0, "newton_cg")
    objective.value(X)
    _, _, H = objective.model(X)
    H @ V
    assert objective.counted == {"nfev": 2, "njev": 1, "njvp": 1, "nvjp": 1}


def test_what_does_not_fit_is_refused():
    with pytest.raises(OutputError, match="^lbfgs: <lambda> must return a real scalar"):
        Objective(lambda x: x, X, (), "lbfgs").value_and_gradient(X)
    with pytest.raises(ShapeError, match="^lbfgs: jac returned 2 numbers for 3 unknowns"):
        Objective(f, X, 1.0, "lbfgs", jac=lambda x, s: x[:2]).value_and_gradient(X)
    with pytest.raises(ShapeError, match="^newton_cg: the Hessian must have shape"):
        Objective(f, X, 1.0, "newton_cg", hess=lambda x, s: np.eye(2)).model(X)


def test_limits_that_a_solver_does_not_take():
    refuse_limits("newton_cg", None, ())
    with pytest.raises(OptionError, match="^newton_cg: bounds must be None"):
        refuse_limits("newton_cg", [(0, 1)], ())
    with pytest.raises(OptionError, match="^newton_cg: constraints must be empty"):
        refuse_limits("newton_cg", None, [{"type": "eq"}])
