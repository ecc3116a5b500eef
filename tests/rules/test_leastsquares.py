"""Pseudoinverse and least squares."""

import numpy as np
import pytest

import linad
from linad.rules.leastsquares import lstsq_, pinv_, truncated_pinv_
from linad.testing.derivative_checks import check_derivatives
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
COMPLEX = {"complex_": True}


def array(*shape):
    return rng.standard_normal(shape)


def full_rank(*shape):
    return 2 * np.eye(*shape[-2:]) + 0.5 * array(*shape)


def lstsq(a, b):
    """Without the rank."""
    x, residuals, _, s = np.linalg.lstsq(a, b)
    return x, residuals, s


def with_values(m, n, *values):
    """A matrix of these singular values."""
    u, _ = np.linalg.qr(array(m, m))
    v, _ = np.linalg.qr(array(n, n))
    k = len(values)
    return u[:, :k] * np.array(values) @ v[:, :k].T


CASES = [
    Case(truncated_pinv_, with_values(3, 3, 3.0, 2.0, 0.5), rcond=0.3, check=COMPLEX),
    Case(truncated_pinv_, with_values(5, 3, 3.0, 2.0, 0.5), rcond=0.3),
    Case(truncated_pinv_, with_values(3, 4, 3.0, 2.0, 0.5), rcond=0.3),
    Case(pinv_, full_rank(4, 3), rcond=1e-15, check=COMPLEX),
    Case(pinv_, full_rank(2, 2, 3), rcond=1e-15, check=COMPLEX),
    Case(pinv_, full_rank(3, 5), rcond=1e-15, check=COMPLEX),
    Case(np.linalg.pinv, full_rank(3, 3), check=COMPLEX),
    Case(np.linalg.pinv, full_rank(3, 2), rtol=1e-10),
    Case(np.linalg.pinv, full_rank(3, 2), rtol=None),
    Case(np.linalg.pinv, full_rank(3, 3), hermitian=True, check=COMPLEX),
    Case(lstsq_, full_rank(4, 3), array(4, 2), rcond=1e-15, check=COMPLEX),
    Case(lstsq_, full_rank(2, 3), array(2, 1), rcond=1e-15, check=COMPLEX),
    Case(lstsq, full_rank(4, 2), array(4), check=COMPLEX),
    Case(lstsq, full_rank(4, 2), array(4, 2)),
    Case(lstsq, full_rank(2, 3), array(2)),
    Case(lstsq, full_rank(3, 3), array(3, 1)),
]


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("rcond", [None, -1, 1e-8])
def test_lstsq_is_numpys(m, rcond):
    a, b = full_rank(m, 3), array(m, 2)
    found = []
    linad.linearize(lambda a: found.append(np.linalg.lstsq(a, b, rcond)) or np.sum(a), a)
    x, residuals, rank, s = found[0]
    expected = np.linalg.lstsq(a, b, rcond)
    np.testing.assert_allclose(x.concrete, expected[0], rtol=1e-12)
    np.testing.assert_allclose(getattr(residuals, "concrete", residuals), expected[1], rtol=1e-12)
    assert rank == expected[2]
    np.testing.assert_allclose(s.concrete, expected[3], rtol=1e-12)


def test_matrices_of_constant_rank():
    """Of rank 2 in a neighbourhood: products of two factors."""

    def f(left, right):
        return np.linalg.pinv(left @ right, rtol=1e-10)

    check_derivatives(f, full_rank(4, 2), full_rank(2, 3), order=1)
    check_derivatives(f, full_rank(3, 2), full_rank(2, 5), order=1)

    def g(left, right):
        return np.linalg.lstsq(left @ right, np.ones(4), 1e-10)[0]

    check_derivatives(g, full_rank(4, 2), full_rank(2, 3), order=1)


def test_a_singular_fit_has_no_residuals():
    a = np.ones((4, 2))
    found = linad.linearize(lambda b: np.linalg.lstsq(a, b)[1], array(4))[0]
    assert found.shape == np.linalg.lstsq(a, array(4))[1].shape == (0,)


