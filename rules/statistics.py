"""Moments: variance, standard deviation, averages, covariance; NaN left out on request.

var       y = Σ |x - m|² / r,  m = Σ x / n,  r = n - ddof     dy = 2 Re Σ conj(x - m) dx / r
std       y = sqrt(var)                                       dy = Re Σ conj(x - m) dx / (r y)
average   y = Σ w a / Σ w
cov       C = (X - m) diag(w) (X - m)^H / r

In var the derivative of the mean drops out, since the deviations sum to zero; so var and std
are one row a lane, and one pass an application. Where all entries of a lane are equal std has
no derivative: it is 0 there, the least of its subgradients, and where only the rounded mean tells
them from it. A mean of one's own (``mean=``)
is an argument like any other and is differentiated as such.
"""

from typing import Any

import numpy as np

from linad.arrays.roots import rooted
from linad.arrays.zero_dim import gives, number
from linad.core.array_type import Array
from linad.core.callers import warn_user
from linad.core.dispatch import FUNCTIONS, implements
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import is_inexact, keep_axes, normalize_axes
from linad.core.tape import stop
from linad.core.ufunc_keywords import refuse_out
from linad.errors import UnsupportedError
from linad.operators.base import JacobianOperator
from linad.operators.reduction import WeightedSum
from linad.operators.structured import RealPart
from linad.rules.kinks import cube_of_tip, root as root_, size_squared, tip
from linad.rules.reductions import (
    REDUCERS,
    NoValue,
    axes_kept,
    cast,
    count,
    lane_size,
    without_dtype,
)
from linad.rules.shaping import as_array, still

var_ = Primitive("var", lambda x, *, axes, ddof: np.var(x, axis=axes, ddof=ddof))
std_ = Primitive("std", lambda x, *, axes, ddof: np.std(x, axis=axes, ddof=ddof))


def _deviation_row(y: Array, x: Array, weights: Array, axes: tuple[int, ...]) -> JacobianOperator:
    """dy = Re Σ conj(weights) dx, for a real y."""
    if x.dtype.kind != "c":
        return WeightedSum(weights, axes, x.shape, y.dtype)
    row = WeightedSum(np.conj(weights), axes, x.shape, x.dtype)
    return RealPart(y.shape, y.dtype, x.dtype) @ row


def _factor(x: Array, axes: tuple[int, ...], ddof: float) -> float:
    """1 / (n - ddof); NaN where NumPy divides by zero."""
    free = lane_size(x, axes) - ddof
    return 1 / free if free > 0 else float("nan")


def _deviation(x: Array, axes: tuple[int, ...]) -> Any:
    return x - np.mean(x, axis=axes, keepdims=True)


@var_.jacobian(wrt=0)
def var_wrt_x(y: Array, x: Array, *, axes: tuple[Any, ...], ddof: float) -> JacobianOperator:
    weights = _deviation(x, axes) * (2 * _factor(x, axes, ddof))
    return _deviation_row(y, x, weights, axes)


def _is_rounding(y: Array, mean: Array) -> Any:
    """Where a standard deviation is nothing but what the mean of equal entries was rounded by."""
    return y <= 8 * float(np.finfo(y.dtype).eps) * np.abs(mean)


@std_.jacobian(wrt=0)
def std_wrt_x(y: Array, x: Array, *, axes: tuple[Any, ...], ddof: float) -> JacobianOperator:
    m = np.mean(x, axis=axes, keepdims=True)
    if lane_size(x, axes) == 1 and ddof < 1:  # that of one entry is 0, whatever it is
        return _deviation_row(y, x, x - m, axes)
    y = y.reshape(keep_axes(x.shape, axes))
    rounding = np.where(_is_rounding(y, m), y, np.zeros((), y.dtype))
    weights = (x - m) * (_factor(x, axes, ddof) / tip(y - stop(rounding)))
    return _deviation_row(np.squeeze(y, axis=axes), x, weights, axes)


def _root_of_var(y: Array, mean: Array) -> Any:
    """sqrt(y) of a variance; its slope is 0 where the entries are equal up to rounding."""
    std, zero = root_(stop(y)), np.zeros((), y.dtype)
    flat = _is_rounding(std, mean)
    if not isinstance(flat, Traced) and not np.any(flat):
        return root_(y)
    return root_(y - stop(np.where(flat, y, zero))) + stop(np.where(flat, std, zero))


def _masked_moment(
    a: Array, axes: tuple[int, ...], ddof: float, where: Any, mean: Any, root: bool
) -> Any:
    """The variance of chosen entries, or about a mean of one's own, or its root; axes are kept."""
    a = a if is_inexact(a.dtype) else np.astype(a, np.float64)
    masked = where is not True and where is not NoValue
    if mean is NoValue:
        mean = np.mean(a, axis=axes, keepdims=True, where=where)
    d = a - mean
    if masked:
        d = np.where(np.broadcast_to(where, d.shape), d, 0)
        n = count(where, a, axes)
    else:
        n = np.asarray(lane_size(a, axes), np.finfo(a.dtype).dtype)
    free = np.maximum(n - n.dtype.type(ddof), 0)
    y = np.sum(size_squared(d), axis=axes, keepdims=True) / free.reshape(
        keep_axes(a.shape, axes) if np.ndim(free) else ()
    )
    return _root_of_var(y, mean) if root else y


