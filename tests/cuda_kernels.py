"""Kernels of programs for a GPU as PTX and cubins, without a GPU: run by ``tox -e cuda``.

Not collected by the default run, since it needs numba-cuda. What the kernels compute is tested by
tests/sweeps/cuda; here nothing is run, but a few of them in the simulator.
"""

import re

import numpy as np
import pytest
from device_programs import CASES, LOOPS
from grid_examples import A, B, C, gradient
from numba import cuda

import linad
from linad.sweeps.cuda.grid_kernels import GridKernel
from linad.sweeps.cuda.target import CUDA
from linad.sweeps.instructions import GridCall, GridOperand
from linad.sweeps.kernel_dtypes import NAMES


def check(ptx):
    assert ".target sm_90" in ptx
    assert ".entry" in ptx
    assert not re.search(r"\b(?:atom|red|bar)\.", ptx), "kernels need no atomics and no barriers"


def check_program(f, *args):
    report = linad.explain(f, target="cuda")(*args)
    assert not report.fallbacks
    kernels = report.ptx()
    assert len(kernels) == report.kernels
    for ptx in kernels:
        check(ptx)
    return report


@pytest.mark.parametrize("name", CASES | LOOPS)
def test_programs(name):
    check_program(*(CASES | LOOPS)[name])


@linad.kernel
def powers(u, v, n):
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            if u[i, j] < 0:
                raise ValueError("a root of a number below zero")
            v[i, j] = np.sqrt(u[i, j]) ** n / (1.0 + u[i, j])


def test_kernels_of_users():
    """What `numba.cuda.jit` made, called from linad's entry with arrays at addresses."""
    report = linad.explain(gradient("sums"), target="cuda")(C, A, B)
    texts = report.ptx()
    assert sum("atom." in text for text in texts) == 1  # what the user asked for
    assert len(report.cubins()) == len(texts) == report.kernels
    assert all([cubin.code.startswith(b"\x7fELF") for cubin in report.cubins()])


@linad.kernel
def chosen(x, n, y):
    for i in range(len(x)):
        z = x[len(x) - 1 - i]
        y[i] = np.maximum(x[i], z) + np.minimum(x[i], n) + np.fmax(x[i], z) + np.fmin(x[i], z)
        y[i] += np.clip(x[i], 0, z) + max(x[i], z) * min(x[i], z) + abs(x[i]) + np.sign(n)


def test_choices_between_numbers():
    """None is libdevice's, which leaves NaN out."""

    def f(x):
        y = np.zeros_like(x)
        chosen(x, 2, y)
        return y

    for g in (f, linad.grad(lambda x: np.sum(f(x)))):
        report = check_program(g, np.linspace(-1.0, 1.0, 5))
        assert not any([re.search(r"\b(?:max|min)\.f64", text) for text in report.ptx()])


@pytest.mark.parametrize("dtype", NAMES)
def test_dtypes_of_users_kernels(dtype):
    described = (
        GridOperand(dtype, 2, True),
        GridOperand(dtype, 1, True),
        GridOperand(dtype, 0, False),
    )
    check(CUDA.ptx_of(GridCall(GridKernel(moved, 1, None, None, ""), described, 1, 1, [], [], "")))


@cuda.jit
def moved(y, x, n):
    i = cuda.grid(1)
    if i < x.size:
        y[0, i] = x[i] if x[i] != n else n
