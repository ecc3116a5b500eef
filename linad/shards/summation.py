"""Sums in a fixed order, whoever computes the terms.

Terms are the leaves of a binary tree: node (l, i) is the sum of the terms from i 2^l up to, and
without, (i + 1) 2^l, as far as there are terms. A node is its left half plus its right half. Any
set of terms can be added as far as their nodes meet, anywhere; the rest is added where more of
them come together. The result is the same, bit for bit.
"""

from collections.abc import Iterable
from typing import Any

from linad.core.array_type import Array
from linad.errors import ShardError

Node = tuple[int, int]
Nodes = dict[Node, Any]


def merged(nodes: Nodes, count: int, name: str) -> Nodes:
    """Add what can be added.

    Parameters
    ----------
    nodes : dict
        Sums by their node.
    count : int
        How many terms there are in all.
    name : str
        For messages.
    """
    nodes = dict(nodes)
    for level in range((count - 1).bit_length()):
        for left in sorted(node for node in nodes if node[0] == level):
            right, parent = (level, left[1] + 1), (level + 1, left[1] // 2)
            if left[1] % 2:
                continue
            if right[1] << level >= count:
                nodes[parent] = nodes.pop(left)
            elif right in nodes:
                check_alike(nodes[left], left, nodes[right], right, count, name)
                nodes[parent] = nodes.pop(left) + nodes.pop(right)
    return nodes


def united(parts: Iterable[Nodes], count: int, name: str) -> Nodes:
    """The sums of several sets of terms, as one."""
    together: Nodes = {}
    for part in parts:
        together = merged(together | part, count, name)
    return together


def total(nodes: Nodes, count: int) -> Any:
    """The sum of all terms."""
    return nodes[(count - 1).bit_length(), 0]


def check_alike(a: Array, left: Node, b: Array, right: Node, count: int, name: str) -> None:
    """Raise unless two sums have one shape: broadcasting them would add what does not belong."""
    if a.shape != b.shape:
        raise ShardError(
            f"{name}: the function must return arrays of one shape, it returned shape {a.shape} "
            f"for {_terms(left, count)} and {b.shape} for {_terms(right, count)}",
            shard=right[1] << right[0],
        )


def _terms(node: Node, count: int) -> str:
    level, i = node
    first, last = i << level, min((i + 1) << level, count) - 1
    return f"shard {first}" if first == last else f"shards {first} to {last}"
