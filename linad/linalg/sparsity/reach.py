"""Patterns of operators made of operators: composites, and whole traced functions.

Sets of columns go through an operator as tangents do, through its adjoint as cotangents: each
entry collects the columns of those it depends on.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linad.errors import DensifyError
from linad.linalg.sparsity.compiled_steps import opened
from linad.operators.base import JacobianOperator
from linad.operators.blocks import Blocks
from linad.operators.composites import Chain, Sum
from linad.operators.dependency_sets import DependencySets, check_size
from linad.operators.facts import knows
from linad.operators.relations import Relation
from linad.operators.wrappers import Adjoint, Transpose, Wrapper
from linad.transforms.needed_steps import Node
from linad.transforms.spaces import Slot
from linad.transforms.tape_operator import TapeOperator
from linad.transforms.tuple_entries import Entry


class Compact:
    """The pattern of an operator, entries that depend on the same columns written once.

    Attributes
    ----------
    sets : DependencySets
        The columns of each row, or the rows of each column.
    turned : bool
        Which of these.

    Notes
    -----
    Sets as long as the shorter side of the matrix go through the operator once, forward or
    backward. Nothing is applied to values.
    """

    def __init__(self, op: JacobianOperator) -> None:
        m, n = op.shape
        self.label, self.turned = op._label(), m < n
        try:
            self.sets = reach(op, DependencySets.identity(m if self.turned else n), self.turned)
        except DensifyError as error:
            raise DensifyError(f"{self.label}: on the way to {error}") from None

    @property
    def nnz(self) -> int:
        return self.sets.nnz

    def bandwidth(self) -> tuple[int, int]:
        """How far the entries lie below and above the main diagonal."""
        table, source = self.sets.table, self.sets.source
        rows = np.arange(table.m) if source is None else np.flatnonzero(source >= 0)
        read = rows if source is None else source[rows]
        some = table.counts[read] > 0
        rows, read = rows[some], read[some]
        if not len(rows):
            return 0, 0
        below = int(max(0, (rows - table.indices[table.indptr[read]]).max()))
        above = int(max(0, (table.indices[table.indptr[read + 1] - 1] - rows).max()))
        return (above, below) if self.turned else (below, above)

    @cached_property
    def relation(self) -> Relation:
        """Written out.

        Raises
        ------
        DensifyError
            If it has more entries than ``linad.config(densify_limit=...)``.
        """
        try:
            check_size(self.nnz)
        except DensifyError as error:
            raise DensifyError(f"{self.label}: {error}") from None
        return self.sets.relation.T if self.turned else self.sets.relation


def reach(op: JacobianOperator, sets: DependencySets, adjoint: bool) -> DependencySets:
    """Take the sets of an operator's argument to those of its result, or back."""
    if isinstance(op, Wrapper):
        return reach(op.op, sets, adjoint)
    if isinstance(op, (Adjoint, Transpose)):
        return reach(op.op, sets, not adjoint)
    if isinstance(op, Chain):
        for factor in op.factors if adjoint else reversed(op.factors):
            sets = reach(factor, sets, adjoint)
        return sets
    if isinstance(op, Sum):
        return united([reach(term, sets, adjoint) for term in op.terms])
    if isinstance(op, Blocks):
        return _reach_blocks(op, sets, adjoint)
    if isinstance(op, TapeOperator):
        return (_pull if adjoint else _push)(op, sets)
    relation = op.relation()
    if relation is None:
        return sets
    return (relation.T if adjoint else relation).after(sets)


def united(parts: Sequence[DependencySets]) -> DependencySets:
    """The union, entry by entry."""
    total = parts[0]
    for part in parts[1:]:
        total = total | part
    return total


def _reach_blocks(op: Blocks, sets: DependencySets, adjoint: bool) -> DependencySets:
    taken, given = (op._rows, op._columns) if adjoint else (op._columns, op._rows)
    parts: list[list[DependencySets]] = [[] for _ in given]
    for i, j, block in op.blocks:
        source, target = (i, j) if adjoint else (j, i)
        parts[target].append(reach(block, sets.part(taken[source]), adjoint))
    return DependencySets.stacked([united(p) for p in parts])


# Traced functions.


def _push(op: TapeOperator, sets: DependencySets) -> DependencySets:
    """First step to last, as `TapeOperator.push_leaves`."""
    n = sets.table.n
    known = dict(zip(op.inputs, _in_slots(sets, op.in_slots), strict=True))
    together: dict[Node, Parts] = {}
    sizes = _sizes(op)
    for out, links, dead in opened(op).scheduled():
        given = [(J, known[node]) for node, J in links if node in known]
        if given and type(given[0][0]) is Entry:
            together[out] = {J.k: part for J, part in given}
            known[out] = DependencySets.alike(1, list(together[out].values()), n)
        elif given and type(out) is int:
            known[out] = united([reach(J, part, False) for J, part in given])
        elif given and (parts := _parted(links, together.get(links[0][0]), False, n)) is not None:
            for j, node in enumerate(out):
                if node in sizes:
                    known[node] = parts[j] if j in parts else DependencySets.empty(sizes[node], n)
        elif given:
            for node in out:
                if node in sizes:
                    known[node] = _several(given, sizes[node], n)
        for node in dead:
            known.pop(node, None)
    return _at(op.outputs, op.out_slots, known, n)


