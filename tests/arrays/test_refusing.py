"""A traced value that would leave the trace: what asked, where in the user's file, what instead."""

import cmath
import ctypes
import inspect
import math
import pickle
import statistics
import time
from ctypes.util import find_library
from fractions import Fraction

import numba
import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg.blas
import scipy.linalg.lapack
import scipy.optimize
import scipy.sparse.linalg
import scipy.spatial.transform
import scipy.special
import scipy.stats
from scipy import sparse

import linad
from linad.errors import LeakedTracerError, LinadError, TracerError, UnsupportedError

X = np.array([0.5, 2.0])
PLAIN = np.arange(5.0)
INTEGERS = np.zeros(3, int)
rng = np.random.default_rng(0)
state = np.random.RandomState(0)
root = scipy.optimize.brentq
(potrf,) = scipy.linalg.get_lapack_funcs(("potrf",), (X,))
GRID = np.arange(5.0)
SPLINE = scipy.interpolate.CubicSpline(GRID, GRID**2)
PLANE = scipy.interpolate.RectBivariateSpline(GRID, GRID, np.outer(GRID, GRID))
SOLUTION = scipy.integrate.solve_ivp(lambda t, y: -y, (0, 5), [1.0], dense_output=True).sol


def scaled(x):
    return lambda t: t * x[0]


