"""A loop whose number of repetitions depends on values, as a primitive; with a way back.

Forward it keeps at most C rows of carries: those of every repetition, to begin with. When they are
full, one in L stays, and the distance between them, the *stride*, is L; from then on every second
one goes, and the stride doubles. So memory is fixed, and the number of repetitions is not.

Backward it pulls through the rows, if these are all the carries there were. Otherwise it takes
segment after segment, from the last one: runs it again from its row, keeping S carries at a time,
and pulls through them. A segment longer than S repetitions is run again from its row for each S of
them.

    repetitions up to C       a run forward, and one back
    up to C S                 another run of each segment
    n beyond                  n / (2 C S) times the work more: replayed, never refused

S is 512 where carries are small, so that they stay in a cache, and C where they are large.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.control.bodies import Body, run_tape
from linad.control.body_derivatives import pull_of, push_of
from linad.control.body_trace import BodyTrace
from linad.control.control_primitive import ControlPrimitive, end_at_once
from linad.control.kept_values import keeping
from linad.control.known_bodies import known
from linad.control.repeat import repeat
from linad.core.long_loops import count
from linad.core.shapes import Shape, size_of
from linad.core.tape import needed, tape_of
from linad.core.zero_seeds import linear_in_seeds, unread_results
from linad.errors import LoopLimitError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.transforms.record import node_of
from linad.transforms.spaces import Slot, seeds_of

LOOP_BYTES = 2**24
"""Memory for the carries that a derivative keeps, unless the caller says how many."""

SEGMENT, LEAP = 512, 128
"""Carries that the way back keeps at a time where these are small; and what the distance between
rows becomes when they are first full."""

SMALL = 2**18
"""Bytes of so many carries up to which they are small."""

MOST_ROWS, MOST_BYTES = 1024, 2**15
"""Rows that are kept of small carries, and their memory. A derivative of second order computes with
whole rows, so that more of them would slow down loops of a few repetitions."""

INTEGER = np.dtype(np.int64)


class While(ControlPrimitive):
    """Repetitions of a body, as long as a test says so.

    Parameters
    ----------
    test, body : Body
        Of the same carries and constants, without rows; the test gives one boolean.
    kept : int
        Rows of carries that are kept, 0 for none.
    limit : int or None
        Most repetitions.
    capacity : int
        Rows that a derivative keeps.

    Notes
    -----
    Results: the last carries and the number of repetitions; with rows kept, the stride and the
    rows. What is in those beyond the last means nothing, and nobody writes there: there may be far
    more of them than repetitions.
    """

    def __init__(self, test: Body, body: Body, kept: int, limit: int | None, capacity: int) -> None:
        count = body.carries + 1 + (1 + body.carries if kept else 0)
        name = f"while({body.tape.name})"
        super().__init__(name, body, count, (test, body), limit is not None)
        self.test, self.kept, self.limit = test, kept, limit
        self.capacity = capacity
        small = SEGMENT * carry_bytes(body) <= SMALL
        self.segment = SEGMENT if small else capacity
        self.leap = LEAP if self.segment >= LEAP else 2

    form = "while"
    endless = True

    def remade(self, bodies: Sequence[Body]) -> "While":
        return while_(bodies[0], bodies[1], self.kept, self.limit, self.capacity)

    @property
    def options(self) -> tuple[Any, ...]:
        return self.form, self.kept, self.limit, self.capacity

    def __reduce__(self) -> tuple[Any, ...]:
        return while_, (self.test, self.body, self.kept, self.limit, self.capacity)

    @property
    def shapes(self) -> list[tuple[Shape, Any]]:
        """Shape and dtype of each operand."""
        return [(v.shape, v.dtype) for v in self.body.tape.inputs]

    @property
    def results(self) -> list[tuple[Shape, Any]]:
        """Shape and dtype of each result."""
        carries = self.shapes[: self.body.carries]
        found = [*carries, ((), INTEGER)]
        if self.kept:
            found += [((), INTEGER), *[((self.kept, *s), d) for s, d in carries]]
        return found

    def lower_into(self, lowering: Any, eqn: Any) -> bool:
        """Add the loop to a program that is being compiled."""
        if lowering.target.is_grid:
            from linad.control.device_loops import lower_while

            return lower_while(lowering, eqn)
        from linad.control.lowering_whiles import lower

        return lower(lowering, eqn)

    def by_numpy(
        self, values: Sequence[Any], runs: Callable[..., Any] | None = None
    ) -> tuple[Any, ...]:
        """Run test and body by NumPy, or by ``runs(body, values)``."""
        runs = runs or run_tape
        nc, rows, stride, following = self.body.carries, 0, 1, 0
        given = [
            np.array(v, dtype=var.dtype)
            for v, var in zip(values, self.body.tape.inputs, strict=True)
        ]
        carry, constants = [v[()] for v in given[:nc]], [v[()] for v in given[nc:]]
        kept = [np.zeros((self.kept, *c.shape), c.dtype) for c in given[:nc]]
        k = 0
        while not end_at_once() and np.asarray(runs(self.test, [*carry, *constants])[0]).item():
            if k == self.limit:
                raise too_many(self.body.tape.name, k)
            count(k)
            if self.kept and k == following:
                if rows == self.kept:
                    fewer = self.leap if stride == 1 else 2
                    rows, stride = -(-rows // fewer), stride * fewer
                    for c in kept:
                        c[:rows] = c[::fewer].copy()
                    following = rows * stride
                if k == following:
                    for c, v in zip(kept, carry, strict=True):
                        c[rows] = v
                    rows += 1
                    following = rows * stride
            found = runs(self.body, [*carry, *constants])
            carry = [
                np.array(v, dtype=c.dtype).reshape(c.shape)[()]
                for v, c in zip(found, given[:nc], strict=True)
            ]
            k += 1
        made = (*carry, np.int64(k))
        return (*made, np.int64(stride), *kept) if self.kept else made

    def _linearized(self, values: Sequence[Any], active: Sequence[int]) -> tuple[Any, Any]:
        J = WhileJacobian(self, list(values), tuple(active))
        return J.results, J


def too_many(name: str, k: int) -> LoopLimitError:
    return LoopLimitError(
        f"while_loop: {name} has run {k} times, and the test still says to go on; give a larger "
        f"limit, or limit=None for no limit"
    )


def while_(test: Body, body: Body, kept: int, limit: int | None, capacity: int) -> While:
    """The primitive of these bodies; one for all who ask."""
    key = "while", id(test), kept, limit, capacity, SEGMENT, LEAP
    made = body.once(key, lambda: While(test, body, kept, limit, capacity))
    assert made.test is test
    return made  # type: ignore[no-any-return]


def affordable(body: Body) -> int:
    """How many rows of carries a derivative keeps by default."""
    size = max(1, carry_bytes(body))
    few = int(np.clip(LOOP_BYTES // size, 64, 256))
    return max(few, min(MOST_ROWS, MOST_BYTES // size))


def carry_bytes(body: Body) -> int:
    """Memory for one repetition's carries."""
    return sum([size_of(v.shape) * v.dtype.itemsize for v in body.tape.inputs[: body.carries]])


