"""One call of each function of SciPy that needs more than a matrix: see `survey.numpy_calls`."""

import importlib

import numpy as np
import twin_cases
from distribution_shapes import CONTINUOUS, FURTHER
from scipy.sparse import csc_array, csr_array

import linad.scipy.sparse
from survey.numpy_calls import INDICES, MATRIX, Call, positive

TICKS = np.array([0.0, 0.4, 1.0])
POINTS = np.array([0.1, 0.5, 0.9])

KNOTS = np.array([0.0, 0.0, 0.4, 1.0, 1.0])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
INNER = np.array([[0.2, 0.3], [0.5, 0.1]])


def section(a):
    """A filter's section of second order, whose fourth number is 1."""
    return np.concatenate([a[0], 0 * a[0, :1] + 1, a[1, :2]])[np.newaxis]


BOX = [(-3.0, 3.0)] * 3


NINTHS = np.arange(9.0) / 8
WIDE = np.random.default_rng(3).standard_normal((9, 2))
PLANES = np.array([[1.0, 0.1, -1.0], [-1.0, 0.2, -1.0], [0.1, 1.0, -1.0], [0.2, -1.0, -1.0]])
SCATTERED = np.random.default_rng(0).random((3, 30))


def padded(c):
    """Coefficients with the zeros behind that FITPACK has."""
    return np.concatenate([c, np.zeros(2)])


def away(a):
    """Least at the first row."""
    return lambda z: np.sum((z - a[0]) ** 2)


def squeezed(a):
    """A sparse array with the first row as its entries."""
    return linad.scipy.sparse.csr_array((a[0], INDICES, np.arange(4)))