REFUSALS = [
    (lambda x: scipy.optimize.brentq(lambda t: t - x[0], 0, 1), "^scipy.optimize.brentq", "root"),
    (lambda x: root(lambda t: t - x[0], 0, 1), r"^scipy.optimize.brentq\(\)", "linad.solve.root"),
    (lambda x: scipy.integrate.quad(scaled(x), 0, 1), "^scipy.integrate.quad", "fixed_quad"),
    (lambda x: np.vectorize(scaled(x))(PLAIN), "^numpy.vectorize", "import linad.numpy as np"),
    (lambda x: np.vectorize(math.sin)(x), "^numpy.vectorize", "import linad.numpy as np"),
    (lambda x: np.r_[x, 1.0], r"^numpy.r_\[...\] would", r"np.concatenate.* linad.numpy.r_"),
    (lambda x: np.c_[x, x], r"^numpy.c_\[...\] would", r"np.column_stack.* linad.numpy.c_"),
    (lambda x: rng.normal(0, x[0]), "^numpy.random.Generator.normal", r"rng.standard_normal\(n\)"),
    (lambda x: np.random.default_rng(1).normal(x), r"^normal\(\)", r"rng.standard_normal\(n\)"),
    (lambda x: state.uniform(0, x), "RandomState.uniform", r"rng.standard_normal\(n\)"),
    (lambda x: PLAIN[x[0]], "^an index .*as an integer", r"x.astype\(int\)"),
    (lambda x: PLAIN[: x[1]], "as an integer", r"x.astype\(int\)"),
    (lambda x: [1.0, 2.0][x[0]], "as an integer", r"x.astype\(int\)"),
    (lambda x: ctypes.c_double(x[0]), "^ctypes.c_double", "@linad.primitive"),
    (lambda x: int(1.5 * x[0]), r"^int\(\)", r"use int\(x.astype\(int\)\)"),
    (lambda x: list(range(x[1])), r"^range\(\) .*as an integer", r"x.astype\(int\)"),
    (lambda x: np.linspace(0, 1, x[1]), "^numpy.linspace.*as an integer", r"x.astype\(int\)"),
    (lambda x: time.sleep(x[0]), r"^time.sleep\(\)", "constant"),
    (lambda x: x[0].as_integer_ratio(), r"^as_integer_ratio\(\)", "stop_gradient"),
    (lambda x: float(x[0]), r"^float\(\)", "leave float"),
    (lambda x: math.atan2(x[0], x[1]), r"^math.atan2\(\)", "use np.arctan2"),
    (lambda x: math.gamma(x[0]), r"^math.gamma\(\)", "use scipy.special.gamma"),
    (lambda x: "%f" % x[0], "^formatting by %", "f-string"),  # noqa: UP031 - what is refused
    (lambda x: PLAIN.__setitem__(0, x[0]), "^writing it into a plain", "np.zeros_like"),
    (
        lambda x: INTEGERS.__setitem__(0, x[0]),
        "^writing it into an array of integers",
        "make it one of floats",
    ),
    (lambda x: scipy.interpolate.CubicSpline([0, 1, 2], [0, 1, 4])(x), "CubicSpline", "which trac"),
    *[
        (
            lambda x, made=made: made(x),
            rf"^made\(\), of SciPy's {name}, would",
            f"{remedy}.*or linad.adopt" if remedy else "has no traced form of it",
        )
        for name, made, remedy in [
            ("CubicSpline", SPLINE, "by linad.scipy.interpolate.CubicSpline of the same data"),
            ("interp1d", scipy.interpolate.interp1d(GRID, GRID**2), "interpolate.interp1d of the"),
            ("BSpline", scipy.interpolate.make_interp_spline(GRID, GRID**2), "what has made it, "),
            ("NdPPoly", scipy.interpolate.NdPPoly(np.ones((2, 1)), [[0, 3]]), ""),
        ]
    ],
    (lambda x: SPLINE.integrate(0, x[0]), "of SciPy's CubicSpline", "CubicSpline of the same data"),
    (lambda x: PLANE.ev(x[0], x[1]), "of SciPy's RectBivariateSpline", "RectBivariateSpline of"),
    (lambda x: SOLUTION(x), "of SciPy's OdeSolution", r"CubicSpline\(s.t, s.y, axis=1\)"),
    (lambda x: scipy.stats.norm.cdf(x[0]), "^scipy.stats.norm.cdf", "use linad.scipy.stats.norm,"),
    (
        lambda x: scipy.stats.multivariate_normal.pdf(np.ones(2), x[:2]),
        "^scipy.stats.multivariate_normal.pdf",
        "use linad.scipy.stats.multivariate_normal,",
    ),
    (
        lambda x: scipy.stats.multivariate_normal(x[:2]),
        "^scipy.stats.multivariate_normal",
        "use linad.scipy.stats.multivariate_normal,",
    ),
    (
        lambda x: scipy.stats.dirichlet.logpdf([0.2, 0.8], x[:2]),
        "^scipy.stats.dirichlet.logpdf",
        "use linad.scipy.stats.dirichlet,",
    ),
    (
        lambda x: scipy.stats.norm(0, 1).pdf(x[0]),
        "^scipy.stats.rv_cont",
        "use linad.scipy.stats.norm,",
    ),
    (
        lambda x: scipy.stats.levy_stable.pdf(x[0], 1, 0),
        "^scipy.stats",
        "no traced form of levy_stable",
    ),
    (
        lambda x: scipy.spatial.transform.Rotation.from_rotvec(x).as_matrix(),
        "^scipy.spatial.transform.Rotation.from_rotvec",
        "use linad.scipy.spatial.transform.Rotation, which traces; or linad.adopt",
    ),
    (lambda x: PLAIN.__iadd__(x[0]), "^add: out=", r"or linad.adopt\(__name__\) lets"),
    (lambda x: np.stack([[x[0], x[1]], [x[1], 0.0]]), "^numpy.stack", r"traces, or np.block\(\["),
    (lambda x: np.sum([[x[0], x[1]], [x[1], 0.0]]), "^numpy.sum", r"np.stack.*, np.block\(\["),
    (lambda x: list(np.ndenumerate(x)), "^numpy.ndenumerate", "use np.ndindex: for i in"),
    (lambda x: scipy.special.erf([x[0], x[1]]), "^scipy.special.erf", "use np.stack.* no lists"),
    (lambda x: scipy.linalg.blas.ddot(x, x), "^scipy.linalg.blas.ddot", "use linad.scipy.linalg"),
    (lambda x: potrf(np.diag(x)), "^scipy.linalg.lapack.dpotrf", "or linad.adopt"),
    (lambda x: scipy.linalg.lapack.dtrsyl(*[np.diag(x)] * 3), "lapack.dtrsyl", "no traced form"),
    (
        lambda x: scipy.stats.gaussian_kde(GRID)(x),
        "^scipy.stats.gaussian_kde",
        "use linad.scipy.stats.gaussian_kde, which traces",
    ),
    (lambda x: sparse.csr_array(np.eye(2)) * x, "as this SciPy function", r"is x \* A"),
    (
        lambda x: sparse.csr_array(np.eye(2)).multiply(x),
        r"scipy.sparse.csr_array.multiply\(\)",
        r"write x \* A",
    ),
    (
        lambda x: scipy.spatial.KDTree(np.eye(2)).query(x),
        r"scipy.spatial.KDTree.query\(\)",
        "use linad.scipy.spatial.KDTree, which traces",
    ),
    (
        lambda x: [scipy.interpolate.CubicSpline][0](np.arange(2), x),
        r"scipy.interpolate.CubicSpline\(\)",
        "use linad.scipy.interpolate.CubicSpline, which traces",
    ),
    (
        lambda x: {"test": scipy.stats.skewtest}["test"](x),
        r"scipy.stats.skewtest\(\)",
        "use linad.scipy.stats.skewtest, which traces",
    ),
    (
        lambda x: list(map(scipy.stats.zscore, [x])),
        r"scipy.stats.zscore\(\)",
        "use linad.scipy.stats.zscore, which traces",
    ),
    (lambda x: scipy.spatial.distance.pdist(x[None]), "^scipy", r"or linad.adopt\(__name__\) lets"),
    (lambda x: pickle.dumps(x), "^pickling", "return the value"),
]


