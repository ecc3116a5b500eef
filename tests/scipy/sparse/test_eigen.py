"""Some eigenvalues, eigenvectors and singular values, traced in the entries of a matrix."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

import linad
import linad.scipy.sparse as ls
import linad.scipy.sparse.linalg as lsl
from linad.errors import DegenerateError, ShapeError, UnsupportedError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(5)
N, K = 9, 3
START = rng.standard_normal(N)
BAND = scipy.sparse.diags_array(
    [rng.standard_normal(N - 2), 5 + np.arange(N) ** 1.1, rng.standard_normal(N - 2)],
    offsets=[-2, 0, 2],
).tocsr()
TALL = scipy.sparse.random_array((7, 5), density=0.6, rng=np.random.default_rng(2)).tocsr()
WEIGHT = scipy.sparse.diags_array(
    [np.full(N - 1, 0.2), 2.0 + np.arange(N), np.full(N - 1, 0.2)], offsets=[-1, 0, 1]
).tocsc()


def symmetric(m, data):
    """A symmetric matrix: 2 S S^T of a band, plain or traced."""
    A = m.csr_array((data, BAND.indices, BAND.indptr), shape=BAND.shape)
    return A + A.T


def hermitian(m, data):
    A = m.csr_array((data * (1 + 0.3j), BAND.indices, BAND.indptr), shape=BAND.shape)
    return A + A.conj().T


def general(m, data):
    return m.csr_array((data, BAND.indices, BAND.indptr), shape=BAND.shape)


def tall(m, data):
    return m.csr_array((data, TALL.indices, TALL.indptr), shape=TALL.shape)


def projectors(v):
    """What does not depend on the signs of vectors, a plane for each."""
    return v[:, None, :] * np.conj(v[None, :, :])


def eigenvectors(pair):
    return projectors(pair[1])


CASES = {
    "eigsh": (lambda s, A: s.eigsh(A, K, v0=START)[0], symmetric),
    "eigsh-values": (lambda s, A: s.eigsh(A, K, v0=START, return_eigenvectors=False), symmetric),
    "eigsh-smallest": (lambda s, A: s.eigsh(A, 2, which="SA", v0=START)[0], symmetric),
    "eigsh-sigma": (lambda s, A: s.eigsh(A, 2, sigma=17.0, v0=START)[0], symmetric),
    "eigsh-vectors": (lambda s, A: eigenvectors(s.eigsh(A, K, v0=START)), symmetric),
    "eigsh-weight": (lambda s, A: eigenvectors(s.eigsh(A, 2, M=WEIGHT, v0=START)), symmetric),
    "eigsh-complex": (lambda s, A: eigenvectors(s.eigsh(A, 2, v0=START)), hermitian),
    "eigsh-complex-values": (lambda s, A: s.eigsh(A, 2, v0=START)[0], hermitian),
    "eigs": (lambda s, A: s.eigs(A, K, v0=START)[0], general),
    "eigs-vectors": (lambda s, A: eigenvectors(s.eigs(A, 2, v0=START)), general),
    "svds": (lambda s, A: s.svds(A, 2, v0=START[:5], return_singular_vectors=False), tall),
    "svds-u": (lambda s, A: projectors(s.svds(A, 2, v0=START[:5])[0]), tall),
    "svds-vh": (
        lambda s, A: projectors(s.svds(A, 2, v0=START[:5], return_singular_vectors="vh")[2].T),
        tall,
    ),
}


def point(build):
    return (TALL if build is tall else BAND).data


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name):
    f, build = CASES[name]
    data = point(build)
    expected = f(scipy.sparse.linalg, build(scipy.sparse, data))
    found = linad.linearize(lambda d: f(lsl, build(ls, d)), data)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    parts = (lambda z: np.stack([z.real, z.imag])) if np.iscomplexobj(expected) else lambda z: z
    check_derivatives(lambda d: parts(f(lsl, build(ls, d))), data)


def test_as_the_dense_matrix_has_it():
    def sparse(d):
        w, v = lsl.eigsh(symmetric(ls, d), 2, v0=START)
        return np.sum(w[0] * v[:, 0] ** 2 * v[:, 1] ** 4)

    def dense(d):
        w, v = np.linalg.eigh(symmetric(ls, d).toarray())
        return np.sum(w[-2] * v[:, -2] ** 2 * v[:, -1] ** 4)

    g, h = [linad.grad(f)(BAND.data) for f in (sparse, dense)]
    np.testing.assert_allclose(g, h, rtol=1e-8, atol=1e-12)
    G, H = [linad.hessian(f)(BAND.data) for f in (sparse, dense)]
    np.testing.assert_allclose(G, H, rtol=1e-7, atol=1e-10)


def test_a_dense_traced_matrix():
    a = BAND.toarray() + BAND.toarray().T
    w, J = linad.linearize(lambda a: lsl.eigsh(a, 2, v0=START)[0], a)
    v = scipy.sparse.linalg.eigsh(a, 2, v0=START)[1]
    np.testing.assert_allclose(
        J.pullback(np.array([0.0, 1.0])), np.outer(v[:, 1], v[:, 1]), rtol=1e-9, atol=1e-12
    )


def test_as_a_program(kernels):
    f = linad.jit(lambda d: lsl.eigsh(symmetric(ls, d), 1, v0=START)[0])
    for scale in (1.0, 1.1, 0.8):
        data = BAND.data * scale + 0.01
        w, v = scipy.sparse.linalg.eigsh(symmetric(scipy.sparse, data), 1, v0=START)
        np.testing.assert_allclose(f(data), w, rtol=1e-9)
    rows, cols = BAND.tocoo().coords
    slope = 2 * v[rows, 0] * v[cols, 0]
    np.testing.assert_allclose(linad.jacobian(f)(data)[0], slope, rtol=1e-8, atol=1e-12)


def test_equal_values_have_no_derivative():
    data = np.array([1.0, 3.0, 3.0, 2.0])

    def f(d):
        A = ls.csr_array((d, (np.arange(4), np.arange(4))), shape=(4, 4))
        return lsl.eigsh(A, 1, v0=START[:4])[0]

    J = linad.linearize(f, data)[1]
    with pytest.raises(DegenerateError, match="eigsh: one eigenvalue is equal to another"):
        J.pullback(np.ones(1))


MASSES = np.linspace(1.0, 2.0, 8)


def chain(m, springs):
    """A chain of eight masses between nine springs."""
    return m.diags_array(
        [springs[:-1] + springs[1:], -springs[1:-1], -springs[1:-1]], offsets=[0, 1, -1]
    ).tocsc()


def consistent(m, masses):
    """A mass matrix with couplings."""
    return m.diags_array([masses, 0.1 * masses[1:], 0.1 * masses[1:]], offsets=[0, 1, -1]).tocsc()


WEIGHTED = {
    "eigsh": lambda m, s, K, M: s.eigsh(K, 2, M=M, sigma=0.0, v0=np.ones(8))[0],
    "eigsh-largest": lambda m, s, K, M: s.eigsh(K, 2, M=M, v0=np.ones(8))[0],
    "eigsh-values": lambda m, s, K, M: s.eigsh(
        K, 2, M=M, sigma=0.0, v0=np.ones(8), return_eigenvectors=False
    ),
    "eigsh-vectors": lambda m, s, K, M: eigenvectors(s.eigsh(K, 2, M=M, sigma=0.0, v0=np.ones(8))),
    "eigsh-dense": lambda m, s, K, M: s.eigsh(K, 2, M=M.toarray(), sigma=0.0, v0=np.ones(8))[0],
    "eigs": lambda m, s, K, M: s.eigs(K, 2, M=M, v0=np.ones(8))[0].real,
    "eigs-sigma": lambda m, s, K, M: s.eigs(K, 2, M=M, sigma=0.1, v0=np.ones(8))[0].real,
    "eigs-vectors": lambda m, s, K, M: eigenvectors(s.eigs(K, 2, M=M, sigma=0.1, v0=np.ones(8))),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_frequencies_move_with_masses(name):
    f, springs = WEIGHTED[name], np.linspace(3.0, 2.0, 9)

    def both(springs, masses):
        return f(ls, lsl, chain(ls, springs), consistent(ls, masses))

    theirs = scipy.sparse
    plain = f(theirs, theirs.linalg, chain(theirs, springs), consistent(theirs, MASSES))
    np.testing.assert_allclose(linad.linearize(both, springs, MASSES)[0], plain, rtol=1e-9)
    check_derivatives(both, springs, MASSES)


def test_masses_alone_move():
    K = chain(scipy.sparse, np.ones(9))
    check_derivatives(lambda m: lsl.eigsh(K, 2, M=np.diag(m), sigma=0.0, v0=np.ones(8))[0], MASSES)


def test_a_frequency_by_its_quotient():
    """dλ = -λ v^T dM v for v^T M v = 1."""
    springs = np.ones(9)
    slope = linad.grad(
        lambda m: lsl.eigsh(
            chain(scipy.sparse, springs), 1, M=ls.diags_array(m).tocsc(), sigma=0.0, v0=np.ones(8)
        )[0][0]
    )(MASSES)
    K = chain(scipy.sparse, springs).toarray()
    w, v = scipy.linalg.eigh(K, np.diag(MASSES))
    np.testing.assert_allclose(slope, -w[0] * v[:, 0] ** 2, rtol=1e-9)


@pytest.mark.parametrize(
    "f, error, words",
    [
        (lambda d: lsl.eigsh(tall(ls, d), 2), ShapeError, "square"),
        (lambda d: lsl.eigsh(np.eye(4), 2, sigma=d[0]), UnsupportedError, "sigma must be plain"),
        (lambda d: lsl.eigsh(np.eye(4), 2, M=tall(ls, d)), ShapeError, "and M"),
        (
            lambda d: lsl.eigsh(scipy.sparse.linalg.aslinearoperator(np.eye(4)), 2, M=tall(ls, d)),
            UnsupportedError,
            "beside a traced value a matrix must be an array",
        ),
        (
            lambda d: lsl.svds(tall(ls, d), 2, return_singular_vectors="v"),
            UnsupportedError,
            "return_singular_vectors",
        ),
    ],
)
def test_refusals(f, error, words):
    with pytest.raises(error, match=words):
        linad.linearize(f, TALL.data)
