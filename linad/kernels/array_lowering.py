"""Calls that give arrays other axes, and that join them."""

import ast
import functools
from typing import Any

from linad.kernels.array_windows import Array, ArrayWindow, Computed
from linad.kernels.building import regions_of
from linad.kernels.expression_lowering import transposed
from linad.kernels.expressions import ONE, ZERO, ArrayKind, Expr, add, call, is_integer
from linad.kernels.inlining import Inlining
from linad.kernels.statements import Put


class ArrayLowering(Inlining):
    """Writes calls out: ``call_<name>`` for functions of whole arrays."""

    def array_given(self, value: Any, node: ast.AST) -> Array:
        """A value that must be an array."""
        if not isinstance(value, (ArrayWindow, Computed)) or not value.dims:
            raise self.error(node, "expected an array, got a number or a tuple", "use an array")
        return value

    def arrays_given(self, values: Any, node: ast.AST) -> list[ArrayWindow]:
        """The arrays of a tuple."""
        if not isinstance(values, list) or not values:
            raise self.error(
                node, "expected a tuple of arrays, got something else", "write `(a, b)`"
            )
        found = [
            self.array_from(v, node) if isinstance(v, list) else self.as_array(v, node)
            for v in values
        ]
        made = [self.array_given(v, node) for v in found]
        return [self.copied(v) if isinstance(v, Computed) else v for v in made]

    def call_transpose(self, node: ast.Call, values: list[Any]) -> Any:
        a, order = self.array_given(values[0], node), values[1:]
        if not order:
            return transposed(a)
        axes = order[0] if isinstance(order[0], list) else order
        if not all([is_integer(k) for k in axes]) or len(axes) != len(a.dims):
            raise self.error(node, "the order of axes must be constant", "name each axis")
        found = [int(k.parts[0]) % len(axes) for k in axes]
        if sorted(found) != [*range(len(axes))]:
            raise self.error(node, "the order of axes names an axis twice", "name each axis once")
        return transposed(a, found)

    def call_reshape(self, node: ast.Call, values: list[Any]) -> Any:
        a, shape = self.array_given(values[0], node), values[1:]
        return self.reshaped(a, shape[0] if isinstance(shape[0], list) else shape, node)

    def call_ravel(self, node: ast.Call, values: list[Any]) -> Any:
        a = self.array_given(values[0], node)
        together = isinstance(a, ArrayWindow) and a.lies_together()
        return self.flattened(a if together else self.copied(a))

    def call_flatten(self, node: ast.Call, values: list[Any]) -> Any:
        return self.flattened(self.copied(self.array_given(values[0], node)))

    def call_ascontiguousarray(self, node: ast.Call, values: list[Any]) -> Any:
        a = self.array_given(values[0], node)
        return a if isinstance(a, ArrayWindow) and a.lies_together() else self.copied(a)

    def call_concatenate(self, node: ast.Call, values: list[Any]) -> ArrayWindow:
        """Arrays one after the other, along the first axis or another."""
        parts = self.arrays_given(values[0], node)
        axis = self.constant(values[1], node) if len(values) > 1 else 0
        return self.joined_along(parts, axis % len(parts[0].dims), node)

    def call_stack(self, node: ast.Call, values: list[Any]) -> ArrayWindow:
        parts = self.arrays_given(values[0], node)
        axis = self.constant(values[1], node) if len(values) > 1 else 0
        axis %= len(parts[0].dims) + 1
        return self.joined_along([self.with_axis(p, axis) for p in parts], axis, node)

    def call_vstack(self, node: ast.Call, values: list[Any]) -> ArrayWindow:
        parts = self.arrays_given(values[0], node)
        parts = [self.with_axis(p, 0) if len(p.dims) == 1 else p for p in parts]
        return self.joined_along(parts, 0, node)

    def call_hstack(self, node: ast.Call, values: list[Any]) -> ArrayWindow:
        parts = self.arrays_given(values[0], node)
        return self.joined_along(parts, 0 if len(parts[0].dims) == 1 else 1, node)

    def call_column_stack(self, node: ast.Call, values: list[Any]) -> ArrayWindow:
        parts = self.arrays_given(values[0], node)
        parts = [self.with_axis(p, 1) if len(p.dims) == 1 else p for p in parts]
        return self.joined_along(parts, 1, node)

    def call_append(self, node: ast.Call, values: list[Any]) -> ArrayWindow:
        given = [[v] if isinstance(v, Expr) else v for v in values]
        parts = [self.call_ravel(node, [v]) for v in self.arrays_given(given, node)]
        return self.joined_along(parts, 0, node)

    def constant(self, value: Any, node: ast.AST) -> int:
        """A value that must be an integer constant."""
        if not isinstance(value, Expr) or not is_integer(value):
            raise self.error(node, "the axis or number of digits must be constant", "name it")
        return int(value.parts[0])

    def with_axis(self, a: ArrayWindow, k: int) -> ArrayWindow:
        """A window with an axis of length 1 more."""
        return self.pinned(a).reshaped((*a.dims[:k], ONE, *a.dims[k:]))

    def joined_along(self, parts: list[ArrayWindow], axis: int, node: ast.AST) -> ArrayWindow:
        """A new array of parts that follow each other along an axis."""
        ndim = len(parts[0].dims)
        if any([len(p.dims) != ndim for p in parts]) or axis >= ndim:
            raise self.error(node, "the arrays have different numbers of axes", "give all as many")
        rest = [[n for k, n in enumerate(p.dims) if k != axis] for p in parts]
        for other in rest[1:]:
            self.check_dims(rest[0], other)
        total = functools.reduce(add, [p.dims[axis] for p in parts])
        dims = [*parts[0].dims]
        dims[axis] = total
        dtypes = {self.dtype_of(p) for p in parts}
        new = self.new(dims, dtypes.pop() if len(dtypes) == 1 else "float64", zeros=False)
        start = ZERO
        for p in parts:
            with self.loops_over(p.dims) as indices:
                place = tuple([add(start, i) if k == axis else i for k, i in enumerate(indices)])
                self.emit(Put(new.array, new.index(place), p.at(*indices)))
            start = self.held(add(start, p.dims[axis]), "start")
        return new

    def as_dtype(self, a: Array, dtype: str) -> ArrayWindow:
        """A copy of an array with entries of another dtype."""
        kind = ArrayKind(dtype, 1).scalar
        if kind == "i" and self.kind_here(a.at(*[ZERO for _ in a.dims])) == "f":
            a = Computed(a.dims, lambda *i, a=a: call("int", a.at(*i)), regions_of(a))  # type: ignore[misc]
        return self.copied(a, dtype)
