"""Kernels of users' on a device: which loops threads share, and what stops them."""

import numba
import numpy as np
import pytest
from device_runs import checked, run_both
from kernels_in_python import kernels_in_python

import linad
from linad.errors import FallbackError
from linad.sweeps.cuda.target import CUDA
from linad.sweeps.program import KernelStoppedError
from linad.transforms.simplify import simplify

X, U = np.linspace(0.1, 1, 7), np.linspace(-1, 1, 12).reshape(4, 3)


@linad.kernel
def waves(x, y):
    for i in numba.prange(len(x)):
        s = x[i]
        y[i] = np.sin(s) * s


@linad.kernel
def rows(u, v):
    n, m = u.shape
    for i in numba.prange(n):
        total = 0.0
        for j in range(m):
            total += u[i, j] ** 2
        for j in range(m):
            v[i, j] = u[i, j] * total


@linad.kernel
def smoothed(u, v, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = u[i] / 2 + (u[i - 1] + u[i + 1]) / 4
        for i in range(1, len(u) - 1):
            if v[i] > 0.3:
                u[i] = v[i]


@linad.kernel
def running(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        y[i] = s


@linad.kernel
def wrapped(x, y):
    for i in range(-3, 3):
        y[i] += x[i + 3]


@linad.kernel
def ratios(x, y):
    for i in range(len(x)):
        y[i] = 1.0 / x[i]


@linad.kernel
def special(x, y):
    for i in range(len(x)):
        y[i] = np.cbrt(x[i])


@linad.kernel
def chosen(x, y):
    for i in range(len(x)):
        z = x[len(x) - 1 - i]
        y[i] = np.maximum(x[i], z) + np.minimum(x[i], 1) * np.fmax(x[i], z) + np.fmin(x[i], z)
        y[i] += np.clip(x[i], 0.0, z) + max(x[i], z) * min(x[i], z) + abs(x[i]) + np.sign(x[i])


def result_of(kernel, *more):
    def f(x):
        y = np.zeros_like(x)
        kernel(x, y, *more)
        return y

    return f


def smooth(x):
    u = x.copy()
    smoothed(u, np.zeros_like(x), 3)
    return u


def derivatives(f):
    return (
        lambda x: linad.grad(lambda x: np.sum(f(x) ** 2))(x),
        lambda x: linad.jvp(f, (x,), (np.cos(x),)),
    )


def recorded(f, x):
    return simplify(linad.trace(f, x)[1])


def shared(f, x):
    """For each kernel of a user's, whether several threads share it."""
    with kernels_in_python():
        _, _, program, _ = run_both(f, x)
    calls = [i for i in program.lowering.instructions if i.label.startswith("call of")]
    return {i.label.split("@")[1]: "if thread == 0" not in i.source for i in calls}


@pytest.mark.parametrize("f, x", [(result_of(waves), X), (result_of(rows), U)], ids=["1d", "2d"])
def test_loops_that_threads_share(f, x):
    backward, forward = derivatives(f)
    for g in (f, forward):
        assert all(shared(g, x).values())
    for g in (f, backward, forward):
        checked(g, x)


def test_adjoints():
    """One that keeps values on a stack takes its turns one after the other."""
    assert all(shared(derivatives(result_of(waves))[0], X).values())
    found = shared(derivatives(result_of(rows))[0], U)
    assert found == {"rows": True, "rows_adjoint": False}


@pytest.mark.parametrize("name", ["smooth", "running", "wrapped"])
def test_loops_for_one_thread(name):
    f = smooth if name == "smooth" else result_of({"running": running, "wrapped": wrapped}[name])
    x = X[:6]
    if name != "wrapped":
        assert not any(shared(f, x).values())
        for g in (f, *derivatives(f)):
            checked(g, x)
        return
    # An index below zero is another turn's entry: no thread may take it.
    tape = recorded(f, x)
    with kernels_in_python(), pytest.raises(KernelStoppedError):
        CUDA.compile(tape).run([x])


def test_choices_between_numbers():
    """What is of NaN, ties and signs."""
    x = np.array([0.3, np.nan, -2.0, 1.0, 1.0, 2.0, 0.5, 0.7, 0.3])
    f = result_of(chosen)
    for g in (lambda x: linad.linearize(f, x)[0], *derivatives(f)):  # Numba clips no numbers
        expected = [r for r in np.atleast_2d(g(x)) if np.ndim(r)]
        with kernels_in_python():
            found = CUDA.compile(recorded(g, x)).run([x])
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_division_by_zero_stops_the_run():
    tape = recorded(result_of(ratios), X)
    with kernels_in_python():
        program = CUDA.compile(tape)
        np.testing.assert_allclose(program.run([X])[0], 1 / X)
        with pytest.raises(KernelStoppedError):
            program.run([X - X[2]])


def test_what_a_device_does_not_know():
    tape = recorded(result_of(special), X)
    with pytest.raises(FallbackError, match="@special"):
        CUDA.compile(tape).borrow()
