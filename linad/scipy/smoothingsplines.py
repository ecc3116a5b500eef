"""The smoothing spline of scipy.interpolate, traced in data, weights and the weight of roughness.

The natural cubic spline s that makes Σ w_i (y_i - s(x_i))^2 + λ ∫ s''^2 least has second
derivatives γ at the inner points, and values g, with

    (R + λ Q^T W^-1 Q) γ = Q^T y,    g = y - λ W^-1 Q γ,

where with h_i = x_i+1 - x_i column j of Q has 1/h_j-1, -1/h_j-1 - 1/h_j, 1/h_j at points j - 1, j,
j + 1, and R is tridiagonal with (h_j-1 + h_j)/3 and h_j/6.

Without λ it is chosen by generalized cross-validation: the least of

    |y - g|² / (n - tr A)²,    n - tr A = λ tr((R + λ B)^-1 B),    B = Q^T W^-1 Q

where g = A y. It moves with the data as the root of the derivative in log λ does, see
`linad.scipy.implicit_solutions`; where the upper end of SciPy's search, n, holds it, it stays.

Sources: P. Green, B. Silverman, "Nonparametric Regression and Generalized Linear Models", 1994,
sections 2.3, 3.3. P. Craven, G. Wahba, "Smoothing noisy data with spline functions", Numerische
Mathematik 31, 1979.
"""

import math
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.optimize

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import ConvergenceError, ShapeError, UnsupportedError
from linad.rules.banded import solve_banded_
from linad.rules.shaping import astype, still
from linad.scipy.bsplines import BSpline
from linad.scipy.implicit_solutions import Watched, with_derivative
from linad.scipy.minima import minimum_of_number
from linad.scipy.mirror import check_real, holds_traced, inexact
from linad.scipy.piecewise import increasing
from linad.scipy.plain_results import by_scipy
from linad.scipy.splinemakers import interpolated


def make_smoothing_spline(
    x: Array, y: Array, w: Array | None = None, lam: Any = None, *, axis: int = 0
) -> Any:
    """As `scipy.interpolate.make_smoothing_spline`; a traced argument makes a `Spline`.

    Notes
    -----
    With ``lam=None`` the derivative costs n^2 numbers of memory.
    """
    if not holds_traced((x, y, w, lam)):
        along = {"axis": axis} if axis else {}  # SciPy before 1.16 has no axis
        made = scipy.interpolate.make_smoothing_spline(x, y, w, lam, **along)
        made.__class__ = BSpline  # what it is but for its call
        return made
    name = "make_smoothing_spline"
    if lam is not None and np.ndim(lam):
        raise UnsupportedError(
            f"{name}: lam={lam!r} is not traced by linad; pass one number, or None"
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
    columns = y.reshape((n, -1))
    if lam is None:
        values = np.stack([_validated(x, column, w) for column in columns.T], axis=1)
    elif still(lam) < 0:
        raise ValueError(f"{name}: lam must not be negative, got {still(lam)}")
    else:
        values = columns - _Roughness(x, w).residual(columns, lam)
    made = interpolated(x, values.reshape(y.shape), 3, bc_type="natural")
    made.axis = axis
    return made


def _validated(x: Array, y: Array, w: Array) -> Any:
    """The spline at the data (n,) with the λ that cross-validation chooses."""
    n, roughness = x.shape[0], _Roughness(x, w)

    def score(log_lam: Any) -> Any:
        lam = np.exp(log_lam)
        e = roughness.residual(y[:, None], lam)
        return np.log(np.sum(e * e)) - 2 * np.log(roughness.freedom(lam))

    f = Watched(score)
    # As SciPy searches.
    found = scipy.optimize.minimize_scalar(
        lambda lam: np.exp(f(np.log(lam))), bounds=(0, n), method="bounded"
    )
    ends = (-np.inf, math.log(n))
    try:
        log_lam = minimum_of_number("make_smoothing_spline", f, np.log(found.x), ends)
    except ConvergenceError as error:
        raise ConvergenceError(
            f"make_smoothing_spline: the search for lam has ended at {found.x:.3g}, where the "
            f"score of cross-validation is not least, as of data without noise; lam has no "
            f"derivative there: pass a number as lam, or x in a larger unit",
            found.x,
        ) from error
    values = y - roughness.residual(y[:, None], np.exp(log_lam))[:, 0]
    return with_derivative(by_scipy(_at_data, x, y, w), values)


def _at_data(x: Array, y: Array, w: Array) -> Any:
    return scipy.interpolate.make_smoothing_spline(x, y, w)(x)


class _Roughness:
    """Q, W and R of points and weights.

    Parameters
    ----------
    x, w : array (n,)
    """

    def __init__(self, x: Array, w: Array) -> None:
        self.h = h = x[1:] - x[:-1]
        self.v = 1 / w
        self.before, self.after = 1 / h[:-1], 1 / h[1:]
        self.middle = -self.before - self.after

    def bends(self, y: Array) -> Any:
        """Q^T y of columns (n, m)."""
        before, middle, after = self.before, self.middle, self.after
        return before[:, None] * y[:-2] + middle[:, None] * y[1:-1] + after[:, None] * y[2:]

    def pulls(self, curve: Array) -> Any:
        """Q γ of columns (n - 2, m)."""
        zero = np.zeros((1, curve.shape[1]))
        return (
            np.concatenate([self.before[:, None] * curve, zero, zero])
            + np.concatenate([zero, self.middle[:, None] * curve, zero])
            + np.concatenate([zero, zero, self.after[:, None] * curve])
        )

    def band(self, lam: Any) -> Any:
        """The diagonals of R + λ B, with zeros where a band is longer than its diagonal."""
        h, v, before, middle, after = self.h, self.v, self.before, self.middle, self.after
        main = (h[:-1] + h[1:]) / 3 + lam * (
            before * before * v[:-2] + middle * middle * v[1:-1] + after * after * v[2:]
        )
        first = h[1:-1] / 6 + lam * (
            middle[:-1] * before[1:] * v[1:-2] + after[:-1] * middle[1:] * v[2:-1]
        )
        second = lam * after[:-2] * before[2:] * v[2:-2]
        one, two = np.zeros(1), np.zeros(2)
        return np.stack(
            [
                np.concatenate([two, second]),
                np.concatenate([one, first]),
                main,
                np.concatenate([first, one]),
                np.concatenate([second, two]),
            ]
        )

    def residual(self, y: Array, lam: Any) -> Any:
        """y - g of columns (n, m)."""
        curve = solve_banded_(self.band(lam), self.bends(y), l_and_u=(2, 2))
        return lam * self.v[:, None] * self.pulls(curve)

    def freedom(self, lam: Any) -> Any:
        """n - tr A."""
        B = self.bends(self.v[:, None] * self.pulls(np.eye(self.middle.shape[0])))
        return lam * np.trace(solve_banded_(self.band(lam), B, l_and_u=(2, 2)))
