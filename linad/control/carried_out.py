"""What a template has carried out, as operations of the traces around.

What came before the loop is done there one by one, then all repetitions as one loop, then what has
been done of the next repetition. Values are known by the numbers that `TemplateTrace` gives them.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from linad.arrays.tracer import Tracer
from linad.control.bodies import Body, run_equations
from linad.control.closures import plain
from linad.control.known_bodies import known
from linad.control.loops_of_loops import affordable, repeated
from linad.control.template_steps import BITS, FIXED, MOVING, RELATIVE
from linad.core.tape import Var, needed, tape_of
from linad.transforms.record import naming

if TYPE_CHECKING:
    from linad.control.templates import TemplateTrace


class CarriedOut:
    """The operations of a template that ends.

    Parameters
    ----------
    of : TemplateTrace
    """

    def __init__(self, of: "TemplateTrace") -> None:
        self.of = of

    def _outside(self) -> dict[Any, Any]:
        return {t._node: held for held, t in self.of.captured}

    def one_by_one(self) -> dict[Any, Any]:
        """What has been recorded, before there were steps or within the first repetition."""
        of = self.of
        values: dict[Any, Any] = run_equations(of.equations, self._outside(), of.around)
        if of.steps is not None:  # a part of the first repetition
            known_here = {number: values[v] for v, number in of.number.items()}
            values.update(self._partly(values, known_here))
        return values

    def as_loop(self, held: list[Tracer]) -> dict[Any, Any]:
        """One loop of all repetitions, with what came before it and after; ``held``: the values
        that somebody asks for."""
        of = self.of
        stretch, size = of.stretch, of.size
        equations = stretch.tape.equations
        before = of.places.together(equations[: stretch.start])
        values: dict[Any, Any] = run_equations(before, self._outside(), of.around)
        total = stretch.count + of.repetitions
        made = {v: k for k, e in enumerate(equations) for v in e.outputs}
        last: dict[tuple[int, int], Any] = {}
        any_: dict[tuple[int, int], list[tuple[int, Any]]] = {}
        for t in held:
            node = t._node
            if type(node) is np.ndarray:
                continue
            if isinstance(node, Var):
                if node in values:
                    continue
                k = made[node]
                o = equations[k].outputs.index(node)
            else:
                k, o = node >> BITS, node & (2**BITS - 1)
            j, m = divmod(k - stretch.start, size)
            if j == total - 1:
                last[m, o] = node
            elif j < total:
                any_.setdefault((m, o), []).append((j, node))
        final, stacked = self._loop(values, total, list(last), list(any_))
        for place, node in last.items():
            values[node] = final[place]
        for place, nodes in any_.items():
            for j, node in nodes:
                if node not in values:
                    values[node] = stacked[place][j]
        begin = (of.here - of.at - size) << BITS
        known_here = {begin + (m << BITS) + o: v for (m, o), v in final.items()}
        values.update(self._partly(values, known_here))
        return values

    def _loop(
        self, values: dict[Any, Any], total: int, last: list[Any], rows: list[Any]
    ) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Run all repetitions: what they leave of each carry and of ``last``, and the rows."""
        of = self.of
        stretch = of.stretch
        zero, one = stretch.repetition(0), stretch.repetition(1)
        place = {v: (m, o) for m, e in enumerate(zero) for o, v in enumerate(e.outputs)}
        slots = {place[v]: v for v in stretch.init}
        init: dict[Any, Any] = {place[v]: a for v, a in stretch.init.items()}
        numbers = of.numbers
        for m, o in last:
            if (m, o) not in slots:
                v = one[m].outputs[o]
                slots[m, o] = Var(next(numbers), v.shape, v.dtype)
                init[m, o] = np.zeros(v.shape, v.dtype)
        moving = {k: Var(next(numbers), r.shape[1:], r.dtype) for k, r in stretch.rows.items()}
        body = [
            e.with_inputs(tuple([moving.get((m, i), a) for i, a in enumerate(e.inputs)]))
            for m, e in enumerate(one)
        ]
        inner = {v for e in one for v in e.outputs} | set(slots.values()) | set(moving.values())
        fixed = list(
            dict.fromkeys(
                a for e in body for a in e.inputs if isinstance(a, Var) and a not in inner
            )
        )
        outputs = [one[m].outputs[o] for m, o in (*slots, *rows)]
        ins = [*slots.values(), *moving.values(), *fixed]
        given = [values[a] if isinstance(a, Var) else a for a in init.values()]
        given = [
            a if isinstance(a, Tracer) else np.broadcast_to(np.asarray(a, v.dtype), v.shape)[()]
            for a, v in zip(given, slots.values(), strict=True)
        ]
        arrays = [
            np.concatenate([r, np.array(of.moving[k].values[: of.repetitions], r.dtype)])
            for k, r in stretch.rows.items()
        ]
        others = [values[v] for v in fixed]
        shown = [plain(x) for x in (*given, *[r[0] for r in arrays], *others)]
        shown = [
            np.broadcast_to(np.asarray(x).astype(v.dtype), v.shape)[()]
            for x, v in zip(shown, ins, strict=True)
        ]
        equations = needed(of.places.together(body), outputs)
        tape = tape_of("loop", ins, equations, outputs)
        made = known(Body(tape, shown, len(slots), len(moving)))
        operands = [*given, *arrays, *others]
        with naming(one[0].source, of.around):
            found = repeated(made, total, False, operands, affordable(made, total))
        final = dict(zip(slots, found, strict=False))
        return final, dict(zip(rows, found[len(slots) :], strict=True))

    def _partly(self, values: dict[Any, Any], made: dict[int, Any]) -> dict[Any, Any]:
        """What has been done of the repetition that Python is in, on the traces around."""
        of = self.of
        stretch = of.stretch
        equations = stretch.repetition(stretch.count - 1)
        assert of.steps is not None
        here = (of.here - of.at) << BITS
        made = dict(made)
        for m in range(of.at):
            e, step = equations[m], of.steps[m]
            operands = []
            inputs = step.operands if step.place is None else (*step.operands, (MOVING, step.place))
            for kind, x in inputs:
                if kind == RELATIVE:
                    operands.append(made[here - x])
                elif kind == FIXED:
                    operands.append(values[x])
                else:
                    operands.append(x.values[of.repetitions] if kind == MOVING else x)
            done: Any = step if step.place is None else e
            with naming(e.source, of.around):
                y = done.primitive(*operands, **done.params)
            for o, v in enumerate(y if isinstance(y, tuple) else (y,)):
                made[here + o] = v
            here += 1 << BITS
        return made
