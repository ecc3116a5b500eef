"""Derivatives of compiled calls, pushed and pulled by one function with the residuals in it."""

import pickle

import numpy as np
import pytest
from together import together

import linad
from linad.errors import DTypeError, ShapeError, TreeError

X, Y = np.linspace(0.3, 1.1, 5), np.linspace(2.0, 3.0, 5)
CALLS = 4  # the general way, the one that writes the function, and two by it


def mixed(p):
    x, y = p["x"], p["y"]
    return {"a": (x * np.sin(y), np.sum(x * x)), "b": [y[1:] * x[0]]}


POINT = {"x": X, "y": Y}
SEED = {"a": (np.ones(5), np.array(2.0)), "b": [np.full(4, 3.0)]}


def bound(J):
    """What is known of the way for pullbacks."""
    return J.__dict__["_swept"]


def test_containers():
    expected_y, plain = linad.vjp(mixed, POINT)
    y, pullback = linad.vjp(linad.jit(mixed), POINT)
    for _ in range(CALLS):
        (expected,), (found,) = plain(SEED), pullback(SEED)
        assert list(found) == ["x", "y"]
        np.testing.assert_allclose(found["x"], expected["x"], rtol=1e-14)
        np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-14)
    assert callable(bound(pullback.__self__)["pull", ()])


def test_both_ways():
    y, J = linad.linearize(linad.jit(mixed), POINT)
    expected = linad.jvp(mixed, (POINT,), (POINT,))[1]
    for _ in range(CALLS):
        found = J.pushforward(POINT)
        np.testing.assert_allclose(found["a"][0], expected["a"][0], rtol=1e-14)
        np.testing.assert_allclose(found["b"][0], expected["b"][0], rtol=1e-14)
        assert type(found["a"][1]) is type(expected["a"][1])
    assert callable(bound(J)["push", ()])


@pytest.mark.parametrize("shape", [(5,), ()])
def test_seeds_side_by_side(shape):
    x = np.linspace(0.3, 1.1, 5).reshape(shape) if shape else np.array(0.7)
    _, J = linad.linearize(linad.jit(lambda x: np.sin(x) * x), x)
    for count in (2, 3, 2):
        seeds = np.arange(1.0, 1.0 + count * x.size).reshape(count, *shape)
        for _ in range(CALLS):
            found = J.pullback(seeds)
            np.testing.assert_allclose(found, [J.pullback(s) for s in seeds], rtol=1e-14)
            np.testing.assert_allclose(J.pushforward(seeds), found, rtol=1e-14)
        assert callable(bound(J)["pull", (count,)])
        found[:] = 0.0
        assert J.pullback(seeds).any()


def test_results_are_new():
    y, pullback = linad.vjp(linad.jit(lambda x: x * np.sin(x)), X)
    found = [pullback(X)[0] for _ in range(CALLS)]
    found[-1][:] = 0
    np.testing.assert_array_equal(found[0], found[-2])
    assert found[0].any()


@pytest.mark.parametrize("seed", [1, 1.0, np.float64(1), np.ones(()), True, np.int64(1)], ids=repr)
@pytest.mark.parametrize("first", [1, 1.0, np.ones(())], ids=repr)
def test_numbers(first, seed):
    y, pullback = linad.vjp(linad.jit(lambda x: np.sum(np.sin(x))), X)
    y, plain = linad.vjp(lambda x: np.sum(np.sin(x)), X)
    for _ in range(CALLS):
        pullback(first)
    if seed is True:
        with pytest.raises(DTypeError):
            pullback(seed)
    else:
        np.testing.assert_allclose(pullback(seed)[0], plain(seed)[0], rtol=1e-14)


def test_other_seeds():
    y, J = linad.linearize(linad.jit(lambda x: x * np.sin(x)), X)
    expected = J.pullback(X)
    for _ in range(CALLS):
        J.pullback(X)
    many = np.stack([X, 2 * X])
    np.testing.assert_allclose(J.pullback(many), np.stack([expected, 2 * expected]), rtol=1e-14)
    np.testing.assert_allclose(J.pullback(many.T.copy().T[0]), expected, rtol=1e-14)
    np.testing.assert_allclose(J.pullback(X[::-1]), J.pullback(X[::-1].copy()), rtol=1e-14)
    assert J.pullback(X.astype(np.float32)).dtype == float
    with pytest.raises(ShapeError, match="cotangent"):
        J.pullback(np.ones(4))
    with pytest.raises(DTypeError, match="cotangent"):
        J.pullback(X + 1j)
    slope = linad.grad(lambda w: np.sum(J.pullback(w) ** 2))(X)
    np.testing.assert_allclose(slope, 2 * J.pullback(J.pullback(X)), rtol=1e-13)


def test_containers_of_another_kind():
    y, pullback = linad.vjp(linad.jit(lambda x: (x * x, np.sum(x))), X)
    for _ in range(CALLS):
        with pytest.raises(TreeError, match="cotangent"):
            pullback([X, np.array(1.0)])
        pullback((X, np.array(1.0)))
    with pytest.raises(TreeError, match="cotangent"):
        pullback([X, np.array(1.0)])


def test_threads_and_pickles():
    y, J = linad.linearize(linad.jit(lambda x: x * np.exp(x)), X)
    expected = J.pullback(X)
    for _ in range(CALLS):
        J.pullback(X)
    found = together(4, lambda _: [J.pullback(X) for _ in range(200)])
    assert all(np.array_equal(g, expected) for results in found for g in results)
    op = J.steps[1][1][0][1]
    assert "_swept" not in pickle.loads(pickle.dumps(linad.eye(3) @ linad.eye(3))).__dict__
    assert "_swept" not in op.__getstate__()
    assert "_swept" not in J.__getstate__()


def test_errors_as_numpy_reports_them():
    y, pullback = linad.vjp(linad.jit(lambda x: np.sqrt(x)), X)
    for _ in range(CALLS):
        pullback(X)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        pullback(np.full(5, 1e308) * np.array([1, 1, 1, 1, 1.0]) * 10)
    with np.errstate(over="raise"):
        np.testing.assert_allclose(pullback(X)[0], X / (2 * np.sqrt(X)), rtol=1e-14)


def test_what_depends_on_nothing_is_pulled_back_as_zeros():
    f = linad.jit(lambda x: linad.stop_gradient(np.round(x[0])))
    for _ in range(3):
        _, J = linad.linearize(f, np.array([1.2, 3.0]))
        assert not np.any(J.H @ np.eye(1))
        assert not np.any(J @ np.eye(2))


@np.errstate(divide="ignore", invalid="ignore")
def test_what_nobody_pulls_has_no_part():
    """What becomes of an argument is a result of the program; infinite slopes of it are not met."""

    def f(x, a):
        y = x.cumprod() ** 3
        x /= a
        return y

    x, a = np.array([0.4, -1.2, 2.0]), np.array([1.0, 0.0, 0.0])
    compiled = linad.jit(f)
    for seeds in (np.ones(3), np.eye(3)):
        (expected,) = linad.vjp(lambda x: f(x, a), x.copy())[1](np.ones(3))
        for _ in range(3):
            (found,) = linad.vjp(lambda x: compiled(x, a), x.copy())[1](np.ones(3))
            np.testing.assert_allclose(found, expected)
        J = linad.linearize(lambda x: compiled(x, a), x.copy())[1]
        np.testing.assert_allclose(
            J.pullback(seeds), linad.linearize(lambda x: f(x, a), x.copy())[1].pullback(seeds)
        )
