"""Sweeps on the CPU: kernels by Numba, routines of BLAS and LAPACK, threads."""

from linad.core.settings import require_compiler

require_compiler()
