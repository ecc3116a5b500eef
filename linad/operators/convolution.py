"""Toeplitz matrices: convolution with a fixed kernel."""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import Shape
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.relation_shapes import dense_along, windows
from linad.operators.relations import Product, Relation


def flipped(kernel: Any, axes: int = 1) -> Any:
    """The conjugate of a kernel, backwards along its last axes: what an adjoint convolves with."""
    kernel = kernel[(..., *[slice(None, None, -1)] * axes)]
    return np.conj(kernel) if kernel.dtype.kind == "c" else kernel


class Convolution(JacobianOperator):
    """x -> x * kernel along the last axes, (block) Toeplitz, and never formed.

    Parameters
    ----------
    convolve : callable
        The primitive ``convolve(x, kernel, mode=, axes=)`` along the last ``axes`` axes.
    kernel : array
        Kept by reference.
    mode : {"full", "valid"}
        In mode "valid" the kernel must not be longer than x, along any axis.
    axes : int
        How many there are.
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    The adjoint of a full convolution is the valid one with the flipped kernel, and the
    other way round.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    weighted_by = ("kernel",)

    def __init__(
        self,
        convolve: Any,
        kernel: Array,
        mode: str,
        axes: int,
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any],
    ) -> None:
        self.convolve, self.kernel, self.mode, self.axes = convolve, kernel, mode, axes
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self.convolve(tangent, self.kernel, mode=self.mode, axes=self.axes)

    def pullback(self, cotangent: Array) -> Array:
        mode = "valid" if self.mode == "full" else "full"
        return self.convolve(cotangent, flipped(self.kernel, self.axes), mode=mode, axes=self.axes)

    def relation(self) -> Relation:
        return windows(self.out_shape, self.in_shape, self.kernel.shape[-self.axes :], self.mode)

    def relation_key(self) -> Any:
        return self.kernel.shape[-self.axes :], self.mode


class ValidKernel(JacobianOperator):
    """kernel -> valid convolution of a fixed signal with it, along the last axes.

    Parameters
    ----------
    convolve : callable
        As in `Convolution`.
    signal : array
        Not shorter than the kernel along any axis; kept by reference.
    axes : int
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    y_i = Σ_j s_{i+n-1-j} k_j, so the adjoint is k̄_j = Σ_i conj(s_{i+n-1-j}) ȳ_i: a valid
    convolution of the flipped signal.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    weighted_by = ("signal",)

    def __init__(
        self,
        convolve: Any,
        signal: Array,
        axes: int,
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any],
    ) -> None:
        self.convolve, self.signal, self.axes = convolve, signal, axes
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self.convolve(self.signal, tangent, mode="valid", axes=self.axes)

    def pullback(self, cotangent: Array) -> Array:
        signal = flipped(self.signal, self.axes)
        return self.convolve(signal, cotangent, mode="valid", axes=self.axes)

    def relation(self) -> Product:
        return dense_along(self.out_shape, self.in_shape, tuple(range(-self.axes, 0)))

    def relation_key(self) -> Any:
        return self.axes
