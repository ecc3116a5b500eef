"""linad.scipy.interpolate: grids, tables, splines."""

import functools
import tracemalloc

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse.linalg

import linad
import linad.scipy.interpolate as li
from linad.errors import DegenerateError, DTypeError, LinadError, ShapeError, UnsupportedError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(9)
X = np.cumsum(rng.random(6) + 0.2)
Y = rng.standard_normal((6, 2))
Q = rng.uniform(X[0] - 0.5, X[-1] + 0.5, (3, 4))
INSIDE = np.array([0.3, 0.9, 1.4]) * (X[-1] - X[0]) / 1.5 + X[0]
G, H = np.cumsum(rng.random(4) + 0.2), -np.cumsum(rng.random(3) + 0.2)
V = rng.standard_normal((4, 3, 2))
XI = np.stack([rng.uniform(-0.5, 3, 9), rng.uniform(-2.5, 0.5, 9)], axis=-1)
IN = XI.mean(axis=0) + np.array([[0.1, 0.05], [-0.2, 0.1]])


def periodic(n):
    return lambda m, x, y, q: m.CubicSpline(x[:n], y[np.r_[0 : n - 1, 0]], bc_type="periodic")(q)


CASES = {
    "hermite": (lambda m, x, y, q: m.CubicHermiteSpline(x, y, 2 * y)(q), X, Y, Q),
    "hermite-axis": (
        lambda m, x, y, q: m.CubicHermiteSpline(x, y.T, y.T**2, axis=1)(q),
        *(X, Y, Q),
    ),
    "spline-end-values": (
        lambda m, x, y, q: m.CubicSpline(x, y, bc_type=((1, y[0]), (2, y[1])))(q),
        *(X, Y, Q),
    ),
    "spline-points": (lambda m, q: m.CubicSpline(X, Y)(q), Q),
    "spline-values": (lambda m, y: m.CubicSpline(X, y, bc_type="natural")(Q, 1), Y),
    "spline-periodic-points": (
        lambda m, q: m.CubicSpline(X, Y[[0, 1, 2, 3, 4, 0]], bc_type="periodic")(q),
        Q,
    ),
    "derivative": (lambda m, x, y, q: m.CubicSpline(x, y).derivative(2)(q), X, Y, Q),
    "derivative-high": (
        lambda m, x, y, q: y * m.CubicSpline(x, y).derivative(5)(q[0, :1]),
        X,
        Y,
        Q,
    ),
    "antiderivative": (lambda m, x, y, q: m.CubicSpline(x, y).antiderivative(2)(q), X, Y, Q),
    "integral": (lambda m, x, y, q: m.CubicSpline(x, y).integrate(q[0, 0], q[0, 1]), X, Y, Q),
    "plain-derivative": (lambda m, q: m.CubicSpline(X, Y).derivative()(q), Q),
    "ppoly": (lambda m, x, y, q: m.PPoly(y.reshape(4, 3), x[:4])(q), X, Y, Q),
    "ppoly-axis": (lambda m, x, y, q: m.PPoly(y.reshape(2, 3, 2), x[:3], axis=1)(q), X, Y, Q),
    "ppoly-points": (lambda m, q: m.PPoly(Y.reshape(4, 3), X[:4])(q, 1), Q),
    "pchip-points": (lambda m, q: m.PchipInterpolator(X, Y)(q), Q),
    "akima-points": (lambda m, q: m.Akima1DInterpolator(X, Y)(q), INSIDE),
    "makima": (
        lambda m, x, y, q: m.Akima1DInterpolator(x, y, method="makima", extrapolate=True)(q),
        *(X, Y, Q),
    ),
    "hermite-points": (lambda m, q: m.CubicHermiteSpline(X, Y, Y)(q), Q),
    "grid": (lambda m, v, q: m.RegularGridInterpolator((G, H), v, "linear", False, 1.5)(q), V, XI),
    "grid-nearest": (
        lambda m, v: m.RegularGridInterpolator((G, H), v, "nearest", False, None)(XI),
        V,
    ),
    "grid-points": (
        lambda m, q: m.RegularGridInterpolator((G, H), V, bounds_error=False, fill_value=None)(q),
        XI,
    ),
    "grid-ticks": (
        lambda m, g, v: m.interpn((g, H), v, XI, bounds_error=False, fill_value=None),
        *(G, V),
    ),
    "grid-tuple": (
        lambda m, v, q: m.RegularGridInterpolator((G, H), v, bounds_error=False, fill_value=0.0)(
            (q[:, 0], q[:1, 1])
        ),
        *(V, XI),
    ),
    "grid-one-axis": (
        lambda m, v, q: m.interpn((G,), v[:, 0], q[:, 0], bounds_error=False, fill_value=2.0),
        *(V, XI),
    ),
    "grid-single-tick": (
        lambda m, v, q: m.interpn((G, [1.0]), v[:, :1], q, bounds_error=False, fill_value=None),
        *(V, XI),
    ),
    "table-ticks": (
        lambda m, x, y, q: m.interp1d(x, y, axis=0, fill_value="extrapolate")(q),
        *(X, Y, Q),
    ),
    "table-unsorted": (
        lambda m, x, y: m.interp1d(x[::-1], y, axis=0)(INSIDE),
        *(X, Y),
    ),
}
T = np.array([0.0, 0, 0, 0, 1.1, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0])  # one knot is double
QT, CT, VS = np.array([0.4, 1.3, 2.6]), V.reshape(-1)[:7], V.reshape(-1)[:9]
CASES |= {
    "bspline-slope": (lambda m, c, q: m.BSpline(T, c, 3)(q, 1), CT, QT),
    "bspline": (lambda m, c, q: m.BSpline(T, c, 3)(q), CT, QT),
    "bspline-axis": (lambda m, c, q: m.BSpline(T, c, 3, axis=1)(q), V.reshape(3, 8)[:, :7], QT),
    "bspline-integral": (lambda m, c, q: m.BSpline(T, c, 3).integrate(q[0], q[1]), CT, QT),
    "make-natural": (lambda m, x, y, q: m.make_interp_spline(x, y, bc_type="natural")(q), X, Y, Q),
    "make-ends": (
        lambda m, y, q: m.make_interp_spline(X, y, bc_type=([(1, y[0])], [(2, y[1])]))(q),
        *(Y, Q),
    ),
    "make-points": (lambda m, q: m.make_interp_spline(X, Y)(q), Q),
    "tuples": (lambda m, x, y, q: m.splev(q, m.splrep(x, y[:, 0]), 1), X, Y, INSIDE),
    "tuples-integral": (lambda m, a: m.splint(a[0], a[1], (T, CT, 3)) * a, QT),
    "univariate": (lambda m, y, q: m.UnivariateSpline(X, y[:, 0], s=0)(q), Y, INSIDE),
    "univariate-even": (
        lambda m, x, y: m.InterpolatedUnivariateSpline(x, y[:, 1], k=2)(INSIDE),
        *(X, Y),
    ),
    "univariate-points": (lambda m, q: m.UnivariateSpline(X, Y[:, 0])(q), INSIDE),
    "table-cubic": (lambda m, x, y, q: m.interp1d(x, y, "cubic", axis=0)(q), X, Y, INSIDE),
    "table-quadratic": (lambda m, q: m.interp1d(X, Y, "quadratic", axis=0)(q), INSIDE),
    "scattered": (lambda m, p, v, q: m.LinearNDInterpolator(p, v)(q), XI, VS, IN),
    "scattered-points": (lambda m, q: m.LinearNDInterpolator(XI, VS)(q), IN),
    "scattered-nearest": (lambda m, v: m.griddata(XI, v, IN, "nearest"), VS),
    "radial-points": (lambda m, q: m.RBFInterpolator(XI, VS, smoothing=0.1)(q), IN),
}
NOISY = (
    np.cumsum(np.random.default_rng(4).random(15) + 0.1),
    np.random.default_rng(6).normal(size=15),
)
NOISY = NOISY[0], np.sin(NOISY[0]) + 0.3 * NOISY[1]
Y3 = np.concatenate([Y, Y[:, :1] ** 2], axis=1)
G6, H6 = np.cumsum(rng.random(6) + 0.3), -np.cumsum(rng.random(7) + 0.3)
V6 = rng.standard_normal((6, 7, 2))
IN6 = np.stack([rng.uniform(G6[0], G6[-1], 4), rng.uniform(H6[-1], H6[0], 4)], axis=-1)
W6 = np.array([1.0, 0.5, 2.0, 1.5, 0.7, 1.2])
direct = scipy.sparse.linalg.spsolve
EXACT = {"tol": 1e-14, "maxiter": 9999}
CASES |= {
    "clough-tocher": (
        lambda m, p, v, q: m.CloughTocher2DInterpolator(p, v, **EXACT)(q),
        *(XI, VS, IN),
    ),
    "clough-tocher-rescaled": (
        lambda m, p, v: m.CloughTocher2DInterpolator(p, v, 0.5, rescale=True, **EXACT)(IN),
        *(XI * [1.0, 7.0], np.stack([VS, VS**2], axis=1)),
    ),
    "clough-tocher-complex": (
        lambda m, v: m.CloughTocher2DInterpolator(XI, v, **EXACT)((IN[:, 0], IN[:, 1])),
        VS * (1 + 0.3j) + 0.2j,
    ),
    "clough-tocher-points": (
        lambda m, q: m.CloughTocher2DInterpolator(XI, VS, rescale=True)(q),
        IN,
    ),
    "krogh": (lambda m, x, y, q: m.KroghInterpolator(x, y)(q), X, Y, Q),
    "krogh-repeated": (
        lambda m, y, q: m.KroghInterpolator([0.1, 0.1, 0.1, 1.0, 2.0, 2.0], y)(q),
        *(Y, Q),
    ),
    "krogh-slopes": (lambda m, x, y, q: m.KroghInterpolator(x, y).derivatives(q, 3), X, Y, Q),
    "krogh-axis": (lambda m, q: m.KroghInterpolator(X, Y.T, axis=1).derivative(q, 2), Q),
    "krogh-function": (lambda m, y: m.krogh_interpolate(X, y, INSIDE, [0, 2]), Y),
    "barycentric": (lambda m, x, y, q: m.BarycentricInterpolator(x, y, rng=0)(q), X, Y, Q),
    "barycentric-nodes": (lambda m, y: m.BarycentricInterpolator(X, y, rng=0)(X), Y),
    "barycentric-axis": (lambda m, q: m.BarycentricInterpolator(X, Y.T, axis=1, rng=0)(q), Q),
    "barycentric-slope": (
        lambda m, x, y, q: m.BarycentricInterpolator(x, y, rng=0).derivative(q, 2),
        *(X, Y, INSIDE),
    ),
    "barycentric-function": (lambda m, y, q: m.barycentric_interpolate(X, y, q, rng=0), Y, Q),
    "pchip-function": (lambda m, y, q: m.pchip_interpolate(X, y, q, 1), Y, INSIDE),
    "surface": (
        lambda m, x, z, p, q: m.RectBivariateSpline(x, np.sort(H6), z)(p, q, 1, 0),
        *(G6, V6[..., 0], np.sort(IN6[:, 0]), np.sort(IN6[:, 1])),
    ),
    "surface-beyond": (
        lambda m, z: m.RectBivariateSpline(G6, np.sort(H6), z, kx=2, ky=1).ev([-9.0, 1.1], -2.0),
        V6[..., 0],
    ),
    "surface-points": (
        lambda m, q: m.RectBivariateSpline(G6, -H6, V6[..., 0]).ev(q[:, 0], -q[:, 1], 0, 1),
        IN6,
    ),
    "surface-integral": (
        lambda m, z, q: m.RectBivariateSpline(G6, -H6, z).integral(q[0], q[1], 1.1, 2.3) * q,
        *(V6[..., 0], G6[:2] + 0.2),
    ),
    "surface-integral-points": (
        lambda m, q: m.RectBivariateSpline(G6, -H6, V6[..., 0]).integral(q[0], *q, 2.3) * q,
        G6[:2] + 0.2,
    ),
    "surface-smooth": (
        lambda m, q: m.SmoothBivariateSpline(*SCATTERED, kx=1, ky=2).ev(q[:, 0], q[:, 1]),
        np.array([[0.4, 0.6], [0.8, 0.3]]),
    ),
    "surface-tuple": (
        lambda m, q: m.bisplev(q, 0.4, scipy.interpolate.bisplrep(*SCATTERED, kx=1, ky=2)),
        np.array([0.4, 0.6]),
    ),
    "grid-nu": (
        lambda m, v, q: m.RegularGridInterpolator((G6, H6), v, "cubic", solver=direct)(
            q, nu=[1, 2]
        ),
        *(V6, IN6),
    ),
    "grid-pchip-beyond": (
        lambda m, v: m.interpn((G6, H6), v, IN6 + 2.0, "pchip", False, 1.5),
        V6,
    ),
    "grid-fitpack": (lambda m, v: m.interpn((G6, -H6), v, -IN6 * [-1, 1], "splinef2d"), V6[..., 0]),
    "smoothing": (
        lambda m, x, y, w, a, q: m.make_smoothing_spline(x, y, w, a)(q),
        *(X, Y, W6, np.array(0.3), Q),
    ),
    "smoothing-validated-most": (  # lam is at the end of its range
        lambda m, y: m.make_smoothing_spline(NOISY[0], y)(np.array([1.0, 4.0])),
        0.1 * NOISY[0] + NOISY[1] - np.sin(NOISY[0]),
    ),
    "smoothing-axis": (
        lambda m, y: m.make_smoothing_spline(X, y, lam=0.1, axis=1)(INSIDE, 1),
        Y.T,
    ),
    "smoothing-points": (lambda m, q: m.make_smoothing_spline(X, Y, lam=0.1)(q), Q),
    "fitted": (
        lambda m, x, y, w, q: m.make_lsq_spline(x, y, np.r_[[X[0]] * 3, 1.3, [X[-1]] * 3], 2, w)(q),
        *(X[0] + 0.1 + 0.8 * (X - X[0]), Y, W6, INSIDE),
    ),
    "fitted-points": (
        lambda m, q: m.make_lsq_spline(X, Y, np.r_[[X[0]] * 3, 1.3, [X[-1]] * 3], 2)(q),
        INSIDE,
    ),
    "fitted-univariate": (
        lambda m, y, q: m.LSQUnivariateSpline(X, y[:, 0], [1.3], w=W6, k=2)(q),
        *(Y, INSIDE),
    ),
    "interpolated-made": (lambda m, x, y, q: m.make_splrep(x, y[:, 0], s=0)(q), X, Y, INSIDE),
    "fitted-tuple": (lambda m, y: m.splrep(X, y[:, 0], W6, k=2, t=[1.3])[1], Y),
    "tuples-slope": (lambda m, y, q: m.splev(q, m.splder(m.splrep(X, y[:, 0]))), Y, INSIDE),
    "tuples-area": (lambda m, y, q: m.splev(q, m.splantider(m.splrep(X, y[:, 0]))), Y, INSIDE),
    "tuples-all": (lambda m, y: m.spalde(INSIDE[0], m.splrep(X, y[:, 0])), Y),
    "scattered-near": (lambda m, v: m.NearestNDInterpolator(XI, v)(IN), VS),
}
B3 = np.array([0.0, 1.2, 2.0])
C3 = np.random.default_rng(6).random((4, 2, 3))
AT3 = np.array([-0.3, 0.5, 1.9, 2.2])
FLAT = np.random.default_rng(7).random(6)
INNER4, C54 = np.array([0.4, 1.0]), np.random.default_rng(8).random((6, 5, 2))


