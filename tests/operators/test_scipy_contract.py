"""What SciPy asks of a LinearOperator, row by row, on each version of it.

A JacobianOperator must answer as SciPy's own operator of the same matrix does, and where
SciPy's versions differ, or SciPy is the poorer, the way that is written here.
"""

import pickle
import tracemalloc
import warnings

import numpy as np
import operator_zoo as zoo
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import linad
from linad.errors import DensifyError, OperandError, ShapeError
from linad.operators.base import JacobianOperator
from linad.operators.matrices import Matrix
from linad.operators.structured import Diagonal

F4, F8 = zoo.REAL
C8, C16 = zoo.COMPLEX


def linearized(dtype):
    """A Jacobian (4, 3) with dense columns, taken of a function."""
    A = zoo.numbers(np.random.default_rng(0), (4, 3), dtype)
    op = Matrix(A)
    return linad.linearize(
        lambda x: op @ np.sin(x), zoo.numbers(np.random.default_rng(1), (3,), dtype)
    )[1]


@pytest.fixture(params=[F4, F8, C8, C16], ids=str)
def J(request):
    return linearized(request.param)


def as_scipy(J):
    """SciPy's own operator of the same matrix."""
    return aslinearoperator(J.todense())


n_vectors = {
    "vector": lambda n, rng: rng.standard_normal(n),
    "column": lambda n, rng: rng.standard_normal((n, 1)),
    "matrix": lambda n, rng: rng.standard_normal((n, 2)),
    "float32": lambda n, rng: rng.standard_normal((n, 2)).astype(np.float32),
    "int8": lambda n, rng: rng.integers(-5, 5, n).astype(np.int8),
    "int64": lambda n, rng: np.eye(n, dtype=np.int64),
    "bool": lambda n, rng: np.eye(n, dtype=bool),
    "complex": lambda n, rng: rng.standard_normal(n) + 1j * rng.standard_normal(n),
    "complex_matrix": lambda n, rng: rng.standard_normal((n, 2)) - 1j,
    "fortran": lambda n, rng: np.asfortranarray(rng.standard_normal((n, 3))),
    "strided": lambda n, rng: rng.standard_normal((2 * n, 6))[::2, ::3],
    "strided_vector": lambda n, rng: rng.standard_normal((n, 5))[:, 3],
    "reversed": lambda n, rng: rng.standard_normal(n)[::-1],
    "zeros": lambda n, rng: np.zeros((n, 0)),
    "list": lambda n, rng: list(range(n)),
}


@pytest.mark.parametrize("vectors", n_vectors)
@pytest.mark.parametrize("locked", [False, True])
def test_products_are_those_of_scipy_s_operator(J, vectors, locked):
    """Each kind of vector, from both sides, transposed or not, writeable or not."""
    S = as_scipy(J)
    rng = np.random.default_rng(2)
    v, w = n_vectors[vectors](3, rng), n_vectors[vectors](4, rng)
    if locked and vectors != "list":
        v, w = np.array(v), np.array(w)
        v.flags.writeable = w.flags.writeable = False
    pairs = [(J @ v, S @ v), (J.T @ w, S.T @ w), (J.H @ w, S.H @ w), (J * v, S * v), (J(v), S(v))]
    pairs += [(J.dot(v), S.dot(v))]
    if np.ndim(v) == 1:
        pairs += [(J.matvec(v), S.matvec(v)), (J.rmatvec(w), S.rmatvec(w)), (w @ J, w @ S)]
    else:
        pairs += [(J.matmat(v), S.matmat(v)), (J.rmatmat(w), S.rmatmat(w))]
        pairs += [(np.transpose(w) @ J, np.transpose(w) @ S)]
    eps = zoo.tolerance(J.dtype)
    for k, (found, expected) in enumerate(pairs):
        assert type(found) is np.ndarray
        assert found.shape == expected.shape, k
        np.testing.assert_allclose(found, expected, rtol=eps, atol=eps, err_msg=str(k))
        # The operator's precision, where SciPy takes that of the wider of the two.
        assert found.dtype == np.result_type(
            J.dtype, *[np.complex64] * (expected.dtype.kind == "c")
        )


def test_attributes(J):
    S = as_scipy(J)
    assert isinstance(J, LinearOperator)
    assert aslinearoperator(J) is J
    assert (J.shape, J.ndim, J.dtype) == (S.shape, S.ndim, S.dtype) == ((4, 3), 2, J.dtype)
    assert (J.T.shape, J.T.ndim) == ((3, 4), 2)
    assert hasattr(J, "_xp") == hasattr(S, "_xp")
    if hasattr(S, "_xp"):
        assert J._xp is S._xp
        assert J.T._xp is S._xp
        assert (0.5 * J)._xp is S._xp
    assert J.__array_ufunc__ is None


