"""Long short-term memory with diagonal weights: layers (l) of b cells over a sequence (c, b).

``main`` (l, 2, 4, b): weights and biases of the gates forget, in, out and of the change;
``extra`` (3, b): weights at the entry, weights and biases at the end. Its second gate and the
change look at what is remembered, the others at what comes in.
"""

import numpy as np

import linad


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def advance(weights, biases, hidden, cell, x):
    forget, outgate = sigmoid(x * weights[::2] + biases[::2])
    ingate = sigmoid(hidden * weights[1] + biases[1])
    change = np.tanh(hidden * weights[3] + biases[3])
    cell = cell * forget + ingate * change
    return outgate * np.tanh(cell), cell


def objective(params, state, sequence):
    """Minus the mean log-probability of what comes next."""
    main, extra = params

    def step(carry, rows):
        state, total = carry
        x, following = rows
        y, layers = x * extra[0], []
        for k in range(len(main)):
            hidden, cell = advance(main[k, 0], main[k, 1], state[k, 0], state[k, 1], y)
            layers.append(np.stack([hidden, cell]))
            y = hidden
        y = y * extra[1] + extra[2]
        log_sum = np.log(np.sum(np.exp(y)) + 2)
        return (np.stack(layers), total + np.sum(following * (y - log_sum))), None

    (_, total), _ = linad.scan(step, (state, np.float64(0.0)), (sequence[:-1], sequence[1:]))
    return -total / sequence[1:].size


def prepare(data):
    main, extra, state, sequence = (
        np.array(data[name]) for name in ("main_params", "extra_params", "state", "sequence")
    )
    layers, b = len(state) // 2, state.shape[1]
    return (main.reshape(layers, 2, 4, b), extra), state.reshape(layers, 2, b), sequence


def present(gradient):
    return np.concatenate([g.ravel() for g in gradient]).tolist()


FUNCTIONS = {
    "objective": (prepare, linad.jit(objective), float),
    "jacobian": (prepare, linad.jit(linad.grad(objective)), present),
}
