"""Products that are linear in each argument and no matmul: Kronecker and cross product.

kron       y = a ⊗ b, blocks a_ij b           a contraction of the one with the other
cross      y = a × b in three dimensions      <w, a × b> = <a, b × w> = <b, w × a>
"""

import string
from operator import index as as_index
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, align, normalize_axis, sum_to_shape
from linad.errors import ShapeError
from linad.operators.base import JacobianOperator
from linad.operators.contraction import Contraction
from linad.operators.facts import UNSTRUCTURED
from linad.operators.relations import Relation
from linad.operators.reordering import Reshape
from linad.rules.shaping import as_array

# Kronecker product.


kron_ = Primitive("kron", lambda a, b: np.kron(a, b))


def _kron_jacobian(y: Array, x: Array, other: Array, first: bool) -> JacobianOperator:
    """Of kron in ``x``: y[i k, j l ...] = x[i, j, ...] other[k, l, ...]."""
    ndim = y.ndim
    mine, its = string.ascii_letters[:ndim], string.ascii_letters[ndim : 2 * ndim]
    pairs = zip(mine, its, strict=True) if first else zip(its, mine, strict=True)
    labels = "".join([p + q for p, q in pairs])
    sizes = dict(zip(mine + its, x.shape + other.shape, strict=True))
    shape = tuple([sizes[c] for c in labels])
    blocks = Contraction(mine, [(its, other)], labels, shape, x.shape, y.dtype)
    return Reshape(y.shape, shape, y.dtype) @ blocks


@kron_.jacobian(wrt=0)
def kron_wrt_a(y: Array, a: Array, b: Array) -> JacobianOperator:
    return _kron_jacobian(y, a, b, first=True)


@kron_.jacobian(wrt=1)
def kron_wrt_b(y: Array, a: Array, b: Array) -> JacobianOperator:
    return _kron_jacobian(y, b, a, first=False)


@implements(np.kron)
def kron(a: Array, b: Array) -> Any:
    a, b = as_array(a), as_array(b)
    ndim = max(a.ndim, b.ndim)
    if ndim == 0:
        return a * b
    return kron_(
        a.reshape((1,) * (ndim - a.ndim) + a.shape), b.reshape((1,) * (ndim - b.ndim) + b.shape)
    )


# Cross product.

cross_ = Primitive("cross", lambda a, b: np.cross(a, b))


class CrossProduct(JacobianOperator):
    """x -> x × b, along a last axis of length 3; its adjoint is w -> b × w.

    Parameters
    ----------
    b : array (..., 3)
        Kept by reference; broadcasts with x.
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(self, b: Array, out_shape: Shape, in_shape: Shape, dtype: np.dtype[Any]) -> None:
        self.b = b
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return np.cross(align(tangent, len(self.in_shape), len(self.out_shape)), self.b)

    def pullback(self, cotangent: Array) -> Array:
        b = np.conj(self.b) if self.dtype.kind == "c" else self.b
        return sum_to_shape(np.cross(b, cotangent), self.in_shape, len(self.out_shape))

    def relation(self) -> Relation:
        """Each component reads the two others."""
        x = np.arange(self.shape[1]).reshape(self.in_shape)
        others = np.broadcast_to(x, self.out_shape)[..., [[1, 2], [0, 2], [0, 1]]]
        return Relation.uniform(others.reshape(self.shape[0], 2), self.shape[1])


@cross_.jacobian(wrt=0)
def cross_wrt_a(y: Array, a: Array, b: Array) -> JacobianOperator:
    return CrossProduct(b, y.shape, a.shape, y.dtype)


@cross_.jacobian(wrt=1)
def cross_wrt_b(y: Array, a: Array, b: Array) -> JacobianOperator:
    negative = -(a if a.dtype == y.dtype else a.astype(y.dtype))  # unsigned, or boolean
    return CrossProduct(negative, y.shape, b.shape, y.dtype)


@implements(np.cross)
def cross(
    a: Array, b: Array, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_array(a), as_array(b)
    if not a.ndim or not b.ndim:
        raise ShapeError("cross: both arguments need at least one axis")
    a, b = _with_last(a, axisa), _with_last(b, axisb)
    sizes = a.shape[-1], b.shape[-1]
    if not {*sizes} <= {2, 3}:
        raise ShapeError(
            f"cross: expected vectors of 2 or 3 entries, got {sizes[0]} and {sizes[1]}"
        )
    if 2 in sizes:  # the NumPy that is installed warns, or raises
        np.cross(np.zeros(sizes[0]), np.zeros(sizes[1]))
        if sizes == (2, 2):
            y = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
            return np.copy(y, order="C") if y.ndim > 1 else y  # as NumPy's, in an array of its own
        a, b = _in_space(a), _in_space(b)
    y = cross_.on((a, b), {})
    return y if axisc == -1 else np.moveaxis(y, -1, axisc)


def _in_space(a: Any) -> Any:
    """Vectors of 2 entries in the plane of the first two of 3."""
    return a if a.shape[-1] == 3 else np.concatenate([a, np.zeros_like(a[..., :1])], axis=-1)


def _with_last(a: Any, axis: int) -> Any:
    """``a`` with an axis moved to the end."""
    axis = normalize_axis(axis, a.ndim, "cross")
    return a if axis == a.ndim - 1 else np.moveaxis(a, axis, -1)


@implements(np.linalg.cross)
def linalg_cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Any:
    x1, x2 = as_array(x1), as_array(x2)
    axis = as_index(axis)
    sizes = [x.shape[normalize_axis(axis, x.ndim, "cross")] for x in (x1, x2)]
    if sizes != [3, 3]:
        raise ShapeError(
            f"linalg.cross: expected vectors of 3 entries, got {sizes[0]} and {sizes[1]}"
        )
    return cross(x1, x2, axis=axis)
