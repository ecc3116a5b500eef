"""Neural networks: matrix products, and elementwise functions between them."""

import numpy as np

from .limit import exp, limit, tanh
from .workload import Family, Workload

BATCH = 128


def simple_mlp(W2, W1, Y, X, numpy=np):
    """One hidden layer with rectifiers, and a squared error."""
    R = Y - W2 @ numpy.maximum(W1 @ X, 0.0)
    return numpy.sum(R * R)


@limit
def simple_mlp_gradient(W2, W1, Y, X, over_W2, over_W1, R, over_X):
    """In all four arguments."""
    H = np.dot(W1, X)
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            H[i, j] = max(H[i, j], 0.0)
    np.dot(W2, H, R)
    for i in range(R.shape[0]):
        for j in range(R.shape[1]):
            R[i, j] = 2.0 * (R[i, j] - Y[i, j])
    np.dot(R, H.T, over_W2)
    G = np.dot(W2.T, R)
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            G[i, j] = G[i, j] if H[i, j] > 0.0 else 0.0
    np.dot(G, X.T, over_W1)
    np.dot(W1.T, G, over_X)
    for i in range(R.shape[0]):
        for j in range(R.shape[1]):
            R[i, j] = -R[i, j]


def classifier(W1, b1, W2, b2, W3, b3, X, T, numpy=np):
    """784-512-512-10 with tanh, and the cross entropy of a batch; T holds one-hot rows."""
    H = numpy.tanh(X @ W1 + b1)
    H = numpy.tanh(H @ W2 + b2)
    Y = H @ W3 + b3
    M = numpy.max(Y, axis=1, keepdims=True)
    Y = Y - M
    logs = Y - numpy.log(numpy.sum(numpy.exp(Y), axis=1, keepdims=True))
    return -numpy.sum(T * logs) / BATCH


@limit
def _biased_tanh(H, bias):
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            H[i, j] = tanh(H[i, j] + bias[j])


@limit
def _through_tanh(G, H, over_bias):
    over_bias[:] = 0.0
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            G[i, j] *= 1 - H[i, j] * H[i, j]
            over_bias[j] += G[i, j]


@limit
def classifier_value_and_grad(
    W1, b1, W2, b2, W3, b3, X, T, over_W1, over_b1, over_W2, over_b2, over_W3, over_b3
):
    H1 = np.dot(X, W1)
    _biased_tanh(H1, b1)
    H2 = np.dot(H1, W2)
    _biased_tanh(H2, b2)
    G = np.dot(H2, W3)
    value = 0.0
    over_b3[:] = 0.0
    for i in range(G.shape[0]):
        top = G.dtype.type(-np.inf)
        for j in range(G.shape[1]):
            G[i, j] += b3[j]
            top = max(top, G[i, j])
        total = G.dtype.type(0.0)
        for j in range(G.shape[1]):
            value -= T[i, j] * (G[i, j] - top)
            G[i, j] = exp(G[i, j] - top)
            total += G[i, j]
        value += np.sum(T[i]) * np.log(total)
        for j in range(G.shape[1]):
            G[i, j] = (G[i, j] / total - T[i, j]) / G.shape[0]
            over_b3[j] += G[i, j]
    np.dot(H2.T, G, over_W3)
    G2 = np.dot(G, W3.T)
    _through_tanh(G2, H2, over_b2)
    np.dot(H1.T, G2, over_W2)
    G1 = np.dot(G2, W2.T)
    _through_tanh(G1, H1, over_b1)
    np.dot(X.T, G1, over_W1)
    return value / len(T)


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
        by_blas=True,
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
            by_blas=True,
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
