"""NumPy's functions of matrices, in the language of kernels."""

import numpy as np

# Array types are those of the call, so there is nothing to annotate.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"


def eye(n):
    out = np.zeros((n, n))
    for k in range(n):
        out[k, k] = 1.0
    return out


def outer(a, b):
    return np.ravel(a)[:, None] * np.ravel(b)


def cross(a, b):
    out = np.empty_like(a * b)
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


def trace(a):
    total = 0.0
    for k in range(min(a.shape[0], a.shape[1])):
        total += a[k, k]
    return total


def diagonal(a):
    out = np.empty(min(a.shape[0], a.shape[1]), a.dtype)
    for k in range(len(out)):
        out[k] = a[k, k]
    return out


def diagonal_matrix(a):
    out = np.zeros((len(a), len(a)), a.dtype)
    for k in range(len(a)):
        out[k, k] = a[k]
    return out


def root(x):
    """The square root, whose slope at 0 is 0, as that of the size of a vector, not infinite."""
    return abs(x) if x == 0.0 else np.sqrt(x)


def norm(a):
    return root(np.sum(a * a))


def tril(m, k=0):
    out = np.zeros(m.shape, m.dtype)
    for i in range(m.shape[0]):
        for j in range(min(max(i + k + 1, 0), m.shape[1])):
            out[i, j] = m[i, j]
    return out


def triu(m, k=0):
    out = np.zeros(m.shape, m.dtype)
    for i in range(m.shape[0]):
        for j in range(max(i + k, 0), m.shape[1]):
            out[i, j] = m[i, j]
    return out


def kron(a, b):
    n, m = b.shape
    out = np.empty((a.shape[0] * n, a.shape[1] * m))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(n):
                for p in range(m):
                    out[i * n + k, j * m + p] = a[i, j] * b[k, p]
    return out


def cholesky(a):
    n = len(a)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j]
            for k in range(j):
                rest -= out[i, k] * out[j, k]
            if i == j:
                assert rest > 0.0, "np.linalg.cholesky: the matrix is not positive definite"
                out[i, i] = np.sqrt(rest)
            else:
                out[i, j] = rest / out[j, j]
    return out


def solve(a, b):
    """Gaussian elimination with row pivots; rows are exchanged by their numbers only."""
    n = len(a)
    left = 1.0 * a
    right = 1.0 * b
    order = np.zeros(n, np.int64)
    for k in range(n):
        order[k] = k
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(left[order[i], k]) > abs(left[order[pivot], k]):
                pivot = i
        order[k], order[pivot] = order[pivot], order[k]
        p = order[k]
        assert left[p, k] != 0.0, "np.linalg.solve: the matrix is singular"
        for i in range(k + 1, n):
            r = order[i]
            factor = left[r, k] / left[p, k]
            for j in range(k + 1, n):
                left[r, j] -= factor * left[p, j]
            right[r] -= factor * right[p]
    out = right.copy()
    for k in range(n - 1, -1, -1):
        p = order[k]
        out[k] = right[p]
        for j in range(k + 1, n):
            out[k] -= left[p, j] * out[j]
        out[k] /= left[p, k]
    return out


def inv(a):
    return np.linalg.solve(a, np.eye(len(a)))


def eliminate(a):
    """Gaussian elimination in the place of a matrix; says the sign of the order of its pivots.

    These come from all that is left: where that is zero, so are both the determinant and, but for
    a last one, the derivative. A column of zeros that is passed over would have one.
    """
    n = len(a)
    sign = 1.0
    for k in range(n):
        row = k
        column = k
        for i in range(k, n):
            for j in range(k, n):
                if abs(a[i, j]) > abs(a[row, column]):
                    row = i
                    column = j
        if row != k:
            sign = -sign
            for j in range(n):
                a[k, j], a[row, j] = a[row, j], a[k, j]
        if column != k:
            sign = -sign
            for i in range(n):
                a[i, k], a[i, column] = a[i, column], a[i, k]
        if a[k, k] != 0.0:
            for i in range(k + 1, n):
                factor = a[i, k] / a[k, k]
                for j in range(k + 1, n):
                    a[i, j] -= factor * a[k, j]
    return sign


def det(a):
    left = 1.0 * a
    value = eliminate(left)
    for k in range(len(left)):
        value *= left[k, k]
    return value


def slogdet(a):
    left = 1.0 * a
    sign = eliminate(left)
    value = 0.0
    for k in range(len(left)):
        sign *= np.sign(left[k, k])
        value += np.log(abs(left[k, k]))
    return sign, value
