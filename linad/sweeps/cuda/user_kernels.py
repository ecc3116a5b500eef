"""Kernels of users', and their derivatives, for a grid of threads.

Their sources are a small language (`linad.sweeps.cpu.kernel_language`). A loop whose turns need
nothing of each other is shared by the threads, a turn each: as those of ``prange`` are, and often
those of the adjoint, which has its own order.

    for i in range(n):                   an array that is written is touched at [.., i, ..] alone,
        y[i] = sin(x[i]) * x[i]          and a variable is set before it is read

Whether it is so is found in the source; what anybody promised does not count. A kernel that is
nothing but such loops is a kernel for each. Any other is for one thread.

What stops a kernel on the CPU stops it here with a status: a division by zero where Python's rules
were asked for, an error that is raised. So does a stack of values for the adjoint that needs more
room than it did so far. Kernels that make arrays of a length that only they know are refused.
"""

import ast
import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.cpu.user_functions import operands_of, overwrites_numbers
from linad.sweeps.cuda.grid_loops import HEAD
from linad.sweeps.elementary_names import ELEMENTARY
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.loop_source import indented

DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
REFUSED = frozenset({"zeros", "empty", "ones", "full"})
"""What asks for memory."""

KNOWN = {
    "math": frozenset(
        {
            *(name for name in ELEMENTARY.values() if name not in ("exp2", "cbrt")),
            *("atan2", "copysign", "fmod", "hypot", "pow", "fabs", "sqrt", "gamma", "lgamma"),
            *("ceil", "floor", "trunc", "isfinite", "isinf", "isnan", "e", "inf", "nan", "pi"),
        }
    ),
    "np": frozenset(
        {
            *("inf", "nan", "uint64", "floor", "ceil", "trunc", "rint", "sqrt", "copysign"),
            *("maximum", "minimum", "fmax", "fmin", "clip", "sign"),
        }
    ),
}
"""What kernels may call of these modules on a device."""

IN_ANY_ORDER = re.compile(r"in any_order\((.*)\):$", re.MULTILINE)
"""What the CPU is told of a loop, and what is found here without."""

OWN = "u_"
"""What the names of a user's variables begin with, so that they are none of a kernel's."""


class RefusedError(Exception):
    """A source that there is no kernel for."""


def lower(lowering: Any, eqn: Equation) -> bool:
    """Add the instructions of a call of a kernel, if there are any for a device."""
    form: Any = eqn.primitive.serial  # type: ignore[attr-defined]
    function = form.function
    if not hasattr(function, "source"):
        return False
    try:
        kernels = device_kernels(function.source)
    except RefusedError:
        return False
    found = None if overwrites_numbers(eqn) else operands_of(lowering, eqn, form)
    if found is None:
        return False
    words, places = found
    most = max([size_of(p.shape) for p in places], default=1)
    for source, shared in kernels:
        lowering.emit(source, most if shared else 1, words, f"call of {eqn.primitive.name}")
    return True


@functools.lru_cache(256)
def device_kernels(source: str) -> tuple[tuple[str, bool], ...]:
    """The sources of kernels that do one after the other what a source does, and which are shared.

    Raises
    ------
    RefusedError
        If there are none.
    """
    (tree,) = ast.parse(IN_ANY_ORDER.sub(r"in \1:", source)).body
    assert isinstance(tree, ast.FunctionDef)
    checked, arrays, body = _parts([_Unlooked().visit(s) for s in tree.body if not _looks(s)])
    names = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    if checked:
        body = _with_checks(body)
    body = [_Named(names).visit(_Stopping().visit(s)) for s in body]
    given = [ast.unparse(_Named(names).visit(s)) for s in arrays]
    known = {s.targets[0].id for s in arrays}  # type: ignore[attr-defined]
    loops = list(itertools.dropwhile(_is_plain, body))
    first = body[: len(body) - len(loops)]  # numbers that all turns may read
    changed = {
        n.id
        for s in loops
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    known |= {s.targets[0].id for s in first} - changed  # type: ignore[attr-defined]
    if loops and all([isinstance(s, ast.For) and _is_parallel(s, known) for s in loops]):
        given += _lines_of(first)
        return tuple([(_text(given, _shared(s)), True) for s in loops])
    return ((_text(given, ["if thread == 0:", *indented(_lines_of(body))]), False),)


def _looks(s: ast.AST) -> bool:
    """Whether a statement does nothing but look at indices, as a grid's threads do not."""
    calls = [b.value for b in s.body if isinstance(b, ast.Expr)] if isinstance(s, ast.If) else []
    return bool(calls) and all([ast.unparse(c).startswith("check_range(") for c in calls])


class _Unlooked(ast.NodeTransformer):
    """What has been looked at, as it is."""

    def visit_If(self, node: ast.If) -> Any:
        return None if _looks(node) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        looked = ("known", "trusted", "within")
        return node.args[0] if ast.unparse(node.func) in looked else node


def _is_plain(s: ast.stmt) -> bool:
    """Whether a statement gives a variable a value."""
    return isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)


