"""Loops of Python's under `linad.jit`: what is recorded, and run, against what Python does."""

import numpy as np

import linad


def agrees(f, x):
    """A function and its gradient are the same recorded, and run again."""
    compiled, gradient = linad.jit(f), linad.jit(linad.grad(f))
    value, expected = f(x), linad.grad(f)(x)
    for _ in range(2):  # recorded, and run
        np.testing.assert_allclose(compiled(x), value, rtol=1e-10)
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-8, atol=1e-13)
