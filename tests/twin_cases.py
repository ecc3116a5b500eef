"""Calls of functions of SciPy that run as SciPy's own code: `linad.scipy.twins`.

Each is a function of the module, SciPy's or linad's, and of arrays; it gives numbers.
"""

import numpy as np

rng = np.random.default_rng(3)
X = rng.standard_normal(14)
Y = rng.standard_normal(14) + 0.3 * X
P, Q = rng.random(9) + 0.4, rng.random(9) + 0.4
M, N = rng.standard_normal((4, 5)), rng.standard_normal((4, 5))
B, A = np.array([0.2, 0.5, 0.3]), np.array([1.0, -0.4, 0.2])
NUM, DEN = B[:2], np.array([1.0, 1.2, 0.5])
ZEROS, POLES, GAIN = np.array([0.3, -0.5]), np.array([-0.5, -0.8, -1.1]), np.array(1.3)
EDGE, BAND = np.array(0.3), np.array([0.2, 0.5])
MOTION = np.array([-0.5, 0.2, -0.1, -0.8])
T = np.linspace(0, 3, 9)
SOS = np.array([[0.3, 0.2, 0.1, -0.5, 0.2], [1.0, -0.4, 0.3, 0.1, 0.3]])
KNOTS = np.array([0.0, 0.0, 0.0, 0.6, 1.0, 1.0, 1.0])
SPD = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.2]])
ONE, TWO = np.array(0.7), np.array([0.3, 1.4])
UPFIRDN_MODES = (
    *("wrap", "edge", "smooth", "symmetric", "reflect"),
    *("antisymmetric", "antireflect", "line"),
)


def state_space(a):
    """A system of two states, by its matrix."""
    return a.reshape(2, 2), np.eye(2)[:, :1], np.eye(2)[:1], np.zeros((1, 1))


def sections(c):
    """Sections of second order, whose fourth numbers are 1."""
    return np.concatenate([c[:, :3], np.ones((len(c), 1), c.dtype), c[:, 3:]], axis=1)


def symmetric(a):
    """The symmetric part of a matrix."""
    return (a + a.T) / 2


def unit(x):
    """A vector of length 1."""
    return x / np.linalg.norm(x)


def both(result):
    """A statistic and its p-value."""
    return np.stack([result.statistic, result.pvalue])


def rotation(m, x):
    """The rotation of a vector, or of several."""
    return m.transform.Rotation.from_rotvec(x)


CONSTANTS = {
    "convert_temperature": (lambda m, x: m.convert_temperature(x, "F", "K"), P),
    "lambda2nu": (lambda m, x: m.lambda2nu(x) * 1e-8, P),
    "nu2lambda": (lambda m, x: m.nu2lambda(x) * 1e-8, P),
}

INTEGRATE = {
    "cumulative_simpson": (lambda m, y: m.cumulative_simpson(y, dx=0.3), Y),
    "cumulative_trapezoid": (lambda m, y: m.cumulative_trapezoid(y, dx=0.5), Y),
    "romb": (lambda m, y: m.romb(y[:5], dx=0.3), Y),
}

INTERPOLATE = {
    "Rbf": (lambda m, x, y, t: m.Rbf(x, y, smooth=0.1)(t), T, P, TWO),
    "barycentric_interpolate": (lambda m, y, t: m.barycentric_interpolate(T, y, t), P, TWO),
    "krogh_interpolate": (lambda m, y, t: m.krogh_interpolate(T[:5], y[:5], t, der=1), P, TWO),
    "pchip_interpolate": (lambda m, y, t: m.pchip_interpolate(T, y, t), P, TWO),
    # FITPACK has zeros behind the coefficients, one for each knot too many.
    "splder": (lambda m, c: m.splder((KNOTS, np.concatenate([c, np.zeros(3)]), 2))[1], P[:4]),
    "splantider": (lambda m, c: m.splantider((KNOTS, c, 2))[1], P[:4]),
    "pade": (lambda m, a: m.pade(a, 2)[0](0.3), np.array([1.0, 0.7, 0.3, 0.2, 0.4])),
    "FloaterHormannInterpolator": (
        lambda m, x, y, t: m.FloaterHormannInterpolator(x, y)(t),
        *(T, P, TWO),
    ),
    "make_splprep": (lambda m, a: m.make_splprep([a[0], a[1]], s=0)[0](0.3), M[:2]),
}

LINALG = {
    "diagsvd": (lambda m, a: m.diagsvd(a, 5, len(A)), A),
    "expm_cond": (lambda m, a: m.expm_cond(a), M[:2, :2]),
    "companion": (lambda m, a: m.companion(2 + a), A),
    "leslie": (lambda m, f, s: m.leslie(f, s[:-1]), A, A),
    "fiedler_companion": (lambda m, a: m.fiedler_companion(a), A),
    "solve_circulant": (lambda m, c, b: m.solve_circulant(c, b), A * [4.0, 1, 1], B),
    "cdf2rdf": (
        lambda m, a: np.concatenate([p.ravel() for p in m.cdf2rdf(*m.eig(a))]),
        np.array([[1.0, 2.0, 0.1], [-2.0, 1.0, 0.3], [0.0, 0.1, 3.0]]),
    ),
}

LABELS = np.arange(20).reshape(4, 5) % 3