def _pull(op: TapeOperator, sets: DependencySets) -> DependencySets:
    """Last step to first, as `TapeOperator.pull_leaves`."""
    n = sets.table.n
    known: dict[Node, DependencySets] = {}
    together: dict[Node, Parts] = {}

    def collect(node: Node, part: DependencySets) -> None:
        known[node] = known[node] | part if node in known else part

    for output, part in zip(op.outputs, _in_slots(sets, op.out_slots), strict=True):
        if output is not None:
            collect(output, part)
    for out, links, _ in reversed(opened(op).scheduled()):
        if type(out) is int and out in together:
            entries = together.pop(out)
            for node, J in links:
                if J.k in entries:
                    collect(node, entries[J.k])
            continue
        if type(out) is int:
            if out in known:
                part = known.pop(out)
                for node, J in links:
                    alike = type(J) is Entry
                    collect(node, _alike(J, [part], n) if alike else reach(J, part, True))
            continue
        given = {j: known.pop(node) for j, node in enumerate(out) if node in known}
        found = list(given.values())
        if found and (parts := _parted(links, given, True, n)) is not None:
            together[links[0][0]] = parts
        elif found:
            for node, J in links:
                known_map = _registered(J)
                collect(node, reach(J, united(found), True) if known_map else _alike(J, found, n))
    return _at(op.inputs, op.in_slots, known, n)


def _in_slots(sets: DependencySets, slots: Sequence[Slot]) -> list[DependencySets]:
    """The sets of the entries of each slot."""
    ends = list(itertools.accumulate([slot.size for slot in slots]))
    return [sets.part(slice(end - slot.size, end)) for end, slot in zip(ends, slots, strict=True)]


def _at(
    nodes: Sequence[Node | None], slots: Sequence[Slot], known: dict[Node, DependencySets], n: int
) -> DependencySets:
    """The sets of some nodes, one after the other; empty ones of those that nothing leads to."""
    return DependencySets.stacked(
        [
            known[node] if node in known else DependencySets.empty(slot.size, n)
            for node, slot in zip(nodes, slots, strict=True)
        ]
    )


def _sizes(op: TapeOperator) -> dict[Node, int]:
    """Number of entries of the nodes that something uses."""
    sizes = {
        node: slot.size
        for node, slot in zip(op.outputs, op.out_slots, strict=True)
        if node is not None
    }
    for _, links, _ in opened(op).scheduled():
        for node, J in links:
            sizes[node] = J.shape[1]
    return sizes


# Operations with several results. One of a class in `PARTED` takes the sets of each operand to
# those of each result. An operator that knows its relation says the pattern of each of them, which
# is the same for all; of others every result depends on everything.


Parts = dict[int, DependencySets]
"""The sets of some of several arrays, by their position."""


class Parted(NamedTuple):
    """How sets go through the operators of a class that are maps between tuples of arrays.

    Attributes
    ----------
    reach : callable
        ``reach(J, parts, adjoint, n) -> parts``; None where it tells nothing apart.
    key : callable
        ``key(J) -> (hashable, list of arrays)``: what that depends on.
    """

    reach: Callable[[Any, Parts, bool, int], Parts | None]
    key: Callable[[Any], tuple[Any, list[Any]]]


PARTED: dict[type, Parted] = {}
"""Filled in where the classes are defined."""


def _parted(links: Any, parts: Parts | None, adjoint: bool, n: int) -> Parts | None:
    """The sets of several results, or of several operands, of the one link of a step."""
    if len(links) != 1 or parts is None:
        return None
    J = links[0][1]
    way = PARTED.get(type(J))
    return None if way is None else way.reach(J, parts, adjoint, n)


def _alike(J: JacobianOperator, found: list[DependencySets], n: int) -> DependencySets:
    """The sets of an operand, each entry of which may be read by all that was found."""
    return DependencySets.alike(J.shape[1], found, n)


def _registered(J: JacobianOperator) -> bool:
    first = J.factors[0] if isinstance(J, Chain) else J
    return knows(first, "relation")


def _several(
    given: list[tuple[JacobianOperator, DependencySets]], size: int, n: int
) -> DependencySets:
    """The sets of one of the results."""
    if all(_registered(J) for J, _ in given):
        return united([reach(J, part, False) for J, part in given])
    return DependencySets.alike(size, [part for _, part in given], n)
