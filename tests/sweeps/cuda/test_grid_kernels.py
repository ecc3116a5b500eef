"""Kernels of `numba.cuda.jit` as primitives: on the host, and launched by programs on a device."""

import numpy as np
import pytest
from fake_device import Foreign, fake_gpu
from grid_examples import (
    EXPECTED,
    FORMS,
    A,
    B,
    C,
    adjoint_in_numpy,
    by_numpy,
    damped_adjoint,
    gradient,
    loss,
    made,
)
from kernels_in_python import kernels_in_python
from numba import cuda
from numba.cuda import blockDim, grid, syncthreads as barrier

import linad
from linad.errors import ArgumentError, KernelError, WrongRuleError
from linad.sweeps.cuda import threads_on_host
from linad.sweeps.cuda.target import CUDA
from linad.sweeps.cuda.threads_on_host import host_form
from linad.transforms.simplify import simplify


def assert_close(found, expected):
    found, expected = (linad.core.tree.flatten(v)[0] for v in (found, expected))
    for x, y in zip(found, expected, strict=True):
        x = x.numpy() if hasattr(x, "numpy") else x
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@pytest.fixture
def in_python(monkeypatch):
    """Threads on the host run without a compiler."""
    host_form.cache_clear()
    monkeypatch.setattr(threads_on_host, "_njit", lambda: lambda f: f)
    yield
    host_form.cache_clear()


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("form", FORMS)
def test_on_the_host(form):
    c = C.copy()
    assert FORMS[form](c, A, B) is None
    np.testing.assert_allclose(c, 0.5 * C + np.sin(A @ B))
    for f in (gradient(form), linad.jit(gradient(form))):
        assert_close(f(C, A, B), EXPECTED)
    moved = linad.jvp(lambda *args: loss(FORMS[form], *args), (C, A, B), (C, A, B))[1]
    np.testing.assert_allclose(moved, sum(map(np.vdot, EXPECTED[1], (C, A, B))))


@pytest.mark.rest
def test_compiled_on_the_host():
    c = C.copy()
    FORMS["sums"](c, A, B)
    np.testing.assert_allclose(c, 0.5 * C + np.sin(A @ B))


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("form", FORMS)
def test_on_a_device(form):
    with fake_gpu() as device:
        f = linad.jit(gradient(form))
        for k in range(2):
            assert_close(f(*[Foreign(device, a) for a in (C, A, B)]), EXPECTED)
            if k == 0:
                before = dict(device.counts)
        made = {name: device.counts[name] - before[name] for name in before}
        # Arguments and results alone: the kernels are in the graphs of the first call.
        assert (made["graph"], made["launch"], made["allocate"]) == (0, 0, 3 + 3)


@pytest.mark.usefixtures("in_python")
def test_with_scratch_memory_and_numbers():
    @cuda.jit
    def scaled(c, h, t):
        i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
        if i < c.size:
            t[i] = h * c[i]
            c[i] = t[i] + cuda.gridDim.x * cuda.blockDim.x

    f = linad.primitive(
        scaled, writes=0, grid=lambda c, h, t: (2, len(t)), state=lambda c, h: np.empty_like(c)
    )

    @f.adjoint
    @cuda.jit
    def adjoint(c_bar, h_bar, y, c, h):
        i = cuda.grid(1)
        if i < c.size:
            cuda.atomic.add(h_bar, (), c[i] * c_bar[i])
            c_bar[i] *= h

    def g(x, h):
        c = 2 * x
        f(c, h)
        return np.sum(c**2)

    x = np.arange(4.0)
    y = 6 * x + 8
    with fake_gpu():
        h = linad.jit(linad.value_and_grad(g, argnums=(0, 1)))
        found, (slope, steepness) = h(linad.cuda.asarray(x), 3.0)
        np.testing.assert_allclose(found, np.sum(y**2))
        np.testing.assert_allclose(slope.numpy(), 12 * y)
        np.testing.assert_allclose(steepness, np.sum(4 * x * y))


@pytest.mark.usefixtures("in_python")
def test_as_a_program_on_the_host():
    _, tape = linad.trace(gradient("sums"), C, A, B)
    found = CUDA.compile(simplify(tape))
    with kernels_in_python():
        assert_close(found.run([C, A, B]), EXPECTED)


