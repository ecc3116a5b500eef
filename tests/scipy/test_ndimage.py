"""linad.scipy.ndimage: linear filters, and sampling with linear interpolation."""

import numpy as np
import pytest
import scipy.ndimage

import linad
import linad.scipy.ndimage as ln
from linad.errors import DTypeError, LinadError, ShapeError, UnsupportedError
from linad.scipy.boundaries import MODES
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(8)
X = rng.standard_normal((5, 4))
W = rng.standard_normal(3)
K = rng.standard_normal((2, 3))
SIGMA = np.array([0.8, 1.2])
POINTS = rng.uniform(-0.9, 4.4, (2, 7))
MATRIX = rng.standard_normal((2, 2))


EXTRA = {"extra_arguments": (1,), "mode": "nearest", "origin": (0, 1)}


def second_differences(line, written, scale=1.0):
    written[:] = scale * (line[2:] - 2 * line[1:-1] + line[:-2]) + line[1:-1] ** 2


def spectral(name, *given, **options):
    """A filter in Fourier space, between transforms that its module's kind of array takes."""

    def call(m, x):
        transformed = getattr(m, name)(np.fft.fft2(x), *given, **options)
        return np.real(np.fft.ifft2(transformed))

    return call, X


CASES = {
    "generic": (
        lambda m, x: m.generic_filter(x, lambda v, p: np.sum(v**2) * v[p], (2, 3), **EXTRA),
        X,
    ),
    "generic-footprint": (
        lambda m, x: m.generic_filter(
            x, np.std, footprint=[[0, 1, 0], [1, 1, 1]], mode="mirror", origin=(-1, 0)
        ),
        X,
    ),
    "generic1d": (lambda m, x: m.generic_filter1d(x, second_differences, 3, 0, mode="wrap"), X),
    "generic1d-extra": (
        lambda m, x: m.generic_filter1d(
            *(x, second_differences, 3),
            cval=0.3,
            mode="constant",
            extra_keywords={"scale": 2.0},
        ),
        X,
    ),
    "fourier_gaussian": spectral("fourier_gaussian", (0.8, 1.2)),
    "fourier_uniform": spectral("fourier_uniform", 2.0),
    "fourier-widths": (
        lambda m, x, s: np.real(m.fourier_gaussian(m.fourier_uniform(x + 0j, s), s[1])),
        *(X, SIGMA),
    ),
    "fourier-shifted-by": (
        lambda m, x, s: np.real(np.fft.ifft2(m.fourier_shift(np.fft.fft2(x), s[::-1]))),
        *(X, SIGMA),
    ),
    "fourier_ellipsoid": spectral("fourier_ellipsoid", 1.5),
    "fourier_shift": spectral("fourier_shift", (0.3, -0.7)),
    "fourier-real": (
        lambda m, x: m.fourier_gaussian(np.fft.rfft(x, axis=0).real, 0.8, 5, 0),
        X,
    ),
    "fourier-shift-real": (lambda m, x: np.abs(m.fourier_shift(x, 0.3)) ** 2, X),
    "correlate1d": (lambda m, x, w: m.correlate1d(x, w), X, W),
    "correlate1d-axis": (lambda m, x, w: m.correlate1d(x, w, 0, origin=1), X, W),
    "convolve1d": (lambda m, x, w: m.convolve1d(x, w, mode="wrap"), X, W),
    "convolve1d-even": (lambda m, x, w: m.convolve1d(x, w[:2], 0), X, W),
    "border": (lambda m, x, w: m.correlate1d(x, w, mode="constant", cval=2.0), X, W),
    "gaussian1d": (lambda m, x, s: m.gaussian_filter1d(x, s[0], axis=0), X, SIGMA),
    "gaussian": (lambda m, x, s: m.gaussian_filter(x, s), X, SIGMA),
    "gaussian-orders": (
        lambda m, x, s: m.gaussian_filter(x, s, [1, 2], mode=["wrap", "nearest"]),
        *(X, SIGMA),
    ),
    "gaussian-radius": (lambda m, x: m.gaussian_filter(x, 1.0, radius=[1, 2]), X),
    "gaussian-axes": (lambda m, x, s: m.gaussian_filter(x, s[0], axes=(1,), order=3), X, SIGMA),
    "gaussian-none": (lambda m, x: 2 * m.gaussian_filter(x, 0), X),
    "uniform1d": (lambda m, x: m.uniform_filter1d(x, 3, axis=0, origin=-1), X),
    "uniform": (lambda m, x: m.uniform_filter(x, (2, 3), origin=(0, 1), mode="mirror"), X),
    "uniform-axes": (lambda m, x: m.uniform_filter(x, 2, axes=0), X),
    "correlate": (lambda m, x, k: m.correlate(x, k, origin=(0, -1)), X, K),
    "convolve": (lambda m, x, k: m.convolve(x, k, mode="constant", cval=0.3), X, K),
    "convolve-one-axis": (lambda m, x, k: m.convolve(x[0], k[1], mode="mirror"), X, K),
    "prewitt": (lambda m, x: m.prewitt(x, 0, mode=["reflect", "wrap"]), X),
    "sobel": (lambda m, x: m.sobel(x), X),
    "laplace": (lambda m, x: m.laplace(x, mode="nearest"), X),
    "gaussian_laplace": (lambda m, x, s: m.gaussian_laplace(x, s), X, SIGMA),
    "gaussian_gradient": (
        lambda m, x, s: m.gaussian_gradient_magnitude(x, s[0], truncate=3.0),
        *(X, SIGMA),
    ),
    "map": (lambda m, x, c: m.map_coordinates(x, c, order=1, cval=1.5), X, POINTS),
    "map-nearest-point": (lambda m, x: m.map_coordinates(x, POINTS, order=0), X),
    "map-list": (lambda m, x, c: m.map_coordinates(x, [c[0], c[1]], order=1), X, POINTS),
    "map-shape": (
        lambda m, x, c: m.map_coordinates(x, c.reshape(2, 7, 1), order=1, mode="mirror"),
        *(X, POINTS),
    ),
    "affine": (
        lambda m, x, a, o: m.affine_transform(x, a, o, (3, 4), order=1, mode="reflect"),
        *(X, MATRIX, SIGMA),
    ),
    "affine-diagonal": (
        lambda m, x, a: m.affine_transform(x, a[0], 0.2, order=1, mode="nearest"),
        *(X, MATRIX),
    ),
    "affine-homogeneous": (
        lambda m, x, a: m.affine_transform(x, np.concatenate([a, a[:, :1]], 1), order=1),
        *(X, MATRIX),
    ),
    "shift": (lambda m, x, s: m.shift(x, s, order=1, mode="grid-wrap"), X, SIGMA),
    "zoom": (lambda m, x: m.zoom(x, (1.7, 0.6), order=1), X),
    "zoom-grid": (lambda m, x: m.zoom(x, 2, order=1, mode="reflect", grid_mode=True), X),
}


