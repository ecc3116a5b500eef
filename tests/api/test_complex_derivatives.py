"""Complex numbers: J.T and J.H, what is holomorphic and what is not, both precisions.

For a holomorphic function the Jacobian is a complex matrix: J.T @ w = Σ_k w_k ∂f_k without
conjugation, J.H @ w its conjugate twin. Any other function is linear over the reals only; no
matrix stands for it, but pushforward and pullback do.
"""

import numpy as np
import pytest
from survey import table as coverage
from survey.numpy_calls import DIRECTION, MATRIX, quiet

import linad
import linad.scipy as lsp
from linad.errors import LinadError, NotHolomorphicError

Z = MATRIX + 0.3j * DIRECTION
DZ = DIRECTION.T - 0.7j * MATRIX
W = np.cos(1 + np.arange(16)) * (1 + 0.4j)
STEP = 2.0**-20


def columns(f, z):
    """∂f/∂z by central differences along the real axis of each entry: (size of f, size of z)."""
    found = []
    for k in range(z.size):
        dz = np.zeros(z.size)
        dz[k] = STEP
        dz = dz.reshape(z.shape)
        found.append((np.ravel(f(z + dz)) - np.ravel(f(z - dz))) / (2 * STEP))
    return np.stack(found, axis=1)


HOLOMORPHIC = {
    "exp": np.exp,
    "sin": np.sin,
    "log": np.log,
    "power": lambda z: z**2.5,
    "power-complex": lambda z: z ** (1 + 2j),
    "arcsin": np.arcsin,
    "reciprocal": lambda z: 1 / z,
    "cumprod": np.cumprod,
    "prod": np.prod,
    "product": lambda z: z @ z.T @ z,
    "einsum": lambda z: np.einsum("ij,kj,ik->k", z, z, z),
    "inv": np.linalg.inv,
    "solve": lambda z: np.linalg.solve(z, z[0] ** 2),
    "det": np.linalg.det,
    "logdet": lambda z: np.log(np.linalg.det(z)),
    "matrix_power": lambda z: np.linalg.matrix_power(z, 3),
    "eigvals": np.linalg.eigvals,
    "fft": np.fft.fft,
    "ifft2": lambda z: np.fft.ifft2(z * z),
    "fftn-shifted": lambda z: np.fft.fftshift(np.fft.fftn(z)),
    "convolve": lambda z: np.convolve(z[0], z[1]),
    "poly": lambda z: np.poly(z[0]),
    "polyval": lambda z: np.polyval(z[0], z[1]),
    "roots": lambda z: np.roots(z[0]),
    "interp": lambda z: np.interp([0.2, 0.7], [0.0, 0.5, 1.0], z[0]),
    "gradient": lambda z: np.gradient(z, axis=1),
    "trapezoid": np.trapezoid,
    "in place": lambda z: written(z),
    "expm": lsp.linalg.expm,
    "logm": lambda z: lsp.linalg.logm(np.eye(3) + 0.1 * z),
    "sqrtm": lambda z: lsp.linalg.sqrtm(3 * np.eye(3) + z),
    "lu_solve": lambda z: lsp.linalg.lu_solve(lsp.linalg.lu_factor(z), z[0]),
}


def written(z):
    y = np.zeros_like(z)
    y[0] = z[1] ** 2
    y[1:] += z[:2] * y[0]
    return y


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_the_transpose_and_the_adjoint_of_a_holomorphic_function(name):
    f = HOLOMORPHIC[name]
    y, J = linad.linearize(f, Z)
    np.testing.assert_allclose(y, f(Z), rtol=1e-13)
    expected = columns(f, Z)
    w = W[: np.size(y)]
    allowed = {"rtol": 1e-7, "atol": 1e-8 * np.abs(expected).max()}
    np.testing.assert_allclose(J.todense(), expected, **allowed)
    np.testing.assert_allclose(J @ DZ.ravel(), expected @ DZ.ravel(), **allowed)
    np.testing.assert_allclose(J.T @ w, expected.T @ w, **allowed)
    np.testing.assert_allclose(J.H @ w, expected.conj().T @ w, **allowed)
    np.testing.assert_allclose(J.T @ w, np.conj(J.H @ np.conj(w)), rtol=1e-13, atol=1e-13)
    pulled = J.pullback(w.reshape(np.shape(y)))
    np.testing.assert_allclose(pulled, (J.H @ w).reshape(3, 3), rtol=1e-13, atol=1e-14)
    assert linad.jvp(f, (Z,), (1j * DZ,))[1] == pytest.approx(1j * J.pushforward(DZ), rel=1e-12)


