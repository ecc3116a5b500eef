"""linad.scipy.signal: convolution, linear filters, trends, the analytic signal."""

import tracemalloc

import numpy as np
import pytest
import scipy.signal

import linad
import linad.scipy.signal as ls
from linad.core.primitive import Traced
from linad.errors import LinadError, ShapeError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(5)
X = rng.standard_normal((3, 7))
B = rng.standard_normal(3)
A = np.array([1.4, 0.3, -0.2, 0.1])
Z = rng.standard_normal((3, 3))
SOS = np.array([[0.3, 0.2, 0.1, 1.0, -0.5, 0.2], [1.0, -0.4, 0.3, 1.0, 0.1, 0.3]])

CASES = {
    "lfilter": (lambda m, b, a, x: m.lfilter(b, a, x), B, A, X),
    "lfilter-axis": (lambda m, b, a, x: m.lfilter(b, a, x, axis=0), B, A, X),
    "lfilter-fir": (lambda m, b, a, x: m.lfilter(b, a[:1], x), B, A, X),
    "lfilter-short": (lambda m, b, a, x: m.lfilter(b, a, x[:, :2]), B, A, X),
    "lfilter-longer-b": (lambda m, b, a, x: m.lfilter(b, a[:2], x[0]), B, A, X),
    "lfilter-state": (lambda m, b, a, x, z: m.lfilter(b, a, x, zi=z), B, A, X, Z),
    "lfilter-state-short": (lambda m, b, a, x, z: m.lfilter(b, a, x[:, :2], zi=z), B, A, X, Z),
    "lfilter-state-fir": (
        lambda m, b, a, x, z: m.lfilter(b, a[:1], x, zi=z[:, :2]),
        *(B, A, X, Z),
    ),
    "lfilter-state-repeated": (
        lambda m, b, a, x, z: m.lfilter(b, a, x.T, 0, z[0][:, None]),
        *(B, A, X, Z),
    ),
    "lfilter-plain-filter": (lambda m, x: m.lfilter([1, 2], [2, 1, 0.5], x), X),
    "lfilter-plain-lists": (lambda m, b, x: m.lfilter([b[0], 1.0], [1.0, -b[1]], x), B, X),
    "freqz-sampled": (
        lambda m, a, f: m.freqz(a, a[:2], worN=4, fs=1 * f)[0].astype(a.dtype),
        A,
        np.array(3.0),
    ),
    "freqz-asked": (lambda m, a, w: m.freqz(a, worN=w, fs=2 * w[1]), A, np.array([0.3, 1.1])),
    "freqz-asked-plainly": (
        lambda m, a, f: m.freqz(a, worN=[0.3, 1.1], fs=1 * f)[1],
        *(A, np.array(3.0)),
    ),
    "lfilter_zi": (lambda m, b, a: m.lfilter_zi(b, a), B, A),
    "lfilter_zi-longer-b": (lambda m, b, a: m.lfilter_zi(b, a[:2]), B, A),
    "sosfilt": (lambda m, x: m.sosfilt(SOS, x), X),
    "sosfilt-sections": (
        lambda m, c, x: m.sosfilt(_sections(c), x, axis=0),
        SOS[:, [0, 1, 2, 4, 5]],
        X,
    ),
    "sosfilt-state": (
        lambda m, x, z: m.sosfilt(SOS, x, zi=z),
        X,
        rng.standard_normal((2, 3, 2)),
    ),
    "filtfilt": (lambda m, b, a, x: m.filtfilt(b, a, x, padlen=4), B, A, X),
    "filtfilt-plain-axis": (
        lambda m, x: m.filtfilt(B, A, x.T, axis=0, padtype="even", padlen=2),
        X,
    ),
    "filtfilt-plain-constant": (lambda m, x: m.filtfilt(B, A, x, padtype="constant", padlen=3), X),
    "filtfilt-gust": (lambda m, b, a, x: m.filtfilt(b, a, x, method="gust"), B, A, X),
    "filtfilt-plain-gust-ends": (
        lambda m, x: m.filtfilt(B, A, np.stack([x, x * x], 1), axis=0, method="gust", irlen=3),
        X,
    ),
    "filtfilt-plain-gust-factor": (
        lambda m, b, x: m.filtfilt(b, [2.0], x, method="gust"),
        B[:1],
        X,
    ),
    "sosfiltfilt": (lambda m, x: m.sosfiltfilt(SOS, x, padlen=5), X),
    "savgol": (lambda m, x: m.savgol_filter(x, 5, 2), X),
    "savgol-slope": (lambda m, x: m.savgol_filter(x.T, 5, 3, 1, 0.5, axis=0), X),
    "savgol-wrap": (lambda m, x: m.savgol_filter(x, 3, 1, mode="wrap"), X),
    "welch": (lambda m, x: m.welch(x, nperseg=4)[1], X),
    "welch-median": (lambda m, x: m.welch(x, 2.0, nperseg=3, average="median")[1], X),
    "welch-axis": (lambda m, x: m.welch(x.T, nperseg=5, nfft=8, detrend="linear", axis=0)[1], X),
    "periodogram": (lambda m, x: m.periodogram(x, 2.0, "hann")[1], X),
    "csd": (lambda m, x, b: m.csd(x, x[::-1] * b[:, None], nperseg=4)[1], X, B),
    "coherence": (lambda m, x: m.coherence(x[0], x[1], nperseg=3)[1], X),
    "spectrogram": (lambda m, x: m.spectrogram(x, nperseg=4)[2], X),
    **{
        f"spectrogram-{mode}": (
            lambda m, x, mode=mode: m.spectrogram(x, 2.0, nperseg=4, mode=mode)[2][..., 1:, :],
            X,
        )
        for mode in ("complex", "magnitude", "angle", "phase")
    },
    "spectrogram-axis": (
        lambda m, x: m.spectrogram(x.T, nperseg=5, axis=0, mode="magnitude")[2],
        X,
    ),
    "stft": (lambda m, x: m.stft(x, nperseg=4)[2], X),
    "detrend": (lambda m, x: m.detrend(x), X),
    "detrend-axis": (lambda m, x: m.detrend(x, axis=0), X),
    "detrend-constant": (lambda m, x: m.detrend(x, type="constant"), X),
    "detrend-breaks": (lambda m, x: m.detrend(x, bp=[3, 6]), X),
    "hilbert": (lambda m, x: m.hilbert(x), X),
    "hilbert-even": (lambda m, x: m.hilbert(x, N=10, axis=0), X),
    "hilbert-shorter": (lambda m, x: m.hilbert(x, N=4), X),
    "fft-axes": (lambda m, x, b: m.fftconvolve(x, b[None], axes=1), X, B),
    "fft-axes-valid": (lambda m, x, y: m.fftconvolve(y, x, "valid", axes=[1]), X, X[:, :3]),
    "fft-repeated-axis": (lambda m, x, b: m.fftconvolve(x, b[:, None, None]), X[None], B),
    "fft-ones": (lambda m, x, b: m.fftconvolve(x, b[:1, None]), X, B),
    "oa": (lambda m, x, b: m.oaconvolve(x[0], b, "same"), X, B),
    "freqz": (lambda m, b, a: m.freqz(b, a, 5)[1], B, A),
    "freqz-whole": (lambda m, b: m.freqz(b, 1, 4, whole=True, fs=2.0)[1], B),
    "freqz-points": (lambda m, b, a: m.freqz(b, a, [0.1, 0.7])[1], B, A),
    "freqz_sos-plain-ones": (lambda m, c: m.freqz_sos(_sections(c), 4)[1], SOS[:, [0, 1, 2, 4, 5]]),
    "tf2zpk": (lambda m, b: m.tf2zpk(b, [1.0, 3.0, 2.0])[2] * b, B),
    "tf2zpk-poles": (
        lambda m, a: abs(m.tf2zpk([1.0, 0.5], a)[1]).sum(),
        np.array([1.0, 3.1, 2.2, 0.4]),
    ),
    "tf2ss": (lambda m, b, a: m.tf2ss(b, a)[0] * m.tf2ss(b, a)[2], B, A),
    "tf2ss-through": (lambda m, b: m.tf2ss(b, [1.0, 0.5, 0.2])[3], B),
    "cont2discrete": (lambda m, a, b: _sampled(m, a, b, "zoh"), 0.5 * X[:, :3], Z),
    "cont2discrete-impulse": (lambda m, a, b: _sampled(m, a, b, "impulse"), 0.5 * X[:, :3], Z),
    "cont2discrete-tustin": (lambda m, a, b: _sampled(m, a, b, "tustin"), 0.5 * X[:, :3], Z),
    "cont2discrete-euler": (lambda m, a, b: _sampled(m, a, b, "euler"), 0.5 * X[:, :3], Z),
    **{
        f"resample-{n}-{num}": (lambda m, x, n=n, num=num: m.resample(x[:, :n], num, axis=1), X)
        for n in (6, 7)
        for num in (3, 4, 6, 10, 11)
    },
    "resample-window": (lambda m, x: m.resample(x, 4, window="hann"), X.T),
    "resample-spectrum": (lambda m, x: m.resample(x + 1j, 4, axis=1, domain="freq"), X),
    "resample-times": (lambda m, x: m.resample(x, 8, t=np.arange(7.0), axis=1)[0], X),
    "numbers": (lambda m, x, b: m.convolve(x[0, 0], b[0]) + m.correlate(x[0, 0], b[0]), X, B),
}