def _variance(a: Array, axes: tuple[int, ...], ddof: Any, keepdims: Any) -> Any:
    return axes_kept(var_(a, axes=axes, ddof=ddof), a.shape, axes, keepdims)


def _register_moment(name: str, primitive: Primitive, root: bool) -> None:
    @implements(getattr(np, name))
    @gives(number)
    def moment(
        a: Array,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = NoValue,
        correction: Any = NoValue,
    ) -> Any:
        if out is not None:
            refuse_out(name, (out,))
        if correction is not NoValue:
            if ddof != 0:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            ddof = correction
        axes = normalize_axes(axis, a.ndim, name)
        _check_dtype(name, a, dtype)
        a = cast(as_array(a), dtype)
        if (where is True or where is NoValue) and mean is NoValue:
            y = cast(axes_kept(primitive(a, axes=axes, ddof=ddof), a.shape, axes, keepdims), dtype)
            if not root or dtype is not None:
                return y
            return rooted(y, _variance, a, axes, ddof, keepdims, cube=cube_of_tip)
        y = cast(_masked_moment(a, axes, ddof, where, mean, root), dtype)
        return y if keepdims and keepdims is not NoValue else np.squeeze(y, axis=axes)

    moment.__name__ = moment.__qualname__ = name


_register_moment("var", var_, False)
_register_moment("std", std_, True)


# NaN left out: the same functions of a mask.


def _present(a: Array, where: Any, dtype: Any) -> Any:
    if dtype is not None and not is_inexact(np.dtype(dtype)):
        raise TypeError("If a is inexact, then dtype must be inexact")
    present = ~np.isnan(a)
    return present if where is True or where is NoValue else present & where


def _register_filled(name: str, fill: float) -> None:
    """nansum and nanprod: NaN counts as the neutral element."""
    function = FUNCTIONS[getattr(np, name.removeprefix("nan"))]

    @implements(getattr(np, name))
    def reduce(a: Array, *args: Any, **kwargs: Any) -> Any:
        return function(np.where(np.isnan(a), fill, a), *args, **kwargs)

    reduce.__name__ = reduce.__qualname__ = name


_register_filled("nansum", 0)
_register_filled("nanprod", 1)


def _check_dtype(name: str, a: Array, dtype: Any) -> None:
    """Raise for dtypes that NumPy rounds means and sums to, but not what it squares."""
    if dtype is None or np.dtype(dtype).kind == "c":
        return
    if not is_inexact(np.dtype(dtype)) or a.dtype.kind == "c":
        raise UnsupportedError(
            f"{name}: dtype={np.dtype(dtype)} would round the mean that is subtracted; expected a "
            f"{'complex' if a.dtype.kind == 'c' else 'floating'} dtype, then .astype"
        )


def _lenient(a: Array, axis: Any) -> Any:
    """No axis, where NumPy counts the NaNs of an array without axes along its axis 0 or -1."""
    counts = not a.ndim and is_inexact(a.dtype)
    return None if counts and type(axis) is int and axis in (0, -1) else axis


def _or_nan(
    y: Array,
    a: Array,
    axis: Any,
    where: Array,
    out: None = None,
    ddof: Any = 0,
    *args: Any,
    correction: Any = NoValue,
    **keywords: Any,
) -> Any:
    """The moment, NaN for the lanes that have no entries left for ``ddof``, as in NumPy."""
    if not is_inexact(a.dtype):
        return y
    least = ddof if correction is NoValue else correction
    few = count(where, a, normalize_axes(axis, a.ndim, "nanvar")) <= least
    if not isinstance(few, Traced) and not few.any():
        return y
    return np.where(few.reshape(np.shape(y)), y.dtype.type(np.nan), y)


def _register_nan_moment(name: str) -> None:
    function = FUNCTIONS[getattr(np, name.removeprefix("nan"))]

    @implements(getattr(np, name))
    @gives(number)
    def moment(
        a: Array,
        axis: Any = None,
        dtype: Any = None,
        *args: Any,
        where: Any = True,
        **keywords: Any,
    ) -> Any:
        where, axis = _present(a, where, dtype), _lenient(a, axis)
        y = function(a, axis, dtype, *args, where=where, **keywords)
        return y if name == "nanmean" else _or_nan(y, a, axis, where, *args, **keywords)

    moment.__name__ = moment.__qualname__ = name


_register_nan_moment("nanmean")
_register_nan_moment("nanvar")
_register_nan_moment("nanstd")


def _register_nan_extremum(name: str, ufunc: Any) -> None:
    reduce = REDUCERS[ufunc]

    def extremum(a: Array, *given: Any) -> Any:
        y = reduce(as_array(a), *given)
        if np.isnan(y).any():
            warn_user("All-NaN slice encountered", RuntimeWarning)
        return y

    extremum.__name__ = name
    implements(getattr(np, name))(without_dtype(extremum))


