"""Norms of vectors and matrices, and condition numbers.

y = (Σ |x_i|^p)^(1/p)      dy = Σ (|x_i| / y)^(p-1) Re(conj(x_i)/|x_i| dx_i)

p = 2 is the Euclidean and, over two axes, the Frobenius norm: dy = Re(x^H dx) / y. The norms
1, inf and -inf are sums and extrema of |x|; ties share the derivative. The matrix norms 2,
-2 and nuc are the largest, the smallest and the sum of the singular values.

Convention: at x = 0 every norm has derivative 0, as |x| has; in the p-norms a single entry 0
contributes 0. The number of nonzero entries (p = 0) has derivative 0.
"""

from typing import Any

import numpy as np

from linad.arrays.python_operators import rooted
from linad.arrays.zero_dim import number
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import keep_axes, normalize_axes
from linad.operators.base import JacobianOperator
from linad.operators.reduction import WeightedSum
from linad.operators.reordering import Broadcast
from linad.operators.structured import Diagonal, RealPart
from linad.rules.kinks import cube_of_tip, size_squared, tip
from linad.rules.linalg import LinAlgError, check_square
from linad.rules.shaping import concrete, replaced, reshape, still
from linad.rules.singularvalues import svdvals


def _p_norm(x: Array, *, p: float, axes: tuple[int, ...]) -> Any:
    if p == 2:
        squares = x.real**2 + x.imag**2 if x.dtype.kind == "c" else x * x
        return np.sqrt(np.add.reduce(squares, axis=axes))
    sizes = np.abs(x)
    with np.errstate(divide="ignore"):
        return np.add.reduce(sizes**p, axis=axes) ** (1 / p)


p_norm_ = Primitive("p_norm", _p_norm)


@p_norm_.jacobian(wrt=0)
def p_norm_wrt_x(y: Array, x: Array, *, p: float, axes: tuple[int, ...]) -> JacobianOperator:
    norm = reshape(y, keep_axes(x.shape, axes))
    if p == 2:
        slope = np.conj(x) / tip(norm)
    else:
        size = np.abs(x)
        ratio = size / tip(norm)
        absent = ratio == 0
        # Powers below 0 of a ratio 0 are infinite; such an entry contributes 0.
        ratio = np.where(absent, np.ones((), ratio.dtype), ratio)
        apart = np.where(absent, np.ones((), x.dtype), x)
        slope = np.conj(apart) / np.abs(apart) * ratio ** (p - 1)
        # 0, whose own derivative exists only where the whole is not 0, and not for p < 2.
        nothing = 0 * np.conj(x) / tip(size if p < 2 else norm)
        slope = np.where(absent, nothing, slope)
    if x.dtype.kind != "c":
        return WeightedSum(slope, axes, x.shape, y.dtype)
    weighted = Diagonal(slope, x.shape, x.dtype)
    total = Broadcast(x.shape, y.shape, x.dtype, axes).H @ weighted
    return RealPart(y.shape, y.dtype, x.dtype) @ total


def _norm(x: Array, p: float, axes: tuple[int, ...]) -> Any:
    """The p-norm over ``axes``; that of p = 2 with its square."""
    y = p_norm_(x, p=p, axes=axes)
    return rooted(y, _sum_of_squares, x, axes, cube=cube_of_tip) if p == 2 else y


def _sum_of_squares(x: Array, axes: tuple[int, ...]) -> Any:
    return np.sum(size_squared(x), axis=axes)


def _vector(x: Array, order: Any, axes: tuple[int, ...], name: str) -> Any:
    """The vector norm over ``axes``."""
    if order is None:
        order = 2
    if isinstance(order, str):
        raise ValueError(f"{name}: Invalid norm order {order!r} for vectors")
    if order == np.inf:
        return np.max(np.abs(x), axis=axes, initial=0)
    if order == -np.inf:
        return np.min(np.abs(x), axis=axes)
    if order == 0:
        return np.sum(x != 0, axis=axes).astype(x.dtype.char.lower())
    if order == 1:
        return np.sum(np.abs(x), axis=axes)
    return _norm(x, float(order), tuple(sorted(axes)))


