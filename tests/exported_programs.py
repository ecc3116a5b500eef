"""Programs to export, and their derivatives."""

import numpy as np
import scipy.special
from programs import bundle, heat, hidden_markov, kalman, lstm, mixture, nbody, springs, tridiagonal

import linad
import linad.scipy.linalg

rng = np.random.default_rng(0)


def spd(n):
    a = rng.standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def writes(x, y):
    x = x.copy()
    x[1:3] *= y[0]
    x[::2, 1] = y
    x[[0, 3], [2, 2]] += 1.0
    z = np.zeros((2, 3), like=x)
    z[:] = x[:2] + x[2:]
    return np.sum(z**2) + np.sum(np.where(x > 0, x, 0.1 * x))


def factors(a, b):
    lower = np.linalg.cholesky(a @ a.T + 3 * np.eye(3))
    q, r = np.linalg.qr(a)
    x = linad.scipy.linalg.solve_triangular(lower, b, lower=True)
    y = np.linalg.solve(a, b)
    sign, size = np.linalg.slogdet(a)
    return np.sum(x**2) + np.sum(q @ r) + np.linalg.det(a) * size + y @ b + np.linalg.inv(a)[0, 1]


def statistics(x):
    m = np.median(x) + np.quantile(x, 0.3) + np.var(x) + np.std(x, ddof=1)
    return m + np.sum(np.sort(x)[::2]) + np.linalg.norm(x) + np.prod(x) + np.max(np.cumprod(x))


def signals(x):
    z = np.convolve(x, x[:3])
    return np.sum(np.cumsum(z) ** 2) + np.sum(np.pad(x, 2, mode="reflect")) + np.trapezoid(x)


def specials(x):
    s = scipy.special
    y = s.gammaln(x) + s.erf(x) * s.expit(x) + s.log_ndtr(x) + s.xlogy(x, x) + s.psi(x)
    return np.sum(y) + np.sum(s.i0e(x)) + np.sum(np.arctan2(x, 2)) + np.sum(np.arcsin(x / 3))


def attention(w, x):
    q, k, v = x @ w["q"], x @ w["k"], x @ w["v"]
    s = np.einsum("bid,bjd->bij", q, k) / np.sqrt(k.shape[-1])
    s = s - np.max(s, axis=-1, keepdims=True)
    p = np.exp(s) / np.sum(np.exp(s), axis=-1, keepdims=True)
    return np.mean((p @ v) ** 2)


