"""What tells the optimiser that the arrays of a kernel are apart.

A kernel's arrays do not overlap: the caller sees to that. Without being told, LLVM compares the
ends of each pair of arrays before a loop, and gives up vectorising it at eight. Names that are
assigned to one another (``u, v = v, u``) may stand for the same array at different times; they have
one mark.
"""

import ast
from collections.abc import Iterator
from typing import Any


class ArrayMarks:
    """The marks of the arrays of a function.

    Parameters
    ----------
    module : llvmlite.ir.Module
    tree : ast.FunctionDef
    """

    def __init__(self, module: Any, tree: ast.FunctionDef) -> None:
        self.module = module
        self.groups: dict[str, set[str]] = {}
        for target, value in _assignments(tree):
            together = self.groups.get(target, {target}) | self.groups.get(value, {value})
            self.groups.update(dict.fromkeys(together, together))
        made = set().union(*[self.groups.get(n, {n}) for n in _made(tree)])
        domain = module.add_metadata(["arrays"])
        self.scopes = {
            n: module.add_metadata([min(self.groups.get(n, {n})), domain]) for n in sorted(made)
        }

    def of(self, name: str) -> tuple[Any, Any] | None:
        """The mark of an array, and those of which it is apart."""
        mine = self.scopes.get(name)
        if mine is None:
            return None
        others = [s for s in {id(s): s for s in self.scopes.values()}.values() if s is not mine]
        return self.module.add_metadata([mine]), self.module.add_metadata(others)


def statements_of(tree: ast.FunctionDef) -> Iterator[Any]:
    """A function and its statements, without a walk through their expressions: those are many."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for part in ("body", "orelse"):
            block = getattr(node, part, None)
            if isinstance(block, list):
                waiting += reversed(block)


def _named(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else ast.unparse(function)


def _made(tree: ast.FunctionDef) -> Iterator[str]:
    """Names that are given an array at an address, or a new one."""
    for node in statements_of(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            function = _named(node.value.func)
            if function.startswith("array_") or function == "np.zeros":
                yield ast.unparse(node.targets[0])


def _assignments(tree: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Names that are given the array of another name."""
    for node in statements_of(tree):
        if not isinstance(node, ast.Assign):
            continue
        (target,), value = node.targets, node.value
        if isinstance(value, ast.Call) and _named(value.func) == "grown":
            value = value.args[0]
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = [*zip(target.elts, value.elts, strict=True)]
        for a, b in pairs:
            if isinstance(a, ast.Name) and isinstance(b, ast.Name):
                yield a.id, b.id
