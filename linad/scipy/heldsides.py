"""Right sides of differential equations with their decisions held.

A right side that decides, by a comparison, a sign, an ``if``, is several smooth functions, each on
its side of a surface. It is recorded on each path that Python takes through it; a path that is run
with all its decisions held as they were at one point is the smooth function of that side, which
goes on beyond the surface. On which side a point is, says the margin of a decision:

    a > b, max(a, b)    a - b               sign(x), |x|, heaviside(x)    x
    floor(x), x mod b   x, less the next integer on the way
    argmax(a), argsort  a where it is found, less a where it is found on the other side
    arctan2(y, x)       y at the cut, where x < 0

Decisions in bodies of loops, of `linad.kernel` and in compiled code of others are not seen.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.control.captured import Closed, ClosedPath
from linad.control.closures import plain
from linad.core.array_type import Array
from linad.core.tape import Equation, Var
from linad.errors import GuardError
from linad.transforms.likeness import alike

Field = Callable[[Any, Any], Any]
Entry = tuple[int, tuple[int, ...]]
"""One of the numbers that are decided on: its equation, and its place in the array."""


class Decision(NamedTuple):
    """What an operation decides.

    Attributes
    ----------
    taken : callable
        ``taken(*operands)``: an array, what is decided on plain operands.
    held : callable
        ``held(decided, *operands)``: what the operation gives then, beyond its surface as well.
    margin : callable
        ``margin(decided, other, *operands)``: what passes zero where it becomes the other.
    """

    taken: Callable[..., Any]
    held: Callable[..., Any]
    margin: Callable[..., Any]


def _upward(step: float = 1.0, shift: float = 0.0) -> Callable[..., Any]:
    """The threshold of rounding down, to multiples, behind which the other multiple is."""

    def threshold(n: Array, other: Array) -> Any:
        return n + step * (shift + np.where(other > n, 1.0, 0.0))

    return threshold


def _of_trunc(n: Array, other: Array) -> Any:
    return np.where(other > n, np.where(n >= 0, n + 1, n), np.where(n > 0, n, n - 1))


def _compared(ufunc: Any) -> Decision:
    return Decision(ufunc, lambda d, a, b: d, lambda d, other, a, b: a - b)


def _chosen(ufunc: Any) -> Decision:
    """Of two values one; at a tie the first."""
    return Decision(
        lambda a, b: ufunc(a, b) == a,
        lambda d, a, b: np.where(d, a, b),
        lambda d, other, a, b: a - b,
    )


def _rounded(ufunc: Any, threshold: Callable[..., Any]) -> Decision:
    return Decision(
        lambda x, **params: ufunc(x),
        lambda d, x, **params: d,
        lambda d, other, x, **params: x - threshold(d, other),
    )


def _parts(ufunc: Any, threshold: Callable[..., Any], rest: bool) -> Decision:
    """How often b goes into a, or what is left."""
    return Decision(
        lambda a, b: ufunc(a / b),
        (lambda d, a, b: a - b * d) if rest else (lambda d, a, b: d),
        lambda d, other, a, b: a / b - threshold(d, other),
    )


def _signs(x: Array) -> Any:
    """1 and -1: on which side of zero; zero itself counts as above."""
    return np.where(x < 0, -1.0, 1.0)


def _clipped(d: Array, x: Array, low: Array, high: Array) -> Any:
    return np.where(d < 0, low, np.where(d > 0, high, x))


def _found(
    d: Array, other: Array, table: Array, x: Array, side: str = "left", sorter: Any = None
) -> Any:
    return _binned(d, other, x, table if sorter is None else np.take(table, sorter))


def _binned(d: Array, other: Array, x: Array, bins: Array, *right: Any, **params: Any) -> Any:
    place = np.where(other > d, d, d - 1)
    return x - bins[np.clip(place, 0, len(bins) - 1)]


def _best(function: Any) -> Decision:
    """Where in an array an entry is."""

    def margin(d: Array, other: Array, a: Array, axis: Any = None, **params: Any) -> Any:
        if axis is None:
            return np.ravel(a)[d] - np.ravel(a)[other]
        kept = d.ndim == a.ndim
        d, other = (p if kept else np.expand_dims(p, axis) for p in (d, other))
        found = np.take_along_axis(a, d, axis) - np.take_along_axis(a, other, axis)
        return found if kept else found[(*[slice(None)] * (axis % a.ndim), 0)]

    return Decision(function, lambda d, *operands, **params: d, margin)


def _order_margin(d: Array, other: Array, a: Array, axis: Any = -1, **params: Any) -> Any:
    if axis is None:
        return np.ravel(a)[d] - np.ravel(a)[other]
    return np.take_along_axis(a, d, axis) - np.take_along_axis(a, other, axis)


def _beside_cut(y: Array, x: Array) -> Any:
    """1 and -1 above and below the cut of an angle, 0 where no cut is."""
    return np.where(x < 0, np.where(y < 0, -1.0, 1.0), 0.0)


def _beyond_cut(d: Array, y: Array, x: Array) -> Any:
    angle = np.arctan2(y, x)
    return angle + np.where(d * angle < -np.pi / 2, 2 * np.pi * d, 0.0)


def _closeness(
    d: Array, other: Array, a: Array, b: Array, rtol: Any = 1e-5, atol: Any = 1e-8, **params: Any
) -> Any:
    """|a - b|, less what it may be."""
    return abs(a - b) - (atol + rtol * abs(b))


_FLOOR, _CEIL, _RINT = _upward(), _upward(shift=-1.0), _upward(shift=-0.5)

DECISIONS: dict[str, Decision] = {
    "less": _compared(np.less),
    "less_equal": _compared(np.less_equal),
    "greater": _compared(np.greater),
    "greater_equal": _compared(np.greater_equal),
    "equal": _compared(np.equal),
    "not_equal": _compared(np.not_equal),
    "sign": Decision(np.sign, lambda d, x: d, lambda d, other, x: x),
    "signbit": Decision(np.signbit, lambda d, x: d, lambda d, other, x: x),
    "side": Decision(np.sign, lambda d, x: d, lambda d, other, x: x),
    "heaviside": Decision(
        lambda x, at_zero: np.sign(x),
        lambda d, x, at_zero: np.where(d < 0, 0.0, np.where(d > 0, 1.0, at_zero)),
        lambda d, other, x, at_zero: x,
    ),
    "absolute": Decision(_signs, lambda d, x: d * x, lambda d, other, x: x),
    "fabs": Decision(_signs, lambda d, x: d * x, lambda d, other, x: x),
    "copysign": Decision(
        lambda a, b: _signs(a) * np.copysign(1.0, b),
        lambda d, a, b: d * a,
        lambda d, other, a, b: a * b,
    ),
    "maximum": _chosen(np.maximum),
    "minimum": _chosen(np.minimum),
    "fmax": _chosen(np.fmax),
    "fmin": _chosen(np.fmin),
    "clip": Decision(
        lambda x, low, high: np.where(x < low, -1.0, np.where(x > high, 1.0, 0.0)),
        _clipped,
        lambda d, other, x, low, high: x - np.where((d < 0) | (other < 0), low, high),
    ),
    "floor": _rounded(np.floor, _FLOOR),
    "ceil": _rounded(np.ceil, _CEIL),
    "rint": _rounded(np.rint, _RINT),
    "trunc": _rounded(np.trunc, _of_trunc),
    "fix": _rounded(np.trunc, _of_trunc),
    "fraction": Decision(
        np.trunc, lambda d, x: x - d, lambda d, other, x: x - _of_trunc(d, other)
    ),
    "round": Decision(
        np.round,
        lambda d, x, decimals: d,
        lambda d, other, x, decimals: x - _upward(10.0**-decimals, -0.5)(d, other),
    ),
    "floor_divide": _parts(np.floor, _FLOOR, rest=False),
    "remainder": _parts(np.floor, _FLOOR, rest=True),
    "fmod": _parts(np.trunc, _of_trunc, rest=True),
    "astype": Decision(
        lambda x, dtype: np.trunc(x),
        lambda d, x, dtype: d,
        lambda d, other, x, dtype: x - _of_trunc(d, other),
    ),
    "exponent": Decision(
        lambda x: np.frexp(x)[1],
        lambda d, x: d,
        lambda d, other, x: abs(x) - 2.0 ** np.where(other > d, d, d - 1),
    ),
    "searchsorted": Decision(np.searchsorted, lambda d, table, x, **params: d, _found),
    "digitize": Decision(np.digitize, lambda d, *operands, **params: d, _binned),
    "argmax": _best(np.argmax),
    "argmin": _best(np.argmin),
    "nanargmax": _best(np.nanargmax),
    "nanargmin": _best(np.nanargmin),
    "argsort": Decision(np.argsort, lambda d, *operands, **params: d, _order_margin),
    "isclose": Decision(np.isclose, lambda d, *operands, **params: d, _closeness),
    "allclose": Decision(np.isclose, lambda d, *operands, **params: np.all(d), _closeness),
    "arctan2": Decision(
        _beside_cut, _beyond_cut, lambda d, other, y, x: np.where(d * other < 0, y, x)
    ),
}
DECISIONS["astype_exact"] = DECISIONS["astype"]
"""What is decided, by the name of the primitive. Other integers that are made of floating-point
numbers are decided on as well; they have no margin."""

COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}


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
        super().__init__(lambda x: field(*x), (), (np.float64(t), y))

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
                return Side(path, self._run(path, t, y, self._plain(), guarded=True)[1])
            except GuardError:
                continue
        path = self.known_at((np.float64(t), y))
        return Side(path, self._run(path, t, y, self._plain())[1])

    def decided(self, side: Side, t: float, y: Array) -> dict[int, Any]:
        """What the decisions of a side's path are at another point."""
        return self._run(side.path, t, y, self._plain())[1]

    def field(self, side: Side, traced: bool = True) -> Field:
        """The right side as it is on one side, everywhere; ``traced`` or of plain numbers."""
        return lambda t, y: self._held(side, t, y, self._given(traced))[0]

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
        here, held = self._plain(), self.captured
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

    def _plain(self) -> list[Any]:
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
        return self.captured if traced else self._plain()

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
