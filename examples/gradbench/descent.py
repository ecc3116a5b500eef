"""Gradient descent whose steps grow while they succeed, as GradBench prescribes it.

The step is doubled after ten steps that went down, and halved after one that did not. It ends
where the gradient, or a step, is not longer than 1e-5. It is a program to be differentiated: the
benchmarks `saddle` and `particle` take derivatives of what it finds. So it is written as a loop of
linad's, whose decisions are selections.
"""

import numpy as np

import linad

SHORT = 1e-5


def squared(v):
    return np.sum(v**2)


def forward(f):
    """The gradient of f in forward mode, a run for each coordinate."""

    def gradient(x):
        return np.stack([linad.jvp(f, (x,), (row,))[1] for row in np.eye(len(x))])

    return gradient


MODES = {"f": forward, "r": linad.grad}


def argmin(f, start, mode):
    gradient = MODES[mode](f)

    def goes_on(state):
        _, _, slope, _, _, stuck = state
        return (squared(slope) > SHORT**2) & (stuck == 0)

    def advance(state):
        x, value, slope, step, successes, _ = state
        lengthens = successes == 10
        moved = x - step * slope
        found = f(moved)
        stuck = ~lengthens & (squared(moved - x) <= SHORT**2)
        down = (found < value) & ~lengthens & ~stuck
        return (
            np.where(down, moved, x),
            np.where(down, found, value),
            np.where(down, gradient(moved), slope),
            np.where(lengthens, 2 * step, np.where(down | stuck, step, step / 2)),
            np.where(down, successes + 1, 0.0),
            np.where(stuck, 1.0, 0.0),
        )

    first = f(start), gradient(start), np.array(1e-5), np.array(0.0), np.array(0.0)
    return linad.while_loop(goes_on, advance, (start, *first))[0]


def argmax(f, start, mode):
    return argmin(lambda x: -f(x), start, mode)
