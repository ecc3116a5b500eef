"""Right sides of differential equations with their decisions held.

A right side that decides, by a comparison, a sign, an ``if``, is several smooth functions, each on
its side of a surface. It is recorded on each path that Python takes through it; a path that is run
with all its decisions held as they were at one point is the smooth function of that side, which
goes on beyond the surface. On which side a point is, says the margin of a decision
(`linad.scipy.decisions`).

Decisions in bodies of loops, of `linad.kernel` and in compiled code of others are not seen.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.control.captured import Closed, ClosedPath
from linad.control.closures import plain
from linad.control.written_tapes import written
from linad.core.array_type import Array
from linad.core.tape import Equation, Var
from linad.errors import GuardError
from linad.scipy.decisions import COMPARISONS, DECISIONS
from linad.transforms.likeness import alike

Field = Callable[[Any, Any], Any]
Entry = tuple[int, tuple[int, ...]]
"""One of the numbers that are decided on: its equation, and its place in the array."""


class Side(NamedTuple):
    """One of the smooth functions that a right side is made of.

    Attributes
    ----------
    path : ClosedPath
        What Python has run.
    decided : dict
        What each decision is, by the number of its equation.
    """

    path: ClosedPath
    decided: dict[int, Any]

    def same(self, other: "Side") -> bool:
        """Whether all is decided as on another side."""
        return self.path is other.path and not self.changes(other.decided)

    def changes(self, decided: dict[int, Any]) -> list[Entry]:
        """The entries, by equation and place, of what is decided otherwise there."""
        return [
            (k, tuple(place))
            for k, own in self.decided.items()
            for place in np.argwhere(np.not_equal(own, decided[k]))
        ]

    def with_changes(self, entries: list[Entry], decided: dict[int, Any]) -> "Side":
        """This side, with some entries as they are decided elsewhere."""
        made = {k: np.array(d) for k, d in self.decided.items()}
        for k, place in entries:
            made[k][place] = decided[k][place]
        return Side(self.path, made)


class HeldSides(Closed):
    """A right side f(t, y) by the paths through it.

    Parameters
    ----------
    field : callable
    t, y : float, array (n,)
        A point of the first path.
    """

    def __init__(self, field: Field, t: float, y: Array) -> None:
        self._known_decisions: dict[ClosedPath, set[int]] = {}
        self._written: dict[ClosedPath, Callable[..., Any]] = {}
        super().__init__(lambda x: field(*x), (), (np.float64(t), y))

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_written": {}}

    def place(self, held: Any, key: Any) -> int:
        """The number of a captured value: each path may refer to others."""
        if key not in self._places:
            self._places[key] = len(self.captured)
            self.captured.append(held)
        return self._places[key]

    @property
    def decides(self) -> bool:
        """Whether anything is decided on what moves, or compared: an if may lead there."""
        for path in self.paths:
            for k in self._decisions(path):
                known = DECISIONS.get(path.tape.equations[k].primitive.name)
                compared = known is not None and known.taken in COMPARISONS
                if compared or self.moving(Side(path, {}), [(k, ())]):
                    return True
        return False

    def side(self, t: float, y: Array) -> Side:
        """The side on which a point is."""
        for path in self.paths:
            try:
                return Side(path, self._run(path, t, y, self.plain_captured(), guarded=True)[1])
            except GuardError:
                continue
        path = self.known_at((np.float64(t), y))
        return Side(path, self._run(path, t, y, self.plain_captured())[1])

    def decided(self, side: Side, t: float, y: Array) -> dict[int, Any]:
        """What the decisions of a side's path are at another point."""
        return self._run(side.path, t, y, self.plain_captured())[1]

    def field(self, side: Side, traced: bool = True) -> Field:
        """The right side as it is on one side, everywhere; ``traced`` or of plain numbers."""
        return lambda t, y: self._held(side, t, y, self._given(traced))[0]

    def run(self, side: Side, t: float, y: Array, captured: list[Any]) -> Any:
        """The right side as it is on one side, with other plain values of what it refers to."""
        if side.decided:
            return self._held(side, t, y, captured)[0]
        if side.path not in self._written:
            self._written[side.path] = written(side.path.tape)
        read = [captured[a] if isinstance(a, int) else a for a in side.path.read]
        return self._written[side.path](t, y, *read)[0]

    def margin(
        self, side: Side, entry: Entry, other: dict[int, Any], traced: bool = True
    ) -> Field:
        """What passes zero where one entry of a side becomes what it is on the other."""
        return lambda t, y: self._margin(side, entry, other, t, y, self._given(traced))

    def margin_aside(
        self, side: Side, entry: Entry, other: dict[int, Any], t: float, y: Array
    ) -> float:
        """How far from zero a margin is where the state, and all that is captured, are a little
        aside of a point."""
        here, held = self.plain_captured(), self.captured
        first = [next(j for j, w in enumerate(held) if alike(v, w)) for v in held]
        beside = [_aside(v, k) for k, v in zip(first, here, strict=True)]
        a, b = (
            self._margin(side, entry, other, t, *point)
            for point in ((y, here), (_aside(y, -1), beside))
        )
        return float(b - a)

    def _margin(
        self, side: Side, entry: Entry, other: dict[int, Any], t: Any, y: Any, captured: list[Any]
    ) -> Any:
        k, place = entry
        eqn = side.path.tape.equations[k]
        operands = self._held(side, t, y, captured, until=k)[1]
        margin = DECISIONS[eqn.primitive.name].margin
        found = margin(side.decided[k], other[k], *operands, **eqn.params)
        return found[place] if place else found

    def moving(self, side: Side, entries: list[Entry]) -> bool:
        """Whether the margin of some entry depends on the state, or on what is traced."""
        moving = _moving(side.path)
        equations = [side.path.tape.equations[k] for k, _ in entries]
        return any(isinstance(a, Var) and a in moving for eqn in equations for a in eqn.inputs)

    def has_margin(self, side: Side, entry: Entry) -> bool:
        """Whether it is known what passes zero where an entry changes."""
        return side.path.tape.equations[entry[0]].primitive.name in DECISIONS

    def _decisions(self, path: ClosedPath) -> set[int]:
        if path not in self._known_decisions:
            self._known_decisions[path] = decisions_of(path)
        return self._known_decisions[path]

    def plain_captured(self) -> list[Any]:
        """The values of what it refers to."""
        return [plain(v) for v in self.captured]

    def _run(
        self, path: ClosedPath, t: float, y: Array, captured: list[Any], guarded: bool = False
    ) -> tuple[list[Any], dict[int, Any]]:
        """The path as it is, and what it decides."""
        values = self._inputs(path, t, y, captured)
        decided: dict[int, Any] = {}
        kept = self._decisions(path)
        for k, eqn in enumerate(path.tape.equations):
            if eqn.primitive.guards and not guarded:
                continue
            operands = [values[a] if isinstance(a, Var) else a for a in eqn.inputs]
            if k in kept:
                known = DECISIONS.get(eqn.primitive.name)
                take = eqn.primitive if known is None else known.taken
                decided[k] = np.asarray(take(*operands, **eqn.params))
            _enter(values, eqn, eqn.primitive(*operands, **eqn.params))
        return [values[a] if isinstance(a, Var) else a for a in path.tape.outputs], decided

    def _given(self, traced: bool) -> list[Any]:
        return self.captured if traced else self.plain_captured()

    def _held(
        self, side: Side, t: Any, y: Any, captured: list[Any], until: int = -1
    ) -> tuple[Any, Any]:
        """The result of a path with its decisions held, or the operands of one equation."""
        path, decided = side
        values = self._inputs(path, t, y, captured)
        operands: list[Any] = []
        for k, eqn in enumerate(path.tape.equations):
            if eqn.primitive.guards:
                continue
            operands = [values[a] if isinstance(a, Var) else a for a in eqn.inputs]
            if k == until:
                return None, operands
            if k in decided:
                known = DECISIONS.get(eqn.primitive.name)
                made = decided[k]
                if known is not None:
                    made = known.held(made, *operands, **eqn.params)
                _enter(values, eqn, _like(made, eqn.outputs[0]))
            else:
                _enter(values, eqn, eqn.primitive(*operands, **eqn.params))
        (a,) = path.tape.outputs
        return values[a] if isinstance(a, Var) else a, operands

    def _inputs(self, path: ClosedPath, t: Any, y: Any, captured: list[Any]) -> dict[Var, Any]:
        read = [captured[a] if isinstance(a, int) else a for a in path.read]
        return dict(zip(path.tape.inputs, [t, y, *read], strict=True))


