"""Kernels of programs for a GPU as PTX, without a GPU: run by ``tox -e cuda``.

Not collected by the default run, since it needs numba-cuda. What the kernels compute is tested by
tests/sweeps/cuda; here nothing is run.
"""

import re

import numpy as np
import pytest
from compiled_runs import in_numpy
from device_programs import CASES

import linad
from linad.core.primitive import Primitive
from linad.core.tape import Equation, Tape, Var
from linad.errors import FallbackError
from linad.sweeps.cuda.target import CUDA
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.lower import Lowering
from linad.sweeps.scalar_rows import ROWS


def check(ptx):
    assert ".target sm_90" in ptx
    assert ".entry" in ptx
    assert not re.search(r"\b(?:atom|red|bar)\.", ptx), "kernels need no atomics and no barriers"


@pytest.mark.parametrize("name", CASES)
def test_programs(name):
    f, *args = CASES[name]
    report = linad.explain(f, target="cuda")(*args)
    assert not report.fallbacks
    kernels = report.ptx()
    assert len(kernels) == report.kernels
    for ptx in kernels:
        check(ptx)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8", "i8", "i4", "b1"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_rows(dtype, count):
    """Every row that a loop on the device may have, a few in each kernel."""
    arrays = [np.ones(5, dtype) for _ in range(count)]
    inputs = [Var(k, a.shape, a.dtype) for k, a in enumerate(arrays)]
    equations = []
    for name in ROWS:
        if f"{{{count - 1}}}" not in ROWS[name][0].text or f"{{{count}}}" in ROWS[name][0].text:
            continue
        results = in_numpy(name, arrays, {})
        if results is None or name_of_dtype(results[0].dtype) is None:
            continue
        if CUDA.row_of(name, results[0].dtype, inputs) is None:
            continue
        out = Var(count + len(equations), results[0].shape, results[0].dtype)
        equations.append(Equation(Primitive.registry[name], tuple(inputs), {}, (out,)))
    for k in range(0, len(equations), 12):
        some = equations[k : k + 12]
        tape = Tape("rows", inputs, some, [e.outputs[0] for e in some], None, None)
        for call in Lowering(tape, CUDA).instructions:
            check(CUDA.ptx_of(call.source))


def test_other_targets_have_none():
    with pytest.raises(FallbackError, match="expected a program for CUDA, got one for CPU"):
        linad.explain(np.sin)(np.ones(3)).ptx()