CALLS: dict[str, Call] = {
    "scipy.integrate.fixed_quad": lambda f, a: f(np.sin, a[0, 0], a[0, 1])[0],
    "scipy.integrate.odeint": lambda f, a: f(lambda y, t: -y, a[0], [0.0, 0.5]),
    "scipy.integrate.solve_ivp": lambda f, a: f(lambda t, y: -y, (0.0, 0.5), a[0]).y[:, -1],
    "scipy.integrate.cumulative_simpson": lambda f, a: f(a),
    # A tolerance that single precision can hold.
    "scipy.integrate.tanhsinh": lambda f, a: f(lambda t: np.exp(-t * a[0, 0]), 0, 1).integral,
    "scipy.integrate.cubature": lambda f, a: (
        f(lambda t: np.exp(-t[:, 0] * a[0, 0]), [0.0], [1.0]).estimate
    ),
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
    "scipy.interpolate.BPoly": lambda f, a: f(a, np.arange(a.shape[1] + 1.0))(POINTS),
    "scipy.interpolate.NdBSpline": lambda f, a: f((KNOTS,), a[0], 1)(POINTS[:, None]),
    "scipy.interpolate.lagrange": lambda f, a: f(TICKS, a[0])(0.3),
    "scipy.interpolate.CloughTocher2DInterpolator": lambda f, a: f(CORNERS, a[0])(INNER),
    "scipy.interpolate.InterpolatedUnivariateSpline": lambda f, a: f(TICKS, a[0], k=2)(POINTS),
    "scipy.interpolate.LinearNDInterpolator": lambda f, a: f(CORNERS, a[0])(INNER),
    "scipy.interpolate.RBFInterpolator": lambda f, a: f(CORNERS, a[0], degree=0)(INNER),
    "scipy.interpolate.UnivariateSpline": lambda f, a: f(TICKS, a[0], k=2, s=0)(POINTS),
    "scipy.interpolate.griddata": lambda f, a: f(CORNERS, a[0], INNER),
    "scipy.interpolate.make_interp_spline": lambda f, a: f(TICKS, a[0], 2)(POINTS),
    "scipy.interpolate.splev": lambda f, a: f(POINTS, (KNOTS, a[0], 1)),
    "scipy.interpolate.splint": lambda f, a: f(0.1, 0.7, (KNOTS, a[0], 1)),
    "scipy.interpolate.sproot": lambda f, a: f(
        (np.array([0.0] * 4 + [0.5] + [1.0] * 4), np.append(a[0], [-1.0, -2.0]), 3)
    ),
    "scipy.interpolate.splrep": lambda f, a: f(TICKS, a[0], k=2)[1],
    "scipy.interpolate.make_splrep": lambda f, a: f(TICKS, a[0], k=2, s=0.1).c,
    "scipy.interpolate.splprep": lambda f, a: f(list(a), k=2, s=0)[0][1][0],
    "scipy.cluster.vq.vq": lambda f, a: f(a, a[:1] + 0.1)[1],
    "scipy.cluster.vq.kmeans": lambda f, a: f(a, a[:2])[0],
    "scipy.cluster.vq.kmeans2": lambda f, a: f(a, a[:2], minit="matrix")[0],
    "scipy.stats.qmc.discrepancy": lambda f, a: f(np.exp(-(a**2))),
    "scipy.stats.qmc.geometric_discrepancy": lambda f, a: f(np.exp(-(a**2))),
    "scipy.stats.qmc.update_discrepancy": lambda f, a: f(
        np.exp(-(a[0] ** 2)), np.exp(-(a[1:] ** 2)), 0.3
    ),
    "scipy.linalg.cholesky_banded": lambda f, a: f(a + 3 * (np.arange(3) == 2)[:, None]),
    "scipy.linalg.funm": lambda f, a: f(a, np.sin),
    "scipy.linalg.signm": lambda f, a: f(a - np.trace(a) / len(a) * np.eye(len(a), dtype=a.dtype)),
    "scipy.linalg.rsf2csf": lambda f, a: f(np.triu(a), a),
    "scipy.linalg.get_blas_funcs": lambda f, a: f("gemv", (a,))(2.0, a, a[0]),
    "scipy.linalg.get_lapack_funcs": lambda f, a: f("trtrs", (a,))(a, a)[0],
    "scipy.interpolate.CubicHermiteSpline": lambda f, a: f(TICKS, a[0], a[1])(POINTS),
    "scipy.interpolate.CubicSpline": lambda f, a: f(TICKS, a[0])(POINTS),
    "scipy.interpolate.PPoly": lambda f, a: f(a[:, :2], TICKS)(POINTS),
    "scipy.interpolate.PchipInterpolator": lambda f, a: f(TICKS, a[0])(POINTS),
    "scipy.interpolate.RegularGridInterpolator": lambda f, a: f((TICKS,), a)(POINTS),
    "scipy.interpolate.interp1d": lambda f, a: f(TICKS, a)(POINTS),
    "scipy.interpolate.interpn": lambda f, a: f((TICKS,), a, POINTS),
    "scipy.integrate.nquad": lambda f, a: f(lambda t: t * a[0, 0], [(0, 1)])[0],
    "scipy.integrate.tplquad": lambda f, a: (
        f(lambda z, y, x: z, 0, 1, 0, 1, 0, 1, epsabs=1e-3)[0] * a
    ),
    "scipy.interpolate.BarycentricInterpolator": lambda f, a: f(TICKS, a, rng=0)(POINTS),
    "scipy.interpolate.KroghInterpolator": lambda f, a: f(TICKS, a)(POINTS),
    "scipy.interpolate.LSQBivariateSpline": lambda f, a: f(*SCATTERED, [], [], kx=1, ky=1).ev(
        a[0] / 9, a[1] / 9
    ),
    "scipy.interpolate.LSQUnivariateSpline": lambda f, a: f(NINTHS, a.ravel(), [0.5])(POINTS),
    "scipy.interpolate.NearestNDInterpolator": lambda f, a: f(CORNERS, a)(INNER),
    "scipy.interpolate.RectBivariateSpline": lambda f, a: f(TICKS, TICKS, a, kx=2, ky=2)(0.3, 0.7),
    "scipy.interpolate.SmoothBivariateSpline": lambda f, a: f(*SCATTERED, kx=1, ky=1).ev(
        a[0] / 9, a[1] / 9
    ),
    "scipy.interpolate.barycentric_interpolate": lambda f, a: f(TICKS, a, POINTS, rng=0),
    "scipy.interpolate.bisplev": lambda f, a: f(0.2, 0.3, (KNOTS, KNOTS, a.ravel(), 1, 1)),
    "scipy.interpolate.krogh_interpolate": lambda f, a: f(TICKS, a, POINTS),
    "scipy.interpolate.make_lsq_spline": lambda f, a: f(NINTHS, a.ravel(), KNOTS, 1)(POINTS),
    "scipy.interpolate.make_smoothing_spline": lambda f, a: f(NINTHS, a.ravel(), lam=0.1)(POINTS),
    "scipy.interpolate.pchip_interpolate": lambda f, a: f(TICKS, a, POINTS),
    "scipy.interpolate.spalde": lambda f, a: f(0.3, (KNOTS, a[0], 1)),
    "scipy.interpolate.splantider": lambda f, a: f((KNOTS, padded(a[0]), 1))[1],
    "scipy.interpolate.splder": lambda f, a: f((KNOTS, padded(a[0]), 1))[1],
    "scipy.linalg.companion": lambda f, a: f(a[0]),
    "scipy.linalg.eig_banded": lambda f, a: f(a[:2]),
    "scipy.linalg.eigh_tridiagonal": lambda f, a: f(a[0], a[1, :2]),
    "scipy.linalg.eigvalsh_tridiagonal": lambda f, a: f(a[0], a[1, :2]),
    "scipy.linalg.fiedler": lambda f, a: f(a[0]),
    "scipy.linalg.leslie": lambda f, a: f(a[0], a[1, :2]),
    "scipy.linalg.subspace_angles": lambda f, a: f(a[:, :1], a[:, 1:2]),
    "scipy.linalg.solveh_banded": lambda f, a: f(a[:2] + np.array([[0.0], [9.0]]), a[2]),
    "scipy.ndimage.center_of_mass": lambda f, a: f(a * a),
    "scipy.ndimage.geometric_transform": lambda f, a: f(a, lambda p: (p[0] * 0.9, p[1] * 0.8)),
    "scipy.ndimage.percentile_filter": lambda f, a: f(a, 30, 3),
    "scipy.ndimage.rank_filter": lambda f, a: f(a, 2, 3),
    "scipy.ndimage.rotate": lambda f, a: f(a, 20.0, reshape=False),
    "scipy.optimize.approx_fprime": lambda f, a: f(a[0], lambda z: np.sum(z**2), 1e-3),
    "scipy.optimize.basinhopping": lambda f, a: f(away(a), np.zeros(3), 1, rng=1).x,
    "scipy.optimize.brute": lambda f, a: f(away(a), BOX, Ns=3),
    "scipy.optimize.fmin_l_bfgs_b": lambda f, a: f(away(a), np.zeros(3), approx_grad=True)[0],
    "scipy.optimize.fmin_ncg": lambda f, a: f(
        away(a), np.zeros(3), lambda z: 2 * (z - a[0]), disp=0
    ),
    "scipy.optimize.fmin_slsqp": lambda f, a: f(away(a), np.zeros(3), iprint=0),
    "scipy.optimize.fmin_tnc": lambda f, a: f(away(a), np.zeros(3), approx_grad=True, disp=0)[0],
    "scipy.optimize.fminbound": lambda f, a: f(lambda t: (t - a[0, 0]) ** 2, -3.0, 3.0),
    "scipy.spatial.ConvexHull": lambda f, a: f(WIDE + 0.1 * a.ravel()[:, None]).volume,
    "scipy.spatial.Delaunay": lambda f, a: f(WIDE + 0.1 * a.ravel()[:, None]).transform,
    "scipy.spatial.HalfspaceIntersection": lambda f, a: (
        f(PLANES + 0.01 * np.concatenate([a, a[:1]]), np.zeros(2)).intersections
    ),
    "scipy.spatial.Voronoi": lambda f, a: f(WIDE + 0.1 * a.ravel()[:, None]).vertices,
    "scipy.sparse.diags": lambda f, a: f([a[0], a[1, :2]], [0, 1]) @ a[2],
    "scipy.sparse.find": lambda f, a: f(squeezed(a))[2],
    "scipy.sparse.spdiags": lambda f, a: f(a[:2], [0, 1], 3, 3) @ a[2],
    "scipy.optimize.lsq_linear": lambda f, a: f(a, a[0]).x,
    "scipy.optimize.nnls": lambda f, a: f(positive(a), a[0] + 3)[0],
    "scipy.signal.freqz_sos": lambda f, a: f(section(a), 4)[1],
    "scipy.signal.sosfreqz": lambda f, a: f(section(a), 4)[1],
    "scipy.stats.boxcox_normmax": lambda f, a: f(a[0], method="mle"),
    "scipy.signal.resample": lambda f, a: f(a, 5),
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
    "scipy.ndimage.fourier_ellipsoid": lambda f, a: f(a, 1.0),
    "scipy.ndimage.fourier_gaussian": lambda f, a: f(a, 1.0),
    "scipy.ndimage.fourier_shift": lambda f, a: np.real(f(a, 1.0)),
    "scipy.ndimage.fourier_uniform": lambda f, a: f(a, 1.0),
    "scipy.ndimage.generic_filter": lambda f, a: f(a, np.sum, 2),
    "scipy.ndimage.generic_filter1d": lambda f, a: f(
        a, lambda line, out: np.add(line[1:], line[:-1], out=out), 2
    ),
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
    "scipy.special.roots_gegenbauer": lambda f, a: f(3, a[0, 0] ** 2),
    "scipy.special.roots_jacobi": lambda f, a: f(3, a[0, 0], a[0, 1]),
    "scipy.special.spherical_in": lambda f, a: f(1, a + 2),
    "scipy.special.assoc_legendre_p": lambda f, a: f(2, 1, a / 9),
    "scipy.special.assoc_legendre_p_all": lambda f, a: f(2, 1, a / 9),
    "scipy.special.legendre_p": lambda f, a: f(2, a),
    "scipy.special.legendre_p_all": lambda f, a: f(2, a),
    "scipy.special.sph_harm_y": lambda f, a: np.real(f(2, 1, a, a)),
    "scipy.special.sph_harm_y_all": lambda f, a: np.real(f(2, 1, a, a)),
    "scipy.special.sph_legendre_p": lambda f, a: f(2, 1, a),
    "scipy.special.sph_legendre_p_all": lambda f, a: f(2, 1, a),
    "scipy.special.spherical_jn": lambda f, a: f(1, a + 2),
    "scipy.special.spherical_kn": lambda f, a: f(1, a + 2),
    "scipy.special.spherical_yn": lambda f, a: f(1, a + 2),
    "scipy.special.zeta": lambda f, a: f(a * a + 2),
    "scipy.special.zetac": lambda f, a: f(a * a + 2),
    "scipy.stats.gaussian_kde": lambda f, a: f(a[0])(POINTS),
    "scipy.fft.fht": lambda f, a: f(a, 0.1, 0.5),
    "scipy.fft.ifht": lambda f, a: f(a, 0.1, 0.5),
    "scipy.linalg.cho_solve_banded": lambda f, a: f((a[:2] + 3, True), a[2]),
    "scipy.signal.convolve": lambda f, a: f(a, a.T),
    "scipy.signal.lfilter": lambda f, a: f(a[0], a[1], a[2]),
    "scipy.signal.lfilter_zi": lambda f, a: f(a[0], a[1]),
    "scipy.signal.sosfilt": lambda f, a: f([[1.0, 0.5, 0.2, 1.0, 0.3, 0.1]], a),
    "scipy.sparse.coo_array": lambda f, a: f((a[0], (INDICES, INDICES))) @ a[1],
    "scipy.sparse.csc_array": lambda f, a: f((a[0], (INDICES, INDICES))).T @ a[1],
    "scipy.sparse.csr_array": lambda f, a: a[1] @ f((a[0], INDICES, np.arange(4))),
    "scipy.sparse.diags_array": lambda f, a: f([a[0], a[1, :2]], offsets=[0, 1]).toarray(),
    "scipy.sparse.linalg.aslinearoperator": lambda f, a: f(csr_array(MATRIX)) @ a[0],
    "scipy.sparse.linalg.eigs": lambda f, a: f(positive(a), 1, v0=np.ones(3))[0],
    "scipy.sparse.linalg.eigsh": lambda f, a: f(
        a @ np.conj(a).T + np.eye(3, dtype=a.dtype), 1, v0=np.ones(3)
    )[0],
    "scipy.sparse.linalg.lsmr": lambda f, a: f(csr_array(MATRIX), a[0], atol=1e-14, btol=1e-14)[0],
    "scipy.sparse.linalg.lsqr": lambda f, a: f(csr_array(MATRIX), a[0], atol=1e-14, btol=1e-14)[0],
    "scipy.sparse.linalg.svds": lambda f, a: f(a, 1, v0=np.ones(3))[1],
    "scipy.sparse.linalg.factorized": lambda f, a: f(csc_array(MATRIX))(a[0]),
    "scipy.sparse.linalg.norm": lambda f, a: f(csr_array(MATRIX)) * a[0, 0],
    "scipy.sparse.linalg.splu": lambda f, a: f(csc_array(MATRIX)).solve(a[0]),
    "scipy.sparse.linalg.spsolve": lambda f, a: f(csr_array(MATRIX), a[0]),
    "scipy.sparse.linalg.spsolve_triangular": lambda f, a: f(csr_array(np.tril(MATRIX)), a[0]),
    "scipy.special.multigammaln": lambda f, a: f(a + 2, 3),
    "scipy.special.polygamma": lambda f, a: f(1, a),
}
for _name in ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "tfqmr"):
    CALLS[f"scipy.sparse.linalg.{_name}"] = lambda f, a: f(positive(MATRIX), a[0], rtol=1e-12)[0]

