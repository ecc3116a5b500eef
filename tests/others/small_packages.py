"""Functions of smaller packages for `run_packages`, a few of each of many."""

# ruff: noqa: B023 -- every lambda is called before the loop goes on
import datetime as dt

import numpy as np

T = np.linspace(0, 10, 30)
BUMP = np.exp(-((T - 5) ** 2)) + 0.1 * T + 0.05 * np.sin(7 * T)
NOISE = np.cumsum(np.cos(np.arange(40) ** 1.3))
QUATERNION = [0.7, 0.2, -0.3, 0.4]
NOON = dt.datetime(2021, 6, 1, 12, tzinfo=dt.UTC)


def signals_():
    import allantools
    import peakutils
    import pwlf
    import ruptures
    from pybaselines import Baseline

    settings = {
        "asls": {"lam": 1e3},
        "arpls": {"lam": 1e3},
        "penalized_poly": {"poly_order": 2},
        "snip": {"max_half_window": 5},
        "mor": {"half_window": 5},
    }
    for name, given in settings.items():
        method = getattr(Baseline(x_data=T), name)
        yield "pybaselines", name, lambda x: method(x, **given)[0], BUMP
    for name in ("CostL1", "CostL2", "CostNormal", "CostRbf"):
        cost = getattr(ruptures.costs, name)
        given = {"gamma": 1.0} if name == "CostRbf" else {}
        yield (
            *("ruptures", name),
            *(lambda x: cost(**given).fit(x.reshape(-1, 1)).error(0, 11), NOISE[:20]),
        )
    for name in ("adev", "oadev", "mdev", "hdev", "totdev"):
        deviation = getattr(allantools, name)
        yield (
            *("allantools", name),
            *(lambda x: deviation(x, 1.0, data_type="phase", taus=[1, 2, 4])[1], NOISE),
        )
    yield "peakutils", "baseline", lambda x: peakutils.baseline(x, 2), BUMP
    yield "peakutils", "centroid", lambda x: peakutils.centroid(T, x), BUMP
    yield "pwlf", "fit", lambda y: pwlf.PiecewiseLinFit(T, y).fit_with_breaks([0, 4, 10]), BUMP


def turned_():
    import ahrs
    import rmsd
    from pyquaternion import Quaternion
    from spatialmath import SE3, base

    yield "pyquaternion", "matrix", lambda x: Quaternion(x).rotation_matrix, QUATERNION
    yield "pyquaternion", "log", lambda x: Quaternion.log(Quaternion(x)).elements, QUATERNION
    yield "pyquaternion", "power", lambda x: (Quaternion(x) ** 2.5).elements, QUATERNION
    yield (
        *("pyquaternion", "slerp"),
        lambda x: (
            Quaternion.slerp(Quaternion(x), Quaternion(axis=[1, 0, 0], angle=1), 0.4).elements
        ),
        QUATERNION,
    )
    yield "spatialmath", "rotx", lambda x: base.rotx(x[0]), [0.3]
    yield "spatialmath", "tr2rpy", lambda x: base.tr2rpy(base.rpy2r(x)), [0.1, 0.2, 0.3]
    yield "spatialmath", "trlog", lambda x: base.trlog(base.rpy2r(x)), [0.1, 0.2, 0.3]
    yield "spatialmath", "SE3", lambda x: (SE3(x[:3]) * SE3.Rx(x[3])).A, QUATERNION
    yield "ahrs", "Quaternion", lambda x: ahrs.Quaternion(x).to_DCM(), QUATERNION
    yield (
        *("ahrs", "Madgwick"),
        lambda x: ahrs.filters.Madgwick().updateIMU(
            np.array([1.0, 0, 0, 0]), gyr=x, acc=np.array([0.1, 0.2, 9.8])
        ),
        [0.1, 0.2, 0.3],
    )
    atoms, others = NOISE[:15], np.sin(np.arange(15.0)).reshape(5, 3)
    yield "rmsd", "kabsch_rmsd", lambda x: rmsd.kabsch_rmsd(x.reshape(5, 3), others), atoms
    yield "rmsd", "quaternion_rmsd", lambda x: rmsd.quaternion_rmsd(x.reshape(5, 3), others), atoms


