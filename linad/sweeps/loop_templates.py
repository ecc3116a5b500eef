"""Loops that have been written before, with other arrays in them.

A program that calls a step function a thousand times has a thousand loops that differ in
addresses only. What `linad.sweeps.cpu.loop_source` writes depends on the equations, on shapes,
strides and dtypes, and on which operands are the same array; it is written once for each, and
the addresses are put in.
"""

from typing import Any, NamedTuple

import numpy as np

from linad.core.tape import Var
from linad.sweeps.cpu.loop_source import Source
from linad.sweeps.loop_reductions import axes_of, is_reduction
from linad.sweeps.places import Place
from linad.sweeps.plan import Loop, operands_of

REMEMBERED = 4096
"""Loops that are remembered."""


class Written(NamedTuple):
    """What becomes of a loop; the attributes of `Source` that instructions are made of."""

    text: str
    words: list[Any]
    extent: int
    work: int
    cleared: list[tuple[Place, float]]
    partials: list[tuple[str, Place, Place]]


class _Template(NamedTuple):
    text: str
    words: list[Any]  # a tuple (k,) stands for the address of the k-th place
    extent: int
    work: int


_templates: dict[Any, _Template] = {}


def written(loop: Loop, places: dict[Any, Place], stored: set[Var], vector: bool) -> Written:
    """Write a loop, or find how it was written before; arguments as those of `Source`."""
    key, order = _signature(loop, places, stored)
    found = _templates.get((key, vector))
    if found is not None:
        words = [
            w if type(w) is not tuple else (order[w[0]].buffer, order[w[0]].offset)
            for w in found.words
        ]
        return Written(found.text, words, found.extent, found.work, [], [])
    source = Source(loop, places, stored, vector)
    if not source.cleared and not source.partials:
        at = {(id(p.buffer), p.offset): (k,) for k, p in reversed(list(enumerate(order)))}
        words = [at[id(w[0]), w[1]] if type(w) is tuple else w for w in source.words]
        if len(_templates) >= REMEMBERED:
            _templates.clear()
        _templates[key, vector] = _Template(source.text, words, source.extent, source.work)
    return Written(
        source.text, source.words, source.extent, source.work, source.cleared, source.partials
    )


def _signature(loop: Loop, places: dict[Any, Place], stored: set[Var]) -> tuple[Any, list[Place]]:
    """What the text of a loop depends on, and its places in order of appearance."""
    number: dict[Any, int] = {}
    order: list[Place] = []
    parts: list[Any] = [loop.shape]

    def known(key: Any) -> int:
        found = number.get(key)
        if found is None:
            found = number[key] = len(number)
            place = places.get(key)
            if place is not None:
                order.append(place)
                parts.append((found, place.shape, place.strides, place.dtype))
        return found

    for eqn in loop.equations:
        out = eqn.outputs[0]
        operands: list[Any] = []
        for a in operands_of(eqn):
            if isinstance(a, Var):
                operands.append(known(a))
                continue
            array = np.asarray(a)
            if array.size == 1:
                weak = type(a) in (int, float, complex)
                operands.append((array.dtype, array.tobytes(), weak))
            else:
                operands.append(known(("array", id(a))))
        axes = axes_of(eqn) if is_reduction(eqn) else None
        parts.append(
            (eqn.primitive.name, tuple(operands), known(out), out in stored, out.dtype, axes)
        )
    first: dict[Any, int] = {}
    same = [first.setdefault((id(p.buffer), p.offset), k) for k, p in enumerate(order)]
    return (tuple(parts), tuple(same)), order
