"""Piecewise polynomials in Bernstein's form, and Lagrange's, of scipy.interpolate, traced.

On a piece of length h, with s = (x - x_i) / h,

    p = Σ_j b_j C(k, j) s^j (1 - s)^(k-j) = Σ_j C(k, j) Δ^j b_0 s^j

    p' : k Δb_j / h      ∫p : h/(k+1) Σ_{i<j} b_i      p^(q) = k!/(k-q)! Δ^q b_0 / h^q at its start

and ∇^q b_k in the place of Δ^q b_0 at its end. So the derivatives at both ends of a piece give its
b_j from either end, one after the other. The degree is raised by

    b'_j = (j b_j-1 + (k + 1 - j) b_j) / (k + 1).

Source: G. Farin, "Curves and Surfaces for CAGD", 2002, chapters 4 to 6.
"""

import math
from typing import Any

import numpy as np
import scipy.interpolate

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.rules.shaping import astype
from linad.scipy.mirror import StandIn, TracedClass, bound_form, holds_traced, inexact
from linad.scipy.piecewise import Piecewise, increasing
from linad.scipy.spline_slopes import column


class Bernstein(StandIn):
    """A traced piecewise polynomial: what `BPoly` makes of traced arguments.

    Parameters
    ----------
    c : array (k + 1, m, ...)
        The b_j of each piece.
    x : array (m + 1,)
        Breakpoints, increasing.
    extrapolate : bool or "periodic"
    axis : int
        Where the axis of interpolation stands in what a call returns.
    """

    stands_for: type = scipy.interpolate.BPoly

    def __init__(self, c: Array, x: Array, extrapolate: Any, axis: int) -> None:
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis

    def _in_powers(self) -> Piecewise:
        """The same by powers; made at each call, for the b_j may have been written into."""
        differences, k, powers = self.c, self.c.shape[0] - 1, []
        h = column(self.x[1:] - self.x[:-1], self.c[0])
        for j in range(k + 1):
            powers.append(math.comb(k, j) * differences[0] / h**j)
            differences = differences[1:] - differences[:-1]
        return Piecewise(np.stack(powers[::-1]), self.x, self.extrapolate, self.axis)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value, or the ``nu``-th derivative, at points of any shape."""
        return self._in_powers()(x, nu, extrapolate)

    def derivative(self, nu: int = 1) -> "Bernstein":
        """The piecewise polynomial of the ``nu``-th derivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        c, h = self.c, self.x[1:] - self.x[:-1]
        for _ in range(nu):
            k = c.shape[0] - 1
            c = k * (c[1:] - c[:-1]) / column(h, c[0]) if k else 0 * c
        return Bernstein(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "Bernstein":
        """The ``nu``-th integral, 0 at the first breakpoint and continuous."""
        if nu < 0:
            return self.derivative(-nu)
        c, h = self.c, self.x[1:] - self.x[:-1]
        for _ in range(nu):
            sums = np.cumsum(c * column(h, c[0]) / c.shape[0], axis=0)
            start = np.concatenate([0 * sums[-1:, :1], np.cumsum(sums[-1:, :-1], axis=1)], axis=1)
            c = np.concatenate([start, start + sums], axis=0)
        extrapolate = False if self.extrapolate == "periodic" and nu else self.extrapolate
        return Bernstein(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b."""
        return self._in_powers().integrate(a, b, extrapolate)


class BPoly(TracedClass, scipy.interpolate.BPoly):
    """As `scipy.interpolate.BPoly`; a traced argument makes a `Bernstein`."""

    @staticmethod
    def of_traced(c: Array, x: Array, extrapolate: Any, axis: int) -> Any:
        c, x = inexact(c), increasing("BPoly", x)
        axis = normalize_axis(axis, c.ndim - 1, "BPoly")
        if axis:
            c = np.moveaxis(np.moveaxis(c, axis + 1, 0), axis + 1, 0)
        if c.ndim < 2 or not c.shape[0] or c.shape[1] != x.shape[0] - 1:
            raise ShapeError(
                f"BPoly: {x.shape[0]} breakpoints need coefficients (k + 1, {x.shape[0] - 1}, ...),"
                f" got shape {c.shape}"
            )
        wanted = complex if c.dtype.kind == "c" else float
        if extrapolate != "periodic":
            extrapolate = True if extrapolate is None else bool(extrapolate)
        return Bernstein(astype(c, wanted, copy=False), x, extrapolate, axis)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        if not holds_traced(x):
            return super().__call__(x, nu, extrapolate)
        return self._traced()(x, nu, extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        if not holds_traced((a, b)):
            return super().integrate(a, b, extrapolate)
        return self._traced().integrate(a, b, extrapolate)

    def _traced(self) -> Bernstein:
        return Bernstein(asarray(self.c), asarray(self.x), self.extrapolate, self.axis)

    @classmethod
    def from_derivatives(cls, xi: Any, yi: Any, orders: Any = None, extrapolate: Any = None) -> Any:
        """As `scipy.interpolate.BPoly.from_derivatives`."""
        if not holds_traced((xi, yi)):
            return super().from_derivatives(xi, yi, orders, extrapolate)
        x, y = increasing("BPoly.from_derivatives", xi), [asarray(part) for part in yi]
        m = x.shape[0] - 1
        if len(y) != m + 1 or any(part.ndim == 0 for part in y):
            raise ShapeError(
                f"BPoly.from_derivatives: {m + 1} breakpoints need as many rows of derivatives, "
                f"got shapes {[part.shape for part in y]}"
            )
        wanted = [None] * m if orders is None else list(np.broadcast_to(orders, m))
        parts = [
            _between(x[i + 1] - x[i], *_used(y[i], y[i + 1], order))
            for i, order in enumerate(wanted)
        ]
        k = max([len(y[i]) + len(y[i + 1]) for i in range(m)] + [o for o in wanted if o])
        return cls(np.stack([_raised(part, k) for part in parts], axis=1), x, extrapolate)


def _used(first: Array, second: Array, order: int | None) -> tuple[Any, Any]:
    """The derivatives at both ends that make a polynomial of an order; all where it is None."""
    if order is None:
        return first, second
    if order <= 0:
        raise ValueError(f"BPoly.from_derivatives: orders must be positive, got {order}")
    of_second = min(order + 1 - min((order + 1) // 2, len(first)), len(second))
    of_first = order + 1 - of_second
    if of_first > len(first):
        raise ValueError(
            f"BPoly.from_derivatives: {len(first)} and {len(second)} derivatives at the ends of a "
            f"piece are too few for order {order}"
        )
    return first[:of_first], second[:of_second]


def _between(h: Any, first: Array, second: Array) -> list[Any]:
    """The b_j of a piece with derivatives at its ends, values first."""
    k = len(first) + len(second) - 1
    from_start: list[Any] = []
    from_end: list[Any] = []
    for values, known, step in ((first, from_start, h), (second, from_end, -h)):
        for q in range(len(values)):
            b = values[q] * step**q / math.perm(k, q)
            for j in range(q):
                b = b - (-1) ** (q - j) * math.comb(q, j) * known[j]
            known.append(b)
    return [*from_start, *from_end[::-1]]


def _raised(b: list[Any], count: int) -> Any:
    """As many b_j of a higher degree."""
    while len(b) < count:
        k = len(b)
        inner = [(j * b[j - 1] + (k - j) * b[j]) / k for j in range(1, k)]
        b = [b[0], *inner, b[-1]]
    return np.stack(b)


@bound_form(scipy.interpolate.lagrange)
def lagrange(x: Any, w: Any) -> Any:
    x, w = inexact(x), inexact(w)
    if x.ndim != 1 or w.shape != x.shape:
        raise ShapeError(f"lagrange: x and w must be rows of one length, got {x.shape}, {w.shape}")
    c: Any = 0.0
    for j in range(x.shape[0]):
        others = np.concatenate([x[:j], x[j + 1 :]])
        c = c + w[j] / np.prod(x[j] - others) * np.poly(others)
    return np.poly1d(c)
