"""
A conductivity from temperatures
================================

A plate is heated from four places in turn, and thermometers show the steady temperatures. Where
does it conduct badly? The heat equation -div(k grad u) = f is a sparse linear system whose matrix
depends on the unknown field k; the fit is differentiated through its solution.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import linad
from linad.scipy.sparse import coo_array
from linad.scipy.sparse.linalg import spsolve

n = 24
h = 1 / (n + 1)
number = np.pad(np.arange(n * n).reshape(n, n), 1, constant_values=-1)  # -1: the cold edge


def matrix(k):
    """The five-point scheme for the conductivity k (n + 2, n + 2), as a sparse array."""
    rows, columns, entries = [], [], []
    for axis in (0, 1):
        for shift in (1, -1):
            there, neighbour = np.roll(k, shift, axis), np.roll(number, shift, axis)
            gap = 2 * k * there / (k + there) / h**2  # in series: the harmonic mean
            gap, neighbour = gap[1:-1, 1:-1].ravel(), neighbour[1:-1, 1:-1].ravel()
            inside = neighbour >= 0
            here = np.arange(n * n)
            rows += [here, here[inside]]
            columns += [here, neighbour[inside]]
            entries += [gap, -gap[inside]]
    ij = np.concatenate(rows), np.concatenate(columns)
    return coo_array((np.concatenate(entries), ij), shape=(n * n, n * n)).tocsc()


def temperatures(log_k, heat):
    """Temperatures (n * n, experiments) of a plate whose edge is held at zero."""
    k = np.exp(np.pad(log_k, 1, mode="edge"))
    return spsolve(matrix(k), heat)


# %%
# The truth, a plate with a crack and a well conducting spot, the four burners, and what some
# hundred thermometers show:
rng = np.random.default_rng(0)
s = np.linspace(h, 1 - h, n)
x, y = np.meshgrid(s, s, indexing="ij")
truth = 1.0 * ((x - 0.7) ** 2 + (y - 0.65) ** 2 < 0.03) - 1.5 * (np.abs(x + 0.5 * y - 0.6) < 0.06)
places = [(0.25, 0.25), (0.25, 0.75), (0.75, 0.25), (0.75, 0.75)]
heat = np.stack(
    [100 * np.exp(-((x - a) ** 2 + (y - b) ** 2) / 0.02).ravel() for a, b in places], axis=1
)
thermometers = np.flatnonzero((np.indices((n, n)) % 2 == 0).all(axis=0))
clean = temperatures(truth, heat)[thermometers]
noise = 0.002 * clean.max()
seen = clean + noise * rng.standard_normal(clean.shape)


def misfit(log_k):
    """Squared errors of the thermometers, and a price on differences between neighbours."""
    log_k = log_k.reshape(n, n)
    errors = (temperatures(log_k, heat)[thermometers] - seen) / noise
    edges = [np.diff(log_k, axis=axis).ravel() for axis in (0, 1)]
    return 0.5 * np.sum(errors**2) + 2 * np.sum(np.sqrt(np.concatenate(edges) ** 2 + 0.01))


# %%
# A gradient in 576 unknowns solves two systems for each burner: one for the temperatures, one
# with the transposed matrix.
fit = minimize(
    linad.value_and_grad(misfit),
    np.zeros(n * n),
    jac=True,
    method="L-BFGS-B",
    options={"maxiter": 200},
)
found = fit.x.reshape(n, n)
likeness = np.corrcoef(found.ravel(), truth.ravel())[0, 1]
print(f"{fit.nfev} gradients; correlation with the truth {likeness:.3f}")

fig, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
axes[0].contourf(s, s, temperatures(truth, heat)[:, 0].reshape(n, n).T, 15, cmap="inferno")
axes[0].plot(x.ravel()[thermometers], y.ravel()[thermometers], "w.", markersize=2)
axes[0].set_title("temperatures, burner 1")
for ax, values, title in zip(axes[1:], (truth, found), ("log k: truth", "found"), strict=True):
    picture = ax.imshow(values.T, origin="lower", extent=(0, 1, 0, 1), vmin=-1.6, vmax=1.1)
    ax.set_title(title)
fig.colorbar(picture, ax=axes[1:], shrink=0.8)
for ax in axes:
    ax.set(aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# **Try next.** Leave out a burner and see what can no longer be told. Or let
# ``linad.solve.trust_region`` use exact products with the Hessian, which differentiate the
# solution twice.