def _parts(body: list[ast.stmt]) -> tuple[bool, list[ast.Assign], list[ast.stmt]]:
    """Whether divisions are checked, the lines that read operands, and what is done with them."""
    first, arrays = False, list[ast.Assign]()
    rest: list[ast.stmt] = []
    for s in body:
        text = ast.unparse(s)
        if text == "check_divisions()":
            first = True
        elif text == "check_indices()":
            continue
        elif isinstance(s, ast.Assign) and not rest and "operand(_words" in text:
            arrays.append(s)
        elif not isinstance(s, ast.Return):
            rest.append(s)
    for node in [n for s in rest for n in ast.walk(s)]:
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in REFUSED:
            raise RefusedError
        if isinstance(node, ast.Return | ast.Try):
            raise RefusedError
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            known = KNOWN.get(node.value.id)
            if known is not None and node.attr not in known:
                raise RefusedError
    return first, arrays, rest


def _text(given: list[str], lines: Iterable[str]) -> str:
    text = [HEAD, *indented(given), *indented(lines), "    return 0", ""]
    return "\n".join(text).replace("operand(_words, ", "operand(p, ")


def _lines_of(statements: Iterable[ast.stmt]) -> list[str]:
    return [line for s in statements for line in ast.unparse(s).splitlines()]


def _shared(loop: Any) -> list[str]:
    """A loop of which each thread takes every n-th turn."""
    first, last, step = _bounds(loop)
    return [
        f"k0 = {first}",
        f"ks = {step}",
        f"for k in range(thread, -((k0 - ({last})) // ks), threads):",
        f"    {ast.unparse(loop.target)} = k0 + ks * k",
        f"    if {ast.unparse(loop.target)} < 0:",  # the entry of another turn
        f"        return {NO_RESULT}",
        *indented(_lines_of(loop.body)),
    ]


def _bounds(loop: Any) -> tuple[str, str, str]:
    """First number, end and step of a range."""
    given = [ast.unparse(a) for a in loop.iter.args]  # type: ignore[attr-defined]
    if len(given) == 1:
        given.insert(0, "0")
    first, last, step = [*given, "1"][:3]
    return first, last, step


# Names, errors, divisions.


class _Named(ast.NodeTransformer):
    """Gives variables names of their own."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self.names and not node.id.startswith(OWN):
            return ast.Name(OWN + node.id, node.ctx)
        return node


class _Stopping(ast.NodeTransformer):
    """Makes a status of what is raised, and of a stack that is full."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "grown":
            return ast.Return(ast.Constant(NO_RESULT))
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        return ast.Return(ast.Constant(NO_RESULT))