_SHAPES: dict[str, tuple[float, ...]] = {**CONTINUOUS, "multivariate_normal": ()}


def _density(shapes: tuple[float, ...]) -> Call:
    return lambda f, a: [f.pdf(a[0], *shapes), f.logpdf(a[0], *shapes)]


for _name, _shapes in _SHAPES.items():
    CALLS[f"scipy.stats.{_name}"] = _density(_shapes)
for _name in ("poisson", "bernoulli", "geom"):
    CALLS[f"scipy.stats.{_name}"] = lambda f, a: [f.pmf(1, a), f.cdf(1, a[0])]
CALLS["scipy.stats.nbinom"] = lambda f, a: f.pmf(INDICES, 2.5, a)
CALLS["scipy.stats.binom"] = lambda f, a: f.pmf(INDICES, 4, a)


def _scaled(shapes: tuple[float, ...]) -> Call:
    """The density next to a point of the support, as it moves with the point and the scale."""

    def call(f, a):
        x = (1.45 + 0.01 * np.cos(a)) * f.ppf(0.37, *shapes)
        return f.logpdf(x, *shapes, scale=1.5 + 0.1 * np.sin(a))

    return call


_ELSEWHERE = {
    "geninvgauss": (-0.7, 1.3),
    "kappa4": (0.3, -0.2),
    "ncf": (3.2, 7.0, 1.2),
    "nct": (5.5, 0.7),
    "ncx2": (3.2, 1.2),
}
for _name, _shapes in (FURTHER | _ELSEWHERE).items():
    CALLS[f"scipy.stats.{_name}"] = _scaled(_shapes)

