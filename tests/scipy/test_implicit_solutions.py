"""Solutions, integrals, distances and rotations of SciPy's, to second order."""

import math

import numpy as np
import pytest
import scipy.optimize

import linad
import linad.numpy
from linad.errors import ConvergenceError, SingularError
from linad.scipy import integrate, linalg, optimize
from linad.scipy.spatial import distance
from linad.scipy.spatial.transform import Rotation
from linad.testing.derivative_checks import check_derivatives

X = np.array([1.3, 0.7, 0.4])
T = np.linspace(0, 1, 7)
POINTS = np.array([[0.3, 0.9, 0.2], [0.7, 0.1, 0.5], [0.2, 0.4, 0.8], [0.95, 0.6, 0.35]])
TIGHT = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}


def measured(x):
    return x[0] * np.exp(-x[1] * T) + 0.1 * np.sin(9 * T) * x[2]


def decay(p):
    return p[0] * np.exp(-p[1] * T)


def system(x):
    return lambda z: [z[0] ** 2 + z[1] - x[0], z[1] * x[1] - z[0]]


def bowl(x):
    return lambda z: (z[0] - x[0]) ** 2 * (1 + x[1] ** 2) + (z[1] - z[0] * x[2]) ** 2 + z[1] ** 2


SOLUTIONS = {
    "brentq": lambda x: optimize.brentq(lambda t: np.cos(t) * x[0] - t * x[1], 0, 2),
    "brentq-args": lambda x: optimize.brentq(lambda t, a: np.cos(t) - t * a, 0, 2, args=(x[1],)),
    "bisect": lambda x: optimize.bisect(lambda t: np.cos(t) * x[0] - t * x[1], 0, 2, xtol=1e-12),
    "newton": lambda x: optimize.newton(lambda t: t**3 - x[0] * t - x[1], 2.0),
    "newton-slope": lambda x: optimize.newton(
        lambda t: t**3 - x[0] * t - x[1], 2.0, fprime=lambda t: 3 * t**2 - x[0]
    ),
    "newton-array": lambda x: optimize.newton(lambda t: t**3 - x * t - x[1], np.full(3, 2.0)),
    "root_scalar": lambda x: (
        optimize.root_scalar(lambda t: np.cos(t) * x[0] - t * x[1], bracket=[0, 2]).root
    ),
    "root_scalar-slopes": lambda x: (
        optimize.root_scalar(
            lambda t, a: (t**3 - x[0] * t - a, 3 * t**2 - x[0], 6 * t),
            args=(x[1],),
            x0=2.0,
            fprime=True,
            fprime2=True,
        ).root
    ),
    "fixed_point": lambda x: optimize.fixed_point(lambda t: np.cos(t * x[0] / 2) * x[1], 0.5),
    "root": lambda x: optimize.root(system(x), [1.0, 1.0], tol=1e-12).x,
    "fsolve": lambda x: optimize.fsolve(system(x), [1.0, 1.0], xtol=1e-12),
}


def away(x):
    """Least at z_0 = x_0, z_1 = x_1^2 / 2."""
    return lambda z: (z[0] - x[0]) ** 2 + 2 * (z[1] - x[1] ** 2 / 2) ** 2


