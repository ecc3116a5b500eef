"""Whether an operation raises, in models of ONNX."""

import numpy as np
import pytest

import linad
import linad.scipy.linalg as sl
from linad.errors import ExportError, GuardError

DEFINITE = np.array([[2.0, 0.3], [0.3, 1.0]])
FLAT = np.array([[1.0, 2.0], [2.0, 4.0]])
MISSING = np.full((2, 2), np.nan)

DEMANDS = {
    "cholesky": (np.linalg.cholesky, -DEFINITE),
    "inv": (np.linalg.inv, FLAT),
    "solve": (lambda a: np.linalg.solve(a, a[0]), FLAT),
    "triangular": (lambda a: sl.solve_triangular(a, a[0]), 0 * FLAT),
    "svd": (np.linalg.svd, MISSING),
    "loop": (
        lambda a: linad.scan(lambda c, r: (c, np.linalg.cholesky(c * r)), a, np.ones(3)),
        -DEFINITE,
    ),
}


def unread(demand):
    """A function whose result does not need it."""

    def f(a):
        demand(a)
        return np.sum(a**2)

    return f


def tried(demand):
    """A function that goes on where it is not met."""

    def f(a):
        try:
            demand(a)
            return np.sum(a**2)
        except (np.linalg.LinAlgError, ValueError):
            return np.sum(a)

    return f


@pytest.mark.parametrize("made", [unread, tried])
@pytest.mark.parametrize("name", DEMANDS)
def test_what_raises_is_another_path(name, made):
    demand, wrong = DEMANDS[name]
    exported = linad.onnx(made(demand))(DEFINITE)
    exported.check()
    exported.check(2 * DEFINITE)
    with pytest.raises(GuardError, match="decisions_hold is False"):
        exported.check(wrong)


@pytest.mark.parametrize("name", DEMANDS)
def test_what_has_raised(name):
    demand, wrong = DEMANDS[name]
    exported = linad.onnx(tried(demand))(wrong)
    exported.check()
    with pytest.raises(GuardError, match="decisions_hold is False"):
        exported.check(DEFINITE)


def test_what_does_not_show():
    with pytest.raises(ExportError, match="cholesky.* ONNX has no complex arithmetic"):
        linad.onnx(unread(lambda a: np.linalg.cholesky(a + 0j)))(DEFINITE)
    with pytest.raises(ExportError, match="whether power raises does not show in its results"):
        linad.onnx(lambda k: np.sum(k) + 0 * (2**k).size)(np.arange(3))