for _name in (
    *("grey_closing", "grey_dilation", "grey_erosion", "grey_opening", "maximum_filter"),
    *("maximum_filter1d", "median_filter", "minimum_filter", "minimum_filter1d", "white_tophat"),
    *("morphological_gradient", "morphological_laplace", "black_tophat"),
):
    CALLS[f"scipy.ndimage.{_name}"] = lambda f, a: f(a, 3)
for _name in ("block_array", "bmat"):
    CALLS[f"scipy.sparse.{_name}"] = lambda f, a: f([[squeezed(a)]]) @ a[1]
for _name in ("hstack", "vstack", "block_diag"):
    CALLS[f"scipy.sparse.{_name}"] = lambda f, a: f([squeezed(a)]) @ a[1]
for _name in ("tril", "triu"):
    CALLS[f"scipy.sparse.{_name}"] = lambda f, a: f(squeezed(a)) @ a[1]
for _name in ("kron", "kronsum"):
    CALLS[f"scipy.sparse.{_name}"] = lambda f, a: f(squeezed(a), squeezed(a)) @ np.ones(9)
for _name in ("coo_matrix", "csc_matrix", "csr_matrix"):
    CALLS[f"scipy.sparse.{_name}"] = lambda f, a: f((a[0], (INDICES, INDICES))) @ a[1]
