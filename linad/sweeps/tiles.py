"""Tiles: some rows at a time through many equations, so that what is between them stays in cache.

Equations that carry the same rows (`linad.sweeps.rows`) are a *group*: a program of its own for a
few hundred rows, which runs tile by tile. Totals over rows are one number, or array, for each tile,
and are added up at the end; so nothing depends on who runs which tile, or when.

    z = (x - m) @ Q            -> for each tile:  z = (x[tile] - m) @ Q
    s = sum(z * z)                                s_[tile] = sum(z * z)
                                  s = sum(s_)

What needs a total has to wait for the end of its group. It is in the next group, or in none.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.core import tree
from linad.core.primitive import Primitive
from linad.core.shapes import size_of, with_length
from linad.core.tape import Equation, Tape, Var
from linad.sweeps.loop_reductions import reduces_in_loop
from linad.sweeps.places import NARROW
from linad.sweeps.plan import is_elementwise
from linad.sweeps.rows import (
    WHOLE,
    RowForm,
    RowLayout,
    Where,
    row_form,
    shape_of,
    side_by_side,
)
from linad.sweeps.target import Target

ATTEMPTS = 8
"""How often groups are looked for again, without what turned out not to belong to one."""


class Tiling(NamedTuple):
    """How many rows a tile has.

    Attributes
    ----------
    n : int
        Rows.
    length : int
        Rows of a tile.
    tiles : int
    last : int
        Rows of the last tile.
    """

    n: int
    length: int
    tiles: int
    last: int


def tiling_of(n: int, length: int, least: int) -> Tiling | None:
    """Tiles of a length; the last has at least ``least`` rows, and may have that many more."""
    tiles, rest = divmod(n, length)
    if rest >= least:
        tiles, last = tiles + 1, rest
    else:
        last = length + rest
    return Tiling(n, length, tiles, last) if tiles > 1 else None


class Group:
    """Equations that run on the same rows.

    Attributes
    ----------
    n : int
        How many rows there are.
    forms : dict
        How each equation runs on some of them, in the order of the tape.
    operands : list
        What it reads from outside: variables and arrays.
    along : list of int or None
        The axis of the rows of each operand.
    kept : list of Var
        The results with rows.
    totals : list of Var
        The results that are totals over rows.
    """

    def __init__(self, n: int, forms: dict[Equation, RowForm], kept: list[Var]) -> None:
        self.n, self.forms, self.kept = n, forms, kept
        self.axis = {e.outputs[0]: form.axis for e, form in forms.items()}
        self.totals = [v for v, axis in self.axis.items() if axis is None]
        self.combined = {e.outputs[0]: f.total for e, f in forms.items() if f.axis is None}
        found: dict[Any, tuple[Any, Where]] = {}
        for eqn, form in forms.items():
            for a, axis in zip(eqn.inputs, form.operands, strict=True):
                if self._outside(a, axis):
                    found.setdefault((id(a), axis), (a, axis))
        self.operands = [a for a, _ in found.values()]
        self.along = [axis for _, axis in found.values()]
        self._number = {key: k for k, key in enumerate(found)}

    @property
    def along_results(self) -> list[Where]:
        """The axis of the rows of each result; None of totals."""
        return [self.axis[v] for v in (*self.kept, *self.totals)]

    def _outside(self, a: Any, axis: Where) -> bool:
        """Whether an operand comes from outside; constants without rows are part of the body."""
        return a not in self.axis if isinstance(a, Var) else axis is not WHOLE

    def body(self, count: int) -> tuple[Tape, RowLayout]:
        """The equations for some rows, and where the rows of its variables are.

        Results are those that are kept, then the totals. Narrow operands are copied first, so
        that their rows are side by side as well.
        """
        rows: dict[Var, int] = {}
        equations: list[Equation] = []

        def new(a: Any, axis: Where, k: int) -> Var:
            shape, dtype = shape_of(a), a.dtype
            if axis is None:
                return Var(k, shape, dtype)
            made = Var(k, with_length(shape, axis, count), dtype)
            rows[made] = axis
            return made

        operands = [
            new(a, axis, k)
            for k, (a, axis) in enumerate(zip(self.operands, self.along, strict=True))
        ]
        stands: list[Var] = []
        for v, axis in zip(operands, self.along, strict=True):
            if axis is not None and 1 < size_of(v.shape[axis + 1 :]) < NARROW:
                turned = Var(len(operands) + len(equations), v.shape, v.dtype)
                rows[turned] = axis
                equations.append(Equation(side_by_side, (v,), {}, (turned,)))
                stands.append(turned)
            else:
                stands.append(v)
        made: dict[Var, Var] = {}
        for eqn, form in self.forms.items():
            inputs = []
            for a, axis in zip(eqn.inputs, form.operands, strict=True):
                if self._outside(a, axis):
                    inputs.append(stands[self._number[id(a), axis]])
                else:
                    inputs.append(made[a] if isinstance(a, Var) else a)
            out = eqn.outputs[0]
            made[out] = new(out, form.axis, len(operands) + len(equations))
            equations.append(
                Equation(
                    eqn.primitive,
                    tuple(inputs),
                    form.params_for(count),
                    (made[out],),
                    eqn.source,
                )
            )
        outputs = [made[v] for v in (*self.kept, *self.totals)]
        structures = tree.row(len(operands)), tree.row(len(outputs))
        return Tape("tile", operands, equations, outputs, *structures), RowLayout(rows, self.n)


class Tiles(Primitive):
    """A group, tile by tile: the rows that are kept, then each tile's totals, one below the other.

    Attributes
    ----------
    group : Group
    tiling : Tiling
    programs : tuple
        What the target runs for a tile, and for the last one.
    """

    def __init__(self, group: Group, tiling: Tiling, programs: tuple[Any, Any]) -> None:
        outputs = len(group.kept) + len(group.totals)
        super().__init__("tiles", self._run, outputs=outputs, register=False)
        self.group, self.tiling, self.programs = group, tiling, programs

    @property
    def results(self) -> list[tuple[Any, Any]]:
        """Shape and dtype of each result."""
        found = [(v.shape, v.dtype) for v in self.group.kept]
        return found + [((self.tiling.tiles, *v.shape), v.dtype) for v in self.group.totals]

    def _run(self, *operands: Any) -> tuple[Any, ...]:
        group, tiling = self.group, self.tiling
        made = [np.empty(shape, dtype) for shape, dtype in self.results]
        for t in range(tiling.tiles):
            last = t == tiling.tiles - 1
            low = t * tiling.length
            high = tiling.n if last else low + tiling.length
            given = [
                a if axis is None else a[(slice(None),) * axis + (slice(low, high),)]
                for a, axis in zip(operands, group.along, strict=True)
            ]
            found = group.body(high - low)[0].run(given)
            for y, v, axis in zip(made, found, group.along_results, strict=True):
                y[t if axis is None else (slice(None),) * axis + (slice(low, high),)] = v
        return tuple(made)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tiles, (self.group, self.tiling, self.programs)


Chosen = Callable[[Group], Tiles | None]
"""Whether, and how, a group is worth running tile by tile."""


def tiled(tape: Tape, target: Target, n: int, chosen: Chosen) -> Tape:
    """A tape with the groups of ``n`` rows that a target chooses to run tile by tile."""
    refused: set[Equation] = set()
    for _ in range(ATTEMPTS):
        levels = _Levels(tape, target, n, refused)
        groups = levels.groups()
        if not groups:
            return tape
        found = {level: chosen(group) for level, group in groups.items()}
        taken = {level: tiles for level, tiles in found.items() if tiles is not None}
        if len(taken) == len(found):
            return levels.tape_of(taken)
        for level in found.keys() - taken.keys():
            refused |= groups[level].forms.keys()
    return tape


def rows_of(tape: Tape, least: int) -> int | None:
    """The number of rows that much of a program's memory has, if there are that many."""
    lengths = {v.shape[0] for v in tape.inputs if v.shape}
    lengths |= {
        a.shape[0]
        for eqn in tape.equations
        for a in eqn.inputs
        if isinstance(a, np.ndarray) and a.ndim
    }
    lengths = {n for n in lengths if n >= least}
    size: Counter[int] = Counter()
    for eqn in tape.equations:
        for v in eqn.outputs:
            for n in lengths.intersection(v.shape):
                size[n] += size_of(v.shape)
    most = max(size.values(), default=0)
    return max([n for n in lengths if 2 * size[n] >= most > 0], default=None)


