"""Products of arrays: matmul and everything that is a matmul of reshaped arguments.

Y = A @ B         A (..., m, k)   B (..., k, n)   Y (..., m, n)
dY = dA @ B + A @ dB

On C-order vectors vec(L X R^T) = (L ⊗ R) vec(X), hence

    dY/dA = I ⊗ B^T      dY/dB = A ⊗ I

A matrix and a vector, and two vectors, have primitives of their own, since programs are full
of them; other vectors become matrices of one row or column first. dot, inner, tensordot,
vecdot, matvec, vecmat, multi_dot and matrix_power are matmul and reshapes; einsum has its own
file.

Source: M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode algorithmic differentiation", 2008.
"""

from collections.abc import Sequence
from operator import index as as_index
from typing import Any

import numpy as np

from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import gives, number
from linad.core.array_type import Array
from linad.core.dispatch import implements, implements_ufunc
from linad.core.primitive import Primitive
from linad.core.shapes import EVERY_AXIS, matrix_transpose, normalize_axis, size_of
from linad.core.ufunc_keywords import refuse_out
from linad.errors import ShapeError
from linad.operators.base import JacobianOperator
from linad.operators.matrices import Kronecker, Matrix, RowProducts
from linad.rules.shaping import as_array, laid_out

matmul_ = Primitive("matmul", np.matmul)
matvec_ = Primitive("matvec", np.matmul)  # A (m, n), x (n,)
dot_ = Primitive("dot", np.ndarray.dot)  # a (n,), b (n,): np.dot without its protocol


@matmul_.jacobian(wrt=0)
def matmul_wrt_a(y: Array, a: Array, b: Array) -> JacobianOperator:
    return Kronecker(None, matrix_transpose(b), y.shape, a.shape, y.dtype)


@matmul_.jacobian(wrt=1)
def matmul_wrt_b(y: Array, a: Array, b: Array) -> JacobianOperator:
    return Kronecker(a, None, y.shape, b.shape, y.dtype)


@matvec_.jacobian(wrt=0)
def matvec_wrt_a(y: Array, a: Array, x: Array) -> JacobianOperator:
    return RowProducts(x, a.shape, y.dtype)


@matvec_.jacobian(wrt=1)
def matvec_wrt_x(y: Array, a: Array, x: Array) -> JacobianOperator:
    J: Matrix = object.__new__(Matrix)  # without the calls of a constructor, as `diagonal`
    J.a, J.out_shape, J.in_shape, J.dtype = a, y.shape, x.shape, y.dtype
    return J


@dot_.jacobian(wrt=0)
def dot_wrt_a(y: Array, a: Array, b: Array) -> JacobianOperator:
    return RowProducts(b, a.shape, y.dtype)


@dot_.jacobian(wrt=1)
def dot_wrt_b(y: Array, a: Array, b: Array) -> JacobianOperator:
    return RowProducts(a, b.shape, y.dtype)


_OF_AXES = {(1, 1): dot_, (2, 1): matvec_, (2, 2): matmul_}


def _at_once(a: Array, b: Array) -> Any:
    """``a @ b`` by a primitive of its own; None where an axis has to be added or moved first.

    Programs are full of these: it does what `Primitive.on` would, with a call less.
    """
    trace = None
    if type(a) is Tracer:
        m, trace = a._value.ndim, a._trace
    else:
        m = a.ndim
    if type(b) is Tracer:
        n = b._value.ndim
        if trace is None or b._trace.level > trace.level:
            trace = b._trace
    else:
        n = b.ndim
    primitive = _OF_AXES.get((m, n))
    if primitive is None:
        return None
    return primitive.impl(a, b) if trace is None else trace.apply(primitive, (a, b), {})


def _product(a: Array, b: Array) -> Any:
    """``a @ b`` with NumPy's rules for one axis."""
    y = _at_once(a, b)
    return _with_axes_moved(a, b) if y is None else y