NDIMAGE = {
    "generic_gradient_magnitude": (lambda m, a: m.generic_gradient_magnitude(a, m.sobel), M),
    "histogram": (lambda m, a: m.histogram(a, -2, 2, 4) + a[0, :4], M),
    "extrema": (lambda m, a: np.concatenate(m.extrema(a, LABELS, [0, 1, 2])[:2]), M),
    "generic_laplace": (
        lambda m, a: m.generic_laplace(
            a, lambda x, axis, output, mode, cval: m.gaussian_filter1d(x, 1.0, axis, 2, mode=mode)
        ),
        M,
    ),
    "labeled_comprehension": (
        lambda m, a: m.labeled_comprehension(a, LABELS, [0, 1, 2], np.std, float, 0),
        M,
    ),
    **{
        name: (lambda m, a, name=name: getattr(m, name)(a * a, LABELS, [0, 2]), M)
        for name in ("mean", "standard_deviation", "sum", "sum_labels", "variance")
    },
    "center_of_mass": (lambda m, a: m.center_of_mass(a * a, LABELS, 1)[0], M),
    "maximum_position": (lambda m, a: a[m.maximum_position(a)], M),
    "minimum_position": (lambda m, a: a[m.minimum_position(a)], M),
    "vectorized_filter": (lambda m, a: m.vectorized_filter(a, np.mean, size=(2, 3)), M),
}

CLUSTER = {"vq.whiten": (lambda m, a: m.vq.whiten(a), M)}
SPARSE = {
    "csgraph.laplacian": (lambda m, a: m.csgraph.laplacian(a), SPD),
    "csgraph.laplacian-normed": (
        lambda m, a: m.csgraph.laplacian(a, normed=True, return_diag=True)[0],
        SPD,
    ),
    "linalg.LinearOperator": (
        lambda m, x: m.linalg.LinearOperator((2, 2), matvec=lambda v: x * v) @ x,
        TWO,
    ),
}
OPTIMIZE = {
    "rosen_hess": (lambda m, x: m.rosen_hess(x), P),
    "rosen_hess_prod": (lambda m, x, p: m.rosen_hess_prod(x, p), P, Q),
}

SPECIAL = {
    "diric": (lambda m, x: m.diric(x, 4), P),
    "factorial2": (lambda m, x: m.factorial2(x + 1, extend="complex").real, P),
    "roots_sh_jacobi": (lambda m, p: np.stack(m.roots_sh_jacobi(3, p[0] + p[1], p[1])), P[:2]),
    "perm": (lambda m, n: m.perm(n + 5, 2.0), P),
}

