"""Programs on the fake device, compared with NumPy."""

import numpy as np
from fake_device import fake_gpu
from random_programs import assert_same

import linad
from linad.core import tree
from linad.sweeps.cuda import opening
from linad.sweeps.cuda.gpu_arrays import Array
from linad.sweeps.program import simplified

RNG = np.random.default_rng(3)
DTYPES = ["f4", "f8", "c8", "c16"]


def numbers(dtype, *shape):
    x = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.normal(size=shape)
    return x.astype(dtype)


def check(f, *args, tolerance=None):
    """Compare with NumPy; return the functions of the libraries that were called."""
    with fake_gpu() as device:
        y, tape = linad.trace(f, *args)
        program = opening.target_here().compile(simplified(tape))
        for _ in range(2):
            found = program.run(args)
        found = [a.numpy() if type(a) is Array else a for a in found]
        narrow = any(np.asarray(a).dtype in ("f4", "c8") for a in args)
        assert_same(found, tree.flatten(y)[0], tolerance or (2e-4 if narrow else 1e-10))
        return device.libraries.calls
