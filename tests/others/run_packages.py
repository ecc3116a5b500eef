"""Differentiate real packages, unmodified and adopted, against differences; print the table.

    python tests/others/run_packages.py [--adopt | --auto] [--jit] [package ...]

With ``--jit`` each function is jitted: it is called here and nearby, and its program is
differentiated. A package that is not installed is left out, and said so. Exit status 1 where a
derivative is wrong.
"""

# ruff: noqa: B023 -- every lambda is called before the loop goes on
import sys
import warnings
from collections import Counter

import numpy as np
from further_packages import FURTHER
from newer_packages import NEWER
from recent_packages import RECENT
from small_packages import SMALL

import linad


def process_():
    import chemicals
    import fluids
    import ht
    import thermo

    yield (
        "fluids",
        "friction_factor",
        lambda x: fluids.friction_factor(Re=x[0] * 1e5, eD=x[1] * 1e-3),
        [1.2, 0.5],
    )
    yield (
        "fluids",
        "Colebrook",
        lambda x: fluids.friction.Colebrook(x[0] * 1e5, x[1] * 1e-3),
        [1.2, 0.5],
    )
    yield (
        "fluids",
        "Clamond",
        lambda x: fluids.friction.Clamond(x[0] * 1e5, x[1] * 1e-3),
        [1.2, 0.5],
    )
    yield (
        "fluids",
        "K_orifice",
        lambda x: fluids.flow_meter.C_Reader_Harris_Gallagher(x[0], x[1], 1.165, 1.85e-5, 0.12),
        [0.07391, 0.0222],
    )
    yield (
        "fluids",
        "isothermal_gas",
        lambda x: fluids.isothermal_gas(rho=x[0], fd=0.00185, P1=1e6, P2=9e5, L=x[1] * 1000, D=0.5),
        [11.3, 1.0],
    )
    yield (
        "fluids",
        "T_critical",
        lambda x: fluids.compressible.P_stagnation(x[0], x[1], 300.0, 1.4),
        [54050.0, 255.7],
    )
    yield "fluids", "ATMOSPHERE", lambda x: fluids.ATMOSPHERE_1976(x[0] * 1000).P, [5.1]
    yield (
        "chemicals",
        "Antoine",
        lambda x: chemicals.Antoine(x[0], 8.95894, 510.595, -15.95),
        [100.0],
    )
    yield (
        "chemicals",
        "Rachford",
        lambda x: chemicals.rachford_rice.Rachford_Rice_solution(
            [x[0], 0.3, 0.2], [x[1], 0.8, 1.1]
        )[0],
        [0.5, 1.7],
    )
    yield (
        "chemicals",
        "iapws95_rho",
        lambda x: chemicals.iapws.iapws95_rho(x[0], x[1] * 1e5),
        [300.0, 1.1],
    )
    yield (
        "chemicals",
        "Lee_Kesler",
        lambda x: chemicals.vapor_pressure.Lee_Kesler(x[0], x[1], 5e6, 0.2),
        [347.0, 617.0],
    )
    yield (
        "chemicals",
        "Rackett",
        lambda x: chemicals.volume.Rackett(x[0], 368.0, 5e6, 0.28),
        [280.0],
    )
    yield (
        "chemicals",
        "EQ102",
        lambda x: chemicals.dippr.EQ102(x[0], 1.7e-6, 0.249, x[1], -11.0),
        [300.0, 1.0],
    )
    yield (
        "chemicals",
        "flash",
        lambda x: chemicals.rachford_rice.flash_inner_loop([x[0], 0.3, 0.2], [x[1], 0.8, 1.1])[0],
        [0.5, 1.7],
    )
    yield (
        "ht",
        "Nu_Gnielinski",
        lambda x: ht.conv_internal.turbulent_Gnielinski(x[0] * 1e5, x[1], 0.018),
        [1.0, 1.2],
    )
    yield "ht", "LMTD", lambda x: ht.LMTD(x[0], 60.0, 30.0, x[1]), [100.0, 40.2]
    yield (
        "ht",
        "effectiveness",
        lambda x: ht.hx.effectiveness_from_NTU(x[0], x[1], subtype="counterflow"),
        [5.0, 0.7],
    )
    yield (
        "thermo",
        "PR",
        lambda x: thermo.PR(Tc=507.6, Pc=3025000.0, omega=0.2975, T=x[0], P=x[1] * 1e5).V_l,
        [299.0, 10.0],
    )
    yield (
        "thermo",
        "NRTL",
        lambda x: thermo.nrtl.NRTL_gammas(
            [x[0], 1 - x[0]], [[0, x[1]], [0.3, 0]], [[0, 0.2], [0.2, 0]]
        )[0],
        [0.25, 1.1],
    )
    yield (
        "thermo",
        "UNIQUAC",
        lambda x: thermo.uniquac.UNIQUAC_gammas(
            [x[0], 1 - x[0]], [2.1, 0.92], [1.97, 1.4], [[1.0, x[1]], [0.6, 1.0]]
        )[0],
        [0.25, 1.1],
    )


