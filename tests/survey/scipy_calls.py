"""One call of each function of SciPy that needs more than a matrix: see `survey.numpy_calls`."""

import numpy as np
from distribution_shapes import FURTHER
from scipy.sparse import csc_array, csr_array

from survey.numpy_calls import INDICES, MATRIX, Call, positive

TICKS = np.array([0.0, 0.4, 1.0])
POINTS = np.array([0.1, 0.5, 0.9])

KNOTS = np.array([0.0, 0.0, 0.4, 1.0, 1.0])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
INNER = np.array([[0.2, 0.3], [0.5, 0.1]])


def section(a):
    """A filter's section of second order, whose fourth number is 1."""
    return np.concatenate([a[0], 0 * a[0, :1] + 1, a[1, :2]])[np.newaxis]


CALLS: dict[str, Call] = {
    "scipy.integrate.fixed_quad": lambda f, a: f(np.sin, a[0, 0], a[0, 1])[0],
    "scipy.integrate.odeint": lambda f, a: f(lambda y, t: -y, a[0], [0.0, 0.5]),
    "scipy.integrate.solve_ivp": lambda f, a: f(lambda t, y: -y, (0.0, 0.5), a[0]).y[:, -1],
    "scipy.integrate.cumulative_simpson": lambda f, a: f(a),
    # A tolerance that single precision can hold.
    "scipy.integrate.quad_vec": lambda f, a: f(lambda t: np.exp(-t * a), 0, 1, epsrel=1e-5)[0],
    "scipy.integrate.solve_bvp": lambda f, a: (
        f(
            lambda t, y: np.vstack((y[1], -y[0])),
            lambda p, q: np.stack([p[0], q[0] - a[0, 0]]),
            *(np.linspace(0, 1, 5), np.zeros((2, 5))),
        ).y
    ),
    "scipy.interpolate.Akima1DInterpolator": lambda f, a: f(np.arange(9.0) / 8, a.ravel())(POINTS),
    "scipy.interpolate.BSpline": lambda f, a: f(KNOTS, a[0], 1)(POINTS),
    "scipy.interpolate.InterpolatedUnivariateSpline": lambda f, a: f(TICKS, a[0], k=2)(POINTS),
    "scipy.interpolate.LinearNDInterpolator": lambda f, a: f(CORNERS, a[0])(INNER),
    "scipy.interpolate.RBFInterpolator": lambda f, a: f(CORNERS, a[0], degree=0)(INNER),
    "scipy.interpolate.UnivariateSpline": lambda f, a: f(TICKS, a[0], k=2, s=0)(POINTS),
    "scipy.interpolate.griddata": lambda f, a: f(CORNERS, a[0], INNER),
    "scipy.interpolate.make_interp_spline": lambda f, a: f(TICKS, a[0], 2)(POINTS),
    "scipy.interpolate.splev": lambda f, a: f(POINTS, (KNOTS, a[0], 1)),
    "scipy.interpolate.splint": lambda f, a: f(0.1, 0.7, (KNOTS, a[0], 1)),
    "scipy.interpolate.splrep": lambda f, a: f(TICKS, a[0], k=2)[1],
    "scipy.interpolate.CubicHermiteSpline": lambda f, a: f(TICKS, a[0], a[1])(POINTS),
    "scipy.interpolate.CubicSpline": lambda f, a: f(TICKS, a[0])(POINTS),
    "scipy.interpolate.PPoly": lambda f, a: f(a[:, :2], TICKS)(POINTS),
    "scipy.interpolate.PchipInterpolator": lambda f, a: f(TICKS, a[0])(POINTS),
    "scipy.interpolate.RegularGridInterpolator": lambda f, a: f((TICKS,), a)(POINTS),
    "scipy.interpolate.interp1d": lambda f, a: f(TICKS, a)(POINTS),
    "scipy.interpolate.interpn": lambda f, a: f((TICKS,), a, POINTS),
    "scipy.optimize.lsq_linear": lambda f, a: f(a, a[0]).x,
    "scipy.optimize.nnls": lambda f, a: f(positive(a), a[0] + 3)[0],
    "scipy.signal.cont2discrete": lambda f, a: f((a, a[:, :1], a[:1], a[:1, :1]), 0.1)[:2],
    "scipy.signal.freqz_sos": lambda f, a: f(section(a), 4)[1],
    "scipy.signal.sosfreqz": lambda f, a: f(section(a), 4)[1],
    "scipy.signal.resample": lambda f, a: f(a, 5),
    "scipy.stats.kurtosis": lambda f, a: f(a.ravel()),
    "scipy.linalg.cho_factor": lambda f, a: np.tril(f(positive(a), lower=True)[0]),
    "scipy.linalg.cho_solve": lambda f, a: f((np.tril(a), True), a[0]),
    "scipy.linalg.cholesky": lambda f, a: f(positive(a)),
    "scipy.linalg.convolution_matrix": lambda f, a: f(a[0], 4),
    "scipy.linalg.eigh": lambda f, a: [np.abs(part) for part in f(positive(a))],
    "scipy.linalg.eigvalsh": lambda f, a: f(positive(a)),
    "scipy.linalg.fractional_matrix_power": lambda f, a: f(positive(a), 0.5),
    "scipy.linalg.lu_solve": lambda f, a: f((a, INDICES), a[0]),
    "scipy.linalg.solve_banded": lambda f, a: f((1, 1), a, a[0]),
    "scipy.linalg.solve_sylvester": lambda f, a: f(a, positive(a), a.T),
    "scipy.linalg.solve_triangular": lambda f, a: f(a, a[0], lower=True),
    "scipy.ndimage.affine_transform": lambda f, a: f(a, np.eye(2) * 0.7, order=1),
    "scipy.ndimage.convolve": lambda f, a: f(a, a.T),
    "scipy.ndimage.convolve1d": lambda f, a: f(a, a[0]),
    "scipy.ndimage.correlate": lambda f, a: f(a, a.T),
    "scipy.ndimage.correlate1d": lambda f, a: f(a, a[0]),
    "scipy.ndimage.gaussian_filter": lambda f, a: f(a, 1.0),
    "scipy.ndimage.gaussian_filter1d": lambda f, a: f(a, 1.0),
    "scipy.ndimage.gaussian_gradient_magnitude": lambda f, a: f(a, 1.0),
    "scipy.ndimage.gaussian_laplace": lambda f, a: f(a, 1.0),
    "scipy.ndimage.map_coordinates": lambda f, a: f(a, 2 * a[:2], order=1),
    "scipy.ndimage.shift": lambda f, a: f(a, 0.3, order=1),
    "scipy.ndimage.uniform_filter1d": lambda f, a: f(a, 2),
    "scipy.ndimage.zoom": lambda f, a: f(a, 1.5, order=1),
    "scipy.optimize.linprog": lambda f, a: f([-1.0], A_ub=[[1.0]], b_ub=a[0, :1]).x,
    "scipy.signal.coherence": lambda f, a: f(a[0], a[1], nperseg=2)[1],
    "scipy.signal.csd": lambda f, a: f(a[0], a[1], nperseg=2)[1],
    "scipy.signal.filtfilt": lambda f, a: f([0.5, 0.5], [1.0, 0.2], a, padlen=1),
    "scipy.signal.periodogram": lambda f, a: f(a)[1],
    "scipy.signal.savgol_filter": lambda f, a: f(a, 3, 1),
    "scipy.signal.sosfiltfilt": lambda f, a: f([[1.0, 0.5, 0.2, 1.0, 0.3, 0.1]], a, padlen=1),
    "scipy.signal.spectrogram": lambda f, a: f(a, nperseg=2)[2],
    "scipy.signal.stft": lambda f, a: f(a, nperseg=2)[2],
    "scipy.signal.welch": lambda f, a: f(a, nperseg=2)[1],
    "scipy.special.spherical_in": lambda f, a: f(1, a + 2),
    "scipy.special.spherical_jn": lambda f, a: f(1, a + 2),
    "scipy.special.spherical_kn": lambda f, a: f(1, a + 2),
    "scipy.special.spherical_yn": lambda f, a: f(1, a + 2),
    "scipy.special.zeta": lambda f, a: f(a * a + 2),
    "scipy.special.zetac": lambda f, a: f(a * a + 2),
    "scipy.stats.gaussian_kde": lambda f, a: f(a[0])(POINTS),
    "scipy.signal.convolve": lambda f, a: f(a, a.T),
    "scipy.signal.lfilter": lambda f, a: f(a[0], a[1], a[2]),
    "scipy.signal.lfilter_zi": lambda f, a: f(a[0], a[1]),
    "scipy.signal.sosfilt": lambda f, a: f([[1.0, 0.5, 0.2, 1.0, 0.3, 0.1]], a),
    "scipy.sparse.coo_array": lambda f, a: f((a[0], (INDICES, INDICES))) @ a[1],
    "scipy.sparse.csc_array": lambda f, a: f((a[0], (INDICES, INDICES))).T @ a[1],
    "scipy.sparse.csr_array": lambda f, a: a[1] @ f((a[0], INDICES, np.arange(4))),
    "scipy.sparse.diags_array": lambda f, a: f([a[0], a[1, :2]], offsets=[0, 1]).toarray(),
    "scipy.sparse.linalg.aslinearoperator": lambda f, a: f(csr_array(MATRIX)) @ a[0],
    "scipy.sparse.linalg.factorized": lambda f, a: f(csc_array(MATRIX))(a[0]),
    "scipy.sparse.linalg.norm": lambda f, a: f(csr_array(MATRIX)) * a[0, 0],
    "scipy.sparse.linalg.splu": lambda f, a: f(csc_array(MATRIX)).solve(a[0]),
    "scipy.sparse.linalg.spsolve": lambda f, a: f(csr_array(MATRIX), a[0]),
    "scipy.sparse.linalg.spsolve_triangular": lambda f, a: f(csr_array(np.tril(MATRIX)), a[0]),
    "scipy.special.multigammaln": lambda f, a: f(a + 2, 3),
    "scipy.special.polygamma": lambda f, a: f(1, a),
}
for _name in ("bicgstab", "cg", "gmres", "lgmres", "minres"):
    CALLS[f"scipy.sparse.linalg.{_name}"] = lambda f, a: f(positive(MATRIX), a[0], rtol=1e-12)[0]

