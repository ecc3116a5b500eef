"""How the derivatives by hand are written: they are the limit of what a compiled program can reach.

Derived by hand, fused into as few loops as there can be, tile by tile where that spares memory,
elementary functions inlined so that loops vectorise, BLAS for large products; results go into
arrays that are there already. One is called as ``f(*inputs, *results)``, with the arrays among
the results, and returns the value where the task has one.
"""

from numba import njit

from linad.sweeps.cpu.vector_math import FUNCTIONS

exp, log, log1p, sin, cos, tanh = (
    FUNCTIONS[f"v_{name}"] for name in ("exp", "log", "log1p", "sin", "cos", "tanh")
)
"""Polynomials without calls; those of `sin`, `cos` and `log` in their range only."""

limit = njit(error_model="numpy", fastmath={"reassoc", "nsz", "contract"})
"""Sums may be taken in any order, as linad takes them; infinities and NaN stay what they are."""
