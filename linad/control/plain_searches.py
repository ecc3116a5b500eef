"""Loops of Python's that search, seen in their source: where they end is the only thing they decide.

    for _ in range(50):                  while abs(d) > tol:             while True:
        d = f(x) / df(x)                     d = f(x) / df(x)                y = g(x)
        x = x - d                            x = x - d                       if abs(y - x) < tol:
        if abs(d) < tol:                                                         return y
            break                                                            x = y

What a repetition of such a loop does follows from its variables, as long as nothing else is changed
by it. So the body may assign variables, and compute by NumPy, by operators and by functions of the
user's that do the same. It may not read the variable that counts, and nobody may after the loop;
it may not write into what others see, nor call what might.

Source counts only if it compiles to the code that runs.
"""

import ast
import builtins
import dis
import functools
import linecache
import operator
import types
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from linad.arrays.tracer import Tracer

LONGEST = 400_000
"""Letters of a file that is read."""

DEEPEST = 8
"""Functions that call one another, up to which they are read."""

EXPRESSIONS = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant, ast.Name, ast.Tuple, ast.List),
    *(ast.Subscript, ast.Slice, ast.Attribute, ast.Call, ast.keyword),
    *(ast.operator, ast.unaryop, ast.cmpop, ast.expr_context),
)

ATTRIBUTES = {"T", "shape", "size", "ndim", "dtype", "real", "imag"}

NUMPY = {
    **dict.fromkeys(("sum", "max", "min", "amax", "amin", "mean", "prod", "any", "all"), 2),
    **dict.fromkeys(("dot", "vdot", "inner", "outer", "cross", "stack", "concatenate"), 2),
    **dict.fromkeys(("array", "hstack", "vstack", "zeros", "ones", "eye", "diag", "trace"), 1),
    **dict.fromkeys(("zeros_like", "ones_like", "real", "imag"), 1),
    **dict.fromkeys(("where", "clip", "linspace", "arange"), 3),
    **dict.fromkeys(("linalg.norm", "linalg.solve", "linalg.inv", "linalg.det"), 2),
}
"""Functions, beside ufuncs, that make what they return; and arguments none of which is ``out``."""

_OF_NUMPY = {operator.attrgetter(name)(np): n for name, n in NUMPY.items()}

BUILTIN = {abs, float, len, round, pow}


class PlainSearch(NamedTuple):
    """A loop of a function whose test was met.

    Attributes
    ----------
    key : tuple
        Where the loop stands.
    goes : bool
        The answer to the test with which the loop goes on.
    counts : str or None
        The variable that counts its repetitions.
    limit : int, str or None
        Most repetitions: a number, or the variable that holds it.
    assigned : tuple of str
        The variables of its repetitions.
    called : tuple of (str, int)
        Names, with attributes, of what it calls with how many arguments.
    read : tuple of str
        Names, with attributes of modules, of what else it reads.
    """

    key: tuple[int, int]
    goes: bool
    counts: str | None
    limit: Any
    assigned: tuple[str, ...]
    called: tuple[tuple[str, int], ...]
    read: tuple[str, ...]

    def holds_in(self, frame: FrameType) -> bool:
        """Whether what it calls is known to change nothing, in the frame that runs."""
        names = _Names(frame.f_locals, frame.f_globals)
        if self.limit is not None and names.get("range") is not range:
            return False
        rest = [name for name in self.read if name not in self.assigned]
        return all([_is_value(names.get(name)) for name in rest]) and all(
            [_changes_nothing(names, *c) for c in self.called]
        )

    def limit_in(self, frame: FrameType) -> Any:
        """Most repetitions, in the frame that runs: an integer, or None where there is none."""
        if not isinstance(self.limit, str):
            return self.limit
        return _Names(frame.f_locals, frame.f_globals).get(self.limit)


_VALUES = {Tracer, np.ndarray, list, tuple, dict, int, float, complex, bool, str, type(None)}


def _is_value(x: Any) -> bool:
    """Whether operators compute of a thing, and change nothing."""
    return type(x) in _VALUES or isinstance(x, np.generic)


def search_at(frame: FrameType) -> PlainSearch | None:
    """The loop whose test a frame asks just now; None where it asks another thing."""
    return _search_of(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=4096)
