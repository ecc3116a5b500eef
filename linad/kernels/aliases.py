"""Which names of a function stand for arrays that may be copied, because nobody could tell."""

import ast
import types
from collections.abc import Iterator, Sequence

from linad.kernels.function_source import FunctionSource, LocalList, name_of_function

NEW = (ast.Call, ast.BinOp, ast.List, LocalList)
"""What makes a new array, or a new list."""

VIEWS = ("reshape", "ravel", "transpose", "ascontiguousarray")
"""Functions and methods that may return other axes of the array they are given."""


def replaced_names(source: FunctionSource) -> set[str]:
    """Names that get other arrays within loops or branches, and of whose arrays no entry is
    written, under any name: such an array can be copied whenever it gets the name.
    """
    groups: dict[str, set[str]] = {}

    def join(names: set[str]) -> None:
        together = set(names)
        for n in names:
            together |= groups.get(n, set())
        for n in together:
            groups[n] = together

    written: set[str] = set()
    replaced: set[str] = set()
    copied = handed_over(source)
    for node, inside in _nodes_of(source):
        if isinstance(node, ast.Assign):
            names = set().union(*map(_stored, node.targets))
            for name in () if id(node) in copied else names:
                join({name, *_shared(node.value)})
            replaced |= names if inside else set()
            written = written.union(*map(_written, node.targets))
        elif isinstance(node, ast.AugAssign):
            written |= _written(node.target) | _stored(node.target)
        elif isinstance(node, ast.For):
            join({*_stored(node.target), *_shared(node.iter)})
        elif isinstance(node, ast.Call) and not _only_reads(source, node):
            given = [node.func, *node.args, *[k.value for k in node.keywords]]
            written |= set().union(*[_shared(a) for a in given])
    spoilt = set().union(*[groups.get(n, {n}) for n in written])
    return replaced - spoilt


def handed_over(source: FunctionSource) -> set[int]:
    """The ids of statements ``u = new`` within loops, after which nobody writes ``new`` or ``u``
    before ``new`` is made again, and nobody uses both after the loop: ``u`` may as well be a copy.
    """
    found = set()
    captured = source.captured
    for loop, behind in _loops(source.tree.body, set()):
        made: set[str] = set()
        for k, s in enumerate(loop.body):
            if not isinstance(s, ast.Assign) or len(s.targets) != 1:
                continue
            target = s.targets[0]
            if not isinstance(target, ast.Name):
                continue
            if isinstance(s.value, NEW) and not _is_view(s.value):
                made.add(target.id)
            elif isinstance(s.value, ast.Name) and s.value.id in made:
                later = set().union(*[_named(after) for after in loop.body[k + 1 :]])
                both = {target.id, s.value.id}
                if not (later | captured) & both and not both <= behind:
                    found.add(id(s))
    return found


def _loops(
    body: Sequence[ast.stmt], behind: set[str]
) -> Iterator[tuple[ast.For | ast.While, set[str]]]:
    """The loops among statements, each with the names that are used once it has ended."""
    for k, s in enumerate(body):
        later = behind.union(*[_named(after) for after in body[k + 1 :]])
        if isinstance(s, (ast.For, ast.While)):
            yield s, later
            for j, inner in enumerate(s.body):  # the next turn begins with what stands before it
                others = [_named(t) for t in (*s.body[:j], *s.body[j + 1 :])]
                yield from _loops([inner], later.union(*others))
        elif isinstance(s, ast.If):
            yield from _loops(s.body, later)
            yield from _loops(s.orelse, later)


def _named(s: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(s) if isinstance(n, ast.Name)}


def _nodes_of(source: FunctionSource) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes of a function, and of those within it, whose names are taken for its own."""
    yield from _nodes(source.tree, False)
    for inner in source.local_sources:
        yield from _nodes_of(inner)


def _nodes(node: ast.AST, inside: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        yield child, inside
        yield from _nodes(child, inside or isinstance(child, (ast.For, ast.While, ast.If)))


def _stored(target: ast.expr) -> set[str]:
    if isinstance(target, ast.Tuple):
        return set().union(*[_stored(t) for t in target.elts])
    return {target.id} if isinstance(target, ast.Name) else set()


def _written(target: ast.expr) -> set[str]:
    if isinstance(target, ast.Tuple):
        return set().union(*[_written(t) for t in target.elts])
    return _shared(target.value) if isinstance(target, ast.Subscript) else set()


def _shared(e: ast.expr) -> set[str]:
    """Names whose arrays the value of an expression may share."""
    if isinstance(e, ast.Name):
        return {e.id}
    if isinstance(e, (ast.Subscript, ast.Attribute)):
        return _shared(e.value)
    if isinstance(e, ast.IfExp):
        return _shared(e.body) | _shared(e.orelse)
    if isinstance(e, ast.Tuple):
        return set().union(*[_shared(x) for x in e.elts])
    if isinstance(e, ast.Call):
        given = [e.func, *e.args] if _is_view(e) else e.args
        return set().union(*[_shared(x) for x in given])
    return set()


def _is_view(e: ast.expr) -> bool:
    return isinstance(e, ast.Call) and getattr(e.func, "attr", "") in VIEWS


def _only_reads(source: FunctionSource, node: ast.Call) -> bool:
    """Whether a call writes into none of its arguments."""
    try:
        function = source.resolved(node.func)
    except (KeyError, AttributeError):
        return isinstance(node.func, ast.Attribute) and node.func.attr != "fill"
    return bool(name_of_function(function)) or not (
        isinstance(function, types.FunctionType) or hasattr(function, "py_func")
    )
