"""Python that computes and does nothing else, seen in its source.

Such code assigns variables, and computes by operators, by NumPy and by functions of the user's that
do the same. It does not write into what others see, nor call what might; so what it makes follows
from its variables. Which of that is traced follows from which of its variables are.
"""

import ast
import builtins
import functools
import math
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np

from linad.arrays.tracer import Tracer
from linad.control.source_of_code import source_of

DEEPEST = 8
"""Functions that call one another, up to which they are read."""

EXPRESSIONS = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant, ast.Name, ast.Tuple, ast.List),
    *(ast.Subscript, ast.Slice, ast.Attribute, ast.Call, ast.keyword),
    *(ast.operator, ast.unaryop, ast.cmpop, ast.expr_context),
)

_ASKS_OTHERWISE = (ast.Not, ast.Is, ast.IsNot, ast.In, ast.NotIn)

ENTRIES = {"T", "real", "imag"}
ATTRIBUTES = {*ENTRIES, "shape", "size", "ndim", "dtype"}

NUMPY = {
    **dict.fromkeys(("sum", "max", "min", "amax", "amin", "mean", "prod", "any", "all"), 2),
    **dict.fromkeys(("dot", "vdot", "inner", "outer", "cross", "stack", "concatenate"), 2),
    **dict.fromkeys(("array", "hstack", "vstack", "diag", "trace", "real", "imag"), 1),
    **dict.fromkeys(("where", "clip"), 3),
    **dict.fromkeys(("linalg.norm", "linalg.solve", "linalg.inv", "linalg.det"), 2),
}
"""Functions, beside ufuncs, that make what they return; and arguments none of which is ``out``."""

CONSTANTS = {
    **dict.fromkeys(("zeros", "ones", "eye", "zeros_like", "ones_like"), 1),
    **dict.fromkeys(("linspace", "arange"), 3),
}
"""The same, of which nothing that is made is traced."""


MATH = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log"),
    *("log10", "log1p", "expm1", "sqrt", "pow", "hypot", "fabs", "asinh", "acosh", "atanh"),
)
"""Functions of Python's, which code that is adopted calls with traced values."""


def _named(table: dict[str, int]) -> dict[Any, int]:
    return {operator.attrgetter(name)(np): n for name, n in table.items()}


_NUMPY, _CONSTANTS = _named(NUMPY), _named(CONSTANTS)

_VALUES = {Tracer, np.ndarray, list, tuple, dict, int, float, complex, bool, str, type(None)}

Kind = Any
"""Whether a value is certainly traced: a bool, or a tuple of kinds for a tuple of values."""

Callee = Callable[[Sequence[Kind], Mapping[str, Kind]], Kind]
"""What is called: which of its results is traced, by which of its arguments are."""


class PlainCode:
    """What code is read for: it assigns and computes, and nothing else.

    Attributes
    ----------
    assigned : dict
        Variables that it assigns, in order.
    called : dict
        Names, with attributes, of what it calls with how many arguments.
    read : dict
        Names, with attributes of modules, of what else it reads.
    """

    def __init__(self) -> None:
        self.assigned: dict[str, None] = {}
        self.called: dict[tuple[str, int], None] = {}
        self.read: dict[str, None] = {}

    def assigns(self, statement: ast.stmt) -> bool:
        """Whether a statement does nothing but assign variables."""
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AugAssign):
            targets = [statement.target]
        else:
            return isinstance(statement, ast.Pass)
        for target in targets:
            for n in target.elts if isinstance(target, ast.Tuple) else [target]:
                if not isinstance(n, ast.Name):
                    return False
                self.assigned[n.id] = None
        return self.computes(statement.value)

    def computes(self, expression: ast.AST) -> bool:
        """Whether an expression computes, by what is noted down to be looked at."""
        for node in ast.walk(expression):
            if not isinstance(node, EXPRESSIONS):
                return False
            if isinstance(node, ast.Compare) and len(node.ops) > 1:
                return False
            if isinstance(node, (ast.UnaryOp, ast.Compare)):
                ops = [node.op] if isinstance(node, ast.UnaryOp) else node.ops
                if any([isinstance(o, _ASKS_OTHERWISE) for o in ops]):
                    return False
            if isinstance(node, ast.Call):
                name = dotted(node.func)
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
                name = dotted(node)
                if name is None:
                    return False
                self.read[name] = None
                continue
            waiting += ast.iter_child_nodes(node)
        return True


