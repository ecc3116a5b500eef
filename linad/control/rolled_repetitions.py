"""Repetitions of Python's that were found to be alike, as one loop.

The last of them that was compared is the body. What it reads of earlier repetitions is carried, as
many repetitions far as it looks back; what was computed before all of them is fixed.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from linad.control.bodies import Body, run_equations
from linad.control.closures import plain
from linad.control.equal_operations import exact_key, may_begin, same_params
from linad.control.known_bodies import known
from linad.control.loops_of_loops import affordable, repeated
from linad.core.tape import Var, needed, tape_of
from linad.transforms.demands import missed

if TYPE_CHECKING:
    from linad.control.loop_recording import Recording

Place = tuple[int, int]
"""Where in a repetition a value is made: equation and result; (-1, 0) is the loop's i."""

INDEX: Place = (-1, 0)


class RolledRepetitions:
    """A loop made of repetitions that are alike.

    Parameters
    ----------
    recording : Recording
    wanted : set of (lag, place)
        Values that are asked for afterwards.
    early : bool
        Whether values of the first repetition may be asked for as well.
    """

    def __init__(self, recording: "Recording", wanted: set[tuple[int, Place]], early: bool) -> None:
        self.of, self.wanted = recording, wanted
        k = self.k = recording.shown
        self.equations = recording.repetitions[k]
        read: dict[tuple[int, Place], Var] = {}  # what is carried: how far, and where it is made
        self.fixed: dict[Var, None] = {}
        for e in self.equations:
            for a in e.inputs:
                if isinstance(a, Var):
                    found = recording.place.get(a)
                    if found is None or found[0] == 0:
                        self.fixed[a] = None
                    elif found[0] < k:
                        read[k - found[0], found[1]] = a
        longest = max([lag for lag, _ in read], default=1)
        early = early or not recording.place.keys().isdisjoint(self.fixed)
        starts = range(longest, k + 1) if early or longest > 1 else range(k + 1)
        self.start = next(s for s in starts if self._begins(s))
        self.slots = dict(read)
        for lag, place in [*read, *[(lag + 1, place) for lag, place in wanted]]:
            for between in range(1, lag + 1):
                if (between, place) not in self.slots:
                    self.slots[between, place] = self._like(place)

    def _like(self, place: Place) -> Var:
        v = self._made(place)
        return Var(next(self.of.trace.numbers), v.shape, v.dtype)

    def _made(self, place: Place, k: int | None = None) -> Var:
        """The variable of a place in a repetition."""
        k = self.k if k is None else k
        if place == INDEX:
            return self.of.indices[k]
        return self.of.repetitions[k][place[0]].outputs[place[1]]

    def _begins(self, s: int) -> bool:
        """Whether the loop may begin with repetition s."""
        self.init: dict[tuple[int, Place], Any] = {}
        return all(self._alike(j) for j in range(s, self.k))

    def _alike(self, j: int) -> bool:
        """Whether repetition j is like the one that is shown; what comes before the loop is
        noted as the first value of what is carried."""
        equations, of = self.of.repetitions[j], self.of
        if len(equations) != len(self.equations):
            return False
        for e, f in zip(equations, self.equations, strict=True):
            if e.primitive is not f.primitive or not same_params(e.params, f.params):
                return False
            if [(v.shape, v.dtype) for v in e.outputs] != [(v.shape, v.dtype) for v in f.outputs]:
                return False
            for a, b in zip(e.inputs, f.inputs, strict=True):
                if a is b and (not isinstance(b, Var) or b in self.fixed):
                    continue
                source = of.source(b, self.k)
                if isinstance(b, Var) and b in self.fixed:
                    return False
                if of.source(a, j) == source:
                    continue
                if not isinstance(b, Var) or j - source[0] >= 0 or source[0] != 1:
                    return False
                if isinstance(a, Var) and a in of.place:
                    return False
                if not may_begin(a, b):
                    return False
                known_value = self.init.setdefault(source, a)
                if known_value is not a and exact_key(known_value) != exact_key(a):
                    return False
        return True

    def run(self, values: dict[Var, Any]) -> dict[Var, Any]:
        """Run the loop; return the values before it."""
        of, s, k = self.of, self.start, self.k
        early = [e for j in range(s) for e in of.repetitions[j]]
        values = run_equations(early, values, of.around)
        examples = {t._node: plain(t._value) for _, t in of.trace.captured}
        examples |= {v: np.int64(j) for j, v in of.indices.items()}
        examples = run_equations([e for j in range(k) for e in of.repetitions[j]], examples)
        slots, row = self.slots, of.indices[k]
        ins = [*slots.values(), row, *self.fixed]
        outs = [self._made(place) if lag == 1 else slots[lag - 1, place] for lag, place in slots]
        shown = [
            examples[self._made(place, k - lag)] if k >= lag else np.zeros(v.shape, v.dtype)[()]
            for (lag, place), v in slots.items()
        ]
        shown += [np.int64(k), *[examples[v] for v in self.fixed]]
        init = [self._first(lag, place, v, values) for (lag, place), v in slots.items()]
        # What may raise is carried along, though nobody reads it.
        aside = [e.outputs[0] for e in missed(self.equations, needed(self.equations, outs))]
        zeros = [np.zeros(v.shape, v.dtype)[()] for v in aside]
        new = [Var(next(of.trace.numbers), v.shape, v.dtype) for v in aside]
        ins[len(slots) : len(slots)], outs = new, [*outs, *aside]
        shown[len(slots) : len(slots)], init = zeros, [*init, *zeros]
        equations = needed(self.equations, outs)
        body = known(Body(tape_of("loop", ins, equations, outs), shown, len(init), 1))
        rows = np.arange(s, of.n)
        operands = [*init, rows, *[values[v] for v in self.fixed]]
        count = of.n - s
        found = repeated(body, count, False, operands, affordable(body, count))
        last = dict(zip(slots, found[: len(slots)], strict=True))
        self.final = {(lag, place): last[lag + 1, place] for lag, place in self.wanted}
        return values

    def _first(self, lag: int, place: Place, v: Var, values: dict[Var, Any]) -> Any:
        """What a carried value is when the loop begins."""
        if self.start >= lag:
            return values[self._made(place, self.start - lag)]
        if (lag, place) not in self.init:
            return np.zeros(v.shape, v.dtype)[()]  # nobody reads it
        a = self.init[lag, place]
        return values[a] if isinstance(a, Var) else np.asarray(a, v.dtype)[()]
