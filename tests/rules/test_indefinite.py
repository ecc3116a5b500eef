"""The decomposition of Bunch and Kaufman."""

import numpy as np
import scipy.linalg

import linad
import linad.scipy.linalg as sl
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