def dotted(node: ast.AST) -> str | None:
    """``np.linalg.norm`` as it is written; None of what is no such name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


class BoundNames:
    """What names stand for in a function.

    Parameters
    ----------
    local : mapping
        Its variables.
    around : dict
        Those of its module.
    """

    def __init__(self, local: Any, around: dict[str, Any]) -> None:
        self.local, self.around = local, around

    def get(self, name: str) -> Any:
        """What a name, with attributes of modules, stands for; an object of no use if nothing."""
        first, *rest = name.split(".")
        found = self.local.get(first, self.around.get(first, getattr(builtins, first, _NOTHING)))
        for part in rest:
            if not isinstance(found, types.ModuleType):
                return _NOTHING
            found = getattr(found, part, _NOTHING)
        return found


_NOTHING = object()


def is_value(x: Any) -> bool:
    """Whether operators compute of a thing, and change nothing."""
    return type(x) in _VALUES or isinstance(x, np.generic)


def callee(names: BoundNames, name: str, arguments: int, deep: int = 0) -> Callee | None:
    """What a name stands for, if it is known to change nothing when it is called with so many
    arguments, and to do the same for the same; else None."""
    f = names.get(name)
    if isinstance(f, np.ufunc):
        return None if arguments > f.nin else _of_traced if f.nout == 1 else _plain
    if type(f) not in _FUNCTIONS:
        return None
    if f in _NUMPY:
        return _of_traced if arguments <= _NUMPY[f] else None
    if f in _CONSTANTS:
        return _plain if arguments <= _CONSTANTS[f] else None
    if f in _BUILTIN:
        return _BUILTIN[f]
    if type(f) is types.FunctionType and deep < DEEPEST:
        return _of_user(f, deep + 1)
    return None


def _of_traced(given: Sequence[Kind], named: Mapping[str, Kind]) -> Kind:
    return any(map(_has_traced, given))


def _plain(given: Sequence[Kind], named: Mapping[str, Kind]) -> Kind:
    return False


_BUILTIN: dict[Any, Callee] = {abs: _of_traced, pow: _of_traced}
_BUILTIN |= dict.fromkeys((float, len, round), _plain)
_BUILTIN |= dict.fromkeys([getattr(math, name) for name in MATH], _of_traced)

_FUNCTIONS = {types.FunctionType, *map(type, (*_NUMPY, *_CONSTANTS, *_BUILTIN))}


def _has_traced(kind: Kind) -> bool:
    return any(map(_has_traced, kind)) if isinstance(kind, tuple) else bool(kind)


def _of_user(f: types.FunctionType, deep: int) -> Callee | None:
    """A function of the user's, if it computes what it returns and does nothing else."""
    found = _computing(f.__code__)
    if found is None:
        return None
    parameters, statements, called, read = found
    cells: dict[str, Any] = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            return None
    names = BoundNames(cells, f.__globals__)
    own = f.__code__.co_varnames
    defaults = [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
    outer = {name: names.get(name) for name in read if name not in own}
    if not all(map(is_value, [*defaults, *outer.values()])):
        return None
    callees: dict[str, Callee] = {}
    for name, arguments in called:
        if name.partition(".")[0] in own or names.get(name) is f:
            return None
        made = callee(names, name, arguments, deep)
        if made is None:
            return None
        callees[name] = made
    around = {name: type(x) is Tracer for name, x in outer.items()}

    def kind(given: Sequence[Kind], named: Mapping[str, Kind]) -> Kind:
        kinds = Kinds({**around, **dict(zip(parameters, given, strict=False)), **named}, callees)
        for s in statements[:-1]:
            kinds.assign(s)
        return kinds.of(statements[-1].value)

    return kind


@functools.lru_cache(maxsize=4096)
def _computing(code: CodeType) -> tuple[Any, list[Any], Any, Any] | None:
    """Parameters, statements, calls and reads of a function that computes and returns, and does
    nothing else; None of others."""
    function = source_of(code)
    if function is None:
        return None
    if isinstance(function, ast.Lambda):
        body: list[Any] = [ast.Return(function.body)]
    else:
        body = list(function.body)
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            del body[0]  # it says what the function does
    if not body or not isinstance(body[-1], ast.Return) or body[-1].value is None:
        return None
    seen = PlainCode()
    for s in body[:-1]:
        if not isinstance(s, ast.Assign) or not seen.assigns(s):
            return None
    if not seen.computes(body[-1].value):
        return None
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    return parameters, body, tuple(seen.called), tuple(seen.read)


class Kinds:
    """Which variables are certainly traced, statement after statement.

    Parameters
    ----------
    traced : dict
        Kinds of variables.
    callees : dict
        What is called, by its name.
    """

    def __init__(self, traced: dict[str, Kind], callees: Mapping[str, Callee]) -> None:
        self.traced, self.callees = traced, callees

    def assign(self, statement: Any) -> None:
        if isinstance(statement, ast.Assign):
            kind = self.of(statement.value)
            for target in statement.targets:
                self._give(target, kind)
        elif isinstance(statement, ast.AugAssign):
            either = [self.of(ast.Name(statement.target.id)), self.of(statement.value)]  # type: ignore[union-attr]
            self._give(statement.target, True in either)

    def _give(self, target: Any, kind: Kind) -> None:
        if isinstance(target, ast.Name):
            self.traced[target.id] = kind
            return
        count = len(target.elts)
        several = isinstance(kind, tuple) and len(kind) == count
        for part, k in zip(target.elts, kind if several else (kind is True,) * count, strict=True):
            self._give(part, k)

    def of(self, node: Any) -> Kind:
        """The kind of what an expression makes."""
        if isinstance(node, ast.Name):
            return self.traced.get(node.id, False)
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(map(self.of, node.elts))
        if isinstance(node, ast.BinOp):
            return True in (self.of(node.left), self.of(node.right))
        if isinstance(node, ast.UnaryOp):
            return self.of(node.operand) is True
        if isinstance(node, ast.Compare):
            return True in map(self.of, (node.left, *node.comparators))
        if isinstance(node, ast.Subscript):
            return self.of(node.value) is True
        if isinstance(node, ast.Attribute):
            return node.attr in ENTRIES and self.of(node.value) is True
        if isinstance(node, ast.Call):
            named = {k.arg: self.of(k.value) for k in node.keywords if k.arg is not None}
            return self.callees[dotted(node.func) or ""](list(map(self.of, node.args)), named)
        return False
