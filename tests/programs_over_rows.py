"""Functions of parameters and of an array with a row an observation."""

import numpy as np

D = 5


def mixture(m, q, x):
    """A sum of exponentials for each row: a product with a stack of matrices, two reductions."""
    z = (x[None, :, :] - m[:, None, :]) @ np.swapaxes(q, 1, 2)
    t = -0.5 * np.sum(z * z, axis=2)
    top = np.max(t, axis=0)
    return np.sum(top + np.log(np.sum(np.exp(t - top), axis=0)))


def network(m, q, x):
    h = np.tanh(x @ q[0] + m[0])
    h = np.concatenate([h, x[:, 1:3]], axis=1) @ np.concatenate([q[1], q[2, :2]], axis=0)
    return np.sum(np.logaddexp(h, m[1]) * h[:, ::-1])


def layers(m, q, x):
    return np.sum(np.tanh(np.tanh(x @ q[0] + m[0]) @ q[1]) @ m[1])


def stacks(m, q, x):
    """Matrices of a row each."""
    a = x[:, :, None] * m[0] + np.cos(x)[:, None, :]
    b = a @ q[1] @ np.swapaxes(a, 1, 2)
    return np.sum(b[:, 0, :] * np.sum(b, axis=2)) + np.sum(a @ x[:, :, None])


def two_groups(m, q, x):
    """The second group needs a total of the first, and rows of it."""
    w = np.exp(x @ m[0])
    p = w / np.sum(w)
    return np.sum(p * np.sin(x @ m[1])) + np.max(p) * np.prod(1 + 0.01 * p)


def columns(m, q, x):
    """Rows along the last axis."""
    y = x.T * m[0][:, None]
    z = q[0] @ np.reshape(y, (1, D, -1)) + q[:2, :, :1]
    return np.sum(z, axis=(0, 1)), np.sum(z * z, axis=2), np.transpose(z, (2, 0, 1))


def written(m, q, x):
    y = np.empty_like(x)
    y[:, 0] = np.sin(x[:, 1])
    y[:, 1:] = x[:, : D - 1] * m[0][: D - 1]
    y[:, 2] *= y[:, 0]
    return np.sum(y @ q[0], axis=1), y


def totals(m, q, x):
    big = x > 0.3
    return (
        *[np.sum(x * m[0], axis=0), np.max(x, axis=0), np.min(np.abs(x)), np.prod(x, axis=(0, 1))],
        *[np.all(big, axis=0), np.any(big, axis=1), np.count_nonzero(big, axis=0)],
        *[x.T @ x, x[:, 0] @ x, x[:, 1] @ x[:, 2]],
    )


def repeated(m, q, x):
    """Rows that are all the same, and results that are wider than they are."""
    y = np.broadcast_to(m[0], x.shape) * x
    return np.sum(y * np.broadcast_to(m[:, None], (3, *x.shape)), axis=2), np.sum(y, axis=1)[
        :, None
    ] + y


def neighbours(m, q, x):
    """Rows that are read by other rows as well, and an array that is a row and a whole."""
    y = np.exp(x)
    return np.sum((y[1:] - y[:-1]) ** 2) + np.sum(y @ x.T @ y), np.cumsum(y, axis=0) * x


SCALAR = [mixture, network, layers, stacks, two_groups]
PROGRAMS = [*SCALAR, columns, written, totals, repeated, neighbours]


def arguments(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((3, D)), rng.standard_normal((3, D, D)), rng.standard_normal((n, D))
