"""Subscripts: entries, slices, entries that an array picks, and new axes."""

import ast
from typing import Any

from linad.kernels.array_windows import Array, ArrayWindow, Axis, Computed, length_of
from linad.kernels.expression_lowering import ExpressionLowering
from linad.kernels.expressions import ONE, ZERO, Expr, add, call, mul, negative, num, sub, var
from linad.kernels.number_lists import NumberList
from linad.kernels.statements import If, Let, Put


class SubscriptLowering(ExpressionLowering):
    """Finds the parts of arrays and lists that subscripts name."""

    def of_Subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.slice, ast.Tuple) and not node.slice.elts:
            return self.value(node.value)  # an array without axes is a number
        base = self.array_of(node.value)
        if isinstance(base, NumberList):
            return self.part_of_list(base, node.slice)
        found = self.subscripted(base, node.slice)
        if isinstance(found, ArrayWindow) and found.is_picked():
            return self.copied(found)
        return found.at() if isinstance(found, ArrayWindow) and not found.axes else found

    def part_of_list(self, base: NumberList, where: ast.expr) -> Any:
        """An entry of a list, or a new list of some."""
        if not isinstance(where, ast.Slice):
            # In a scalar, because a `pop` to the right of it may change the list.
            return self.owned(base.at(self.place_in(base, self.scalar(where), where)))
        return self.listed(self.subscripted(self.as_array(base, where), where), where)

    def subscripted(self, base: Any, where: ast.expr) -> Any:
        """The part of an array, or of a tuple, that an index names."""
        if isinstance(base, list):
            k = self.scalar(where)
            if k.op == "num":
                return base[int(k.parts[0])]
            base = self.array_from(base, where)
        if isinstance(base, Computed):
            base = self.copied(base)
        given = list(where.elts) if isinstance(where, ast.Tuple) else [where]
        new = [self.is_new_axis(e) for e in given]
        missing = len(base.dims) - len(given) + sum(new)
        dots = [isinstance(e, ast.Constant) and e.value is Ellipsis for e in given]
        at = dots.index(True) if any(dots) else len(given)
        missing += any(dots)
        if missing < 0:
            raise self.error(where, "there are more indices than axes", "count the axes")
        given[at : at + 1], new[at : at + 1] = [ast.Slice()] * missing, [False] * missing
        values = [  # each is evaluated once
            None if n or isinstance(e, ast.Slice) else self.value(e)
            for e, n in zip(given, new, strict=True)
        ]
        if type(values[0]) is list and not isinstance(where, ast.Tuple):
            return self.at_scalars(base, values[0], where)
        indices = [(e, v) for e, v, n in zip(given, values, new, strict=True) if not n]
        parts = [self.part_of_axis(a, e, v) for a, (e, v) in zip(base.axes, indices, strict=True)]
        stay = [k for k, part in zip(base.order, parts, strict=True) if isinstance(part, Axis)]
        left = iter([parts[base.order.index(k)] for k in range(len(parts))])
        entries: list[Any] = [next(left) if isinstance(e, Axis) else e for e in base.entries]
        order = tuple([sorted(stay).index(k) for k in stay])
        found = ArrayWindow(base.array, tuple(entries), order, base.form)
        return self.with_new_axes(found, new, parts) if any(new) else found

    def with_new_axes(self, a: ArrayWindow, new: list[bool], parts: list[Any]) -> ArrayWindow:
        """``a[:, None]``: axes of length 1 beside those of the window, which stretch."""
        a = self.copied(a) if a.is_picked() else self.pinned(a)
        lengths, left = iter(a.dims), iter(parts)
        shape = []
        for n in new:
            if n:
                shape.append(ONE)
            elif isinstance(next(left), Axis):
                shape.append(next(lengths))
        return a.reshaped(tuple(shape))

    def is_new_axis(self, e: ast.expr) -> bool:
        """Whether an index is ``None``, by whatever name."""
        if isinstance(e, ast.Name) and (e.id in self.frame.scope or e.id in self.frame.stored):
            return False
        if isinstance(e, (ast.Name, ast.Attribute)):
            try:
                return self.frame.source.resolved(e) is None
            except (KeyError, AttributeError):
                return False
        return isinstance(e, ast.Constant) and e.value is None

    def at_scalars(self, base: ArrayWindow, indices: list[Expr], node: ast.AST) -> ArrayWindow:
        if len(indices) != len(base.dims):
            raise self.error(node, "a tuple of indices must name one entry", "name an entry")
        return ArrayWindow(base.array, base.index(tuple(indices)))

    def part_of_axis(self, axis: Axis, e: ast.expr, value: Any) -> Any:
        """The entry, or entries, of an axis that an index names; ``value`` is that of no slice."""
        if not isinstance(e, ast.Slice):
            value = self.as_array(self.named_list(value, e), e)
            if isinstance(value, (ArrayWindow, Computed)) and len(value.dims) == 1:
                return self.picked(axis, value, e)
            if not isinstance(value, Expr):
                raise self.error(e, "an index must be an integer", "write a loop")
            if self.kind_here(value) == "f":
                raise self.error(e, "an index is a float", "use int(...) or math.floor(...)")
            if value.op == "num" and value.parts[0].startswith("-"):
                value = call("npwithin", add(axis.length, value), axis.length)
            elif not axis.whole and value.op != "num" and value.parts[0] in self.counts:
                value = call("npwithin", value, axis.length)
            elif not axis.whole and value.op != "num" and value.parts[0] not in self.counts:
                value = self.held(value)
                turned = add(value, axis.length)
                turned = Expr("if", (Expr("<", (value, ZERO)), turned, value))
                value = call("npwithin", turned, axis.length)
            elif not axis.whole:
                value = call("npwithin", value, axis.length)
            return add(axis.start, mul(axis.step, value))
        step = self.scalar(e.step) if e.step else ONE
        if step == num(-1) and e.lower is None and e.upper is None:
            return Axis(
                add(axis.start, mul(axis.step, sub(axis.length, ONE))),
                negative(axis.step) if axis.step.op != "num" else mul(num(-1), axis.step),
                axis.length,
            )
        if step.op != "num" or int(step.parts[0]) < 1:
            raise self.error(e, "the step of a slice must be a positive constant", "write a loop")
        start = self.bound(e.lower, ZERO, axis)
        stop = self.bound(e.upper, axis.length, axis)
        length = length_of(start, stop, int(step.parts[0]))
        if start == ZERO and stop == axis.length and step == ONE:
            return axis
        return Axis(add(axis.start, mul(axis.step, start)), mul(axis.step, step), length)

    def picked(self, axis: Axis, which: Array, e: ast.expr) -> Axis:
        """The entries of an axis that an array picks: by their numbers, or where it is true."""
        kind = self.kind_here(which.at(ZERO))
        if kind == "f":
            raise self.error(e, "the index array holds floats", "use integers")
        numbers = self.new(which.dims, "int64", zeros=False)
        if kind == "i":
            with self.loops_over(which.dims) as (k,):
                n = self.held(which.at(k))
                turned = Expr("if", (Expr("<", (n, ZERO)), add(n, axis.length), n))
                self.emit(Put(numbers.array, numbers.index((k,)), turned))
            count = numbers.dims[0]
        else:
            self.check_dims(which.dims, [axis.length])
            found = self.fresh("count")
            self.emit(Let(found, ZERO))
            with self.loops_over(which.dims) as (k,):
                with self.into() as yes:
                    self.emit(Put(numbers.array, numbers.index((var(found),)), k))
                    self.emit(Let(found, add(var(found), ONE)))
                self.emit(If(which.at(k), yes, []))
            count = self.held(var(found), "count")
        if axis.picks:
            raise self.error(
                e, "picked entries cannot be indexed again", "give the picked array a name"
            )
        return Axis(axis.start, axis.step, count, picks=numbers.array)

    def bound(self, e: ast.expr | None, default: Expr, axis: Axis) -> Expr:
        """A bound of a slice, within the axis."""
        if e is None:
            return default
        value = self.scalar(e)
        if value.op == "num":
            k = int(value.parts[0])
            if k == 0:
                return value
            if k < 0:
                return call("max", ZERO, add(axis.length, value))
            return call("min", value, axis.length)
        value = self.held(value)
        turned = Expr("if", (Expr("<", (value, ZERO)), add(value, axis.length), value))
        return call("min", call("max", turned, ZERO), axis.length)