F = np.array([[1, 0, 1], [0, 1, 1]], bool)
LABELS = np.arange(20).reshape(5, 4) % 3
for order in (2, 3, 4, 5):
    CASES[f"map-{order}"] = (
        lambda m, x, c, order=order: m.map_coordinates(x, c, order=order, mode="grid-wrap"),
        *(X, POINTS),
    )
CASES |= {
    "map-cubic-constant": (lambda m, x, c: m.map_coordinates(x, c, cval=0.7), X, POINTS),
    "map-cubic-nearest": (lambda m, x, c: m.map_coordinates(x, c, mode="nearest"), X, POINTS),
    "map-no-filter": (lambda m, x, c: m.map_coordinates(x, c, prefilter=False), X, POINTS),
    "shift-cubic": (lambda m, x, s: m.shift(x, s, mode="reflect"), X, SIGMA),
    "zoom-quadratic": (lambda m, x: m.zoom(x, 1.7, order=2, mode="mirror"), X),
    "rotate": (lambda m, x, a: m.rotate(x, a), X, np.array(33.0)),
    "rotate-planes": (
        lambda m, x, a: m.rotate(np.stack([x, x**2]), a, (2, 1), False, order=1, mode="wrap"),
        *(X, np.array(-20.0)),
    ),
    "geometric": (
        lambda m, x, a: m.geometric_transform(x, lambda p: (a[0] * p[0] - 0.5, p[1] + a[1])),
        *(X, np.array([0.9, 0.3])),
    ),
    "coefficients": (lambda m, x: m.spline_filter(x, 4, mode="reflect"), X),
    "coefficients1d": (lambda m, x: m.spline_filter1d(x, 2, 0, mode="grid-wrap"), X),
    "maximum": (lambda m, x: m.maximum_filter(x, (2, 3), origin=(-1, 1), mode="wrap"), X),
    "minimum1d": (lambda m, x: m.minimum_filter1d(x, 4, 0, origin=1), X),
    "minimum-footprint": (lambda m, x: m.minimum_filter(x, footprint=F, cval=0.1), X),
    "median": (lambda m, x: m.median_filter(x, 3, mode="constant", cval=0.2), X),
    "median-axes": (lambda m, x: m.median_filter(x, 3, axes=0), X),
    "rank": (lambda m, x: m.rank_filter(x, -2, footprint=F), X),
    "percentile": (lambda m, x: m.percentile_filter(x, -20, (2, 3)), X),
    "percentile-full": (lambda m, x: m.percentile_filter(x, 100, 2), X),
    "erosion": (lambda m, x: m.grey_erosion(x, footprint=F, origin=(0, -1)), X),
    "dilation": (lambda m, x: m.grey_dilation(x, (2, 3), origin=-1, mode="mirror"), X),
    "dilation-structure": (lambda m, x, k: m.grey_dilation(x, structure=k), X, K),
    "erosion-structure": (lambda m, x, k: m.grey_erosion(x, structure=k), X, K),
    "opening": (lambda m, x: m.grey_opening(x, 2), X),
    "closing": (lambda m, x: m.grey_closing(x, footprint=F), X),
    "tophats": (lambda m, x: m.white_tophat(x, 2) + 2 * m.black_tophat(x, 3), X),
    "morphological": (
        lambda m, x: m.morphological_gradient(x, 3) + 2 * m.morphological_laplace(x, 2),
        X,
    ),
    "sums": (lambda m, x: m.sum_labels(x, LABELS, [0, 2]) * m.sum(x, LABELS, 1), X),
    "means": (lambda m, x: m.mean(x, LABELS, [[0, 2]]) * m.mean(x), X),
    "spreads": (
        lambda m, x: x[0] * m.variance(x, LABELS) * m.standard_deviation(x, LABELS, 2),
        X,
    ),
    "extremes": (lambda m, x: m.maximum(x, LABELS, [1, 2]) * m.minimum(x) * m.median(x), X),
}