NOT_HOLOMORPHIC = {
    "real": np.real,
    "imag": np.imag,
    "conj": np.conj,
    "abs": np.abs,
    "angle": np.angle,
    "angle-degrees": lambda z: np.angle(z, deg=True),
    "sign": np.sign,
    "conj-method": lambda z: z.conj() * z,
    "parts": lambda z: z.real**2 + 1j * z.imag,
    "norm": np.linalg.norm,
    "vdot": lambda z: np.vdot(z, z[::-1]),
    "hfft": np.fft.hfft,
    "correlate": lambda z: np.correlate(z[0], z[1]),
    "eigvalsh": lambda z: np.linalg.eigvalsh(z + z.conj().T),
    "svdvals": np.linalg.svdvals,
    "cholesky": lambda z: np.linalg.cholesky(z @ z.conj().T + np.eye(3)),
    "slogdet": lambda z: np.linalg.slogdet(z)[1],
    "var": np.var,
    "cov": np.cov,
    "real-writes": lambda z: with_real_part(z),
}


def with_real_part(z):
    y = 1 * z
    y.real = z.imag**2
    return y


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", NOT_HOLOMORPHIC)
def test_what_is_linear_over_the_reals_only_has_no_matrix(name, compiled, kernels):
    f = linad.jit(NOT_HOLOMORPHIC[name]) if compiled else NOT_HOLOMORPHIC[name]
    y, J = linad.linearize(f, Z)
    for call in (
        lambda: J @ DZ.ravel(),
        lambda: J.T @ W[: np.size(y)],
        J.todense,
        lambda: linad.jacobian(f)(Z),
    ):
        with pytest.raises(NotHolomorphicError, match="linear over the reals only"):
            call()
    if np.iscomplexobj(y):
        with pytest.raises(NotHolomorphicError, match="linear over the reals only"):
            J.H @ W[: np.size(y)]
    else:  # from real to complex numbers: of that there is a matrix, the gradients
        w = W[: np.size(y)].real
        found = (J.H @ w).reshape(3, 3)
        np.testing.assert_allclose(found, J.pullback(w.reshape(np.shape(y))), rtol=1e-13)


@pytest.mark.parametrize("name", NOT_HOLOMORPHIC)
def test_pushforward_and_pullback_of_what_is_not_holomorphic(name):
    """In the parts x and y of z = x + iy it is a real function; this is its derivative."""
    f = NOT_HOLOMORPHIC[name]

    def in_parts(x, y):
        u = f(x + 1j * y)
        return np.stack([np.real(u), np.imag(u)])

    u, J = linad.linearize(f, Z)
    moved = (f(Z + STEP * DZ) - f(Z - STEP * DZ)) / (2 * STEP)
    np.testing.assert_allclose(J.pushforward(DZ), moved, rtol=1e-6, atol=1e-7)
    _, K = linad.linearize(in_parts, Z.real, Z.imag)
    w = W[: np.size(u)].reshape(np.shape(u))
    w = w if np.iscomplexobj(u) else w.real
    by_parts = K.pullback(np.stack([w.real, w.imag]))
    np.testing.assert_allclose(
        J.pullback(w), by_parts[0] + 1j * by_parts[1], rtol=1e-10, atol=1e-12
    )


def test_gradients_are_the_direction_of_steepest_ascent():
    for f, gradient in (
        (lambda z: np.sum(np.abs(z) ** 2), 2 * Z),
        (lambda z: np.sum(z.real), np.ones((3, 3))),
        (lambda z: np.sum(z.imag), 1j * np.ones((3, 3))),
        (lambda z: np.sum((z**2).real), 2 * Z.conj()),
        (lambda z: np.sum(np.angle(z)), 1j * Z / np.abs(Z) ** 2),
    ):
        np.testing.assert_allclose(linad.grad(f)(Z), gradient, rtol=1e-13)


# Real in, complex between, real out.

THROUGH = {
    "spectrum": lambda x: np.abs(np.fft.fft(x)) ** 2,
    "rfft": lambda x: np.fft.irfft(np.exp(np.fft.rfft(x, 4)), 4),
    "phase": lambda x: np.angle(np.exp(1j * x) * (1 + x)),
    "eigenvalues": lambda x: np.abs(np.linalg.eigvals(x)),
    "solve": lambda x: np.linalg.solve(x + 1j * np.eye(3), x[0]).imag,
    "emath": lambda x: np.abs(np.emath.sqrt(x - 0.4)),
    "roots": lambda x: np.sum(np.abs(np.roots(x[0])) ** 2),
    "astype": lambda x: (x.astype(complex) ** 2).real,
    "written": lambda x: np.abs(into_complex(x)),
}