def _matrix(x: Array, order: Any, rows: int, columns: int, name: str) -> Any:
    """The matrix norm over two axes."""
    if order in (None, "fro", "f"):
        return _norm(x, 2.0, tuple(sorted((rows, columns))))
    if order in (1, -1, np.inf, -np.inf):
        summed, other = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = np.sum(np.abs(x), axis=summed)
        axis = other - (summed < other)
        return np.max(sums, axis=axis, initial=0) if order > 0 else np.min(sums, axis=axis)
    if order in (2, -2, "nuc"):
        s = svdvals(np.moveaxis(x, (rows, columns), (-2, -1)))
        if order == "nuc":
            return np.sum(s, axis=-1)
        return np.max(s, axis=-1, initial=0) if order == 2 else np.min(s, axis=-1)
    raise ValueError(f"{name}: Invalid norm order {order!r} for matrices")


@implements(np.linalg.norm)
def norm(x: Array, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None and ord is None:
        axes = tuple(range(x.ndim))
        y = _vector(x, None, axes, "norm") if axes else np.abs(x)
        return reshape(y, (1,) * x.ndim) if keepdims else y
    if axis is not None and not isinstance(axis, (int, np.integer, tuple)):
        raise TypeError("norm: axis must be None, an integer or a tuple of integers")
    axes = normalize_axes(axis, x.ndim, "norm")
    if len(axes) == 1:
        y = _vector(x, ord, axes, "norm")
    elif len(axes) == 2:
        # The order of a tuple matters: rows first.
        rows, columns = [k % x.ndim for k in (axis if isinstance(axis, tuple) else axes)]
        y = _matrix(x, ord, rows, columns, "norm")
    else:
        raise ValueError(f"norm: expected one or two axes, got axis={axis!r} and ord={ord!r}")
    return reshape(y, keep_axes(x.shape, axes)) if keepdims else y


@implements(np.linalg.vector_norm)
def vector_norm(x: Array, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    axes = normalize_axes(axis, x.ndim, "vector_norm")
    if not axes:
        return _vector(reshape(x, (*x.shape, 1)), ord, (x.ndim,), "vector_norm")
    y = _vector(x, ord, axes, "vector_norm")
    return reshape(y, keep_axes(x.shape, axes)) if keepdims else y


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


QUIET = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
"""Whether NumPy's condition numbers are not an error where there are no singular values."""


def _values_for_cond(x: Array) -> Any:
    if not QUIET:
        return svdvals(x)
    bad = ~np.all(np.isfinite(x), axis=(-2, -1), keepdims=True)
    return replaced(svdvals(replaced(x, bad, 0)), bad[..., 0], np.nan)


@implements(np.linalg.cond)
def cond(x: Array, p: Any = None) -> Any:
    if 0 in x.shape[-2:]:
        raise LinAlgError("cond: it is not defined on empty arrays")
    if p in (None, 2, -2):
        s = _values_for_cond(x)
        largest, smallest = (s[0], s[-1]) if s.ndim == 1 else (s[..., 0], s[..., -1])
        ratio = smallest / largest if p == -2 else largest / smallest
    else:
        check_square(x, "cond")
        # NaN has an inverse, NaN, where singular matrices have none.
        singular = np.linalg.slogdet(still(x))[0] == 0
        regular = replaced(x, singular[..., None, None], np.nan)
        inverse = np.linalg.inv(regular)
        if p == "nuc" and QUIET:
            ratio = np.sum(_values_for_cond(x), -1) * np.sum(_values_for_cond(inverse), -1)
        else:
            ratio = norm(x, p, (-2, -1)) * norm(inverse, p, (-2, -1))
    # Infinite, as in NumPy, counts what became NaN: 0 / 0 of zeros, and singular matrices.
    lost = np.isnan(ratio) & ~np.any(np.isnan(x), axis=(-2, -1))
    if isinstance(lost, Traced) or np.any(lost):
        # There is no derivative there: 1 to the power of NaN is 1, with NaN as its slope.
        kind = ratio.dtype.type
        size = np.sum(np.arctan(np.abs(x)), axis=(-2, -1))
        one = (1 + (size - still(size))) ** np.where(lost, kind(np.nan), kind(1))
        ratio = np.where(lost, kind(np.inf) + one, ratio)
    return number(ratio)


matrix_rank_ = Primitive(
    "matrix_rank",
    lambda a, **params: np.asarray(np.linalg.matrix_rank(a, **params))[()],
    constant=True,
)


@implements(np.linalg.matrix_rank)
def matrix_rank(
    A: Array, tol: Array | None = None, hermitian: bool = False, *, rtol: Any = None
) -> Any:
    if np.ndim(A) < 2:  # of which NumPy gives a Python number
        return int(bool(np.any(A != 0)))
    return matrix_rank_(A, tol=concrete(tol), hermitian=hermitian, rtol=concrete(rtol))
