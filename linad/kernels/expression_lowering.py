"""Expressions of the user's source: numbers, arrays, slices and products of these."""

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.errors import KernelError
from linad.kernels.array_windows import Array, ArrayWindow, Computed, whole
from linad.kernels.building import DTYPES, Closure, Frame, all_of, entry_at, regions_of
from linad.kernels.expression_source import joined
from linad.kernels.expressions import (
    NONE,
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    binary,
    compared,
    mul,
    negative,
    num,
    sub,
    var,
)
from linad.kernels.function_source import LocalFunction
from linad.kernels.list_building import ListBuilder
from linad.kernels.number_lists import Display, NumberList
from linad.kernels.statements import Check, If, Let, Put

OPERATORS_BY_NAME = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "true_divide": "/",
    "floor_divide": "//",
    "mod": "%",
    "remainder": "%",
    "power": "**",
    "float_power": "**",
    "pow": "**",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "left_shift": "<<",
    "right_shift": ">>",
    "logical_and": "and",
    "logical_or": "or",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}
"""Functions of Python, `math` and NumPy that are operators."""

OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


class ExpressionLowering(ListBuilder):
    """Finds what expressions stand for: ``of_<node>`` for each kind of them."""

    def scalar(self, node: ast.expr) -> Expr:
        """The value of an expression that must be a number."""
        return self.number(self.value(node), node)

    def number(self, value: Any, node: ast.AST) -> Expr:
        if isinstance(value, (ArrayWindow, Computed)) and not value.dims:
            return value.at()
        if not isinstance(value, Expr):
            raise self.error(node, "expected a number, got an array or a tuple", "name an entry")
        return value

    def array_of(self, node: ast.expr) -> Any:
        value = self.value(node)
        if not isinstance(value, (ArrayWindow, Computed, NumberList, list)):
            raise self.error(node, "only arrays, tuples and lists can be indexed", "use arrays")
        return value

    def value(self, node: ast.expr) -> Any:
        """The value of an expression: an `Expr`, an array, a list of values, or a function."""
        handler = getattr(self, f"of_{type(node).__name__}", None)
        if handler is None:
            what = type(node).__name__
            raise self.error(
                node, f"{what} is not in the language of kernels", "write it otherwise"
            )
        return handler(node)

    def of_Constant(self, node: ast.Constant) -> Any:
        if node.value is None:
            return None
        if isinstance(node.value, (bool, int, float)):
            return num(node.value)
        raise self.error(node, f"the constant {node.value!r}", "use numbers")

    def of_Name(self, node: ast.Name) -> Any:
        return self.name(node)

    def name(self, node: ast.Name) -> Any:
        frame: Frame | None = self.frame
        while frame is not None:
            if node.id in frame.scope:
                value = frame.scope[node.id]
                if value is KernelError:
                    refusal = self.error(
                        node, f"{node.id} is one of two arrays", "use one for each"
                    )
                    self.copy_or_refuse(frame, node.id, refusal)
                if isinstance(value, ArrayWindow):
                    for read in frame.read_in_loop:
                        read.add(node.id)
                return value
            if node.id in frame.stored:
                found = frame.scope[node.id] = var(self.fresh(node.id))
                return found  # assigned later in a loop, or not at all
            frame = frame.outer
        try:
            value = self.frame.source.outside(node.id)
        except KeyError:
            raise self.error(node, f"{node.id} is not defined", "define it") from None
        return self.outside(value, node)

    def outside(self, value: Any, node: ast.AST) -> Any:
        """A value from outside of the function."""
        if isinstance(value, (bool, int, float, np.number, np.bool_)):
            return num(value)
        if isinstance(value, np.ndarray):
            for name, known in self.constants.items():
                if known is value:
                    return whole(name, value.ndim)
            new = self.fresh("constant")
            self.constants[new] = value
            self.kinds[new] = ArrayKind(value.dtype.name, value.ndim)
            return whole(new, value.ndim)
        if isinstance(value, tuple):
            return [self.outside(v, node) for v in value]
        return value

    def of_LocalFunction(self, node: LocalFunction) -> Closure:
        source, given = node.source, node.tree.args.defaults
        assert source is not None
        named = zip(source.parameters[::-1], given[::-1], strict=False)
        defaults = {name: self.owned(self.value(e), name) for name, e in named}
        return Closure(source, self.frame, defaults)

    def of_Tuple(self, node: ast.Tuple) -> list[Any]:
        return [self.value(e) for e in node.elts]

    def of_List(self, node: ast.List) -> Display:
        return Display([self.value(e) for e in node.elts])

    def array_from(self, values: list[Any], node: ast.AST, dtype: str = "") -> ArrayWindow:
        """A new array of the numbers of a tuple, or of tuples of one length."""
        entries: list[tuple[tuple[Expr, ...], Expr]] = []
        dims: list[int] = []

        def collect(given: Any, place: tuple[int, ...]) -> None:
            if isinstance(given, list) and given:
                if len(dims) == len(place):
                    dims.append(len(given))
                if dims[len(place)] != len(given):
                    raise self.error(
                        node, "the rows have different lengths", "use rows of one length"
                    )
                for k, v in enumerate(given):
                    collect(v, (*place, k))
            else:
                if len(place) < len(dims):
                    raise self.error(
                        node, "the rows have different lengths", "use rows of one length"
                    )
                entries.append((tuple([num(k) for k in place]), self.number(given, node)))

        collect(values, ())
        kinds = [self.kind_here(e) for _, e in entries]
        dtype = dtype or DTYPES[joined(kinds)]
        new = self.new([num(n) for n in dims], dtype, zeros=False)
        for index, e in entries:
            self.emit(Put(new.array, new.index(index), e))
        return new

    def of_Attribute(self, node: ast.Attribute) -> Any:
        try:
            value = self.frame.source.resolved(node)
        except (KeyError, AttributeError):
            pass
        else:
            return self.outside(value, node)
        base = self.value(node.value)
        if isinstance(base, (ArrayWindow, Computed)):
            if node.attr == "shape":
                return list(base.dims)
            if node.attr == "ndim":
                return num(len(base.dims))
            if node.attr == "size":
                return functools.reduce(mul, base.dims, ONE)
            if node.attr == "T":
                return transposed(base)
            if node.attr == "flat":
                return self.flattened(base)
            if node.attr == "dtype":
                return base
        raise self.error(node, f"the attribute {node.attr}", "use shape, size, ndim, T or flat")

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Not):
            return Expr("not", (self.number(value, node),))
        if isinstance(node.op, ast.USub):
            return self.elementwise(negative, value, node=node)
        if not isinstance(value, (Expr, ArrayWindow, Computed)):
            raise self.error(node, "~ takes numbers and arrays only", "name an entry")
        first = value if isinstance(value, Expr) else value.at(*[ZERO for _ in value.dims])
        kind = self.kind_here(first)
        if kind == "f":
            raise self.error(node, "~ takes integers and booleans only", "use `not`, or -x")
        inverse = (
            (lambda a: Expr("not", (a,))) if kind == "b" else (lambda a: sub(negative(a), ONE))
        )
        return self.elementwise(inverse, value, node=node)

    def of_BinOp(self, node: ast.BinOp) -> Any:
        a, b = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.MatMult):
            return self.product(a, b, node)
        op = OPERATORS.get(type(node.op))
        if op is None:
            name = type(node.op).__name__
            raise self.error(node, f"{name} is not in the language of kernels", "use arithmetic")
        if isinstance(a, (list, NumberList)) or isinstance(b, (list, NumberList)):
            return self.of_sequences(op, a, b, node)
        return self.elementwise(lambda x, y: self.operation(op, x, y), a, b, node=node)

    def of_sequences(self, op: str, a: Any, b: Any, node: ast.AST) -> Any:
        """``a + b`` of lists or of tuples, and ``a * n``."""
        if op == "*" and isinstance(a, Expr):
            a, b = b, a
        if op == "*" and isinstance(b, Expr) and isinstance(a, (Display, NumberList)):
            return self.repeated(a, b, node)
        lists = [isinstance(v, (Display, NumberList)) for v in (a, b)]
        if op == "+" and all(lists):
            made = self.listed(a, node)
            self.extend(made, b, node)
            return made
        if op == "+" and not any(lists) and isinstance(a, list) and isinstance(b, list):
            return [*a, *b]
        raise self.error(node, "tuples and lists have no arithmetic", "name the parts")

    def of_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
            sign = OPERATORS[type(node.ops[0])]
            a, b = self.value(node.left), self.value(node.comparators[0])
            return self.elementwise(lambda x, y: compared(sign, x, y), a, b, node=node)
        if len(node.ops) == 1:
            return self.of_membership(node, node.ops[0])
        if not all([type(op) in OPERATORS for op in node.ops]):
            raise self.error(node, "`in` and `is` cannot be chained", "write `and`")
        left, tests = self.scalar(node.left), []
        for op, right in zip(node.ops, node.comparators, strict=True):
            b = self.scalar(right)
            tests.append(Expr(OPERATORS[type(op)], (left, b)))
            left = b
        return all_of(tests)

    def of_membership(self, node: ast.Compare, op: ast.cmpop) -> Expr:
        """``a in (b, c)`` and ``a is None``."""
        a, b = self.value(node.left), self.value(node.comparators[0])
        if isinstance(op, (ast.Is, ast.IsNot)):
            if b is not None:
                raise self.error(node, "`is` compares with None only", "use ==")
            return num((a is None) == isinstance(op, ast.Is))
        if not isinstance(b, list):
            raise self.error(node, "`in` takes tuples only", "use a loop")
        number = self.held(self.number(a, node))
        tests = [compared("==", number, self.number(v, node)) for v in b]
        found = functools.reduce(lambda x, y: Expr("or", (x, y)), tests, num(False))
        return found if isinstance(op, ast.In) else Expr("not", (found,))

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        op = "and" if isinstance(node.op, ast.And) else "or"
        found = self.scalar(node.values[0])
        for part in node.values[1:]:
            with self.into() as before:
                value = self.scalar(part)
            numbers = {self.kind_here(found), self.kind_here(value)} != {"b"}
            if before or numbers:  # evaluated only where it decides; of numbers it is one of them
                flag = self.fresh("flag")
                self.emit(Let(flag, found))
                test = self.held(Expr("!=", (var(flag), ZERO))) if numbers else var(flag)
                before.append(Let(flag, value))
                yes = op == "and"
                self.emit(If(test, before if yes else [], [] if yes else before))
                found = var(flag)
            else:
                found = Expr(op, (found, value))
        return found

    def of_IfExp(self, node: ast.IfExp) -> Any:
        test = self.scalar(node.test)
        new = self.fresh("chosen")
        with self.into() as yes:
            self.emit(Let(new, self.chosen(node.body)))
        with self.into() as no:
            self.emit(Let(new, self.chosen(node.orelse)))
        self.emit(If(test, yes, no))
        return var(new)

    def chosen(self, node: ast.expr) -> Expr:
        """The number that a conditional expression may have the value of."""
        value = self.value(node)
        if isinstance(value, (ArrayWindow, Computed)) and value.dims:
            raise self.error(
                node, "`a if test else b` chooses numbers, not arrays", "write them in an `if`"
            )
        return self.number(value, node)

    def elementwise(self, f: Callable[..., Expr], *values: Any, node: ast.AST) -> Any:
        """A function of numbers, applied to numbers and arrays."""
        for v in values:
            if not isinstance(v, (Expr, ArrayWindow, Computed)):
                raise self.error(node, "operands must be numbers or arrays", "name an entry")
        arrays = [v for v in values if not isinstance(v, Expr)]
        if not arrays:
            return f(*values)
        dims = self.stretched([a.dims for a in arrays])
        for a in arrays:
            self.check_dims(dims, a.dims, stretch=True)
        fixed = [self.held(v) if isinstance(v, Expr) else v for v in values]

        def at(*indices: Expr) -> Expr:
            return f(*[v if isinstance(v, Expr) else entry_at(v, indices) for v in fixed])

        reads = frozenset().union(*[regions_of(a) for a in arrays])
        return Computed(dims, at, reads)

    def stretched(self, shapes: list[tuple[Expr, ...]]) -> tuple[Expr, ...]:
        """The axes of arrays together; those of length 1 that ``None`` made are stretched."""
        found = [*next(dims for dims in shapes if len(dims) == max(map(len, shapes)))]
        for dims in shapes:
            for k, n in enumerate(dims[::-1], 1):
                if found[-k] == ONE:
                    found[-k] = n
        return tuple(found)

    def reshaped(self, a: Array, shape: list[Any], node: ast.AST) -> ArrayWindow:
        """The entries of an array under other axes, in the same memory."""
        if isinstance(a, Computed):
            a = self.copied(a)
        if not a.lies_together():
            raise self.error(
                node, "the entries to reshape are not contiguous", "copy the part first"
            )
        given = [self.number(n, node) for n in shape]
        unknown = [k for k, n in enumerate(given) if n == num(-1)]
        if not given or len(unknown) > 1:
            raise self.error(node, "the shape has no lengths, or -1 twice", "name the lengths")
        known = functools.reduce(mul, [n for n in given if n != num(-1)], ONE)
        size = functools.reduce(mul, a.dims, ONE)
        dims = [
            n if k not in unknown else size if known == ONE else binary("//", size, known)
            for k, n in enumerate(given)
        ]
        dims = [self.held(n, "size") for n in dims]
        fits = compared("==", functools.reduce(mul, dims, ONE), size)
        if known != ONE or not unknown:
            message = "the new shape has another number of entries than the array"
            self.emit(Check(fits, f"kernel {self.frame.source.name}: {message}"))
        return self.pinned(a).reshaped(tuple(dims))

    def flattened(self, a: Array) -> ArrayWindow:
        """The entries of an array along one axis, in the same memory if it has some."""
        if isinstance(a, Computed):
            a = self.copied(a)
        if len(a.dims) == 1:
            return a
        size = self.held(functools.reduce(mul, a.dims, ONE), "size")
        return self.pinned(a).reshaped((size,))

    def product(self, a: Any, b: Any, node: ast.AST) -> Any:
        """``a @ b``."""
        if not all(
            [isinstance(v, (ArrayWindow, Computed)) and len(v.dims) in (1, 2) for v in (a, b)]
        ):
            raise self.error(node, "a product takes vectors and matrices only", "write loops")
        a, b = [self.copied(v) if isinstance(v, Computed) else v for v in (a, b)]
        self.check_dims(a.dims[-1:], b.dims[:1])
        rows, columns = a.dims[:-1], b.dims[1:]
        if not rows and not columns:
            total = self.fresh("total")
            self.emit(Let(total, NONE))
            with self.loops_over(a.dims) as (k,):
                self.emit(Let(total, Expr("+", (var(total), mul(a.at(k), b.at(k))))))
            return var(total)
        new = self.new([*rows, *columns], self.dtype_of(a))
        self.clear(new)
        with self.loops_over([*rows, *columns, a.dims[-1]]) as indices:
            *where, k = indices
            i, j = where[: len(rows)], where[len(rows) :]
            term = mul(a.at(*i, k), b.at(k, *j))
            self.emit(Put(new.array, new.index(tuple(where)), term, adds=True))
        return new


def transposed(a: Array, axes: Sequence[int] | None = None) -> Array:
    """The array with its axes in another order; in reverse if none is given."""
    axes = range(len(a.dims))[::-1] if axes is None else axes
    if len(a.dims) < 2:
        return a
    if isinstance(a, ArrayWindow):
        return a.permuted(axes)
    dims = tuple([a.dims[k] for k in axes])
    back = sorted(range(len(axes)), key=lambda k: axes[k])
    return Computed(dims, lambda *i: a.at(*[i[k] for k in back]), _transposed_regions(a))


def _transposed_regions(a: Array) -> frozenset[Any]:
    # Another order of the same entries is another region.
    return frozenset([(array, "transposed") for array, _ in regions_of(a)])
