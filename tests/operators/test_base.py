"""The operator base: flat vectors of any kind, transposes, dense forms, memory, cost."""

import copy
import pickle
import tracemalloc
import weakref

import numpy as np
import operator_zoo as zoo
import pytest

import linad
from linad.errors import DTypeError, NotHolomorphicError, ShapeError
from linad.operators.matrices import Matrix
from linad.operators.structured import Cast, Conjugation, Diagonal, Identity

F4, F8 = zoo.REAL
C8, C16 = zoo.COMPLEX


def named(**values):
    """Parameters with a name each, for functions that have none."""
    return [pytest.param(value, id=name) for name, value in values.items()]


def zoo_params(dtypes):
    return [
        pytest.param(op, id=f"{name}-{dtype}")
        for dtype in dtypes
        for name, op in zoo.everything(dtype, np.random.default_rng(0)).items()
    ]


@pytest.mark.parametrize("op", zoo_params([F4, F8, C8, C16]))
def test_every_route_is_the_matrix(op):
    """matvec, rmatvec, matmat, rmatmat, T, H, left products and todense agree."""
    rng = np.random.default_rng(1)
    m, n = op.shape
    A = zoo.by_columns(op)
    close = {"rtol": zoo.tolerance(op.dtype), "atol": zoo.tolerance(op.dtype)}
    v, w = zoo.numbers(rng, (n,), op.dtype), zoo.numbers(rng, (m,), op.dtype)
    V, W = zoo.numbers(rng, (n, 3), op.dtype), zoo.numbers(rng, (m, 3), op.dtype)
    pairs = [
        (op @ v, A @ v),
        (op.matvec(v), A @ v),
        (op(v), A @ v),
        (op.rmatvec(w), A.conj().T @ w),
        (op.T @ w, A.T @ w),
        (op.H @ w, A.conj().T @ w),
        (op.T.H @ v, A.conj() @ v),
        (w @ op, w @ A),
        (op @ V, A @ V),
        (op.rmatmat(W), A.conj().T @ W),
        (op.T @ W, A.T @ W),
        (W.T @ op, W.T @ A),
        (op.matvec(V.T), (A @ V).T),
        (op @ V.reshape(n, 3, 1).transpose(1, 0, 2), (A @ V).T[..., None]),
        (op.todense(), A),
        (op.T.todense(), A.T),
        (op.H.todense(), A.conj().T),
        (np.asarray(op), A),
    ]
    for k, (found, expected) in enumerate(pairs):
        assert found.shape == expected.shape, k
        assert found.dtype == op.dtype, k
        assert found.flags.writeable, k
        np.testing.assert_allclose(found, expected, **close, err_msg=str(k))


@pytest.mark.parametrize("op", zoo_params([F8, C16]))
def test_transposes_are_involutions(op):
    assert op.T.T is op
    assert op.H.H is op
    adjoint, transpose = op.H, op.T
    assert op.H is adjoint
    assert op.T is transpose
    assert op.adjoint() is adjoint
    assert op.transpose() is transpose
    if op.dtype.kind != "c":
        assert transpose is adjoint
    m, n = op.shape
    assert adjoint.shape == transpose.shape == (n, m)


@pytest.mark.parametrize("op", zoo_params([F8]))
@pytest.mark.parametrize("n_seeds", [0, 1, 5])
def test_dense_by_blocks(op, n_seeds):
    """A small block_bytes gives the same matrix in several sweeps."""
    bytes_a_seed = 8 * (sum(op.shape) + 1)
    with linad.config(block_bytes=n_seeds * bytes_a_seed):
        np.testing.assert_allclose(op.todense(), zoo.by_columns(op), rtol=1e-12)


