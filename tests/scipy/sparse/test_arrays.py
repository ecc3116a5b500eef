"""Sparse arrays with traced entries, their products, sums and systems."""

import itertools

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

import linad
import linad.scipy.sparse as ls
import linad.scipy.sparse.linalg as lsl
from linad.errors import (
    ArgumentError,
    LinadError,
    ShapeError,
    TracerError,
    UnsupportedError,
)
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
ROWS, COLS = np.array([2, 0, 1, 1, 0, 1]), np.array([1, 0, 2, 0, 4, 2])  # (1, 2) twice
DATA = rng.standard_normal(6)
X, XS = rng.standard_normal(5), rng.standard_normal((5, 2))
W, WS = rng.standard_normal(4), rng.standard_normal((2, 4))
FULL = rng.standard_normal((4, 5))
OTHER = scipy.sparse.random_array((4, 5), density=0.4, rng=np.random.default_rng(1)).tocsr()
RIGHT = scipy.sparse.random_array((5, 3), density=0.5, rng=np.random.default_rng(2)).tocsc()

CSR = scipy.sparse.csr_array(np.array([[4.0, 1, 0, 0], [1, 5, 0, 2], [0, 0, 3, 0], [0, 2, 0, 6]]))
POINT = CSR.data + 0.1 * rng.standard_normal(CSR.nnz)


def build(m, name, data):
    """A sparse array of shape (4, 5) from module m."""
    return getattr(m, name)((data, (ROWS, COLS)), shape=(4, 5))


def square(m, data, format="csr_array"):
    return getattr(m, format)((data, CSR.indices, CSR.indptr), shape=CSR.shape)


def dense(x):
    return x.toarray() if hasattr(x, "toarray") else x


def same(f, *args):
    """f(module, ...) is with linad what it is with SciPy; its derivatives are right."""
    expected = dense(f(scipy.sparse, *args))
    for result in (f(ls, *args), linad.linearize(lambda *a: dense(f(ls, *a)), *args)[0]):
        np.testing.assert_allclose(dense(result), expected, rtol=1e-13, atol=1e-14)
    check_derivatives(lambda *a: dense(f(ls, *a)), *args)


USES = {
    "A @ x": (lambda A, x: A @ x, X),
    "A @ X": (lambda A, x: A @ x, XS),
    "dot": (lambda A, x: A.dot(x), XS),
    "w @ A": (lambda A, w: w @ A, W),
    "W @ A": (lambda A, w: w @ A, WS),
    "A.T @ w": (lambda A, w: A.T @ w, W),
    "A @ x plain": (lambda A, x: (A @ X) * x, W),
    "W @ A plain": (lambda A, x: (WS @ A) * x, X),
    "A * s": (lambda A, s: 2.0 * A * s[0] / s[1], X),
    "A * row": (lambda A, x: A * x, X),
    "A * column": (lambda A, w: A.multiply(w[:, None]), W),
    "A / dense": (lambda A, a: A / a, FULL),
    "A * B": (lambda A, s: A * OTHER * s[0], X),
    "multiply": (lambda A, s: A.multiply(A.tocsc()) + A.multiply(OTHER.tocoo()), X),
    "A + B": (lambda A, s: A + OTHER * 2 - A * 0.5, X),
    "B - A": (lambda A, s: (OTHER - A).T, X),
    "A + dense": (lambda A, a: a + A, FULL),
    "A @ B": (lambda A, s: A @ RIGHT, X),
    "B @ A": (lambda A, s: OTHER.T @ A, X),
    "A @ A.T": (lambda A, s: A @ A.T, X),
    "sum": (lambda A, s: A.sum() * s, X),
    "np.sum": (lambda A, s: np.sum(A * s) + np.mean(s * A, axis=0)[1], X),
    "sum 0": (lambda A, s: A.sum(axis=0) * s, X),
    "sum 1": (lambda A, w: A.sum(axis=1) * w, W),
    "mean": (lambda A, s: A.mean(axis=0) + A.mean(), X),
    "diagonal": (lambda A, s: A.diagonal() * A.diagonal(-1)[0] * s[0], X),
    "trace": (lambda A, s: A.trace() * s, X),
    "-A": (lambda A, s: -A, X),
    "A**2": (lambda A, s: A.tocsr() ** 2, X),
    "data": (lambda A, s: A.tocsc().data ** 2, X),
    "formats": (lambda A, s: A.tocsc().tocoo().tocsr(), X),
}


