"""How long results are, where that depends on what a kernel computes: a program of its own.

kept = []                                   count = 0
for v in x:                                 for k in range(len(x)):
    if v > 0.5:                becomes          if x[k] > 0.5:
        kept.append(v * v)                          count += 1
return np.array(kept)                       lengths[0] = count
"""

from collections.abc import Iterable, Sequence

from linad.kernels.analysis import KernelProgram
from linad.kernels.expressions import ArrayKind, Expr, names, nodes, num
from linad.kernels.statements import (
    Check,
    Grow,
    Put,
    Statement,
    bodies,
    expressions,
    reads,
    walk,
    with_bodies,
    written,
)


def program_of_lengths(
    program: KernelProgram,
    arguments: Sequence[str],
    body: Sequence[Statement],
    lengths: Sequence[Expr],
    slot: str,
) -> KernelProgram:
    """What is left of a body if nothing but these integers is wanted; ``slot`` takes them."""
    puts: list[Statement] = [Put(slot, (num(k),), n) for k, n in enumerate(lengths)]
    needed = needed_for(body, set().union(*map(names, lengths)))
    return KernelProgram(
        f"{program.name}_lengths",
        [*arguments, slot],
        {**program.kinds, slot: ArrayKind("int64", 1)},
        [*sliced(body, needed), *puts],
    )


def needed_for(body: Sequence[Statement], wanted: Iterable[str]) -> set[str]:
    """Names that decide about the values of those that are wanted."""
    needed = set(wanted)
    while True:
        before = len(needed)
        for s in walk([*body]):
            if any([written(t) & needed for t in walk([s])]):
                needed |= reads(s) | written(s)
        if len(needed) == before:
            return needed


def sliced(body: Sequence[Statement], needed: set[str]) -> list[Statement]:
    """The statements that write what is needed, and what is checked of it."""
    out: list[Statement] = []
    for s in body:
        inner = [sliced(b, needed) for b in bodies(s)]
        if not inner:
            grows = isinstance(s, Grow) and s.array in needed
            checks = isinstance(s, Check) and reads(s) <= needed
            if grows or checks or written(s) & needed:
                out.append(s)
        elif any(inner):
            out.append(with_bodies(s, inner))
    return out


def values_read(program: KernelProgram) -> set[str]:
    """The arguments of which values are read, not the lengths alone."""
    found = {
        n.parts[0]
        for s in walk(program.body)
        for e in expressions(s)
        for n in nodes(e)
        if n.op in ("get", "var")
    }
    return found & {*program.arguments}
