"""Inverses in closed form against dense ones."""

import numpy as np
import operator_zoo as zoo
import pytest
from hypothesis import given, settings, strategies as st

import linad
from linad.core.indices import Index
from linad.errors import ShapeError, SingularError
from linad.operators.blocks import Blocks
from linad.operators.circulant import Circulant
from linad.operators.contraction import Contraction
from linad.operators.dft import Fourier
from linad.operators.matrices import Kronecker, Matrix, Solve
from linad.operators.placement import Roll
from linad.operators.recurrences import CumulativeSum, Recurrence
from linad.operators.reordering import Permutation, Reshape
from linad.operators.structured import Diagonal, Identity, Masked, Zero
from linad.rules.cumulative import recurrence
from linad.rules.indexing import Selection
from linad.rules.triangular import TriangularSolve

S = (3, 4)


def regular(rng, n, dtype, *lead):
    """Matrices far from singular."""
    return zoo.numbers(rng, (*lead, n, n), dtype) + 3 * n**0.5 * np.eye(n, dtype=dtype)


def structured(dtype, rng):
    """Operators with an inverse in closed form, by name."""

    def r(*shape):
        return zoo.numbers(rng, shape, dtype)

    left, right = regular(rng, 3, dtype), regular(rng, 4, dtype)
    diagonal = Diagonal(2 + np.abs(r(*S)).astype(dtype), S, dtype)
    kronecker = Kronecker(left, right, S, S, dtype)
    low_rank = Matrix(r(12, 2)) @ Matrix(r(2, 12))
    wide = np.result_type(dtype, np.complex64)
    spectrum = np.fft.fft(r(*S), axis=-1)
    spectrum = spectrum + 5 * spectrum / np.abs(spectrum)
    blocks = [Matrix(regular(rng, 3, dtype)), Matrix(regular(rng, 2, dtype))]
    found = {
        "identity": Identity(S, dtype),
        "diagonal": diagonal,
        "number": Diagonal(-2.0, S, dtype),
        "all true": Masked(np.ones(S, bool), S, dtype),
        "permutation": Permutation((1, 0), S, dtype),
        "reshape": Reshape((12,), S, dtype),
        "roll": Roll((1, -2), (0, 1), S, dtype),
        "reverse": Selection(Index((slice(None, None, -1), slice(None))), S, S, dtype),
        "kronecker": kronecker,
        "left": Kronecker(left, None, S, S, dtype),
        "right": Kronecker(None, right, S, S, dtype),
        "stack": Kronecker(
            regular(rng, 3, dtype, 2), regular(rng, 4, dtype), (2, *S), (2, *S), dtype
        ),
        "batch": Kronecker(left, right, (2, *S), (2, *S), dtype),
        "matrix": Matrix(left),
        "lower": Matrix(np.tril(left)),
        "upper": Matrix(np.triu(left)),
        "solve": Solve(left, S, S, dtype),
        "triangular solve": TriangularSolve(left, S, S, dtype, True, False),
        "unit triangular solve": TriangularSolve(left, S, S, dtype, False, True),
        "contraction": Contraction("aij", [("ki", left)], "akj", (2, *S), (2, *S), dtype),
        "cumulative sum": CumulativeSum(1, S, dtype),
        "recurrence": Recurrence(recurrence, r(*S), -1, False, S, dtype),
        "recurrence from the end": Recurrence(recurrence, r(3, 1), -2, True, S, dtype),
        "circulant": Circulant(spectrum, (-1,), S, dtype),
        "periodic difference": 3 * linad.eye(12, dtype) - Roll((1,), (0,), (12,), dtype),
        "fourier": Fourier((-1, -2), False, "backward", S, wide),
        "unitary": Fourier((-1,), True, "ortho", S, wide),
        "product": kronecker @ diagonal @ Roll((1,), (1,), S, dtype),
        "multiple": -0.5 * kronecker,
        "adjoint": CumulativeSum(1, S, dtype).H,
        "transpose": Recurrence(recurrence, r(*S), -1, False, S, dtype).T,
        "reshaped": Matrix(regular(rng, 12, dtype)) @ Reshape((12,), S, dtype),
        "low rank": diagonal + Reshape(S, (12,), dtype) @ low_rank @ Reshape((12,), S, dtype),
        "two low ranks": Diagonal(5.0, (12,), dtype)
        + 0.25 * (Matrix(r(12, 1)) @ Matrix(r(1, 12)))
        + low_rank,
        "kronecker sum": Kronecker(left, None, S, S, dtype) + Kronecker(None, right, S, S, dtype),
        "block diagonal": linad.block_diag(blocks),
        "lower blocks": Blocks(
            [(0, 0, blocks[0]), (1, 0, Matrix(r(2, 3))), (1, 1, blocks[1])], [3, 2], [3, 2]
        ),
        "upper blocks": Blocks(
            [(0, 0, blocks[0]), (0, 1, Matrix(r(3, 2))), (1, 1, blocks[1])], [3, 2], [3, 2]
        ),
    }
    return found


