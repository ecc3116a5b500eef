"""`numpy.matrix` around traced values: two axes, and ``*`` is the product of matrices."""

import numpy as np
import pytest
import scipy.sparse

import linad
from linad.errors import UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")

X = np.array([0.3, 0.7])

SOURCE = """
import operator

import numpy as np
from numpy import asmatrix, diag

P = np.matrix([[1.0, 2.0], [3.0, 4.0]])
A = np.ones((2, 2))

def square(x):
    return asmatrix(np.outer(x, x) + np.eye(2))

def of_lists(x):
    M = np.matrix([[x[0], 1.0], [x[1], 2.0]])
    return (M**2 * M.T).sum() * M.I

def left(x):
    return A * asmatrix(x).T + np.ones((2, 2)) * square(x) + x * asmatrix(diag(x))[:, 1]

def plain_ones(x):
    return x * P * asmatrix(x).T + P.dot(x) * P**2 * square(x) - (P + x).T[0, 1]

def elementwise(x):
    return np.multiply(asmatrix(x).T, P) + np.multiply(P, x) + np.multiply(A, square(x))

def entries(x):
    M = square(x)
    rows = [row for row in M]
    return M[:, 0] * M[1] + M.A1.sum() * M[0, 1] + rows[1] * M * M[M > 1.2].mean()

def reductions(x):
    M = square(x)
    ends = M.flatten()[0, :2] + M.ravel()[0, 2:]
    return M.sum(axis=0) + 3 * M.mean(1).T + M.std() * M.max() + ends

def functions(x):
    M = square(x)
    sums = np.sum(M, axis=0) * M + np.diag(M) + np.trace(M)
    return np.linalg.inv(M) * asmatrix(x).T + np.concatenate([sums.T, M.T[:, :1]], axis=1)[:2, 0]

def joined(x):
    return np.bmat([[square(x), P], [P, np.kron(asmatrix(x[:1]), P)]]) * np.vstack((P, square(x)))

def of_arrays(x):
    M = square(x)
    picked = np.where(M > 1.1, M, P) * np.asarray(M)
    return picked + np.einsum("ij,j", P, x) + M.A * M.tolist()[0][1]

def written(x):
    y = asmatrix(np.zeros((2, 2)))
    y[0] = x
    y[1, 1] = x[0]
    y += P
    return y * y

def products(x):
    M = square(x)
    return operator.mul(M, P) + operator.mul(x, P).sum() + 2 * M / 3 + M @ P - np.dot(x, M)

def powers(x):
    return np.outer(x, x) ** P + np.power(square(x), P) + x ** square(x) ** 2

def by_name(x):
    return operator.mul(A, square(x))

def kinds(x):
    M = square(x)
    assert isinstance(M, np.matrix) and type(M) is np.matrix and isinstance(M * P, np.ndarray)
    return M.H * M.getT() * np.linalg.matrix_power(M, 2)
"""

NAMES = [line[4:].partition("(")[0] for line in SOURCE.splitlines() if line.startswith("def ")]
NAMES.remove("by_name")