def knots(inner):
    return np.concatenate([np.zeros(4), inner, 2.0 + np.zeros(4)])


CASES |= {
    "bernstein": (lambda m, c, x, q: m.BPoly(c, x)(q), C3, B3, AT3),
    "bernstein-slope": (lambda m, c, q: m.BPoly(c, B3, "periodic")(q, 1), C3, AT3),
    "bernstein-within": (lambda m, c: m.BPoly(c, B3, False)(AT3), C3),
    "bernstein-twice": (lambda m, c, x: m.BPoly(c, x).derivative(2).c, C3, B3),
    "bernstein-area": (lambda m, c, x: m.BPoly(c, x).antiderivative(2).c, C3, B3),
    "bernstein-constant": (lambda m, c, x: m.BPoly(c[:1], x).derivative()(AT3), C3, B3),
    "bernstein-integral": (lambda m, c, q: m.BPoly(c, B3).integrate(q[0], q[1]), C3, AT3),
    "bernstein-axis": (lambda m, c: m.BPoly(np.moveaxis(c, 2, 0), B3, axis=1)(AT3), C3),
    "bernstein-points": (
        lambda m, q: m.BPoly(C3, B3)(q) + m.BPoly(C3, B3).integrate(0, q[0]),
        AT3,
    ),
    "bernstein-ends": (
        lambda m, x, y, q: m.BPoly.from_derivatives(x, y)(q),
        *(B3, C3[:3], AT3),
    ),
    "bernstein-some-ends": (
        lambda m, y: m.BPoly.from_derivatives(B3, [[y[0]], [y[1], y[2]], [y[3], y[4], y[5]]]).c,
        FLAT,
    ),
    "bernstein-orders": (
        lambda m, y: m.BPoly.from_derivatives(B3, y, orders=[2, 3]).c,
        C3[:3, 0],
    ),
    "bernstein-order": (lambda m, y: m.BPoly.from_derivatives(B3, y, orders=3)(AT3), C3[:3]),
    "grid-spline": (
        lambda m, a, c, q: m.NdBSpline((knots(a), knots(a)[1:-1]), c[..., 0], (3, 2))(q),
        *(INNER4, C54, np.abs(IN6 / 4)),
    ),
    "grid-spline-slopes": (
        lambda m, c, q: m.NdBSpline((knots(INNER4), knots(INNER4)[1:-1]), c, (3, 2))(q, nu=[1, 2]),
        *(C54, np.abs(IN6 / 4)),
    ),
    "grid-spline-beyond": (
        lambda m, c: m.NdBSpline(
            (knots(INNER4), knots(INNER4)[1:-1]), c, (3, 2), extrapolate=False
        )(np.array([[0.5, 0.5], [0.5, 3.0]]))[:1],
        C54,
    ),
    "grid-spline-points": (
        lambda m, q: m.NdBSpline((knots(INNER4), knots(INNER4)[1:-1]), C54, (3, 2))(q),
        np.abs(IN6 / 4),
    ),
}
WAVE = np.linspace(0, 6, 12), np.sin(np.linspace(0, 6, 12) * 1.7) + 0.1
CASES |= {
    "roots": (lambda m, x, y: m.UnivariateSpline(x, y, s=0).roots(), *WAVE),
    "roots-smoothed": (
        lambda m, y, w: m.UnivariateSpline(WAVE[0], y, w, s=0.3).roots(),
        *(WAVE[1], 1 + 0.1 * WAVE[1]),
    ),
    "roots-tuple": (lambda m, x, y: m.sproot(m.splrep(x, y)), *WAVE),
    "roots-made": (lambda m, y: m.sproot(m.make_interp_spline(WAVE[0], y)), WAVE[1]),
    "roots-pieces": (
        lambda m, x, y: m.PPoly.from_spline(m.splrep(x, y)).roots(extrapolate=False),
        *WAVE,
    ),
    "residual": (
        lambda m, x, y, w: m.UnivariateSpline(x, y, w, s=0.3).get_residual(),
        *(*WAVE, 1 + 0.1 * WAVE[1]),
    ),
    "residual-fitted": (
        lambda m, y: m.LSQUnivariateSpline(WAVE[0], y, [2.0, 4.0]).get_residual(),
        WAVE[1],
    ),
    "pieces-of-spline": (lambda m, x, y: m.PPoly.from_spline(m.splrep(x, y)).c, *WAVE),
    "pieces-of-made": (
        lambda m, y, q: m.PPoly.from_spline(m.make_interp_spline(WAVE[0], y, k=5))(q, 1),
        *(WAVE[1], np.array([0.3, 2.2])),
    ),
    "evaluated-made": (
        lambda m, y: m.splev(WAVE[0][:3] + 0.1, m.make_interp_spline(WAVE[0], y)),
        WAVE[1],
    ),
}
SCATTERED = rng.random((3, 40))
# Smoothing splines with inner knots, whose number p takes one step and more.
X12 = np.cumsum(np.random.default_rng(3).random(12) + 0.2)
Y12 = np.sin(1.7 * X12) + 0.1 * np.cos(17.0 * X12)
MID = np.linspace(X12[1], X12[-2], 5)
for s in (0.02, 0.1, 0.5, 2.0):
    CASES[f"smoothed-tuple-{s}"] = (
        lambda m, x, y, s=s: m.splev(MID, m.splrep(x, y, s=s)),
        *(X12, Y12),
    )
    CASES[f"smoothed-made-{s}"] = (
        lambda m, x, y, s=s: m.make_splrep(x, y, s=s, k=2)(MID, 1),
        *(X12, Y12),
    )
    CASES[f"smoothed-univariate-{s}"] = (
        lambda m, x, y, s=s: m.UnivariateSpline(x, y, s=s, k=2, bbox=[-1.0, None])(MID, 1),
        *(X12, Y12),
    )
    CASES[f"smoothed-weights-{s}"] = (
        lambda m, w, s: m.UnivariateSpline(X12, Y12, w, k=4, s=s)(MID),
        *(1 + 0.1 * Y12, np.array(s)),
    )
    CASES[f"smoothed-curve-{s}"] = (
        lambda m, x, y, s=s: np.stack(m.splev([0.3, 0.6], m.splprep([x, y], s=s)[0])),
        *(X12, Y12),
    )
