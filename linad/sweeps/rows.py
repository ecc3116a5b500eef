"""Which equations can run on some rows at a time, and what they are then.

Rows are the entries of one axis, of n entries, that equations carry from operand to result: the
observations of a likelihood, the samples of a batch. Of each operand a rule is told where its rows
are, and says where those of the result are, or that the result is a total over all rows:

    z = (x - m) @ Q          x (n, d)  m (d,)  Q (d, d)      rows of z: axis 0
    w = sum(z * z, axis=1)                                   rows of w: axis 0
    s = sum(w)                                               a total

An equation without a rule, or which reads rows in another way, is not for tiles.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linad.core.primitive import Primitive
from linad.core.regions import Window
from linad.core.shapes import Shape, size_of, with_length
from linad.core.tape import Equation, Var
from linad.sweeps.loop_reductions import REDUCTIONS, axes_of

WHOLE = None
"""Of an operand: it has no rows, or is taken with all of them."""

Where = int | None
"""An axis of rows, or `WHOLE`. ``~axis`` of an operand from outside of the group says that it may
be taken whole, or with rows along that axis."""


side_by_side = Primitive("side_by_side", np.copy, register=False)
"""Puts narrow rows of a tile side by side, in a step of its own: loops that read them with gaps do
not vectorise, whatever else they compute."""


class RowForm(NamedTuple):
    """How an equation runs on rows.

    Attributes
    ----------
    operands : tuple of int or None
        The axis of each operand's rows; None for what is taken whole.
    axis : int or None
        The axis of the result's rows; None for a total over rows.
    params : dict or callable
        The parameters, ``params(count)`` where they say how many rows there are.
    total : tuple of str and dict
        The reduction that combines the totals of several tiles, along axis 0, and its parameters.
    """

    operands: tuple[Where, ...]
    axis: Where
    params: Any
    total: tuple[str, dict[str, Any]] = ("", {})

    def params_for(self, count: int) -> dict[str, Any]:
        found = self.params(count) if callable(self.params) else self.params
        return dict(found)


class RowLayout(NamedTuple):
    """Where the rows of a tile's variables are.

    Attributes
    ----------
    axes : dict
        The axis of the rows of each variable that has any.
    n : int
        How many rows there are outside, where operands and results are parts of arrays.
    """

    axes: dict[Var, int]
    n: int


Rule = Callable[[Equation, Sequence[Where], int], RowForm | None]

SOURCES = frozenset({"empty_like", "broadcast_to", "spread"})
"""Primitives that make rows of what has none."""

RULES: dict[str, Rule] = {}
"""By the names of primitives; beside these there are elementwise functions and reductions."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule; a decorator."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


def shape_of(a: Any) -> Shape:
    return a.shape if hasattr(a, "shape") else np.shape(a)


def row_form(
    eqn: Equation, places: Sequence[Where], n: int, elementwise: bool, reduces: bool
) -> RowForm | None:
    """How an equation runs on rows, or None.

    Parameters
    ----------
    eqn : Equation
    places : sequence of int or None
        Where the rows of each operand are, or may be.
    n : int
        How many rows there are.
    elementwise, reduces : bool
        Whether a loop computes it entry by entry, or by a reduction.
    """
    name = eqn.primitive.name
    if len(eqn.outputs) != 1 or (all(p is WHOLE for p in places) and name not in SOURCES):
        return None
    if not size_of(eqn.outputs[0].shape) or any(not size_of(shape_of(a)) for a in eqn.inputs):
        return None
    if name in RULES:
        return RULES[name](eqn, places, n)
    if name == "masked":
        return None  # its mask is not an operand
    if elementwise:
        return _entry_by_entry(eqn, places, n, eqn.params)
    return _reduction(eqn, places) if reduces else None


def _entry_by_entry(eqn: Equation, places: Sequence[Where], n: int, params: Any) -> RowForm | None:
    """Operands spread over the axes of the result, from the last on."""
    shape = eqn.outputs[0].shape
    behind = [len(shape) - len(shape_of(a)) for a in eqn.inputs]
    known = [(p, b) for p, b in zip(places, behind, strict=True) if p is not WHOLE]
    found = {p + b for p, b in known if p >= 0} or {~p + b for p, b in known[:1]}
    axis = found.pop()
    if found or shape[axis] != n:
        return None
    operands: list[Where] = []
    for a, place, b in zip(eqn.inputs, places, behind, strict=True):
        own = axis - b
        if own < 0 or shape_of(a)[own] == 1:
            operands.append(WHOLE)
        elif place in (own, ~own):
            operands.append(own)
        else:
            return None
    return RowForm(tuple(operands), axis, params)