BOX = [(-3, 3), (-3, 3)]
SEARCHES = {
    "fmin": lambda x, **o: optimize.fmin(away(x), [0.1, 0.1], disp=0, **o),
    "fmin_bfgs": lambda x, **o: optimize.fmin_bfgs(away(x), [0.1, 0.1], disp=0, **o),
    "fmin_cg": lambda x, **o: optimize.fmin_cg(away(x), [0.1, 0.1], disp=0, **o),
    "fmin_powell": lambda x, **o: optimize.fmin_powell(away(x), [0.1, 0.1], disp=0, **o),
    "fmin_slsqp": lambda x, **o: optimize.fmin_slsqp(away(x), [0.1, 0.1], iprint=0, **o),
    "fmin_ncg": lambda x, **o: optimize.fmin_ncg(
        away(x), [0.1, 0.1], linad.grad(away(x)), disp=0, **o
    ),
    "fmin_l_bfgs_b": lambda x: optimize.fmin_l_bfgs_b(
        lambda z: (away(x)(z), linad.grad(away(x))(z)), [0.1, 0.1], bounds=BOX
    )[0],
    "fmin_tnc": lambda x: optimize.fmin_tnc(
        lambda z, c: away(x)(z) * c, [0.1, 0.1], args=(2.0,), approx_grad=True, disp=0
    )[0],
    "differential_evolution": lambda x: (
        optimize.differential_evolution(away(x), BOX, rng=1, popsize=4, maxiter=9).x
    ),
    "direct": lambda x: optimize.direct(away(x), BOX, maxfun=3000).x,
    "dual_annealing": lambda x: optimize.dual_annealing(away(x), BOX, rng=1, maxiter=5).x,
    "shgo": lambda x: optimize.shgo(away(x), BOX).x,
    "basinhopping": lambda x: (
        optimize.basinhopping(
            lambda z, c: away(x)(z) * c, [0.1, 0.1], 2, minimizer_kwargs={"args": (2.0,)}, rng=1
        ).x
    ),
    "brute": lambda x: optimize.brute(away(x), BOX, Ns=9),
    "broyden1": lambda x: optimize.broyden1(lambda z: z + 0.1 * z**3 - _target(x), [0.1, 0.1]),
    "newton_krylov": lambda x: optimize.newton_krylov(
        lambda z: z + 0.1 * z**3 - _target(x), np.array([0.1, 0.1])
    ),
    "anderson": lambda x: optimize.anderson(lambda z: z + 0.1 * z**3 - _target(x), [0.1, 0.1]),
}


def _target(x):
    z = np.stack([x[0], x[1] ** 2 / 2])
    return z + 0.1 * z**3


@pytest.mark.parametrize("name", SEARCHES)
def test_searches(name):
    """However coarse the search is, the derivative is that of the minimum."""
    x = np.array([0.4, 0.9])
    J = linad.jacobian(SEARCHES[name])(x)
    np.testing.assert_allclose(J, [[1, 0], [0, 0.9]], rtol=1e-4, atol=1e-4)
    H = linad.hessian(lambda x: np.sum(SEARCHES[name](x)))(x)
    np.testing.assert_allclose(H, [[0, 0], [0, 1]], atol=1e-3)


@pytest.mark.parametrize("name", ["fmin", "fmin_bfgs", "fmin_cg", "fmin_powell", "fmin_slsqp"])
def test_the_least_value_moves(name):
    def least(x):
        found = SEARCHES[name](x, full_output=True)
        return found[1] + x[0] * x[1]

    x = np.array([0.4, 0.9])
    np.testing.assert_allclose(linad.grad(least)(x), x[::-1], atol=1e-3)


