"""Kernels as LLVM's instructions, written from their source in one walk.

The source of a kernel is a little language: numbers, assignments, ``for`` over a `range`,
``while``, ``if``, calls. It is a part of Python as Numba knows it, and means the same: operators
and functions are Numba's own, found by the types of their operands. What Numba does beside, because
it must understand any Python (bytecode, data flow, types that depend on one another, objects,
exceptions), takes three quarters of its time, and kernels have no need of it.

A variable has one type. Where it is given numbers of several types, the kernel is written again
with the type that holds them all. A variable that is set at one place of the source, as most are,
is a value of LLVM's; others lie in memory until LLVM finds registers for them.

    def kernel(p, start, stop):
        q0 = operand(p, 0)
        for i0 in range(start, stop):
            t0 = get_f8(q0, i0, -1)
            set_f8(q0, i0, t0 * t0, 0)
        return 0
"""

import ast
import builtins
import functools
import inspect
import operator
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import callconv, cgutils, errors, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu_options import FastMathOptions
from numba.core.fastmathpass import rewrite_module
from numba.core.registry import cpu_target
from numba.core.types.containers import Tuple
from numba.core.types.misc import literal, unliteral
from numba.np import numpy_support

from linad.sweeps.cpu.kernel_functions import (
    IN_PLACE,
    LONGEST,
    TYPES,
    power_of_integer,
    power_of_real,
)
from linad.sweeps.cpu.kernel_arrays import (
    Array,
    ArrayMaker,
    Memory,
    array_at,
    from_beginning,
    grown,
)
from linad.sweeps.cpu.native import check_divisions

INT64 = ir.IntType(64)

STOPPED = 16
"""The least status of a kernel that could not go on: 16 + 4 times the line + the reason."""

REASONS = RAISED, DIVISION, NO_STEP, NO_MEMORY = range(4)
"""Why it stopped: what the line raises, a division by zero, a range whose step is zero, memory."""

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def stop_of(status: int) -> tuple[int, int]:
    """The line of a source at which a kernel stopped, and the reason."""
    return divmod(status - STOPPED, len(REASONS))


class Number(NamedTuple):
    """A number in a kernel: what LLVM knows it by, and its type in Numba's words."""

    value: Any
    type: Any


class _Loop:
    """Where `continue` and `break` go, and whether any `break` does."""

    def __init__(self, following: Any, after: Any) -> None:
        self.following, self.after = following, after
        self.is_left = False


class _NoLibrary:
    """What Numba's functions would be linked to that are compiled apart: a kernel is alone."""

    def add_linking_library(self, library: Any) -> None:
        raise TypeError(f"a kernel cannot call {library.name}")


class _Wider(Exception):
    """A variable is given a number that its type does not hold."""


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
    kinds: dict[tuple[int, str], Any] = {}
    while True:
        module = ir.Module(name)
        try:
            with global_compiler_lock, _contexts()[1].push_code_library(_NoLibrary()):
                _Kernel(module, name, kinds).write(function, namespace)
        except _Wider:
            continue
        if fast:
            rewrite_module(module, FastMathOptions(True))
        return str(module)


@functools.cache
def _contexts() -> tuple[Any, Any]:
    """Numba's knowledge of types, and of what its operators do on this processor."""
    typing, target = cpu_target.typing_context, cpu_target.target_context
    typing.refresh()
    target.refresh()
    return typing, target.subtarget(error_model=callconv.create_error_model("numpy", target))


@functools.lru_cache(4096)
def _found(function: Any, kinds: tuple[Any, ...]) -> tuple[Any, Any]:
    """The types that a function of Numba's takes and gives, and what writes it."""
    typing, target = _contexts()
    named = typing.resolve_value_type(function)
    signature = typing.resolve_function_type(named, kinds, {})
    if signature is None:
        raise TypeError
    return signature, target.get_function(named, signature)


