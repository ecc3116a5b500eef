"""Statements in the language of kernels, run on arrays."""

import numpy as np

from linad.sweeps.cpu import kernel_cache as cache
from linad.sweeps.cpu.engine import call_on


def run(body, *arrays):
    """Call a kernel on arrays ``a0``, ``a1``, ...; its status."""
    lines, k, described = ["def kernel(p, start, stop):"], 0, []
    for j, a in enumerate(arrays):
        words = ", ".join([f"operand(p, {k + d})" for d in range(1 + a.ndim)])
        lines.append(f"    a{j} = array_{a.dtype.str[1:]}({words})")
        described += [id(a.dtype), a.ndim]
        k += 1 + a.ndim
    source = "\n".join([*lines, *[f"    {line}" for line in body.splitlines()], "    return 0\n"])
    kernel = cache.kernel(source)
    description = np.array([int(kernel), len(arrays), id(np.ndarray), *described])
    return call_on(description, np.empty(k, np.int64), arrays)
