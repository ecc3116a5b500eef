"""The user's functions: values, containers, nesting, independence of repeated calls."""

import dataclasses
import gc
import tracemalloc
from collections import namedtuple

import numpy as np
import pytest
from together import together

import linad
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
X = np.array([0.3, -0.7, 1.9])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_gradient(x):
    g = np.zeros_like(x)
    g[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    g[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return g


def test_linearize_gives_the_value_and_a_scipy_operator():
    y, J = linad.linearize(lambda x: np.sin(x) * x, X)
    slope = np.cos(X) * X + np.sin(X)
    np.testing.assert_array_equal(y, np.sin(X) * X)
    assert J.shape == (3, 3)
    np.testing.assert_allclose(J @ X, slope * X)
    np.testing.assert_allclose(J.T @ X, slope * X)
    np.testing.assert_allclose(J.todense(), np.diag(slope))


def test_grad_and_value_and_grad():
    value, gradient = linad.value_and_grad(rosenbrock)(X)
    assert value == rosenbrock(X)
    np.testing.assert_allclose(gradient, rosenbrock_gradient(X))
    np.testing.assert_array_equal(linad.grad(rosenbrock)(X), gradient)


def test_jvp_and_vjp():
    v = rng.standard_normal(3)
    y, dy = linad.jvp(np.exp, (X,), (v,))
    np.testing.assert_allclose(dy, np.exp(X) * v)
    y, pullback = linad.vjp(lambda a, b: a * b, X, v)
    abar, bbar = pullback(np.ones(3))
    np.testing.assert_array_equal(abar, v)
    np.testing.assert_array_equal(bbar, X)


def test_jacobian_hessian_and_their_operators():
    A = rng.standard_normal((4, 3))
    np.testing.assert_allclose(linad.jacobian(lambda x: A @ x)(X), A)
    wide = linad.jacobian(lambda x: np.outer(x, x))(X)
    assert wide.shape == (3, 3, 3)
    H = linad.hessian(rosenbrock)(X)
    np.testing.assert_allclose(H, linad.jacobian(rosenbrock_gradient)(X))
    v = rng.standard_normal(3)
    np.testing.assert_allclose(linad.hvp(rosenbrock, (X,), (v,)), H @ v)
    np.testing.assert_allclose(linad.hessian_operator(rosenbrock, X) @ v, H @ v)


def test_derivative_of_a_scalar_function_any_number_of_times():
    f = np.sin
    for expected in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin):
        f = linad.derivative(f)
        np.testing.assert_allclose(f(0.7), expected(0.7))
    np.testing.assert_allclose(linad.derivative(lambda t: np.stack([t, t**2]))(3.0), [1, 6])


# Arguments and containers.

Point = namedtuple("Point", ["x", "y"])


@dataclasses.dataclass
class Model:
    weight: np.ndarray
    bias: float


CONTAINERS = [
    ((X, X + 1), lambda p: p[0] * p[1]),
    ([X, np.float64(2.0)], lambda p: p[0] * p[1]),
    ({"b": X, "a": {"c": np.float64(2.0)}}, lambda p: p["b"] * p["a"]["c"]),
    (Point(X, X**2), lambda p: p.x * p.y),
    (Model(X, 2.0), lambda p: p.weight * p.bias),
    ((X, None), lambda p: p[0] ** 2),
]


@pytest.mark.parametrize("point, f", CONTAINERS)
def test_containers_of_arguments(point, f):
    gradient = linad.grad(lambda p: np.sum(f(p)))(point)
    assert type(gradient) is type(point)
    check_derivatives(f, point, order=1)
    y, J = linad.linearize(f, point)
    assert J.shape[0] == 3
    flat = J @ np.ones(J.shape[1])
    ones = linad.core.tree.unflatten(J.in_tree, [np.ones(s.shape) for s in J.in_slots])
    np.testing.assert_allclose(flat, J.pushforward(ones))


def test_containers_of_results():
    def f(x):
        return {"sum": np.sum(x), "parts": [x**2, Model(x, np.float64(1.0))]}

    y, J = linad.linearize(f, X)
    assert J.shape == (8, 3)
    dy = J.pushforward(np.ones(3))
    assert dy["sum"] == 3
    assert isinstance(dy["parts"][1], Model)
    np.testing.assert_array_equal(dy["parts"][0], 2 * X)
    np.testing.assert_allclose(J.pullback(dy), J.T @ (J @ np.ones(3)))
    # Dicts are ordered by key: parts, then sum.
    matrix = np.vstack([np.diag(2 * X), np.eye(3), np.zeros(3), np.ones(3)])
    np.testing.assert_allclose(J.todense(), matrix)


def test_argnums():
    def f(a, b, c):
        return np.sum(a * b**2) + c

    args = X, X + 1, 5.0
    np.testing.assert_allclose(linad.grad(f, 1)(*args), 2 * X * (X + 1))
    ga, gc_ = linad.grad(f, (0, -1))(*args)
    np.testing.assert_allclose(ga, (X + 1) ** 2)
    assert gc_ == 1
    y, J = linad.linearize(f, *args)
    assert J.shape == (1, 7)
    y, J = linad.linearize(f, *args, argnums=0)
    assert J.shape == (1, 3)
    block = linad.jacobian(f, (0, 1))(*args)
    assert [b.shape for b in block] == [(3,), (3,)]


def test_keyword_arguments_are_passed_through():
    assert linad.grad(lambda x, *, n: x**n)(2.0, n=3) == 12


def test_has_aux():
    def f(x):
        return np.sum(x**2), {"residual": x * 2, "words": "kept", "n": 3}

    (value, aux), g = linad.value_and_grad(f, has_aux=True)(X)
    assert value == np.sum(X**2)
    assert aux["words"] == "kept"
    np.testing.assert_array_equal(aux["residual"], 2 * X)
    g2, aux = linad.grad(f, has_aux=True)(X)
    np.testing.assert_array_equal(g, g2)
    y, pullback, aux = linad.vjp(f, X, has_aux=True)
    assert aux["n"] == 3
    y, dy, aux = linad.jvp(f, (X,), (X,), has_aux=True)
    assert aux["n"] == 3
    J, aux = linad.jacobian(f, has_aux=True)(X)
    np.testing.assert_array_equal(J, 2 * X)


def test_stop_gradient():
    assert linad.grad(lambda x: x * linad.stop_gradient(x))(3.0) == 3
    inner = linad.derivative(lambda x: linad.stop_gradient({"a": x * x})["a"] * x)
    assert linad.derivative(inner)(2.0) == 0
    assert float(linad.derivative(lambda x: x * float(linad.stop_gradient(x)))(3.0)) == 3


# Nesting.


def test_perturbations_are_not_confused():
    D = linad.derivative
    assert D(lambda x: x * D(lambda y: x + y)(1.0))(1.0) == 1
    assert D(lambda x: x * D(lambda y: x * y)(2.0))(3.0) == 6
    assert D(lambda x: D(lambda y: x * y * y)(x))(3.0) == 12
    assert linad.grad(lambda x: x * linad.grad(lambda y: x + y)(1.0))(1.0) == 1
    assert D(lambda x: x * linad.grad(lambda y: x + y)(1.0))(1.0) == 1
    assert linad.grad(lambda x: x * D(lambda y: x + y)(1.0))(1.0) == 1


@pytest.mark.parametrize("outer", [linad.derivative, linad.grad, lambda f: linad.jacobian(f)])
@pytest.mark.parametrize("inner", [linad.derivative, linad.grad, lambda f: linad.jacobian(f)])
def test_any_order_of_nesting(outer, inner):
    f = lambda x: np.exp(2 * x) * np.sin(x)  # noqa: E731
    x = 0.4
    second = np.exp(2 * x) * (3 * np.sin(x) + 4 * np.cos(x))
    np.testing.assert_allclose(outer(inner(f))(x), second)


def test_derivatives_inside_a_differentiated_function():
    def newton_step(x):
        g, H = linad.grad(rosenbrock)(x), linad.hessian(rosenbrock)(x)
        return x - np.linalg.solve(H, g)

    check_derivatives(newton_step, X, order=1, rtol=1e-6)

    def operator_inside(x):
        y, J = linad.linearize(np.sin, x)
        return J.pullback(J.pushforward(y)) + J.T @ (J @ x)

    check_derivatives(operator_inside, X)


def test_linear_in_its_seed_and_differentiable_in_it():
    J = linad.linearize(lambda x: np.sin(x) * x, X)[1]
    check_derivatives(J.pushforward, X)
    check_derivatives(J.pullback, X)
    check_derivatives(lambda v: J @ v, X)


def test_closures_control_flow_and_recursion():
    def power(x, n):
        return np.ones_like(x) if n == 0 else x * power(x, n - 1)

    np.testing.assert_allclose(linad.grad(lambda x: np.sum(power(x, 5)))(X), 5 * X**4)

    def bisect_like(x):
        k = 0
        while x < 100:
            x, k = x * x + 1, k + 1
        return x if k % 2 else -x

    check_derivatives(bisect_like, np.float64(1.3))

    def guarded(x):
        try:
            if x[0] > 0:
                raise ValueError
            return x
        except ValueError:
            return x * 3

    np.testing.assert_array_equal(linad.jacobian(guarded)(X), 3 * np.eye(3))


# Independence.


def test_pullbacks_are_pure():
    y, pullback = linad.vjp(lambda x: np.sin(x) * np.sum(x), X)
    seeds = rng.standard_normal((20, 3))
    first = [pullback(s)[0] for s in seeds]
    linad.vjp(lambda x: np.exp(x), X)[1](seeds[0])
    for k in rng.permutation(20):
        np.testing.assert_array_equal(pullback(seeds[k])[0], first[k])
    np.testing.assert_array_equal(together(20, lambda k: pullback(seeds[k])[0]), first)


def test_results_belong_to_the_caller():
    y, J = linad.linearize(lambda x: (x, x.reshape(3, 1), np.sum(x)), X)
    seed = (np.ones(3), np.ones((3, 1)), 1.0)
    a, b, c = J.pushforward(X)
    a[:] = 7
    b[:] = 8
    np.testing.assert_array_equal(J.pushforward(X)[0], X)
    g = J.pullback(seed)
    g[:] = 5
    np.testing.assert_array_equal(seed[0], np.ones(3))
    identity = linad.linearize(lambda x: x, X)[1]
    v = np.ones(3)
    w = identity @ v
    w[:] = 0
    np.testing.assert_array_equal(v, 1)


def test_writing_into_the_point_later_does_not_change_the_operator():
    x = X.copy()
    y, J = linad.linearize(lambda x: x**2, x)
    before = J @ np.ones(3)
    x[:] = 100
    np.testing.assert_array_equal(J @ np.ones(3), before)


def test_seeds_with_leading_axes():
    y, J = linad.linearize(lambda x: np.outer(x, x)[:2], X)
    V = rng.standard_normal((4, 5, 3))
    W = rng.standard_normal((4, 5, 2, 3))
    np.testing.assert_allclose(J.pushforward(V)[1, 2], J.pushforward(V[1, 2]))
    np.testing.assert_allclose(J.pullback(W)[3, 4], J.pullback(W[3, 4]))


# Inputs as they come.

INPUTS = {
    "fortran": np.asfortranarray(rng.standard_normal((3, 4))),
    "strided": rng.standard_normal((6, 8))[::2, ::-2],
    "empty": np.zeros((0, 4)),
    "0-d": np.array(0.3),
    "scalar": 0.3,
    "float32": rng.standard_normal((3, 4)).astype(np.float32),
}


@pytest.mark.parametrize("x", INPUTS.values(), ids=INPUTS.keys())
def test_layouts(x):
    check_derivatives(lambda x: np.sin(x) * np.sum(x) + x, x)


def test_read_only_input():
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(linad.grad(lambda x: np.sum(x**2))(x), 2 * X)


def test_nan_and_inf_pass_through():
    x = np.array([np.nan, np.inf, 1.0])
    g = linad.grad(lambda x: np.sum(x**2))(x)
    np.testing.assert_array_equal(g, [np.nan, np.inf, 2.0])


def test_float32_stays_float32():
    x = X.astype(np.float32)
    y, J = linad.linearize(lambda x: np.tanh(2.0 * x) / (1 + x**2), x)
    assert J.dtype == np.float32
    assert (J @ x).dtype == (J.T @ x).dtype == np.float32
    assert linad.grad(lambda x: np.sum(x) * 0.5)(x).dtype == np.float32


def test_mixed_dtypes_follow_numpy():
    a, b = X.astype(np.float32), X
    ga, gb = linad.grad(lambda a, b: np.sum(a * b), (0, 1))(a, b)
    assert ga.dtype == np.float32
    assert gb.dtype == np.float64


def test_complex():
    z = X + 1j * X[::-1]
    y, J = linad.linearize(lambda z: (3 + 1j) * z**2, z)
    slope = 2 * (3 + 1j) * z
    np.testing.assert_allclose(J.T @ np.ones(3), slope)
    np.testing.assert_allclose(J.H @ np.ones(3), np.conj(slope))
    # grad of a real function of z is the direction of steepest ascent.
    np.testing.assert_allclose(linad.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z)
    with pytest.raises(linad.errors.NotHolomorphicError, match="not holomorphic"):
        linad.linearize(np.conj, z)[1].todense()
    # A real input needs no such care.
    check_derivatives(lambda x: np.exp(1j * x) * x, X)


# Size.


@pytest.mark.rest
def test_a_long_tape_is_linear_and_not_recursive():
    def f(x):
        for _ in range(100_000):
            x = x * 1.0000001
        return x

    y, J = linad.linearize(f, np.float64(1.0))
    np.testing.assert_allclose([J.pullback(1.0), J.pushforward(1.0)], 1.0000001**100_000)


def test_memory_of_a_sweep():
    n = 100_000

    def f(x):
        for _ in range(300):
            x = x * 1.001
        return x

    x = np.ones(n)
    gc.collect()
    tracemalloc.start()
    y, J = linad.linearize(f, x)
    held = tracemalloc.get_traced_memory()[0]
    J.pullback(x)
    J.pushforward(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # No residuals here: a handful of arrays, not three hundred.
    assert held < 4 * x.nbytes
    assert peak < 8 * x.nbytes


def test_unused_work_is_dropped_from_the_operator():
    def f(x):
        np.exp(x) * np.sin(x)
        return 2 * x

    y, J = linad.linearize(f, X)
    J.pushforward(X)
    assert len(J.steps) == 1


@pytest.mark.parametrize("compiled", [False, True])
def test_tangents_side_by_side(compiled):
    def f(a, b):
        return a @ b, {"sum": b}

    A, b = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 0.5])
    _, J = linad.linearize(linad.jit(f) if compiled else f, A, b)
    y, beside = J.pushforward(A, b)
    np.testing.assert_allclose(y, 2 * A @ b)
    np.testing.assert_array_equal(beside["sum"], b)
    together = J.pushforward((A, b))
    np.testing.assert_array_equal(y, together[0])
    back = J.pullback(np.ones(2), {"sum": b})
    for part, whole in zip(back, J.pullback((np.ones(2), {"sum": b})), strict=True):
        np.testing.assert_array_equal(part, whole)
    with pytest.raises(linad.errors.TreeError, match="tangent: the container is"):
        J.pushforward(A, b, b)
