"""A user's function as a syntax tree, with what is needed to name its lines in an error."""

import ast
import inspect
import linecache
import math
import textwrap
import types
from typing import Any

import numpy as np

from linad.errors import KernelError
from linad.numpy.list_arguments import numpys_own

REFUSED: dict[type, tuple[str, str]] = {
    ast.Try: ("`try`", "test the condition with `if` before the operation"),
    ast.With: ("`with`", "do it outside of the kernel"),
    ast.Yield: ("`yield`", "write the values into an array"),
    ast.YieldFrom: ("`yield from`", "write the values into an array"),
    ast.ClassDef: ("`class`", "pass arrays and numbers"),
    ast.SetComp: ("a set comprehension", "fill an array of np.zeros in a loop"),
    ast.DictComp: ("a dict comprehension", "fill an array of np.zeros in a loop"),
    ast.GeneratorExp: ("a generator", "write a loop that adds up"),
    ast.Dict: ("a dict", "use arrays and integers"),
    ast.Set: ("a set", "use arrays and integers"),
    ast.JoinedStr: ("an f-string", "raise an error with a constant text"),
    ast.Global: ("`global`", "pass the value as an argument"),
    ast.Nonlocal: ("`nonlocal`", "pass the value as an argument"),
    ast.Delete: ("`del`", "leave the statement out"),
    ast.Import: ("`import`", "import outside of the kernel"),
    ast.ImportFrom: ("`import`", "import outside of the kernel"),
    ast.Starred: ("a name with a star", "write each name"),
    ast.Await: ("`await`", "do it outside of the kernel"),
    ast.AsyncFunctionDef: ("`async`", "use a plain function"),
    ast.Match: ("`match`", "use if and elif"),
    ast.NamedExpr: ("`:=`", "assign on a line of its own"),
}
"""Syntax that kernels do not have: what it is called, and what to write instead."""


