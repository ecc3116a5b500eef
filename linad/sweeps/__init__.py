"""Compiled sweeps: a tape as a program of kernels.

simplify (transforms)  ->  plan  ->  lower  ->  a program of a target, run in a workspace

The targets are rooms of their own: `linad.sweeps.cpu`; `linad.sweeps.numpy_target` has no kernels.
"""