@pytest.mark.parametrize("name", ["brent", "golden", "fminbound"])
def test_searches_for_a_number(name):
    def least(a):
        bounds = (0.0, 2.0) if name == "fminbound" else ()
        return getattr(optimize, name)(lambda t: (t - a) ** 2 + t**4, *bounds, full_output=1)[:2]

    t, value = linad.linearize(least, 0.7)[0]
    slope, of_value = linad.jacobian(least)(0.7)
    np.testing.assert_allclose(slope, 1 / (1 + 6 * t**2), rtol=1e-5)
    np.testing.assert_allclose(of_value, 2 * (0.7 - t), rtol=1e-5)
    assert value == pytest.approx((t - 0.7) ** 2 + t**4)


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(4))
def test_isotonic_regression(seed, dtype, increasing):
    """Of values that have no symmetry: blocks of a decreasing fit are counted from the start."""
    rng = np.random.default_rng(seed)
    y = (rng.standard_normal(12) + np.linspace(0, 1, 12)).astype(dtype)
    w = rng.uniform(0.5, 1.5, 12).astype(dtype)

    def fitted(y, w):
        found = optimize.isotonic_regression(y, weights=w, increasing=increasing)
        return found.x, found.weights

    theirs = scipy.optimize.isotonic_regression(y, weights=w, increasing=increasing)
    for f in (lambda *args: linad.linearize(fitted, *args)[0], linad.jit(fitted)):
        for found, wanted in zip(f(y, w), (theirs.x, theirs.weights), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
    if dtype == np.float64:
        check_derivatives(fitted, y, w)


def test_assignment():
    cost = np.array([[1.0, 2.0], [0.5, 3.0]])
    total = linad.grad(lambda c: np.sum(c[optimize.linear_sum_assignment(c)]))(cost)
    np.testing.assert_array_equal(total, [[0, 1], [1, 0]])


def test_the_function_of_rosenbrock():
    x = np.array([0.3, 1.2, -0.4])
    np.testing.assert_allclose(linad.grad(optimize.rosen)(x), scipy.optimize.rosen_der(x))
    np.testing.assert_allclose(linad.jacobian(optimize.rosen_der)(x), scipy.optimize.rosen_hess(x))
    H = linad.jacobian(lambda x: optimize.approx_fprime(x, optimize.rosen, 1e-4))(x)
    np.testing.assert_allclose(H, scipy.optimize.rosen_hess(x), rtol=1e-2, atol=0.1)


OTHERS = {
    "minimize": lambda x: optimize.minimize(bowl(x), [0.2, 0.2], tol=1e-12).x,
    "minimize-bounds": lambda x: (
        optimize.minimize(bowl(x), [0.2, 0.2], bounds=[(0, 1), (None, None)], tol=1e-12).x
    ),
    "minimize-equality": lambda x: (
        optimize.minimize(
            bowl(x),
            [0.2, 0.2],
            constraints={"type": "eq", "fun": lambda z: z[0] * z[1] - x[2] * 0.2},
            jac="3-point",
            tol=1e-14,
        ).x
    ),
    "minimize-inequalities": lambda x: (
        optimize.minimize(
            bowl(x),
            [0.2, 0.2],
            constraints=[
                {"type": "ineq", "fun": lambda z, a: z[1] - a - z[0] ** 2, "args": (x[1],)},
                {"type": "ineq", "fun": lambda z: 9.0 - z},
            ],
            method="SLSQP",
            jac=linad.grad(bowl(x)),
            tol=1e-14,
        ).x
    ),
    "minimize-linear": lambda x: (
        optimize.minimize(
            bowl(x),
            [0.2, 0.2],
            bounds=[(None, None), (0.0, 0.9)],
            constraints=optimize.LinearConstraint([[1.0, 2.0]], x[0] + 1.0, np.inf),
            method="SLSQP",
            jac="3-point",
            tol=1e-14,
        ).x
    ),
    "nnls": lambda x: optimize.nnls(POINTS[:3] * x + np.eye(3), POINTS[:3] @ x - 0.5)[0],
    "nnls-norm": lambda x: optimize.nnls((POINTS * x + 1)[:, :2], POINTS @ x + 0.3)[1],
    "lsq_linear-free": lambda x: optimize.lsq_linear(POINTS[:3] * x + np.eye(3), POINTS[:3] @ x).x,
    "lsq_linear": lambda x: (
        optimize.lsq_linear(
            POINTS[:3] * x + np.eye(3), POINTS[:3] @ x, (np.full(3, -0.3), [0.2, np.inf, 5.0])
        ).x
    ),
    "minimize_scalar": lambda x: (
        optimize.minimize_scalar(lambda t: (t - x[0]) ** 4 + x[1] * t**2).x
    ),
    "least_squares": lambda x: (
        optimize.least_squares(lambda p: decay(p) - measured(x), [1.0, 1.0], **TIGHT).x
    ),
    "leastsq": lambda x: optimize.leastsq(lambda p: decay(p) - measured(x), [1.0, 1.0])[0],
    "curve_fit": lambda x: optimize.curve_fit(
        lambda t, a, b: a * np.exp(-b * t), T, measured(x), p0=[1.0, 1.0], **TIGHT
    )[0],
    "covariance": lambda x: optimize.curve_fit(
        lambda t, a, b: a * np.exp(-b * t), T, measured(x), p0=[1.0, 1.0], **TIGHT
    )[1],
    "care": lambda x: linalg.solve_continuous_are(
        np.array([[0, 1.0], [0, -1]]) * x[0], np.eye(2)[:, 1:], np.eye(2) * x[1], x[2:, None]
    ),
    "dare": lambda x: linalg.solve_discrete_are(
        np.array([[0.5, 0.1], [0, 0.6]]) * x[0], np.eye(2)[:, 1:], np.eye(2) * x[1], x[2:, None]
    ),
    "polar": lambda x: np.concatenate(linalg.polar(POINTS[:3] + np.diag(X) * x)),
    "quad": lambda x: integrate.quad(lambda t: np.exp(-x[0] * t) * np.cos(t * x[1]), 0, x[2])[0],
    "quad-line": lambda x: integrate.quad(lambda t: np.exp(-x[0] * t**2), -np.inf, np.inf)[0],
    "quad-half": lambda x: integrate.quad(lambda t: np.exp(-x[0] * t), x[1], np.inf)[0],
    "rotation-euler": lambda x: Rotation.from_euler("xyz", x).as_matrix(),
    "rotation-angles": lambda x: Rotation.from_euler("ZYX", x).as_euler("zxz"),
    "rotation-vector": lambda x: (
        (Rotation.from_rotvec(x) * Rotation.from_euler("x", 0.3)).inv().as_rotvec()
    ),
    "rotation-matrix": lambda x: Rotation.from_matrix(
        np.eye(3) + 0.3 * np.outer(x, np.array([0.0, 1.0, -1.0]))
    ).as_quat(),
    "rotation-apply": lambda x: Rotation.from_rotvec(x).apply(POINTS),
}
METRICS = "euclidean sqeuclidean cityblock chebyshev minkowski cosine correlation canberra"
METRICS += " braycurtis seuclidean mahalanobis jensenshannon"
DISTANCES = {
    **{
        m: lambda x, m=m: distance.cdist(POINTS * x + 1, POINTS[:2] + x**2, m)
        for m in METRICS.split()
    },
    "pdist": lambda x: distance.squareform(distance.pdist(POINTS * x + 1)),
}


def differences(f, x, h=2e-4):
    columns = []
    for e in np.eye(x.size) * h:
        near = np.asarray(f(x + e)) - np.asarray(f(x - e))
        far = np.asarray(f(x + 2 * e)) - np.asarray(f(x - 2 * e))
        columns.append((8 * near - far) / (12 * h))
    return np.stack(columns, -1)


LONG = {"quad-line", "quad-half", "minimize-bounds", "newton-array", "bisect", "leastsq", "fsolve"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.full if name in LONG else ())
        for name in [*SOLUTIONS, *OTHERS, *DISTANCES]
    ],
)
def test_to_second_order(name):
    f = {**SOLUTIONS, **OTHERS, **DISTANCES}[name]
    # Differences see what SciPy's own tolerance leaves of a minimum.
    rough = 1e-5 if name.startswith(("mini", "least", "curve", "cov", "dare")) else 1e-8
    y, J = linad.linearize(f, X)
    np.testing.assert_allclose(y, f(X), rtol=1e-7 if rough > 1e-8 else 1e-12, atol=1e-14)
    expected = differences(f, X, 1e-3 if rough > 1e-8 else 2e-4)
    np.testing.assert_allclose(J @ np.eye(3), expected.reshape(-1, 3), atol=rough, rtol=rough)
    first = linad.jacobian(f)
    v = np.array([0.6, -1.0, 0.7])  # a solution is found anew for each difference: one direction
    expected = differences(lambda t: first(X + t[0] * v), np.zeros(1))[..., 0]
    np.testing.assert_allclose(linad.jacobian(first)(X) @ v, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.rest
@pytest.mark.parametrize("name", [*SOLUTIONS, *OTHERS])
def test_compiled(name):
    """SciPy's answer is one for these numbers: at others the program is recorded anew."""
    first = linad.jacobian({**SOLUTIONS, **OTHERS}[name])
    jitted = linad.jit(first)
    for x in (X, X, X + 0.01):
        np.testing.assert_allclose(jitted(x), first(x), rtol=1e-6, atol=1e-6)


def test_plain_functions_are_scipys():
    def f(t):
        return np.cos(t) - t

    def inside(x):
        assert type(optimize.brentq(f, 0, 2)) is float
        return x * optimize.brentq(f, 0, 2)

    assert optimize.brentq(f, 0, 2) == scipy.optimize.brentq(f, 0, 2)
    np.testing.assert_allclose(linad.derivative(inside)(1.0), scipy.optimize.brentq(f, 0, 2))


def test_what_has_no_derivative_is_refused():
    twice = [{"type": "ineq", "fun": lambda z: 0.1 - z[0]}] * 2
    with pytest.raises(ConvergenceError, match="not independent"):
        linad.jacobian(
            lambda x: optimize.minimize(bowl(x), [0.1, 0.2], constraints=twice, method="SLSQP").x
        )(X)
    with pytest.raises(ConvergenceError, match="brentq"):
        linad.jacobian(lambda x: optimize.brentq(lambda t: np.sign(t - 0.5) + 0 * x[0], 0, 2))(X)


NOT_SIMPLE = {
    "double": lambda a: optimize.newton(lambda t: (t - a) ** 2, 2.0, maxiter=200),
    "cusp": lambda a: optimize.brentq(lambda t: np.cbrt(t - a), -5.1, 5.3),
    "pole": lambda a: optimize.brentq(lambda t: 1 / (t - a), -5.1, 5.3),
    "flat": lambda a: optimize.minimize_scalar(lambda t: (t - a) ** 4, bracket=(0, 1, 3)).x,
}


@pytest.mark.rest
@pytest.mark.parametrize("name", NOT_SIMPLE)
def test_roots_that_are_not_simple_move_with_their_function(name):
    f = NOT_SIMPLE[name]
    jitted, slope = linad.jit(f), linad.jit(linad.grad(f))
    np.testing.assert_allclose(linad.grad(f)(1.3), 1, rtol=1e-6)
    for a in (1.3, 1.31, 1.32):
        np.testing.assert_allclose(jitted(a), f(a), rtol=1e-7)
        np.testing.assert_allclose([slope(a), linad.grad(jitted)(a)], 1, rtol=1e-6)


@pytest.mark.parametrize("power", [2, 3])
def test_second_derivatives_at_roots_that_are_not_simple(power):
    def f(a):
        return optimize.newton(lambda t: (t - a**2) ** power * np.exp(t * a), 2.5, maxiter=500)

    second = linad.grad(linad.grad(f))
    np.testing.assert_allclose(second(1.3), 2, rtol=1e-5)
    np.testing.assert_allclose(linad.jit(second)(1.3), 2, rtol=1e-5)


def test_derivatives_that_rounding_is_all_of_are_refused():
    def f(a):
        def g(x):
            return np.stack([x[0] - a, (x[1] - a**2) ** 3])

        return optimize.root(g, np.ones(2), tol=1e-13).x

    d = linad.derivative
    np.testing.assert_allclose(d(f)(1.3), [1, 2.6], rtol=1e-6)
    with pytest.raises(ConvergenceError, match="root that is not simple"):
        d(d(f))(1.3)


def test_derivatives_of_all_orders():
    def f(a):
        return optimize.brentq(lambda t: t**3 + t - a, -4, 4)

    t = f(1.7)
    d = linad.derivative
    fourth = d(d(d(d(f))))(1.7)

    def slope(t):
        return 1 / (1 + 3 * t**2)

    def along(g):  # d/da = dt/da d/dt
        return lambda t: d(g)(t) * slope(t)

    np.testing.assert_allclose(fourth, along(along(along(slope)))(t), rtol=1e-10)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: optimize.brentq(lambda t: t**3 - x, -3, 3),
        lambda x: optimize.minimize_scalar(lambda t: abs(t - x), bracket=(-1, 0.5, 3)).x,
    ],
    ids=["brentq", "minimize_scalar"],
)
def test_values_where_there_is_no_derivative(f):
    """A program gives SciPy's value."""
    jitted = linad.jit(f)
    for x in (0.0, 0.0, 1.0, 0.0):
        np.testing.assert_allclose(jitted(x), f(x), atol=1e-7)
    with pytest.raises((ConvergenceError, np.linalg.LinAlgError)):
        linad.grad(f)(0.0)