@pytest.mark.parametrize("name", ["csr_array", "csc_array", "coo_array"])
@pytest.mark.parametrize("use", USES)
def test_uses(use, name):
    f, x = USES[use]
    same(lambda m, data, x: f(build(m, name, data), x), DATA, x)


def test_complex_and_single():
    z = DATA + 1j * rng.standard_normal(6)
    same(lambda m, data, x: build(m, "csr_array", data) @ x, z, X)
    same(lambda m, data, x: build(m, "csr_array", data).conj().T @ x, z, W)
    single = DATA.astype(np.float32), X.astype(np.float32)
    y, J = linad.linearize(lambda d, x: build(ls, "csr_array", d).T.T @ x, *single)
    assert y.dtype == np.float32
    assert [g.dtype for g in J.pullback(y)] == [np.float32, np.float32]


def test_products_entry_by_entry_have_entries_where_both_have():
    A, data = build(scipy.sparse, "csr_array", DATA), DATA[:5]
    twice = scipy.sparse.coo_array((data, ([0, 0, 1, 0, 1], [0, 2, 1, 0, 3])), A.shape)

    def f(m, data):
        return m.coo_array((data, twice.coords), A.shape).multiply(A)

    expected = f(scipy.sparse, data)
    same(f, data)
    y = linad.linearize(lambda data: f(ls, data).data, data)[0]
    np.testing.assert_allclose(np.sort(y), np.sort(expected.data), rtol=1e-14)
    jitted = linad.jit(lambda data: f(ls, data).toarray())
    for _ in range(2):
        np.testing.assert_allclose(jitted(data), expected.toarray(), rtol=1e-14)


def test_parts():
    def f(data):
        A = square(ls, data)
        np.testing.assert_array_equal(A.indices, CSR.indices)
        np.testing.assert_array_equal(A.indptr, CSR.indptr)
        np.testing.assert_array_equal(A.T.indptr, CSR.T.indptr)
        assert (A.shape, A.nnz, A.format, A.T.format) == ((4, 4), CSR.nnz, "csr", "csc")
        assert ls.csr_array(A) is A
        assert "traced entries" in repr(A)
        return A.data

    np.testing.assert_array_equal(linad.linearize(f, POINT)[0], POINT)


DIAGONALS = {
    "list": lambda m, x: m.diags_array([x[:4], x[:3] ** 2, x[:1]], offsets=[0, -1, 2]),
    "one": lambda m, x: m.diags_array(x, offsets=1, format="csr"),
    "wide": lambda m, x: m.diags_array([x, x], offsets=[0, 2], shape=(5, 7)),
}


@pytest.mark.parametrize("name", DIAGONALS)
def test_diagonals(name):
    same(DIAGONALS[name], X)


SYSTEMS = {
    "spsolve": lambda A, b: lsl.spsolve(A, b),
    "splu": lambda A, b: lsl.splu(A).solve(b),
    "splu T": lambda A, b: lsl.splu(A, "COLAMD").solve(b, "T"),
    "splu H": lambda A, b: lsl.splu(A).solve(b, "H"),
    "factorized": lambda A, b: lsl.factorized(A)(b),
}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("kind", [float, complex])
def test_systems(name, kind):
    data = POINT * (1 + 0.3j) if kind is complex else POINT
    matrix = square(scipy.sparse, data).toarray()
    matrix = {"T": matrix.T, "H": matrix.conj().T}.get(name[-1], matrix)
    for b in (W, WS.T):
        f = lambda d, b: SYSTEMS[name](square(ls, d).tocsc(), b)  # noqa: E731
        y = linad.linearize(f, data, b)[0]
        np.testing.assert_allclose(y, np.linalg.solve(matrix, b), rtol=1e-12, atol=1e-14)
        check_derivatives(f, data, b)
    check_derivatives(lambda d: SYSTEMS[name](square(ls, d).tocsc(), W), data)


