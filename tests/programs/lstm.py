"""Long short-term memory: one cell stepped through a sequence."""

import numpy as np
from scipy.special import expit


def run(weights, inputs):
    """Hidden states (T, B, H) of a cell that sees inputs (T, B, D).

    ``weights["x"]`` (D, 4H), ``weights["h"]`` (H, 4H), ``weights["b"]`` (4H,): the columns
    belong to the input, forget and output gates and the candidate.
    """
    steps, batch, _ = inputs.shape
    size = weights["h"].shape[0]
    h = np.zeros((batch, size))
    c = np.zeros((batch, size))
    states = []
    for x in inputs:
        z = x @ weights["x"] + h @ weights["h"] + weights["b"]
        gates = expit(z[:, : 3 * size])
        i, f, o = np.split(gates, 3, axis=1)
        c = f * c + i * np.tanh(z[:, 3 * size :])
        h = o * np.tanh(c)
        states.append(h)
    return np.stack(states)


def loss(weights, inputs, targets):
    """Mean square of the last hidden state's distance to targets (B, H)."""
    last = run(weights, inputs)[-1]
    return np.mean((last - targets) ** 2)
