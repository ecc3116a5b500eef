"""The code of functions: what is inside of it, and where it stands in a file."""

import ast
from collections.abc import Iterator
from types import CodeType
from typing import Any

Place = tuple[int | None, int | None, int | None, int | None]
"""Line, last line, column and last column, as an instruction knows them."""


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of those inside of it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes_in(inner)


def place_at(code: CodeType, at: int) -> Place:
    """Where in its file an instruction stands."""
    return list(code.co_positions())[at // 2]


def place_of(node: Any) -> Place:
    """Where in its file a part of a syntax tree stands; Nones where it has no place."""
    line, last, column, end = (
        getattr(node, name, None)
        for name in ("lineno", "end_lineno", "col_offset", "end_col_offset")
    )
    return line, last, column, end


def is_of(node: ast.AST, code: CodeType) -> bool:
    """Whether a part of a syntax tree is a function or lambda of the name and line of a code."""
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != code.co_name:
        return False
    first = node.decorator_list[0] if node.decorator_list else node
    return first.lineno == code.co_firstlineno