def into_complex(x):
    y = np.zeros_like(x, dtype=complex)
    y.real = x
    y.imag = x[::-1] ** 2
    y *= 1 - 2j
    return y


@pytest.mark.parametrize("name", THROUGH)
def test_complex_numbers_on_the_way(name):
    f = THROUGH[name]
    y, J = linad.linearize(f, MATRIX)
    assert J.dtype == J.in_dtype == y.dtype == np.float64
    expected = columns(f, MATRIX)
    allowed = {"rtol": 1e-6, "atol": 1e-7 * np.abs(expected).max()}
    np.testing.assert_allclose(J.todense(), expected, **allowed)
    w = W[: np.size(y)].real
    np.testing.assert_allclose(J.T @ w, expected.T @ w, **allowed)
    np.testing.assert_allclose(J.H @ w, J.T @ w, rtol=0, atol=0)


def test_a_real_function_with_complex_results_has_a_matrix():
    def f(x):
        return np.exp(1j * x[0]) * x[1]

    expected = columns(f, MATRIX)
    y, J = linad.linearize(f, MATRIX)
    np.testing.assert_allclose(J.todense(), expected, rtol=1e-7, atol=1e-8)
    w = W[:3]
    np.testing.assert_allclose(J.T @ w, expected.T @ w, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(J.H @ w, expected.conj().T @ w, rtol=1e-7, atol=1e-8)
    assert J.pullback(w).dtype == np.float64
    np.testing.assert_allclose(J.pullback(w).ravel(), (J.H @ w).real, rtol=1e-14)


@pytest.mark.parametrize("name", ["product", "inv", "eigvals", "fft", "in place", "expm"])
def test_second_derivatives_of_holomorphic_functions(name):
    f = HOLOMORPHIC[name]

    def slope(z):
        return linad.jvp(f, (z,), (DZ,))[1]

    _, J = linad.linearize(slope, Z)
    differences = (slope(Z + STEP * DZ) - slope(Z - STEP * DZ)) / (2 * STEP)
    np.testing.assert_allclose(J.pushforward(DZ), differences, rtol=1e-6, atol=1e-6)
    w = W[: differences.size].reshape(differences.shape)
    np.testing.assert_allclose(
        np.vdot(w, J.pushforward(DZ)), np.vdot(J.pullback(w), DZ), rtol=1e-11
    )


# Every function of the coverage table that takes complex numbers.

# Eigenvectors and singular vectors are known up to a factor: see the conventions.
UP_TO_A_FACTOR = {"numpy.linalg.eigh", "numpy.linalg.svd", "scipy.linalg.svd"}
UP_TO_A_FACTOR |= {"scipy.linalg.eig_banded", "scipy.linalg.orth", "scipy.linalg.schur"}
REFUSED = {"airye", "digamma", "psi", "scipy.special.logsumexp"}
SPLINES = (
    "bisplev make_smoothing_spline make_splrep spalde splantider splder splev splint splprep "
    "splrep sproot"
)
REFUSED |= {f"scipy.interpolate.{name}" for name in SPLINES.split()}
REFUSED |= {
    f"scipy.interpolate.{kind}Spline"
    for one in ("", "Interpolated", "LSQ", "Rect", "Smooth")
    for kind in (f"{one}Univariate", f"{one}Bivariate")
}
REFUSED |= {f"scipy.signal.savgol_{name}" for name in ("coeffs", "filter")}
REFUSED |= {"scipy.ndimage.variance"}
REFUSED |= {"scipy.ndimage.standard_deviation"}
REFUSED |= {f"scipy.special.spherical_{kind}n" for kind in "jiyk"} | {"scipy.special.zeta"}
REFUSED |= {
    f"scipy.special.{name}legendre_p{all}" for name in ("", "assoc_") for all in ("", "_all")
}
REAL = ("scipy.optimize.", "scipy.spatial.", "scipy.integrate.", "scipy.stats.")
"""Where complex numbers have no meaning; SciPy computes some formulas with them all the same."""
# Holomorphic, by operators that do not show it: parts are masked; pinv is, of full rank.
UNSEEN = {"numpy.nan_to_num", "numpy.linalg.pinv", "scipy.linalg.pinv", "scipy.linalg.null_space"}
# Of eigenvectors, whose lengths are none of what they give; of what is triangular already.
UNSEEN |= {"scipy.linalg.funm", "scipy.linalg.rsf2csf"}
# Of the errors of rules, whose sizes say where to end.
UNSEEN |= {"scipy.integrate.tanhsinh"}
# Of a fit the residuals are computed too, and are not used.
UNSEEN |= {f"numpy.polynomial.{module}fit" for module in ("polynomial.poly", "chebyshev.cheb")}
UNSEEN |= {f"numpy.polynomial.{module}fit" for module in ("legendre.leg", "laguerre.lag")}
UNSEEN |= {f"numpy.polynomial.{module}fit" for module in ("hermite.herm", "hermite_e.herme")}


@pytest.fixture(scope="module")
def entries():
    return coverage.entries()


def outcomes(section, dtype):
    """The calls of a section that take complex numbers and have a derivative there."""
    for entry in section:
        for call in entry.calls:
            point = Z.astype(dtype)
            try:
                plain = coverage.plain_call(call, entry.function, point)
            except Exception:  # whatever SciPy raises of numbers that it does not take
                continue
            try:
                outcome = coverage.traced_call(call, entry.function, point)
            except LinadError:
                row = coverage.classify(entry.name, call, entry.function)
                known = entry.name in REFUSED or entry.name.startswith(REAL)
                assert row.kind == coverage.RAISES or known, entry.name
                continue
            if outcome.traced:
                yield entry, call, plain, outcome


def size(arrays):
    return float(sum(np.sum(np.abs(x)) for x in arrays))


def inner(a, b):
    return sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(a, b, strict=True))


