"""Convex hulls, Delaunay's triangulation, Voronoi's diagram: who is joined is decided, places move.

SciPy finds which points belong together, of the plain values; under small changes they stay the
same. Where more points than needed lie on a common face, the derivatives are those of the triangles
into which SciPy cuts it; where more lie on a common sphere, a vertex splits and has none. What is
computed of them is

    facet           n with n (p_i - c) = 1 for its points, c inside; its unit vector and offset
    hull            |det [p_i - c]| / d! a facet in volume, sqrt det(E E^T) / (d-1)! in area,
                    E = [p_i - p_0]
    simplex         T^-1 of T = [p_i - p_d], for barycentric coordinates
    Voronoi vertex  2 (p_i - p_0) x = |p_i|² - |p_0|², the centre of the sphere through its points
    intersection    A x = -b of the half-spaces that meet there

Values are SciPy's, and have the derivatives of these.
"""

import math
from typing import Any

import numpy as np
import scipy.spatial

from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.errors import DegenerateError, UnsupportedError
from linad.rules.shaping import concrete, still
from linad.scipy.mirror import check_real, holds_traced, inexact


def _as_found(found: Array, formula: Any) -> Any:
    """Values of SciPy's with the derivative of a formula for them."""
    return found + (formula - still(formula))


def _difference(points: Any, groups: Array, last: bool = False) -> Any:
    """The points of each group, seen from its first one, or from its last."""
    if last:
        return points[groups[:, :-1]] - points[groups[:, -1:]]
    return points[groups[:, 1:]] - points[groups[:, :1]]


class Joined:
    """Points of which SciPy tells how they are joined; the other attributes are SciPy's.

    Parameters
    ----------
    points : array (n, d)
        Traced.
    found : object
        What SciPy makes of the plain points.
    """

    holds_traced = True
    plain: tuple[str, ...] = ()
    """SciPy attributes and methods that tell who is joined, not where."""

    def __init__(self, points: Any, found: Any) -> None:
        self.points, self.found = points, found
        self.stands_for = type(found)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("points", "found"):
            raise AttributeError(name)
        value = getattr(self.found, name)  # SciPy's own AttributeError
        if name not in self.plain:
            raise UnsupportedError(
                f"{type(self.found).__name__}.{name} is not traced by linad; make it of "
                f"linad.stop_gradient(points), or compute it of points[simplices]"
            )
        return value


class Hull(Joined):
    """What `ConvexHull` makes of traced points."""

    plain = (
        "simplices",
        "vertices",
        "neighbors",
        "coplanar",
        "good",
        "ndim",
        "nsimplex",
        "npoints",
    )

    def __init__(self, points: Any, found: Any) -> None:
        super().__init__(points, found)
        self.min_bound, self.max_bound = np.min(points, axis=0), np.max(points, axis=0)
        inside = np.mean(found.points[found.vertices], axis=0)
        seen = points[found.simplices] - inside  # (facets, points, d)
        dimension = found.ndim
        volumes = np.linalg.det(seen) / math.factorial(dimension)
        volume = np.sum(np.sign(still(volumes)) * volumes)
        self.volume = _as_found(found.volume, volume)
        edges = _difference(points, found.simplices)
        squares = np.linalg.det(edges @ np.swapaxes(edges, -1, -2))
        # Facets that SciPy cut into triangles may leave some without an area.
        flat = still(squares) <= 1e-24 * np.max(still(squares))
        areas = np.where(flat, 0.0, np.sqrt(np.where(flat, 1.0, squares)))
        self.area = _as_found(found.area, np.sum(areas) / math.factorial(dimension - 1))
        safe = np.where(flat[:, None, None], np.eye(dimension), seen)
        normals = np.linalg.solve(safe, np.ones((*safe.shape[:-1], 1)))[..., 0]
        lengths = np.sqrt(np.sum(normals**2, axis=-1, keepdims=True))
        units = normals / lengths
        offsets = -1 / lengths - np.sum(units * inside, axis=-1, keepdims=True)
        planes = np.concatenate([units, offsets], axis=-1)
        if np.any(flat) and not np.all(flat):
            planes = planes[self._neighbour_with_area(found, flat)]
        self.equations = _as_found(found.equations, planes)

    @staticmethod
    def _neighbour_with_area(found: Any, flat: Array) -> Array:
        """For each triangle one of the same facet that has an area: itself, but for flat ones."""
        flat = concrete(flat)
        apart = np.linalg.norm(found.equations[:, None] - found.equations[None], axis=-1)
        apart[:, flat] = np.inf
        return np.where(flat, np.argmin(apart, axis=1), np.arange(len(flat)))