def spectrum(x):
    y = np.fft.irfft(np.fft.rfft(x) * np.exp(-0.1j * np.arange(x.size // 2 + 1)), x.size)
    z = np.fft.fft(x * np.exp(0.3j * y), norm="ortho")
    return np.sum(np.abs(z[:4]) ** 2 * x[:4]) + np.angle(z[1])


def film(n, k, d):
    index = n + 1j * k
    first, second = (1 - index) / (1 + index), (index - 3.8) / (index + 3.8)
    turn = np.exp(2j * index * d / np.linspace(1.0, 2.0, 5))
    r = (first + second * turn) / (1 + first * second * turn)
    rest = np.zeros(5, complex, like=d)
    rest[1:] = np.sqrt(index) + np.log(index) ** 3
    return np.sum(np.abs(r) ** 2) + np.sum(np.cumsum(rest)).imag


PROGRAMS = {
    "kalman": (
        kalman.log_likelihood,
        (
            {
                "F": 0.5 * rng.standard_normal((3, 3)),
                "H": rng.standard_normal((2, 3)),
                "Q": spd(3),
                "R": spd(2),
                "m": rng.standard_normal(3),
                "P": spd(3),
            },
            rng.standard_normal((3, 2)),
        ),
    ),
    "bundle": (
        lambda c, p: np.sum(bundle.project(p, c) ** 2),
        (
            np.column_stack([rng.standard_normal((6, 5)), np.full(6, 9.0), rng.random((6, 3))]),
            rng.standard_normal((6, 3)),
        ),
    ),
    "heat": (
        lambda u, c: np.sum(heat.diffuse(u, c, 6) ** 2),
        (rng.standard_normal(8), rng.uniform(0.5, 1.5, 7)),
    ),
    "hidden_markov": (
        lambda m: hidden_markov.log_likelihood(m, np.array([0, 3, 1, 1, 2])),
        (
            {
                "start": rng.standard_normal(3),
                "transition": rng.standard_normal((3, 3)),
                "emission": rng.standard_normal((3, 4)),
            },
        ),
    ),
    "lstm": (
        lambda w: lstm.loss(w, np.ones((3, 2, 3)), np.full((2, 4), 0.3)),
        (
            {
                "x": rng.standard_normal((3, 16)),
                "h": 0.5 * rng.standard_normal((4, 16)),
                "b": rng.standard_normal(16),
            },
        ),
    ),
    "mixture": (
        mixture.log_likelihood,
        (
            {
                "logits": rng.standard_normal(3),
                "means": rng.standard_normal((3, 2)),
                "covariances": np.stack([spd(2) for _ in range(3)]),
            },
            rng.standard_normal((7, 2)),
        ),
    ),
    "nbody": (
        lambda x, v, m: np.sum(nbody.simulate(x, v, m, 0.01, 3)[0] ** 2),
        (rng.standard_normal((4, 3)), rng.standard_normal((4, 3)), rng.uniform(0.5, 1.5, 4)),
    ),
    "springs": (
        lambda x: springs.energy(x, np.array([[0.0, 0.0], [1.0, 0.2]]), 0.01, 50.0, 0.15),
        (rng.standard_normal(20),),
    ),
    "tridiagonal": (
        tridiagonal.roughness,
        (rng.random(5), 3 + rng.random(6), rng.random(5), rng.random(6)),
    ),
    "writes": (writes, (rng.standard_normal((4, 3)), rng.standard_normal(2))),
    "factors": (factors, (rng.standard_normal((3, 3)), rng.standard_normal(3))),
    "statistics": (statistics, (rng.standard_normal(7),)),
    "signals": (signals, (rng.standard_normal(8),)),
    "specials": (specials, (1 + rng.random(5),)),
    "attention": (
        attention,
        ({k: rng.standard_normal((4, 5)) for k in "qkv"}, rng.standard_normal((2, 3, 4))),
    ),
    "hessian": (
        lambda x: np.sum(linad.hessian(lambda x: np.sum(np.sin(x) * x**2) * x[0])(x) ** 2),
        (rng.standard_normal(6),),
    ),
    "branches": (lambda x: np.sum(x**2) if x[0] > 0 else np.prod(x), (1 + rng.random(3),)),
    "spectrum": (spectrum, (rng.standard_normal(9),)),
    "film": (film, (np.array(1.46), np.array(0.02), np.array(3.0))),
    "jitted": (linad.jit(lambda x: np.sum(linad.jit(np.sin)(x) * x)), (rng.standard_normal(4),)),
    "single": (lambda x: np.tanh(x) @ x, (rng.standard_normal(4).astype(np.float32),)),
}


def directions(args):
    """A tangent like the arguments."""
    leaves, structure = linad.core.tree.flatten(args)
    moved = [np.cos(np.arange(v.size)).reshape(v.shape).astype(v.dtype) for v in leaves]
    return linad.core.tree.unflatten(structure, moved)


def gradient(f, args):
    return linad.value_and_grad(f, argnums=tuple(range(len(args)))), args


def hessian_product(f, args):
    return lambda x, v: linad.hvp(f, x, v), (args, directions(args))


def tangent(f, args):
    return lambda x, v: linad.jvp(f, x, v), (args, directions(args))


def network(w, x, y):
    h = np.tanh(x @ w["first"] + w["b"])
    p = h @ w["second"]
    p = p - np.max(p, axis=1, keepdims=True)
    log_p = p - np.log(np.sum(np.exp(p), axis=1, keepdims=True))
    return -np.mean(np.sum(y * log_p, axis=1))


NETWORK = {
    "first": rng.standard_normal((3, 4)),
    "second": rng.standard_normal((4, 2)),
    "b": np.zeros(4),
}
