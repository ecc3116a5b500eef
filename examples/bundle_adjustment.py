"""Bundle adjustment: where cameras stood and points are, from pictures of the points.

    minimise  sum |f (R X + t)_xy / (R X + t)_z - pixel|²     over all cameras (R, t) and points X

one term for each time that a camera saw a point. The projection is plain NumPy over all of them
at once; index arrays pick camera and point. From these linad sees what each residual depends on:
a row of the Jacobian has 8 entries, 3 of a point and 5 of a camera, which when it moves up moves
nothing sideways. Points are tied to each other only through cameras, so the systems of Levenberg
and Marquardt's method are solved by the Schur complement of the points, a matrix of the size of
the cameras. Nobody says so.

The scene is made up, so the truth is known: a camera drives along a street, and takes a picture
every metre of points on both sides. The first guess is dead reckoning, whose errors add up.

    python examples/bundle_adjustment.py [--cameras 20] [--points 500] [--plot FILE]
"""

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

import linad

FOCAL = 1000.0  # pixels
NOISE = 0.5  # pixels, one standard deviation


def rotate(vectors, rotations):
    """Turn vectors (n, 3) about axes (n, 3) by the axes' lengths in radians: Rodrigues' formula."""
    # The tiny number keeps the derivative of a rotation by nothing: sin(angle) axis is then exact.
    angle = np.sqrt(np.sum(rotations**2, axis=1, keepdims=True) + 1e-30)
    axis = rotations / angle
    along = np.sum(axis * vectors, axis=1, keepdims=True) * (1 - np.cos(angle))
    return np.cos(angle) * vectors + np.sin(angle) * np.cross(axis, vectors) + along * axis


def project(cameras, points):
    """Pixels (n, 2) of points (n, 3) in cameras (n, 6): rotation vectors and translations."""
    seen = rotate(points, cameras[:, :3]) + cameras[:, 3:]
    return FOCAL * seen[:, :2] / seen[:, 2:]


@dataclass
class Scene:
    """What was there, and the pictures of it.

    Attributes
    ----------
    cameras, points : array (c, 6) and (p, 3)
        The truth; metres and radians.
    camera, point : int array (n,)
        Observation k is of point[k], by camera[k].
    pixels : array (n, 2)
        Where it was seen, with noise.
    """

    cameras: np.ndarray
    points: np.ndarray
    camera: np.ndarray
    point: np.ndarray
    pixels: np.ndarray

    def residual(self, x):
        """Predicted minus seen pixels, (n, 2), of (cameras, points)."""
        cameras, points = x
        return project(cameras[self.camera], points[self.point]) - self.pixels

    def distance(self, x):
        """Root mean square distance in the pictures, in pixels."""
        return np.sqrt(np.mean(np.sum(self.residual(x) ** 2, axis=1)))


def street(s):
    """Positions (n, 3) on a winding street after s metres, and orthonormal frames (n, 3, 3), whose
    rows point right, down and ahead."""
    phase = 2 * np.pi * s / 60
    zero, one = np.zeros_like(s), np.ones_like(s)
    ahead = np.stack([0.2 * np.pi * np.cos(phase), zero, one], axis=1)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    down = np.stack([zero, one, zero], axis=1)
    frame = np.stack([np.cross(down, ahead), down, ahead], axis=1)
    return np.stack([6 * np.sin(phase), zero, s], axis=1), frame


def draw_scene(cameras=50, points=5000, rng=0):
    """A drive of as many metres as there are cameras; points are seen from 3 to 14 m ahead."""
    rng = np.random.default_rng(rng)
    at, frame = street(np.arange(float(cameras)))
    turns = Rotation.from_matrix(frame)
    truth = np.concatenate([turns.as_rotvec(), -turns.apply(at)], axis=1)

    at, frame = street(rng.uniform(7, cameras + 4, points))
    aside = rng.choice([-1, 1], points) * rng.uniform(3, 6, points)
    X = at + aside[:, None] * frame[:, 0] + rng.uniform(-2, 2, (points, 1)) * frame[:, 1]

    point, camera = (k.ravel() for k in np.indices((points, cameras)))
    seen = rotate(X[point], truth[camera, :3]) + truth[camera, 3:]
    depth = seen[:, 2]
    inside = (depth > 3) & (depth < 14) & (np.abs(seen[:, :2]) < 1.2 * depth[:, None]).all(axis=1)
    camera, point = camera[inside], point[inside]
    pixels = project(truth[camera], X[point])
    return Scene(truth, X, camera, point, pixels + NOISE * rng.standard_normal(pixels.shape))


