"""Where a text about a traced value goes: to people, or into the program.

``print(f"loss {loss:.3f}")`` decides nothing, and a compiled function that prints is not another
function for every number. Any other text (a key, a file's name, ``"-" in str(x)``) may decide
something, so the program that is being recorded holds for that value only. What is asked is the
user's source: is the text, or one made of it, an argument of Python's ``print`` or of a logger?
Where there is no source to be read, it is not.
"""

import ast
import builtins
import functools
import linecache
import sys
from types import FrameType

from linad.core.codes import place_at, place_of

LOGGED = {"debug", "info", "warning", "exception", "critical", "warn"}
STREAMS = {"stdout", "stderr"}
FORMING = {"str", "repr", "format", "join", "ljust", "rjust", "center", "strip", "replace"}
"""Functions and methods that make a text of a text."""

PARTS = (
    *(ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.Tuple, ast.List, ast.Starred),
    *(ast.ListComp, ast.GeneratorExp),
)


def is_for_people() -> bool:
    """Whether the text that a method of a traced value is asked for is only printed."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _top(frame) in ("linad", "numpy"):
        frame = frame.f_back
    if frame is None or _top(frame) == "logging":
        return frame is not None
    code = frame.f_code
    text = "".join(linecache.getlines(code.co_filename, frame.f_globals))
    where = place_at(code, frame.f_lasti)
    if not text or None in where:
        return False
    parents = _parents(text)
    if _print_of(frame) is not print:
        return False
    here = [node for node in parents if isinstance(node, ast.expr) and place_of(node) == where]
    return any([_is_printed(node, parents) for node in here])


def _print_of(frame: FrameType) -> object:
    """What the name ``print`` is in the code that a frame runs."""
    given = frame.f_globals.get("print", builtins.print)
    return frame.f_locals.get("print", given)


def _top(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


@functools.lru_cache(8)
def _parents(text: str) -> dict[ast.AST, ast.AST]:
    """The node around each expression of a source; empty if it cannot be parsed."""
    try:
        module = ast.parse(text)
    except SyntaxError:
        return {}
    return {child: node for node in ast.walk(module) for child in ast.iter_child_nodes(node)}


def _is_printed(node: ast.AST | None, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether an expression is, or becomes part of, what is printed."""
    inside = None
    while node is not None:
        if isinstance(node, ast.Call):
            if inside is not node.func and _prints(node):
                return True
            if not _forms(node):
                return False
        elif isinstance(node, ast.Attribute):
            if node.attr not in FORMING:
                return False
        elif not isinstance(node, (*PARTS, ast.keyword)) and inside is not None:
            return False
        inside, node = node, parents.get(node)
    return False


def _prints(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        files = [k.value for k in call.keywords if k.arg == "file"]
        return call.func.id == "print" and all([_is_stream(f) for f in files])
    if not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr in LOGGED or (call.func.attr == "write" and _is_stream(call.func.value))


def _is_stream(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in STREAMS


def _forms(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in FORMING
    return isinstance(function, ast.Attribute) and function.attr in FORMING
