"""Operators of sums over axes."""

from typing import Any

import numpy as np
from numpy import generic

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape, reduced
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.relation_shapes import dense_along
from linad.operators.relations import Product
from linad.operators.reordering import Broadcast
from linad.operators.wrappers import Scaled


class ScaledSum(JacobianOperator):
    """y = c Σ x over axes; its adjoint repeats c ybar along them.

    Parameters
    ----------
    axes : tuple of int
        Axes of ``in_shape`` to sum over.
    in_shape : tuple of int
    dtype : numpy.dtype
    factor : number, optional
        c, a Python number so that it widens nothing; None is 1.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(
        self, axes: tuple[int, ...], in_shape: Shape, dtype: np.dtype[Any], factor: Any = None
    ) -> None:
        # Counted from the end, so that leading seed axes do not move them.
        self._axes, self._kept, self.out_shape = reduced(in_shape, axes)
        self.factor = factor
        self.in_shape = in_shape
        self.dtype = dtype

    def pushforward(self, tangent: Array) -> Array:
        total = np.add.reduce(tangent, axis=self._axes)
        return total if self.factor is None else total * self.factor

    def entries_read(self, mask: Any) -> Any:
        return np.broadcast_to(mask.reshape(self._kept), self.in_shape)

    def pullback(self, cotangent: Array) -> Array:
        if self.factor is not None:
            cotangent = cotangent * self.factor
        if isinstance(cotangent, generic):  # a number for all entries
            full = np.empty(self.in_shape, cotangent.dtype)
            full.fill(cotangent)
            return full
        seeds = cotangent.shape[: cotangent.ndim - len(self.out_shape)]
        kept = cotangent.reshape(seeds + self._kept)
        if isinstance(cotangent, Traced):
            return np.broadcast_to(kept, seeds + self.in_shape)
        full = np.empty(seeds + self.in_shape, kept.dtype)
        full[...] = kept
        return full

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        # Σ = B^H, of the broadcast B that repeats along the axes
        axes = [k + len(self.in_shape) for k in self._axes]
        total = Broadcast(self.in_shape, self.out_shape, self.dtype, axes).H
        return total if self.factor is None else Scaled(self.factor, total)

    def relation(self) -> Product:
        return dense_along(self._kept, self.in_shape, self._axes)

    def relation_key(self) -> Any:
        return self._axes


class WeightedSum(JacobianOperator):
    """y = Σ w x over axes: one row per lane, never formed as a matrix.

    Parameters
    ----------
    weights : array
        w, of shape ``in_shape``, kept by reference.
    axes : tuple of int
        Axes of ``in_shape`` to sum over.
    in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    One multiplication (and addition) per entry and application.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(
        self, weights: Array, axes: tuple[int, ...], in_shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.weights = weights
        self._axes, self._kept, self.out_shape = reduced(in_shape, axes)
        self.in_shape, self.dtype = in_shape, dtype

    def pushforward(self, tangent: Array) -> Array:
        return np.add.reduce(tangent * self.weights, axis=self._axes)

    def entries_read(self, mask: Any) -> Any:
        return np.broadcast_to(mask.reshape(self._kept), self.in_shape)

    def pullback(self, cotangent: Array) -> Array:
        seeds = cotangent.shape[: cotangent.ndim - len(self.out_shape)]
        weights = np.conj(self.weights) if self.dtype.kind == "c" else self.weights
        return cotangent.reshape(seeds + self._kept) * weights

    def relation(self) -> Product:
        return dense_along(self._kept, self.in_shape, self._axes)

    def relation_key(self) -> Any:
        return self._axes
