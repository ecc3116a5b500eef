"""Diagonals, traces and norms: exact ones against NumPy, estimates within their errors."""

import numpy as np
import operator_zoo as zoo
import pytest

import linad
from linad.errors import OptionError, ShapeError
from linad.operators.circulant import Circulant
from linad.operators.dft import Fourier
from linad.operators.matrices import Kronecker, Matrix
from linad.operators.recurrences import BackwardDifference, CumulativeSum
from linad.operators.structured import Diagonal

F8, C16 = np.dtype(float), np.dtype(complex)
QUESTIONS = {
    "diagonal": np.diag,
    "trace": np.trace,
    "column_norms": lambda M: np.linalg.norm(M, axis=0),
    "norm_estimate": lambda M: np.linalg.norm(M, 2),
}


def operators(dtype):
    rng = np.random.default_rng(0)
    found = zoo.square(dtype, rng)
    s = (2, 3)
    values = np.fft.fft(zoo.numbers(rng, s, dtype), axis=-1)
    found["circulant"] = Circulant(values, (-1,), s, dtype)
    found["cumulative sum"] = CumulativeSum(0, s, dtype)
    found["backward difference"] = BackwardDifference(-1, s, dtype)
    found["fourier"] = Fourier((-1,), False, "forward", s, np.result_type(dtype, np.complex64))
    found["stack"] = Kronecker(
        zoo.numbers(rng, (2, 3, 3), dtype), None, (2, 3, 1), (2, 3, 1), dtype
    )
    found["blocks"] = linad.block_diag([Matrix(zoo.numbers(rng, (3, 3), dtype))] * 2)
    found["adjoint"] = found["contraction"].H
    found["sum"] = found["kronecker"] + found["diagonal"]
    found["normal"] = found["right"].H @ found["right"]
    found["scaled rows"] = found["diagonal"] @ found["kronecker"]
    found["scaled columns"] = found["kronecker"] @ found["diagonal"]
    return found


@pytest.mark.parametrize("dtype", [*zoo.REAL, C16], ids=str)
@pytest.mark.parametrize("name", operators(F8))
@pytest.mark.parametrize("question", QUESTIONS)
def test_exact(question, name, dtype):
    op = operators(dtype)[name]
    M = zoo.by_columns(op)
    expected = QUESTIONS[question](M)
    found = getattr(op, question)()
    assert found.exact
    assert found.samples == 0
    tolerance = {"rtol": 0, "atol": 20 * zoo.tolerance(dtype)}
    np.testing.assert_allclose(found, expected, **tolerance)
    assert np.shape(found.value) == np.shape(expected)
    # By unit vectors alone
    blind = linad.linearize(lambda x: op.pushforward(np.sin(x)), np.zeros(op.in_shape))[1]
    if dtype == F8 and name != "fourier":
        np.testing.assert_allclose(getattr(blind, question)(exact=True), expected, **tolerance)


@pytest.mark.parametrize("dtype", [F8, C16], ids=str)
@pytest.mark.parametrize("question", QUESTIONS)
def test_estimates(question, dtype):
    """Seeded, and within a few of the standard errors they state."""
    rng = np.random.default_rng(0)
    a = zoo.numbers(rng, (40, 40), dtype) + 5 * np.eye(40)
    op = Matrix(a)
    found = getattr(op, question)(exact=False, samples=400, rng=1)
    expected = QUESTIONS[question](a)
    assert not found.exact
    assert (
        found.method
        in {
            "diagonal": "Bekas-Kokiopoulou-Saad",
            "trace": "Hutch++",
            "column_norms": "signs",
            "norm_estimate": "Golub-Kahan-Lanczos",
        }.values()
    )
    # Exact entries have no error but rounding.
    assert np.all(np.abs(np.asarray(found) - expected) <= 5 * np.asarray(found.error) + 1e-10)
    again = getattr(op, question)(exact=False, samples=400, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(found, again)


def test_hutch_plus_plus_is_exact_for_low_rank():
    rng = np.random.default_rng(0)
    u = rng.standard_normal((60, 4))
    found = (Matrix(u) @ Matrix(u.T)).trace(exact=False, samples=30, rng=0)
    np.testing.assert_allclose(found, np.sum(u * u), rtol=1e-12)


def test_few_samples():
    a = np.diag([1.0, 2.0, 3.0]) + 0.5
    found = Matrix(a).trace(exact=False, samples=1, rng=0)
    assert found.error == np.inf
    assert Matrix(a).norm_estimate(exact=False, samples=1, rng=0).value <= np.linalg.norm(a, 2)


def test_large_and_sparse_is_exact_by_colouring():
    n = 3000

    def f(u):
        return u**3 - 2 * u + np.concatenate([np.zeros(1), u[:-1] ** 2])

    u = np.linspace(0.0, 1.0, n)
    J = linad.linearize(lambda u: np.sqrt(1 + f(u) ** 2), u)[1]
    M = J.tosparse("csc")
    for question, expected in [
        ("diagonal", M.diagonal()),
        ("trace", M.diagonal().sum()),
        ("column_norms", np.sqrt(M.multiply(M).sum(axis=0)).ravel()),
    ]:
        found = getattr(J, question)()
        assert found.exact
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_large_and_dense_is_estimated():
    n = 1500
    J = linad.linearize(lambda x: np.tanh(x) * (1 + np.sum(np.sin(x)) / n) + np.max(x), np.ones(n))[
        1
    ]
    for question in QUESTIONS:
        found = getattr(J, question)(rng=0)
        assert not found.exact, question
        assert 0 < found.samples <= 64


def test_numbers():
    trace = Diagonal(np.arange(3.0), (3,), F8).trace()
    assert float(trace) == 3.0
    assert complex(trace) == 3.0
    assert np.asarray(Diagonal(2.0, (3,), F8).diagonal(), dtype=np.float32).dtype == np.float32


def test_traced():
    def f(t):
        return Diagonal(t, (3,), F8).trace().value

    np.testing.assert_array_equal(linad.grad(f)(np.arange(3.0)), np.ones(3))


def test_bad_options():
    op = Matrix(np.ones((2, 3)))
    for question in ("diagonal", "trace"):
        with pytest.raises(ShapeError, match=f"{question}: .* square"):
            getattr(op, question)()
    with pytest.raises(OptionError, match="samples must be an integer >= 1, got 0"):
        op.column_norms(samples=0)
    with pytest.raises(OptionError, match="exact must be True or False, or None, got 'no'"):
        op.norm_estimate(exact="no")


def test_empty():
    op = Diagonal(np.ones(0), (0,), F8)
    assert op.norm_estimate().value == 0
    assert op.trace().value == 0
    assert op.column_norms().value.shape == (0,)
