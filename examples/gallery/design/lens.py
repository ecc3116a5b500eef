"""
A lens, ray by ray
==================

An achromat of two glasses is designed by tracing rays of three colours through its three
surfaces. The curvatures are found by least squares on where the rays hit the screen, to bring the
image to a point.
"""

import matplotlib.pyplot as plt
import numpy as np

import linad

# Colours F, d, C, and the indices of crown BK7 and flint SF5 (air is 1).
INDICES = np.array([[1.52238, 1.51680, 1.51432], [1.68876, 1.67270, 1.66661]])
PLACES = np.array([0.0, 6.0, 8.5])
FOCUS = 100.0


def refract(direction, normal, ratio):
    """Snell's law for directions (..., 2) and unit normals against the light."""
    cos = -np.sum(direction * normal, axis=-1, keepdims=True)
    return ratio * direction + (ratio * cos - np.sqrt(1 - ratio**2 * (1 - cos**2))) * normal


def trace(curvatures, heights, angle=0.0):
    """Points of the rays (5, colours, rays, 2): before the lens, on its surfaces, on the screen."""
    z, y = np.zeros((3, len(heights))) - 5.0, np.zeros((3, 1)) + heights
    point = np.stack([z, y], axis=-1)
    direction = np.ones((3, len(heights), 1)) * np.array([np.cos(angle), np.sin(angle)])
    index = np.ones(3)
    points = [point]
    for k in range(3):
        # Where z = c/2 ((z - z0)² + y²) + z0: a circle of curvature c through (z0, 0).
        c, p = curvatures[k], point - [PLACES[k], 0.0]
        b = direction[..., 0] - c * np.sum(p * direction, axis=-1)
        a = c * np.sum(p**2, axis=-1) - 2 * p[..., 0]
        distance = a / (b + np.sqrt(b**2 - c * a))
        point = point + distance[..., np.newaxis] * direction
        centre = 1 - c * (point[..., 0] - PLACES[k]), -c * point[..., 1]
        normal = -np.stack(centre, axis=-1)
        behind = INDICES[k] if k < 2 else np.ones(3)
        direction = refract(direction, normal, (index / behind)[:, np.newaxis, np.newaxis])
        index = behind
        points.append(point)
    screen = (FOCUS - point[..., 0]) / direction[..., 0]
    points.append(point + screen[..., np.newaxis] * direction)
    return np.stack(points)


heights = np.linspace(-12, 12, 13)


def residual(curvatures):
    """Where the rays of all colours hit the screen, in hundredths of a millimetre."""
    return 100 * trace(curvatures, heights)[-1, ..., 1].ravel()


# %%
# Three curvatures, from those of a simple crown lens with a flat flint behind it:
start = np.array([0.016, -0.004, -0.004])
found = linad.solve.levenberg_marquardt(residual, start)
for name, c in (("before", start), ("after", found.x)):
    print(f"{name}: spot {np.std(residual(c)) / 100:.4f} mm, radii {(1 / c).round(1)} mm")

# %%
# What a maker must hold: how far a change of a curvature by a thousandth moves the worst ray.
J = linad.jacobian(residual)(found.x)
print("worst ray, in mm:", (np.abs(J).max(axis=0) * np.abs(found.x) * 1e-5).round(4))

fig, (left_ax, right_ax) = plt.subplots(
    1, 2, figsize=(10, 3.4), width_ratios=(3, 2), layout="constrained"
)
rays = trace(found.x, heights)
for colour, name in enumerate(("C0", "C2", "C3")):
    left_ax.plot(*np.moveaxis(rays[:, colour], -1, 0), name, linewidth=0.6)
    right_ax.plot(heights, 1000 * rays[-1, colour, :, 1], name, label=f"line {'FdC'[colour]}")
y = np.linspace(-14, 14, 60)
for place, c in zip(PLACES, found.x, strict=True):
    left_ax.plot(place + (1 - np.sqrt(1 - (c * y) ** 2)) / c, y, "k")
left_ax.set(title="the lens", xlabel="mm", ylabel="mm")
right_ax.set(title="where rays hit the screen", xlabel="height in mm", ylabel="µm")
right_ax.legend()
plt.show()

# %%
# **Try next.** Let the thicknesses and the place of the screen be unknown as well; or add rays
# from an angle of one degree, and a third lens to cope with them.
