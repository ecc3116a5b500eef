"""Expressions of kernels: numbers and arrays, or Python's objects that names stand for."""

import ast
import builtins
import functools
import inspect
import operator
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.types.containers import Tuple
from numba.core.types.misc import unliteral
from numba.np import numpy_support

from linad.sweeps.cpu.kernel_arrays import (
    Array,
    ArrayMaker,
    array_at,
    from_beginning,
    grown,
)
from linad.sweeps.cpu.kernel_functions import (
    IN_PLACE,
    LONGEST,
    OF_ONE_TYPE,
    TYPES,
    power_of_integer,
    power_of_real,
)
from linad.sweeps.cpu.kernel_numbers import INT64, Number
from linad.sweeps.cpu.kernel_stops import DIVISION, NO_ENTRY, NO_STEP
from linad.sweeps.cpu.kernel_variables import Variables
from linad.sweeps.cpu.native import (
    check_divisions,
    check_indices,
    check_range,
    known,
    within,
)

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


@functools.cache
def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """The syntax tree of a Python function."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    return tree


class Expressions(Variables):
    """What expressions of a function are worth."""

    target: ast.expr
    """What is being set."""

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
        if node.id not in self.namespace:
            return getattr(builtins, node.id)
        found = self.namespace[node.id]
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
            arguments = [kernel.cast(base, types.int64)]
            function: Callable[..., Any] = power_of_integer
        else:
            if known is None:
                base = kernel.cast(base, types.float64)
            arguments = [base, kernel.cast(kernel.constant(1.0), unliteral(base.type))]
            function = power_of_real
        if known is not None and 0 <= known <= LONGEST:
            return self._product_of(arguments[0], known)
        return kernel.call_inline(tree_of(function), function.__globals__, [*arguments, exponent])

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
                return owner[node.slice.value]  # type: ignore[index]  # an integer
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

    def _of_call(self, node: ast.Call) -> Any:
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
        if function is check_indices:
            self.kernel.indices_are_checked = True
            return self.kernel.constant(0)
        if function is check_range:
            self._check_range(*node.args)
            return self.kernel.constant(0)
        return self._called(function, [self.value(a) for a in node.args], node)

    def _called(self, function: Any, numbers: list[Any], node: ast.Call) -> Any:
        """A function of values."""
        if function is within:
            i, length = [self.kernel.cast(x, types.int64).value for x in numbers]
            self.kernel.leave_if(self.kernel.builder.icmp_unsigned(">=", i, length), NO_ENTRY)
            return numbers[0]
        if isinstance(function, ArrayMaker):
            at, *shape = [self.kernel.cast(x, types.int64).value for x in numbers]
            return array_at(self.kernel.builder, at, shape, function.kind)
        if function is grown:
            (stack, needed), name = numbers, (self.number, ast.unparse(node.args[0]))
            return self.kernel.memory.grown(
                name, stack, self.kernel.cast(needed, types.int64).value
            )
        if function in TYPES:
            return self.kernel.cast(numbers[0], TYPES[function])
        if function in IN_PLACE:
            function = IN_PLACE[function]
            numbers = [
                x if isinstance(x.type, types.Float) else self.kernel.cast(x, types.float64)
                for x in numbers
            ]
        if function in OF_ONE_TYPE:
            function, numbers = OF_ONE_TYPE[function], self.kernel.of_one_type(numbers)
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
            return self.kernel.call_inline(tree_of(python), python.__globals__, numbers)
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
            if kernel.indices_are_checked and not self._is_known(part):
                beyond = kernel.builder.icmp_unsigned(">=", indices[-1], length)
                kernel.leave_if(beyond, NO_ENTRY)
        return array, indices

    def _is_known(self, index: ast.expr) -> bool:
        return isinstance(index, ast.Call) and self.value(index.func) is known

    def _check_range(self, array: ast.expr, axis: ast.expr, *numbers: ast.expr) -> None:
        """End the kernel unless the array has these indices, which may count from its end."""
        kernel, builder = self.kernel, self.kernel.builder
        first, last, least, most = [kernel.cast(self.value(n), types.int64).value for n in numbers]
        length = self.value(array).shape[ast.literal_eval(axis)]
        twice, beyond = builder.add(length, length), None
        for index in (first, last):
            for aside in (least, most):
                moved = builder.add(builder.add(index, aside), length)
                one = builder.icmp_unsigned(">=", moved, twice)
                beyond = one if beyond is None else builder.or_(beyond, one)
        kernel.leave_if(beyond, NO_ENTRY)

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

    def _turns(self, low: Any, high: Any, step: Any) -> Any:
        """How many numbers a range has."""
        builder, zero, one = self.kernel.builder, ir.Constant(INT64, 0), ir.Constant(INT64, 1)
        up = builder.icmp_signed(">", step, zero)
        way = builder.select(up, builder.sub(high, low), builder.sub(low, high))
        pace = builder.select(up, step, builder.neg(step))
        turns = builder.add(builder.sdiv(builder.sub(way, one), pace), one)
        return builder.select(builder.icmp_signed(">", way, zero), turns, zero)


def _nothing() -> None:
    """The branch in which nothing is to be done."""
