"""Operators that run along an axis: running sums, differences, linear recurrences."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import Shape
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED, real_dtype
from linad.operators.linear_solves import LinearSolve
from linad.operators.relation_shapes import numbered
from linad.operators.relations import Prefix, Relation
from linad.operators.unread_weights import may_be_infinite


def along(axis: int, index: Any) -> tuple[Any, ...]:
    """The index that applies ``index`` to an axis counted from the end."""
    return (..., index, *[slice(None)] * (-axis - 1))


def reverse(x: Array, axis: int) -> Any:
    """``x`` backwards along an axis counted from the end."""
    return x[along(axis, slice(None, None, -1))]


def shift(x: Array, axis: int, by: int, fill: float = 0.0) -> Any:
    """``x`` moved by one along an axis counted from the end; ``fill`` where nothing came."""
    shape = list(x.shape)
    shape[axis] = min(1, shape[axis])
    edge = np.full(shape, fill, x.dtype)
    if by > 0:
        return np.concatenate([edge, x[along(axis, slice(None, -1))]], axis=axis)
    return np.concatenate([x[along(axis, slice(1, None))], edge], axis=axis)


class CumulativeSum(JacobianOperator):
    """y_k = x_0 + ... + x_k along an axis; its adjoint sums from the other end.

    Parameters
    ----------
    axis : int
        Of ``shape``, non-negative.
    shape : tuple of int
    dtype : numpy.dtype
    """

    unknown = "definiteness adjoint_form multiple"

    owns_result = True

    def __init__(self, axis: int, shape: Shape, dtype: np.dtype[Any]) -> None:
        self._axis = axis - len(shape)
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return np.add.accumulate(tangent, axis=self._axis)

    def pullback(self, cotangent: Array) -> Array:
        total = np.add.accumulate(reverse(cotangent, self._axis), axis=self._axis)
        return reverse(total, self._axis)

    def triangles(self) -> tuple[bool, bool]:
        return True, False

    def diagonal_entries(self) -> Any:
        return np.ones(self.shape[0], self.dtype)

    def column_squares(self) -> Any:
        # Column k is read by all rows from k on.
        n = self.in_shape[self._axis]
        counts = np.arange(n, 0, -1, dtype=real_dtype(self.dtype)).reshape(
            -1, *(1,) * (-self._axis - 1)
        )
        return np.broadcast_to(counts, self.in_shape).reshape(self.shape[1]).copy()

    def spectral_norm(self) -> Any:
        # Singular values 1 / (2 sin((2k - 1) π / (4 n + 2))) of the matrix of ones below
        return 0.5 / np.sin(np.pi / (4 * self.in_shape[self._axis] + 2))

    def inverse_form(self) -> JacobianOperator:
        # Differences undo running sums.
        return BackwardDifference(self._axis, self.in_shape, self.dtype)

    def relation(self) -> Prefix:
        return Prefix(self.in_shape, self._axis)

    def relation_key(self) -> Any:
        return self._axis


class Difference(JacobianOperator):
    """y_k = x_{k+1} - x_k along an axis; its adjoint is minus the difference, zeros beyond.

    Parameters
    ----------
    axis : int
        Of ``in_shape``, non-negative.
    in_shape : tuple of int
    dtype : numpy.dtype
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(self, axis: int, in_shape: Shape, dtype: np.dtype[Any]) -> None:
        self._axis = axis - len(in_shape)
        shape = list(in_shape)
        shape[axis] = max(shape[axis] - 1, 0)
        super().__init__(tuple(shape), in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return np.diff(tangent, axis=self._axis)

    def pullback(self, cotangent: Array) -> Array:
        shape = list(cotangent.shape)
        if self.in_shape[self._axis] == 0:
            return cotangent.reshape(shape)
        shape[self._axis] = 1
        edge = np.zeros(shape, self.dtype)
        return -np.diff(np.concatenate([edge, cotangent, edge], axis=self._axis), axis=self._axis)

    def entries_read(self, mask: Any) -> Any:
        shape = list(self.in_shape)
        if not shape[self._axis]:
            return None
        shape[self._axis] = 1
        edge = np.zeros(shape, bool)
        before = np.concatenate([edge, mask], axis=self._axis)
        return before | np.concatenate([mask, edge], axis=self._axis)

    def relation(self) -> Relation:
        x = np.moveaxis(numbered(self.in_shape), self._axis, -1)
        pairs = np.stack([x[..., :-1], x[..., 1:]], axis=-1)
        pairs = np.moveaxis(pairs, -2, self._axis - 1)
        return Relation.uniform(pairs.reshape(self.shape[0], 2), self.shape[1])

    def relation_key(self) -> Any:
        return self._axis


class SegmentSum(JacobianOperator):
    """y_i = the sum of x over the i-th of consecutive segments of an axis.

    Parameters
    ----------
    starts : ndarray of int
        Where each segment begins, strictly increasing; the last one goes to the end.
    axis : int
        Of ``in_shape``, non-negative.
    in_shape : tuple of int
    dtype : numpy.dtype
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(self, starts: Array, axis: int, in_shape: Shape, dtype: np.dtype[Any]) -> None:
        self.starts = starts
        self._axis = axis - len(in_shape)
        shape = list(in_shape)
        shape[axis] = len(starts)
        super().__init__(tuple(shape), in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return np.add.reduceat(tangent, self.starts, axis=self._axis)

    def pullback(self, cotangent: Array) -> Array:
        n, first = self.in_shape[self._axis], int(self.starts[0])
        shape = list(cotangent.shape)
        shape[self._axis] = first
        owner = np.searchsorted(self.starts, np.arange(first, n), side="right") - 1
        repeated = cotangent[along(self._axis, owner)]
        return np.concatenate([np.zeros(shape, self.dtype), repeated], axis=self._axis)

    def relation(self) -> Relation:
        x = np.moveaxis(numbered(self.in_shape), self._axis, -1)
        y = np.moveaxis(numbered(self.out_shape), self._axis, -1)
        first, n = int(self.starts[0]), x.shape[-1]
        owner = np.searchsorted(self.starts, np.arange(first, n), side="right") - 1
        return Relation.of_pairs(y[..., owner], x[..., first:], self.shape)

    def relation_key(self) -> Any:
        return self._axis, self.starts


class Recurrence(LinearSolve):
    """h_k = a_k h_{k-1} + b_k along an axis, a linear map of b; h before the first is 0.

    Parameters
    ----------
    solve : callable
        The primitive ``solve(a, b, axis=, backward=)`` that computes h; ``backward`` runs the
        recurrence from the other end.
    coefficients : array
        a, broadcasts to the trailing axes of ``shape``.
    axis : int
        Counted from the end.
    backward : bool
    shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    With S the shift by one, h = (I - A S)^-1 b. The adjoint (I - S^T A^H)^-1 is the
    recurrence from the other end, with coefficients moved by one.
    """

    unknown = "definiteness column_squares spectral_norm multiple"

    def __init__(
        self,
        solve: Any,
        coefficients: Array,
        axis: int,
        backward: bool,
        shape: Shape,
        dtype: np.dtype[Any],
    ) -> None:
        self.solve, self.coefficients = solve, coefficients
        self._axis, self._backward = axis, backward
        super().__init__(shape, shape, dtype)

    def solve_for(self, b: Array, adjoint: bool) -> Array:
        a = self.moved() if adjoint else self.coefficients
        if adjoint and self.dtype.kind == "c":
            a = np.conj(a)
        return self.solve(a, b, axis=self._axis, backward=self._backward != adjoint)

    def moved(self) -> Any:
        """The coefficients as the recurrence from the other end meets them."""
        return shift(self.coefficients, self._axis, 1 if self._backward else -1)

    def where_read(self, read: Array, reached: Array | None, traced: bool) -> Any:
        if reached is None or not may_be_infinite(self.coefficients, traced):
            return None
        # The adjoint runs from the other end, and what comes before the first that is read is zero.
        a = np.where(reached, self.coefficients, self.dtype.type(0))
        return Recurrence(self.solve, a, self._axis, self._backward, self.in_shape, self.dtype)

    def triangles(self) -> tuple[bool, bool]:
        return not self._backward, self._backward

    def diagonal_entries(self) -> Any:
        return np.ones(self.shape[0], self.dtype)

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        # ((I - A S)^-1)^H = (I - S^T A^H)^-1, the recurrence from the other end
        a = conj(self.moved())
        return Recurrence(self.solve, a, self._axis, not self._backward, self.in_shape, self.dtype)

    def inverse_form(self) -> JacobianOperator:
        # h = (I - A S)^-1 b, hence b = h - A S h
        return BackwardDifference(
            self._axis, self.in_shape, self.dtype, self.coefficients, backward=self._backward
        )

    def relation(self) -> Prefix:
        return Prefix(self.in_shape, self._axis, self._backward)

    def relation_key(self) -> Any:
        return self._axis, self._backward


class BackwardDifference(JacobianOperator):
    """y_k = x_k - a_k x_{k-1} along an axis, with x before the first 0: `Recurrence` undone.

    Parameters
    ----------
    axis : int
        Counted from the end.
    shape : tuple of int
    dtype : numpy.dtype
    coefficients : array, optional
        a, broadcasts to the trailing axes of ``shape``; None is 1, and undoes a running sum.
    backward : bool
        Whether the entry after x_k takes the place of the one before.
    """

    unknown = "definiteness column_squares spectral_norm adjoint_form multiple"

    owns_result = True

    def __init__(
        self,
        axis: int,
        shape: Shape,
        dtype: np.dtype[Any],
        coefficients: Array | None = None,
        backward: bool = False,
    ) -> None:
        self._axis, self.coefficients, self._backward = axis, coefficients, backward
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        before = shift(tangent, self._axis, -1 if self._backward else 1)
        return tangent - (before if self.coefficients is None else self.coefficients * before)

    def pullback(self, cotangent: Array) -> Array:
        if self.coefficients is None:
            taken = cotangent
        elif self.dtype.kind == "c":
            taken = np.conj(self.coefficients) * cotangent
        else:
            taken = self.coefficients * cotangent
        return cotangent - shift(taken, self._axis, 1 if self._backward else -1)

    def triangles(self) -> tuple[bool, bool]:
        return not self._backward, self._backward

    def diagonal_entries(self) -> Any:
        return np.ones(self.shape[0], self.dtype)

    def inverse_form(self) -> JacobianOperator | None:
        # Running sums undo differences.
        if self.coefficients is not None or self._backward:
            return None
        return CumulativeSum(self._axis + len(self.in_shape), self.in_shape, self.dtype)

    def relation(self) -> Relation:
        """Each entry, and the one before it along the axis."""
        x = np.moveaxis(numbered(self.in_shape), self._axis, -1)
        first, second = (slice(None, -1), slice(1, None))
        later, earlier = (first, second) if self._backward else (second, first)
        rows = [x.ravel(), x[..., later].ravel()]
        columns = [x.ravel(), x[..., earlier].ravel()]
        return Relation.of_pairs(np.concatenate(rows), np.concatenate(columns), self.shape)

    def relation_key(self) -> Any:
        return self._axis, self._backward
