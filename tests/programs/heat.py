"""Heat in a rod: an explicit scheme, updated in place."""

import numpy as np


def diffuse(u, conductivity, steps, dt=0.2):
    """Temperatures (n,) after some steps, the ends held; ``u`` is overwritten.

    ``conductivity`` (n - 1,) belongs to the gaps between nodes. Lengths and capacities are 1.
    """
    for _ in range(steps):
        flux = conductivity * np.diff(u)
        u[1:-1] += dt * np.diff(flux)
    return u


def diffuse_plate(u, steps, dt=0.2):
    """Temperatures (m, n) of a plate after some steps, its edges held; ``u`` is overwritten."""
    inner = u[1:-1, 1:-1]
    for _ in range(steps):
        laplacian = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner
        inner += dt * laplacian
    return u
