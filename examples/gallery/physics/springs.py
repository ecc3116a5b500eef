"""
Masses on springs
=================

A chain between two hooks takes the shape of least energy. ``np.zeros`` makes a plain array, and
NumPy gives linad no way to see what is written into one: here ``np`` is ``linad.numpy``, whose
arrays take part. It is the one line that differs.
"""

import matplotlib.pyplot as plt
from scipy.optimize import minimize

import linad
import linad.numpy as np

rng = np.random.default_rng(0)

GRAVITY = 9.81


def energy(free, hooks, mass, stiffness, length):
    """Potential energy of a chain in the plane.

    ``free`` (2n,) holds the positions of the n masses between the two ``hooks`` (2, 2);
    ``length`` is that of a spring at rest.
    """
    nodes = np.zeros((free.size // 2 + 2, 2))
    nodes[0], nodes[-1] = hooks
    nodes[1:-1] = free.reshape(-1, 2)
    stretch = np.hypot(*np.diff(nodes, axis=0).T) - length
    return 0.5 * stiffness * np.sum(stretch**2) + GRAVITY * mass * np.sum(nodes[1:-1, 1])


# %%
# The trust-region method wants products of the Hessian with vectors, and gets them at twice the
# cost of a gradient.
hooks = np.array([[0.0, 0.0], [1.0, 0.2]])
n = 15
straight = np.linspace(hooks[0], hooks[1], n + 2)[1:-1].ravel()


def chain(free):
    return energy(free, hooks, mass=0.01, stiffness=50.0, length=0.1)


shapes = []
fit = minimize(
    chain,
    straight + 1e-3 * rng.standard_normal(2 * n),
    method="trust-krylov",
    jac=linad.grad(chain),
    hessp=lambda x, p: linad.hvp(chain, (x,), (p,)),
    callback=lambda x: shapes.append(x.copy()),
)
fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
for shape in shapes:
    nodes = np.concatenate([hooks[:1], shape.reshape(-1, 2), hooks[1:]])
    ax.plot(*nodes.T, "0.8")
ax.plot(*nodes.T, "C3o-")
ax.set(title=f"at rest after {fit.nit} steps", aspect="equal")

plt.show()

# %%
# **Try next.** Hang a heavier mass in the middle, or let ``linad.grad`` of the solved shape in
# ``stiffness`` say how much the chain sags: ``linad.solve.minimum`` returns a solution to
# differentiate through.
