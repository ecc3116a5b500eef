"""Programs for a GPU in the simulator of numba-cuda: its grid, its threads, its kernels.

Run as a script by tests/cuda_kernels.py, where ``NUMBA_ENABLE_CUDASIM`` is 1.
"""

import ctypes
from unittest import mock

import numpy as np
from device_programs import CASES, LOOPS
from kernels_in_python import FUNCTION, KEPT, complex_of, names_in_python
from numba import cuda
from random_programs import assert_same, rounding

import linad
from linad.core import tree
from linad.sweeps.cpu import kernel_cache
from linad.sweeps.cuda.compiler import entry_source
from linad.sweeps.cuda.host_program import HostProgram
from linad.sweeps.cuda.target import CUDA
from linad.transforms.simplify import simplify

BLOCKS, THREADS = 2, 3


class SimulatedProgram(HostProgram):
    """A program whose kernels are those of the device."""

    def _source_of(self, call):
        return entry_source(call.source)


def load(source, fast):
    """A C function that runs a kernel in the simulator."""
    scope = names_in_python() | {"complex": complex_of, "cuda": cuda}
    exec(source, scope)
    kernel = cuda.jit(scope["kernel"])

    def run(operands, start, stop):
        status = np.zeros(1, np.int64)
        with np.errstate(all="ignore"):
            kernel[BLOCKS, THREADS](operands, start, stop, status.ctypes.data)
        return int(status[0])

    KEPT.append(FUNCTION(run))
    return ctypes.cast(KEPT[-1], ctypes.c_void_p).value


def simulate(f, *args):
    with np.errstate(all="ignore"):
        y, tape = linad.trace(f, *args)
        tape = simplify(tape)
    program = SimulatedProgram(tape, CUDA)
    # The CPU's kernels, which trace what is recorded, stay the CPU's.
    with (
        mock.patch.object(kernel_cache, "_load", load),
        mock.patch.object(kernel_cache, "_kernels", {}),
    ):
        found = program.run([np.array(a, order="C") for a in tree.flatten(args)[0]])
    assert_same(found, tree.flatten(y)[0], rounding(tape))


if __name__ == "__main__":
    chosen = {n: CASES[n] for n in ("chain", "integers", "sums", "along", "moves")}
    for name, (f, *args) in (chosen | LOOPS).items():
        simulate(f, *[np.asarray(a)[..., :40] if np.ndim(a) else a for a in args])
        print(name, "is right")
