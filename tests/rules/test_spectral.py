"""Eigenvalues and eigenvectors."""

import numpy as np
import pytest
from turned_cases import COMPLEX, Turned, array, rotation, spread

import linad
from linad.rules.spectral import eig_, eigh_, eigvals_
from linad.testing.rule_checks import Case

CASES = [
    Turned(eigh_, spread(3, 3), UPLO="L", check=COMPLEX),
    Turned(eigh_, spread(2, 3, 3), UPLO="U", check=COMPLEX),
    Turned(np.linalg.eigh, spread(3, 3), check=COMPLEX),
    Turned(np.linalg.eigh, spread(2, 2), UPLO="u"),
    Case(np.linalg.eigh, np.zeros((0, 0)), check={"order": 1}),
    Case(np.linalg.eigvalsh, spread(2, 3, 3), check=COMPLEX),
    Case(np.linalg.eigvalsh, spread(3, 3), UPLO="U", check=COMPLEX),
    Turned(eig_, spread(3, 3), check=COMPLEX),
    Turned(eig_, rotation()),
    Turned(np.linalg.eig, spread(2, 2, 2), check=COMPLEX),
    Turned(eigvals_, spread(3, 3), check=COMPLEX),
    Turned(np.linalg.eigvals, rotation()),
    Turned(np.linalg.eigvals, spread(2, 2, 2)),
]


@pytest.mark.parametrize("kind", [float, complex])
def test_eig_keeps_lapacks_normalization(kind):
    a = spread(4, 4).astype(kind) + 3 * (np.eye(4, k=1) - np.eye(4, k=-1))
    (_, v), J = linad.linearize(lambda a: tuple(np.linalg.eig(a)), a)
    dv = J.pushforward(array(4, 4).astype(kind))[1]
    np.testing.assert_allclose(np.sum(np.conj(v) * dv, axis=0).real, 0, atol=1e-13)
    largest = np.argmax(np.abs(v), axis=0)
    np.testing.assert_allclose(dv[largest, range(4)].imag, 0, atol=1e-13)


def test_named_tuples():
    a = spread(3, 3)
    for function in (np.linalg.eigh, np.linalg.eig):
        assert type(linad.linearize(function, a)[0]) is type(function(a))


def test_a_symmetric_matrix_has_a_symmetric_gradient():
    a = spread(3, 3)
    a = a + a.T
    gradient = linad.grad(lambda a: np.sum(np.linalg.eigh(a)[1] ** 3))(a)
    np.testing.assert_allclose(gradient, gradient.T, atol=1e-14)
    lower = linad.grad(lambda a: np.linalg.eigvalsh(a)[0])(a + np.triu(a, 1))
    assert not np.triu(lower, 1).any()


# Repeated values.


def test_sums_of_repeated_eigenvalues():
    """The two lower eigenvalues are equal; their sum is tr(P A) with P their projection."""
    q = np.linalg.qr(array(3, 3))[0]
    a = (q * [1.0, 1.0, 4.0]) @ q.T
    a = 0.5 * (a + a.T)
    gradient = linad.grad(lambda a: np.sum(np.linalg.eigvalsh(a)[:2]))(a)
    np.testing.assert_allclose(gradient, q[:, :2] @ q[:, :2].T, atol=1e-12)
    gradient = linad.grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(a)
    np.testing.assert_allclose(gradient, 2 * a, atol=1e-12)
    values = linad.grad(lambda a: np.sum(np.linalg.eigvals(a) ** 2).real)(np.diag([1.0, 1.0, 4.0]))
    np.testing.assert_allclose(values, np.diag([2.0, 2.0, 8.0]), atol=1e-12)


def test_the_vector_of_a_simple_eigenvalue_beside_a_repeated_one():
    q = np.linalg.qr(array(3, 3))[0]
    a, da = (q * [1.0, 1.0, 4.0]) @ q.T, array(3, 3)
    a, da = a + a.T, da + da.T

    def projection(a):
        v = np.linalg.eigh(a)[1][:, 2]
        return v[:, None] * v

    found = linad.jvp(projection, (a,), (da,))[1]
    h = 1e-6
    expected = (projection(a + h * da) - projection(a - h * da)) / (2 * h)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("function", [np.linalg.eigh, np.linalg.eig])
def test_vectors_of_a_repeated_value_stay(function):
    J = linad.linearize(lambda a: function(a)[1], np.eye(3))[1]
    np.testing.assert_array_equal(J.pushforward(array(3, 3) * (1 - np.eye(3))), np.zeros((3, 3)))


def test_errors():
    with pytest.raises(ValueError, match="UPLO"):
        linad.linearize(lambda a: np.linalg.eigh(a[:2], "X"), np.ones((3, 2)))


def test_values_that_rounding_has_parted_count_as_equal():
    """Their gap is of rounding alone: divided by it, nothing is left of the derivative."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        a = (q * np.array([2.0, 2.0, 1.0])) @ q.T
        a = (a + a.T) / 2

        def f(a):
            values, vectors = np.linalg.eigh(a)
            return np.sum(((vectors * values**2) @ vectors.T)[0])

        assert np.isnan(linad.grad(f)(a)).any()
