"""Compiled sweeps: a tape as a threaded program of Numba kernels.

simplify (transforms)  ->  fuse  ->  lower  ->  Program  ->  a Workspace runs it
"""
