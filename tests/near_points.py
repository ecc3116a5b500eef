"""Derivatives by differences, for functions that nothing can be traced through."""

import numpy as np


def differences(f, x, h=1e-6):
    """The Jacobian by central differences, its columns last."""
    columns = [np.asarray(f(x + h * e)) - np.asarray(f(x - h * e)) for e in np.eye(x.size)]
    return np.stack(columns, axis=-1) / (2 * h)
