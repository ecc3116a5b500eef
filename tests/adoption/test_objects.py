"""SciPy objects that adopted code made before the trace, and compiled code it calls."""

import numpy as np
import pytest
import scipy
import scipy.interpolate

import linad
from linad.errors import LinadError, UnsupportedError

SOURCE = """
import types

import numpy as np
import scipy.interpolate as si
import scipy.sparse, scipy.sparse.linalg
import scipy.stats as ss
from numpy.lib.stride_tricks import as_strided
from scipy.fftpack import dct
from scipy.spatial.transform import Rotation

PPoly = si.PPoly
TURNS = Rotation.from_rotvec([[0.1, 0.2, 0.3], [0.4, 0.1, -0.2]])
X = np.linspace(0, 3, 9)
Y = np.sin(X)
XI = np.random.default_rng(0).random((12, 2)) * 3
Z = np.outer(Y, np.cos(X))
TABLE = si.interp1d(X, Y)


class extremes_gen(type(ss.genextreme)):
    def spread(self, *args):
        return self.ppf(0.9, *args) - self.ppf(0.5, *args)


extremes = extremes_gen(name="extremes")


def of_extremes(x):
    frozen = extremes(0.2 * x[0], x[1], x[2])
    return extremes.spread(0.2 * x[0], x[1], x[2]) * frozen.ppf([0.5, 0.9])


class own_gen(ss.rv_continuous):
    def _pdf(self, x, c):
        return c * (c + 1) * x ** (c - 1) * (1 - x)

    def _argcheck(self, c):
        return super()._argcheck(c)

    def pdf(self, x, *args):
        return 2.0 * super().pdf(x, *args)


class kept_gen(own_gen):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        parse = self._parse_args

        def counted(this, *args, **kwargs):
            this.calls = getattr(this, "calls", 0) + 1
            return parse(*args, **kwargs)

        self._parse_args = types.MethodType(counted, self)


kept = kept_gen(a=0.0, b=1.0, name="kept")


def of_kept(x):
    return kept.pdf(x[:2], 1.0 + x[1]) * kept.pdf(0.4, x[0])


OBJECTS = {
    "interp1d": TABLE,
    "interp1d-cubic": si.interp1d(X, Y, kind="cubic"),
    "UnivariateSpline": si.UnivariateSpline(X, Y, s=0),
    "CubicSpline": si.CubicSpline(X, Y),
    "BSpline": si.make_interp_spline(X, Y),
    "PchipInterpolator": si.PchipInterpolator(X, Y),
    "KroghInterpolator": si.KroghInterpolator(X[:5], Y[:5]),
}
PLANES = {
    "RegularGridInterpolator": si.RegularGridInterpolator((X, X), Z),
    "LinearNDInterpolator": si.LinearNDInterpolator(XI, XI[:, 0] * XI[:, 1]),
    "LinearNDInterpolator-rescaled": si.LinearNDInterpolator(XI, XI[:, 0] ** 2, rescale=True),
    "RBFInterpolator": si.RBFInterpolator(XI, XI[:, 0] * XI[:, 1], smoothing=0.1),
}
GRID = si.RectBivariateSpline(X, X, Z)
SYSTEM = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix([[2.0, 1.0], [0.5, 3.0]]))
OWN = own_gen(a=0.0, b=1.0, name="own", shapes="c")


class Curve(si.PPoly):  # a package's own, over SciPy's
    def steepest(self, x):
        return super().__call__(x, 1) ** 2


OWN_CURVE = Curve(si.CubicSpline(X, Y).c, X)


def own_curve(x):
    return OWN_CURVE(x) * OWN_CURVE.steepest(x)


def own_curve_through(y):
    return Curve.construct_fast(si.CubicSpline(X[:4], y).c, X[:4])(np.array([0.2, 0.9]), nu=1)


class Holder:
    def __init__(self, held):
        self.held, self.table = held, {"a": held}

    def call(self, x):
        return self.held(x)

    def from_a_table(self, x):
        return self.table["a"](x)

    def by_a_local_name(self, x):
        f = self.held
        return f(x)

    def slope(self, x):
        return self.held.derivative()(x)

    def density(self, x):
        return self.held.pdf(x)

    def cumulated(self, x):
        return self.held.cdf(x)


def by_a_global_name(x):
    return TABLE(x)


@np.vectorize
def bent(s, kind, power=None):
    return s**2 if kind is PPoly and s < 1.0 else np.float64(s) * 3.0


ROWS = np.vectorize(lambda row, s: row * s, signature="(n),()->(n)")


def entry_by_entry(x):
    return bent(x, PPoly) + ROWS(x, x[1])


def on_a_grid(x):
    return GRID.ev(x[0], x[1])


def system(x):
    return SYSTEM.solve(x)


def own(x):
    return OWN.pdf(x, 2.5)


def frozen():
    return Holder(ss.gamma(2.0, scale=1.3)), Holder(ss.gaussian_kde(Y)), Holder(OWN(2.5))


def frames(x):
    return as_strided(x, shape=(3, 2), strides=(x.strides[0] * 2, x.strides[0]), writeable=False)


def beyond(x):
    return as_strided(x, shape=(4, 3), strides=(x.strides[0] * 2, x.strides[0]))


def turned(x):
    return TURNS[:1].apply(x) + TURNS.inv().apply(x) + TURNS[1].apply(x, inverse=True)


def cosines(x):
    return dct(x, norm="ortho")
"""