def test_columns_to_matvec(J):
    """SciPy 1.18 warns of a column (n, 1) to matvec and 1.20 refuses it; it works here."""
    v, w = np.ones((3, 1)), np.ones((4, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert J.matvec(v).shape == (4, 1)
        assert J.rmatvec(w).shape == (3, 1)
        np.testing.assert_array_equal(J.matvec(v), J @ v)
        np.testing.assert_array_equal(J.rmatvec(w), J.H @ w)


def test_rows_to_matvec(J):
    """SciPy 1.18: (..., n) is a batch of vectors. SciPy 1.17 refuses it; it works here."""
    V, W = np.arange(6.0).reshape(2, 3), np.arange(16.0).reshape(2, 2, 4)
    np.testing.assert_allclose(J.matvec(V), (J @ V.T).T, rtol=1e-6)
    np.testing.assert_allclose(J.rmatvec(W)[1], (J.H @ W[1].T).T, rtol=1e-5)
    assert J.matmat(np.ones((2, 3, 5))).shape == (2, 4, 5)


class Counting(JacobianOperator):
    """x -> 2 x, counting its sweeps."""

    owns_result = True

    def __init__(self, n):
        self.pushed = self.pulled = 0
        super().__init__((n,), (n,), F8)

    def pushforward(self, tangent):
        self.pushed += 1
        return 2 * tangent

    def pullback(self, cotangent):
        self.pulled += 1
        return 2 * cotangent


def test_matrices_cost_one_sweep():
    """Where SciPy loops over the columns, one batched sweep."""
    op = Counting(5)
    for product in (op.matmat, lambda X: op @ X, lambda X: op.T.rmatmat(X)):
        op.pushed = op.pulled = 0
        product(np.ones((5, 40)))
        assert (op.pushed, op.pulled) == (1, 0)
    for product in (op.rmatmat, lambda X: op.T @ X, lambda X: (X.T @ op).T):
        op.pushed = op.pulled = 0
        product(np.ones((5, 40)))
        assert (op.pushed, op.pulled) == (0, 1)
    op.pushed = 0
    op.todense()
    assert op.pushed == 1


def test_numbers_do_not_widen():
    """SciPy 1.17 makes float64 of 0.5 * J and of J + lam * I for a float32 J."""
    J = linearized(F4)
    lam = np.float64(0.5)
    for op in (0.5 * J, J * 0.5, J / 2, -J, lam * J, J.T @ J + lam * linad.eye(3, J.dtype)):
        assert op.dtype == F4
        assert (op @ np.ones(3)).dtype == F4
        assert (op @ np.ones(3, F4)).dtype == F4
        assert op.todense().dtype == F4


def test_scipy_s_operators_around_ours():
    """Sums and products that SciPy makes because its operator stands first."""
    from scipy.sparse.linalg import LinearOperator as Made
    from scipy.sparse.linalg._interface import IdentityOperator

    J = linearized(F8)
    D = J.todense()
    M = np.arange(12.0).reshape(3, 4)
    v = np.ones(3)
    for op, dense in [
        (aslinearoperator(M) @ J, M @ D),
        (IdentityOperator((3, 3)) + J.T @ J, np.eye(3) + D.T @ D),
        (J.T @ J + 0.5 * IdentityOperator((3, 3)), 0.5 * np.eye(3) + D.T @ D),
        (IdentityOperator((3, 3), F8) @ J.T @ J, D.T @ D),
        (Made((4, 3), matvec=J.matvec, rmatvec=J.rmatvec, matmat=J.matmat, dtype=F8), D),
    ]:
        np.testing.assert_allclose(op @ v, dense @ v)
        np.testing.assert_allclose(op @ np.eye(3), dense)
        np.testing.assert_allclose(op.H @ np.ones(len(dense)), dense.T @ np.ones(len(dense)))


def test_transposes(J):
    assert J.T.T is J
    assert J.H.H is J
    assert (J.T is J.H) == (J.dtype.kind != "c")
    composed = 0.5 * (J.H @ J) + linad.eye(3, J.dtype)
    assert composed.T.T is composed
    assert composed.H.H is composed


def test_transpose_makes_no_copies():
    """SciPy's transposed operator conjugates its argument and its result, copying both."""
    n = 100_000
    J = linad.linearize(np.sin, np.linspace(0, 1, n))[1]
    w = np.ones(n)
    _ = J.T @ w
    tracemalloc.start()
    try:
        x = J.T @ w
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.05 * x.nbytes


def test_pickle(J):
    op = 0.5 * (J.H @ J) + 2.0 * linad.eye(3, J.dtype)
    for made in (J, J.T, J.H, op, linad.vstack([op, op])):
        again = pickle.loads(pickle.dumps(made))
        assert (again.shape, again.ndim, again.dtype) == (made.shape, 2, made.dtype)
        np.testing.assert_array_equal(again.todense(), made.todense())
        assert hasattr(again, "_xp") == hasattr(as_scipy(J), "_xp")


def test_arrays_do_not_add(J):
    """SciPy's message is about __array_ufunc__ or namespaces; ours says what to do."""
    for call in (lambda A: J + A, lambda A: A + J, lambda A: J - A, lambda A: A - J):
        with pytest.raises(TypeError, match=r"scipy\.sparse\.linalg\.aslinearoperator") as caught:
            call(np.ones((4, 3)))
        assert isinstance(caught.value, OperandError)


@pytest.mark.parametrize(
    "make",
    [
        scipy.sparse.csr_array,
        scipy.sparse.csc_array,
        scipy.sparse.coo_array,
        scipy.sparse.csr_matrix,
        scipy.sparse.dia_array,
    ],
)
def test_sparse_times_operator_composes(J, make):
    """SciPy: TypeError, or with __array__ a silent dense matrix."""
    A = make(np.arange(8.0).reshape(2, 4))
    v = np.ones(3)
    with linad.config(densify_limit=0):
        op = A @ J
        assert isinstance(op, JacobianOperator)
        np.testing.assert_allclose(op @ v, A @ (J @ v), rtol=1e-5)
        right = J.T @ A.T
        assert isinstance(right, JacobianOperator)
        np.testing.assert_allclose(right @ np.ones(2), J.T @ (A.T @ np.ones(2)), rtol=1e-5)
    with pytest.raises(ShapeError, match=r"2 x 4.*4 x 3|cannot compose"):
        _ = A @ J.T


def test_dense_by_accident_is_guarded(J):
    """Everything that would make a matrix of J asks the limit first."""
    square = J.H @ J
    routes = {
        "asarray": lambda: np.asarray(J),
        "norm": lambda: np.linalg.norm(J),
        "stack": lambda: np.stack([J, J]),
        "solve": lambda: np.linalg.solve(square, np.ones(3)),
    }
    for name, route in routes.items():
        with (
            linad.config(densify_limit=8),
            pytest.raises(DensifyError, match="limit of 8") as caught,
        ):
            route()
        assert "todense()" in str(caught.value), name
    # The constructors of sparse arrays put an error of their own in front.
    for make in (
        lambda: scipy.sparse.csr_array(J),
        lambda: scipy.sparse.linalg.spsolve(square, np.ones(3)),
        lambda: scipy.sparse.linalg.splu(square),
    ):
        with linad.config(densify_limit=8), pytest.raises(ValueError, match="array") as caught:
            make()
        assert isinstance(caught.value.__cause__, DensifyError)
    dense = J.todense()
    np.testing.assert_allclose(np.linalg.norm(J), np.linalg.norm(dense), rtol=1e-6)
    np.testing.assert_allclose(scipy.sparse.csr_array(J).toarray(), dense)
    np.testing.assert_allclose(
        np.linalg.solve(square, np.ones(3)),
        np.linalg.solve(dense.conj().T @ dense, np.ones(3)),
        rtol=1e-2,
    )


def test_np_dot_is_lazy(J):
    v, w = np.ones(3, J.dtype), np.ones(4, J.dtype)
    with linad.config(densify_limit=0):
        np.testing.assert_array_equal(np.dot(J, v), J @ v)
        np.testing.assert_array_equal(np.dot(w, J), w @ J)
        assert isinstance(np.dot(J, linad.eye(3, J.dtype)), JacobianOperator)


def test_shape_errors_name_both_shapes(J):
    """SciPy 1.17 says only 'dimension mismatch'."""
    for call, needed, came in [
        (lambda: J @ np.ones(4), r"\(3,\)", r"\(4,\)"),
        (lambda: J.rmatvec(np.ones(3)), r"\(4,\)", r"\(3,\)"),
        (lambda: J @ np.ones((4, 2)), r"\(3, k\)", r"\(4, 2\)"),
        (lambda: J.T @ np.ones((3, 2)), r"\(4, k\)", r"\(3, 2\)"),
    ]:
        with pytest.raises(ValueError, match=f"{needed}.*got {came}"):
            call()
    with pytest.raises(ValueError, match="3 columns, 4 rows"):
        _ = J @ J


def test_power(J):
    square = J.H @ J
    D = square.todense()
    np.testing.assert_allclose((square**3).todense(), D @ D @ D, rtol=1e-4)
    np.testing.assert_array_equal((square**0).todense(), np.eye(3))


def test_maps_bypass_scipy():
    """pushforward and pullback take shaped arrays and containers, with leading seed axes."""
    x = {"a": np.arange(2.0), "b": np.ones((2, 2))}
    _, J = linad.linearize(lambda d: np.sin(d["a"]) * d["b"], x)
    dx = {"a": np.ones((5, 2)), "b": np.ones((5, 2, 2))}
    assert J.pushforward(dx).shape == (5, 2, 2)
    back = J.pullback(np.ones((5, 2, 2)))
    assert back["a"].shape == (5, 2)
    flat = np.concatenate([back["a"], back["b"].reshape(5, 4)], axis=1)
    np.testing.assert_allclose(J.rmatvec(np.ones((5, 4))), flat)


def test_float32_diagonal_probe_is_contiguous():
    """Probes of other layouts are cast to the operator's dtype, not the operator to theirs."""
    seen = []

    class Looking(Diagonal):
        def pushforward(self, tangent):
            seen.append(tangent.dtype)
            return super().pushforward(tangent)

    op = Looking(np.ones(3, F4), (3,), F4)
    for probe in (np.ones(3, np.int8), np.ones((3, 2), np.int64), np.ones(6)[::2], [1, 2, 3]):
        _ = op @ probe
    assert set(seen) == {F4}
