"""A recorded tape that repeats itself becomes a loop.

A stretch of p equations that is met c times, one after the other, is a loop if the repetitions
are equal: the same primitives, parameters, shapes and guards, and the same flow of data. Each
operand of the stretch is

    inside    made in the same repetition
    carried   made in the repetition before
    fixed     one and the same variable, or equal constants
    moving    constants that differ: a row of an array of constants

Where an equation reads or writes a part of an array, the place counts as such a constant, so that
``u[i + 1] = f(u[i])`` is the same in all repetitions.

The rewrite is an equality of programs: what the loop runs is, equation by equation, what was
recorded. Guards stay guards, in the body.
"""

import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any

import numpy as np

from linad.control.absorbing import absorbed
from linad.control.bodies import Body
from linad.control.joined_rows import joined
from linad.control.known_bodies import known
from linad.control.lifted_numbers import first_ones_lifted
from linad.control.memory_arrays import reads_of
from linad.control.moving_places import Places
from linad.control.repeat import Repeat, repeat
from linad.control.rows_of_constants import row_of
from linad.control.triangles import differing, inner_body, with_counted_loops
from linad.core.array_type import Array
from linad.core.collection_pause import collection_paused
from linad.core.failures import rewritten
from linad.core.indices import canonical
from linad.core.moving_regions import example_values
from linad.core.primitive import Primitive
from linad.core.shapes import Shape
from linad.core.tape import Equation, Tape, Var, guard, needed, tape_of
from linad.transforms.rewriting import params_key, value_key

LEAST_REPETITIONS, LEAST_EQUATIONS = 4, 200
"""What has fewer repetitions, or equations in all, stays as it is."""

LOOKED_BACK = 8
"""Equal equations before one, from which distances are taken as periods."""

LEAST_WITHIN, LEAST_AROUND = 24, 500
"""Equations of the longest of several loops of different lengths, and of a program with these:
one with fewer is faster, and soon compiled, where they are written out."""

MOST_PERIODS = 200
"""Periods that are tried."""

MOST_LOOKS = 8
"""A stretch that is less than this part of a program is its last: looking for all of them takes
not more than as many looks at the whole."""


def roll(tape: Tape, example: Callable[[], Sequence[Any]]) -> Tape:
    """The same program, its longest stretches of repetitions as loops; itself if there is none.

    Parameters
    ----------
    tape : Tape
    example : callable
        Gives values of the inputs for which the guards hold.
    """
    with collection_paused():
        return rewritten(tape, lambda tape: _rolled(absorbed(first_ones_lifted(tape)), example))


def _rolled(tape: Tape, example: Callable[[], Sequence[Any]]) -> Tape:
    is_first = True
    while (left := len(tape.equations)) >= LEAST_EQUATIONS:
        places = Places()
        found = Roller(places.apart(tape)).best()
        if left >= LEAST_AROUND and (found is None or found.size * MOST_LOOKS < left):
            outer = _outer_rolled(tape, example)
            if outer is not None:
                tape, is_first = outer, False
                continue
        if found is None:
            break
        rolled = found.rolled(example(), places)
        if not is_first and len(rolled.equations) > left - found.size // 2:
            break  # as many operations read what the loop has made: those would be rolled for ever
        tape, is_first = rolled, False
        if found.size * MOST_LOOKS < left:
            break
    return joined(tape)


def _outer_rolled(tape: Tape, example: Callable[[], Sequence[Any]]) -> Tape | None:
    """The same program, a loop as one whose inner loops are of different lengths; None if there is
    none."""
    body = inner_body(tape)
    if body is None:
        places = Places()
        apart = places.apart(tape)
        inner = Roller(apart, LEAST_WITHIN).best()
        if inner is None:
            return None
        one = inner.repetition(1)
        for (m, i), a in differing(apart.equations, one, inner.rows).items():
            row = row_of([a] * inner.count, one[m])
            if row is not None:
                inner.rows[m, i] = row
        body = inner.body(example(), [], places)
    if not body.tape.equations:
        return None
    told = with_counted_loops(tape, body)
    if told is None or len(told.equations) >= len(tape.equations):
        return None
    places = Places()
    outer = Roller(places.apart(told), LEAST_REPETITIONS).best()
    if outer is not None and any([_is_counted(e.primitive) for e in outer.repetition(1)]):
        return outer.rolled(example(), places)
    return _outer_rolled(told, example)


def _is_counted(primitive: Primitive) -> bool:
    return isinstance(primitive, Repeat) and primitive.counted


