"""Functions of a module, for tests that send them to other processes."""

import numpy as np

import linad


def energy(x):
    return np.sum(np.sin(x) * x)


def curve(x):
    return np.sin(x) * x


def wave(t):
    return np.sin(2 * t)


@linad.grad
def decorated(x):
    return np.sum(x**3)


@linad.jit
@linad.value_and_grad
def compiled(x):
    return np.sum(x**3)


class Model:
    def __init__(self, weight):
        self.weight = weight

    def loss(self, x):
        return np.sum(self.weight * x**2)


MADE = {
    "grad": linad.grad(energy),
    "value_and_grad": linad.value_and_grad(energy),
    "hessian": linad.hessian(energy),
    "jacobian": linad.jacobian(curve),
    "jacobian of grad": linad.jacobian(linad.grad(energy)),
    "jit of grad": linad.jit(linad.grad(energy)),
    "grad of jit": linad.grad(linad.jit(energy)),
    "grad of a method": linad.grad(Model(2.0).loss),
    "jit of a method": linad.jit(Model(2.0).loss),
    "decorated": decorated,
    "decorated twice": compiled,
    "jit": linad.jit(curve),
}


def applied(function, x):
    """What a pool runs."""
    return function(x)
