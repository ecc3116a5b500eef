"""Subspaces, banded eigenvalue problems and matrices of a form of linad.scipy.linalg."""

import numpy as np
import pytest
import scipy.linalg

import linad
from linad.errors import ArgumentError, DegenerateError, ShapeError, UnsupportedError
from linad.scipy import linalg
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
A, B, S = rng.standard_normal((5, 2)), rng.standard_normal((5, 3)), rng.standard_normal((4, 4))
BAND = rng.standard_normal((2, 5)) + np.array([[0.0], [6.0]])
D, E = rng.standard_normal(4), rng.standard_normal(3)


def projector(vectors):
    return vectors @ vectors.conj().T


CASES = {
    "null_space": (lambda m, a: projector(m.null_space(a.T)), A),
    "null_space-complex": (lambda m, a: projector(m.null_space(a.T + 1j * a[::-1].T)), A),
    "orth": (lambda m, a: projector(m.orth(a)), A),
    "orth-rank": (lambda m, a: projector(m.orth(a, rcond=0.9)), A),
    "procrustes": (lambda m, a, b: m.orthogonal_procrustes(a, b)[0], B, B[::-1] ** 2),
    "procrustes-scale": (lambda m, a, b: m.orthogonal_procrustes(a, b)[1], B, B[::-1] ** 2),
    "angles": (lambda m, a, b: m.subspace_angles(a, b), A, B),
    "angles-small": (lambda m, a: m.subspace_angles(A, a), A + 0.01 * A**2),
    "tridiagonal": (lambda m, d, e: m.eigh_tridiagonal(d, e)[1], D, E),
    "tridiagonal-values": (lambda m, d, e: m.eigvalsh_tridiagonal(d, e, "i", (1, 2)), D, E),
    "banded": (lambda m, b: m.eigvals_banded(b), BAND),
    "banded-lower": (lambda m, b: m.eig_banded(b[::-1], lower=True)[1], BAND),
    "banded-complex": (lambda m, b: m.eigvals_banded(b + np.array([[1j], [0]]) * b[::-1]), BAND),
    "pinvh": (lambda m, s: m.pinvh(s @ s.T), S),
    "eig": (lambda m, s: np.abs(m.eig(s)[0]) ** 2, S),
    "eig-values": (lambda m, s: m.eig(s, right=False) ** 2, S),
    "solveh": (lambda m, b, x: m.solveh_banded(b, x), BAND, A),
    "solveh-lower": (lambda m, b, x: m.solveh_banded(b[::-1], x, lower=True), BAND, A[:, 0]),
    "solveh-complex": (
        lambda m, b, x: m.solveh_banded(b + np.array([[1j], [0]]), x),
        *(BAND, A + 1j),
    ),
    "companion": (lambda m, d: m.companion(d), D),
    "leslie": (lambda m, d, e: m.leslie(d, e), D, E),
    "fiedler": (lambda m, d: m.fiedler(d), D),
    "matmul_toeplitz": (lambda m, d, s: m.matmul_toeplitz((d, d * d[0]), s), D, S),
}


@pytest.mark.parametrize("name", CASES)
def test_traces(name):
    f, *args = CASES[name]
    expected = f(scipy.linalg, *args)
    found = linad.linearize(lambda *a: f(linalg, *a), *args)[0]
    for mine, theirs in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)
    check_derivatives(lambda *a: f(linalg, *a), *args)


@pytest.mark.usefixtures("kernels")
def test_compiled():
    f = linad.jit(linad.grad(lambda a: np.sum(projector(linalg.null_space(a.T)) ** 3)))
    eager = linad.grad(lambda a: np.sum(projector(linalg.null_space(a.T)) ** 3))
    for a in (A, A, A, A + 0.1):
        np.testing.assert_allclose(f(a), eager(a), atol=1e-13)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda a: linalg.null_space(np.stack([a, a])), ShapeError, "one matrix"),
        (lambda a: linalg.orthogonal_procrustes(a, a[1:]), ShapeError, "one shape"),
        (lambda a: linalg.orthogonal_procrustes(a[:1], 1j * a[:1]), DegenerateError, "has rank 1"),
        (lambda a: linalg.subspace_angles(a, a[1:]), ShapeError, "rows"),
        (lambda a: linalg.eigh_tridiagonal(a[0], a[0]), ShapeError, "n - 1"),
        (lambda a: linalg.eigvalsh_tridiagonal(a[:, 0], a[1:, 0], "v"), UnsupportedError, "'i'"),
        (lambda a: linalg.eig_banded(a), ShapeError, "u < n"),
        (lambda a: linalg.solveh_banded(a, a), ShapeError, "solveh_banded"),
        (lambda a: linalg.companion(a[0, :1]), ArgumentError, "at least 2"),
        (lambda a: linalg.leslie(a[0], a[0]), ArgumentError, "one less"),
        (lambda a: linalg.eig(a[:2], a[:2], left=True), UnsupportedError, "left"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        linad.linearize(call, A)
