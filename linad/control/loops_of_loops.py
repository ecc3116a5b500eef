"""Loops that keep few carries: a loop of loops, whose inner ones are run again on the way back."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.control import patterns  # noqa: F401  patterns of loops register themselves
from linad.control.bodies import Body
from linad.control.body_trace import BodyTrace
from linad.control.known_bodies import known
from linad.control.repeat import repeat
from linad.core.tape import needed, tape_of
from linad.transforms.record import node_of

LOOP_BYTES = 256 * 2**20
"""Memory for the carries of one loop from which its derivative keeps fewer of them."""


def affordable(body: Body, n: int) -> int | None:
    """How many carries to keep; None for all."""
    return None if n * body.carry_bytes <= LOOP_BYTES else math.isqrt(n - 1) + 1


def repeated(
    body: Body, n: int, reverse: bool, operands: Sequence[Any], checkpoints: int | None
) -> tuple[Any, ...]:
    """Run a loop, as a loop of loops where no level may keep more than that many carries."""
    if checkpoints is None or n <= checkpoints:
        return repeat(body, n, reverse)(*operands)  # type: ignore[no-any-return]
    checkpoints = max(2, checkpoints)
    nc, nx = body.carries, body.rows
    length = -(-n // checkpoints)
    count, rest = divmod(n, length)
    carry, constants = list(operands[:nc]), list(operands[nc + nx :])
    rows = operands[nc : nc + nx]
    # What is left over is run last.
    low, high = (rest, n) if reverse else (0, n - rest)
    main = [r[low:high].reshape((count, length, *r.shape[1:])) for r in rows]
    piece = body.once(
        ("piece", length, reverse, checkpoints), lambda: _piece(body, length, reverse, checkpoints)
    )
    found = repeat(piece, count, reverse)(*carry, *main, *constants)
    carry = list(found[:nc])
    made = [y.reshape((count * length, *y.shape[2:])) for y in found[nc:]]
    if rest:
        left = [r[:low] if reverse else r[high:] for r in rows]
        found = repeated(body, rest, reverse, [*carry, *left, *constants], checkpoints)
        carry = list(found[:nc])
        pairs = zip(found[nc:], made, strict=True)
        made = [np.concatenate([a, b] if reverse else [b, a]) for a, b in pairs]
    return (*carry, *made)


def _piece(body: Body, length: int, reverse: bool, checkpoints: int) -> Body:
    """A body that repeats another."""
    nc, nx = body.carries, body.rows
    example = list(body.example)
    example[nc : nc + nx] = [
        np.broadcast_to(x, (length, *np.shape(x))) for x in example[nc : nc + nx]
    ]
    recorder = BodyTrace()
    ins = [recorder.input(np.array(v)[()]) for v in example]
    nodes = [t._node for t in ins]
    with recorder:
        found = repeated(body, length, reverse, ins, checkpoints)
        outputs = [node_of(recorder, v) for v in found]
    tape = tape_of(body.tape.name, nodes, needed(recorder.equations, outputs), outputs)
    return known(Body(tape, [t.concrete for t in ins], nc, nx))
