"""More functions of real packages for `run_packages`: kernels, units, geometry, statistics."""

# ruff: noqa: B023 -- every lambda is called before the loop goes on
import numpy as np

T = np.linspace(-1, 1, 5)
POINTS = [0.1, 0.2, 0.5, 0.9, 1.1, 0.4]
WAVE = list(np.sin(np.arange(12) ** 1.5))


def sklearn_():
    from sklearn import metrics
    from sklearn.gaussian_process import GaussianProcessRegressor, kernels
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.mixture import GaussianMixture
    from sklearn.neural_network import MLPRegressor

    X, y = np.reshape(POINTS, (3, 2)), np.array([1.0, 0.0, 2.0])
    for kernel in (kernels.RBF(0.7), kernels.Matern(0.7, nu=1.5), kernels.RationalQuadratic(0.7)):
        yield "sklearn", f"{kernel}", lambda x: kernel(x.reshape(3, 2)), POINTS
    for name in ("rbf_kernel", "cosine_similarity", "polynomial_kernel"):
        kernel = getattr(metrics.pairwise, name)
        yield "sklearn", name, lambda x: kernel(x.reshape(3, 2)), POINTS
    yield "sklearn", "r2_score", lambda x: metrics.r2_score(y, x), [1.1, 0.3, 1.7]
    yield "sklearn", "log_loss", lambda x: metrics.log_loss([0, 1, 1], x), [0.2, 0.7, 0.6]
    yield "sklearn", "Ridge.fit", lambda x: Ridge().fit(X, x).coef_, [1.0, 0.0, 2.0]
    models = [
        GaussianProcessRegressor(kernels.RBF(0.7), alpha=1e-2, optimizer=None).fit(X, y),
        Ridge().fit(X, y),
        MLPRegressor(hidden_layer_sizes=(3,), max_iter=5, random_state=0).fit(X, y),
    ]
    for model in models:
        name = f"{type(model).__name__}.predict"
        yield "sklearn", name, lambda x: model.predict(x.reshape(1, 2)), [0.4, 0.5]
    process = models[0].log_marginal_likelihood
    yield "sklearn", "log_marginal_likelihood", process, [0.1]
    classes = LogisticRegression().fit(X, [0, 1, 1])
    yield "sklearn", "predict_proba", lambda x: classes.predict_proba(x.reshape(1, 2)), [0.4, 0.5]
    mixture = GaussianMixture(1, random_state=0).fit(np.r_[X, X + 0.3])
    yield "sklearn", "score_samples", lambda x: mixture.score_samples(x.reshape(1, 2)), [0.4, 0.5]


def units_():
    import metpy.calc
    import pint
    from metpy.units import units
    from uncertainties import ufloat, umath

    u = pint.UnitRegistry()
    yield "pint", "product", lambda x: (x * u.m * (2 * u.s)).to("cm*s").magnitude, [1.0, 2.0]
    yield "pint", "power", lambda x: ((x * u.m) ** 2 / (3 * u.s)).to("cm**2/s").m, [1.0, 2.0]
    yield "pint", "sin", lambda x: np.sin(u.Quantity(x, "degree")).m, [10.0, 20.0]
    yield (
        "pint",
        "concatenate",
        lambda x: np.concatenate([u.Quantity(x, "m"), [3, 4] * u.km]).to("m").m,
        [10.0, 20.0],
    )
    yield "pint", "to", lambda x: u.Quantity(x[0], "degC").to("kelvin").m, [10.0]
    of_wind, q = metpy.calc.wind_speed, units.Quantity
    yield "metpy", "wind_speed", lambda x: of_wind(q(x[0], "m/s"), q(x[1], "m/s")).m, [3.0, 4.0]
    yield (
        "metpy",
        "dewpoint",
        lambda x: metpy.calc.dewpoint_from_relative_humidity(q(x[0], "K"), q(x[1], "")).m,
        [290.0, 0.6],
    )
    yield (
        "metpy",
        "saturation_vapor_pressure",
        lambda x: metpy.calc.saturation_vapor_pressure(q(x[0], "K")).m,
        [290.0],
    )
    yield (
        "metpy",
        "equivalent_potential_temperature",
        lambda x: (
            metpy.calc.equivalent_potential_temperature(
                q(850.0, "hPa"), q(x[0], "K"), q(x[1], "K")
            ).m
        ),
        [290.0, 280.0],
    )
    product = lambda x: ufloat(x[0], x[2]) * umath.sin(ufloat(x[1], 0.2))  # noqa: E731
    yield "uncertainties", "nominal_value", lambda x: product(x).nominal_value, [1.0, 2.0, 0.1]
    yield "uncertainties", "std_dev", lambda x: product(x).std_dev, [1.0, 2.0, 0.1]


