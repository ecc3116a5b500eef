"""Sparse arrays of SciPy into which adopted code writes traced values."""

import numpy as np
import pytest

import linad
from linad.errors import TracerError, UnsupportedError

SOURCE = """
import numpy as np
import scipy.sparse as sp

PLACES = [0, 1, 2], [1, 2, 0]


def diagonals(x):
    A, B, C = sp.csr_matrix(np.ones((3, 3))), sp.coo_array(np.eye(3)), sp.dia_matrix(np.eye(3))
    A.setdiag(x)
    A.setdiag(x[:2], 1)
    B.setdiag(x**2)
    C.setdiag(values=np.ones(3))
    C.setdiag(x[0], k=-1)
    return (A @ x) * (B @ x) + C @ x


def data(x):
    A, B = sp.csc_matrix(np.arange(9.0).reshape(3, 3)), sp.coo_matrix(np.eye(3))
    A.data[2:5] *= x
    A.data[0] += x[1]
    B.data[1:] = x[:2]
    B.data /= x[0]
    return A @ (B.tocsr() @ x) + B.data


def whole(x):
    A = sp.csr_matrix((np.ones(4), [2, 0, 1, 1], [0, 2, 3, 4]))
    A.data = np.concatenate([x, [2.0]]) ** 2
    A.data[:2] = x[1:]
    A.data *= 3.0
    return A.T @ A @ x


def of_traced(x):
    A = sp.csr_matrix((x, PLACES), shape=(3, 3))
    same, other = A, A.copy()
    A.data *= x[0]
    A.data = A.data**2
    last = A.asformat("csr", copy=True)
    A.data[0] = x[2]
    return A @ x + 2.0 * (same @ x) + 3.0 * (other @ x) + 4.0 * (last @ x)


def then_by_places(x):
    A = sp.csr_matrix((x, PLACES), shape=(3, 3))
    A.data[1] *= 2.0
    A[0, 1] += x[2]
    A[2, 2] = x[0]
    A.setdiag(x[1], -1)
    return A @ x


def inner(A, x):
    A.data *= x


def of_a_caller(x):
    A = sp.csr_array(np.eye(3))
    inner(A, x)
    return A @ x


def plain(x):
    A, B = sp.csr_matrix(np.eye(3)), sp.dia_array(np.eye(3))
    A.data[1] = 3.0
    A.data *= 2
    A.data = np.ones(3) * 4
    A.setdiag([1.0, 2.0, 3.0], 1)
    B.data *= 3.0
    return A @ (B @ x)


class Holder:
    pass


def no_matrix(x):
    holder = Holder()
    holder.data = np.zeros(3)
    holder.data[:] = x
    holder.data *= 2
    holder.data[1] += x[0]
    holder.data = holder.data * x
    return holder.data


def transposed(x):
    A = sp.csr_matrix(np.eye(3))
    B = A.T
    A.data *= x
    return B @ x


def named(x):
    A = sp.csr_matrix(np.eye(3))
    d = A.data
    A.data[:] = x
    return d * x


def given(x):
    d = np.ones(3)
    A = sp.csr_matrix((d, [0, 1, 2], [0, 1, 2, 3]))
    A.data *= x
    return d * x


def listed(x):
    A = sp.csr_matrix(np.eye(3))
    listed = [A]
    A.data = x
    return listed[0] @ x


def diagonal_of_listed(x):
    A = sp.csr_matrix((x, PLACES), shape=(3, 3))
    listed = [A]
    A.setdiag(x**2)
    return listed[0] @ x


def entry_of_listed(x):
    A = sp.csr_matrix((x, PLACES), shape=(3, 3))
    listed = [A]
    A[0, 0] = x[0]
    return listed[0] @ x


def other_format(x):
    A = sp.dia_matrix(np.eye(3))
    A.data *= x[0]
    return A @ x


def in_turn(x):
    A = sp.csr_matrix(np.eye(3))
    A[0, 1] = x[0]
    A.data[0] = x[1]
    return A @ x
"""

TRACED = [
    *("diagonals", "data", "whole", "of_traced", "then_by_places", "of_a_caller"),
    *("plain", "no_matrix", "diagonal_of_listed"),
]
REFUSED = {
    "transposed": "plain NumPy array",
    "named": "plain NumPy array",
    "given": "plain NumPy array",
    "listed": "A.data = v, .* other names",
    "entry_of_listed": "A.i, j. = v .* other names",
    "other_format": "plain NumPy array",
    "in_turn": "in the order of places",
}
X = np.array([0.3, 0.7, 0.45])


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("name", TRACED)
def test_written_as_scipy_writes(installed, kernels, name):
    package = installed(SOURCE)
    f = getattr(package, name)
    expected = np.stack([(f(X + d) - f(X - d)) / 2e-6 for d in 1e-6 * np.eye(3)], -1)
    value = f(X)
    with linad.adopt(package.__name__):
        y, J = linad.linearize(f, X)
        np.testing.assert_allclose(y, value, rtol=1e-14)
        np.testing.assert_allclose(J @ np.eye(3), expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(linad.jit(f)(X), value, rtol=1e-14)
        np.testing.assert_array_equal(f(X), value)
    assert type(f(X)) is type(value)


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_other_names_is_refused(installed, name):
    package = installed(SOURCE)
    with (
        linad.adopt(package.__name__),
        pytest.raises((TracerError, UnsupportedError), match=REFUSED[name]),
    ):
        linad.jacobian(getattr(package, name))(X)
