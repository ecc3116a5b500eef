"""What is made when it is first asked for, asked for by several threads at the same moment.

Programs, short calls, bound operators, patterns, factors, caches: whoever finds one has to find it
whole. Each way of use is made anew for each round, and its first uses, in threads that begin
together and take turns as often as the interpreter lets them, are compared with those of one
thread.
"""

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

import linad
from linad.core import tree
from linad.operators.matrices import Matrix
from linad.operators.structured import Diagonal

THREADS = 4
ROUNDS = 3
MANY_ROUNDS = 100

X = np.linspace(0.2, 1.1, 6)
W = np.cos(np.arange(6.0))
A = np.diag(np.arange(2.0, 8)) + np.outer(X, W) / 4

WAYS = {}
"""By name: a function that makes everything anew, and returns what a thread calls, again and
again, with the number of the call."""

DEAR = []
"""Those of them that compile for long."""


def way(make):
    WAYS[make.__name__] = make
    return make


def dear_way(make):
    DEAR.append(make.__name__)
    return way(make)


def wave(x):
    return np.sin(x) * np.sum(x) * 1.5


def energy(x):
    return np.sum(np.sin(x) ** 2 * x) + x[0] * x[1]


# Programs.


@way
def jitted():
    f = linad.jit(wave)
    return lambda n: f(X * (1 + n))


@way
def jitted_with_containers():
    f = linad.jit(lambda p, k: {"y": p["a"] * k, "z": [p["b"][0] + 1, np.sum(p["a"])]})
    return lambda n: f({"a": X * n, "b": (W, 2.0)}, k=2 + n % 2)


@dear_way
def jitted_with_paths():
    f = linad.jit(lambda x: np.sin(x) if x[0] > 0 else np.cos(x))
    return lambda n: f(X if n % 2 else -X)


@dear_way
def jitted_in_another_order():
    f = linad.jit(lambda x: (x.T * 2, np.sin(x)))
    return lambda n: f(np.asfortranarray(A + n))


@way
def jitted_of_one_precision_and_numbers():
    f = linad.jit(lambda x, s: x.astype(np.float32) * s)
    return lambda n: f(X, 0.1 + n)


@way
def jitted_that_writes():
    def f(x, out):
        out[...] = np.sin(x)
        out[1:] += x[:-1]

    g = linad.jit(f)

    def use(n):
        out = np.zeros(6)
        g(X + n, out)
        return out

    return use


@way
def jitted_with_what_each_thread_holds():
    own = threading.local()
    f = linad.jit(lambda x: np.sin(x) * own.weights)

    def use(n):
        own.weights = W + threading.get_ident() % 1000 + n
        return f(x=X) / own.weights

    return use


@dear_way
def out_arguments():
    f = linad.jit(lambda x: np.multiply(x, 2.0, out=np.empty_like(x)) + np.add.accumulate(x))
    return lambda n: f(X + n)


@dear_way
def a_sum_shared_by_threads():
    z = np.linspace(0, 1, 300_000)
    f = linad.jit(lambda z: np.sin(z) * np.cos(z))

    def use(n):
        with linad.config(threads=2):
            return f(z)[::1000]

    return use


@dear_way
def called_from_numba():
    f = linad.jit(energy)
    return lambda n: f.njit(X)(X + n)


# Derivatives.


@way
def gradients():
    g = linad.jit(linad.grad(energy))
    return lambda n: g(X + n)


@dear_way
def gradients_of_jitted():
    f = linad.jit(energy)
    return lambda n: linad.value_and_grad(f)(X + n)


@dear_way
def second_derivatives():
    f = linad.jit(energy)
    h = linad.jit(lambda x, v: linad.hvp(energy, (x,), (v,)))
    return lambda n: (h(X, W), linad.hvp(f, (X,), (W,)), linad.hessian(f)(X + n))


@dear_way
def linearizations():
    f = linad.jit(wave)
    return lambda n: linad.linearize(f, X)[1] @ (W + n)


@way
def one_linearization():
    _, J = linad.linearize(linad.jit(wave), X)

    def use(n):
        return J @ W, J.T @ W, J.pushforward(W + n), J.pullback(W), J.rmatvec(W)

    return use


@dear_way
def one_linearization_of_many_seeds():
    _, J = linad.linearize(linad.jit(wave), X)
    return lambda n: (J.todense(), J @ np.outer(X, [1.0, 2]), J.T.todense(), J.tosparse())


@way
def one_linearization_uncompiled():
    _, J = linad.linearize(lambda x: np.cumsum(x) * np.sin(x), X)
    return lambda n: (J @ W, J.T @ W, J.todense(), J.shape, J.T.T is J)


@way
def one_pullback():
    _, pull = linad.vjp(linad.jit(wave), X)
    return lambda n: pull(W + n)


@dear_way
def pushed():
    f = linad.jit(lambda a, b: (a * b, np.sum(a)))
    return lambda n: linad.jvp(f, (X, W + n), (W, X))


