"""Boundary value problems: what their solutions depend on."""

import numpy as np
import pytest
import scipy.integrate

import linad
import linad.scipy.integrate as li
from linad.testing.derivative_checks import check_derivatives

NODES = np.array([0.0, 0.3, 0.5, 0.8, 1.1])


def solved(integrate, mesh, a=1.0, tol=1e-3):
    """y'' = -a (1 + x/3) e^y, 0 at both ends."""

    def fun(x, y):
        return np.stack([y[1], -a * np.exp(y[0]) * (1 + x / 3)])

    def ends(first, last):
        return np.stack([first[0], last[0]])

    return integrate.solve_bvp(fun, ends, mesh, np.zeros((2, len(mesh))), tol=tol)


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-5])  # nodes are added
def test_a_solution_moves_with_its_mesh(tol):
    def told(mesh):
        found = solved(li, mesh, tol=tol)
        return found.x, found.y, found.yp, found.sol(0.4)

    theirs = solved(scipy.integrate, NODES, tol=tol)
    x, y, yp, _ = linad.linearize(told, NODES)[0]
    for found, wanted in ((x, theirs.x), (y, theirs.y), (yp, theirs.yp)):
        np.testing.assert_allclose(found, wanted, atol=1e-3 * tol)
    direction, h = np.array([0.0, 0.2, -0.1, 0.1, 0.3]), 1e-5
    slopes = linad.jvp(told, (NODES,), (direction,))[1]
    up, down = (solved(scipy.integrate, NODES + s * h * direction, tol=tol) for s in (1, -1))
    np.testing.assert_allclose(slopes[0], (up.x - down.x) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(slopes[1], (up.y - down.y) / (2 * h), atol=3e-3)
    assert np.abs(slopes[1]).max() > 0.1


def test_the_slope_at_the_end_of_an_interval_of_any_length():
    def slope(length, a):
        return solved(li, np.linspace(0, 1, 6) * length, a, tol=1e-6).y[1, 0]

    compiled = linad.jit(slope)
    check_derivatives(slope, 1.2, 1.0)
    for at in ((1.0, 1.0), (0.7, 0.5)):
        assert compiled(*at) == pytest.approx(slope(*at), rel=1e-12)
