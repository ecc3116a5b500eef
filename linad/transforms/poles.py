"""Infinite values of data, which stay where they are, are told from those at poles, which do not.

exp(-k t)       at t = inf:  0 whatever k is
1 / (1 / x)     at x = 0:    0 there, and x beside it

What levels off at infinity does not move with an argument that is infinite
(`linad.operators.slopes`): that is right of data. An operation that made its infinity of finite
numbers, whose slope is infinite, is at a pole: the way through it is as 0 times infinity, and says
nothing. So where an infinite argument is read from a pole that moves, it is left to the product,
which is NaN.

A pole moves where its own argument depends on what is differentiated in. In ``x / k`` at x = 0 it
does not: zeros of data stay zero, and an infinity made of them is one of data.

Nothing is asked before an infinity meets what levels off; then each step of the tape is looked at
once, and where there are poles, the tape is walked back, by the masks of entries that are read
(`linad.transforms.unread_entries`). A program that is recorded asks whether there is a pole at each
of its calls, as of the decisions of Python.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.reasons import because
from linad.core.shapes import is_inexact
from linad.operators.composites import Chain
from linad.operators.reduction import ScaledSum
from linad.operators.reordering import Broadcast
from linad.operators.slopes import (
    FACTOR,
    MANY,
    POLE,
    POWER,
    QUOTIENT,
    SlopeRule,
    reaches_infinity,
)
from linad.operators.structured import Diagonal, Identity, Masked
from linad.transforms.entries_read import factors_of
from linad.transforms.tuple_entries import Entry
from linad.transforms.unread_entries import guarded

REASON = (
    "what is finite at infinity does not move there where data are infinite, and has no known "
    "derivative where a pole is: linad asks which it is"
)

MOST_WALKS = 64
"""Walks back for the entries of one array; what is not told apart by then counts as a pole's."""


class _Pole(NamedTuple):
    """An operation that may be at a pole: its node, that of the argument, the operators from that
    to the slope, and where the slope is that of a pole."""

    out: Any
    source: int
    behind: Sequence[Any]
    mask: Any


class _Shaped(NamedTuple):
    shape: tuple[int, ...]


class _Walk(NamedTuple):
    """What `linad.transforms.unread_entries.guarded` reads of a tape."""

    steps: list[Any]
    inputs: list[Any]
    in_slots: list[_Shaped]
    outputs: list[Any]


def settled(
    trace: Any,
    rule: SlopeRule,
    place: int,
    node: int,
    J: Any,
    y: Array,
    *values: Any,
    **params: Any,
) -> Any:
    """The operator ``J`` that a rule made of the argument at a place, marked where its slope may be
    that of a pole, and without the zeros that a pole behind it takes back."""
    x = values[place]
    if rule.levels and reaches_infinity(x):
        moving = _moving(trace, node, _recorded(x))
        if moving is not None:
            J = rule.beside_poles(moving, y, *values, **params)
    if rule.steep is not None:
        mark(trace, rule.steep, J, values)
    return J


def mark(trace: Any, steep: str, J: Any, operands: Sequence[Any]) -> None:
    """Note of a diagonal what its slopes say of poles, and the operands that tell them apart."""
    for f in factors_of(J):
        if type(f) is Diagonal:
            f.steep = steep
            if steep is not FACTOR and steep is not POLE:
                note_operands(trace, f, operands)


def note_operands(trace: Any, f: Diagonal, operands: Sequence[Any]) -> None:
    """Keep the operands of a diagonal if it may be at a pole. Many entries are asked at once, lest
    large arrays be held for nothing."""
    entries = f.entries
    if isinstance(entries, Traced) or np.size(entries) <= MANY or reaches_infinity(entries):
        trace.operands_of.append((f, operands))
    else:
        f.steep = FACTOR if f.steep is QUOTIENT else None


def read_from_poles(trace: Any, values: list[Any], active: list[tuple[int, int]]) -> list[Any]:
    """The masks of the arguments of a program that are read from poles, each with its node."""
    found = []
    for i, node in active:
        x = values[i]
        if reaches_infinity(x) and (moving := _moving(trace, node, _recorded(x))) is not None:
            found.append((node, Masked(np.broadcast_to(moving, x.shape), x.shape, x.dtype)))
    return found