def check(f, x):
    x, h = np.array(x), 1e-6
    expected = np.stack(
        [(np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h)
         for e in np.eye(x.size).reshape(x.size, *x.shape)], axis=-1,
    )  # fmt: skip
    y, J = linad.linearize(f, x)
    np.testing.assert_allclose(y, f(x), rtol=1e-10)
    found = (J @ np.eye(x.size)).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.fixture
def package(installed):
    made = installed(SOURCE)
    with linad.adopt(made.__name__):
        yield made


def test_splines(package):
    for held in package.OBJECTS.values():
        holder = package.Holder(held)
        for f in (holder.call, holder.from_a_table, holder.by_a_local_name):
            check(f, [0.3, 1.7])
    for name in ("UnivariateSpline", "CubicSpline", "BSpline"):
        check(package.Holder(package.OBJECTS[name]).slope, [0.3, 1.7])
    check(package.by_a_global_name, [0.3, 1.7])
    check(package.own_curve, [0.3, 1.7])
    if np.lib.NumpyVersion(scipy.__version__) < "1.18.0":  # later ones hand it to another class
        check(package.own_curve_through, [0.3, 1.7, 0.2, -0.4])
    else:
        with pytest.raises(LinadError):
            linad.linearize(package.own_curve_through, np.array([0.3, 1.7, 0.2, -0.4]))


def test_functions_that_numpy_has_vectorised(package):
    check(package.entry_by_entry, [0.3, 1.7, 0.4])
    assert type(package.bent(0.5, package.PPoly)) is np.ndarray
    assert package.bent(0.5, package.PPoly) == 0.25


def test_planes(package):
    for held in package.PLANES.values():
        check(package.Holder(held).call, [[1.3, 1.7]])
    check(package.on_a_grid, [0.3, 1.7])


def test_distributions(package):
    gamma, estimate, own = package.frozen()
    for holder in (gamma, estimate, own):
        check(holder.density, [0.4, 0.8])
    check(gamma.cumulated, [0.4, 0.8])
    check(package.own, [0.4, 0.8])
    check(package.of_extremes, [0.3, 0.5, 0.7])
    check(package.of_kept, [0.3, 0.5])  # which has a method of SciPy's under another name


def test_systems_frames_and_older_names(package):
    check(package.system, [0.3, 1.7])
    check(package.frames, [0.3, 1.7, 0.2, 0.5, 0.9, 1.1])
    check(package.cosines, [0.3, 1.7, 0.2])
    check(package.turned, [0.3, 1.7, 0.2])
    with pytest.raises(UnsupportedError, match="as_strided: .* not an entry of the traced array"):
        linad.linearize(package.beyond, np.arange(6.0))


def test_an_object_that_changes_is_the_new_one(package):
    holder = package.Holder(package.OBJECTS["CubicSpline"])
    before = linad.jacobian(holder.call)(np.array([0.3]))
    c = package.OBJECTS["CubicSpline"].c
    package.OBJECTS["CubicSpline"].c = 2 * c
    np.testing.assert_allclose(linad.jacobian(holder.call)(np.array([0.3])), 2 * before)


def test_without_adoption_the_error_names_the_package(installed):
    made = installed(SOURCE)
    with pytest.raises(linad.errors.TracerError, match=rf"linad.adopt\('{made.__name__}'\)"):
        linad.linearize(made.by_a_global_name, np.array([0.3]))


def test_compiled_code_is_named():
    from scipy.spatial import _hausdorff

    def f(x):
        return _hausdorff.directed_hausdorff(x, x)

    with pytest.raises(UnsupportedError, match=r"test_objects.py, line \d+, in f: a traced value"):
        linad.linearize(f, np.ones((2, 2)))


def test_what_numba_compiled_is_named():
    import numba

    @numba.njit
    def square(x):
        return x * x

    with pytest.raises(UnsupportedError, match=r"in <lambda>: .* linad.adopt runs the Python"):
        linad.linearize(lambda x: square(x), 2.0)


def test_constants_that_are_lent_are_not_written_into():
    def kept(x):
        coefficients = np.ones((2, 2))
        curve = scipy.interpolate.NdPPoly(coefficients, ([0.0, 1.0, 2.0],))
        coefficients[0, 0] = x[0]
        return curve([[0.5]])[0] * coefficients[0]

    def let_go(x):
        coefficients = np.ones((2, 2))
        value = scipy.interpolate.NdPPoly(coefficients, ([0.0, 1.0, 2.0],))([[0.0]])[0]
        coefficients[0, 0] = x[0]
        return value * coefficients[0]

    with linad.adopt(kept, let_go):
        np.testing.assert_allclose(linad.jacobian(let_go)(np.array([3.0])), [[1.0], [0.0]])
        with pytest.raises(UnsupportedError, match="hand over a copy"):
            linad.jacobian(kept)(np.array([3.0]))
