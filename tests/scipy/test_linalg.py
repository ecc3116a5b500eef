"""linad.scipy.linalg: SciPy for plain arguments, and derivatives."""

import functools
import inspect

import numpy as np
import pytest
import scipy.linalg

import linad
import linad.scipy.linalg as sl
from linad.errors import DegenerateError, LinadError, ShapeError, UnsupportedError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
A = rng.standard_normal((3, 3)) + 3 * np.eye(3)
Z = A + 0.3j * rng.standard_normal((3, 3))
S = A @ A.T + np.eye(3)
H = Z @ Z.conj().T + np.eye(3)
B = rng.standard_normal((3, 2))
b = rng.standard_normal(3)
BANDS = rng.standard_normal((3, 3)) + np.array([0.0, 4.0, 0.0])[:, None]
BAND = np.array([[1.3, 0.9, 1.1], [0.4, -0.3, 0.0]])
POSITIVE = np.array([[3.3, 2.9, 2.1], [0.4, -0.3, 0.7]])
UPPER = POSITIVE[::-1]
W = np.diag([0.2, 0.7, 1.3]) + 0.01 * S
V = np.eye(3) + 0.05 * S
SMALL = 0.3 * rng.standard_normal((3, 3))
LU = scipy.linalg.lu_factor(A)


def sym(a):
    """Hermitian matrices stay so: for them SciPy's reading of one triangle is of no account."""
    return 0.5 * (a + a.conj().T)