class _Levels:
    """The groups of a tape: each equation is in the first one that it can be in, or outside."""

    def __init__(self, tape: Tape, target: Target, n: int, refused: set[Equation]) -> None:
        self.tape, self.n = tape, n
        self.forms: dict[Equation, RowForm] = {}
        self.level: dict[Equation, int] = {}
        self.made_by: dict[Any, Equation] = {}
        for eqn in tape.equations:
            level = max([self._ready(a) for a in eqn.inputs if isinstance(a, Var)], default=0)
            form = None if eqn in refused else self._form(eqn, level, target)
            if form is not None:
                self.forms[eqn] = form
            else:
                outside = [self._ready(a, True) for a in eqn.inputs if isinstance(a, Var)]
                level = max(outside, default=0)
            self.level[eqn] = level
            self.made_by.update(dict.fromkeys(eqn.outputs, eqn))

    def _ready(self, a: Var, outside: bool = False) -> int:
        """The first group that can read a variable; or before which group it can be read."""
        eqn = self.made_by.get(a)
        if eqn is None:
            return 0
        waits = eqn in self.forms and (outside or self.forms[eqn].axis is None)
        return self.level[eqn] + waits

    def _form(self, eqn: Equation, level: int, target: Target) -> RowForm | None:
        places = [self._place(a, level) for a in eqn.inputs]
        reduces = reduces_in_loop(eqn, target.takes)
        return row_form(eqn, places, self.n, is_elementwise(eqn, target), reduces)

    def _place(self, a: Any, level: int) -> Where:
        """Where the rows of an operand of the group at a level are."""
        if isinstance(a, Var):
            eqn = self.made_by.get(a)
            if eqn in self.forms and self.level[eqn] == level:
                return self.forms[eqn].axis
        axes = [k for k, length in enumerate(getattr(a, "shape", ())) if length == self.n]
        return ~axes[0] if axes and (axes[0] == 0 or len(axes) == 1) else WHOLE

    # What leaves a group.

    def _read_outside(self) -> tuple[dict[Var, None], dict[Equation, None]]:
        """What is read outside of the group that makes it, and views that are made there again."""
        again: dict[Equation, None] = {}
        wanted: dict[Var, None] = {}
        waiting = [a for a in self.tape.outputs if isinstance(a, Var)]
        for eqn in self.tape.equations:
            for a in eqn.inputs:
                made = self.made_by.get(a) if isinstance(a, Var) else None
                if made in self.forms and not (
                    eqn in self.forms and self.level[eqn] == self.level[made]
                ):
                    waiting.append(a)
        while waiting:
            v = waiting.pop()
            maker = self.made_by.get(v)
            if maker not in self.forms or v in wanted or maker in again:
                continue
            free = maker.primitive.view or not any([isinstance(a, Var) for a in maker.inputs])
            if free and self.forms[maker].axis is not None:
                again[maker] = None
                waiting += [a for a in maker.inputs if isinstance(a, Var)]
            else:
                wanted[v] = None
        return wanted, again

    def groups(self) -> dict[int, Group]:
        """The groups by their levels, less what nobody reads."""
        wanted, again = self._read_outside()
        forms: dict[int, dict[Equation, RowForm]] = defaultdict(dict)
        live = set(wanted)
        for eqn in reversed(self.tape.equations):
            if eqn in self.forms and eqn.outputs[0] in live:
                live.update(a for a in eqn.inputs if isinstance(a, Var))
                forms[self.level[eqn]][eqn] = self.forms[eqn]
        found = {}
        for level, members in forms.items():
            members = dict(reversed(members.items()))
            kept = [
                e.outputs[0]
                for e, form in members.items()
                if e.outputs[0] in wanted and form.axis is not None
            ]
            found[level] = Group(self.n, members, kept)
        return found

    def tape_of(self, tiles: dict[int, Tiles]) -> Tape:
        """The tape with its groups as equations, each behind what it reads."""
        _, again = self._read_outside()
        number = len(self.tape.inputs) + sum([len(e.outputs) for e in self.tape.equations])
        equations: list[Equation] = []
        outside: dict[int, list[Equation]] = defaultdict(list)
        placed: dict[Any, int] = {}
        for eqn in self.tape.equations:
            if eqn not in self.forms:
                outside[self.level[eqn]].append(eqn)
            elif eqn in again:
                ready = [
                    placed.get(a, self._ready(a, outside=True))
                    for a in eqn.inputs
                    if isinstance(a, Var)
                ]
                at = placed[eqn.outputs[0]] = max(ready, default=0)
                outside[at].append(eqn)
        for level in sorted(tiles.keys() | outside.keys()):
            equations += outside[level]
            if level not in tiles:
                continue
            made = tiles[level]
            group = made.group
            parts = [
                Var(number + k, shape, dtype)
                for k, (shape, dtype) in enumerate(made.results[len(group.kept) :])
            ]
            number += len(parts)
            source = next((e.source for e in group.forms if e.source is not None), None)
            operands = tuple(group.operands)
            equations.append(Equation(made, operands, {}, (*group.kept, *parts), source))
            for v, part in zip(group.totals, parts, strict=True):
                name, params = group.combined[v]
                joined = Primitive.registry[name]
                equations.append(Equation(joined, (part,), dict(params), (v,), source))
        t = self.tape
        return Tape(t.name, t.inputs, equations, t.outputs, t.in_tree, t.out_tree)
