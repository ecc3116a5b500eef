"""Cholesky and QR."""

import numpy as np
import pytest

import linad
from linad.errors import UnsupportedError
from linad.rules.decompositions import cholesky_, hermitian_, qr_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
COMPLEX = {"complex_": True}


def array(*shape):
    return rng.standard_normal(shape)


def definite(*shape):
    """Positive definite as far as the lower triangle says; not symmetric."""
    return 0.3 * array(*shape) + 2 * np.eye(shape[-1])


def gram_cholesky(a, *, upper):
    return np.linalg.cholesky(a @ np.conj(np.swapaxes(a, -1, -2)), upper=upper)


def qr(a, *, mode):
    return np.linalg.qr(a, mode)


CASES = [
    Case(hermitian_, array(2, 3, 3), lower=True, check=COMPLEX),
    Case(hermitian_, array(3, 3), lower=False, check=COMPLEX),
    Case(cholesky_, definite(3, 3), check=COMPLEX),
    Case(np.linalg.cholesky, definite(2, 2, 2), check=COMPLEX),
    Case(np.linalg.cholesky, definite(3, 3), upper=True, check=COMPLEX),
    Case(gram_cholesky, definite(3, 3), upper=False, check=COMPLEX),
    Case(gram_cholesky, definite(2, 2, 2), upper=True, check=COMPLEX),
    Case(np.linalg.cholesky, np.zeros((0, 0))),
    Case(qr_, array(4, 3), check=COMPLEX),
    Case(qr_, definite(2, 3, 3), check=COMPLEX),
    Case(qr_, definite(2, 2) @ np.eye(2, 4), check=COMPLEX),
    Case(np.linalg.qr, array(3, 2), check=COMPLEX),
    Case(qr, array(3, 2), mode="r", check=COMPLEX),
    Case(qr, definite(3, 3), mode="complete", check=COMPLEX),
    Case(qr, np.hstack([definite(2, 2), array(2, 2)]), mode="complete", check=COMPLEX),
    Case(qr, np.hstack([definite(2, 2), array(2, 2)]), mode="r", check=COMPLEX),
]


@pytest.mark.parametrize("upper", [False, True])
def test_gradient_lies_in_the_triangle_that_is_read(upper):
    a = definite(3, 3)
    gradient = linad.grad(lambda a: np.sum(np.linalg.cholesky(a, upper=upper)))(a)
    other = np.tril(gradient, -1) if upper else np.triu(gradient, 1)
    assert not other.any()


def test_gradient_of_a_symmetric_matrix_is_symmetric():
    a = definite(3, 3)
    a = a @ a.T
    gradient = linad.grad(lambda a: np.sum(np.log(np.diagonal(np.linalg.cholesky(a)))))(a)
    np.testing.assert_allclose(gradient, 0.5 * np.linalg.inv(a), rtol=1e-12)
    np.testing.assert_allclose(gradient, gradient.T, rtol=1e-12)


@pytest.mark.parametrize("f", [np.linalg.cholesky, np.linalg.eigvalsh])
def test_the_mean_does_not_overflow(f):
    a = 1.5e308 * np.eye(2)
    np.testing.assert_allclose(linad.linearize(f, a)[0], f(a), rtol=1e-15)
    jitted = linad.jit(f)
    np.testing.assert_allclose([jitted(a) for _ in range(3)][-1], f(a), rtol=1e-15)


def test_values_are_numpys():
    a = definite(3, 3)
    for upper in (False, True):
        y, _ = linad.linearize(lambda a: np.linalg.cholesky(a, upper=upper), a)  # noqa: B023
        np.testing.assert_allclose(y, np.linalg.cholesky(a, upper=upper), rtol=1e-14)
    result, _ = linad.linearize(np.linalg.qr, a)
    assert type(result) is type(np.linalg.qr(a))
    np.testing.assert_array_equal(result.R, np.linalg.qr(a).R)


def test_r_of_a_wide_matrix_alone():
    J = linad.linearize(lambda a: np.linalg.qr(a)[0], array(2, 4))[1]
    assert not J.pullback(array(2, 2))[:, 2:].any()


ERRORS = {
    "raw": (lambda a: np.linalg.qr(a, "raw"), UnsupportedError),
    "mode": (lambda a: np.linalg.qr(a, "sideways"), ValueError),
    "vector": (lambda a: np.linalg.qr(a[0]), np.linalg.LinAlgError),
    "negative": (lambda a: np.linalg.cholesky(-a.T @ a), np.linalg.LinAlgError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, error = ERRORS[name]
    with pytest.raises(error):
        linad.linearize(function, np.ones((3, 2)))


def test_qr_needs_full_rank():
    J = linad.linearize(lambda a: np.linalg.qr(0 * a)[1], np.ones((3, 2)))[1]
    with pytest.raises(np.linalg.LinAlgError):
        J.pushforward(np.ones((3, 2)))
