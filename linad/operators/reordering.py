"""Operators that repeat or reorder entries: broadcasts, reshapes, transposed axes."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape, reduced, size_of
from linad.operators.base import JacobianOperator
from linad.operators.facts import real_dtype
from linad.operators.relation_shapes import moved
from linad.operators.relations import Gather
from linad.operators.structured import Identity, IdentityMatrix, Isometry


class Broadcast(JacobianOperator):
    """Repeat x along axes; its adjoint sums over them.

    Parameters
    ----------
    out_shape, in_shape : tuple of int
        Shape after and before.
    dtype : numpy.dtype
    axes : tuple of int, optional
        Axes of ``out_shape`` that ``in_shape`` lacks. None: NumPy's broadcasting, aligned
        at the last axis.
    """

    copies = True
    unknown = "triangles definiteness diagonal_entries adjoint_form multiple inverse_form"

    owns_result = True

    def __init__(
        self,
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any],
        axes: Sequence[int] | None = None,
    ) -> None:
        if axes is None:
            self._axes, self._kept = _repeated(out_shape, in_shape)
        else:
            # Counted from the end, so that leading seed axes do not move them.
            self._axes, self._kept, _ = reduced(out_shape, tuple(axes))
        self.out_shape, self.in_shape, self.dtype = out_shape, in_shape, dtype

    def pushforward(self, tangent: Array) -> Array:
        seeds = tangent.shape[: tangent.ndim - len(self.in_shape)]
        kept = tangent.reshape(seeds + self._kept)
        if isinstance(tangent, Traced):
            return np.broadcast_to(kept, seeds + self.out_shape)
        full = np.empty(seeds + self.out_shape, kept.dtype)
        full[...] = kept
        return full

    def pullback(self, cotangent: Array) -> Array:
        seeds = cotangent.shape[: cotangent.ndim - len(self.out_shape)]
        total = np.add.reduce(cotangent, axis=self._axes)
        return total.reshape(seeds + self.in_shape)

    def repeated_axes(self) -> set[int]:
        """Axes of the result along which entries are repeated, counted from the front."""
        return {k + len(self.out_shape) for k in self._axes}

    def repeats(self) -> float:
        """How often each entry is repeated."""
        return float(size_of(self.out_shape) // max(size_of(self.in_shape), 1))

    def column_squares(self) -> Any:
        return np.full(self.shape[1], self.repeats(), real_dtype(self.dtype))

    def spectral_norm(self) -> Any:
        return self.repeats() ** 0.5

    def relation(self) -> Gather:
        return moved(self)

    def relation_key(self) -> Any:
        return self._kept


@functools.lru_cache(4096)
def _repeated(out_shape: Shape, in_shape: Shape) -> tuple[tuple[int, ...], Shape]:
    """The axes that NumPy's broadcasting repeats, counted from the end, and the shape before it
    with axes of length 1 in front."""
    added = len(out_shape) - len(in_shape)
    kept = (1,) * added + in_shape
    axes = [k for k, n in enumerate(out_shape) if k < added or kept[k] != n]
    return tuple([k - len(out_shape) for k in axes]), kept


def broadcast(out_shape: Shape, in_shape: Shape, dtype: np.dtype[Any]) -> JacobianOperator:
    """`Broadcast`, or `Identity` where nothing is repeated."""
    if out_shape == in_shape:
        return Identity(in_shape, dtype)
    return Broadcast(out_shape, in_shape, dtype)


class Reshape(IdentityMatrix):
    """y = the entries of x, in C order, in another shape. A view where NumPy can give one."""

    unknown = "multiple"

    def pushforward(self, tangent: Array) -> Array:
        seeds = tangent.shape[: tangent.ndim - len(self.in_shape)]
        return tangent.reshape(seeds + self.out_shape)

    def pullback(self, cotangent: Array) -> Array:
        seeds = cotangent.shape[: cotangent.ndim - len(self.out_shape)]
        return cotangent.reshape(seeds + self.in_shape)

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        return Reshape(self.in_shape, self.out_shape, self.dtype)

    def inverse_form(self) -> JacobianOperator:
        return Reshape(self.in_shape, self.out_shape, self.dtype)

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        return Identity(self.in_shape, self.dtype) if self.out_shape == self.in_shape else None


class Permutation(Isometry):
    """y = x with its axes reordered as by ``np.transpose(x, axes)``."""

    copies = True
    unknown = "triangles definiteness diagonal_entries multiple"

    def __init__(self, axes: Sequence[int], in_shape: Shape, dtype: np.dtype[Any]) -> None:
        self.axes = axes = tuple(axes)
        self.out_shape, self._inverse = _permuted(in_shape, axes)
        self.in_shape = in_shape
        self.dtype = dtype

    def pushforward(self, tangent: Array) -> Array:
        return _permute(tangent, self.axes)

    def pullback(self, cotangent: Array) -> Array:
        return _permute(cotangent, self._inverse)

    def pattern_names(self) -> set[str]:
        return {"permutation", "unitary"}

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        # P^T = P^-1
        return Permutation(self._inverse, self.out_shape, self.dtype)

    def inverse_form(self) -> JacobianOperator:
        return Permutation(self._inverse, self.out_shape, self.dtype)

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        plain = list(self.axes) == sorted(self.axes)
        return Identity(self.in_shape, self.dtype) if plain else None

    def relation(self) -> Gather:
        return moved(self)

    def relation_key(self) -> Any:
        return self.axes


@functools.lru_cache(4096)
def _permuted(shape: Shape, axes: tuple[int, ...]) -> tuple[Shape, tuple[int, ...]]:
    """A shape with its axes reordered, and the axes that put them in order again."""
    inverse = sorted(range(len(axes)), key=axes.__getitem__)
    return tuple([shape[k] for k in axes]), tuple(inverse)


def _permute(x: Array, axes: tuple[int, ...]) -> Any:
    seeds = x.ndim - len(axes)
    return x.transpose((*range(seeds), *[seeds + k for k in axes]))
