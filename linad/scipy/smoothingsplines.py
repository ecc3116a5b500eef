"""The smoothing spline of scipy.interpolate, traced in data, weights and the weight of roughness.

The natural cubic spline s that makes Σ w_i (y_i - s(x_i))^2 + λ ∫ s''^2 least has second
derivatives γ at the inner points, and values g, with

    (R + λ Q^T W^-1 Q) γ = Q^T y,    g = y - λ W^-1 Q γ,

where with h_i = x_i+1 - x_i column j of Q has 1/h_j-1, -1/h_j-1 - 1/h_j, 1/h_j at points j - 1, j,
j + 1, and R is tridiagonal with (h_j-1 + h_j)/3 and h_j/6.

Source: P. Green, B. Silverman, "Nonparametric Regression and Generalized Linear Models", 1994,
section 2.3.
"""

from typing import Any

import numpy as np
import scipy.interpolate

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError, UnsupportedError
from linad.rules.banded import solve_banded_
from linad.rules.shaping import astype, still
from linad.scipy.bsplines import BSpline
from linad.scipy.mirror import check_real, holds_traced, inexact
from linad.scipy.piecewise import increasing
from linad.scipy.splinemakers import interpolated


def make_smoothing_spline(
    x: Array, y: Array, w: Array | None = None, lam: Any = None, *, axis: int = 0
) -> Any:
    """As `scipy.interpolate.make_smoothing_spline`; a traced argument makes a `Spline`.

    Notes
    -----
    Traced with ``lam`` given: a number, which may be traced.
    """
    if not holds_traced((x, y, w, lam)):
        along = {"axis": axis} if axis else {}  # SciPy before 1.16 has no axis
        made = scipy.interpolate.make_smoothing_spline(x, y, w, lam, **along)
        made.__class__ = BSpline  # what it is but for its call
        return made
    name = "make_smoothing_spline"
    if lam is None or np.ndim(lam):
        raise UnsupportedError(
            f"{name}: lam={lam!r} is not traced by linad; pass one number, and let "
            f"cross-validation choose it of plain data"
        )
    check_real(name, y=y, w=w, lam=lam)
    x, y = increasing(name, x), astype(inexact(y), float, copy=False)
    axis = normalize_axis(axis, y.ndim, name)
    y, n = np.moveaxis(y, axis, 0), x.shape[0]
    if n <= 4 or y.shape[0] != n:
        raise ShapeError(
            f"{name}: x and y must have at least 5 points, the same number each, got x {x.shape} "
            f"and {y.shape[0]} values"
        )
    w = np.ones(n) if w is None else astype(inexact(w), float, copy=False)
    if w.shape != (n,) or np.any(still(w) <= 0):
        raise ValueError(f"{name}: w must be {n} positive numbers, got shape {w.shape}")
    if still(lam) < 0:
        raise ValueError(f"{name}: lam must not be negative, got {still(lam)}")
    values = _values(x, y.reshape((n, -1)), w, lam).reshape(y.shape)
    made = interpolated(x, values, 3, bc_type="natural")
    made.axis = axis
    return made


def _values(x: Array, y: Array, w: Array, lam: Any) -> Any:
    """The spline at the data, for columns of values y (n, m)."""
    h = x[1:] - x[:-1]
    before, after = 1 / h[:-1], 1 / h[1:]
    middle = -before - after
    v = 1 / w
    # Diagonals of R + λ Q^T W^-1 Q, with zeros where a band is longer than its diagonal.
    main = (h[:-1] + h[1:]) / 3 + lam * (
        before * before * v[:-2] + middle * middle * v[1:-1] + after * after * v[2:]
    )
    first = h[1:-1] / 6 + lam * (
        middle[:-1] * before[1:] * v[1:-2] + after[:-1] * middle[1:] * v[2:-1]
    )
    second = lam * after[:-2] * before[2:] * v[2:-2]
    one, two = np.zeros(1), np.zeros(2)
    band = np.stack(
        [
            np.concatenate([two, second]),
            np.concatenate([one, first]),
            main,
            np.concatenate([first, one]),
            np.concatenate([second, two]),
        ]
    )
    right = before[:, None] * y[:-2] + middle[:, None] * y[1:-1] + after[:, None] * y[2:]
    curve = solve_banded_(band, right, l_and_u=(2, 2))
    zero = np.zeros((1, y.shape[1]))
    pull = (
        np.concatenate([before[:, None] * curve, zero, zero])
        + np.concatenate([zero, middle[:, None] * curve, zero])
        + np.concatenate([zero, zero, after[:, None] * curve])
    )
    return y - lam * v[:, None] * pull