@pytest.mark.rest
def test_a_program_has_nan_where_there_is_no_derivative():
    slope = linad.jit(linad.grad(lambda x: optimize.brentq(lambda t: t**3 - x, -3, 3)))
    np.testing.assert_allclose([slope(8.0), slope(1.0)], [1 / 12, 1 / 3])
    assert np.isnan(slope(0.0))


def pulled(x):
    """Least at (0, 5)."""
    return lambda z: np.sum((z - np.array([0.0, 5.0])) ** 2) * x[2]


def box(x):
    return [(x[0], 9.0), (-9.0, x[1])]


WITHIN = {
    "minimize": lambda x: optimize.minimize(pulled(x), [2.0, 2.0], bounds=box(x)).x,
    "minimize-class": lambda x: (
        optimize.minimize(
            pulled(x),
            [2.0, 2.0],
            bounds=optimize.Bounds(np.stack([x[0], -9.0]), np.stack([9.0, x[1]])),
        ).x
    ),
    "minimize-constrained": lambda x: (
        optimize.minimize(
            pulled(x),
            [2.0, 2.0],
            bounds=[(x[0], None), (None, None)],
            method="SLSQP",
            constraints={"type": "ineq", "fun": lambda z: x[1] - z[1]},
        ).x
    ),
    "minimize-plain-function": lambda x: (
        optimize.minimize(pulled(np.ones(3)), [2.0, 2.0], bounds=box(x)).x
    ),
    "fmin_l_bfgs_b": lambda x: optimize.fmin_l_bfgs_b(
        pulled(x), [2.0, 2.0], approx_grad=True, bounds=box(x)
    )[0],
    "fmin_slsqp": lambda x: optimize.fmin_slsqp(pulled(x), [2.0, 2.0], bounds=box(x), iprint=0),
    "differential_evolution": lambda x: (
        optimize.differential_evolution(pulled(x), box(x), rng=1, popsize=4, maxiter=9).x
    ),
    "dual_annealing": lambda x: optimize.dual_annealing(pulled(x), box(x), rng=1, maxiter=5).x,
    "direct": lambda x: optimize.direct(pulled(x), box(x), maxfun=3000).x,
    "least_squares": lambda x: (
        optimize.least_squares(
            lambda z: (z - np.array([0.0, 5.0])) * x[2],
            [2.0, 2.0],
            bounds=(np.stack([x[0], -9.0]), np.stack([9.0, x[1]])),
        ).x
    ),
    "curve_fit": lambda x: optimize.curve_fit(
        lambda t, a, b: a * t + b,
        np.linspace(-1, 1, 7),
        np.full(7, 5.0),
        p0=[2.0, 2.0],
        bounds=([x[0], -9.0], [9.0, x[1]]),
    )[0],
    "minimize_scalar": lambda x: np.stack(
        [
            optimize.minimize_scalar(lambda t: t**2 * x[2], bounds=(x[0], 9.0)).x,
            optimize.fminbound(lambda t: (t - 5.0) ** 2 * x[2], -9.0, x[1]),
        ]
    ),
}


