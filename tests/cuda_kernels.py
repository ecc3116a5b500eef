"""Kernels of programs for a GPU as PTX and cubins, without a GPU: run by ``tox -e cuda``.

Not collected by the default run, since it needs numba-cuda. What the kernels compute is tested by
tests/sweeps/cuda; here nothing is run, but a few of them in the simulator.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from compiled_runs import in_numpy
from device_programs import CASES, LOOPS

import linad
from linad.core.primitive import Primitive
from linad.core.tape import Equation, Tape, Var
from linad.errors import FallbackError
from linad.sweeps.cuda.cubins import ENTRY
from linad.sweeps.cuda.target import CUDA
from linad.sweeps.cuda.user_kernels import KNOWN
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.lower import Lowering
from linad.sweeps.scalar_rows import ROWS


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
    def f(u):
        v = np.zeros_like(u)
        powers(u, v, 3)
        return np.sum(v)

    check_program(linad.grad(f), np.ones((4, 3)))


@pytest.mark.parametrize("module", KNOWN)
def test_functions_of_users_kernels(module):
    lines = ["def kernel(p, start, stop, thread, threads):"]
    lines.append("    x = array_f8(operand(p, 0), operand(p, 1))")
    constants, binary = {"pi", "e", "inf", "nan"}, {"atan2", "copysign", "fmod", "hypot", "pow"}
    for k, name in enumerate(sorted(KNOWN[module] - {"uint64"})):
        given = "" if name in constants else "(x[0], x[1])" if name in binary else "(x[0])"
        lines.append(f"    x[{k}] = {module}.{name}{given}")
    check(CUDA.ptx_of("\n".join([*lines, "    return 0", ""])))


def test_cubins():
    report = linad.explain(LOOPS["gradient of oscillators"][0], target="cuda")(
        *LOOPS["gradient of oscillators"][1:]
    )
    found = report.cubins()
    assert len(found) == report.kernels
    for cubin in found:
        assert cubin.code.startswith(b"\x7fELF")
        assert ENTRY.encode() in cubin.code
        assert 0 < cubin.registers < 128
        assert cubin.spilled == 0
    assert "registers, and spills 0 B" in str(report)


COMPILE = """
import numpy as np
import linad
from linad.sweeps.cuda.cubins import counts

report = linad.explain(lambda x: np.sum(np.sin(x) * x), target="cuda")(np.ones(500))
print([(c.registers, len(c.code)) for c in report.cubins()])
print(counts.compiled, counts.loaded)
"""


def run_python(*what, **settings):
    path = os.pathsep.join([p or str(Path.cwd()) for p in sys.path])
    return subprocess.run(
        [sys.executable, "-P", *what],
        env=os.environ | {"PYTHONPATH": path} | settings,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_second_process_compiles_nothing(tmp_path):
    (tmp_path / "kernels").mkdir(0o700)
    folder = str(tmp_path / "kernels")
    first, second = (run_python("-c", COMPILE, LINAD_CACHE_DIR=folder) for _ in range(2))
    assert first.splitlines()[0] == second.splitlines()[0]
    assert (first.splitlines()[1], second.splitlines()[1]) == ("2 0", "0 2")


def test_simulator():
    script = str(Path(__file__).with_name("cuda_simulation.py"))
    said = run_python(script, NUMBA_ENABLE_CUDASIM="1")
    assert said.count("is right") == 5 + len(LOOPS)


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
