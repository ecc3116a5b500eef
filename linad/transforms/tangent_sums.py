"""Sums of tangents and cotangents, written in place where nobody else holds the memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from linad.arrays.buffers import concrete, root_of
from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import array, is_number
from linad.core.array_type import Array
from linad.core.primitive import lifted
from linad.core.shapes import Shape, memory_of
from linad.operators.base import JacobianOperator


def handed_out(value: Array, taken: set[int]) -> Any:
    """A tangent or cotangent for the caller, who may write into it: its memory is now taken."""
    if type(value) is ndarray:
        memory = id(value) if value.base is None else memory_of(value)  # a call less
        if memory in taken or not value.flags.writeable:
            value = value.copy()
            memory = id(value)
        taken.add(memory)
        return value
    return value.alias() if isinstance(value, Tracer) else value


def smallest(array: np.ndarray) -> Any:
    """A number that is NaN where one of the entries is, and their least or 0 where none is."""
    if array.flags.c_contiguous and array.size:
        # At a quarter of the cost of a reduction; of other arrays it would make a copy first.
        return array.item(array.argmin())
    return np.minimum.reduce(array, axis=None, initial=0)


def may_hold_nan(results: Sequence[Any]) -> bool:
    """Whether there is NaN in some result, or in one that may not be looked at."""
    for part in results:
        if type(part) is ndarray and part.flags.c_contiguous and part.size:
            least = part.item(part.argmin())  # as `smallest`, with a call less
        else:
            least = smallest(part) if isinstance(part, ndarray) else part
        # A traced part, of a trace that runs in another thread, tells nothing.
        if type(least) is Tracer or least != least:
            return True
    return False


def push_onto(total: Array, mine: bool, J: JacobianOperator, tangent: Array) -> Any:
    """Return ``total + J tangent``, in the memory of ``total`` where it is ``mine`` to write."""
    if mine and J.spreads:
        plain = type(total) is ndarray and not isinstance(tangent, Tracer)
        traced = isinstance(total, Tracer) and not is_view(total)
        if plain or (traced and lifted(total, tangent) is total):
            J.pushforward_into(tangent, total)
            return total
    return plus(total, J.pushforward(tangent))


def is_view(array: Array) -> bool:
    """Whether a traced array shows the entries of another, which must not be written."""
    return isinstance(array, Tracer) and root_of(array) is not array


def is_own(held: Array) -> bool:
    """Whether it is an array of its own: no number, which a sum of arrays without axes is, and no
    view of another traced array."""
    return not is_number(held) and not is_view(held)


def in_c_order(array: Array) -> bool:
    """Whether a region of the array can be written in place."""
    if type(array) is ndarray:
        return array.flags.c_contiguous
    return is_own(array) and bool(concrete(array).flags.c_contiguous)


def buffer_for(held: Array | None, seeds: Shape, J: JacobianOperator) -> Any:
    """A cotangent that may be written: zeros, or a copy of what is held."""
    if held is None:
        return np.zeros(seeds + J.in_shape, J.in_dtype)
    return array(held.copy()) if isinstance(held, Tracer) else np.array(held, order="C")


def plus(a: Array, b: Array) -> Any:
    """Sum of two tangents, or of two tuples of tangents (None is zero)."""
    if type(a) is tuple:
        return tuple([plus(x, y) for x, y in zip(a, b, strict=True)])
    if a is None or b is None:
        return b if a is None else a
    return a + b
