"""Entries of small arrays: put in one by one, taken out one by one.

Code that unpacks a state, ``x, y = state``, and packs the next, ``np.stack([u, v])``, has a
derivative that reads, adds to and writes single entries. Where it is known which operation
made an entry, its result stands for the entry:

    (x with v at R)[R] = v            where R names no entry twice
    (x with v at R)[S] = x[S]         if R and S do not meet
    concatenate(a, b)[part of b] = b  (zeros with v at R)[S] = 0    if R and S do not meet

and a write is left out if all its entries are written again before anybody reads them:

    (x with v at R) with w at S = x with w at S     if R lies in S
    x with values at R, S, ... = nothing with ...   if that is all of x

Entries of large arrays are found where they are stored.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.primitive import Primitive
from linad.core.regions import Part, Window
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var
from linad.transforms.rewriting import rule, standing_for

MOST = 63
"""Entries of the largest array that is looked into."""

FAR = 64
"""Operations to look back for the one that made an entry."""

SAME_ENTRIES = {"reshape", "copy"}
"""Primitives that keep the entries and their order."""


def is_small(a: Any) -> bool:
    return isinstance(a, Var) and 0 < size_of(a.shape) <= MOST


def named(params: dict[str, Any], shape: Shape) -> tuple[int, ...] | None:
    """Numbers, in C order, of the entries that a region or an index names in an array."""
    region = params.get("region")
    if type(region) is Window and not region.shape and region.ndim == len(shape):
        return (region.offset,)  # most often it is one
    numbers = np.arange(size_of(shape)).reshape(shape)
    if region is None:
        return tuple(np.ravel(numbers[(..., *params["index"])]).tolist())
    if isinstance(region, Part):
        return None  # of complex numbers that are not written whole
    return tuple(np.ravel(region.take(numbers)).tolist())


# Reads.


@rule("getitem", "read_region", "view_region")
def read_of_what_was_put_there(s: Any, eqn: Equation) -> Any:
    x, out = eqn.inputs[0], eqn.outputs[0]
    if not is_small(x) or s.maker(x) is None:
        return None
    wanted = named(eqn.params, x.shape)
    found = None if wanted is None else _origin(s, x, wanted)
    if found is None or found.dtype != out.dtype:
        return None
    if not isinstance(found, Var):
        return np.reshape(found, out.shape)
    return s.emit_like("reshape", [found], eqn, shape=out.shape)


def _origin(s: Any, x: Any, wanted: tuple[int, ...]) -> Any:
    """What holds just those entries of an array, in that order; None if nothing does."""
    for _ in range(FAR):
        maker = s.maker(x)
        if maker is None:
            return None if isinstance(x, Var) else np.asarray(x).reshape(-1)[list(wanted)]
        name = maker.primitive.name
        if name in SAME_ENTRIES:
            x = maker.inputs[0]
            continue
        if name == "concatenate":
            return _part(maker, wanted)
        if name not in ("write_region", "add_at"):
            return None
        given = named(maker.params, x.shape)
        if given is None:
            return None
        if given == wanted and len(set(given)) == len(given):
            value = maker.inputs[-1]
            whole = size_of(np.shape(value)) == len(wanted)
            return (value if isinstance(value, Var) else np.asarray(value)) if whole else None
        if not set(given).isdisjoint(wanted):
            return None
        if name == "add_at":
            return np.zeros(len(wanted), x.dtype)
        x = maker.inputs[0]
    return None


def _part(joined: Equation, wanted: tuple[int, ...]) -> Any:
    """The operand of a concatenation that these entries are."""
    axis, shape = joined.params["axis"], joined.outputs[0].shape
    numbers = np.arange(size_of(shape)).reshape(shape)
    start = 0
    for a in joined.inputs:
        length = a.shape[axis]
        index = (slice(None),) * axis + (slice(start, start + length),)
        if tuple(np.ravel(numbers[index]).tolist()) == wanted:
            return a
        start += length
    return None


# Writes.


def without_overwritten(
    equations: Sequence[Equation], outputs: Sequence[Any], new_var: Callable[[Shape, Any], Var]
) -> list[Equation]:
    """Leave out writes into small arrays that nobody sees."""
    uses = Counter([a for eqn in equations for a in eqn.inputs if isinstance(a, Var)])
    uses.update([a for a in outputs if isinstance(a, Var)])
    unseen: dict[Var, set[int]] = {}  # entries that are written again before they are read
    stands: dict[Var, Any] = {}
    kept: list[Equation] = []
    for eqn in reversed(equations):
        hidden = unseen.pop(eqn.outputs[0], None) if eqn.outputs else None
        if eqn.primitive.name != "write_region" or not is_small(eqn.outputs[0]):
            kept.append(eqn)
            continue
        x, value = eqn.inputs
        out = eqn.outputs[0]
        numbers = named(eqn.params, out.shape)
        hidden = hidden or set()
        if not numbers:  # parts of numbers, or nothing at all
            kept.append(eqn)
            continue
        if hidden.issuperset(numbers):
            stands[out] = x
        else:
            hidden = hidden.union(numbers)
            if len(hidden) == size_of(out.shape):
                empty = new_var(out.shape, out.dtype)
                kept.append(eqn.with_inputs((empty, value)))
                zero = np.zeros((), out.dtype)
                params = {"shape": out.shape}
                kept.append(Equation(Primitive.registry["empty_like"], (zero,), params, (empty,)))
                continue
            kept.append(eqn)
        if is_small(x) and uses[x] == 1:
            unseen[x] = hidden
    kept.reverse()
    if not stands:
        return kept
    return [eqn.with_inputs(tuple([standing_for(a, stands) for a in eqn.inputs])) for eqn in kept]