@functools.cache
def _tree_of(function: Any) -> ast.FunctionDef:
    """The syntax tree of a Python function."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _set_once(tree: ast.FunctionDef) -> set[str]:
    """The names that are set at one place, and read only after it, in the block that it is in.

    Where a block ends, another may begin that does not know the value: after a loop of no turns,
    say.
    """
    count = Counter([a.arg for a in tree.args.args])
    reads: dict[str, list[ast.Name]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                count[node.id] += 1
            else:
                reads[node.id].append(node)
    found = {a.arg for a in tree.args.args if count[a.arg] == 1}
    for block, names in _blocks(tree):
        once = [(name, end) for name, end in names if count[name] == 1]
        if once:
            inside = {id(node) for statement in block for node in ast.walk(statement)}
            found |= {
                name
                for name, end in once
                if all([id(r) in inside and end <= (r.lineno, r.col_offset) for r in reads[name]])
            }
    return found


def _blocks(tree: ast.FunctionDef) -> Iterator[tuple[list[ast.stmt], list[tuple[str, Any]]]]:
    """The lists of statements in a function, the names that each sets, and where that is done."""
    for node in ast.walk(tree):
        for part in ("body", "orelse"):
            block = getattr(node, part, None)
            if not isinstance(block, list):
                continue
            setting: list[tuple[ast.expr, ast.AST]] = [
                (s.targets[0], s) for s in block if isinstance(s, ast.Assign)
            ]
            if isinstance(node, ast.For):
                setting.append((node.target, node.iter))
            yield (
                block,
                [
                    (name.id, (by.end_lineno, by.end_col_offset))  # type: ignore[attr-defined]
                    for target, by in setting
                    for name in ast.walk(target)
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
                ],
            )


class _Kernel:
    """A function that is being written."""

    def __init__(self, module: Any, name: str, kinds: dict[tuple[int, str], Any]) -> None:
        _, self.context = _contexts()
        function = ir.Function(module, ir.FunctionType(INT64, [INT64] * 3), name)
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.kinds = kinds
        self.scopes = 0
        self.line = 0
        self.divisions_are_checked = False
        self.memory = Memory(self.builder, lambda test: self.leave_if(test, NO_MEMORY))

    def write(self, tree: ast.FunctionDef, namespace: dict[str, Any]) -> None:
        arguments = [Number(a, types.int64) for a in self.builder.function.args]
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
        status = ir.Constant(INT64, STOPPED + len(REASONS) * self.line + reason)
        self.outermost.set("return", Number(status, types.int64))
        self.builder.branch(self.outermost.end)

    def call_inline(
        self, tree: ast.FunctionDef, namespace: dict[str, Any], arguments: Sequence[Number]
    ) -> Number:
        """Write a function of the same language in place; what it returns."""
        scope = _Scope(self, tree, namespace)
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

    def cast(self, number: Number, kind: Any) -> Number:
        value = self.context.cast(self.builder, number.value, number.type, kind)
        return Number(value, kind)

    def applied(self, function: Any, *numbers: Number) -> Number:
        """What one of Numba's own functions gives."""
        kinds = tuple([unliteral(x.type) for x in numbers])
        if function is operator.mul and any(isinstance(k, types.Complex) for k in kinds):
            return self.product(*numbers)
        try:
            signature, write = _found(function, kinds)
            value = write(self.builder, self._passed(numbers, signature))
        except (TypeError, errors.NumbaError) as problem:
            # Numba has no such function, or one that is compiled apart, and may raise.
            of = ", ".join(map(str, kinds))
            raise TypeError(f"kernels know no {function} of {of}") from problem
        return Number(value, signature.return_type)

    def _passed(self, numbers: Sequence[Number], signature: Any) -> list[Any]:
        return [
            self.context.cast(self.builder, x.value, x.type, kind)
            for x, kind in zip(numbers, signature.args, strict=True)
        ]

    def intrinsic(self, function: Any, numbers: Sequence[Number]) -> Number:
        """What one of linad's own functions gives, which writes instructions itself."""
        kinds = [x.type for x in numbers]
        if not function._prefer_literal:
            kinds = [unliteral(kind) for kind in kinds]
        signature, write = function._defn(_contexts()[0], *kinds)
        values = self._passed(numbers, signature)
        return Number(write(self.context, self.builder, signature, values), signature.return_type)

    def constant(self, value: Any) -> Number:
        """A number that the source says."""
        if isinstance(value, bool):
            return Number(ir.Constant(ir.IntType(1), int(value)), types.boolean)
        if isinstance(value, int):
            return Number(ir.Constant(INT64, value), literal(value))
        if isinstance(value, float):
            return Number(ir.Constant(ir.DoubleType(), value), types.float64)
        raise TypeError(f"kernels know no constant {value!r}")

    def extreme(self, sign: Any, a: Number, b: Number) -> Number:
        """The lesser or the greater of two numbers; the first if they are equal, or NaN."""
        kind = _contexts()[0].unify_types(unliteral(a.type), unliteral(b.type))
        first, second = self.cast(a, kind), self.cast(b, kind)
        test = self.applied(sign, second, first).value
        return Number(self.builder.select(test, second.value, first.value), kind)

    def product(self, a: Number, b: Number) -> Number:
        """(x + iu)(y + iv) = xy - uv + i(xv + uy), as NumPy computes it."""
        kind = _contexts()[0].unify_types(a.type, b.type)
        z, w = self.cast(a, kind).value, self.cast(b, kind).value
        extract, builder = self.builder.extract_value, self.builder
        x, u, y, v = extract(z, 0), extract(z, 1), extract(w, 0), extract(w, 1)
        real = builder.fsub(builder.fmul(x, y), builder.fmul(u, v))
        imag = builder.fadd(builder.fmul(x, v), builder.fmul(u, y))
        both = builder.insert_value(ir.Constant(z.type, ir.Undefined), real, 0)
        return Number(builder.insert_value(both, imag, 1), kind)

    def truth(self, number: Number) -> Any:
        """Whether a number is not zero, as LLVM's bit."""
        return self.cast(number, types.boolean).value


