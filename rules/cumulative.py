"""Running sums, products, extrema and log-sum-exps along an axis, and sums of segments.

cumsum        y_k = y_{k-1} + x_k               dy_k = dy_{k-1} + dx_k
cumprod       y_k = y_{k-1} x_k                 dy_k = x_k dy_{k-1} + y_{k-1} dx_k
logaddexp     y_k = log(e^y_{k-1} + e^x_k)      dy_k = e^(y_{k-1}-y_k) dy_{k-1} + e^(x_k-y_k) dx_k
maximum       y_k = x_j, j <= k                 dy_k = dx_j, j the first entry that attains y_k

Products and log-sum-exps share a linear recurrence h_k = a_k h_{k-1} + b_k. It divides by
nothing, so zeros among the factors are no special case, and it is a primitive of its own
whose Jacobians are recurrences again. It is solved by odd-even reduction: eliminating every
second h leaves the same problem of half the length, O(n) multiplications in O(log n) calls.

Source: G. Blelloch, "Prefix sums and their applications", 1990, section 1.4.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements, implements_ufunc
from linad.core.primitive import Primitive
from linad.core.shapes import normalize_axis
from linad.core.ufunc_keywords import refuse_out
from linad.operators.base import JacobianOperator
from linad.operators.linear_solves import solution_rules
from linad.operators.recurrences import CumulativeSum, Recurrence, SegmentSum, shift
from linad.operators.reordering import broadcast
from linad.operators.structured import Diagonal
from linad.rules.reductions import cast
from linad.rules.shaping import laid_as, layout, replaced
from linad.rules.ufunc_reductions import as_first, as_operand

# The linear recurrence.


def _solve(a: Array, b: Array) -> Any:
    """h_k = a_k h_{k-1} + b_k along the last axis."""
    n = b.shape[-1]
    if n < 2:
        return b.copy()
    even, odd = slice(0, n - 1, 2), slice(1, n, 2)
    h = np.empty_like(b)
    odd_h = _solve(a[..., odd] * a[..., even], a[..., odd] * b[..., even] + b[..., odd])
    h[..., odd] = odd_h
    h[..., 0] = b[..., 0]
    later = slice(2, n, 2)
    h[..., later] = a[..., later] * odd_h[..., : (n - 1) // 2] + b[..., later]
    return h


def _recurrence(a: Array, b: Array, *, axis: int, backward: bool) -> Any:
    dtype = np.result_type(a, b)
    a, b = np.asarray(a, dtype), np.asarray(b, dtype)
    if axis != -1:
        a, b = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
    h = _solve(a[..., ::-1], b[..., ::-1])[..., ::-1] if backward else _solve(a, b)
    return h if axis == -1 else np.moveaxis(h, -1, axis)


recurrence = Primitive("recurrence", _recurrence)


def _times_previous(h: Array, a: Array, b: Array, *, axis: int, backward: bool) -> JacobianOperator:
    previous = shift(h, axis, -1 if backward else 1)
    return Diagonal(previous, h.shape, h.dtype) @ broadcast(h.shape, a.shape, h.dtype)


solution_rules(
    recurrence,
    right_side=1,
    inverse=lambda h, shape, a, b, *, axis, backward: Recurrence(
        recurrence, a, axis, backward, shape, h.dtype
    ),
    changes={0: _times_previous},
)


# Running sums, products, log-sum-exps.

cumsum_ = Primitive("cumsum", lambda x, *, axis: np.add.accumulate(x, axis=axis))
cumprod_ = Primitive("cumprod", lambda x, *, axis: np.multiply.accumulate(x, axis=axis))


@cumsum_.jacobian(wrt=0)
def cumsum_wrt_x(y: Array, x: Array, *, axis: int) -> JacobianOperator:
    return CumulativeSum(axis, y.shape, y.dtype)


@cumprod_.jacobian(wrt=0)
def cumprod_wrt_x(y: Array, x: Array, *, axis: int) -> JacobianOperator:
    k = axis - y.ndim
    before = Diagonal(shift(y, k, 1, 1.0), y.shape, y.dtype)
    return Recurrence(recurrence, x, k, False, y.shape, y.dtype) @ before


def _log_accumulate(ufunc: Any, exponential: Any) -> Primitive:
    name = f"{ufunc.__name__}_accumulate"
    primitive = Primitive(name, lambda x, *, axis: ufunc.accumulate(x, axis=axis))

    def rule(y: Array, x: Array, *, axis: int) -> JacobianOperator:
        k = axis - y.ndim
        # Sums without a term yet have logarithm -inf, and derivative 0.
        finite = replaced(y, y == -np.inf, 0)
        share = Diagonal(exponential(x - finite), y.shape, y.dtype)
        a = exponential(shift(y, k, 1, -np.inf) - finite)
        return Recurrence(recurrence, a, k, False, y.shape, y.dtype) @ share

    rule.__name__ = rule.__qualname__ = f"{name}_wrt_x"
    primitive.jacobian(wrt=0)(rule)
    return primitive


logaddexp_accumulate = _log_accumulate(np.logaddexp, np.exp)
logaddexp2_accumulate = _log_accumulate(np.logaddexp2, np.exp2)


# Running extrema select.


def _first_attaining(x: Array, *, axis: int, ufunc: Any) -> Any:
    """Index along ``axis`` of the first entry that attains the running extremum."""
    y = np.moveaxis(ufunc.accumulate(x, axis=axis), axis, -1)
    risen = np.ones(y.shape, bool)
    before, after = y[..., :-1], y[..., 1:]
    risen[..., 1:] = (after != before) & (before == before)
    position = np.where(risen, np.arange(y.shape[-1]), 0)
    return np.moveaxis(np.maximum.accumulate(position, axis=-1), -1, axis)


first_attaining = Primitive("first_attaining", _first_attaining, constant=True)


def _running_maximum(x: Array, *, axis: int) -> Any:
    return np.take_along_axis(x, first_attaining(x, axis=axis, ufunc=np.maximum), axis=axis)


def _running_minimum(x: Array, *, axis: int) -> Any:
    return np.take_along_axis(x, first_attaining(x, axis=axis, ufunc=np.minimum), axis=axis)


def _first_against_rest(ufunc: Any, accumulate: Any) -> Any:
    """x_0, x_0 - x_1, x_0 - (x_1 + x_2) ...; and so for quotients."""

    def run(x: Array, *, axis: int) -> Any:
        x = as_operand(ufunc, x)
        lanes = np.moveaxis(x, axis, 0)
        rest = ufunc(lanes[:1], accumulate(lanes[1:], axis=0))
        return np.moveaxis(np.concatenate([lanes[:1], rest]), 0, axis)

    return run


# NumPy's functions.


def _cumulative(name: str, run: Any, missing: Any = None) -> Any:
    """A function (a, axis, dtype, out) over a primitive; NaN counts as ``missing``."""

    def accumulate(
        a: Array, axis: Any = None, dtype: np.dtype[Any] | None = None, out: Any = None
    ) -> Any:
        if out is not None:
            refuse_out(name, out if isinstance(out, tuple) else (out,))
        a = cast(a, dtype)
        if missing is not None:
            a = np.where(np.isnan(a), missing, a)
        if a.ndim == 0 or (axis is None and a.ndim > 1):
            a = np.ravel(a)
        axis = 0 if axis is None else axis
        y = run(a, axis=normalize_axis(axis, a.ndim, name))
        y = cast(y, dtype)  # of small integers it is wider
        return y if a.ndim < 2 or isinstance(run, Primitive) else laid_as(y, a)

    accumulate.__name__ = accumulate.__qualname__ = name
    return accumulate


cumsum = implements(np.cumsum)(_cumulative("cumsum", cumsum_))
cumprod = implements(np.cumprod)(_cumulative("cumprod", cumprod_))
implements(np.nancumsum)(_cumulative("nancumsum", cumsum_, 0))
implements(np.nancumprod)(_cumulative("nancumprod", cumprod_, 1))


def _array_api(name: str, function: Callable[..., Any], start: float) -> Any:
    """cumulative_sum and cumulative_prod: one axis, and an initial value on request."""

    def accumulate(
        x: Array,
        /,
        *,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: bool = False,
    ) -> Any:
        if axis is None:
            if x.ndim > 1:
                raise ValueError(f"{name}: axis must be given for an array of {x.ndim} axes")
            x, axis = np.atleast_1d(x), 0
        elif isinstance(axis, tuple) and len(axis) == 1 and not include_initial:
            x, axis = np.atleast_1d(x), axis[0]  # as the ufunc's accumulate takes it
        y = function(x, axis, dtype, out)
        if not include_initial:
            return y
        axis = normalize_axis(axis, y.ndim, name)
        shape = (*y.shape[:axis], 1, *y.shape[axis + 1 :])
        return np.concatenate([np.full(shape, start, y.dtype), y], axis=axis)

    accumulate.__name__ = accumulate.__qualname__ = name
    return accumulate


implements(np.cumulative_sum)(_array_api("cumulative_sum", cumsum, 0.0))
implements(np.cumulative_prod)(_array_api("cumulative_prod", cumprod, 1.0))


def _method(ufunc: Any, run: Any) -> None:
    function = _cumulative(f"{ufunc.__name__}.accumulate", run)

    @implements_ufunc(ufunc, "accumulate")
    def accumulate(
        a: Array, axis: int = 0, dtype: np.dtype[Any] | None = None, out: Any = None
    ) -> Any:
        if not a.ndim:
            raise TypeError("cannot accumulate on a scalar")
        y = function(a, axis, dtype, out)
        return as_first(ufunc, y, a) if dtype is None else y

    accumulate.__name__ = f"{ufunc.__name__}_accumulate"


_method(np.add, cumsum_)
_method(np.multiply, cumprod_)
_method(np.maximum, _running_maximum)
_method(np.minimum, _running_minimum)
_method(np.logaddexp, logaddexp_accumulate)
_method(np.logaddexp2, logaddexp2_accumulate)
_method(np.subtract, _first_against_rest(np.subtract, cumsum_))
_method(np.true_divide, _first_against_rest(np.true_divide, cumprod_))


# Segments.

segment_sum = Primitive(
    "segment_sum", lambda x, *, starts, axis: np.add.reduceat(x, starts, axis=axis)
)


@segment_sum.jacobian(wrt=0)
def segment_sum_wrt_x(y: Array, x: Array, *, starts: Array, axis: int) -> JacobianOperator:
    return SegmentSum(starts, axis, x.shape, y.dtype)


def _segments_of_falses(a: np.ndarray, axis: int) -> np.ndarray:
    """What lies in memory as segments of ``a`` do: NumPy orders their axes in its own way."""
    few = a[tuple([slice(2)] * a.ndim)]
    return np.logical_or.reduceat(np.zeros_like(few, bool), [0, 0], axis=axis)


def add_reduceat(ufunc: Any) -> None:
    """Give a ufunc that can reduce its reduceat."""
    name = f"{ufunc.__name__}.reduceat"

    @implements_ufunc(ufunc, "reduceat")
    def reduceat(
        a: Array, indices: Array, axis: int = 0, dtype: np.dtype[Any] | None = None, out: Any = None
    ) -> Any:
        if out is not None:
            refuse_out(name, out)
        axis = normalize_axis(axis, a.ndim, name)
        a, n = as_operand(ufunc, cast(a, dtype)), a.shape[axis]
        given = np.asarray(indices)
        # A copy, as the caller may write into it; of no entries NumPy takes any dtype.
        starts = given.astype(np.intp, casting="safe" if given.size else "unsafe")
        if ((starts < 0) | (starts >= n)).any():
            raise IndexError(f"{name}: indices must lie in [0, {n}), got {indices!r}")
        stops = np.append(starts, n)[1:]
        if ufunc is np.add and starts.size and (starts < stops).all():
            return cast(segment_sum(a, starts=starts, axis=axis), dtype)
        # A segment that does not go up, or by one, is its first entry alone.
        lanes = np.moveaxis(a, axis, 0)
        parts = [
            ufunc.reduce(lanes[i:j], axis=0) if i + 1 < j else lanes[i]
            for i, j in zip(starts.tolist(), stops.tolist(), strict=True)
        ]
        if not parts:
            return cast(np.take(a, starts, axis=axis), dtype)
        y = np.moveaxis(np.stack(parts), 0, axis)
        return cast(laid_as(y, _segments_of_falses(layout(a), axis)), dtype)

    reduceat.__name__ = f"{ufunc.__name__}_reduceat"


for _ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.logaddexp, np.logaddexp2):
    add_reduceat(_ufunc)
