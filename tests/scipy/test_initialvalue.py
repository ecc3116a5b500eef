"""solve_ivp and odeint: derivatives of the computed trajectory."""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import linad
import linad.numpy
import linad.scipy.integrate as si
from linad.errors import GuardError, ShapeError, UnsupportedError
from linad.scipy import replays
from linad.testing.derivative_checks import check_derivatives

A = np.array([[-0.4, 1.1], [-0.9, -0.2]])
Y0 = np.array([1.0, -0.5])
METHODS = ["RK45", "RK23", "DOP853"]
SHORT = ["RK45", *[pytest.param(m, marks=pytest.mark.full) for m in METHODS[1:]]]
TIMES = np.array([0.0, 0.3, 0.31, 1.1, 2.0])
LONG = {"marks": pytest.mark.full}


def linear(t, y, A):
    return A @ y


def volterra(t, y, a, b):
    return np.stack([a * y[0] - y[0] * y[1], y[0] * y[1] - b * y[1] + 0.1 * np.sin(t)])


def solution(y0, A, t=2.0):
    """exp(tA) y0"""
    import linad.scipy.linalg as sl

    return sl.expm(t * A) @ y0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("t_eval", [None, TIMES, TIMES[1:3]])
@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, 0.0)])
def test_what_scipy_returns(method, t_eval, span):
    if t_eval is not None and span[0] > span[1]:
        t_eval = t_eval[::-1]
    arguments = (volterra, span, np.array([1.0, 0.5]), method, t_eval)
    options = {"args": (0.7, 0.4), "rtol": 1e-6, "max_step": 0.3}
    expected = scipy.integrate.solve_ivp(*arguments, **options)
    plain = si.solve_ivp(*arguments, **options)
    np.testing.assert_array_equal(plain.y, expected.y)
    found = []

    def f(a):
        r = si.solve_ivp(*arguments, **(options | {"args": (a, 0.4)}))
        found.append(r)
        return r.y

    y = linad.linearize(f, np.array(0.7))[0]
    np.testing.assert_allclose(y, expected.y, rtol=1e-12, atol=1e-13)
    assert set(found[0]) == set(expected)
    for key in ("t", "nfev", "njev", "nlu", "status", "success", "message", "sol", "t_events"):
        np.testing.assert_array_equal(getattr(found[0], key), getattr(expected, key))


@pytest.mark.parametrize("method", [*METHODS, "Radau", "BDF", "LSODA"])
def test_a_method_by_its_class(method):
    def end(y0, method):
        return si.solve_ivp(linear, (0.0, 0.1), y0, method, args=(A,)).y[:, -1]

    by_name, by_class = [
        linad.grad(lambda y0, m=m: np.sum(end(y0, m)))(Y0)
        for m in (method, getattr(scipy.integrate, method))
    ]
    np.testing.assert_array_equal(by_class, by_name)


@pytest.mark.parametrize("method", SHORT)
def test_linear_systems(method):
    """y(2) = exp(2A) y0: first and second derivatives, in y0 and in A."""

    def end(y0, A):
        r = si.solve_ivp(linear, (0.0, 2.0), y0, method, args=(A,), rtol=1e-9, atol=1e-11)
        return r.y[:, -1]

    scale = 100 if method == "RK23" else 1
    y, J = linad.linearize(end, Y0, A)
    z, K = linad.linearize(solution, Y0, A)
    np.testing.assert_allclose(y, z, atol=1e-8 * scale)
    np.testing.assert_allclose(J.flat.todense(), K.flat.todense(), atol=1e-7 * scale)

    def loss(f):
        return lambda y0, A: np.sum(np.sin(f(y0, A)))

    directions = np.array([0.3, 0.7]), np.array([[0.2, -0.5], [1.0, 0.1]])
    found = linad.hvp(loss(end), (Y0, A), directions)
    expected = linad.hvp(loss(solution), (Y0, A), directions)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6 * scale)


@pytest.mark.parametrize("method", SHORT)
def test_the_trajectory_with_fixed_steps(method):
    """With steps that the parameters do not move, it is the exact derivative of the result."""
    options = {"max_step": 0.25, "first_step": 0.25, "rtol": 1e3, "atol": 1e3}

    def f(y0, a, b):
        r = si.solve_ivp(volterra, (0, 1), y0, method, TIMES[:3], args=(a, b), **options)
        return r.y

    check_derivatives(f, np.array([1.0, 0.5]), np.array(0.7), np.array(0.4))


