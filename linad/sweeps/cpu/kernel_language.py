"""Kernels as LLVM's instructions, written from their source in one walk.

The source of a kernel is a little language: numbers, entries of arrays, assignments, ``for`` over a
`range`, ``while``, ``if``, calls. It is a part of Python as Numba knows it, and means the same:
operators and functions are Numba's own, found by the types of their operands. What Numba does
beside, because it must understand any Python (bytecode, data flow, types that depend on one
another, objects, exceptions), takes three quarters of its time, and kernels have no need of it.

The modules beside this one have a part of the language each: numbers, variables, expressions,
statements, arrays, functions, and why a kernel stopped.

    def kernel(p, start, stop):
        q0 = operand(p, 0)
        for i0 in range(start, stop):
            t0 = get_f8(q0, i0, -1)
            set_f8(q0, i0, t0 * t0, 0)
        return 0
"""

import ast
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu_options import FastMathOptions
from numba.core.fastmathpass import rewrite_module

from linad.sweeps.cpu.kernel_arrays import Memory
from linad.sweeps.cpu.kernel_numbers import INT64, Number, NumberWriter, contexts
from linad.sweeps.cpu.kernel_statements import Scope
from linad.sweeps.cpu.kernel_stops import NO_MEMORY, status_of
from linad.sweeps.cpu.kernel_variables import Wider


class _NoLibrary:
    """What Numba's functions would be linked to that are compiled apart: a kernel is alone."""

    def add_linking_library(self, library: Any) -> None:
        raise TypeError(f"a kernel cannot call {library.name}")


def module_of(source: str, name: str, namespace: dict[str, Any], fast: bool) -> str:
    """The text of a module with one function, ``name``, the kernel.

    Parameters
    ----------
    source : str
        Of a function ``kernel(p, start, stop)``.
    name : str
    namespace : dict
        What its names stand for.
    fast : bool
        Whether arithmetic may be reordered, and NaN and infinity ignored.
    """
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    module = written(function, name, namespace)
    if fast:
        rewrite_module(module, FastMathOptions(True))
    return str(module)


def written(tree: ast.FunctionDef, name: str, namespace: dict[str, Any]) -> Any:
    """A module with one function, of at most three words, written from its syntax tree."""
    kinds: dict[tuple[int, str], Any] = {}
    while True:
        module = ir.Module(name)
        try:
            with global_compiler_lock, contexts()[1].push_code_library(_NoLibrary()):
                Kernel(module, name, kinds).write(tree, namespace)
        except Wider:
            continue
        return module


class Kernel(NumberWriter):
    """A kernel that is being written."""

    def __init__(self, module: Any, name: str, kinds: dict[tuple[int, str], Any]) -> None:
        function = ir.Function(module, ir.FunctionType(INT64, [INT64] * 3), name)
        super().__init__(ir.IRBuilder(function.append_basic_block("entry")))
        self.kinds = kinds
        self.scopes = 0
        self.line = 0
        self.divisions_are_checked = self.indices_are_checked = False
        self.memory = Memory(self.builder, lambda test: self.leave_if(test, NO_MEMORY))

    def write(self, tree: ast.FunctionDef, namespace: dict[str, Any]) -> None:
        words = self.builder.function.args[: len(tree.args.args)]
        arguments = [Number(a, types.int64) for a in words]
        status = self.call_inline(tree, namespace, arguments)
        self.memory.give_back()
        self.builder.ret(self.cast(status, types.int64).value)

    def leave_if(self, test: Any, reason: int) -> None:
        """End the kernel for a reason, which its status tells with the line."""
        builder = self.builder
        leaves, goes_on = map(builder.append_basic_block, ("leaves", "goes on"))
        builder.cbranch(test, leaves, goes_on)
        builder.position_at_end(leaves)
        self.leave(reason)
        builder.position_at_end(goes_on)

    def leave(self, reason: int) -> None:
        status = ir.Constant(INT64, status_of(self.line, reason))
        self.outermost.set("return", Number(status, types.int64))
        self.builder.branch(self.outermost.end)

    def call_inline(
        self, tree: ast.FunctionDef, namespace: dict[str, Any], arguments: Sequence[Number]
    ) -> Number:
        """Write a function of the same language in place; what it returns."""
        scope = Scope(self, tree, namespace)
        if scope.number == 1:
            self.outermost = scope
        for parameter, number in zip(tree.args.args, arguments, strict=True):
            scope.set(parameter.arg, number)
        end = self.builder.append_basic_block("end")
        scope.end = end
        scope.run(tree.body)
        if not self.builder.block.is_terminated:
            raise SyntaxError(f"{tree.name} may end without a result")
        self.builder.position_at_end(end)
        return scope.get("return")
