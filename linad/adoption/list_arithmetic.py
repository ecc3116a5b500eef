"""Arithmetic of lists beside arrays, in code that is compiled anew.

    V - [a, b]      a list of traced numbers beside a plain array is an array, as NumPy makes it
    V > rows        as well

NumPy asks the list for its numbers, and they are refused. So `binary` looks at both sides, in a
copy of the statement that runs while a trace does. At first that is done where a list stands, or a
name that one is bound to; in functions where arithmetic was refused, everywhere.
"""

import ast
import copy
from typing import Any

from linad.adoption.exchanges import PLAIN

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.FloorDiv: "floordiv",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
"""Names that `operator` has."""

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DISPLAYS = (ast.List, ast.ListComp, ast.Tuple)
_MAKERS = ("list", "tuple", "sorted")
_NO_LISTS = (ast.Constant, ast.JoinedStr, ast.Compare, ast.BoolOp, ast.Dict, ast.Set)


def _is_list(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is a list as it stands, or a name of one."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _MAKERS
    return isinstance(node, _DISPLAYS)


def _names_of_lists(node: Any) -> set[str]:
    """The names that a function binds to lists."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Assign) and _is_list(part.value, set()):
            found.update([target.id for target in part.targets if isinstance(target, ast.Name)])
    return found


class _Sides(ast.NodeTransformer):
    """One expression, with both sides of its arithmetic looked at; a lambda has its own."""

    def __init__(self, names: set[str], everywhere: bool) -> None:
        self.names, self.everywhere = names, everywhere
        self.changed = False

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        return self._looked_at(node, node.left, node.op, node.right)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) > 1:
            return node
        return self._looked_at(node, node.left, node.ops[0], node.comparators[0])

    def _looked_at(self, node: ast.expr, left: ast.expr, op: ast.AST, right: ast.expr) -> Any:
        name, sides = OPERATORS.get(type(op)), (left, right)
        if name is None or any(isinstance(side, _NO_LISTS) for side in sides):
            return node
        if not self.everywhere and not any(_is_list(side, self.names) for side in sides):
            return node
        self.changed = True
        helper = ast.Name("_linad_binary", ast.Load())
        return ast.copy_location(ast.Call(helper, [left, right, ast.Constant(name)], []), node)


class ListArithmetic(ast.NodeTransformer):
    """A module whose functions look at both sides of arithmetic while a trace runs.

    Parameters
    ----------
    everywhere : bool
        Not only where a list is seen.
    """

    def __init__(self, everywhere: bool) -> None:
        self.everywhere = everywhere
        self.scopes: list[set[str]] = []

    def _visit_scope(self, node: Any) -> Any:
        self.scopes.append(_names_of_lists(node))
        self.generic_visit(node)
        if isinstance(node, ast.Lambda):
            node.body = self._either(node.body)
        self.scopes.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_scope

    def _looked_at(self, node: Any) -> Any:
        """A copy in which both sides are looked at; None if that is the same.

        Nor is a lambda copied, which is found by its line.
        """
        if not self.scopes or any(isinstance(part, ast.Lambda) for part in ast.walk(node)):
            return None
        sides = _Sides(set().union(*self.scopes), self.everywhere)
        new = sides.visit(copy.deepcopy(node))
        return new if sides.changed else None

    def _either(self, node: ast.expr) -> ast.expr:
        new = self._looked_at(node)
        if new is None:
            return node
        return ast.copy_location(ast.IfExp(ast.Name(PLAIN, ast.Load()), node, new), node)

    def _visit_statement(self, node: Any) -> Any:
        self.generic_visit(node)  # for lambdas
        new = self._looked_at(node)
        if new is None:
            return node
        return ast.copy_location(ast.If(ast.Name(PLAIN, ast.Load()), [node], [new]), node)

    visit_Assign = visit_AnnAssign = visit_AugAssign = _visit_statement
    visit_Return = visit_Expr = _visit_statement

    def _visit_test(self, node: Any) -> Any:
        self.generic_visit(node)
        node.test = self._either(node.test)
        return node

    visit_If = visit_While = visit_Assert = _visit_test

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.iter = self._either(node.iter)
        return node
