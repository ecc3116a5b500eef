"""Operators that place an array inside a larger one, turn it round, or read it in windows."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape
from linad.operators.base import JacobianOperator
from linad.operators.relation_shapes import moved
from linad.operators.relations import Gather
from linad.operators.structured import Isometry


class Pad(Isometry):
    """y = x with zeros around it; the adjoint cuts them off.

    Parameters
    ----------
    before : tuple of int
        Number of zeros in front of x, one an axis.
    out_shape, in_shape : tuple of int
        How many come behind follows from these.
    dtype : numpy.dtype

    Notes
    -----
    The pullback is a view.
    """

    copies = True
    unknown = "triangles definiteness diagonal_entries adjoint_form multiple inverse_form"

    def __init__(
        self, before: Sequence[int], out_shape: Shape, in_shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.before = tuple(before)
        self.spreads = out_shape != ()
        self._inner = _place(self.before, in_shape)
        self.out_shape, self.in_shape, self.dtype = out_shape, in_shape, dtype

    def pushforward(self, tangent: Array) -> Array:
        lead = tangent.ndim - len(self.in_shape)
        traced = isinstance(tangent, Traced)
        if traced:
            sizes = zip(self.before, self.in_shape, self.out_shape, strict=True)
            return np.pad(tangent, [(0, 0)] * lead + [(b, m - n - b) for b, n, m in sizes])
        full = np.zeros(tangent.shape[:lead] + self.out_shape, tangent.dtype)
        full[self._inner] = tangent
        return full

    def pushforward_into(self, tangent: Array, total: Array) -> None:
        total[self._inner] += tangent

    def pullback(self, cotangent: Array) -> Array:
        return cotangent[self._inner]

    def relation(self) -> Gather:
        return moved(self)

    def relation_key(self) -> Any:
        return self.before


@functools.lru_cache(4096)
def _place(before: tuple[int, ...], shape: Shape) -> Any:
    """The index of an array of this shape with so much in front of it, behind any seeds."""
    return (..., *[slice(b, b + n) for b, n in zip(before, shape, strict=True)])


class Roll(Isometry):
    """y = x shifted cyclically by ``shifts`` along ``axes``."""

    copies = True
    unknown = "triangles definiteness diagonal_entries multiple"

    owns_result = True

    def __init__(
        self, shifts: Sequence[int], axes: Sequence[int], shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.shifts = tuple(shifts)
        # Counted from the end, so that leading seed axes do not move them.
        self._axes = tuple([k - len(shape) for k in axes])
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return np.roll(tangent, self.shifts, self._axes)

    def pullback(self, cotangent: Array) -> Array:
        return np.roll(cotangent, tuple([-s for s in self.shifts]), self._axes)

    def pattern_names(self) -> set[str]:
        return {"permutation", "unitary"}

    def turned(self) -> JacobianOperator:
        """The shift back, which is the adjoint and the inverse."""
        axes = [k + len(self.in_shape) for k in self._axes]
        return Roll([-s for s in self.shifts], axes, self.in_shape, self.dtype)

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        return self.turned()

    def inverse_form(self) -> JacobianOperator:
        return self.turned()

    def relation(self) -> Gather:
        return moved(self)

    def relation_key(self) -> Any:
        return self.shifts, self._axes
