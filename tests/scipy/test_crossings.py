"""Right sides that jump, against SciPy's solutions at parameters beside."""

import numba
import numpy as np
import pytest
import scipy.integrate

import linad
from linad.errors import UnsupportedError
from linad.scipy import integrate as si

TIGHT = {"rtol": 1e-11, "atol": 1e-12}
FIT = {"rtol": 1e-8, "atol": 1e-10}


def friction(p, t, y):
    return [y[1], -p[0] * y[0] - p[1] * np.sign(y[1])]


def one_dose(p, t, y):
    return [(0.0 if t < p[1] else 2.0) - p[0] * y[0]]


def threshold(p, t, y):
    return [np.where(y[0] > p[1], -p[0] * y[0], -0.1 * p[0] * y[0])]


def three_ways(p, t, y):
    if y[0] > p[1]:
        k = p[0]
    elif y[0] > 0.7 * p[1]:
        k = 2 * p[1]
    else:
        k = 0.3 * p[0]
    return [-k * y[0]]


def on_where_both(p, t, y):
    return [-p[0] * y[0] - 0.3 * ((t > p[1]) & (y[0] < 0.9 * np.exp(-0.5 * t)))]


def steps(p, t, y):
    return [-p[0] * (1 + 0.5 * np.floor(2 * y[0])) - 0.1 * np.heaviside(y[0] - p[1], 0.5)]


def pulses(p, t, y):
    return [-p[0] * y[0] + np.heaviside(np.sin(9 * p[1] * t), 0.5) + (t % p[0])]


def rounded(p, t, y):
    return [-p[0] * np.rint(3 * y[0]) - np.trunc(2 * y[0]) * p[1] + np.copysign(0.1, y[0] - 0.5)]


def kinks(p, t, y):
    return [-4 * p[0] * np.maximum(y[0] - p[1], 0) - 0.1 * abs(y[0] - 0.4)]


def limits(p, t, y):
    return [-p[0] * np.clip(y[0], 0.4 * p[1], p[1]) - 0.2 * np.fmod(2 * y[0], 1.0)]


def table(p, t, y):
    return [-p[0] * np.array([0.2, 1.0, 2.0])[np.searchsorted(np.array([0.4, 0.7]), y[0])]]


def places(p, t, y):
    """Which of some numbers is largest, of what order, in which bin."""
    rivals = np.stack([p[1] - t * y, y * t, 0.3 + 0 * y])
    best = np.argmax(rivals, axis=0) + np.argmin(rivals[:, :1], axis=0, keepdims=True)[0]
    order = np.argsort(np.stack([y[0] * p[1], y[1] - 0.3]))
    tables = np.digitize(y, np.array([0.8, 0.5])) + (3 * y * p[1]).astype(int)
    return -p[0] * y * (1 + best) - 0.1 * order - 0.1 * tables


def angles(p, t, y):
    turned = np.arctan2(y[1], y[0]) + 0.5 * np.angle(-y[0] + 1j * y[1])
    near = np.isclose(y[1], 0.5 * p[0], atol=0.3)
    return [p[1] * y[1] - 0.1 * turned, -y[0] * p[0] + 0.2 * near - 0.1 * np.frexp(3 + 2 * y[0])[0]]


def twice(p, t, y):
    """Two bodies that turn at the same time, though not for the same reason."""
    return [y[2], y[3], -p[0] * y[0] - 0.1 * np.sign(y[2]), -1.2 * y[1] - p[1] * np.sign(y[3])]


PLACES = np.linspace(0, 1.6, 7)
HEIGHTS = np.sin(3 * PLACES) + 1.5


def table_at_delayed_times(p, t, y):
    return [p[0] * np.interp(t - p[1], PLACES, HEIGHTS) - p[1] * y[0]]


def one_surface_thrice(p, t, y):
    faster = 0.5 if y[0] > p[1] else 0.1
    return [-faster * y[0] - p[0] * np.where(y[0] <= p[1], 0.1, 1.0) - abs(y[0] - p[1])]


