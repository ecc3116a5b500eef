"""A kernel of `numba.cuda.jit` as a primitive that overwrites its argument, with its rules."""

import numpy as np
from numba import cuda

import linad

RNG = np.random.default_rng(0)
C, A, B = RNG.normal(size=(5, 7)), RNG.normal(size=(5, 3)), RNG.normal(size=(3, 7))


@cuda.jit(device=True)
def entry(a, b, i, j):
    """Of ``a @ b``."""
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    return total


@cuda.jit
def damped(c, a, b):
    """c := c / 2 + sin(a @ b), an entry a thread."""
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = 0.5 * c[i, j] + np.sin(entry(a, b, i, j))


@cuda.jit
def damped_tangent(dc, da, db, y, c, a, b):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        moved = entry(da, b, i, j) + entry(a, db, i, j)
        dc[i, j] = 0.5 * dc[i, j] + np.cos(entry(a, b, i, j)) * moved


def adjoint_in_numpy(c_bar, a_bar, b_bar, y, c, a, b):
    t = np.cos(a @ b) * c_bar
    a_bar += t @ b.T
    b_bar += a.T @ t
    c_bar *= 0.5


@cuda.jit
def damped_adjoint(c_bar, a_bar, b_bar, y, c, a, b):
    """One thread an entry of c; several add to the same entries."""
    first, step = cuda.grid(1), cuda.gridsize(1)
    for at in range(first, c.size, step):
        i, j = at // c.shape[1], at % c.shape[1]
        t = np.cos(entry(a, b, i, j)) * c_bar[i, j]
        for k in range(a.shape[1]):
            cuda.atomic.add(a_bar, (i, k), t * b[k, j])
            cuda.atomic.add(b_bar, (k, j), t * a[i, k])
        c_bar[i, j] *= 0.5


def blocks_of(c, *_):
    return (-(-c.shape[0] // 2), -(-c.shape[1] // 4)), (2, 4)


def made(adjoint, **options):
    f = linad.primitive(damped, writes="c", grid=blocks_of)
    f.tangent(damped_tangent)
    f.adjoint(adjoint, **options)
    return f


FORMS = {
    "numpy": made(adjoint_in_numpy),
    "sums": made(damped_adjoint, grid=((3,), 2)),
}


def loss(g, c, a, b):
    c = c.copy()
    g(c, a, b)
    g(c, 2 * a, b)
    return np.sum(c**2)


def by_numpy(c, a, b):
    c[...] = 0.5 * c + np.sin(a @ b)


EXPECTED = linad.value_and_grad(lambda *args: loss(by_numpy, *args), argnums=(0, 1, 2))(C, A, B)


def gradient(form):
    return linad.value_and_grad(lambda *args: loss(FORMS[form], *args), argnums=(0, 1, 2))
