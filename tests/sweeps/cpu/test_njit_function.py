"""linad.jit(f).njit: programs that compiled code calls."""

import os
import threading

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from together import together

import linad
from linad.errors import FallbackError, GuardError, OutputError
from linad.sweeps.cpu import njit_function as room


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def f(x):
    return np.sum(np.sin(x) * x**2)


X = np.array([0.3, -1.2, 2.0])


def test_value():
    g = linad.jit(f).njit(X)
    assert g(X) == pytest.approx(f(X), rel=1e-14)


def test_gradient():
    g = linad.jit(linad.grad(f)).njit(X)
    found = np.empty(3)
    assert g(X, found) is None
    np.testing.assert_allclose(found, linad.grad(f)(X), rtol=1e-14)


def test_value_and_gradient_in_a_loop_of_the_users():
    g = linad.jit(linad.value_and_grad(lambda x: np.sum((x - 1) ** 2))).njit(X)

    @numba.njit
    def descend(x, gradient):
        value = 0.0
        for _ in range(200):
            value = g(x, gradient)
            x -= 0.1 * gradient
        return value

    x = X.copy()
    assert descend(x, np.empty(3)) < 1e-30
    np.testing.assert_allclose(x, 1)


def test_jvp_and_vjp():
    def h(x):
        return x[::-1] * np.exp(x)

    v, w = np.array([1.0, -1.0, 0.5]), np.array([0.2, 0.3, 0.4])
    push = linad.jit(lambda x, v: linad.jvp(h, (x,), (v,))).njit(X, v)
    pull = linad.jit(lambda x, w: linad.vjp(h, x)[1](w)).njit(X, w)
    y, dy, xbar = np.empty(3), np.empty(3), np.empty(3)
    push(X, v, y, dy)
    pull(X, w, xbar)
    np.testing.assert_allclose(y, h(X))
    np.testing.assert_allclose(dy, linad.jvp(h, (X,), (v,))[1])
    np.testing.assert_allclose(xbar, linad.vjp(h, X)[1](w)[0])


def test_numbers_go_in_and_come_out():
    g = linad.jit(lambda x, a, b: (a * x[0] + b, x * a, 3, x[1] > 0, np.zeros(2))).njit(X, 2.0, 1j)
    scaled, zeros = np.empty(3), np.ones(2)
    first, three, positive = g(X, 3.0, 2j, scaled, zeros)
    assert (first, three, positive) == (3.0 * X[0] + 2j, 3, False)
    np.testing.assert_array_equal(scaled, 3 * X)
    assert zeros.tolist() == [0, 0]


def test_containers_become_arguments_one_after_the_other():
    g = linad.jit(linad.grad(lambda p: np.sum(p["a"] * p["b"]))).njit({"b": X, "a": 2 * X})
    a, b = np.empty(3), np.empty(3)
    g(2 * X, X, a, b)
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(b, 2 * X)


def test_a_function_that_writes_into_its_argument(rng):
    def product(c, a, b):
        c[:] = a @ b

    def scaled(c, s):
        c += s * c

    a, b, c = rng.standard_normal((4, 3)), rng.standard_normal((3, 2)), np.empty((4, 2))
    linad.jit(product).njit(c, a, b)(c, a, b)
    np.testing.assert_allclose(c, a @ b)
    before = c.copy()
    linad.jit(scaled).njit(c, 2.0)(c, 3.0)
    np.testing.assert_allclose(c, 4 * before)