class Triangles(Joined):
    """What `Delaunay` makes of traced points."""

    plain = (
        *("simplices", "neighbors", "vertex_to_simplex", "convex_hull", "coplanar", "good"),
        *("vertex_neighbor_vertices", "ndim", "nsimplex", "npoints", "furthest_site"),
    )

    def __init__(self, points: Any, found: Any) -> None:
        super().__init__(points, found)
        self.min_bound, self.max_bound = np.min(points, axis=0), np.max(points, axis=0)

    @property
    def transform(self) -> Any:
        """T^-1 of each simplex, and its last point (simplices, d + 1, d)."""
        known = self.found.transform
        T = np.swapaxes(_difference(self.points, self.found.simplices, last=True), -1, -2)
        flat = np.any(np.isnan(known), axis=(-2, -1))
        inverse = np.linalg.inv(np.where(flat[:, None, None], np.eye(T.shape[-1]), T))
        last = self.points[self.found.simplices[:, -1]][:, None]
        return _as_found(known, np.concatenate([inverse, last], axis=1))

    def find_simplex(self, xi: Any, **options: Any) -> Any:
        """As SciPy's, of the plain values."""
        return self.found.find_simplex(concrete(inexact(xi)), **options)


class Cells(Joined):
    """What `Voronoi` makes of traced points."""

    plain = (
        *("ridge_points", "ridge_vertices", "ridge_dict", "regions", "point_region"),
        *("ndim", "npoints", "furthest_site"),
    )

    @property
    def vertices(self) -> Any:
        """The centres of the spheres through the points of which the cells meet."""
        found, d = self.found, self.found.ndim
        around: list[list[int]] = [[] for _ in found.vertices]
        for point, region in enumerate(found.point_region):
            for vertex in found.regions[region]:
                if vertex >= 0:
                    around[vertex].append(point)
        if any(len(group) != d + 1 for group in around):
            raise DegenerateError(
                f"Voronoi: cells of more than {d + 1} points meet in a vertex, which splits when "
                f"they move: it has no derivative; move the points off a common sphere"
            )
        groups = np.array(around, int).reshape((-1, d + 1))
        rows = 2 * _difference(self.points, groups)
        sides = _difference(np.sum(self.points**2, axis=-1), groups)
        return _as_found(found.vertices, np.linalg.solve(rows, sides[..., None])[..., 0])

    @property
    def max_bound(self) -> Any:
        return np.max(self.points, axis=0)

    @property
    def min_bound(self) -> Any:
        return np.min(self.points, axis=0)


class Corners(Joined):
    """What `HalfspaceIntersection` makes of traced half-spaces."""

    plain = ("dual_facets", "dual_vertices", "ndim", "nineq", "is_bounded")

    def __init__(self, halfspaces: Any, found: Any) -> None:
        super().__init__(halfspaces, found)
        self.halfspaces = halfspaces

    @property
    def intersections(self) -> Any:
        """The points in which half-spaces meet."""
        d = self.found.ndim
        if any(len(facet) != d for facet in self.found.dual_facets):
            raise DegenerateError(
                f"HalfspaceIntersection: more than {d} half-spaces meet in a point, which splits "
                f"when they move: it has no derivative; leave out those that are not needed"
            )
        meeting = self.halfspaces[np.array(self.found.dual_facets)]
        corners = np.linalg.solve(meeting[..., :-1], -meeting[..., -1:])[..., 0]
        return _as_found(self.found.intersections, corners)


class _OfJoined(type):
    """The type of a stand-in for a SciPy class."""

    _original: Any
    _traced: type[Joined]

    def __call__(cls, points: Any, *args: Any, **kwargs: Any) -> Any:
        if running_trace() is None or not holds_traced(points):
            return cls._original(points, *args, **kwargs)
        name = cls._original.__name__
        check_real(name, points=points)
        if kwargs.get("incremental"):
            raise UnsupportedError(
                f"{name}: incremental=True is not traced by linad; give all points at once"
            )
        points = inexact(points)
        return cls._traced(points, cls._original(concrete(points), *args, **kwargs))

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, (cls._original, cls._traced))


def _stand_in(original: type, traced: type[Joined]) -> Any:
    body = {"_original": original, "_traced": traced, "__doc__": original.__doc__}
    return _OfJoined(original.__name__, (original,), {**body, "__module__": original.__module__})


ConvexHull = _stand_in(scipy.spatial.ConvexHull, Hull)
Delaunay = _stand_in(scipy.spatial.Delaunay, Triangles)
Voronoi = _stand_in(scipy.spatial.Voronoi, Cells)
HalfspaceIntersection = _stand_in(scipy.spatial.HalfspaceIntersection, Corners)
