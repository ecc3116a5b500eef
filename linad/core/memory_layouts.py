"""How the entries of an array lie in memory: which decides whether a reshape is a view."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from linad.core.array_type import Array


def layout_of(a: Array) -> Any:
    """Equal for arrays of one shape, plain or traced, of which NumPy makes the same views.

    "C" or "F" without gaps; else the strides in entries, each gap cut to one entry.
    """
    a = getattr(a, "concrete", a)
    if not isinstance(a, np.ndarray) or a.flags.c_contiguous:
        return "C"
    return "F" if a.flags.f_contiguous else _steps(a)


def copied(a: np.ndarray) -> np.ndarray:
    """A writeable copy of which NumPy makes the same views: gaps stay, cut to one entry."""
    if a.flags.forc:
        return np.array(a)
    steps = _steps(a)
    if 0 in [step for step, n in zip(steps, a.shape, strict=True) if n > 1]:
        return np.array(a)  # entries that stand in several places; a copy has each for itself
    y = laid(a.shape, steps, a.dtype)[0]
    y[...] = a
    return y


def copy_in_layout(a: Array) -> Any:
    """A copy of which operations make arrays that lie as those they make of ``a``.

    An axis that is broadcast stays so: it says nothing about the order of an operation's result,
    where in a copy, whose entries stand one after the other, it would.
    """
    if type(a) is not ndarray or a.flags.forc or 0 not in a.strides or not a.size:
        return a.copy("K")
    once = tuple([slice(1) if step == 0 else slice(None) for step in a.strides])
    return np.broadcast_to(a[once].copy("K"), a.shape)


def laid(shape: Sequence[int], steps: Sequence[int], dtype: Any) -> tuple[np.ndarray, Any, int]:
    """An array whose strides are given in entries, its memory, and which entry is its first."""
    reach = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    first = -sum([r for r in reach if r < 0])
    memory = np.empty(first + sum([r for r in reach if r > 0]) + 1, dtype)
    size = memory.itemsize
    strides = tuple([step * size for step in steps])
    return np.ndarray(shape, dtype, memory, first * size, strides), memory, first


def laid_like(y: np.ndarray, lie: Any) -> np.ndarray:
    """An array that lies in memory as `layout_of` said of one of its shape, without gaps.

    It is a copy where ``y`` itself does not lie so.
    """
    if type(lie) is str:
        return np.asfortranarray(y) if lie == "F" else np.ascontiguousarray(y)
    axes = sorted(range(y.ndim), key=lambda k: -abs(lie[k]))
    made = np.empty([y.shape[k] for k in axes], y.dtype).transpose(np.argsort(axes))
    made[...] = y
    return made


def _steps(a: np.ndarray) -> tuple[int, ...]:
    """Strides in entries: signs, order of the axes and which axes are one run stay."""
    steps = [0] * a.ndim
    inner, length, run = a.itemsize, 1, 1  # of the axis before: its stride and length; new run
    for k in sorted(range(a.ndim), key=lambda k: abs(a.strides[k])):
        n, stride = a.shape[k], abs(a.strides[k])
        if n == 1 or stride == 0:
            continue
        # One run with the axis before, or a gap of one entry.
        run += stride != inner * length
        steps[k] = run if a.strides[k] > 0 else -run
        inner, length, run = stride, n, run * n
    return tuple(steps)
