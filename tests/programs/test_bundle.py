import numpy as np
from programs import bundle
from programs.references import assert_close, check_program
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import linad
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
CAMERAS, POINTS = 3, 6
CAMERA_OF, POINT_OF = np.nonzero(rng.random((CAMERAS, POINTS)) < 0.7)
TRUE_POINTS = rng.uniform(-1, 1, (POINTS, 3))
TRUE_CAMERAS = np.column_stack(
    [
        0.3 * rng.standard_normal((CAMERAS, 3)),
        0.2 * rng.standard_normal((CAMERAS, 3)) + [0, 0, -6],
        rng.uniform(400, 500, CAMERAS),
        rng.uniform(-0.1, 0.1, (CAMERAS, 2)),
    ]
)
PIXELS = bundle.project(TRUE_POINTS[POINT_OF], TRUE_CAMERAS[CAMERA_OF])
START = (
    TRUE_CAMERAS + 0.02 * rng.standard_normal(TRUE_CAMERAS.shape),
    TRUE_POINTS + 0.05 * rng.standard_normal(TRUE_POINTS.shape),
)


def residual(cameras, points):
    return bundle.residual(cameras, points, CAMERA_OF, POINT_OF, PIXELS)


def cost(cameras, points):
    return 0.5 * np.sum(residual(cameras, points) ** 2)


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def right_jacobian(v):
    """d R(v) p = -R [p]x J dv; see Sola et al., "A micro Lie theory", 2018, eq. 143."""
    t = np.linalg.norm(v)
    K = hat(v)
    return np.eye(3) - (1 - np.cos(t)) / t**2 * K + (t - np.sin(t)) / t**3 * K @ K


def observe(camera, point):
    """One pixel, and its derivative in the camera (2, 9) and in the point (2, 3)."""
    R = Rotation.from_rotvec(camera[:3]).as_matrix()
    focal, k1, k2 = camera[6:]
    seen = R @ point + camera[3:6]
    flat = -seen[:2] / seen[2]
    r2 = flat @ flat
    zoom = 1 + k1 * r2 + k2 * r2**2
    by_flat = focal * (zoom * np.eye(2) + 2 * (k1 + 2 * k2 * r2) * np.outer(flat, flat))
    by_seen = by_flat @ np.column_stack([-np.eye(2) / seen[2], -flat / seen[2]])
    by_turn = -by_seen @ R @ hat(point) @ right_jacobian(camera[:3])
    by_lens = np.column_stack([zoom * flat, focal * r2 * flat, focal * r2**2 * flat])
    return focal * zoom * flat, np.hstack([by_turn, by_seen, by_lens]), by_seen @ R


def reference(cameras, points):
    """Residual (2m,) and Jacobian (2m, 9 C + 3 P), observation by observation."""
    r = np.zeros((len(PIXELS), 2))
    J = np.zeros((len(PIXELS), 2, 9 * CAMERAS + 3 * POINTS))
    for k, (c, p) in enumerate(zip(CAMERA_OF, POINT_OF, strict=True)):
        pixel, by_camera, by_point = observe(cameras[c], points[p])
        r[k] = pixel - PIXELS[k]
        J[k, :, 9 * c : 9 * c + 9] = by_camera
        start = 9 * CAMERAS + 3 * p
        J[k, :, start : start + 3] = by_point
    return r.ravel(), J.reshape(r.size, -1)


def gradient(cameras, points):
    r, J = reference(cameras, points)
    g = J.T @ r
    cut = cameras.size
    return g[:cut].reshape(cameras.shape), g[cut:].reshape(points.shape)


def test_jacobian_and_its_zeros():
    r, J = linad.linearize(residual, *START)
    expected, matrix = reference(*START)
    assert_close(r, expected, 1e-13)
    dense = J.todense()
    assert_close(dense, matrix, 1e-12)
    # A pixel depends on its own camera and its own point: nothing else, not even rounding.
    assert np.all(dense[matrix == 0] == 0)
    assert np.mean(dense == 0) > 0.6


def test_derivatives():
    check_program(cost, gradient, *START, step=0.003)


def test_adjustment():
    def flat(f):
        cut = TRUE_CAMERAS.size
        return lambda x: f(x[:cut].reshape(-1, 9), x[cut:].reshape(-1, 3))

    start = np.concatenate([part.ravel() for part in START])
    fit = least_squares(
        flat(residual),
        start,
        jac=lambda x: linad.linearize(flat(residual), x)[1],
        tr_solver="lsmr",
        x_scale=np.concatenate([np.tile([1] * 6 + [400, 1, 1], CAMERAS), np.ones(3 * POINTS)]),
    )
    assert fit.cost < 1e-6 < 1 < cost(*START)


def test_without_rotation():
    # The axis is 0 / 0. NumPy gives NaN for the value; no derivative is made up for it.
    with np.errstate(invalid="ignore", divide="ignore"):
        value, J = linad.linearize(bundle.rotate, np.ones((1, 3)), np.zeros((1, 3)))
        slopes = J.todense()[:, 3:]
    assert np.all(np.isnan(value))
    assert np.all(np.isnan(slopes))


def test_entries_of_very_different_size():
    # Focal lengths near 450 beside distortions near 0.1: one step of differences serves both.
    check_derivatives(residual, *START)
