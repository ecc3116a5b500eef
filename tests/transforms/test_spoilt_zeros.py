"""Programs that find NaN in derivatives, and look for entries that nobody reads."""

import numpy as np
import pytest
from together import together

import linad
from linad.errors import GuardError

X = np.array([1.0, 2.0])
WHOLE = np.array([[1.0, 2.0], [5.0, 3.0], [4.0, -1.0], [2.0, 0.5]])
HOLES = np.where([[False], [True], [False], [False]], np.nan, WHOLE)
SAME = HOLES[[0, 2, 3]]
"""The rows that are read."""


def loss(x, data):
    return np.nansum(np.tanh(data @ x) ** 2)


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.usefixtures("kernels")
def test_finite_and_then_not_and_then_finite():
    gradient = linad.jit(linad.value_and_grad(loss))
    for data in (WHOLE, WHOLE, HOLES, HOLES, WHOLE, HOLES, WHOLE):
        expected = linad.value_and_grad(loss)(X, WHOLE if data is WHOLE else SAME)
        for found, wanted in zip(gradient(X, data), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert len(gradient.variant(X, WHOLE).tape.equations) < 20  # the careful path is another
    assert [len(paths) for paths in gradient.variants.values()] == [2]


@pytest.mark.usefixtures("kernels")
def test_threads_that_find_nan_and_threads_that_do_not():
    gradient = linad.jit(linad.grad(loss))
    for data in (WHOLE, HOLES):
        gradient(X, data)

    def work(seed):
        rng = np.random.default_rng(seed)
        for k in rng.integers(2, size=200):
            data, same = ((WHOLE, WHOLE), (HOLES, SAME))[k]
            np.testing.assert_allclose(gradient(X, data), wanted[len(same)], rtol=1e-12)

    wanted = {len(same): linad.grad(loss)(X, same) for same in (WHOLE, SAME)}
    together(4, work)


def orders(f):
    """Derivatives of other orders and directions, of a function of the point and data."""
    v = np.array([0.5, -1.0])
    seeds = np.eye(3)

    def of_rows(x, data):
        y = np.tanh(data @ x)
        return np.where(np.isnan(y), 0.0, y).sum() * np.array([1.0, 2.0, 3.0])

    return {
        "hessian": linad.hessian(f),
        "hvp": lambda x, data: linad.hvp(lambda x: f(x, data), (x,), (v,)),
        "reverse over reverse": linad.grad(lambda x, data: linad.grad(f)(x, data) @ v),
        "jvp": lambda x, data: linad.jvp(lambda x: f(x, data), (x,), (v,))[1],
        "seeds": lambda x, data: linad.vjp(lambda x: of_rows(x, data), x)[1](seeds),
        "of a sum of roots": linad.grad(lambda x, data: np.sum(linad.grad(f)(x, data) ** 2)),
    }


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("order", orders(loss))
def test_orders(order):
    expected = orders(loss)[order](X, SAME)
    f = orders(loss)[order]
    compiled = linad.jit(f)
    ways = [f, orders(linad.jit(loss))[order], *[compiled] * 3]
    for way in ways:
        np.testing.assert_allclose(way(X, HOLES), expected, rtol=1e-10)


@pytest.mark.usefixtures("kernels")
def test_what_is_nan_itself_stays_nan():
    def f(x):
        return np.sum((HOLES @ x)[1:] ** 2)

    for gradient in (linad.grad(f), linad.jit(linad.grad(f)), linad.grad(linad.jit(f))):
        for _ in range(3):
            assert np.isnan(gradient(X)).all()


@pytest.mark.usefixtures("kernels")
def test_a_program_that_follows_all_masks_asks_nothing():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0)[1:] * WHOLE[0, 0])

    tape = linad.jit(linad.grad(f)).variant(np.array([1.0, 0.0, 4.0])).tape
    assert "guard" not in [e.primitive.name for e in tape.equations]


@pytest.mark.usefixtures("kernels")
def test_decisions_on_gradients_are_taken_on_the_right_numbers():
    @linad.jit
    def descend(x, data):
        for _ in range(3):
            g = linad.grad(loss)(x, data)
            if not np.isfinite(g).all():
                raise ValueError("gone astray")
            x = x - 0.1 * g
        return x

    for _ in range(3):
        np.testing.assert_allclose(descend(X, HOLES), descend.function(X, SAME), rtol=1e-12)


@pytest.mark.usefixtures("kernels")
def test_compiled_code_says_that_it_is_another_path():
    pytest.importorskip("numba")
    f = linad.jit(linad.grad(loss)).njit(X, WHOLE)
    out = np.empty(2)
    f(X, WHOLE, out)
    np.testing.assert_allclose(out, linad.grad(loss)(X, WHOLE), rtol=1e-12)
    with pytest.raises(GuardError):
        f(X, HOLES, out)