CASES = {
    "table at delayed times": (table_at_delayed_times, [1.1, 0.4], [1.0], 1.5),
    "one surface thrice": (one_surface_thrice, [0.5, 0.7], [1.0], 1.0),
    "friction": (friction, [4.0, 0.1], [1.0, 0.0], 2.5),
    "one dose": (one_dose, [1.2, 0.8], [1.0], 2.0),
    "threshold": (threshold, [1.3, 0.5], [1.0], 2.0),
    "three ways": (three_ways, [1.0, 0.7], [1.0], 2.0),
    "on where both": (on_where_both, [1.0, 0.7], [1.0], 2.0),
    "steps": (steps, [0.4, 1.2], [1.9], 2.0),
    "pulses": (pulses, [0.9, 0.7], [1.0], 2.0),
    "rounded": (rounded, [0.3, 0.2], [1.0], 1.5),
    "kinks": (kinks, [1.2, 0.6], [1.0], 2.0),
    "limits": (limits, [0.8, 0.7], [1.0], 2.0),
    "table": (table, [0.8, 0.7], [1.0], 1.5),
    "places": (places, [0.5, 0.9], [1.3, 1.0], 1.1),
    "angles": (angles, [2.5, 1.9], [1.0, 0.1], 2.0),
    "twice": (twice, [1.2, 0.1], [1.0, 1.0, 0.0, 0.0], 3.5),
}


def states(solver, case, p, options, method="RK45", span=None):
    field, _, y0, end = case
    span = (0, end) if span is None else span
    times = np.linspace(*span, 4)[1:]
    field_at = lambda t, y: field(p, t, y)  # noqa: E731
    return solver.solve_ivp(field_at, span, y0, method, t_eval=times, **options).y.ravel()


def differences(f, p):
    """The derivative of f, by differences of fourth order."""
    h, columns = 1e-4, []
    for e in h * np.eye(len(p)):
        columns.append((8 * (f(p + e) - f(p - e)) - (f(p + 2 * e) - f(p - 2 * e))) / (12 * h))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_know_that_the_time_of_a_jump_moves(name):
    case = CASES[name]
    p = np.array(case[1])
    told = linad.jacobian(lambda p: states(si, case, p, FIT))(p)
    seen = differences(lambda p: states(scipy.integrate, case, p, TIGHT, "DOP853"), p)
    np.testing.assert_allclose(told, seen, rtol=1e-5, atol=1e-5 * np.max(np.abs(seen)))


