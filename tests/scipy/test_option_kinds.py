"""Options of SciPy's functions with traced arguments."""

import contextlib
import importlib
import inspect

import numpy as np
import pytest
import scipy.ndimage

import linad
from linad.errors import OptionError, ShapeError
from linad.scipy import (
    fft,
    fftpack,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    special,
    stats,
)
from linad.scipy.option_kinds import check_options_of

X = np.array([0.5, 1.5, 2.0, 0.25, 1.0, 0.75])
A = np.array([[0.4, 0.1], [0.2, 0.3]])

WRONG = {
    "scipy.fft.dct: n": lambda x: fft.dct(x, n=-1),
    "scipy.special.comb: repetition": lambda x: special.comb(x, 2, repetition="x"),
    "scipy.special.factorial: extend": lambda x: special.factorial(x, extend="x"),
    "scipy.signal.welch: fs": lambda x: signal.welch(x, fs=-1, nperseg=4)[1],
    "scipy.signal.welch: window": lambda x: signal.welch(x, window=2.5, nperseg=4)[1],
    "UnivariateSpline: ext": lambda x: interpolate.UnivariateSpline(np.arange(6.0), x, ext="x")(
        1.5
    ),
    "scipy.linalg.pinv: rtol": lambda x: linalg.pinv(x[:4].reshape(2, 2), rtol=-1),
    "scipy.linalg.solve_discrete_lyapunov: method": lambda x: linalg.solve_discrete_lyapunov(
        x[:4].reshape(2, 2), A, method="x"
    ),
    "scipy.integrate.odeint: rtol": lambda x: integrate.odeint(
        lambda y, t: -y, x, [0.0, 0.5], rtol=np.nan
    ),
    "scipy.interpolate.interp1d: copy": lambda x: interpolate.interp1d(np.arange(6.0), x, copy="x")(
        1.5
    ),
    "scipy.interpolate.make_interp_spline: bc_type": lambda x: interpolate.make_interp_spline(
        np.arange(6.0), x, 3, None, []
    )(1.5),
    "scipy.interpolate.make_lsq_spline: w": lambda x: interpolate.make_lsq_spline(
        np.arange(6.0), x, [0, 0, 2.5, 5, 5], 1, w="x"
    )(1.5),
    "scipy.interpolate.splrep: s": lambda x: interpolate.splrep(np.arange(6.0), x, s=[])[1],
    "scipy.stats.gaussian_kde: bw_method": lambda x: stats.gaussian_kde(x, -1)(0.5),
    "scipy.sparse.linalg.eigsh: return_eigenvectors": lambda x: sparse.linalg.eigsh(
        x[0] * np.diag(np.arange(6.0)), 2, return_eigenvectors="x"
    ),
    "differential_evolution: args": lambda x: (
        optimize.differential_evolution(lambda z: (z[0] - x[0]) ** 2, [(0, 1)], args=2.5).x
    ),
    "expm_multiply: traceA": lambda x: sparse.linalg.expm_multiply(A, x[:2], traceA=np.nan),
    "scipy.signal.welch: window by position": lambda x: signal.welch(x, 1.0, 2.5, 4)[1],
}


@pytest.mark.parametrize("said", WRONG)
def test_wrong_options(said):
    with pytest.raises(OptionError, match=f"^{said.partition(' by ')[0]} must be"):
        linad.linearize(WRONG[said], X)


@pytest.mark.parametrize("w", [-1, [], [1.0]])
def test_weights_of_an_interpolating_spline_are_as_many_as_its_points(w):
    for f in (
        lambda x: interpolate.InterpolatedUnivariateSpline(np.arange(6.0), x, w=w)(1.5),
        lambda x: interpolate.UnivariateSpline(np.arange(6.0), x, w=w, s=0)(1.5),
        lambda x: interpolate.splprep([x, x * x], s=0, w=w)[0][1],
    ):
        with pytest.raises((ShapeError, OptionError), match=r"w must be (of one length|an array)"):
            linad.linearize(f, X)


def test_what_is_no_integer_or_dtype():
    with pytest.raises(TypeError, match="integer"):
        linad.linearize(lambda x: ndimage.fourier_gaussian(x, 1.0, n=2.5), X)
    with pytest.raises(TypeError, match="data type"):
        linad.linearize(lambda x: linalg.get_blas_funcs("dot", (x,), dtype="x")(x, x), X)


