"""The arrays that a linearized function takes and gives: shapes, dtypes, and seeds for them."""

import functools
from typing import Any

import numpy as np
from numpy import generic, ndarray

from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import array, is_number, number
from linad.core import tree
from linad.core.array_type import Array
from linad.core.foreign_arrays import as_numpy, is_foreign
from linad.core.shapes import Shape, is_inexact, size_of
from linad.errors import DTypeError, ShapeError
from linad.operators.former_states import todays_state


class Slot:
    """Shape and dtype of one input or output array.

    Attributes
    ----------
    kind : callable or None
        What makes a tangent without axes a number where the value is one, or else an array.
    """

    __slots__ = ("dtype", "kind", "shape", "size")

    def __init__(self, value: Any) -> None:
        self.shape: Shape = value.shape
        self.size = size_of(self.shape)
        self.kind = None if self.shape else number if is_number(value) else array
        dtype = value.dtype
        # An integer result has the derivative zero, which is a real number.
        self.dtype = dtype if is_inexact(dtype) else np.dtype(float)

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in todays_state(Slot, state[1]).items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"

    def zeros(self, seeds: Shape = ()) -> Any:
        """An array of zeros, with leading seed axes."""
        return np.zeros(seeds + self.shape, self.dtype)

    def seed(self, value: Array, what: str) -> tuple[Any, Shape]:
        """Check a tangent or cotangent; return it as an array, and its leading seed axes."""
        if type(value) is ndarray and value.dtype is self.dtype and value.shape == self.shape:
            return value, ()
        if not isinstance(value, Tracer):
            value = as_numpy(value) if is_foreign(type(value)) else np.asarray(value)
        if not np.can_cast(value.dtype, self.dtype, "same_kind") or value.dtype.kind == "b":
            raise DTypeError(f"{what}: expected dtype {self.dtype}, got {value.dtype}")
        lead = value.ndim - len(self.shape)
        if lead < 0 or value.shape[lead:] != self.shape:
            raise ShapeError(
                f"{what}: expected shape {self.shape} (after any leading seed axes), got "
                f"{value.shape}"
            )
        if value.dtype != self.dtype:
            value = value.astype(self.dtype)
        return value, value.shape[:lead]


@functools.lru_cache(4096)
def _slot(shape: Shape, dtype: np.dtype[Any]) -> Slot:
    return Slot(np.broadcast_to(np.empty((), dtype), shape) if shape else dtype.type(0))


def slot_of(value: Array) -> Slot:
    """The slot of an array or a number; those of one shape and dtype share theirs."""
    shape = value.shape
    if shape or isinstance(value, generic):
        return _slot(shape, value.dtype)
    return Slot(value)


def check_seeds(
    value: Array, structure: Any, slots: list[Slot], what: str
) -> tuple[list[Any], Shape]:
    """Check a container of tangents or cotangents; return its leaves and their seed axes."""
    if structure is tree.LEAF and type(value) is ndarray:
        slot = slots[0]
        if value.dtype is slot.dtype and value.shape == slot.shape:  # a call less
            return [value], ()
        leaf, seeds = slot.seed(value, what)
        return [leaf], seeds
    leaves = tree.flatten_like(value, structure, what)
    checked = [slot.seed(leaf, what) for slot, leaf in zip(slots, leaves, strict=True)]
    seeds = checked[0][1] if checked else ()
    for (_, found), slot in zip(checked, slots, strict=True):
        if found != seeds:
            raise ShapeError(
                f"{what}: the leaves must have the same leading seed axes, got {seeds} for the "
                f"first and {found} for {slot}"
            )
    return [leaf for leaf, _ in checked], seeds


def common_dtype(slots: list[Slot]) -> Any:
    if not slots:
        return np.dtype(float)
    dtype = slots[0].dtype
    if len(slots) == 1:
        return dtype
    for slot in slots:
        if slot.dtype is not dtype:
            dtype = np.promote_types(dtype, slot.dtype)
    return dtype


def flat_shape(slots: list[Slot], structure: Any) -> Shape:
    alone = structure is tree.LEAF or tree.is_leaf(structure)
    return slots[0].shape if alone else (sum([s.size for s in slots]),)


def split(flat: Array, slots: list[Slot]) -> list[Any]:
    """Cut rows (*seeds, n) into one array a slot."""
    leaves, start = [], 0
    for slot in slots:
        part = flat[..., start : start + slot.size].reshape(flat.shape[:-1] + slot.shape)
        start += slot.size
        if part.dtype != slot.dtype:
            if part.dtype.kind == "c" and slot.dtype.kind != "c":
                part = part.real
            part = part.astype(slot.dtype)
        leaves.append(part)
    return leaves


def joined(leaves: list[Any], seeds: Shape, dtype: np.dtype[Any]) -> Any:
    """One row (*seeds, n) of all the leaves."""
    if not leaves:
        return np.zeros((*seeds, 0), dtype)
    rows = [leaf.reshape((*seeds, size_of(leaf.shape[len(seeds) :]))) for leaf in leaves]
    return np.concatenate(rows, axis=-1)


def seeds_of(given: tuple[Any, ...], slots: list[Slot]) -> Shape:
    """The leading axes of tangents or cotangents, of which some are None."""
    pairs = zip(given, slots, strict=True)
    return next(g.shape[: g.ndim - len(s.shape)] for g, s in pairs if g is not None)
