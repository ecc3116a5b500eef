"""Inner loops that differ in their number of repetitions are one loop, which is told the number.

    for i in range(n):                      repeat(body, 3)(0.0, ...)      n_i = 3, 4, 5, ...
        a = 0.0                             repeat(body, 4)(0.0, ...)
        for j in range(i):                  ...            becomes
            a = a + f(x, j)                 repeat(body, longest, counted)(n_i, 0.0, ...)
        s = s + g(a)

The longest stretch of repetitions of such a program is short beside the whole. Its repetition is
the pattern: wherever else it is found, once or several times one after the other, it is the same
loop. Told their numbers, these loops are equal operations, and what is around them repeats itself
like any other loop's (`linad.control.rolling`). Rows that a shorter loop does not reach are those
of the longest one, or its own last ones; nobody reads them.
"""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from linad.control.absorbing import all_taken_up, is_one_of
from linad.control.bodies import Body
from linad.control.repeat import Repeat, repeat
from linad.core.tape import Equation, Tape, Var
from linad.transforms.rewriting import value_key

LARGEST_ROWS = 2**26
"""Bytes of the rows of all loops of a program together, from which on they stay apart."""


def with_counted_loops(tape: Tape, body: Body) -> Tape | None:
    """The same program, where this body repeats itself as loops that are told how often; None if
    they do so equally often, or do more than carry values."""
    tape = all_taken_up(tape, body)
    loops = [e for e in tape.equations if is_one_of(e, body)]
    numbers = [e.primitive.n for e in loops]  # type: ignore[attr-defined]
    if len(set(numbers)) < 2 or any([len(e.outputs) > body.carries for e in loops]):
        return None
    longest = loops[int(np.argmax(numbers))]
    nc, nx = body.carries, body.rows
    whole = longest.inputs[nc : nc + nx]
    if any([isinstance(a, Var) for e in loops for a in e.inputs[nc : nc + nx]]):
        return None
    if len(loops) * sum([np.asarray(a).nbytes for a in whole]) > LARGEST_ROWS:
        return None
    counted = repeat(body, max(numbers), counted=True)
    equations = []
    for e in tape.equations:
        if is_one_of(e, body):
            rows = [
                _lengthened(np.asarray(a), b)
                for a, b in zip(e.inputs[nc : nc + nx], whole, strict=True)
            ]
            n = np.int64(e.primitive.n)  # type: ignore[attr-defined]
            operands = (n, *e.inputs[:nc], *rows, *e.inputs[nc + nx :])
            e = Equation(counted, operands, e.params, e.outputs, e.source)
        equations.append(e)
    return Tape(tape.name, tape.inputs, equations, tape.outputs, tape.in_tree, tape.out_tree)


def _lengthened(rows: np.ndarray, longest: np.ndarray) -> np.ndarray:
    """As many rows as the longest loop has."""
    n, whole = len(rows), len(longest)
    if np.array_equal(rows, longest[:n], equal_nan=rows.dtype.kind in "fc"):
        return longest
    return np.concatenate([rows, np.broadcast_to(rows[-1:], (whole - n, *rows.shape[1:]))])


def differing(
    equations: Sequence[Equation], pattern: Sequence[Equation], known: Container[tuple[int, int]]
) -> dict[tuple[int, int], Any]:
    """Constants of a pattern, beside those that are known to, that differ where else it is met: by
    the equation that takes them and their place there."""
    found: dict[tuple[int, int], Any] = {}
    first, size = pattern[0].primitive, len(pattern)
    for k in range(len(equations) - size + 1):
        if equations[k].primitive is not first:
            continue
        stretch = equations[k : k + size]
        if any([e.primitive is not p.primitive for e, p in zip(stretch, pattern, strict=True)]):
            continue
        for m, (e, p) in enumerate(zip(stretch, pattern, strict=True)):
            for i, (a, b) in enumerate(zip(e.inputs, p.inputs, strict=False)):
                if a is b or (m, i) in known or (m, i) in found:
                    continue
                if not (isinstance(a, Var) or isinstance(b, Var)) and value_key(a) != value_key(b):
                    found[m, i] = b
    return found


def inner_body(tape: Tape) -> Body | None:
    """The body of most loops of a program, if there are several of it that differ in number."""
    numbers: dict[Body, list[int]] = {}
    for e in tape.equations:
        loop = e.primitive
        if isinstance(loop, Repeat) and is_one_of(e, loop.body):
            numbers.setdefault(loop.body, []).append(loop.n)
    several = [body for body, ns in numbers.items() if len(set(ns)) > 1]
    return max(several, key=lambda body: len(numbers[body]), default=None)