class TestVectors:
    """What SciPy hands to an operator: facts of its consumers, one probe each."""

    d = np.array([2.0, -3.0, 0.5])

    @pytest.fixture(params=[F4, F8, C8, C16], ids=str)
    def op(self, request):
        dtype = request.param
        d = self.d.astype(dtype)
        if dtype.kind == "c":
            d = d * dtype.type(1 + 2j)
        return Diagonal(d, (3,), dtype)

    @pytest.mark.parametrize("probe", ["int8", "int64", "bool", "uint16", "float16", ">f8", "<f4"])
    def test_number_types(self, op, probe):
        v = np.array([1, 0, 1]).astype(probe)
        for found, factor in ((op @ v, op.entries), (op.rmatvec(v), op.entries.conj())):
            assert found.dtype == op.dtype
            np.testing.assert_allclose(found, factor * v.astype(float), rtol=1e-6)

    def test_complex(self, op):
        v = np.array([1 + 2j, -1j, 3])
        wide = np.result_type(op.dtype, np.complex64)
        for found, factor in ((op @ v, op.entries), (op.rmatvec(v), op.entries.conj())):
            assert found.dtype == wide
            np.testing.assert_allclose(found, factor * v, rtol=1e-6)

    def test_lists_and_scalar_sizes(self, op):
        np.testing.assert_allclose(op @ [1, 2, 3], op.entries * [1, 2, 3], rtol=1e-6)
        one = Identity((1,), F8)
        assert (one @ np.array([[2.0]])).shape == (1, 1)
        assert one.matvec(np.array([[2.0]])).shape == (1, 1)

    @pytest.mark.parametrize("dtype", [float, np.float32, np.int64, complex])
    def test_layouts(self, op, dtype):
        """Strided, reversed, read-only and Fortran-ordered: the same answer, input untouched."""
        rng = np.random.default_rng(0)
        V = (10 * rng.standard_normal((3, 4))).astype(dtype)
        expected = op @ V.copy()
        wide = np.zeros((6, 8), dtype)
        wide[::2, ::2] = V
        locked = V.copy()
        locked.flags.writeable = False
        for same in (np.asfortranarray(V), wide[::2, ::2], V[::-1].copy()[::-1], locked):
            before = same.copy()
            np.testing.assert_array_equal(op @ same, expected)
            np.testing.assert_array_equal(op @ same[:, 1], expected[:, 1])
            np.testing.assert_array_equal(op.rmatvec(same[:, 1]), op.rmatmat(same)[:, 1])
            np.testing.assert_array_equal(same, before)

    def test_columns_and_rows(self, op):
        v = np.array([1.0, 2.0, 3.0])
        rows = np.stack([v, 2 * v, -v, 0 * v])
        assert (op @ v[:, None]).shape == (3, 1)
        assert op.matvec(v[:, None]).shape == (3, 1)
        assert op.rmatvec(v[:, None]).shape == (3, 1)
        np.testing.assert_array_equal(op.matvec(v[:, None])[:, 0], op @ v)
        np.testing.assert_array_equal(op.matvec(rows), (op @ rows.T).T)
        np.testing.assert_array_equal(op.rmatvec(rows), op.rmatmat(rows.T).T)

    def test_results_are_the_caller_s(self):
        """Also of operators that could hand back their argument."""
        v = np.ones(3)
        for op in (Identity((3,), F8), linad.linearize(lambda x: x, v)[1]):
            for y in (op @ v, op.T @ v, op @ v[:, None], op.rmatvec(v)):
                y[...] = 7
                np.testing.assert_array_equal(v, 1.0)


class TestMessages:
    J = Matrix(np.ones((4, 3)))

    @pytest.mark.parametrize(
        "call, words",
        [
            (
                lambda J: J @ np.ones(4),
                r"\(4 x 3, float64\) takes vectors of shape \(3,\), got \(4,\)",
            ),
            (lambda J: J.matvec(np.ones((2, 4))), r"vectors of shape \(3,\), got \(2, 4\)"),
            (lambda J: J.matvec(np.float64(1)), r"vectors of shape \(3,\), got \(\)"),
            (
                lambda J: J.rmatvec(np.ones(3)),
                r"the adjoint of .* vectors of shape \(4,\), got \(3,\)",
            ),
            (lambda J: J.T @ np.ones(3), r"vectors of shape \(4,\), got \(3,\)"),
            (lambda J: J @ np.ones((4, 2)), r"matrices of shape \(3, k\), got \(4, 2\)"),
            (lambda J: J.rmatmat(np.ones((3, 2))), r"matrices of shape \(4, k\), got \(3, 2\)"),
            (lambda J: J.matmat(np.ones(3)), r"matrices of shape \(3, k\), got \(3,\)"),
            (lambda J: np.ones(3) @ J, r"array of shape \(3,\) times .* must have length 4"),
            (lambda J: np.ones((2, 3)) @ J, r"array of shape \(2, 3\) times .* length 4"),
        ],
    )
    def test_shapes(self, call, words):
        with pytest.raises(ShapeError, match=words) as caught:
            call(self.J)
        assert isinstance(caught.value, ValueError)

    def test_objects(self):
        with pytest.raises(DTypeError, match="applied to numbers, got dtype object"):
            self.J @ np.array([1, None, 2])

    def test_scalars(self):
        for call in (lambda J: J @ 2.0, lambda J: 2.0 @ J, lambda J: J @ np.array(2.0)):
            with pytest.raises(ValueError, match=r"use '\*' instead"):
                call(self.J)

    def test_repr(self):
        assert repr(self.J) == "<Matrix (4 x 3, float64): (4,) from (3,)>"


