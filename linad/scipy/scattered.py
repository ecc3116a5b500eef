"""Interpolation of scattered data, traced in points, values and points of evaluation.

Radial basis functions: s(x) = Σ_i a_i φ(ε |x - p_i|) + Σ_j b_j m_j(x) with monomials m_j, where

    (Φ + λI) a + P b = d,    P^T a = 0

Linear interpolation: the triangulation of the plain points is held, and made at each run of a
recorded program in which they are traced; in a simplex the weights are the barycentric coordinates.
On its faces the derivative is that from the simplex SciPy finds.

Source: G. Fasshauer, "Meshfree Approximation Methods with MATLAB", 2007.
"""

import itertools
import math
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.spatial

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.errors import ShapeError, UnsupportedError
from linad.rules.shaping import astype, still
from linad.scipy.mirror import StandIn, TracedClass, doubled, holds_traced, inexact
from linad.scipy.option_kinds import NUMERIC
from linad.scipy.plain_results import by_scipy
from linad.scipy.twins import stands_for

# Radial basis functions, of s = (ε r)^2. Where s is 0 a root has no slope, and the function has.


def _away(s: Array) -> tuple[Any, Any]:
    apart = still(s) > 0
    return apart, np.where(apart, s, 1.0)


def _power(exponent: float, sign: float) -> Any:
    def function(s: Any) -> Any:
        apart, s = _away(s)
        return np.where(apart, sign * s**exponent, 0.0)

    return function


def _thin_plate(s: Array) -> Any:
    apart, s = _away(s)
    return np.where(apart, 0.5 * s * np.log(s), 0.0)


stands_for(scipy.interpolate.Rbf._h_thin_plate, lambda self, r: _thin_plate(r**2))


KERNELS: dict[str, tuple[Any, int]] = {
    "linear": (_power(0.5, -1.0), 0),
    "thin_plate_spline": (_thin_plate, 1),
    "cubic": (_power(1.5, 1.0), 1),
    "quintic": (_power(2.5, -1.0), 2),
    "multiquadric": (lambda s: -np.sqrt(1 + s), 0),
    "inverse_multiquadric": (lambda s: 1 / np.sqrt(1 + s), -1),
    "inverse_quadratic": (lambda s: 1 / (1 + s), -1),
    "gaussian": (lambda s: np.exp(-s), -1),
}
"""Each kernel, and the least degree of the polynomial that makes the system regular."""

SCALE_FREE = ("linear", "thin_plate_spline", "cubic", "quintic")


def _squares(x: Array, y: Array) -> Any:
    """The squares of the distances of points (m, d) and (n, d)."""
    difference = x[:, None, :] - y[None, :, :]
    return np.sum(difference * difference, axis=-1)


class RadialBasis(StandIn):
    """A traced sum of radial functions: what `RBFInterpolator` makes of traced arguments."""

    stands_for: type = scipy.interpolate.RBFInterpolator

    def __init__(
        self, y: Any, d: Any, smoothing: Any, kernel: str, epsilon: Any, degree: int | None
    ) -> None:
        name = "RBFInterpolator"
        y, d = astype(inexact(y), float, copy=False), inexact(d)
        if y.ndim != 2 or d.shape[:1] != y.shape[:1]:
            raise ShapeError(f"{name}: points of shape {y.shape} and values of shape {d.shape}")
        if kernel not in KERNELS:
            raise ValueError(f"{name}: kernel must be one of {', '.join(KERNELS)}, got {kernel!r}")
        self.function, least = KERNELS[kernel]
        if epsilon is None:
            if kernel not in SCALE_FREE:
                raise ValueError(f"{name}: epsilon must be given for the kernel {kernel!r}")
            epsilon = 1.0
        degree = max(least, 0) if degree is None else int(degree)
        if degree < -1:
            raise ValueError(f"{name}: degree must be -1 or more, got {degree}")
        self.y, self.epsilon, self.shape = y, epsilon, d.shape[1:]
        self.powers = [
            p for p in itertools.product(range(degree + 1), repeat=y.shape[1]) if sum(p) <= degree
        ]
        # Monomials about the middle of the points, in units of their extent.
        low, high = still(y).min(axis=0), still(y).max(axis=0)
        self.middle = (low + high) / 2
        half = (high - low) / 2
        self.extent = np.where(half == 0, 1.0, half)
        n, m = y.shape[0], len(self.powers)
        if m > n:
            raise ValueError(f"{name}: {n} points, and {m} monomials of degree {degree}")
        K = self.function(epsilon * epsilon * _squares(y, y))
        K = K + np.eye(n) * (np.zeros(n) + inexact(smoothing))
        P = self._monomials(y)
        system = np.concatenate(
            [np.concatenate([K, P], axis=1), np.concatenate([P.T, np.zeros((m, m))], axis=1)]
        )
        values = d.reshape((n, -1))
        right = np.concatenate([values, np.zeros((m, values.shape[1]))])
        self.coefficients = np.linalg.solve(system, right)

    def _monomials(self, x: Array) -> Any:
        u = (x - self.middle) / self.extent
        ones = np.ones(x.shape[0])
        terms = [
            math.prod([u[:, j] ** p for j, p in enumerate(power) if p], start=ones)
            for power in self.powers
        ]
        return np.stack(terms, axis=1) if terms else np.zeros((x.shape[0], 0))

    def __call__(self, x: Any) -> Any:
        """The values at points (q, d)."""
        x = astype(inexact(x), float, copy=False)
        if x.ndim != 2 or x.shape[1] != self.y.shape[1]:
            raise ShapeError(
                f"RBFInterpolator: points of shape {x.shape} where (q, {self.y.shape[1]}) was "
                f"expected"
            )
        K = self.function(self.epsilon * self.epsilon * _squares(x, self.y))
        found = np.concatenate([K, self._monomials(x)], axis=1) @ self.coefficients
        return found.reshape((x.shape[0], *self.shape))