@pytest.mark.usefixtures("in_python")
def test_a_plan_says_what_is_launched():
    report = linad.explain(gradient("sums"), target="cuda")(C, A, B)
    names = [step.name for step in report.steps]
    assert names.count("call of @damped") == 2
    assert names.count("call of @damped.adjoint") == 2
    assert not report.fallbacks


@cuda.jit
def with_imported_names(c):
    i, n = grid(1), blockDim.x
    if i < c.size:
        c[i] *= n


@cuda.jit
def with_one_that_is_not_known(c):
    barrier()
    c[0] = 1


@pytest.mark.usefixtures("in_python")
def test_names_that_are_imported():
    c = np.arange(4.0)
    linad.primitive(with_imported_names, writes="c", grid=(2, 3))(c)
    np.testing.assert_array_equal(c, 3 * np.arange(4.0))
    with pytest.raises(KernelError, match="cuda.syncthreads has no counterpart on the host"):
        linad.primitive(with_one_that_is_not_known, writes="c", grid=(1, 1))(c)


@cuda.jit
def sharing(c):
    """Threads of a block read what others have written."""
    t = cuda.shared.array(4, np.float64)
    i = cuda.threadIdx.x
    t[i] = c[i]
    cuda.syncthreads()
    c[i] = t[3 - i]


@pytest.mark.usefixtures("in_python")
def test_threads_that_wait_need_a_host_form():
    f = linad.primitive(sharing, writes="c", grid=(1, 4))
    with pytest.raises(KernelError, match=r"sharing: cuda.shared.array .* pass host="):
        f(np.arange(4.0))

    def reversed_in_numpy(c):
        c[:] = c[::-1].copy()

    f = linad.primitive(sharing, writes="c", grid=(1, 4), host=reversed_in_numpy)
    c = np.arange(4.0)
    f(c)
    np.testing.assert_array_equal(c, np.arange(4.0)[::-1])


@pytest.mark.parametrize("grid", [lambda c: 3, ((0,), 4), ((1, 1, 1, 1), 4), (1, 2048), ("a", 1)])
def test_grids_that_are_none(grid):
    f = linad.primitive(sharing, writes="c", grid=grid)
    with pytest.raises(ArgumentError, match=r"sharing: grid must give \(blocks, threads\), each"):
        f(np.zeros(3))


def test_refusals():
    with pytest.raises(ArgumentError, match="sharing: a kernel of numba.cuda.jit needs its grid"):
        linad.primitive(sharing, writes="c")
    with pytest.raises(ArgumentError, match="name it, writes='c', and pass grid="):
        linad.primitive(sharing)
    with pytest.raises(ArgumentError, match="name it, writes='c', and pass grid="):
        linad.primitive(grid=(1, 1))(np.sin)
    with pytest.raises(ArgumentError, match="grid and host are for what numba.cuda.jit made, got"):
        linad.primitive(by_numpy, writes="c", grid=(1, 1))
    with pytest.raises(
        ArgumentError, match="grid must be a function that returns .blocks, threads."
    ):
        linad.primitive(sharing, writes="c", grid=3)
    f = linad.primitive(by_numpy, writes="c")
    with pytest.raises(ArgumentError, match="by_numpy.adjoint: a kernel of numba.cuda.jit needs"):
        f.adjoint(damped_adjoint)


def doubled(c_bar, a_bar, b_bar, y, c, a, b):
    adjoint_in_numpy(c_bar, a_bar, b_bar, y, c, a, b)
    a_bar *= 2


@pytest.mark.usefixtures("in_python")
def test_rules_that_are_not_adjoint():
    g = made(doubled)
    with pytest.raises(WrongRuleError, match="damped: tangent and adjoint are not adjoint"):
        linad.grad(lambda *args: loss(g, *args), argnums=(0, 1))(C, A, B)


def test_arrays_of_a_device_outside_of_a_program():
    with fake_gpu():
        c = linad.cuda.asarray(C)
        with pytest.raises(TypeError, match=r"damped: argument 0 .* linad.jit"):
            FORMS["sums"](c, A, B)