def test_a_closure_over_traced_values():
    f = lambda a: si.solve_ivp(lambda t, y: -a * y, (0, 1), [2.0], rtol=1e-9, atol=1e-11).y[0, -1]  # noqa: E731
    np.testing.assert_allclose(linad.grad(f)(0.5), -2 * np.exp(-0.5), rtol=1e-7)
    np.testing.assert_allclose(linad.grad(linad.grad(f))(0.5), 2 * np.exp(-0.5), rtol=1e-6)


def test_forms_of_arguments():
    """A list for y0 and for what fun returns, vectorized, containers in args."""

    def f(p):
        def fun(t, y, q):
            return [y[1], -q["k"] * y[0]]

        y = si.solve_ivp(fun, (0, 1), [p[0], 1.0], args=({"k": p[1]},), rtol=1e-8).y[:, -1]
        g = lambda t, y: -p[1] * y  # noqa: E731
        z = si.solve_ivp(g, (0, 1), p[:1], vectorized=True, rtol=1e-8).y[:, -1]
        return np.concatenate([y, z])

    p = np.array([0.7, 2.0])
    w = np.sqrt(p[1])
    expected = [p[0] * np.cos(w) + np.sin(w) / w, np.cos(w) - p[0] * w * np.sin(w)]
    y, J = linad.linearize(f, p)
    np.testing.assert_allclose(y, [*expected, p[0] * np.exp(-2)], rtol=1e-5)
    np.testing.assert_allclose(J @ [1.0, 0.0], [np.cos(w), -w * np.sin(w), np.exp(-2)], rtol=1e-4)


def test_complex_states():
    f = lambda a: si.solve_ivp(lambda t, y: 1j * a * y, (0, 1), [1 + 0j], rtol=1e-9).y[0, -1]  # noqa: E731
    y, J = linad.linearize(f, np.array(0.8))
    np.testing.assert_allclose(J.pushforward(1.0), 1j * np.exp(0.8j), rtol=1e-4)
    assert y.dtype == complex


def test_a_step_that_fails():
    """y' = y² ends at t = 1; SciPy says so, and gives the solution up to there."""
    arguments = (lambda t, y: y * y, (0, 2), np.array([1.0]))
    with np.errstate(all="ignore"):
        expected = scipy.integrate.solve_ivp(*arguments)
        found = []
        linad.linearize(lambda y0: found.append(si.solve_ivp(*arguments[:2], y0)) or y0, Y0[:1])
    assert found[0].status == expected.status == -1
    # Near the end rounding errors grow as the solution does.
    np.testing.assert_allclose(found[0].y.concrete[:, :25], expected.y[:, :25], rtol=1e-9)


def test_no_time_at_all():
    f = lambda y: si.solve_ivp(linear, (1.0, 1.0), y, args=(A,)).y[:, -1]  # noqa: E731
    np.testing.assert_array_equal(linad.linearize(f, Y0)[1].todense(), np.eye(2))