def astropy_units_():
    import astropy.modeling.models as models
    import astropy.units as u
    from astropy import coordinates, cosmology, stats

    yield "astropy", "Quantity", lambda x: ((x * u.m) ** 2 / (3 * u.s)).to("cm2/s").value, [1, 2]
    yield "astropy", "sum", lambda x: np.sum(u.Quantity(x, "m") * (2 * u.s)).value, [1.0, 2.0]
    yield "astropy", "to_value", lambda x: (u.Quantity(x, "m") + 2 * u.km).to_value("m"), [1, 2]
    yield "astropy", "Gaussian1D()", lambda x: models.Gaussian1D(x[0], x[1], x[2])(T), [1, 0.8, 0.6]
    line = models.Gaussian1D(1.0, 0.2, 0.3) + models.Linear1D(0.1, 0.2)
    yield "astropy", "CompoundModel", line, [0.3, 0.8]
    yield (
        "astropy",
        "BlackBody",
        lambda x: models.BlackBody(temperature=5000 * u.K)(x * 1e13 * u.Hz).value * 1e5,
        [6.0],
    )
    universe = cosmology.FlatLambdaCDM(70, 0.3)
    yield "astropy", "efunc", universe.efunc, [0.5]
    yield "astropy", "luminosity_distance", lambda x: universe.luminosity_distance(x).value, [0.5]
    yield "astropy", "biweight_location", stats.biweight_location, WAVE[:5]
    yield "astropy", "mad_std", stats.mad_std, WAVE[:5]
    yield (
        "astropy",
        "angular_separation",
        lambda x: coordinates.angular_separation(*x),
        [1.0, 0.2, 0.3, 0.5],
    )


def geometry_():
    import pymap3d
    from ase.eos import birchmurnaghan
    from ase.geometry import cell
    from pytransform3d import rotations, transformations
    from skimage import color, filters, transform

    screw = transformations.transform_from_exponential_coordinates
    yield "pytransform3d", "transform_from_exponential_coordinates", screw, POINTS
    yield (
        "pytransform3d",
        "exponential_coordinates_from_transform",
        lambda x: transformations.exponential_coordinates_from_transform(screw(x)),
        POINTS,
    )
    yield (
        "pytransform3d",
        "quaternion_slerp",
        lambda x: rotations.quaternion_slerp(x[:4] / np.linalg.norm(x[:4]), [1.0, 0, 0, 0], x[4]),
        [0.9, 0.2, 0.3, 0.1, 0.4],
    )
    yield "pytransform3d", "compact_axis_angle", rotations.matrix_from_compact_axis_angle, T[:3]
    here = (42.0, -82.0, 200.0)
    yield "pymap3d", "geodetic2ecef", lambda x: np.stack(pymap3d.geodetic2ecef(*x)), list(here)
    yield (
        "pymap3d",
        "ecef2geodetic",
        lambda x: np.stack(pymap3d.ecef2geodetic(*(x * 1e6))),
        [0.66, -4.7, 4.2],
    )
    yield (
        "pymap3d",
        "geodetic2aer",
        lambda x: np.stack(pymap3d.geodetic2aer(*x, *here)),
        [42.1, -82.1, 1000.0],
    )
    yield (
        "pymap3d",
        "enu2geodetic",
        lambda x: np.stack(pymap3d.enu2geodetic(*x, *here)),
        [100.0, 200.0, 300.0],
    )
    for name in ("rgb2lab", "rgb2hsv", "rgb2gray"):
        convert = getattr(color, name)
        yield "skimage", name, lambda x: convert(x.reshape(1, 1, 3)), [0.2, 0.5, 0.7]
    yield "skimage", "gaussian", lambda x: filters.gaussian(x.reshape(3, 4), 1.0), WAVE
    yield "skimage", "sobel", lambda x: filters.sobel(x.reshape(3, 4)), WAVE
    yield (
        "skimage",
        "SimilarityTransform",
        lambda x: (
            transform.SimilarityTransform(
                scale=x[0], rotation=x[1], translation=(x[2], x[3])
            ).params
        ),
        [1.1, 0.2, 3.0, 4.0],
    )
    yield "ase", "cellpar_to_cell", cell.cellpar_to_cell, [3.0, 4.0, 5.0, 80.0, 85.0, 95.0]
    yield "ase", "birchmurnaghan", lambda x: birchmurnaghan(T + 10, *x), [-3.0, 0.5, 4.0, 10.5]