class Roller:
    """Where a tape repeats.

    Parameters
    ----------
    tape : Tape
    least : int
        Equations of a stretch, at least.
    """

    def __init__(self, tape: Tape, least: int = LEAST_EQUATIONS) -> None:
        self.tape, self.least = tape, least
        equations = tape.equations
        codes: dict[Any, int] = {}
        self.codes = np.array([codes.setdefault(_sign(e), len(codes)) for e in equations])
        made: dict[Var, int] = {}  # a number for each result: 64 times its equation, and its place
        for k, e in enumerate(equations):
            for o, v in enumerate(e.outputs):
                made[v] = (k << 6) + o
        width = max(len(e.inputs) for e in equations)
        self.width = width
        self.maker = np.full((len(equations), width), -1, np.int64)
        self.name = np.zeros((len(equations), width), np.int64)
        names: dict[Any, int] = {}
        for k, e in enumerate(equations):
            for i, a in enumerate(e.inputs):
                if isinstance(a, Var):
                    self.maker[k, i] = made.get(a, -1)
                    self.name[k, i] = names.setdefault(a, len(names) + 1)
                else:
                    self.name[k, i] = -names.setdefault(("constant", value_key(a)), len(names) + 1)

    def best(self) -> "Stretch | None":
        best = None
        for start, period, count in self._candidates():
            found = self._stretch(start, period, count)
            if found is None:
                continue
            if best is None or found.size > best.size:
                best = found
            if best.size > len(self.codes) // 2:
                break
        return best

    def _candidates(self) -> Iterator[tuple[int, int, int]]:
        """Stretches that look as if they repeated: start, period, repetitions."""
        gaps: Counter[int] = Counter()
        recent: dict[int, list[int]] = defaultdict(list)
        for k, code in enumerate(self.codes.tolist()):
            seen = recent[code]
            for i in seen[-LOOKED_BACK:]:
                gaps[k - i] += 1
            seen.append(k)
        least = LEAST_REPETITIONS - 1
        likely = sorted([p for p, m in gaps.most_common(MOST_PERIODS) if m >= least])
        for period in likely:
            same = (self.codes[period:] == self.codes[:-period]).astype(np.int8)
            edges = np.flatnonzero(np.diff(np.concatenate([[0], same, [0]])))
            starts, stops = edges[::2], edges[1::2]
            if not len(starts):
                continue
            k = int(np.argmax(stops - starts))
            run = int(stops[k] - starts[k]) + period
            if run >= LEAST_REPETITIONS * period and run >= self.least:
                yield int(starts[k]), period, run // period

    def _stretch(self, start: int, period: int, count: int) -> "Stretch | None":
        """The repetitions that are equal in their flow of data; the first may be left out."""
        for peeled in range(3):
            found = self.flow(start + peeled * period, period, count - peeled)
            if found is not None:
                return found
        return None

    def flow(self, start: int, period: int, count: int) -> "Stretch | None":
        """The repetitions that are equal in their flow of data, from ``start`` on."""
        if count < LEAST_REPETITIONS:
            return None
        # Constants that change late move, if they can; else they end the stretch.
        found = self._flow(start, period, count, late=True)
        return found or self._flow(start, period, count, late=False)

    def _flow(self, start: int, period: int, count: int, late: bool) -> "Stretch | None":
        shape = count, period, self.width
        part = slice(start, start + count * period)
        maker, name = self.maker[part].reshape(shape), self.name[part].reshape(shape)
        codes = self.codes[part].reshape(count, period)
        here = np.arange(start, start + count * period).reshape(count, period, 1)
        distance = np.where(maker >= 0, (here << 6) - maker, 1 << 40)
        within = maker >= start << 6
        # What the second repetition does, the others do.
        relative = within[1] & (distance[2] == distance[1]) & within[2]
        of_this = relative & (maker[1] >= (start + period) << 6)
        carried = relative & ~of_this
        if np.any(carried & (maker[1] < start << 6)):
            return None
        fixed = ~relative & (name[2] == name[1])
        if late:
            fixed &= (name[1] > 0) | np.all((name == name[1]) | (name > 0), axis=0)
        if np.any(fixed & within[2]):  # made by the first repetition, which is to be left out
            return None
        moving = ~relative & ~fixed
        if np.any(moving & (name[1] > 0)):
            return None
        good = np.all(
            (relative & (distance == distance[1]) & within)
            | (fixed & (name == name[1]))
            | (moving & (name < 0)),
            axis=(1, 2),
        ) & np.all(codes == codes[1], axis=1)
        # The first repetition takes what is carried from before.
        first = of_this & (distance[0] == distance[1]) & within[0]
        first |= carried & (maker[0] < start << 6)
        first |= (fixed & (name[0] == name[1])) | (moving & (name[0] < 0))
        if not first.all() or np.any(codes[0] != codes[1]):
            return None
        bad = np.flatnonzero(~good[1:])
        count = int(bad[0]) + 1 if len(bad) else count
        if count < LEAST_REPETITIONS or count * period < self.least:
            return None
        return Stretch(self, start, period, count, carried, moving).checked()


