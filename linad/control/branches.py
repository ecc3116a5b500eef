"""A choice between programs, as a primitive: its push and its pull are choices again."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.control.bodies import Body, cast, run_tape
from linad.control.body_trace import BodyTrace
from linad.control.closures import plain
from linad.control.control_primitive import ControlPrimitive
from linad.control.known_bodies import known
from linad.control.lifted_numbers import with_numbers_lifted
from linad.core import tree
from linad.core.array_type import Array
from linad.core.shapes import Shape, is_inexact
from linad.core.tape import needed, tape_of
from linad.core.zero_seeds import zero_seeds
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.transforms.linearize import linearize_leaves
from linad.transforms.record import node_of
from linad.transforms.spaces import Slot, seeds_of

Numbers = tuple[int, ...]
"""Of operands, or of results."""


class Branch(ControlPrimitive):
    """One of several programs, by an index that is the first operand.

    Parameters
    ----------
    bodies : tuple of Body
        Of the same operands, all constants, and of results of the same shapes and dtypes.
    """

    def __init__(self, bodies: tuple[Body, ...]) -> None:
        name = f"branch({', '.join(b.tape.name for b in bodies)})"
        super().__init__(name, bodies[0], len(bodies[0].outputs), bodies)

    form = "branch"

    def remade(self, bodies: Sequence[Body]) -> "Branch":
        return branch_of(tuple(bodies))

    @property
    def options(self) -> tuple[Any, ...]:
        return (self.form,)

    def __reduce__(self) -> tuple[Any, ...]:
        return branch_of, (self.parts,)

    @property
    def shapes(self) -> list[tuple[Shape, Any]]:
        """Shape and dtype of each operand."""
        operands = [(v.shape, v.dtype) for v in self.body.tape.inputs]
        return [((), np.dtype(np.int64)), *operands]

    @property
    def results(self) -> list[tuple[Shape, Any]]:
        """Shape and dtype of each result."""
        return [(v.shape, v.dtype) for v in self.body.outputs]

    def lower_into(self, lowering: Any, eqn: Any) -> bool:
        """Add the choice to a program that is being compiled."""
        if lowering.target.is_grid:
            from linad.control.device_loops import lower_branch

            return lower_branch(lowering, eqn)
        from linad.control.lowering_branches import lower_branch

        return lower_branch(lowering, eqn)

    def by_numpy(self, values: Sequence[Any], runs: Any = None) -> tuple[Any, ...]:
        """Run the branch by NumPy, or by ``runs(body, values)``."""
        body = self.parts[int(values[0])]
        found = (runs or run_tape)(body, list(values[1:]))
        return tuple(
            [np.array(v, dtype=d)[()] for v, (_, d) in zip(found, self.results, strict=True)]
        )

    def _linearized(self, values: Sequence[Any], active: Sequence[int]) -> tuple[Any, Any]:
        J = BranchJacobian(self, list(values), tuple(active))
        return J.results, J


def branch_of(bodies: tuple[Body, ...]) -> Branch:
    """The primitive of these bodies; one for all who ask."""
    key = "branch", tuple([id(b) for b in bodies[1:]])
    found = bodies[0].once(key, lambda: Branch(bodies))
    return found  # type: ignore[no-any-return]


class BranchJacobian(JacobianOperator):
    """The derivative of a choice: that of the branch that was taken."""

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, owner: Branch, values: list[Any], active: tuple[int, ...]) -> None:
        self.owner, self.index, self.values = owner, values[0], values[1:]
        self.active = tuple([i - 1 for i in active])
        self.results = tuple(owner(*values))
        self.moving = [j for j, (_, d) in enumerate(owner.results) if is_inexact(d)]
        self.in_slots = [Slot(self.values[i]) for i in self.active]
        self.out_slots = [Slot(v) for v in self.results]
        dtypes = [s.dtype for s in (*self.in_slots, *self.out_slots)]
        super().__init__((), (), np.result_type(*dtypes))

    def _derived(self, kind: str, active: Numbers, moving: Numbers, seeds: Shape) -> Branch:
        def made(body: Body) -> Body:
            key = kind, active, moving, seeds
            return body.once(key, lambda: _derived(body.unguarded, kind, active, moving, seeds))  # type: ignore[no-any-return]

        return branch_of(tuple([made(b) for b in self.owner.parts]))

    # What has no seed is left out: zero times an infinite slope would be NaN.

    def pushforward(self, tangent: Any) -> Any:
        seeds = seeds_of(tangent, self.in_slots)
        given = [(i, t) for i, t in zip(self.active, tangent, strict=True) if t is not None]
        active, moving = tuple([i for i, _ in given]), tuple(self.moving)
        push = self._derived("push", active, moving, seeds)
        found = push(self.index, *self.values, *[t for _, t in given])
        pushed: list[Any] = [None] * len(self.results)
        for j, t in zip(moving, found, strict=True):
            pushed[j] = t
        return tuple(pushed)

    def pullback(self, cotangent: Any) -> Any:
        seeds = seeds_of(cotangent, self.out_slots)
        given = [(j, cotangent[j]) for j in self.moving if cotangent[j] is not None]
        pull = self._derived("pull", self.active, tuple([j for j, _ in given]), seeds)
        return tuple(pull(self.index, *self.values, *[w for _, w in given]))


def _derived(body: Body, kind: str, active: Numbers, moving: Numbers, seeds: Shape) -> Body:
    """The push or the pull of one branch."""
    recorder = BodyTrace()
    ins = [recorder.input(v) for v in body.example]
    with recorder:
        chosen = [ins[i] for i in active]

        def run(leaves: list[Any]) -> list[Any]:
            given = list(ins)
            for i, leaf in zip(active, leaves, strict=True):
                given[i] = leaf
            found = body.tape.run(given)
            return [v if hasattr(v, "dtype") else np.asarray(v) for v in (found[j] for j in moving)]

        _, J = linearize_leaves(run, chosen, tree.flatten(chosen)[1])
        slots, wanted = (J.in_slots, J.out_slots) if kind == "push" else (J.out_slots, J.in_slots)
        given = [recorder.input(s.zeros(seeds)) for s in slots]
        apply = J.push_leaves if kind == "push" else J.pull_leaves
        with zero_seeds():
            pushed = apply(given, seeds)
        found = [cast(v, s.dtype) for v, s in zip(pushed, wanted, strict=True)]
        outputs = [node_of(recorder, v) for v in found]
    nodes = [t._node for t in (*ins, *given)]
    tape = tape_of(f"{kind} {body.tape.name}", nodes, needed(recorder.equations, outputs), outputs)
    return known(Body(tape, [t.concrete for t in (*ins, *given)], 0, 0))


def branch(index: Array, leaves: list[Any], recorded: Sequence[Any]) -> tuple[Any, ...]:
    """Run the branch of that index, of functions that were recorded on ``leaves``.

    Parameters
    ----------
    index : int or array
    leaves : list
    recorded : sequence of (name, inputs, recorder, results)
    """
    captured = [entry for _, _, recorder, _ in recorded for entry in recorder.captured]
    bodies = []
    for name, inputs, recorder, found in recorded:
        own = {id(t) for _, t in recorder.captured}
        # What only other branches refer to is an operand as well, which this one does not read.
        others = [t._node if id(t) in own else recorder.input(t._value)._node for _, t in captured]
        outputs = [node_of(recorder, v) for v in found]
        nodes = [*inputs, *others]
        tape = tape_of(name, nodes, needed(recorder.equations, outputs), outputs)
        example = [*[plain(v) for v in leaves], *[t._value for _, t in captured]]
        bodies.append(known(Body(tape, example, 0, 0)))
    operands = [*leaves, *[held for held, _ in captured]]
    bodies, operands = with_numbers_lifted(bodies, operands)
    return branch_of(tuple(bodies))(index, *operands)