def _search_of(code: CodeType, at: int) -> PlainSearch | None:
    if code.co_flags & (_GENERATOR | _COROUTINE | _ASYNC) or not _asks_within_a_loop(code, at):
        return None
    function = _source_of(code)
    if function is None:
        return None
    place = list(code.co_positions())[at // 2]
    nodes = list(ast.walk(function))
    if any([isinstance(n, _ELSEWHERE) for n in nodes]):
        return None
    if any([isinstance(n, ast.Name) and n.id in _SEES_ALL for n in nodes]):
        return None
    for loop in nodes:
        if isinstance(loop, (ast.For, ast.While)):
            found = _Reading(function, loop).search(place)
            if found is not None:
                return found
    return None


_GENERATOR, _COROUTINE, _ASYNC = 0x20, 0x80, 0x200
_ELSEWHERE = (
    *(ast.Global, ast.Nonlocal, ast.Try, ast.TryStar, ast.With, ast.Delete, ast.NamedExpr),
    *(ast.Match, ast.Yield, ast.YieldFrom, ast.Await, ast.Import, ast.ImportFrom),
)
_SEES_ALL = {"locals", "vars", "eval", "exec", "dir", "globals"}
_ASKING = ("POP_JUMP", "TO_BOOL", "COMPARE_OP")


def _asks_within_a_loop(code: CodeType, at: int) -> bool:
    steps = list(dis.get_instructions(code))
    asks = any([s.offset == at and s.opname.startswith(_ASKING) for s in steps])
    return asks and any([s.offset >= at and "BACKWARD" in s.opname for s in steps])


def _source_of(code: CodeType) -> Any:
    """The part of a syntax tree that a function was compiled from; None where that is unsure."""
    lines = linecache.getlines(code.co_filename)
    text = "".join(lines)
    if not text or len(text) > LONGEST:
        return None
    parsed = _parsed(code.co_filename, text)
    if parsed is None:
        return None
    tree, compiled = parsed
    if not any([c == code for c in _codes_in(compiled)]):
        return None
    found = [n for n in ast.walk(tree) if _is_of(n, code)]
    return found[0] if len(found) == 1 else None


@functools.lru_cache(maxsize=64)
def _parsed(filename: str, text: str) -> Any:
    try:
        return ast.parse(text), compile(text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield c
            yield from _codes_in(c)


def _is_of(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return False
    first = node.decorator_list[0] if node.decorator_list else node
    return first.lineno == code.co_firstlineno


class _Reading:
    """A loop of a function, read for what it does."""

    def __init__(self, function: ast.AST, loop: Any) -> None:
        self.function, self.loop = function, loop
        self.assigned: dict[str, None] = {}
        self.called: dict[tuple[str, int], None] = {}
        self.read: dict[str, None] = {}

    def search(self, place: Any) -> PlainSearch | None:
        """The search that the loop is, if it asks the test at a place and nothing else."""
        loop = self.loop
        ends = [s for s in loop.body if isinstance(s, ast.If)]
        if isinstance(loop, ast.While) and not _is_true(loop.test):
            test, inner, goes = loop.test, loop.body, True
        elif len(ends) == 1 and _leaves(ends[0]):
            test, inner, goes = ends[0].test, [s for s in loop.body if s is not ends[0]], False
        else:
            return None
        asked = test
        while isinstance(asked, ast.UnaryOp) and isinstance(asked.op, ast.Not):
            asked, goes = asked.operand, not goes
        if _place(asked) != place or not self._plain(asked):
            return None
        if not all([self._assigns(s) for s in inner]):
            return None
        limit, counts = None, None
        if isinstance(loop, ast.For):
            limit, counts = self._limit(), getattr(loop.target, "id", None)
            if limit is None or counts is None or self._is_read(counts):
                return None
            if counts in self.assigned:
                return None
        roots = {name.partition(".")[0] for name, _ in self.called}
        if not roots.isdisjoint(self.assigned) or limit in self.assigned:
            return None
        key = loop.lineno, loop.col_offset
        parts = tuple(self.assigned), tuple(self.called), tuple(self.read)
        return PlainSearch(key, goes, counts, limit, *parts)

    def _limit(self) -> Any:
        """How often ``for`` repeats at most."""
        turns = self.loop.iter
        if not isinstance(turns, ast.Call) or _dotted(turns.func) != "range":
            return None
        if len(turns.args) != 1 or turns.keywords:
            return None
        (n,) = turns.args
        if isinstance(n, ast.Name):
            return n.id
        return n.value if isinstance(n, ast.Constant) and type(n.value) is int else None

    def _is_read(self, name: str) -> bool:
        """Whether anything may read what the loop counts by: all but loops with a count of their
        own."""

        def reads(node: ast.AST) -> bool:
            if isinstance(node, ast.Name):
                return node.id == name and not isinstance(node.ctx, ast.Store)
            parts = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.For) and getattr(node.target, "id", None) == name:
                if not any([n is self.loop for n in ast.walk(node)]):
                    parts = [node.iter, *node.orelse]
            elif isinstance(node, ast.arg):
                return node.arg == name
            return any(map(reads, parts))

        return reads(self.function)

    def _assigns(self, statement: ast.stmt) -> bool:
        """Whether a statement does nothing but assign variables."""
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AugAssign):
            targets = [statement.target]
        else:
            return isinstance(statement, ast.Pass)
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            if not all([isinstance(n, ast.Name) for n in names]):
                return False
            self.assigned.update(dict.fromkeys([n.id for n in names]))  # type: ignore[attr-defined]
        return self._plain(statement.value)

    def _plain(self, expression: ast.AST) -> bool:
        """Whether an expression computes, by what is noted down to be looked at."""
        for node in ast.walk(expression):
            if not isinstance(node, EXPRESSIONS):
                return False
            if isinstance(node, ast.Compare) and len(node.ops) > 1:
                return False
            if isinstance(node, (ast.UnaryOp, ast.Compare)):
                ops = [node.op] if isinstance(node, ast.UnaryOp) else node.ops
                if any([isinstance(o, (ast.Not, ast.Is, ast.IsNot, ast.In, ast.NotIn)) for o in ops]):
                    return False
            if isinstance(node, ast.Call):
                name = _dotted(node.func)
                if name is None or any([k.arg in (None, "out") for k in node.keywords]):
                    return False
                self.called[name, len(node.args)] = None
        return self._reads(expression)

    def _reads(self, expression: ast.AST) -> bool:
        """Note down what is read, but for what is called; whether all of it has a name."""
        callees = {id(n.func) for n in ast.walk(expression) if isinstance(n, ast.Call)}
        waiting = [expression]
        while waiting:
            node = waiting.pop()
            if id(node) in callees:
                continue
            if isinstance(node, ast.Name):
                self.read[node.id] = None
            elif isinstance(node, ast.Attribute) and node.attr not in ATTRIBUTES:
                name = _dotted(node)
                if name is None:
                    return False
                self.read[name] = None
                continue
            waiting += ast.iter_child_nodes(node)
        return True


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and test.value is True


def _leaves(end: ast.If) -> bool:
    return not end.orelse and len(end.body) == 1 and isinstance(end.body[0], (ast.Break, ast.Return))


def _place(node: Any) -> tuple[int, int, int, int]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _dotted(node: ast.AST) -> str | None:
    """``np.linalg.norm`` as it is written; None of what is no such name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


class _Names:
    """What names stand for in a function."""

    def __init__(self, local: Any, around: dict[str, Any]) -> None:
        self.local, self.around = local, around

    def get(self, name: str) -> Any:
        first, *rest = name.split(".")
        found = self.local.get(first, self.around.get(first, getattr(builtins, first, _NOTHING)))
        for part in rest:
            if not isinstance(found, types.ModuleType):
                return _NOTHING
            found = getattr(found, part, _NOTHING)
        return found


_NOTHING = object()


def _changes_nothing(names: _Names, name: str, arguments: int, deep: int = 0) -> bool:
    """Whether a function is known to change nothing, and to do the same for the same."""
    f = names.get(name)
    if isinstance(f, np.ufunc):
        return arguments <= f.nin
    if type(f) is types.FunctionType and f not in _OF_NUMPY:
        return deep < DEEPEST and _is_plain(f, deep + 1)
    try:
        return f in BUILTIN or (f in _OF_NUMPY and arguments <= _OF_NUMPY[f])
    except TypeError:
        return False


def _is_plain(f: types.FunctionType, deep: int) -> bool:
    """Whether a function of the user's computes what it returns, and does nothing else."""
    noted = _computes(f.__code__)
    if noted is None:
        return False
    called, read = noted
    cells: dict[str, Any] = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            return False
    names = _Names(cells, f.__globals__)
    own = f.__code__.co_varnames
    defaults = [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
    outer = [names.get(name) for name in read if name not in own]
    if not all(map(_is_value, [*defaults, *outer])):
        return False
    for name, arguments in called:
        if name.partition(".")[0] in own or names.get(name) is f:
            return False
        if not _changes_nothing(names, name, arguments, deep):
            return False
    return True


@functools.lru_cache(maxsize=4096)
def _computes(code: CodeType) -> tuple[Any, Any] | None:
    """What a function calls and reads that does nothing but compute and return; None of others."""
    if code.co_flags & (_GENERATOR | _COROUTINE | _ASYNC):
        return None
    function = _source_of(code)
    if function is None:
        return None
    reading = _Reading(function, None)
    if isinstance(function, ast.Lambda):
        body: list[ast.stmt] = [ast.Return(function.body)]
    else:
        body = function.body
    for k, s in enumerate(body):
        if isinstance(s, ast.Return) and s.value is not None:
            if not reading._plain(s.value):
                return None
        elif isinstance(s, ast.Expr) and k == 0 and isinstance(s.value, ast.Constant):
            continue  # it says what the function does
        elif not isinstance(s, ast.Assign) or not reading._assigns(s):
            return None
    return tuple(reading.called), tuple(reading.read)