@pytest.mark.parametrize("t", [TIMES, TIMES[::-1], np.array([0.0, 0.5, 0.5, 1.0])])
def test_odeint(t):
    def f(y0, A):
        return si.odeint(lambda y, t, A: A @ y, y0, t, args=(A,), rtol=1e-10, atol=1e-10)

    y, J = linad.linearize(f, Y0, A)
    expected = scipy.integrate.odeint(lambda y, t: A @ y, Y0, t, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(f(Y0, A), expected)

    def exact(y0, A):
        return np.stack([solution(y0, A, s - t[0]) for s in t])

    np.testing.assert_allclose(
        J.flat.todense(), linad.linearize(exact, Y0, A)[1].flat.todense(), atol=1e-7
    )
    g = lambda y0: si.odeint(lambda t, y: A @ y, y0, t, tfirst=True)  # noqa: E731
    np.testing.assert_allclose(linad.linearize(g, Y0)[0], expected, atol=1e-6)


@pytest.mark.parametrize("t", [TIMES, TIMES[::-1], np.array([0.1, 0.5, 0.5, 1.0])])
def test_odeint_at_times_that_are_traced(t):
    def f(y0, t):
        return si.odeint(lambda y, t: A @ y * t, y0, t, rtol=1e-11, atol=1e-11)

    def exact(y0, t):
        return np.stack([solution(y0, A, (s**2 - t[0] ** 2) / 2) for s in t])

    y, J = linad.linearize(f, Y0, t)
    expected, J_exact = linad.linearize(exact, Y0, t)
    np.testing.assert_allclose(y, expected, atol=1e-8)
    np.testing.assert_allclose(J.flat.todense(), J_exact.flat.todense(), atol=1e-7)


STIFFNESS = np.array([[-1.0, 0.5], [0.0, -1000.0]])
METHODS_OF_LSODA = [
    pytest.param(lambda y0, A, t: si.odeint(lambda y, t: A @ y, y0, t), id="odeint"),
    pytest.param(
        lambda y0, A, t: (
            si.solve_ivp(
                *(lambda t, y: A @ y, (0.0, 2.0), y0, "LSODA", t), rtol=1e-8, atol=1e-8
            ).y.T
        ),
        id="LSODA",
        marks=pytest.mark.rest,
    ),
]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("f", METHODS_OF_LSODA)
@pytest.mark.parametrize("matrix", [A, pytest.param(STIFFNESS, **LONG)], ids=["mild", "stiff"])
def test_what_is_solved_by_lsoda_is_one_program(f, matrix):
    jitted = linad.jit(f)
    for factor in (1.0, 1.0, 1.2, 0.7):
        y0, t = factor * Y0, TIMES.copy()
        expected = np.stack([solution(y0, factor * matrix, s) for s in t])
        np.testing.assert_allclose(jitted(y0, factor * matrix, t), expected, atol=1e-6)
    y, J = linad.linearize(lambda y, a: jitted(y, a, TIMES), Y0, matrix)
    exact = linad.linearize(lambda y, a: np.stack([solution(y, a, s) for s in TIMES]), Y0, matrix)[
        1
    ]
    np.testing.assert_allclose(J.flat.todense(), exact.flat.todense(), atol=1e-5)
    assert all(len(paths) == 1 for paths in jitted.variants.values())


def fed(t, y, k):
    """An inflow until half of the time, and an outflow that ends at 0.2."""
    inflow = k if t < 1.0 else 0.0
    if y[0] < 0.2:
        return [inflow, y[0]]
    return [inflow - k * np.sqrt(y[0] - 0.2), y[0]]


def fed_at(times, k):
    """The solution with a step that ends where the inflow does, and nothing left to decide."""

    def part(inflow, span, y0, times):
        field = lambda t, y: [inflow - k * np.sqrt(y[0] - 0.2), y[0]]  # noqa: E731
        options = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-12}
        return si.solve_ivp(field, span, y0, t_eval=[*times, span[1]], **options).y

    first = part(k, (0.0, 1.0), [0.5, 0.0], times[times < 1.0])
    last = part(0.0, (1.0, 2.1), first[:, -1], times[times >= 1.0])
    return np.concatenate([first[:, :-1], last[:, :-1]], axis=1)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("method", ["RK45", *[pytest.param(m, **LONG) for m in ("Radau", "BDF")]])
def test_fields_that_decide_in_python_are_one_program(method):
    """Where the inflow ends, a step's error is as large as is allowed, and jumps with the place
    where the step begins. SciPy's own Radau moves by 1e-5 if k moves by one unit in the last place:
    the solutions are compared with the exact one."""
    times = np.linspace(0.1, 1.8, 5)

    def f(k):
        return si.solve_ivp(fed, (0.0, 2.0), [0.5, 0.0], method, times, args=(k,), rtol=1e-6).y

    jitted, slopes = linad.jit(f), linad.jit(linad.derivative(f))
    for k in (0.5, 0.6, 1.1):
        exact, J = linad.linearize(lambda k: fed_at(times, k), k)
        for y, slope in ((jitted(k), slopes(k)), (f(k), linad.derivative(f)(k))):
            np.testing.assert_allclose(y, exact, rtol=1e-4)
            np.testing.assert_allclose(slope, J.pushforward(1.0), atol=1e-4)
        if method != "Radau":
            np.testing.assert_allclose(jitted(k), f(k), rtol=1e-8)
    for made in (jitted, slopes):
        assert [len(paths) for paths in made.variants.values()] == [1]


@pytest.mark.parametrize("method", ["RK45", "LSODA", pytest.param("Radau", **LONG)])
def test_fields_that_decide_may_fill_an_array(method):
    """What is read of an array that was written is read while the way through it is recorded."""
    times = np.linspace(0.2, 1.8, 3)

    def f(k, made):
        def field(t, y):
            inflow = 1.0 if t < 1.0 else 0.2
            return made(inflow - k * y[0], y[0] - y[1])

        return si.solve_ivp(field, (0.0, 2.0), [0.5, 0.0], method, times, rtol=1e-6).y

    def filled(a, b):
        slopes = linad.numpy.zeros(2)
        slopes[0] = a
        slopes[1] += b
        return slopes

    value, slope = linad.jvp(lambda k: f(k, filled), (0.7,), (1.0,))
    told, listed = linad.jvp(lambda k: f(k, lambda a, b: [a, b]), (0.7,), (1.0,))
    np.testing.assert_allclose(value, told, rtol=1e-10)
    np.testing.assert_allclose(slope, listed, rtol=1e-8)


