"""The last vectors of full decompositions: their space has derivatives."""

import numpy as np
import pytest

import linad
from linad.rules.linalg import adjoint
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)


def projector(vectors):
    return vectors @ adjoint(vectors)


@pytest.mark.parametrize("shape", [(3, 2), (5, 2), (2, 4), (2, 5, 3)], ids=repr)
@pytest.mark.parametrize("dtype", [float, complex])
def test_the_space(shape, dtype):
    a = rng.standard_normal(shape).astype(dtype)
    if dtype is complex:
        a = a + 1j * rng.standard_normal(shape)
    n = min(shape[-2:])
    found = linad.linearize(np.linalg.svd, a)[0]
    for mine, theirs in zip(found, np.linalg.svd(a), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-13)
    if shape[-2] < shape[-1]:
        check_derivatives(lambda a: projector(adjoint(np.linalg.svd(a)[2])[..., n:]), a)
        return
    check_derivatives(lambda a: projector(np.linalg.svd(a)[0][..., n:]), a)
    found = linad.linearize(lambda a: np.linalg.qr(a, "complete"), a)[0]
    for mine, theirs in zip(found, np.linalg.qr(a, "complete"), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-13)
    check_derivatives(lambda a: projector(np.linalg.qr(a, "complete")[0][..., n:]), a)


@pytest.mark.parametrize("shape", [(5, 2), (2, 5, 3), (4, 1), (3, 0)], ids=repr)
@pytest.mark.parametrize("dtype", [float, complex])
def test_every_column_of_a_complete_q(shape, dtype):
    """It is LAPACK's, whose reflections have derivatives."""
    a = rng.standard_normal(shape).astype(dtype)
    if dtype is complex:
        a = a + 1j * rng.standard_normal(shape)
    check_derivatives(lambda a: tuple(np.linalg.qr(a, "complete")), a)


def test_a_reflection_that_lapack_leaves_out():
    """Of a column that is zero below: LAPACK's basis jumps there, its space does not."""
    a = rng.standard_normal((5, 2))
    a[1:, 0] = 0
    J = linad.linearize(lambda a: projector(np.linalg.qr(a, "complete")[0][:, 2:]), a)[1]
    moved = linad.linearize(lambda a: -projector(np.linalg.qr(a)[0]), a)[1]
    np.testing.assert_allclose(J.todense(), moved.todense(), atol=1e-13)


@pytest.mark.usefixtures("kernels")
def test_a_complete_q_under_jit():
    def f(a):
        return np.sum(np.linalg.qr(a, "complete")[0][:, 2:] ** 3)

    compiled = linad.jit(linad.grad(f))
    for point in rng.standard_normal((4, 5, 2)):
        np.testing.assert_allclose(compiled(point), linad.grad(f)(point), atol=1e-13)


@pytest.mark.usefixtures("kernels")
def test_a_single_vector_is_determined():
    """That it is orthogonal to the others and of length 1 determines how it moves."""
    f = linad.grad(lambda a: np.sum(np.linalg.svd(a)[0][:, 2] ** 3))
    a = rng.standard_normal((3, 2))
    check_derivatives(lambda a: np.linalg.svd(a)[0][:, 2], a)
    compiled = linad.jit(f)
    for point in (a, a, a, a + 0.1):
        np.testing.assert_allclose(compiled(point), f(point), atol=1e-13)
