"""The decomposition of Bunch and Kaufman."""

import numpy as np
import pytest
import scipy.linalg

import linad
import linad.scipy.linalg as sl
from linad.errors import DegenerateError
from linad.rules.indefinite import ldl_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(2)
A = rng.standard_normal((5, 5))
S = A + A.T
S[0, 0] = S[1, 1] = 0.0  # some blocks are of order 2
TILT = 0.01 * np.triu(A, 1)
H = S + 1j * (A - A.T)
C = S + 1j * (S @ S) / 5


def of_mean(a, *, lower, hermitian):
    star = np.conj(a.T) if hermitian else a.T
    return sl.ldl(0.5 * (a + star), lower=lower, hermitian=hermitian)[:2]


PLAIN = {"complex_": False, "float32": False}  # other rows may be exchanged

CASES = [
    Case(f, a, lower=lower, hermitian=hermitian, check=PLAIN)
    for f in (ldl_, of_mean)
    for a, hermitian in ((S + TILT, True), (H + TILT, True), (C + TILT, False))
    for lower in (True, False)
]


def test_blocks_of_both_orders():
    d = scipy.linalg.ldl(S)[1]
    assert 0 < np.count_nonzero(np.diag(d, -1)) < 3


def test_values_are_scipys():
    for a, hermitian in ((S, True), (H, True), (C, False), (A, True)):
        for lower in (True, False):
            given = []

            def f(a, lower=lower, hermitian=hermitian, given=given):
                *factors, order = sl.ldl(a, lower=lower, hermitian=hermitian)
                given[:] = [order]
                return factors

            found = linad.linearize(f, a)[0]
            *expected, order = scipy.linalg.ldl(a, lower=lower, hermitian=hermitian)
            for y, known in zip(found, expected, strict=True):
                np.testing.assert_allclose(y, known, rtol=1e-12, atol=1e-14)
            np.testing.assert_array_equal(given[0], order)


def test_gradient_of_a_symmetric_matrix_is_symmetric():
    g = linad.grad(lambda a: np.linalg.slogdet(sl.ldl(a)[1])[1])(S)
    np.testing.assert_allclose(g, np.linalg.inv(S), rtol=1e-9)
    upper = linad.grad(lambda a: np.sum(sl.ldl(a, lower=False)[1]))(A)
    assert not np.tril(upper, -1).any()


@pytest.mark.parametrize("lower", [True, False])
def test_matrices_of_less_than_full_rank(lower):
    """One pivot that is 0 comes last and divides nothing; of two the first has no derivative."""

    def f(a):
        factor, d, _ = sl.ldl(a + a.T, lower=lower)
        return np.sum(factor @ d @ factor.T * weights)

    weights = np.arange(9.0).reshape(3, 3)
    one, two = np.array([[1.0, 0, 1], [0, 2, 0], [1, 0, 1]]), np.diag([0.0, 0, 1])
    for gradient in (linad.grad(f), linad.jit(linad.grad(f))):
        np.testing.assert_allclose(gradient(one), weights + weights.T, rtol=1e-9)
    with pytest.raises(DegenerateError, match="a block of D is 0 and others follow"):
        linad.grad(f)(two)
    assert np.all(np.isnan(linad.jit(linad.grad(f))(two)))