CASES["smoothed-by-its-size"] = (lambda m, y: m.UnivariateSpline(X12, 5 * y).integral(1, 2), Y12)
CASES["curve"] = (
    lambda m, x, y: np.stack(m.splev([0.3, 0.6], m.splprep([x, y], s=0)[0])),
    *(X12, Y12),
)
CASES["curve-at"] = (lambda m, u, y: m.splprep([u, y], u=u, s=0.1)[0][1][1], X12, Y12)
for method in ("slinear", "cubic", "quintic", "pchip"):
    CASES[f"grid-{method}"] = (
        lambda m, g, v, q, method=method: m.RegularGridInterpolator(
            (g, H6), v, method, **({} if method == "pchip" else {"solver": direct})
        )(q),
        *(G6, V6, IN6),
    )
for k in (1, 2, 3, 5):
    CASES[f"make-{k}"] = (lambda m, x, y, q, k=k: m.make_interp_spline(x, y, k)(q), X, Y, Q)
RADIAL = (
    "linear thin_plate_spline cubic quintic gaussian multiquadric inverse_multiquadric "
    "inverse_quadratic"
)
for kernel in RADIAL.split():
    CASES[f"radial-{kernel}"] = (
        lambda m, p, v, q, kernel=kernel: m.RBFInterpolator(p, v, kernel=kernel, epsilon=1.1)(q),
        *(XI, VS, IN),
    )
