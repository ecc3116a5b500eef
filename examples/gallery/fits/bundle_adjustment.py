"""
Bundle adjustment
=================

Where cameras see points, against where they were seen: Rodrigues' rotation, perspective,
distortion of the lens.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import linad

rng = np.random.default_rng(0)


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


# %%
# Five cameras look at thirty points; each point is seen by some of them.
camera_of, point_of = np.nonzero(rng.random((5, 30)) < 0.6)
points = rng.uniform(-1, 1, (30, 3))
cameras = np.column_stack(
    [
        0.3 * rng.standard_normal((5, 3)),
        0.2 * rng.standard_normal((5, 3)) + [0, 0, -6],
        rng.uniform(400, 500, 5),
        rng.uniform(-0.1, 0.1, (5, 2)),
    ]
)
pixels = project(points[point_of], cameras[camera_of])
pixels += 0.5 * rng.standard_normal(pixels.shape)


def misfit(p):
    return residual(p[:45].reshape(5, 9), p[45:].reshape(30, 3), camera_of, point_of, pixels)


# %%
# ``least_squares`` takes the Jacobian as an operator; no matrix of it is formed. Formed all the
# same, it shows the zeros that make the problem large and easy: a pixel moves with one camera and
# one point.
start = np.concatenate([cameras.ravel(), points.ravel() + 0.1 * rng.standard_normal(90)])
fit = least_squares(
    misfit,
    start,
    jac=lambda p: linad.linearize(misfit, p)[1],
    tr_solver="lsmr",
    ftol=1e-3,
    x_scale=np.concatenate([np.tile([1] * 6 + [400, 1, 1], 5), np.ones(90)]),
)
r, J = linad.linearize(misfit, fit.x)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.spy(J.todense(), markersize=0.7, aspect="auto")
ax.set(
    title=f"pixels off by {np.std(misfit(start)):.0f}, then {np.std(r):.2f}",
    xlabel="5 cameras of 9 numbers, 30 points of 3",
    ylabel="pixels",
)

plt.show()

# %%
# **Try next.** Replace SciPy's solver by ``linad.solve.levenberg_marquardt(misfit, start)``,
# which finds the blocks of the points by itself and eliminates them.
