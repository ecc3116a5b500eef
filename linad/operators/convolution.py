"""Toeplitz matrices: convolution with a fixed kernel."""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import Shape
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.relation_shapes import dense_along, windows
from linad.operators.relations import Product, Relation


def flipped(kernel: Any) -> Any:
    """The conjugate of the kernel, backwards: what an adjoint convolves with."""
    kernel = kernel[..., ::-1]
    return np.conj(kernel) if kernel.dtype.kind == "c" else kernel


class Convolution(JacobianOperator):
    """x -> x * kernel, a Toeplitz matrix that is never formed.

    Parameters
    ----------
    convolve : callable
        The primitive ``convolve(x, kernel, mode=)`` along the last axis.
    kernel : array (n,)
        Kept by reference.
    mode : {"full", "valid"}
        In mode "valid" the kernel must not be longer than x.
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    The adjoint of a full convolution is the valid one with the flipped kernel, and the
    other way round.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(
        self, convolve: Any, kernel: Any, mode: str, out_shape: Shape, in_shape: Shape, dtype: Any
    ) -> None:
        self.convolve, self.kernel, self.mode = convolve, kernel, mode
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self.convolve(tangent, self.kernel, mode=self.mode)

    def pullback(self, cotangent: Array) -> Array:
        mode = "valid" if self.mode == "full" else "full"
        return self.convolve(cotangent, flipped(self.kernel), mode=mode)

    def relation(self) -> Relation:
        return windows(self.out_shape, self.in_shape, self.kernel.shape[-1:], self.mode)

    def relation_key(self) -> Any:
        return self.kernel.shape[-1], self.mode


class ValidKernel(JacobianOperator):
    """kernel -> valid convolution of a fixed signal with it.

    Parameters
    ----------
    convolve : callable
        As in `Convolution`.
    signal : array (m,)
        Not shorter than the kernel; kept by reference.
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    y_i = Σ_j s_{i+n-1-j} k_j, so the adjoint is k̄_j = Σ_i conj(s_{i+n-1-j}) ȳ_i: a valid
    convolution of the flipped signal.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(
        self, convolve: Any, signal: Any, out_shape: Shape, in_shape: Shape, dtype: Any
    ) -> None:
        self.convolve, self.signal = convolve, signal
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self.convolve(self.signal, tangent, mode="valid")

    def pullback(self, cotangent: Array) -> Array:
        return self.convolve(flipped(self.signal), cotangent, mode="valid")

    def relation(self) -> Product:
        return dense_along(self.out_shape, self.in_shape, (-1,))