def _row_axis(place: Where) -> int:
    """The axis of the rows of an operand that is the only one, or decides."""
    assert place is not None
    return max(place, ~place)


def _may_be_whole(place: Where) -> bool:
    return place is WHOLE or place < 0


def _reduction(eqn: Equation, places: Sequence[Where]) -> RowForm | None:
    axes, place = axes_of(eqn), _row_axis(places[0])
    if axes is None or any(p is not WHOLE for p in places[1:]):
        return None
    if place in axes:
        name = eqn.primitive.name
        total = REDUCTIONS[name].joined or name
        along = {"axes": (0,)} if total != name or "axes" in eqn.params else {"axis": 0}
        return RowForm((place, *places[1:]), None, eqn.params, (total, along))
    axis = place - sum([k < place for k in axes])
    return RowForm((place, *places[1:]), axis, eqn.params)


@rule("matmul", "matvec", "dot")
def product(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    """C = A B: rows of A, columns of B, a stack of products; or the terms of each entry of C."""
    shapes = [shape_of(a) for a in eqn.inputs]
    out = len(eqn.outputs[0].shape)
    if eqn.primitive.name == "dot" and max(map(len, shapes)) > 2:
        return None
    (a, b), (left, right) = shapes, places
    terms = [len(a) - 1, max(len(b) - 2, 0)]  # the axis that the sum goes over
    if all([p in (t, ~t) for p, t in zip(places, terms, strict=True)]):
        return RowForm((terms[0], terms[1]), None, eqn.params, ("sum", {"axes": (0,)}))
    if left is not WHOLE and len(a) > 1:
        place = _row_axis(left)
        if place == len(a) - 2 and _may_be_whole(right):
            axis = out - 2 if len(b) > 1 else out - 1
            return RowForm((place, WHOLE), axis, eqn.params)
        if place < len(a) - 2:
            return _stacked(eqn, places, n)
    if right is not WHOLE and len(b) > 1:
        place = _row_axis(right)
        if place == len(b) - 1 and _may_be_whole(left):
            return RowForm((WHOLE, place), out - 1, eqn.params)
        if place < len(b) - 2:
            return _stacked(eqn, places, n)
    return None


def _stacked(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    """Rows along an axis of stacks."""
    lead = [len(shape_of(a)) - 2 for a in eqn.inputs]
    if min(lead) < 0:
        return None
    most = max(lead)
    known = {
        _row_axis(p) + most - k
        for p, k in zip(places, lead, strict=True)
        if p is not WHOLE and _row_axis(p) < k
    }
    if len(known) != 1:
        return None
    axis = known.pop()
    operands: list[Where] = []
    for a, place, k in zip(eqn.inputs, places, lead, strict=True):
        own = axis - most + k
        if own < 0 or shape_of(a)[own] == 1:
            if not _may_be_whole(place):
                return None
            operands.append(WHOLE)
        elif place in (own, ~own):
            operands.append(own)
        else:
            return None
    return RowForm(tuple(operands), axis, eqn.params)


@rule("transpose")
def transpose(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    place, rank = _row_axis(places[0]), len(eqn.outputs[0].shape)
    axes = [k % rank for k in eqn.params["axes"]]
    return RowForm((place,), axes.index(place), eqn.params)


@rule("reshape")
def reshape(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    """Rows stay one axis: as many entries before it, and behind it, as there were."""
    place, shape = _row_axis(places[0]), eqn.outputs[0].shape
    before = size_of(shape_of(eqn.inputs[0])[:place])
    for axis, length in enumerate(shape):
        if length == n and size_of(shape[:axis]) == before:
            return RowForm((place,), axis, _shape_of_rows(shape, axis))
    return None


def _shape_of_rows(shape: Shape, axis: int) -> Callable[[int], dict[str, Any]]:
    return lambda count: {"shape": with_length(shape, axis, count)}


@rule("broadcast_to", "spread")
def broadcast_to(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    shape = eqn.outputs[0].shape
    if places[0] is WHOLE:
        return _source(eqn, n)
    found = _entry_by_entry(eqn, places, n, eqn.params)
    if found is None:
        return None
    assert found.axis is not None
    return found._replace(params=_shape_of_rows(shape, found.axis))


@rule("concatenate")
def concatenate(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    if WHOLE in places:
        return None
    axis = next((p for p in places if p is not WHOLE and p >= 0), _row_axis(places[0]))
    if axis == eqn.params["axis"] % len(eqn.outputs[0].shape):
        return None
    if any(p not in (axis, ~axis) for p in places):
        return None
    return RowForm((axis,) * len(places), axis, eqn.params)


def _axes_through(index: Sequence[Any], shape: Shape) -> dict[int, int] | None:
    """From the axes that an index of integers, slices and None takes whole to those that they
    become; None for any other index."""
    found: dict[int, int] = {}
    axis = made = 0
    for entry in index:
        if isinstance(entry, np.ndarray):
            return None
        if entry is None:
            made += 1
            continue
        if isinstance(entry, slice):
            if entry.indices(shape[axis]) == (0, shape[axis], 1):
                found[axis] = made
            made += 1
        axis += 1
    return found if axis == len(shape) else None


@rule("getitem")
def getitem(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    place = _row_axis(places[0])
    through = _axes_through(eqn.params["index"], shape_of(eqn.inputs[0]))
    if through is None or place not in through:
        return None
    return RowForm((place,), through[place], eqn.params)


@rule("add_at")
def add_at(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    """Zeros with values at an index: `getitem`, backward."""
    place, (index, shape) = _row_axis(places[0]), (eqn.params["index"], eqn.params["shape"])
    through = _axes_through(index, shape)
    axis = next((k for k, made in (through or {}).items() if made == place), None)
    if axis is None or eqn.outputs[0].shape != tuple(shape):
        return None
    params = eqn.params
    return RowForm(
        (place,), axis, lambda count: params | {"shape": with_length(shape, axis, count)}
    )


@rule("empty_like")
def empty_like(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    """Memory for rows that are written later; it reads nothing."""
    return _source(eqn, n)


def _source(eqn: Equation, n: int) -> RowForm | None:
    """Rows of what has none, where it is clear which axis they are."""
    shape = eqn.outputs[0].shape
    if shape.count(n) != 1 or eqn.params.keys() != {"shape"}:
        return None
    axis = shape.index(n)
    return RowForm((WHOLE,) * len(eqn.inputs), axis, _shape_of_rows(shape, axis))


class _WindowRows:
    """A window that has all rows of an array: its axis of rows, and the same of fewer rows."""

    def __init__(self, window: Window, shape: Shape, place: int) -> None:
        self.window = window
        n, self.behind = shape[place], size_of(shape[place + 1 :])
        self.whole = n * self.behind  # entries from one position before the rows to the next
        lengths = zip(window.shape, window.strides, strict=True)
        found = [k for k, (m, s) in enumerate(lengths) if m == n and s == self.behind]
        self.axis = found[0] if len(found) == 1 else None

    def fits(self) -> bool:
        """Whether no other axis, nor the first entry, moves along the rows."""
        w = self.window
        if self.axis is None:
            return False
        others = [
            (m, s)
            for k, (m, s) in enumerate(zip(w.shape, w.strides, strict=True))
            if k != self.axis
        ]
        inside = [(m, s) for m, s in others if s % self.whole]
        if any(s < 0 for _, s in others) or w.offset % self.whole >= self.behind:
            return False
        last = w.offset % self.whole + sum([(m - 1) * s for m, s in inside])
        return last < self.behind

    def of(self, count: int) -> Window:
        w, new = self.window, count * self.behind

        def moved(entries: int) -> int:
            outer, inner = divmod(entries, self.whole)
            return outer * new + inner

        assert self.axis is not None
        strides = [moved(s) for s in w.strides]
        strides[self.axis] = self.behind
        made = Window(
            moved(w.offset), with_length(w.shape, self.axis, count), tuple(strides), w.ndim
        )
        made.scalar = w.scalar
        return made


def _window_rows(eqn: Equation, place: int) -> _WindowRows | None:
    window, shape = eqn.params["region"], shape_of(eqn.inputs[0])
    if type(window) is not Window or window.ndim != len(shape) or eqn.params.keys() != {"region"}:
        return None
    found = _WindowRows(window, shape, place)
    return found if found.fits() else None


@rule("read_region", "view_region")
def read_region(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    found = _window_rows(eqn, _row_axis(places[0]))
    if found is None or len(eqn.outputs[0].shape) != len(found.window.shape):
        return None
    return RowForm((_row_axis(places[0]),), found.axis, lambda count: {"region": found.of(count)})


@rule("write_region")
def write_region(eqn: Equation, places: Sequence[Where], n: int) -> RowForm | None:
    """Values for all rows, or the same for each."""
    if places[0] is WHOLE:
        return None
    place, value = _row_axis(places[0]), shape_of(eqn.inputs[1])
    found = _window_rows(eqn, place)
    if found is None:
        return None
    assert found.axis is not None
    own = found.axis - len(found.window.shape) + len(value)
    spread = own < 0 or value[own] == 1
    if not (_may_be_whole(places[1]) if spread else places[1] in (own, ~own)):
        return None
    operands = (place, WHOLE if spread else own)
    return RowForm(operands, place, lambda count: {"region": found.of(count)})