def _with_axes_moved(a: Array, b: Array) -> Any:
    """``a @ b`` where `_at_once` has no primitive for it."""
    m, n = a.ndim, b.ndim
    if m == 0 or n == 0:
        raise ValueError(
            f"matmul: a {a.shape} and b {b.shape}: both need at least one axis; "
            f"multiply by a number with *"
        )
    if m > 1 and n > 1:
        return matmul_(a, b)
    if m + n == 3:
        return matvec_(matrix_transpose(b), a)
    row = a if m > 1 else a.reshape((1, *a.shape))
    column = b if n > 1 else b.reshape((*b.shape, 1))
    y = matmul_(row, column)
    shape = y.shape
    if n == 1:
        shape = shape[:-1]
        if m == 1:
            shape = shape[:-1]
    elif m == 1:
        shape = shape[:-2] + shape[-1:]
    return y.reshape(shape)


def _with_axes(product: Any, cores: tuple[int, int, int], a: Array, b: Array, axes: Any) -> Any:
    """Apply a product of the last axes to the axes that the ufunc keyword ``axes`` names."""
    given = [tuple(k) if isinstance(k, (tuple, list)) else (k,) for k in axes]
    if len(given) == 2 and cores[2] == 0:
        given.append(())
    if tuple(len(k) for k in given) != cores:
        raise np.exceptions.AxisError(
            f"axes must be lists of {cores} axes for a, b and result, got {axes!r}"
        )
    ends = [tuple(range(-len(k), 0)) for k in given]
    y = product(np.moveaxis(a, given[0], ends[0]), np.moveaxis(b, given[1], ends[1]))
    return np.moveaxis(y, ends[2], given[2]) if given[2] else y


@implements_ufunc(np.matmul)
def matmul(a: Array, b: Array, *, axes: Any = None) -> Any:
    a = a if type(a) is Tracer else as_array(a)
    b = b if type(b) is Tracer else as_array(b)
    if axes is None:
        y = _at_once(a, b)
        return _with_axes_moved(a, b) if y is None else y
    return _with_axes(matmul_, (2, 2, 2), a, b, axes)


@implements(np.linalg.matmul)
def linalg_matmul(x1: Array, x2: Array, /) -> Any:
    return matmul(x1, x2)


def _check_axes(name: str, *operands: tuple[Any, int]) -> None:
    """Raise for operands of fewer axes than a product needs."""
    for k, (x, least) in enumerate(operands):
        if x.ndim < least:
            raise ValueError(f"{name}: operand {k} needs at least {least} axes, got {x.shape}")


def _vecdot(a: Array, b: Array) -> Any:
    if a.ndim == b.ndim == 1:
        return dot_.on((_conjugate(a), b), {})
    _check_axes("vecdot", (a, 1), (b, 1))
    y = matmul_(_conjugate(a).reshape((*a.shape[:-1], 1, a.shape[-1])), b.reshape((*b.shape, 1)))
    return y.reshape(y.shape[:-2])


@implements_ufunc(np.vecdot)
@gives(number)
def vecdot(
    a: Array, b: Array, *, axis: int | None = None, axes: Any = None, keepdims: bool = False
) -> Any:
    a, b = as_array(a), as_array(b)
    if axis is not None:
        if axes is not None:
            raise TypeError("vecdot: axis and axes cannot both be given")
        axes = [axis, axis]
    if not keepdims:
        return _vecdot(a, b) if axes is None else _with_axes(_vecdot, (1, 1, 0), a, b, axes)
    if axes is None or len(axes) == 2:
        axes = [-1, -1, -1] if axes is None else [*axes, axes[-1]]
    return _with_axes(lambda a, b: _vecdot(a, b)[..., None], (1, 1, 1), a, b, axes)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Any:
    return vecdot(x1, x2, axis=as_index(axis))


def _matvec(a: Array, b: Array) -> Any:
    if a.ndim == 2 and b.ndim == 1:
        return matvec_.on((a, b), {})
    _check_axes("matvec", (a, 2), (b, 1))
    y = matmul_(a, b.reshape((*b.shape, 1)))
    return y.reshape(y.shape[:-1])


