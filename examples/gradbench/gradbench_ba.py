"""Bundle adjustment: reprojection errors (p, 2) of points seen by cameras, weighted, and 1 - w^2.

A camera (11,) has a rotation, a place, a focal length, a centre of its picture and two
coefficients of radial distortion. An observation depends on one camera, one point and one weight,
so that 15 seeds, one a column of this block, give the whole Jacobian. It goes out as compressed
rows whose blocks are full.
"""

import numpy as np

import linad

CAMERA, POINT = 11, 3
BLOCK = CAMERA + POINT + 1


def rotate(points, turns):
    """Rodrigues' formula: vectors (p, 3) turned about axes (p, 3) by their lengths, radians."""
    squared = np.sum(turns**2, axis=1, keepdims=True)
    angle = np.sqrt(np.where(squared > 0, squared, 1.0))
    axis = turns / angle
    along = np.sum(axis * points, axis=1, keepdims=True) * (1 - np.cos(angle))
    turned = points * np.cos(angle) + np.cross(axis, points) * np.sin(angle) + axis * along
    return np.where(squared > 0, turned, points + np.cross(turns, points))


def errors(seen, features):
    """Reprojection errors (p, 2) of observations (p, 15), and those of weights (p,)."""
    camera, point, w = seen[:, :CAMERA], seen[:, CAMERA:-1], seen[:, -1]
    placed = rotate(point - camera[:, 3:6], camera[:, :3])
    flat = placed[:, :2] / placed[:, 2:]
    squared = np.sum(flat**2, axis=1, keepdims=True)
    bent = flat * (1 + camera[:, 9:10] * squared + camera[:, 10:] * squared**2)
    pixels = bent * camera[:, 6:7] + camera[:, 7:9]
    return w[:, np.newaxis] * (pixels - features), 1 - w**2


def gathered(cameras, points, weights, where):
    """What each observation depends on, (p, 15)."""
    return np.concatenate([cameras[where[0]], points[where[1]], weights[:, np.newaxis]], axis=1)


def objective(cameras, points, weights, where, features):
    return errors(gathered(cameras, points, weights, where), features)


def jacobian(cameras, points, weights, where, features):
    """Values of the Jacobian in compressed rows: first those of the pixels, then of weights."""
    seen = gathered(cameras, points, weights, where)
    _, J = linad.linearize(lambda seen: errors(seen, features), seen)
    p = len(seen)
    seeds = np.broadcast_to(np.eye(BLOCK)[:, np.newaxis], (BLOCK, p, BLOCK))
    pixels, weight = J.pushforward(seeds)
    return np.concatenate([np.moveaxis(pixels, 0, 2).ravel(), weight[-1]])


def indices(n, m, p, where):
    """Columns of the entries, and where rows begin."""
    first = CAMERA * where[0][:, np.newaxis] + np.arange(CAMERA)
    second = CAMERA * n + POINT * where[1][:, np.newaxis] + np.arange(POINT)
    third = CAMERA * n + POINT * m + np.arange(p)[:, np.newaxis]
    block = np.concatenate([first, second, third], axis=1)
    columns = np.concatenate([np.repeat(block, 2, axis=0).ravel(), third[:, 0]])
    lengths = np.concatenate([np.full(2 * p, BLOCK), np.ones(p, int)])
    return columns, np.concatenate([[0], np.cumsum(lengths)])


def prepare(data):
    n, m, p = data["n"], data["m"], data["p"]
    return (
        np.tile(data["cam"], (n, 1)),
        np.tile(data["x"], (m, 1)),
        np.full(p, data["w"]),
        (np.arange(p) % n, np.arange(p) % m),
        np.tile(data["feat"], (p, 1)),
    )


def compute_jacobian(cameras, points, weights, where, features):
    values = jacobian_of_blocks(cameras, points, weights, where, features)
    return values, *indices(len(cameras), len(points), len(weights), where)


def present_objective(result):
    pixels, weights = result
    return {
        "reproj_error": {"elements": pixels[0].tolist(), "repeated": len(pixels)},
        "w_err": {"element": float(weights[0]), "repeated": len(weights)},
    }


def present_jacobian(result):
    kept = {
        name: [*part[: 2 * BLOCK].tolist(), part[-1].item()]
        for name, part in zip(("vals", "cols", "rows"), result, strict=True)
    }
    return {name: kept[name] for name in ("rows", "cols", "vals")}


jacobian_of_blocks = linad.jit(jacobian)

FUNCTIONS = {
    "objective": (prepare, linad.jit(objective), present_objective),
    "jacobian": (prepare, compute_jacobian, present_jacobian),
}
