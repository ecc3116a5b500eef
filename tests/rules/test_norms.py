"""Norms, condition numbers, ranks."""

import functools

import numpy as np
import pytest

import linad
from linad.rules.norms import p_norm_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
COMPLEX = {"complex_": True}
VECTOR = np.array([1.0, -3.0, 2.0, 0.5])
MATRIX = np.array([[4.0, 1.0, -0.3], [-0.8, 2.0, 0.5]])
STACK = rng.standard_normal((2, 3, 2)) + 2 * np.eye(3, 2)
REGULAR = 0.4 * rng.standard_normal((2, 3, 3)) + np.diag([4.0, 2.0, 1.0])

CASES = [
    Case(p_norm_, MATRIX, p=2.0, axes=(0, 1), check=COMPLEX),
    Case(p_norm_, STACK, p=3.0, axes=(1,), check=COMPLEX),
    Case(p_norm_, MATRIX, p=1.5, axes=(1,), check=COMPLEX),
    Case(p_norm_, MATRIX, p=-2.0, axes=(0,), check=COMPLEX),
    Case(p_norm_, MATRIX, p=0.5, axes=(0,)),
    Case(np.linalg.norm, VECTOR, check=COMPLEX),
    Case(np.linalg.norm, STACK),
    Case(np.linalg.norm, MATRIX, keepdims=True),
    Case(np.linalg.norm, STACK, axis=-1),
    *[Case(np.linalg.norm, VECTOR, ord=p, check=COMPLEX) for p in (1, 2, 3, np.inf, -np.inf, -1)],
    Case(np.linalg.norm, MATRIX, ord=1, axis=0, keepdims=True),
    *[
        Case(np.linalg.norm, MATRIX, ord=p, check=COMPLEX)
        for p in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ],
    *[
        Case(np.linalg.norm, STACK, ord=p, axis=(2, 0), keepdims=True)
        for p in ("fro", "nuc", 1, -1, 2, np.inf, -np.inf)
    ],
    Case(np.linalg.vector_norm, STACK, axis=(0, -1), check=COMPLEX),
    Case(np.linalg.vector_norm, STACK, ord=3, keepdims=True),
    Case(np.linalg.vector_norm, np.array(-2.0), check=COMPLEX),
    Case(np.linalg.matrix_norm, STACK, check=COMPLEX),
    Case(np.linalg.matrix_norm, STACK, ord=2, keepdims=True),
    Case(np.linalg.cond, REGULAR, check=COMPLEX),
    *[Case(np.linalg.cond, REGULAR[0], p=p) for p in (-2, 1, "fro", "nuc", np.inf)],
]


@pytest.mark.parametrize("k", range(5, len(CASES)))
def test_values_are_numpys(k):
    case = CASES[k]
    y, _ = linad.linearize(lambda x: case.function(x, **case.params), *case.args)
    expected = case.function(*case.args, **case.params)
    assert np.shape(y) == np.shape(expected)
    np.testing.assert_allclose(y, expected, rtol=1e-13)


@pytest.mark.parametrize("p", [None, 1, 2, 3, 1.5, 0.5, np.inf, -np.inf, -1])
def test_gradient_at_zero_is_zero(p):
    value, gradient = linad.value_and_grad(lambda x: np.linalg.norm(x, p))(np.zeros(3))
    assert value == 0
    np.testing.assert_array_equal(gradient, np.zeros(3))


@pytest.mark.parametrize("p", [None, "fro", "nuc", 1, 2, -2, np.inf, -1])
def test_gradient_at_the_zero_matrix_is_zero(p):
    gradient = linad.grad(lambda x: np.linalg.norm(x, p))(np.zeros((2, 3)))
    np.testing.assert_array_equal(gradient, np.zeros((2, 3)))


def test_second_derivative_at_zero():
    """Of the square, by its own rule: the norm itself has none."""
    for norm in (np.linalg.norm, np.linalg.vector_norm, lambda x: np.linalg.norm(x[None], "fro")):
        hessian = linad.hessian(lambda x, norm=norm: norm(x) ** 2)(np.zeros(3))
        np.testing.assert_array_equal(hessian, 2 * np.eye(3))
    hessian = linad.hessian(lambda x: np.std(x) ** 2)(np.ones(3))
    np.testing.assert_allclose(hessian, 2 / 3 * (np.eye(3) - 1 / 3), rtol=1e-15)