def _decides(eqn: Equation) -> bool:
    """Whether an equation decides on floating-point numbers."""
    if not any(isinstance(a, Var) and a.dtype.kind == "f" for a in eqn.inputs):
        return False
    if len(eqn.outputs) == 1 and eqn.outputs[0].dtype.kind in "iu":
        return True
    return eqn.primitive.name in DECISIONS and not eqn.primitive.name.startswith("astype")


def _moving(path: ClosedPath) -> set[Var]:
    """What depends on the state, or on what is traced."""
    moving = {path.tape.inputs[1]}
    for var, a in zip(path.tape.inputs[2:], path.read, strict=True):
        if isinstance(a, int):
            moving.add(var)
    for eqn in path.tape.equations:
        if not moving.isdisjoint(a for a in eqn.inputs if isinstance(a, Var)):
            moving.update(eqn.outputs)
    return moving


def decisions_of(path: ClosedPath) -> set[int]:
    """The numbers of the equations of a path that decide.

    What is decided at fixed times alone, as where a table is read at t, is nothing special, but
    where a guard or another decision depends on it."""
    moving, found = _moving(path), set()
    asked: set[Any] = set()
    for k, eqn in reversed(list(enumerate(path.tape.equations))):
        inputs = [a for a in eqn.inputs if isinstance(a, Var)]
        moves = not moving.isdisjoint(inputs)
        needed = eqn.primitive.guards or not asked.isdisjoint(eqn.outputs)
        if _decides(eqn) and (moves or needed):
            found.add(k)
            needed = True
        if needed:
            asked.update(inputs)
    return found


def _aside(x: Array, k: int) -> Any:
    """Near some values, in a direction that is that of ``k`` alone."""
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        return x
    return x + 1e-4 * np.cos(1.0 + k * np.e + np.arange(x.size)).reshape(x.shape) * (1 + np.abs(x))


def _enter(values: dict[Var, Any], eqn: Equation, result: Any) -> None:
    results = result if isinstance(result, tuple) else (result,)
    values.update(zip(eqn.outputs, results, strict=True))


def _like(made: Any, var: Var) -> Any:
    """What is held, in the dtype that was recorded."""
    return made if made.dtype == var.dtype else made.astype(var.dtype)
