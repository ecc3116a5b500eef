"""Containers of unknowns and parameters as vectors, and back."""

from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import is_inexact
from linad.transforms.spaces import Slot, common_dtype, joined, split

HALF = 32
"""Bits of an integer of 64 that a float holds exactly, and so does one of what is above them."""


class VectorForm:
    """How containers that are differentiated lie in one vector.

    Floating and complex leaves are packed, and traced integers: an equation that is solved in a
    program reads those of the call. Others (plain integers, text, functions) are kept.
    """

    def __init__(self, structure: Any, leaves: list[Any]) -> None:
        self.structure = structure
        self.packed = [has_derivative(leaf) or isinstance(leaf, Traced) for leaf in leaves]
        self.kept = [None if p else leaf for leaf, p in zip(leaves, self.packed, strict=True)]
        chosen = [leaf for leaf, p in zip(leaves, self.packed, strict=True) if p]
        self.dtypes = [leaf.dtype for leaf in chosen]
        self.slots = [Slot(_in_floats(leaf)) for leaf in chosen]
        self.dtype = common_dtype(self.slots)

    def vector(self, leaves: list[Any]) -> Any:
        """The leaves that are packed, as one vector."""
        chosen = [_in_floats(leaf) for leaf, p in zip(leaves, self.packed, strict=True) if p]
        return joined(chosen, (), self.dtype)

    def container(self, vector: Array) -> Any:
        """A vector in the form of the value."""
        found = zip(split(vector, self.slots), self.dtypes, strict=True)
        parts = iter([_from_floats(part, dtype) for part, dtype in found])
        leaves = [
            _number(next(parts)) if p else leaf
            for leaf, p in zip(self.kept, self.packed, strict=True)
        ]
        return tree.unflatten(self.structure, leaves)


def _number(x: Any) -> Any:
    """An array without axes as a number."""
    return x[()] if type(x) is np.ndarray else x


def _in_floats(leaf: Array) -> Any:
    """Numbers as floats or complex numbers that hold them exactly."""
    if is_inexact(leaf.dtype):
        return leaf
    if leaf.dtype.itemsize < 8:
        return leaf.astype(float)
    high = leaf >> HALF
    return np.stack([high, leaf - (high << HALF)]).astype(float)


def _from_floats(part: Array, dtype: np.dtype[Any]) -> Any:
    """What `_in_floats` was given."""
    if is_inexact(dtype):
        return part
    part = part.astype(dtype)
    return part if dtype.itemsize < 8 else (part[0] << HALF) + part[1]


def pack(value: Any) -> tuple[VectorForm, Any]:
    """The form of a container, and what it packs as one vector."""
    leaves, structure = tree.flatten(value)
    leaves = [np.float64(x) if type(x) is float else x for x in leaves]
    form = VectorForm(structure, leaves)
    return form, form.vector(leaves)


def has_derivative(leaf: Array) -> bool:
    """Whether a leaf is an array of floats or complex numbers."""
    return isinstance(leaf, (np.ndarray, np.generic, Traced)) and is_inexact(leaf.dtype)
