"""Newton's steps within bounds, for few parameters.

    minimise  gᵀp + pᵀH p / 2    subject to    lower <= x + p <= upper,    |s_i p_i| <= Δ

with s the roots of the curvatures, so that units do not matter. The bounds and the region are
boxes, and so is what they have in common. In it the minimum is that of least squares with bounds,

    |R p + R^-T g|²        H = R^T R

which SciPy's solver of Stark and Parker finds exactly: which bounds hold comes out with the step.
Where H has curvature <= 0, |H| stands for it, of the same vectors.

Sources: C.-J. Lin, J. J. Moré, "Newton's method for large bound-constrained optimization problems",
SIAM Journal on Optimization 9, 1999; P. B. Stark, R. L. Parker, "Bounded-variable least-squares: an
algorithm and applications", Computational Statistics 10, 1995.
"""

from typing import Any, NamedTuple

import numpy as np

from linad.core.array_type import Array
from linad.solve.objectives import Objective
from linad.solve.problems import quiet

MOST = 200
"""Steps that are tried."""

LEAST = 1e-12
"""The least curvature that a step goes by, relative to the largest, both in units of s."""

TURNED = 1e-8
"""How large a curvature below 0 is, relative to the largest, to be more than rounding."""


class BoxedEnd(NamedTuple):
    """Where steps have ended.

    Attributes
    ----------
    x, value
    promise : float
        Of one more step; infinite where that is not known, or the end is a saddle.
    """

    x: Array
    value: float
    promise: float


def boxed_newton(
    problem: Objective, x: Array, lower: Array, upper: Array, enough: float = 0.0
) -> BoxedEnd:
    """Where the last step ends that brings a function down, in a box with room in each direction.

    Parameters
    ----------
    problem : Objective
    x, lower, upper : ndarray (n,)
        Where to start; lower < upper.
    enough : float
        What a step has to promise, to be tried.
    """
    f, g, H = problem.model(x)  # H an operator, a matrix below
    region = np.inf
    for _ in range(MOST):
        H = np.asarray(H @ np.eye(x.size), float)
        if not (np.isfinite(g).all() and np.isfinite(H).all()):
            return BoxedEnd(x, f, np.inf)
        curved = np.sqrt(np.abs(H.diagonal()))
        s = np.where(curved > 0, curved, 1.0)
        while True:
            edge = region / s
            p = _least(g, H, s, np.maximum(lower - x, -edge), np.minimum(upper - x, edge))
            promise = -float(g @ p + 0.5 * (p @ H @ p))
            noise = 10 * np.finfo(float).eps * abs(f)
            if not promise > max(noise, enough):
                saddle = _is_saddle(H, s, (lower < x) & (x < upper))
                return BoxedEnd(x, f, np.inf if saddle else max(promise, 0.0))
            trial = np.clip(x + p, lower, upper)
            gain = (f - problem.value(trial)) / promise
            size = float(np.max(s * np.abs(p)))
            if not gain > 0.25:
                region = 0.25 * size
            elif gain > 0.75 and size >= region:
                region *= 2.0
            if gain > 1e-4:
                break
        x = trial
        f, g, H = problem.model(x)
    return BoxedEnd(x, f, np.inf)


def _least(g: Array, H: Array, s: Array, low: Array, high: Array) -> Any:
    """The step to where the model is least in a box."""
    from scipy.optimize import lsq_linear

    values, vectors = np.linalg.eigh(H / s / s[:, None])
    sizes = np.sqrt(np.maximum(np.abs(values), LEAST * np.abs(values).max() or 1.0))
    R = sizes[:, None] * vectors.T
    z = vectors.T @ (g / s) / sizes
    with quiet():
        box = low * s, high * s
        return lsq_linear(R, -z, box, method="bvls", tol=1e-14, max_iter=MOST).x / s


def _is_saddle(H: Array, s: Array, inside: Array) -> bool:
    """Whether a function comes down on both sides of a point, off the bounds."""
    if not inside.any():
        return False
    values = np.linalg.eigvalsh((H / s / s[:, None])[np.ix_(inside, inside)])
    return bool(values[0] < -TURNED * np.abs(values).max())
