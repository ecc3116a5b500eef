"""Singular values and vectors."""

import numpy as np
import pytest
from turned_cases import COMPLEX, Turned, array, spread

import linad
from linad.rules.singularvalues import svd_
from linad.testing.rule_checks import Case


def svd(a, *, hermitian=False):
    return np.linalg.svd(a, full_matrices=False, hermitian=hermitian)


def function_of_singular_values(a):
    """Does not depend on signs or phases: U exp(-S) V^H."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u * np.exp(-s)[..., None, :]) @ vh


CASES = [
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


def test_named_tuples():
    a = spread(3, 3)
    assert type(linad.linearize(np.linalg.svd, a)[0]) is type(np.linalg.svd(a))


def test_a_vector_has_none():
    with pytest.raises(np.linalg.LinAlgError):
        linad.linearize(lambda a: np.linalg.svd(a[0]), np.ones((3, 2)))


# Repeated values.


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


def test_a_sum_over_repeated_values():
    a = np.diag([1.0, 1.0, 4.0])
    gradient = linad.grad(lambda a: np.sum(np.linalg.svdvals(a) ** 2))(a)
    np.testing.assert_allclose(gradient, 2 * a, atol=1e-12)


def test_singular_values_equal_to_zero():
    gradient = linad.grad(lambda a: np.sum(np.linalg.svdvals(a)))(np.zeros((2, 3)))
    np.testing.assert_array_equal(gradient, np.zeros((2, 3)))


def two_values_and_a_zero():
    a = np.zeros((4, 3))
    a[0, 0], a[1, 1] = 3.0, 2.0
    return a


def test_values_beside_vectors_are_entangled_only_in_an_output_of_both():
    def apart(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(s[:2]), u[:, :2] @ vh[:2]

    def together(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(s[:2]), u * s @ vh

    a, da = two_values_and_a_zero(), array(4, 3)
    moved = linad.linearize(apart, a)[1].pushforward(da)
    for k, found in enumerate(moved):
        alone = linad.linearize(lambda a, k=k: apart(a)[k], a)[1].pushforward(da)
        np.testing.assert_allclose(found, alone, atol=1e-14)
        assert np.isfinite(found).all()
    assert np.isnan(linad.linearize(together, a)[1].pushforward(da)[1]).any()


@pytest.mark.rest
def test_a_second_derivative_of_some_values_where_another_is_zero():
    """Of the compiled gradient as well, which gives the values beside what it makes of vectors."""

    def largest(a):
        return np.sum(np.linalg.svd(a, compute_uv=False)[:2])

    a, da, h = two_values_and_a_zero(), array(4, 3), 1e-4
    near = [linad.grad(largest)(a + t * da) for t in (h, -h)]
    for f in (largest, linad.jit(largest)):
        found = linad.jvp(linad.grad(f), (a,), (da,))[1]
        np.testing.assert_allclose(found, (near[0] - near[1]) / (2 * h), atol=1e-6)


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
