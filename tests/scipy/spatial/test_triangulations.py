"""Hulls, triangulations, Voronoi's diagrams and half-spaces: what moves with the points."""

import itertools

import numpy as np
import pytest
import scipy.interpolate
import scipy.spatial

import linad
from linad.errors import DegenerateError, UnsupportedError
from linad.scipy import interpolate, spatial
from linad.testing import check_derivatives

rng = np.random.default_rng(3)
SPREAD = {d: rng.standard_normal((9, d)) for d in (2, 3, 4)}
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
PLANES = np.array([[1.0, 0.1, -1.0], [-1.0, 0.2, -1.0], [0.1, 1.0, -1.0], [0.2, -1.0, -1.0]])

PARTS = {
    "volume": lambda m, p: m.ConvexHull(p).volume,
    "area": lambda m, p: m.ConvexHull(p).area,
    "equations": lambda m, p: m.ConvexHull(p).equations,
    "bounds": lambda m, p: np.stack([m.ConvexHull(p).min_bound, m.Delaunay(p).max_bound]),
    "transform": lambda m, p: m.Delaunay(p).transform,
    "voronoi": lambda m, p: m.Voronoi(p).vertices,
}


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("part", PARTS)
def test_parts(part, d):
    points = SPREAD[d]
    expected = PARTS[part](scipy.spatial, points)
    found = linad.linearize(lambda p: PARTS[part](spatial, p), points)[0]
    np.testing.assert_array_equal(found, expected)
    check_derivatives(lambda p: PARTS[part](spatial, p), points)


def test_half_spaces():
    def corners(h):
        return spatial.HalfspaceIntersection(h, np.zeros(2)).intersections

    expected = scipy.spatial.HalfspaceIntersection(PLANES, np.zeros(2)).intersections
    np.testing.assert_allclose(linad.linearize(corners, PLANES)[0], expected, rtol=1e-15)
    check_derivatives(corners, PLANES)


def test_the_volume_grows_by_the_area():
    """A multiple of all points multiplies a volume by its cube; a shift leaves it."""
    points = SPREAD[3]
    slope = linad.grad(lambda p: spatial.ConvexHull(p).volume)(points)
    volume = scipy.spatial.ConvexHull(points).volume
    np.testing.assert_allclose(np.sum(slope * points), 3 * volume, rtol=1e-12)
    np.testing.assert_allclose(np.sum(slope, axis=0), 0, atol=1e-12)


def test_a_cube_of_faces_that_are_cut():
    cube = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    hull, J = linad.linearize(
        lambda p: [spatial.ConvexHull(p).volume, spatial.ConvexHull(p).equations], cube
    )
    grown, planes = J.pushforward(cube)
    assert (hull[0], grown) == (pytest.approx(1), pytest.approx(3))
    np.testing.assert_allclose(planes, np.c_[np.zeros((12, 3)), hull[1][:, 3]], atol=1e-12)


def test_centres_that_split():
    points = np.concatenate([SQUARE, [[3.0, 0.4]]])
    with pytest.raises(DegenerateError, match="cells of more than 3 points meet"):
        linad.jacobian(lambda p: spatial.Voronoi(p).vertices)(points)


def test_what_tells_who_is_joined_is_plain():
    seen = []

    def total(p):
        seen.append([spatial.Delaunay(p), spatial.ConvexHull(p), spatial.Voronoi(p)])
        assert isinstance(seen[0][0], spatial.Delaunay)
        return np.sum(p[seen[0][0].simplices])

    points = SPREAD[2]
    linad.grad(total)(points)
    mesh, hull, cells = seen[0]
    plain = scipy.spatial.Delaunay(points)
    np.testing.assert_array_equal(mesh.simplices, plain.simplices)
    np.testing.assert_array_equal(mesh.find_simplex(points), plain.find_simplex(points))
    np.testing.assert_array_equal(hull.vertices, scipy.spatial.ConvexHull(points).vertices)
    assert cells.ridge_vertices == scipy.spatial.Voronoi(points).ridge_vertices
    with pytest.raises(AttributeError, match="nonsense"):
        mesh.nonsense()
    with pytest.raises(UnsupportedError, match="Delaunay.paraboloid_scale is not traced"):
        mesh.paraboloid_scale + 1


def test_points_to_come_are_refused():
    with pytest.raises(UnsupportedError, match="incremental"):
        linad.grad(lambda p: spatial.ConvexHull(p, incremental=True).volume)(SPREAD[2])


@pytest.mark.parametrize("traced", [True, False], ids=["traced", "plain"])
def test_an_interpolator_takes_the_triangulation(traced):
    x = np.array([[0.1, 0.2], [-0.3, 0.4]])

    def values(p, v):
        mesh = spatial.Delaunay(p if traced else SPREAD[2])
        return interpolate.LinearNDInterpolator(mesh, v)(x)

    points, v = SPREAD[2], np.arange(9.0) ** 2
    theirs = scipy.interpolate.LinearNDInterpolator(scipy.spatial.Delaunay(points), v)(x)
    np.testing.assert_allclose(linad.linearize(values, points, v)[0], theirs, rtol=1e-12)
    check_derivatives(values, points, v)


@pytest.mark.usefixtures("kernels")
def test_a_recorded_program_holds_for_its_points():
    compiled = linad.jit(lambda p: spatial.ConvexHull(p).volume)
    for shift in (0.0, 0.3, 0.6):
        points = SPREAD[2] + shift * SPREAD[2] ** 2
        assert compiled(points) == pytest.approx(scipy.spatial.ConvexHull(points).volume)
