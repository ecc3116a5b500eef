"""What is proven of a matrix, by name; never more than is true."""

import numpy as np
import operator_zoo as zoo
import pytest
from hypothesis import given, settings, strategies as st

import linad
from linad.linalg.structure import ORDER, is_thin
from linad.operators.dft import Fourier
from linad.operators.low_rank import low_rank_split
from linad.operators.matrices import Kronecker, Matrix
from linad.operators.recurrences import CumulativeSum
from linad.operators.structured import Diagonal

F8, C16 = np.dtype(float), np.dtype(complex)
rng = np.random.default_rng(0)
A, B = rng.standard_normal((4, 4)), rng.standard_normal((3, 3))
x, X = rng.standard_normal(4), rng.standard_normal((4, 3))


def jacobian(f, *args):
    return linad.linearize(f, *args)[1]


def wide():
    """Two residuals of nine variables."""
    return jacobian(lambda x: np.stack([np.sum(x**2), np.sum(np.sin(x))]), np.arange(9.0))


CASES = {
    "sin": (jacobian(np.sin, np.zeros(3)), ("diagonal", "symmetric", "positive definite")),
    "cos": (jacobian(np.cos, np.ones(3)), ("diagonal", "symmetric")),
    "zero": (jacobian(np.cos, np.zeros(3)) * 0, None),
    "identity": (linad.eye(3), ("identity", "diagonal", "symmetric", "positive definite")),
    "matrix": (jacobian(lambda x: A @ x, x), ("matrix",)),
    "triangle": (jacobian(lambda x: np.tril(A) @ x, x), ("lower triangular", "matrix")),
    "symmetric": (jacobian(lambda x: (A + A.T) @ x, x), ("matrix", "symmetric")),
    "kronecker": (jacobian(lambda X: A @ X @ B, X), ("kronecker",)),
    "rows": (jacobian(lambda X: X @ B, X), ("kronecker", "block diagonal")),
    "running sum": (jacobian(np.cumsum, x), ("lower triangular",)),
    "running product": (jacobian(np.cumprod, x), ("lower triangular",)),
    "reversed": (jacobian(lambda x: x[::-1], x), ("permutation", "unitary")),
    "selection": (jacobian(lambda x: x[[0, 2]], x), ("selection",)),
    "shift": (jacobian(lambda x: np.roll(x, 1), x), ("permutation", "unitary")),
    "periodic": (
        jacobian(lambda x: 3 * x - np.roll(x, 1) - np.roll(x, -1), x),
        ("circulant", "symmetric", "positive definite"),
    ),
    "filter": (
        jacobian(lambda x: np.fft.irfft(np.exp(1j * A[0, :3]) * np.fft.rfft(x), 4), x),
        ("circulant",),
    ),
    "fourier": (Fourier((-1,), False, "ortho", (4,), C16), ("fourier", "unitary")),
    "normal": (wide().T @ wide(), None),
    "gauss-newton": (
        (lambda J: J.T @ J + 0.5 * linad.eye(9))(wide()),
        ("low rank plus diagonal", "symmetric", "positive definite"),
    ),
    "undamped": (
        (lambda J: J.T @ J + 0.0 * linad.eye(9))(wide()),
        ("low rank plus diagonal", "symmetric", "positive semidefinite"),
    ),
    "negative": (
        (lambda J: J.T @ J - 0.5 * linad.eye(9))(wide()),
        ("low rank plus diagonal", "symmetric"),
    ),
    "outer": (jacobian(lambda x: np.sum(x) * np.ones(4), x), ("low rank",)),
    "blocks": (
        jacobian(lambda d: {"p": np.sin(d["a"]), "q": A @ d["b"]}, {"a": X[0], "b": x}),
        ("block diagonal",),
    ),
    "coupled": (
        jacobian(lambda d: {"p": np.sin(d["a"]), "q": A @ d["b"] + d["a"]}, {"a": x, "b": x}),
        ("block lower triangular",),
    ),
    "hessian": (
        linad.hessian_operator(lambda x: np.sum(np.tanh(A @ x)) + np.prod(x), x),
        ("symmetric",),
    ),
    "nothing": (jacobian(lambda x: np.linalg.inv(np.outer(x, x) + A)[0] * x, x), ()),
}


@pytest.mark.parametrize("name", CASES)
def test_names(name):
    op, names = CASES[name]
    if names is not None:
        assert op.structure == names
    check_names(op)


