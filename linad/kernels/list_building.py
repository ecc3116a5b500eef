"""What lowering writes for lists: arrays that grow, and scalars that count."""

import ast
from collections.abc import Callable
from typing import Any, cast

from linad.kernels.array_windows import ArrayWindow, Computed
from linad.kernels.building import DTYPES, FIRST_ROOM, StatementBuilder
from linad.kernels.expression_source import kind_of
from linad.kernels.expressions import (
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    add,
    call,
    compared,
    mul,
    num,
    sub,
    var,
)
from linad.kernels.number_lists import Display, NumberList
from linad.kernels.statements import Check, Grow, Let, New, Put

ONE_SORT = "make a list of numbers, or of tuples of as many numbers each"


class ListBuilder(StatementBuilder):
    """Writes what is done with lists."""

    def number(self, value: Any, node: ast.AST) -> Expr:
        """A value that must be a number."""
        raise NotImplementedError

    # What an entry is.

    def structure(self, value: Any, node: ast.AST) -> Any:
        """An entry like a value, with a new array for each number of it."""
        if isinstance(value, list) and value:
            return [self.structure(v, node) for v in value]
        if not isinstance(value, Expr):
            raise self.error(node, "a list holds something other than numbers", ONE_SORT)
        return self.fresh("list")

    def begin(self, made: NumberList, value: Any, node: ast.AST) -> None:
        """Learn from its first entry what a list has."""

        def enter(array: str, v: Expr) -> None:
            scalar = made.scalars[array] = self.fresh("entry")
            self.hints.setdefault(scalar, kind_of(v, {**self.hints, **self.kinds}))
            self.kinds[array] = ArrayKind(DTYPES[self.kind_here(var(scalar))], 1)

        made.entry = self.structure(value, node)
        for array, v in self.pairs(made.entry, value, node):
            enter(array, v)

    def pairs(self, entry: Any, value: Any, node: ast.AST) -> list[tuple[str, Expr]]:
        """The arrays of an entry, each with the number of a value that it takes."""
        if isinstance(entry, list):
            if not isinstance(value, list) or len(value) != len(entry):
                raise self.error(node, "the entries of a list differ in kind", ONE_SORT)
            return [p for e, v in zip(entry, value, strict=True) for p in self.pairs(e, v, node)]
        if isinstance(value, list):
            raise self.error(node, "the entries of a list differ in kind", ONE_SORT)
        return [(entry, self.number(value, node))]

    def arrays(self, made: NumberList) -> list[tuple[str, str]]:
        """The arrays of a list, with their dtypes."""
        kinds = [(a, self.kinds[a]) for a in made.scalars]
        return [(a, kind.dtype) for a, kind in kinds if isinstance(kind, ArrayKind)]

    # Making and filling lists.

    def new_list(self) -> NumberList:
        """A list without entries."""
        made = NumberList(self.fresh("count"), self.depth)
        self.emit(Let(made.count, ZERO))
        return made

    def with_room(self, made: NumberList, length: Expr) -> None:
        """Make the arrays of a list, as long as it will be."""
        made.exact = not self.depth or not self.lengths.vary(length)
        for array, dtype in self.arrays(made):
            self.emit(New(array, (length if made.exact else FIRST_ROOM,), dtype))
            if not made.exact:
                self.emit(Grow(array, length, dtype))

    def put(self, made: NumberList, k: Expr, value: Any, node: ast.AST) -> None:
        """``l[k] = value``."""
        found = self.pairs(made.entry, value, node)
        for array, v in found:
            self.emit(Let(made.scalars[array], v))
        for array, _ in found:
            self.emit(Put(array, (k,), var(made.scalars[array])))

    def make_longer(
        self, made: NumberList, length: Expr, first: Callable[..., Any], node: ast.AST
    ) -> None:
        """Room for more entries; ``first`` makes one of them, for the kind of a new list's."""
        if made.entry is None:
            self.begin(made, first(), node)
            for array, dtype in self.arrays(made):
                self.emit(New(array, (FIRST_ROOM,), dtype))
        for array, dtype in self.arrays(made):
            self.emit(Grow(array, length, dtype))

    def append(self, made: NumberList, value: Any, node: ast.AST) -> None:
        """``l.append(value)``."""
        self.check_changes(made, node)
        more = add(made.length, ONE)
        self.make_longer(made, more, lambda: value, node)
        self.put(made, made.length, value, node)
        self.emit(Let(made.count, more))

    def extend(self, made: NumberList, values: Any, node: ast.AST) -> None:
        """``l.extend(values)``: of a tuple, a list or an array."""
        if isinstance(values, list):
            for v in [self.owned(v) for v in values]:
                self.append(made, v, node)
            return
        if isinstance(values, Computed):
            values = self.copied(values)
        if isinstance(values, NumberList):
            if values.entry is None:
                return
            length, item = values.length, cast("Callable[[Expr], Any]", values.at)
        elif isinstance(values, ArrayWindow) and len(values.dims) == 1:
            length, item = values.dims[0], values.at
        else:
            raise self.error(node, "a list holds something other than numbers", ONE_SORT)
        self.check_changes(made, node)
        length = self.held(length, "length")
        more = self.held(add(made.length, length), "length")
        self.make_longer(made, more, lambda: item(ZERO), node)
        with self.loops_over([length]) as (k,):
            self.put(made, add(made.length, k), item(k), node)
        self.emit(Let(made.count, more))

    def listed(self, values: Any, node: ast.AST) -> NumberList:
        """A new list of these values."""
        if not isinstance(values, list) or not values:
            made = self.new_list()
            self.extend(made, values, node)
            return made
        made = NumberList(self.fresh("count"), self.depth)
        given = [self.owned(v) for v in values]
        self.emit(Let(made.count, num(len(given))))
        self.begin(made, given[0], node)
        self.with_room(made, num(len(given)))
        for k, v in enumerate(given):
            self.put(made, num(k), v, node)
        return made

    def named_list(self, value: Any, node: ast.AST) -> Any:
        """A list that was written out, of numbers, as one that can change; others as a tuple."""
        if not isinstance(value, Display):
            return value
        tuples = [v if isinstance(v, list) else [v] for v in value]
        if all([isinstance(v, Expr) for t in tuples for v in t]) and not any(
            [isinstance(v, Display) for v in value]
        ):
            return self.listed(value, node)
        return value

    def refilled(self, made: NumberList, values: NumberList, node: ast.AST) -> None:
        """Give a list the entries of another, in the place of its own."""
        self.check_changes(made, node)
        self.emit(Let(made.count, ZERO))
        self.extend(made, values, node)

    def repeated(self, values: Any, times: Expr, node: ast.AST) -> NumberList:
        """``l * times``."""
        given = self.listed(values, node)
        if given.entry is None:
            return given
        made, length = NumberList(self.fresh("count"), self.depth), given.length
        times = call("max", self.held(times), ZERO)
        self.begin(made, given.at(ZERO), node)
        length = self.held(mul(length, times), "length")
        self.emit(Let(made.count, length))
        self.with_room(made, length)
        made.exact = False
        with self.loops_over([length]) as (k,):
            self.put(made, k, given.at(Expr("%", (k, given.length))), node)
        return made

    def check_changes(self, made: NumberList, node: ast.AST) -> None:
        if made.looped:
            raise self.error(
                node, "the list changes while a loop runs over it", "loop over a copy, `list(l)`"
            )

    # Reading.

    def place_in(self, made: NumberList, k: Expr, node: ast.AST) -> Expr:
        """An index of an entry, counted from the beginning."""
        if self.kind_here(k) == "f":
            raise self.error(node, "an index is a float", "use int(...) or math.floor(...)")
        if made.entry is None:
            raise self.error(node, "an empty list has no entries", "append one before")
        if k.op == "num":
            k = add(made.length, k) if k.parts[0].startswith("-") else k
        elif k.parts[0] not in self.counts:
            k = self.held(k)
            k = Expr("if", (compared("<", k, ZERO), add(k, made.length), k))
        k = self.held(k, "place")
        inside = Expr("and", (Expr("<=", (ZERO, k)), Expr("<", (k, made.length))))
        self.emit(Check(inside, f"kernel {self.frame.source.name}: list index out of range"))
        return k

    def as_array(self, value: Any, node: ast.AST) -> Any:
        """A list of numbers as an array, in the same memory; other values stay what they are."""
        if not isinstance(value, NumberList):
            return value
        if value.entry is None:
            return self.new([ZERO], "float64")
        if not value.has_numbers:
            raise self.error(node, "expected numbers, got a list of tuples", "make an array")
        return value.window()

    def array_of_list(self, value: NumberList, node: ast.AST, dtype: str = "") -> ArrayWindow:
        """``np.array(l)``."""
        if value.entry is None or value.has_numbers:
            return self.copied(self.as_array(value, node), dtype)
        columns = value.entry
        if not all([isinstance(c, str) for c in columns]):
            raise self.error(
                node, "an array cannot be made of nested tuples", "make a list of each part"
            )
        dtypes = {d for _, d in self.arrays(value)}
        dtype = dtype or (dtypes.pop() if len(dtypes) == 1 else "float64")
        made = self.new([value.length, num(len(columns))], dtype, zeros=False)
        with self.loops_over([value.length]) as (k,):
            for j, e in enumerate(value.at(k)):
                self.emit(Put(made.array, made.index((k, num(j))), e))
        return made

    # Methods.

    def list_method(self, node: ast.Call, base: NumberList, name: str, values: list[Any]) -> Any:
        """``l.append(x)`` and its kin."""
        if name == "append" and len(values) == 1:
            return self.append(base, self.owned(values[0]), node)
        if name == "extend" and len(values) == 1:
            if values[0] is base:
                values = [self.listed(base, node)]
            return self.extend(base, values[0], node)
        if name == "pop" and len(values) <= 1:
            return self.popped_from(base, values[0] if values else num(-1), node)
        if name == "clear" and not values:
            self.check_changes(base, node)
            return self.emit(Let(base.count, ZERO))
        if name == "copy" and not values:
            return self.listed(base, node)
        raise self.error(
            node, f"the method {name} of a list", "use append, extend, pop, clear or copy"
        )

    def popped_from(self, base: NumberList, k: Expr, node: ast.Call) -> Any:
        """``l.pop(k)``."""
        self.check_changes(base, node)
        place = self.place_in(base, k, node)
        value = self.owned(base.at(place))
        less = self.held(sub(base.length, ONE), "length")
        if k != num(-1):
            with self.loops_over([call("max", sub(less, place), ZERO)]) as (j,):
                at = self.held(add(place, j), "place")
                self.put(base, at, base.at(add(at, ONE)), node)
        self.emit(Let(base.count, less))
        return value


__all__ = ["ListBuilder"]
