"""Questions about the user's syntax: what a statement may leave, which names only count."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence


def within(node: ast.AST, loops: bool) -> Iterator[ast.AST]:
    """The statements under a node; those of loops under it only if ``loops``."""
    for child in ast.iter_child_nodes(node):
        yield child
        if loops or not isinstance(child, (ast.For, ast.While)):
            yield from within(child, loops)


def contains(s: ast.stmt, kind: type, own: bool = False) -> bool:
    """Whether a statement has a jump that leads out of it, or, if ``own``, out of its body."""
    if isinstance(s, kind):
        return True
    if kind is not ast.Return and isinstance(s, (ast.For, ast.While)) and not own:
        return False
    return any([isinstance(n, kind) for n in within(s, loops=kind is ast.Return)])


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether statements always end in a jump."""
    for s in body:
        if isinstance(s, (ast.Break, ast.Continue, ast.Return, ast.Raise)):
            return True
        if isinstance(s, ast.If) and leaves(s.body) and leaves(s.orelse):
            return True
    return False


def single_return(tree: ast.FunctionDef) -> bool:
    """Whether a function returns at its end only."""
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Return)]
    return not found or (len(found) == 1 and found[0] is tree.body[-1])


def loop_names(tree: ast.FunctionDef) -> set[str]:
    """Names that only loops assign, and that are read within these loops only."""
    stores: Counter[str] = Counter()
    loads: Counter[str] = Counter()
    heads: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    nested: set[str] = set()

    def visit(node: ast.AST, around: frozenset[str]) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                stores[node.id] += 1
            else:
                loads[node.id] += 1
                inside[node.id] += node.id in around
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            name = node.target.id
            heads[name] += 1
            if name in around:
                nested.add(name)
            visit(node.target, around)
            visit(node.iter, around)
            for s in node.body:
                visit(s, around | {name})
            return
        for child in ast.iter_child_nodes(node):
            visit(child, around)

    visit(tree, frozenset())
    return {n for n in heads if stores[n] == heads[n] and loads[n] == inside[n]} - nested