ERRORS = {
    "axes of a": (lambda a: np.linalg.lstsq(a[0], a[0]), np.linalg.LinAlgError),
    "rows": (lambda a: np.linalg.lstsq(a, np.ones(5)), np.linalg.LinAlgError),
    "both cutoffs": (lambda a: np.linalg.pinv(a, 1e-3, rtol=1e-3), ValueError),
    "pinv of a vector": (lambda a: np.linalg.pinv(a[0]), np.linalg.LinAlgError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, error = ERRORS[name]
    with pytest.raises(error):
        linad.linearize(function, np.ones((3, 2)))


def cut(*shape, values=(3.0, 2.0, 0.5, 0.3)):
    return with_values(*shape, *values[: min(shape)])


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (4, 4)])
def test_singular_values_that_a_cutoff_leaves_out(shape):
    """They are not 0, and move the vectors of the others."""
    a, b = cut(*shape), array(shape[0])
    check_derivatives(lambda a: np.linalg.pinv(a, rcond=0.3), a)
    check_derivatives(lambda a: np.linalg.pinv(a, rtol=0.3), a, order=1)
    check_derivatives(lambda a, b: np.linalg.lstsq(a, b, rcond=0.3)[0], a, b)
    found, expected = linad.linearize(lambda a: np.linalg.lstsq(a, b, 0.3)[0], a)[0], a
    np.testing.assert_allclose(found, np.linalg.lstsq(expected, b, 0.3)[0], rtol=1e-12)


@pytest.mark.parametrize("values", [(3.0, 3.0, 0.5), (3.0, 0.5, 0.5, 0.0)])
def test_equal_values_on_one_side_of_the_cutoff_have_a_derivative(values):
    a = cut(4, 4, values=values)
    check_derivatives(lambda a: np.linalg.pinv(a, rcond=0.3), a, order=1)


def test_a_cutoff_of_each_matrix():
    a = np.stack([cut(4, 3), cut(4, 3, values=(3.0, 0.2, 0.1)), cut(4, 3, values=(3.0, 2.0, 1.5))])
    check_derivatives(lambda a: np.linalg.pinv(a, rcond=0.3), a, order=1)
    check_derivatives(lambda a: np.linalg.pinv(a, rcond=np.array([0.3, 0.01, 0.4])), a, order=1)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_polynomials_fitted_with_a_cutoff():
    y = array(5)
    check_derivatives(lambda y: np.polyfit(np.arange(5.0), y, 3, rcond=0.05), y)
    check_derivatives(lambda x: np.polyfit(x, y, 3, rcond=0.05), np.arange(5.0) + 0.1 * array(5))


@pytest.mark.usefixtures("kernels")
def test_a_program_takes_another_path_where_the_cutoff_leaves_others_out():
    jitted = linad.jit(linad.jacobian(lambda a: np.linalg.pinv(a, rcond=0.3)))
    plain = linad.jacobian(lambda a: np.linalg.pinv(a, rcond=0.3))
    for values in ((3.0, 2.0, 1.5), (3.0, 2.0, 0.5), (3.0, 2.0, 0.4), (3.0, 2.0, 1.4)):
        a = cut(3, 3, values=values)
        for _ in range(2):
            np.testing.assert_allclose(jitted(a), plain(a), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (3, 0, 2), (0, 2, 3)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c8", "i8", "i1", "?"])
def test_pseudoinverses_of_empty_matrices(shape, dtype):
    a = np.zeros(shape, dtype)
    expected, jitted = np.linalg.pinv(a), linad.jit(np.linalg.pinv)
    for found in (jitted(a), jitted(a)):
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("shape", [(300, 3), (3, 300)])
def test_a_long_matrix_needs_no_square_of_its_length(shape):
    gradient = linad.jit(linad.grad(lambda a: np.sum(np.linalg.pinv(a) ** 3)))
    report = linad.explain(gradient)(array(*shape))
    assert not report.fallbacks
    assert report.arena_bytes < 300 * 300 * 8 / 4