_SHAPES: dict[str, tuple[float, ...]] = {
    "norm": (),
    "lognorm": (0.7,),
    "expon": (),
    "uniform": (),
    "cauchy": (),
    "laplace": (),
    "logistic": (),
    "gumbel_r": (),
    "weibull_min": (1.7,),
    "gamma": (2.3,),
    "chi2": (3.4,),
    "beta": (2.1, 3.2),
    "t": (4.5,),
    "multivariate_normal": (),
}


def _density(shapes: tuple[float, ...]) -> Call:
    return lambda f, a: [f.pdf(a[0], *shapes), f.logpdf(a[0], *shapes)]


for _name, _shapes in _SHAPES.items():
    CALLS[f"scipy.stats.{_name}"] = _density(_shapes)
for _name in ("poisson", "bernoulli", "geom"):
    CALLS[f"scipy.stats.{_name}"] = lambda f, a: [f.pmf(1, a), f.cdf(1, a[0])]
CALLS["scipy.stats.binom"] = lambda f, a: f.pmf(INDICES, 4, a)


def _scaled(shapes: tuple[float, ...]) -> Call:
    """The density next to a point of the support, as it moves with the point and the scale."""

    def call(f, a):
        x = (1.45 + 0.01 * np.cos(a)) * f.ppf(0.37, *shapes)
        return f.logpdf(x, *shapes, scale=1.5 + 0.1 * np.sin(a))

    return call


for _name, _shapes in FURTHER.items():
    CALLS[f"scipy.stats.{_name}"] = _scaled(_shapes)
