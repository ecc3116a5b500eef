"""`cond` and `switch` in loops: a branch is all that its function computes."""

import numpy as np
import pytest

import linad


def walked(x, a, steps=range(8)):
    """By Python."""
    for _ in steps:
        v = np.sqrt(x - 1) * a if x > 1 else x + a
        x = 0.45 * x + 0.5 * v
    return x


def walked_by_scan(x, a):
    """Branches of closures alone, one of which has no value where it is not taken."""

    def step(x, _):
        v = linad.cond(x > 1, lambda: np.sqrt(x - 1) * a, lambda: x + a)
        return 0.45 * x + 0.5 * v, None

    return linad.scan(step, x, np.arange(8.0))[0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("x", [0.5, 3.0])
def test_branches_of_closures_are_computed_where_they_are_taken(x):
    point = x, 0.7
    np.testing.assert_allclose(walked_by_scan(*point), walked(*point), rtol=1e-14)
    expected = linad.grad(walked, (0, 1))(*point)
    seconds = linad.hessian(walked, (0, 1))(*point)
    for f in (walked_by_scan, linad.jit(walked_by_scan)):
        gradient = linad.grad(f, (0, 1))
        for g in (gradient, linad.jit(gradient)):
            for _ in range(2):
                np.testing.assert_allclose(g(*point), expected, rtol=1e-12)
        pushed = linad.jvp(f, point, (1.0, 0.5))[1]
        np.testing.assert_allclose(pushed, np.dot(expected, (1.0, 0.5)), rtol=1e-12)
        np.testing.assert_allclose(linad.hessian(f, (0, 1))(*point), seconds, rtol=1e-11)


def test_a_branch_makes_and_writes_its_own_arrays():
    def f(x):
        def own():
            y = np.zeros(3, like=x)
            y[:2] = x[1:]
            y *= x
            return np.sum(y * y)

        def step(total, k):
            return total + linad.cond(k > 1, own, lambda: np.sum(x)), None

        return linad.scan(step, 0.0, np.arange(4.0))[0]

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(f(x), 2 * 6 + 2 * (2**2 + 6**2))
    np.testing.assert_allclose(linad.grad(f)(x), linad.grad(linad.jit(f))(x))


def test_a_branch_does_not_write_into_arrays_around_it():
    def f(x):
        def step(total, k):
            y = x * k

            def written():
                y[0] = 7.0
                return np.sum(y)

            return total + linad.cond(k > 1, written, lambda: np.sum(y)), None

        return linad.scan(step, 0.0, np.arange(4.0))[0]

    with pytest.raises(linad.errors.TracerError, match="made outside of a branch"):
        linad.grad(f)(np.ones(3))


def refused(carry):
    raise RuntimeError("the body has run")


def root(carry):
    return np.linalg.cholesky(carry.reshape(2, 2)).ravel() * 0.1


@pytest.mark.parametrize("body", [refused, root])
def test_a_body_that_raises_where_it_never_runs(body):
    """Python decides then, and a compiled function asks it again."""

    def f(x):
        return np.sum(linad.while_loop(lambda s: s[0] > 3.0, body, x * 1.0) ** 2)

    x = np.array([1.0, 2.0, 2.0, 1.0])
    error = RuntimeError if body is refused else np.linalg.LinAlgError
    for g in (f, linad.jit(f)):
        for _ in range(3):
            assert g(x) == 10.0
        np.testing.assert_array_equal(linad.grad(g)(x), 2 * x)
        np.testing.assert_array_equal(linad.jvp(g, (x,), (x,))[1], 20.0)
        with pytest.raises(error):
            g(x * [4.0, 4.0, 4.0, 1.0])
        assert g(x) == 10.0