# name, function of the module and the traced arguments, arguments
CASES = [
    ("solve", lambda m, a, b: m.solve(a, b), A, b),
    ("solve", lambda m, a, b: m.solve(a, b, transposed=True), A, B),
    ("solve", lambda m, a: m.solve(sym(a), B, assume_a="pos"), S),
    ("solve", lambda m, a: m.solve(a, b, assume_a="her", lower=True), H),
    ("solve", lambda m, a: m.solve(a, b, assume_a="sym"), H + H.T),
    ("solve", lambda m, a: m.solve(a, b, assume_a="sym", lower=True), A),
    ("solve_triangular", lambda m, a, b: m.solve_triangular(a, b, lower=True), A, b),
    ("solve_triangular", lambda m, a, b: m.solve_triangular(a, b, trans=1), A, B),
    ("solve_triangular", lambda m, a: m.solve_triangular(a, B, "C", True, True), Z),
    ("inv", lambda m, a: m.inv(a), A),
    ("det", lambda m, a: m.det(a), A),
    ("pinv", lambda m, a: m.pinv(a), B),
    ("pinv", lambda m, a: m.pinv(a, atol=1e-3, rtol=1e-2), B),
    ("lstsq", lambda m, a, b: m.lstsq(a, b)[0], B, b),
    ("solve_sylvester", lambda m, a, q: m.solve_sylvester(a, S, q), A, SMALL),
    ("solve_continuous_lyapunov", lambda m, a, q: m.solve_continuous_lyapunov(a, q), A, SMALL),
    ("solve_discrete_lyapunov", lambda m, a, q: m.solve_discrete_lyapunov(0.3 * a, q), SMALL, S),
    ("cholesky", lambda m, a: m.cholesky(sym(a)), S),
    ("cholesky", lambda m, a: m.cholesky(sym(a), lower=True), H),
    ("cho_factor", lambda m, a: np.triu(m.cho_factor(sym(a))[0]), S),
    ("cho_solve", lambda m, a, b: m.cho_solve(m.cho_factor(sym(a)), b), S, b),
    ("cho_solve", lambda m, a, b: m.cho_solve(m.cho_factor(sym(a), lower=True), b), H, B),
    ("lu_factor", lambda m, a: m.lu_factor(a)[0], A),
    ("lu_solve", lambda m, a, b: m.lu_solve(m.lu_factor(a), b), A, b),
    ("lu_solve", lambda m, b: m.lu_solve(LU, b, trans=1), B),
    ("lu_solve", lambda m, a: m.lu_solve(m.lu_factor(a), B, trans=2), Z),
    ("lu", lambda m, a: m.lu(a)[1:], A[::-1]),
    ("lu", lambda m, a: m.lu(a, permute_l=True), A[::-1]),
    ("lu", lambda m, a: m.lu(a, p_indices=True)[1], A[::-1]),
    ("qr", lambda m, a: m.qr(a, mode="economic"), B),
    ("qr", lambda m, a: m.qr(a), A),
    ("qr", lambda m, a: m.qr(a, mode="r"), B),
    ("qr", lambda m, a: m.qr(a, pivoting=True)[:2], A),
    ("qr", lambda m, a: m.qr(a, mode="r", pivoting=True)[0], B),
    ("qr", lambda m, a: m.qr(a, mode="economic", pivoting=True)[:2], Z),
    ("rq", lambda m, a: m.rq(a), A),
    ("rq", lambda m, a: m.rq(a, mode="economic"), B.T),
    ("rq", lambda m, a: m.rq(a, mode="r"), B.T),
    ("rq", lambda m, a: m.rq(a), Z),
    ("cho_solve_banded", lambda m, c, b: m.cho_solve_banded((c, True), b), BAND, B),
    ("cho_solve_banded", lambda m, c, b: m.cho_solve_banded((c[::-1], False), b), BAND, b),
    ("cholesky_banded", lambda m, c: m.cholesky_banded(c, lower=True), POSITIVE),
    ("cholesky_banded", lambda m, c: m.cholesky_banded(c[::-1]), POSITIVE),
    ("cholesky_banded", lambda m, c: m.cho_solve_banded((m.cholesky_banded(c), 0), b), UPPER),
    ("eigh", lambda m, a: m.eigh(sym(a))[0], S),
    ("eigh", lambda m, a: m.eigh(sym(a), eigvals_only=True, subset_by_index=[1, 2]), S),
    ("eigh", lambda m, a, b: m.eigh(sym(a), sym(b))[1] ** 2, W, V),
    ("eigvalsh", lambda m, a, b: m.eigvalsh(sym(a), sym(b), lower=False), W, V),
    ("eigh", lambda m, a, b: m.eigh(sym(a), sym(b), type=2), W, V),
    ("eigh", lambda m, a, b: m.eigh(sym(a), sym(b), type=3, lower=False), W, V),
    ("eigvalsh", lambda m, a, b: m.eigvalsh(sym(a), sym(b), type=3), W, V),
    ("eig", lambda m, a: m.eig(a, left=True), A),
    ("eig", lambda m, a: m.eig(a, left=True, right=False)[1], Z),
    ("eigvals", lambda m, a: np.prod(m.eigvals(a)), A),
    ("svd", lambda m, a: m.svd(a, full_matrices=False)[1], B),
    ("svd", lambda m, a: m.svd(a, compute_uv=False), B),
    ("svdvals", lambda m, a: m.svdvals(a), B),
    ("norm", lambda m, a: m.norm(a), A),
    ("norm", lambda m, a: m.norm(a, 2, axis=0, keepdims=True), A),
    ("expm", lambda m, a: m.expm(a), SMALL),
    ("expm_frechet", lambda m, a: m.expm_frechet(a, A, compute_expm=False), SMALL),
    ("logm", lambda m, a: m.logm(a), S),
    ("sqrtm", lambda m, a: m.sqrtm(a), S),
    ("fractional_matrix_power", lambda m, a: m.fractional_matrix_power(a, 0.4), S),
    ("cosm", lambda m, a: m.cosm(a), SMALL),
    ("sinhm", lambda m, a: m.sinhm(a), SMALL),
    ("ldl", lambda m, a: m.ldl(sym(a))[:2], S),
    ("ldl", lambda m, a: m.ldl(sym(a), lower=False)[:2], H),
    ("schur", lambda m, a: m.schur(a), A),
    ("schur", lambda m, a: m.schur(a, sort="rhp")[:2], A.T),
    ("schur", lambda m, a: abs(m.schur(a, output="complex")[1]), A),
    ("rsf2csf", lambda m, a: abs(m.rsf2csf(*m.schur(a))[1]), A.T),
    ("hessenberg", lambda m, a: m.hessenberg(a, calc_q=True), A),
    ("hessenberg", lambda m, a: m.hessenberg(a), Z),
    ("matrix_balance", lambda m, a: m.matrix_balance(a), A * [[1.0], [64.0], [0.01]]),
    ("signm", lambda m, a: m.signm(a), A - 3 * np.eye(3)),
    ("funm", lambda m, a: m.funm(a, np.sin), A.T),
    ("funm", lambda m, a: m.funm(a, np.exp), Z),
    ("block_diag", lambda m, a, b: m.block_diag(a, 2.0, b), A, B),
    ("toeplitz", lambda m, c, r: m.toeplitz(c, r), b, rng.standard_normal(4)),
    ("toeplitz", lambda m, c: m.toeplitz(c), Z[0]),
    ("circulant", lambda m, c: m.circulant(c), b),
    ("convolution_matrix", lambda m, a: m.convolution_matrix(a, 4), b),
    ("convolution_matrix", lambda m, a: m.convolution_matrix(a, 5, "same"), Z[0]),
    ("hankel", lambda m, c: m.hankel(c), b),
    ("khatri_rao", lambda m, a, b: m.khatri_rao(a, b), A[:2], A),
    ("solve_toeplitz", lambda m, c: m.solve_toeplitz((c, b), b), b + np.array([4, 0, 0])),
    ("solve_banded", lambda m, ab, b: m.solve_banded((1, 1), ab, b), BANDS, b),
]  # fmt: skip


