"""ufunc.reduce, accumulate and reduceat for ufuncs that have no better form: one by one.

reduce       y = f(... f(f(x_1, x_2), x_3) ..., x_n)
accumulate   y_k = f(y_{k-1}, x_k)
reduceat     a reduce for each segment

An operation an entry along the axis, from left to right, as NumPy does it.

NumPy 2 itself has reduce and reduceat of power and arctan2 wrong on processors with AVX-512,
along a contiguous axis: of [a, b, c] it gives a**c. These two raise.
"""

import itertools
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import REMEDIES, UFUNC_METHODS, UFUNCS, implements_ufunc
from linad.core.shapes import drop_axes, normalize_axis
from linad.core.ufunc_keywords import refuse_out
from linad.errors import UnsupportedError
from linad.rules.cumulative import add_reduceat
from linad.rules.reductions import NoValue, cast, given, lane_size, selected
from linad.rules.shaping import as_array, laid_as
from linad.rules.ufunc_reductions import as_operand, no_identity, reduced_in_order


def _lanes_in_front(a: Array, axes: tuple[int, ...]) -> Any:
    """``a`` with the given axes joined into one, in front."""
    rest = [k for k in range(a.ndim) if k not in axes]
    lane = drop_axes(a.shape, axes)
    return np.transpose(a, (*axes, *rest)).reshape((lane_size(a, axes), *lane))


def _fold(ufunc: Any, parts: Any) -> Any:
    *_, last = itertools.accumulate(parts, UFUNCS[ufunc])
    return last


def _add_reduce(ufunc: Any) -> None:
    name = f"{ufunc.__name__}.reduce"

    def fold(a: Array, axes: tuple[int, ...], initial: Any, where: Any) -> Any:
        start = initial if given(initial) else ufunc.identity
        if ufunc.identity is None and where is not True and where is not NoValue:
            raise UnsupportedError(f"{name}: where= is not traced by linad; use np.where first")
        a = selected(a, where, ufunc.identity)
        parts = list(_lanes_in_front(a, axes))
        if not parts and start is None:
            raise no_identity(name)
        if given(initial) or not parts or (len(parts) == 1 and start is not None):
            # One part alone meets the identity too: hypot makes |x| of it.
            lane = drop_axes(a.shape, axes)
            parts.insert(0, np.broadcast_to(np.astype(as_array(start), a.dtype), lane))
        # One part alone is a view of the argument.
        return _fold(ufunc, parts) if len(parts) > 1 else np.copy(parts[0])

    reduced_in_order(ufunc, fold)


def _add_accumulate(ufunc: Any) -> None:
    name = f"{ufunc.__name__}.accumulate"

    @implements_ufunc(ufunc, "accumulate")
    def accumulate(
        a: Array, axis: int = 0, dtype: np.dtype[Any] | None = None, out: Any = None
    ) -> Any:
        if out is not None:
            refuse_out(name, out)
        if not a.ndim:
            raise TypeError("cannot accumulate on a scalar")
        axis = normalize_axis(axis, a.ndim, name)
        a = as_operand(ufunc, cast(a, dtype))
        parts = list(itertools.accumulate(_lanes_in_front(a, (axis,)), UFUNCS[ufunc]))
        return laid_as(np.stack(parts, axis=axis), a) if parts else a

    accumulate.__name__ = f"{ufunc.__name__}_accumulate"


_WRONG = {(u, m) for u in (np.power, np.arctan2) for m in ("reduce", "reduceat")}
for _ufunc, _method in _WRONG:
    _name = _ufunc.__name__
    REMEDIES[f"numpy.{_name}.{_method}"] = (
        f"NumPy's own skips entries on some processors; take the last of {_name}.accumulate"
    )

_FORMS = {"reduce": _add_reduce, "accumulate": _add_accumulate, "reduceat": add_reduceat}
for _ufunc in [u for u in UFUNCS if "dd->d" in u.types and u.signature is None]:
    if getattr(np, _ufunc.__name__, None) is _ufunc:
        for _method, _add in _FORMS.items():
            if (_ufunc, _method) not in UFUNC_METHODS and (_ufunc, _method) not in _WRONG:
                _add(_ufunc)
