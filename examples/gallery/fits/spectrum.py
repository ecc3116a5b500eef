"""
Peaks on a background
=====================

A spectrum of counts: three lines, two of which overlap, on a background that falls. Where are
they, how strong, and how sure is that?
"""

import matplotlib.pyplot as plt
import numpy as np

import linad


def spectrum(x, p):
    """Lines of Gaussian shape and one common width, and an exponential background."""
    lines = p["areas"][:, np.newaxis] * np.exp(
        -0.5 * ((x - p["centres"][:, np.newaxis]) / p["width"]) ** 2
    )
    lines /= p["width"] * np.sqrt(2 * np.pi)
    return np.sum(lines, axis=0) + p["height"] * np.exp(-p["fall"] * x)


rng = np.random.default_rng(1)
x = np.linspace(0, 10, 250)
truth = {
    "centres": np.array([3.0, 5.0, 5.9]),
    "areas": np.array([60.0, 110.0, 70.0]),
    "width": 0.35,
    "height": 80.0,
    "fall": 0.25,
}
counts = rng.poisson(spectrum(x, truth)).astype(float)

# %%
# Parameters are a dict; arrays are parameters like numbers. The error of a count is its square
# root.
start = {
    "centres": np.array([2.8, 4.8, 6.2]),
    "areas": np.array([50.0, 50.0, 50.0]),
    "width": 0.5,
    "height": 50.0,
    "fall": 0.1,
}
found = linad.solve.curve_fit(
    spectrum, x, counts, start, sigma=np.sqrt(np.maximum(counts, 1)), absolute_sigma=True
)
print(found.report())

# %%
# The areas of the lines that overlap are known less well than their sum: the covariance says so.
sum_of_two = np.zeros(len(found.names))
sum_of_two[[found.names.index(name) for name in ("areas[1]", "areas[2]")]] = 1
print(
    f"errors: {found.errors['areas'][1:].round(2)}, of the sum "
    f"{np.sqrt(sum_of_two @ found.covariance @ sum_of_two):.2f}"
)

fig, (ax, matrix_ax) = plt.subplots(
    1, 2, figsize=(10, 3.6), width_ratios=(3, 2), layout="constrained"
)
ax.errorbar(x, counts, np.sqrt(counts), fmt=".", color="0.7", markersize=3, label="counts")
ax.plot(x, spectrum(x, found.x), "C3", label="fit")
ax.plot(x, spectrum(x, found.x | {"areas": np.zeros(3)}), "C0--", label="background")
ax.legend()
picture = matrix_ax.imshow(found.correlation, cmap="RdBu", vmin=-1, vmax=1)
matrix_ax.set_xticks(range(len(found.names)), found.names, rotation=90)
matrix_ax.set_yticks(range(len(found.names)), found.names)
matrix_ax.set_title("correlation")
fig.colorbar(picture, ax=matrix_ax)
plt.show()

# %%
# **Try next.** Voigt lines: ``scipy.special.voigt_profile`` is differentiated as it is. Or
# compare ``found.confidence_intervals()`` with ``found.profile_intervals()``.
