"""The course of a call of a jitted function that no short way knows."""

import numpy as np
import pytest

import linad
from linad.errors import TracerError
from linad.jit import specializations
from linad.jit.long_calls import LongCall
from linad.jit.signature import Signature
from linad.operators.provided import OTHER

X = np.array([0.5, -1.0, 2.0])


def call_of(jitted, *args):
    return LongCall(jitted, Signature(*jitted.static.flatten(args, {}), jitted.narrow))


def bent(x):
    return np.sin(x) if x[0] > 0 else np.cos(x)


def test_paths_are_recorded_where_python_decides_anew():
    jitted = linad.jit(bent)
    for x, count in ((X, 1), (X, 1), (-X, 2), (-X, 2)):
        np.testing.assert_allclose(call_of(jitted, x).run((x,), {}), bent(x), rtol=1e-15)
        assert len(call_of(jitted, x).paths) == count


def test_a_path_is_found_without_a_run():
    jitted = linad.jit(bent)
    path = call_of(jitted, X).path()
    assert call_of(jitted, X).path() is path
    assert call_of(jitted, -X).path() is not path
    with pytest.raises(TracerError, match="a program of its own needs plain arrays"):
        linad.grad(lambda x: np.sum(x) * len(call_of(jitted, x).path().results))(X)


def test_a_derivative_takes_the_paths_of_values():
    jitted = linad.jit(bent)
    for x in (X, -X):
        np.testing.assert_allclose(
            linad.grad(lambda x: np.sum(jitted(x)))(x), linad.grad(lambda x: np.sum(bent(x)))(x)
        )
    assert len(call_of(jitted, X).paths) == 2


def test_python_numbers_become_part_of_the_program_beside_single_precision():
    jitted = linad.jit(lambda x: x * np.float32(2) * np.ones(2, np.float32))
    assert jitted(3.0).dtype == (3.0 * np.float32(2) * np.ones(2, np.float32)).dtype
    assert jitted.narrow


def test_the_way_is_shortened_from_the_second_call_on():
    jitted = linad.jit(lambda x: x * 2)
    jitted(X)
    assert jitted._short is None
    jitted(X)
    assert jitted._short is not None
    np.testing.assert_array_equal(jitted._short((X,)), X * 2)


def test_the_way_is_shortened_around_steps_in_numpy():
    jitted = linad.jit(lambda x, y: {"sums": np.logaddexp.accumulate(x) * y[0], "last": x[-1] * 2})
    for k in range(5):
        found = jitted(X + k, (2.0 * X,))
        np.testing.assert_allclose(found["sums"], np.logaddexp.accumulate(X + k) * 2 * X)
        assert found["last"] == 2 * (X[-1] + k)
        assert np.ndim(found["last"]) == 0
    assert jitted._short is not None
    assert not hasattr(jitted._short, "entry")  # the steps need Python
    assert jitted._short((X[1:], (X,))) is OTHER


def test_a_step_that_raises_does_so_for_the_function():
    met = []

    @linad.primitive
    def doubled(x):
        met.append(x)
        if x[0] < 0:
            raise ValueError("negative")
        return 2 * x

    doubled.jacobian(wrt=0)(lambda y, x: linad.operators.Diagonal(np.full(x.shape, 2.0)))
    jitted = linad.jit(lambda x: doubled(x) + 1.0)
    for _ in range(3):
        jitted(X)
    del met[:]
    np.testing.assert_array_equal(jitted(X), 2 * X + 1.0)
    assert len(met) == 1
    assert jitted._short((-X,)) is OTHER
    with pytest.raises(ValueError, match="negative"):
        jitted(-X)
    np.testing.assert_array_equal(jitted(X), 2 * X + 1.0)


