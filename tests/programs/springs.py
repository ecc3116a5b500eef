"""Masses on springs between two hooks: the shape of least energy.

``np.zeros`` makes an array that does not depend on the positions and is then written into:
the module is NumPy code but for the import, which lets such an array take part.
"""

import linad.numpy as np

GRAVITY = 9.81


def energy(free, hooks, mass, stiffness, length):
    """Potential energy of a chain in the plane.

    ``free`` (2n,) holds the positions of the n masses between the two ``hooks`` (2, 2);
    ``length`` is that of a spring at rest.
    """
    nodes = np.zeros((free.size // 2 + 2, 2))
    nodes[0], nodes[-1] = hooks
    nodes[1:-1] = free.reshape(-1, 2)
    stretch = np.hypot(*np.diff(nodes, axis=0).T) - length
    return 0.5 * stiffness * np.sum(stretch**2) + GRAVITY * mass * np.sum(nodes[1:-1, 1])
