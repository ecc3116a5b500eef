"""Statements of kernels."""

import ast
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from linad.sweeps.cpu.kernel_arrays import Array
from linad.sweeps.cpu.kernel_expressions import Expressions
from linad.sweeps.cpu.kernel_numbers import INT64, Number
from linad.sweeps.cpu.kernel_stops import RAISED
from linad.sweeps.cpu.loop_hints import (
    any_order,
    chain_of_polynomials,
    mark_in_any_order,
    mark_one_vector,
    mark_whole_vectors,
    whole_vectors,
)
from linad.sweeps.cpu.object_code import has_masks


class Loop:
    """Where `continue` and `break` go, and whether any `break` does."""

    def __init__(self, following: Any, after: Any) -> None:
        self.following, self.after = following, after
        self.is_left = False


class Scope(Expressions):
    """A function that is being written: its variables, and its statements."""

    def __init__(self, kernel: Any, tree: ast.FunctionDef, namespace: dict[str, Any]) -> None:
        super().__init__(kernel, tree, namespace)
        self.loops: list[Loop] = []
        self.end: Any = None

    def run(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.kernel.builder.block.is_terminated:
                return
            write = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if write is None:
                raise SyntaxError(f"kernels know no {ast.unparse(statement)}")
            self.kernel.line = statement.lineno
            write(statement)

    def _pass(self, statement: ast.Pass) -> None:
        """Nothing is to be done."""

    def _raise(self, statement: ast.Raise) -> None:
        self.kernel.leave(RAISED)

    def _expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):  # a docstring
            self.value(statement.value)

    def _assign(self, statement: ast.Assign) -> None:
        (target,) = statement.targets
        if isinstance(target, ast.Tuple):
            assert isinstance(statement.value, ast.Tuple)
            numbers = [self.value(v) for v in statement.value.elts]
            for name, number in zip(target.elts, numbers, strict=True):
                self._assign_to(name, number)
            return
        self.target = target
        self._assign_to(target, self.value(statement.value))

    def _assign_to(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.set(target.id, value)
            return
        assert isinstance(target, ast.Subscript)
        array, indices = self._entry(target)
        self._store(array, indices, value)

    def _store(self, array: Array, indices: Sequence[Any], value: Number) -> None:
        array.store(self.kernel.builder, indices, self.kernel.cast(value, array.kind).value)

    def _augassign(self, statement: ast.AugAssign) -> None:
        target = statement.target
        if isinstance(target, ast.Name):
            before, given = self.get(target.id), self.value(statement.value)
            self.set(target.id, self._combined(statement.op, before, given))
            return
        assert isinstance(target, ast.Subscript)
        array, indices = self._entry(target)
        before = Number(array.load(self.kernel.builder, indices), array.kind)
        given = self.value(statement.value)
        self._store(array, indices, self._combined(statement.op, before, given))

    def _return(self, statement: ast.Return) -> None:
        assert statement.value is not None
        self.set("return", self.value(statement.value))
        self.kernel.builder.branch(self.end)

    def _break(self, statement: ast.Break) -> None:
        self.loops[-1].is_left = True
        self.kernel.builder.branch(self.loops[-1].after)

    def _continue(self, statement: ast.Continue) -> None:
        self.kernel.builder.branch(self.loops[-1].following)

    def _if(self, statement: ast.If) -> None:
        test = self.kernel.truth(self.value(statement.test))
        self._choose(test, lambda: self.run(statement.body), lambda: self.run(statement.orelse))

    def _while(self, statement: ast.While) -> None:
        builder = self.kernel.builder
        test, body, after = map(builder.append_basic_block, ("test", "body", "after"))
        builder.branch(test)
        builder.position_at_end(test)
        endless = isinstance(statement.test, ast.Constant) and statement.test.value is True
        if endless:
            builder.branch(body)
        else:
            builder.cbranch(self.kernel.truth(self.value(statement.test)), body, after)
        builder.position_at_end(body)
        loop = Loop(test, after)
        self._body(statement.body, loop)
        if endless and not loop.is_left:
            builder.unreachable()

    def _for(self, statement: ast.For) -> None:
        builder = self.kernel.builder
        numbers = statement.iter
        assert isinstance(numbers, ast.Call)
        hint = self.value(numbers.func)
        hinted = hint in (any_order, whole_vectors)
        low, high, step, sign = self._range(numbers.args[0] if hinted else numbers)
        known = len(builder.function.blocks)
        at = cgutils.alloca_once(builder, INT64)
        builder.store(low, at)
        names = ("test", "body", "following", "after")
        test, body, following, after = map(builder.append_basic_block, names)
        if sign is None:  # what is left is counted, since the end may lie on either side
            left, one = cgutils.alloca_once(builder, INT64), ir.Constant(INT64, 1)
            builder.store(self._turns(low, high, step), left)
        builder.branch(test)
        builder.position_at_end(test)
        if sign is None:
            goes_on = builder.icmp_signed(">", builder.load(left), ir.Constant(INT64, 0))
        else:
            goes_on = builder.icmp_signed(sign, builder.load(at), high)
        builder.cbranch(goes_on, body, after)
        builder.position_at_end(following)
        builder.store(builder.add(builder.load(at), step, flags=("nsw",)), at)
        if sign is None:
            builder.store(builder.sub(builder.load(left), one), left)
        builder.branch(test)
        builder.position_at_end(body)
        counter = builder.load(at)
        if sign == ">" and any([_goes_down(s) for s in statement.body]):
            counter = unrelated(builder, counter)
            builder.assume(builder.icmp_signed(sign, counter, high))
        self._assign_to(statement.target, Number(counter, types.int64))
        self._body(statement.body, Loop(following, after))
        jump = following.terminator
        if hint is any_order:
            mark_in_any_order(builder.module, jump, builder.function.blocks[known:])
        elif hint is whole_vectors and has_masks():
            mark_whole_vectors(builder.module, jump)
        elif chain_of_polynomials(statement.body) == 1:
            mark_one_vector(builder.module, jump)

    def _body(self, statements: Sequence[ast.stmt], loop: Loop) -> None:
        """Write what a loop repeats, and go on after it."""
        builder = self.kernel.builder
        self.loops.append(loop)
        self.run(statements)
        self.loops.pop()
        if not builder.block.is_terminated:
            builder.branch(loop.following)
        builder.position_at_end(loop.after)


def _goes_down(statement: ast.stmt) -> bool:
    """Whether a statement is, or holds, a loop with a step of -1."""
    return any(
        [
            isinstance(n, ast.For)
            and isinstance(n.iter, ast.Call)
            and len(n.iter.args) == 3
            and ast.unparse(n.iter.args[2]) == "-1"
            for n in ast.walk(statement)
        ]
    )


def unrelated(builder: Any, number: Any) -> Any:
    """A number of which the optimiser does not know what it was the turn before.

    LLVM takes the comparisons that tell whether arrays overlap out of the loop around a loop, and
    there it takes arrays that are gone through from their end for arrays that overlap.
    """
    same = ir.FunctionType(number.type, [number.type])
    return builder.asm(same, "", "=r,0", [number], side_effect=False)
