"""Repetitions before a loop that are the same as the loop's become part of it.

    c1 = body(c0); c2 = body(c1); repeat(body, n)(c2)     becomes     repeat(body, n + 2)(c0)

A template (`linad.control.templates`) needs some repetitions before it is there. They are compared
with the body equation by equation, from the last one back.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.control.bodies import Body
from linad.control.equal_operations import exact_key, may_begin, same_params
from linad.control.known_bodies import known
from linad.control.moving_places import REGIONS, Places
from linad.control.repeat import Repeat, repeat
from linad.core.tape import Equation, Tape, Var, needed, tape_of
from linad.transforms.demands import missed


def absorbed(tape: Tape) -> Tape:
    """The same program; loops have taken up equal repetitions that came before them."""
    if not any([_may_absorb(e) for e in tape.equations]):
        return tape
    read = Counter([a for e in tape.equations for a in e.inputs if isinstance(a, Var)])
    read.update([a for a in tape.outputs if isinstance(a, Var)])
    found: list[Equation] = []
    for e in tape.equations:
        if _may_absorb(e):
            loop = _Loop(_without_rows(e, read), read)
            while loop.absorbs(found):
                del found[len(found) - loop.size :]
            e = loop.whole()
        found.append(e)
    return Tape(tape.name, tape.inputs, found, tape.outputs, tape.in_tree, tape.out_tree)


def _may_absorb(e: Equation) -> bool:
    loop = e.primitive
    return isinstance(loop, Repeat) and not loop.reverse and not loop.counted


def _without_rows(e: Equation, read: Counter[Var]) -> Equation:
    """The loop without rows of results that nobody reads; with all, where what makes them may
    raise."""
    loop: Any = e.primitive
    body = loop.body
    kept = [j for j in range(len(e.outputs)) if j < body.carries or read[e.outputs[j]]]
    if len(kept) == len(e.outputs):
        return e
    t = body.tape
    results = [t.outputs[j] for j in kept]
    if missed(t.equations, needed(t.equations, results)):
        return e
    shorter = tape_of(t.name, t.inputs, t.equations, results)
    made = known(Body(shorter, body.example, body.carries, body.rows))
    outputs = tuple([e.outputs[j] for j in kept])
    return Equation(repeat(made, loop.n), e.inputs, e.params, outputs, e.source)


def all_taken_up(tape: Tape, body: Body) -> Tape:
    """The same program; all repetitions of a body are loops, those one after the other one loop."""
    read = Counter([a for e in tape.equations for a in e.inputs if isinstance(a, Var)])
    read.update([a for a in tape.outputs if isinstance(a, Var)])
    left, found = list(tape.equations), list[Equation]()
    last = body.tape.equations[-1].primitive
    while left:
        e = left.pop()
        once = None
        if is_one_of(e, body):
            once = e
        elif e.primitive is last or e.primitive.name in REGIONS:
            once = _once(body, [*left[len(left) - len(body.tape.equations) + 1 :], e], read)
            if once is not None:
                del left[len(left) - len(body.tape.equations) + 1 :]
        if once is not None:
            loop = _Loop(once, read)
            while loop.absorbs(left):
                del left[len(left) - loop.size :]
            e = loop.whole()
        found.append(e)
    found.reverse()
    return Tape(tape.name, tape.inputs, found, tape.outputs, tape.in_tree, tape.out_tree)


def is_one_of(e: Equation, body: Body) -> bool:
    """Whether an equation is a loop of that body, which it may take up repetitions of."""
    return _may_absorb(e) and e.primitive.body is body  # type: ignore[attr-defined]


def _once(body: Body, stretch: Sequence[Equation], read: Counter[Var]) -> Equation | None:
    """Equations as a loop of one repetition, if they are one of the body and all that is read of
    them elsewhere are new carries."""
    tape, nc, nx = body.tape, body.carries, body.rows
    given = _matched(stretch, body, {}, Places())
    if given is None or any([not isinstance(y, Var) or y not in given for y in tape.outputs]):
        return None
    ends = [given[y] for y in tape.outputs]
    made = {v for e in stretch for v in e.outputs}
    if not made.issuperset(ends) or len(set(ends)) < len(ends):
        return None
    inside = Counter([a for e in stretch for a in e.inputs if isinstance(a, Var)])
    if any([read[v] != inside[v] for v in made.difference(ends)]):
        return None
    operands = []
    for k, v in enumerate(tape.inputs):
        a = given.get(v, np.zeros(v.shape, v.dtype))
        if not isinstance(a, Var):
            a = np.broadcast_to(np.asarray(a, v.dtype), v.shape)
            a = a[None] if nc <= k < nc + nx else a
        operands.append(a)
    if any([isinstance(a, Var) and a in made for a in operands]):
        return None
    read.subtract(inside)
    read.update([a for a in operands if isinstance(a, Var)])
    return Equation(repeat(body, 1), tuple(operands), {}, tuple(ends), stretch[0].source)


class _Loop:
    """A loop, and what came before it.

    Attributes
    ----------
    operands : list
        Of the loop with the repetitions that it has taken up, but for their rows.
    earlier : list of lists
        The rows of these repetitions, the last one first.
    size : int
        Equations of a repetition.
    """

    def __init__(self, e: Equation, read: Counter[Var]) -> None:
        self.equation, self.read = e, read
        self.operands = list(e.inputs)
        self.places = Places()
        loop: Any = e.primitive
        body = self.body = loop.body
        self.size = len(body.tape.equations)
        nc, nx = body.carries, body.rows
        ins = body.tape.inputs
        self.carries, self.rows, self.fixed = ins[:nc], ins[nc : nc + nx], ins[nc + nx :]
        self.earlier: list[list[np.ndarray]] = [[] for _ in self.rows]
        inside = [a for b in body.tape.equations for a in b.inputs]
        self.count = 0  # of repetitions that it has taken up
        self.used = {a for a in (*inside, *body.tape.outputs) if isinstance(a, Var)}

    def absorbs(self, before: Sequence[Equation]) -> bool:
        """Take up the last equations, if they are a repetition."""
        nc = self.body.carries
        if not self.size or self.size > len(before) or len(self.equation.outputs) > nc:
            return False
        stretch = before[len(before) - self.size :]
        given = self._matched(stretch)
        if given is None or not self._is_alone(stretch):
            return False
        if any([v in self.used and v not in given for v in (*self.carries, *self.rows)]):
            return False
        for gone in (self.operands, *[e.inputs for e in stretch]):
            self.read.subtract([a for a in gone if isinstance(a, Var)])
        for j, v in enumerate(self.carries):
            a = given.get(v, self.operands[j])
            self.operands[j] = (
                a if isinstance(a, Var) else np.broadcast_to(np.asarray(a, v.dtype), v.shape)
            )
        for rows, v in zip(self.earlier, self.rows, strict=True):
            rows.append(np.asarray(given.get(v, np.zeros(v.shape)), v.dtype))
        self.count += 1
        self.read.update([a for a in self.operands if isinstance(a, Var)])
        return True

    def whole(self) -> Equation:
        """The loop with all repetitions that it has taken up."""
        e, nc = self.equation, self.body.carries
        if not self.count:
            return e
        for j, rows in enumerate(self.earlier, nc):
            self.operands[j] = np.concatenate([np.stack(rows[::-1]), self.operands[j]])
        loop: Any = e.primitive
        longer = repeat(self.body, loop.n + self.count)
        return Equation(longer, tuple(self.operands), e.params, e.outputs, e.source)

    def _is_alone(self, stretch: Sequence[Equation]) -> bool:
        """Whether nothing else reads what a repetition has made."""
        made = {v for e in stretch for v in e.outputs}
        operands = [*self.operands, *[a for e in stretch for a in e.inputs]]
        here = Counter([a for a in operands if isinstance(a, Var) and a in made])
        return all([self.read[v] == count for v, count in here.items()])

    def _matched(self, stretch: Sequence[Equation]) -> dict[Var, Any] | None:
        """What the equations take for what comes into the body, if they are the body's."""
        body, operands = self.body, self.operands
        nc, nx = body.carries, body.rows
        if any([isinstance(a, Var) for a in operands[nc : nc + nx]]):
            return None
        fixed = dict(zip(self.fixed, operands[nc + nx :], strict=True))
        given = _matched(stretch, body, fixed, self.places)
        if given is None:
            return None
        made = {v for e in stretch for v in e.outputs}
        # Before a repetition nothing is there that it makes.
        from_before = [*[given.get(v) for v in self.carries], *operands[nc + nx :]]
        if any([isinstance(a, Var) and a in made for a in from_before]):
            return None
        for v, y, a in zip(self.carries, body.tape.outputs, operands, strict=False):
            if v in self.used and not _same(given.get(y) if isinstance(y, Var) else y, a):
                return None
        return given


