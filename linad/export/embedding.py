"""Functions of linad's own, written in NumPy, copied into a generated module.

The meaning of a primitive is often a short function of NumPy calls. Its source is read, names
of its module are replaced by what they stand for (functions of NumPy, other helpers, numbers),
and types and documentation are left out.
"""

import ast
import builtins
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.errors import ExportError

if TYPE_CHECKING:
    from linad.export.module import Module


class Embedder:
    """Copies functions into a module.

    Parameters
    ----------
    module : Module
        That gets the helpers.
    """

    def __init__(self, module: "Module") -> None:
        self.module = module
        self._names: set[str] = set()

    def helper(self, function: Callable[..., Any]) -> str:
        """Add a function to the module; return its name there.

        Raises
        ------
        ExportError
            If it is not a Python function, or uses what has no text form.
        """
        code = getattr(function, "__code__", None)
        if code is None:
            owner = getattr(function, "__self__", None)
            if isinstance(owner, np.ufunc):
                return f"{self.module.function(owner)}.{function.__name__}"
            raise ExportError(f"{function!r} is not written in Python")
        node = _find(function)
        name = self._name_for(node)
        self.module.known_as(function, name)  # it may call itself
        scope = _scope_of(function)
        local = {*code.co_varnames, *code.co_cellvars} | _inner_names(node)
        node = _Stripped().visit(node)
        node = _Renamed(self.module, scope, local).visit(node)
        if isinstance(node, ast.Lambda):
            text = f"def {name}({ast.unparse(node.args)}):\n    return {ast.unparse(node.body)}"
        else:
            node.name = name
            node.decorator_list = []
            text = ast.unparse(ast.fix_missing_locations(node))
        self.module.helper(name, text)
        return name

    def _name_for(self, node: Any) -> str:
        base = "_" + (getattr(node, "name", "") or "apply").strip("_")
        name, k = base, 2
        while name in self._names:
            name, k = f"{base}_{k}", k + 1
        self._names.add(name)
        return name


def _find(function: Callable[..., Any]) -> Any:
    """The syntax tree of a function or lambda."""
    code = function.__code__
    try:
        lines, _ = inspect.findsource(function)
    except (OSError, TypeError) as problem:
        raise ExportError(
            f"the source of {function.__qualname__} is not there: {problem}"
        ) from None
    found = []
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            first = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", [])]])
            names = [
                a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            ]
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if first == code.co_firstlineno and tuple(names) == given:
                found.append(node)
    if len(found) != 1:
        raise ExportError(f"the source of {function.__qualname__} is not one function")
    return found[0]


def _scope_of(function: Callable[..., Any]) -> dict[str, Any]:
    """What the names in a function stand for that are not its own."""
    scope = dict(function.__globals__)
    cells = function.__closure__ or ()
    scope.update(zip(function.__code__.co_freevars, [c.cell_contents for c in cells], strict=True))
    return scope


def _inner_names(node: Any) -> set[str]:
    """Names that functions and comprehensions inside a function bind."""
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id)
        elif isinstance(inner, ast.arg):
            found.add(inner.arg)
        elif isinstance(inner, ast.FunctionDef) and inner is not node:
            found.add(inner.name)
    return found


class _Stripped(ast.NodeTransformer):
    """Without types and documentation."""

    def visit_FunctionDef(self, node: Any) -> Any:
        self.generic_visit(node)
        node.returns = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node

    def visit_arg(self, node: Any) -> Any:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: Any) -> Any:
        self.generic_visit(node)
        if node.value is None:
            return ast.Pass()
        return ast.Assign([node.target], node.value, lineno=node.lineno)


class _Renamed(ast.NodeTransformer):
    """With what the names of the module stand for."""

    def __init__(self, module: "Module", scope: dict[str, Any], local: set[str]) -> None:
        self.module, self.scope, self.local = module, scope, local

    def visit_Name(self, node: Any) -> Any:
        if node.id in self.local:
            return node
        if node.id not in self.scope:
            if hasattr(builtins, node.id):
                return node
            raise ExportError(f"{node.id} is not known")
        value = self.scope[node.id]
        if isinstance(value, type) and issubclass(value, Exception):
            # One of linad's errors is also one of Python's own.
            known = [t for t in value.__mro__ if t.__module__ in ("builtins", "numpy.linalg")]
            own = known[0] if known[0].__module__ == "builtins" else ValueError
            return ast.Name(own.__name__, node.ctx)
        return ast.parse(self.module.text(value), mode="eval").body

    def visit_Attribute(self, node: Any) -> Any:
        # numpy.linalg.solve: a module is imported by its whole name.
        self.generic_visit(node)
        text = ast.unparse(node)
        head = text.partition(".")[0]
        if head == "scipy":
            self.module.imports.add(text.rpartition(".")[0])
        return node

    def visit_ImportFrom(self, node: Any) -> Any:
        if (node.module or "").startswith("linad"):
            raise ExportError(f"it uses {node.module}")
        return node

    def visit_Import(self, node: Any) -> Any:
        if any(alias.name.startswith("linad") for alias in node.names):
            raise ExportError("it uses linad")
        return node
