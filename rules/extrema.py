"""Choosing between values: extrema, absolute value, sign, where.

y = max(a, b)      dy = da where a > b, db where b > a
y = |x|            dy = sign(x) dx
y = a if c else b  dy = da where c, db elsewhere

Conventions where there is no derivative: at a tie each argument of a maximum or minimum
gets 1/2; |x| and copysign have slope 0 at 0; clip has slope 1 in x on the bounds; fmax and
fmin give the whole slope to the argument that is not NaN; where a result is NaN because
an argument is, the slopes of an extremum are 0; sign and heaviside are constant.

Absolute value and sign of complex numbers are in `linad.rules.complex`.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.arrays.python_operators import weakly
from linad.arrays.zero_dim import gives, is_number, number
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.core.ufunc_keywords import refuse_out, scatter
from linad.errors import ShapeError, UnsupportedError
from linad.operators.algebra import Chain
from linad.operators.base import JacobianOperator
from linad.operators.reordering import Broadcast
from linad.operators.structured import Masked, Zero, diagonal
from linad.rules.elementwise import binary, masked, register, shape_of, unary
from linad.rules.kinks import side
from linad.rules.shaping import laid_as, laid_out, of_list

_UNSET = object()

# Extrema.


def _extremum(name: str, ufunc: Any) -> Primitive:
    extremum = Primitive(name, ufunc)
    register(ufunc, extremum)

    @extremum.jacobian(wrt=0)
    def extremum_wrt_a(y: Array, a: Array, b: Array) -> JacobianOperator:
        return _attained(y, a, b)

    @extremum.jacobian(wrt=1)
    def extremum_wrt_b(y: Array, a: Array, b: Array) -> JacobianOperator:
        return _attained(y, b, a)

    return extremum


def _attained(y: Array, x: Array, other: Array) -> JacobianOperator:
    """The operator of the x in y: what is not attained passes nothing on, and half at a tie."""
    tie = x == other
    J: JacobianOperator = Masked(y == x, y.shape, y.dtype)
    if isinstance(tie, Traced) or np.count_nonzero(tie):
        share = np.where(tie, y.dtype.type(0.5), y.dtype.type(1))
        J = Chain((J, diagonal(share, y.shape, y.dtype)))
    return J if x.shape == y.shape else Chain((J, Broadcast(y.shape, x.shape, y.dtype)))


maximum = _extremum("maximum", np.maximum)
minimum = _extremum("minimum", np.minimum)
fmax = _extremum("fmax", np.fmax)
fmin = _extremum("fmin", np.fmin)

# np.clip of plain arrays with traced bounds arrives as this ufunc.
clip_ = Primitive("clip", np._core.umath.clip)  # type: ignore[attr-defined]
register(clip_.impl, clip_)


@clip_.jacobian(wrt=0)
def clip_wrt_x(y: Array, x: Array, low: Array, high: Array) -> JacobianOperator:
    return masked((low <= x) & (x <= high), y, x)


@clip_.jacobian(wrt=1)
def clip_wrt_low(y: Array, x: Array, low: Array, high: Array) -> JacobianOperator:
    return masked((x < low) & (low <= high), y, low)


@clip_.jacobian(wrt=2)
def clip_wrt_high(y: Array, x: Array, low: Array, high: Array) -> JacobianOperator:
    return masked((x > high) | (low > high), y, high)


def _without_vain_bounds(a: Array, low: Any, high: Any) -> tuple[Any, Any]:
    """Bounds of integers, less Python's numbers that no integer of their dtype is beyond.

    Such a number need not be one of that dtype, nor widen it: ``np.clip(unsigned, -1, 5)``.
    """
    dtype = getattr(a, "dtype", None) or np.result_type(a)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        low = None if type(low) is int and low <= ends.min else low
        high = None if type(high) is int and high >= ends.max else high
    return low, high


@implements(np.clip)
def clip(
    a: Array,
    a_min: Any = _UNSET,
    a_max: Any = _UNSET,
    out: Any = None,
    *,
    min: Any = _UNSET,
    max: Any = _UNSET,
    **keywords: Any,
) -> Any:
    if out is not None:
        refuse_out("clip", (out,))
    casting = keywords.pop("casting", "same_kind")
    if keywords:
        raise UnsupportedError(f"clip: the keyword {sorted(keywords)[0]!r} is not traced by linad")
    if (a_min is not _UNSET or a_max is not _UNSET) and (min is not _UNSET or max is not _UNSET):
        raise ValueError("clip: pass either a_min and a_max or min and max, not both")
    low: Any = min if a_min is _UNSET else a_min
    high: Any = max if a_max is _UNSET else a_max
    a = of_list(a)
    low = None if low is _UNSET else weakly(np.clip, a, of_list(low))[1]
    high = None if high is _UNSET else weakly(np.clip, a, of_list(high))[1]
    low, high = _without_vain_bounds(a, low, high)
    if (low is None or high is None) and np.result_type(
        a
    ).kind in "biu":  # infinity is not an integer
        if low is high:
            y = np.positive(a)
        else:
            y = np.minimum(a, high) if low is None else np.maximum(a, low)
    else:
        y = clip_(a, -np.inf if low is None else low, np.inf if high is None else high)
    if not np.can_cast(given := getattr(a, "dtype", y.dtype), y.dtype, casting):
        raise TypeError(f"clip: cannot cast {given} to {y.dtype} by the rule {casting!r}")
    return y


# Absolute value and sign of real numbers.

fabs = unary("fabs", np.fabs, lambda y, x: side(x))
heaviside = Primitive("heaviside", np.heaviside)
heaviside.zero_slope_args = frozenset({0})
register(np.heaviside, heaviside)


@heaviside.jacobian(wrt=0)
def heaviside_wrt_x(y: Array, x: Array, at_zero: Array) -> JacobianOperator:
    return Zero(y.shape, x.shape, y.dtype)


@heaviside.jacobian(wrt=1)
def heaviside_wrt_at_zero(y: Array, x: Array, at_zero: Array) -> JacobianOperator:
    return masked(x == 0, y, at_zero)


copysign = binary("copysign", np.copysign, lambda y, a, b: np.sign(y) * side(a), lambda y, a, b: 0)
copysign.zero_slope_args = frozenset({1})

# Where and its relatives.

where_ = Primitive("where", np.where)


@where_.jacobian(wrt=1)
def where_wrt_a(y: Array, condition: Array, a: Array, b: Array) -> JacobianOperator:
    return masked(condition, y, a)


@where_.jacobian(wrt=2)
def where_wrt_b(y: Array, condition: Array, a: Array, b: Array) -> JacobianOperator:
    return masked(np.logical_not(condition), y, b)


@implements(np.where)
def where(condition: Array, x: Any = _UNSET, y: Any = _UNSET, /) -> Any:
    if x is _UNSET and y is _UNSET:
        return np.nonzero(condition)
    if x is _UNSET or y is _UNSET:
        raise ValueError("either both or neither of x and y should be given")
    return chosen(_mask(of_list(condition)), of_list(x), of_list(y))


def chosen(condition: Array, x: Array, y: Array) -> Any:
    """As np.where; what Python rounds to an int promotes no other array."""
    return where_.on((condition, *weakly(np.where, x, y)), {})


def _mask(condition: Array) -> Any:
    """A condition as plain booleans: a number is true where it is not 0, and None never is."""
    if is_boolean(condition):
        return condition
    if getattr(condition, "dtype", np.dtype(object)).kind in "biufc":
        return np.not_equal(condition, 0)
    return np.asarray(condition).astype(bool)


def is_boolean(a: Array) -> bool:
    dtype = a.dtype if hasattr(a, "dtype") else np.asarray(a).dtype
    return bool(dtype.kind == "b")


@implements(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Array = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    conditions, choices = map(of_list, condlist), map(of_list, choicelist)
    result = of_list(default)
    for i, (condition, choice) in reversed(list(enumerate(zip(conditions, choices, strict=True)))):
        if not is_boolean(condition):
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
        result = chosen(condition, choice, result)
    return laid_out(result, "C", "select") if np.ndim(result) > 1 else result


@implements(np.piecewise)
def piecewise(x: Array, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    if _is_single(condlist, x):
        condlist = [condlist]
    for k, shape in enumerate(map(shape_of, condlist)):
        if x.shape and shape not in ((), x.shape):  # NumPy would select rows by it, not entries
            raise ShapeError(f"piecewise: condition {k}: expected shape {x.shape}, got {shape}")
    masks = [np.broadcast_to(_mask(c), x.shape) for c in condlist]
    if len(funclist) == len(masks) + 1:
        masks.append(~functools.reduce(np.logical_or, masks))
    elif len(funclist) != len(masks):
        n = len(masks)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = x.dtype.type(0)
    for mask, function in zip(masks, funclist, strict=True):
        if not callable(function):
            y = where_(mask, function, y)
        elif mask.any():
            y = where_(mask, scatter(function(x[mask], *args, **kw), mask), y)
    y = np.broadcast_to(y, x.shape).astype(x.dtype)
    return laid_as(y, x) if x.ndim > 1 else y


def _is_single(condlist: Any, x: Array) -> bool:
    """Whether one condition was given where a list of conditions may be."""
    if np.ndim(condlist) == 0:
        return True
    first = condlist[0]
    return x.ndim != 0 and not isinstance(first, (list, tuple)) and shape_of(first) == ()


# NumPy's own choose among the positions checks the index as NumPy does.
position = Primitive(
    "position", lambda a, *, n, mode: np.choose(a, np.arange(n), mode=mode), constant=True
)
position.partial = "of the choices there are"


@implements(np.choose)
@gives(number)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    if out is not None:
        refuse_out("choose", (out,))
    index = position(a, n=len(choices), mode=mode)
    result = choices[0]
    for k in range(1, len(choices)):
        result = chosen(index == k, choices[k], result)
    shape = np.broadcast_shapes(index.shape, shape_of(result))
    # A choice itself, or a view of it, is nothing to write into.
    result = np.copy(np.broadcast_to(result, shape)) if len(choices) == 1 else result
    return laid_out(result, "C", "choose")


@implements(np.nan_to_num)
@gives(number)
def nan_to_num(
    x: Array, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if not copy and is_number(x):
        raise ValueError("nan_to_num: a number cannot be overwritten; leave copy=False out")
    if not copy:
        x[...] = nan_to_num(x, True, nan, posinf, neginf)
        return x if x.ndim else x[()]
    if x.dtype.kind == "c":
        real = nan_to_num(np.real(x), True, nan, posinf, neginf)
        return real + 1j * nan_to_num(np.imag(x), True, nan, posinf, neginf)
    if x.dtype.kind != "f":
        return np.copy(x)
    limits = np.finfo(x.dtype)
    y = chosen(np.isnan(x), nan, x)
    y = chosen(np.isposinf(x), limits.max if posinf is None else posinf, y)
    return chosen(np.isneginf(x), limits.min if neginf is None else neginf, y)
