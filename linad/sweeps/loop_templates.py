"""Loops that have been written before, with other arrays in them.

A program that calls a step function a thousand times has a thousand loops that differ in
addresses only. What a target writes depends on the equations, on shapes, strides and dtypes, and
on which operands are the same array; it is written once for each, and the addresses are put in.
"""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from linad.core.tape import Var
from linad.sweeps.loop_reductions import axes_of, is_reduction
from linad.sweeps.places import Place
from linad.sweeps.steps import Loop, operands_of

REMEMBERED = 4096
"""Loops that are remembered."""


class WrittenLoop(NamedTuple):
    """A loop as a kernel and its operands.

    Attributes
    ----------
    text : str
        Source of the kernel.
    words : list
        Numbers, and (buffer, offset) pairs that stand for addresses.
    extent : int
        Length of the range that the kernel works through.
    work : int
        Rough number of additions, or 0 where the range must be gone through in one.
    cleared : list of Place
        What must be set to an identity before: (place, value) pairs.
    partials : list
        Reductions of which each piece of the loop has its own result, to be combined after:
        (name, place with the pieces in front, place of the result).
    """

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


def written(
    kind: Hashable,
    write: Callable[[], WrittenLoop],
    loop: Loop,
    places: dict[Any, Place],
    stored: set[Var],
) -> WrittenLoop:
    """Write a loop, or find how it was written before.

    Parameters
    ----------
    kind : hashable
        What, beside the loop, its text depends on: target and settings.
    write : callable
        Writes it.
    loop, places, stored
        As for `linad.sweeps.target.Target.write_loop`.
    """
    key, order = _signature(loop, places, stored)
    found = _templates.get((key, kind))
    if found is not None:
        words = [
            w if type(w) is not tuple else (order[w[0]].buffer, order[w[0]].offset)
            for w in found.words
        ]
        return WrittenLoop(found.text, words, found.extent, found.work, [], [])
    made = write()
    if not made.cleared and not made.partials:
        at = {(id(p.buffer), p.offset): (k,) for k, p in reversed(list(enumerate(order)))}
        words = [at[id(w[0]), w[1]] if type(w) is tuple else w for w in made.words]
        if len(_templates) >= REMEMBERED:
            _templates.clear()
        _templates[key, kind] = _Template(made.text, words, made.extent, made.work)
    return made


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
