"""Reductions over axes: sums, products, extrema, log-sum-exp.

sum          y = Σ x                dy = Σ dx
mean         y = Σ x / n            dy = Σ dx / n
prod         y = Π x                dy = Σ_i (Π_{j≠i} x_j) dx_i
max, min     y = x_k                dy = mean of dx over the entries that attain y
logaddexp    y = log Σ exp x        dy = Σ exp(x - y) dx

Each has a Jacobian of one row per lane. The products of the others are formed without
division, so entries that are zero are no special case, in derivatives of any order. Ties of
max and min share the derivative equally. A sum whose logarithm is -inf (all terms are) has
derivative 0.

``where=`` puts the neutral element in place of what it leaves out, ``initial=`` is one more
operand: both are composed from other primitives. ``dtype=`` casts before the reduction.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from linad.arrays.zero_dim import number
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import EVERY_AXIS, Shape, drop_axes, keep_axes, normalize_axes, size_of
from linad.core.ufunc_keywords import refuse_out
from linad.errors import UnsupportedError
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain
from linad.operators.reduction import ScaledSum, WeightedSum
from linad.operators.structured import Masked
from linad.rules.shaping import replaced, reshape

NoValue = np._NoValue  # type: ignore[attr-defined]  # what NumPy's own defaults are


def reduction_axes(axis: Any, ndim: int, name: str) -> tuple[int, ...]:
    """Sorted axes; as in NumPy a 0-d array lets itself be reduced over axis 0 and -1."""
    if ndim == 0 and type(axis) is int and axis in (0, -1):
        return ()
    return normalize_axes(axis, ndim, name)


def lane_size(a: Array, axes: tuple[int, ...]) -> int:
    """Number of entries that are reduced to one."""
    if len(axes) == a.ndim:
        return a.size  # type: ignore[no-any-return]
    return size_of([a.shape[k] for k in axes])


def axes_kept(y: Array, shape: Shape, axes: tuple[int, ...], keepdims: Any) -> Any:
    """``y``, with the reduced axes of ``shape`` back as 1 when ``keepdims``."""
    if keepdims and keepdims is not NoValue and axes:
        return reshape(y, keep_axes(shape, axes))
    return y


def selected(a: Array, where: Array, neutral: Any) -> Any:
    """``a`` with ``neutral`` where the mask is false."""
    if where is True or where is NoValue:
        return a
    return np.where(np.broadcast_to(where, a.shape), a, neutral)


def given(value: Any) -> bool:
    """Whether an optional argument was passed."""
    return value is not None and value is not NoValue


def cast(a: Array, dtype: Any) -> Any:
    """``a`` in the dtype asked for, if one is."""
    return a if dtype is None or a.dtype == dtype else np.astype(a, dtype)


def row_wise(name: str, ufunc: Any, weights: Callable[..., Any]) -> Primitive:
    """A primitive y = ufunc.reduce(x) with the derivative Σ weights(y, x, axes) dx."""
    primitive = Primitive(name, lambda x, *, axes: ufunc.reduce(x, axis=axes))

    def rule(y: Array, x: Array, *, axes: tuple[Any, ...]) -> JacobianOperator:
        return WeightedSum(weights(y, x, axes), axes, x.shape, y.dtype)

    rule.__name__ = rule.__qualname__ = f"{name}_wrt_x"
    primitive.jacobian(wrt=0)(rule)
    return primitive


# Sum and mean.

sum_ = Primitive("sum", lambda x, *, axes: np.add.reduce(x, axis=axes))


@sum_.jacobian(wrt=0)
def sum_wrt_x(y: Array, x: Array, *, axes: tuple[Any, ...]) -> JacobianOperator:
    return ScaledSum(axes, x.shape, y.dtype)


def _mean(x: Array, *, axes: tuple[Any, ...]) -> Any:
    n = lane_size(x, axes)
    if n == 0 or x.dtype.itemsize == 2:  # NumPy warns of the one, adds the other in float32
        return np.mean(x, axis=axes)
    return np.add.reduce(x, axis=axes) / n


mean_ = Primitive("mean", _mean)


@mean_.jacobian(wrt=0)
def mean_wrt_x(y: Array, x: Array, *, axes: tuple[Any, ...]) -> JacobianOperator:
    return ScaledSum(axes, x.shape, y.dtype, 1 / max(lane_size(x, axes), 1))


# Products.


def products_of_others(x: Array) -> Any:
    """Π_{j≠i} x_j along axis 0, without division.

    Plain arrays multiply the product of what comes before by that of what comes after. Those of
    traced arrays have a shorter derivative: neighbours are paired; what a pair needs from outside,
    it gets from the same problem for the products of pairs. O(n) multiplications in O(log n) calls.
    """
    n = x.shape[0]
    if n < 2:
        return np.ones_like(x)
    if type(x) is ndarray:
        before, after = np.ones_like(x), np.ones_like(x)
        np.multiply.accumulate(x[:-1], axis=0, out=before[1:])
        np.multiply.accumulate(x[:0:-1], axis=0, out=after[-2::-1])
        return before * after
    if n % 2:
        x = np.concatenate([x, np.ones_like(x[:1])])
    pairs = x.reshape((x.shape[0] // 2, 2, *x.shape[1:]))
    outside = products_of_others(pairs[:, 0] * pairs[:, 1])
    others = outside[:, None] * pairs[:, ::-1]
    return others.reshape(x.shape)[:n]


def _others(y: Array, x: Array, axes: tuple[int, ...]) -> Any:
    if not axes:
        return np.ones_like(x)
    if axes == EVERY_AXIS[x.ndim]:
        return products_of_others(x.reshape(-1)).reshape(x.shape)
    order = (*axes, *[k for k in range(x.ndim) if k not in axes])
    moved = x.transpose(order)
    lanes = moved.reshape((lane_size(x, axes), *moved.shape[len(axes) :]))
    back = tuple(int(k) for k in np.argsort(order))
    return products_of_others(lanes).reshape(moved.shape).transpose(back)


prod_ = row_wise("prod", np.multiply, _others)


# Extrema.


def _shares(y: Array, x: Array, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Which entries attain y, and 1 / (their number) at those, else 0."""
    y = y.reshape(keep_axes(x.shape, axes))
    attains = x == y
    # What a recorded program cannot decide it always does.
    if not isinstance(attains, Traced):
        shares = attains.astype(y.dtype)
        if np.logical_and.reduce(np.add.reduce(shares, axis=axes) == 1, axis=None):
            return attains, shares  # one entry each, and so no NaN, which equals nothing
    attains = attains | ((y != y) & (x != x))
    shares = attains.astype(y.dtype)
    return attains, shares / np.add.reduce(shares, axis=axes, keepdims=True)