@pytest.mark.parametrize(
    "f, args", [pytest.param(c[1], c[2:], id=f"{c[0]}-{k}") for k, c in enumerate(CASES)]
)
def test_traces(f, args):
    y = linad.linearize(lambda *a: f(sl, *a), *args)[0]
    plain, expected = f(sl, *args), f(scipy.linalg, *args)
    for found, same, known in zip(*map(listed, (y, plain, expected)), strict=True):
        np.testing.assert_array_equal(same, known)
        assert type(same) is type(known)
        np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-12)
    check_derivatives(lambda *a: f(sl, *a), *args, order=1)


@pytest.mark.usefixtures("kernels")
@pytest.mark.filterwarnings("ignore:linad.jit. .* drew random numbers")  # SciPy's logm draws
@pytest.mark.parametrize(
    "f, args", [pytest.param(c[1], c[2:], id=f"{c[0]}-{k}") for k, c in enumerate(CASES)]
)
def test_whole_numbers_in_a_program(f, args):
    """A factor of a matrix of integers holds fractions."""
    args = [np.round(8 * np.real(a)).astype(int) for a in args]
    try:
        expected = f(scipy.linalg, *args)
    except (ValueError, ArithmeticError, TypeError):  # not definite, say
        return
    jitted = linad.jit(lambda *a: f(sl, *a))
    for _ in range(2):
        for found, known in zip(*map(listed, (jitted(*args), expected)), strict=True):
            assert np.asarray(found).dtype == np.asarray(known).dtype
            np.testing.assert_allclose(found, known, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("driver", [None, "gelsd", "gelsy", "gelss"])
@pytest.mark.parametrize("sides", [b, np.stack([b, 2 - b], axis=1)], ids=["one", "two"])
def test_all_that_lstsq_gives(driver, sides):
    tall = np.concatenate([B, B[:2] ** 2])
    sides = np.concatenate([sides, sides])[: tall.shape[0]]
    expected = scipy.linalg.lstsq(tall, sides, lapack_driver=driver)
    found = []

    def f(a):
        found[:] = sl.lstsq(a, sides, lapack_driver=driver)
        return found[:2]

    found[:2] = linad.linearize(f, tall)[0]
    for y, known in zip(found, expected, strict=True):
        assert (y is None) == (known is None)
        assert np.shape(y) == np.shape(known)
        if y is not None:
            np.testing.assert_allclose(linad.stop_gradient(y), known)


def listed(y):
    return list(y) if isinstance(y, tuple) else [y]


def test_second_derivatives():
    def likelihood(a):
        factor = sl.cho_factor(a @ a.T + np.eye(3))
        return b @ sl.cho_solve(factor, b) + 2 * np.sum(np.log(np.diag(factor[0])))

    check_derivatives(likelihood, A)
    check_derivatives(lambda a: sl.lu_solve(sl.lu_factor(a), b), A)
    check_derivatives(lambda a: sl.toeplitz(a) @ sl.expm(0.1 * sl.toeplitz(a)), b)


def test_batches():
    stack = np.stack([A, S])
    check_derivatives(lambda a: sl.expm(0.1 * a), stack, order=1)
    if np.lib.NumpyVersion(scipy.__version__) >= "1.16.0":
        check_derivatives(lambda a: sl.solve_triangular(a, B, lower=True), stack, order=1)
        check_derivatives(lambda a: sl.lu_solve(sl.lu_factor(a), B), stack, order=1)


def test_the_rest_is_scipys():
    assert sl.hilbert is scipy.linalg.hilbert
    assert sl.solve.__doc__ == scipy.linalg.solve.__doc__
    assert "solve" in dir(sl)
    with pytest.raises(AttributeError):
        _ = sl.no_such_thing


LOW_RANK = {
    "qr": (lambda q, r: q @ r, 0),
    "rq": (lambda r, q: r @ q, 1),
    "svd": (lambda u, s, vh: (u * s) @ vh, 2),
    "schur": (lambda t, z: z @ t @ z.conj().T, 1),
    "eigh": (lambda w, v: (v * w) @ v.conj().T, 1),
}


@pytest.mark.parametrize("name", LOW_RANK)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_factors_of_matrices_of_low_rank(name, dtype):
    product, which = LOW_RANK[name]
    regular = np.array([[2.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0]], dtype)
    for a in (np.zeros((3, 3), dtype), regular):
        factors = linad.linearize(getattr(sl, name), a)[0]
        unitary = factors[which]
        assert unitary.dtype == dtype
        np.testing.assert_allclose(product(*factors), a, atol=1e-6)
        np.testing.assert_allclose(unitary @ unitary.conj().T, np.eye(3), atol=1e-6)


ERRORS = {
    "qr-mode": (lambda a: sl.qr(a, mode="raw"), UnsupportedError),
    "rq-tall": (lambda a: sl.rq(a[:, :2]), UnsupportedError),
    "rq-full": (lambda a: sl.rq(a[:2]), UnsupportedError),
    "cb-shape": (lambda a: sl.cho_solve_banded((a[0], True), b), ShapeError),
    "rank": (lambda a: sl.pinv(a, return_rank=True), UnsupportedError),
    "eigh-type": (lambda a: sl.eigh(a, S, type=4), ValueError),
    "eig-left": (lambda a: sl.eig(a, S, left=True), UnsupportedError),
    "solve-shape": (lambda a: sl.solve(a, np.ones(2)), ValueError),
    "solve-square": (lambda a: sl.solve(a[:2], np.ones(2)), np.linalg.LinAlgError),
    "structure": (lambda a: sl.solve(a, b, assume_a="orthogonal"), ValueError),
    "triangular-shape": (lambda a: sl.solve_triangular(a, np.ones(2)), ValueError),
    "banded-shape": (lambda a: sl.solve_banded((1, 2), a, b), ValueError),
    "lu-square": (lambda a: sl.lu(a[:2]), UnsupportedError),
    "finite": (lambda a: sl.inv(a * np.inf), ValueError),
    "exponent": (lambda a: sl.fractional_matrix_power(S, a[0, 0]), UnsupportedError),
    "not-traced": (lambda a: sl.qz(a, a), LinadError),
    "schur-output": (lambda a: sl.schur(a, "whole"), ValueError),
    "hessenberg-made": (lambda a: sl.hessenberg(np.triu(a)), DegenerateError),
    "ldl-square": (lambda a: sl.ldl(a[:2]), np.linalg.LinAlgError),
    "ldl-stack": (lambda a: sl.ldl(a[None]), ShapeError),
    "hessenberg-stack": (lambda a: sl.hessenberg(a[None]), ShapeError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    f, error = ERRORS[name]
    with pytest.raises(error):
        linad.linearize(f, A)


def test_eigenvalues_of_a_pair():
    """In SciPy's order and with its signs; complex vectors have a phase that nothing tells."""
    A, B = rng.standard_normal((4, 4)), rng.standard_normal((4, 4)) + 4 * np.eye(4)
    S, P = A + A.T, B @ B.T
    for f, a, b in (
        (lambda a, b: sl.eigvals(a, b), A, B),
        (lambda a, b: sl.eig(a, b, right=False), S, P),
        (lambda a, b: sl.eig(a, b)[0], S, P),
        (lambda a, b: sl.eig(a, b)[1], S, P),
    ):
        found = linad.linearize(f, a, b)[0]
        np.testing.assert_allclose(found, f(a, b), rtol=1e-9, atol=1e-12)
        assert found.dtype == f(a, b).dtype
        check_derivatives(f, a, b)
    turn = np.kron(np.eye(2), np.array([[0.0, 1.0], [-1.0, 0.2]])) + 0.1 * A
    with pytest.raises(UnsupportedError, match="complex eigenvectors"):
        linad.linearize(lambda a: sl.eig(a, P)[0], turn)
    with pytest.raises(UnsupportedError, match="eigenvalues meet"):
        linad.linearize(lambda a: sl.eigvals(a, np.eye(4)), np.diag([1.0, 1.0, 2.0, 3.0]))


def test_a_function_of_a_matrix_that_closes_over_a_traced_value():
    def f(m, p):
        return m.funm(A, lambda x: np.exp(p * x))

    p = np.array(0.3)
    np.testing.assert_allclose(linad.linearize(lambda p: f(sl, p), p)[0], f(scipy.linalg, p))
    np.testing.assert_allclose(linad.jacobian(lambda p: f(sl, p))(p), A @ scipy.linalg.expm(p * A))


def test_what_balances_is_in_scipys_words():
    a = np.triu(A) * [1.0, 64.0, 0.01]
    expected = scipy.linalg.matrix_balance(a, separate=True)
    made = []

    def f(a):
        made[:] = sl.matrix_balance(a, separate=True)
        return made[0]

    np.testing.assert_array_equal(linad.linearize(f, a)[0], expected[0])
    for found, known in zip(made[1], expected[1], strict=True):
        np.testing.assert_array_equal(found, known)
        assert found.dtype == known.dtype


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
@pytest.mark.parametrize("start", [np.array([[1, 0.1], [0, 1]]), np.array([[0, 1.0], [0, 0]])])
def test_riccati_equations_of_systems_at_the_edge_of_stability(kind, start):
    """The derivative is that of Lyapunov's equation for the closed loop, which is stable."""
    a, b, r = start, np.array([[0.0], [0.1]]), np.array([[0.9]])
    dq = np.array([[1.0, 0.2], [0.2, -0.5]])

    def solution(q):
        return getattr(sl, f"solve_{kind}_are")(a, b, q, r)

    q = np.diag([1.2, 0.7])
    X, moved = linad.jvp(solution, (q,), (dq,))
    np.testing.assert_allclose(X, solution(q), rtol=1e-10)
    if kind == "discrete":
        closed = a - b @ np.linalg.solve(r + b.T @ X @ b, b.T @ X @ a)
        expected = scipy.linalg.solve_discrete_lyapunov(closed.T, dq)
    else:
        closed = a - b @ np.linalg.solve(r, b.T @ X)
        expected = scipy.linalg.solve_continuous_lyapunov(closed.T, -dq)
    np.testing.assert_allclose(moved, expected, rtol=1e-7)
    np.testing.assert_allclose(linad.jit(solution)(q), X, rtol=1e-10)


ASSUMED = ("gen", "sym", "her", "pos", "upper triangular", "lower triangular")


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("assumed", ASSUMED)
def test_what_is_assumed_of_a_matrix_is_read_and_refused_as_by_scipy(assumed, lower):
    """Of matrices of which one triangle holds anything, and of some that are not so."""
    given = np.random.default_rng(4).standard_normal((4, 4))
    definite, right = given @ given.T + np.eye(4), given[0]
    matrices = [given, definite, np.triu(definite) + np.tril(given, -1)]
    matrices += [np.tril(definite) + np.triu(given, 1), np.stack([definite, 2 * definite])]
    calls = [
        lambda m, a: m.solve(a, right, assume_a=assumed, lower=lower),
        lambda m, a: m.solve(a, right, assume_a=assumed, lower=lower, transposed=True),
        lambda m, a: m.inv(a, assume_a=assumed, lower=lower),
    ]
    if "assume_a" not in inspect.signature(scipy.linalg.inv).parameters:  # before SciPy 1.17
        calls.pop()
        matrices.pop()  # a stack
    for a in matrices:
        for call in calls:
            traced = functools.partial(call, sl)
            try:
                expected = call(scipy.linalg, a)
            except np.linalg.LinAlgError:
                with pytest.raises(np.linalg.LinAlgError):
                    linad.linearize(traced, a)
                continue
            np.testing.assert_allclose(linad.linearize(traced, a)[0], expected, atol=1e-9)
