"""Reductions over axes.

y = sum x      dy = sum dx      the adjoint of repeating
"""

from typing import Any

import numpy as np

from linad.dispatch import implements, implements_ufunc
from linad.operators.base import JacobianOperator
from linad.operators.structured import Broadcast
from linad.primitive import Primitive
from linad.shapes import keep_axes, normalize_axes
from linad.rules.shaping import reshape

sum_ = Primitive("sum", lambda x, *, axes: np.add.reduce(x, axis=axes))


@sum_.jacobian(wrt=0)
def sum_wrt_x(y: Any, x: Any, *, axes: Any) -> JacobianOperator:
    return Broadcast(x.shape, y.shape, y.dtype, axes).H


@implements(np.sum)
def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    axes = normalize_axes(axis, a.ndim, "sum")
    y = sum_(a, axes=axes) if axes else a
    return reshape(y, keep_axes(a.shape, axes)) if keepdims else y


@implements_ufunc(np.add, "reduce")
def add_reduce(
    a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    return sum(a, axis, dtype, out, keepdims)
