import numpy as np
import pytest
from programs import lstm
from programs.references import check_program
from scipy.special import expit

rng = np.random.default_rng(0)
TIMES, BATCH, IN, SIZE = 5, 2, 3, 4
INPUTS = rng.standard_normal((TIMES, BATCH, IN))
TARGETS = rng.standard_normal((BATCH, SIZE))
WEIGHTS = {
    "x": rng.standard_normal((IN, 4 * SIZE)),
    "h": 0.5 * rng.standard_normal((SIZE, 4 * SIZE)),
    "b": rng.standard_normal(4 * SIZE),
}


def run_by_units(weights):
    """The equations of the cell, one unit of one sequence at a time."""
    states = np.zeros((TIMES, BATCH, SIZE))
    for n in range(BATCH):
        h, c = np.zeros(SIZE), np.zeros(SIZE)
        for t in range(TIMES):
            before = h.copy()
            for u in range(SIZE):
                i, f, o, g = [
                    INPUTS[t, n] @ weights["x"][:, u + k * SIZE]
                    + before @ weights["h"][:, u + k * SIZE]
                    + weights["b"][u + k * SIZE]
                    for k in range(4)
                ]
                c[u] = expit(f) * c[u] + expit(i) * np.tanh(g)
                h[u] = expit(o) * np.tanh(c[u])
            states[t, n] = h
    return states


def backpropagation_through_time(weights):
    """Gradient of the loss, derived by hand."""
    h, c, kept = np.zeros((BATCH, SIZE)), np.zeros((BATCH, SIZE)), []
    for x in INPUTS:
        z = x @ weights["x"] + h @ weights["h"] + weights["b"]
        i, f, o = [expit(z[:, k * SIZE : (k + 1) * SIZE]) for k in range(3)]
        g = np.tanh(z[:, 3 * SIZE :])
        new = f * c + i * g
        kept.append((x, h, c, i, f, o, g, new))
        c, h = new, o * np.tanh(new)
    gradient = {k: np.zeros_like(v) for k, v in weights.items()}
    dh, dc = 2 * (h - TARGETS) / h.size, np.zeros_like(c)
    for x, h, c, i, f, o, g, new in reversed(kept):
        t = np.tanh(new)
        dc = dc + dh * o * (1 - t**2)
        dz = np.hstack(
            [dc * g * i * (1 - i), dc * c * f * (1 - f), dh * t * o * (1 - o), dc * i * (1 - g**2)]
        )
        gradient["x"] += x.T @ dz
        gradient["h"] += h.T @ dz
        gradient["b"] += dz.sum(axis=0)
        dh, dc = dz @ weights["h"].T, dc * f
    return gradient


def test_value():
    assert lstm.run(WEIGHTS, INPUTS) == pytest.approx(run_by_units(WEIGHTS), rel=1e-13)


def test_derivatives():
    check_program(
        lambda weights: lstm.loss(weights, INPUTS, TARGETS), backpropagation_through_time, WEIGHTS
    )