def test_too_many_paths_run_uncompiled():
    jitted = linad.jit(lambda x: x * [k for k in range(1, 5) if x[0] >= k][-1])
    with linad.config(variants=2):
        for k in (1.0, 2.0):
            jitted(np.array([k]))
        with pytest.warns(UserWarning, match="took a new path through its Python decisions 2"):
            np.testing.assert_array_equal(jitted(np.array([3.0])), [9.0])
        np.testing.assert_array_equal(jitted(np.array([4.0])), [16.0])  # is said once


TIMES = np.linspace(0.0, 2.0, 9)


def fitted(x):
    """Levenberg and Marquardt's method, to its end: rounding decides there what is a descent."""
    data = x[0] * np.exp(-x[1] * TIMES) + 0.05 * np.sin(7 * TIMES)

    def residual(p):
        return p[0] * np.exp(-p[1] * TIMES) - data

    p, damping = np.ones(2, like=x), 1e-2
    r = residual(p)
    cost = r @ r
    step = 1.0
    while np.max(np.abs(step)) >= 1e-13:
        e = np.exp(-p[1] * TIMES)
        J = np.column_stack([e, -p[0] * TIMES * e])
        H = J.T @ J
        step = np.linalg.solve(H + damping * np.diag(np.diag(H)), -J.T @ r)
        new = residual(p + step)
        if new @ new < cost:
            p, r, cost = p + step, new, new @ new
            damping /= 10
        else:
            damping *= 10
    return p


@pytest.mark.usefixtures("kernels")
def test_decisions_may_hang_on_rounding():
    """A loop of a program may round otherwise than the steps that were recorded."""
    x, w = np.array([1.0, 0.3]), np.array([1.0, -2.0])
    J = linad.jacobian(fitted)(x)
    compiled = linad.jit(fitted)
    np.testing.assert_allclose(linad.vjp(compiled, x)[1](w)[0], w @ J, rtol=1e-6)
    np.testing.assert_allclose(linad.jvp(compiled, (x,), (w,))[1], J @ w, rtol=1e-6)
    pulled = linad.jit(lambda x: linad.vjp(fitted, x)[1](w)[0])
    for _ in range(2):
        np.testing.assert_allclose(pulled(x), w @ J, rtol=1e-6)


def summed(x, count=None):
    """A sum of terms whose number hangs on the values."""
    total = 0.0
    for k in range(count or 40 + int(linad.stop_gradient(x[0]))):
        even = hash(1 / (k + 0.3)) % 5 > 2  # without a period
        total = total + (np.sin(k * x[1]) if even else np.cos(x[2] + k) * x[1])
    return total


def test_long_paths_are_compiled_once_they_have_taken_as_long_as_that(monkeypatch):
    monkeypatch.setattr(specializations, "LONG", 50)
    jitted = linad.jit(summed)
    points = [np.array([first, 0.3, 0.7]) for first in (1.5, 4.5, 1.2)]
    for x in points:
        g = linad.grad(summed)(x)
        np.testing.assert_allclose(jitted(x), summed(x), rtol=1e-13)
        np.testing.assert_allclose(linad.grad(jitted)(x), g, rtol=1e-13)
        H = linad.hessian(summed)(x)
        np.testing.assert_allclose(linad.hessian(jitted)(x), H, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(linad.jit(linad.grad(summed))(x), g, rtol=1e-13)
    paths = call_of(jitted, points[0]).paths
    assert len(paths) == 2
    assert all(path.is_awaited and path.waited > 0 for path in paths)
    paths[0].waited = 1e3
    for _ in range(2):
        np.testing.assert_allclose(jitted(points[2]), summed(points[2]), rtol=1e-13)
    np.testing.assert_allclose(linad.grad(jitted)(points[0]), linad.grad(summed)(points[0]))
    assert [path.is_awaited for path in paths] == [False, True]


def test_long_paths_without_decisions_are_compiled_at_once(monkeypatch):
    monkeypatch.setattr(specializations, "LONG", 50)
    jitted = linad.jit(lambda x: summed(x, 40))
    x = np.array([0.0, 0.3, 0.7])
    for _ in range(2):
        jitted(x)
    assert not call_of(jitted, x).paths[0].is_awaited
