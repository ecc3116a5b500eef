"""Threads of a kernel of `numba.cuda.jit` on the host, one after the other.

The source of the kernel is compiled with another meaning of what it asks of `numba.cuda`: an index
of the thread is an entry of ``_at``, and a sum into an entry needs no protection.

    _at[0], _at[1]     the thread in its block, the block in its grid; along three axes
    _at[2], _at[3]     how many threads a block has, how many blocks the grid
"""

import ast
import functools
import inspect
import itertools
import textwrap
import types
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from linad.core.array_type import Array
from linad.core.cuda_kernels import is_cuda_kernel, python_function
from linad.errors import KernelError

AXES = ("x", "y", "z")

INDICES = ("threadIdx", "blockIdx", "blockDim", "gridDim")
"""What a thread may ask where it is, in the order of the rows of ``_at``."""

MODULES = ("numba.cuda", "numba.cuda.simulator")


@functools.cache
def host_form(function: types.FunctionType, compiled: bool = True) -> Any:
    """A function of the grid, an array of blocks and threads, and the arguments, that runs the
    threads of a kernel one after the other.

    Raises
    ------
    KernelError
        If the kernel asks `numba.cuda` for more than indices.
    """
    jit = _njit() if compiled else lambda f: f
    body = _thread(function, jit)
    names = list(inspect.signature(function).parameters)
    counters = [f"_{what}{a}" for what in "bt" for a in AXES]
    loops = [f"for {c} in range(_grid[{k // 3}, {k % 3}]):" for k, c in enumerate(counters)]
    lines = ["def run(_grid, " + ", ".join(names) + "):", "    _at = _np.empty((4, 3), _np.int64)"]
    lines += ["    _at[2], _at[3] = _grid[1], _grid[0]"]
    lines += ["    " * (k + 1) + text for k, text in enumerate(loops)]
    pad = "    " * (len(loops) + 1)
    lines += [f"{pad}_at[{1 - k // 3}, {k % 3}] = {c}" for k, c in enumerate(counters)]
    lines.append(f"{pad}_body(_at, {', '.join(names)})")
    scope = {"_np": np, "_body": body}
    exec("\n".join(lines), scope)
    return jit(scope["run"])


def _njit() -> Any:
    import numba

    return numba.njit(error_model="numpy")


def _thread(function: types.FunctionType, jit: Callable[[Any], Any]) -> Any:
    """A kernel, or a function that it calls, of the place of a thread and its own arguments."""
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        raise KernelError(
            f"{function.__name__}: its source cannot be read; put the kernel into a file, or pass "
            f"host=, a function that does the same to NumPy's arrays"
        ) from None
    if not isinstance(tree, ast.FunctionDef):
        raise KernelError(f"{function.__name__}: expected a kernel that is written with def")
    scope = dict(function.__globals__)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    scope |= {name: cell.cell_contents for name, cell in cells}
    tree.decorator_list = []
    tree.args.args.insert(0, ast.arg("_at"))
    _OnHost(function, scope, jit).visit(tree)
    exec(compile(ast.unparse(tree), "<host form of a kernel>", "exec"), scope)
    return jit(scope[function.__name__])


def _added(a: Array, i: tuple[Any, ...], value: Any) -> Any:
    """What `cuda.atomic.add` does, where threads come one after the other."""
    old = a[i]
    a[i] = old + value
    return old


class _OnHost(ast.NodeTransformer):
    """Puts the place of a thread, ``_at``, where a kernel asks `numba.cuda` for it."""

    def __init__(
        self, function: Callable[..., Any], scope: dict[str, Any], jit: Callable[[Any], Any]
    ) -> None:
        self.function, self.scope, self.jit = function, scope, jit
        self.numbers = itertools.count()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        path = self._in_cuda(node.func)
        if path in (("grid",), ("gridsize",)) and len(node.args) == 1:
            count = ast.literal_eval(node.args[0])
            first = "_at[1, {0}] * _at[2, {0}] + _at[0, {0}]"
            text = first if path == ("grid",) else "_at[2, {0}] * _at[3, {0}]"
            parts = [f"({text.format(k)})" for k in range(count)]
            return _expression(parts[0] if count == 1 else f"({', '.join(parts)})")
        if path == ("atomic", "add"):
            node.func = self._known_as(self.jit(_added))
            node.args = [self.visit(a) for a in node.args]
            return node
        called = self._value(node.func)
        if is_cuda_kernel(called):
            node.func = self._known_as(_thread(python_function(called), self.jit))
            node.args = [_expression("_at"), *[self.visit(a) for a in node.args]]
            return node
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        path = self._in_cuda(node)
        if path is None:
            return self.generic_visit(node)
        if len(path) == 2 and path[0] in INDICES and path[1] in AXES:
            return _expression(f"_at[{INDICES.index(path[0])}, {AXES.index(path[1])}]")
        self._refuse(path)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        path = self._in_cuda(node)
        if path is not None:
            self._refuse(path)
        return node

    def _refuse(self, path: tuple[str, ...]) -> NoReturn:
        raise KernelError(
            f"{self.function.__name__}: cuda.{'.'.join(path)} has no counterpart on the host, "
            f"where the kernel runs to be recorded; pass host=, a function that does the same to "
            f"NumPy's arrays"
        )

    def _known_as(self, function: Callable[..., Any]) -> ast.expr:
        name = f"_called{next(self.numbers)}"
        self.scope[name] = function
        return ast.Name(name, ast.Load())

    def _in_cuda(self, node: ast.expr) -> tuple[str, ...] | None:
        """The names behind that of the module `numba.cuda`; None for what is not of it."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
            if getattr(self._value(node), "__name__", "") in MODULES:
                return tuple(names)
        value = self._value(node)  # of what was imported from there
        if is_cuda_kernel(value) or not str(getattr(value, "__module__", "")).startswith(MODULES):
            return None
        return getattr(value, "__name__", ast.unparse(node)), *names

    def _value(self, node: ast.expr) -> Any:
        """What a dotted name stands for outside of the kernel; None if that is nothing."""
        if isinstance(node, ast.Name):
            return self.scope.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(self._value(node.value), node.attr, None)
        return None


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