SIGNAL = {
    "cheb1ap": (lambda m, r: m.cheb1ap(3, r)[1].real, ONE),
    "cheb2ap": (lambda m, r: m.cheb2ap(3, 20 * r)[1].real, ONE),
    "CZT": (lambda m, x: np.abs(m.CZT(14, 8)(x)), X),
    "findfreqs": (lambda m, a: m.findfreqs(a[:2], a, 5), A),
    "firwin_2d": (lambda m, w: m.firwin_2d((3, 5), ("hann", "hann"), fc=w, circular=False), EDGE),
    "ellipap": (lambda m, r: m.ellipap(3, r[0], 20 * r[1])[1].real, TWO),
    "gammatone": (lambda m, f: m.gammatone(400 * f, "fir", fs=16000, numtaps=12)[0], ONE),
    "iirdesign": (lambda m, w: m.iirdesign(w[0], w[1], 1.0, 20.0)[1], BAND),
    "ZoomFFT": (lambda m, x: m.ZoomFFT(14, [0.1, 0.5], 8)(x).imag, X),
    "abcd_normalize": (lambda m, a: m.abcd_normalize(*state_space(a))[0], MOTION),
    "argrelextrema": (lambda m, x: x[m.argrelextrema(x, np.greater)], X),
    "bessel": (lambda m, w: m.bessel(3, w)[1], EDGE),
    "bilinear": (lambda m, b, a: np.concatenate(m.bilinear(b, a, 2.0)), B, A),
    "bilinear_zpk": (lambda m, z, p, k: m.bilinear_zpk(z, p, k, 2.0)[2], ZEROS, POLES, GAIN),
    "bode": (lambda m, b, a: np.stack(m.bode((b, a), w=[0.1, 1.0])[1:]), NUM, DEN),
    "butter": (lambda m, w: m.butter(3, w)[1], EDGE),
    "butter-sampled": (lambda m, f: m.butter(2, 3.0, fs=9 * f)[1], GAIN),
    "butter-band": (lambda m, w: m.butter(2, w, "band", output="sos"), BAND),
    "butter-analog": (lambda m, w: m.butter(2, w, "stop", analog=True)[1], BAND),
    "buttord": (lambda m, w: m.buttord(w[0], w[1], 3, 40)[1] * np.exp(w), BAND),
    "cheb1ord": (lambda m, w: m.cheb1ord(w[0], w[1], 3, 40)[1] * np.exp(w), BAND),
    "cheb2ord": (lambda m, w: m.cheb2ord(w[0], w[1], 3, 40)[1] * np.exp(w), BAND),
    "cheby1": (lambda m, r, w: m.cheby1(3, r, w, "high")[0], ONE, EDGE),
    "cheby2": (lambda m, r, w: m.cheby2(3, 30 * r, w)[1], ONE, EDGE),
    "chirp": (lambda m, t, f: m.chirp(t, f[0], 2.0, f[1]), T, TWO),
    "chirp-logarithmic": (lambda m, t, f: m.chirp(t, f[0], 2.0, f[1], "log"), T, TWO),
    "closest_STFT_dual_window": (
        lambda m, x: m.closest_STFT_dual_window(x, 4, scaled=False)[0],
        np.hanning(8) + 0.1,
    ),
    "cont2discrete": (lambda m, b, a: m.cont2discrete((b, a), 0.1)[1], NUM, DEN),
    "cont2discrete-foh": (lambda m, a: m.cont2discrete(state_space(a), 0.1, "foh")[1], MOTION),
    "cspline1d": (lambda m, x: m.cspline1d(x), X),
    "cspline1d_eval": (lambda m, c, x: m.cspline1d_eval(c, x), X, T + 0.1),
    "czt": (lambda m, x: m.czt(x, 5), X),
    "dbode": (lambda m, b, a: m.dbode((b, a, 0.1), w=[0.1, 1.0])[1], NUM, DEN),
    "decimate": (lambda m, x: m.decimate(x, 2, 3), X),
    "decimate-fir": (lambda m, x: m.decimate(x, 2, 4, ftype="fir"), X),
    "deconvolve": (lambda m, x, b: m.deconvolve(x, b)[0], X, B),
    "dfreqresp": (lambda m, b, a: m.dfreqresp((b, a, 0.1), w=[0.1, 1.0])[1], NUM, DEN),
    "dimpulse": (lambda m, a: m.dimpulse((*state_space(a), 1.0), n=5)[1][0], MOTION),
    "dlsim": (lambda m, b, a, u: m.dlsim((b, a, 1.0), u)[1], B, A, np.cos(T)),
    "dlti": (lambda m, b, a: m.dlti(b, a).num, NUM, DEN),
    "dstep": (lambda m, a: m.dstep((*state_space(a), 1.0), n=5)[1][0], MOTION),
    "ellip": (lambda m, r, w: m.ellip(3, r, 30.0, w)[1], ONE, EDGE),
    "ellipord": (lambda m, w: m.ellipord(w[0], w[1], 3, 40)[1] * np.exp(w), BAND),
    "envelope": (lambda m, x: m.envelope(x), X),
    "filtfilt": (lambda m, b, a, x: m.filtfilt(b, a, x, padlen=4), B, A, X),
    "find_peaks": (lambda m, x: m.find_peaks(x, prominence=0.1)[1]["prominences"], X),
    "firls": (lambda m, w: m.firls(7, [0, 0.3, 0.4, 1], np.stack([*w, 0 * w[0], 0 * w[0]])), TWO),
    "firwin": (lambda m, w: m.firwin(7, w, window=("kaiser", 4.0)), EDGE),
    "firwin2": (lambda m, w: m.firwin2(7, [0, 0.3, 1.0], np.stack([*w, 0 * w[0]])), TWO),
    "freqresp": (lambda m, b, a: m.freqresp((b, a), w=[0.1, 1.0])[1], NUM, DEN),
    "freqs": (lambda m, b, a: m.freqs(b, a, [0.1, 0.7])[1], B, A),
    "freqs_zpk": (lambda m, z, p, k: m.freqs_zpk(z, p, k, [0.1, 0.7])[1], ZEROS, POLES, GAIN),
    "freqz_sos": (lambda m, c: m.freqz_sos(sections(c), 4)[1], SOS),
    "freqz_zpk": (
        lambda m, z, p, k: m.freqz_zpk(z, p / 2, k, [0.1, 0.7])[1],
        *(ZEROS, POLES, GAIN),
    ),
    "gauss_spline": (lambda m, t: m.gauss_spline(t, 3), T),
    "gausspulse": (lambda m, t, f: m.gausspulse(t / 10, 5 * f[1], f[0]), T, TWO),
    "get_window": (lambda m, b: m.get_window(("kaiser", b), 7), ONE),
    "group_delay": (lambda m, b, a: m.group_delay((b, a), 4)[1], B, A),
    "hilbert": (lambda m, x: m.hilbert(x), X),
    "hilbert2": (lambda m, x: m.hilbert2(x), M),
    "iircomb": (lambda m, q: m.iircomb(0.25, q)[1], ONE),
    "iirfilter": (lambda m, w: m.iirfilter(3, w, btype="low")[0], EDGE),
    "iirnotch": (lambda m, w, q: m.iirnotch(w, q)[1], EDGE, GAIN),
    "iirpeak": (lambda m, w, q: m.iirpeak(w, q)[0], EDGE, GAIN),
    "impulse": (lambda m, a: m.impulse(state_space(a), T=T)[1], MOTION),
    "invres": (lambda m, r, p: m.invres(r, p, [])[0], ZEROS, POLES[:2]),
    "invresz": (lambda m, r, p: m.invresz(r, p, [])[0], ZEROS, POLES[:2]),
    "istft": (lambda m, x: m.istft(m.stft(x, nperseg=8)[2], nperseg=8)[1], X),
    "kaiser_atten": (lambda m, w: m.kaiser_atten(20, w), ONE),
    "kaiser_beta": (lambda m, a: m.kaiser_beta(60 * a), ONE),
    "kaiserord": (lambda m, a: m.kaiserord(60 * a, 0.1)[1], ONE),
    "lfiltic": (lambda m, b, a, y: m.lfiltic(b, a, y), B, A, X[:2]),
    "lfiltic-past": (lambda m, b, a, y, x: m.lfiltic(b, 2 * a, y, x), B, A, X[:2], Y[:2]),
    "lombscargle": (
        lambda m, t, y, f: m.lombscargle(t, y, f),
        *(np.arange(14) + 0.1 * X, Y, np.array([0.5, 1.4])),
    ),
    "lp2bp": (lambda m, b, a, w: m.lp2bp(b, a, w, 0.4)[1], B, A, GAIN),
    "lp2bp_zpk": (lambda m, z, p, w: m.lp2bp_zpk(z, p, 1.0, w, 0.4)[1], ZEROS, POLES, GAIN),
    "lp2bs": (lambda m, b, a, w: m.lp2bs(b, a, w, 0.4)[1], B, A, GAIN),
    "lp2bs_zpk": (lambda m, z, p, w: m.lp2bs_zpk(z, p, 1.0, w, 0.4)[1], ZEROS, POLES, GAIN),
    "lp2hp": (lambda m, b, a, w: m.lp2hp(b, a, w)[1], B, A, GAIN),
    "lp2hp_zpk": (lambda m, z, p, w: m.lp2hp_zpk(z, p, 1.0, w)[1], ZEROS, POLES, GAIN),
    "lp2lp": (lambda m, b, a, w: m.lp2lp(b, a, w)[1], B, A, GAIN),
    "lp2lp_zpk": (lambda m, z, p, w: m.lp2lp_zpk(z, p, 1.0, w)[1], ZEROS, POLES, GAIN),
    "lsim": (lambda m, b, a, u: m.lsim((b, a), u, T)[1], NUM, DEN, np.cos(T)),
    "lti": (lambda m, b, a: m.lti(b, a).num, NUM, DEN),
    "medfilt": (lambda m, x: m.medfilt(x, 3), X),
    "minimum_phase": (
        lambda m, h: m.minimum_phase(np.concatenate([h, h[1::-1]])),
        np.array([0.1, 0.3, 1.0]),
    ),
    "normalize": (lambda m, b, a: np.concatenate(m.normalize(b, 2 * a)), B, A),
    "order_filter": (lambda m, x: m.order_filter(x, np.ones(3), 1), X),
    "peak_prominences": (lambda m, x: m.peak_prominences(x, [2, 8])[0], np.sin(np.arange(14.0))),
    "peak_widths": (lambda m, x: m.peak_widths(x, [2, 8])[0], np.sin(np.arange(14.0))),
    "place_poles": (
        lambda m, a: m.place_poles(a.reshape(2, 2), np.eye(2), [-1.0, -2.0]).gain_matrix,
        MOTION,
    ),
    "qspline1d": (lambda m, x: m.qspline1d(x), X),
    "qspline1d_eval": (lambda m, c, x: m.qspline1d_eval(c, x), X, T + 0.1),
    "resample": (lambda m, x: m.resample(x, 9), X),
    "resample_poly": (lambda m, x: m.resample_poly(x, 3, 2), X),
    "residue": (lambda m, b, a: m.residue(b, a)[0], NUM, np.array([1.0, 3.1, 2.0])),
    "residuez": (lambda m, b, a: m.residuez(b, a)[0], NUM, np.array([1.0, -0.9, 0.18])),
    "savgol_coeffs": (lambda m, d: m.savgol_coeffs(5, 2, deriv=1, delta=d), ONE),
    "sawtooth": (lambda m, t, w: m.sawtooth(t + 0.1, w), T, ONE),
    "ShortTimeFFT": (lambda m, x: m.ShortTimeFFT(np.hanning(8) + 0.1, 4, 1.0).stft(x), X),
    "sos2tf": (lambda m, c: m.sos2tf(sections(c))[1], SOS),
    "sos2zpk": (lambda m, c: abs(m.sos2zpk(sections(c))[1]), SOS),
    "sosfilt_zi": (lambda m, c: m.sosfilt_zi(sections(c)), SOS),
    "sosfreqz": (lambda m, c: m.sosfreqz(sections(c), 4)[1], SOS),
    "sosfiltfilt-sections": (lambda m, c, x: m.sosfiltfilt(sections(c), x, padlen=5), SOS, X),
    "square": (lambda m, t: m.square(t + 0.1) * t, T),
    "ss2tf": (lambda m, a: m.ss2tf(*state_space(a))[1], MOTION),
    "ss2zpk": (
        lambda m, a: np.sort(abs(m.ss2zpk(*state_space(a)[:3], np.ones((1, 1)))[1])),
        MOTION,
    ),
    "StateSpace": (lambda m, a: m.StateSpace(*state_space(a)).impulse(T=T)[1], MOTION),
    "step": (lambda m, b, a: m.step((b, a), T=T)[1], NUM, DEN),
    "sweep_poly": (lambda m, t, p: m.sweep_poly(t, p), T, B),
    "tf2sos": (lambda m, b, a: m.tf2sos(b, a), NUM, np.array([1.0, -1.3, 0.4])),
    "TransferFunction": (lambda m, b, a: m.TransferFunction(b, a).to_ss().A, NUM, DEN),
    "unique_roots": (lambda m, p: m.unique_roots(p)[0], POLES),
    "upfirdn": (lambda m, h, x: m.upfirdn(h, x, 3, 2), B, X),
    "upfirdn-axis": (lambda m, h, x: m.upfirdn(h, x, 2, 1, axis=0), B, M),
    **{
        f"upfirdn-{mode}": (lambda m, h, x, mode=mode: m.upfirdn(h, x, 2, 3, mode=mode), T, M)
        for mode in UPFIRDN_MODES
    },
    "upfirdn-cval": (lambda m, h, x, c: m.upfirdn(h, x, 2, mode="constant", cval=c), B, M, ONE),
    "resample_poly-line": (lambda m, x: m.resample_poly(x, 3, 2, padtype="line"), X),
    "convolve2d": (lambda m, x, y: m.convolve2d(x, y, "same", "symm"), M, N[:2, :3]),
    "convolve2d-valid": (lambda m, x, y: m.convolve2d(y, x, "valid"), M, N[:2, :3]),
    "correlate2d": (lambda m, x, y: m.correlate2d(x, y, "same", "wrap"), M, N[:2, :3]),
    "correlate2d-fill": (lambda m, x, y: m.correlate2d(x, y, fillvalue=0.3), M, N[:2, :3]),
    "correlate2d-valid": (lambda m, x, y: m.correlate2d(y, x, "valid"), M, N[:2, :3]),
    "medfilt2d": (lambda m, x: m.medfilt2d(x, (3, 1)), M),
    "vectorstrength": (lambda m, x, y: np.stack(m.vectorstrength(x, y)), X, ONE),
    "wiener": (lambda m, x: m.wiener(x, 5), X),
    "ZerosPolesGain": (
        lambda m, z, p, k: m.ZerosPolesGain(z, p, k).step(T=T)[1],
        *(ZEROS, POLES, GAIN),
    ),
    "zoom_fft": (lambda m, x: m.zoom_fft(x, [0.1, 0.5], 5), X),
    "zpk2sos": (lambda m, z, p, k: m.zpk2sos(z, p / 2, k), ZEROS, POLES, GAIN),
    "zpk2ss": (lambda m, z, p, k: m.zpk2ss(z, p, k)[0], ZEROS, POLES, GAIN),
    "zpk2tf": (lambda m, z, p, k: m.zpk2tf(z, p, k)[1], ZEROS, POLES, GAIN),
    "windows.chebwin": (lambda m, p: m.windows.chebwin(7, 80 * p), ONE),
    "windows.dpss": (lambda m, p: m.windows.dpss(8, 3 * p), ONE),
    "windows.exponential": (lambda m, p: m.windows.exponential(7, None, p), ONE),
    "windows.gaussian": (lambda m, p: m.windows.gaussian(7, p), ONE),
    "windows.general_cosine": (lambda m, p: m.windows.general_cosine(8, p), B),
    "windows.general_gaussian": (lambda m, p: m.windows.general_gaussian(8, p[1], p[0]), TWO),
    "windows.general_hamming": (lambda m, p: m.windows.general_hamming(7, p), ONE),
    "windows.get_window": (lambda m, p: m.windows.get_window(("gaussian", p), 7), ONE),
    "windows.kaiser": (lambda m, p: m.windows.kaiser(7, p), ONE),
    "windows.kaiser_bessel_derived": (lambda m, p: m.windows.kaiser_bessel_derived(8, p), ONE),
    "windows.taylor": (lambda m, p: m.windows.taylor(8, 4, 40 * p), ONE),
    "windows.tukey": (lambda m, p: m.windows.tukey(7, p), ONE),
}

