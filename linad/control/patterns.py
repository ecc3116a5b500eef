"""Which entries of a loop's results may depend on which of its operands, for any values.

The pattern R of a body is found equation by equation; sets of columns then go through it once for
each repetition, as tangents do, or back through its transpose, as cotangents do:

    c_{k+1}, y_k = R (c_k, x_k, constants)

A place that is computed from rows and constants alone is known for each repetition, so reads and
writes there are exact. One that depends on a carry may be anywhere. How often a `while_loop` runs
is left open: its sets grow until they do so no more.

What an equation reads is taken from its operands' shapes or from an operator that depends on
nothing else; of all other operations every result depends on every operand.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.control.bodies import Body
from linad.control.control_primitive import uncompiled
from linad.control.repeat import RepeatJacobian
from linad.control.whiles import WhileJacobian
from linad.core.primitive import Traced
from linad.core.shapes import is_inexact, size_of
from linad.core.tape import Equation, Var, needed
from linad.linalg.sparsity.reach import PARTED, Parted, Parts, reach, united
from linad.operators.dependency_sets import DependencySets
from linad.operators.relations import Gather, Relation

ENTRY_BY_ENTRY = """
add subtract multiply divide power maximum minimum fmax fmin hypot arctan2 logaddexp
where clip copy astype absolute copysign expit conjugate real imag remainder fmod
"""
"""Primitives an entry of whose result depends on the entries in its place, beside the elementwise
ones."""

BY_SHAPE = """
reshape transpose getitem view_region read_region write_region broadcast_to concatenate
roll pad spread main_diagonal diagonal windows sum mean diff cumsum matmul matvec dot
"""
"""Primitives whose operators say what they read by shapes and parameters alone."""

MOVING = frozenset({"read_moving", "write_moving", "add_moving", "insert_moving"})

LARGEST = 2**23
"""Entries of the sets of one repetition, and of all together, from which on they are not told
apart."""

LONGEST = 10_000
"""Repetitions to be followed one by one, and attempts to find where sets stop growing."""


class TooLargeError(Exception):
    """The sets of a loop are better not told apart."""


class BodyPattern:
    """What the results of a body read of those operands that have derivatives.

    Parameters
    ----------
    body : Body
    active : sequence of int
        Operands that have derivatives, by their positions among those of the body.

    Attributes
    ----------
    inputs : list of int
        Operands that have them in some repetition.
    index_rows, index_constants : list of int
        Operands that places of reads and writes are computed from.
    """

    def __init__(self, body: Body, active: Sequence[int]) -> None:
        self.body = body
        self.inputs, self.moving = body.activity(active)
        tape = body.tape
        self.values: dict[Var, Any] = dict(zip(tape.inputs, body.example, strict=True))
        with np.errstate(all="ignore"), uncompiled():
            for eqn in tape.equations:
                made = eqn.primitive(*map(self._value, eqn.inputs), **eqn.params)
                made = made if isinstance(made, tuple) else (made,)
                self.values.update(zip(eqn.outputs, made, strict=True))
        wanted = [e.inputs[-1] for e in tape.equations if e.primitive.name in MOVING]
        self._find_places([a for a in wanted if isinstance(a, Var)])
        self._known: dict[Any, Relation] = {}

    def _find_places(self, wanted: list[Var]) -> None:
        """The places that are known in each repetition, and the equations that compute them."""
        body, tape = self.body, self.body.tape
        first = body.carries
        free = {
            v
            for i, v in enumerate(tape.inputs)
            if i >= first and i not in self.inputs and v.dtype.kind in "iub"
        }
        self._given = [i for i, v in enumerate(tape.inputs) if v in free]
        for eqn in tape.equations:
            if all([a in free for a in eqn.inputs if isinstance(a, Var)]):
                free.update(eqn.outputs)
        self.places = {v for v in wanted if v in free}
        self._computing = needed(tape.equations, list(self.places))
        self._computing = [e for e in self._computing if e.outputs]
        read = {a for e in self._computing for a in e.inputs} | self.places
        self._given = [i for i in self._given if tape.inputs[i] in read]
        last = first + body.rows
        self.index_rows = [i for i in self._given if i < last]
        self.index_constants = [i for i in self._given if i >= last]

    def _value(self, a: Any) -> Any:
        return self.values[a] if isinstance(a, Var) else a

    def relation(self, given: Sequence[Any]) -> Relation:
        """From all entries of `inputs` to those of all results, where the operands that places
        are computed from have these values."""
        key = tuple([np.asarray(v).tobytes() for v in given])
        found = self._known.get(key)
        if found is None:
            found = self._relation(given)
            if len(self._known) < LONGEST:
                self._known[key] = found
        return found

    def _relation(self, given: Sequence[Any]) -> Relation:
        tape = self.body.tape
        now = dict(zip([tape.inputs[i] for i in self._given], given, strict=True))
        for eqn in self._computing:
            operands = [now[a] if isinstance(a, Var) else a for a in eqn.inputs]
            made = eqn.primitive(*operands, **eqn.params)
            now.update(zip(eqn.outputs, made if isinstance(made, tuple) else (made,), strict=True))
        sizes = [size_of(tape.inputs[i].shape) for i in self.inputs]
        ends = np.cumsum([0, *sizes])
        everything = DependencySets.identity(int(ends[-1]))
        sets = {
            tape.inputs[i]: everything.part(slice(a, b))
            for i, a, b in zip(self.inputs, ends[:-1], ends[1:], strict=True)
        }
        n = int(ends[-1])
        for eqn in tape.equations:
            reads = [
                (k, sets[a])
                for k, a in enumerate(eqn.inputs)
                if isinstance(a, Var) and a in sets and k not in eqn.primitive.zero_slope_args
            ]
            if not reads or eqn.primitive.constant:
                continue
            for out in eqn.outputs:
                if is_inexact(out.dtype):
                    found = united([self._through(eqn, k, s, out, now, n) for k, s in reads])
                    sets[out] = _limited(found)
        results = [
            sets[a]
            if isinstance(a, Var) and a in sets
            else DependencySets.empty(size_of(described.shape), n)
            for a, described in zip(tape.outputs, self.body.outputs, strict=True)
        ]
        return _limited(DependencySets.stacked(results)).relation

    def _through(
        self, eqn: Equation, k: int, sets: DependencySets, out: Var, now: dict[Var, Any], n: int
    ) -> DependencySets:
        """What a result reads by one of the operands."""
        primitive, size = eqn.primitive, size_of(out.shape)
        name, operand = primitive.name, eqn.inputs[k]
        if primitive.slopes or name in ENTRY_BY_ENTRY.split():
            numbers = np.arange(sets.m, dtype=np.int32).reshape(operand.shape)
            return Gather(np.broadcast_to(numbers, out.shape).ravel(), sets.m).after(sets)
        known = name in BY_SHAPE.split()
        values = [self._value(a) for a in eqn.inputs]
        if primitive.outputs is not None:
            return DependencySets.alike(size, [sets], n)
        if name in MOVING:
            at = eqn.inputs[-1]
            known = not isinstance(at, Var) or at in now
            values[-1] = now.get(at, values[-1]) if isinstance(at, Var) else at
            if not known and k == 0 and name in ("write_moving", "add_moving"):
                return sets
        if known:
            J = primitive.rule_of(k)(self.values[out], *values, **eqn.params)
            return reach(J, sets, False)
        return DependencySets.alike(size, [sets], n)


def _limited(sets: DependencySets) -> DependencySets:
    if sets.nnz > LARGEST:
        raise TooLargeError
    return sets


class LoopPattern:
    """How sets go through a loop.

    Parameters
    ----------
    body : Body
    active : tuple of int
        Operands that have derivatives.
    """

    def __init__(self, body: Body, active: Sequence[int]) -> None:
        self.pattern = body.once(("pattern", tuple(active)), lambda: BodyPattern(body, active))
        self.body = body
        tape = body.tape
        self.in_sizes = [size_of(tape.inputs[i].shape) for i in self.pattern.inputs]
        self.out_sizes = [size_of(v.shape) for v in body.outputs]

    def _split(self, sets: DependencySets, sizes: list[int]) -> list[DependencySets]:
        ends = np.cumsum([0, *sizes])
        return [sets.part(slice(a, b)) for a, b in itertools.pairwise(ends)]

    def step(self, given: Sequence[Any], found: Parts, n: int) -> list[DependencySets]:
        """The sets of the results of a repetition."""
        parts = [
            found.get(i) or DependencySets.empty(size, n)
            for i, size in zip(self.pattern.inputs, self.in_sizes, strict=True)
        ]
        sets = self.pattern.relation(given).after(DependencySets.stacked(parts))
        return self._split(_limited(sets), self.out_sizes)

    def step_back(self, given: Sequence[Any], found: Parts, n: int) -> Parts:
        """The sets of the operands of a repetition."""
        parts = [
            found.get(j) or DependencySets.empty(size, n) for j, size in enumerate(self.out_sizes)
        ]
        sets = self.pattern.relation(given).T.after(DependencySets.stacked(parts))
        split = self._split(_limited(sets), self.in_sizes)
        return dict(zip(self.pattern.inputs, split, strict=True))


def repeat_reach(J: Any, parts: Parts, adjoint: bool, n: int) -> Parts:
    """Take sets of the operands of a `linad.control.repeat.RepeatJacobian`, by their positions
    among `active`, to those of its results; or back."""
    owner, body = J.owner, J.owner.body
    if owner.counted or owner.n > LONGEST or not body.tape.equations:
        raise TooLargeError
    loop = LoopPattern(body, J.active)
    pattern, nc, last = loop.pattern, body.carries, body.carries + body.rows
    order = range(owner.n - 1, -1, -1) if owner.reverse else range(owner.n)
    total = 0

    def given(k: int) -> list[Any]:
        rows = [np.asarray(J.values[i])[k] for i in pattern.index_rows]
        return rows + [np.asarray(J.values[i]) for i in pattern.index_constants]

    if not adjoint:
        now = {i: parts[p] for p, i in enumerate(J.active) if p in parts}
        rows = {i: now.pop(i) for i in list(now) if nc <= i < last}
        made: list[list[Any]] = [[None] * owner.n for _ in body.outputs[nc:]]
        for k in order:
            sliced = {i: _row(s, k, owner.n) for i, s in rows.items()}
            found = loop.step(given(k), now | sliced, n)
            now |= {i: found[i] for i in pattern.inputs if i < nc}
            for j, sets in enumerate(found[nc:]):
                made[j][k] = sets
                total += sets.nnz
            if total > LARGEST:
                raise TooLargeError
        results = {i: now[i] for i in pattern.inputs if i < nc and i in now}
        return results | {nc + j: DependencySets.stacked(ys) for j, ys in enumerate(made)}
    weights = {j: parts[j] for j in parts if j < nc}
    rows_out = {j: parts[j] for j in parts if j >= nc}
    held: Parts = {}
    read: dict[int, list[Any]] = {i: [None] * owner.n for i in pattern.inputs if nc <= i < last}
    for k in reversed(order):
        sliced = {j: _row(s, k, owner.n) for j, s in rows_out.items()}
        back = loop.step_back(given(k), weights | sliced, n)
        # A carry without derivative at first may have one later.
        weights = {i: s for i, s in back.items() if i < nc}
        for i, sets in back.items():
            if i >= last:
                held[i] = held[i] | sets if i in held else sets
            elif i >= nc:
                read[i][k] = sets
                total += sets.nnz
        if total > LARGEST:
            raise TooLargeError
    found_in = weights | held | {i: DependencySets.stacked(s) for i, s in read.items()}
    return {p: found_in[i] for p, i in enumerate(J.active) if i in found_in}


def _row(sets: DependencySets, k: int, n: int) -> DependencySets:
    size = sets.m // n
    return sets.part(slice(k * size, (k + 1) * size))


def while_reach(J: Any, parts: Parts, adjoint: bool, n: int) -> Parts:
    """The same for a `linad.control.whiles.WhileJacobian`."""
    owner, body = J.owner, J.owner.body
    if owner.kept or not body.tape.equations:
        raise TooLargeError
    loop = LoopPattern(body, J.active)
    pattern, nc = loop.pattern, body.carries
    given = [np.asarray(J.values[i]) for i in pattern.index_constants]
    if adjoint:
        now = {j: parts[j] for j in parts if j < nc}
    else:
        now = {i: parts[p] for p, i in enumerate(J.active) if p in parts}
    for _ in range(LONGEST):
        if adjoint:
            back = loop.step_back(given, now, n)
            found = {i: s for i, s in back.items() if i < nc}
        else:
            found = dict(enumerate(loop.step(given, now, n)[:nc]))
        grown = {j: now[j] | s if j in now else s for j, s in found.items()}
        steady = all([j in now and grown[j].nnz == now[j].nnz for j in grown])
        now |= grown
        if steady:
            break
    else:
        raise TooLargeError
    if not adjoint:
        return {j: now[j] for j in range(nc) if j in now}
    found_in = now | {i: s for i, s in loop.step_back(given, now, n).items() if i >= nc}
    return {p: found_in[i] for p, i in enumerate(J.active) if i in found_in}


def _telling(way: Callable[..., Any]) -> Any:
    """None where sets are better not told apart."""

    def told(J: Any, parts: Parts, adjoint: bool, n: int) -> Parts | None:
        if any([isinstance(v, Traced) for v in _places(J)]):
            return None
        try:
            return way(J, parts, adjoint, n)  # type: ignore[no-any-return]
        except TooLargeError:
            return None

    return told


def _places(J: Any) -> list[Any]:
    """The operands that places in a loop are computed from."""
    pattern = LoopPattern(J.owner.body, J.active).pattern
    return [J.values[i] for i in (*pattern.index_rows, *pattern.index_constants)]


def _key(J: Any) -> tuple[Any, list[Any]]:
    places = _places(J)
    if any([isinstance(v, Traced) for v in places]):
        return object(), []
    return (J.owner, J.active), [np.asarray(v) for v in places]


PARTED[RepeatJacobian] = Parted(_telling(repeat_reach), _key)
PARTED[WhileJacobian] = Parted(_telling(while_reach), _key)
