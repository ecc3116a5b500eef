"""k-means clustering by Newton's method: points (n, d) to their nearest of centroids (k, d).

The Hessian of the cost is diagonal, so that its product with ones is all of it.
"""

import numpy as np

import linad


def cost(centroids, points):
    squares = np.sum(centroids**2, axis=1) - 2 * points @ centroids.T
    return np.sum(np.min(squares, axis=1)) + np.sum(points**2)


def direction(centroids, points):
    slope, curvature = linad.jvp(
        linad.grad(lambda c: cost(c, points)), (centroids,), (np.ones_like(centroids),)
    )
    return slope / curvature


def prepare(data):
    return np.array(data["centroids"]), np.array(data["points"])


FUNCTIONS = {
    "cost": (prepare, linad.jit(cost), float),
    "dir": (prepare, linad.jit(direction), np.ndarray.tolist),
}