def earth_():
    import ppigrf
    import psychrolib
    import pyet
    import refet
    import seawater
    from ambiance import Atmosphere
    from geographiclib.geodesic import Geodesic
    from pysolar import solar
    from windpowerlib import density, wind_speed

    for name in ("dens", "svel", "adtg", "alpha", "cp"):
        of_water = getattr(seawater, name)
        yield "seawater", name, lambda x: of_water(x[0], x[1], x[2] * 1e3), [35.0, 10.0, 1.0]
    psychrolib.SetUnitSystem(psychrolib.SI)
    for name in ("GetHumRatioFromRelHum", "GetTWetBulbFromRelHum"):
        of_air = getattr(psychrolib, name)
        yield "psychrolib", name, lambda x: of_air(x[0], x[1], 101325.0), [25.0, 0.6]
    for name in ("density", "pressure", "speed_of_sound"):
        yield "ambiance", name, lambda x: getattr(Atmosphere(x * 1e3), name), [5.0, 12.0]
    field, day = ppigrf.igrf, dt.datetime(2021, 3, 28)
    yield "ppigrf", "igrf", lambda x: np.stack(field(*x, day)), [5.3, 60.4, 10.0]
    earth = Geodesic.WGS84
    yield "geographiclib", "Inverse", lambda x: earth.Inverse(*x, 30, 40)["s12"], [10.0, 20.0]
    yield "geographiclib", "Direct", lambda x: earth.Direct(*x, 30, 1e6)["lat2"], [10.0, 20.0]
    yield "pysolar", "altitude", lambda x: solar.get_altitude(*x, NOON), [42.2, -71.4]
    yield (
        *("windpowerlib", "barometric"),
        *(lambda x: density.barometric(x[0] * 1e5, 10.0, 100.0, x[1]), [1.0, 280.0]),
    )
    profile = wind_speed.logarithmic_profile
    yield "windpowerlib", "logarithmic", lambda x: profile(x[0], 10.0, 100.0, x[1]), [5.0, 0.15]
    yield "pyet", "calc_es", lambda x: pyet.meteo_utils.calc_es(x[0]), [20.0]
    weather = {"ea": 1.2, "rs": 22.0, "uz": 3.0, "zw": 2.0, "elev": 100.0, "lat": 40.0, "doy": 180}
    yield (
        *("refet", "Daily"),
        *(lambda x: refet.Daily(x[0], x[1], **weather, method="asce").etr(), [15.0, 30.0]),
    )


def measures_():
    import hydroeval
    import skrf
    from pymoo.problems import get_problem
    from pyswarms.utils.functions import single_obj

    for name in ("ackley", "beale", "himmelblau", "rastrigin", "rosenbrock"):
        of_swarm = getattr(single_obj, name)
        yield "pyswarms", name, lambda x: of_swarm(x.reshape(2, 2)), QUATERNION
    for name in ("zdt1", "dtlz2", "ackley", "bnh", "welded_beam"):
        problem = get_problem(name)
        point = np.linspace(0.3, 0.6, problem.n_var)
        yield "pymoo", name, lambda x: problem.evaluate(x, return_values_of=["F"]), point
    seen = np.abs(np.sin(np.arange(9.0))) + 0.3
    for name in ("nse", "kge", "rmse", "pbias"):
        measure = getattr(hydroeval, name)
        yield "hydroeval", name, lambda x: hydroeval.evaluator(measure, x, seen), seen + 0.1 * T[:9]
    S = np.array([[0.1 + 0.2j, 0.8 - 0.1j], [0.7 + 0.1j, 0.2 - 0.1j]])
    for name in ("s2z", "s2y", "s2t", "s2h"):
        turned = getattr(skrf.network, name)
        yield "skrf", name, lambda x: np.abs(turned((S * x[0] + 0.1 * x[1])[None])), [0.9, 0.3]


def solids_():
    import csaps
    import felupe
    import navpy
    from burnman import minerals
    from burnman.eos import birch_murnaghan

    knots, wave = np.linspace(0, 4, 12), np.sin(np.arange(12) ** 1.5)
    at = knots[:5] + 0.03
    yield "csaps", "of values", lambda x: csaps.csaps(knots, x, at, smooth=0.8), wave
    yield "csaps", "of smooth", lambda x: csaps.csaps(knots, wave, at, smooth=x[0]), [0.8]
    yield "csaps", "of points", lambda x: csaps.csaps(knots, wave, x, smooth=0.8), at
    F = np.eye(3).ravel() + 0.1 * wave[:9]
    block = (3, 3, 1, 1)
    yield "felupe", "inv", lambda x: felupe.math.inv(x.reshape(block)), F
    stress = lambda mu, F: felupe.NeoHooke(mu=mu, bulk=2.0).gradient([F.reshape(block), None])[0]  # noqa: E731
    yield "felupe", "NeoHooke", lambda x: stress(1.0, x), F
    yield "felupe", "NeoHooke.mu", lambda x: stress(x[0], F), [1.1]
    yield "navpy", "lla2ned", lambda x: navpy.lla2ned(*x, 46.0, 8.0, 100.0), [46.1, 8.1, 500.0]
    yield "navpy", "angle2dcm", lambda x: navpy.angle2dcm(*x), [0.3, 0.2, 0.1]
    yield "navpy", "quat2angle", lambda x: np.array(navpy.quat2angle(x[0], x[1:])), QUATERNION

    def density(x):
        mineral = minerals.SLB_2011.mg_fe_olivine()
        mineral.set_composition([x[2], 1 - x[2]])
        mineral.set_state(x[0] * 1e9, x[1] * 1e3)
        return mineral.density

    yield "burnman", "olivine", density, [10.0, 1.8, 0.9]
    yield (
        "burnman",
        "birch_murnaghan",
        lambda x: birch_murnaghan.birch_murnaghan(
            x[0], {"V_0": 1.0, "K_0": x[1], "Kprime_0": 4.0, "P_0": 0.0}
        ),
        [1.1, 160.0],
    )


SMALL = [signals_, turned_, earth_, measures_, solids_]
