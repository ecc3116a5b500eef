"""
Tomography with sparse matrices
===============================

Rays through a slice, from few directions. The matrix of path lengths is SciPy's and sparse; linad
differentiates through it as it is. A price on edges makes up for what the rays do not say.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

import linad

n = 48
centre = np.linspace(-1, 1, n)


def rays(angles, offsets, samples=200):
    """The matrix (rays, n * n) of the lengths of rays within pixels, by samples on each ray."""
    s = np.linspace(-1.4, 1.4, samples)
    angle, offset, s = np.meshgrid(angles, offsets, s, indexing="ij")
    x = offset * np.cos(angle) - s * np.sin(angle)
    y = offset * np.sin(angle) + s * np.cos(angle)
    i, j = np.rint((x + 1) / 2 * (n - 1)).astype(int), np.rint((y + 1) / 2 * (n - 1)).astype(int)
    ray = np.arange(angle.size) // samples
    inside = ((i >= 0) & (i < n) & (j >= 0) & (j < n)).ravel()
    where = ray[inside], (i * n + j).ravel()[inside]
    lengths = np.full(inside.sum(), 2.8 / samples)
    return scipy.sparse.csr_array((lengths, where), shape=(len(angles) * len(offsets), n * n))


angles = np.linspace(0, np.pi, 16, endpoint=False)
A = rays(angles, np.linspace(-1, 1, 61))
print(f"{A.shape[0]} rays, {A.shape[1]} pixels, {A.nnz} entries")

# %%
# A slice to look at, and what the detector sees of it, with noise:
x, y = np.meshgrid(centre, centre, indexing="ij")
slice_ = 1.0 * (x**2 / 0.8 + y**2 / 0.5 < 1)
slice_ -= 0.6 * ((x - 0.3) ** 2 + (y - 0.1) ** 2 < 0.06)
slice_ += 0.8 * ((x + 0.45) ** 2 + (y + 0.2) ** 2 < 0.015)
rng = np.random.default_rng(0)
seen = A @ slice_.ravel() + 0.01 * rng.standard_normal(A.shape[0])


def misfit(u, price):
    """Squared errors, and the total variation of the picture, rounded off at its kink."""
    picture = u.reshape(n, n)
    down, right = np.diff(picture, axis=0)[:, :-1], np.diff(picture, axis=1)[:-1]
    return np.sum((A @ u - seen) ** 2) / 2 + price * np.sum(np.sqrt(down**2 + right**2 + 1e-4))


# %%
# ``lbfgs`` is SciPy's with the gradient by linad; a picture is never darker than nothing. Without
# the price, and with it:
pictures = {}
for price in (0.0, 0.003):
    found = linad.solve.lbfgs(
        misfit, np.zeros(n * n), (price,), bounds=[(0, None)] * (n * n), maxiter=300
    )
    pictures[price] = found.x.reshape(n, n)
    error = np.sqrt(np.mean((pictures[price] - slice_) ** 2))
    print(f"price {price}: error {error:.3f} after {found.nit} steps")

fig, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
axes[0].imshow(seen.reshape(16, -1), aspect="auto", cmap="gray")
for ax, picture in zip(axes[1:], [slice_, *pictures.values()], strict=True):
    ax.imshow(picture, vmin=0, vmax=1.8, cmap="gray")
for ax, title in zip(
    axes, ("16 directions", "the slice", "least squares", "with a price on edges"), strict=True
):
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# **Try next.** Eight directions. Or find the price by the gradient of an error on rays that were
# left out: ``linad.solve.minimum`` is differentiated through.
