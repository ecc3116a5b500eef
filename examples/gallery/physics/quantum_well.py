"""
A well with the levels that one asks for
========================================

Eigenvalues are differentiated like other numbers. Which potential holds a particle with the
energies 1, 2, 3, 5, 7? An inverse problem for the lowest eigenvalues of Schrödinger's equation.
"""

import matplotlib.pyplot as plt
import numpy as np

import linad

n = 120
x = np.linspace(-6, 6, n)
h = x[1] - x[0]
kinetic = (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)) / (2 * h**2)
wanted = np.array([1.0, 2.0, 3.0, 5.0, 7.0])


bumps = np.exp(-0.5 * ((x[:, np.newaxis] - np.linspace(-4, 4, 17)) / 0.7) ** 2)


def potential(heights):
    """A harmonic well with seventeen bumps."""
    return 0.5 * x**2 + bumps @ heights


def levels(v):
    """The five lowest energies in the potential v (n,)."""
    return np.linalg.eigvalsh(kinetic + np.diag(v))[:5]


# %%
# Five equations for seventeen heights: Newton's method takes the shortest of all steps that solve
# the linear ones, and stays near the harmonic well. The row of an eigenvalue's Jacobian is the
# density of its state, ψ².
heights = np.zeros(17)
for step in range(8):
    E, J = linad.linearize(lambda h: levels(potential(h)), heights)
    print(step, f"{np.abs(E - wanted).max():.0e}")
    heights = heights - np.linalg.pinv(J.todense()) @ (E - wanted)
v = potential(heights)
print("levels:", levels(v).round(4))

E, states = np.linalg.eigh(kinetic + np.diag(v))
J = linad.jacobian(levels)(v)
print("rows of J are densities:", np.allclose(J, states[:, :5].T ** 2))

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(x, 0.5 * x**2, "0.7", label="at the start")
ax.plot(x, v, "k", label="found")
for k in range(5):
    ax.fill_between(x, E[k], E[k] + 8 * states[:, k] ** 2, alpha=0.6)
ax.set(ylim=(-1, 11), xlim=(-5, 5), xlabel="x", ylabel="energy")
ax.legend()
plt.show()

# %%
# **Try next.** Ask for two levels that nearly coincide: the well becomes two. At equal
# eigenvalues second derivatives do not exist, and linad says so.
