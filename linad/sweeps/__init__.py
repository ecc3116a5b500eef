"""Compiled sweeps: a tape as a threaded program of Numba kernels.

simplify (transforms)  ->  fuse  ->  lower  ->  Program  ->  a Workspace runs it
"""

from linad.core.settings import compiler_is_off
from linad.errors import FallbackError

if compiler_is_off():
    raise FallbackError(
        "Numba's compiler is switched off by NUMBA_DISABLE_JIT: linad.jit lets NumPy run what it "
        "recorded, and there are no compiled programs to explain, to call or to load"
    )