def test_square_of_a_norm_that_is_written_into():
    def f(x):
        y = x * 2
        n = np.linalg.norm(y, axis=1)
        y[0] = 7.0
        m = n * 1
        n[0] = 3.0
        return n**2, m**2, np.linalg.norm(x, axis=1) ** 2

    x = np.array([[3.0, 4.0], [1.0, 1.0]])
    for found in (linad.linearize(f, x)[0], linad.jit(f)(x), linad.jvp(f, (x,), (x,))[0]):
        for a, b in zip(found, f(x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-15)


@pytest.mark.parametrize("p", [2, 3, 1.5])
def test_a_zero_entry(p):
    x = np.array([0.0, 3.0, -4.0])
    gradient = linad.grad(functools.partial(np.linalg.norm, ord=p))(x)
    weights = np.sign(x) * (np.abs(x) / np.linalg.norm(x, p)) ** (p - 1)
    np.testing.assert_allclose(gradient, weights, rtol=1e-14)


def test_ranks_and_counts_are_constant():
    def f(x):
        return np.sum(x) * np.linalg.matrix_rank(x) + np.linalg.norm(x[0], 0)

    value, gradient = linad.value_and_grad(f)(np.eye(3)[:2])
    assert value == 5
    np.testing.assert_array_equal(gradient, np.full((2, 3), 2.0))
    assert np.linalg.norm(VECTOR, 0) == 4


SINGULAR = {
    "singular": np.array([[1.0, 2.0], [2.0, 4.0]]),
    "zeros": np.zeros((2, 2)),
    "whole numbers": np.array([[1, 2], [2, 4]]),
    "single": np.array([[1, 2], [2, 4]], np.float32),
    "complex": np.array([[1, 1j], [1j, -1]]),
    "infinite": np.array([[np.inf, 0], [0, 1]]),
    "NaN": np.array([[np.nan, 0], [0, 1]]),
    "stack": np.stack([np.eye(2), np.ones((2, 2)), [[2, 1], [0, 3]], np.zeros((2, 2))]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("a", SINGULAR.values(), ids=SINGULAR)
@pytest.mark.parametrize("p", [None, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
def test_condition_numbers_of_singular_matrices(a, p):
    def f(a):
        return np.linalg.cond(a, p)

    try:
        expected = f(a)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError):
            linad.jit(f)(a)
        return
    compiled = linad.jit(f)
    found = [compiled(a), compiled(a)]
    if a.dtype.kind in "fc":
        found.append(linad.linearize(f, a)[0])
    for y in found:
        assert type(y) is type(expected)
        assert y.dtype == expected.dtype
        if p is None or p == -2:  # of what is singular but for rounding: rounding
            large = np.abs(np.log10(expected)) > 7
            assert np.array_equal(np.abs(np.log10(y)) > 7, large)
        else:
            np.testing.assert_allclose(y, expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (0, 0), (3, 0), (0, 2, 0)])
def test_condition_numbers_of_no_matrices_are_none(shape):
    a, f = np.zeros(shape), np.linalg.cond
    try:
        expected = f(a)
    except np.linalg.LinAlgError:
        for call in (linad.jit(f), lambda a: linad.linearize(f, a)):
            with pytest.raises(np.linalg.LinAlgError):
                call(a)
        return
    for y in (linad.jit(f)(a), linad.linearize(f, a)[0]):
        assert (np.shape(y), y.dtype) == (expected.shape, expected.dtype)


def test_derivatives_of_condition_numbers_beside_singular_matrices():
    a = SINGULAR["stack"][:3]
    gradient = linad.grad(lambda a: np.sum(np.linalg.cond(a, 1)))(a)
    assert np.isfinite(gradient[[0, 2]]).all()
    assert np.isnan(gradient[1]).any()


ERRORS = {
    "word": (lambda x: np.linalg.norm(x[0], "fro"), ValueError),
    "order": (lambda x: np.linalg.norm(x, 3), ValueError),
    "axes": (lambda x: np.linalg.norm(x[None], 2), ValueError),
    "axis": (lambda x: np.linalg.norm(x, axis=[0, 1]), TypeError),
    "empty": (lambda x: np.linalg.cond(x[:0]), np.linalg.LinAlgError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, error = ERRORS[name]
    with pytest.raises(error):
        function(np.ones((2, 2)))
    with pytest.raises(error):
        linad.linearize(function, np.ones((2, 2)))