def dead_reckoning(scene, rng=1):
    """A first guess: each move from camera to camera is known to 0.2 degrees and 1 cm; points to
    10 cm, from the first camera that sees them."""
    rng = np.random.default_rng(rng)
    turns = Rotation.from_rotvec(scene.cameras[:, :3])
    at = -turns.apply(scene.cameras[:, 3:], inverse=True)
    found, where = [turns[0]], [at[0]]
    for k in range(1, len(at)):
        move = turns[k - 1].apply(at[k] - at[k - 1]) + 0.01 * rng.standard_normal(3)
        where.append(where[-1] + found[-1].apply(move, inverse=True))
        error = Rotation.from_rotvec(np.radians(0.2) * rng.standard_normal(3))
        found.append(error * turns[k] * turns[k - 1].inv() * found[-1])
    drifted = Rotation.concatenate(found)
    cameras = np.concatenate([drifted.as_rotvec(), -drifted.apply(where)], axis=1)

    _, first = np.unique(scene.point, return_index=True)
    k = scene.camera[first]
    local = turns[k].apply(scene.points) + scene.cameras[k, 3:]
    points = drifted[k].apply(local - cameras[k, 3:], inverse=True)
    return cameras, points + 0.1 * rng.standard_normal(points.shape)


def adjust(scene, start, **options):
    """Cameras and points by Levenberg-Marquardt, in ``found.x``."""
    return linad.solve.levenberg_marquardt(scene.residual, start, **options)


def aligned(points, truth):
    """Points moved, turned and scaled as a whole to lie best on the truth, which is what pictures
    cannot tell: Procrustes' problem, solved by a singular value decomposition."""
    a, b = points - points.mean(axis=0), truth - truth.mean(axis=0)
    U, s, Vt = np.linalg.svd(b.T @ a)
    s[2] *= np.linalg.det(U @ Vt)
    U[:, 2] *= np.linalg.det(U @ Vt)
    return s.sum() / np.sum(a**2) * a @ (U @ Vt).T + truth.mean(axis=0)


def errors(scene, points):
    """Distances (p,) of points from the truth, in metres."""
    return np.linalg.norm(aligned(points, scene.points) - scene.points, axis=1)


def save_plot(scene, start, found, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    plan, along = figure.subplots(1, 2)
    for name, x, colour in [("dead reckoning", start, "C1"), ("adjusted", found.x, "C0")]:
        points = aligned(x[1], scene.points)
        plan.plot(*points[:, [2, 0]].T, ".", color=colour, markersize=2, label=name)
        along.semilogy(points[:, 2], errors(scene, x[1]), ".", color=colour, markersize=3)
    turns = Rotation.from_rotvec(scene.cameras[:, :3])
    at = -turns.apply(scene.cameras[:, 3:], inverse=True)
    plan.plot(at[:, 2], at[:, 0], "k^", markersize=3, label="cameras")
    plan.set(xlabel="m", ylabel="m", title="the street")
    plan.legend(fontsize="small", markerscale=3)
    along.set(xlabel="m", ylabel="m", title="errors of points")
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Bundle adjustment of a scene that is known.")
    parser.add_argument("--cameras", type=int, default=20)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--plot", metavar="FILE", help="draw the scene with Matplotlib")
    options = parser.parse_args(arguments)
    scene = draw_scene(options.cameras, options.points)
    start = dead_reckoning(scene)
    unknowns = sum(x.size for x in start)
    print(f"{scene.pixels.size} numbers from pictures, {unknowns} unknowns")

    found = adjust(scene, start, disp=True)
    # The noise, less the share that the unknowns take up; 7 of them the pictures do not tell.
    left = NOISE * np.sqrt(2 - 2 * (unknowns - 7) / scene.pixels.size)
    print("\n                    dead reckoning    adjusted")
    print(f"  off in pictures {scene.distance(start):13.2f} px {scene.distance(found.x):8.3f} px")
    print(f"    the noise alone {'':14}{left:8.3f} px")
    before, after = (np.median(errors(scene, x[1])) for x in (start, found.x))
    print(f"  median error of a point {before:6.3f} m {after:10.4f} m")
    if options.plot:
        save_plot(scene, start, found, options.plot)


if __name__ == "__main__":
    main()
