"""Reductions of arrays: a number made of all entries, or one of those along an axis each."""

import ast
import functools
from collections.abc import Callable
from typing import Any

from linad.kernels.array_lowering import ArrayLowering
from linad.kernels.array_windows import ArrayWindow, Computed
from linad.kernels.expressions import NONE, ONE, ZERO, Expr, add, call, is_integer, mul, num, var
from linad.kernels.number_lists import Display
from linad.kernels.statements import Check, Let, Put

REDUCTIONS = {name: name for name in ("sum", "mean", "prod", "max", "min")}
REDUCTIONS |= {"amax": "max", "amin": "min"}
"""What makes a number of the entries of an array, by its name in NumPy."""


class ReductionLowering(ArrayLowering):
    """Writes sums, means, products, least and greatest entries out."""

    def reduced(self, node: ast.Call, given: list[ast.expr]) -> tuple[list[Any], Expr | None]:
        """The array that is summed up, if it is named, and the axis along which."""
        if [k.arg for k in node.keywords] not in ([], ["axis"]):
            raise self.error(node, "keyword arguments are not supported here", "pass the axis only")
        values = [self.value(a) for a in given]
        arrays = 0 if self.is_method(node) else 1
        if not arrays <= len(values) + len(node.keywords) <= arrays + 1:
            raise self.error(
                node, "only an array and an axis are supported here", "pass these only"
            )
        axis = values[arrays] if len(values) > arrays else None
        if node.keywords:
            axis = self.value(node.keywords[0].value)
        return values[:arrays], axis

    def is_method(self, node: ast.Call) -> bool:
        """Whether a call is one of an array's methods."""
        if isinstance(node.func, ast.Name):
            return False
        try:
            self.frame.source.resolved(node.func)
        except (KeyError, AttributeError):
            return True
        return False

    def reduction(self, kind: str, values: list[Any], axis: Expr | None, node: ast.AST) -> Any:
        """The sum, mean, product, least or greatest of all entries, or of those along an axis."""
        a = self.as_array(values[0], node)
        if isinstance(a, Display):
            a = self.as_array(self.listed(a, node), node)
        if not isinstance(a, (ArrayWindow, Computed)) or not a.dims:
            raise self.error(node, f"the {kind} of what is not an array", "use an array")
        if isinstance(a, Computed) and kind in ("max", "min"):
            a = self.copied(a)
        if axis is None:
            return self.reduced_number(kind, a, tuple(range(len(a.dims))), ())
        if not is_integer(axis) or not -len(a.dims) <= int(axis.parts[0]) < len(a.dims):
            raise self.error(
                node, "the axis must be a constant, and one of this array's", "write the loop"
            )
        if len(a.dims) == 1:
            return self.reduced_number(kind, a, (0,), ())
        k = int(axis.parts[0]) % len(a.dims)
        rest = [n for j, n in enumerate(a.dims) if j != k]
        real = kind == "mean" or self.kind_here(a.at(*[ZERO for _ in a.dims])) == "f"
        new = self.new(rest, self.dtype_of(a) if real else "int64")
        with self.loops_over(rest) as indices:
            total = self.reduced_number(kind, a, (k,), indices)
            self.emit(Put(new.array, new.index(indices), total))
        return new

    def reduced_number(
        self,
        kind: str,
        a: ArrayWindow | Computed,
        axes: tuple[int, ...],
        others: tuple[Expr, ...],
    ) -> Expr:
        """A reduction over some axes, at indices of the other ones."""

        def entry(along: tuple[Expr, ...]) -> Expr:
            here = dict(zip(axes, along, strict=True))
            rest = iter(others)
            return a.at(*[here[k] if k in here else next(rest) for k in range(len(a.dims))])

        dims = [a.dims[k] for k in axes]
        first = entry(tuple([ZERO for _ in axes]))
        real = self.kind_here(first) == "f"
        total = self.fresh("total")
        if kind in ("max", "min"):
            count = functools.reduce(mul, dims, ONE)
            message = f"kernel {self.frame.source.name}: the {kind} of an array without entries"
            self.emit(Check(Expr(">", (count, ZERO)), message))
            self.emit(Let(total, call("npstill", first) if real else first))
        elif kind == "prod":
            self.emit(Let(total, num(1.0) if real else ONE))
        else:
            self.emit(Let(total, NONE if real else ZERO))
        with self.loops_over(dims) as along:
            value = entry(along)
            if kind in ("max", "min"):
                value = self.held(call("npstill", value) if real else value)
                ahead = Expr(">=" if kind == "max" else "<=", (var(total), value))
                nan = Expr("!=", (var(total), var(total)))  # which is the result then
                new = Expr("if", (Expr("or", (ahead, nan)), var(total), value))
            else:
                new = Expr("*" if kind == "prod" else "+", (var(total), value))
            self.emit(Let(total, new))
        if kind == "mean":
            return Expr("/", (var(total), functools.reduce(mul, dims, ONE)))
        if kind in ("max", "min") and real:
            return self.shared_by_ties(total, dims, entry)
        return var(total)

    def shared_by_ties(
        self, extremum: str, dims: list[Expr], entry: Callable[[tuple[Expr, ...]], Expr]
    ) -> Expr:
        """An extremum with the slope that NumPy's has: those that attain it share it equally."""

        def attained(value: Expr) -> Expr:
            nan = Expr("!=", (value, value))  # the result is NaN then, and no other attains it
            return Expr("or", (Expr("==", (value, var(extremum))), nan))

        ties, total = self.fresh("ties"), self.fresh("total")
        self.emit(Let(ties, ZERO))
        with self.loops_over(dims) as along:
            value = self.held(call("npstill", entry(along)))
            self.emit(Let(ties, add(var(ties), Expr("if", (attained(value), ONE, ZERO)))))
        self.emit(Let(total, var(extremum)))
        with self.loops_over(dims) as along:
            value = self.held(entry(along))
            moved = call("npmoving", var(total), value, var(ties))
            self.emit(Let(total, Expr("if", (attained(value), moved, var(total)))))
        return var(total)