@way
def composed():
    _, J = linad.linearize(linad.jit(wave), X)
    M = J.T @ Diagonal(1 + X, (6,), np.dtype(float)) @ J + 0.5 * linad.eye(6)
    return lambda n: (M @ (W + n), M.T @ W, M.todense(), (2 * M) @ W)


@dear_way
def inverted():
    _, J = linad.linearize(linad.jit(lambda x: A @ x + np.sin(x) / 8), X)
    M = J + linad.eye(6)
    inverse = M.inverse()
    return lambda n: (inverse @ (W + n), inverse.T @ W, linad.solve_linear(M, W))


@way
def factored():
    inverse = Matrix(np.kron(A, np.eye(8)) + np.eye(48), np.dtype(float)).inverse()
    return lambda n: (inverse @ np.arange(48.0), inverse.T @ np.ones(48))


# Sparse.


@way
def sparse_jacobians():
    f = linad.jit(lambda x: x[1:] * x[:-1] + np.sin(x[1:]))
    return lambda n: linad.sparse_jacobian(f, X + n)


@dear_way
def sparse_hessians():
    f = linad.jit(lambda x: np.sum(x[1:] ** 2 * x[:-1]))
    return lambda n: linad.sparse_hessian(f, X + n)


@way
def one_sparse_matrix():
    _, J = linad.linearize(lambda x: x[1:] * x[:-1] + np.sin(x[1:]), X)
    return lambda n: (J.tosparse(), J.T.tosparse(), J.bandwidth)


@dear_way
def sparse_constants():
    S = csr_array(np.where(A > 0.1, A, 0))
    f = linad.jit(lambda x: np.sin(S @ x))
    return lambda n: (f(X + n), linad.jacobian(f)(X))


# Loops, kernels, primitives.


@way
def loops():
    f = linad.jit(lambda c, x: linad.scan(lambda c, r: (c * 0.5 + np.sin(r), c * r), c, x))
    return lambda n: (f(np.float64(n), X), f(np.float64(n), X))


@dear_way
def loops_outside_of_programs():
    def total(x):
        return linad.fori_loop(0, 5, lambda k, c: np.sin(c) + x, x)

    return lambda n: (total(X + n), linad.grad(lambda x: np.sum(total(x)))(X))


@dear_way
def loops_with_conditions():
    def f(x):
        return linad.while_loop(lambda s: np.sum(s) < 20, lambda s: s * 1.5 + 0.1, x)

    g = linad.jit(f)
    return lambda n: (f(X + n), g(X), linad.jvp(g, (X,), (W,))[1])


@dear_way
def branches():
    f = linad.jit(lambda k, x: linad.switch(k, [np.sin, np.cos, np.exp], x))
    return lambda n: f(n % 3, X)


@dear_way
def kernels():
    @linad.kernel
    def smooth(x, y):
        for i in range(1, x.size - 1):
            y[i] = 0.25 * (x[i - 1] + 2 * x[i] + x[i + 1]) ** 2

    def f(x):
        y = np.zeros_like(x)
        smooth(x, y)
        return np.sum(y * y)

    g = linad.jit(linad.grad(f))
    return lambda n: (linad.grad(f)(X + n), g(X + n))


@dear_way
def primitives_with_scratch():
    @linad.primitive(writes="c", state=np.empty_like)
    @numba.njit
    def squared(c, scratch):
        for i in range(c.size):
            scratch[i] = c[i]
        for i in range(c.size):
            c[i] = scratch[i] * scratch[c.size - 1 - i]

    @squared.tangent
    def squared_tangent(dc, y, c):
        dc[:] = dc * c[::-1] + c * dc[::-1]

    @squared.adjoint
    def squared_adjoint(cbar, y, c):
        cbar[:] = cbar * c[::-1] + (cbar * c)[::-1]

    def f(x):
        c = x * 1.0
        squared(c)
        return np.sum(c * W)

    g = linad.jit(f)
    return lambda n: (g(X + n), linad.grad(f)(X + n))


@dear_way
def primitives_with_rules():
    @linad.primitive
    def cube(x):
        return x**3

    @cube.jacobian(wrt=0)
    def cube_wrt_x(y, x):
        return np.diag(3 * x**2)

    g = linad.jit(linad.grad(lambda x: np.sum(cube(x))))
    return lambda n: (g(X + n), linad.grad(lambda x: np.sum(cube(x) * W))(X))


# Solvers.


@dear_way
def roots():
    def f(x, p):
        return x**3 + x - p

    root = linad.jit(lambda p: linad.solve.root(f, np.ones(6), p))
    return lambda n: (
        root(X + n),
        linad.jacobian(root)(X),
        linad.solve.newton(f, np.ones(6), (X + n,)).x,
    )


@dear_way
def fits():
    def residual(p, t):
        return p[0] * np.exp(-p[1] * t) - np.exp(-0.7 * t) * 2

    f = linad.jit(residual)
    return lambda n: np.round(linad.solve.least_squares(f, [1.0, 1.0], X), 6)


# Copies.


