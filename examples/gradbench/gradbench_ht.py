"""Hand tracking: the distances (p, 3) of points to a hand whose pose has 26 parameters.

theta holds a rotation (axis times angle), a shift, and four angles for each of five fingers.
Each bone turns in the frame of its parent, and a vertex moves with the bones by its weights. A
point belongs to a vertex, or, where there are coordinates u (p, 2), to a place in a triangle.

A row of the Jacobian has the two derivatives in its own u, and those in theta: 2 + 26 seeds.
"""

import numpy as np

import linad

FINGERS = 5
BONES_BEFORE = 1  # the wrist
BONES_OF_A_FINGER = 4  # the first of which does not bend
ANGLES = 4


def axis_rotation(v):
    """The rotation about an axis v (3,) by its length."""
    angle = np.sqrt(np.sum(v**2))
    if angle < 1e-4:
        return np.eye(3)
    x, y, z = v / angle
    K = np.stack([np.stack([0 * x, -z, y]), np.stack([z, 0 * x, -x]), np.stack([-y, x, 0 * x])])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def bends(theta, bones):
    """The angles (bones, 2) of bones about x and z."""
    angles = np.zeros_like(theta, shape=(bones, 2))
    for finger in range(FINGERS):
        first = BONES_BEFORE + BONES_OF_A_FINGER * finger + 1
        given = theta[6 + ANGLES * finger : 6 + ANGLES * (finger + 1)]
        angles[first] = given[:2]
        angles[first + 1 : first + 3, 0] = given[2:]
    return angles


def turned(angles):
    """The matrices (bones, 4, 4) of rotations about x, then z."""
    cos, sin = np.cos(angles), np.sin(angles)
    (cx, cz), (sx, sz) = cos.T, sin.T
    none, one = np.zeros_like(cx), np.ones_like(cx)
    rows = [
        [cz, -sz * cx, sz * sx, none],
        [sz, cz * cx, -cz * sx, none],
        [none, sx, cx, none],
        [none, none, none, one],
    ]
    return np.moveaxis(np.stack([np.stack(row) for row in rows]), 2, 0)


def vertices(theta, model):
    """The vertices (v, 3) of the hand in a pose."""
    relative = model["base_relatives"] @ turned(bends(theta, len(model["parents"])))
    absolute = []
    for k, parent in enumerate(model["parents"]):
        absolute.append(relative[k] if parent == -1 else absolute[parent] @ relative[k])
    transforms = np.stack(absolute) @ model["inverse_base_absolutes"]
    moved = model["base_positions"] @ np.swapaxes(transforms[:, :3], 1, 2)
    found = np.sum(model["weights"].T[..., np.newaxis] * moved, axis=0)
    if model["is_mirrored"]:
        found = found * np.array([-1.0, 1.0, 1.0])
    return found @ axis_rotation(theta[:3]).T + theta[3:6]


def objective(u, theta, model, correspondences, points):
    hand = vertices(theta, model)
    if not len(u):
        return points - hand[correspondences]
    corners = hand[model["triangles"][correspondences]]
    weights = np.concatenate([u, 1 - np.sum(u, axis=1, keepdims=True)], axis=1)
    return points - np.sum(weights[..., np.newaxis] * corners, axis=1)


def jacobian(u, theta, model, correspondences, points):
    rows = np.repeat(np.eye(2 + len(theta)), 1, axis=0)
    if not len(u):
        _, J = linad.linearize(
            lambda theta: objective(u, theta, model, correspondences, points), theta
        )
        columns = J.pushforward(rows[2:, 2:])
    else:
        _, J = linad.linearize(
            lambda u, theta: objective(u, theta, model, correspondences, points), u, theta
        )
        seeds = np.broadcast_to(rows[:, np.newaxis, :2], (len(rows), *u.shape))
        columns = J.pushforward((seeds, rows[:, 2:]))
    return columns.reshape(len(columns), -1).T


def prepare(data):
    hand, model = data["data"], data["data"]["model"]
    arrays = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    model = {
        **{name: np.array(model[name], float) for name in arrays},
        "triangles": np.array(model["triangles"], int),
        "parents": tuple(model["parents"]),
        "is_mirrored": model["is_mirrored"],
    }
    return (
        np.array(data["us"], float),
        np.array(data["theta"], float),
        model,
        np.array(hand["correspondences"], int),
        np.array(hand["points"], float),
    )


FUNCTIONS = {
    "objective": (prepare, linad.jit(objective), lambda y: y.ravel().tolist()),
    "jacobian": (prepare, linad.jit(jacobian), np.ndarray.tolist),
}