class TestHolomorphic:
    """Derivatives linear over the reals only: maps without a matrix."""

    ops = zoo.not_holomorphic(np.random.default_rng(0))

    @pytest.fixture(params=sorted(ops))
    def op(self, request):
        return self.ops[request.param]

    @pytest.mark.parametrize(
        "route",
        named(
            at=lambda op, v: op @ v,
            real_vector=lambda op, v: op.matvec(v.real),
            matvec=lambda op, v: op.matvec(v),
            rmatvec=lambda op, v: op.rmatvec(v),
            matmat=lambda op, v: op.matmat(v[:, None]),
            rmatmat=lambda op, v: op.rmatmat(v[:, None]),
            transpose=lambda op, v: op.T @ v,
            transpose_real=lambda op, v: op.T @ v.real,
            from_left=lambda op, v: v @ op,
            dense_transpose=lambda op, v: op.T.todense(),
            dense=lambda op, v: op.todense(),
            array=lambda op, v: np.asarray(op),
            norm=lambda op, v: np.linalg.norm(op),
            scaled=lambda op, v: (2.0 * op) @ v,
            sum=lambda op, v: (op + op) @ v,
            product=lambda op, v: (linad.eye(op.shape[0], op.dtype) @ op) @ v,
            stack=lambda op, v: linad.vstack([op, op]) @ v,
            dense_product=lambda op, v: (op @ linad.eye(4, complex)).todense(),
        ),
    )
    def test_no_matrix(self, op, route):
        with pytest.raises(NotHolomorphicError, match="not holomorphic"):
            route(op, np.arange(4) * (1 + 1j))

    def test_maps_work(self, op):
        rng = np.random.default_rng(2)
        dx = zoo.numbers(rng, (4,), op.in_dtype)
        ybar = zoo.numbers(rng, (4,), op.out_dtype)
        left = np.vdot(ybar, op.pushforward(dx)).real
        right = np.vdot(op.pullback(ybar), dx).real
        assert left == pytest.approx(right, rel=1e-12)
        assert np.vdot(ybar, op.H.pullback(dx)).real == pytest.approx(right, rel=1e-12)

    def test_real_inside_complex_is_a_matrix(self):
        """x -> Re(d conj(x)) of a real x has a real matrix."""
        d = zoo.numbers(np.random.default_rng(0), (4,), C16)
        J = linad.linearize(lambda x: np.real(np.conj(d * np.exp(1j * x))), np.zeros(4))[1]
        np.testing.assert_allclose(J.todense(), np.diag(np.real(1j * d)), atol=1e-14)
        np.testing.assert_allclose(J.T @ np.ones(4), np.real(1j * d), atol=1e-14)