def test_read_only_arrays_need_no_other_compilation():
    g = linad.jit(f).njit(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert g(frozen) == g(X)
    assert len(g.signatures) == 1
    with pytest.raises(TypeError):
        g(X[::-1])


@pytest.mark.rest
def test_any_function_of_a_type_goes_where_one_goes():
    """First-class functions: the caller is compiled once."""
    first = linad.jit(linad.grad(f)).njit(X)
    second = linad.jit(linad.grad(lambda x: np.prod(x))).njit(X)

    array = numba.types.Array(numba.float64, 1, "C", readonly=True)
    kind = numba.types.FunctionType(numba.void(array, numba.float64[::1]))

    @numba.njit(numba.float64(kind, numba.float64[::1], numba.float64[::1]))
    def norm(g, x, out):
        g(x, out)
        return np.sqrt(np.sum(out * out))

    for g, h in ((first, f), (second, np.prod)):
        assert norm(g, X, np.empty(3)) == pytest.approx(np.linalg.norm(linad.grad(h)(X)))
    assert len(norm.signatures) == 1


def test_no_call_allocates(rng):
    """The seed of it all: C = A B and its pullback."""
    a, b, w = (rng.standard_normal(s) for s in ((16, 32), (32, 8), (16, 8)))

    def product(a, b):
        c = np.zeros((16, 8), like=a)
        c[:] = a @ b
        return c

    def both(a, b, w):
        c, pull = linad.vjp(product, a, b)
        return c, pull(w)

    g = linad.jit(both).njit(a, b, w)
    c, abar, bbar = np.empty((16, 8)), np.empty((16, 32)), np.empty((32, 8))

    @numba.njit
    def often(a, b, w, c, abar, bbar, n):
        for _ in range(n):
            g(a, b, w, c, abar, bbar)

    _nrt_python.memsys_enable_stats()
    counts = []
    for n in (1, 1, 1000):
        before = rtsys.get_allocation_stats()
        often(a, b, w, c, abar, bbar, n)
        after = rtsys.get_allocation_stats()
        counts.append((after.alloc - before.alloc, after.mi_alloc - before.mi_alloc))
    assert counts[1] == counts[2]  # what Numba makes of the arguments of the outermost call
    np.testing.assert_allclose(c, a @ b)
    np.testing.assert_allclose(abar, w @ b.T)
    np.testing.assert_allclose(bbar, a.T @ w)


def test_many_threads_at_once(rng):
    g = linad.jit(linad.grad(lambda a: np.sum(np.tanh(a @ a) ** 2))).njit(np.ones((20, 20)))

    @numba.njit(nogil=True)
    def often(a, out, n):
        for _ in range(n):
            out[:] = 0
            g(a, out)

    matrices = [rng.standard_normal((20, 20)) for _ in range(12)]
    outs = [np.empty((20, 20)) for _ in matrices]
    often(matrices[0], outs[0], 1)
    together(12, lambda k: often(matrices[k], outs[k], 300))
    for a, out in zip(matrices, outs, strict=True):
        expected = np.empty((20, 20))
        g(a, expected)
        assert np.array_equal(out, expected)


def test_slots_are_all_free_afterwards_and_waited_for(rng):
    g = linad.jit(f).njit(X)
    slots = room._kept[-1]
    g(X)
    taken = slots.words[room.TAKEN // 8 :: room.SLOT // 8]
    assert not taken.any()
    taken[:] = 1  # all in use: the next caller waits
    found = []
    call = numba.njit(nogil=True)(lambda x: g(x))
    taken[0] = 0
    call(X)
    taken[0] = 1
    waiting = threading.Thread(target=lambda: found.append(call(X)))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    taken[3] = 0
    waiting.join(120)
    assert found == [pytest.approx(f(X))]
    slots.free()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_slots_of_other_threads_are_free_in_a_forked_process():
    g = linad.jit(f).njit(X)
    slots = room._kept[-1]
    expected = g(X)
    slots.words[room.TAKEN // 8 :: room.SLOT // 8] = 1
    child = os.fork()
    if child == 0:
        os._exit(0 if g(X) == expected else 1)
    slots.free()
    _, status = os.waitpid(child, 0)
    assert status == 0


# What it refuses.


def test_other_shapes():
    g = linad.jit(linad.grad(f)).njit(X)
    with pytest.raises(ValueError, match=r"f: argument 0 must have shape \(3,\)"):
        g(np.ones(4), np.empty(3))
    with pytest.raises(ValueError, match=r"the array for result 0 must have shape \(3,\)"):
        g(X, np.empty(2))
    with pytest.raises(TypeError):
        g(X, np.empty(3, np.float32))


def test_memory_that_overlaps():
    g = linad.jit(linad.grad(f)).njit(X)
    memory = np.ones(5)
    with pytest.raises(ValueError, match="shares memory"):
        g(memory[:3], memory[2:])
    g(memory[:2].repeat(2)[:3], memory[2:])


def test_operations_that_run_in_numpy():
    with pytest.raises(FallbackError, match=r"roots \(test_njit_function.py:\d+: "):
        linad.jit(lambda x: np.abs(np.roots(x))).njit(X)


def test_another_path():
    g = linad.jit(lambda x: np.sum(x) if x[0] > 0 else np.prod(x)).njit(X)
    assert g(X) == pytest.approx(np.sum(X))
    with pytest.raises(GuardError, match="Python would decide otherwise"):
        g(-X)
    assert g(X) == pytest.approx(np.sum(X))


def test_a_singular_matrix():
    g = linad.jit(np.linalg.solve).njit(np.eye(2), np.ones(2))
    y = np.empty(2)
    g(2 * np.eye(2), np.ones(2), y)
    assert y.tolist() == [0.5, 0.5]
    with pytest.raises(ArithmeticError, match="singular"):
        g(np.zeros((2, 2)), np.ones(2), y)


def test_results_that_are_no_numbers():
    with pytest.raises(OutputError, match="returns a str"):
        linad.jit(lambda x: (np.sum(x), "text")).njit(X)


def test_one_program_is_compiled_once():
    g = linad.jit(f)
    assert g.njit(X) is g.njit(2 * X)
    assert g.njit(X) is not g.njit(np.ones(4))
