"""Eigenvalues, eigenvectors, singular values."""

import numpy as np
import pytest

import linad
from linad.rules.spectral import eig_, eigh_, eigvals_, svd_
from linad.testing.derivative_checks import Case, check_rule

rng = np.random.default_rng(0)
COMPLEX = {"complex_": True}


def array(*shape):
    return rng.standard_normal(shape)


def spread(*shape):
    """Matrices with well-separated eigenvalues and singular values."""
    diagonal = np.zeros(shape)
    k = np.arange(min(shape[-2:]))
    diagonal[..., k, k] = 2.0 * k + 1
    return diagonal + 0.3 * array(*shape)


def rotation():
    """A real matrix with the eigenvalues 2 ± 2i and 9, roughly."""
    return np.array([[2.0, 4.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 9.0]]) + 0.2 * array(3, 3)


def phase(vectors):
    """Of the largest entry of each column."""
    largest = np.argmax(np.abs(vectors), axis=-2)[..., None, :]
    entry = np.take_along_axis(vectors, largest, axis=-2)
    return entry / np.abs(entry)


def order(values):
    """Places of the values from left to right; of a conjugate pair the lower one is first."""
    return np.argsort(values.real + 0.1 * values.imag, axis=-1)


def turned(values, vectors):
    places = order(values)
    vectors = np.take_along_axis(vectors, places[..., None, :], axis=-1)
    values = np.take_along_axis(values, places, axis=-1)
    return values, vectors * np.conj(phase(vectors))


def turned_pairs(u, s, vh):
    factor = phase(u)
    return u * np.conj(factor), s, vh * np.swapaxes(factor, -1, -2)


class Turned(Case):
    """A case of a decomposition whose vectors are turned to have a largest entry > 0.

    LAPACK chooses signs, phases and the order of eigenvalues as it likes, and may choose
    others at the points of a difference.
    """

    def turned(self, *args, **params):
        results = self.function(*args, **params)
        if not isinstance(results, tuple):
            return np.take_along_axis(results, order(results), axis=-1)
        return (turned if len(results) == 2 else turned_pairs)(*results)

    def check(self, **options):
        check_rule(self.turned, *self.args, **(options | self.options), **self.params)


def svd(a, *, hermitian=False):
    return np.linalg.svd(a, full_matrices=False, hermitian=hermitian)


def function_of_singular_values(a):
    """Does not depend on signs or phases: U exp(-S) V^H."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u * np.exp(-s)[..., None, :]) @ vh


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
    Turned(svd_, spread(3, 3), check=COMPLEX),
    Turned(svd_, spread(2, 4, 3), check=COMPLEX),
    Turned(svd_, spread(2, 4), check=COMPLEX),
    Turned(np.linalg.svd, spread(3, 3), check=COMPLEX),
    Turned(svd, spread(2, 3), check=COMPLEX),
    Turned(svd, spread(3, 3) - 2 * np.eye(3), hermitian=True, check=COMPLEX),
    Case(function_of_singular_values, spread(4, 3), check=COMPLEX),
    Case(np.linalg.svd, spread(3, 2), compute_uv=False, check=COMPLEX),
    Case(np.linalg.svd, spread(2, 2), compute_uv=False, hermitian=True),
    Case(np.linalg.svdvals, spread(2, 2, 3), check=COMPLEX),
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
    for function in (np.linalg.eigh, np.linalg.eig, np.linalg.svd):
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
    gradient = linad.grad(lambda a: np.sum(np.linalg.svdvals(a) ** 2))(a)
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


@pytest.mark.parametrize("kind", [float, complex])
def test_the_unitary_factor_where_singular_values_are_equal(kind):
    """A = (U V^H)(V S V^H): U V^H is smooth where A is regular; at A = c I it is skew(dA) / c."""

    def unitary(a):
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        return u @ vh

    da = array(3, 3) + (1j * array(3, 3) if kind is complex else 0)
    found = linad.linearize(unitary, 2 * np.eye(3, dtype=kind))[1].pushforward(da)
    np.testing.assert_allclose(found, (da - da.conj().T) / 4, atol=1e-14)
    q = np.linalg.qr(array(4, 3))[0].astype(kind) * [2.0, 2.0, 1.0]
    da = array(4, 3).astype(kind) * (1 + (0.3j if kind is complex else 0))
    h = 1e-6
    expected = (unitary(q + h * da) - unitary(q - h * da)) / (2 * h)
    J = linad.linearize(unitary, q)[1]
    np.testing.assert_allclose(J.pushforward(da), expected, atol=1e-8)
    w = unitary(da)
    np.testing.assert_allclose(
        np.vdot(w, expected).real, np.vdot(J.pullback(w), da).real, atol=1e-8
    )


def test_singular_values_equal_to_zero():
    gradient = linad.grad(lambda a: np.sum(np.linalg.svdvals(a)))(np.zeros((2, 3)))
    np.testing.assert_array_equal(gradient, np.zeros((2, 3)))


ERRORS = {
    "vector": (lambda a: np.linalg.svd(a[0]), np.linalg.LinAlgError),
    "UPLO": (lambda a: np.linalg.eigh(a[:2], "X"), ValueError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, error = ERRORS[name]
    with pytest.raises(error):
        linad.linearize(function, np.ones((3, 2)))


@pytest.mark.parametrize("dtype", [float, complex])
def test_functions_of_equal_singular_values_are_not_told_wrong(dtype):
    """U f(S) V^H turns the vectors of equal values into each other; U V^H does not."""
    rng = np.random.default_rng(0)
    q, r = [np.linalg.qr(rng.standard_normal((3, 3)).astype(dtype))[0] for _ in range(2)]
    a = (q * np.array([2.0, 2.0, 1.0])) @ r
    w = rng.standard_normal((3, 3))

    def cut(a):
        u, s, vh = np.linalg.svd(a)
        return np.sum(w * ((u * np.maximum(s - 0.5, 0)) @ vh).real)

    assert np.isnan(linad.grad(cut)(a)).any()
    assert np.isfinite(linad.grad(cut)(a + np.diag([0.1, 0.2, 0.0]))).all()


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
