"""Sums in the pieces in which their terms are needed anyway.

The gradient of Σ e(x[1:], x[:-1]) is written piece by piece (`linad.transforms.shifted_sums`), and
the largest piece slices what e is made of. The value is the sum of the same slices,

    Σ e = Σ e[:a] + Σ e[a:b] + Σ e[b:],

so that the loop that writes e's slopes from a to b adds its terms as well, and x is read once.
"""

from collections.abc import Sequence
from typing import Any

from linad.core.tape import Equation, Var, needed
from linad.transforms.rewriting import standing_for
from linad.transforms.shifted_sums import SLICED, WORTHWHILE

ENDS = 8
"""Most rows outside of the piece; they are loops of their own."""

DEPTH = 8
"""Operations under a sum among which slices are looked for."""


def in_pieces(s: Any, outputs: list[Any]) -> tuple[list[Equation], list[Any]]:
    """Equations and results of a simplifier with such sums in pieces."""
    spans: dict[Var, list[tuple[int, int, int]]] = {}
    for v, axis, start, stop in s.slices:
        if stop - start >= max(v.shape[axis] - ENDS, WORTHWHILE):
            spans.setdefault(v, []).append((axis, start, stop))
    stands: dict[Var, Any] = {}
    for eqn in needed(s.equations, outputs) if spans else ():
        if eqn.primitive.name == "sum":
            found = _span(s, eqn, spans)
            if found is not None:
                stands[eqn.outputs[0]] = _summed(s, eqn, *found)
    if not stands:
        return s.equations, outputs
    return _in_order(s.equations, stands), [standing_for(a, stands) for a in outputs]


def _span(s: Any, eqn: Equation, spans: dict[Var, Any]) -> tuple[int, int, int] | None:
    """The largest slice of what is under a sum, along one of its axes."""
    x = eqn.inputs[0]
    found, level = [], [x]
    for _ in range(DEPTH):
        makers = [s.maker(a) for a in level]
        level = [
            b
            for maker in makers
            if maker is not None and maker.primitive.name in SLICED
            for b in dict.fromkeys(a for a in maker.inputs if isinstance(a, Var))
            if b.shape == x.shape
        ]
        found += [span for b in level for span in spans.get(b, ()) if span[0] in eqn.params["axes"]]
    return max(found, key=lambda span: span[2] - span[1], default=None)


def _summed(s: Any, eqn: Equation, axis: int, start: int, stop: int) -> Any:
    """The sum of the piece, then of the ends."""
    x = eqn.inputs[0]
    s.source = eqn.source
    pieces = [(start, stop), (0, start), (stop, x.shape[axis])]
    terms = [
        s.emit_like("sum", [s.windows.sliced(x, axis, low, high)], eqn, **eqn.params)
        for low, high in pieces
        if low < high
    ]
    total = terms[0]
    for term in terms[1:]:
        total = s.emit_like("add", [total, term], eqn)
    return total


def _in_order(equations: Sequence[Equation], stands: dict[Var, Any]) -> list[Equation]:
    """The equations with operands replaced; what is read too early is moved to before that."""
    made_by = {v: eqn for eqn in equations for v in eqn.outputs}
    ordered: list[Equation] = []
    done: set[Equation] = set()
    for first in equations:
        waiting = [first]
        while waiting:
            eqn = waiting[-1]
            inputs = tuple([standing_for(a, stands) for a in eqn.inputs])
            makers = [made_by[a] for a in inputs if isinstance(a, Var) and a in made_by]
            late = [maker for maker in makers if maker not in done]
            if late and eqn not in done:
                waiting += late
                continue
            waiting.pop()
            if eqn not in done:
                done.add(eqn)
                ordered.append(eqn.with_inputs(inputs))
    return ordered
