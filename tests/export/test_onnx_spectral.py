"""Eigenvalues and singular values in ONNX models, by the reference evaluator."""

import numpy as np
import pytest

import linad
from linad.errors import ExportError
from linad.export.onnx_spectral import rounds

rng = np.random.default_rng(4)
A = rng.standard_normal((5, 5))


@pytest.mark.parametrize("n", [2, 3, 6, 7])
def test_a_sweep_meets_every_pair_once(n):
    table = rounds(n)
    pairs = [(i, p) for row in table for i, p in enumerate(row) if p > i]
    assert sorted(pairs) == [(i, j) for i in range(n) for j in range(i + 1, n)]
    assert all([np.array_equal(row[row], np.arange(n)) for row in table])


def values(a):
    return np.sum(np.linalg.eigvalsh(a) * np.arange(5.0))


def root(a):
    w, v = np.linalg.eigh(a @ a.T + np.eye(5), UPLO="U")
    return np.sum(np.cos((v * np.sqrt(w)) @ v.T))


def nuclear(a):
    return np.linalg.norm(a, "nuc") + np.linalg.norm(a, 2) + np.linalg.cond(a)


def low_rank(a):
    u, s, vh = np.linalg.svd(a[:, :3], full_matrices=False)
    return np.sum(np.sin((u[:, :2] * s[:2]) @ vh[:2]))


def fitted(a):
    return np.sum(np.linalg.lstsq(a[:, :3], a[:, 4])[0] ** 2)


@pytest.mark.parametrize("f", [values, root, nuclear, low_rank, fitted])
def test_gradients(f):
    exported = linad.onnx(linad.value_and_grad(f))(A)
    exported.check(A)
    exported.check(A[::-1].copy() + 0.1)


@pytest.mark.full
@pytest.mark.parametrize("f", [values, root, nuclear, low_rank])
def test_products_with_hessians(f):
    linad.onnx(lambda x, v: linad.hvp(f, (x,), (v,)))(A, np.cos(A)).check()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (2, 4, 4), (3, 1, 5), (6, 2)])
def test_values_of_stacks(shape, dtype):
    def f(a):
        square = a @ np.swapaxes(a, -1, -2)
        return np.linalg.svdvals(a), np.linalg.eigvalsh(square - 2 * np.eye(shape[-2], dtype=dtype))

    linad.onnx(f)(rng.standard_normal(shape).astype(dtype)).check()


def test_equal_and_vanishing_values():
    exported = linad.onnx(lambda a: (np.linalg.eigvalsh(a), np.linalg.svdvals(a)))(np.eye(4))
    for a in (np.eye(4), np.zeros((4, 4)), np.ones((4, 4)), np.diag([3.0, -3.0, 1e-9, 1e9])):
        exported.check(a)


def test_vectors_whose_signs_matter_are_refused():
    with pytest.raises(ExportError, match=r"onnx: eigh at .* depend on the signs of its vectors"):
        linad.onnx(lambda a: np.linalg.eigh(a)[1])(A)
    with pytest.raises(ExportError, match=r"onnx: svd at .* depend on the signs"):
        linad.onnx(lambda a: np.sum(np.linalg.svd(a)[0]))(A)
    with pytest.raises(ExportError, match=r"onnx: eigh at .* in a loop or a branch"):
        linad.onnx(lambda x: linad.map(lambda r: np.linalg.eigvalsh(r * np.eye(2)), x))(np.ones(3))


def test_vectors_with_fixed_signs():
    def f(a):
        v = np.linalg.eigh(a + a.T)[1]
        return v * np.sign(v[0])

    assert linad.onnx(f)(A).check(2 * A) < 1e-13