def _extremum(name: str, ufunc: Any) -> Primitive:
    """A primitive y = max x, or min x: the entries that do not attain it are left out, whatever
    their tangents are."""
    primitive = Primitive(name, lambda x, *, axes: ufunc.reduce(x, axis=axes))

    def rule(y: Array, x: Array, *, axes: tuple[Any, ...]) -> JacobianOperator:
        attains, shares = _shares(y, x, axes)
        J = WeightedSum(shares, axes, x.shape, y.dtype)
        return Chain((J, Masked(attains, x.shape, y.dtype)))

    rule.__name__ = rule.__qualname__ = f"{name}_wrt_x"
    primitive.jacobian(wrt=0)(rule)
    return primitive


max_ = _extremum("max", np.maximum)
min_ = _extremum("min", np.minimum)
fmax_ = _extremum("fmax_reduce", np.fmax)
fmin_ = _extremum("fmin_reduce", np.fmin)


# Log-sum-exp.


def _softmax(exponential: Any) -> Callable[..., Any]:
    def weights(y: Array, x: Array, axes: tuple[int, ...]) -> Any:
        y = y.reshape(keep_axes(x.shape, axes))
        return exponential(x - replaced(y, y == -np.inf, 0))

    return weights


logaddexp_ = row_wise("logaddexp_reduce", np.logaddexp, _softmax(np.exp))
logaddexp2_ = row_wise("logaddexp2_reduce", np.logaddexp2, _softmax(np.exp2))


# NumPy's functions.


def reducer(
    name: str, primitive: Primitive, combine: Any, neutral: Any = None, beside: float | None = None
) -> Any:
    """The function of NumPy's full signature that a primitive serves.

    Parameters
    ----------
    name : str
        For messages.
    primitive : Primitive
    combine : ufunc
        Joins the reduction with ``initial``.
    neutral : number, optional
        Stands for what ``where`` leaves out. Without one ``initial`` is needed, as in NumPy.
    beside : float, optional
        Of one that passes over NaN: what stands for NaN beside numbers.
    """

    def reduce(
        a: Array,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NoValue,
        where: Any = True,
    ) -> Any:
        if out is not None:
            refuse_out(name, out if isinstance(out, tuple) else (out,))
        axes = EVERY_AXIS[a.ndim] if axis is None else reduction_axes(axis, a.ndim, name)
        if beside is not None:
            a = _past_nan(a, axes, where, beside)
        if axes and dtype is None and initial is NoValue and (where is True or where is NoValue):
            y = primitive.on((a,), {"axes": axes})  # the common case
            return axes_kept(y, a.shape, axes, keepdims) if keepdims else y
        a = cast(a, dtype)
        if given(initial):
            initial = _of_result(initial, a.dtype, combine)
        fill = initial if neutral is None else neutral
        if not given(fill) and where is not True and where is not NoValue:
            raise ValueError(f"{name} has no identity, so to use a where mask pass initial=")
        a = selected(a, where, fill)
        if given(initial) and neutral is None and lane_size(a, axes) == 0:
            y = number(np.copy(np.broadcast_to(initial, drop_axes(a.shape, axes))))
            return axes_kept(y, a.shape, axes, keepdims)
        y = primitive(a, axes=axes) if axes else number(np.copy(a))
        if not axes and a.dtype.kind in "biu":
            y = cast(y, combine.reduce(np.zeros(1, a.dtype)).dtype)  # wider, as over some axis
        if given(initial):
            y = combine(y, initial)
        return cast(axes_kept(y, a.shape, axes, keepdims), dtype)  # of small integers it is wider

    reduce.__name__ = reduce.__qualname__ = name
    return reduce


