"""
LSTM
====

One cell stepped through a sequence; gates and state as in the paper.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import linad

rng = np.random.default_rng(0)


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


# %%
# Weights are a dictionary, and so is the gradient. In the inputs, the gradient shows how far back
# the cell remembers: with the forget gate open it fades slowly.
weights = {
    "x": 0.5 * rng.standard_normal((3, 32)),
    "h": 0.2 * rng.standard_normal((8, 32)),
    "b": np.zeros(32),
}
inputs, targets = rng.standard_normal((60, 4, 3)), rng.standard_normal((4, 8))
gradient = linad.grad(loss)(weights, inputs, targets)
print({name: g.shape for name, g in gradient.items()})

# %%
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for bias in (0.0, 1.0, 2.0, 4.0):
    weights["b"][8:16] = bias
    by_input = linad.grad(loss, 1)(weights, inputs, targets)
    ax.semilogy(np.linalg.norm(by_input, axis=(1, 2)), label=f"forget bias {bias:.0f}")
ax.set(xlabel="step", ylabel="gradient of the loss in the input")
ax.legend()

plt.show()

# %%
# **Try next.** Train it: a step is ``{k: w - 0.1 * g[k] for k, w in weights.items()}`` with ``g =
# linad.grad(loss)(weights, inputs, targets)``. ``linad.jit`` makes the loop over time machine
# code.
