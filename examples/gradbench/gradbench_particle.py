"""A particle between two charges: where they must be, so that it comes down at the origin.

Its acceleration is a gradient, taken in each step of Euler's method; the height at which it
crosses the axis is minimised by a descent with the gradient of all of this.
"""

import functools

import numpy as np
from descent import MODES, argmin

import linad

STEP = 0.1


def landing(w, mode):
    """The square of where the particle crosses the axis, for the control w (1,)."""
    charges = np.stack([np.stack([0 * w[0] + 10.0, 10.0 - w[0]]), np.array([10.0, 0.0])])

    def potential(x):
        return np.sum(1 / np.sqrt(np.sum((x - charges) ** 2, axis=1)))

    force = MODES[mode](potential)

    def fly(state):
        before, x, velocity = state
        velocity = velocity - STEP * force(before)
        return x, x + STEP * velocity, velocity

    start, velocity = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    state = start, start + STEP * velocity, velocity
    _, x, velocity = linad.while_loop(lambda state: state[1][1] > 0, fly, state)
    return (x[0] - x[1] / velocity[1] * velocity[0]) ** 2


def control(w, outer, inner):
    return argmin(lambda w: landing(w, inner), w, outer)[0]


def prepare(data):
    return (np.array([data["w"]]),)


FUNCTIONS = {
    outer + inner: (
        prepare,
        linad.jit(functools.partial(control, outer=outer, inner=inner)),
        float,
    )
    for outer in "fr"
    for inner in "fr"
}