for n in (2, 3, 4, 5, 6):
    for bc in ("not-a-knot", "natural", "clamped"):
        CASES[f"spline-{bc}-{n}"] = (
            lambda m, x, y, q, n=n, bc=bc: m.CubicSpline(x[:n], y[:n], bc_type=bc)(q),
            *(X, Y, Q),
        )
    CASES[f"pchip-{n}"] = (
        lambda m, x, y, q, n=n: m.PchipInterpolator(x[:n], y[:n].T, axis=1)(q),
        *(X, Y, Q),
    )
    CASES[f"akima-{n}"] = (
        lambda m, x, y, q, n=n: m.Akima1DInterpolator(x[:n], y[:n].T, axis=1, extrapolate=True)(q),
        *(X, Y, Q),
    )
    if n > 2:
        CASES[f"spline-periodic-{n}"] = (periodic(n), X, Y, Q)


def check_traced(f, *args):
    expected = f(scipy.interpolate, *args)
    np.testing.assert_array_equal(f(li, *args), expected)
    found = linad.linearize(lambda *a: f(li, *a), *args)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert found.dtype == np.asarray(expected).dtype


@pytest.mark.sweep(part=0.4)
@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", CASES)
def test_traces(name, order):
    f, *args = CASES[name]
    check_traced(f, *args)
    check_derivatives(lambda *a: f(li, *a), *args, order=order)


@pytest.mark.parametrize("i", range(3))
def test_smoothing_by_cross_validation(i):
    """SciPy searches for lam to five digits; the derivative is that of the lam that is sought. So
    differences of its values tell it to three or four."""
    args, h = [NOISY[0], NOISY[1], 1 + 0.1 * NOISY[1]], 3e-3
    at = np.array([1.0, 4.0, 6.5])

    def f(m, part):
        return m.make_smoothing_spline(*args[:i], part, *args[i + 1 :])(at)

    check_traced(f, args[i])
    J = linad.linearize(lambda part: f(li, part), args[i])[1]
    v, w = np.cos(3 * np.arange(15)), np.array([0.3, -0.7, 0.5])
    near = f(scipy.interpolate, args[i] + h * v) - f(scipy.interpolate, args[i] - h * v)
    near /= 2 * h
    np.testing.assert_allclose(J @ v, near, atol=5e-3 * np.abs(near).max())
    np.testing.assert_allclose(w @ (J @ v), (J.H @ w) @ v, rtol=1e-10)


@pytest.mark.parametrize("kernel", RADIAL.split())
def test_radial_functions(kernel):
    f, *args = CASES[f"radial-{kernel}"]
    check_traced(f, *args)


@pytest.mark.parametrize("kind", ["linear", "nearest", "nearest-up", "previous", "next", "slinear"])
@pytest.mark.parametrize("fill", ["extrapolate", np.nan, (1.0, 2.0), 3.0], ids=repr)
def test_tables(kind, fill):
    points = np.concatenate([Q.ravel(), X, (X[1:] + X[:-1]) / 2])
    for axis, y in ((0, Y), (1, Y.T)):

        def f(m, y, q, axis=axis):
            return m.interp1d(X, y, kind, axis=axis, bounds_error=False, fill_value=fill)(q)

        check_traced(f, y, points)
        with linad.config(disconnected="ignore"):  # steps have no slope in q
            check_traced(lambda m, q: f(m, y, q), points)  # noqa: B023
        if fill is not np.nan:
            gaps = kind in ("previous", "next") and fill == "extrapolate"  # NaN beyond an end
            check_derivatives(lambda y, q: f(li, y, q), y, INSIDE if gaps else Q)


def test_numbers_that_are_none():
    q = np.array([np.nan, INSIDE[0]])
    for f in (
        lambda q: li.interp1d(X, Y[:, 0])(q),
        lambda q: li.CubicSpline(X, Y[:, 0])(q),
        lambda q: li.interpn((X,), Y[:, 0], q[:, None], bounds_error=False),
    ):
        y, J = linad.linearize(f, q)
        assert np.isnan(y).tolist() == [True, False]
        tangent = J.pushforward(np.ones(2))
        assert tangent[0] == 0
        assert np.isfinite(tangent[1])


def test_no_extrapolation():
    def f(m, x, y):
        return m.CubicSpline(x, y, extrapolate=False)(np.append(INSIDE, X[-1] + 1))[:-1]

    check_traced(f, X, Y)
    check_derivatives(lambda x, y: f(li, x, y), X, Y)


def test_complex_data():
    z = Y + 1j * Y[::-1]
    check_traced(lambda m, y: m.CubicSpline(X, y)(Q), z)
    check_traced(lambda m, y: m.interp1d(X, y, axis=0, fill_value="extrapolate")(Q), z)
    check_traced(lambda m, v: m.interpn((G, H), v, XI, bounds_error=False, fill_value=None), V * 1j)
    check_derivatives(lambda y: li.CubicSpline(X, y)(Q), z)


def test_single_precision():
    """SciPy computes in double; a cotangent is of the input's type."""
    y, v = Y.astype(np.float32), V.astype(np.float32)
    for f, given in (
        (lambda y: li.CubicSpline(X, y)(Q), y),
        (lambda v: li.interpn((G, H), v, XI, bounds_error=False, fill_value=None), v),
    ):
        value, J = linad.linearize(f, given)
        assert J.pullback(value).dtype == np.float32


def test_plain_objects_are_scipys():
    s = li.CubicSpline(X, Y)
    assert isinstance(s, scipy.interpolate.CubicSpline)
    assert isinstance(li.interp1d(X, Y, axis=0), scipy.interpolate.interp1d)
    grid = li.RegularGridInterpolator((G, H), V)
    assert isinstance(grid, scipy.interpolate.RegularGridInterpolator)
    np.testing.assert_array_equal(s.c, scipy.interpolate.CubicSpline(X, Y).c)
    assert li.bisplrep is scipy.interpolate.bisplrep
    assert "CubicSpline" in dir(li)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_smoothing_splines_are_fitpacks(k):
    """Through all of the steps that its search takes, from few knots to one a point."""
    r = np.random.default_rng(k)
    x = np.sort(r.random(40)) * 3
    y, w = np.sin(3 * x) + 0.1 * r.standard_normal(40), 1 + r.random(40)
    for s in (0.05, 0.3, 1.0, 5.0, 50.0, 300.0):
        t, c, _ = scipy.interpolate.splrep(x, y, w, k=k, s=s)
        found = linad.linearize(lambda y, s=s: li.splrep(x, y, w, k=k, s=s)[1], y)[0]
        np.testing.assert_allclose(found, c, rtol=1e-8, atol=1e-8 * np.abs(c).max())
        c = scipy.interpolate.make_splrep(x, y, w=w, k=k, s=s).c
        found = linad.linearize(lambda y, s=s: li.make_splrep(x, y, w=w, k=k, s=s).c, y)[0]
        np.testing.assert_allclose(found, c, rtol=1e-7, atol=1e-7 * np.abs(c).max())


