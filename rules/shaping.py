"""Arrays in another shape, order or dtype: the same numbers, so linear maps without arithmetic.

reshape      vec(Y) = vec(X)                 J = I
transpose    Y = X with axes permuted        J a permutation, J^H its inverse
broadcast    Y = X repeated                  J^H sums what was repeated
astype       Y = X in another dtype          J^H casts back, keeping the real part
"""

from typing import Any

import numpy as np

from linad.dispatch import implements
from linad.operators.base import JacobianOperator
from linad.operators.structured import Broadcast, Cast, Permutation, Reshape
from linad.primitive import Primitive
from linad.shapes import normalize_axis

reshape_ = Primitive("reshape", lambda x, *, shape: np.reshape(x, shape))
transpose_ = Primitive("transpose", lambda x, *, axes: np.transpose(x, axes))
broadcast_to_ = Primitive("broadcast_to", lambda x, *, shape: np.broadcast_to(x, shape))
astype_ = Primitive("astype", lambda x, *, dtype: np.asarray(x).astype(dtype))


@reshape_.jacobian(wrt=0)
def reshape_wrt_x(y: Any, x: Any, *, shape: Any) -> JacobianOperator:
    return Reshape(y.shape, x.shape, y.dtype)


@transpose_.jacobian(wrt=0)
def transpose_wrt_x(y: Any, x: Any, *, axes: Any) -> JacobianOperator:
    return Permutation(axes, x.shape, y.dtype)


@broadcast_to_.jacobian(wrt=0)
def broadcast_to_wrt_x(y: Any, x: Any, *, shape: Any) -> JacobianOperator:
    return Broadcast(y.shape, x.shape, y.dtype)


@astype_.jacobian(wrt=0)
def astype_wrt_x(y: Any, x: Any, *, dtype: Any) -> JacobianOperator:
    return Cast(x.shape, y.dtype, x.dtype)


@implements(np.reshape)
def reshape(x: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    if order == "F":
        target = shape if isinstance(shape, (tuple, list)) else (shape,)
        return transpose(reshape(transpose(x), tuple(target)[::-1]))
    return reshape_(x, shape=shape)


@implements(np.transpose)
def transpose(a: Any, axes: Any = None) -> Any:
    if axes is None:
        axes = tuple(range(a.ndim))[::-1]
    return transpose_(a, axes=tuple(normalize_axis(k, a.ndim, "transpose") for k in axes))


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    i, j = (normalize_axis(k, a.ndim, "swapaxes") for k in (axis1, axis2))
    axes = list(range(a.ndim))
    axes[i], axes[j] = j, i
    return transpose_(a, axes=tuple(axes))


@implements(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    return swapaxes(x, -1, -2)


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return array if array.shape == shape else broadcast_to_(array, shape=shape)


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    dtype = np.dtype(dtype)
    return x if x.dtype == dtype else astype_(x, dtype=dtype)
