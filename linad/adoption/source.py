"""Modules compiled anew from their source, where renaming calls was not enough.

    f(x)            a call of a local name, of an entry of a table, of a method, of an object:
                    looked up by value
    y[i] = v        a plain y that only this name refers to becomes a traced constant first
    y += v          as well
    a @ [b, c]      a list beside an array becomes an array (`linad.adoption.list_arithmetic`)
    "%.3f" % x      a text of traced numbers
    x in {0.0, 1.0} a number is compared with each of them, and needs no hash
    np.r_[x, 1]     of a module that is imported inside a function

each behind a test of one global that is true while no trace runs. A function is replaced only if
its source compiles to the very code that it has.
"""

import ast
import builtins
import copy
import functools
import itertools
import linecache
import types
from typing import Any, TypeGuard

import numpy as np

from linad.adoption import list_arithmetic, promotion
from linad.adoption.compiled_functions import is_compiled
from linad.adoption.exchanges import PLAIN
from linad.adoption.form_table import form_of, has_form
from linad.adoption.forms import matmul, picked
from linad.adoption.objects import owner_of
from linad.adoption.text_formatting import modulo
from linad.core.codes import codes_in

_NUMBERS = frozenset({int, float, complex, np.float64})  # which are never written into
_HELPERS = {"kind": type, "numbers": _NUMBERS, "pick": picked, "form": form_of}
_HELPERS |= {"index": np.s_, "matmul": matmul, "modulo": modulo, **promotion.CALLED}
_OPERATORS = {
    ast.Add: "iadd",
    ast.Sub: "isub",
    ast.Mult: "imul",
    ast.Div: "itruediv",
    ast.Pow: "ipow",
    ast.MatMult: "imatmul",
}
_MAKERS = ("r_", "c_")  # which make arrays by an index
_SCOPES = (*list_arithmetic.SCOPES, ast.ClassDef)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _call_to(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(_load(f"_linad_{name}"), list(args), [])


def _index(index: ast.expr) -> ast.expr:
    """An index as an expression that can be handed over."""
    return ast.Subscript(_load("_linad_index"), index, ast.Load())


def _is_calm(node: ast.expr) -> bool:
    """Whether it may be evaluated twice."""
    restless = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    return not any(isinstance(part, restless) for part in ast.walk(node))


def _is_ndarray(node: ast.expr) -> bool:
    """Whether an expression is ndarray by its name, whose methods are called by the class."""
    return getattr(node, "attr", getattr(node, "id", None)) == "ndarray"


def _may_be_text(node: ast.expr) -> bool:
    """Whether an expression is a text as it stands, or may be one by its name."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and _may_be_text(node.left)
    return isinstance(node, (ast.JoinedStr, ast.Name, ast.Attribute))


def _has_lambda(node: ast.expr) -> bool:
    """Whether a lambda is in it, which is found by its line: it may not stand there twice."""
    return any(isinstance(part, ast.Lambda) for part in ast.walk(node))


def _is_fixed_set(node: ast.expr) -> TypeGuard[ast.Set]:
    return isinstance(node, ast.Set) and all(isinstance(e, ast.Constant) for e in node.elts)


def _names_of(node: Any) -> set[str]:
    """The names that a function binds itself."""
    a = node.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    own, outer = {argument.arg for argument in given}, set()
    body = node.body if isinstance(node.body, list) else [node.body]
    stack: list[Any] = list(body)
    while stack:
        part = stack.pop()
        if isinstance(part, _SCOPES):
            own.add(getattr(part, "name", ""))
            continue
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            own.add(part.id)
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            own.update([(alias.asname or alias.name).partition(".")[0] for alias in part.names])
        elif isinstance(part, (ast.Global, ast.Nonlocal)):
            outer.update(part.names)
        stack.extend(ast.iter_child_nodes(part))
    return own - outer


class _Rewrite(ast.NodeTransformer):
    """The source with calls and writes behind the test."""

    def __init__(self, renamed: frozenset[str], objects: frozenset[str]) -> None:
        self.renamed, self.objects = renamed, objects
        self.scopes: list[set[str]] = []

    def _visit_scope(self, node: Any) -> Any:
        self.scopes.append(_names_of(node))
        if isinstance(node.body, list):
            node.body = [new for part in node.body for new in self._several(self.visit(part))]
        else:
            node.body = self.visit(node.body)
        self.scopes.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_scope

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        around, self.scopes = self.scopes, []
        node.body = [new for part in node.body for new in self._several(self.visit(part))]
        self.scopes = around
        return node

    @staticmethod
    def _several(visited: Any) -> list[Any]:
        return visited if isinstance(visited, list) else [visited]

    def _is_local(self, name: str) -> bool:
        return any(name in scope for scope in self.scopes)

    def _is_own(self, name: ast.Name) -> bool:
        """Whether a name is a local variable of the function that is read."""
        return bool(self.scopes) and name.id in self.scopes[-1]

    def _root(self, node: ast.expr) -> str:
        while isinstance(node, ast.Attribute):
            node = node.value
        return node.id if isinstance(node, ast.Name) else ""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if self.scopes and self._is_looked_up(node.func):
            f = node.func
            pick = ast.IfExp(_load(PLAIN), f, _call_to("pick", f))
            node.func = ast.fix_missing_locations(ast.copy_location(pick, f))
        return node

    def _is_looked_up(self, f: ast.expr) -> bool:
        if isinstance(f, ast.Name):
            return self._is_local(f.id) or f.id in self.objects
        if isinstance(f, ast.Attribute):
            root = self._root(f)
            if f.attr == "__new__" or _is_ndarray(f.value):  # by whatever name the class has
                return True
            return root not in self.renamed or self._is_local(root)
        return isinstance(f, (ast.Subscript, ast.IfExp, ast.Call))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and self.scopes and _may_be_text(node.left):
            text = _call_to("modulo", node.left, node.right)
            either = ast.IfExp(_load(PLAIN), node, text)
            return ast.fix_missing_locations(ast.copy_location(either, node))
        if isinstance(node.op, ast.MatMult) and self.scopes and not _has_lambda(node):
            product = _call_to("matmul", node.left, node.right)
            either = ast.IfExp(_load(PLAIN), node, product)
            return ast.fix_missing_locations(ast.copy_location(either, node))
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        among, is_one = node.comparators[0], len(node.ops) == 1 and self.scopes
        if is_one and isinstance(node.ops[0], (ast.In, ast.NotIn)) and _is_fixed_set(among):
            either = ast.IfExp(_load(PLAIN), among, ast.Tuple(among.elts, ast.Load()))
            node.comparators[0] = ast.fix_missing_locations(ast.copy_location(either, among))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        makes = isinstance(node.value, ast.Attribute) and node.value.attr in _MAKERS
        if makes and self.scopes and self._is_local(self._root(node.value)):
            either = ast.IfExp(_load(PLAIN), node.value, _call_to("form", node.value))
            node.value = ast.fix_missing_locations(ast.copy_location(either, node.value))
        return node

    def _guarded(self, node: ast.stmt, new: ast.stmt, plain: ast.expr | None = None) -> ast.stmt:
        made = ast.If(plain or _load(PLAIN), [node], [new])
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def _place(self, target: ast.expr) -> ast.expr | None:
        """What a write goes to: a name or an attribute of a name; None for others."""
        if not self.scopes or not isinstance(target, ast.Subscript):
            return None
        base = target.value
        if isinstance(base, ast.Name):
            return base
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            return base
        return None

    def _written(self, helper: str, place: Any, first: list[ast.expr], last: list[Any]) -> Any:
        if isinstance(place, ast.Name):
            if not self._is_own(place):
                shared = helper.replace("write", "write_shared").replace("update", "update_shared")
                return ast.Expr(_call_to(shared, *first, _load(place.id), *last))
            call = _call_to(helper, *first, _load(place.id), *last)
            return ast.Assign([ast.Name(place.id, ast.Store())], call)
        if self._is_of_local(place):
            owner = place.value.id
            call = _call_to(helper.removesuffix("_entry") + "_data", *first, _load(owner), *last)
            return ast.Assign([ast.Name(owner, ast.Store())], call)
        helper = helper.removesuffix("_entry") + "_attribute"
        owner, name = _load(place.value.id), ast.Constant(place.attr)
        return ast.Expr(_call_to(helper, *first, owner, name, *last))

    def _is_of_local(self, place: ast.expr) -> bool:
        """Whether it is the data of a name, which may be those of a sparse array."""
        return (
            isinstance(place, ast.Attribute)
            and place.attr == "data"
            and isinstance(place.value, ast.Name)
            and self._is_own(place.value)
        )

    def visit_Expr(self, node: ast.Expr) -> Any:
        """``A.setdiag(v)``, of a name."""
        original = copy.deepcopy(node)
        self.generic_visit(node)
        call = original.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return node
        owner = call.func.value
        if not isinstance(owner, ast.Name) or not self._is_own(owner):
            return node
        if call.func.attr != "setdiag" or not call.args:
            return node
        assert isinstance(node.value, ast.Call)
        first, *rest = node.value.args
        made = _call_to("set_diagonal", first, _load(owner.id), *rest)
        made.keywords = node.value.keywords
        return self._guarded(node, ast.Assign([ast.Name(owner.id, ast.Store())], made))

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) == 1 and self._is_of_local(target):
            assert isinstance(target, ast.Attribute)
            assert isinstance(target.value, ast.Name)
            owner = target.value.id
            made = _call_to("set_data", node.value, _load(owner))
            return self._guarded(node, ast.Assign([ast.Name(owner, ast.Store())], made))
        place = self._place(target)
        if len(node.targets) > 1 or place is None or not isinstance(target, ast.Subscript):
            return node
        new = self._written("write", place, [node.value], [_index(target.slice)])
        return self._guarded(node, new)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        op, target = _OPERATORS.get(type(node.op)), node.target
        if op is None or not self.scopes:
            return node
        if isinstance(target, ast.Name):
            name, helper = target.id, "update" if self._is_own(target) else "update_shared"
            call = _call_to(helper, node.value, _load(name), ast.Constant(op))
            is_number = ast.Compare(
                _call_to("kind", _load(name)), [ast.In()], [_load("_linad_numbers")]
            )
            new = ast.Assign([ast.Name(name, ast.Store())], call)
            return self._guarded(node, new, ast.BoolOp(ast.Or(), [_load(PLAIN), is_number]))
        if isinstance(target, ast.Attribute):
            return self._updated_attribute(node, target, op)
        place = self._place(target)
        if place is None or not isinstance(target, ast.Subscript) or not _is_calm(target):
            return node
        place_now: Any = ast.parse(ast.unparse(place), mode="eval").body
        entry = ast.Subscript(place_now, target.slice, ast.Load())
        last = [_index(target.slice), ast.Constant(op)]
        return self._guarded(node, self._written("update_entry", place, [entry, node.value], last))

    def _updated_attribute(self, node: ast.AugAssign, target: ast.Attribute, op: str) -> Any:
        if not isinstance(target.value, ast.Name):
            return node
        if self._is_of_local(target):
            owner = target.value.id
            made = _call_to("update_all_data", node.value, _load(owner), ast.Constant(op))
            return self._guarded(node, ast.Assign([ast.Name(owner, ast.Store())], made))
        name, op_name = ast.Constant(target.attr), ast.Constant(op)
        call = _call_to("update_whole", node.value, _load(target.value.id), name, op_name)
        return self._guarded(node, ast.Expr(call))


Codes = dict[tuple[str, int], list[types.CodeType]]
"""The functions of a file, by name and line."""

_BEFORE: dict[str, Codes | None] = {}
"""Those of files as they are; None where there is no source."""

Names = tuple[frozenset[str], frozenset[str]]
"""Globals of a module: those that have forms, and others that are looked up where called."""

_AFTER: dict[tuple[str, bool], tuple[Names, Codes]] = {}
"""Those of files compiled anew, with arithmetic looked at everywhere or not, and for what names."""


def functions_in(code: types.CodeType) -> Codes:
    """The functions in a code by name and line, where several lambdas may stand, in order."""
    into: Codes = {}
    for inner in itertools.islice(codes_in(code), 1, None):
        into.setdefault((inner.co_qualname, inner.co_firstlineno), []).append(inner)
    return into


def _parsed(file: str) -> ast.Module | None:
    """The source of a file; None where there is none, or it is what a notebook makes Python of."""
    text = "".join(linecache.getlines(file))
    try:
        return ast.parse(text) if text else None
    except SyntaxError:
        return None


def _before(file: str) -> Codes | None:
    if file not in _BEFORE:
        for name, helper in _HELPERS.items():
            builtins.__dict__[f"_linad_{name}"] = helper
        parsed = _parsed(file)
        made = None if parsed is None else compile(parsed, file, "exec", dont_inherit=True)
        _BEFORE[file] = None if made is None else functions_in(made)
    return _BEFORE[file]


def _is_object(value: Any) -> bool:
    """Whether a global is to be looked up where it is called, though it has no form itself."""
    return isinstance(value, functools.partial) or is_compiled(value) or owner_of(value) is not None


def names_in(space: dict[str, Any]) -> Names:
    """What the code of a module is compiled anew by, which a script may go on to define."""
    by_name = frozenset({name for name, value in space.items() if has_form(value)})
    return by_name, frozenset({name for name, value in space.items() if _is_object(value)})


def _after(file: str, names: Names, everywhere: bool) -> Codes:
    known = _AFTER.get((file, everywhere))
    parsed = None if known is not None and known[0] == names else _parsed(file)
    if parsed is not None:
        looked_at = list_arithmetic.ListArithmetic(everywhere).visit(parsed)
        new = ast.fix_missing_locations(_Rewrite(*names).visit(looked_at))
        codes = functions_in(compile(new, file, "exec", dont_inherit=True))
        _AFTER[file, everywhere] = names, codes
    return _AFTER[file, everywhere][1]


def deeper(
    code: types.CodeType,
    space: dict[str, Any],
    everywhere: bool = False,
    names: Names | None = None,
) -> types.CodeType | None:
    """A function's code compiled anew; None where it is not to be had, or is the same.

    Parameters
    ----------
    code : code object
    space : dict
        The function's globals.
    everywhere : bool
        Whether both sides of all its arithmetic are looked at.
    names : Names, optional
        What `names_in` says of the globals, for whoever compiles many functions.
    """
    before = _before(code.co_filename)
    if before is None:
        return None
    key = code.co_qualname, code.co_firstlineno
    sources = before.get(key, [])
    which = [i for i, source in enumerate(sources) if _is_same(source, code)]
    if not which:
        return None
    others = _after(code.co_filename, names or names_in(space), everywhere).get(key, [])
    if len(others) != len(sources):
        return None
    new = others[which[0]]
    return None if new.co_freevars != code.co_freevars or _is_same(new, code) else new


def _is_same(a: types.CodeType, b: types.CodeType) -> bool:
    for name in ("co_code", "co_names", "co_varnames", "co_freevars"):
        if getattr(a, name) != getattr(b, name):
            return False
    if len(a.co_consts) != len(b.co_consts):
        return False
    for x, y in zip(a.co_consts, b.co_consts, strict=True):
        if isinstance(x, types.CodeType) or isinstance(y, types.CodeType):
            if type(x) is not type(y) or not _is_same(x, y):
                return False
        elif type(x) is not type(y) or repr(x) != repr(y):
            return False
    return True