def test_spsolve_has_a_columns_shape():
    y = linad.linearize(lambda d: lsl.spsolve(square(ls, d), W[:, None]), POINT)[0]
    assert y.shape == scipy.sparse.linalg.spsolve(CSR, W[:, None]).shape == (4,)


def test_the_gradient_of_a_large_system_is_sparse():
    """A Poisson matrix with 10^4 unknowns, whose inverse would need 800 MB."""
    n = 100
    ones = np.ones(n * n)
    line = scipy.sparse.diags_array([-ones[1:], 4 * ones, -ones[1:]], offsets=[-1, 0, 1])
    A = (line - scipy.sparse.diags_array([ones[n:]] * 2, offsets=[-n, n])).tocsr()

    def f(data, b):
        x = lsl.spsolve(ls.csr_array((data, A.indices, A.indptr), shape=A.shape), b)
        return x @ x

    g, gb = linad.grad(f, argnums=(0, 1))(A.data, ones)
    x = scipy.sparse.linalg.spsolve(A.tocsc(), ones)
    w = scipy.sparse.linalg.spsolve(A.T.tocsc(), 2 * x)
    rows = np.repeat(np.arange(n * n), np.diff(A.indptr))
    np.testing.assert_allclose(g, -w[rows] * x[A.indices], rtol=1e-10)
    np.testing.assert_allclose(gb, w, rtol=1e-10)


@pytest.mark.parametrize("name", ["cg", "gmres", "bicgstab", "minres", "lgmres"])
def test_iterations(name):
    """Against the direct solution: value, gradient, second derivative."""
    symmetric = CSR + CSR.T
    solver = getattr(lsl, name)

    def matrix(d):
        return ls.csr_array((d, symmetric.indices, symmetric.indptr), shape=(4, 4))

    def iterated(d, b):
        x, info = solver(matrix(d), b, rtol=1e-11)
        assert info == 0
        return np.sum(np.sin(x))

    def direct(d, b):
        return np.sum(np.sin(lsl.spsolve(matrix(d), b)))

    point = symmetric.data, W
    for derivative in (
        lambda f: linad.value_and_grad(f, argnums=(0, 1))(*point),
        lambda f: linad.hvp(f, point, (point[0] ** 2, W**2)),
    ):
        found, expected = (linad.core.tree.flatten(derivative(f))[0] for f in (iterated, direct))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
    for A in (symmetric, scipy.sparse.linalg.aslinearoperator(symmetric), symmetric.toarray()):
        g = linad.grad(lambda b, A=A: np.sum(np.sin(solver(A, b, rtol=1e-11)[0])))(W)
        np.testing.assert_allclose(g, linad.grad(direct, argnums=1)(*point), rtol=1e-8)


