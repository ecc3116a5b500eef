"""Neural networks: matrix products, and elementwise functions between them."""

import numpy as np

from .workload import Family, Workload

BATCH = 128


def simple_mlp(W2, W1, Y, X, numpy=np):
    """One hidden layer with rectifiers, and a squared error."""
    R = Y - W2 @ numpy.maximum(W1 @ X, 0.0)
    return numpy.sum(R * R)


def simple_mlp_gradient(W2, W1, Y, X):
    """In all four arguments."""
    H = W1 @ X
    np.maximum(H, 0.0, out=H)
    R = W2 @ H
    np.subtract(Y, R, out=R)
    R *= 2.0
    over_W2 = R @ H.T
    G = W2.T @ R
    G *= H > 0.0
    np.negative(over_W2, out=over_W2)
    np.negative(G, out=G)
    return over_W2, G @ X.T, R, W1.T @ G


def classifier(W1, b1, W2, b2, W3, b3, X, T, numpy=np):
    """784-512-512-10 with tanh, and the cross entropy of a batch; T holds one-hot rows."""
    H = numpy.tanh(X @ W1 + b1)
    H = numpy.tanh(H @ W2 + b2)
    Y = H @ W3 + b3
    M = numpy.max(Y, axis=1, keepdims=True)
    Y = Y - M
    logs = Y - numpy.log(numpy.sum(numpy.exp(Y), axis=1, keepdims=True))
    return -numpy.sum(T * logs) / BATCH


def classifier_value_and_grad(W1, b1, W2, b2, W3, b3, X, T):
    H1 = X @ W1
    H1 += b1
    np.tanh(H1, out=H1)
    H2 = H1 @ W2
    H2 += b2
    np.tanh(H2, out=H2)
    Y = H2 @ W3
    Y += b3
    Y -= np.max(Y, axis=1, keepdims=True)
    E = np.exp(Y)
    S = np.sum(E, axis=1, keepdims=True)
    value = -np.sum(T * (Y - np.log(S))) / len(T)
    G = E / S
    G -= T
    G /= len(T)
    over_W3, over_b3 = H2.T @ G, np.sum(G, axis=0)
    G2 = G @ W3.T
    G2 *= 1 - H2 * H2
    over_W2, over_b2 = H1.T @ G2, np.sum(G2, axis=0)
    G1 = G2 @ W2.T
    G1 *= 1 - H1 * H1
    return value, (X.T @ G1, np.sum(G1, axis=0), over_W2, over_b2, over_W3, over_b3)


def _classifier_arguments(dtype, n=512):
    def make(rng):
        sizes = [(784, n), (n,), (n, n), (n,), (n, 10), (10,)]
        weights = [0.05 * rng.standard_normal(s) for s in sizes]
        X = rng.standard_normal((BATCH, 784))
        T = np.eye(10)[rng.integers(0, 10, BATCH)]
        return tuple([a.astype(dtype) for a in (*weights, X, T)])

    return make


WORKLOADS = [
    Workload(
        "simple_mlp, 128-256-128, batch 70",
        "mlp",
        simple_mlp,
        lambda rng: tuple(
            [rng.standard_normal(s) for s in [(128, 256), (256, 128), (128, 70), (128, 70)]]
        ),
        active=4,
        by_hand={"gradient": simple_mlp_gradient},
    ),
    *[
        Workload(
            f"MLP 784-512-512-10, batch 128, {name}",
            "mlp",
            classifier,
            _classifier_arguments(dtype),
            tasks=("value_and_grad",),
            active=6,
            by_hand={"value_and_grad": classifier_value_and_grad},
            without=("casadi",),
        )
        for name, dtype in (("float64", np.float64), ("float32", np.float32))
    ],
]

FAMILIES = [
    Family(
        "MLP 784-n-n-10, batch 128",
        "mlp",
        classifier,
        lambda n: _classifier_arguments(np.float64, n),
        active=6,
        sizes=(16, 64, 256),
    ),
]