for _name in ("dia_array", "dia_matrix"):
    CALLS[f"scipy.sparse.{_name}"] = lambda f, a: f((a[:2], [0, 1]), shape=(3, 3)) @ a[1]
for _name in ("anderson", "broyden1", "broyden2", "diagbroyden", "newton_krylov"):
    CALLS[f"scipy.optimize.{_name}"] = lambda f, a: f(lambda z: z - a[0], np.zeros(3), f_tol=1e-13)
CALLS["scipy.optimize.linearmixing"] = lambda f, a: f(
    lambda z: z - a[0], np.zeros(3), alpha=-0.5, f_tol=1e-13
)
for _name in ("differential_evolution", "dual_annealing"):
    CALLS[f"scipy.optimize.{_name}"] = lambda f, a: f(away(a), BOX, rng=1, maxiter=3).x
for _name in ("direct", "shgo"):
    CALLS[f"scipy.optimize.{_name}"] = lambda f, a: f(away(a), BOX).x
for _name in ("fmin_cg", "fmin_powell"):
    CALLS[f"scipy.optimize.{_name}"] = lambda f, a: f(away(a), np.zeros(3), disp=0)
for _name in ("brent", "golden"):
    CALLS[f"scipy.optimize.{_name}"] = lambda f, a: f(lambda t: (t - a[0, 0]) ** 2)


class _With:
    """A module of linad's, but for one function."""

    def __init__(self, module, path, function):
        self.module, self.path, self.function = module, path, function

    def __getattr__(self, name):
        head, _, rest = self.path.partition(".")
        found = getattr(self.module, name)
        if name != head:
            return found
        return _With(found, rest, self.function) if rest else self.function


def _moved(room: str, path: str, case: tuple) -> Call:
    """A case of `twin_cases` whose arrays move with the matrix."""
    f, *arrays = case

    def call(function, a):
        module = importlib.import_module(f"linad.scipy.{room}")
        change = a[0] - MATRIX[0].astype(a.dtype)
        given = [x.astype(a.dtype) * (1 + 0.1 * change[k % 3]) for k, x in enumerate(arrays)]
        return f(_With(module, path, function), *given)

    return call


for _room, _cases in twin_cases.ROOMS.items():
    for _name, _case in _cases.items():
        if "-" not in _name and "Rotation" not in _name:
            CALLS[f"scipy.{_room}.{_name}"] = _moved(_room, _name, _case)
