"""The diagonal of a Cholesky factor: one inverse in place of a product and two solutions."""

import numpy as np
import pytest

import linad
from linad.sweeps.cpu import factor_derivatives


def weighted(a, w):
    """At w = 1 half the logarithm of a determinant."""
    return np.sum(w * np.log(np.diagonal(np.linalg.cholesky(a))))


def matrix(n, dtype="d"):
    a = np.random.default_rng(n).normal(size=(n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


def weights(n, kind):
    w = np.random.default_rng(n).normal(size=n)
    if kind == "mixed":
        return w
    w = np.sign(w[0]) * abs(w)
    w[n // 2] = {"alike": w[0], "zero": 0.0}.get(kind, float(kind) if kind[0] in "-in" else 0)
    return w


gradient = linad.grad(weighted)
SIZES = (1, 2, 9, *[pytest.param(n, marks=pytest.mark.full) for n in (3, 14)])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype, rtol", [("d", 1e-11), ("f", 2e-3)])
@pytest.mark.parametrize("n", SIZES)
def test_weighted(n, dtype, rtol, monkeypatch):
    """L^-T diag(w / 2) L^-1: weights of one sign, of both, and ones that are not finite."""
    monkeypatch.setattr(factor_derivatives, "LEAF", 3)
    check_weighted(n, dtype, rtol)


@pytest.mark.rest
@pytest.mark.parametrize("n", [64, 65, 257])
def test_large(n):
    check_weighted(n, "d", 1e-11)


def check_weighted(n, dtype, rtol):
    jitted, a = linad.jit(gradient), matrix(n, dtype)
    for kind in ("alike", "mixed", "zero", "nan", "inf", "-inf"):
        w = weights(n, kind).astype(dtype)
        with np.errstate(all="ignore"):
            found, expected = [jitted(a, w) for _ in range(3)][-1], gradient(a, w)
        np.testing.assert_allclose(found, expected, rtol, rtol / 100, err_msg=kind)
        if np.isfinite(w).all():
            inverse = np.linalg.inv(np.linalg.cholesky(a.astype("d")))
            np.testing.assert_allclose(found, (0.5 * w * inverse.T) @ inverse, rtol, rtol / 100)
    if n > 1:
        steps = [step.name for step in linad.explain(jitted)(a, w).steps]
        assert any("lauum" in name for name in steps)
        assert not any("trsm" in name for name in steps)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, w: np.sum(w * np.diagonal(np.linalg.cholesky(a, upper=True))),
        lambda a, w: np.trace(np.linalg.cholesky(a)) + np.sum(w),
    ],
    ids=["an upper factor", "a known cotangent"],
)
def test_others_have_a_diagonal_too(f):
    a, w = matrix(6) + 0.1 * np.triu(matrix(6), 1), weights(6, "mixed")
    jitted = linad.jit(linad.grad(f))
    found = [jitted(a, w) for _ in range(3)][-1]
    np.testing.assert_allclose(found, linad.grad(f)(a, w), rtol=1e-11, atol=1e-13)
    assert any("lauum" in step.name for step in linad.explain(jitted)(a, w).steps)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, w: np.sum(w * np.linalg.cholesky(a)[:, 0]),
        lambda a, w: weighted(a, w) + np.linalg.cholesky(a)[1, 0],
        lambda a, w: np.sum(np.diagonal(np.linalg.cholesky(a), offset=-1)),
    ],
    ids=["a column", "an entry besides", "another diagonal"],
)
def test_others_are_solved(f):
    a, w = matrix(6), weights(6, "mixed")
    jitted = linad.jit(linad.grad(f))
    found = [jitted(a, w) for _ in range(3)][-1]
    np.testing.assert_allclose(found, linad.grad(f)(a, w), rtol=1e-11, atol=1e-13)
    assert any("trsm" in step.name for step in linad.explain(jitted)(a, w).steps)


def test_second_derivatives():
    a, w, v = matrix(4), weights(4, "mixed"), matrix(4)
    product = linad.jvp(lambda a: gradient(a, w), (a,), (v,))[1]
    jitted = linad.jit(lambda a: linad.jvp(linad.jit(gradient), (a, w), (v, 0 * w))[1])
    step = 1e-6
    near = (gradient(a + step * v, w) - gradient(a - step * v, w)) / (2 * step)
    np.testing.assert_allclose(product, near, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose([jitted(a) for _ in range(3)][-1], product, rtol=1e-11, atol=1e-13)