def data_():
    import hankel
    import periodictable
    import tmm
    import xarray
    from emcee import autocorr
    from iminuit import cost

    yield "emcee", "function_1d", autocorr.function_1d, WAVE
    yield (
        "tmm",
        "coh_tmm",
        lambda x: tmm.coh_tmm("s", [1, 2.2 + x[0], 1.5, 1], [np.inf, x[1], 300, np.inf], x[2], 400)[
            "R"
        ],
        [0.1, 100.0, 0.2],
    )
    bessel = hankel.HankelTransform(nu=0, N=50, h=0.05)
    yield (
        "hankel",
        "transform",
        lambda x: bessel.transform(lambda r: np.exp(-x[0] * r**2), T[3:], ret_err=False),
        [0.7],
    )
    yield (
        "periodictable",
        "neutron_sld",
        lambda x: np.stack(periodictable.neutron_sld("H2O", density=x[0], wavelength=x[1])),
        [1.0, 1.8],
    )
    squares = cost.LeastSquares(T, np.sin(T), 0.1, lambda t, a, b: a + b * t)
    yield "iminuit", "LeastSquares", lambda x: squares(*x), [0.1, 0.2]
    likelihood = cost.UnbinnedNLL(T, lambda t, m, s: np.exp(-0.5 * ((t - m) / s) ** 2) / s)
    yield "iminuit", "UnbinnedNLL", lambda x: likelihood(*x), [0.1, 0.5]
    array = lambda x: xarray.DataArray(x, dims="t", coords={"t": [0.0, 1.0, 3.0]})  # noqa: E731
    yield "xarray", "arithmetic", lambda x: (array(x) * 2 + 1).data, [1.0, 2.0, 4.0]
    yield "xarray", "mean", lambda x: array(x).mean("t").data, [1.0, 2.0, 4.0]
    yield "xarray", "differentiate", lambda x: array(x).differentiate("t").data, [1.0, 2.0, 4.0]


def systems_():
    import control
    import quantecon
    import statsmodels.api as sm
    from statsmodels.tsa import stattools

    plant = lambda x: control.ss([[-x[0], 0.2], [0.0, -1.0]], [[0.0], [1.0]], [[1.0, 0]], [[0]])  # noqa: E731
    yield "control", "feedback", lambda x: abs(control.tf([x[0]], [1, x[1], 2])(0.3j)), [1.0, 0.3]
    yield "control", "norm", lambda x: control.norm(plant(x), 2), [1.0]
    yield "control", "lyap", lambda x: control.lyap(plant(x).A, np.eye(2)), [1.0]
    yield (
        "control",
        "forced_response",
        lambda x: np.asarray(control.forced_response(plant(x), T + 1.0, np.ones(5))[1]),
        [1.0],
    )
    yield "control", "step_response", lambda x: control.step_response(plant(x), T + 1)[1], [1.0]
    yield (
        "quantecon",
        "LinearStateSpace",
        lambda x: quantecon.LinearStateSpace(
            np.array([[x[0], 0.1], [0, 0.5]]), np.array([[1.0], [0.3]]), np.eye(2)
        ).stationary_distributions()[2],
        [0.6],
    )
    tauchen = quantecon.markov.tauchen
    yield "quantecon", "tauchen", lambda x: tauchen(3, x[0], x[1]).P, [0.6, 0.2]
    yield "quantecon", "lorenz_curve", lambda x: quantecon.lorenz_curve(x)[1], [0.6, 0.2, 0.9]
    design = np.stack([np.ones(5), T**2 + 0.3 * T], axis=1)
    y = [1.0, 2.0, 0.0, 3.0, 1.0]
    for name in ("params", "rsquared", "bse"):
        yield "statsmodels", f"OLS.{name}", lambda x: getattr(sm.OLS(x, design).fit(), name), y
    robust = lambda x: sm.OLS(x, design).fit(cov_type="HC3").bse  # noqa: E731
    yield "statsmodels", "OLS HC3", robust, y
    yield "statsmodels", "WLS", lambda x: sm.WLS(y, design, weights=x).fit().params, POINTS[:5]
    yield "statsmodels", "acf", lambda x: stattools.acf(x, nlags=3, fft=False), WAVE
    yield "statsmodels", "pacf", lambda x: stattools.pacf(x, nlags=3, method="yw"), WAVE
    yield "statsmodels", "jarque_bera", lambda x: sm.stats.jarque_bera(x)[0], WAVE
    yield "statsmodels", "hpfilter", lambda x: sm.tsa.filters.hpfilter(x, 10.0)[0], WAVE


FURTHER = [sklearn_, units_, astropy_units_, geometry_, data_, systems_]
