"""
Tridiagonal systems
===================

Elimination that overwrites the diagonal and the right side, entry by entry.
"""

import matplotlib.pyplot as plt
import numpy as np

import linad

rng = np.random.default_rng(0)


def solve(lower, diagonal, upper, right):
    """Solution of a tridiagonal system. The diagonal and the right side are overwritten."""
    n = len(diagonal)
    for i in range(1, n):
        factor = lower[i - 1] / diagonal[i - 1]
        diagonal[i] -= factor * upper[i - 1]
        right[i] -= factor * right[i - 1]
    right[-1] /= diagonal[-1]
    for i in range(n - 2, -1, -1):
        right[i] = (right[i] - upper[i] * right[i + 1]) / diagonal[i]
    return right


# %%
# The run is recorded once. Its operator solves with the matrix, transposed or not, as often as
# asked: what the program overwrote is not lost. The right side, which is differentiated, is as it
# was afterwards; the diagonal is a constant here, which the program gets to overwrite as a copy.
n = 50
lower, upper = -np.ones(n - 1), -np.ones(n - 1) * 0.7
diagonal, right = 2.0 * np.ones(n), rng.standard_normal(n)
A = np.diag(diagonal) + np.diag(lower, -1) + np.diag(upper, 1)
x, J = linad.linearize(solve, lower, diagonal.copy(), upper, right, argnums=3)
for found, matrix in [(x, A), (J @ right, A), (J.T @ right, A.T)]:
    print(np.allclose(matrix @ found, right))

# %%
# Written out, the operator of the solution in the right side is the inverse matrix:
fig, (left_ax, right_ax) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
left_ax.plot(right, "0.6", label="right side")
left_ax.plot(x, "C3", label="solution")
left_ax.legend()
picture = right_ax.imshow(J.todense(), cmap="viridis")
fig.colorbar(picture, ax=right_ax)
right_ax.set(title="J: what each entry moves")

plt.show()

# %%
# **Try next.** Differentiate in ``diagonal`` as well (``argnums=(1, 3)``), and compile the loop
# with ``linad.kernel``.
