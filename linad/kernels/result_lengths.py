"""How long results are, where that depends on what a kernel computes: a program of its own.

kept = []                                   count = 0
for v in x:                                 for k in range(len(x)):
    if v > 0.5:                becomes          if x[k] > 0.5:
        kept.append(v * v)                          count += 1
return np.array(kept)                       lengths[0] = count
"""

from collections.abc import Iterable, Sequence

from linad.kernels.analysis import KernelProgram
from linad.kernels.expressions import ArrayKind, Expr, nodes, num
from linad.kernels.statements import (
    Check,
    Grow,
    New,
    Put,
    Statement,
    Swap,
    bodies,
    expressions,
    walk,
    with_bodies,
    written,
)

Need = tuple[str, str]
"""The "value" or the "shape" of a name."""


def program_of_lengths(
    program: KernelProgram,
    arguments: Sequence[str],
    body: Sequence[Statement],
    lengths: Sequence[Expr],
    slot: str,
) -> KernelProgram:
    """What is left of a body if nothing but these integers is wanted; ``slot`` takes them."""
    puts: list[Statement] = [Put(slot, (num(k),), n) for k, n in enumerate(lengths)]
    needed = needed_for(body, set().union(*map(needs_of, lengths)))
    return KernelProgram(
        f"{program.name}_lengths",
        [*arguments, slot],
        {**program.kinds, slot: ArrayKind("int64", 1)},
        [*sliced(body, needed), *puts],
        written=program.written,
    )


def needed_for(body: Sequence[Statement], wanted: Iterable[Need]) -> set[Need]:
    """All that decides about what is wanted."""
    needed = set(wanted)
    while True:
        before = len(needed)
        for s in walk([*body]):
            if any([gives(t) & needed for t in walk([s])]):
                needed |= needs(s)
        if len(needed) == before:
            return needed


def needs(s: Statement) -> set[Need]:
    """What a statement reads; who writes an entry needs the array."""
    found = set().union(*[needs_of(e) for e in expressions(s)])
    if isinstance(s, Swap):
        found |= {(kind, name) for name in s.sources for kind in ("value", "shape")}
    arrays = written(s) if isinstance(s, Put) else {s.array} if isinstance(s, Grow) else set()
    return found | {("shape", name) for name in arrays}


def needs_of(e: Expr) -> set[Need]:
    """What an expression reads."""
    found: set[Need] = set()
    for n in nodes(e):
        if n.op in ("var", "get"):
            found.add(("value", n.parts[0]))
        if n.op in ("get", "dim"):
            found.add(("shape", n.parts[0]))
    return found


def gives(s: Statement) -> set[Need]:
    """What a statement itself writes."""
    if isinstance(s, Grow):
        return {("shape", s.array)}
    kinds = ("value", "shape") if isinstance(s, Swap) else ("value",)
    if isinstance(s, New):
        kinds = ("shape",)
    return {(kind, name) for name in written(s) for kind in kinds}


def sliced(body: Sequence[Statement], needed: set[Need]) -> list[Statement]:
    """The statements that write what is needed, and what is checked of it."""
    out: list[Statement] = []
    for s in body:
        inner = [sliced(b, needed) for b in bodies(s)]
        if not inner:
            if gives(s) & needed or (isinstance(s, Check) and needs(s) <= needed):
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
