"""What is done with the statements of a kernel once they are written."""

from collections.abc import Sequence
from typing import Any

from linad.errors import KernelError
from linad.kernels.expression_source import joined, kind_of
from linad.kernels.expressions import Expr, Kind, names, nodes, rebuilt_or_none
from linad.kernels.function_source import FunctionSource
from linad.kernels.statements import For, If, Let, New, Statement, WhileLoop, expressions, walk


def infer_kinds(body: list[Statement], kinds: dict[str, Kind]) -> None:
    """Find the kinds of the scalars that statements assign, and enter them."""
    changed = True
    while changed:
        changed = False
        for s in walk(body):
            if isinstance(s, For):
                found = "i"
            elif isinstance(s, Let):
                found = kind_of(s.value, kinds)
            else:
                continue
            known = kinds.get(s.name)
            new = found if known is None else joined([known, found])  # type: ignore[list-item]
            if new != known:
                kinds[s.name] = new
                changed = True


def make_first(
    body: list[Statement], parameters: Sequence[str], source: FunctionSource
) -> list[Statement]:
    """Take arrays that are made within loops and branches out of these, to the top."""
    definitions: dict[str, list[Expr]] = {}
    unstable: set[str] = set()
    for s in walk(body):
        if isinstance(s, Let):
            definitions.setdefault(s.name, []).append(s.value)
        elif isinstance(s, For):
            unstable.add(s.name)
    made = {s.array: s for s in walk(body) if isinstance(s, New)}

    def resolved(e: Expr) -> Expr | None:
        if e.op == "dim" and e.parts[0] in made:
            return resolved(made[e.parts[0]].dims[e.parts[1]])
        if e.op == "get" or (e.op == "var" and e.parts[0] in unstable):
            return None
        if e.op == "var" and e.parts[0] in definitions:
            found = definitions[e.parts[0]]
            if len(found) > 1 or e.parts[0] in parameters:
                return None
            return resolved(found[0])
        return rebuilt_or_none(e, resolved)

    first: list[Statement] = []

    def without(body: list[Statement], top: bool) -> list[Statement]:
        kept: list[Statement] = []
        for s in body:
            if isinstance(s, New):
                dims = [resolved(d) for d in s.dims]
                if None not in dims:
                    s.dims = tuple([d for d in dims if d is not None])
                    s.in_turn = not top
                    first.append(s)
                    continue
                if not top:
                    raise KernelError(
                        f"kernel {source.name}: an array whose length varies is "
                        f"made within a loop or branch; make it before, as long as needed\n"
                        f"  {source.file}\n    {s.comment}"
                    )
            if isinstance(s, (For, WhileLoop)):
                s.body = without(s.body, False)
            elif isinstance(s, If):
                s.yes, s.no = without(s.yes, False), without(s.no, False)
            kept.append(s)
        return kept

    rest = without(body, True)
    return [*first, *rest]


def pruned(body: list[Statement], results: Sequence[Any]) -> list[Statement]:
    """Leave out scalars that nothing reads, and branches without statements."""
    while True:
        used: set[str] = set()
        for s in walk(body):
            for e in expressions(s):
                used |= {n.parts[0] for n in nodes(e) if n.op == "var"}
        for r in results:
            if isinstance(r, Expr):
                used |= names(r)
        size = sum(1 for _ in walk(body))
        body = _pruned(body, used)
        if sum(1 for _ in walk(body)) == size:
            return body


def _pruned(body: list[Statement], used: set[str]) -> list[Statement]:
    kept: list[Statement] = []
    for s in body:
        if isinstance(s, Let) and s.name not in used:
            continue
        if isinstance(s, (For, WhileLoop)):
            s.body = _pruned(s.body, used)
        if isinstance(s, For) and not s.body:
            continue
        if isinstance(s, If):
            s.yes, s.no = _pruned(s.yes, used), _pruned(s.no, used)
            if not s.yes and not s.no:
                continue
        kept.append(s)
    return kept
