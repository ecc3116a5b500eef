"""Newton's steps that do not depend on the units of the unknowns, for few of them.

With S = |diag H|^(-1/2) the matrix S H S = V Λ V^T has ones on its diagonal, whatever unknowns are
measured in, and so

    p = -S V |Λ|^-1 V^T S g        promises        q = |Λ^(-1/2) V^T S g|² / 2

of f. The largest entry of a gradient has units: where unknowns are of unlike sizes, it is that of
one of them, and says nothing of the others. q is what is compared with f.

Source: P. E. Gill, W. Murray, M. H. Wright, "Practical Optimization", 1981, sections 4.4 (absolute
eigenvalues) and 8.7 (scaling).
"""

from typing import Any, NamedTuple

import numpy as np

from linad.core.array_type import Array

FEW = 100
"""Unknowns, at most, whose Hessian is made a matrix."""

MANY = 1000
"""The same where conjugate gradients have taken more products than the matrix takes."""

FLAT = 10.0
"""Times n eps: relative eigenvalues below it are rounding errors."""


class NewtonStep(NamedTuple):
    """A step, by how much f comes down in its quadratic model, and S."""

    p: Any
    promise: float
    S: Any


def newton_step(H: Any, g: Array) -> NewtonStep | None:
    """The step of a symmetric operator; None where it is not finite."""
    n = g.size
    matrix = np.asarray(H @ np.eye(n, dtype=g.dtype), float)
    if not np.isfinite(matrix).all():
        return None
    matrix = 0.5 * (matrix + matrix.T)
    S = scales(matrix)
    values, V = np.linalg.eigh(S[:, None] * matrix * S)
    size = np.abs(values)
    kept = size > FLAT * n * float(np.finfo(g.dtype).eps) * size.max(initial=0.0)
    along = V[:, kept].T @ (S * g)
    with np.errstate(over="ignore"):
        promise = 0.5 * float(np.sum(along**2 / size[kept]))
        p = -S * (V[:, kept] @ (along / size[kept]))
    return NewtonStep(p.astype(g.dtype), promise, S) if np.isfinite(p).all() else None


def scales(H: Array) -> Any:
    """S: of an unknown without curvature of its own, by the largest entry of its row."""
    d = np.abs(np.diagonal(H))
    d = np.where(d > 0, d, np.abs(H).max(axis=1, initial=0.0))
    return np.where(d > 0, 1.0 / np.sqrt(np.where(d > 0, d, 1.0)), 0.0)