@pytest.mark.full
def test_a_tape_is_good_for_its_number_of_steps():
    f = lambda a: si.solve_ivp(lambda t, y: -a * t * y, (0.0, 1.0), [1.0]).y  # noqa: E731
    _, tape = linad.trace(f, np.array(2.0))
    np.testing.assert_allclose(tape(np.array(2.1)), f(np.array(2.1)), rtol=1e-12)
    with pytest.raises(GuardError):
        tape(np.array(30.0))


@pytest.mark.full
@pytest.mark.parametrize("method", [*METHODS, "Radau", "BDF"])
@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, 0.0)])
def test_compiled_the_steps_are_chosen_anew(method, span):
    """Later calls run no Python, take SciPy's steps for their own values, and differentiate."""
    times = np.linspace(*span, 5)
    runs = []

    def f(m, p):
        def field(t, y):
            runs.append(1)
            return [y[1], -p[0] * y[0] - p[1] * y[1] ** 3 + 0.1 * t]

        options = {"method": method, "t_eval": times, "rtol": 1e-8, "atol": 1e-9}
        found = m.solve_ivp(field, span, [p[2], 0.0 * p[2]], **options)
        return found.y, found.nfev

    compiled = linad.jit(lambda p: f(si, p))
    gradient = linad.jit(linad.grad(lambda p: np.sum(f(si, p)[0] ** 2)))
    for scale in (1.0, 1.1, 0.7, 0.2):
        p = scale * np.array([1.8, 0.2, 1.0])
        runs.clear()
        y, nfev = compiled(p)
        assert bool(runs) == (scale == 1.0)
        expected, evaluations = f(scipy.integrate, p)
        np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-12)
        assert nfev == evaluations
        loss = lambda p: np.sum(f(scipy.integrate, p)[0] ** 2)  # noqa: E731
        slopes = [(loss(p + h) - loss(p - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
        np.testing.assert_allclose(gradient(p), slopes, rtol=1e-4, atol=1e-4)


def robertson(t, y, k):
    """Three reactions, whose rates lie six orders of magnitude apart."""
    slow, fast, faster = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
    return [fast - slow, slow - fast - faster, faster]


@pytest.mark.rest
@pytest.mark.parametrize(
    "method, given", [("BDF", {}), ("Radau", {"first_step": 1e-3, "max_step": 0.7})]
)
def test_compiled_fits_of_stiff_equations(method, given):
    """Several problems of other lengths are one program, with SciPy's steps and counts."""
    series = [np.linspace(0.1, end, n) for end, n in ((1.0, 5), (10.0, 8))]
    runs = []

    def f(m, p, rtol=1e-6):
        def field(t, y, k):
            runs.append(1)
            return robertson(t, y, k)

        k = np.exp(p) * np.array([0.04, 1e2, 3e3])
        options = {"method": method, "rtol": rtol, "atol": 1e-3 * rtol} | given
        found = [
            m.solve_ivp(field, (0, t[-1]), [1.0, 0.0, 0.0], t_eval=t, args=(k * w,), **options)
            for w, t in enumerate(series, 1)
        ]
        y = np.concatenate([r.y.ravel() for r in found])
        return y, [(r.nfev, r.njev, r.nlu) for r in found]

    def exactly(p):
        return np.sum(f(scipy.integrate, p, 1e-11)[0] ** 2)

    compiled = linad.jit(lambda p: f(si, p))
    gradient = linad.jit(linad.grad(lambda p: np.sum(f(si, p)[0] ** 2)))
    for k in range(3):
        p = 0.01 * k * np.array([1.0, -1.0, 0.5])
        runs.clear()
        (y, counts), slopes = compiled(p), gradient(p)
        assert bool(runs) == (k == 0)
        expected, expected_counts = f(scipy.integrate, p)
        np.testing.assert_allclose(y, expected, rtol=1e-10)
        assert counts == expected_counts
        differences = [(exactly(p + d) - exactly(p - d)) / 2e-4 for d in 1e-4 * np.eye(3)]
        np.testing.assert_allclose(slopes, differences, rtol=2e-5)


@pytest.mark.full
@pytest.mark.parametrize("method, jac", [("Radau", "function"), ("BDF", "matrix")])
def test_compiled_with_a_matrix_of_the_users(method, jac):
    """Without times, of which the solution is known; to the second derivative."""
    stiff = np.array([[-1.0, 0.5], [0.0, -1000.0]])

    def f(m, p):
        matrix = (lambda t, y: p[2] * stiff) if jac == "function" else stiff
        field = lambda t, y: p[2] * (stiff @ y)  # noqa: E731
        return m.solve_ivp(field, (0, 0.1), p[:2], method, jac=matrix, rtol=1e-6, atol=1e-8).y[
            0, -1
        ]

    exact = lambda p: solution(p[:2], p[2] * stiff, 0.1)[0]  # noqa: E731
    orders = [f, lambda m, p: linad.jvp(lambda p: f(m, p), (p,), (np.ones(3),))[1]]
    p = np.array([1.0, -0.5, 1.0])
    for order, tolerance in zip(orders, (1e-4, 1e-2), strict=True):
        slopes = linad.jit(linad.grad(lambda p, f=order: f(si, p)))
        known = linad.grad(
            exact if order is f else lambda p: linad.jvp(exact, (p,), (np.ones(3),))[1]
        )
        for _ in range(2):
            np.testing.assert_allclose(slopes(p), known(p), rtol=tolerance, atol=tolerance / 100)
    np.testing.assert_allclose(linad.jit(lambda p: f(si, p))(p), f(scipy.integrate, p), rtol=1e-10)


@pytest.mark.usefixtures("kernels")
def test_compiled_with_times_that_are_arguments():
    """One program is good for other times, and differentiates in them."""
    runs = []

    def f(times, a):
        def field(t, y):
            runs.append(1)
            return -a * y * t

        found = si.solve_ivp(field, (0, 1), [1.0], t_eval=times, rtol=1e-8, atol=1e-10)
        return found.y[0, -1]

    jitted, times = linad.jit(f), np.linspace(0, 1, 3)
    for scale, a in ((0.9, 1.0), (0.8, 1.01)):
        runs.clear()
        jitted(scale * times, a)
        assert bool(runs) == (a == 1.0)
        found = linad.grad(jitted, argnums=(0, 1))(scale * times, a)
        for mine, theirs in zip(
            found, linad.grad(f, argnums=(0, 1))(scale * times, a), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-14)
        t = scale
        slopes = [[0, 0, -a * t * np.exp(-a * t**2 / 2)], -(t**2) / 2 * np.exp(-a * t**2 / 2)]
        np.testing.assert_allclose(np.hstack(found), np.hstack(slopes), rtol=1e-6, atol=1e-9)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("method", ["RK45", pytest.param("Radau", marks=pytest.mark.rest)])
def test_compiled_with_ends_that_are_arguments(method):
    def f(t, a):
        span = t[0], t[-1]
        found = si.solve_ivp(
            lambda s, y: [-a * s * y[0], y[0]], span, [1.0, 0.0], method, t, rtol=1e-9, atol=1e-9
        )
        return found.y[1]

    jitted, slopes = linad.jit(f), linad.jit(linad.jacobian(f, (0, 1)))
    for t in (np.linspace(0.0, 1.0, 3), np.linspace(0.2, 2.5, 3)):
        for a in (0.5, 1.5):
            np.testing.assert_allclose(jitted(t, a), f(t, a), rtol=1e-7)
        for found, wanted in zip(slopes(t, 0.5), linad.jacobian(f, (0, 1))(t, 0.5), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)
    for made in (jitted, slopes):
        assert all(len(paths) == 1 for paths in made.variants.values())


@pytest.mark.full
def test_compiled_fields_that_python_decides_on():
    """A field that branches on the time."""

    def f(a):
        def field(t, y):
            return -a * y if t < 0.5 else -2 * a * y

        return si.solve_ivp(field, (0.0, 1.0), [1.0], t_eval=[0.5, 1.0], rtol=1e-9, atol=1e-12).y[0]

    jitted = linad.jit(linad.jacobian(f))
    expected = [-0.5 * np.exp(-0.5), -1.5 * np.exp(-1.5)]
    for _ in range(3):
        np.testing.assert_allclose(jitted(1.0), expected, rtol=1e-5)


@pytest.mark.usefixtures("kernels")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("method", ["RK23", pytest.param("RK45", marks=pytest.mark.full)])
def test_rejected_attempts_of_fields_that_decide_have_no_part_in_the_derivative(method):
    """A tank that runs dry: attempts with too long a step come to the root of what is negative."""

    def level(k):
        def field(t, y):
            inflow = k if t < 1.0 else 0.0
            return [inflow - np.sqrt(y[0] - 0.2), y[0]]

        times = np.linspace(0.1, 2.0, 5)
        found = si.solve_ivp(field, (0.0, 2.0), [0.5, 0.0], method, t_eval=times)
        return np.sum(found.y[0, :3])

    slope = linad.grad(level)(0.5)
    assert np.isfinite(slope)
    assert linad.jit(linad.grad(level))(0.5) == pytest.approx(slope, rel=1e-9)


@pytest.mark.usefixtures("kernels")
def test_compiled_fields_that_cannot_be_solved():
    def blows_up(a):
        found = si.solve_ivp(lambda t, y: a * y**2, (0.0, 2.0), [1.0], t_eval=[0.5, 1.9])
        return found.y, found.status

    jitted = linad.jit(blows_up)
    for _ in range(3):
        y, status = jitted(1.0)
        assert status == -1
        assert y.shape == (1, 1)


@pytest.mark.parametrize("method", [pytest.param(m, marks=pytest.mark.rest) for m in METHODS])
@pytest.mark.usefixtures("kernels")
def test_compiled_solutions_that_end_early(method):
    """The last attempt is none of the steps that are kept: what it says counts."""

    def solved(a):
        found = si.solve_ivp(lambda t, y: a * y**2, (0.0, 2.0), [1.0], method=method)
        return found.t[-1], found.status, found.success

    for values in ((0.3, 1.1, 0.6, 1.0, 0.3), (0.7, 0.3, 5.0)):
        jitted = linad.jit(solved)
        for a in values:
            t, status, success = jitted(a)
            expected = scipy.integrate.solve_ivp(
                lambda t, y, a=a: a * y**2, (0.0, 2.0), [1.0], method=method
            )
            assert (status, success) == (expected.status, expected.success)
            np.testing.assert_allclose(t, expected.t[-1], rtol=1e-9)


def solve(*args, **options):
    return lambda y0: si.solve_ivp(*[y0 if a is Y0 else a for a in args], **options).y


@pytest.mark.parametrize("method", ["Radau", *[pytest.param(m, **LONG) for m in ("BDF", "LSODA")]])
@pytest.mark.parametrize("t_eval", [None, pytest.param(TIMES, **LONG)], ids=["steps", "times"])
def test_implicit_methods(method, t_eval, monkeypatch):
    """Stiff: the components decay at rates of 1 and 1000. The steps are taken one by one."""
    monkeypatch.setattr(replays, "MANY", 10**6)
    stiff = np.array([[-1.0, 0.5], [0.0, -1000.0]])

    def f(m, y, a):
        options = {"method": method, "rtol": 1e-5, "atol": 1e-8}
        return m.solve_ivp(linear, (0, 2), y, t_eval=t_eval, args=(a,), **options).y[:, -1]

    expected = f(scipy.integrate, Y0, stiff)
    np.testing.assert_array_equal(f(si, Y0, stiff), expected)
    direction = (np.array([0.3, 1.0]), np.array([[0.2, 1.0], [0.0, -30.0]]))
    y, dy = linad.jvp(lambda y, a: f(si, y, a), (Y0, stiff), direction)
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    exact = linad.jvp(solution, (Y0, stiff), direction)[1]
    np.testing.assert_allclose(dy, exact, rtol=1e-4, atol=1e-6)


WAYS = [{"t_eval": TIMES}, {}, {"dense_output": True}, {"events": lambda t, y, a, b: y[0] - 0.9}]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "method, ways",
    [
        ("RK45", WAYS[:1]),
        *[
            pytest.param(m, WAYS[k:n], **LONG)
            for m, k, n in (("RK45", 1, 4), ("DOP853", 0, 2), ("BDF", 0, 2))
        ],
    ],
)
def test_loops_over_the_steps(method, ways, monkeypatch):
    """Recorded once and compiled, they take the same steps as one by one."""

    def run(a, **options):
        r = si.solve_ivp(
            *(volterra, (0.0, 2.0), np.array([1.0, 0.5]), method),
            **(options | {"args": (a, 0.4), "rtol": 1e-6, "max_step": 0.2}),
        )
        counts.append(r.nfev)
        return r.y, a * r.t, a * r.sol(0.77) if r.sol is not None else a

    counts = []
    for options in ways:
        found = []
        for many in (0, 10**6):
            monkeypatch.setattr(replays, "MANY", many)
            found.append(linad.jvp(lambda a, options=options: run(a, **options), (0.7,), (1.0,)))
        for (one, slope), (other, another) in [found]:
            for v, w in zip((*one, *slope), (*other, *another), strict=True):
                np.testing.assert_allclose(v, w, rtol=1e-9, atol=1e-11)
        assert counts[-1] == counts[-2]


def test_steps_one_by_one_where_python_decides(monkeypatch):
    monkeypatch.setattr(replays, "MANY", 0)

    def f(a):
        def field(t, y):
            return -a * y if t < 0.5 else -2 * a * y

        return si.solve_ivp(field, (0.0, 1.0), [1.0], max_step=0.25, rtol=1e-8).y[0, -1]

    np.testing.assert_allclose(linad.derivative(f)(1.0), -1.5 * np.exp(-1.5), rtol=1e-3)


def falls(t, y, g):
    return np.stack([y[1], -g])


def lands(t, y, g):
    return y[0]


lands.terminal = True


def fallen(p, method="RK45"):
    """When and how fast a stone lands, by events and by the end."""
    r = si.solve_ivp(
        *(falls, (0, 9.0), [p[0], 0 * p[0]], method),
        events=[lands],
        args=(p[1],),
        rtol=1e-6,
        atol=1e-8,
    )
    return np.stack([r.t_events[0][0], r.t[-1], r.y_events[0][0, 1], r.y[1, -1]])


@pytest.mark.parametrize("method", ["RK45", pytest.param("Radau", **LONG)])
def test_events(method):
    """From a height h it lands after sqrt(2 h / g), with the speed sqrt(2 h g)."""

    def exact(p):
        time = np.sqrt(2 * p[0] / p[1])
        return np.stack([time, time, -p[1] * time, -p[1] * time])

    p = np.array([3.0, 9.81])
    f = lambda p: fallen(p, method)  # noqa: E731
    y, J = linad.linearize(f, p)
    np.testing.assert_allclose(y, exact(p), rtol=1e-6)
    np.testing.assert_allclose(J.todense(), linad.jacobian(exact)(p), rtol=1e-5)
    found = linad.jacobian(linad.jacobian(f))(p)
    np.testing.assert_allclose(found, linad.jacobian(linad.jacobian(exact))(p), rtol=1e-4)


def test_solutions_as_functions_and_traced_times():
    def f(t):
        r = si.solve_ivp(
            *(linear, (0.1 * t[0], 2 * t[1]), Y0),
            dense_output=True,
            args=(A,),
            rtol=1e-9,
            atol=1e-11,
        )
        times = np.stack([t[0], 0.5 * t[1]])
        return np.concatenate([r.y[:, -1], r.sol(times).ravel(), r.sol(1.1), r.t[-1:]])

    def exact(t):
        states = [solution(Y0, A, s - 0.1 * t[0]) for s in (2 * t[1], t[0], 0.5 * t[1], 1.1)]
        middle = np.stack(states[1:3], axis=1).ravel()
        return np.concatenate([states[0], middle, states[3], 2 * t[1:]])

    t = np.array([0.7, 0.9])
    np.testing.assert_allclose(linad.linearize(f, t)[0], exact(t), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(linad.jacobian(f)(t), linad.jacobian(exact)(t), rtol=1e-5, atol=1e-6)


ERRORS = {
    "method": (solve(linear, (0, 1), Y0, "Euler", args=(A,)), UnsupportedError, "Radau"),
    "tolerance": (
        lambda y: si.solve_ivp(linear, (0, 1), y, rtol=1e-3 * y[0], args=(A,)).y,
        *(UnsupportedError, "tolerances"),
    ),
    "shape": (solve(lambda t, y: y[:1], (0, 1), Y0), ShapeError, "returns 1"),
    "matrix": (lambda y: si.solve_ivp(linear, (0, 1), y[None], args=(A,)).y, ShapeError, "vector"),
    "odeint t": (lambda y: si.odeint(lambda y, t: y, y, [0, 1, 0.5]), ValueError, "increasing"),
    "odeint traced t": (lambda y: si.odeint(lambda y, t: y, y, 2 * y[None]), ValueError, "vector"),
    "odeint y0": (
        lambda y: si.odeint(lambda y, t: y, y * 1j, [0, 1]),
        TypeError,
        "y0 must be real",
    ),
    "odeint field": (
        lambda y: si.odeint(lambda y, t: y * 1j, y, [0, 1]),
        TypeError,
        "func returns",
    ),
    "odeint Dfun": (
        lambda y: si.odeint(lambda y, t: y, y, [0, 1], Dfun=lambda y, t: 1),
        UnsupportedError,
        "Dfun",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    f, error, words = ERRORS[name]
    with pytest.raises(error, match=words):
        linad.linearize(f, Y0)


@pytest.mark.parametrize(
    "options, words",
    [
        ({}, "solve_ivp without t_eval returns as many states as it takes steps"),
        ({"dense_output": True}, "dense_output is a program of its own for each set of steps"),
        ({"events": lambda t, y: y[0] - 0.5}, "with events is a program of its own"),
    ],
)
def test_why_one_program_does_not_do(options, words):
    """The line decides nothing: what the warning says is what solve_ivp does."""

    @linad.jit
    def end(k):
        return si.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], **options).y[0, -1]

    with linad.config(variants=1):
        end(1.0)
        with pytest.warns(UserWarning, match=words) as seen:
            end(30.0)
    assert "np.where" not in str(seen[0].message)


def test_why_one_program_of_a_gradient_does_not_do():
    """Recorded steps that repeat become a loop, and name their own lines in it too."""

    def late(k):
        made = si.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], rtol=1e-6, dense_output=True)
        return made.sol(0.4 + 0.1 * k)[0]

    gradient = linad.jit(linad.grad(late))
    with linad.config(variants=1):
        gradient(1.0)
        with pytest.warns(UserWarning, match="dense_output is a program of its own") as seen:
            gradient(1.5)
    assert "made = si.solve_ivp" in str(seen[0].message)


def test_times_for_a_span():
    def solved(k):
        return linad.scipy.integrate.solve_ivp(lambda t, y: -k * y, np.linspace(0, 1, 5), [1.0])

    with pytest.raises(ValueError, match="t_span must be two numbers, .* got 5; .* are t_eval="):
        linad.grad(lambda k: solved(k).y[0, -1])(2.0)


def test_args_that_are_no_tuple():
    def solved(k):
        return linad.scipy.integrate.solve_ivp(lambda t, y, k: -k * y, (0, 1), [1.0], args=k)

    with pytest.raises(TypeError, match=r"solve_ivp: args must be a tuple, as \(k,\), got .*2\.0"):
        linad.grad(lambda k: solved(k).y[0, -1])(2.0)

    def alone(k):
        return linad.scipy.integrate.odeint(lambda y, t, k: -k * y, 1.0, [0, 1.0], args=k)[-1, 0]

    np.testing.assert_allclose(linad.grad(alone)(2.0), -np.exp(-2.0), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
class TestARightSideThatIsNoNumber:
    """SciPy's explicit methods never end there, its implicit ones raise."""

    @pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
    @pytest.mark.parametrize("bad", [-1.0, 0.0])
    def test_at_the_start(self, method, bad):
        def end(k):
            rate = 1 / k - 1 / k if bad == 0.0 else np.sqrt(k)
            found = si.solve_ivp(lambda t, y: -rate * y, (0, 1), [1.0, 2.0], method, [0.5, 1.0])
            assert found.success is not (k == bad)
            return found.y

        assert np.isnan(end(np.float64(bad))).all()
        y, J = linad.linearize(end, bad)
        assert y.shape == (2, 2)
        assert np.isnan(y).all()
        assert np.isnan(J.todense()).all()

    @pytest.mark.usefixtures("kernels")
    def test_in_a_program(self):
        @linad.jit
        def end(k):
            return si.solve_ivp(lambda t, y: -np.sqrt(k) * y, (0, 1), [1.0], t_eval=[1.0]).y[0, 0]

        for k in (1.0, 4.0, -1.0, -2.0, 1.0):
            np.testing.assert_allclose(end(k), np.exp(-np.sqrt(k)), rtol=1e-2)

    def test_without_times(self):
        found = si.solve_ivp(lambda t, y: y * np.nan, (2, 3), [1.0], events=lambda t, y: y[0])
        assert (found.t, found.y, found.status) == ([2.0], [[1.0]], -1)
        assert found.t_events[0].size == 0
        assert "infinite or NaN at the start, t = 2" in found.message

    def test_nothing_is_returned(self):
        with pytest.raises(linad.errors.OutputError, match="fun returned None; return the deriva"):
            si.solve_ivp(lambda t, y: None, (0, 1), [1.0])
        with pytest.raises(linad.errors.OutputError, match="fun returned None; return the deriva"):
            linad.grad(lambda k: si.solve_ivp(lambda t, y: None, (0, 1), k * np.ones(1)).y[0, -1])(
                1.0
            )


def test_a_sparsity_that_is_made_while_a_program_is_recorded():
    def f(a):
        y = si.solve_ivp(
            *(lambda t, y: -a * y, (0, 1), [1.0, 2.0], "BDF"), jac_sparsity=linad.numpy.eye(2)
        ).y
        return y[:, -1]

    np.testing.assert_allclose(linad.jit(f)(0.7), f(0.7), rtol=1e-12)


def test_right_sides_with_a_memory_are_refused():
    def heated(k):
        on = [True]

        def field(t, y):
            if y[0] < 0.5:
                on[0] = False
            if y[0] > 0.8:
                on[0] = True
            return [-k * y[0] if on[0] else k * (1 - y[0])]

        return si.solve_ivp(field, (0, 1), [1.0], rtol=1e-5).y[0, -1]

    with pytest.raises(linad.errors.ArgumentError, match="keeps something from one call"):
        linad.derivative(heated)(1.0)
