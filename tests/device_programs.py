"""Programs that a GPU's kernels compute whole, with arguments."""

import numpy as np

import linad

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=500), RNG.normal(size=(7, 60, 3))
Z = X[:40] + 1j * X[40:80]

CASES = {
    "chain": (lambda x: np.sin(x) * np.exp(-x), X),
    "single": (lambda x: np.tanh(x) * x + 1, X.astype(np.float32)),
    "complex": (lambda z: (z * z + 1, np.conj(z), z.real, np.abs(z) > 1), Z),
    "integers": (lambda x: (np.argmax(x), (x > 0) & (x < 1), np.count_nonzero(x > 0)), X),
    "broadcast": (lambda y: y * y[0] + y[:, :1] - y[..., :1], Y),
    "strides": (lambda y: y[::2, ::-1].T + y.T[:, :, ::2], Y),
    "sums": (lambda y: [np.sum(y, a) for a in (0, 1, 2, (0, 2), (0, 1, 2))], Y),
    "extremes": (lambda y: (np.max(y, 1), np.min(y), np.any(y > 2, 0), np.prod(y, 2)), Y),
    "long sums": (lambda x: (np.sum(np.tile(x, 30)), np.count_nonzero(np.tile(x, 30) > 0)), X),
    "along": (lambda y: (np.cumsum(y, 1), np.cumprod(y[:, :4], 1), np.argmin(y, 0)), Y),
    "products": (lambda y: (y[0] @ y[1].T, y[:, :3] @ y[0, :3], y[0, 0] @ y[0, 1], y @ y[0, 0]), Y),
    "moves": (
        lambda y: (np.concatenate([y[0], y[1]]), np.pad(y[0], 2), np.roll(y, 3), y[[2, 0]]),
        Y,
    ),
    "orders": (
        lambda x: (
            np.argsort(x[:70], stable=True),
            np.searchsorted(np.linspace(-1, 1, 9), x, side="right"),
            np.digitize(x, np.array([1.0, 0.0, -2.0])),
            np.unique(np.rint(x), return_counts=True)[1],
        ),
        X,
    ),
    "composed": (
        lambda y: (np.convolve(y[0, :, 0], y[1, :4, 0]), np.cross(y[0], y[1]), np.round(y[2], 2)),
        Y,
    ),
}


def oscillators(y, k, h):
    """Heun's method for y'' = -k y, an oscillator a lane; the step is the same for all."""

    def slope(y):
        return np.stack([y[1], -k * y[0]])

    def step(y, _):
        a = slope(y)
        return y + h * (a + slope(y + h * a)) / 2, y[0]

    return linad.scan(step, y, length=5)


def relaxed(y, k):
    """As long as a clock says so."""

    def step(state):
        y, t = state
        return y / 2 + k * np.sin(y), t + 0.2

    return linad.while_loop(lambda state: state[1] < 1, step, (y, 0.0))


def alternating(y, k):
    """One of two steps, by the number of the repetition."""

    def step(y, j):
        return linad.cond(j > 2, lambda y: y * k, np.sin, y), None

    return linad.scan(step, y, np.arange(5.0))[0]


def nested(y, k):
    """Loops in loops, with rows; and one that decides."""

    def step(y, _):
        y = linad.fori_loop(0, 3, lambda j, y: np.sin(y) * k + j, y)
        return relaxed(y, k)[0], np.sum(y, axis=0)

    return linad.scan(step, y, length=4)


def gradient(f):
    """The gradient of the sum of the squares of all results."""

    def total(*args):
        leaves = linad.core.tree.flatten(f(*args))[0]
        return sum([np.sum(v * v) for v in leaves])

    return lambda *args: linad.grad(total, argnums=tuple(range(len(args))))(*args)


LANES = 11
ENSEMBLE = RNG.normal(size=(2, LANES)), RNG.normal(size=LANES)
STEP = np.float64(0.1)

LOOPS = {
    "oscillators": (oscillators, *ENSEMBLE, STEP),
    "gradient of oscillators": (gradient(oscillators), *ENSEMBLE, STEP),
    "relaxed": (relaxed, *ENSEMBLE),
    "gradient of alternating": (gradient(alternating), *ENSEMBLE),
    "nested": (nested, *ENSEMBLE),
    "recurrence": (lambda x: linad.scan(lambda c, x: (np.sin(c) + x, c), 0.5, x), ENSEMBLE[1]),
}
"""Loops, a thread a lane."""