@implements_ufunc(np.matvec)
def matvec(a: Array, b: Array, *, axes: Any = None) -> Any:
    a, b = as_array(a), as_array(b)
    return _matvec(a, b) if axes is None else _with_axes(_matvec, (2, 1, 1), a, b, axes)


def _vecmat(a: Array, b: Array) -> Any:
    _check_axes("vecmat", (a, 1), (b, 2))
    y = matmul_(_conjugate(a).reshape((*a.shape[:-1], 1, a.shape[-1])), b)
    return y.reshape(y.shape[:-2] + y.shape[-1:])


@implements_ufunc(np.vecmat)
def vecmat(a: Array, b: Array, *, axes: Any = None) -> Any:
    a, b = as_array(a), as_array(b)
    return _vecmat(a, b) if axes is None else _with_axes(_vecmat, (1, 2, 1), a, b, axes)


def _conjugate(a: Array) -> Any:
    """The complex conjugate; of booleans NumPy's would be small integers."""
    return np.conj(a) if a.dtype.kind == "c" else a


def _multiple(a: Array, b: Array) -> Any:
    """A number times an array; BLAS writes a matrix in order C."""
    y = a * b
    return laid_out(y, "C", "dot") if y.ndim == 2 and y.dtype.kind in "fc" else y


@implements(np.dot)
def dot(a: Array, b: Array, out: Any = None) -> Any:
    if out is not None:
        refuse_out("dot", (out,))
    a = a if type(a) is Tracer else as_array(a)
    b = b if type(b) is Tracer else as_array(b)
    y = _at_once(a, b)
    if y is not None:
        return y
    m, n = a.ndim, b.ndim
    if m == 0 or n == 0:
        return _multiple(a, b)
    if n == 1 or m == 1:
        return _product(a, b)
    return tensordot(a, b, ((-1,), (-2,)))


@implements(np.vdot)
def vdot(a: Array, b: Array, /) -> Any:
    return _product(_conjugate(as_array(a)).reshape(-1), as_array(b).reshape(-1))


@implements(np.inner)
@gives(number)
def inner(a: Array, b: Array, /) -> Any:
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return _multiple(a, b)
    if b.ndim == 1 and a.shape[-1:] == b.shape:  # which has no other axes
        return _product(a, b)
    return tensordot(a, b, ((-1,), (-1,)))


@implements(np.outer)
def outer(a: Array, b: Array, out: Any = None) -> Any:
    if out is not None:
        refuse_out("outer", (out,))
    a, b = as_array(a), as_array(b)
    return a.reshape((a.size, 1)) * b.reshape((1, b.size))


@implements(np.linalg.outer)
def linalg_outer(x1: Array, x2: Array, /) -> Any:
    x1, x2 = as_array(x1), as_array(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"outer: both arguments must have one axis, got {x1.shape}, {x2.shape}")
    return outer(x1, x2)


@implements(np.tensordot)
def tensordot(a: Array, b: Array, axes: Any = 2) -> Any:
    a, b = as_array(a), as_array(b)
    summed_a, summed_b = _summed_axes(axes, a.ndim, b.ndim)
    kept_a = [k for k in range(a.ndim) if k not in summed_a]
    kept_b = [k for k in range(b.ndim) if k not in summed_b]
    shared = tuple(a.shape[k] for k in summed_a)
    if shared != tuple(b.shape[k] for k in summed_b):
        raise ShapeError(
            f"tensordot: a {a.shape} and b {b.shape}: axes {summed_a} of a must be as long as "
            f"axes {summed_b} of b"
        )
    rows = tuple(a.shape[k] for k in kept_a)
    columns = tuple(b.shape[k] for k in kept_b)
    k = size_of(shared)
    left = _matrix(a, (*kept_a, *summed_a), (size_of(rows), k))
    right = _matrix(b, (*summed_b, *kept_b), (k, size_of(columns)))
    y = matmul_.on((left, right), {})
    return y if len(rows) == len(columns) == 1 else y.reshape(rows + columns)