def _sampled(m, a, b, method):
    ad, bd, cd, dd, _ = m.cont2discrete((a, b, np.eye(3), np.zeros((3, 3))), 0.3, method)
    return np.concatenate([ad, bd, cd * ad, dd], axis=1)


def _sections(c):
    ones = np.ones((2, 1))
    sos = np.concatenate([c[:, :3], ones, c[:, 3:]], axis=1)
    return sos if isinstance(sos, Traced) else np.ascontiguousarray(sos)


def check_traced(f, *args, rtol=1e-11):
    expected, plain = f(scipy.signal, *args), f(ls, *args)
    found = linad.linearize(lambda *a: f(ls, *a), *args)[0]
    if not isinstance(expected, tuple):
        expected, plain, found = (expected,), (plain,), (found,)
    for e, p, y in zip(expected, plain, found, strict=True):
        np.testing.assert_array_equal(p, e)
        np.testing.assert_allclose(y, e, rtol=rtol, atol=1e-12)
        assert y.dtype == e.dtype


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.sweep(part=0.1))])
@pytest.mark.parametrize("name", CASES)
def test_traces(name, order):
    f, *args = CASES[name]
    check_traced(f, *args)
    check_derivatives(lambda *a: f(ls, *a), *args, order=order)


SHAPES = [
    ((5,), (3,)),
    ((5,), (4,)),
    ((3,), (5,)),
    ((4,), (4,)),
    ((4, 5), (2, 3)),
    ((5, 4), (3, 2)),
    ((2, 3), (4, 5)),
    ((2, 3, 2), (2, 2, 1)),
]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("method", ["direct", "fft", "auto"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_convolution_and_correlation(shapes, mode, method):
    a, v = [rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in shapes]
    for name in ("convolve", "correlate"):

        def f(m, a, v, name=name):
            return getattr(m, name)(a, v, mode=mode, method=method)

        check_traced(f, a, v)
        check_traced(f, a.real, v.real)
        check_derivatives(lambda a, v: f(ls, a, v), a.real, v.real, order=1)
        check_derivatives(lambda v: f(ls, a, v), v, order=1)


def test_complex_filters():
    z = Z + 1j * Z[::-1]
    check_traced(lambda m, b, a, x: m.lfilter(b, a, x), B + 0.2j, A - 0.1j, X + 0.3j)
    check_derivatives(lambda b, a, x, z: ls.lfilter(b, a, x, zi=z), B + 0.2j, A - 0.1j, X + 0.3j, z)
    check_derivatives(lambda x: ls.lfilter(B + 0.2j, A, x).real, X)


@pytest.mark.parametrize("name", CASES)
def test_single_precision_stays(name):
    f, *args = CASES[name]
    single = [a.astype(np.float32) for a in args]
    y, J = linad.linearize(lambda *a: f(ls, *a), *single)
    cotangent = J.pullback(y)
    cotangents = cotangent if isinstance(cotangent, tuple) else (cotangent,)
    dtypes = {part.real.dtype for part in (y if isinstance(y, tuple) else (y,))}
    if name.startswith(("tf2", "cont2discrete")):  # some of SciPy's matrices are doubles
        plain = f(scipy.signal, *single)
        assert dtypes == {p.dtype for p in (plain if isinstance(plain, tuple) else (plain,))}
    elif "plain" not in name and not name.startswith("sosfilt"):  # SciPy's filters are doubles
        assert dtypes == {np.dtype(np.float32)}
    assert {c.dtype for c in cotangents} == {np.dtype(np.float32)}


def test_a_filter_is_fitted():
    """The coefficients of a resonance are found from its response."""
    x = rng.standard_normal(200)
    b, a = np.array([0.2, 0.1]), np.array([1.0, -0.9, 0.4])
    data = scipy.signal.lfilter(b, a, x)

    def residual(p):
        return ls.lfilter(p[:2], np.concatenate([np.ones(1), p[2:]]), x) - data

    p = np.array([0.18, 0.08, -0.88, 0.38])
    for _ in range(8):
        r, J = linad.linearize(residual, p)
        p = p - np.linalg.lstsq(J.todense(), r)[0]
    np.testing.assert_allclose(p, [0.2, 0.1, -0.9, 0.4], rtol=1e-10)


def test_a_filter_costs_its_samples():
    """Memory of both modes grows with n, not with its square."""
    n = 20_000
    x = rng.standard_normal(n)
    tracemalloc.start()
    y, J = linad.linearize(lambda b, a, x: ls.lfilter(b, a, x), B, A, x)
    J.pullback(y)
    J.pushforward((B, A, x))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * 8 * n


def test_the_gradient_of_a_long_filter():
    """The impulse response gives the adjoint in x: x̄_i = Σ_n h_{n-i} ȳ_n."""
    x, w = rng.standard_normal((2, 50))
    h = scipy.signal.lfilter(B, A, np.eye(50)[0])
    [found] = linad.vjp(lambda x: ls.lfilter(B, A, x), x)[1](w)
    expected = np.convolve(w[::-1], h)[:50][::-1]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda x: ls.convolve(x, x[0]), ValueError, "number of axes"),
        (lambda x: ls.convolve(x, x, "middle"), ValueError, "mode"),
        (lambda x: ls.convolve(x, x, method="magic"), ValueError, "method"),
        (lambda x: ls.fftconvolve(x, x[:2], axes=1), ValueError, "incompatible"),
        (lambda x: ls.fftconvolve(x, x, axes=()), ValueError, "axes"),
        (lambda x: ls.convolve(x[:2], x[:, :2], "valid"), ValueError, "at least as large"),
        (lambda x: ls.convolve(x[:0], x), ShapeError, "empty"),
        (lambda x: ls.lfilter(x, A, x), ShapeError, "b must be"),
        (lambda x: ls.lfilter(B, x[0, :0], x), ShapeError, "a must be"),
        (lambda x: ls.lfilter(B, A, x[0, 0]), ShapeError, "at least one axis"),
        (lambda x: ls.lfilter(B, A, x, zi=Z[:, :2]), ShapeError, "zi must have 3"),
        (lambda x: ls.lfilter(B, A, x, zi=Z[0]), ShapeError, r"got shape \(3,\)"),
        (lambda x: ls.sosfilt(SOS[:, :5], x), ShapeError, "n_sections, 6"),
        (lambda x: ls.sosfilt(2 * SOS, x), ValueError, "ones"),
        (lambda x: ls.sosfilt(SOS, x, zi=Z), ShapeError, "zi must have shape"),
        (lambda x: ls.detrend(x, type="cubic"), ValueError, "type"),
        (lambda x: ls.detrend(x, bp=9), ValueError, "breakpoints"),
        (lambda x: ls.upfirdn(B, x, mode="mirror"), ValueError, "mode must be one of"),
        (lambda x: ls.upfirdn(B, x[:, :1], mode="reflect"), ShapeError, "needs 2 entries"),
        (lambda x: ls.hilbert(x + 1j), LinadError, "real"),
        (lambda x: ls.hilbert(x, N=0), ValueError, "positive"),
        (lambda x: ls.sepfir2d(x, B, B), LinadError, "linad.scipy"),
        (lambda x: ls.filtfilt(B, A, x), ValueError, "greater than padlen"),
        (lambda x: ls.filtfilt(B, A, x, method="twice"), ValueError, "'pad' or 'gust'"),
        (lambda x: ls.savgol_filter(x, 9, 2), ValueError, "window_length"),
        (lambda x: ls.stft(x, boundary="even"), LinadError, "boundary"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        linad.linearize(call, X)


@pytest.mark.parametrize("shape, axis", [((7,), -1), ((3, 7), 0), ((3, 7), 1), ((2, 3, 4), 1)])
def test_data_are_overwritten_where_scipy_overwrites_them(shape, axis):
    x = rng.standard_normal(shape)

    def f(x, m=ls):
        x = x.copy()
        y = m.detrend(x, axis, overwrite_data=True)
        return np.stack([y, x])

    np.testing.assert_allclose(linad.linearize(f, x)[0], f(x, scipy.signal), atol=1e-14)
    check_derivatives(f, x)


def test_the_rest_is_scipys():
    assert ls.remez is scipy.signal.remez
    assert "lfilter" in dir(ls)


@pytest.mark.parametrize("num", [3, 4, 6, 9, 10])
@pytest.mark.parametrize("n", [6, 7])
def test_resampled_complex_signals(n, num):
    x = X[0, :n] + 1j * X[1, :n]
    window = np.linspace(0.5, 1.0, n)
    expected = scipy.signal.resample(x, num, window=window)
    y, J = linad.linearize(lambda z: ls.resample(z, num, window=window), x)
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
    matrix = scipy.signal.resample(np.eye(n) * (1 + 0j), num, window=window)
    np.testing.assert_allclose(J.todense(), matrix, rtol=1e-12, atol=1e-14)


def test_systems_that_are_refused():
    for f in (
        lambda x: ls.cont2discrete((x, [1.0, 2.0]), 0.1),
        lambda x: ls.cont2discrete((np.eye(2) * x[0], np.eye(2), np.eye(2), np.eye(2)), 0.1, "foh"),
        lambda x: ls.tf2ss(x, [1.0, 2.0]),
        lambda x: ls.freqz(x, plot=print),
        lambda x: ls.tf2zpk(x * 0.0, [1.0]),
    ):
        with pytest.raises(LinadError):
            linad.linearize(f, np.ones(3))


@pytest.mark.rest
def test_poles_of_several_inputs():
    """Its iteration starts from the complete Q of a pair of matrices, and ends early."""
    a = np.random.default_rng(1).standard_normal((3, 3))
    check_derivatives(
        lambda a: ls.place_poles(a, np.eye(3)[:, :2], np.array([-1.0, -2.0, -3.0])).gain_matrix, a
    )


@pytest.mark.parametrize("zeros", [(), (0,), (1,), (2,), (0, 1)])
def test_coefficients_of_zero_have_derivatives_through_the_bilinear_transform(zeros):
    b, a = np.array([1.0, 0.4, 0.2]), np.array([1.0, 0.6, 0.3])
    b[list(zeros)] = 0.0
    for fs in (0.5, 2.0):
        expected = scipy.signal.bilinear(b, a, fs)
        for found, wanted in zip(linad.linearize(ls.bilinear, b, a, fs)[0], expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15, strict=True)
        check_derivatives(lambda b, a, fs=fs: ls.bilinear(b, a, fs), b, a)


def test_the_order_of_a_bilinear_transform_is_looked_at_in_each_call():
    jitted = linad.jit(lambda b, a: ls.bilinear(b, a, 2.0))
    for b, a in (((1.0, 0, 0.2), (1.0, 0.3, 0.1)), ((0.0, 0, 0.2), (0.0, 0.3, 0.1))):
        b, a = np.array(b), np.array(a)
        for found, wanted in zip(jitted(b, a), scipy.signal.bilinear(b, a, 2.0), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, strict=True)


TIMES = np.linspace(0, 3, 9)
ZEROS_AT_ENDS = {
    "residue": (lambda m, b, a: m.residue(b, a)[0], [0.0, 0.3, 0.5]),
    "residue, longer": (lambda m, b, a: m.residue(b, a)[0], [0.0, 0.0, 0.3, 0.5]),
    "residuez": (lambda m, b, a: m.residuez(b, a)[0], [0.5, 0.3, 0.0]),
    "tf2ss": (lambda m, b, a: np.concatenate(m.tf2ss(b, a)[2:], axis=1), [0.0, 0.3, 0.5]),
    "lsim": (lambda m, b, a: m.lsim((b, a), np.cos(TIMES), TIMES)[1], [0.0, 0.3, 0.5]),
    "freqresp": (lambda m, b, a: m.freqresp((b, a), w=[0.1, 1.0])[1].real, [0.0, 0.0, 0.5]),
    "bode": (lambda m, b, a: m.bode((b, a), w=[0.1, 1.0])[2], [0.0, 0.5]),
    "step": (lambda m, b, a: m.step((b, a), T=TIMES)[1], [0.0, 0.3, 0.5]),
}


@pytest.mark.filterwarnings("ignore:Badly conditioned")
@pytest.mark.parametrize("name", ZEROS_AT_ENDS)
def test_zeros_that_scipy_drops_of_a_numerator_move(name):
    f, b = ZEROS_AT_ENDS[name]
    b, a = np.array(b), np.array([1.0, 3.1, 2.0])
    y, J = linad.linearize(lambda b: f(linad.scipy.signal, b, a), b)
    np.testing.assert_allclose(y, f(scipy.signal, b, a), rtol=1e-12, atol=1e-14)
    for e in np.eye(b.size):
        slope = (f(scipy.signal, b + 1e-6 * e, a) - f(scipy.signal, b - 1e-6 * e, a)) / 2e-6
        np.testing.assert_allclose(J.pushforward(e), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore:Badly conditioned")
def test_responses_of_systems_with_a_pole_at_infinity():
    """SciPy drops a zero in front of the denominator; the response goes on smoothly."""
    b, w = np.array([0.2, 0.5]), np.array([0.1, 1.0])
    functions = {
        "freqresp": lambda m, a: m.freqresp((b, a), w=w)[1].real,
        "bode": lambda m, a: m.bode((b, a), w=w)[1],
        "dfreqresp": lambda m, a: m.dfreqresp((b, a, 0.1), w=w)[1].imag,
        "dbode": lambda m, a: m.dbode((b, a, 0.1), w=w)[1],
    }
    a = np.array([0.0, 1.2, 0.5])
    for name, f in functions.items():
        y, J = linad.linearize(lambda a, f=f: f(linad.scipy.signal, a), a)
        np.testing.assert_allclose(y, f(scipy.signal, a), rtol=1e-12, err_msg=name)
        for e in np.eye(3):
            slope = (f(scipy.signal, a + 1e-6 * e) - f(scipy.signal, a - 1e-6 * e)) / 2e-6
            found = J.pushforward(e)
            np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-7, err_msg=name)