def periods(codes: np.ndarray, most: int) -> list[int]:
    """With which periods codes repeat themselves, but for some at the beginning; the shortest
    ones, of which there are repetitions enough."""
    total, found = len(codes), list[int]()
    same = np.flatnonzero(codes[:-1] == codes[-1])
    for period in (total - 1 - same[::-1]).tolist():
        if total // period < LEAST_REPETITIONS or len(found) == most:
            break
        begin = total % period
        if total // period > LEAST_REPETITIONS:
            begin += period  # the first may take what was made before it was looked at
        if np.array_equal(codes[begin + period :], codes[begin : total - period]):
            found.append(period)
    return found


class Stretch:
    """Equal repetitions, and the loop that they are."""

    def __init__(
        self, roller: Roller, start: int, period: int, count: int, carried: Array, moving: Array
    ) -> None:
        self.roller, self.tape = roller, roller.tape
        self.start, self.period, self.count = start, period, count
        self.size = period * count
        self.carried, self.moving = carried, moving

    def repetition(self, j: int) -> Sequence[Equation]:
        first = self.start + j * self.period
        return self.tape.equations[first : first + self.period]

    def checked(self) -> "Stretch | None":
        """Itself, if what is carried comes from one place before the loop."""
        zero, one = self.repetition(0), self.repetition(1)
        self.init: dict[Var, Any] = {}  # by the variable of repetition 0 that repetition 1 reads
        for m, i in np.argwhere(self.carried):
            slot, value = one[m].inputs[i], zero[m].inputs[i]
            known_value = self.init.setdefault(slot, value)
            if value_key(known_value) != value_key(value):
                return None
        made = {v for e in zero for v in e.outputs}
        if not made.issuperset(self.init):
            return None
        # Rows of constants: those of one shape and type.
        self.rows: dict[tuple[int, int], np.ndarray] = {}
        for m, i in np.argwhere(self.moving):
            values = [self.repetition(j)[m].inputs[i] for j in range(self.count)]
            row = row_of(values, zero[m])
            if row is None:
                return None
            self.rows[m, i] = row
        return self

    def rolled(self, example: Sequence[Any], places: Places) -> Tape:
        """The tape with the loop in the place of its repetitions."""
        tape, equations = self.tape, self.tape.equations
        one = self.repetition(1)
        before, after = equations[: self.start], equations[self.start + self.size :]
        ends, stacked = self._read_after(after)
        results = [one[m].outputs[o] for m, o in stacked]
        body = self.body(example, results, places)
        made = [self._new((self.count, *v.shape), v.dtype) for v in results]
        init = [
            a if isinstance(a, Var) else np.broadcast_to(np.asarray(a, v.dtype), v.shape)
            for v, a in self.init.items()
        ]
        operands = (*init, *self.rows.values(), *self._fixed())
        line = one[0].source
        loop = Equation(repeat(body, self.count), operands, {}, (*ends, *made), line)
        taken = {
            v: _row(rows, j, v, line)
            for rows, entries in zip(made, stacked.values(), strict=True)
            for j, v in entries
        }
        rest = places.together([*before, loop, *_where_read(taken, after)])
        final = tape_of(tape.name, tape.inputs, rest, tape.outputs)
        return Tape(
            tape.name, tape.inputs, final.equations, tape.outputs, tape.in_tree, tape.out_tree
        )

    @functools.cached_property
    def _numbers(self) -> Iterator[int]:
        known_here = [*self.tape.inputs, *[v for e in self.tape.equations for v in e.outputs]]
        return itertools.count(2 + max([v.index for v in known_here]))

    def _new(self, shape: Shape, dtype: np.dtype[Any]) -> Var:
        return Var(next(self._numbers), shape, dtype)

    def _carried_results(self, j: int) -> list[Var]:
        """What a repetition makes of the values that are carried."""
        place = {
            v: (m, o) for m, e in enumerate(self.repetition(0)) for o, v in enumerate(e.outputs)
        }
        made = self.repetition(j)
        return [made[m].outputs[o] for m, o in (place[s] for s in self.init)]

    def _read_after(
        self, after: Sequence[Equation]
    ) -> tuple[list[Var], dict[tuple[int, int], list[tuple[int, Var]]]]:
        """The carried values of the last repetition; and what else is read afterwards, of any
        repetition, by where it is made."""
        read = {a for e in after for a in e.inputs if isinstance(a, Var)}
        read |= {a for a in self.tape.outputs if isinstance(a, Var)}
        ends = self._carried_results(self.count - 1)
        stacked: dict[tuple[int, int], list[tuple[int, Var]]] = {}
        for j in range(self.count):
            for m, e in enumerate(self.repetition(j)):
                for o, v in enumerate(e.outputs):
                    if v in read and v not in ends:
                        stacked.setdefault((m, o), []).append((j, v))
        return ends, stacked

    def _fixed(self) -> list[Var]:
        """What all repetitions read of before the loop."""
        one = self.repetition(1)
        inner = {v for e in one for v in e.outputs} | set(self.init)
        read = [a for e in one for a in e.inputs if isinstance(a, Var) and a not in inner]
        return list(dict.fromkeys(read))

    def body(self, example: Sequence[Any], results: list[Var], places: Places) -> Body:
        """The second repetition as the body of a loop, with these results as rows."""
        row_vars = {key: self._new(r.shape[1:], r.dtype) for key, r in self.rows.items()}
        fixed = self._fixed()
        values = self._example(example, self.tape.equations[: self.start], fixed)
        slots = list(self.init)
        equations = [
            e.with_inputs(tuple([row_vars.get((m, i), a) for i, a in enumerate(e.inputs)]))
            for m, e in enumerate(self.repetition(1))
        ]
        ins = [*slots, *row_vars.values(), *fixed]
        outputs = [*self._carried_results(1), *results]
        given = [values[a] if isinstance(a, Var) else a for a in self.init.values()]
        shown = [*given, *[r[0] for r in self.rows.values()], *[values[v] for v in fixed]]
        shown = [
            np.broadcast_to(np.asarray(x).astype(v.dtype), v.shape)[()]
            for x, v in zip(shown, ins, strict=True)
        ]
        tape = tape_of(self.tape.name, ins, places.together(equations), outputs)
        return known(Body(rolled_body(tape, slots, shown), shown, len(slots), len(row_vars)))

    def _example(
        self, example: Sequence[Any], before: Sequence[Equation], fixed: Sequence[Var]
    ) -> dict[Var, Any]:
        """Values at the beginning of the loop."""
        tape = self.tape
        wanted = [a for a in (*self.init.values(), *fixed) if isinstance(a, Var)]
        values = dict(zip(tape.inputs, example, strict=True))
        for e in needed(before, wanted):
            if e.primitive is guard:
                continue
            y = e.primitive(*[values[a] if isinstance(a, Var) else a for a in e.inputs], **e.params)
            results = y if isinstance(y, tuple) else (y,)
            values.update(zip(e.outputs, results, strict=True))
        return values