def lmfit_():
    t = np.linspace(-1, 1, 5)
    from lmfit import lineshapes as ls

    t = np.linspace(-1, 1, 5)
    for n in (
        "gaussian",
        "lorentzian",
        "voigt",
        "pvoigt",
        "moffat",
        "expgaussian",
        "skewed_gaussian",
        "doniach",
        "lognormal",
        "step",
        "rectangle",
    ):
        yield (
            "lmfit",
            n,
            (lambda f: lambda x: f(t + 1.5, x[0], x[1], x[2]))(getattr(ls, n)),
            [1.1, 0.3, 0.6],
        )


def galpy_():
    import galpy.potential as gp

    for n, a in (
        ("NFWPotential", {"a": 2.0}),
        ("HernquistPotential", {"a": 2.0}),
        ("MiyamotoNagaiPotential", {"a": 0.5, "b": 0.1}),
        ("LogarithmicHaloPotential", {}),
        ("PlummerPotential", {"b": 0.4}),
        ("IsochronePotential", {"b": 0.7}),
        ("JaffePotential", {"a": 1.3}),
        ("PowerSphericalPotential", {"alpha": 1.6}),
        ("DoubleExponentialDiskPotential", {}),
        ("KuzminDiskPotential", {"a": 1.0}),
    ):
        p = getattr(gp, n)(normalize=1.0, **a)
        yield "galpy", n, (lambda p: lambda x: gp.evaluatePotentials(p, x[0], x[1]))(p), [1.1, 0.2]
        yield (
            "galpy",
            n + ".R",
            (lambda p: lambda x: gp.evaluateRforces(p, x[0], x[1]))(p),
            [1.1, 0.2],
        )
    p = gp.NFWPotential(a=2.0, normalize=1.0)
    yield "galpy", "vcirc", lambda x: p.vcirc(x[0]), [1.1]
    from galpy.util import coords

    yield "galpy", "radec_to_lb", lambda x: coords.radec_to_lb(x[0], x[1]), [1.1, 0.4]
    yield (
        "galpy",
        "cyl_to_rect",
        lambda x: np.stack(coords.cyl_to_rect(x[0], x[1], 0.3)),
        [1.1, 0.4],
    )


def colour_():
    import colour

    for n in (
        "XYZ_to_Lab",
        "XYZ_to_sRGB",
        "XYZ_to_xyY",
        "XYZ_to_Luv",
        "XYZ_to_IPT",
        "XYZ_to_Oklab",
        "XYZ_to_CAM16UCS",
        "XYZ_to_Jzazbz",
        "XYZ_to_Hunter_Lab",
        "XYZ_to_ICtCp",
    ):
        yield "colour", n, getattr(colour, n), [0.2, 0.12, 0.05]
    yield "colour", "delta_E", lambda x: colour.delta_E(x, [100.0, 20.0, 30.0]), [99.0, 21.0, 35.0]


def transforms3d_():
    from transforms3d import euler, quaternions

    yield "transforms3d", "euler2mat", lambda x: euler.euler2mat(x[0], x[1], x[2]), [0.1, 0.2, 0.3]
    yield (
        "transforms3d",
        "euler2quat",
        lambda x: euler.euler2quat(x[0], x[1], x[2]),
        [0.1, 0.2, 0.3],
    )
    yield (
        "transforms3d",
        "mat2euler",
        lambda x: np.stack(euler.mat2euler(euler.euler2mat(x[0], x[1], x[2]))),
        [0.1, 0.2, 0.3],
    )
    yield "transforms3d", "quat2mat", lambda x: quaternions.quat2mat(x), [0.9, 0.2, 0.3, 0.1]
    yield (
        "transforms3d",
        "rotate_vector",
        lambda x: quaternions.rotate_vector([1, 2, 3.0], x),
        [0.9, 0.2, 0.3, 0.1],
    )
    yield (
        "transforms3d",
        "axangle2mat",
        lambda x: __import__("transforms3d").axangles.axangle2mat(x, 0.3),
        [0.9, 0.2, 0.3],
    )


