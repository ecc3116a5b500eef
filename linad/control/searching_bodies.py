"""Whether a loop searches by comparisons: what can be seen of that in its body.

A bisection carries the ends of an interval, and each next end is one of two: the end as it was, or
a point between them. So is any search by comparisons: some carry becomes, as a decision has it, one
of several combinations of carries with fixed coefficients, of two carries or more; what is compared
goes into the decision alone.

    lo, hi  ->  where(c, lo, (lo + hi) / 2), where(c, (lo + hi) / 2, hi)

A step of time that is halved where it was too long, x + h or x, is of this kind as well. Whether
anything is lost by it `linad.api.hidden_searches` finds out.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from linad.core.tape import Equation, Tape, Var, stop

Form = frozenset[tuple[int, float]]
"""A combination of carries: pairs of a carry and its coefficient."""

Forms = frozenset[Form]
"""What a value may be, as decisions have it."""

MOST = 8
"""Ways in which decisions may have it; what has more is not followed."""

SAME = {"astype", "broadcast_to", "reshape", "copy", "positive", "squeeze", "expand_dims"}
"""Primitives that change no entry."""


def searches(tape: Tape, carries: int) -> bool:
    """Whether a body searches by comparisons, or calls what does.

    Parameters
    ----------
    tape : Tape
        Its first inputs and outputs are the carries.
    carries : int
        How many there are.
    """
    if any([e.primitive is stop for e in tape.equations]):
        return False  # it says what has no derivative
    if any([e.primitive.searches for e in tape.equations]):
        return True
    given = [frozenset({frozenset({(k, 1.0)})}) for k in range(carries)]
    found = followed(tape, [*given, *[None] * (len(tape.inputs) - carries)])
    chosen = [forms for forms in found[:carries] if forms is not None and len(forms) > 1]
    return any([len({k for form in forms for k, _ in form}) > 1 for forms in chosen])


def followed(tape: Tape, given: Sequence[Forms | None]) -> list[Forms | None]:
    """What the outputs of a tape may be, where that is known of its inputs; None where it is not
    a combination of carries."""
    known: dict[Var, Forms | None] = dict(zip(tape.inputs, given, strict=True))
    for eqn in tape.equations:
        operands = [known.get(a) if isinstance(a, Var) else None for a in eqn.inputs]
        if getattr(eqn.primitive, "form", "") == "branch":
            ways = [followed(part.tape, operands[1:]) for part in eqn.primitive.parts]
            for var, *either in zip(eqn.outputs, *ways, strict=True):
                known[var] = _either(either)
        elif any([forms is not None for forms in operands]) and len(eqn.outputs) == 1:
            known[eqn.outputs[0]] = _combined(eqn, operands)
    return [known.get(a) if isinstance(a, Var) else None for a in tape.outputs]


def _combined(eqn: Equation, operands: list[Forms | None]) -> Forms | None:
    """What an operation makes of combinations of carries."""
    name = eqn.primitive.name
    if name in SAME:
        return operands[0]
    if name == "where":
        return _either(operands[1:])
    if name == "negative":
        return _sum(operands[0], operands[0], -1.0, 0.0)
    if len(operands) != 2:
        return None
    a, b = operands
    if name in ("add", "subtract"):
        sign = 1.0 if name == "add" else -1.0
        if a is None or b is None:  # and the other is 0, or no combination
            other = eqn.inputs[0] if a is None else eqn.inputs[1]
            if _number(other) != 0.0:
                return None
            return a or _sum(b, b, sign, 0.0)
        return _sum(a, b, 1.0, sign)
    if name == "multiply":
        forms, factor = (b, _number(eqn.inputs[0])) if a is None else (a, _number(eqn.inputs[1]))
        return None if factor is None else _sum(forms, forms, factor, 0.0)
    if name == "divide":
        divisor = _number(eqn.inputs[1])
        return None if not divisor or a is None else _sum(a, a, 1.0 / divisor, 0.0)
    return None


def _number(a: Any) -> float | None:
    """A constant of a program that is one number; None of anything else."""
    if isinstance(a, Var) or np.size(a) == 0 or np.asarray(a).dtype.kind not in "biuf":
        return None
    entries = np.ravel(a)
    return float(entries[0]) if np.all(entries == entries[0]) else None


def _either(ways: Sequence[Forms | None]) -> Forms | None:
    found: set[Form] = set()
    for forms in ways:
        if forms is None:
            return None
        found |= forms
    return frozenset(found) if len(found) <= MOST else None


def _sum(a: Forms | None, b: Forms | None, p: float, q: float) -> Forms | None:
    """p a + q b, for each of what both may be."""
    if a is None or b is None:
        return None
    made = set()
    for one, other in product(a, b) if q else zip(a, a, strict=True):
        total: dict[int, float] = {}
        for form, factor in ((one, p), (other, q)):
            for k, coefficient in form:
                total[k] = total.get(k, 0.0) + factor * coefficient
        made.add(frozenset([(k, c) for k, c in total.items() if c]))
    return frozenset(made) if len(made) <= MOST else None