SPATIAL = {
    "Rectangle": (lambda m, x: m.Rectangle(x + 2, x).volume() + x[0], P),
    "geometric_slerp": (
        lambda m, x, y, t: m.geometric_slerp(unit(x), unit(y), t),
        *(P[:3], Q[:3], BAND),
    ),
    "distance_matrix": (lambda m, x, y: m.distance_matrix(x, y, p=3), M[:, :2], N[:3, :2]),
    "minkowski_distance": (lambda m, x, y: m.minkowski_distance(x, y), M, N),
    "minkowski_distance_p": (lambda m, x, y: m.minkowski_distance_p(x, y, 3), M, N),
    "procrustes": (lambda m, x, y: m.procrustes(x, y)[1], M[:, :2], N[:, :2]),
    "KDTree": (lambda m, x, q: m.KDTree(x).query(q, k=2)[0], M[:, :2], N[:3, :2]),
    "cKDTree": (lambda m, x, q: m.cKDTree(x).query(q, p=1)[0], M[:, :2], N[:3, :2]),
    "distance.directed_hausdorff": (lambda m, x, y: m.distance.directed_hausdorff(x, y)[0], M, N),
    "distance.chebyshev-weights": (lambda m, x, w: m.distance.chebyshev(x, 2 * x[::-1], w), P, Q),
    **{
        f"distance.{name}": (
            lambda m, w, name=name: getattr(m.distance, name)(X[:9] > 0, Y[:9] > 0, w),
            P,
        )
        for name in ("dice", "hamming", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath")
    },
    "distance.yule": (lambda m, w: m.distance.yule(X[:9] > 0, Y[:9] > 0, w), P),
    "transform.Slerp": (
        lambda m, x: m.transform.Slerp([0, 1, 2, 3], rotation(m, x))([0.5, 1.2]).as_rotvec(),
        0.3 * M[:, :3],
    ),
    "transform.Rotation.mean": (
        lambda m, x, w: rotation(m, x).mean(w).as_rotvec(),
        *(0.3 * M[:, :3], P[:4]),
    ),
}

_TESTS = ("ansari", "bartlett", "brunnermunzel", "cramervonmises_2samp", "f_oneway")
_TESTS += ("kruskal", "ks_2samp", "levene", "mannwhitneyu", "mood", "ranksums")
_TESTS += ("ttest_ind", "ttest_rel", "wilcoxon", "alexandergovern", "pearsonr", "chatterjeexi")
_TESTS += ("kendalltau", "spearmanr", "somersd")
_SUMMARIES = ("bayes_mvs", "circmean", "circstd", "circvar", "differential_entropy", "entropy")
_SUMMARIES += ("gmean", "gstd", "gzscore", "hmean", "iqr", "kstat", "kstatvar")
_SUMMARIES += ("kurtosis", "lmoment", "rankdata", "sem", "skew")
_SUMMARIES += ("tmax", "tmean", "tmin", "tsem", "tstd", "tvar", "variation", "zscore")
_COUNTS = {"betabinom": (5, TWO), "betanbinom": (5, TWO)}
_PLAIN = {"dlaplace": ONE, "logser": ONE, "planck": ONE, "yulesimon": GAIN, "zipf": 2 * GAIN}
_SHAPES = {
    "crystalball": (2.0, 3.0),
    "genhalflogistic": (0.77,),
    "gibrat": (),
    "halfgennorm": (0.67,),
    "kappa3": (1.0,),
    "kstwobign": (),
    "norminvgauss": (1.25, 0.5),
    "recipinvgauss": (0.63,),
    "truncpareto": (1.8, 5.3),
    "tukeylambda": (3.13,),
    "vonmises_line": (3.99,),
}


def _density(name):
    def call(m, x, scale):
        made = getattr(m, name)
        near = made.ppf(0.3, *_SHAPES[name], scale=1.1)
        return made.logpdf(near * x / 0.7, *_SHAPES[name], scale=scale)

    return call


STATS = {
    "qmc.scale": (lambda m, x, u: m.qmc.scale(x, u - 3, u), P[:6].reshape(3, 2) / 2, TWO),
    "abs": (lambda m, a: m.abs(m.Normal(mu=a)).pdf(0.3), ONE),
    "exp": (lambda m, a: m.exp(m.Normal(mu=a)).cdf(0.3), ONE),
    "log": (lambda m, a: m.log(m.Uniform(a=a, b=2.0)).pdf(0.3), ONE),
    "order_statistic": (
        lambda m, a: m.order_statistic(m.Normal(mu=a), n=5, r=2).pdf(0.3),
        ONE,
    ),
    "Covariance": (lambda m, x, d: m.Covariance.from_diagonal(d).whiten(x[:3]), X, P[:3]),
    "Covariance-precision": (
        lambda m, x, a: m.Covariance.from_precision(a @ a.T + np.eye(3)).colorize(x[:3]),
        *(X, M[:3, :3]),
    ),
    "bws_test": (lambda m, x, y: m.bws_test(x, y).statistic, X, Y),
    "logrank": (lambda m, x, y: m.logrank(x**2, y**2).statistic, X, Y),
    "pointbiserialr": (lambda m, x: m.pointbiserialr(np.arange(14) % 2, x).statistic, X),
    "ppcc_plot": (lambda m, x: m.ppcc_plot(x, 0.1, 1.0, N=4)[1], P),
    "spearmanrho": (lambda m, x, y: m.spearmanrho(x, y).statistic, X, Y),
    "monte_carlo_test": (
        lambda m, x: (
            m.monte_carlo_test(
                x,
                lambda size: np.full(size, 0.3),
                lambda x, axis: np.mean(x, axis=axis),
                n_resamples=3,
            ).statistic
        ),
        X,
    ),
    "dpareto_lognorm": (lambda m, x, a: m.dpareto_lognorm.logpdf(x, 0.1, 1.2, a, 0.8), GAIN, ONE),
    "gausshyper": (lambda m, x: m.gausshyper.pdf(x, 1.2, 1.3, 0.4, 0.5), ONE),
    "skellam": (lambda m, a, b: m.skellam.logpmf(2, a, b), GAIN, ONE),
    "skellam-below": (lambda m, a, b: m.skellam.cdf(-1, a, b), GAIN, ONE),
    "Binomial": (lambda m, p: m.Binomial(n=5, p=p).logpmf(2), EDGE),
    "relfreq": (lambda m, x: m.relfreq(x).lowerlimit, X),
    "irwinhall": (lambda m, x: m.irwinhall.pdf(x, 3), ONE),
    **{
        name: (lambda m, x, y, name=name: both(getattr(m, name)(x, y)), X, Y[:14])
        for name in _TESTS
    },
    **{
        name: (lambda m, x, name=name: np.stack(np.ravel(getattr(m, name)(x))), P)
        for name in _SUMMARIES
        if name != "bayes_mvs"
    },
    "bayes_mvs": (lambda m, x: np.stack([part.statistic for part in m.bayes_mvs(x)]), P),
    "anderson": (lambda m, x: m.anderson(x, method="interpolate").statistic, X),
    "binned_statistic": (lambda m, x: m.binned_statistic(np.arange(9.0), x, bins=3)[0], P),
    "binned_statistic_2d": (
        lambda m, x: m.binned_statistic_2d(*np.indices((3, 3)).reshape(2, 9), x, bins=3)[0],
        P,
    ),
    "binned_statistic_dd": (
        lambda m, x: m.binned_statistic_dd(np.arange(9.0)[:, None], x, "std", bins=3)[0],
        P,
    ),
    "bootstrap": (
        lambda m, x: (
            m.bootstrap((x,), np.mean, n_resamples=9, rng=1, method="percentile").standard_error
        ),
        X,
    ),
    "boxcox": (lambda m, x, e: m.boxcox(x, e), P, EDGE),
    "boxcox_llf": (lambda m, e, x: m.boxcox_llf(e, x), EDGE, P),
    "chi2_contingency": (lambda m, x: both(m.chi2_contingency(5 * x.reshape(3, 3))), P),
    "chisquare": (lambda m, x: both(m.chisquare(x)), P),
    "chisquare-expected": (
        lambda m, x, e: both(m.chisquare(x, e * (np.sum(x) / np.sum(e)))),
        *(P, Q),
    ),
    "combine_pvalues": (lambda m, x: both(m.combine_pvalues(x / 3)), P),
    "combine_pvalues-stouffer": (lambda m, x: both(m.combine_pvalues(x / 3, "stouffer")), P),
    "cramervonmises": (lambda m, x: m.cramervonmises(x, m.norm.cdf).statistic, X),
    "describe": (lambda m, x: np.stack(m.describe(x)[2:]), P),
    "expectile": (lambda m, x: m.expectile(x, 0.3) * x, P),
    "directional_stats": (
        lambda m, x: m.directional_stats(x / np.linalg.norm(x, axis=1)[:, None]).mean_direction,
        M,
    ),
    "dirichlet": (lambda m, x, a: m.dirichlet.logpdf(x / np.sum(x), a), P[:3], 2 * Q[:3]),
    "dirichlet-entropy": (lambda m, a: m.dirichlet.entropy(a), 2 * Q[:3]),
    "dirichlet-frozen": (lambda m, x: m.dirichlet([1.5, 2.0, 3.0]).logpdf(x / np.sum(x)), P[:3]),
    "dirichlet_multinomial": (lambda m, a: m.dirichlet_multinomial.logpmf([1, 2, 3], a, 6), P[:3]),
    "ecdf": (lambda m, x: m.ecdf(x).cdf.quantiles, X),
    "energy_distance": (lambda m, x, y: m.energy_distance(x, y), X, Y[:9]),
    "false_discovery_control": (lambda m, x: m.false_discovery_control(x / 3), P),
    "fligner": (lambda m, x, y: both(m.fligner(x, y)), X[:13], Y[:13]),
    "friedmanchisquare": (lambda m, x, y: both(m.friedmanchisquare(x, y, x * y)), X, Y),
    "invwishart": (lambda m, s: m.invwishart.mean(8.0, symmetric(s)), SPD),
    "jarque_bera": (lambda m, x: both(m.jarque_bera(x)), X),
    "kurtosistest": (lambda m, x: both(m.kurtosistest(x)), X),
    "linregress": (lambda m, x, y: np.stack(m.linregress(x, y)), X, Y),
    "Logistic": (lambda m, x: m.Logistic().logcdf(x), P),
    "matrix_normal": (
        lambda m, x, u: m.matrix_normal.logpdf(x, M[1:, :2], symmetric(u), SPD[:2, :2]),
        *(N[:3, :2], SPD),
    ),
    "matrix_t": (
        lambda m, x, u: m.matrix_t.logpdf(x, M[1:, :2], symmetric(u), SPD[:2, :2], 3),
        *(N[:3, :2], SPD),
    ),
    "median_abs_deviation": (lambda m, x: m.median_abs_deviation(x, scale="normal"), X),
    "median_test": (lambda m, x, y: m.median_test(x, y)[2] * x, X, Y),
    "Mixture": (
        lambda m, x, c: m.Mixture([m.Normal(mu=c, sigma=1.0), m.Normal()], weights=[0.3, 0.7]).pdf(
            x
        ),
        *(P, ONE),
    ),
    "mode": (lambda m, x: m.mode(x)[0], P),
    "moment": (lambda m, x: m.moment(x, 3), P),
    "multinomial": (lambda m, p: m.multinomial.logpmf([1, 2, 3], 6, p / np.sum(p)), P[:3]),
    "multivariate_t": (
        lambda m, x, s, d: m.multivariate_t.logpdf(x, None, symmetric(s), 5 * d),
        *(P[:3], SPD, ONE),
    ),
    "mvsdist": (lambda m, x: m.mvsdist(x)[0].mean(), P),
    "Normal": (lambda m, x, c: m.Normal(mu=c[0], sigma=c[1]).logpdf(x), X, TWO),
    "Normal-cdf": (lambda m, x, c: m.Normal(mu=c[0], sigma=c[1]).cdf(x), X, TWO),
    "normal_inverse_gamma": (
        lambda m, x, p: m.normal_inverse_gamma.logpdf(x[0], x[1], *p),
        *(TWO, np.array([0.1, 1.2, 2.0, 1.5])),
    ),
    "normaltest": (lambda m, x: both(m.normaltest(x)), X),
    "obrientransform": (lambda m, x: m.obrientransform(x[:4], x[4:8])[0], P),
    "page_trend_test": (lambda m, x: m.page_trend_test(x, method="asymptotic").pvalue * x[0], M),
    "percentileofscore": (lambda m, x: m.percentileofscore(x, 0.7) * x, P),
    "permutation_test": (
        lambda m, x: (
            m.permutation_test(
                (x, 2 * x), lambda a, b: np.mean(a) - np.mean(b), n_resamples=9, rng=1
            ).statistic
        ),
        X,
    ),
    "pmean": (lambda m, x: m.pmean(x, 1.5), P),
    "power_divergence": (lambda m, x: both(m.power_divergence(x, lambda_="log-likelihood")), P),
    "probplot": (lambda m, x: np.stack(m.probplot(x)[1]), P),
    "quantile": (lambda m, x, p: m.quantile(x, p), P, EDGE),
    "rv_histogram": (lambda m, x: m.rv_histogram(np.histogram(X, 5)).cdf(x), P),
    "scoreatpercentile": (lambda m, x: m.scoreatpercentile(x, 30), P),
    "siegelslopes": (lambda m, x, y: np.stack(m.siegelslopes(y, x, "separate")), X, Y),
    "sigmaclip": (lambda m, x: m.sigmaclip(x, 1.5, 1.5)[0], P),
    "skewtest": (lambda m, x: both(m.skewtest(x)), X),
    "theilslopes": (lambda m, x, y: np.stack(m.theilslopes(y, x)), X, Y),
    "trim1": (lambda m, x: m.trim1(x, 0.2), P),
    "trim_mean": (lambda m, x: m.trim_mean(x, 0.2), P),
    "trimboth": (lambda m, x: m.trimboth(x, 0.2), P),
    "ttest_1samp": (lambda m, x, c: both(m.ttest_1samp(x, c)), X, EDGE),
    "ttest_ind-welch": (lambda m, x, y: both(m.ttest_ind(x, y, equal_var=False)), X, Y[:9]),
    "ttest_ind-axis": (lambda m, x, y: both(m.ttest_ind(x, y, axis=1, alternative="less")), M, N),
    "ttest_ind-interval": (
        lambda m, x, y: np.stack(m.ttest_ind(x, y).confidence_interval()),
        *(X, Y),
    ),
    "ttest_ind_from_stats": (
        lambda m, x: both(m.ttest_ind_from_stats(x[0], x[1], 5, x[2], x[3], 7)),
        P,
    ),
    "Uniform": (lambda m, x, a: m.Uniform(a=a - 1, b=3.0).logcdf(x), P, EDGE),
    "variation-axis": (lambda m, x: m.variation(x, axis=1, ddof=1, keepdims=True), M),
    "vonmises_fisher": (lambda m, x: m.vonmises_fisher.logpdf([0, 0.6, 0.8], unit(x), 2.0), P[:3]),
    "wasserstein_distance": (lambda m, x, y: m.wasserstein_distance(x, y), X, Y[:9]),
    "wishart": (
        lambda m, x, s: m.wishart.logpdf(symmetric(x), 5.0, symmetric(s)),
        *(SPD, SPD + np.eye(3)),
    ),
    "wishart-degrees": (lambda m, x, d: m.wishart.logpdf(symmetric(x), 5 * d, SPD), SPD, GAIN),
    "invwishart-degrees": (
        lambda m, x, d: m.invwishart.logpdf(symmetric(x), 5 * d, SPD),
        SPD,
        GAIN,
    ),
    "vonmises_fisher-kappa": (
        lambda m, x, k: m.vonmises_fisher.logpdf([0, 0.6, 0.8], unit(x), 1 * k),
        *(P[:3], GAIN),
    ),
    "matrix_t-degrees": (
        lambda m, x, d: m.matrix_t.logpdf(x, None, np.eye(2), np.eye(2), 3 * d),
        *(M[:2, :2], GAIN),
    ),
    "multivariate_normal-entropy": (
        lambda m, s: m.multivariate_normal.entropy(None, symmetric(s)),
        SPD,
    ),
    "yeojohnson": (lambda m, x, e: m.yeojohnson(x, e), X, EDGE),
    "yeojohnson_llf": (lambda m, e, x: m.yeojohnson_llf(e, x), EDGE, X),
    "zmap": (lambda m, x, y: m.zmap(x, y), P, Q),
    "boltzmann": (lambda m, e: m.boltzmann.logpmf(2, e, 9), GAIN),
    **{
        name: (
            lambda m, p, name=name, n=n: getattr(m, name).logpmf(2, n, *np.atleast_1d(p)),
            shapes,
        )
        for name, (n, shapes) in _COUNTS.items()
    },
    **{
        name: (lambda m, p, name=name: getattr(m, name).logpmf(2, p), shape)
        for name, shape in _PLAIN.items()
    },
    **{name: (_density(name), ONE, np.array(1.2)) for name in _SHAPES},
    "norm-moments": (lambda m, c: np.stack(m.norm.stats(c[0], c[1], "mvsk")), TWO),
    "gamma-interval": (lambda m, a: np.stack(m.gamma.interval(0.9, a[1], a[0])), TWO),
    "gamma-likelihood": (lambda m, t, x: m.gamma.nnlf(t, x), np.array([1.3, 0.1, 1.2]), P),
    "norm-fit": (lambda m, x: np.stack(m.norm.fit(x)), X),
    "binom-variance": (lambda m, p: m.binom.var(9, p), EDGE),
}

ROOMS = {
    "cluster": CLUSTER,
    "constants": CONSTANTS,
    "integrate": INTEGRATE,
    "interpolate": INTERPOLATE,
    "linalg": LINALG,
    "ndimage": NDIMAGE,
    "optimize": OPTIMIZE,
    "signal": SIGNAL,
    "sparse": SPARSE,
    "spatial": SPATIAL,
    "special": SPECIAL,
    "stats": STATS,
}
"""All of them, by the module of SciPy."""