class RBFInterpolator(TracedClass, scipy.interpolate.RBFInterpolator):
    """As `scipy.interpolate.RBFInterpolator`; a traced argument makes a `RadialBasis`.

    Notes
    -----
    Traced without ``neighbors``.
    """

    @staticmethod
    def of_traced(y: Any, d: Any, smoothing: Any, kernel: str, epsilon: Any, degree: Any) -> Any:
        return RadialBasis(y, d, smoothing, kernel.lower(), epsilon, degree)

    def __call__(self, x: Any) -> Any:
        if not holds_traced(x):
            return super().__call__(x)
        values = self.d.reshape((-1, *self.d_shape)).view(self.d_dtype)
        degree = int(self.powers.sum(axis=1).max(initial=-1))
        return self._made(
            *(self.y, values, self.neighbors, self.smoothing, self.kernel, self.epsilon, degree)
        )(x)


# Linear interpolation on triangles.


def joined(points: Any) -> Any:
    """Coordinates as an array (..., d)."""
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*[inexact(p) for p in points]), axis=-1)
    points = inexact(points)
    return points[..., None] if points.ndim == 1 else points


class Triangulation(StandIn):
    """Traced points and values at the corners of simplices.

    Parameters
    ----------
    points : array (n, d), tuple of coordinates, or scipy.spatial.Delaunay
    values : array (n, ...)
    fill_value : complex
        Outside of all simplices.
    rescale : bool
        Whether the unit of each coordinate is its extent.

    Attributes
    ----------
    origin, unit : array (d,)
        Of the coordinates in which the triangulation is made; constants.
    simplices : scipy.spatial.Delaunay or None
        None where a recorded program triangulates at each run.
    """

    def __init__(self, points: Any, values: Any, fill_value: Any, rescale: bool) -> None:
        self.name = name = self.stands_for.__name__
        NUMERIC.check(name, "fill_value", fill_value)
        known = points if hasattr(points, "find_simplex") else None
        if known is not None and rescale:
            raise ValueError(f"{name}: a triangulation as points cannot be rescaled")
        self.points = astype(joined(known.points if known else points), float, copy=False)
        self.values, self.fill_value = inexact(values), fill_value
        plain = still(self.points)
        if self.values.shape[:1] != plain.shape[:1] or plain.ndim != 2 or plain.shape[1] < 2:
            raise ShapeError(
                f"{name}: points of shape {plain.shape} (n, 2 or more) and values of shape "
                f"{self.values.shape}"
            )
        self.origin, self.unit = np.zeros(plain.shape[1]), np.ones(plain.shape[1])
        if rescale:
            self.origin, self.unit = plain.mean(axis=0), np.ptp(plain, axis=0)
        self.simplices = known
        if known is None and not isinstance(plain, Traced):
            self.simplices = scipy.spatial.Delaunay((plain - self.origin) / self.unit)

    def _found(self, x: Array, points: Array) -> Any:
        """What is known of the simplex of each of the points x, and the simplex: -1 outside of all.

        Of a recorded program the points are triangulated at each run.
        """
        made = scipy.spatial.Delaunay(points) if self.simplices is None else self.simplices
        where = made.find_simplex(x)
        return np.column_stack([self.known(made, where), where])

    @staticmethod
    def known(made: Any, where: Array) -> Any:
        """Integers (q, ...) of simplices: their corners come first."""
        return made.simplices[where]

    def __call__(self, *xi: Any) -> Any:
        """The values at points (..., d), or at d arrays of coordinates."""
        if len(xi) == 1:
            x = joined(xi[0]) if isinstance(xi[0], tuple) else inexact(xi[0])
        else:
            x = joined(xi)
        x = astype(x, float, copy=False)
        shape, d = x.shape[:-1], self.points.shape[1]
        if x.shape[-1] != d:
            raise ShapeError(f"{self.name}: points of {x.shape[-1]} coordinates, not {d}")
        x = x.reshape((-1, d))
        found = by_scipy(self._found, *self.in_units(x))
        y = self.inside(x, found)
        lost = (found[:, -1] < 0).reshape((-1,) + (1,) * (y.ndim - 1))
        return np.where(lost, self.fill_value, y).reshape(shape + self.values.shape[1:])

    def in_units(self, x: Array) -> list[Any]:
        """The places and the points in the coordinates of the triangulation; constants."""
        return [(still(a) - self.origin) / self.unit for a in (x, self.points)]

    def inside(self, x: Array, found: Array) -> Any:
        """The values at points (q, d) of simplices, whatever outside of all."""
        raise NotImplementedError

    def weights(self, x: Array, corners: Array) -> Any:
        """The barycentric coordinates (q, d + 1) of points for corners (q, d + 1)."""
        p = self.points[corners]
        last = p[:, -1, :]
        edges = np.swapaxes(p[:, :-1, :] - last[:, None, :], -1, -2)
        first = np.linalg.solve(edges, (x - last)[..., None])[..., 0]
        return np.concatenate([first, 1 - np.sum(first, axis=-1, keepdims=True)], axis=-1)


