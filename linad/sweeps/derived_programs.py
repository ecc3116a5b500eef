"""The programs of a derivative of a compiled tape: one forward, and its sweeps.

    forward    x -> y, residuals
    sweep      residuals, seed -> the seed pushed forward, or pulled back

They are recorded from the tape by its rules. Residuals are what the sweeps read of the forward
program. The numbers that this is done on warn of nothing: compiled code does not either, and what
the function itself has done under `numpy.errstate` is done anew here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core import tree
from linad.core.marks import outside_of_traces
from linad.core.primitive import innermost_trace
from linad.core.shapes import Shape
from linad.core.tape import Equation, Var, needed, tape_of
from linad.core.zero_seeds import read_results, zero_seeds
from linad.transforms.linearize import linearize_leaves
from linad.transforms.record import RecordTrace, node_of
from linad.transforms.spoilt_zeros import refuse_nan

if TYPE_CHECKING:
    from linad.sweeps.compiled import Compiled


MODES = ("pull", "push")


class Derived:
    """The forward program of a derivative and its sweeps.

    Parameters
    ----------
    primitive : Compiled
    active : tuple of int
        Arguments that are differentiated.
    mode : str or None
        "push" or "pull"; None for both, with the results of the tape as well.
    seeds : tuple of int
        Leading axes of the seeds.
    """

    def __init__(
        self, primitive: "Compiled", active: tuple[int, ...], mode: str | None, seeds: Shape
    ) -> None:
        tape = primitive.tape
        recorder = RecordTrace()
        inputs = [recorder.input(v) for v in primitive.example]
        nodes = [t._node for t in inputs]
        with outside_of_traces(), recorder, read_results(), np.errstate(all="ignore"):
            chosen = [inputs[i] for i in active]

            def run(leaves: list[Any]) -> list[Any]:
                given = list(inputs)
                for i, leaf in zip(active, leaves, strict=True):
                    given[i] = leaf
                return tape.run(given)

            results, J = linearize_leaves(run, chosen, tree.flatten(chosen)[1])
            cut = len(recorder.equations)
            outputs = [node_of(recorder, r) for r in results]
            sweeps = {}
            for kind in MODES if mode is None else (mode,):
                sweeps[kind] = self._record(recorder, J, kind, seeds)
        equations = recorder.equations
        views = _ViewsOf(nodes, equations[:cut])
        used: list[Var] = []
        parts = {}
        for kind, (seeded, found, first, last) in sweeps.items():
            body = needed(equations[first:last], found)
            body = [*views.taken_again(body, found), *body]
            made = {v for eqn in body for v in eqn.outputs} | set(seeded)
            reads = [a for eqn in body for a in eqn.inputs] + found
            reads = list(dict.fromkeys(r for r in reads if isinstance(r, Var)))
            parts[kind] = (seeded, found, body, made)
            used += [a for a in reads if a not in made]
        # A residual that is an argument is kept as it is.
        used = list(dict.fromkeys(used))
        self.arguments = [nodes.index(v) if v in nodes else -1 for v in used]
        computed = [v for v, i in zip(used, self.arguments, strict=True) if i < 0]
        wanted = [*outputs, *computed] if mode is None else computed
        self.results = len(outputs) if mode is None else 0
        forward = needed(equations[:cut], wanted)
        self.forward = _compiled(f"{tape.name}, linearized", nodes, forward, wanted, primitive)
        self.sweeps = {
            kind: self._sweep(f"{kind} {tape.name}", used, seeded, body, found, primitive)
            for kind, (seeded, found, body, _) in parts.items()
        }

    def _sweep(
        self, name: str, used: Any, seeded: Any, body: Any, found: Any, like: "Compiled"
    ) -> "Compiled":
        def example() -> list[Any]:
            # Not any numbers: a matrix among them, say, has to be one that can be solved with.
            with np.errstate(all="ignore"):
                computed = iter(self.forward.tape.run(like.example)[self.results :])
            residuals = [like.example[i] if i >= 0 else next(computed) for i in self.arguments]
            return residuals + [np.ones(v.shape, v.dtype) for v in seeded]

        return like.another(tape_of(name, [*used, *seeded], body, found), example)

    @staticmethod
    def _record(recorder: RecordTrace, J: Any, kind: str, seeds: Shape) -> Any:
        first = len(recorder.equations)
        slots = J.out_slots if kind == "pull" else J.in_slots
        given = [recorder.input(slot.zeros(seeds)) for slot in slots]
        apply = J.pull_leaves if kind == "pull" else J.push_leaves
        with zero_seeds():
            results = apply(given, seeds)
        if kind == "pull":
            refuse_nan(recorder, J, results)
        found = [node_of(recorder, r) for r in results]
        return [t._node for t in given], found, first, len(recorder.equations)

    def run(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """Results and residuals at a point."""
        if not self.forward.outputs:
            found: Any = ()
        elif innermost_trace(tuple(values)) is None:
            found = self.forward.arrays(values)
        else:
            found = self.forward(*values)
        results, computed = found[: self.results], iter(found[self.results :])
        return results, [values[i] if i >= 0 else next(computed) for i in self.arguments]


def _compiled(name: str, inputs: Any, equations: Any, outputs: Any, like: "Compiled") -> "Compiled":
    tape = tape_of(name, inputs, equations, outputs)
    return like.another(tape, lambda: list(like.example))


class _ViewsOf:
    """Views of arguments, which a sweep takes again: to keep one would be to copy it.

    Parameters
    ----------
    arguments : list of Var
    equations : list of Equation
        Of the forward program.
    """

    def __init__(self, arguments: list[Var], equations: list[Equation]) -> None:
        self.made: dict[Var, list[Equation]] = {v: [] for v in arguments}
        arrays = {v: np.empty(v.shape, v.dtype) for v in arguments}  # memory that nobody touches
        for eqn in equations:
            shown = arrays.get(eqn.inputs[0]) if eqn.primitive.view else None
            if shown is not None and len(eqn.inputs) == 1:
                found = eqn.primitive.impl(shown, **eqn.params)
                if np.may_share_memory(found, shown):  # no copy, as a gather would be
                    arrays[eqn.outputs[0]] = found
                    self.made[eqn.outputs[0]] = [*self.made[eqn.inputs[0]], eqn]

    def taken_again(self, body: list[Equation], found: list[Any]) -> list[Equation]:
        """The equations that make what a sweep reads of them."""
        reads = [a for eqn in body for a in eqn.inputs] + found
        chains = [self.made.get(a, ()) for a in reads if isinstance(a, Var)]
        return list(dict.fromkeys([eqn for chain in chains for eqn in chain]))