def _of_result(initial: Array, dtype: np.dtype[Any], combine: Any) -> Any:
    """``initial`` in the dtype of the result: wider than that of small integers and booleans."""
    if dtype.kind in "biu":
        dtype = combine.reduce(np.zeros(1, dtype)).dtype
    if isinstance(initial, Traced):
        return cast(initial, dtype)
    return np.asarray(initial, dtype)[()]


def _past_nan(a: Array, axes: tuple[int, ...], where: Any, beside: float) -> Any:
    """``a`` with a number in place of NaN beside others.

    That keeps the derivative of NaN out of theirs: that of p · NaN is NaN, and so is its product
    with a share of 0.
    """
    missing = np.isnan(a) if a.dtype.kind == "f" else False
    if not (isinstance(missing, Traced) or np.any(missing)):
        return a
    present = ~missing if where is NoValue or where is True else ~missing & where
    others = axes_kept(np.any(present, axis=axes), np.shape(present), axes, True)
    return np.where(missing & others, a.dtype.type(beside), a)


REDUCERS = {
    np.add: reducer("sum", sum_, np.add, 0),
    np.multiply: reducer("prod", prod_, np.multiply, 1),
    np.maximum: reducer("max", max_, np.maximum),
    np.minimum: reducer("min", min_, np.minimum),
    np.fmax: reducer("fmax", fmax_, np.fmax, beside=-np.inf),
    np.fmin: reducer("fmin", fmin_, np.fmin, beside=np.inf),
    np.logaddexp: reducer("logaddexp", logaddexp_, np.logaddexp, -np.inf),
    np.logaddexp2: reducer("logaddexp2", logaddexp2_, np.logaddexp2, -np.inf),
}
"""What is reduced by each ufunc, with the arguments of `np.sum`."""

implements(np.sum)(REDUCERS[np.add])
implements(np.prod)(REDUCERS[np.multiply])


def without_dtype(function: Callable[..., Any]) -> Any:
    """What NumPy's max, min and their kind take, which have no ``dtype`` argument."""

    def reduce(
        a: Array,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NoValue,
        where: Any = True,
    ) -> Any:
        return function(a, axis, None, out, keepdims, initial, where)

    reduce.__name__ = reduce.__qualname__ = function.__name__
    return reduce


amax = implements(np.max, np.amax)(without_dtype(REDUCERS[np.maximum]))
amin = implements(np.min, np.amin)(without_dtype(REDUCERS[np.minimum]))


@implements(np.ptp)
def ptp(a: Array, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return amax(a, axis, out, keepdims) - amin(a, axis, out, keepdims)


@implements(np.mean)
def mean(
    a: Array,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Any:
    if out is not None:
        refuse_out("mean", (out,))
    axes = normalize_axes(axis, a.ndim, "mean")
    if dtype is not None and np.dtype(dtype).kind == "u":
        raise UnsupportedError(
            f"mean: dtype={np.dtype(dtype)} would wrap the sum around; expected a floating or "
            "signed dtype, then .astype"
        )
    # Integers are added as floats, as a sum of them may be too large for an integer.
    a = cast(a, np.float64 if dtype is None and a.dtype.kind in "biu" else dtype)
    if where is True or where is NoValue:
        y = mean_.on((a,), {"axes": axes}) if axes else number(np.copy(a))
    else:
        y = sum_(selected(a, where, 0), axes=axes) / count(where, a, axes)
    return cast(axes_kept(y, a.shape, axes, keepdims), dtype)


def count(where: Any, a: Array, axes: tuple[int, ...]) -> Any:
    """Number of entries of each lane that the mask selects, in the real dtype of ``a``."""
    found = np.count_nonzero(np.broadcast_to(where, a.shape), axis=axes)
    return np.asarray(found, np.finfo(a.dtype).dtype)[()]