def numpy_financial_():
    import numpy_financial as npf

    yield "numpy_financial", "npv", lambda x: npf.npv(x[0], [-100, 39, x[1], 55]), [0.08, 59.0]
    yield "numpy_financial", "pmt", lambda x: npf.pmt(x[0], 60, x[1]), [0.005, 1000.0]
    yield "numpy_financial", "irr", lambda x: npf.irr([-100, 39, x[0], x[1]]), [59.0, 55.0]
    yield "numpy_financial", "fv", lambda x: npf.fv(x[0], 10, x[1], -100), [0.05, -100.0]
    yield "numpy_financial", "rate", lambda x: npf.rate(10, x[0], -100, x[1]), [0.0, 110.0]


def pvlib_():
    import pvlib

    yield "pvlib", "aoi", lambda x: pvlib.irradiance.aoi(x[0], x[1], 60.0, 150.0), [30.0, 180.0]
    yield "pvlib", "airmass", lambda x: pvlib.atmosphere.get_relative_airmass(x), [30.0, 60.0]
    yield (
        "pvlib",
        "singlediode",
        lambda x: pvlib.pvsystem.i_from_v(x[0], 7.0, 5e-9, 0.3, x[1], 1.5),
        [20.0, 300.0],
    )
    yield (
        "pvlib",
        "max_power",
        lambda x: pvlib.pvsystem.max_power_point(x[0], 5e-9, 0.3, x[1], 1.5)["p_mp"],
        [7.0, 300.0],
    )
    yield "pvlib", "faiman", lambda x: pvlib.temperature.faiman(x[0], x[1], 3.0), [800.0, 20.0]
    yield (
        "pvlib",
        "haydavies",
        lambda x: pvlib.irradiance.haydavies(30.0, 180.0, x[0], x[1], 1360.0, 40.0, 170.0),
        [100.0, 600.0],
    )
    yield (
        "pvlib",
        "spa",
        lambda x: np.stack(
            pvlib.spa.solar_position(
                np.atleast_1d(1.5e9), x[0], x[1], 100.0, 1013.0, 12.0, 67.0, 0.5667
            )
        ),
        [45.0, 10.0],
    )


def filterpy_():
    import filterpy.kalman as fk

    def kf(x):
        f = fk.KalmanFilter(dim_x=2, dim_z=1)
        f.x = np.array([2.0, 0.0])
        f.F = np.array([[1.0, 1.0], [0, 1.0]])
        f.H = np.array([[1.0, 0]])
        f.P = f.P * 10.0
        f.R = x[0] * np.eye(1)
        f.Q = np.eye(2) * x[1]
        for z in (1.0, 2.0, 3.0):
            f.predict()
            f.update(z)
        return f.x

    yield "filterpy", "kalman", kf, [5.0, 0.1]
    from filterpy.common import Q_discrete_white_noise

    yield "filterpy", "Q_discrete", lambda x: Q_discrete_white_noise(2, x[0], x[1]), [0.1, 0.13]


def control_():
    import control

    yield (
        "control",
        "freqresp",
        lambda x: np.abs(control.tf([x[0]], [1.0, x[1], 1.0])(1j * 0.5)),
        [1.0, 0.3],
    )
    yield (
        "control",
        "lqr",
        lambda x: control.lqr(
            np.array([[0, 1.0], [x[0], -1.0]]),
            np.array([[0], [1.0]]),
            np.eye(2),
            np.array([[x[1]]]),
        )[0],
        [0.3, 0.5],
    )
    yield (
        "control",
        "dcgain",
        lambda x: control.ss(
            [[-x[0], 1.0], [0.0, -x[1]]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]]
        ).dcgain(),
        [0.3, 0.5],
    )


def skyfield_():
    import skyfield.functions as sf

    yield "skyfield", "to_spherical", lambda x: np.stack(sf.to_spherical(x)), [0.3, 0.5, 0.7]
    yield "skyfield", "rot", lambda x: sf.rot_x(x[0]) @ sf.rot_z(x[1]), [0.3, 0.5]
    from skyfield.keplerlib import propagate

    yield (
        "skyfield",
        "kepler",
        lambda x: propagate(
            np.array([1.0, 0.1, 0.0]), np.array([x[0], x[1], 0.1]), 0.0, np.array([1.0, 2.0]), 1.0
        )[0],
        [0.1, 1.0],
    )