@dear_way
def copies():
    f = linad.jit(roundabout)
    _, J = linad.linearize(f, X)

    def use(n):
        again = pickle.loads(pickle.dumps(f))
        return again(X + n), pickle.loads(pickle.dumps(J)) @ W, copy.deepcopy(J).T @ W, f(X)

    return use


def roundabout(x):
    return np.sin(x) * x[::-1]


@way
def adopted():
    scope = {"np": np, "__name__": "adopted_in_threads"}
    exec("def f(x):\n    return np.sum(float(x[0]) * np.sin(x))", scope)

    def use(n):
        with linad.adopt(scope["f"]):
            return linad.grad(scope["f"])(X + n)

    return use


def plain(value):
    """What is compared, in arrays."""
    leaves = tree.flatten(value)[0]
    return [x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in leaves]


def first_uses(use):
    return [plain(use(n)) for n in range(3)]


def differences(make, rounds):
    """What went otherwise in threads than in one: exceptions, and results."""
    with np.errstate(all="ignore"):
        expected = first_uses(make())
    found = []

    def run(gate, use):
        try:
            gate.wait()
            with np.errstate(all="ignore"):
                for a, b in zip(first_uses(use), expected, strict=True):
                    for x, y in zip(a, b, strict=True):
                        assert (x.dtype, x.shape) == (y.dtype, y.shape)
                        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
        except BaseException as error:
            found.append(error)

    for _ in range(rounds):
        gate, use = threading.Barrier(THREADS), make()
        threads = [threading.Thread(target=run, args=(gate, use)) for _ in range(THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
            assert not t.is_alive(), "threads wait for each other"
    return found


@pytest.fixture
def taking_turns():
    """Threads that change places as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("name", [n for n in WAYS if n not in DEAR])
def test_first_uses_in_threads(name, taking_turns):
    for error in differences(WAYS[name], ROUNDS):
        raise error


PROCESS = """
    import faulthandler, sys, threading
    import numpy as np, linad
    faulthandler.dump_traceback_later(90, exit=True)
    sys.setswitchinterval(1e-6)
    x = np.linspace(0.2, 1.1, 6)

    def jitted():
        f = linad.jit(lambda x: np.sin(x) * 2)
        return np.allclose([f(x), f(x), f(x)], np.sin(x) * 2)

    def loop():
        return np.allclose(linad.scan(lambda c, r: (c + r, c), np.zeros(()), x)[0], x.sum())

    def called_from_numba():
        return np.allclose(linad.jit(np.sin).njit(x)(x, y := np.empty(6)) or y, np.sin(x))

    def kernel():
        def doubled(x, y):
            for i in range(x.size):
                y[i] = 2 * x[i]
        doubled = linad.kernel(doubled)

        def f(x):
            y = np.zeros_like(x)
            doubled(x, y)
            return np.sum(y)
        return np.allclose(linad.grad(f)(x), 2)

    def solved():
        return np.allclose(linad.solve.newton(lambda x: x**2 - 2, np.ones(3)).x, 2**0.5)

    def shared():
        z = np.linspace(0, 1, 300_000)
        f = linad.jit(lambda z: np.sin(z) * np.cos(z))
        with linad.config(threads=2):
            return np.allclose([f(z), f(z)], np.sin(z) * np.cos(z))

    def run(use):
        gate.wait()
        found.append(use())

    found, uses = [], [{uses}]
    gate = threading.Barrier(len(uses))
    threads = [threading.Thread(target=run, args=(use,)) for use in uses]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(found == [True] * len(uses))
"""
"""Threads of a process that has not imported Numba, nor what linad compiles with."""


@pytest.mark.rest
@pytest.mark.compiles
@pytest.mark.parametrize(
    "uses",
    [
        "jitted, loop",
        pytest.param("jitted, loop, called_from_numba, kernel", marks=pytest.mark.full),
        pytest.param("shared, solved, loop, jitted", marks=pytest.mark.full),
        pytest.param("kernel, kernel, solved, called_from_numba", marks=pytest.mark.full),
        pytest.param("jitted, shared, shared, loop", marks=pytest.mark.full),
    ],
)
def test_threads_begin_with_different_things(uses):
    code = textwrap.dedent(PROCESS).replace("{uses}", uses)
    file = "kernels_of_a_thread.py"
    done = subprocess.run(
        [sys.executable, "-P", "-c", run_as_file(file, code)],
        capture_output=True, text=True, timeout=240, env=dict(os.environ),
    )  # fmt: skip
    assert done.stdout.split() == ["True"], done.stderr


def run_as_file(name, code):
    """Code whose functions have their source, as those of a file have."""
    lines = code.splitlines(keepends=True)
    return (
        f"import linecache; text = {code!r}; "
        f"linecache.cache[{name!r}] = (len(text), None, {lines!r}, {name!r}); "
        f"exec(compile(text, {name!r}, 'exec'))"
    )


@pytest.mark.full
@pytest.mark.parametrize("name", WAYS)
def test_many_first_uses_in_threads(name, taking_turns):
    for error in differences(WAYS[name], MANY_ROUNDS):
        raise error
