"""Functions of more packages for `run_packages`: rocks, wells, maps, splines, frames, gases."""

# ruff: noqa: B023 -- every lambda is called before the loop goes on
import numpy as np

DEPTHS = np.array([0.0, 100.0, 200.0, 300.0, 400.0])
WAVES = np.logspace(-3, 1, 24)
POINTS = [0.0, 0, 0, 1, 2, 0, 3, 2, 0.5, 4, 0, 1, 5, 1, 1]


def ground_():
    import bruges
    import utm
    import wellpathpy

    rocks = [2300.0, 1100, 2200, 2900, 1500, 2400]
    for name in ("akirichards", "shuey", "zoeppritz_rpp"):
        yield (
            *("bruges", name),
            lambda x: np.real(getattr(bruges.reflection, name)(*x, theta1=np.arange(0.0, 30, 10))),
            rocks,
        )

    def path(x, method):
        turns = [np.concatenate([np.zeros(1), part]) for part in (x[:4], x[4:])]
        found = getattr(wellpathpy.deviation(DEPTHS, *turns), method)()
        return np.stack([found.depth, found.northing, found.easting])

    for name in ("minimum_curvature", "radius_curvature"):
        yield "wellpathpy", name, lambda x: path(x, name), [5.0, 10, 20, 30, 40, 50, 60, 65]
    yield "utm", "from_latlon", lambda x: np.stack(utm.from_latlon(*x)[:2]), [48.2, 11.5]


def curves_():
    import hankl
    import mcfit
    from geomdl import BSpline, fitting, utilities

    def rows(lists):
        return np.stack([np.stack(part) for part in lists])

    def curve(x):
        made = BSpline.Curve()
        made.degree, made.ctrlpts = 3, [list(p) for p in x.reshape(5, 3)]
        made.knotvector = utilities.generate_knot_vector(3, 5)
        return made

    yield "geomdl", "derivatives", lambda x: rows(curve(x).derivatives(0.4, 2)), POINTS
    yield (
        *("geomdl", "interpolate_curve"),
        lambda x: rows(fitting.interpolate_curve([list(p) for p in x.reshape(5, 3)], 3).ctrlpts),
        POINTS,
    )
    power = list(1 / (1 + WAVES**2) ** 1.5)
    yield "mcfit", "P2xi", lambda x: mcfit.P2xi(WAVES)(x)[1], power
    yield "mcfit", "TophatVar", lambda x: mcfit.TophatVar(WAVES)(x, extrap=True)[1], power
    yield "hankl", "P2xi", lambda x: np.real(hankl.P2xi(WAVES, x, l=0)[1]), power


def frames_():
    import calfem.core as frames
    import pyromat
    from trimesh import transformations, triangles

    yield (
        *("calfem", "plante"),
        lambda x: frames.plante(x[:3], x[3:6], [1, x[6]], frames.hooke(1, x[7], x[8])),
        [0.0, 1, 0.2, 0, 0.1, 1, 0.3, 200, 0.3],
    )
    yield "calfem", "beam2e", lambda x: frames.beam2e(x[:2], x[2:4], x[4:]), [0, 1, 0, 2, 3, 0.5, 2]
    gas = pyromat.get("ig.N2")
    yield "pyromat", "ideal gas", lambda x: gas.s(T=x[0], p=x[1]), [500.0, 2.0]
    yield "trimesh", "euler_matrix", lambda x: transformations.euler_matrix(*x), [0.3, 0.2, 0.5]
    yield (
        *("trimesh", "slerp"),
        lambda x: transformations.quaternion_slerp(x[:4], x[4:], 0.3),
        [0.5, 0.1, 0.2, 0.8, 0.1, 0.5, 0.6, 0.2],
    )
    yield (
        *("trimesh", "angles"),
        lambda x: triangles.angles(x.reshape(2, 3, 3)),
        list(np.sin(np.arange(18.0) ** 1.1)),
    )


RECENT = [ground_, curves_, frames_]
