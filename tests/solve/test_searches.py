"""Derivatives of solutions are copied and pickled, as the functions they were found of can be."""

import copy
import pickle

import numpy as np
import pytest

import linad
import linad.scipy.optimize
from linad import solve
from linad.errors import GuardError

A = np.array([2.0, 3.0])
MATRIX = np.array([[3.0, 1.0], [1.0, 2.0]])


def equations(x, a):
    return x**3 - a


def energy(x, a):
    return np.sum((x**2 - a) ** 2)


def misfit(x, a):
    return x**2 - a


def mean(x, a):
    return 0.5 * (x + a / x)


def product(x, a):
    return MATRIX @ x * a


ONES = np.ones(2)
GIVEN = {
    "root": lambda a: solve.root(equations, ONES, a),
    "root, sparse": lambda a: solve.root(equations, ONES, a, linear_solver="sparse"),
    "root, Krylov": lambda a: solve.root(equations, ONES, a, linear_solver="krylov"),
    "root by another solver": lambda a: solve.root(equations, ONES, a, solver=solve.newton_krylov),
    "fixed point": lambda a: solve.fixed_point(mean, ONES, a),
    "linear": lambda a: solve.linear(product, ONES, a),
    "minimum": lambda a: solve.minimum(energy, ONES, a),
    "minimum within bounds": lambda a: solve.minimum(
        energy, ONES, a, solver=solve.lbfgs, bounds=[(0, 1), (0, 5)]
    ),
    "least squares": lambda a: solve.least_squares(misfit, ONES, a),
    "robust, within bounds": lambda a: solve.least_squares(
        misfit, ONES, a, loss="huber", bounds=(0, 5)
    ),
    "SciPy's minimize": lambda a: linad.scipy.optimize.minimize(energy, ONES, (a,)).x,
}
CAPTURED = {
    "root, captured": lambda a: solve.root(lambda x: x**3 - a, ONES),
    "fixed point, captured": lambda a: solve.fixed_point(lambda x: 0.5 * (x + a / x), ONES),
    "linear, captured": lambda a: solve.linear(lambda x: MATRIX @ x * a, ONES),
    "minimum, captured": lambda a: solve.minimum(lambda x: np.sum((x**2 - a) ** 2), ONES),
    "least squares, captured": lambda a: solve.least_squares(lambda x: x**2 - a, ONES),
}


@pytest.mark.parametrize("f", [*GIVEN.values(), *CAPTURED.values()], ids=[*GIVEN, *CAPTURED])
def test_there_and_back(f):
    _, J = linad.linearize(f, A)
    expected = J.todense()
    for again in (pickle.loads(pickle.dumps(J)), copy.deepcopy(J)):
        np.testing.assert_allclose(again.todense(), expected, rtol=1e-12)
        np.testing.assert_allclose(again.T @ ONES, expected.T @ ONES, rtol=1e-12)


def test_a_copy_that_needs_another_path_says_so():
    """What a function refers to belongs to the trace; a copy has what it has recorded."""

    def either(x, c):
        return x**3 - c if np.all(x > 1.2) else x**2 - c

    def f(a):
        kept = linad.solve.solutions.with_captured(lambda x: either(x, a), 2 * ONES, ())
        found.append(kept[0])
        return np.sum(a)

    found = []
    linad.linearize(f, A)
    again = copy.deepcopy(found[0])
    np.testing.assert_allclose(again(2 * ONES, A), 8.0 - A)
    with pytest.raises(GuardError, match="a copy of the derivative does not have it"):
        again(ONES, A)
