"""Smoothing splines of FITPACK, whose knots are chosen for the data, traced with these knots held.

With the matrix A of the basis functions at the data, and the jumps D of the derivative of order k
at the inner knots, the coefficients of the spline of a number p are the least squares solution of

    |  W A  |       | W y |
    | D / p | c  =  |  0  |,        F(p) = |W (y - A c(p))|^2

and p follows from F(p) = s. FITPACK stops at |F(p) - s| <= s / 1000, so its steps are part of what
it computes, and are taken here: p_n+1 is the root of the rational function through three points of
F - s. The knots are points of the data, the same ones near by: they move with x.

Source: P. Dierckx, "Curve and Surface Fitting with Splines", 1993, chapters 4, 5 and 9.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.rules.shaping import astype
from linad.rules.triangular import solve_triangular_
from linad.scipy.bsplines import Spline, basis_at
from linad.scipy.mirror import inexact
from linad.scipy.plain_results import by_scipy
from linad.scipy.splinemakers import spread

UPPER = {"lower": False, "unit": False}

TOLERANCE = 0.001
MOST_STEPS = 20


def _places(t: Array, x: Array, k: int) -> Any:
    """Where inner knots stand in the data, in halves: 2 i for x_i, and 2 i + 1 for the middle of
    x_i and x_i+1. Behind them, up to as many as there may be, -1."""
    found = np.full(x.size, -1, np.intp)
    inner = t[k + 1 : t.size - k - 1]
    halves = np.empty(2 * x.size - 1)
    halves[::2], halves[1::2] = x, (x[:-1] + x[1:]) / 2
    found[: inner.size] = np.argmin(np.abs(inner[:, None] - halves), axis=1)
    return found


def _with_ends(x: Array, places: Array, k: int, ends: tuple[Any, ...]) -> Any:
    inner = (x[places // 2] + x[(places + 1) // 2]) / 2
    first, last = [inexact(end).reshape(1) for end in ends]
    return np.concatenate([first] * (k + 1) + [inner] + [last] * (k + 1))


def smoothed(
    name: str,
    fit: Callable[..., Any],
    x: Array,
    y: Array,
    w: Array,
    k: int,
    s: Any,
    ends: Any = (None, None),
) -> Spline:
    """The spline that FITPACK fits.

    Parameters
    ----------
    name : str
    fit : callable
        Of plain x, y, w, s and the ends: the knots and the coefficients (n, d) that SciPy finds.
    x : array (m,)
        Not decreasing.
    y : array (m, d)
    w : array (m,)
    k : int
    s : float
    ends : pair of float or None
        Where the spline ends, if not at the data.
    """
    x, y, w, s = [astype(inexact(part), float, copy=False) for part in (x, y, w, s)]
    m, d = y.shape
    ends = tuple(
        [x[i] if end is None else inexact(end) for i, end in zip((0, -1), ends, strict=True)]
    )

    def found(x: Array, y: Array, w: Array, s: Array, first: Any, last: Any) -> Any:
        t, c = fit(x, y, w, float(s), float(first), float(last))
        rest = np.zeros((m + k + 1 - len(c), d))
        return np.concatenate([_places(t, x, k), np.concatenate([c, rest]).ravel()])

    plain = by_scipy(found, x, y, w, s, *ends)
    places = astype(plain[:m], np.intp)
    t = _with_ends(x, places[: int(np.sum(places >= 0))], k, ends)
    made = _PenalizedFit(x, y, w, t, k).near(s)
    theirs = plain[m:].reshape((-1, d))[: made.c.shape[0]]
    if not np.max(np.abs(made.c - theirs)) <= 1e-6 * np.max(np.abs(theirs)):
        raise UnsupportedError(
            f"{name}: the spline of s={s} and {t.shape[0]} knots is not determined by the data to "
            f"rounding, and has no derivative; pass a larger s"
        )
    return made


class _PenalizedFit:
    """Least squares splines with knots that are given, rougher the larger a number p is.

    Notes
    -----
    The basis at the data is reduced to a triangle once. Each p costs another triangle, of the size
    of the knots.
    """

    def __init__(self, x: Array, y: Array, w: Array, t: Array, k: int) -> None:
        self.x, self.y, self.w, self.t, self.k = x, y, w, t, k
        n = t.shape[0] - k - 1
        self.basis = spread(*basis_at(t, k, x), n)
        q, self.triangle = np.linalg.qr(w[:, None] * self.basis)
        self.right = q.T @ (w[:, None] * y)
        self.jumps = _jumps(t, k)

    def coefficients(self, p: Array | None = None) -> Any:
        """Those for a number p; None is infinity, the spline that is nearest to the data."""
        if p is None:
            return solve_triangular_(self.triangle, self.right, **UPPER)
        q, r = np.linalg.qr(np.concatenate([self.triangle, self.jumps / p]))
        return solve_triangular_(r, q[: self.triangle.shape[0]].T @ self.right, **UPPER)

    def distance(self, c: Array) -> Any:
        """The weighted sum of squares of what the spline leaves."""
        left = self.w[:, None] * (self.y - self.basis @ c)
        return np.sum(left * left)

    def near(self, s: Array) -> Spline:
        """The smoothest one as near to the data as s says."""
        c = self.coefficients()
        close = self.distance(c) - s
        polynomial = self.triangle.shape[0] == self.k + 1
        if polynomial or abs(close) < TOLERANCE * s:
            return Spline(self.t, c, self.k)
        ends = np.concatenate([self.t[: self.k + 1], self.t[-self.k - 1 :]])
        far = _PenalizedFit(self.x, self.y, self.w, ends, self.k)
        far = far.distance(far.coefficients()) - s
        p = self.triangle.shape[0] / np.sum(np.abs(np.diagonal(self.triangle)))
        return Spline(self.t, self._by_steps(p, s, far, close), self.k)

    def _by_steps(self, p: Array, s: Array, f_far: Array, f_close: Array) -> Any:
        """Coefficients for the p of F(p) = s, as FITPACK finds it between p = 0 and infinity."""
        enough = TOLERANCE * s
        far: tuple[Any, Any] = (0.0, f_far)
        close: tuple[Any, Any] = (None, f_close)
        far_known = close_known = False
        for _ in range(MOST_STEPS):
            c = self.coefficients(p)
            f = self.distance(c) - s
            if abs(f) < enough:
                break
            here = p, f
            if not close_known and f - close[1] <= enough:  # p was too large
                close = here
                p = 0.04 * p
                if p <= far[0]:
                    p = 0.9 * far[0] + 0.1 * here[0]
                continue
            close_known = close_known or f < 0
            if not far_known and far[1] - f <= enough:  # p was too small
                far = here
                p = p / 0.04
                if close[0] is not None and p >= close[0]:
                    p = 0.1 * here[0] + 0.9 * close[0]
                continue
            far_known = far_known or f > 0
            if not far[1] > f > close[1]:
                break
            p = _root(far, here, close)
            if f < 0:
                close = here
            else:
                far = here
        return c


def _root(first: tuple[Any, ...], second: tuple[Any, ...], third: tuple[Any, ...]) -> Any:
    """The root of (u p + v) / (p + w) through three points; the third may be at infinity, None.

    As its distance from the second point, which is small at last: of p itself the terms cancel,
    and the derivatives of these terms more so.
    """
    (p1, f1), (p2, f2), (p3, f3) = first, second, third
    h1, h2, h3 = f1 * (f2 - f3), f2 * (f3 - f1), f3 * (f1 - f2)
    before = p1 - p2
    if p3 is None:
        return p2 - before * h2 / h3
    behind = p3 - p2
    return p2 - before * behind * h2 / (before * h1 + behind * h3)


def _jumps(t: Array, k: int) -> Any:
    """Jumps of the derivative of order k of the basis functions at inner knots, over k!, in units
    of the mean distance of knots."""
    n = t.shape[0] - k - 1
    pieces = n - k
    knots = np.arange(pieces - 1)[:, None] + k + 1
    functions = np.arange(pieces - 1)[:, None] + np.arange(k + 2)
    apart: Any = 1.0
    for r in range(k + 2):
        own = functions + r == knots
        apart = apart * np.where(own, 1.0, t[knots] - t[functions + r])
    entries = (t[functions + k + 1] - t[functions]) / apart
    scale = ((t[n] - t[k]) / pieces) ** k
    return spread(scale * entries, np.arange(pieces - 1), n)