def _with_checks(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements, before each of which the divisors in it are looked at."""
    found: list[ast.stmt] = []
    for s in body:
        for test in _divisors(s):
            stop = ast.Return(ast.Constant(NO_RESULT))
            zero = ast.Compare(test, [ast.Eq()], [ast.Constant(0)])
            found.append(ast.If(zero, [stop], []))
        for part in ("body", "orelse"):
            if getattr(s, part, None):
                setattr(s, part, _with_checks(getattr(s, part)))
        found.append(s)
    return found


def _divisors(s: ast.stmt) -> list[ast.expr]:
    """What a statement divides by, apart from the statements in it and from numbers."""
    parts: list[Any] = [s]
    if isinstance(s, ast.If | ast.While):
        parts = [s.test]
    elif isinstance(s, ast.For):
        parts = [s.iter]
    found: list[ast.expr] = []
    if isinstance(s, ast.AugAssign) and isinstance(s.op, DIVISIONS):
        found.append(s.value)
    for part in parts:
        lazy = {
            id(inner)
            for node in ast.walk(part)
            if isinstance(node, ast.IfExp | ast.BoolOp)
            for inner in ast.walk(node)
        }
        for node in ast.walk(part):
            if isinstance(node, ast.BinOp) and isinstance(node.op, DIVISIONS):
                if id(node) in lazy or isinstance(s, ast.While):
                    raise RefusedError  # it is not clear whether it is computed
                found.append(node.right)
    return [e for e in found if not (isinstance(e, ast.Constant) and e.value)]


# Loops whose turns need nothing of each other.


def _is_parallel(loop: Any, known: set[str]) -> bool:
    """Whether a turn touches only what it writes itself; ``known``: names of the operands."""
    nodes = [n for s in loop.body for n in ast.walk(s)]
    if any(isinstance(n, ast.Break | ast.Continue) for s in loop.body for n in _directly_in(s)):
        return False
    counter = loop.target.id
    if _bounds(loop)[2] not in ("1", "-1"):
        return False  # it may be zero
    entries = [n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
    written = {n.value.id for n in entries if isinstance(n.ctx, ast.Store)}  # type: ignore[attr-defined]
    for array in written:
        touched = [_indices(n) for n in entries if n.value.id == array]  # type: ignore[attr-defined]
        uses = [n for n in nodes if isinstance(n, ast.Name) and n.id == array]
        sizes = [n for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == array]
        if len(uses) != len(touched) + len(sizes):
            return False  # it is handed over as a whole
        if not any(all([i[d] == counter for i in touched]) for d in range(len(touched[0]))):
            return False
    return _set_before_read(loop.body, known | {counter}, counter) is not None


def _directly_in(s: ast.stmt) -> Iterable[ast.AST]:
    """A statement and what is in it, but for loops, which have turns of their own."""
    if isinstance(s, ast.For | ast.While):
        return
    yield s
    for part in ("body", "orelse"):
        for inner in getattr(s, part, ()) or ():
            if isinstance(inner, ast.stmt):
                yield from _directly_in(inner)


def _indices(n: ast.Subscript) -> list[str]:
    parts = n.slice.elts if isinstance(n.slice, ast.Tuple) else [n.slice]
    return [ast.unparse(p) for p in parts]


def _set_before_read(body: Sequence[ast.stmt], known: set[str], counter: str) -> set[str] | None:
    """The variables that are set after some statements; None if one is read before it is set."""
    known = set(known)
    for s in body:
        heads: list[ast.AST] = [s]
        if isinstance(s, ast.If | ast.While):
            heads = [s.test]
        elif isinstance(s, ast.For):
            heads = [s.iter]
        names = [n for h in heads for n in ast.walk(h) if isinstance(n, ast.Name)]
        read = {n.id for n in names if isinstance(n.ctx, ast.Load) and n.id.startswith(OWN)}
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            read.add(s.target.id)
        made = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        if not read <= known or counter in made:
            return None
        if isinstance(s, ast.If):
            branches = [_set_before_read(part, known, counter) for part in (s.body, s.orelse)]
            if None in branches:
                return None
            known |= branches[0] & branches[1]  # type: ignore[operator]
        elif isinstance(s, ast.For | ast.While):
            turns = {s.target.id} if isinstance(s, ast.For) else set()  # type: ignore[attr-defined]
            if counter in turns or _set_before_read(s.body, known | turns, counter) is None:
                return None
        else:
            known |= made
    return known