def test_iterations_that_are_not_symmetric_or_real():
    z = POINT * (1 + 0.2j)
    for data in (POINT, z):
        A = square(scipy.sparse, data)

        def f(d, b):
            return lsl.gmres(square(ls, d), b, rtol=1e-13, M=scipy.sparse.eye_array(4) * 0.2)[0]

        y, J = linad.linearize(f, data, W)
        K = linad.linearize(lambda d, b: lsl.spsolve(square(ls, d), b), data, W)[1]
        np.testing.assert_allclose(y, np.linalg.solve(A.toarray(), W), rtol=1e-10)
        for a, b in zip(J.pullback(y), K.pullback(y), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


def test_an_iteration_that_does_not_converge():
    f = lambda b: np.sum(lsl.cg(CSR, b, rtol=1e-14, maxiter=1)[0])  # noqa: E731
    with pytest.raises(np.linalg.LinAlgError, match="no convergence"):
        linad.grad(f)(W)


def test_norm():
    same(lambda m, d: (lsl if m is ls else m.linalg).norm(build(m, "csr_array", d)), DATA)
    same(lambda m, d: (lsl if m is ls else m.linalg).norm(build(m, "coo_array", d)), DATA)


def test_finite_elements():
    """Heat conduction in a rod: the gradient in the conductivities, by a closed form."""
    n, h = 8, 1 / 8
    left, right = np.arange(n), np.arange(1, n + 1)
    rows = np.concatenate([left, right, left, right])
    cols = np.concatenate([left, right, right, left])

    def temperature(k):
        entries = np.concatenate([k, k, -k, -k]) / h
        K = ls.coo_array((entries, (rows, cols)), shape=(n + 1, n + 1)).tocsc()
        # The left end is held at 0 by a stiff spring, the right end is heated by 1.
        anchor = ls.diags_array(np.eye(1, n + 1)[0] * 1e12 + 0 * np.sum(k))
        return lsl.spsolve(K + anchor, np.eye(1, n + 1, n)[0])[-1]

    k = np.linspace(1.0, 2.0, n)
    np.testing.assert_allclose(linad.grad(temperature)(k), -h / k**2, rtol=1e-4)


MOVES = {
    "rows and columns": lambda m, A: A[[3, 0, 0]][:, np.array([4, 1])],
    "mask": lambda m, A: A[np.array([True, False, True, True])],
    "slices": lambda m, A: A[1:3, ::-2],
    "one": lambda m, A: np.ones(2) * A[1, 2] * A[1, 0] + A[3, 3],
    "row": lambda m, A: m.csr_array(A)[1:2],
    "hstack": lambda m, A: m.hstack([A, OTHER, 2 * A]),
    "vstack": lambda m, A: m.vstack([OTHER, A], format="csc"),
    "blocks": lambda m, A: m.block_array([[A, None], [None, A.T]]),
    "bmat": lambda m, A: m.bmat([[A, OTHER], [None, A]]),
    "diagonal blocks": lambda m, A: m.block_diag([A, np.ones((1, 2)), OTHER]),
    "triangles": lambda m, A: m.triu(A) + 2 * m.tril(A, -1),
    "kron": lambda m, A: m.kron(A, RIGHT),
    "kron right": lambda m, A: m.kron(np.ones((2, 2)), A, format="csr"),
    "kronsum": lambda m, A: m.kronsum(A[:, :4], CSR),
    "duplicates": lambda m, A: m.csr_array(A)[:, [2, 2]],
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("format", ["csr_array", "csr_matrix", "csc_array"])
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_entries_that_move(name, format):
    same(lambda m, data: MOVES[name](m, build(m, format, data)), DATA)


def set_diagonals(A):
    B = A.copy()
    A.setdiag(A.diagonal()[::-1] * 2)
    A.setdiag(A.diagonal()[:2] + 1.0, 1)
    A.setdiag(3.0, k=-2)
    return A + B


MOVES["diagonals"] = lambda m, A: set_diagonals(A)


@pytest.mark.parametrize("options", list(itertools.product([False, True], repeat=3)))
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_laplacian(options):
    """Of a graph with an edge twice, and a loop."""
    places = np.array([0, 1, 2, 1, 2, 0]), np.array([1, 2, 0, 0, 2, 1])

    def f(m, data):
        names = ("normed", "use_out_degree", "symmetrized")
        A = m.coo_array((data, places), shape=(3, 3))
        L, d = m.csgraph.laplacian(A, return_diag=True, **dict(zip(names, options, strict=True)))
        return np.concatenate([L.toarray().ravel(), d, A @ X[:3]])

    same(f, DATA**2)


@pytest.mark.parametrize("name", ["csr_array", "csc_array", "coo_array"])
def test_a_copy_in_other_coordinates_has_entries_of_its_own(name):
    def f(m, data):
        A = getattr(m, name)(m.csr_array((data * 1.0, COLS, [0, 3, 4, 5, 6]), shape=(4, 5)))
        B, C = A.tocoo(), A.tocoo(copy=True)
        D, E = B.tocoo(), B.tocoo(copy=True)
        B.data *= 2.0
        C.data *= 3.0
        E.data *= 4.0
        return np.stack([M @ X for M in (A, B, C, D, E)])

    same(f, DATA)


def test_entries_at_one_place_are_added_before_they_move():
    """Of a compressed array too, which SciPy leaves as it is."""

    def f(m, data):
        A = m.csr_array((data, [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
        return m.vstack([A, A])[:3, 1:]

    same(f, DATA[:4])


@pytest.mark.parametrize("name", ["coo_matrix", "csr_matrix", "csc_matrix"])
def test_matrices(name):
    """Their ``*`` is the matrix product, and ``**`` the power of it."""
    X = rng.standard_normal(5)
    same(lambda m, data, x: build(m, name, data) * x, DATA, X)
    same(lambda m, data: build(m, name, data) * build(m, name, data).T * 2.0, DATA)
    same(lambda m, data: (build(m, name, data).tocsr()[:, :4] ** 3) * 0.5, DATA)
    same(lambda m, data: WS * build(m, name, data), DATA)


V, ONES = X[:, None], np.ones((4, 5))
P = rng.standard_normal((5, 4)).view(np.matrix)
OF_MATRICES = {
    "rows": lambda m, A: A.multiply(1 / (1 + A.sum(axis=1))).toarray(),
    "columns": lambda m, A: ((A / (1 + A.sum(axis=0))).sum(axis=0) * V).A,
    "means": lambda m, A: A.mean(axis=1).A1 * (A.mean(axis=0) * V).A,
    "dense": lambda m, A: (A.todense() * V + A.sum(axis=1).flatten().T).A,
    "diagonal": lambda m, A: m.diags(1 / (1 + A.sum(axis=1).A1)) * A @ V,
    "a matrix": lambda m, A: (A * P * W[:, None] + P.T * A.T * W[:, None] + A.sum(axis=1)).A,
    "sums": lambda m, A: ((A + ONES) * V + (P.T - A) * V + (ONES - A) * V).A,
    "by name": lambda m, A: (A.dot(P) * W[:, None]).A + A.multiply(P.T).sum(axis=1).A,
}


@pytest.mark.parametrize("name", OF_MATRICES)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_what_sparse_matrices_give_is_a_matrix(name):
    """Of two axes, and with ``*`` for the product of matrices, as in SciPy; not of arrays."""
    of_matrix, of_array = (lambda m, x, k=k: build(m, k, x) for k in ("csr_matrix", "csr_array"))
    same(lambda m, data: OF_MATRICES[name](m, of_matrix(m, data)), DATA**2 + 1)
    same(
        lambda m, data: of_array(m, data).sum(axis=1) * W + of_array(m, data).todense()[:, 0], DATA
    )


def test_diagonals_of_columns():
    rows = rng.standard_normal((2, 4))
    same(lambda m, d: m.dia_array((d, [0, 2]), shape=(3, 5)).tocsr() @ X, rows)
    same(lambda m, d: m.dia_matrix((d, [-1, 2]), shape=(5, 4)), rows)
    same(lambda m, d: m.spdiags(d, [0, -2], 4, 4, "csr"), rows)
    same(lambda m, d: m.diags([d[0], d[1, :3]], [0, 1]) * np.ones(4), rows)


def test_entries_and_places():
    merged = build(ls, "csr_array", DATA)
    found = linad.linearize(lambda d: ls.find(build(ls, "coo_array", d))[2], DATA)[0]
    np.testing.assert_allclose(found, scipy.sparse.find(merged)[2])

    def f(data):
        A = build(ls, "coo_matrix", data)
        A.sum_duplicates()
        A.eliminate_zeros()
        assert A.nnz == A.count_nonzero() == len(A.nonzero()[0]) == 5
        return A.asformat("csc").getcol(-3).toarray() + A.tocsr().getrow(1).toarray()[:, :1]

    check_derivatives(f, DATA)


@pytest.mark.parametrize("name", ["bicg", "cgs", "gcrotmk", "tfqmr"])
def test_other_iterations(name):
    def f(data, b):
        return getattr(lsl, name)(square(ls, data), b, rtol=1e-13)[0]

    expected = np.linalg.solve(square(scipy.sparse, POINT).toarray(), W)
    np.testing.assert_allclose(linad.linearize(f, POINT, W)[0], expected, rtol=1e-9)
    check_derivatives(f, POINT, W, rtol=1e-6)


ERRORS = {
    "index": (lambda A, x: A[0], UnsupportedError, "keep two axes"),
    "traced block": (lambda A, x: ls.hstack([A, x[:4, None]]), UnsupportedError, "dense"),
    "number block": (lambda A, x: ls.block_diag([A, 3.0]), UnsupportedError, "3.0 among"),
    "format": (lambda A, x: ls.kron(A, A, "bsr"), UnsupportedError, "'bsr'"),
    "columns": (lambda A, x: ls.dia_array((x[None], [0, 1]), shape=(2, 2)), ShapeError, "offsets"),
    "matrix power": (lambda A, x: ls.csr_matrix(A) ** 0.5, UnsupportedError, "1, 2"),
    "method": (lambda A, x: A.argmax(), UnsupportedError, "A.data"),
    "array": (lambda A, x: np.asarray(A), TracerError, "toarray"),
    "plus": (lambda A, x: A + 1.0, UnsupportedError, "toarray"),
    "power": (lambda A, x: A**-1, UnsupportedError, "> 0"),
    "times": (lambda A, x: A * RIGHT, ShapeError, r"A.multiply\(B\)"),
    "shape": (lambda A, x: A @ x, ShapeError, r"\(4, 4\)"),
    "left": (lambda A, x: x @ A, ShapeError, r"\(4, 4\)"),
    "broadcast": (lambda A, x: A * x, ShapeError, "multiply"),
    "sum": (lambda A, x: A + OTHER, ShapeError, "A \\+ B"),
    "product": (lambda A, x: RIGHT @ A, ShapeError, "A @ B"),
    "parts": (lambda A, x: ls.csr_array((x, x, x, x)), UnsupportedError, "pattern"),
    "dense shape": (lambda A, x: ls.csr_array(A.toarray(), (2, 2)), ShapeError, r"\(4, 4\)"),
    "length": (lambda A, x: ls.csr_array((x, ([0], [0]))), ShapeError, "one length"),
    "outside": (lambda A, x: ls.csr_array((x[:1], ([3], [3])), (2, 2)), ShapeError, "outside"),
    "indices": (lambda A, x: ls.csr_array((x[:1], ([1j], [3]))), ArgumentError, "integers"),
    "indptr": (lambda A, x: ls.csr_array((x, [0], [0, 1])), ShapeError, "indptr"),
    "diagonal": (lambda A, x: ls.diags_array([x, x], offsets=[0, 1]), ValueError, "diagonal 1"),
    "solve": (lambda A, x: lsl.spsolve(A, x), ShapeError, "spsolve"),
    "solve dense": (lambda A, x: lsl.spsolve(A.toarray(), x[:4]), UnsupportedError, "sparse one"),
    "triangular": (lambda A, x: lsl.spsolve_triangular(A, x[:4]), UnsupportedError, "constant"),
    "operator": (lambda A, x: lsl.aslinearoperator(A), UnsupportedError, "A @ x"),
    "cg": (lambda A, x: lsl.cg(A.toarray(), x[:4]), UnsupportedError, "sparse array"),
    "cg shape": (lambda A, x: lsl.cg(A, x), ShapeError, "cg"),
    "norm": (lambda A, x: lsl.norm(A, 1), UnsupportedError, "Frobenius"),
    "scipy": (lambda A, x: scipy.sparse.hstack([A, A]), LinadError, "toarray"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    f, error, words = ERRORS[name]
    with pytest.raises(error, match=words):
        linad.linearize(lambda d, x: f(square(ls, d), x), POINT, X)


def test_a_constructor_converts_the_entries_of_a_sparse_array():
    def f(data):
        A = ls.csr_array((data, (np.arange(3), np.arange(3))))
        assert ls.csr_array(A, dtype=float) is A
        made = ls.csc_array(A, dtype=np.complex64)
        assert made.format == "csc"
        assert made.dtype == np.complex64
        return made.data

    np.testing.assert_array_equal(linad.linearize(f, np.arange(3.0))[0], np.arange(3.0))


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_a_number_times_a_matrix_of_scipys(kind):
    A = kind([[2.0, 0.0, 1.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0]])

    def f(x):
        return (x[0] * A + scipy.sparse.eye_array(3)) @ x

    x = np.array([0.5, -1.0, 2.0])
    check_derivatives(f, x)
    np.testing.assert_allclose(linad.linearize(f, x)[0], 0.5 * (A.toarray() @ x) + x)
    np.testing.assert_allclose(linad.jit(f)(x), 0.5 * (A.toarray() @ x) + x)


def test_a_matrix_that_was_scaled_multiplies_as_one():
    A = scipy.sparse.csr_matrix([[2.0, 1.0], [0.0, 3.0]])
    J = linad.jacobian(lambda x: (x[0] * A) * x)(np.array([0.5, -1.0]))
    np.testing.assert_allclose(J, [[1.0, 0.5], [-3.0, 1.5]])


def test_all_entries_of_a_dense_matrix_are_kept():
    A = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    J = linad.jacobian(lambda a: ls.csc_matrix(a).toarray())(A)
    np.testing.assert_array_equal(J.reshape(6, 6), np.eye(6))
    assert ls.csr_array(A).nnz == 3


def test_indices_may_be_floats_as_in_scipy():
    def entries(x):
        places = np.concatenate([[0.0, 1.0], np.floor(x[:1]) + 1])
        return ls.csr_matrix((x, (places, places)), (3, 3)).toarray()

    J = linad.jacobian(entries)(np.array([1.2, 0.5, 0.7]))
    np.testing.assert_array_equal(J[[0, 1, 2], [0, 1, 2]], np.eye(3))


OF_ENTRIES = {
    "x * A": lambda A, x: x * A,
    "x + A": lambda A, x: x + A,
    "A + x": lambda A, x: A + x,
    "x - A": lambda A, x: x - A,
    "A - x": lambda A, x: A - x,
}


@pytest.mark.whole
@pytest.mark.parametrize("shape", [(4,), (4, 4), (1, 4), (4, 1)], ids=str)
@pytest.mark.parametrize("name", OF_ENTRIES)
def test_constant_sparse_arrays_beside_traced_arrays(name, shape):
    """Entry by entry, as SciPy has it of its arrays; of a matrix ``x * A`` is a product."""
    f, x = OF_ENTRIES[name], rng.standard_normal(shape)
    for form in ("csr", "csc", "coo", "dia", "lil"):
        A = CSR.asformat(form)
        expected = f(A, x)
        seen = []

        def dense(x, A=A, f=f, seen=seen):
            y = f(A, x)
            seen.append(y)
            return y.toarray() if hasattr(y, "toarray") else y

        y, J = linad.linearize(dense, x)
        np.testing.assert_allclose(y, dense(x), rtol=1e-14)
        change = f(A, x + 0.5) - f(A, x - 0.5)  # exact: it is linear
        change = change.toarray() if hasattr(change, "toarray") else change
        np.testing.assert_allclose(J.pushforward(np.ones(shape)), change, rtol=1e-12, atol=1e-14)
        if name == "x * A" and form != "dia":
            assert seen[0].stands_for is type(expected)


def test_a_constant_sparse_array_that_is_written_into():
    A = CSR.copy()
    f = linad.jit(lambda x: (x * A).toarray() + (x - A))
    x = rng.standard_normal(4)
    for _ in range(3):
        np.testing.assert_allclose(f(x), (x * A).toarray() + (x - A), rtol=1e-14)
        A.data += 1.0


def test_a_diagonal_and_axes_that_are_not_there():
    def made(x):
        return ls.csr_array(np.diag(x))

    x = np.array([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="has no diagonal -3"):
        linad.grad(lambda x: made(x).setdiag(x, k=-3))(x)
    with pytest.raises(ValueError, match=r"axes must be None or \(1, 0\), got \(0, 1\)"):
        linad.grad(lambda x: made(x).transpose((0, 1)).sum())(x)
    slope = linad.grad(lambda x: (made(x).transpose(axes=(1, 0), copy=True) @ x).sum())(x)
    np.testing.assert_array_equal(slope, 2 * x)
