"""Tapes as functions of plain numbers, written out: what takes small arrays through one often does
not look up its operations each time.

The text of a function is one line an operation; what they are, their parameters and constants are
given to it from outside, so that a tape that is recorded anew is compiled once.
"""

import functools
from collections.abc import Callable
from typing import Any

from linad.core.tape import Tape, Var

KEPT = 64
"""Texts that are kept compiled."""


def written(tape: Tape) -> Callable[..., tuple[Any, ...]]:
    """A tape without its guards as a function of its inputs, plain arrays, in their order."""
    names: dict[Var, str] = {}
    held: list[Any] = []

    def name_of(a: Any) -> str:
        """The name of an operand, or of something that the text is given."""
        if isinstance(a, Var):
            return names.setdefault(a, f"v{len(names)}")
        held.append(a)
        return f"c{len(held) - 1}"

    takes = ", ".join([name_of(var) for var in tape.inputs])
    lines = []
    for eqn in tape.equations:
        if eqn.primitive.guards:
            continue
        given = [name_of(a) for a in eqn.inputs]
        numbers = all([getattr(a, "shape", ()) == () for a in eqn.inputs])
        called = name_of((eqn.primitive.on_numbers if numbers else None) or eqn.primitive.impl)
        given += [f"**{name_of(eqn.params)}"] if eqn.params else []
        several = "" if eqn.primitive.outputs is None else ", "
        made = ", ".join([name_of(var) for var in eqn.outputs])
        lines.append(f"{made}{several} = {called}({', '.join(given)})")
    lines.append(f"return ({''.join([name_of(a) + ', ' for a in tape.outputs])})")
    body = "\n        ".join(lines)
    constants = ", ".join([f"c{k}" for k in range(len(held))])
    text = f"def make({constants}):\n    def run({takes}):\n        {body}\n    return run\n"
    return _maker(text)(*held)  # type: ignore[no-any-return]


@functools.lru_cache(KEPT)
def _maker(text: str) -> Callable[..., Any]:
    """What makes a function of that text."""
    scope: dict[str, Any] = {}
    exec(compile(text, "<written tape>", "exec"), scope)
    return scope["make"]  # type: ignore[no-any-return]