def _matrix(a: Array, axes: tuple[int, ...], shape: tuple[int, int]) -> Any:
    """An array with its axes in another order, of the shape of a matrix."""
    if axes != EVERY_AXIS[a.ndim]:
        a = a.transpose(axes)
    return a if a.shape == shape else a.reshape(shape)


def _summed_axes(axes: Any, a_ndim: int, b_ndim: int) -> tuple[list[int], list[int]]:
    """The axes of a and of b that tensordot sums over."""
    try:
        given_a, given_b = axes
    except TypeError:
        n = as_index(axes)
        if n < 0 or n > min(a_ndim, b_ndim):
            raise ShapeError(
                f"tensordot: axes={n}, but the arguments have {a_ndim} and {b_ndim} axes"
            ) from None
        return list(range(a_ndim - n, a_ndim)), list(range(n))
    lists = []
    for given, ndim in ((given_a, a_ndim), (given_b, b_ndim)):
        sequence = given if isinstance(given, (tuple, list, np.ndarray)) else (given,)
        lists.append([normalize_axis(k, ndim, "tensordot") for k in sequence])
    if len(lists[0]) != len(lists[1]) or any(len(set(k)) != len(k) for k in lists):
        raise ShapeError(f"tensordot: axes={axes!r} must pair distinct axes of a with axes of b")
    return lists[0], lists[1]


@implements(np.linalg.tensordot)
def linalg_tensordot(x1: Array, x2: Array, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


# Chains of products.


@implements(np.linalg.multi_dot)
@gives(number)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """The product of two or more arrays, in the order that needs fewest multiplications."""
    if out is not None:
        refuse_out("multi_dot", (out,))
    factors = [as_array(a) for a in arrays]
    if len(factors) < 2:
        raise ValueError("multi_dot: expected at least two arrays")
    first, last = factors[0].ndim, factors[-1].ndim
    for k, a in enumerate(factors):
        if a.ndim != 2 and not (a.ndim == 1 and k in (0, len(factors) - 1)):
            raise np.linalg.LinAlgError(
                f"multi_dot: expected two axes (the first and the last array may have one), got "
                f"shape {a.shape} for array {k}"
            )
    if first == 1:
        factors[0] = factors[0].reshape((1, -1))
    if last == 1:
        factors[-1] = factors[-1].reshape((-1, 1))
    split = cheapest_splits([a.shape[0] for a in factors] + [factors[-1].shape[1]])

    def multiply(i: int, j: int) -> Any:
        if i == j:
            return factors[i]
        k = split[i, j]
        return matmul_(multiply(i, k), multiply(k + 1, j))

    y = multiply(0, len(factors) - 1)
    return y if first == last == 2 else y.reshape(y.shape[first == 1 : 2 - (last == 1)])


def cheapest_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each product of neighbours; factor i has shape sizes[i : i + 2].

    Dynamic programming: Cormen et al., Introduction to Algorithms, "Matrix-chain
    multiplication".
    """
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return split


@implements(np.linalg.matrix_power)
def matrix_power(a: Array, n: int) -> Any:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(f"matrix_power: expected square matrices, got shape {a.shape}")
    n = as_index(n)
    if n == 0:
        return np.eye(a.shape[-1], dtype=a.dtype) + np.zeros(a.shape, a.dtype)
    if n < 0:
        a, n = np.linalg.inv(a), -n
    square, result = a, None
    while True:
        n, bit = divmod(n, 2)
        if bit:
            result = square if result is None else matmul_(result, square)
        if not n:
            return result
        square = matmul_(square, square)


# What numpy.linalg calls by another name.


@implements(np.linalg.trace)
def linalg_trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return np.trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)


@implements(np.linalg.diagonal)
def linalg_diagonal(x: Array, /, *, offset: int = 0) -> Any:
    return np.diagonal(x, offset, axis1=-2, axis2=-1)


@implements(np.linalg.matrix_transpose)
def linalg_matrix_transpose(x: Array, /) -> Any:
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose: expected at least two axes, got shape {x.shape}")
    return matrix_transpose(x)
