"""Bratu's equation by Newton-Krylov in loops by hand: what a program of `linad.solve.root` is
measured against. The method is that of `linad.solve.newton_krylov`, vector by vector."""

import math

import numpy as np
from numba import njit


@njit
def residual(u, lam):
    n = u.shape[0]
    r = np.empty_like(u)
    c = lam / (n + 1) ** 2
    for i in range(n):
        for j in range(n):
            s = c * math.exp(u[i, j]) - 4.0 * u[i, j]
            if i > 0:
                s += u[i - 1, j]
            if i < n - 1:
                s += u[i + 1, j]
            if j > 0:
                s += u[i, j - 1]
            if j < n - 1:
                s += u[i, j + 1]
            r[i, j] = s
    return r


@njit
def product(diagonal, v, y):
    n = diagonal.shape[0]
    for i in range(n):
        for j in range(n):
            s = diagonal[i, j] * v[i, j]
            if i > 0:
                s += v[i - 1, j]
            if i < n - 1:
                s += v[i + 1, j]
            if j > 0:
                s += v[i, j - 1]
            if j < n - 1:
                s += v[i, j + 1]
            y[i, j] = s


@njit(fastmath={"reassoc", "contract"})
def dot(a, b):
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


@njit
def gmres(diagonal, b, rtol, restart, most):
    """What GMRES finds for A x = b, the relative residual of it, and the products it took."""
    n = diagonal.shape[0]
    x, r, w = np.zeros(b.size), b.copy(), np.empty(b.size)
    basis = np.empty((restart, b.size))
    R = np.zeros((restart, restart))
    cosines, sines, g = np.zeros(restart), np.zeros(restart), np.zeros(restart)
    h = np.empty(restart + 1)
    size = math.sqrt(dot(b, b))
    reached, products = 1.0, 0
    while reached > rtol and products < most:
        left = math.sqrt(dot(r, r))
        following = r / left
        k = 0
        while k < restart and products + k < most and abs(left) > rtol * size:
            basis[k] = following
            product(diagonal, following.reshape((n, n)), w.reshape((n, n)))
            for i in range(k + 1):
                h[i] = dot(basis[i], w)
                for e in range(w.size):
                    w[e] -= h[i] * basis[i, e]
            length = math.sqrt(dot(w, w))
            for i in range(k):
                top, below = h[i], h[i + 1]
                h[i] = cosines[i] * top + sines[i] * below
                h[i + 1] = cosines[i] * below - sines[i] * top
            hypotenuse = math.hypot(h[k], length)
            cosines[k], sines[k] = h[k] / hypotenuse, length / hypotenuse
            h[k] = hypotenuse
            R[k, : k + 1] = h[: k + 1]
            g[k] = cosines[k] * left
            left = -sines[k] * left
            for e in range(w.size):
                following[e] = w[e] / length
            k += 1
        for j in range(k - 1, -1, -1):
            y = g[j] / R[j, j]
            for i in range(j):
                g[i] -= y * R[j, i]
            for e in range(x.size):
                x[e] += y * basis[j, e]
        product(diagonal, x.reshape((n, n)), w.reshape((n, n)))
        for e in range(r.size):
            r[e] = b[e] - w[e]
        before, reached = reached, math.sqrt(dot(r, r)) / size
        products += k + 1
        if not reached < before:
            break
    return x, reached, products


@njit
def bratu_root(n, lam, ftol, restart, most):
    """The solution from zero, and the number of products with the Jacobian."""
    u = np.zeros((n, n))
    r = residual(u, lam)
    c = lam / (n + 1) ** 2
    before, eta, total = 0.0, 0.5, 0
    while np.abs(r).max() > ftol:
        flat = r.ravel()
        size = math.sqrt(dot(flat, flat))
        if before > 0.0:
            least = 0.9 * eta * eta
            eta = 0.9 * (size / before) ** 2
            if least > 0.1:
                eta = max(eta, least)
            eta = min(eta, 0.9)
        eta = max(eta, min(0.9, 0.5 * ftol / size))
        p, reached, products = gmres(c * np.exp(u) - 4.0, -flat, eta, restart, most)
        total += products
        eta = max(eta, reached)
        before = size
        alpha, half = 1.0, 0.5 * size * size
        while True:
            trial = u + alpha * p.reshape((n, n))
            s = residual(trial, lam).ravel()
            if 0.5 * dot(s, s) <= half * (1.0 - 2e-4 * alpha):
                break
            alpha *= 0.5
        u, r = trial, s.reshape((n, n))
    return u, total