class LocalFunction(ast.expr):
    """Stands in a tree for a function that is defined there; walks of the tree pass it by."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        super().__init__()
        self.tree = tree
        self.source: LocalSource | None = None


class ListEntry(ast.stmt):
    """A turn of a list comprehension: its value is the next entry."""

    _fields = ("value",)

    def __init__(self, value: ast.expr) -> None:
        super().__init__()
        self.value = value


class LocalList(LocalFunction):
    """Stands in a tree for a list comprehension: loops whose names are their own."""


class _Lifting(ast.NodeTransformer):
    """Puts a `LocalFunction` in the place of each `def` and `lambda`, and of a comprehension."""

    def __init__(self) -> None:
        self.found: list[LocalFunction] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        made = ast.copy_location(LocalFunction(node), node)
        self.found.append(made)
        return ast.copy_location(ast.Assign([ast.Name(node.name, ast.Store())], made), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node)]
        tree = ast.copy_location(ast.FunctionDef("lambda", node.args, body, []), node)
        made = ast.copy_location(LocalFunction(tree), node)
        self.found.append(made)
        return made

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        body: ast.stmt = ast.copy_location(ListEntry(node.elt), node)
        for g in reversed(node.generators):
            for test in reversed(g.ifs):
                body = ast.copy_location(ast.If(test, [body], []), node)
            body = ast.copy_location(ast.For(g.target, g.iter, [body], []), node)
        no_arguments = ast.arguments([], [], None, [], [], None, [])
        tree = ast.copy_location(ast.FunctionDef("list", no_arguments, [body], []), node)
        made = ast.copy_location(LocalList(tree), node)
        self.found.append(made)
        return made


class FunctionSource:
    """The source of a function.

    Attributes
    ----------
    function : function
        The Python function, without what compiled it.
    tree : ast.FunctionDef
        With a `LocalFunction` in the place of each function that is defined within.
    parameters : list of str
    key : hashable
        What tells it from other functions.
    local_sources : list of LocalSource
        Of the functions that are defined within.
    """

    def __init__(self, function: Any) -> None:
        self.function = getattr(function, "py_func", function)
        if not isinstance(self.function, types.FunctionType):
            raise KernelError(
                f"kernel: expected a Python function or one compiled by numba.njit, got a "
                f"{type(function).__name__}"
            )
        self.name = self.function.__name__
        try:
            found, self.first = inspect.getsourcelines(self.function)
        except (OSError, TypeError):
            raise KernelError(
                f"kernel: the source of {self.name} cannot be read; put the function into a file"
            ) from None
        self.file = self.function.__code__.co_filename
        try:
            tree = ast.parse(textwrap.dedent("".join(found))).body[0]
        except SyntaxError:
            tree = ast.Pass()
        if not isinstance(tree, ast.FunctionDef):
            raise KernelError(
                f"kernel: {self.name} is not a function of its own lines "
                f"({self.file}:{self.first}); write it with def"
            )
        self.key: Any = self.function.__code__
        self.read(tree)

    def read(self, tree: ast.FunctionDef) -> None:
        """Take a tree for the function's."""
        self.tree = tree
        a = tree.args
        if a.vararg or a.kwarg or a.kwonlyargs:
            raise self.error(
                tree,
                "*args, **kwargs and keyword-only arguments are not supported",
                "name each argument",
            )
        self.parameters = [p.arg for p in (*a.posonlyargs, *a.args)]
        if isinstance(self, LocalSource) and tree.decorator_list:
            raise self.error(tree, "a nested function cannot have decorators", "move it out")
        lifting = _Lifting()
        tree.body = [lifting.visit(s) for s in tree.body]
        self.check()
        self.local_sources: list[LocalSource] = []
        for found in lifting.found:
            found.source = LocalSource(self, found.tree)
            self.local_sources.append(found.source)

    @property
    def captured(self) -> set[str]:
        """Names that functions within use and do not define."""
        return set().union(*[inner.free for inner in self.local_sources])

    def check(self) -> None:
        """Look for syntax that kernels do not have.

        Raises
        ------
        KernelError
        """
        texts = set()  # that errors may have
        for statement in self.tree.body:
            for node in ast.walk(statement):
                if isinstance(node, (ast.Raise, ast.Assert)):
                    texts |= {id(n) for n in ast.walk(node) if isinstance(n, ast.JoinedStr)}
                if type(node) in REFUSED and id(node) not in texts:
                    self._refuse(statement, node)
                if isinstance(node, (ast.For, ast.While)) and node.orelse:
                    raise self.error(
                        node, "`else` on a loop is not supported", "set a flag before `break`"
                    )
                if isinstance(node, ast.Constant) and isinstance(node.value, complex):
                    raise self.error(
                        node, "complex numbers are not supported", "use two arrays, of the parts"
                    )

    def _refuse(self, statement: ast.stmt, node: ast.AST) -> None:
        what, remedy = REFUSED[type(node)]
        for inner in ast.walk(statement):
            if node in ast.iter_child_nodes(inner) and not hasattr(node, "lineno"):
                node = inner
                break
        raise self.error(node, f"{what} is not in the language of kernels", remedy)

    def place(self, node: ast.AST) -> str:
        """File and line of a node."""
        return f"{self.file}:{self.first + getattr(node, 'lineno', 1) - 1}"

    @property
    def written(self) -> tuple[str, int, int]:
        """The file, and the first and last line there."""
        return self.file, self.first, self.first + (self.tree.end_lineno or 1) - 1

    def line(self, node: ast.AST) -> str:
        """The text of a node's first line."""
        return (
            linecache.getline(self.file, self.first + getattr(node, "lineno", 1) - 1).strip()
            or ast.unparse(node).split("\n")[0]
        )

    def error(self, node: ast.AST, problem: str, remedy: str) -> KernelError:
        """An error that names the line."""
        return KernelError(
            f"kernel {self.name}: {problem}; {remedy}\n  {self.place(node)}\n    {self.line(node)}"
        )

    def outside(self, name: str) -> Any:
        """What a name stands for outside of the function; KeyError if there is none."""
        f = self.function
        if name in f.__code__.co_freevars:
            cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
            return cells[name].cell_contents
        if name in f.__globals__:
            return f.__globals__[name]
        builtins = f.__globals__["__builtins__"]
        known = builtins if isinstance(builtins, dict) else vars(builtins)
        return known[name]

    def resolved(self, node: ast.AST) -> Any:
        """The object outside of the function that a dotted name stands for; KeyError if none.

        NumPy's own function for that of `linad.numpy` that takes lists.
        """
        if isinstance(node, ast.Name):
            return numpys_own(self.outside(node.id))
        if isinstance(node, ast.Attribute):
            value = self.resolved(node.value)
            if isinstance(value, types.ModuleType):
                return numpys_own(getattr(value, node.attr))
        raise KeyError(ast.unparse(node))


class LocalSource(FunctionSource):
    """The source of a function that is defined within another."""

    def __init__(self, outer: FunctionSource, tree: ast.FunctionDef) -> None:
        self.function, self.first, self.file = outer.function, outer.first, outer.file
        self.name, self.key = tree.name, (outer.key, tree.lineno, tree.col_offset)
        self.read(tree)

    @property
    def free(self) -> set[str]:
        """Names that it uses and does not define."""
        names = [n for s in self.tree.body for n in ast.walk(s) if isinstance(n, ast.Name)]
        own = {*self.parameters} | {n.id for n in names if isinstance(n.ctx, ast.Store)}
        return ({n.id for n in names} | self.captured) - own


def name_of_function(value: Any) -> str:
    """The name of a function of `math`, NumPy or Python; "" for any other."""
    name = getattr(value, "__name__", "")
    for module in (math, np):
        if getattr(module, name, None) is value:
            if module is math and name == "remainder":
                return "math.remainder"  # to the nearest multiple; NumPy's is Python's %
            rounding = module is np and name in ("floor", "ceil", "trunc", "rint")
            return f"np{name}" if rounding else name
    import builtins

    return name if getattr(builtins, name, None) is value else ""


def is_mapped(function: Any) -> bool:
    """Whether `numba.vectorize` or `numba.guvectorize` made a function, for one thread."""
    return (
        hasattr(function, "__wrapped__") and hasattr(function, "nin") and hasattr(function, "ufunc")
    )


def is_kernel(function: Any) -> bool:
    """Whether `linad.kernel` made a function."""
    return hasattr(type(function), "adjoint_source")