@pytest.mark.parametrize(
    "method", ["DOP853", *[pytest.param(m, marks=pytest.mark.rest) for m in ("RK23", "LSODA")]]
)
@pytest.mark.parametrize("span", [(0.0, 2.0), (0.0, -1.0)])
def test_all_methods_and_directions(method, span):
    case = threshold, None, [1.0] if span[1] > 0 else [0.4], None
    p = np.array([1.3, 0.5])
    told = linad.jacobian(lambda p: states(si, case, p, FIT, method, span))(p)
    seen = differences(lambda p: states(scipy.integrate, case, p, TIGHT, "DOP853", span), p)
    np.testing.assert_allclose(told, seen, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", ["RK45", "BDF"])
def test_a_start_on_a_jump(method):
    """The start moves along with the level: y = p exp(-a t / 10)."""
    field = lambda p, t, y: [np.where(y[0] >= p[1], -p[0] * y[0], -0.1 * p[0] * y[0])]  # noqa: E731

    def end(p):
        right = lambda t, y: field(p, t, y)  # noqa: E731
        return si.solve_ivp(right, (0, 1), [p[1]], method, **FIT).y[0, -1]

    exact = [-0.1 * 0.5 * np.exp(-0.13), np.exp(-0.13)]
    np.testing.assert_allclose(linad.grad(end)(np.array([1.3, 0.5])), exact, atol=1e-6)


def fallen(p, x, way=si.solve_ivp):
    """x' = -a above the level b, and -2 a below it, from 1: 1 - 2 a t + (1 - b), in the end."""
    a, b = p[0], p[1]
    return way(lambda t, y: [-a if y[0] > b else -2 * a], (0, 2), [1.0], t_eval=[x], **FIT).y[0, 0]


def test_higher_derivatives():
    """Behind the crossing x(t) = b - 2 a (t - (1 - b) / a) = 2 - b - 2 a t."""
    p = np.array([0.5, 0.6])
    np.testing.assert_allclose(linad.grad(fallen)(p, 1.5), [-3.0, -1.0], atol=1e-9)
    np.testing.assert_allclose(linad.hessian(fallen)(p, 1.5), np.zeros((2, 2)), atol=1e-7)

    def squared(p, t):  # y' = -y above b, y' = -2 y below: y = exp(-2 t) / b
        field = lambda t, y: np.where(y > p, -y, -2 * y)  # noqa: E731
        return si.solve_ivp(field, (0, 2), [1.0], t_eval=[t], **FIT).y[0, 0]

    third = linad.derivative(linad.derivative(linad.derivative(squared)))
    np.testing.assert_allclose(third(0.6, 1.5), -6 * np.exp(-3.0) / 0.6**4, rtol=1e-5)


@pytest.mark.usefixtures("kernels")
@pytest.mark.rest
def test_programs_know_it_too():
    p = np.array([0.5, 0.6])
    np.testing.assert_allclose(linad.grad(linad.jit(fallen))(p, 1.5), [-3.0, -1.0], atol=1e-8)
    np.testing.assert_allclose(linad.grad(linad.jit(fallen))(p, 0.5), [-0.5, 0.0], atol=1e-8)


def test_odeint_and_ode():
    times = np.array([0.0, 0.5, 1.5])

    def by_odeint(p):
        return si.odeint(lambda y, t: [np.where(y[0] > p[1], -p[0], -2 * p[0])], [1.0], times)[:, 0]

    told = linad.jacobian(by_odeint)(np.array([0.5, 0.6]))
    np.testing.assert_allclose(told, [[0, 0], [-0.5, 0], [-3.0, -1.0]], atol=1e-5)


def test_events_at_a_jump_and_behind_it():
    """The sign of a force changes where an event is: times and states are those of both sides."""

    def reach(y):
        def event(t, state):
            return state[0] - y

        return event

    def f(p):
        field = lambda t, y: [-p[0] if y[0] > p[1] else -2 * p[0]]  # noqa: E731
        found = si.solve_ivp(field, (0, 2), [1.0], events=[reach(p[1]), reach(0.2)], **FIT)
        return np.stack([*found.t_events[0], *found.t_events[1], found.y_events[0][0, 0]])

    a, b = 0.5, 0.6
    exact = [
        [-(1 - b) / a**2, -1 / a],
        [-(1 - b) / a**2 - (b - 0.2) / (2 * a**2), -1 / a + 1 / (2 * a)],
        [0, 1],
    ]
    np.testing.assert_allclose(linad.jacobian(f)(np.array([a, b])), exact, atol=1e-7)


def test_complex_states():
    """z' = i z up to the time p, and 2 i z behind it: z = exp(i (2 t - p))."""

    def end(p):
        field = lambda t, z: np.where(t < p, 1j * z, 2j * z)  # noqa: E731
        return si.solve_ivp(field, (0, 2), [1.0 + 0j], t_eval=[2.0], **FIT).y[0, 0].real

    np.testing.assert_allclose(linad.derivative(end)(0.5), np.sin(3.5), rtol=1e-6)


def test_a_dense_solution_and_traced_times():
    def f(p):
        field = lambda t, y: [-p[0] if y[0] > p[1] else -2 * p[0]]  # noqa: E731
        solved = si.solve_ivp(field, (0, p[2]), [1.0], dense_output=True, **FIT)
        return np.concatenate([solved.sol(np.array([0.5, 1.5]))[0], solved.y[0, -1:]])

    told = linad.jacobian(f)(np.array([0.5, 0.6, 1.8]))
    np.testing.assert_allclose(told, [[-0.5, 0, 0], [-3, -1, 0], [-3.6, -1, -1]], atol=1e-7)


@pytest.mark.rest
def test_a_block_that_comes_to_rest():
    """It slides v² / (2 μ) far, and stays there at rest."""

    def end(p):
        field = lambda t, y: [y[1], -p[0] * np.sign(y[1])]  # noqa: E731
        return si.solve_ivp(field, (0, 2), [0.0 * p[1], p[1]], t_eval=[2.0], rtol=1e-4).y[:, 0]

    told = linad.jacobian(end)(np.array([1.0, 1.3]))
    np.testing.assert_allclose(told, [[-(1.3**2) / 2, 1.3], [0, 0]], atol=1e-6)


@pytest.mark.rest
def test_a_block_whose_friction_is_told_twice():
    """It slides v² / (2 (μ + ν)) far; both are decided on one surface, by an if as well."""

    def end(p):
        def field(t, y):
            friction = p[0] if y[1] > 0 else -p[0]
            return [y[1], -friction - p[1] * np.where(y[1] > 0, 1.0, -1.0)]

        return si.solve_ivp(field, (0, 2), [0.0, 1.3], t_eval=[2.0], rtol=1e-4).y[:, 0]

    slope = -(1.3**2) / 2 / 1.0**2
    told = linad.jacobian(end)(np.array([0.6, 0.4]))
    np.testing.assert_allclose(told, [[slope, slope], [0, 0]], atol=1e-6)


def test_two_decisions_in_parameters_that_are_equal():
    """Which comes first is not known; of one parameter that is read twice it is."""

    def end(p, i):
        def field(t, y):
            first = 1.0 if t > p[0] else 0.0
            second = 2.0 if t > p[i] else 0.0
            return [first + second]

        return si.solve_ivp(field, (0, 2), [0.0], rtol=1e-6).y[0, -1]

    np.testing.assert_allclose(linad.grad(end)(np.array([1.0, 1.0]), 0), [-3.0, 0.0], rtol=1e-6)
    with pytest.raises(UnsupportedError, match=r"two things at the same time, t = 1,"):
        linad.grad(end)(np.array([1.0, 1.0]), 1)


@pytest.mark.rest
def test_a_block_that_is_torn_off():
    """A pull of k t sets it in motion at t = μ / k: v = k (t - μ / k)² / 2."""

    def end(p):
        field = lambda t, y: [p[1] * t - p[0] * np.sign(y[0])]  # noqa: E731
        options = {"t_eval": [0.3, 3.0], "rtol": 1e-4, "atol": 1e-3}
        return si.solve_ivp(field, (0, 3), [0.5 * p[0]], **options).y[0]

    k, mu = 1.0, 1.5
    told = linad.jacobian(end)(np.array([mu, k]))
    np.testing.assert_allclose(told[1], [-(3 - mu / k), (9 - (mu / k) ** 2) / 2], atol=1e-3)


def test_fixed_times_take_no_more():
    """Where no time moves the steps are those of SciPy, taken once more."""

    def f(a):
        field = lambda t, y: [-a * y[0] if t < 0.5 else -2 * a * y[0]]  # noqa: E731
        return si.solve_ivp(field, (0.0, 1.0), [1.0], max_step=0.25, rtol=1e-8).y[0, -1]

    np.testing.assert_allclose(linad.derivative(f)(1.0), -1.5 * np.exp(-1.5), rtol=1e-3)


def test_a_fine_table_that_is_read_at_fixed_times():
    """Many of its places within a step are nothing that a derivative has to know of."""
    places = np.linspace(0, 2, 2000)

    def end(p):
        field = lambda t, y: [p[0] * np.interp(t, places, 1 + places) - p[1] * y[0]]  # noqa: E731
        return si.solve_ivp(field, (0, 2), [1.0], t_eval=[2.0]).y[0, 0]

    def exact(p):  # y = (1 + t) a / b - a / b² + c exp(-b t)
        a, b = p
        return 3 * a / b - a / b**2 + (1 - a / b + a / b**2) * np.exp(-2 * b)

    p = np.array([1.03, 0.3])
    np.testing.assert_allclose(linad.grad(end)(p), linad.grad(exact)(p), rtol=1e-2)


def test_a_table_that_is_read_at_the_state():
    """Each place of it is decided on twice. With y' = -p u(y) the end moves by -u(y) t dp."""

    def end(p):
        field = lambda t, y: [-p * np.interp(y[0], PLACES, HEIGHTS)]  # noqa: E731
        return si.solve_ivp(field, (0, 1.5), [1.4], t_eval=[1.5], **FIT).y[0, 0]

    exact = -1.5 * np.interp(end(0.5), PLACES, HEIGHTS)
    np.testing.assert_allclose(linad.derivative(end)(0.5), exact, rtol=1e-5)


def test_a_right_side_of_infinite_slope():
    """It does not jump at y = 0, where what it is on the other side is not a number."""

    def end(p):
        field = lambda t, y: [-np.sign(y[0]) * np.sqrt(np.abs(y[0])) + p * np.sin(4 * t)]  # noqa: E731
        return si.solve_ivp(field, (0, 2.1), [0.5], t_eval=[2.1], **FIT).y[0, 0]

    seen = (end(0.3 + 1e-4) - end(0.3 - 1e-4)) / 2e-4
    np.testing.assert_allclose(linad.derivative(end)(0.3), seen, rtol=1e-3)


def test_a_jump_at_which_the_function_is_not_a_number_is_refused():
    def end(p):
        field = lambda t, y: [(t - p) / abs(t - p) - y[0]]  # noqa: E731
        return si.solve_ivp(field, (0, 2), [0.6], t_eval=[2.0], **FIT).y[0, 0]

    with pytest.raises(UnsupportedError, match=r"jumps at t = 0\.9, .* np\.sign\(x\)"):
        linad.grad(end)(0.9)


@linad.kernel
@numba.njit
def of_a_kernel(y, p):
    out = np.empty_like(y)
    for i in range(y.size):
        out[i] = -p[0] * y[i] if y[i] > p[1] else -0.1 * y[i]
    return out


def of_a_loop(y, p):
    def step(i, x):
        return np.where(x > p[1], p[0] * x, 0.9 * x)

    return -linad.fori_loop(0, 3, step, y)


def of_a_pole(y, p):
    return 0.2 * np.arctan(p[0] / (y - p[1])) - 0.6


@pytest.mark.parametrize("field", [of_a_kernel, of_a_loop, of_a_pole])
@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_jumps_that_are_not_seen_are_refused(field, method):
    def end(p):
        right = lambda t, y: field(y, p)  # noqa: E731
        return si.solve_ivp(right, (0, 3), [0.9], method, rtol=1e-6).y[0, -1]

    with pytest.raises(UnsupportedError, match=r"jumps at t = \d.*by what is not seen"):
        linad.grad(end)(np.array([0.7, 0.4]))


def test_a_program_warns_of_them():
    def end(p):
        right = lambda t, y: of_a_kernel(y, p)  # noqa: E731
        return si.solve_ivp(right, (0, 3), [0.9], t_eval=[3.0], rtol=1e-6).y[0, -1]

    p = np.array([0.7, 0.4])
    with pytest.warns(UserWarning, match=r"jumps at t = 1\.1\d.*derivatives without that"):
        np.testing.assert_allclose(linad.jit(end)(p), end(p), rtol=1e-6)


def test_jumps_at_fixed_times_that_are_not_seen():
    @linad.kernel
    @numba.njit
    def field(t, y, p):
        return -p * (1.0 if t < 1 else 2.0) * y

    def end(p):
        right = lambda t, y: field(np.float64(t), y, p)  # noqa: E731
        return si.solve_ivp(right, (0, 2), [1.0], **FIT).y[0, -1]

    np.testing.assert_allclose(linad.derivative(end)(0.7), -3 * np.exp(-2.1), rtol=1e-4)


def rooted(v):
    return np.sign(v) * np.sqrt(abs(v))


def steep(v):
    return np.tanh(v / 1e-6)


@pytest.mark.parametrize("field", [rooted, steep])
def test_steep_right_sides_are_no_jumps(field):
    def end(p):
        right = lambda t, y: [y[1], -p * y[0] - 0.1 * field(y[1])]  # noqa: E731
        return si.solve_ivp(right, (0, 4), [1.0, 0.0]).y[0, -1]

    assert np.isfinite(linad.derivative(end)(2.0))


@pytest.mark.rest
def test_last_digits_at_rest_are_no_jumps():
    def end(k):
        given = {"rtol": 1e-13, "atol": 1e-15, "method": "Radau"}
        right = lambda t, y: [0.1 - k * y[0], 0.3 * (0.7 * y[0] - y[1])]  # noqa: E731
        return si.solve_ivp(right, (0, 200), [1.0, 0.0], **given).y[0, -1]

    assert linad.grad(end)(1.0) == pytest.approx(-0.1, rel=1e-6)


def test_a_solution_of_which_the_steps_know_another():
    """SciPy's BDF is misled by a jump at its first step, and ends at -11."""

    def end(p):
        right = lambda t, y: [y[1], -p * y[0] - 0.1 * np.sign(y[1])]  # noqa: E731
        return si.solve_ivp(right, (0, 2.5), [1.0, 0.0], "BDF").y[0, -1]

    with pytest.warns(UserWarning, match=r"SciPy's solution by BDF is another than .* the steps"):
        linad.derivative(end)(4.0)


def test_what_is_not_known_is_refused():
    def both(p):
        def field(t, y):
            first = 0.1 if y[2] > 0 else -0.1
            second = p[1] if y[3] > 0 else -p[1]
            return [y[2], y[3], -p[0] * y[0] - first, -1.2 * y[1] - second]

        return si.solve_ivp(field, (0, 3.5), [1.0, 1.0, 0.0, 0.0], **FIT).y[0, -1]

    with pytest.raises(UnsupportedError, match=r"decides on two things .* if y\[2\] > 0"):
        linad.grad(both)(np.array([1.2, 0.1]))


def test_integers_of_which_it_is_not_known_what_they_depend_on():
    def f(p):
        field = lambda t, y: [-p * (1 + np.argpartition(np.stack([y[0], 0.5]), 0)[1])]  # noqa: E731
        return si.solve_ivp(field, (0, 1), [1.0], **FIT).y[0, -1]

    with pytest.raises(UnsupportedError, match=r"jumps at t = .*, by .*argpartition"):
        linad.grad(f)(1.0)

    def by_cast(p):
        field = lambda t, y: [-p * (1.0 + (2 * y[0]).astype(int))]  # noqa: E731
        return si.solve_ivp(field, (0, 1), [0.9], **FIT).y[0, -1]

    np.testing.assert_allclose(linad.grad(by_cast)(1.0), -1.0, rtol=1e-6)