def rolled_body(tape: Tape, carries: Sized, example: Sequence[Any]) -> Tape:
    """The body of a loop, its longest stretch of repetitions as a loop; itself if arrays that
    it writes here and there would have to be kept whole for a derivative."""
    with example_values():
        rolled = roll(tape, lambda: example)
    if any([reads_of(tape, k) and not reads_of(rolled, k) for k in range(len(carries))]):
        return tape
    return rolled


def _where_read(taken: dict[Var, Equation], after: Sequence[Equation]) -> list[Equation]:
    """Equations after a loop, each row of its results taken just before it is read: a loop that
    goes back through them repeats that, too."""
    left, found = dict(taken), list[Equation]()
    for e in after:
        found += [left.pop(a) for a in e.inputs if isinstance(a, Var) and a in left]
        found.append(e)
    return [*found, *left.values()]


def _row(rows: Var, j: int, result: Var, line: Any) -> Equation:
    """The equation that takes a row."""
    index = canonical((j, ...), rows.shape)[2]
    return Equation(Primitive.registry["getitem"], (rows,), {"index": index}, (result,), line)


def _sign(e: Equation) -> Any:
    """Equal for equations that may be repetitions of each other."""
    line = (e.source.filename, e.source.lineno) if e.source is not None else None
    operands = tuple(
        [(a.shape, a.dtype) if isinstance(a, Var) else (type(a), np.shape(a)) for a in e.inputs]
    )
    results = tuple([(v.shape, v.dtype) for v in e.outputs])
    try:
        key = params_key(e.params)
        hash(key)
    except TypeError:
        key = id(e)
    return e.primitive, line, operands, results, key