class Triangulated(Triangulation):
    """What `LinearNDInterpolator` makes of traced values."""

    stands_for: type = scipy.interpolate.LinearNDInterpolator

    def inside(self, x: Array, found: Array) -> Any:
        corners = found[:, :-1]
        weights = self.weights(x, corners)
        tail = (1,) * (self.values.ndim - 1)
        return np.sum(weights.reshape(weights.shape + tail) * self.values[corners], axis=1)


class LinearNDInterpolator(scipy.interpolate.LinearNDInterpolator):
    """As `scipy.interpolate.LinearNDInterpolator`; traced data make a `Triangulated`."""

    def __new__(
        cls, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False
    ) -> Any:
        if not holds_traced((points, values, fill_value)):
            return super().__new__(cls)
        return Triangulated(points, values, fill_value, rescale)

    def __call__(self, *args: Any) -> Any:
        if not holds_traced(args):
            return super().__call__(*args)
        rescaled = self.scale is not None
        points = self.points * self.scale + self.offset if rescaled else self.points
        values = self.values.reshape((-1, *self.values_shape))
        return Triangulated(points, values, self.fill_value, rescaled)(*args)


def as_picked(values: Any) -> Any:
    """Values in the dtype in which SciPy picks the nearest: real ones in double precision."""
    values = inexact(values)
    return values if values.dtype.kind == "c" else doubled(values)


class NearestNDInterpolator(scipy.interpolate.NearestNDInterpolator):
    """As `scipy.interpolate.NearestNDInterpolator`; of traced values it picks the nearest."""

    def __new__(cls, x: Any, y: Any, *args: Any, **options: Any) -> Any:
        if not holds_traced((x, y)):
            return super().__new__(cls)
        values, points = as_picked(y), still(joined(x))
        numbers, theirs = np.arange(values.shape[0]), scipy.interpolate.NearestNDInterpolator
        made = None if isinstance(points, Traced) else theirs(points, numbers, *args, **options)

        def nearest(points: Array, *xi: Array, **of_query: Any) -> Any:
            of_points = theirs(points, numbers, *args, **options) if made is None else made
            index = of_points(*xi, **of_query)
            if np.any(np.isnan(index)):
                raise UnsupportedError(
                    "NearestNDInterpolator: distance_upper_bound= is not traced by linad"
                )
            return index.astype(np.intp)

        def at(*xi: Any, **of_query: Any) -> Any:
            return values[by_scipy(nearest, points, *[inexact(part) for part in xi], **of_query)]

        return at

    def __call__(self, *args: Any, **of_query: Any) -> Any:
        return by_scipy(super().__call__, *[inexact(part) for part in args], **of_query)