def test_arguments_of_global_searches_are_the_entries_of_any_sequence():
    def f(x, args):
        return optimize.differential_evolution(
            lambda z, a=1.0: (z[0] - a * x[0]) ** 2, [(0, 1)], args=args, rng=1, maxiter=3
        ).x

    for args in (None, [], (1.0,), [1.0], np.ones(1)):
        y, J = linad.linearize(lambda x, a=args: f(x, a), X)
        np.testing.assert_allclose(y, X[:1], atol=1e-6)
        np.testing.assert_allclose(J.todense(), np.eye(1, 6), atol=1e-6)


def test_drivers_of_tridiagonal_matrices():
    for driver in ("auto", "stemr", "stev"):
        y = linad.linearize(
            lambda d, k=driver: linalg.eigvalsh_tridiagonal(d, X[1:] * 0.1, lapack_driver=k), X
        )[0]
        np.testing.assert_allclose(y, linalg.eigvalsh_tridiagonal(X, X[1:] * 0.1))


def test_lengths_without_axes():
    for f in (fftpack.fftn, fftpack.dctn):
        with pytest.raises(ShapeError, match=r"^(fftn|dctn): shape must have one length for each"):
            linad.linearize(lambda x, f=f: f(x, shape=[2]), A)


def test_what_stands_beyond_a_table_has_the_shape_of_a_value():
    def f(x, fill):
        return interpolate.interp1d(np.arange(6.0), x, fill_value=fill, bounds_error=False)(
            [-1.0, 2.5, 9.0]
        )

    for fill in ([], [1.0, 2.0, 3.0], ([1.0, 2.0], 0.5)):
        with pytest.raises(ShapeError, match=r"^interp1d: fill_value must broadcast"):
            linad.linearize(lambda x, v=fill: f(x, v), X)
    assert np.array_equal(linad.linearize(f, X, (1.0, 2.0))[0][[0, 2]], [1.0, 2.0])


@pytest.mark.parametrize("axes", [None, 0, (1,), (-1, 0), ()])
def test_smoothed_slopes_along_some_axes(axes):
    """SciPy smooths along all axes for the magnitude, along those alone for the Laplacian."""
    image = np.outer(X, X[:4])
    for name in ("gaussian_gradient_magnitude", "gaussian_laplace"):
        y = linad.linearize(lambda x, n=name: getattr(ndimage, n)(x, 1.0, axes=axes), image)[0]
        expected = getattr(scipy.ndimage, name)(image, 1.0, axes=axes)
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)


ROOMS = (
    *("cluster.vq", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal"),
    *("sparse", "sparse.linalg", "spatial.distance", "special", "stats"),
)


@pytest.mark.parametrize("room", ROOMS)
def test_what_scipy_has_for_a_default_may_be_given(room):
    module = importlib.import_module(f"scipy.{room}")
    for name, function in vars(module).items():
        if name.startswith("_") or not callable(function) or not hasattr(function, "__name__"):
            continue
        with contextlib.suppress(ValueError):  # of those in C that tell no signature
            defaults = {k: p.default for k, p in inspect.signature(function).parameters.items()}
            given = {k: v for k, v in defaults.items() if v is not inspect.Parameter.empty}
            check_options_of(f"scipy.{room}.{name}", function, given)


GIVEN = {
    "butter": lambda x: signal.butter(2, x[0], fs=None)[0],
    "resample": lambda x: signal.resample(x, 4, window=None),
    "resample by a function": lambda x: signal.resample(x, 4, window=lambda f: 1 / (1 + f * f)),
    "generic_filter": lambda x: ndimage.generic_filter(x, np.sum, 3, extra_keywords=None),
    "solve_ivp": lambda x: integrate.solve_ivp(lambda t, y: -y, (0, 1), x, args=None).y,
    "curve_fit": lambda x: optimize.curve_fit(
        lambda t, a: a * t, np.arange(6.0), x, check_finite=None
    )[0],
}


@pytest.mark.parametrize("name", GIVEN)
def test_defaults_that_are_given(name):
    value, J = linad.linearize(GIVEN[name], X)
    np.testing.assert_allclose(value, GIVEN[name](X))
    assert J.todense().any()