def at_line_of(f):
    return rf"\(at {__file__}:{inspect.getsourcelines(f)[1]}\)$"


@pytest.mark.parametrize("f, asked, instead", REFUSALS, ids=range(len(REFUSALS)))
def test_what_asked_and_where(f, asked, instead):
    for transform in (linad.linearize, lambda f, x: linad.jit(f)(x)):
        with pytest.raises(TracerError, match=f"{asked}(.|\n)*{instead}") as caught:
            transform(f, X)
    with pytest.raises(TracerError, match=at_line_of(f)):
        linad.linearize(f, X)
    # The place is that of the call, also where the message is read elsewhere.
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_function_of_c():
    fabs = ctypes.CDLL(find_library("m")).fabs
    fabs.argtypes, fabs.restype = [ctypes.c_double], ctypes.c_double
    with pytest.raises(ctypes.ArgumentError, match="UselessValueError: .*ctypes.*@linad.primitive"):
        linad.linearize(lambda x: fabs(x[0]), X)


@pytest.mark.parametrize(
    "f, words",
    [
        (lambda x: math.exp(x), r"math.exp\(\) got an array \(shape \(3,\), float64\).*use np.exp"),
        (lambda x: math.pow(x, 2), r"math.pow\(\) got an array.*use np.power"),
        (lambda x: float(x), r"float\(\) got an array.*leave float\(\) out"),
    ],
)
def test_functions_of_one_number_that_get_an_array(f, words):
    line = rf"\(at .*test_refusing.py:{f.__code__.co_firstlineno}\)$"
    with pytest.raises(TypeError, match=words + ".*" + line):
        linad.jacobian(f)(np.ones(3))


def test_under_jit_static_arguments_are_named():
    with pytest.raises(TracerError, match=r"linad.jit\(f, static_argnums=0\)"):
        linad.jit(lambda s: np.float64(math.log(s)))(2.0)
    assert linad.jit(lambda s: np.float64(math.log(s)), static_argnums=0)(1.0) == 0.0
    words = "all arguments are traced, data among them: what makes plain arrays of data"
    with pytest.raises(TracerError, match=words) as refused:
        linad.jit(lambda t: 2.0 * np.asarray(t))(X)
    assert "static_argnums" not in str(refused.value)


def test_the_remedies_run():
    def f(x):
        n = int(x[1].astype(int))
        return PLAIN[x.astype(int)].sum() * x[0] + sum([x[0] for _ in range(n)])

    for form in (f, linad.jit(f), linad.jit(f)):
        np.testing.assert_array_equal(linad.grad(form)(X), [4.0, 0.0])


def test_whether_a_number_is_an_integer():
    def f(x):
        return 3 * x[0] if x[0].is_integer() else x[0] ** 2

    compiled = linad.jit(linad.grad(f))
    for x, slope in [(1.5, 3.0), (2.0, 3.0), (2.5, 5.0), (np.inf, np.inf), (4.0, 3.0)]:
        x = np.array([x])
        np.testing.assert_array_equal(linad.grad(f)(x), [slope])
        np.testing.assert_array_equal(compiled(x), [slope])
    with pytest.raises(AttributeError, match="is_integer"):
        linad.linearize(lambda x: x.is_integer(), X)


