"""Cubic interpolation of scattered data in the plane, traced: the scheme of Clough and Tocher.

Each triangle is cut into three at its centroid c; the cubics on them have the values f_i and the
gradients g_i at the corners, and meet with continuous first derivatives, across the edges of
triangles too. In Bézier ordinates, with d_ij = g_i · (p_j - p_i),

    b_iii = f_i      b_iij = f_i + d_ij / 3      b_iic = (b_iii + b_iij + b_iik) / 3

What is left at an edge is b_ijc. The derivative across it, along a direction of barycentric
coordinates α_i, α_j, α_c, is to be linear along the edge:

    b_ijc = (b_iic + b_jjc) / 2
            + (α_i (b_iii + b_ijj - 2 b_iij) + α_j (b_iij + b_jjj - 2 b_ijj)) / (2 α_c)

The direction leads to the centroid of the triangle beyond; at the hull from the middle of the edge
to the own centroid. The others are means of three: b_icc of b_iic, b_ijc and b_ikc, and b_ccc of
the three b_icc.

The gradients have the least Σ ∫ W''² over the edges, W the cubic along an edge: with e = p_j - p_i,
of length L,

    Σ_j e e^T (4 g_i + 2 g_j) / L³ = Σ_j 6 (f_j - f_i) e / L³        for each point i

SciPy comes near them by iteration. The values are SciPy's, the derivatives those of the solution.

Sources: R. Clough and J. Tocher, "Finite element stiffness matrices for analysis of plates in
bending", 1965. P. Alfeld, "A trivariate Clough-Tocher scheme for tetrahedral data", Computer Aided
Geometric Design 1, 1984. G. Nielson, "A method for interpolating scattered data based upon a
minimum norm network", Mathematics of Computation 40, 1983.
"""

import itertools
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.spatial

from linad.core.array_type import Array
from linad.core.indices import Index
from linad.errors import ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.indexing import add_at
from linad.rules.shaping import still
from linad.scipy.mirror import bound_form, holds_traced, inexact
from linad.scipy.plain_results import by_scipy
from linad.scipy.scattered import Triangulated, Triangulation, as_picked, joined
from linad.scipy.sparse import coo_array
from linad.scipy.sparse.linalg import spsolve


def _smoothest(points: Array, values: Array, edges: Array) -> Any:
    """The gradients (n, 2, values) of the least curvature along the edges, each both ways."""
    i, j = edges.T
    n = points.shape[0]
    e = points[j] - points[i]
    weight = (np.sum(e * e, axis=1) ** -1.5)[:, None, None]
    blocks = weight * e[:, :, None] * e[:, None, :]
    row, own, other = np.broadcast_arrays(
        2 * i[:, None, None] + [[0], [1]],
        2 * i[:, None, None] + [0, 1],
        2 * j[:, None, None] + [0, 1],
    )
    entries = np.concatenate([4 * blocks.ravel(), 2 * blocks.ravel()])
    places = np.concatenate([[row.ravel(), own.ravel()], [row.ravel(), other.ravel()]], axis=1)
    matrix = coo_array((entries, tuple(places)), shape=(2 * n, 2 * n))
    pulls = 6 * weight * e[:, :, None] * (values[j] - values[i])[:, None, :]
    right = add_at(pulls, index=Index((i, slice(None), slice(None))), shape=(n, *pulls.shape[1:]))
    return spsolve(matrix.tocsc(), right.reshape((2 * n, -1))).reshape(right.shape)


def _both_ways(triangles: Array) -> Array:
    """The edges (m, 2) of triangles, each once from either end."""
    pairs = triangles[:, [0, 1, 1, 2, 2, 0]].reshape((-1, 2))
    return np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)