_register_nan_extremum("nanmax", np.fmax)
_register_nan_extremum("nanmin", np.fmin)


# Weighted averages.


@implements(np.average)
def average(
    a: Array,
    axis: Any = None,
    weights: Array | None = None,
    returned: bool = False,
    *,
    keepdims: Any = False,
) -> Any:
    a = as_array(a)
    keepdims = bool(keepdims) and keepdims is not NoValue
    axes = normalize_axes(axis, a.ndim, "average")
    if weights is None:
        y = np.mean(a, axis=axes, keepdims=keepdims)
        if not y.size:  # NumPy divides the number of entries by that of averages
            raise ZeroDivisionError(f"average: there is none to make, a has shape {a.shape}")
        if not returned:
            return y
        return y, np.full(y.shape, lane_size(a, axes), y.dtype)[()]
    weights = _aligned_weights(a, as_array(weights), axis, axes)
    dtype = np.result_type(a.dtype, weights.dtype)
    total = np.sum(weights, axis=axes, dtype=dtype, keepdims=keepdims)
    if (total == 0).any():
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    y = np.sum(a * weights, axis=axes, keepdims=keepdims) / total
    return (y, _spread(total, y)) if returned else y


def _spread(total: Array, y: Array) -> Any:
    """The sum of the weights of each average, in an array of its own where it is of several."""
    return total if total.shape == y.shape else np.copy(np.broadcast_to(total, y.shape))


def _aligned_weights(a: Array, weights: Array, axis: Any, axes: tuple[int, ...]) -> Any:
    """``weights`` with the axes of ``a``, of length 1 where they do not depend on one."""
    if weights.dtype.kind in "biu" and a.dtype.kind in "biu":
        weights = weights.astype(float)
    if weights.shape == a.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    order = np.argsort([k % a.ndim for k in given])
    if weights.shape != tuple([a.shape[k] for k in given]):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    weights = np.transpose(weights, tuple(int(k) for k in order))
    shape = tuple(n if k in axes else 1 for k, n in enumerate(a.shape))
    return weights.reshape(shape)


# Covariance.


@implements(np.cov)
def cov(
    m: Array,
    y: Array | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Array | None = None,
    aweights: Array | None = None,
    *,
    dtype: Any = None,
) -> Any:
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m = as_array(m)
    x = _variables(m, rowvar or m.ndim == 1)
    if not x.shape[0]:
        return np.zeros((0, 0))
    if y is not None:  # NumPy takes a single row of it for a variable, whatever rowvar says
        y = as_array(y)
        x = np.concatenate([x, _variables(y, rowvar or y.ndim == 1 or y.shape[0] == 1)], axis=0)
    if dtype is not None and not is_inexact(np.dtype(dtype)):
        raise TypeError(f"cov: dtype must be floating or complex, got {np.dtype(dtype)}")
    # NumPy computes single precision in double.
    x = cast(x, np.result_type(x.dtype, np.float64) if dtype is None else dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    w = _sample_weights(fweights, aweights, x.shape[1])
    if w is None:
        d = x - np.mean(x, axis=1, keepdims=True)
        free: Any = float(x.shape[1] - ddof)
        weighted = d
    else:
        total = np.sum(w)
        d = x - np.sum(x * w, axis=1, keepdims=True) / total
        if ddof == 0 or aweights is None:
            free = total - ddof
        else:
            free = total - ddof * np.sum(w * as_array(aweights)) / total
        weighted = d * w
    if free <= 0:
        warn_user("Degrees of freedom <= 0 for slice", RuntimeWarning)
        free = np.zeros(())
    return cast(np.squeeze(d @ np.conj(weighted.T) / free), dtype)


def _variables(m: Array, rowvar: bool) -> Any:
    """One variable a row."""
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if m.dtype.kind in "biu":
        m = m.astype(float)
    m = np.atleast_2d(m)
    return m if rowvar else m.T


def _sample_weights(fweights: Array | None, aweights: Array | None, n: int) -> Any:
    """The product of the weights given; None if none is."""
    w = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        given = as_array(given)
        if given.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if given.shape[0] != n:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if (given < 0).any():
            raise ValueError(f"{name} cannot be negative")
        if name == "fweights" and not np.all(given == np.round(given)):
            raise TypeError("fweights must be integer")
        w = given if w is None else w * given
    return w


@implements(np.corrcoef)
def corrcoef(x: Array, y: Array | None = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    scale = np.sqrt(np.real(np.diagonal(c)))
    c = c / scale[:, None] / scale[None, :]
    if c.dtype.kind == "c":
        return _correlation(np.real(c)) + 1j * _correlation(np.imag(c))
    return _correlation(c)


def _correlation(c: Array) -> Any:
    """What rounding has taken out of [-1, 1], moved back: ±1 are its extrema, and no ends.

    Derivatives are those of c: 0, and a curvature, where two variables are proportional.
    """
    return c + (np.clip(still(c), -1, 1) - still(c))