def statsmodels_():
    import statsmodels.api as sm

    design = np.array([[1.0, 0.2], [1.0, 0.7], [1.0, -0.3], [1.0, 1.1]])
    y = np.array([1.0, 2.0, 0.0, 3.0])
    yield "statsmodels", "Poisson", sm.Poisson(y, design).loglike, [0.3, 0.5]
    yield "statsmodels", "Logit", sm.Logit((y > 1) * 1.0, design).loglike, [0.3, 0.5]
    yield "statsmodels", "Probit", sm.Probit((y > 1) * 1.0, design).loglike, [0.3, 0.5]
    yield "statsmodels", "OLS", sm.OLS(y, design).loglike, [0.3, 0.5]
    yield "statsmodels", "NegBin", sm.NegativeBinomial(y, design).loglike, [0.3, 0.5, 0.4]
    yield (
        "statsmodels",
        "GLMGamma",
        lambda b: sm.GLM(y + 1, design, family=sm.families.Gamma(sm.families.links.Log())).loglike(
            b
        ),
        [0.3, 0.5],
    )
    from statsmodels.tsa.arima_process import arma2ma, arma_acovf

    yield (
        "statsmodels",
        "arma2ma",
        lambda x: arma2ma(np.r_[1, -x[0]], np.r_[1, x[1]], 5),
        [0.3, 0.5],
    )
    yield (
        "statsmodels",
        "arma_acovf",
        lambda x: arma_acovf(np.r_[1, -x[0]], np.r_[1, x[1]], 5),
        [0.3, 0.5],
    )


def gstools_():
    import gstools as gs

    for n in ("Gaussian", "Exponential", "Matern", "Spherical", "Rational", "Stable"):
        yield (
            "gstools",
            n,
            (
                lambda n: (
                    lambda x: getattr(gs, n)(dim=2, var=x[0], len_scale=x[1]).variogram(
                        np.array([0.1, 0.5])
                    )
                )
            )(n),
            [1.2, 0.7],
        )


def sgp4_():
    import sgp4.ext
    import sgp4.model

    yield (
        "sgp4",
        "rv2coe",
        lambda x: np.stack(
            sgp4.ext.rv2coe(
                [6524.834 * x[0], 6862.875, 6448.296],
                [4.901327, 5.533756 * x[1], -1.976341],
                398600.5,
            )[:6]
        ),
        [1.0, 1.0],
    )


def iapws_():
    import iapws

    yield "iapws", "IAPWS97", lambda x: iapws.iapws97._Region1(x[0], x[1])["h"], [300.0, 3.0]
    yield "iapws", "visc", lambda x: iapws._iapws._Viscosity(x[0], x[1]), [998.0, 298.0]
    yield "iapws", "Psat", lambda x: iapws.iapws97._PSat_T(x[0]), [350.0]


def pyhf_():
    import pyhf

    m = pyhf.simplemodels.uncorrelated_background([5.0, 10.0], [50.0, 60.0], [5.0, 12.0])
    yield "pyhf", "logpdf", lambda x: m.logpdf(x, [53.0, 65.0, 100.0, 25.0])[0], [1.0, 1.1, 0.9]


def quantecon_():
    import quantecon as qe

    yield (
        "quantecon",
        "solve_dare",
        lambda x: qe.solve_discrete_riccati(
            np.array([[x[0], 0.1], [0.0, 0.9]]),
            np.array([[1.0], [0.5]]),
            np.eye(2),
            np.array([[x[1]]]),
        ),
        [0.8, 0.5],
    )
    yield "quantecon", "gini", lambda x: qe.gini_coefficient(x), [1.0, 3.0, 2.0]


def pot_():
    import ot

    a = np.ones(3) / 3
    yield (
        "POT",
        "sinkhorn",
        lambda x: ot.sinkhorn2(a, a, x.reshape(3, 3), 1.0, numItermax=50),
        list(np.arange(9) * 0.13 % 1),
    )
    yield (
        "POT",
        "dist",
        lambda x: ot.dist(x.reshape(3, 2), np.ones((2, 2)) * 0.4),
        list(np.arange(6) * 0.13),
    )


def pylops_():
    import pylops

    yield "pylops", "FirstDerivative", lambda x: pylops.FirstDerivative(5) @ x, [1.0, 2, 4, 3, 1]


