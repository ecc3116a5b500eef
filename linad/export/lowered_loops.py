"""Compiled loops in NumPy source: a ``for``, with the body in it."""

from typing import Any

from linad.control.repeat import Repeat
from linad.core.tape import Equation


def is_loop(eqn: Equation) -> bool:
    """Whether an equation is a loop that is written as one."""
    return isinstance(eqn.primitive, Repeat)


def loop_lines(writer: Any, eqn: Equation) -> list[str]:
    """The lines of a loop; ``writer`` gives names and writes the body."""
    owner: Any = eqn.primitive
    tape, nc, nx = owner.body.tape, owner.body.carries, owner.body.rows
    given = [writer._operand(a) for a in eqn.inputs]
    count = f"int({given.pop(0)})" if owner.counted else str(owner.n)
    names = [writer._fresh(kind) for kind in ["carry"] * nc + ["row"] * nx]
    writer.names |= dict(zip(tape.inputs, [*names, *given[nc + nx :]], strict=True))
    lines = [f"    {name} = {text}" for name, text in zip(names[:nc], given[:nc], strict=True)]
    results = []
    for shape, dtype in owner.results[nc:]:
        results.append(writer._fresh("rows"))
        lines.append(f"    {results[-1]} = np.zeros({shape}, np.{dtype.name})")
    k = writer._fresh("k")
    order = f"reversed(range({count}))" if owner.reverse else f"range({count})"
    lines.append(f"    for {k} in {order}:")
    inside = [
        f"    {name} = {text}[{k}]"
        for name, text in zip(names[nc:], given[nc : nc + nx], strict=True)
    ]
    inside += writer._body(tape.equations)
    made = [writer._operand(a) for a in tape.outputs]
    inside += [f"    {rows}[{k}] = {y}" for rows, y in zip(results, made[nc:], strict=True)]
    if nc:
        inside.append(f"    [{', '.join(names[:nc])}] = [{', '.join(made[:nc])}]")
    lines += ["    " + line for line in inside or ["    pass"]]
    writer.names |= dict(zip(eqn.outputs, [*names[:nc], *results], strict=True))
    return lines
