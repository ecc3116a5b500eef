"""Programs that once gave a wrong derivative, or took too long."""

import copy
import pickle

import numpy as np
import pytest

import linad

X = np.array([0.3, 0.5, 0.7])


def check_hessian(f, x):
    """The Hessian of ``f`` three ways, and its slope by central differences."""
    H = linad.hessian(f)(x)
    n = x.size
    columns = np.stack([linad.hvp(f, (x,), (e,)) for e in np.eye(n)], axis=-1)
    np.testing.assert_allclose(columns, H, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(linad.jacobian(lambda x: linad.grad(f)(x))(x), H, atol=1e-12)
    h = 1e-6
    slopes = [(linad.grad(f)(x + h * e) - linad.grad(f)(x - h * e)) / (2 * h) for e in np.eye(n)]
    np.testing.assert_allclose(H, np.stack(slopes), rtol=1e-7, atol=1e-7)


def test_a_cotangent_that_is_a_traced_view_is_not_written_into():
    # The cotangent of z is a broadcast array when the slice comes to add its own.
    check_hessian(lambda z: np.sum(np.sin(z[::2]) ** 2) * z.sum(), X)
    check_hessian(lambda z: np.sum(np.sin(z[[0, 2]]) ** 2) * z.reshape(3, 1).sum(), X)


def test_a_traced_view_as_cotangent_of_an_array_that_was_written():
    def f(z):
        y = z * z
        y[0] = np.sin(y[1])
        return np.sum(y[1:] * y[:2]) * y.reshape(3, 1).T.sum()

    check_hessian(f, X)


@pytest.mark.rest
def test_ten_thousand_leaves_take_no_longer_each_than_ten():
    # Names of leaves, and what shares memory with what, were once looked up pair by pair.
    leaves = [np.array([float(i), 1.0]) for i in range(10_000)]

    def f(leaves):
        for v in leaves:
            v *= v
        return leaves

    y, J = linad.linearize(f, leaves)
    flat = np.ones(J.shape[1])
    slope = 2 * np.concatenate(leaves)
    np.testing.assert_array_equal(J @ flat, slope)
    np.testing.assert_array_equal(J.T @ flat, slope)
    ones = [np.ones(2) for _ in leaves]
    assert len(J.pushforward(ones)) == len(J.pullback(ones)) == len(y)
    assert len(linad.jvp(f, (leaves,), (ones,))[1]) == len(leaves)
    assert len(linad.grad(lambda v: sum(np.sum(x) for x in v))(leaves)) == len(leaves)


def test_what_a_sweep_returns_shares_no_memory():
    def f(x):
        return x, x[:2], x[1:], x.reshape(3, 1)

    y, J = linad.linearize(f, X)
    for found in (J.pushforward(X), linad.jvp(f, (X,), (X,))[1]):
        for k, a in enumerate(found):
            assert not np.shares_memory(a, X)
            assert not any(np.shares_memory(a, b) for b in found[:k])
    w = tuple(np.ones_like(part) for part in y)
    assert not any(np.shares_memory(J.pullback(w), part) for part in w)


def test_real_results_of_complex_and_real_arguments_take_complex_cotangents():
    # Right, but with NumPy's warning of a lost imaginary part, which is an error under test.
    y, J = linad.linearize(lambda z, x: np.sin(x), np.array([1 + 2j]), X)
    u = np.array([1 + 2j, 3 - 1j, 0.5j])
    expected = np.concatenate([[0.0], np.cos(X) * u])
    np.testing.assert_allclose(J.T @ u, expected, rtol=1e-14)
    np.testing.assert_allclose(J.H @ u, expected, rtol=1e-14)


@linad.primitive
def cube(x):
    return x**3


@cube.jacobian(wrt=0)
def cube_wrt_x(y, x):
    return lambda dx: 3 * x**2 * dx, lambda ybar: 3 * x**2 * ybar


def test_tapes_can_be_pickled_and_copied():
    def f(x):
        y = cube(x)
        y[1:] = np.sort(y)[:2] * x[0]
        return {"y": y[[0, 2]], "s": np.where(y > 0, y, -y).sum()}

    y, tape = linad.trace(f, X)
    for again in (pickle.loads(pickle.dumps(tape)), copy.deepcopy(tape), copy.copy(tape)):
        assert str(again) == str(tape)
        again.check()
        found = linad.jvp(again, (X,), (X,))
        expected = linad.jvp(f, (X,), (X,))
        np.testing.assert_array_equal(found[0]["y"], y["y"])
        np.testing.assert_allclose(found[1]["y"], expected[1]["y"], rtol=1e-14)
        np.testing.assert_allclose(found[1]["s"], expected[1]["s"], rtol=1e-14)


def test_numpy_scalars_are_replaced_not_changed():
    """``s += 1`` gives another number, also where NumPy made the first; 0-d arrays change."""

    def f(s):
        before = s
        s += 1
        return before * s

    assert f(2.0) == f(np.float64(2.0)) == 6
    assert linad.value_and_grad(f)(2.0) == linad.value_and_grad(f)(np.float64(2.0)) == (6, 5)
    assert linad.value_and_grad(f)(np.array(2.0)) == (f(np.array(2.0)), 6)