@pytest.mark.parametrize("call", [linad.grad, lambda f: linad.grad(lambda x: f(x))])
def test_functions_that_numba_compiled(call):
    """What one meets first who comes with `numba.njit`; the remedy runs as printed."""

    @numba.njit
    def squares(x):
        return np.sum(x * x)

    with pytest.raises(UnsupportedError, match=r"handed to squares, .* linad.kernel\(squares\)"):
        call(squares)(X)
    np.testing.assert_allclose(call(linad.kernel(squares))(X), 2 * X)


def test_ufuncs_that_numba_compiled():
    product = numba.vectorize(lambda a, b: a * b)

    def f(x):
        return np.sum(product(x, x))

    with pytest.raises(UnsupportedError, match=r"linad.adopt\(__name__\), of the module .* Python"):
        linad.grad(f)(X)
    with linad.adopt(__name__), linad.adopt(f):
        np.testing.assert_allclose(linad.grad(f)(X), 2 * X)


def test_plain_values_to_begin_with():
    """A kernel, or a write, that goes on from plain values: the remedy keeps them."""

    @linad.kernel
    def scale(w, x):
        for i in range(len(x)):
            w[i] *= x[i]

    def scaled(x, values):
        scale(values, x)
        return values

    plain = np.arange(1.0, 1.0 + len(X))
    with pytest.raises(linad.errors.KernelError, match=r"np.array\(w, like=x\), a copy of its"):
        linad.jacobian(scaled)(X, plain)
    found = linad.jacobian(lambda x: scaled(x, np.array(plain, like=x)))(X)
    np.testing.assert_array_equal(found, np.diag(plain))


def test_other_refusals_name_the_line():
    def unsupported(x):
        return np.is_busday(x)

    with pytest.raises(UnsupportedError, match=rf"{__file__}:\d+\)$"):
        linad.linearize(unsupported, X)
    kept = []
    linad.linearize(lambda x: kept.append(x) or x, X)
    with pytest.raises(LeakedTracerError, match=rf"{__file__}:\d+\)$"):
        np.sin(kept[0])


@pytest.mark.parametrize(
    "f, name",
    [
        pytest.param(lambda s: scipy.special.zeta(s), "zeta", id="zeta of Riemann"),
        pytest.param(lambda s: scipy.special.zeta(s, 2.0), "zeta", id="zeta of Hurwitz"),
        (lambda s: scipy.special.zetac(s), "zetac"),
        (lambda s: scipy.special.perm(s, 2), "perm"),
        (lambda s: scipy.special.spherical_jn(0, s), "spherical_jn"),
    ],
)
def test_plain_functions_of_scipy_name_the_form(f, name):
    with pytest.raises(linad.errors.LinadError, match=f"use linad.scipy.special.{name}, .*adopt"):
        linad.jacobian(f)(np.array([1.5, 2.5]))


def test_an_error_of_scipys_own_names_the_traced_form():
    """SciPy may take a traced array for a list, and complain of what it finds in it."""
    with pytest.raises(ValueError, match="Different number") as caught:
        linad.grad(lambda x: sparse.diags_array(x).sum())(np.ones(3))
    (note,) = caught.value.__notes__
    assert "use linad.scipy.sparse.diags_array, which traces" in note
    aslinearoperator = scipy.sparse.linalg.aslinearoperator  # linad's takes constant matrices
    with pytest.raises(TypeError) as caught:
        linad.grad(lambda x: aslinearoperator(np.outer(x, x)).matvec(x).sum())(np.ones(3))
    if isinstance(caught.value, linad.errors.TracerError):  # SciPy 1.18 takes the matrix
        assert "MatrixLinearOperator.matvec() would take" in str(caught.value)
    else:
        assert "has its products as A @ x" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="Different number") as caught:  # of plain values
        linad.grad(lambda x: sparse.diags_array([X], offsets=[0, 1]).sum() * x)(1.0)
    assert not hasattr(caught.value, "__notes__")


def test_what_depends_on_no_argument_has_nothing_to_lose():
    def f(x):
        a = linad.numpy.zeros(3) + 1.5
        scaled = np.multiply(a, 2.0, out=np.zeros(3))  # plain, and stays plain
        return float(a[0]) * len(a.tobytes()) * x + scaled[0] * x + int(np.ceil(a[1]))

    for g in (f, linad.jit(f)):
        np.testing.assert_allclose(linad.jacobian(g)(X), 39.0 * np.eye(X.size))

    def written(x):
        a = linad.numpy.zeros(3)
        a[1] = x[0]
        return float(a[0]) * x

    for g in (written, linad.jit(written)):
        with pytest.raises(TracerError, match=r"^float\(\)"):
            linad.linearize(g, X)


