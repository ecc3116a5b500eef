"""linad.scipy.sparse.written: entries that are written into sparse arrays, in adopted code."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import linad
from linad.errors import ShapeError, TracerError
from linad.testing.derivative_checks import check_derivatives

pytestmark = pytest.mark.usefixtures("adopting")

X = np.array([1.3, 0.7, 2.1, 0.4])


def diffusion(x):
    """Assembled entry by entry, with a boundary condition that takes a row back."""
    n = len(x)
    A = scipy.sparse.lil_matrix((n, n))
    for i in range(n):
        if i > 0:
            A[i, i - 1] = -x[i]
        if i < n - 1:
            A[i, i + 1] = -(x[i] ** 2)
        A[i, i] += 4.0
        A[i, i] += x[i]
    A[0, :] = 0
    A[0, 0] = 1
    return scipy.sparse.linalg.spsolve(A.tocsr(), x)


def blocks(x):
    A = scipy.sparse.lil_array((4, 4))
    A[0, :] = x
    A[:, 1] = 2 * x
    A[2:4, 2:4] = np.outer(x[:2], x[:2])
    A.setdiag(x**2)
    A[[0, 1], [2, 3]] = x[0]
    A[-1] = scipy.sparse.coo_array(np.eye(4)[1:2])
    B = A.copy()
    B[3, 3] = x[0]
    parts = [A.tocsc() @ np.arange(4.0), A.T @ x, (2 * B + A).toarray(), A[1:2, 1:].toarray()]
    return np.concatenate([part.ravel() for part in parts])


def keys(x):
    A = scipy.sparse.dok_matrix((4, 4))
    for i in range(4):
        A[i, i] = x[i]
        A[i, (i + 1) % 4] += x[i] ** 2
    return (A.tocsr() * A.tocsr()).diagonal()


def compressed(x):
    A = scipy.sparse.diags([np.ones(3), 2 * np.ones(4)], [-1, 0]).tocsr()
    A[0, 0] = x[0]
    A[-1, -1] += x[1]
    A[2, 2] = x[2] * A[0, 0]
    return A.tocsc() @ x


class Holder:
    """An attribute, which is given back after the trace."""

    def __init__(self):
        self.A = scipy.sparse.lil_matrix((4, 4))

    def product(self, x):
        for i in range(4):
            self.A[i, i] = x[i]
        return self.A.tocsr() @ x


HOLDER = Holder()


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("f", [diffusion, blocks, keys, compressed, HOLDER.product])
def test_writes(f):
    expected = f(X)
    with linad.adopt(__name__):
        np.testing.assert_allclose(linad.linearize(f, X)[0], expected, rtol=1e-13)
        check_derivatives(f, X, order=2)
    assert scipy.sparse.isspmatrix_lil(HOLDER.A)
    np.testing.assert_array_equal(f(X), expected)


@pytest.mark.rest
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("f", [diffusion, compressed])
def test_writes_compile(f, kernels):
    with linad.adopt(__name__):
        g, expected = linad.jit(f), linad.jacobian(f)(1.1 * X)
        for x in (X, 1.1 * X):
            found = linad.jacobian(g)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def wrong_shape(x):
    A = scipy.sparse.lil_matrix((4, 4))
    A[0, :2] = x
    return A @ x


def two_names(x):
    A = scipy.sparse.lil_matrix((4, 4))
    B = A
    A[0, 0] = x[0]
    return B @ x


@pytest.mark.rest
def test_errors():
    with linad.adopt(__name__):
        with pytest.raises(ShapeError, match="does not fit"):
            linad.linearize(wrong_shape, X)
        with pytest.raises(TracerError):
            linad.linearize(two_names, X)