def behind_poles(trace: Any, read: list[Any], nodes: Any, results: Any) -> Sequence[int]:
    """The nodes of what an operation made of values that are read from poles.

    It may level off inside, where nobody sees: what it makes of such a value has no derivative.
    """
    made = []
    for n, y in zip(nodes, results, strict=True):
        if is_inexact(y.dtype):
            links: list[Any] = [(n, Identity(y.shape, y.dtype))]
            for node, mask in read:
                shape, dtype = mask.in_shape, mask.dtype
                lost = ScaledSum(tuple(range(len(shape))), shape, dtype, np.nan)
                links.append((node, Chain((Broadcast(y.shape, (), dtype), lost, mask))))
            n = next(trace.nodes)
            trace.steps.append((n, links))
        made.append(n)
    return tuple(made)


def may_swallow(x: Array, tangent: Array) -> bool:
    """Whether an infinite argument has a tangent there that a pole may have made infinite."""
    x, tangent = _recorded(x), _recorded(tangent)
    if isinstance(x, Traced) or isinstance(tangent, Traced):
        return True
    return not np.all(np.isfinite(np.where(np.isinf(x), tangent, 0)))


def _recorded(x: Any) -> Any:
    """A value as a program knows it that is being recorded; the plain one if there is none."""
    while isinstance(x, Traced) and not x._trace.records:
        x = x._value
    return x


def _moving(trace: Any, node: int, x: Array) -> Any:
    """Of an infinite value, which entries are read from poles that move: a mask, True of all where
    they are not told apart, None of none."""
    if trace.seen is None:
        trace.seen = _Seen()
    trace.seen.look(trace)
    if not trace.seen.poles:
        return None
    asks = _Questions(trace, node)
    if not asks.poles:
        return None
    infinite = np.isinf(x)
    if isinstance(x, Traced) or any([isinstance(p.mask, Traced) for p in asks.poles]):
        with because(REASON):
            return True if asks.reach(infinite) else None
    moving = np.zeros(x.shape, bool)
    groups, walks = [np.flatnonzero(infinite)], 0
    while groups:
        group = groups.pop()
        mask = np.zeros(x.size, bool)
        mask[group] = True
        mask = mask.reshape(x.shape)
        walks += 1
        if asks.reach(mask):
            if len(group) == 1 or walks > MOST_WALKS:
                moving |= mask
            else:
                groups += np.array_split(group, 2)
    return moving if moving.any() else None


class _Seen:
    """What is known of the steps of a trace, each of which is looked at once.

    Attributes
    ----------
    makers : dict
        By node, the place of the step that made it.
    poles : dict
        By the place of a step, the poles that it is at.
    """

    def __init__(self) -> None:
        self.makers: dict[int, int] = {}
        self.poles: dict[int, list[_Pole]] = {}
        self._looked = 0
        self._operands: dict[int, Any] = {}  # by the ids of their operators, which the steps keep

    def look(self, trace: Any) -> None:
        """Look at the steps that are new."""
        self._operands.update((id(f), operands) for f, operands in trace.operands_of)
        trace.operands_of.clear()
        for k in range(self._looked, len(trace.steps)):
            step = trace.steps[k]
            self.makers.update(dict.fromkeys(_nodes(step[0]), k))
            poles = list(_poles([step], self._operands))
            if poles:
                self.poles[k] = poles
        self._looked = len(trace.steps)

    def behind(self, trace: Any, node: int) -> list[int]:
        """The places of the steps that a value was made by, first to last."""
        found: set[int] = set()
        nodes = [node]
        while nodes:
            k = self.makers.get(nodes.pop())
            if k is not None and k not in found:
                found.add(k)
                nodes += [source for source, _ in trace.steps[k][1]]
        return sorted(found)


