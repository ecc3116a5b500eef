"""Factorised matrices against numpy.linalg, and what must be refused as singular."""

import sys

import numpy as np
import operator_zoo as zoo
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st
from together import together

from linad.errors import SingularError
from linad.operators.factors import (
    Banded,
    Cholesky,
    DenseLU,
    SparseLU,
    Triangular,
    reciprocal_condition,
)

N = 7


def bands_of(a, below, above):
    bands = np.zeros((below + above + 1, len(a)), a.dtype)
    for j in range(len(a)):
        for i in range(max(0, j - above), min(len(a), j + below + 1)):
            bands[above + i - j, j] = a[i, j]
    return bands


def kinds(dtype):
    rng = np.random.default_rng(0)
    a = zoo.numbers(rng, (N, N), dtype) + 4 * np.eye(N, dtype=dtype)
    definite = a @ a.conj().T
    band = np.triu(np.tril(a, 2), -1).T.copy()
    return {
        "dense": (DenseLU(a), a),
        "cholesky": (Cholesky(definite), definite),
        "lower": (Triangular(np.tril(a), True), np.tril(a)),
        "upper": (Triangular(np.triu(a), False), np.triu(a)),
        "banded": (Banded(bands_of(band, 2, 1), 2, 1), band),
        "sparse": (SparseLU(scipy.sparse.csr_array(a)), a),
    }


@pytest.mark.parametrize("dtype", zoo.REAL + zoo.COMPLEX, ids=str)
@pytest.mark.parametrize("kind", kinds(zoo.REAL[1]))
def test_solves(kind, dtype):
    inverse, a = kinds(dtype)[kind]
    rng = np.random.default_rng(1)
    tolerance = {"rtol": 0, "atol": 100 * np.finfo(dtype).eps}
    assert inverse.dtype == dtype
    for b in (zoo.numbers(rng, (N,), dtype), zoo.numbers(rng, (N, 3), dtype)):
        x, y = inverse @ b, inverse.H @ b
        assert x.dtype == y.dtype == dtype
        np.testing.assert_allclose(x, np.linalg.solve(a, b), **tolerance)
        np.testing.assert_allclose(y, np.linalg.solve(a.conj().T, b), **tolerance)
    b = zoo.numbers(rng, (N,), np.dtype(complex))
    np.testing.assert_allclose(inverse @ b, np.linalg.solve(a, b), **tolerance)


@pytest.mark.parametrize("kind", kinds(zoo.REAL[1]))
def test_threads_solve_with_the_same_factors(kind):
    """LAPACK's pivots are numbered anew in place while SciPy's functions run."""
    inverse, a = kinds(np.dtype(float))[kind]
    b = np.arange(float(N))
    expected = inverse @ b
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        found = together(4, lambda _: [inverse @ b for _ in range(200)])
    finally:
        sys.setswitchinterval(before)
    np.testing.assert_array_equal(found, np.broadcast_to(expected, (4, 200, N)))


@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150])
def test_units_are_no_singularity(scale):
    """Rows and columns of very different size, as of pressures and lengths."""
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    d = np.array([scale, 1 / scale])
    b = np.array([1.0, 1.0])
    scaled = d[:, None] * a
    for inverse in (
        DenseLU(scaled),
        SparseLU(scipy.sparse.csr_array(scaled)),
        Banded(bands_of(scaled, 1, 1), 1, 1),
    ):
        np.testing.assert_allclose(inverse @ (d * b), np.linalg.solve(a, b), rtol=1e-14)
    inverse = Cholesky(d[:, None] * a * d if scale == 1 else a)
    np.testing.assert_allclose(inverse @ b, np.linalg.solve(a, b), rtol=1e-14)


SINGULAR = {
    "zero": np.zeros((3, 3)),
    "ones": np.ones((3, 3)),
    "nearly": np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]),
    "nan": np.diag([1.0, np.nan, 1.0]),
    "infinite": np.diag([1.0, np.inf, 1.0]),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular(name):
    a = SINGULAR[name]
    with pytest.raises(SingularError, match="singular|infinities"):
        DenseLU(a)
    with pytest.raises(SingularError, match="singular|infinities"):
        SparseLU(scipy.sparse.csr_array(a))
    with pytest.raises(SingularError, match="singular|infinities"):
        Banded(bands_of(a, 2, 2), 2, 2)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**31), st.integers(2, 30), st.floats(1, 14))
def test_the_estimate_of_the_condition_is_near(seed, n, digits):
    """By one solution, against the condition number in the maximum norm."""
    rng = np.random.default_rng(seed)
    q, r = [np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2)]
    a = q * np.logspace(0, -digits, n) @ r
    truth = np.linalg.cond(a, np.inf)
    norm = np.abs(a).sum(axis=1).max()
    found = reciprocal_condition(
        lambda b, adjoint: np.linalg.solve(a.T if adjoint else a, b), norm, n
    )
    assert 1 / (40 * truth) < found < 10 * np.sqrt(n) / truth


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_sparse_factors_suit_the_pattern(symmetric, transposed):
    """Both orders of elimination, and pivots that are zero on the diagonal."""
    n = 60
    rng = np.random.default_rng(7)
    a = scipy.sparse.random_array((n, n), density=0.05, rng=rng, format="lil")
    if symmetric:
        a = (a + a.T).tolil()
    for i in range(0, n - 1, 2):
        a[i, i + 1], a[i + 1, i] = 3.0, -2.0  # the diagonal is empty
        a[i, i] = a[i + 1, i + 1] = 0.0
    a = a.tocsr()
    b = rng.standard_normal((n, 2))
    inverse = SparseLU(a)
    dense = a.toarray().T if transposed else a.toarray()
    found = inverse.H @ b if transposed else inverse @ b
    np.testing.assert_allclose(found, np.linalg.solve(dense, b), rtol=1e-9, atol=1e-11)


def test_singular_triangle():
    with pytest.raises(SingularError, match="zero on its diagonal, at 1"):
        Triangular(np.array([[1.0, 0], [1, 0]]), True)


def test_indefinite():
    with pytest.raises(np.linalg.LinAlgError):
        Cholesky(np.array([[1.0, 2], [2, 1]]))


def test_empty():
    b = np.zeros((0, 2))
    for inverse in (DenseLU(np.zeros((0, 0))), Cholesky(np.zeros((0, 0)))):
        assert (inverse @ b).shape == (0, 2)
