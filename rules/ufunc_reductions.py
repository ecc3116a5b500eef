"""``reduce`` of ufuncs, by the reductions of NumPy's functions; their default axis is 0.

Differences and quotients go from left to right: a_0 - a_1 - a_2 ... = a_0 - (a_1 + a_2 + ...).
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.zero_dim import number
from linad.core.array_type import Array
from linad.core.dispatch import implements_ufunc
from linad.core.numpy_options import check_options
from linad.core.ufunc_keywords import refuse_out
from linad.rules.reductions import (
    REDUCERS,
    NoValue,
    axes_kept,
    cast,
    given,
    lane_size,
    reduction_axes,
    selected,
)
from linad.rules.shaping import as_array


def _method(ufunc: Any, function: Callable[..., Any]) -> None:
    @implements_ufunc(ufunc, "reduce")
    def reduce(
        a: Array,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NoValue,
        where: Any = True,
    ) -> Any:
        check_options(reduce, {"keepdims": keepdims, "initial": initial, "where": where})
        return function(a, axis, dtype, out, keepdims, initial, where)

    reduce.__name__ = f"{ufunc.__name__}.reduce"


for _ufunc, _reducer in REDUCERS.items():
    _method(_ufunc, _reducer)


def as_first(ufunc: Any, y: Array, x: Array) -> Any:
    """Differences of small integers as such; of their sums, which are wider, they are made here."""
    return y.astype(x.dtype) if ufunc is np.subtract and x.dtype.kind in "iu" else y


@functools.cache
def _dtype_of_loop(ufunc: Any, dtype: np.dtype[Any]) -> Any:
    return ufunc.accumulate(np.zeros(1, dtype)).dtype


def as_operand(ufunc: Any, a: Array) -> Any:
    """What is reduced or accumulated, in the dtype that NumPy does it in: quotients of integers are
    floats.

    Raises
    ------
    TypeError
        From NumPy, where it has none: differences of booleans.
    """
    return cast(a, _dtype_of_loop(ufunc, a.dtype))


def reduced_in_order(ufunc: Any, function: Callable[..., Any]) -> None:
    """Register ``reduce`` of a ufunc, from left to right: ``function(a, axes, initial, where)``.

    It gets operands in the dtype of the ufunc, and gives one result per lane.
    """
    name = f"{ufunc.__name__}.reduce"

    def reduce(
        a: Array, axis: Any, dtype: Any, out: Any, keepdims: Any, initial: Any, where: Any
    ) -> Any:
        if out is not None:
            refuse_out(name, out)
        axes = reduction_axes(axis, a.ndim, name)
        a = as_operand(ufunc, cast(a, dtype))
        if len(axes) > 1 and ufunc.identity is None:
            raise ValueError(f"{name} is not reorderable, so at most one axis may be specified")
        return number(axes_kept(function(a, axes, initial, where), a.shape, axes, keepdims))

    _method(ufunc, reduce)


def no_identity(name: str) -> ValueError:
    """NumPy's own words."""
    return ValueError(f"zero-size array to reduction operation {name} has no identity")


def _first_against_rest(ufunc: Any, rest: Callable[..., Any]) -> None:
    """a_0 - a_1 - a_2 ... = a_0 - (a_1 + a_2 + ...), and so for quotients."""
    name = f"{ufunc.__name__}.reduce"

    def lanes(a: Array, axes: tuple[int, ...], initial: Any, where: Array) -> Any:
        if given(initial):
            a = selected(a, where, a.dtype.type(ufunc is np.true_divide))
            first, others = np.astype(as_array(initial), a.dtype), rest(a, axes)
        elif where is not True and where is not NoValue:
            raise ValueError(f"{name} has no identity; to use where=, pass initial=")
        elif not lane_size(a, axes):
            raise no_identity(name)
        elif not axes:
            return np.copy(a)
        else:
            along = np.moveaxis(a, axes[0], 0)
            first, others = along[0], rest(along[1:], 0)
        return as_first(ufunc, ufunc(first, others), a)

    reduced_in_order(ufunc, lanes)


_first_against_rest(np.subtract, REDUCERS[np.add])
_first_against_rest(np.true_divide, REDUCERS[np.multiply])