class _Questions:
    """Whether entries of a value are read from poles that move.

    Parameters
    ----------
    trace : LinearTrace
    node : int
        That of the value.

    Attributes
    ----------
    poles : list of _Pole
        Those that were met on the way to the value.
    """

    def __init__(self, trace: Any, node: int) -> None:
        self.node = node
        places = trace.seen.behind(trace, node)
        steps = [trace.steps[k] for k in places]
        self.poles = [pole for k in places for pole in trace.seen.poles.get(k, ())]
        at = {n for p in self.poles for n in _nodes(p.out)}
        self.before = [(out, links) for out, links in steps if at.isdisjoint(_nodes(out))]
        self.moved = [(out, _less_zeros(links)) for out, links in steps]
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.tuples: dict[int, list[int]] = {}
        made: set[int] = set()
        for out, links in steps:
            made.update(_nodes(out))
            for source, J in links:
                self.shapes[source] = J.in_shape
            if type(out) is int and links:
                self.shapes[out] = links[0][1].out_shape
                if type(links[0][1]) is Entry:
                    self.tuples[out] = [source for source, _ in links]
        self.at = [n for n in at if n in self.shapes or n == node]
        self.arguments = [n for n in self.shapes if n not in made and n not in trace._constants]

    def reach(self, read: Any) -> Any:
        """Whether one of the entries that a mask names is."""
        self.shapes[self.node] = read.shape
        reached = self._walked(self.before, self.at, {self.node: read})
        sources: dict[int, Any] = {}
        for pole in self.poles:
            for n in _nodes(pole.out):
                if n not in reached:
                    continue
                mask = pole.mask if reached[n] is None else pole.mask & reached[n]
                if type(pole.out) is int:
                    for f in pole.behind:
                        mask = f.pullback(np.broadcast_to(mask, f.out_shape) * f.dtype.type(1)) != 0
                else:
                    mask = np.any(mask)
                for source in self.tuples.get(pole.source, (pole.source,)):
                    read_there = np.broadcast_to(mask, self.shapes[source])
                    known = sources.get(source)
                    sources[source] = read_there if known is None else known | read_there
        sources = {n: m for n, m in sources.items() if isinstance(m, Traced) or m.any()}
        if not sources:
            return False
        found = self._walked(self.moved, self.arguments, sources)
        total: Any = False
        for mask in found.values():
            total = total | (True if mask is None else np.any(mask))
        return total

    def _walked(self, steps: list[Any], inputs: list[int], read: dict[int, Any]) -> dict[int, Any]:
        """Of each input that is read the mask of its entries; None: all."""
        shapes = [_Shaped(self.shapes[n]) for n in inputs]
        reached = guarded(_Walk(steps, inputs, shapes, list(read)), True, read, True).reached
        if len(reached) != len(inputs):  # too many small parts are read to be followed
            reached = [None] * len(inputs)
        found = dict(zip(inputs, reached, strict=True))
        return {n: m for n, m in found.items() if m is None or isinstance(m, Traced) or np.any(m)}


def _nodes(out: Any) -> Sequence[int]:
    return (out,) if type(out) is int else out


def _poles(steps: Sequence[Any], operands: dict[int, Any]) -> Iterator[_Pole]:
    """The operations of a tape that are at poles, or may be at other calls of its program."""
    for out, links in steps:
        for source, J in links:
            if type(out) is int:
                factors = factors_of(J)
                for k, f in enumerate(factors):
                    if type(f) is Diagonal and f.steep is not None and f.steep is not FACTOR:
                        mask = _at_pole(f, operands.get(id(f), ()))
                        if _is_anywhere(mask):
                            yield _Pole(out, source, factors[k + 1 :], mask)
            elif (tape := J.made_of()) is not None and next(_poles(tape.steps, {}), None):
                yield _Pole(out, source, (), np.True_)


def _is_anywhere(mask: Any) -> bool:
    """Whether a slope is that of a pole: of a program that is recorded, at each of its calls."""
    with because(REASON):
        return bool(np.any(mask))


def _at_pole(f: Diagonal, operands: Sequence[Any]) -> Any:
    """Where the slopes of a diagonal are those of a pole."""
    mask = ~np.isfinite(_recorded(f.entries))
    if f.steep is QUOTIENT or f.steep is POWER:
        operands = operands[:1] if f.steep is QUOTIENT else operands[1:]
    for x in map(_recorded, operands):
        mask = mask & np.isfinite(x)
        if f.steep is POWER:
            mask = mask & (np.real(x) < 0)
    return mask


def _less_zeros(links: Sequence[Any]) -> Sequence[Any]:
    """Links into a product of one argument and data, cut where the data are 0."""
    if len(links) != 1:
        return links
    [(source, J)] = links
    factors = factors_of(J)
    for f in factors:
        if type(f) is Diagonal and (f.steep is FACTOR or f.steep is QUOTIENT):
            moves = Masked(_recorded(f.entries) != 0, J.out_shape, J.out_dtype)
            return [(source, Chain((moves, *factors)))]
    return links