def problem(entry, call, plain, outcome):
    """What is wrong at the complex point; None if nothing is."""
    values, traced, J = outcome
    expected = [np.asarray(plain[k]) for k in traced]
    with quiet():
        dy, turned = J.pushforward(DZ), J.pushforward(1j * DZ)
        w = [
            np.resize(W, t.shape).astype(t.dtype)
            if t.dtype.kind == "c"
            else np.resize(W.real, t.shape)
            for t in dy
        ]
        zbar = J.pullback(w)
        ahead = coverage.plain_call(call, entry.function, Z + STEP * DZ)
        behind = coverage.plain_call(call, entry.function, Z - STEP * DZ)
    if [t.dtype for t in dy] != [e.dtype for e in expected] or zbar.dtype != Z.dtype:
        return f"dtypes {[t.dtype for t in dy]}, {zbar.dtype}"
    slopes = [(ahead[k] - behind[k]) / (2 * STEP) for k in traced]
    error = size([t - s for t, s in zip(dy, slopes, strict=True)])
    if entry.name not in UP_TO_A_FACTOR and not error <= 1e-6 * (size(dy) + size(slopes)):
        return f"tangents off by {error}"
    scale = size(w) * size(dy) + size([zbar]) * size([DZ])
    if not abs(inner(w, dy) - inner([zbar], [DZ])) <= 1e-14 * scale:
        return f"<w, J v> = {inner(w, dy)}, <J.H w, v> = {inner([zbar], [DZ])}"
    holomorphic = size([b - 1j * a for a, b in zip(dy, turned, strict=True)]) <= 1e-12 * size(dy)
    if holomorphic != J.clinear and entry.name not in UNSEEN:
        return f"holomorphic: {holomorphic}, the operator says {J.clinear}"
    return None


SECTIONS = ["numpy", "numpy.linalg", "numpy.fft", "Ufuncs of NumPy", "Methods of ufuncs"]
SECTIONS += ["numpy.ndarray", "Ufuncs of scipy.special", "linad.scipy", "Other modules of NumPy"]
SECTIONS += ["linad.numpy.polynomial"]


@pytest.mark.parametrize("section", SECTIONS)
def test_every_function_at_a_complex_point(section, entries):
    found = {e.name: problem(e, *rest) for e, *rest in outcomes(entries[section], complex)}
    assert {name: p for name, p in found.items() if p} == {}
    assert len(found) > 5


@pytest.mark.parametrize("section", SECTIONS)
def test_every_function_in_single_precision(section, entries):
    dz = DZ.astype(np.complex64)
    problems = {}
    for entry, _, plain, (values, traced, J) in outcomes(entries[section], np.complex64):
        with quiet():
            dy = J.pushforward(dz)
            zbar = J.pullback([np.ones_like(t) for t in dy])
        types = [np.asarray(plain[k]).dtype for k in traced]
        found = [values[k].dtype for k in traced]
        if section == "linad.scipy":  # SciPy computes some in double
            types = [min(f, t, key=lambda t: t.itemsize) for f, t in zip(found, types, strict=True)]
        if not found == types == [t.dtype for t in dy] or zbar.dtype != np.complex64:
            problems[entry.name] = found, types, [t.dtype for t in dy], zbar.dtype
    assert problems == {}