def check(f, jitted):
    value, steps = f(X), 1e-6 * np.eye(2)
    slopes = np.stack([np.asarray(f(X + h) - f(X - h)) / 2e-6 for h in steps], axis=-1)
    traced = linad.jit(f) if jitted else f
    y, _ = linad.linearize(traced, X)
    assert y.shape == value.shape
    np.testing.assert_allclose(y, value, rtol=1e-13)
    np.testing.assert_allclose(linad.jacobian(traced)(X), slopes, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_matrices(installed, name):
    package = installed(SOURCE)
    with linad.adopt(package.__name__):
        check(getattr(package, name), False)
        assert type(package.square(X)) is np.matrix


def test_a_package_that_sets_another_class(installed, monkeypatch):
    package = installed(SOURCE)
    wanted = package.of_lists(X)

    class Other:
        def __init__(self, entries):
            self.entries = np.array(entries)

    with linad.adopt(package.__name__):
        monkeypatch.setattr(np, "matrix", Other)
        np.testing.assert_allclose(linad.linearize(package.of_lists, X)[0], wanted, rtol=1e-13)


@pytest.mark.parametrize("name", ["of_lists", "plain_ones", "functions"])
def test_recorded(installed, name):
    package = installed(SOURCE)
    with linad.adopt(package.__name__):
        check(getattr(package, name), True)


PLAIN = {
    "P * x": lambda x, P: P * x.reshape(2, 1),
    "x * P": lambda x, P: x * P * x.reshape(2, 1),
    "dot": lambda x, P: np.dot(P, x) * np.outer(x, x),
    "concatenate": lambda x, P: np.concatenate([P, np.outer(x, x)]).T * (P + x).sum(axis=1)[0, 0],
    "multiply": lambda x, P: np.multiply(P, x) * np.multiply(x, P),
    "subclass": lambda x, P: x * P.view(Own) * x.reshape(2, 1) + np.dot(P.view(Own), x).sum(),
}


class Own(np.matrix):
    """A class of the user's."""


@pytest.mark.parametrize("name", PLAIN)
def test_plain_matrices_in_code_that_is_not_adopted(name):
    check(lambda x: PLAIN[name](x, np.matrix([[1.0, 2.0], [3.0, 4.0]])), False)


def test_a_product_by_the_name_of_the_operator_raises(installed):
    """Of an array on the left: it reaches a matrix as `numpy.multiply` does."""
    package = installed(SOURCE)
    with linad.adopt(package.__name__), pytest.raises(UnsupportedError, match="A @ M"):
        linad.jacobian(package.by_name)(X)


def test_arguments_are_arrays():
    with pytest.raises(UnsupportedError, match="argument 0 is a matrix"):
        linad.linearize(lambda M: M * M, np.matrix(np.eye(2)))


SPARSE = scipy.sparse.csr_matrix([[1.0, 2.0], [0.0, 3.0]])
WITH_SPARSE = """
import numpy as np

class Own(np.ndarray):
    pass

def left(x, A):
    return A * np.asmatrix(x).T

def right(x, A):
    return np.asmatrix(x) * A

def both(x, A):
    return np.asmatrix(x) @ A @ np.asmatrix(np.outer(x, x)) * A.T * np.asmatrix(x).T

def method(x, A):
    return A.dot(np.asmatrix(np.outer(x, x)))

def of_class(x, A):
    return A @ x.view(Own) + x.view(Own) @ A + A * x.view(Own)
"""


@pytest.mark.parametrize("name", ["left", "right", "both", "method", "of_class"])
def test_products_with_plain_sparse_matrices(installed, name):
    package = installed(WITH_SPARSE)
    f = getattr(package, name)
    kinds = []

    def traced(x):
        kinds.append((y := f(x, SPARSE)).shape)
        return y

    with linad.adopt(package.__name__):
        check(lambda x: f(x, SPARSE), False)
        check(lambda x: f(x, SPARSE), True)
        linad.linearize(traced, X)
    assert kinds[-1] == f(X, SPARSE).shape


@pytest.mark.parametrize("name", ["matmul", "rmatmul"])
def test_products_with_plain_sparse_arrays_are_arrays(installed, name):
    package = installed(WITH_SPARSE)
    A = scipy.sparse.csc_array(SPARSE)
    shapes = []

    def product(x):
        M = np.asmatrix(x)
        y = A @ M.T if name == "matmul" else M @ A
        shapes.append(((y * y).shape, isinstance(y, np.matrix)))
        return y

    with linad.adopt(package.__name__, product):
        J = linad.jacobian(product)(X)
    dense = A.toarray()
    expected = dense[:, None, :] if name == "matmul" else dense.T[None]
    np.testing.assert_allclose(J, expected)
    product(X)
    assert shapes[0] == shapes[-1]