class TestRealToComplex:
    """The matrix of a map from real to complex arrays also takes complex vectors."""

    ops = zoo.real_to_complex(np.random.default_rng(0))

    @pytest.fixture(params=sorted(ops))
    def op(self, request):
        return self.ops[request.param]

    def test_matrix(self, op):
        rng = np.random.default_rng(1)
        A = zoo.by_columns(op)
        real, complex_ = rng.standard_normal(4), zoo.numbers(rng, (4,), C16)
        assert op.dtype == C16
        assert (op.in_dtype, op.out_dtype) == (F8, C16)
        for v in (real, complex_):
            for found, expected in [
                (op @ v, A @ v),
                (op.rmatvec(v), A.conj().T @ v),
                (op.H @ v, A.conj().T @ v),
                (op.T @ v, A.T @ v),
                (v @ op, v @ A),
                (op @ np.stack([v, v], 1), A @ np.stack([v, v], 1)),
                ((op.H @ op) @ v, A.conj().T @ (A @ v)),
                ((op @ op.H) @ v, A @ (A.conj().T @ v)),
                ((op.T @ op) @ v, A.T @ (A @ v)),
                ((op.H @ op).H @ v, A.conj().T @ (A @ v)),
                ((op.H + op) @ v, A.conj().T @ v + A @ v),
                ((2j * op.H) @ v, 2j * (A.conj().T @ v)),
                ((2j * op.H).H @ v, -2j * (A @ v)),
                (linad.hstack([op.H, linad.eye(4)]) @ np.r_[v, v], A.conj().T @ v + v),
                (linad.block_diag([op, op.H]).H @ np.r_[v, v], np.r_[A.conj().T @ v, A @ v]),
            ]:
                np.testing.assert_allclose(found, expected, atol=1e-12)
        for found, expected in [
            (op.todense(), A),
            (op.T.todense(), A.T),
            (op.H.todense(), A.conj().T),
            ((op.H @ op).todense(), A.conj().T @ A),
        ]:
            np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_maps_keep_the_real_part(self, op):
        w = zoo.numbers(np.random.default_rng(1), (4,), C16)
        A = zoo.by_columns(op)
        found = op.pullback(w)
        assert found.dtype == F8
        np.testing.assert_allclose(found, np.real(A.conj().T @ w), atol=1e-12)
        np.testing.assert_allclose(op.H.pushforward(w), found)


def test_mixed_containers():
    """Real and complex leaves side by side: one complex matrix on flat vectors."""
    rng = np.random.default_rng(0)
    point = {"r": rng.standard_normal(2), "z": zoo.numbers(rng, (2,), C16)}
    J = linad.linearize(lambda d: (d["r"] * d["z"], d["r"] ** 2), point)[1]
    r, z = point["r"], point["z"]
    A = np.block([[np.diag(z), np.diag(r)], [np.diag(2 * r), np.zeros((2, 2))]])
    np.testing.assert_allclose(J.todense(), A, atol=1e-14)
    for v in (rng.standard_normal(4), zoo.numbers(rng, (4,), C16)):
        np.testing.assert_allclose(J @ v, A @ v, atol=1e-14)
        np.testing.assert_allclose(J.T @ v, A.T @ v, atol=1e-14)
        np.testing.assert_allclose(J.rmatvec(v), A.conj().T @ v, atol=1e-14)
        np.testing.assert_allclose((J.H @ J) @ v, A.conj().T @ (A @ v), atol=1e-13)


class TestPickle:
    @pytest.mark.parametrize("dtype", [F4, C16], ids=str)
    @pytest.mark.parametrize(
        "again", named(pickle=lambda op: pickle.loads(pickle.dumps(op)), copy=copy.deepcopy)
    )
    def test_round_trip(self, dtype, again):
        rng = np.random.default_rng(0)
        for name, op in zoo.everything(dtype, rng).items():
            v = zoo.numbers(rng, (op.shape[1],), dtype)
            expected = op @ v
            _ = op.T, op.H
            for found, wanted in ((again(op), expected), (again(op.H).H, expected)):
                np.testing.assert_array_equal(found @ v, wanted, err_msg=name)
                assert found.shape == op.shape
                assert found.T.T is found

    def test_compositions(self):
        J = linad.linearize(lambda x: np.sin(x) * 2.0, np.arange(3.0))[1]
        op = 0.5 * (J.T @ J + 2.0 * linad.eye(3)) - J**2
        again = pickle.loads(pickle.dumps(op))
        np.testing.assert_array_equal(again.todense(), op.todense())

    def test_shallow_copy_has_its_own_views(self):
        op = Diagonal(np.ones(3), (3,), F8)
        adjoint = op.H
        other = copy.copy(op)
        assert other.H is not adjoint
        assert other.H.H is other


