"""Results that are computed where they are going: in the part of an array that is all that becomes
of them, or in the place of the input that they replace.

Nobody may read what has been there, and nothing else may be written there, between the loop that
makes the result and the step that would have put it there.
"""

from typing import Any

from linad.core.tape import Equation, Var
from linad.sweeps.data_movement import piece
from linad.sweeps.places import Place, c_strides, new_place, view_place, window_place
from linad.sweeps.reads import FOREVER
from linad.sweeps.scalar_rows import TRANSCENDENTAL
from linad.sweeps.steps import WRITE, CallStep, Loop

WRITES = {WRITE, "write_moving", "add_moving"}
"""Primitives whose first argument becomes the result, where nobody else reads it."""


def write_that_takes(lowering: Any, out: Var, k: int, loop: Loop) -> Equation | None:
    """The write into an array that is all that becomes of a loop's result."""
    positions = lowering.reads.at[out]
    if lowering.reads.viewed_by.get(out) or len(positions) != 1 or positions[0] == FOREVER:
        return None
    taker = lowering.steps[positions[0]]
    if not isinstance(taker, CallStep) or out not in loop.made:
        return None
    eqn = taker.equation
    target = eqn.inputs[0]
    if eqn.primitive.name != WRITE or eqn.inputs[1] is not out or eqn in lowering.settled:
        return None
    chain = written_before(lowering, target, positions[0])
    if chain is None or not loop.made.isdisjoint(chain):
        return None
    base = chain[-1]
    maker = lowering.equation_of.get(base)
    if maker is not None and lowering.position_of.get(maker, -1) > k:
        return None  # a place that is reserved: what is to be there has yet to come
    place = lowering.places[base]
    region = window_place(eqn.params["region"], place)
    if region is None or region.shape != out.shape or region.dtype != out.dtype:
        return None
    own = place.buffer.kind == "arena" or lowering.becomes(eqn.outputs[0], place)
    if not (own and place.whole):
        return None
    for v in chain[:-1]:
        other = window_place(lowering.equation_of[v].params["region"], place)
        if other is None or other.overlaps(region):
            return None
    # Nobody else may read what is there from here on, but this loop entry by entry.
    for v in {*lowering.read_later(place.buffer, k), *_views_of(lowering, base, k)}:
        if v is not base and lowering.place_of(v).overlaps(region):
            return None
    for a in loop.reads:
        read = lowering.place_of(a)
        if read.overlaps(region) and not read.same(region):
            return None
    return eqn


def _views_of(lowering: Any, base: Var, k: int) -> list[Var]:
    """The views of an array, and of these, that are read after step ``k``."""
    found, views = [], lowering.reads.viewed_by.get(base, []).copy()
    while views:
        view = views.pop()
        views += lowering.reads.viewed_by.get(view, ())
        if lowering.reads.at.get(view, [-1])[-1] > k:
            found.append(view)
    return found


def what_inputs_become(lowering: Any) -> dict[Var, int]:
    """Values on their way to the place of an input that may be overwritten, with its number: the
    result of this number, and what writes and views make it of."""
    found: dict[Var, int] = {}
    for j in lowering.owned:
        v = lowering.tape.outputs[j]
        while isinstance(v, Var) and v not in found:
            found[v] = j
            eqn = lowering.equation_of.get(v)
            if eqn is None or not (eqn.primitive.name in WRITES or _shows_all(lowering, eqn)):
                break
            v = eqn.inputs[0]
    return found


def _shows_all(lowering: Any, eqn: Equation) -> bool:
    """Whether an equation is a view of all entries, in their order."""
    v = eqn.outputs[0]
    if v not in lowering.views:
        return False
    x = eqn.inputs[0]
    laid = view_place(eqn.primitive, eqn.params, new_place(x.shape, x.dtype))
    return laid is not None and laid.whole


def input_taken(lowering: Any, out: Var, k: int, loop: Loop) -> Place | None:
    """The place of the input that a loop's result replaces, if the loop reads it, at most, entry
    by entry, and nobody does after it.

    Functions that are right in a range alone have to be able to read their arguments again
    (`linad.sweeps.cpu.range_guards`); what they make goes elsewhere.
    """
    j = lowering.becoming.get(out)
    if j is None or out not in loop.made or out.shape != loop.shape:
        return None
    given = lowering.inputs[j]
    if not given.whole or given.dtype != out.dtype or given.buffer in lowering.overwritten:
        return None
    place = Place(given.buffer, 0, out.shape, c_strides(out.shape, out.dtype), given.dtype)
    if lowering.read_later(place.buffer, k):
        return None
    if any([lowering.target.cost_of(e.primitive.name) >= TRANSCENDENTAL for e in loop.equations]):
        return None
    for a in loop.reads:
        read = lowering.place_of(a)
        if read.overlaps(place) and not read.same(place):
            return None
    return place


def part_joined(lowering: Any, out: Var) -> Place | None:
    """The part of a concatenation that is all that becomes of a loop's result."""
    read = out
    views = lowering.reads.viewed_by.get(out, [])
    if len(views) == 1 and not lowering.reads.at.get(out):
        read = views[0]
        eqn = lowering.equation_of[read]
        laid = view_place(eqn.primitive, eqn.params, new_place(out.shape, out.dtype))
        if laid is None or not laid.whole:
            return None  # it shows the entries in another order, or some of them
    elif views:
        return None
    positions = lowering.reads.at.get(read, [])
    if len(positions) != 1 or positions[0] == FOREVER or lowering.reads.viewed_by.get(read):
        return None
    step = lowering.steps[positions[0]]
    if not isinstance(step, CallStep) or step.equation.primitive.name != "concatenate":
        return None
    eqn = step.equation
    number = [k for k, a in enumerate(eqn.inputs) if a is read]
    result = eqn.outputs[0]
    if len(number) != 1 or out.dtype != result.dtype:
        return None
    target = lowering.places.get(result) or lowering.result(result)
    part = piece(target, eqn, number[0])
    if read is out:
        return part
    if not part.contiguous:
        return None
    strides = c_strides(out.shape, out.dtype)
    return Place(part.buffer, part.offset, out.shape, strides, out.dtype)


def written_before(lowering: Any, target: Any, taken: int) -> list[Var] | None:
    """The states of an array, from the one that step ``taken`` writes into back to one that
    exists already; None if any but the next write reads them, or a part of those before that."""
    chain = []
    while isinstance(target, Var):
        chain.append(target)
        if target in lowering.places:
            later = [at for at in lowering.reads.at.get(target, ()) if at > lowering.now]
            return chain if later == [taken] else None
        if [at for at in lowering.reads.all(target) if at >= 0] != [taken]:
            return None
        eqn = lowering.equation_of.get(target)
        if eqn is None or eqn.primitive.name != WRITE:
            return None
        taken = lowering.position_of[eqn]
        target = eqn.inputs[0]
    return None
