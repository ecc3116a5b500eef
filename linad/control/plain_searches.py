"""Loops of Python's that search, seen in their source: they decide nothing but where they end.

    for _ in range(50):                  while abs(d) > tol:             while True:
        d = f(x) / df(x)                     d = f(x) / df(x)                y = g(x)
        x = x - d                            x = x - d                       if abs(y - x) < tol:
        if abs(d) < tol:                                                         return y
            break                                                            x = y

What a repetition of such a loop does follows from its variables, as its body assigns them and
computes, and does nothing else (`linad.control.plain_functions`). It may not read the variable that
counts, and nobody may after the loop.
"""

import ast
import dis
import functools
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from linad.arrays.tracer import Tracer
from linad.control.plain_functions import (
    BoundNames,
    Callee,
    Kinds,
    PlainCode,
    callee,
    dotted,
    is_value,
)
from linad.control.source_of_code import source_of
from linad.core.codes import Place, place_at, place_of


class PlainSearch(NamedTuple):
    """A loop of a function whose test was met.

    Attributes
    ----------
    key : tuple
        Where the loop stands.
    goes : bool
        The answer to the test with which the loop goes on.
    test : ast.expr
    between : tuple of ast.stmt
        What a repetition does from one test to the next.
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
    test: ast.expr
    between: tuple[ast.stmt, ...]
    counts: str | None
    limit: Any
    assigned: tuple[str, ...]
    called: tuple[tuple[str, int], ...]
    read: tuple[str, ...]

    def begun_in(self, frame: FrameType) -> "BegunSearch | None":
        """The loop as it runs in a frame; None if it may change what others see there."""
        names = BoundNames(frame.f_locals, frame.f_globals)
        if self.limit is not None and names.get("range") is not range:
            return None
        limit = names.get(self.limit) if isinstance(self.limit, str) else self.limit
        outer = {name: names.get(name) for name in self.read if name not in self.assigned}
        if not (limit is None or type(limit) is int) or not all(map(is_value, outer.values())):
            return None
        callees: dict[str, Callee] = {}
        for name, arguments in self.called:
            found = callee(names, name, arguments)
            if found is None:
                return None
            callees[name] = found
        traced = [name for name, x in outer.items() if type(x) is Tracer]
        return BegunSearch(self, limit, traced, callees)


class BegunSearch:
    """A search in a frame that runs.

    Parameters
    ----------
    loop : PlainSearch
    limit : int or None
        Most repetitions.
    traced : list of str
        Variables that it does not assign whose values are traced.
    callees : dict
        What it calls.
    """

    def __init__(
        self, loop: PlainSearch, limit: int | None, traced: list[str], callees: dict[str, Callee]
    ) -> None:
        self.loop, self.limit, self.traced, self.callees = loop, limit, traced, callees

    def always_asks(self, carried: Sequence[str]) -> bool:
        """Whether each test is of a traced value if some of the loop's variables are: else there
        may be tests, and ends, that no trace sees."""
        kinds = Kinds(dict.fromkeys([*self.traced, *carried], True), self.callees)
        for statement in self.loop.between:
            kinds.assign(statement)
        return kinds.of(self.loop.test) is True


def search_at(frame: FrameType) -> PlainSearch | None:
    """The loop whose test a frame asks just now; None where it asks another thing."""
    return _search_of(frame.f_code, frame.f_lasti)


_ELSEWHERE = (
    *(ast.Global, ast.Nonlocal, ast.Try, ast.TryStar, ast.With, ast.Delete, ast.NamedExpr),
    *(ast.Match, ast.Yield, ast.YieldFrom, ast.Await),
)
_SEES_ALL = {"locals", "vars", "eval", "exec", "dir", "globals"}
_ASKING = ("POP_JUMP", "TO_BOOL", "COMPARE_OP")


@functools.lru_cache(maxsize=4096)
def _search_of(code: CodeType, at: int) -> PlainSearch | None:
    if not _asks_within_a_loop(code, at):
        return None
    function = source_of(code)
    if function is None:
        return None
    place = place_at(code, at)
    nodes = list(ast.walk(function))
    if any([isinstance(n, _ELSEWHERE) for n in nodes]):
        return None
    if any([isinstance(n, ast.Name) and n.id in _SEES_ALL for n in nodes]):
        return None
    for loop in nodes:
        if isinstance(loop, (ast.For, ast.While)):
            found = _search(function, loop, place)
            if found is not None:
                return found
    return None


def _asks_within_a_loop(code: CodeType, at: int) -> bool:
    steps = list(dis.get_instructions(code))
    asks = any([s.offset == at and s.opname.startswith(_ASKING) for s in steps])
    return asks and any([s.offset >= at and "BACKWARD" in s.opname for s in steps])


def _search(function: ast.AST, loop: ast.For | ast.While, place: Place) -> PlainSearch | None:
    """The search that a loop is, if it asks the test at a place and nothing else."""
    ends = [k for k, s in enumerate(loop.body) if isinstance(s, ast.If)]
    if isinstance(loop, ast.While) and not _is_true(loop.test):
        test, between, goes = loop.test, loop.body, True
    elif len(ends) == 1 and _leaves(loop.body[ends[0]]):
        test, goes = loop.body[ends[0]].test, False  # type: ignore[attr-defined]
        between = [*loop.body[ends[0] + 1 :], *loop.body[: ends[0]]]
    else:
        return None
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, goes = test.operand, not goes
    seen = PlainCode()
    if place_of(test) != place or not seen.computes(test):
        return None
    if not all([seen.assigns(s) for s in between]):
        return None
    limit, counts = None, None
    if isinstance(loop, ast.For):
        limit, counts = _limit(loop), getattr(loop.target, "id", None)
        if limit is None or counts is None or counts in seen.assigned:
            return None
        if _is_read(counts, function, loop):
            return None
    roots = {name.partition(".")[0] for name, _ in seen.called}
    if not roots.isdisjoint(seen.assigned) or limit in seen.assigned:
        return None
    key = loop.lineno, loop.col_offset
    parts = tuple(seen.assigned), tuple(seen.called), tuple(seen.read)
    return PlainSearch(key, goes, test, tuple(between), counts, limit, *parts)


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and test.value is True


def _leaves(end: Any) -> bool:
    """Whether an ``if`` ends the loop: what it does before that is done after the last test."""
    goes_on = any([isinstance(n, ast.Continue) for n in ast.walk(end)])
    last = end.body[-1]
    return not end.orelse and not goes_on and isinstance(last, (ast.Break, ast.Return, ast.Raise))


def _limit(loop: ast.For) -> Any:
    """How often ``for`` repeats at most: a number, or the variable that holds it."""
    turns = loop.iter
    if not isinstance(turns, ast.Call) or dotted(turns.func) != "range":
        return None
    if len(turns.args) != 1 or turns.keywords:
        return None
    (n,) = turns.args
    if isinstance(n, ast.Name):
        return n.id
    return n.value if isinstance(n, ast.Constant) and type(n.value) is int else None


def _is_read(name: str, function: ast.AST, loop: ast.For) -> bool:
    """Whether anything may read what a loop counts by: all but loops with a count of their own."""

    def reads(node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id == name and not isinstance(node.ctx, ast.Store)
        parts = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.For) and getattr(node.target, "id", None) == name:
            if not any([n is loop for n in ast.walk(node)]):
                parts = [node.iter, *node.orelse]
        elif isinstance(node, ast.arg):
            return node.arg == name
        return any(map(reads, parts))

    return reads(function)
