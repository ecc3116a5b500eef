"""Containers of arrays <-> flat lists of leaves, through optree.

Tuples, lists, dicts, named tuples and None are known to optree; a dataclass is registered
in linad's own namespace the first time one is met, its init fields as children.
"""

import dataclasses
import functools
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import optree

from linad.errors import TreeError

NAMESPACE = "linad"
LEAF: Any = optree.tree_structure(0)  # type: ignore[arg-type]  # its stubs know no leaf
leaf_types: set[type] = {np.ndarray, float}
"""Types known to be leaves without asking optree; the traced array adds itself."""

_registered: set[type] = set()

_rows: dict[int, Any] = {}
"""The structures that `row` has made, by their ids: they stay, and so an id is that of no other."""


def _register_dataclass(cls: type) -> None:
    names = [field.name for field in dataclasses.fields(cls) if field.init]

    def flatten(value: Any) -> tuple[list[Any], None, list[str]]:
        return [getattr(value, name) for name in names], None, names

    def unflatten(_: Any, children: Any) -> Any:
        return cls(**dict(zip(names, children, strict=True)))

    if cls not in _registered:
        _registered.add(cls)
        optree.register_pytree_node(cls, flatten, unflatten, namespace=NAMESPACE)


def bare(x: Any) -> Any:
    """The array that an instance of a subclass of ndarray holds (`linad.adoption`); others stay."""
    return x._held if getattr(type(x), "holds_array", False) else x


def flatten(value: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a container, in order, and the structure that puts them back.

    Parameters
    ----------
    value : container or leaf
        Tuples, lists, dicts (by sorted key), named tuples, dataclasses and None, nested.

    Returns
    -------
    leaves : list
    structure : optree.PyTreeSpec
        Equal for containers of the same form.
    """
    if type(value) in leaf_types:
        return [value], LEAF
    if type(value) is tuple and leaf_types.issuperset(map(type, value)):
        return list(value), row(len(value))
    try:
        leaves, structure = optree.tree_flatten(value, namespace=NAMESPACE)
    except RecursionError as error:
        if _is_shallow(value):  # then the caller's own recursion is what has no end
            raise
        raise TreeError("a container is nested too deeply, or holds itself") from error
    kinds = set(map(type, leaves))
    if any([getattr(cls, "holds_array", False) for cls in kinds]):  # of adopted code: subclasses
        leaves = [bare(x) for x in leaves]
    new = [cls for cls in kinds if dataclasses.is_dataclass(cls)]
    if not new:
        return leaves, structure
    for cls in new:
        _register_dataclass(cls)
    return flatten(value)


def _is_shallow(value: Any) -> bool:
    """Whether optree itself would flatten a container; found level by level, without recursion."""
    level = [value]
    for _ in range(optree.MAX_RECURSION_DEPTH):
        found = {id(item): item for holder in level for item in _children(holder)}
        if not found:
            return True
        level = list(found.values())
    return False


@functools.cache
def row(n: int) -> Any:
    """The structure of a tuple of n leaves."""
    leaves: Any = (0,) * n
    made = optree.tree_structure(leaves, namespace=NAMESPACE)
    _rows[id(made)] = made
    return made


def has_sorted_keys(value: Mapping[Any, Any]) -> bool:
    """Whether the leaves of a plain dict stand in the order in which its keys were written."""
    places = list(range(len(value)))
    return flatten(dict(zip(value, places, strict=True)))[0] == places


def key_orders(value: Any) -> tuple[Any, ...]:
    """The keys of all dicts in a container, each in its own order.

    Structures are equal whatever the order of keys is; whoever iterates over a dict sees it.
    """
    found: list[Any] = []
    _collect_orders(value, found)
    return tuple(found)


def _collect_orders(value: Any, found: list[Any]) -> None:
    if isinstance(value, dict):
        found.append(tuple(value))
    for item in _children(value):
        _collect_orders(item, found)


def _children(value: Any) -> Iterable[Any]:
    """What a container holds itself; nothing for a leaf."""
    kind = type(value)
    if kind in leaf_types:
        return ()
    if isinstance(value, dict):
        return value.values()
    if kind in _registered:
        return [getattr(value, field.name) for field in dataclasses.fields(kind) if field.init]
    return value if isinstance(value, (tuple, list, deque)) else ()


def unflatten(structure: Any, leaves: list[Any]) -> Any:
    """Put leaves back into a container."""
    if structure is LEAF:
        return leaves[0]
    return tuple(leaves) if id(structure) in _rows else optree.tree_unflatten(structure, leaves)


def vector(value: Any) -> Any:
    """The entries of all leaves, one leaf after the other."""
    return np.concatenate([np.ravel(leaf) for leaf in flatten(value)[0]])


def is_leaf(structure: Any) -> bool:
    """Whether a structure is a bare leaf, not a container."""
    return structure is LEAF or structure == LEAF


def flatten_like(value: Any, structure: Any, what: str) -> list[Any]:
    """Flatten a container that must have a given structure.

    A dict and an ordered one stand for each other: their leaves are told by their keys.

    Raises
    ------
    TreeError
        Naming ``what``, the structure that came and the one needed.
    """
    leaves, found = flatten(value)
    if found is structure or found == structure:
        return leaves
    with suppress(ValueError):  # of another form: optree says so only in its own words
        leaves = structure.flatten_up_to(value)  # a dict of another kind or order: by its keys
        if all(is_leaf(flatten(leaf)[1]) for leaf in leaves):
            return [bare(leaf) for leaf in leaves]
    raise TreeError(
        f"{what}: the container is {describe(found)}, it must match {describe(structure)}"
    )


def describe(structure: Any) -> str:
    """A structure in words a user knows: ``(*, {'a': *})``, ``*`` for an array."""
    if is_leaf(structure):
        return "a single array *"
    text = str(structure).removeprefix("PyTreeSpec(")
    return text.removesuffix(")").replace(f", namespace='{NAMESPACE}'", "")


def leaf_paths(structure: Any) -> list[str]:
    """A name for each leaf, as one would write it: ``['a'][0]``; '' for a bare leaf."""
    return [accessor.codify("") for accessor in structure.accessors()]


def leaf_steps(structure: Any) -> list[list[tuple[bool, Any]]]:
    """The way to each leaf: whether a step is a place in a sequence; the place, key or name."""
    found = []
    for accessor in structure.accessors():
        steps = []
        for e in accessor:
            placed = isinstance(e, optree.SequenceEntry) and not hasattr(e, "field")
            steps.append((placed, getattr(e, "field", e.entry)))
        found.append(steps)
    return found
