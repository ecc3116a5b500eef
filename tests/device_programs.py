"""Programs that a GPU's kernels compute whole, with arguments."""

import numpy as np

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
}