def _matched(
    stretch: Sequence[Equation], body: Body, given: dict[Var, Any], places: Places
) -> dict[Var, Any] | None:
    """What equations take for what is ``given`` and for what else comes into the body, if they
    are the body's; with what they make."""
    rows = set(body.tape.inputs[body.carries : body.carries + body.rows])
    for e, b in zip(stretch, body.tape.equations, strict=False):
        if e.primitive is not b.primitive:
            e = places.one_apart(e)
        if not _same_operation(e, b) or not _takes(e, b, given, rows):
            return None
        given.update(zip(b.outputs, e.outputs, strict=True))
    return given if len(stretch) == len(body.tape.equations) else None


def _same_operation(e: Equation, b: Equation) -> bool:
    """Whether two equations differ in their operands only."""
    return (
        e.primitive is b.primitive
        and same_params(e.params, b.params)
        and [(v.shape, v.dtype) for v in e.outputs] == [(v.shape, v.dtype) for v in b.outputs]
        and len(e.inputs) == len(b.inputs)
    )


def _takes(e: Equation, b: Equation, given: dict[Var, Any], rows: set[Var]) -> bool:
    """Whether an equation takes what the body's takes; enters what it meets first in ``given``."""
    for a, x in zip(e.inputs, b.inputs, strict=True):
        if not isinstance(x, Var):
            if not _same(a, x):
                return False
        elif x not in given:
            if not (may_begin(a, x) and (x not in rows or not isinstance(a, Var))):
                return False
            given[x] = a
        elif not _same(a, given[x]):
            return False
    return True


def _same(a: Any, b: Any) -> bool:
    """Whether two operands are one variable, or equal constants."""
    if isinstance(a, Var) or isinstance(b, Var):
        return a is b
    return exact_key(a) == exact_key(b)  # type: ignore[no-any-return]