def test_a_smoothing_spline_has_another_path_for_other_knots(kernels):
    f = linad.jit(lambda y: li.UnivariateSpline(X12, y, s=0.1)(MID))
    for scale in (1.0, 1.001, 3.0, 0.3, 1.0):
        expected = scipy.interpolate.UnivariateSpline(X12, scale * Y12, s=0.1)(MID)
        np.testing.assert_allclose(f(scale * Y12), expected, rtol=1e-9)


KNOTS = np.linspace(-3.0, 3.0, 12)
HEIGHTS = np.sin(KNOTS)
SURFACE = np.outer(HEIGHTS, HEIGHTS) + 1
OF_MOVING_POINTS = {
    "linear": lambda x: li.interp1d(KNOTS, HEIGHTS, fill_value="extrapolate")(x),
    "nearest": lambda x: li.interp1d(KNOTS, HEIGHTS, kind="nearest")(x) * x,
    "previous": lambda x: li.interp1d(KNOTS, HEIGHTS, kind="previous")(x) * x,
    "cubic spline": lambda x: li.CubicSpline(KNOTS, HEIGHTS)(x),
    "slope of a spline": lambda x: li.CubicSpline(KNOTS, HEIGHTS)(x, 1),
    "monotone": lambda x: li.PchipInterpolator(KNOTS, HEIGHTS)(x),
    "akima": lambda x: li.Akima1DInterpolator(KNOTS, HEIGHTS)(x),
    "interpolating spline": lambda x: li.make_interp_spline(KNOTS, HEIGHTS)(x),
    "splev": lambda x: li.splev(x, scipy.interpolate.splrep(KNOTS, HEIGHTS)),
    "grid": lambda x: li.interpn((KNOTS, KNOTS), SURFACE, x.reshape(-1, 2)),
    "nearest on a grid": lambda x: (
        li.interpn((KNOTS, KNOTS), SURFACE, x.reshape(-1, 2), method="nearest") * x[:4]
    ),
    "cubic on a grid": lambda x: li.interpn((KNOTS, KNOTS), SURFACE, x.reshape(-1, 2), "cubic"),
    "monotone on a grid": lambda x: li.interpn((KNOTS, KNOTS), SURFACE, x.reshape(-1, 2), "pchip"),
    "surface": lambda x: li.RectBivariateSpline(KNOTS, KNOTS, SURFACE)(x[:4], x[4:], grid=False),
}


