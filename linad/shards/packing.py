"""The arguments of a sum as a few vectors, so that a gradient is one pullback."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np
import optree

from linad.core import tree
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape, size_of
from linad.core.showing import shown
from linad.errors import ArgumentError

NUMBERS = (bool, int, float, complex)


@dataclass(frozen=True)
class Slice:
    """A leaf that is part of a vector: its entries, from one up to another, in a shape."""

    vector: int
    start: int
    stop: int
    shape: Shape


@dataclass(frozen=True)
class Single:
    """A leaf that travels by itself, as it is: a Python number."""

    index: int


@dataclass(frozen=True)
class Fixed:
    """A leaf that is not a number: a text, a function."""

    value: Any


@dataclass(frozen=True)
class Layout:
    """Where the leaves of arguments are.

    Parameters
    ----------
    structure : optree.PyTreeSpec
        Of the tuple of arguments.
    places : tuple
        A `Slice`, `Single` or `Fixed` for each leaf.
    vectors : tuple of int
        For each vector the argument that it is of.
    count : int
        How many arrays and numbers the leaves are packed in.
    """

    structure: Any
    places: tuple[Slice | Single | Fixed, ...]
    vectors: tuple[int, ...]
    count: int

    def unpack(self, packed: Sequence[Any]) -> Any:
        """The arguments, of what `pack` made of them."""
        leaves: list[Any] = []
        for place in self.places:
            if isinstance(place, Slice):
                part = packed[place.vector][place.start : place.stop]
                leaves.append(part.reshape(place.shape) if place.shape else part[0])
            else:
                leaves.append(place.value if isinstance(place, Fixed) else packed[place.index])
        return tree.unflatten(self.structure, leaves)

    def __reduce__(self) -> tuple[Any, ...]:
        # A structure can be made only where its dataclasses are known.
        classes = {node.type for node in _nodes(self.structure) if is_dataclass(node.type)}
        skeleton = tree.unflatten(self.structure, [0.0] * len(self.places)) if classes else None
        structure = None if classes else self.structure
        return _restored, (skeleton, structure, self.places, self.vectors, self.count)


def _nodes(structure: Any) -> list[Any]:
    return [structure, *[n for child in structure.children() for n in _nodes(child)]]


def _restored(skeleton: tuple[Any, ...], structure: Any, *rest: Any) -> Layout:
    if structure is None:
        structure = tree.flatten(skeleton)[1]
    return Layout(structure, *rest)


def pack(args: tuple[Any, ...], name: str) -> tuple[list[Any], Layout]:
    """Pack arguments into one vector for each of them and each dtype in it.

    Parameters
    ----------
    args : tuple
        Containers of arrays, of numbers and of other objects, which must be hashable.
    name : str
        For messages.

    Returns
    -------
    packed : list
        Vectors, and then the Python numbers, which keep to the arrays' precision.
    layout : Layout
    """
    parts: dict[tuple[int, np.dtype], list[Any]] = {}
    sizes: dict[tuple[int, np.dtype], int] = {}
    found: list[Any] = []
    numbers: list[Any] = []
    structures = []
    for position, argument in enumerate(args):
        leaves, structure = tree.flatten(argument)
        structures.append(structure)
        for leaf in leaves:
            if is_array(leaf):
                key, size = (position, leaf.dtype), size_of(leaf.shape)
                parts.setdefault(key, []).append(leaf.reshape((size,)))
                start = sizes.get(key, 0)
                sizes[key] = start + size
                found.append((key, start, start + size, tuple(leaf.shape)))
            elif type(leaf) in NUMBERS:
                found.append(len(numbers))
                numbers.append(leaf)
            else:
                found.append(_fixed(leaf, position, name))
    order = {key: k for k, key in enumerate(parts)}
    places = tuple(
        Slice(order[place[0]], *place[1:])
        if isinstance(place, tuple)
        else Single(len(order) + place)
        if isinstance(place, int)
        else place
        for place in found
    )
    vectors = [p[0] if len(p) == 1 else np.concatenate(p) for p in parts.values()]
    row: Any = optree.treespec_tuple(structures, namespace=tree.NAMESPACE)
    packed = [*vectors, *numbers]
    return packed, Layout(row, places, tuple(position for position, _ in parts), len(packed))


def is_array(leaf: Array) -> bool:
    """Whether a leaf is an array of numbers, or a NumPy number."""
    return isinstance(leaf, (Traced, np.ndarray, np.generic)) and leaf.dtype.kind in "fciub"


def _fixed(leaf: Any, position: int, name: str) -> Fixed:
    try:
        hash(leaf)
    except TypeError:
        raise ArgumentError(
            f"{name}: argument {position} holds {shown(leaf)}, which is neither an array of "
            f"numbers nor hashable; let the function refer to it, or make it part of the shards"
        ) from None
    return Fixed(leaf)


def digest(values: Sequence[Any]) -> bytes:
    """A name of arrays and numbers that others do not have."""
    found = hashlib.blake2b(digest_size=16)
    for value in values:
        array = np.ascontiguousarray(value)
        found.update(f"{type(value).__name__} {array.dtype.str} {array.shape} ".encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.digest()
