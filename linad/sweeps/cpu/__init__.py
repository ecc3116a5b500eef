"""Sweeps on the CPU: kernels by Numba, routines of BLAS and LAPACK, threads."""
