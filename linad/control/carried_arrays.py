"""An array that goes round in a loop, written here and there: when can it be written at once?

An entry may be read before it is written, by a repetition that comes earlier or by the same. What
is written twice is written in the order of the repetitions.
"""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from linad.core.moving_regions import numbers_at_zero
from linad.core.regions import Region, Window
from linad.core.tape import Equation, Tape, Var


class Place(NamedTuple):
    """Entries of an array that the repetitions name.

    Attributes
    ----------
    region : Region
        Of all repetitions.
    numbers : ndarray
        ``(n, entries)``: which they are, in C order; none comes twice.
    moves : bool
        Whether they differ from repetition to repetition.
    """

    region: Region
    numbers: np.ndarray
    moves: bool


class Access(NamedTuple):
    """A read or a write, after a number of writes of the same repetition."""

    version: int
    place: Place


class Update(NamedTuple):
    """A writing: ``y[i] = value``, or ``y[i] = operation(y[i], value)``."""

    use: Access
    operation: str
    value: Any


class CarriedArray:
    """The array, and what one repetition does to it, in order.

    Attributes
    ----------
    carry : int
        Its number among the carries.
    operand : Var
        What it is before the loop.
    ordered : list of Update
        The writings in the order of `arrange`.
    """

    def __init__(self, carry: int, operand: Any) -> None:
        self.carry, self.operand = carry, operand
        self.reads: list[Access] = []
        self.updates: list[Update] = []
        self.ordered: list[Update] = []

    def arrange(self, when: np.ndarray) -> bool:
        """Put the writings in an order that is that of the repetitions at each entry.

        Returns whether there is one, and all that is read was there before the loop.

        Parameters
        ----------
        when : ndarray
            The time of each repetition.
        """
        for read in self.reads:
            for update in self.updates:
                order = _order(read.place, update.use.place, when)
                together = order == 0 and read.version <= update.use.version
                if not (order is None or order == -1 or together):
                    return False
        waiting = list(enumerate(self.updates))
        while waiting:
            for k, u in waiting:
                others = [(j, _order(v.use.place, u.use.place, when)) for j, v in waiting if j != k]
                if any([order == 2 for _, order in others]):
                    return False
                if not any([order == -1 or (order == 0 and j < k) for j, order in others]):
                    self.ordered.append(u)
                    waiting.remove((k, u))
                    break
            else:
                return False
        return True


def _order(a: Place, b: Place, when: np.ndarray) -> int | None:
    """Which of two comes to an entry first: -1, 1; 0 for the same repetition.

    None where they have no entry in common, 2 where it is now the one, now the other.
    """
    (numbers_a, when_a), (numbers_b, when_b) = (
        (p.numbers.ravel(), np.repeat(when, p.numbers.shape[1])) for p in (a, b)
    )
    _, ia, ib = np.intersect1d(numbers_a, numbers_b, return_indices=True)
    signs = np.unique(np.sign(when_a[ia] - when_b[ib]))
    if not signs.size:
        return None
    return int(signs[0]) if signs.size == 1 else 2


def read_and_written(
    tape: Tape, constants: dict[Var, np.ndarray]
) -> tuple[dict[Equation, Equation], dict[Equation, Var]]:
    """Where a body says ``y[i] += v`` or ``y[i] -= v``.

    Parameters
    ----------
    tape : Tape
        The body.
    constants : dict
        What is known of its inputs before the loop runs: the places of entries.

    Returns
    -------
    additions : dict
        The addition, by the writing after it.
    parts : dict
        The arrays, by the reading and the addition, which nothing else needs.
    """
    equations = tape.equations
    read = Counter([a for e in equations for a in e.inputs if isinstance(a, Var)])
    read.update([a for a in tape.outputs if isinstance(a, Var)])
    made = {v: e for e in equations for v in e.outputs}
    additions: dict[Equation, Equation] = {}
    parts: dict[Equation, Var] = {}
    for e in equations:
        if e.primitive.name != "write_moving" or not isinstance(e.inputs[1], Var):
            continue
        both = made.get(e.inputs[1])
        if both is None or both.primitive.name not in ("add", "subtract"):
            continue
        old = both.inputs[0]
        reading = made.get(old) if isinstance(old, Var) else None
        if reading is None or reading.primitive.name != "read_moving":
            continue
        alone = read[old] == 1 == read[both.outputs[0]]
        there = reading.inputs[0] is e.inputs[0] and _same_place(reading, e, constants)
        if alone and there and both.outputs[0].dtype == old.dtype == e.outputs[0].dtype:
            additions[e] = both
            parts[reading] = parts[both] = e.inputs[0]
    return additions, parts


def _same_place(a: Equation, b: Equation, constants: dict[Var, np.ndarray]) -> bool:
    first, second = (
        constants.get(e.inputs[-1]) if isinstance(e.inputs[-1], Var) else e.inputs[-1]
        for e in (a, b)
    )
    if first is None or second is None or not np.array_equal(first, second):
        return False
    here, there = a.params["region"], b.params["region"]
    if not (type(here) is type(there) is Window):
        return False
    return np.array_equal(numbers_at_zero(here), numbers_at_zero(there))
