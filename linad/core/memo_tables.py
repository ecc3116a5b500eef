"""Tables in which a function keeps what it has computed, as its source shows them.

    if key not in CACHE:
        CACHE[key] = compute(key)
    return CACHE[key]

A table that the function did not make, which it asks for a key, and into which it writes by that
key what does not come from the table. What is kept so may as well be computed anew.
"""

import ast
import linecache
from collections.abc import Iterator
from types import CodeType
from typing import Any

from linad.core.codes import is_of, place_at, place_of

_KNOWN: dict[tuple[CodeType, int], bool] = {}
"""What was found of an instruction."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_memo(frame: Any) -> bool:
    """Whether the table that a frame is asking, for a key, is one."""
    place = frame.f_code, frame.f_lasti
    if place not in _KNOWN:
        _KNOWN[place] = _is_memo(*place)
    return _KNOWN[place]


def _is_memo(code: CodeType, at: int) -> bool:
    function = _function(code)
    where = place_at(code, at)
    if function is None or None in where:
        return False
    for node in ast.walk(function):
        asked = _table_and_key(node) if place_of(node) == where else None
        if asked is not None and _outlives(asked[0], function, code):
            return _keeps(function, *asked)
    return False


def _function(code: CodeType) -> Any:
    """The function as it is in the source; None where that is not to be had."""
    try:
        parsed = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None
    for node in ast.walk(parsed):
        if isinstance(node, _FUNCTIONS) and is_of(node, code):
            return node
    return None


def _table_and_key(node: Any) -> tuple[ast.expr, ast.expr] | None:
    """What an expression asks, or a statement writes into, and by what key."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return (node.comparators[0], node.left) if len(node.ops) == 1 else None
    if isinstance(node, ast.Subscript):
        return node.value, node.slice
    if isinstance(node, ast.Assign):
        return _table_and_key(node.targets[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        return (node.func.value, node.args[0]) if node.func.attr == "get" else None
    return None


def _outlives(table: ast.expr, function: Any, code: CodeType) -> bool:
    """Whether a table is not the function's own: a global, an attribute, one of a function around,
    or another name for one."""
    if isinstance(table, ast.Attribute):
        return True
    if not isinstance(table, ast.Name):
        return False
    if table.id not in (*code.co_varnames, *code.co_cellvars):
        return True
    made = [s.value for s, target in _written(function) if _is_name(target, table.id)]
    return bool(made) and all([isinstance(value, ast.Attribute) for value in made])


def _is_name(target: Any, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _written(function: Any) -> Iterator[tuple[Any, Any]]:
    """The assignments of a function, and their targets."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            yield from [(node, target) for target in node.targets]


def _keeps(function: Any, table: ast.expr, key: ast.expr) -> bool:
    """Whether a function writes what it computes into a table by a key, and changes it never."""
    place = ast.dump(table), ast.dump(key)
    for node in ast.walk(function):
        changed: ast.expr | None = node.target if isinstance(node, ast.AugAssign) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = node.func.value
        if changed is not None and _place(changed) == place:
            return False
    stored = [s.value for s, target in _written(function) if _place(target) == place]
    return bool(stored) and not any([_mentions(value, table) for value in stored])


def _place(node: Any) -> tuple[str, str] | None:
    """A table and a key, as they are written, of an entry."""
    if not isinstance(node, ast.Subscript):
        return None
    return ast.dump(node.value), ast.dump(node.slice)


def _mentions(value: ast.expr, table: ast.expr) -> bool:
    name = ast.dump(table)
    return any([isinstance(n, ast.expr) and ast.dump(n) == name for n in ast.walk(value)])
