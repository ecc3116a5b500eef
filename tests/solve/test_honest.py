"""A success means what the documentation says: over all solvers, on problems that go wrong.

Problems that diverge, stall, have flat directions, bad scales, regions of NaN, singular
Jacobians and no solution. Whatever ends a solver, a success is one that the derivatives at the
point bear out.
"""

import numpy as np
import pytest
from solve.problems import freudenstein_roth, powell_badly_scaled, powell_singular

import linad
from linad import solve

ROOTS = ["newton", "newton_krylov"]
FITS = ["gauss_newton", "levenberg_marquardt"]
MINIMA = ["newton_cg", "trust_region", "lbfgs"]


def scaled(x):
    return np.stack([x[0] - 1e15, x[1] ** 2 - 2.0])


def mixed(x):
    return np.stack([1e12 * (x[0] - 1e-9), 1e-9 * (x[1] - 1e12)])


EQUATIONS = {
    "arctan, far out": (np.arctan, [50.0, 100.0]),
    "arctan, both sides": (np.arctan, [-3.0, 1e6]),
    "one large unknown": (scaled, [0.0, 1.0]),
    "mixed units": (mixed, [1.0, 1.0]),
    "no root": (lambda x: x**2 + 1.0, [1.0, -0.5]),
    "no root, no minimum": (np.exp, [0.0, 1.0]),
    "stalls": (lambda x: np.tanh(x) - 2.0, [0.0, 30.0]),
    "multiple roots": (lambda x: (x - 1.0) ** 5, [3.0, -2.0]),
    "singular everywhere": (lambda x: np.stack([x[0] + x[1], (x[0] + x[1]) ** 2 - 1]), [3.0, 1.0]),
    "singular there": (lambda x: np.stack([x[0], x[0] * x[1]]), [1.0, 1.0]),
    "flat": (lambda x: np.stack([x[0] - 1.0, 0.0 * x[1]]), [5.0, 2.0]),
    "a region of NaN": (lambda x: np.sqrt(x) - 2.0 + 1.0 / x, [0.05, 9.0]),
    "NaN all around": (lambda x: np.log(-1.0 - x**2), [0.3, 0.4]),
    "a kink": (lambda x: np.abs(x) + 0.1, [1.0, -2.0]),
    "an ill-conditioned one": (lambda x: np.vander([1.0, 1.001]) @ x - 1.0, [5.0, 5.0]),
    "periodic": (lambda x: np.sin(x) + 1.5, [0.0, 1.0]),
    "vast": (lambda x: 1e200 * (x - 1.0) ** 3, [2.0, 3.0]),
    "tiny": (lambda x: 1e-200 * (x**3 - 2.0), [1.0, 3.0]),
    "Freudenstein and Roth": (freudenstein_roth, [0.5, -2.0]),
    "Powell, badly scaled": (powell_badly_scaled, [0.0, 1.0]),
    "Powell, singular": (powell_singular, [3.0, -1.0, 0.0, 1.0]),
}

FUNCTIONS = {
    "no minimum": (lambda x: np.sum(x), [1.0, 2.0]),
    "an infimum far out": (lambda x: np.sum(np.exp(-x)), [0.0, 1.0]),
    "logistic tail": (lambda x: np.sum(np.log1p(np.exp(-x))), [0.0, 3.0]),
    "saddle": (lambda x: x[0] ** 2 - x[1] ** 2, [1.0, 0.0]),
    "flat": (lambda x: (x[0] + x[1]) ** 4, [1.0, 2.0]),
    "badly scaled": (lambda x: 1e8 * (x[0] - 1e-4) ** 2 + 1e-8 * (x[1] - 1e4) ** 2, [1.0, 1.0]),
    "a region of NaN": (lambda x: np.sum(x - np.log(x)), [0.01, 5.0]),
    "NaN at the start": (lambda x: np.sum(np.log(x)), [-1.0, 2.0]),
    "a kink": (lambda x: np.sum(np.abs(x - 0.3)), [1.0, -1.0]),
    "a large constant": (lambda x: 1e12 + np.sum((x - 1.0) ** 2), [3.0, 4.0]),
    "vast": (lambda x: 1e200 * np.sum((x - 1.0) ** 2), [3.0, 4.0]),
    "tiny": (lambda x: 1e-100 * np.sum((x - 1.0) ** 2), [3.0, 4.0]),
    "below all bounds": (lambda x: np.sum(x**3 - 3 * x), [-5.0, 2.0]),
}


def run(solver, f, x0):
    with np.errstate(all="ignore"):
        return getattr(solve, solver)(f, np.array(x0))


def check_form(solver, found):
    assert found.success is (found.status == 0)
    assert found.message.startswith(f"{solver}: ")


@pytest.mark.sweep(part=0.5)
@pytest.mark.parametrize("solver", ROOTS)
@pytest.mark.parametrize("name", EQUATIONS)
def test_roots(solver, name):
    f, x0 = EQUATIONS[name]
    found = run(solver, f, x0)
    check_form(solver, found)
    if not found.success:
        return
    F = f(found.x)
    J = linad.jacobian(f)(found.x)
    rows = np.abs(J) @ np.abs(found.x)
    assert np.all(np.abs(F) <= 1e-7 * rows + 1e-20 * np.abs(f(np.array(x0)))), found.message


@pytest.mark.sweep(part=0.5)
@pytest.mark.parametrize("solver", FITS)
@pytest.mark.parametrize("name", EQUATIONS)
def test_fits(solver, name):
    f, x0 = EQUATIONS[name]
    found = run(solver, f, x0)
    check_form(solver, found)
    if not found.success:
        return
    assert np.all(np.isfinite(found.x))
    assert found.cost <= 0.5 * np.sum(f(np.array(x0)) ** 2)
    # What the linear model still promises, in directions in which the residuals move at all.
    J, r = linad.jacobian(f)(found.x), f(found.x)
    p = np.linalg.lstsq(J, -r, rcond=1e-12)[0]
    first = np.max(np.abs(linad.jacobian(f)(np.array(x0)).T @ f(np.array(x0))))
    promise = 0.5 * np.linalg.norm(J @ p) ** 2
    assert promise <= 1e-6 * found.cost or found.optimality <= 1e-6 * first, found.message


@pytest.mark.sweep(part=0.5)
@pytest.mark.parametrize("solver", MINIMA)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_minima(solver, name):
    f, x0 = FUNCTIONS[name]
    found = run(solver, f, x0)
    check_form(solver, found)
    if not found.success or (name, solver) == ("tiny", "lbfgs"):  # whose gtol is absolute
        return
    assert np.all(np.isfinite(found.x))
    with np.errstate(all="ignore"):
        first = np.max(np.abs(linad.grad(f)(np.array(x0))))
    gradient = np.max(np.abs(linad.grad(f)(found.x)))
    assert gradient <= 1e-4 * first, found.message