class TestLifetime:
    def test_views_do_not_keep_residuals_alive(self):
        """No reference cycle: the operator dies with its last reference."""
        op = Diagonal(np.ones(3), (3,), F8)
        held = op.H.T
        assert held is op
        _ = op.T @ np.ones(3)
        watch = weakref.ref(op)
        del op, held
        assert watch() is None

    def test_unknown_attribute(self):
        with pytest.raises(AttributeError, match="'Diagonal' object has no attribute 'rowdim'"):
            _ = Diagonal(np.ones(3), (3,), F8).rowdim
        assert not hasattr(object.__new__(Diagonal), "shape")


class TestMemory:
    """A product allocates its result and nothing else of its size."""

    n = 200_000

    @pytest.fixture(params=["diagonal", "linearized", "scaled", "transposed", "sum"])
    def kind(self, request):
        return request.param

    @pytest.fixture
    def op(self, kind):
        d = np.linspace(0.1, 1.0, self.n)
        x = np.linspace(0.0, 1.0, self.n)
        return {
            "diagonal": lambda: Diagonal(d, (self.n,), F8),
            "linearized": lambda: linad.linearize(np.sin, x)[1],
            "scaled": lambda: 0.5 * Diagonal(d, (self.n,), F8),
            "transposed": lambda: Diagonal(d, (self.n,), F8).T,
            "sum": lambda: Diagonal(d, (self.n,), F8) + Diagonal(x, (self.n,), F8),
        }[kind]()

    @pytest.mark.parametrize(
        "product",
        named(
            forward=lambda op, v: op @ v,
            transpose=lambda op, v: op.T @ v,
            adjoint=lambda op, v: op.H @ v,
            rmatvec=lambda op, v: op.rmatvec(v),
            from_left=lambda op, v: v @ op,
        ),
    )
    def test_no_temporaries(self, op, product, kind):
        v = np.ones(self.n)
        product(op, v)
        tracemalloc.start()
        try:
            result = product(op, v)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        arrays = 2 if kind == "sum" else 1
        assert peak < (arrays + 0.05) * result.nbytes


class TestCost:
    """Counted, not timed: what a product must not do is call SciPy's initialisation."""

    def test_products_need_no_scipy_initialisation(self, monkeypatch):
        def refuse(*args, **kwargs):
            raise AssertionError("SciPy's initialisation ran")

        monkeypatch.setattr("scipy.sparse.linalg.LinearOperator.__init__", refuse)
        J = Diagonal(np.ones(3), (3,), F8)
        v = np.ones(3)
        _ = J @ v, J.T @ v, J.shape, 0.5 * J + J, J.T @ J

    def test_scipy_attributes_exist_on_demand(self):
        J = Diagonal(np.ones(3), (3,), F8)
        assert J.ndim == 2
        # 1.18 keeps an array namespace, 1.17 does not: the same answer as SciPy's own.
        from scipy.sparse.linalg import aslinearoperator

        assert hasattr(J, "_xp") == hasattr(aslinearoperator(np.eye(3)), "_xp")


def test_traced_vectors():
    """An operator applies to traced vectors, and its products differentiate."""
    rng = np.random.default_rng(0)
    for dtype in (F8, C16):
        for name, op in zoo.square(dtype, rng).items():
            v = zoo.numbers(rng, (6,), dtype)
            _, K = linad.linearize(lambda x, op=op: op @ x + op.H @ x, v)
            A = op.todense()
            np.testing.assert_allclose(K.todense(), A + A.conj().T, atol=1e-12, err_msg=name)
    cast = Diagonal(np.array([1j, 2.0, 3.0]), (3,), C16) @ Cast((3,), C16, F8)
    _, K = linad.linearize(lambda x: cast @ x, np.ones(3))
    np.testing.assert_allclose(K.todense(), np.diag([1j, 2, 3]), atol=1e-14)


def test_transpose_of_conjugation_is_a_map():
    z = np.array([1 + 2j, 3j, 4])
    assert Conjugation((3,), C16).T.pushforward(z) == pytest.approx(z.conj())
