"""Checks of indices, before the loops that run through them where that is possible.

An index beyond the end of an array touches memory that is somebody else's. A test at each access
keeps a loop from vectorising, so where an index is linear in the counter of a loop, and the
access comes at every turn, its first and last value are looked at before the loop begins:

    for i in range(1, n):                   if 1 < n:
        y[i] = x[i - 1]           is            check_range(x, 0, 1, n - 1, -1, -1)
                                                check_range(y, 0, 1, n - 1, 0, 0)
                                            for i in range(1, n):
                                                y[known(i)] = x[known(i - 1)]

What is linear in it with other constants is one check, of the least and the greatest. All other
indices are looked at where they stand. Those of stacks are the program's own, and right. An index
of a part of an array is `within` its length as well, ``x[2 + within(i, 3)]``.
"""

import ast
import linecache
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Raise, ast.While)
"""Statements by which a turn may end before its end, or not at all."""


class IndexAccess(NamedTuple):
    """An index of an entry of an array: the axis, and the text of it without its constant."""

    array: str
    axis: int
    text: str
    constant: int


def with_checks(source: str, own: Collection[str]) -> str:
    """A kernel's source with its indices checked.

    Parameters
    ----------
    source : str
    own : collection of str
        Arrays whose indices are right, stacks.
    """
    tree = ast.parse(source)
    lines = source.splitlines()
    wrapped: set[tuple[int, int, int]] = set()
    before: dict[int, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            found = _CheckedLoop(node, own).accesses()
            if found:
                wrapped |= {place for places in found.values() for place in places}
                before[node.lineno] = _checks(node, found, lines)
        elif isinstance(node, ast.Subscript) and _name_of(node.value) in own:
            wrapped |= {_place(e) for e in _indices(node)}
    for line, start, end in sorted(wrapped, reverse=True):
        text = lines[line - 1]
        index = re.sub(r"\bwithin\(", "trusted(", text[start:end])
        lines[line - 1] = f"{text[:start]}known({index}){text[end:]}"
    out: list[str] = []
    for k, text in enumerate(lines, 1):
        out += [*before.get(k, []), text]
    return "\n".join([out[0], "    check_indices()", *out[1:], ""])


def beyond_the_end(source: str, line: int, written: tuple[str, int, int]) -> str:
    """What to say of an index that stopped a kernel in a line of its source.

    Parameters
    ----------
    source : str
    line : int
    written : tuple
        The file, and the first and last line there, of the user's function.
    """
    lines = source.splitlines()
    text = lines[line - 1].strip()
    if text.startswith("check_range("):
        array, axis = text.removeprefix("check_range(").split(", ")[:2]
        what = f"an index is out of bounds for axis {axis} of {_of_user(array)}"
    else:
        found = [n for n in ast.walk(ast.parse(_headed(text))) if isinstance(n, ast.Subscript)]
        names = dict.fromkeys([_of_user(_name_of(n.value)) for n in found if _name_of(n.value)])
        what = f"an index is out of bounds for {' or '.join(names) or 'an array'}"
    shown = next((text for text in reversed(lines[:line]) if _is_comment(text)), "")
    shown = shown.strip().removeprefix("# ")
    file, first, last = written
    numbers = [k for k in range(first, last + 1) if linecache.getline(file, k).strip() == shown]
    if not numbers:  # the line of a function that this one calls
        return f"{what}: {shown}" if shown else what
    return f"{what}\n  {file}:{numbers[0]}\n    {shown}"


def _of_user(name: str) -> str:
    """The array that one of cotangents, or of a derivative's, belongs to."""
    return re.sub(r"(_[bd]\d+)+$", "", name)


def _headed(text: str) -> str:
    """A line alone, with what belongs to it."""
    if text.startswith(("elif ", "else:")):
        text = text.removeprefix("el")
    return f"{text} pass" if text.endswith(":") else text


def _checks(
    loop: ast.For, found: dict[IndexAccess, set[tuple[int, int, int]]], lines: list[str]
) -> list[str]:
    """The lines that look at the first and the last value of each index."""
    numbers = _numbers(loop)
    assert numbers is not None
    low, high, step = numbers
    first, last = _parsed(low), _parsed(_last(low, high, step))
    indent = " " * loop.col_offset
    out = [f"{indent}if ({low}) {'<' if step > 0 else '>'} ({high}):"]
    groups: dict[tuple[str, int, str], list[int]] = defaultdict(list)
    line: dict[tuple[str, int, str], int] = {}
    for access, places in found.items():
        groups[access[:3]].append(access.constant)
        line.setdefault(access[:3], min(places)[0])
    counter = _name_of(loop.target)
    for (array, axis, index), constants in groups.items():
        ends = [ast.unparse(_replaced(_parsed(index), {counter: end})) for end in (first, last)]
        shown = next((t for t in reversed(lines[: line[array, axis, index]]) if _is_comment(t)), "")
        out.append(f"{indent}    {shown.strip()}" if shown else f"{indent}    # {array}")
        bounds = f"{min(constants)}, {max(constants)}"
        out.append(f"{indent}    check_range({array}, {axis}, {ends[0]}, {ends[1]}, {bounds})")
    return out


def _is_comment(text: str) -> bool:
    return text.lstrip().startswith("#")


def _last(low: str, high: str, step: int) -> str:
    if step in (1, -1):
        return f"({high}) - 1" if step > 0 else f"({high}) + 1"
    return f"({low}) + (({high}) - ({low}) - {1 if step > 0 else -1}) // {step} * {step}"


class _Replaced(ast.NodeTransformer):
    """An expression with others in the place of names."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _replaced(e: ast.expr, values: dict[str, ast.expr]) -> Any:
    return _Replaced(values).visit(_parsed(ast.unparse(e)))


def _numbers(loop: ast.For) -> tuple[str, str, int] | None:
    """Where a loop begins, where it ends, and its step; None if that is not a constant."""
    call = loop.iter
    assert isinstance(call, ast.Call)
    if _name_of(call.func) == "any_order":
        (call,) = call.args  # type: ignore[assignment]
        assert isinstance(call, ast.Call)
    texts = [ast.unparse(a) for a in call.args]
    if len(texts) == 1:
        return "0", texts[0], 1
    if len(texts) == 2:
        return texts[0], texts[1], 1
    try:
        step = int(texts[2])
    except ValueError:
        return None
    return (texts[0], texts[1], step) if step else None


def _name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _indices(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _place(e: ast.expr) -> tuple[int, int, int]:
    assert e.end_col_offset is not None
    return e.lineno, e.col_offset, e.end_col_offset


class _CheckedLoop:
    """A loop, and what is known of the names in it."""

    def __init__(self, loop: ast.For, own: Collection[str]) -> None:
        self.loop, self.own = loop, own
        self.counter = _name_of(loop.target)
        stores = [n.id for n in ast.walk(loop) if _is_stored(n)]  # type: ignore[attr-defined]
        self.stored = Counter(stores)
        self.known: dict[str, ast.expr] = {}

    def accesses(self) -> dict[IndexAccess, set[tuple[int, int, int]]]:
        """The indices that can be checked before the loop, and where they stand."""
        found: dict[IndexAccess, set[tuple[int, int, int]]] = defaultdict(set)
        inside = [n for s in self.loop.body for n in ast.walk(s)]
        if _numbers(self.loop) is None or any([isinstance(n, LEAVES) for n in inside]):
            return {}
        if self.stored[self.counter] != 1 or self._moves(self.loop.iter):
            return {}
        for s in self.loop.body:
            subscripts = [n for n in _always(s) if isinstance(n, ast.Subscript)]
            for node, (axis, e) in [
                (n, each) for n in subscripts for each in enumerate(_indices(n))
            ]:
                access = self._access(node, axis, e)
                if access is not None:
                    found[access].add(_place(e))
            if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name):
                name = s.targets[0].id
                if self.stored[name] == 1 and self._degree(s.value) is not None:
                    self.known[name] = self._plain(s.value)
        return found

    def _moves(self, e: ast.AST) -> bool:
        """Whether what an expression reads may change within the loop."""
        return any([isinstance(n, ast.Name) and n.id in self.stored for n in ast.walk(e)])

    def _access(self, node: ast.Subscript, axis: int, e: ast.expr) -> IndexAccess | None:
        array = _name_of(node.value)
        if not array or array in self.own or array in self.stored or self._degree(e) is None:
            return None
        index, constant = self._plain(e), 0
        if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub)):
            number = index.right
            if isinstance(number, ast.Constant) and isinstance(number.value, int):
                constant = number.value if isinstance(index.op, ast.Add) else -number.value
                index = index.left
        return IndexAccess(array, axis, ast.unparse(index), constant)

    def _plain(self, e: ast.expr) -> ast.expr:
        """An index of the counter and of what does not change."""
        found: ast.expr = _replaced(e, self.known)
        return found

    def _degree(self, e: ast.AST) -> int | None:
        """0 for an integer that does not change, 1 for what is linear in the counter, or None."""
        if isinstance(e, ast.Constant):
            return 0 if type(e.value) is int else None
        if isinstance(e, ast.Name):
            if e.id == self.counter:
                return 1
            if e.id in self.known:
                return self._degree(self.known[e.id])
            return None if e.id in self.stored else 0
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            return self._degree(e.operand)
        if isinstance(e, ast.Call) and _name_of(e.func) == "within":
            return self._degree(e.args[0]) if self._degree(e.args[1]) == 0 else None
        if isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Add, ast.Sub, ast.Mult)):
            left, right = self._degree(e.left), self._degree(e.right)
            if left is None or right is None:
                return None
            degree = left + right if isinstance(e.op, ast.Mult) else max(left, right)
            return degree if degree < 2 else None
        if isinstance(e, ast.Subscript) and isinstance(e.value, ast.Attribute):
            return None if self._moves(e) or e.value.attr != "shape" else 0
        return None


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _always(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions that a statement computes whatever the values are."""
    if isinstance(node, (ast.If, ast.IfExp)):
        yield from _always(node.test)
    elif isinstance(node, ast.For):
        yield from _always(node.iter)
    elif isinstance(node, ast.BoolOp):
        yield from _always(node.values[0])
    else:
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _always(child)
