"""Arrays that a body reads and writes entry by entry, at places that are computed.

They stay in memory where they are: constants and rows in that of the caller, a carry in that of
its result, into which its first value is copied. So a repetition costs what it reads and writes,
whatever the size of the array. For a carry that needs an order:

    every value it has in one repetition is made from the one before by a write
    nobody reads a value after the next write, and the last one is the carry that comes out
"""

from linad.core.shapes import size_of
from linad.core.tape import Equation, Tape, Var
from linad.transforms.simplify import simplify

ENTRIES = 64
"""Most entries of an array that is held in local variables."""

READS = {"read_moving"}
WRITES = {"write_moving", "add_moving", "write_region", "copy"}
PLACED = {"getitem", "read_region", "view_region"}
"""Reads of places that are known."""

ALLOWED = READS | PLACED | WRITES

MOVING = READS | {"write_moving", "add_moving"}


def needing_memory(tape: Tape) -> set[int]:
    """The inputs that must be in memory: read at computed places, or too large for registers."""
    touched = {e.inputs[0] for e in tape.equations if e.primitive.name in MOVING}
    return {
        k
        for k, v in enumerate(tape.inputs)
        if size_of(v.shape) > ENTRIES or not touched.isdisjoint(_values(tape, v))
    }


def in_memory(
    tape: Tape, wanted: set[int], carries: int, is_test: bool = False
) -> dict[Var, int] | None:
    """These inputs with all the values they have in a repetition; None if some cannot stay.

    Parameters
    ----------
    tape : Tape
        Of a body, or of the test of a loop, out of which no carries come.
    wanted : set of int
        Numbers of inputs.
    carries : int

    Returns
    -------
    values : dict or None
        From each value to the number of its input.
    """
    found: dict[Var, int] = {}
    for k in sorted(wanted):
        values = _values(tape, tape.inputs[k])
        came_out = [j for j, a in enumerate(tape.outputs) if a is values[-1]]
        fits = came_out == [k] if k < carries and not is_test else not came_out
        if not fits or (len(values) > 1 and (k >= carries or is_test)):
            return None
        if not _in_order(tape, values):
            return None
        found.update(dict.fromkeys(values, k))
    return found


def arranged(tape: Tape) -> Tape:
    """The tape in a simpler form, every read of a place as early as it can be: before the next
    write, if it does not read what that leaves."""
    tape = simplify(tape)
    found: list[Equation] = []
    for e in tape.equations:
        if e.primitive.name not in READS | PLACED:
            found.append(e)
            continue
        read = {a for a in e.inputs if isinstance(a, Var)}
        k = len(found)
        while k and read.isdisjoint(found[k - 1].outputs):
            k -= 1
        found.insert(k, e)
    return Tape(tape.name, tape.inputs, found, tape.outputs, tape.in_tree, tape.out_tree)


def _values(tape: Tape, v: Var) -> list[Var]:
    """What an array is, and becomes by writes."""
    values = [v]
    for e in tape.equations:
        if e.primitive.name in WRITES and e.inputs[0] is values[-1]:
            values.append(e.outputs[0])
    return values


def _in_order(tape: Tape, values: list[Var]) -> bool:
    """Whether each value is only read at places, and before the next write."""
    places = {v: n for n, v in enumerate(values)}
    now = 0
    for e in tape.equations:
        for i, a in enumerate(e.inputs):
            if not isinstance(a, Var) or a not in places:
                continue
            if i or places[a] != now or e.primitive.name not in ALLOWED:
                return False
        if e.outputs and e.outputs[0] in places:
            now = places[e.outputs[0]]
    early = set(values[:-1])
    return not any(isinstance(a, Var) and a in early for a in tape.outputs)


def reads_of(tape: Tape, k: int) -> list[Equation] | None:
    """All reads of a carry, if it is only written and read at places, in order, and they are
    smaller than the carry together."""
    values = _values(tape, tape.inputs[k])
    if tape.outputs[k] is not values[-1] or len(values) < 2 or not _in_order(tape, values):
        return None
    if sum([a is values[-1] for a in tape.outputs]) > 1:
        return None
    found = [
        e
        for e in tape.equations
        if e.inputs
        and isinstance(e.inputs[0], Var)
        and e.inputs[0] in values
        and e.primitive.name in READS | PLACED
    ]
    size = sum([size_of(v.shape) for e in found for v in e.outputs])
    return found if size < size_of(tape.inputs[k].shape) else None


def overwritten(tape: Tape, carries: int) -> tuple[int, ...]:
    """The carries that come out as what writes have made of them."""
    return tuple(
        [
            k
            for k in range(carries)
            if len(values := _values(tape, tape.inputs[k])) > 1
            and tape.outputs[k] is values[-1]
            and tape.outputs[k].dtype == tape.inputs[k].dtype
        ]
    )


def moves_an_array(eqn: Equation) -> bool:
    return eqn.primitive.name in MOVING
