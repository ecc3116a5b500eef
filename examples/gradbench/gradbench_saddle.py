"""A saddle point by descent in x of an ascent in y: derivatives of a program with derivatives."""

import functools

import numpy as np
from descent import argmax, argmin

import linad


def f(x, y):
    return np.sum(x**2) - np.sum(y**2)


def saddle(start, outer, inner):
    """The point (4,), derivatives of the descent in one mode, and of the ascent in another."""

    def highest(y_mode):
        return lambda x: f(x, argmax(lambda y: f(x, y), start, y_mode))

    x = argmin(highest(inner), start, outer)
    return np.concatenate([x, argmax(lambda y: f(x, y), start, inner)])


def prepare(data):
    return (np.array(data["start"]),)


FUNCTIONS = {
    outer + inner: (
        prepare,
        linad.jit(functools.partial(saddle, outer=outer, inner=inner)),
        np.ndarray.tolist,
    )
    for outer in "fr"
    for inner in "fr"
}