def astropy_():
    t = np.linspace(-1, 1, 5)
    import astropy.modeling.models as am

    for n in (
        "Gaussian1D",
        "Lorentz1D",
        "Sersic1D",
        "MexicanHat1D" if hasattr(am, "MexicanHat1D") else "RickerWavelet1D",
        "BrokenPowerLaw1D",
        "Moffat1D",
        "Exponential1D",
    ):
        c = getattr(am, n)
        k = len(c.param_names)
        yield (
            "astropy",
            n,
            (lambda c: lambda x: c.evaluate(t + 2.2, *x))(c),
            [1.3, 0.8, 0.6, 0.4][:k],
        )


def pykrige_():
    import pykrige.variogram_models as vm

    for n in ("gaussian", "spherical", "exponential", "power", "hole_effect"):
        yield (
            "pykrige",
            n,
            (
                lambda n: (
                    lambda x: getattr(vm, n + "_variogram_model")(list(x), np.array([0.1, 0.5]))
                )
            )(n),
            [1.2, 0.7, 0.1],
        )


GROUPS = [
    process_,
    lmfit_,
    galpy_,
    colour_,
    transforms3d_,
    numpy_financial_,
    pvlib_,
    filterpy_,
    control_,
    skyfield_,
    statsmodels_,
    gstools_,
    sgp4_,
    iapws_,
    pyhf_,
    quantecon_,
    pot_,
    pylops_,
    astropy_,
    pykrige_,
    *FURTHER,
    *SMALL,
    *NEWER,
    *RECENT,
]


def differences(f, x):
    columns = []
    for i in range(x.size):
        e = np.zeros(x.size)
        e[i] = h = 1e-5 * max(1.0, abs(x[i]))
        near = np.asarray(f(x + e)) - np.asarray(f(x - e))
        far = np.asarray(f(x + 2 * e)) - np.asarray(f(x - 2 * e))
        columns.append((8 * near - far) / (12 * h))
    return np.stack(columns, -1)


MODULES = {
    "POT": ["ot"],
    "galpy": ["galpy", "astropy"],
    "ht": ["ht", "fluids"],
    "metpy": ["metpy", "pint"],
    "thermo": ["thermo", "fluids", "chemicals"],
}


def outcome(f, x, jitted):
    """What becomes of one function, and what is said of it."""
    expected = differences(f, x)
    value = np.asarray(f(x))
    try:
        if jitted:
            f = linad.jit(f)
            f(x * (1 + 1e-6))
        y, J = linad.linearize(f, x)
        if not np.allclose(y, value, rtol=1e-8, atol=1e-12, equal_nan=True):
            return "wrong", f"the value is {np.ravel(y)[:4]}, not {value.ravel()[:4]}"
        found = np.asarray(J @ np.eye(x.size)).reshape(expected.shape)
    except Exception as error:
        return "raises", f"{type(error).__name__}: {str(error)[:200]}"
    near = 1e-6 * max(1.0, float(np.abs(expected).max()))
    if np.allclose(found, expected, rtol=1e-5, atol=near):
        return "right", ""
    return "wrong", f"{found.ravel()[:4]}, not {expected.ravel()[:4]}"


def cases():
    for group in GROUPS:
        try:
            yield from group()
        except ImportError as error:
            print(f"left out: {error}")


def main():
    options = {a for a in sys.argv[1:] if a.startswith("--")}
    wanted = [a for a in sys.argv[1:] if not a.startswith("--")]
    warnings.simplefilter("ignore")
    if "--auto" in options:
        linad.adopt()
    if "--adopt" in options:
        linad.adopt(__name__, "further_packages", "newer_packages", "small_packages")
    table, total, adopted = {}, Counter(), set()
    for package, name, f, x in cases():
        if wanted and package not in wanted:
            continue
        if "--adopt" in options and package not in adopted:
            adopted.add(package)
            linad.adopt(*MODULES.get(package, [package]))
        what, words = outcome(f, np.array(x, float), "--jit" in options)
        table.setdefault(package, Counter())[what] += 1
        if words:
            print(f"{package}.{name}: {what}: {words}", flush=True)
    print("| package | functions | right | raises | wrong |\n|---|---|---|---|---|")
    for package, counts in [*sorted(table.items(), key=lambda row: row[0].lower()), ("all", total)]:
        if counts is not total:
            total.update(counts)
        made = counts["right"] + counts["raises"] + counts["wrong"]
        row = [made, counts["right"], counts["raises"], counts["wrong"]]
        print(f"| {package} | {' | '.join(map(str, row))} |")
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