class _Scope:
    """The variables of one function, and its statements."""

    def __init__(self, kernel: _Kernel, tree: ast.FunctionDef, namespace: dict[str, Any]) -> None:
        self.kernel, self.namespace = kernel, namespace
        self.number = kernel.scopes = kernel.scopes + 1
        self.set_once = _set_once(tree)
        self.values: dict[str, Number | Array] = {}
        self.arrays: dict[str, Array] = {}
        self.slots: dict[str, Any] = {}
        self.loops: list[_Loop] = []
        self.end: Any = None

    # Variables.

    def set(self, name: str, number: Number | Array) -> None:
        if isinstance(number, Array):
            self._set_array(name, number)
            return
        if name in self.set_once:
            self.values[name] = Number(number.value, unliteral(number.type))
            return
        kernel, key = self.kernel, (self.number, name)
        kind = unliteral(number.type)
        known = kernel.kinds.setdefault(key, kind)
        if known != kind:
            wide = _contexts()[0].unify_types(known, kind)
            if wide is None:
                raise TypeError(f"{name} is {known} and {kind}")
            if wide != known:
                kernel.kinds[key] = wide
                raise _Wider
        if name not in self.slots:
            space = kernel.context.get_value_type(known)
            self.slots[name] = cgutils.alloca_once(kernel.builder, space)
        kernel.builder.store(kernel.cast(number, known).value, self.slots[name])

    def _set_array(self, name: str, array: Array) -> None:
        if name in self.set_once:
            self.values[name] = array
            return
        builder = self.kernel.builder
        parts = (array.address, *array.shape)
        if name not in self.arrays:
            slots = [cgutils.alloca_once(builder, part.type) for part in parts]
            self.arrays[name] = Array(slots[0], tuple(slots[1:]), array.kind)
        slots = [self.arrays[name].address, *self.arrays[name].shape]
        for slot, part in zip(slots, parts, strict=True):
            builder.store(part, slot)

    def _array(self, name: str) -> Array:
        load, slots = self.kernel.builder.load, self.arrays[name]
        return Array(load(slots.address), tuple(map(load, slots.shape)), slots.kind)

    def get(self, name: str) -> Number:
        value = self.kernel.builder.load(self.slots[name])
        return Number(value, self.kernel.kinds[self.number, name])

    # Statements.

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

    def _entry(self, node: ast.Subscript) -> tuple[Array, list[Any]]:
        """An array, and indices of an entry of it that count from the beginning."""
        array = self.value(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        kernel, indices = self.kernel, []
        for part, length in zip(parts, array.shape, strict=True):
            number = self.value(part)
            i = kernel.cast(number, types.int64).value
            signed = getattr(unliteral(number.type), "signed", True)
            indices.append(from_beginning(kernel.builder, i, length) if signed else i)
        return array, indices

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

    def _choose(self, test: Any, first: Callable[[], None], other: Callable[[], None]) -> None:
        """Write two branches, and go on after them."""
        builder = self.kernel.builder
        blocks = [builder.append_basic_block(name) for name in ("then", "else", "after")]
        builder.cbranch(test, *blocks[:2])
        goes_on = False
        for block, write in zip(blocks[:2], (first, other), strict=True):
            builder.position_at_end(block)
            write()
            if not builder.block.is_terminated:
                builder.branch(blocks[2])
                goes_on = True
        builder.position_at_end(blocks[2])
        if not goes_on:
            builder.unreachable()

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
        loop = _Loop(test, after)
        self._body(statement.body, loop)
        if endless and not loop.is_left:
            builder.unreachable()

    def _for(self, statement: ast.For) -> None:
        builder = self.kernel.builder
        low, high, step, sign = self._range(statement.iter)
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
        self._assign_to(statement.target, Number(builder.load(at), types.int64))
        self._body(statement.body, _Loop(following, after))

    def _turns(self, low: Any, high: Any, step: Any) -> Any:
        """How many numbers a range has."""
        builder, zero, one = self.kernel.builder, ir.Constant(INT64, 0), ir.Constant(INT64, 1)
        up = builder.icmp_signed(">", step, zero)
        way = builder.select(up, builder.sub(high, low), builder.sub(low, high))
        pace = builder.select(up, step, builder.neg(step))
        turns = builder.add(builder.sdiv(builder.sub(way, one), pace), one)
        return builder.select(builder.icmp_signed(">", way, zero), turns, zero)

    def _body(self, statements: Sequence[ast.stmt], loop: _Loop) -> None:
        """Write what a loop repeats, and go on after it."""
        builder = self.kernel.builder
        self.loops.append(loop)
        self.run(statements)
        self.loops.pop()
        if not builder.block.is_terminated:
            builder.branch(loop.following)
        builder.position_at_end(loop.after)

    def _range(self, call: ast.expr) -> tuple[Any, Any, Any, str | None]:
        """Where a loop begins, where it ends, its step, and how its counter compares with the end.

        None if the source does not say whether it goes up or down.
        """
        assert isinstance(call, ast.Call)
        assert self.value(call.func) is range
        numbers = [self.value(a) for a in call.args]
        if len(numbers) == 1:
            numbers = [self.kernel.constant(0), *numbers]
        if len(numbers) == 2:
            numbers = [*numbers, self.kernel.constant(1)]
        low, high, step = [self.kernel.cast(x, types.int64).value for x in numbers]
        said = getattr(numbers[2].type, "literal_value", 0)
        if not said:
            none = self.kernel.builder.icmp_signed("==", step, ir.Constant(INT64, 0))
            self.kernel.leave_if(none, NO_STEP)
        return low, high, step, ">" if said < 0 else "<" if said > 0 else None

    # Expressions: numbers, or Python's objects that names of the namespace stand for.

    def value(self, node: ast.expr) -> Any:
        write = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if write is None:
            raise SyntaxError(f"kernels know no {ast.unparse(node)}")
        return write(node)

    def _of_constant(self, node: ast.Constant) -> Number:
        return self.kernel.constant(node.value)

    def _of_name(self, node: ast.Name) -> Any:
        if node.id in self.values:
            return self.values[node.id]
        if node.id in self.slots:
            return self.get(node.id)
        if node.id in self.arrays:
            return self._array(node.id)
        found = self.namespace.get(node.id, getattr(builtins, node.id, None))
        return self.kernel.constant(found) if isinstance(found, int | float) else found

    def _of_attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, Array):
            lengths = tuple([Number(n, types.int64) for n in owner.shape])
            if node.attr == "shape":
                return lengths
            assert node.attr == "size"
            return Number(owner.size(self.kernel.builder), types.int64)
        if not isinstance(owner, Number):
            found = getattr(owner, node.attr)
            return self.kernel.constant(found) if isinstance(found, float) else found
        assert isinstance(owner.type, types.Complex)
        part = ("real", "imag").index(node.attr)
        return Number(
            self.kernel.builder.extract_value(owner.value, part), owner.type.underlying_float
        )

    def _of_tuple(self, node: ast.Tuple) -> Number:
        numbers = [self.value(e) for e in node.elts]
        kind = Tuple([unliteral(x.type) for x in numbers])
        values = [x.value for x in numbers]
        return Number(self.kernel.context.make_tuple(self.kernel.builder, kind, values), kind)

    def _of_unaryop(self, node: ast.UnaryOp) -> Number:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return self.kernel.constant(-node.operand.value)  # type: ignore[operator]
        return self.kernel.applied(OPERATORS[type(node.op)], self.value(node.operand))

    def _of_binop(self, node: ast.BinOp) -> Number:
        return self._combined(node.op, self.value(node.left), self.value(node.right))

    def _combined(self, op: ast.operator, left: Number, right: Number) -> Number:
        if self.kernel.divisions_are_checked and isinstance(op, ast.Div | ast.FloorDiv | ast.Mod):
            self.kernel.leave_if(self.kernel.builder.not_(self.kernel.truth(right)), DIVISION)
        if isinstance(op, ast.Pow):
            return self._power(left, right)
        return self.kernel.applied(OPERATORS[type(op)], left, right)

    def _power(self, base: Number, exponent: Number) -> Number:
        """A power, by multiplications if the exponent is whole."""
        kernel, kind = self.kernel, unliteral(base.type)
        known = getattr(exponent.type, "literal_value", None)
        if exponent.type == types.boolean:
            exponent = kernel.cast(exponent, types.int64)
        if not isinstance(unliteral(exponent.type), types.Integer):
            return kernel.applied(operator.pow, base, exponent)
        if kernel.divisions_are_checked and (known is None or known < 0):
            below = kernel.applied(operator.lt, exponent, kernel.constant(0)).value
            none = kernel.builder.not_(kernel.truth(base))
            kernel.leave_if(kernel.builder.and_(below, none), DIVISION)
        if isinstance(kind, types.Integer | types.Boolean):
            arguments, function = [kernel.cast(base, types.int64)], power_of_integer
        else:
            if known is None:
                base = kernel.cast(base, types.float64)
            arguments = [base, kernel.cast(kernel.constant(1.0), unliteral(base.type))]
            function = power_of_real
        if known is not None and 0 <= known <= LONGEST:
            return self._product_of(arguments[0], known)
        return kernel.call_inline(
            _tree_of(function), function.__globals__, [*arguments, exponent]
        )

    def _product_of(self, base: Number, count: int) -> Number:
        """A power with an exponent that the source says."""
        found = self.kernel.cast(self.kernel.constant(1), base.type)
        while count:
            if count & 1:
                found = self.kernel.applied(operator.mul, found, base)
            count >>= 1
            base = self.kernel.applied(operator.mul, base, base)
        return found

    def _of_subscript(self, node: ast.Subscript) -> Number:
        if isinstance(node.slice, ast.Constant):
            owner = self.value(node.value)
            if type(owner) is tuple:
                return owner[node.slice.value]
        array, indices = self._entry(node)
        return Number(array.load(self.kernel.builder, indices), array.kind)

    def _of_compare(self, node: ast.Compare) -> Number:
        """One comparison, or a chain of them, of which each operand is computed once."""
        numbers = [self.value(x) for x in (node.left, *node.comparators)]
        tests = [
            self.kernel.applied(OPERATORS[type(sign)], a, b)
            for sign, a, b in zip(node.ops, numbers, numbers[1:], strict=False)
        ]
        return functools.reduce(functools.partial(self.kernel.applied, operator.and_), tests)

    def _of_boolop(self, node: ast.BoolOp) -> Number:
        """``and`` or ``or``: what stands to the right is computed only if it decides."""
        name = f"{node.lineno}:{node.col_offset}:{node.end_col_offset}"
        first, *others = node.values
        self._set_truth(name, first)
        for other in others:
            held = self.get(name).value
            decide = functools.partial(self._set_truth, name, other)
            branches = (decide, _nothing) if isinstance(node.op, ast.And) else (_nothing, decide)
            self._choose(held, *branches)
        return self.get(name)

    def _set_truth(self, name: str, node: ast.expr) -> None:
        self.set(name, Number(self.kernel.truth(self.value(node)), types.boolean))

    def _of_ifexp(self, node: ast.IfExp) -> Number:
        name = f"{node.lineno}:{node.col_offset}:{node.end_col_offset}"
        self._choose(
            self.kernel.truth(self.value(node.test)),
            lambda: self.set(name, self.value(node.body)),
            lambda: self.set(name, self.value(node.orelse)),
        )
        return self.get(name)

    def _of_call(self, node: ast.Call) -> Number:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "conjugate":
            return self._conjugate(self.value(node.func.value))
        function = self.value(node.func)
        if function is len:
            low, high, step, _ = self._range(node.args[0])
            return Number(self._turns(low, high, step), types.int64)
        if function is np.zeros:
            return self._zeros(node)
        if function is check_divisions:
            self.kernel.divisions_are_checked = True
            return self.kernel.constant(0)
        numbers = [self.value(a) for a in node.args]
        if isinstance(function, ArrayMaker):
            at, *shape = [self.kernel.cast(x, types.int64).value for x in numbers]
            return array_at(self.kernel.builder, at, shape, function.kind)
        if function is grown:
            (stack, needed), name = numbers, (self.number, ast.unparse(node.args[0]))
            return self.kernel.memory.grown(name, stack, self.kernel.cast(needed, types.int64).value)
        if function in TYPES:
            return self.kernel.cast(numbers[0], TYPES[function])
        if function in IN_PLACE:
            function = IN_PLACE[function]
            numbers = [
                x if isinstance(x.type, types.Float) else self.kernel.cast(x, types.float64)
                for x in numbers
            ]
        if isinstance(function, types.Type):
            (number,) = numbers
            return self.kernel.cast(number, function)
        if hasattr(function, "_defn"):
            return self.kernel.intrinsic(function, numbers)
        if function in (min, max):
            sign = operator.lt if function is min else operator.gt
            return self.kernel.extreme(sign, *numbers)
        python = getattr(function, "py_func", function)
        if inspect.isfunction(python):
            return self.kernel.call_inline(_tree_of(python), python.__globals__, numbers)
        return self.kernel.applied(function, *numbers)

    def _zeros(self, node: ast.Call) -> Array:
        """`np.zeros`, of a tuple of lengths and a dtype, for the name that is being set."""
        (lengths,), (dtype,) = node.args, node.keywords
        assert isinstance(lengths, ast.Tuple)
        shape = [self.kernel.cast(self.value(n), types.int64).value for n in lengths.elts]
        name = self.number, ast.unparse(self.target)
        kind = numpy_support.from_dtype(np.dtype(self.value(dtype.value)))
        return self.kernel.memory.zeros(name, shape, kind)

    def _conjugate(self, z: Number) -> Number:
        builder = self.kernel.builder
        negative = builder.fneg(builder.extract_value(z.value, 1))
        return Number(builder.insert_value(z.value, negative, 1), z.type)


def _nothing() -> None:
    """The branch in which nothing is to be done."""
