"""The loop as a primitive: its push and its pull are loops again.

Operands are carries, rows (arrays with one entry per repetition) and constants; results the last
carries, and rows. So derivatives of every order, of loops in loops as well, follow from this one
rule, and a compiler has to know one kind of loop.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.control.bodies import Body, cast, run_tape
from linad.control.body_derivatives import pull_of, push_of
from linad.control.control_primitive import ControlPrimitive, end_at_once
from linad.control.first_runs import operations_of
from linad.control.kept_values import keeping
from linad.core import tree
from linad.core.array_type import Array
from linad.core.shapes import Shape
from linad.core.zero_seeds import linear_in_seeds
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.transforms.linearize import linearize_leaves
from linad.transforms.spaces import Slot, seeds_of
from linad.transforms.unread_entries import is_read_nowhere

MOST_OPERATIONS = 20_000
"""Operations of a loop that are gone through one by one, to find out which entries are read."""

SHORTER: list[Callable[..., Any]] = []
"""Functions of a loop, its operands and the active ones: they give the Jacobian of a loop of some
kind that has a shorter one than `RepeatJacobian`, else None."""


class Repeat(ControlPrimitive):
    """``n`` repetitions of a body.

    Parameters
    ----------
    body : Body
    n : int
        How many; the length of rows.
    reverse : bool
        Whether the last row comes first.
    counted : bool
        Whether the first operand says how many repetitions there are, at most ``n``. Rows of
        results that no repetition makes are zeros.
    """

    def __init__(self, body: Body, n: int, reverse: bool = False, counted: bool = False) -> None:
        name = f"repeat({body.tape.name})"
        super().__init__(name, body, len(body.outputs), (body,))
        self.n, self.reverse, self.counted = n, reverse, counted
        self.expansion = _in_rows

    form = "repeat"

    def remade(self, bodies: Sequence[Body]) -> "Repeat":
        return repeat(bodies[0], self.n, self.reverse, self.counted)

    @property
    def options(self) -> tuple[Any, ...]:
        return self.form, self.n, self.reverse, self.counted

    def __reduce__(self) -> tuple[Any, ...]:
        return repeat, (self.body, self.n, self.reverse, self.counted)

    @property
    def shapes(self) -> list[tuple[Shape, Any]]:
        """Shape and dtype of each operand."""
        nc, nx = self.body.carries, self.body.rows
        found = [(v.shape, v.dtype) for v in self.body.tape.inputs]
        found[nc : nc + nx] = [((self.n, *shape), d) for shape, d in found[nc : nc + nx]]
        return [((), np.dtype(np.int64)), *found] if self.counted else found

    @property
    def results(self) -> list[tuple[Shape, Any]]:
        """Shape and dtype of each result."""
        nc = self.body.carries
        found = [(v.shape, v.dtype) for v in self.body.outputs]
        found[:nc] = [(v.shape, v.dtype) for v in self.body.tape.inputs[:nc]]
        found[nc:] = [((self.n, *shape), d) for shape, d in found[nc:]]
        return found

    def lower_into(self, lowering: Any, eqn: Any) -> bool:
        """Add the loop to a program that is being compiled."""
        if lowering.target.is_grid:
            from linad.control.device_loops import lower_repeat

            return lower_repeat(lowering, eqn)
        from linad.control.lowering_loops import lower

        return lower(lowering, eqn)

    def _run(self, *values: Any) -> tuple[Any, ...]:
        if self.counted and values[0] == 0:  # nothing to compile
            return self.by_numpy(values)
        return super()._run(*values)

    def operations(self, values: Sequence[Any]) -> int:
        return (int(values[0]) if self.counted else self.n) * operations_of(self.body)

    def by_numpy(
        self, values: Sequence[Any], runs: Callable[..., Any] | None = None
    ) -> tuple[Any, ...]:
        """Run the body once for each repetition, by NumPy or by ``runs(body, values)``."""
        body, n = self.body, self.n
        runs = runs or run_tape
        if self.counted:
            n, values = 0 if end_at_once() else int(values[0]), values[1:]
        nc, nx = body.carries, body.rows
        given = [
            np.array(v, dtype=var.dtype) for v, var in zip(values, body.tape.inputs, strict=True)
        ]
        carry, rows, constants = given[:nc], given[nc : nc + nx], given[nc + nx :]
        made = [np.zeros(shape, dtype) for shape, dtype in self.results[nc:]]
        for k in range(n - 1, -1, -1) if self.reverse else range(n):
            found = runs(body, [v[()] for v in (*carry, *[x[k] for x in rows], *constants)])
            carry = [
                np.array(v, dtype=c.dtype).reshape(c.shape)
                for v, c in zip(found[:nc], carry, strict=True)
            ]
            for y, v in zip(made, found[nc:], strict=True):
                y[k] = v
        return tuple([v[()] for v in (*carry, *made)])

    def _linearized(self, values: Sequence[Any], active: Sequence[int]) -> tuple[Any, Any]:
        for way in SHORTER:
            if (found := way(self, values, active)) is not None:
                return found.results, found
        J = RepeatJacobian(self, list(values), tuple(active))
        return J.results, J


def _in_rows(eqn: Any) -> Any:
    from linad.control.whole_rows import in_rows

    return in_rows(eqn)


def repeat(body: Body, n: int, reverse: bool = False, counted: bool = False) -> Repeat:
    """The primitive that repeats a body; one for all who ask."""
    key = "repeat", n, reverse, counted
    return body.once(key, lambda: Repeat(body, n, reverse, counted))  # type: ignore[no-any-return]


class RepeatJacobian(JacobianOperator):
    """The derivative of a loop: a map between tuples of arrays.

    Parameters
    ----------
    owner : Repeat
    values : list
        The operands, plain or traced.
    active : tuple of int
        Operands that have tangents.

    Attributes
    ----------
    results : tuple
        What the loop computes.
    moving : list of int
        Results that have a derivative: comparisons alone do not.

    Notes
    -----
    Keeps the carries that the pull reads, or what it reads of them, a row for each repetition.
    """

    unknown = EVERYTHING

    owns_result = True

    keeps = False  # of pickles from before anything was kept but carries

    def __init__(self, owner: Repeat, values: list[Any], active: tuple[int, ...]) -> None:
        self.owner = owner
        self.count = values[:1] if owner.counted else []
        first = len(self.count)
        self.values = values[first:]
        self.active = tuple([i - first for i in active])
        body = owner.body
        every = tuple(range(len(body.outputs)))
        self.moving = body.activity(self.active)[1]
        self.keeps = keeping.get()
        self.kept = self._pull(every, ()).kept if self.moving else ()
        found = self._repeat(body.keeping(self.kept), owner.reverse, values[first:])
        count = len(body.outputs)
        self.results, self.carries = tuple(found[:count]), found[count:]
        self.in_slots = [Slot(self.values[i]) for i in self.active]
        self.out_slots = [Slot(v) for v in self.results]
        dtypes = [s.dtype for s in (*self.in_slots, *self.out_slots)]
        super().__init__((), (), np.result_type(*dtypes))

    def _pull(self, given: tuple[int, ...], seeds: Any) -> Any:
        return pull_of(self.owner.body, self.active, given, seeds, self.keeps)

    def _repeat(self, body: Body, reverse: bool, values: Sequence[Any]) -> Any:
        owner = self.owner
        return repeat(body, owner.n, reverse, owner.counted)(*self.count, *values)

    def pushforward(self, tangent: Any) -> Any:
        if not self.moving:
            return (None,) * len(self.out_slots)
        body = self.owner.body
        nc, nx = body.carries, body.rows
        seeds = seeds_of(tangent, self.in_slots)
        push = push_of(body, self.active, seeds)
        given = dict(zip(self.active, tangent, strict=True))
        tangents = {}
        for i in push.inputs:
            t = given.get(i)
            t = Slot(self.values[i]).zeros(seeds) if t is None else t
            tangents[i] = _rows_first(t, seeds) if nc <= i < nc + nx else t
        operands: list[Any] = []
        for low, high in ((0, nc), (nc, nc + nx), (nc + nx, len(self.values))):
            operands += self.values[low:high]
            operands += [tangents[i] for i in push.inputs if low <= i < high]
        with linear_in_seeds(tangent):
            found = self._repeat(push.body, self.owner.reverse, operands)[nc:]
        pushed: list[Any] = [None] * len(body.outputs)
        for j, t in zip([*push.carried, *push.outputs], found, strict=True):
            pushed[j] = t if j < nc else _rows_last(t, seeds)
        return tuple(pushed)

    def pullback(self, cotangent: Any) -> Any:
        body = self.owner.body
        given = [j for j in self.moving if cotangent[j] is not None]
        if not given:
            return (None,) * len(self.in_slots)
        nc = body.carries
        seeds = seeds_of(cotangent, self.out_slots)
        pull = self._pull(tuple(given), seeds)
        operands = [
            self.out_slots[i].zeros(seeds) if cotangent[i] is None else cotangent[i]
            for i in pull.carried
        ]
        operands += [Slot(self.values[i]).zeros(seeds) for i in pull.held]
        operands += [self.carries[self.kept.index(v)] for v in pull.kept]
        operands += [self.values[i] for i in pull.rows]
        operands += [_rows_first(cotangent[j], seeds) for j in pull.given]
        operands += [self.values[i] for i in pull.constants]
        with linear_in_seeds(cotangent):
            found = self._repeat(pull.body, not self.owner.reverse, operands)
        moved = len(pull.carried) + len(pull.held)
        found = [*found[:moved], *[_rows_last(w, seeds) for w in found[moved:]]]
        between = [i for i in pull.inputs if nc <= i < nc + body.rows]
        pulled = dict(zip([*pull.carried, *pull.held, *between], found, strict=True))
        return tuple([pulled.get(i) for i in self.active])


    def _opens(self) -> bool:
        """Whether it is gone through operation by operation where there is NaN."""
        owner = self.owner
        many = owner.n * len(owner.body.tape.equations) > MOST_OPERATIONS
        return not owner.counted and owner.n > 0 and not many

    def loses_zeros(self, asked: list[Any], behind: bool) -> bool:
        given = tuple([j for j in self.moving if not is_read_nowhere(asked[j])])
        if not (self._opens() and given):
            return False
        pull = self._pull(given, ())
        whole = {j for j in given if asked[j] is None}
        return pull.zeros.lost(whole.issuperset([*pull.carried, *pull.given]), behind)

    def made_of(self) -> Any:
        owner, body = self.owner, self.owner.body.unguarded
        nc, nx = body.carries, body.rows
        if not self._opens():
            return None

        def run(leaves: list[Any]) -> list[Any]:
            given = list(self.values)
            for i, leaf in zip(self.active, leaves, strict=True):
                given[i] = leaf
            carries, rows, constants = given[:nc], given[nc : nc + nx], given[nc + nx :]
            made: list[list[Any]] = []
            for k in range(owner.n - 1, -1, -1) if owner.reverse else range(owner.n):
                found = run_tape(body, [*carries, *[x[k] for x in rows], *constants])
                carries = [
                    cast(c, v.dtype) for c, v in zip(found[:nc], body.tape.inputs, strict=False)
                ]
                made.append(found[nc:])
            if owner.reverse:
                made.reverse()
            return [*carries, *[np.stack(column) for column in zip(*made, strict=True)]]

        chosen = [self.values[i] for i in self.active]
        return linearize_leaves(run, chosen, tree.flatten(chosen)[1])[1]


def _rows_first(a: Array, seeds: Shape) -> Any:
    """The axis of rows before those of seeds."""
    return np.moveaxis(a, len(seeds), 0) if seeds else a


def _rows_last(a: Array, seeds: Shape) -> Any:
    return np.moveaxis(a, 0, len(seeds)) if seeds else a