def test_fractions_beside_traced_numbers():
    def f(x):
        return Fraction(1, 3) * x[0] + x[1] / Fraction(1, 2) - Fraction(1, 7)

    np.testing.assert_allclose(linad.grad(f)(X)[:2], [1 / 3, 2.0])


def test_a_plot_wants_plain_numbers():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = pyplot.figure().subplots()
    with pytest.raises(linad.errors.TracerError, match="give it linad.stop_gradient.*refusing.py"):
        linad.grad(lambda x: np.sum(x) + len(axes.plot(x)))(np.ones(2))
    x = np.array([1.0, 2.0])
    linad.grad(lambda x: np.sum(x) + len(axes.plot(linad.stop_gradient(x))))(x)
    np.testing.assert_array_equal(axes.lines[-1].get_ydata(), x)
    pyplot.close(axes.figure)


def test_a_function_of_scipy_whose_derivative_scipy_calls():
    rosen = scipy.optimize.rosen
    with pytest.raises(TracerError, match=r"^scipy\.optimize\.rosen\(\) .*linad\.scipy\.opt"):
        scipy.optimize.minimize(rosen, [1.2, 1.0], jac=linad.grad(rosen))
    with pytest.raises(TracerError, match=r"^scipy\.optimize\.rosen\(\) "):
        linad.vjp(lambda x: linad.map(rosen, x), np.ones((3, 2)))


def test_the_statistics_of_python():
    with pytest.raises(linad.errors.UnsupportedError, match=r"adopt\(__name__\), for the module"):
        linad.grad(lambda x: statistics.stdev(x))(np.ones(3))


@pytest.mark.parametrize("f", [np.polyfit, np.polyder], ids=["polyfit", "polyder"])
def test_a_traced_degree_is_told_to_be_an_integer(f):
    def first(degree):
        return f(*[PLAIN] * (2 if f is np.polyfit else 1), degree)[0]

    for derivative in (linad.grad(first), linad.grad(linad.jit(first))):
        with pytest.raises(TracerError, match="or a count must be an integer") as caught:
            derivative(2.0)
        assert "linad.adopt" not in str(caught.value)  # where it would be refused as well
    assert "static_argnums" in str(caught.value)


def size_of_complex(s):
    return abs(complex(s, 0.0))


def times_float(s):
    return s * float(s)


def times_int(s):
    return s * int(s + 0.5)


def root_by_cmath(s):
    return cmath.sqrt(s).real


@pytest.mark.parametrize("f", [size_of_complex, times_float, times_int, root_by_cmath])
def test_adoption_is_named_where_it_helps(f, adopting):
    def g(s):
        return s * f(s)

    with pytest.raises(TracerError, match=r"linad.adopt\(__name__\) lets code of this module"):
        linad.grad(g)(2.25)
    with linad.adopt(__name__):
        slope = linad.grad(g)(2.25)
    step = 1e-6
    assert slope == pytest.approx((g(2.25 + step) - g(2.25 - step)) / (2 * step))


@pytest.mark.parametrize("solver", ["fsolve", "leastsq", "root"])
def test_a_refusal_is_not_printed_as_well(solver, capfd):
    def root(k):
        found = getattr(scipy.optimize, solver)(lambda u: u * u - k, 1.0)
        return (found.x if solver == "root" else found)[0]

    with pytest.raises(TracerError, match=f"scipy.optimize.{solver}.. would take a traced value"):
        linad.grad(root)(2.0)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "f, words",
    [
        (lambda x: x[0].item() * 2, r"x\[0\]; or linad.adopt\(__name__\) lets"),
        (lambda x: x.tolist()[0], r"iterate over the array instead; or linad.adopt\(__name__\)"),
        (
            lambda x: next(np.nditer(x, op_flags=["readwrite"])),
            r"use linad.numpy.nditer, which traces; or linad.adopt\(__name__\)",
        ),
    ],
    ids=["item", "tolist", "nditer"],
)
def test_what_adopted_code_may_do_is_said(f, words):
    with pytest.raises(LinadError, match=words):
        linad.grad(f)(np.ones(2))