def check_names(op):
    """Each name of the structure is true of the dense matrix."""
    names, M = op.structure, op.todense()
    assert list(names) == sorted(names, key=ORDER.index)
    eps = 1e3 * np.finfo(M.dtype).eps * max(1, np.abs(M).max(initial=0))
    truth = {
        "zero": lambda: not M.any(),
        "identity": lambda: np.array_equal(M, np.eye(len(M))),
        "diagonal": lambda: np.allclose(M, np.diag(np.diag(M)), atol=eps),
        "lower triangular": lambda: np.allclose(M, np.tril(M), atol=eps),
        "upper triangular": lambda: np.allclose(M, np.triu(M), atol=eps),
        "symmetric": lambda: np.allclose(M, M.T, atol=eps),
        "hermitian": lambda: np.allclose(M, M.conj().T, atol=eps),
        "positive definite": lambda: np.linalg.eigvalsh(M).min(initial=1) > 0,
        "positive semidefinite": lambda: np.linalg.eigvalsh(M).min(initial=1) > -eps * len(M),
        "permutation": lambda: set(np.unique(M)) <= {0, 1} and (M.sum(0) == 1).all(),
        "unitary": lambda: np.allclose(M.conj().T @ M, np.eye(len(M)), atol=eps),
        "low rank": lambda: np.linalg.matrix_rank(M) <= min(M.shape) // 2,
        "selection": lambda: set(np.unique(M)) <= {0, 1} and (M.sum(1) == 1).all(),
    }
    for name in names:
        if name in truth:
            assert truth[name](), name


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(sorted(zoo.square(F8, np.random.default_rng(0)))),
    st.sampled_from(sorted(zoo.square(F8, np.random.default_rng(0)))),
    st.sampled_from([F8, C16]),
    st.integers(0, 3),
)
def test_nothing_untrue_is_said(first, second, dtype, seed):
    """Of random products and sums of all kinds."""
    rng = np.random.default_rng(seed)
    a, b = zoo.square(dtype, rng)[first], zoo.square(dtype, rng)[second]
    for op in (a, a @ b, a + b, a.H @ a, a.H @ b @ a, a.H @ a + 0.5 * b.H @ b, a.T @ a, 2 * a - b):
        check_names(op)


def test_definiteness_of_products():
    J = Matrix(A)
    spd = Diagonal(np.array([1.0, 2, 3, 4]), (4,), F8)
    assert "positive semidefinite" in (J.T @ spd @ J).structure
    assert "positive definite" in (J.T @ spd @ J + 1e-3 * linad.eye(4)).structure
    assert "positive semidefinite" not in (J.T @ -spd @ J).structure
    assert "symmetric" in (J.T @ -spd @ J).structure
    assert "symmetric" not in (J @ J).structure


def test_complex():
    Z = Matrix(A + 1j * A[::-1])
    assert "hermitian" in (Z.H @ Z).structure
    assert "hermitian" not in (Z.T @ Z).structure
    assert "symmetric" not in (Z.H @ Z).structure


def test_sizes_of_low_rank():
    J = wide()
    assert low_rank_split((J.T @ J + linad.eye(9)).simplified()) is not None
    tall = linad.vstack([J] * 3)
    assert "low rank plus diagonal" not in (tall.T @ tall + linad.eye(9)).structure


def test_thin():
    n = 400
    assert is_thin(jacobian(np.diff, np.zeros(n)))
    assert not is_thin(jacobian(lambda x: x * np.sum(np.sin(x)), np.zeros(n)))
    assert not is_thin(Kronecker(np.ones((20, 20)), np.ones((20, 20)), (20, 20), (20, 20), F8))


def test_a_traced_matrix_is_not_looked_at():
    """Its zeros may move; a triangular solve would lose their derivatives."""

    def f(a):
        op = Matrix(a)
        assert op.structure == ("matrix",)
        return op.inverse() @ np.ones(2)

    a = np.array([[2.0, 0.0], [1.0, 3.0]])
    expected = linad.jacobian(lambda a: np.linalg.solve(a, np.ones(2)))(a)
    np.testing.assert_allclose(linad.jacobian(f)(a), expected)


def test_running_sums_along_any_axis():
    assert CumulativeSum(0, (3, 4), F8).structure == ("lower triangular",)
    assert CumulativeSum(0, (3, 4), F8).T.structure == ("upper triangular",)