class CloughTocher(Triangulation):
    """What `CloughTocher2DInterpolator` makes of traced values."""

    stands_for: type = scipy.interpolate.CloughTocher2DInterpolator

    def __init__(
        self, points: Any, values: Any, fill_value: Any, tol: float, maxiter: int, rescale: bool
    ) -> None:
        super().__init__(points, values, fill_value, rescale)
        if self.points.shape[1] != 2:
            raise ShapeError(f"{self.name}: points of {self.points.shape[1]} coordinates, not 2")
        self.rescaled = rescale
        if rescale:  # what is least depends on the unit
            self.middle = np.mean(self.points, axis=0)
            self.extent = np.ptp(self.points, axis=0)
            self.points = (self.points - self.middle) / self.extent
        triangles = self.simplices
        if triangles is None:
            raise UnsupportedError(
                f"{self.name}: points that are arguments of a jitted function are not traced by "
                f"linad; take them from outside, or interpolate without jit"
            )

        def by_iteration(values: Array) -> Any:
            spline = scipy.interpolate.CloughTocher2DInterpolator(
                triangles, values, tol=tol, maxiter=maxiter
            )
            return np.swapaxes(spline.grad, 1, 2)

        flat = self.values.reshape((self.values.shape[0], -1))
        exact = _smoothest(self.points, flat, _both_ways(triangles.simplices))
        self.flat, self.gradients = flat, exact + (by_scipy(by_iteration, flat) - still(exact))

    @classmethod
    def of_plain(cls, spline: Any) -> "CloughTocher":
        """With what SciPy's has found, for traced points of evaluation."""
        made = cls.__new__(cls)
        made.name, made.rescaled = cls.stands_for.__name__, spline.scale is not None
        made.simplices, made.points, made.fill_value = spline.tri, spline.points, spline.fill_value
        made.origin, made.unit = np.zeros(2), np.ones(2)
        if made.rescaled:
            made.origin, made.unit = made.middle, made.extent = spline.offset, spline.scale
        made.flat, made.gradients = spline.values, np.swapaxes(spline.grad, 1, 2)
        made.values = spline.values.reshape((-1, *spline.values_shape))
        return made

    def in_units(self, x: Array) -> list[Any]:
        if not self.rescaled:
            return super().in_units(x)
        return [(still(x) - self.origin) / self.unit, still(self.points)]

    @staticmethod
    def known(made: Any, where: Array) -> Any:
        """The corners, the triangles beyond the opposite edges (-1 at the hull), their corners."""
        beyond = made.neighbors[where]
        return np.column_stack(
            [made.simplices[where], beyond, made.simplices[beyond].reshape((-1, 9))]
        )

    def inside(self, x: Array, found: Array) -> Any:
        if self.rescaled:
            x = (x - self.middle) / self.extent
        corners = found[:, :3]
        p, g = self.points[corners], self.gradients[corners]
        f = [self.flat[corners[:, i]] for i in range(3)]
        ahead = {  # b_iij
            (i, j): f[i] + np.sum((p[:, j] - p[:, i])[:, :, None] * g[:, i], axis=1) / 3
            for i, j in itertools.permutations(range(3), 2)
        }
        around = [(i, (i + 1) % 3, (i + 2) % 3) for i in range(3)]
        inward = [(f[i] + ahead[i, j] + ahead[i, k]) / 3 for i, j, k in around]
        across = [self._across(found, corner, f, ahead, inward) for corner in around]
        deep = [(inward[i] + across[j] + across[k]) / 3 for i, j, k in around]
        middle = (deep[0] + deep[1] + deep[2]) / 3

        # In the third that holds x one of these is 0.
        weights = self.weights(x, corners)
        least = np.min(weights, axis=1)[:, None]
        u, c = [weights[:, i, None] - least for i in range(3)], 3 * least
        y = middle * c**3
        for i, j, k in around:
            y = y + u[i] * (u[i] * (f[i] * u[i] + 3 * inward[i] * c) + 3 * deep[i] * c * c)
            y = y + 3 * u[i] * u[i] * (ahead[i, j] * u[j] + ahead[i, k] * u[k])
            y = y + 6 * across[i] * u[j] * u[k] * c
        return y.reshape((-1, *self.values.shape[1:]))

    def _across(self, found: Array, corner: Any, f: Any, ahead: Any, inward: Any) -> Any:
        """b_ijc of the edge ij opposite a corner."""
        k, i, j = corner
        at_hull = found[:, 3 + k] < 0
        beyond = found[:, 6 + 3 * k : 9 + 3 * k]
        way = self.weights(np.mean(self.points[beyond], axis=1), found[:, :3]) - 1 / 3
        height = np.where(at_hull, 1.0, 3 * way[:, k])
        lean = np.where(at_hull, -0.5, (way[:, i] - way[:, k]) / height)[:, None]
        bend_i = f[i] + ahead[j, i] - 2 * ahead[i, j]
        bend_j = f[j] + ahead[i, j] - 2 * ahead[j, i]
        return 0.5 * (inward[i] + inward[j] + lean * bend_i - (1 + lean) * bend_j)


class CloughTocher2DInterpolator(scipy.interpolate.CloughTocher2DInterpolator):
    """As `scipy.interpolate.CloughTocher2DInterpolator`; traced data make a `CloughTocher`."""

    def __new__(
        cls,
        points: Any,
        values: Any,
        fill_value: Any = np.nan,
        tol: float = 1e-6,
        maxiter: int = 400,
        rescale: bool = False,
    ) -> Any:
        if not holds_traced((points, values, fill_value)):
            return super().__new__(cls)
        return CloughTocher(points, values, fill_value, tol, maxiter, rescale)

    def __call__(self, *args: Any) -> Any:
        if not holds_traced(args):
            return super().__call__(*args)
        return CloughTocher.of_plain(self)(*args)


def _nearest(points: Array, x: Array) -> Any:
    return scipy.spatial.cKDTree(points).query(x)[1]


@bound_form(scipy.interpolate.griddata)
def griddata(points: Any, values: Any, xi: Any, method: str, fill_value: Any, rescale: bool) -> Any:
    points = joined(points)
    values = as_picked(values) if method == "nearest" else inexact(values)
    cubic = method == "cubic" and points.shape[-1] == 2
    if not (cubic or (method in ("linear", "nearest") and points.shape[-1] > 1)):
        raise UnsupportedError(
            f"griddata: method={method!r} in {points.shape[-1]} dimensions is not traced by "
            f'linad; "linear" and "nearest" are, in 2 and more, and "cubic" in 2; interp1d is for 1'
        )
    if method == "nearest":
        unit = np.ptp(still(points), axis=0) if rescale else 1.0
        x = joined(xi) if isinstance(xi, tuple) else asarray(xi)
        return values[by_scipy(_nearest, points / unit, x / unit)]
    if method == "cubic":
        return CloughTocher(points, values, fill_value, 1e-6, 400, rescale)(xi)
    return Triangulated(points, values, fill_value, rescale)(xi)
