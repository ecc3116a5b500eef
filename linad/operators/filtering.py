"""Filters: recursive ones, and running means."""

from typing import Any

import numpy as np

from linad.core import former_names
from linad.core.array_type import Array
from linad.core.shapes import Shape, sum_to_shape
from linad.operators.base import JacobianOperator
from linad.operators.convolution import flipped
from linad.operators.facts import UNSTRUCTURED
from linad.operators.linear_solves import LinearSolve
from linad.operators.recurrences import reverse
from linad.operators.relation_shapes import windows
from linad.operators.relations import Prefix, Relation


class AllPole(LinearSolve):
    """r -> y with Σ_k a_k y_{n-k} = r_n along the last axis: T(a)^-1, lower triangular Toeplitz.

    Parameters
    ----------
    solve : callable
        The primitive ``solve(a, r)``.
    a : array (m,)
        Kept by reference.
    shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    T(a)^-H is the filter with conj(a), run from the other end. Both cost O(n m).
    """

    def __init__(self, solve: Any, a: Array, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.solve, self.a = solve, a
        super().__init__(shape, shape, dtype)

    def solve_for(self, b: Array, adjoint: bool) -> Array:
        if not adjoint:
            return self.solve(self.a, b)
        a = np.conj(self.a) if self.a.dtype.kind == "c" else self.a
        return reverse(self.solve(a, reverse(b, -1)), -1)

    def relation(self) -> Prefix:
        return Prefix(self.in_shape, -1)


class TruncatedKernel(JacobianOperator):
    """k -> (y * k)_n for n below the length of y: the columns are y, delayed.

    Parameters
    ----------
    convolve : callable
        The primitive ``convolve(x, kernel, mode=)`` along the last axis.
    y : array (*lead, n)
        Kept by reference.
    m : int
        Length of k.
    dtype : numpy.dtype

    Notes
    -----
    The adjoint is k̄_j = Σ_n conj(y_{n-j}) ȳ_n, summed over leading axes: a valid convolution.
    Both cost O(n m).
    """

    unknown = UNSTRUCTURED

    owns_result = True

    weighted_by = ("y",)

    def __init__(self, convolve: Any, y: Array, m: int, dtype: np.dtype[Any]) -> None:
        self.convolve, self.y = convolve, y
        super().__init__(y.shape, (m,), dtype)

    def pushforward(self, tangent: Array) -> Array:
        seeds, [m] = tangent.shape[:-1], self.in_shape
        lead = (1,) * (len(self.out_shape) - 1)
        product = self.convolve(self.y, tangent.reshape((*seeds, *lead, m)), mode="full")
        return product[..., : self.out_shape[-1]]

    def pullback(self, cotangent: Array) -> Array:
        [m] = self.in_shape
        zeros = np.zeros((*cotangent.shape[:-1], m - 1), cotangent.dtype)
        longer = np.concatenate([cotangent, zeros], axis=-1)
        found = self.convolve(longer, flipped(self.y), mode="valid")
        return sum_to_shape(found, self.in_shape, len(self.out_shape))

    def relation(self) -> Relation:
        """y_n reads k_j for j <= n: what comes later is cut off."""
        n, m = self.out_shape[-1], self.shape[1]
        row, column = np.nonzero(np.tri(n, m, dtype=bool))
        lead = np.arange(self.shape[0] // max(n, 1))[:, np.newaxis]
        return Relation.of_pairs(lead * n + row, column, self.shape)


class RunningMean(JacobianOperator):
    """The mean of ``size`` consecutive entries of the last axis, where all of them exist.

    Parameters
    ----------
    mean : callable
        The primitive ``mean(x, size=)``.
    size : int
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    The adjoint is the same mean, of the cotangent between zeros. Both cost O(n).
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(
        self, mean: Any, size: int, out_shape: Shape, in_shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.mean, self.size = mean, size
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self.mean(tangent, size=self.size)

    def pullback(self, cotangent: Array) -> Array:
        edge = np.zeros((*cotangent.shape[:-1], self.size - 1), cotangent.dtype)
        return self.mean(np.concatenate([edge, cotangent, edge], axis=-1), size=self.size)

    def relation(self) -> Relation:
        return windows(self.out_shape, self.in_shape, (self.size,), "valid")

    def relation_key(self) -> Any:
        return self.size


def __getattr__(name: str) -> Any:
    return former_names.class_from(__name__, name)
