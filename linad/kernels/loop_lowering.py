"""Loops: over ranges, over entries of arrays and tuples, and with a test."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from linad.kernels.array_windows import ArrayWindow, Computed, item_of
from linad.kernels.binding import BindingLowering
from linad.kernels.building import Frame, all_of
from linad.kernels.expressions import NONE, ONE, ZERO, Expr, add, call, is_integer, mul, var
from linad.kernels.function_source import FunctionSource, ListEntry, LocalList
from linad.kernels.number_lists import NumberList
from linad.kernels.statements import For, If, Let, Statement, WhileLoop
from linad.kernels.syntax import contains

Bounds = tuple[Expr, Expr, Expr]


class LoopLowering(BindingLowering):
    """Writes loops."""

    def __init__(self, source: FunctionSource) -> None:
        super().__init__(source)
        self.collect: list[Callable[[Any], None]] = []  # what takes entries of comprehensions
        self.looped: list[NumberList] = []  # that loops around run over

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Lower statements."""
        raise NotImplementedError

    def on_For(self, s: ast.For) -> None:
        name = self.called(s.iter)
        if name in ("range", "prange"):
            self.loop(
                s,
                self.range(s),
                lambda counter: self.enter(s.target, counter, s),
                prange=name == "prange",
            )
            return
        around = len(self.looped)
        length, item = self.items(s.iter)
        bounds = (ZERO, length, ONE)
        self.loop(s, bounds, lambda counter: self.enter_item(s.target, item(counter), s))
        while len(self.looped) > around:
            self.looped.pop().looped -= 1

    # List comprehensions.

    def of_LocalList(self, node: LocalList) -> NumberList:
        """A list comprehension: its loops, in a scope of their own."""
        assert node.source is not None
        outer, frame = self.frame, Frame(node.source, self.depth, self.frame)
        self.frame = frame
        self.frames.append(frame)
        (loop,) = node.tree.body
        assert isinstance(loop, ast.For)
        both = {n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name)} & frame.stored
        if both:
            name = sorted(both)[0]
            raise self.error(
                node, f"{name} is both the loop variable and what it runs over", "use two names"
            )
        try:
            if isinstance(loop.body[0], ListEntry):
                return self.list_of_known_length(loop)
            made = self.new_list()
            self.collect.append(lambda value: self.append(made, self.owned(value), node))
            self.on_For(loop)
            self.collect.pop()
            return made
        finally:
            self.frame = outer
            self.frames.pop()

    def on_ListEntry(self, s: ListEntry) -> None:
        self.collect[-1](self.value(s.value))

    def list_of_known_length(self, loop: ast.For) -> NumberList:
        """``[f(v) for v in x]``: an entry a turn."""
        around = len(self.looped)
        length, item = self.items_of_any(loop)
        made = NumberList(self.fresh("count"), self.depth)
        self.emit(Let(made.count, length))
        places: list[Expr] = []

        def enter(counter: Expr) -> None:
            places.append(counter)
            value = item(counter)
            (self.enter if value is counter else self.enter_item)(loop.target, value, loop)

        def collect(value: Any) -> None:
            value = self.owned(value)
            self.begin(made, value, loop)
            self.put(made, places[0], value, loop)

        self.collect.append(collect)
        with self.into(inside=False) as written:
            self.loop(loop, (ZERO, made.length, ONE), enter)
        self.collect.pop()
        while len(self.looped) > around:
            self.looped.pop().looped -= 1
        self.with_room(made, made.length)
        self.out += written
        return made

    def loop(
        self, s: ast.For, bounds: Bounds, enter: Callable[[Expr], None], prange: bool = False
    ) -> None:
        """A loop that counts; ``enter`` begins a turn."""
        left, skipped = self.fresh("left"), self.fresh("skipped")
        if contains(s, ast.Break, own=True) or contains(s, ast.Return):
            self.left_early(s, bounds, left, skipped, enter)
            return
        comment = self.comment
        counter = self.fresh(s.target.id if isinstance(s.target, ast.Name) else "k")
        self.loops.add(counter)
        if _never_negative(bounds):
            self.counts.add(counter)
        with self.turn(left, skipped) as inner:
            enter(var(counter))
            self.block(s.body)
        self.comment = comment
        self.emit(For(counter, *bounds, inner, prange=prange))

    def enter(self, target: ast.expr, counter: Expr, s: ast.For) -> None:
        """Give the variable of a loop over a range its value."""
        if not isinstance(target, ast.Name):
            raise self.error(s, "a range yields one number at a time", "write `for i in range(n)`")
        name = target.id
        only_counts = name in self.frame.counters and name not in self.frame.source.parameters
        if only_counts and counter.parts[0] in self.loops:
            self.frame.scope[name] = counter
        else:
            self.bind(name, counter, s)

    def enter_item(self, target: ast.expr, value: Any, s: ast.For) -> None:
        """Give the variables of a loop over items their values."""
        if isinstance(target, ast.Tuple):
            parts = self.unpacked(value, len(target.elts), s)
            for t, v in zip(target.elts, parts, strict=True):
                self.enter_item(t, v, s)
        elif (
            isinstance(target, ast.Name)
            and isinstance(value, ArrayWindow)
            and target.id in self.frame.counters
        ):
            self.frame.scope[target.id] = self.pinned(value)
        else:
            self.assign(target, value, s)

    @contextmanager
    def turn(self, left: str, skipped: str, read: Iterable[str] = ()) -> Iterator[list[Statement]]:
        """The body of a loop; ``read`` are arrays that its test reads."""
        self.frame.flags.append((left, skipped))
        self.frame.read_in_loop.append({*read})
        try:
            with self.into() as inner:
                self.emit(Let(skipped, ZERO))
                yield inner
        finally:
            self.frame.flags.pop()
            names = self.frame.read_in_loop.pop()
            if self.frame.read_in_loop:
                self.frame.read_in_loop[-1] |= names

    def left_early(
        self, s: ast.For, bounds: Bounds, left: str, skipped: str, enter: Callable[[Expr], None]
    ) -> None:
        """A loop that counts and can be left is a loop with a test."""
        start, stop, step = bounds
        down = step.op == "neg" or (step.op == "num" and step.parts[0].startswith("-"))
        if step.op != "num":
            raise self.error(s, "the loop that is left must have a constant step", "write `while`")
        comment = self.comment
        counter = self.fresh("next")
        self.emit(Let(counter, start))
        stop = self.held(stop, "stop")
        self.emit(Let(left, ZERO))
        with self.turn(left, skipped) as inner:
            enter(var(counter))
            self.emit(Let(counter, add(var(counter), step)))
            self.block(s.body)
        self.comment = comment
        test = [Expr("==", (var(left), ZERO)), Expr(">" if down else "<", (var(counter), stop))]
        self.emit(WhileLoop(all_of(self.not_done(s) + test), inner))

    def not_done(self, s: ast.stmt) -> list[Expr]:
        """That the function has not returned, where it may."""
        if self.frame.done and contains(s, ast.Return):
            return [Expr("==", (var(self.frame.done), ZERO))]
        return []

    def on_While(self, s: ast.While) -> None:
        left, skipped = self.fresh("left"), self.fresh("skipped")
        comment = self.comment
        self.emit(Let(left, ZERO))
        flags = [Expr("==", (var(left), ZERO))] if contains(s, ast.Break, own=True) else []
        flags = self.not_done(s) + flags
        self.frame.read_in_loop.append(set())
        with self.into() as before:
            test = self.scalar(s.test)
        read = self.frame.read_in_loop.pop()
        if before:
            go = self.fresh("go")
            self.emit(Let(go, ONE))
        with self.turn(left, skipped, read) as inner:
            self.block(s.body)
        self.comment = comment
        if before:
            stop = Let(go, ZERO)
            inner = [*before, If(test, inner, [stop])]
            test = Expr("==", (var(go), ONE))
        always = test.op == "num" and test.parts[0] in ("True", "1")
        self.emit(WhileLoop(all_of(flags + [test] * (not always or not flags)), inner))

    # What a loop runs over.

    def items_of_any(self, s: ast.For) -> tuple[Expr, Callable[[Expr], Any]]:
        """The number of items that a loop runs over, of a range too, and the item of a turn."""
        if self.called(s.iter) not in ("range", "prange"):
            return self.items(s.iter)
        start, stop, step = [self.held(e) for e in self.range(s)]
        if start == ZERO and step == ONE:
            return call("max", ZERO, stop), lambda k: k
        return call("len_range", start, stop, step), lambda k: add(start, mul(k, step))

    def called(self, node: ast.expr) -> str:
        """The name of the function outside that a call is of, or ""."""
        if not isinstance(node, ast.Call):
            return ""
        try:
            found = self.frame.source.resolved(node.func)
        except (KeyError, AttributeError):
            return ""
        return str(getattr(found, "__name__", ""))

    def range(self, s: ast.For) -> Bounds:
        """The bounds of a loop over a range."""
        assert isinstance(s.iter, ast.Call)
        if s.iter.keywords:
            raise self.error(s, "range takes no keyword arguments", "write `for i in range(n)`")
        found = [self.scalar(a) for a in s.iter.args]
        if len(found) == 1:
            found.insert(0, ZERO)
        if len(found) == 2:
            found.append(ONE)
        return found[0], found[1], found[2]

    def items(self, node: ast.expr) -> tuple[Expr, Callable[[Expr], Any]]:
        """The number of items that a loop runs over, and the item of a turn."""
        name = self.called(node)
        if name in ("enumerate", "zip"):
            assert isinstance(node, ast.Call)
            if node.keywords or not node.args:
                raise self.error(
                    node, f"{name} does not take such arguments", f"write `{name}(a, ...)`"
                )
            if name == "enumerate":
                first = self.scalar(node.args[1]) if len(node.args) > 1 else ZERO
                first = self.held(first)
                length, item = self.items(node.args[0])
                return length, lambda k: [add(k, first), item(k)]
            parts = [self.items(a) for a in node.args]
            shortest = parts[0][0]
            for n, _ in parts[1:]:
                if n != shortest:
                    shortest = call("min", shortest, n)
            return shortest, lambda k: [item(k) for _, item in parts]
        value = self.value(node)
        if isinstance(value, list):
            value = self.array_from(value, node)
        if isinstance(value, NumberList):
            value.looped += 1
            self.looped.append(value)
            if value.entry is None:
                return ZERO, lambda k: NONE
            return self.held(value.length, "length"), value.at
        if isinstance(value, Computed):
            value = self.copied(value)
        if not isinstance(value, ArrayWindow) or not value.dims:
            raise self.error(
                node,
                "loops run over ranges, arrays, tuples and lists only",
                "write `for i in range(n)`",
            )
        value = self.pinned(value)
        return value.dims[0], lambda k: item_of(value, k)


def _never_negative(bounds: Bounds) -> bool:
    start, stop, step = [int(e.parts[0]) if is_integer(e) else None for e in bounds]
    if step is None:
        return False
    return (step > 0 and start is not None and start >= 0) or (
        step < 0 and stop is not None and stop >= -1
    )
