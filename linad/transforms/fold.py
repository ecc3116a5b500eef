"""A linearized function as one expression of operators, where it is simple enough.

The list of a `TapeOperator` is walked once. What leads from an input to a node is the sum over
its links of operator times what leads to their node,

    J_node = Σ_links J_link J_source

simplified as it grows. A node that several others read would be written out once for each of
them; so the walk gives up as soon as the expression has more parts than the list has links.
"""

from typing import TYPE_CHECKING, Any

from linad.operators.algebra import compose, matching
from linad.operators.base import JacobianOperator
from linad.operators.blocks import Blocks
from linad.operators.rewrites import OperatorSimplifier, parts_of
from linad.operators.structured import Identity, Zero

if TYPE_CHECKING:
    from linad.transforms.tape_operator import TapeOperator

MOST_PARTS = 256
"""An expression of more parts is not a structure, and is not worth the walk."""


class _TooLong(Exception):
    """The expression has more parts than the list."""


def folded(op: "TapeOperator", simplify: OperatorSimplifier) -> JacobianOperator | None:
    """The operator that a linearized function is, or None where that is not simpler."""
    schedule = op.scheduled()
    limit = min(sum(len(links) for _, links, _ in schedule) + len(op.outputs), MOST_PARTS)
    if any(type(out) is not int for out, _, _ in schedule):
        return None  # an operation with several results
    try:
        found = [_from_input(op, k, limit, simplify) for k in range(len(op.inputs))]
    except _TooLong:
        return None
    if op.flat is op:
        return matching(found[0][0], op.out_shape, op.in_shape)
    return _blocks(op, found, simplify)


def _from_input(
    op: "TapeOperator", k: int, limit: int, simplify: OperatorSimplifier
) -> list[JacobianOperator]:
    """What leads from an input to each output."""

    def step(node: Any, links: Any) -> JacobianOperator:
        terms = [simplify(compose(simplify(J), before)) for J, before in links]
        if len({(t.in_dtype, t.out_dtype) for t in terms}) > 1:
            raise _TooLong
        total = simplify.total(terms)
        if parts_of(total, limit) > limit:
            raise _TooLong
        return total

    slot = op.in_slots[k]
    starts: list[JacobianOperator | None] = [None] * len(op.inputs)
    starts[k] = Identity(slot.shape, slot.dtype)
    return [
        Zero(given.shape, slot.shape, given.dtype) if found is None else found
        for found, given in zip(op.followed(starts, step), op.out_slots, strict=True)
    ]


def _blocks(
    op: "TapeOperator", found: list[list[JacobianOperator]], simplify: OperatorSimplifier
) -> JacobianOperator | None:
    """The blocks of a function of containers, as an operator on flat vectors."""
    if any(slot.dtype != op.dtype for slot in [*op.in_slots, *op.out_slots]):
        return None
    heights = [slot.size for slot in op.out_slots]
    widths = [slot.size for slot in op.in_slots]
    placed = [
        (i, j, simplify(matching(block, (heights[i],), (widths[j],))))
        for j, column in enumerate(found)
        for i, block in enumerate(column)
        if type(block) is not Zero
    ]
    rows, columns = {i for i, _, _ in placed}, {j for _, j, _ in placed}
    # Every block row and column of `Blocks` holds a block, be it zero.
    placed += [
        (i, 0, _zero(heights[i], widths[0], op)) for i in range(len(heights)) if i not in rows
    ]
    placed += [
        (0, j, _zero(heights[0], widths[j], op)) for j in range(len(widths)) if j not in columns
    ]
    return Blocks(placed, heights, widths)


def _zero(m: int, n: int, op: "TapeOperator") -> Zero:
    return Zero((m,), (n,), op.dtype)