@pytest.mark.parametrize("labels", [(), (LABELS,), (LABELS, 2), (LABELS, [2, 0])], ids=repr)
def test_centers(labels):
    mass = X**2
    expected = scipy.ndimage.center_of_mass(mass, *labels)
    found = linad.linearize(lambda x: ln.center_of_mass(x, *labels), mass)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    check_derivatives(lambda x: ln.center_of_mass(x, *labels), mass)


def check_traced(f, *args):
    expected = f(scipy.ndimage, *args)
    np.testing.assert_array_equal(f(ln, *args), expected)
    found = linad.linearize(lambda *a: f(ln, *a), *args)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    assert found.dtype == expected.dtype


@pytest.mark.filterwarnings("ignore:The behavior of affine_transform")  # SciPy 1.15
@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.sweep(part=0.1))])
@pytest.mark.parametrize("name", CASES)
def test_traces(name, order):
    f, *args = CASES[name]
    check_traced(f, *args)
    check_derivatives(lambda *a: f(ln, *a), *args, order=order)


@pytest.mark.filterwarnings("ignore:The behavior of affine_transform")  # SciPy 1.15
@pytest.mark.parametrize("name", CASES)
def test_single_precision_stays(name):
    f, *args = CASES[name]
    single = [a.astype(np.float32) for a in args]
    y, J = linad.linearize(lambda *a: f(ln, *a), *single)
    expected = f(scipy.ndimage, *single)
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y, expected, rtol=2e-4, atol=2e-5)
    cotangent = J.pullback(y)
    cotangents = cotangent if isinstance(cotangent, tuple) else (cotangent,)
    assert {c.dtype for c in cotangents} == {np.dtype(np.float32)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_every_mode_and_origin(mode, n):
    x = rng.standard_normal(n)
    for size in (1, 2, 3, 6):
        w = rng.standard_normal(size)
        for origin in range(-(size // 2), (size - 1) // 2 + 1):
            keywords = {"mode": mode, "cval": 0.7, "origin": origin}
            check_traced(lambda m, x, w: m.correlate1d(x, w, **keywords), x, w)  # noqa: B023
            keywords["origin"] = -origin - (size % 2 == 0)
            check_traced(lambda m, x, w: m.convolve1d(x, w, **keywords), x, w)  # noqa: B023
            check_traced(lambda m, x, w: m.convolve(x, w, **keywords), x, w)  # noqa: B023
        for origin in range(-(size // 2), size - size // 2):
            keywords = {"mode": mode, "cval": 0.7, "origin": origin}
            check_traced(lambda m, x: m.uniform_filter1d(x, size, **keywords), x)  # noqa: B023


@pytest.mark.sweep(part=0.25)
@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_mode_of_sampling(mode, n, order):
    """Far beyond the ends, on the points and half way between them."""
    whole = np.arange(-12.0, 13.0)
    c = np.concatenate([rng.uniform(-12, 12, 30), whole, whole + 0.5])[None]
    x = rng.standard_normal(n)

    def f(m, x, c):
        return m.map_coordinates(x, c, order=order, mode=mode, cval=1.3)

    check_traced(f, x, c)
    if n == 1 and mode == "nearest":
        return  # constant, and a spline's slopes, which add up to 0, are rounding
    smooth = c[:, :30]
    check_derivatives(lambda x, c: f(ln, x, c), x, smooth)


@pytest.mark.parametrize("mode", MODES)
def test_coordinates_that_are_no_numbers(mode):
    c = np.array([[0.4, np.nan, 1.2]])
    y, J = linad.linearize(
        lambda x, c: ln.map_coordinates(x, c, order=1, mode=mode, cval=-2.0), X[0], c
    )
    assert y[1] == -2.0
    tangent = J.pushforward((0 * X[0], np.ones_like(c)))
    assert tangent[1] == 0
    assert np.all(np.isfinite(tangent))


def test_complex_images_and_weights():
    z, w, k = X + 1j * X[::-1], W + 0.3j, K - 0.2j
    for f in (
        lambda m, x, w, k: m.correlate1d(x, w),
        lambda m, x, w, k: m.convolve1d(x, w, mode="wrap"),
        lambda m, x, w, k: m.correlate(x, k),
        lambda m, x, w, k: m.convolve(x, k),
        lambda m, x, w, k: m.uniform_filter(x, 3),
        lambda m, x, w, k: m.gaussian_filter(x, 1.0),
        lambda m, x, w, k: m.map_coordinates(x, POINTS, order=1),
    ):
        check_traced(f, z, w, k)
    check_traced(lambda m, x, w: m.convolve1d(x, w), X, w)
    check_derivatives(lambda x, w: ln.convolve1d(x, w), z, w)


def test_the_size_of_a_slope_has_the_derivative_of_a_norm_in_a_flat_image():
    def f(x):
        return ln.gaussian_gradient_magnitude(x, 1.0)

    for g, level in ((f, 0.0), (f, 0.5), (linad.jit(f), 0.0)):  # rounding of sums has a direction
        np.testing.assert_array_equal(linad.jacobian(g)(np.full((3, 4), level)), 0.0)


LEVEL = np.round(X)  # many pixels are equal
RANKED = {
    "opening": lambda m, x: m.grey_opening(x, 2),
    "closing": lambda m, x: m.grey_closing(x, footprint=F),
    "tophat": lambda m, x: m.white_tophat(x, 3, mode="constant", cval=1.0),
    "rank": lambda m, x: m.rank_filter(x, 2, 3),
    "percentile": lambda m, x: m.percentile_filter(x, 30, 3),
    "median": lambda m, x: m.median_filter(x, 3, mode="constant"),
}


@pytest.mark.parametrize("name", RANKED)
def test_slopes_at_equal_pixels_are_those_beside_them(name):
    """Of the pixels which would be picked if the later of equal ones were a little larger."""
    f, beside = RANKED[name], LEVEL + 1e-9 * np.arange(LEVEL.size).reshape(LEVEL.shape)
    y, J = linad.linearize(lambda x: f(ln, x), LEVEL)
    np.testing.assert_array_equal(y, f(scipy.ndimage, LEVEL))
    _, K = linad.linearize(lambda x: f(ln, x), beside)
    np.testing.assert_array_equal(J.todense(), K.todense())
    _, compiled = linad.linearize(linad.jit(lambda x: f(ln, x)), LEVEL)
    np.testing.assert_array_equal(compiled.todense(), K.todense())


def test_an_opening_has_its_slope_where_pixels_are_equal():
    """At [1, 1, 2] the middle is max(min(a, b), min(b, c)) = b, whichever is larger."""
    J = linad.jacobian(lambda x: ln.grey_opening(x, 2)[1])(np.array([1.0, 1.0, 2.0]))
    np.testing.assert_array_equal(J, [0.0, 1.0, 0.0])


PIXELWISE = {
    **dict.fromkeys(("correlate", "convolve"), np.ones((2, 3))),
    **dict.fromkeys(("correlate1d", "convolve1d"), np.ones(3)),
    **dict.fromkeys(("uniform_filter", "uniform_filter1d", "median_filter"), 3),
    **dict.fromkeys(("maximum_filter", "maximum_filter1d", "minimum_filter"), 3),
    **dict.fromkeys(("minimum_filter1d", "grey_erosion", "grey_dilation", "grey_opening"), 3),
    **dict.fromkeys(("grey_closing", "white_tophat", "black_tophat"), 3),
    **dict.fromkeys(("morphological_gradient", "morphological_laplace"), 3),
    **dict.fromkeys(("gaussian_filter", "gaussian_filter1d", "gaussian_laplace"), 1.0),
    **dict.fromkeys(("gaussian_gradient_magnitude", "fourier_gaussian", "fourier_shift"), 1.0),
    **dict.fromkeys(("fourier_uniform", "fourier_ellipsoid"), 1.0),
    **dict.fromkeys(("prewitt", "sobel"), 0),
}


@pytest.mark.sweep(part=0.2)
@pytest.mark.parametrize("shape", [(0, 3), (2, 0)], ids=str)
@pytest.mark.parametrize("name", PIXELWISE)
def test_empty_images(name, shape):
    x, given = np.zeros(shape), PIXELWISE[name]
    check_traced(lambda m, x: getattr(m, name)(x, given), x)
    if isinstance(given, np.ndarray):
        check_traced(lambda m, x: getattr(m, name)(x, given * 1j), x)


def test_empty_images_are_not_sampled():
    with pytest.raises(ShapeError, match=r"an image of shape \(0, 3\) has no pixels to sample"):
        linad.grad(lambda x: ln.map_coordinates(x, POINTS).sum())(np.zeros((0, 3)))


BORDERED = {
    "correlate": K,
    "convolve1d": W,
    **dict.fromkeys(("gaussian_filter", "shift", "zoom"), 1.5),
    **dict.fromkeys(("uniform_filter", "maximum_filter"), 3),
}


@pytest.mark.parametrize("name", BORDERED)
def test_a_complex_border_of_a_real_image_is_refused(name):
    for m in (ln, scipy.ndimage):
        with pytest.raises((TypeError, ValueError), match="complex"):
            linad.linearize(
                lambda x, m=m: getattr(m, name)(
                    x if m is ln else X, BORDERED[name], mode="constant", cval=1j
                ),
                X,
            )


def test_output_as_a_type():
    y = linad.linearize(lambda x: ln.gaussian_filter(x, 1.0, output=np.float32), X)[0]
    assert y.dtype == np.float32


def test_an_affine_image_has_the_shape_of_its_output():
    x, expected = np.arange(8.0), np.zeros(11)
    scipy.ndimage.affine_transform(x, [[0.5]], output=expected)

    def f(x):
        y = np.zeros_like(x, shape=11)
        ln.affine_transform(x, [[0.5]], output=y)
        return y

    np.testing.assert_allclose(linad.linearize(f, x)[0], expected, atol=1e-12)


def test_a_shift_is_found():
    """Registration: the shift between two images, by Gauss-Newton."""
    i, j = np.indices((12, 12))
    scene = np.exp(-0.05 * ((i - 5.0) ** 2 + (j - 6.5) ** 2))
    true = np.array([0.63, -1.27])
    target = scipy.ndimage.shift(scene, true, order=1, mode="nearest")

    def residual(s):
        return (ln.shift(scene, s, order=1, mode="nearest") - target)[2:-2, 2:-2]

    s = np.zeros(2)
    for _ in range(10):
        r, J = linad.linearize(residual, s)
        s = s - np.linalg.lstsq(J.todense(), r.ravel())[0]
    np.testing.assert_allclose(s, true, rtol=1e-8)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda x: ln.map_coordinates(x, POINTS, order=6), ValueError, "0 to 5"),
        (lambda x: ln.spline_filter(x, 1), ValueError, "2 to 5"),
        (lambda x: ln.spline_filter1d(x, output=int), DTypeError, "output"),
        (lambda x: ln.rotate(x, 10.0, (0, 0)), ValueError, "must differ"),
        (lambda x: ln.maximum_filter(x), ValueError, "size or footprint"),
        (lambda x: ln.median_filter(x, footprint=np.zeros((2, 2))), ShapeError, "entry that is"),
        (lambda x: ln.minimum_filter(x, 3, origin=2), ValueError, "origin 2"),
        (lambda x: ln.rank_filter(x, 9, 3), ValueError, "rank 9"),
        (lambda x: ln.percentile_filter(x, 101, 3), ValueError, "percentile 101"),
        (lambda x: ln.maximum(x, np.ones(x.shape, int), 2), UnsupportedError, "without pixels"),
        (lambda x: ln.maximum(x, index=2), ValueError, "labels"),
        (lambda x: ln.maximum(x, x), UnsupportedError, "integers"),
        (lambda x: ln.map_coordinates(x, POINTS[:1], order=1), ShapeError, "needs coordinates"),
        (lambda x: ln.map_coordinates(x, POINTS + 0j, order=1), DTypeError, "real"),
        (lambda x: ln.map_coordinates(x, POINTS, order=1, mode="edge"), ValueError, "grid-wrap"),
        (
            lambda x: ln.map_coordinates(x, POINTS, np.zeros(7), order=1),
            *(UnsupportedError, "output="),
        ),
        (lambda x: ln.gaussian_filter(x, 1.0, output=int), DTypeError, "cannot hold"),
        (lambda x: ln.map_coordinates(X.astype(int), x[:2], order=1), DTypeError, "astype"),
        (lambda x: ln.correlate1d(x, x), ShapeError, "row of numbers"),
        (lambda x: ln.correlate1d(x, W, origin=2), ValueError, "origin"),
        (lambda x: ln.correlate1d(x, W, mode="edge"), ValueError, "correlate1d: mode"),
        (lambda x: ln.uniform_filter1d(x, 0), ValueError, "at least 1"),
        (lambda x: ln.gaussian_filter1d(x, 1.0, order=-1), ValueError, "order"),
        (lambda x: ln.gaussian_filter1d(x, 1.0, radius=-1), ValueError, "radius"),
        (lambda x: ln.gaussian_filter(x, [1.0, 1.0, 1.0]), ShapeError, "one entry"),
        (lambda x: ln.shift(x, [x, x]), ShapeError, r"a number for each axis, .* \(5, 4\)"),
        (lambda x: ln.convolve(x, W), ShapeError, "2 axes"),
        (lambda x: ln.convolve(x, K, mode=["wrap"]), ValueError, "sequence of modes"),
        (lambda x: ln.affine_transform(x, np.eye(3) + 1, order=1), ValueError, "homogeneous"),
        (lambda x: ln.affine_transform(x, np.eye(4), order=1), ShapeError, "need a matrix"),
        (lambda x: ln.generic_filter(x + 0j, np.sum, 3), LinadError, "complex"),
        (lambda x: ln.generic_filter1d(x, np.cumsum, 3, origin=2), ValueError, "and an origin"),
        (lambda x: ln.fourier_ellipsoid(x, x[0, 0] + 3), UnsupportedError, "size="),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        linad.linearize(call, X)


def test_zoom_warns_as_scipys():
    with pytest.warns(UserWarning, match="grid-constant"):
        linad.linearize(lambda x: ln.zoom(x, 2, order=1, grid_mode=True), X)


def test_the_rest_is_scipys():
    assert ln.label is scipy.ndimage.label
    assert "gaussian_filter" in dir(ln)


def test_deviations_of_regions_of_equal_entries_are_flat():
    x, labels = np.array([2.0, 2.0, 5.0, 1.0, 3.0]), np.array([0, 0, 1, 2, 2])

    def f(x):
        return linad.scipy.ndimage.standard_deviation(x, labels, [0, 1, 2])

    y, J = linad.linearize(f, x)
    np.testing.assert_array_equal(y, scipy.ndimage.standard_deviation(x, labels, [0, 1, 2]))
    np.testing.assert_allclose(J.pushforward(np.arange(5.0)), [0, 0, 0.5])
    np.testing.assert_allclose(J.pullback(np.ones(3)), [0, 0, 0, -0.5, 0.5])
    one = linad.grad(lambda x: linad.scipy.ndimage.standard_deviation(x))(x)
    np.testing.assert_allclose(one, linad.grad(np.std)(x), atol=1e-14)