@pytest.mark.parametrize("name", WITHIN)
def test_a_minimum_at_a_bound_moves_with_the_bound(name):
    f, x = WITHIN[name], np.array([1.3, 4.0, 1.5])
    np.testing.assert_allclose(f(x), x[:2], rtol=1e-4)
    np.testing.assert_allclose(linad.jacobian(f)(x), [[1, 0, 0], [0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(linad.jit(f)(x), f(x))


def test_a_minimum_near_a_bound_is_free():
    def least(x):
        return optimize.minimize_scalar(lambda t: (t - x[0]) ** 2, bounds=(x[1], 9.0)).x

    x = np.array([1.3, 1.2995])
    np.testing.assert_allclose(linad.grad(least)(x), [1, 0], atol=1e-8)


def cubic(x):
    return x**3 - x - 1


def pair(x):
    return np.array([x[0] ** 2 + x[1] - 3, x[0] - x[1]])


def valley(x):
    return (x[0] - 1) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2


T = np.linspace(0, 1, 9)
BY_POSITION = {
    "brentq": lambda m: m.brentq(cubic, 0, 2, (), 1e-9, 1e-9, 50, True, False),
    "bisect": lambda m: m.bisect(cubic, 0, 2, (), 1e-9, 1e-9, 50, True),
    "toms748": lambda m: m.toms748(cubic, 0, 2, (), 1, 1e-9, 1e-9, 50, True),
    "newton": lambda m: m.newton(cubic, 1.0, None, (), 1e-9, 50, None, None, 0.0, True),
    "root_scalar": lambda m: m.root_scalar(cubic, (), "brentq", (0, 2)),
    "fixed_point": lambda m: m.fixed_point(np.cos, 1.0, (), 1e-9, 500, "iteration"),
    "root": lambda m: m.root(pair, [1.0, 1.0], (), "hybr", None, 1e-9),
    "fsolve": lambda m: m.fsolve(pair, [1.0, 1.0], (), None, 1, 0, 1e-9),
    "minimize": lambda m: m.minimize(
        valley, [0.0, 0.0], (), "Powell", None, None, None, None, (), 1e-5
    ),
    "minimize_scalar": lambda m: m.minimize_scalar(np.cosh, (-1, 0.5, 3), None, (), "brent", 1e-9),
    "fmin": lambda m: m.fmin(valley, [0.0, 0.0], (), 1e-5, 1e-5, None, None, True, False),
    "fmin_bfgs": lambda m: m.fmin_bfgs(
        valley, [0.0, 0.0], None, (), 1e-6, 2, 1e-8, None, True, False
    ),
    "least_squares": lambda m: m.least_squares(
        pair, [1.0, 1.0], "2-point", (-5, 5), "trf", 1e-9, 1e-9, 1e-9
    ),
    "leastsq": lambda m: m.leastsq(pair, [1.0, 1.0], (), None, True, False, 1e-9),
    "curve_fit": lambda m: m.curve_fit(
        lambda x, a: np.exp(-a * x), T, np.cos(T), [1.0], None, False, None, (-9, 9), "trf", None
    ),
}


@pytest.mark.parametrize("name", BY_POSITION)
def test_plain_calls_within_a_derivative_are_those_of_scipy(name):
    """With arguments by position, as far as SciPy takes them."""
    found = []

    def f(p):
        found.append(BY_POSITION[name](linad.scipy.optimize))
        return p * 1.0

    linad.grad(f)(1.0)
    assert repr(found[0]) == repr(BY_POSITION[name](scipy.optimize))


def test_a_start_that_a_compiled_function_makes():
    @linad.jit
    def solution(p):
        return optimize.root(lambda x: x**3 + x - p, linad.numpy.ones(2), tol=1e-13).x

    for p in (2.0, 2.0, 10.0):
        x = solution(np.array([p, 68.0]))
        np.testing.assert_allclose(x**3 + x, [p, 68.0])


@pytest.mark.rest
def test_recorded_integral_is_not_held_to_its_value():
    """A loop adds up in another order than the steps did that were recorded."""

    def f(x):
        value = integrate.quad(lambda t: np.exp(-x[0] * t) * math.cos(x[1] * t), 0, x[2])[0]
        return np.sum(np.ravel(value) * 0.9)

    x = np.array([0.7, 1.3, 2.1, 0.4])
    with linad.adopt(f):
        compiled = linad.jit(linad.grad(f))
        for at in (x, x * (1 + 1e-3 * np.sin(np.arange(4) + 1))):
            np.testing.assert_allclose(compiled(at), linad.grad(f)(at), rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_jensen_shannon_distances_of_points_without_a_sum():
    """Of many points SciPy says infinity, of two NaN; the others have their derivatives."""
    points = np.array([[0.0, 0, 0], [1, 2, 3], [0.5, 0, 1], [1, -1, 0]])

    def f(x, module=distance):
        both = module.cdist(x, x, "jensenshannon").ravel(), module.pdist(x, "jensenshannon")
        return np.concatenate(both)

    expected = f(points, scipy.spatial.distance)
    y, J = linad.linearize(f, points)
    np.testing.assert_allclose(y, expected, rtol=1e-14)
    np.testing.assert_allclose(linad.jit(f)(points), expected, rtol=1e-14)
    seed = np.where(np.isfinite(expected) & (expected > 0), 1.0, 0.0)
    near = points[1:3]
    plain = linad.grad(lambda x: np.sum(distance.pdist(x, "jensenshannon")))(near)
    gradient = J.pullback(seed)
    np.testing.assert_allclose(gradient[1:3], 3 * plain, rtol=1e-12)
    np.testing.assert_array_equal(gradient[[0, 3]], 0.0)
    assert np.isnan(distance.jensenshannon(points[0], points[1]))


T = np.arange(1.0, 7.0)
UNDETERMINED = {
    "of no effect": lambda p, q: p * T + 0 * q,
    "a sum": lambda p, q: p + q + 0 * T,
    "a product": lambda p, q: p * q * T,
}


@pytest.mark.filterwarnings("ignore:Covariance of the parameters:scipy.optimize.OptimizeWarning")
@pytest.mark.parametrize("search", ["curve_fit", "least_squares", "leastsq", "minimize", "fsolve"])
@pytest.mark.parametrize("name", UNDETERMINED)
def test_unknowns_that_are_not_determined_have_no_derivative(name, search):
    """NumPy solves systems whose pivots are not 0 by rounding alone."""
    model = UNDETERMINED[name]

    def found(y):
        def misfit(p):
            return model(*p) - y

        if search == "curve_fit":
            return optimize.curve_fit(lambda t, p, q: model(p, q), T, y)[0]
        if search == "minimize":
            return optimize.minimize(lambda p: np.sum(misfit(p) ** 2), np.ones(2)).x
        if search == "fsolve":
            return optimize.fsolve(lambda p: misfit(p)[:2], np.ones(2))
        fit = getattr(optimize, search)(misfit, np.ones(2))
        return fit[0] if search == "leastsq" else fit.x

    y = 1.7 * (T if name != "a sum" else T**0)
    with pytest.raises(SingularError, match=f"{search}: the Jacobian is singular at what was"):
        linad.jacobian(found)(y)


def test_unknowns_of_very_different_scales_are_determined():
    def found(y):
        start = np.array([1e6, 1e-6])  # the Hessian has a condition number of 1e24
        line = np.stack([1e-6 * T, np.full(6, 1e6)], axis=1)
        return optimize.least_squares(lambda p: line @ p - y, start, x_scale=start).x / start

    exact = np.linalg.pinv(np.stack([T, np.ones(6)], axis=1))
    np.testing.assert_allclose(linad.jacobian(found)(1.7 * T + np.cos(T)), exact, rtol=1e-6)