class WhileJacobian(JacobianOperator):
    """The derivative of a while loop: a map between tuples of arrays.

    The number of repetitions is that of the run forward; a test has no derivative.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, owner: While, values: list[Any], active: tuple[int, ...]) -> None:
        self.owner, self.values, self.active = owner, values, active
        self.moving = owner.body.activity(active)[1]
        nc = owner.body.carries
        self.rows = owner.kept or owner.capacity
        found = while_(owner.test, owner.body, self.rows, owner.limit, owner.capacity)(*values)
        self.count, self.stride, self.kept = found[nc], found[nc + 1], found[nc + 2 :]
        self.results = tuple(found) if owner.kept else tuple(found[: nc + 1])
        self.in_slots = [Slot(values[i]) for i in active]
        self.out_slots = [Slot(v) for v in self.results]
        dtypes = [s.dtype for s in (*self.in_slots, *self.out_slots)]
        super().__init__((), (), np.result_type(*dtypes))

    def pushforward(self, tangent: Any) -> Any:
        if not self.moving:
            return (None,) * len(self.out_slots)
        owner = self.owner
        body, nc = owner.body, owner.body.carries
        seeds = seeds_of(tangent, self.in_slots)
        push = push_of(body, self.active, seeds)
        given = dict(zip(self.active, tangent, strict=True))
        operands: list[Any] = []
        for low, high in ((0, nc), (nc, len(self.values))):
            operands += self.values[low:high]
            for i in push.inputs:
                if low <= i < high:
                    t = given.get(i)
                    operands.append(Slot(self.values[i]).zeros(seeds) if t is None else t)
        n = len(push.carried)
        test, counting = push.body.once("counting", lambda: _counting(push.body))
        rows = owner.kept
        operands.insert(nc + n, np.int64(0))
        with linear_in_seeds(tangent):
            run = while_(test, counting, rows, None, owner.capacity)
            found = run(*operands, self.count)
        pushed: list[Any] = [None] * len(self.results)
        for j, t in zip(push.carried, found[nc : nc + n], strict=True):
            pushed[j] = t
        if rows:
            made = found[nc + n + 3 :]
            for j, t in zip(push.carried, made[nc : nc + n], strict=True):
                pushed[nc + 2 + j] = np.moveaxis(t, 0, len(seeds)) if seeds else t
        return tuple(pushed)

    def pullback(self, cotangent: Any) -> Any:
        body, nc = self.owner.body.unguarded, self.owner.body.carries
        rows = cotangent[nc + 2 :] if self.owner.kept else [None] * nc
        given = [i for i in self.moving if cotangent[i] is not None or rows[i] is not None]
        if not given:
            return (None,) * len(self.in_slots)
        seeds = seeds_of(cotangent, self.out_slots)
        pull = pull_of(body, self.active, tuple(given), seeds, keeping.get())
        weights = [
            self.out_slots[i].zeros(seeds) if cotangent[i] is None else cotangent[i]
            for i in pull.carried
        ]
        weights += [Slot(self.values[i]).zeros(seeds) for i in pull.held]
        of_rows = []
        if self.owner.kept:
            for i in pull.carried:
                w = cotangent[nc + 2 + i]
                w = self.out_slots[nc + 2 + i].zeros(seeds) if w is None else w
                of_rows.append(np.moveaxis(w, len(seeds), 0) if seeds else w)
        rows = [*self.kept, *of_rows]
        key = self.active, tuple(pull.carried), seeds, bool(of_rows)
        through = body.once(("rows", *key), lambda: _through_rows(body, pull, bool(of_rows)))
        length = self.owner.segment
        segments = body.once(
            ("segments", *key, length), lambda: _segments(body, pull, length, bool(of_rows))
        )
        # One of the two loops does nothing.
        every = self.stride == 1
        number = np.where(every, 0, (self.count + (self.stride - 1)) // self.stride)
        with linear_in_seeds(cotangent):
            run = repeat(through, self.rows, True, True)
            found = run(np.where(every, self.count, 0), *weights, *rows, *self.values[nc:])
            run = repeat(segments, self.rows, True, True)
            constants = [*self.values[nc:], self.count, self.stride]
            found = run(number, number - 1, *found[: len(weights)], *rows, *constants)[1:]
        pulled = dict(zip([*pull.carried, *pull.held], found, strict=False))
        return tuple([pulled.get(i) for i in self.active])


def _counting(body: Body) -> tuple[Body, Body]:
    """A test and a body that count, after the carries, up to the last constant.

    That is how often the run forward went on; its own test may be answered otherwise, of numbers
    that are rounded otherwise.
    """
    example = list(body.example)
    example.insert(body.carries, np.int64(0))
    example.append(np.int64(1))
    found = []
    for test in (True, False):
        recorder = BodyTrace()
        ins = [recorder.input(v) for v in example]
        nodes = [t._node for t in ins]
        with recorder:
            k = ins[body.carries]
            if test:
                made = [k < ins[-1]]
            else:
                made = [*body.tape.run([*ins[: body.carries], *ins[body.carries + 1 : -1]]), k + 1]
            outputs = [node_of(recorder, v) for v in made]
        tape = tape_of(
            "test" if test else body.tape.name,
            nodes,
            needed(recorder.equations, outputs),
            outputs,
        )
        found.append(known(Body(tape, example, body.carries + 1, 0)))
    return found[0], found[1]


def _through_rows(body: Body, pull: Any, weighted: bool) -> Body:
    """The body of the way back through rows of the carries of every repetition.

    Carries are the cotangents; rows the carries before each repetition and cotangents of these;
    constants those of the loop.
    """
    nc, tape = body.carries, body.tape
    weights = list(pull.body.example[: pull.body.carries])
    n = len(weights)
    more = weights[: len(pull.carried)] if weighted else []
    example = [*weights, *body.example[:nc], *more, *body.example[nc:]]
    recorder = BodyTrace()
    ins = [recorder.input(v) for v in example]
    nodes = [t._node for t in ins]
    with recorder:
        w, start, held = ins[:n], ins[n : n + nc], ins[n + nc + len(more) :]
        reads = tape_of(tape.name, tape.inputs, needed(tape.equations, pull.kept), pull.kept)
        kept = reads.run([*start, *held])
        found = pull.body.tape.run([*w, *kept, *[held[i - nc] for i in pull.constants]])
        for i, v in enumerate(ins[n + nc : n + nc + len(more)]):
            found[i] = found[i] + v
        outputs = [node_of(recorder, v) for v in found]
    name = f"pull {tape.name}"
    tape = tape_of(name, nodes, needed(recorder.equations, outputs), outputs)
    return known(Body(tape, example, n, nc + len(more)))


def _segments(body: Body, pull: Any, capacity: int, weighted: bool) -> Body:
    """The body of the way back by segments: one of them, from its row.

    Carries are the number of the segment and the cotangents; rows the carries at its beginning and
    cotangents of these; constants those of the loop, the number of repetitions and the stride.
    """
    nc = body.carries
    constants = list(body.example[nc:])
    weights = list(pull.body.example[: pull.body.carries])
    n = len(weights)
    more = weights[: len(pull.carried)] if weighted else []
    example = [np.int64(0), *weights, *body.example[:nc], *more, *constants]
    example += [np.int64(1), np.int64(1)]
    piece = _piece(body, pull, capacity)
    recorder = BodyTrace()
    ins = [recorder.input(v) for v in example]
    nodes = [t._node for t in ins]
    with recorder, unread_results():
        j, w, start = ins[0], ins[1 : n + 1], ins[n + 1 : n + 1 + nc]
        held = ins[n + 1 + nc + len(more) : -2]
        total, stride = ins[-2:]
        length = np.minimum(stride, total - j * stride)
        pieces = (length + (capacity - 1)) // capacity
        run = repeat(piece, capacity, False, True)
        found = list(run(pieces, pieces - 1, *w, *start, *held, length)[1:])
        for i, v in enumerate(ins[n + 1 + nc : n + 1 + nc + len(more)]):
            found[i] = found[i] + v
        outputs = [node_of(recorder, v) for v in (j - 1, *found)]
    tape = tape_of(f"segment {body.tape.name}", nodes, needed(recorder.equations, outputs), outputs)
    return known(Body(tape, example, 1 + n, nc + len(more)))


def _piece(body: Body, pull: Any, capacity: int) -> Body:
    """The last ``capacity`` repetitions of a segment that are not yet pulled through.

    Carries are the number of the piece and the cotangents; constants the carries at the beginning
    of the segment, the constants of the loop and the length of the segment.
    """
    nc = body.carries
    weights = list(pull.body.example[: pull.body.carries])
    n = len(weights)
    example = [np.int64(0), *weights, *body.example, np.int64(1)]
    recorder = BodyTrace()
    ins = [recorder.input(v) for v in example]
    nodes = [t._node for t in ins]
    with recorder, unread_results():
        p, w, start = ins[0], ins[1 : 1 + n], ins[1 + n : 1 + n + nc]
        held, length = ins[1 + n + nc : -1], ins[-1]
        skipped = p * capacity
        first = repeat(body, capacity, False, True)(skipped, *start, *held)[:nc]
        count = np.minimum(capacity, length - skipped)
        kept = repeat(body.keeping(pull.kept), capacity, False, True)(count, *first, *held)
        read = [held[i - nc] for i in pull.constants]
        operands = [*w, *kept[len(body.outputs) :], *read]
        found = repeat(pull.body, capacity, True, True)(count, *operands)
        outputs = [node_of(recorder, v) for v in (p - 1, *found)]
    tape = tape_of(f"piece {body.tape.name}", nodes, needed(recorder.equations, outputs), outputs)
    return known(Body(tape, example, 1 + n, 0))
