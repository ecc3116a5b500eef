"""Loops and branches to export, each a function of five numbers."""

import numpy as np

import linad

X = np.array([1.0, 0.2, 0.5, 1.2, 0.3])


def steps(x):
    def step(y, _):
        return y + 0.1 * np.sin(x[:2] * y), {"y": y, "norm": np.sum(y * y)}

    y, path = linad.scan(step, np.array([1.0, 2.0]), length=6)
    return np.sum(y * y) + np.sum(path["y"]) + np.prod(path["norm"])


def backwards(x):
    def step(c, r):
        return c * r + 1, {"outer": np.outer(c, c), "row": r}

    c, rows = linad.scan(step, np.ones(2), x[:, None] * np.ones(2), reverse=True)
    return np.sum(c) + np.sum(np.sin(rows["outer"]) * np.arange(5)[:, None, None])


def rows(x):
    return np.sum(linad.map(lambda r: np.exp(r) * x, x))


def nested(x):
    def step(c, r):
        d, _ = linad.scan(lambda d, q: (d + np.sin(q * r) * d, None), c, x)
        return d, d

    c, found = linad.scan(step, x[0], x)
    return c + np.sum(found)


def factors(x):
    def step(P, r):
        P = P + r + np.eye(2)
        L = np.linalg.cholesky(P)
        return L @ L.T / 2, np.linalg.solve(P, np.ones(2))

    P, found = linad.scan(step, np.eye(2), x)
    return np.sum(P) + np.sum(found)


def turns(x):
    def step(z, r):
        z = z * np.exp(1j * r)
        return z, z * z

    z, found = linad.scan(step, x[0] * (1 + 0j), x)
    return np.abs(z) ** 2 + np.sum(found).real


def decided(x):
    def step(c, r):
        return (c + r * r, c * r) if np.sum(c) > 0 else (-c, c)

    c, found = linad.scan(step, 1 + x, x)
    return np.sum(c) + np.sum(found)


def until(x):
    return np.sum(linad.while_loop(lambda y: np.min(y) < 5.0, lambda y: y * 1.1 + np.sin(x), x))


def roots(a):
    def step(state):
        x, k = state
        return x - (x * x - a) / (2 * x), k + 1

    def far(state):
        return np.max(np.abs(state[0] ** 2 - a)) > 1e-13

    x, k = linad.while_loop(far, step, (a, 0), limit=50)
    return np.sum(x) + k


def thinned(x):
    y = linad.while_loop(lambda y: y[0] < 3.0, lambda y: y * (1 + 0.01 * x[1:3]), x[:2] + 0.0)
    return np.sum(y)


def smoothed(u):
    def entry(i, new):
        new[i] = u[i] + 0.2 * (u[i - 1] - 2 * u[i] + u[i + 1])
        return new

    return np.sum(linad.fori_loop(1, len(u) - 1, entry, u * 1.0) ** 2)


def written(u):
    a = np.zeros((5, 2), like=u)
    a[0] = u[:2]
    for i in linad.loop(4):
        a[i + 1] += np.cos(a[i]) * u[i]
    return np.sum(a * a)


def windows(u):
    def entry(i, total):
        return total + np.prod(u[i : i + 2]) * np.sum(np.outer(u, u)[:, i])

    return linad.fori_loop(-5, -2, entry, 0.0)


def one_of_two(x):
    y = np.cos(x)
    z = linad.cond(np.sum(x) > 1.0, lambda x: np.sin(x) * y, lambda x: x**3, x)
    return np.sum(z * z)


def one_of_three(x):
    branches = [lambda c: c * 2, lambda c: np.sin(c), lambda c: c**2]

    def step(c, k):
        c = linad.switch(k, branches, c)
        return c, linad.cond(c[0] > 0.5, lambda: c[0] ** 2, lambda: c[1])

    c, found = linad.scan(step, x, np.array([0, 1, 2, 1, 0]))
    return np.sum(c) + np.sum(found)


LOOPS = {
    f.__name__: f
    for f in (steps, backwards, rows, nested, factors, turns, decided, until, roots, thinned)
}
LOOPS |= {f.__name__: f for f in (smoothed, written, windows, one_of_two, one_of_three)}

OTHERS = {
    "until": (2 * X, 0.3 * X, 9 * X + 5),
    "roots": (3 * X,),
    "one_of_two": (0.1 * X, -X),
    "one_of_three": (-X, 0.4 * X),
}
"""Other points: more or fewer repetitions, none at all, other branches."""