@pytest.mark.parametrize("name", OF_MOVING_POINTS)
def test_points_may_move_to_other_intervals_in_one_program(name, kernels):
    runs = []

    def loss(x):
        runs.append(x)
        return np.sum(OF_MOVING_POINTS[name](x) ** 2)

    compiled, plain = linad.jit(linad.value_and_grad(loss)), linad.value_and_grad(loss)
    for _ in range(5):
        x = rng.uniform(-2.8, 2.8, 8)
        for found, expected in zip(compiled(x), plain(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert len(runs) == 1 + 5


SCATTERED_FORMS = {
    "linear": lambda m, p, v, q: m.LinearNDInterpolator(p, v)(q),
    "linear-scaled": lambda m, p, v, q: m.LinearNDInterpolator(p, v, -1.0, rescale=True)(q),
    "nearest": lambda m, p, v, q: m.NearestNDInterpolator(p, v)(q),
    "data": lambda m, p, v, q: m.griddata(p, v, q) + m.griddata(p, v, q, "nearest", rescale=True),
}


@pytest.mark.parametrize("name", SCATTERED_FORMS)
@pytest.mark.filterwarnings("ignore::linad.errors.DisconnectedWarning")
def test_a_recorded_program_triangulates_at_each_run(name):
    """Of points that are traced, of values that are, and of places to find."""
    f, outside = SCATTERED_FORMS[name], np.vstack([IN, [[9.0, 9.0]]])
    args = XI, VS, outside
    for which in range(3):

        def of_one(a, which=which):
            return np.nan_to_num(f(li, *args[:which], a, *args[which + 1 :]), nan=-1.0)

        compiled, slopes = linad.jit(of_one), linad.jit(linad.jacobian(of_one))
        for step in (0.0, 0.1, 0.2):  # which changes who is near
            a = np.roll(args[which], 1, axis=0) + step
            moved = (*args[:which], a, *args[which + 1 :])
            expected = np.nan_to_num(f(scipy.interpolate, *moved), nan=-1.0)
            np.testing.assert_allclose(compiled(a), expected, rtol=1e-12)
            np.testing.assert_allclose(slopes(a), linad.jacobian(of_one)(a), rtol=1e-9, atol=1e-12)


def test_what_a_traced_spline_tells():
    def told(m, y):
        s = m.UnivariateSpline(X12, y, s=0.1)
        return np.concatenate([s.get_knots(), s.get_coeffs(), s.derivatives(MID[0])])

    found, J = linad.linearize(lambda y: told(li, y), Y12)
    np.testing.assert_allclose(found, told(scipy.interpolate, Y12), rtol=1e-9)
    check_derivatives(lambda y: told(li, y), Y12, order=1)


def test_a_spline_is_fitted():
    """Values at knots from data between them: a linear least-squares problem."""
    knots, t = np.linspace(0, 3, 6), np.linspace(0, 3, 40)
    J = linad.linearize(lambda y: li.CubicSpline(knots, y)(t), np.zeros(6))[1]
    y = np.linalg.lstsq(J.todense(), np.sin(t))[0]
    np.testing.assert_allclose(scipy.interpolate.CubicSpline(knots, y)(t), np.sin(t), atol=5e-3)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda y: li.CubicSpline(X[:5], y), ShapeError, "5 breakpoints"),
        (lambda y: li.CubicSpline(X[::-1], y), ValueError, "increasing"),
        (lambda y: li.CubicSpline(X + 1j, y), DTypeError, "x must be real"),
        (lambda y: li.CubicSpline(X[:1], y[:1]), ShapeError, "at least 2"),
        (lambda y: li.CubicSpline(X * np.nan, y), ValueError, "finite values"),
        (lambda y: li.CubicSpline(X, y / 0), ValueError, "must be finite"),
        (lambda y: li.CubicSpline(X, y, bc_type="periodic"), ValueError, "periodic"),
        (lambda y: li.CubicSpline(X, y, bc_type="loose"), ValueError, "'loose'"),
        (lambda y: li.CubicSpline(X, y, bc_type=("natural",)), ValueError, "each end"),
        (lambda y: li.CubicSpline(X, y, bc_type=((3, 0.0), "natural")), ValueError, "1 or 2"),
        (lambda y: li.CubicSpline(X, y)(Q, -1), ValueError, "non-negative"),
        (
            lambda y: li.CubicSpline(X, y).integrate(0, 1, extrapolate="periodic"),
            *(UnsupportedError, "one period"),
        ),
        (lambda y: li.PchipInterpolator(X, y + 1j), DTypeError, "y must be real"),
        (lambda y: li.Akima1DInterpolator(X, y, method="x"), ValueError, "method must be"),
        (lambda y: li.PPoly(y, X), ShapeError, "need 5 pieces"),
        (lambda y: li.PPoly(y[:, 0], X), ShapeError, "no coefficients"),
        (lambda y: li.interp1d(X, y, "zero", axis=0), UnsupportedError, "CubicSpline"),
        (lambda y: li.interp1d(X, y), ShapeError, "along axis 1"),
        (lambda y: li.interp1d(X, y, axis=0)(Q), ValueError, "the range"),
        (lambda y: li.interp1d(y, y, axis=0), ShapeError, "must be a row"),
        (
            lambda y: li.interp1d(X, y, axis=0, bounds_error=True, fill_value="extrapolate"),
            *(ValueError, "extrapolate and raise"),
        ),
        (lambda y: li.interpn((X,), y, Q, method="cubic_legacy"), UnsupportedError, "linear"),
        (lambda y: li.interpn((X[:3],), y[:3], X[:2], "cubic"), ValueError, "at least 4"),
        (lambda y: li.KroghInterpolator(X[:5], y), ShapeError, "nodes of shape"),
        (lambda y: li.KroghInterpolator(y[[0, 0, 1], 0], X[:3]), UnsupportedError, "repeated"),
        (lambda y: li.BarycentricInterpolator(X * 0, y), ValueError, "distinct"),
        (lambda y: li.BarycentricInterpolator(y[:, 0]), UnsupportedError, "without values"),
        (lambda y: li.make_smoothing_spline(X, y, lam=W6), UnsupportedError, "one number"),
        (lambda y: li.make_smoothing_spline(X, 0 * y[:, 0] + X**2), LinadError, "without noise"),
        (lambda y: li.make_smoothing_spline(X, y, -W6, 1.0), ValueError, "positive"),
        (lambda y: li.make_smoothing_spline(X, y, lam=-1.0), ValueError, "negative"),
        (lambda y: li.make_lsq_spline(X, y, X, 2), ValueError, "outside of the knots"),
        (
            lambda y: li.make_lsq_spline(X, y, np.r_[[X[0]] * 3, X[0] + 0.01 * W6, [X[-1]] * 3], 2),
            *(ValueError, "knots"),
        ),
        (lambda y: li.RectBivariateSpline(X, [0.0, 1.0], y, s=1.0), UnsupportedError, "s=1.0"),
        (lambda y: li.RectBivariateSpline(X, X, y), ShapeError, "z must have shape"),
        (lambda y: li.interpn((X,), y, Q[:, :1]), ValueError, "out of bounds"),
        (lambda y: li.interpn((X,), y, Q), ShapeError, "dimension 4"),
        (lambda y: li.interpn((X, X, X), y, Q), ShapeError, "3 point arrays"),
        (lambda y: li.interpn((X[:5],), y, Q), ShapeError, "axis 0 has 6"),
        (lambda y: li.interpn((X * 0,), y, Q), ValueError, "ascending"),
        (lambda y: li.RegularGridInterpolator((X,), y)(INSIDE, nu=[1]), ValueError, "nu"),
        (lambda y: li.RegularGridInterpolator((X,), y, solver=1), LinadError, "solver"),
        (lambda y: li.splrep(X, y[:, 0], s=0.1, per=1), LinadError, "per=1"),
        (lambda y: li.splrep(X, y, s=0.1), ShapeError, "one value for each"),
        (lambda y: li.splrep(-X, y[:, 0], s=0.1), ValueError, "x must not decrease"),
        (lambda y: li.splprep([X, y[:, 0]], task=-1, t=X), LinadError, "task=-1"),
        (lambda y: li.make_interp_spline(X, y, bc_type="periodic"), LinadError, "periodic"),
        (lambda y: li.RBFInterpolator(XI[:6], y, neighbors=3), LinadError, "neighbors"),
        (lambda y: li.griddata(X, y, X, "cubic"), LinadError, "cubic"),
        (lambda y: li.UnivariateSpline(X, y[:, 0], k=2, s=0).roots(), LinadError, "from_spline"),
        (lambda y: li.lagrange(X, y), ShapeError, "rows of one length"),
        (lambda y: li.BPoly(y, X), ShapeError, "6 breakpoints"),
        (lambda y: li.BPoly.from_derivatives(X, y[:, 0]), ShapeError, "rows of derivatives"),
        (lambda y: li.BPoly.from_derivatives(X, y, orders=7), ValueError, "too few for order 7"),
        (lambda y: li.NdBSpline((X, X), y, 1), ShapeError, "4 coefficients along axis 0"),
        (lambda y: li.CloughTocher2DInterpolator(Y3, y), ShapeError, "3 coordinates, not 2"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        linad.linearize(lambda y: [call(y), y][1], Y)


def test_an_array_of_one_entry_beyond_the_ends_of_a_table_of_numbers():
    x, y = np.arange(4.0), np.array([0.5, 1.0, 3.0, 2.0])

    def f(m, y):
        table = m.interp1d(x, y, "cubic", bounds_error=False, fill_value=([0.0], [7.0]))
        return table([-1.0, 0.5, 9.0]) + table(4.0)

    np.testing.assert_allclose(linad.linearize(lambda y: f(li, y), y)[0], f(scipy.interpolate, y))


OF_ONE_POINT = {
    "CubicSpline": lambda m, y, x: m.CubicSpline(TICKS, y)(x),
    "its slope": lambda m, y, x: m.CubicSpline(TICKS, y)(x, 1),
    "its integral": lambda m, y, x: m.CubicSpline(TICKS, y).integrate(0.0, x),
    "PchipInterpolator": lambda m, y, x: m.PchipInterpolator(TICKS, y)(x),
    "PPoly": lambda m, y, x: m.PPoly(y[:, None], [0.0, 4.0])(x),
    "BSpline": lambda m, y, x: m.make_interp_spline(TICKS, y)(x),
    "integral of a BSpline": lambda m, y, x: m.make_interp_spline(TICKS, y).integrate(0.0, x),
    "interp1d": lambda m, y, x: m.interp1d(TICKS, y)(x),
    "interp1d, nearest": lambda m, y, x: m.interp1d(TICKS, y, kind="nearest")(x),
    "BarycentricInterpolator": lambda m, y, x: m.BarycentricInterpolator(TICKS, y)(x),
    "KroghInterpolator": lambda m, y, x: m.KroghInterpolator(TICKS, y)(x),
    "slope of one": lambda m, y, x: m.KroghInterpolator(TICKS, y).derivative(x),
    "barycentric_interpolate": lambda m, y, x: m.barycentric_interpolate(TICKS, y, x),
    "pchip_interpolate": lambda m, y, x: m.pchip_interpolate(TICKS, y, x),
    "splev": lambda m, y, x: m.splev(x, m.splrep(TICKS, y)),
    "splint": lambda m, y, x: m.splint(0.0, x, m.splrep(TICKS, y)),
    "integral": lambda m, y, x: m.InterpolatedUnivariateSpline(TICKS, y).integral(0.0, x),
}
TICKS = np.arange(5.0)


@pytest.mark.parametrize("x", [1.5, np.array(1.5)], ids=repr)
@pytest.mark.parametrize("name", OF_ONE_POINT)
def test_the_value_at_one_point_is_an_array_where_scipys_is(name, x):
    f, y = OF_ONE_POINT[name], np.array([0.7, -1.3, 0.4, 2.1, -0.2])
    expected = isinstance(f(scipy.interpolate, y, x), np.ndarray)
    for run in (lambda y: f(li, y, x), linad.jit(lambda y: f(li, y, x))):
        found, _ = linad.linearize(run, y)
        assert isinstance(found, np.ndarray) is expected
    found, _ = linad.linearize(lambda y, x: f(li, y, x), y, x)
    assert isinstance(found, np.ndarray) is expected


@pytest.mark.parametrize(
    "made",
    [
        *[li.CubicSpline, li.PchipInterpolator, li.make_interp_spline, li.UnivariateSpline],
    ],
)
def test_what_plain_splines_give_takes_traced_numbers(made):
    grid = np.linspace(0.0, 3.0, 9)
    spline = made(grid, np.sin(grid))
    integral = "integral" if hasattr(spline, "integral") else "integrate"
    upper = linad.derivative(lambda b: getattr(spline, integral)(0.3, b))(1.2)
    assert upper == pytest.approx(float(spline(1.2)))
    slope = linad.derivative(spline.derivative())(1.2)
    assert slope == pytest.approx(float(spline(1.2, 2)))
    whole = linad.derivative(spline.antiderivative())(1.2)
    assert whole == pytest.approx(float(spline(1.2)))


PIECES = {
    "CubicSpline": lambda m, x, y: m.CubicSpline(x, y),
    "PchipInterpolator": lambda m, x, y: m.PchipInterpolator(x, y),
    "Akima1DInterpolator": lambda m, x, y: m.Akima1DInterpolator(x, y),
    "PPoly": lambda m, x, y: m.PPoly(np.stack([(y[1:] - y[:-1]) / (x[1:] - x[:-1]), y[:-1]]), x),
    "periodic": lambda m, x, y: m.CubicSpline(
        x, np.concatenate([y[:-1], y[:1]]), bc_type="periodic"
    ),
}


@pytest.mark.rest
@pytest.mark.parametrize("name", PIECES)
def test_where_a_piecewise_polynomial_has_a_value(name):
    x = np.array([0.0, 0.3, 0.5, 0.9, 1.4, 1.6, 2.0, 2.3])
    made, y = PIECES[name], np.cos(2 * x)

    def crossings(m, x, y, level):
        curve = made(m, x, y)
        return curve.solve(level, extrapolate=False), curve.roots(False, extrapolate=False)

    found = linad.linearize(lambda *a: crossings(li, *a), x, y, np.array(0.3))[0]
    for mine, theirs in zip(found, crossings(scipy.interpolate, x, y, 0.3), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-13)
        assert mine.size
    check_derivatives(lambda *a: crossings(li, *a), x, y, np.array(0.3))


def test_values_that_are_not_met_or_everywhere():
    x, y = np.arange(5.0), np.array([1.0, 2.0, 1.0, 3.0, 2.0])
    empty = []
    linad.grad(lambda y: empty.append(li.CubicSpline(x, y).solve(9.0, False, False)) or y[0])(y)
    assert empty[0].size == 0
    with pytest.raises(DegenerateError, match="everywhere"):
        linad.jacobian(lambda c: li.PPoly(c, x).roots())(np.zeros((2, 4)))
    with pytest.raises(UnsupportedError, match="several piecewise polynomials at once"):
        linad.jacobian(lambda c: li.PPoly(c, x).roots())(np.ones((2, 4, 2)))


@pytest.mark.parametrize(
    "ask, words",
    [
        (lambda x, y: li.UnivariateSpline(x, y, k=2).set_smoothing_factor(1), "Spline.set_smooth"),
        (lambda x, y: li.make_interp_spline(x, y).insert_knot(0.4), "BSpline.insert_knot is not"),
        (
            lambda x, y: li.RectBivariateSpline(x, x, np.outer(y, y)).get_residual(),
            "Spline.get_res",
        ),
    ],
    ids=["smoothing", "knots", "plane"],
)
def test_what_only_scipys_object_has_is_refused_by_name(ask, words):
    x = np.linspace(0.0, 1.0, 6)
    with pytest.raises(UnsupportedError, match=words):
        linad.jacobian(lambda y: ask(x, y))(np.sin(x))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        linad.jacobian(lambda y: li.CubicSpline(x, y).nonsense)(np.sin(x))


@pytest.mark.filterwarnings("ignore:`lagrange` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("ask", [lambda p: p(0.3), lambda p: p.coeffs], ids=["value", "all"])
def test_the_polynomial_of_lagrange(ask):
    x, y = X[:4], Y[:4, 0]
    found = linad.linearize(lambda x, y: ask(li.lagrange(x, y)), x, y)[0]
    np.testing.assert_allclose(found, ask(scipy.interpolate.lagrange(x, y)), rtol=1e-12)
    check_derivatives(lambda x, y: ask(li.lagrange(x, y)), x, y)


def test_gradients_of_interpolations_in_a_loop():
    """Each repetition solves with the factors of one plain matrix."""

    def f(v):
        return np.sum(li.CloughTocher2DInterpolator(XI, v)(IN))

    values = np.stack([VS, VS**2])
    found = linad.grad(lambda values: np.sum(linad.map(f, values)))(values)
    np.testing.assert_allclose(found, [linad.grad(f)(v) for v in values], rtol=1e-9, atol=1e-12)


def test_coefficients_that_are_written_into_count_at_traced_points():
    made = scipy.interpolate.KroghInterpolator(X, Y[:, 0])
    made.c *= 2.0
    own = li.KroghInterpolator(X, Y[:, 0])
    own.c *= 2.0
    np.testing.assert_allclose(linad.linearize(own, Q)[0], made(Q), rtol=1e-9)


MAKERS = {
    "coefficients": lambda m, y, axis: m.BSpline(np.arange(9.0), y, 3, axis=axis),
    "interpolating": lambda m, y, axis: m.make_interp_spline(np.arange(5.0), y, axis=axis),
    "least squares": lambda m, y, axis: m.make_lsq_spline(
        np.arange(5.0), y, np.array([0.0] * 4 + [4.0] * 4), axis=axis
    ),
    "smoothing": lambda m, y, axis: m.make_smoothing_spline(
        np.arange(5.0), y, lam=0.1, axis=axis
    ),
    **{
        name: lambda m, y, axis, name=name: getattr(m, name)(np.arange(5.0), y, axis=axis)
        for name in ("CubicSpline", "PchipInterpolator", "interp1d", "KroghInterpolator")
    },
}  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", MAKERS)
def test_plain_data_along_any_axis_at_traced_points(name, axis):
    y = np.random.default_rng(5).random((5, 5))
    made, theirs = (MAKERS[name](m, y, axis) for m in (li, scipy.interpolate))
    for x in (3.3, np.array([3.1, 3.9]), np.full((2, 1), 3.4)):
        np.testing.assert_allclose(linad.linearize(made, x)[0], theirs(x), rtol=1e-9)


def test_splines_beyond_knots_that_coincide():
    """SciPy's pieces without width are 0."""
    t, c = np.array([-1.0, -1, 0, 1, 1, 3, 4, 6, 6, 6, 7, 7]), np.arange(9.0)
    for k, x in ((2, np.array([-1.5, 1.0, 6.0, 6.5])), (3, np.array([0.5, 1.0, 5.0]))):
        expected = scipy.interpolate.BSpline(t, c, k)(x)
        found = linad.linearize(lambda c, k=k, x=x: li.BSpline(t, c, k)(x), c)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_straight_pieces_take_a_knot_for_the_beginning_of_one(dtype):
    x = np.arange(10, dtype=dtype)
    y = np.where(x > 7, np.nan, x).astype(dtype)
    at = np.array([0.0, 4.5, 6.0, 7.0, 9.0], dtype)
    for kind in ("slinear", "linear"):
        expected = scipy.interpolate.interp1d(x, y, kind=kind)(at)
        found = linad.linearize(lambda y, kind=kind: li.interp1d(x, y, kind=kind)(at), y)[0]
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("make", [li.make_interp_spline, li.make_lsq_spline])
def test_makers_of_splines_refuse_nan(make):
    x, spoiled = np.arange(6.0), np.array([0.0, 1.0, np.nan, 2.0, 3.0, 1.0])
    knots = (np.array([0.0] * 4 + [5.0] * 4),) if make is li.make_lsq_spline else ()
    for f in (lambda y: make(x, y, *knots)(2.5), linad.jit(lambda y: make(x, y, *knots)(2.5))):
        with pytest.raises(ValueError, match="infs or NaNs|infs or nans"):
            linad.linearize(f, spoiled)
    with pytest.raises(ValueError, match=r"pairs \(order, value\)"):
        linad.linearize(lambda y: li.make_interp_spline(x, y, bc_type=(1, 0.0))(2.5), x)


@pytest.mark.parametrize("ext", ["const", "zeros", "extrapolate"])
@pytest.mark.parametrize("name", ["UnivariateSpline", "InterpolatedUnivariateSpline"])
def test_values_beyond_the_ends_move_with_the_ends(name, ext):
    x, y = np.arange(5.0), np.array([0.0, 1.0, -1.0, 2.0, 0.5])
    at = np.array([-1.5, -0.2, 0.7, 3.6, 4.3, 6.0])
    check_derivatives(lambda x, y, at: getattr(li, name)(x, y, ext=ext)(at), x, y, at)
    t, c = np.array([0.0, 0, 0, 1, 2, 2, 2]), np.arange(1.0, 8.0) ** 2
    number = {"const": 3, "zeros": 1, "extrapolate": 0}[ext]
    check_derivatives(lambda t, c, at: li.splev(at, (t, c, 2), ext=number), t * 1.1, c, at)


def test_what_splev_takes_of_splines_and_beyond_the_ends():
    t, c = np.array([0.0, 0, 0, 1, 2, 2, 2]), np.arange(4.0)
    made = li.BSpline(t, c, 2, extrapolate=False)
    theirs = scipy.interpolate.BSpline(t, c, 2, extrapolate=False)
    for x in (2.5, 1.3):
        found = linad.linearize(lambda x: li.splev(x, made), x)[0]
        np.testing.assert_allclose(found, scipy.interpolate.splev(x, theirs))
    for call in (
        lambda x: li.splev(x, made, ext=1),
        lambda x: li.splev(x, li.BSpline(t, np.ones((4, 2)), 2)),
        lambda x: li.splev(x, (t, c, 2), ext=4),
        lambda x: li.splev(x, (t, c, 2), ext="const"),
        lambda x: li.UnivariateSpline(t[2:5], c[:3], k=1)(x, ext=-1),
    ):
        with pytest.raises(ValueError, match="ext"):
            linad.linearize(call, 0.5)


def test_what_splines_of_two_axes_refuse():
    x, z = np.arange(5.0), np.random.default_rng(2).random((5, 5))
    made = li.RectBivariateSpline(x, x, z)
    for call, words in (
        (lambda v: made(v, x, dx=3), "orders"),
        (lambda v: made(v, x, dy=-1), "orders"),
        (lambda v: made.ev(v, v, 0, 4), "orders"),
        (lambda v: li.RectBivariateSpline(x, x, z * v[0]).partial_derivative(4, 1), "orders"),
        (lambda v: made(v[::-1] + 9.0, x), "sorted"),
    ):
        with pytest.raises(ValueError, match=words):
            linad.linearize(call, x + 1.0)


THROUGH_NODES = {
    "rational": lambda x, y, at: li.FloaterHormannInterpolator(x, y, d=2)(at),
    "barycentric": lambda x, y, at: li.BarycentricInterpolator(x, y)(at),
    "Newton": lambda x, y, at: li.KroghInterpolator(x, y)(at),
    "spline": lambda x, y, at: li.make_interp_spline(x, y)(at),
    "radial": lambda x, y, at: li.RBFInterpolator(x[:, None], y)(at[:, None]),
}


@pytest.mark.parametrize("name", THROUGH_NODES)
def test_points_at_nodes_have_derivatives(name):
    x = np.array([0.0, 0.5, 1.1, 1.7, 2.3, 3.0])
    y, at = np.sin(x), np.array([0.5, 0.8, 1.7, 3.0])
    order = 1 if name == "radial" else 2  # of r^2 log r
    check_derivatives(THROUGH_NODES[name], x, y, at, order=order)


def test_rational_functions_are_scipys_at_all_points():
    x = np.array([0.0, 0.5, 1.1, 1.7])
    for y in (np.cos(x), np.cos(x) + 1j * x, np.stack([np.cos(x), x**2], axis=1)):
        for at in (0.5, np.array([[0.5, 0.7, -3.0], [np.nan, 1.7, 9.0]])):
            with np.errstate(invalid="ignore"):  # complex NaN
                expected = scipy.interpolate.FloaterHormannInterpolator(x, y)(at)
                f = functools.partial(li.FloaterHormannInterpolator, x)
                found = linad.linearize(lambda y, f=f, at=at: f(y)(at), y)[0]
            np.testing.assert_allclose(found, expected, rtol=1e-11, strict=True)
    x, at = np.arange(5.0), np.array([np.inf, 0.5])
    expected = scipy.interpolate.FloaterHormannInterpolator(x, x**2, d=0)(at)
    found = linad.linearize(lambda y: li.FloaterHormannInterpolator(x, y, d=0)(at), x**2)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


THROUGH_POINTS = {
    "cubic": lambda x, y: li.interp1d(x, y, "cubic"),
    "quadratic": lambda x, y: li.interp1d(x, y, "quadratic"),
    "natural": lambda x, y: li.make_interp_spline(x, y, bc_type="natural"),
    "second-derivatives": lambda x, y: li.CubicSpline(x, y),
    "akima": lambda x, y: li.Akima1DInterpolator(x, y),
    "univariate": lambda x, y: li.InterpolatedUnivariateSpline(x, y),
    "smoothing": lambda x, y: li.make_smoothing_spline(x, y, lam=0.1),
}


@pytest.mark.parametrize("name", THROUGH_POINTS)
def test_splines_through_many_points_need_no_square_of_them(name):
    """Of 8,000 points one would take 512 MB."""
    x = np.linspace(0.0, 9.0, 8000)
    tracemalloc.start()
    try:
        linad.grad(lambda y: THROUGH_POINTS[name](x, y)(4.5))(np.sin(x))
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kernel", ["thin_plate", "multiquadric", "linear", "cubic", "gaussian"])
def test_radial_functions_at_their_nodes(kernel):
    nodes = np.array([0.0, 1.0, 2.0, 3.5])
    values = np.sin(nodes)

    def f(m, t):
        return m.Rbf(nodes, values, function=kernel)(t)

    slope = linad.jvp(lambda t: f(linad.scipy.interpolate, t), (nodes,), (np.ones(4),))[1]
    theirs = [f(scipy.interpolate, nodes + h) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(slope, (theirs[0] - theirs[1]) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["linear", "nearest", "previous", "next"])
@pytest.mark.parametrize("fill", [(2.0, 3.0), np.nan, "extrapolate"], ids=str)
@pytest.mark.parametrize("y", [np.array([6.0]), np.ones((1, 2))], ids=["numbers", "rows"])
def test_a_table_of_one_point(kind, fill, y):
    q = np.array([1.0, 1.5, 2.0])

    def read(m, y, q):
        made = m.interp1d([1.5], y, kind, axis=0, bounds_error=False, fill_value=fill)
        return made(q)

    with np.errstate(invalid="ignore", divide="ignore"):  # of rows a line has no slope
        found, J = linad.linearize(lambda y, q: read(li, y, q), y, q)
        wanted = read(scipy.interpolate, y, q)
    np.testing.assert_array_equal(found, wanted)
    if wanted[1].size == 1 and wanted[1] == 6:
        assert J.pushforward((np.ones(1), np.zeros(3)))[1] == 1


def test_a_piecewise_line_needs_two_points():
    y = np.array([6.0])
    with pytest.raises(ValueError, match="'slinear' needs two points or more, got 1"):
        linad.linearize(lambda y: li.interp1d([1.5], y, "slinear")(1.5), y)
    with pytest.raises(ValueError):  # noqa: PT011 - words that change with the version
        scipy.interpolate.interp1d([1.5], y, "slinear")
