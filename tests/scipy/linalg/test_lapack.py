"""linad.scipy.linalg.lapack: routines by their names there."""

import numpy as np
import pytest
import scipy.linalg

import linad
import linad.scipy.linalg as ll
from linad.errors import DTypeError, UnsupportedError
from linad.scipy.linalg.prefixes import PREFIXES
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
A, B, C = (
    rng.standard_normal((3, 3)) + 3 * np.eye(3),
    rng.standard_normal((3, 2)),
    rng.random((3, 3)),
)
X, Y = rng.standard_normal(3), rng.standard_normal(3)
SPD = A @ A.T + 0.01 * C  # not quite symmetric: one triangle is read
BANDS = rng.random((4, 3)) + 4 * np.eye(4)[2][:, None]  # of gbsv: a row for what fills in, first

CASES = {
    "potrf": (lambda f, a: f(a, lower=1)[0], SPD),
    "potrf-upper": (lambda f, a: f(a)[0], SPD),
    "potrf-unclean": (lambda f, a: f(a, 1, 0)[0], SPD),
    "potrs": (lambda f, c, b: f(c, b, lower=1)[0], A, B),
    "potrs-vector": (lambda f, c, b: f(c, b)[0], A, X),
    "potri": (lambda f, c: f(c, lower=1)[0], A),
    "potri-upper": (lambda f, c: f(c)[0], A),
    "trtrs": (lambda f, a, b: f(a, b, lower=1, trans=1)[0], A, B),
    "trtrs-unit": (lambda f, a, b: f(a, b, unitdiag=1)[0], A, X),
    "trtri": (lambda f, a: f(a, lower=1)[0], A),
    "getrf": (lambda f, a: f(a)[0], A),
    "gesv": (lambda f, a, b: f(a, b)[2], A, B),
    "gtsv": (lambda f, dl, d, du, b: f(dl, d, du, b)[3], X[:2], Y + 4, X[1:], B),
    "gtsv-vector": (lambda f, dl, d, du, b: f(dl, d, du, b)[3], X[:2], Y + 4, X[1:], X),
    "gbsv": (lambda f, ab, b: f(1, 1, ab, b)[2], BANDS, B),
    "posv": (lambda f, a, b: np.concatenate(f(a, b)[:2], axis=1), SPD, B),
}


@pytest.mark.parametrize("name", CASES)
def test_routines(name):
    f, *arrays = CASES[name]
    name = f"d{name.partition('-')[0]}"
    theirs, ours = getattr(scipy.linalg.lapack, name), getattr(ll.lapack, name)
    expected = f(theirs, *arrays)
    np.testing.assert_array_equal(f(ours, *arrays), expected)
    found = linad.linearize(lambda *a: f(ours, *a), *arrays)[0]
    np.testing.assert_allclose(found, expected, 1e-11, 1e-12)
    check_derivatives(lambda *a: f(ours, *a), *arrays, order=2)


@pytest.mark.parametrize("letter", PREFIXES)
@pytest.mark.parametrize("name", CASES)
def test_every_type_of_number(name, letter):
    f, *arrays = CASES[name]
    routine = letter + name.partition("-")[0]
    if np.dtype(PREFIXES[letter]).kind == "c":  # Hermitian where it was symmetric
        arrays = [a + 0.2j * (a - a.T if a.shape == (3, 3) else a) for a in arrays]
    arrays = [a.astype(PREFIXES[letter]) for a in arrays]
    expected = f(getattr(scipy.linalg.lapack, routine), *arrays)
    found, J = linad.linearize(lambda *a: f(getattr(ll.lapack, routine), *a), *arrays)
    assert found.dtype == J.dtype == PREFIXES[letter]
    eps = np.finfo(found.dtype).eps
    np.testing.assert_allclose(found, expected, 1e4 * eps, 1e3 * eps)


def test_factors_and_a_system():
    def f(a, b):
        getrf, getrs = ll.get_lapack_funcs(("getrf", "getrs"), (a, b))
        lu, piv, info = getrf(a)
        assert info == 0
        return getrs(lu, piv, b, trans=1)[0]

    np.testing.assert_allclose(linad.linearize(f, A, B)[0], np.linalg.solve(A.T, B))
    check_derivatives(f, A, B)


def test_a_routine_that_is_asked_for_without_arrays():
    def f(dl, d, du, b):
        gtsv = ll.get_lapack_funcs("gtsv")
        assert gtsv.typecode == "d"
        du2, _, _, x, info = gtsv(dl, d, du, b)
        assert info == 0
        return x

    arrays = X[:2], Y + 4, X[1:], B
    check_derivatives(f, *arrays)
    np.testing.assert_allclose(linad.jit(f)(*arrays), f(*arrays), 1e-12)
    with pytest.raises(UnsupportedError, match="gtsv: du2 of the result is not traced"):
        linad.linearize(lambda *a: np.sum(ll.lapack.dgtsv(*a)[0]), *arrays)


def test_failures_are_told():
    def info(name, *args):
        told = []
        linad.linearize(lambda a: [told.append(getattr(ll.lapack, name)(a, *args)), a][1], -SPD)
        return told[0][-1]

    assert info("dpotrf") > 0
    assert info("dposv", B) > 0
    with pytest.raises(DTypeError, match="real"):
        linad.linearize(lambda a: ll.lapack.dpotrf(a)[0], SPD + 0j)
