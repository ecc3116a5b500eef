"""Traced functions with compiled programs among their steps, seen through.

Of a program only the whole is known, not what depends on what. Its tape says it: linearized by the
rules at the same point, it takes the place of the call.
"""

import itertools
from typing import Any

from linad.operators.base import JacobianOperator
from linad.operators.structured import Identity
from linad.transforms.needed_steps import Link, Step
from linad.transforms.spaces import Slot
from linad.transforms.tape_operator import TapeOperator


def opened(op: TapeOperator) -> TapeOperator:
    """The same derivative, compiled programs in it replaced by what they do.

    Parameters
    ----------
    op : TapeOperator

    Returns
    -------
    TapeOperator
        With the same inputs and outputs; ``op`` itself if there are none in it.

    Notes
    -----
    One run of the tape of each program by the rules; kept with the operator.
    """
    if not any([_program(links) for _, links, _ in op.scheduled()]):
        return op
    known: TapeOperator | None = op.__dict__.get("_opened")
    if known is None:
        known = op.__dict__["_opened"] = _opened(op)
    return known


def _program(links: Any) -> Any:
    """The compiled program that a step runs, or None."""
    J: JacobianOperator | None = links[0][1] if len(links) == 1 else None
    return J if hasattr(J, "opened") else None


def _opened(op: TapeOperator) -> TapeOperator:
    numbers = itertools.count(op.count)
    arguments: dict[Any, list[Link]] = {}
    steps: list[Step] = []
    for out, links, _ in op.scheduled():
        program = _program(links)
        if program is None:
            steps.append((out, links))
            arguments[out] = list(links)
            continue
        together = links[0][0]
        inner = opened(program.opened())
        here = [next(numbers) for _ in range(inner.count)]
        for (node, entry), k in zip(arguments[together], inner.inputs, strict=True):
            steps.append((here[k], [(node, Identity(entry.out_shape, entry.out_dtype))]))
        for made, inside, _ in inner.scheduled():
            name = here[made] if type(made) is int else tuple([here[k] for k in made])
            steps.append((name, [(here[k], J) for k, J in inside]))
        steps += [
            (node, [(here[k], _same(slot))])
            for node, k, slot in zip(out, inner.outputs, inner.out_slots, strict=True)
            if k is not None
        ]
    return TapeOperator(
        steps,
        op.writes,
        next(numbers),
        op.inputs,
        op.outputs,
        op.in_slots,
        op.out_slots,
        op.in_tree,
        op.out_tree,
    )


def _same(slot: Slot) -> Identity:
    return Identity(slot.shape, slot.dtype)
