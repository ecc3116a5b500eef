"""Positions and bits: functions of integers, which have no derivative.

Their arguments are plain arrays beside a derivative, since integers leave the trace; only a
recorded program passes them on.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive
from linad.core.shapes import Shape
from linad.core.tape import Var
from linad.rules.shaping import as_array

packbits_ = Primitive("packbits", np.packbits, constant=True)
unpackbits_ = Primitive("unpackbits", np.unpackbits, constant=True)
unravel_index_ = Primitive("unravel_index", np.unravel_index, constant=True)
ravel_multi_index_ = Primitive(
    "ravel_multi_index",
    lambda *index, dims, mode, order: np.asarray(
        np.ravel_multi_index(index, dims, mode=mode, order=order)
    )[()],
    constant=True,
)
unravel_index_.partial = "within the shape"
ravel_multi_index_.partial = "within the dimensions"
ravel_multi_index_.stumbles = lambda *index: any([isinstance(i, Var) for i in index])


@implements(np.packbits)
def packbits(a: Array, /, axis: Any = None, bitorder: Any = "big") -> Any:
    return packbits_(a, axis=axis, bitorder=bitorder)


@implements(np.unpackbits)
def unpackbits(a: Array, /, axis: Any = None, count: Any = None, bitorder: Any = "big") -> Any:
    return unpackbits_(a, axis=axis, count=count, bitorder=bitorder)


@implements(np.unravel_index)
def unravel_index(indices: Array, shape: Shape, order: Any = "C") -> Any:
    return unravel_index_(indices, shape=shape, order=order)


@implements(np.ravel_multi_index)
def ravel_multi_index(
    multi_index: tuple[Any, ...], dims: tuple[Any, ...], mode: Any = "raise", order: Any = "C"
) -> Any:
    entries = tuple([as_array(part) for part in multi_index])
    return ravel_multi_index_(*entries, dims=dims, mode=mode, order=order)
