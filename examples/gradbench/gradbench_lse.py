"""The logarithm of a sum of exponentials, kept from overflow by its largest term."""

import numpy as np

import linad


def primal(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def prepare(data):
    return (np.array(data["x"]),)


FUNCTIONS = {
    "primal": (prepare, linad.jit(primal), float),
    "gradient": (prepare, linad.jit(linad.grad(primal)), np.ndarray.tolist),
}
