"""Unknowns that act by their square, at the place where the cost is least.

The width w in sqrt(s² + w²) moves residuals by w² u: its column 2 w u vanishes at w = 0, where
the cost, of slope 2 w u·r, is often least. The next step of Gauss and Newton is then -u·r / (2 w
|u|²), which grows without end on the way there and promises always the same. Newton's step, which
takes the curvature of the cost along such unknowns too, tells how near the minimum is:

    g S^-1 g / 2        S = H_vv - H_vu (J_u^T J_u)^-1 H_uv

with g the slopes along them, v, and H what these and those along the others, u, change by between
points to both sides. That it is a minimum, and not ground that is flat, as where a model is
saturated, is seen from these points: the slope leads back from each of them, the column that has
vanished is there again and grows in proportion, and S is positive definite.
"""

from typing import Any

import numpy as np

from linad.solve.damped import DenseSteps, FreeSteps, column_norms

AROUND = 1e-3
"""How far to the sides, in parts of the size of the unknown."""

FADED = 1e-3
"""Columns that may have vanished, relative to the largest that there were."""

GROWN = 10.0
"""By how much they are larger at the sides, at least."""

BACK = 1e-6
"""How large they are there, at least, relative to the largest that there were."""

STRAIGHT = 0.1
"""How far the column may be off a straight line through zero, relative to itself."""

DEFINITE = 1e-3
"""The least eigenvalue of S, scaled to what H_vv has on its diagonal."""


def faded_columns(fit: Any, p: Any) -> Any:
    """The unknowns that move and whose columns have come down, beside the residuals, or are so
    small from the start that the next step, hardly damped, is thousands of times as long as they.
    """
    norms = np.asarray(fit.steps.column_norms, float)
    largest = fit.seen[0] * np.sqrt(fit.cost)
    far = FADED * np.abs(p) >= np.maximum(np.abs(fit.x), np.abs(fit.problem.x.start))
    faded = (norms > 0) & far | (largest > 0) & (norms <= FADED * largest)
    return faded & fit.steps.free if isinstance(fit.steps, FreeSteps) else faded


def damping_of_faded(fit: Any) -> Any:
    """For unknowns whose columns have come down, the root of what makes their step as long as they
    are themselves, 0 for the others.

    Of one that acts by its square this is the curvature g / w of the cost. No other damping lets
    it go to 0 and the others on their way at once.
    """
    faded = faded_columns(fit, fit.light_step()[1]) & (fit.x != 0)
    return np.where(faded, np.sqrt(np.abs(fit.gradient / np.where(faded, fit.x, 1.0))), 0.0)


def steps_of_others(fit: Any, faded: Any) -> tuple[Any, Any]:
    """Steps of the other unknowns that move, and which these are."""
    inner, moving = fit.steps, ~faded
    if isinstance(fit.steps, FreeSteps):
        inner, moving = fit.steps.inner, moving & fit.steps.free
        return DenseSteps(inner.R[:, moving[fit.steps.free]], inner.z), moving
    return DenseSteps(inner.R[:, moving], inner.z), moving


def left_to_gain(fit: Any, faded: Any, p: Any) -> float:
    """What Newton's step of these unknowns would bring; infinite where the cost does not turn."""
    others, moving = steps_of_others(fit, faded)
    places: list[int] = np.flatnonzero(faded).tolist()
    curved = np.empty((fit.x.size, len(places)))
    for k, j in enumerate(map(int, places)):
        size = max(abs(fit.x[j]), abs(fit.problem.x.start[j])) or 1.0
        found = _curvature(fit, j, AROUND * size)
        if found is None:  # from a start beside the place the unknown tells no size, but u·r / |u|²
            size = float(np.sqrt(np.abs(p[j] * fit.x[j])))
            found = _curvature(fit, j, AROUND * size, about_zero=True) if size > 0 else None
        if found is None:
            return np.inf
        curved[:, k] = found
    H = curved[faded]
    if not (H.diagonal() > 0).all():
        return np.inf
    W = np.linalg.lstsq(others.R.T, curved[moving], rcond=None)[0]
    scale = 1.0 / np.sqrt(H.diagonal())
    S = scale[:, None] * (0.5 * (H + H.T) - W.T @ W) * scale
    if not np.linalg.eigvalsh(S).min() > DEFINITE:
        return np.inf
    g = scale * fit.gradient[faded]
    return float(0.5 * g @ np.linalg.solve(S, g))


def _curvature(fit: Any, j: int, h: float, about_zero: bool = False) -> Any:
    """What all slopes change by along an unknown, h to the sides; None where the cost does not
    turn, or the column does not change in proportion, to that of the unknown if ``about_zero``."""
    here, column = _slopes(fit, fit.r, fit.J, j)
    most = float(fit.seen[0, j]) * np.sqrt(fit.cost)
    least = max(GROWN * float(column_norms(column)[0]), BACK * most)
    changes, columns = [], []
    for step in (h, -h):
        there = fit.x.copy()
        there[j] += step
        if not np.array_equal(fit.at(there - fit.x), there):
            continue  # beyond a bound
        r, J = fit.problem.linearize(there)
        if J is None:
            return None
        slopes, beside = _slopes(fit, r, J, j)
        if not (np.isfinite(slopes).all() and slopes[j] * step > 0):
            return None
        if not column_norms(beside)[0] >= least:
            return None
        if about_zero and not _alike(beside * (fit.x[j] / there[j]), column):
            return None
        changes.append((slopes - here) / (there[j] - fit.x[j]))
        columns.append((beside - column) / (there[j] - fit.x[j]))
    if len(columns) == 2 and not _alike(*columns):
        return None
    return np.mean(changes, axis=0) if changes else None


def _alike(one: Any, other: Any) -> bool:
    return bool(np.linalg.norm(one - other) <= STRAIGHT * np.linalg.norm(other))


def _slopes(fit: Any, r: Any, J: Any, j: int) -> tuple[Any, Any]:
    """Those of the cost at a point, and a column there, as a matrix."""
    matrix = J.todense()
    if fit.loss is not None:
        weights, r = fit.loss.model(r)
        matrix = weights[:, None] * matrix
    return matrix.T @ r, matrix[:, [j]]
