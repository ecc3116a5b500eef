"""Bundle adjustment: where cameras see points, against where they were seen."""

import numpy as np


def rotate(points, vectors):
    """Rotate points (n, 3) by rotation vectors (n, 3), after Rodrigues."""
    theta = np.linalg.norm(vectors, axis=1)[:, np.newaxis]
    axis = vectors / theta
    along = np.sum(points * axis, axis=1)[:, np.newaxis]
    cos, sin = np.cos(theta), np.sin(theta)
    return cos * points + sin * np.cross(axis, points) + along * (1 - cos) * axis


def project(points, cameras):
    """Pixels (n, 2) of points (n, 3), each seen by its own camera (n, 9).

    A camera is a rotation vector, a translation, a focal length and two distortions.
    """
    seen = rotate(points, cameras[:, :3])
    seen += cameras[:, 3:6]
    pixels = -seen[:, :2] / seen[:, 2, np.newaxis]
    focal, k1, k2 = cameras[:, 6:].T
    r2 = np.sum(pixels**2, axis=1)
    pixels *= (focal * (1 + k1 * r2 + k2 * r2**2))[:, np.newaxis]
    return pixels


def residual(cameras, points, camera_of, point_of, pixels):
    """Differences (2m,) between projected and observed pixels (m, 2)."""
    projected = project(points[point_of], cameras[camera_of])
    return (projected - pixels).ravel()
