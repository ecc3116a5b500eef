"""NumPy's Python over ndarray, executed once more from its source with other names.

In it ``ndarray`` is a class over `linad.adoption.subclasses.Held`, ``np`` has the forms, and what
the source asks of ndarray alone is asked of functions that know traced arrays:

    x.view(cls)                 _linad_view(x, cls)
    x.__array__()               _linad_bare(x)
    x.__array_interface__       _linad_memory(x)
"""

import ast
import inspect
import types
from typing import Any

import numpy as np

from linad.adoption.results import holds_array
from linad.core.adopted import SPACES
from linad.core.tree import bare


def _bare(x: Any) -> Any:
    """``x.__array__()``"""
    return bare(x) if holds_array(x) else np.ndarray.__array__(x)


def _memory(x: Any) -> dict[str, Any]:
    """``x.__array_interface__``, as far as it tells whether two arrays are one."""
    return {"data": (id(x._held), False)} if holds_array(x) else x.__array_interface__


class _AskedOfArrays(ast.NodeTransformer):
    """What the source asks of ndarray alone, as calls: ``x.view(cls)``, ``ndarray.view(x)``."""

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if node.attr != "__array_interface__":
            return node
        return ast.Call(ast.Name("_linad_memory", ast.Load()), [node.value], [])

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        f = node.func
        if not isinstance(f, ast.Attribute) or node.keywords:
            return node
        if f.attr == "__array__" and not node.args:
            return ast.Call(ast.Name("_linad_bare", ast.Load()), [f.value], [])
        if f.attr != "view":
            return node
        of_class = isinstance(f.value, ast.Name) and f.value.id == "ndarray"
        given = node.args if of_class else [f.value, *node.args]
        return ast.Call(ast.Name("_linad_view", ast.Load()), given, [])


def executed(original: types.ModuleType, names: dict[str, Any]) -> types.ModuleType:
    """A module executed again, with other values of names that it imports or has built in."""
    made = types.ModuleType(original.__name__)
    space = vars(made)
    space |= {"__file__": original.__file__, "__package__": original.__package__}
    SPACES[id(space)] = space
    tree = ast.fix_missing_locations(_AskedOfArrays().visit(ast.parse(inspect.getsource(original))))
    imports: list[ast.stmt] = [
        node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    others = [node for node in tree.body if node not in imports]
    file = str(original.__file__)
    exec(compile(ast.Module(imports, []), file, "exec", dont_inherit=True), space)
    space |= {"_linad_bare": _bare, "_linad_memory": _memory} | names
    exec(compile(ast.Module(others, []), file, "exec", dont_inherit=True), space)
    return made