NAMES = sorted(structured(zoo.REAL[1], np.random.default_rng(0)))


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=8)
@given(st.sampled_from(zoo.REAL + zoo.COMPLEX), st.integers(0, 100))
def test_closed_forms(name, dtype, seed):
    op = structured(dtype, np.random.default_rng(seed))[name]
    inverse = op.simplified().inverse_form()
    assert inverse is not None
    A = zoo.by_columns(op)
    expected = np.linalg.inv(A.astype(np.result_type(A, np.float64)))
    tolerance = {"rtol": 0, "atol": 200 * np.finfo(dtype).eps * (1 + np.abs(expected).max())}
    tolerance["atol"] *= np.linalg.cond(A)
    assert inverse.dtype == op.dtype
    np.testing.assert_allclose(inverse.todense(), expected, **tolerance)
    np.testing.assert_allclose(inverse.H.todense(), expected.conj().T, **tolerance)
    found = op.inverse()
    assert found.in_shape == op.out_shape
    assert found.out_shape == op.in_shape
    v = zoo.numbers(np.random.default_rng(1), (2, *op.in_shape), op.in_dtype)
    tolerance["atol"] *= 10
    np.testing.assert_allclose(found.pushforward(op.pushforward(v)), v, **tolerance)
    np.testing.assert_allclose(
        found.pullback(op.pullback(v.reshape(2, *op.out_shape))).reshape(2, -1),
        v.reshape(2, -1),
        **tolerance,
    )


F8 = np.dtype(float)

SINGULAR = {
    "zero": (Zero((2,), (2,), F8), "is zero"),
    "diagonal": (Diagonal(np.array([1.0, 0, 2]), (3,), F8), r"diagonal with 0.0 at \(1,\)"),
    "nan": (Diagonal(np.array([1.0, np.nan]), (2,), F8), "nan"),
    "number": (Diagonal(0.0, (3,), F8), "0.0 times the identity"),
    "mask": (Masked(np.array([True, False]), (2,), F8), "False"),
    "matrix": (Matrix(np.ones((3, 3))), "singular to working precision"),
    "triangle": (Matrix(np.array([[1.0, 0], [1, 0]])), "zero on its diagonal"),
    "kronecker": (Kronecker(np.ones((2, 2)), np.eye(3), (2, 3), (2, 3), F8), "singular"),
    "stack": (Kronecker(np.ones((3, 2, 2)), None, (3, 2, 2), (3, 2, 2), F8), "singular"),
    "kronecker sum": (
        Kronecker(np.diag([1.0, 2]), None, (2, 3), (2, 3), F8)
        + Kronecker(None, np.diag([3.0, -2, 4]), (2, 3), (2, 3), F8),
        "singular to working precision",
    ),
    "kronecker sum by Schur forms": (
        Kronecker(np.array([[1.0, 5], [0, 2]]), None, (2, 3), (2, 3), F8)
        + Kronecker(None, np.diag([3.0, -2, 4]), (2, 3), (2, 3), F8),
        "singular to working precision",
    ),
    "difference": (linad.eye(4) - Roll((1,), (0,), (4,), F8), "zero to working precision"),
    "singular block": (
        linad.block_diag([Matrix(np.eye(2)), Matrix(np.ones((2, 2)))]),
        "singular to working precision",
    ),
    "projection": (linad.eye(4) - 0.25 * Matrix(np.ones((4, 4))), "singular"),
    "rank one": (
        linad.eye(6) - Matrix(np.eye(6)[:, :1]) @ Matrix(np.eye(6)[:1]),
        "singular to working precision",
    ),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular(name):
    op, words = SINGULAR[name]
    with pytest.raises(SingularError, match=words):
        op.inverse()
    assert issubclass(SingularError, np.linalg.LinAlgError)


def test_rectangular():
    with pytest.raises(ShapeError, match="not square"):
        Matrix(np.ones((2, 3))).inverse()


@pytest.mark.parametrize("name", ["kronecker", "diagonal", "circulant", "low rank", "matrix"])
def test_inverses_of_traced_operators(name):
    """d(A^-1 b) = -A^-1 dA A^-1 b, also through stacks and factors."""
    rng = np.random.default_rng(0)
    op = structured(F8, rng)[name]
    A = op.todense()
    b = rng.standard_normal(len(A))

    def scaled(t):
        return (Diagonal(t, op.out_shape, F8) @ op).inverse() @ b

    t = 1 + rng.random(op.out_shape)
    expected = -np.linalg.inv(t.reshape(-1, 1) * A) * (b / t.ravel())
    found = linad.jacobian(scaled)(t).reshape(len(A), -1)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
