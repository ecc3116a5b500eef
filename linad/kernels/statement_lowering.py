"""Statements of the user's source; `break`, `continue` and `return` become flags."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from linad.errors import KernelError
from linad.kernels.arrays import ArrayWindow, Computed
from linad.kernels.building import all_of
from linad.kernels.call_lowering import CallLowering
from linad.kernels.expression_lowering import OPERATORS
from linad.kernels.expressions import ONE, ZERO, Expr, add, binary, dim, negative, num, var
from linad.kernels.reach import contains, leaves
from linad.kernels.statements import Check, For, If, Let, Put, Statement, Swap, WhileLoop


class StatementLowering(CallLowering):
    """Writes statements: ``on_<node>`` for each kind of them."""

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Lower statements; those behind one that may jump are made conditional."""
        for k, s in enumerate(body):
            rest = list(body[k + 1 :])
            if isinstance(s, ast.If) and rest and (leaves(s.body) or leaves(s.orelse)):
                stays = leaves(s.body)
                joined_up = ast.copy_location(
                    ast.If(
                        s.test,
                        s.body if stays else [*s.body, *rest],
                        [*s.orelse, *rest] if stays else s.orelse,
                    ),
                    s,
                )
                self.statement(joined_up)
                return
            self.statement(s)
            if leaves([s]):
                return
            flags = self.flags_of(s)
            if rest and flags:
                with self.into() as inner:
                    self.block(rest)
                self.emit(If(all_of([Expr("==", (var(f), ZERO)) for f in flags]), inner, []))
                return

    def flags_of(self, s: ast.stmt) -> list[str]:
        """The flags that a statement may set."""
        found = []
        if self.frame.flags:
            left, skipped = self.frame.flags[-1]
            found += [left] * contains(s, ast.Break) + [skipped] * contains(s, ast.Continue)
        if self.frame.done and contains(s, ast.Return):
            found.append(self.frame.done)
        return found

    def statement(self, s: ast.stmt) -> None:
        """Lower one statement."""
        handler = getattr(self, f"on_{type(s).__name__}", None)
        if handler is None:
            raise self.error(
                s, f"{type(s).__name__} is not in the language of kernels", "write it otherwise"
            )
        self.comment = self.frame.source.line(s)
        handler(s)

    def on_Pass(self, s: ast.Pass) -> None:
        pass

    def on_Expr(self, s: ast.Expr) -> None:
        if isinstance(s.value, ast.Constant):
            return
        if not isinstance(s.value, ast.Call):
            raise self.error(s, "an expression that nothing uses", "leave it out")
        self.sole = s.value
        self.value(s.value)

    def on_Return(self, s: ast.Return) -> None:
        frame = self.frame
        assert frame.done is not None
        if frame.results is not None:
            if s.value is None:
                raise self.error(s, "returns nothing here and a value elsewhere", "return a value")
            value = self.value(s.value)
            values = value if isinstance(value, list) else [value]
            if len(values) != len(frame.results) or not all([isinstance(v, Expr) for v in values]):
                raise self.error(
                    s,
                    "an early return of arrays, or of another number of values",
                    "write into an array that is an argument",
                )
            for r, v in zip(frame.results, values, strict=True):
                self.emit(Let(r, v))
        self.emit(Let(frame.done, ONE))

    def on_Break(self, s: ast.Break) -> None:
        self.emit(Let(self.frame.flags[-1][0], ONE))

    def on_Continue(self, s: ast.Continue) -> None:
        self.emit(Let(self.frame.flags[-1][1], ONE))

    def on_Raise(self, s: ast.Raise) -> None:
        message = "the kernel raised an error"
        if isinstance(s.exc, ast.Call) and s.exc.args and isinstance(s.exc.args[0], ast.Constant):
            message = str(s.exc.args[0].value)
        self.emit(Check(num(False), message))

    def on_Assert(self, s: ast.Assert) -> None:
        message = str(s.msg.value) if isinstance(s.msg, ast.Constant) else "assertion failed"
        self.emit(Check(self.scalar(s.test), message))

    def on_AnnAssign(self, s: ast.AnnAssign) -> None:
        if s.value is not None:
            self.on_Assign(ast.copy_location(ast.Assign([s.target], s.value), s))

    def on_Assign(self, s: ast.Assign) -> None:
        self.sole = s.value
        target = s.targets[0]
        if len(s.targets) == 1 and isinstance(target, ast.Tuple) and isinstance(s.value, ast.Tuple):
            if self.swap(target, s.value):
                return
            given = [self.value(v) for v in s.value.elts]
            given = [self.held(v) if isinstance(v, Expr) else v for v in given]
            self.assign(target, given, s)
            return
        value = self.value(s.value)
        if len(s.targets) > 1 and isinstance(value, Expr):
            value = self.held(value)
        for t in s.targets:
            self.assign(t, value, s)

    def swap(self, target: ast.Tuple, value: ast.Tuple) -> bool:
        """``u, v = v, u`` of arrays."""
        pairs = [*target.elts, *value.elts]
        if not all([isinstance(e, ast.Name) for e in pairs]):
            return False
        bound = [self.frame.scope.get(e.id) for e in pairs]  # type: ignore[attr-defined]
        if not any([isinstance(b, ArrayWindow) for b in bound]):
            return False
        found = [b.array for b in bound if isinstance(b, ArrayWindow) and b.is_whole()]
        n = len(target.elts)
        if len(found) != 2 * n or sorted(found[:n]) != sorted(found[n:]) or len({*found}) != n:
            raise self.error(target, "an exchange of parts of arrays", "copy them entry by entry")
        if len({self.kinds[a] for a in found}) > 1:
            raise self.error(target, "an exchange of arrays of several types", "use one dtype")
        ndim = self.kinds[found[0]].ndim  # type: ignore[union-attr]
        for other in found[1:n]:
            self.check_dims(
                [dim(found[0], k) for k in range(ndim)],
                [dim(other, k) for k in range(ndim)],
                target,
            )
        self.emit(Swap(tuple(found[:n]), tuple(found[n:])))
        return True

    def assign(self, target: ast.expr, value: Any, s: ast.stmt) -> None:
        """Assign a value, of any sort, to a target."""
        if isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, list) or len(value) != len(target.elts):
                raise self.error(s, "the number of values is not that of the targets", "name each")
            value = [self.held(v) if isinstance(v, Expr) else v for v in value]
            for t, v in zip(target.elts, value, strict=True):
                self.assign(t, v, s)
        elif isinstance(target, ast.Name):
            self.bind(target.id, value, s)
        elif isinstance(target, ast.Subscript):
            self.store(self.array_of(target.value), target.slice, value, s)
        else:
            raise self.error(s, "assigns an attribute", "use arrays and scalars")

    def bind(self, name: str, value: Any, s: ast.stmt) -> None:
        """Give a name of the user's a value."""
        scope = self.frame.scope
        before = scope.get(name)
        if isinstance(value, Expr):
            if before is None or not isinstance(before, Expr):
                if before is not None:
                    raise self.error(s, f"{name} was no number before", "use another name")
                before = scope[name] = var(self.fresh(name))
            self.emit(Let(before.parts[0], value))
            return
        if isinstance(value, Computed):
            if (
                isinstance(before, ArrayWindow)
                and before.is_whole()
                and not self.shared(before, name)
            ):
                self.fill(before, self.copied(value), s)
                return
            value = self.copied(value)
        elif isinstance(value, ArrayWindow):
            made = value.array in self.unnamed
            self.unnamed.discard(value.array)
            if (
                made
                and self.read_in_loop
                and isinstance(before, ArrayWindow)
                and before.is_whole()
                and self.kinds[before.array] == self.kinds[value.array]
                and not self.shared(before, name)
            ):
                self.fill(before, value, s)
                return
            value = self.pinned(value)
        if isinstance(before, Expr):
            raise self.error(s, f"{name} was a number before", "use another name")
        if before is not None and any([name in read for read in self.read_in_loop]):
            raise self.error(
                s,
                f"{name} becomes another array while a loop runs",
                f"write its entries, `{name}[:] = ...`, or exchange, `a, b = b, a`",
            )
        scope[name] = value

    def shared(self, window: ArrayWindow, name: str) -> bool:
        """Whether the array has other names, or is the caller's."""
        others = [
            n for n, v in self.frame.scope.items() if isinstance(v, ArrayWindow) and n != name
        ]
        return window.array in self.parameters or any(
            [self.frame.scope[n].array == window.array for n in others]
        )

    def on_AugAssign(self, s: ast.AugAssign) -> None:
        self.sole = s.value
        op = OPERATORS.get(type(s.op))
        if op is None:
            raise self.error(s, f"{type(s.op).__name__} is not in the language of kernels", "use +")
        value = self.value(s.value)
        if isinstance(s.target, ast.Name):
            old = self.name(s.target)
            if isinstance(old, Expr):
                self.emit(Let(old.parts[0], binary(op, old, self.number(value, s))))
                return
            window = old
        elif isinstance(s.target, ast.Subscript):
            window = self.subscripted(self.array_of(s.target.value), s.target.slice)
        else:
            raise self.error(s, "assigns an attribute", "use arrays and scalars")
        if isinstance(window, Computed) or not isinstance(window, ArrayWindow):
            raise self.error(s, "updates what is no array", "use arrays and scalars")
        if not window.axes:
            value = self.number(value, s)
            if op in ("+", "-"):
                value = value if op == "+" else negative(value)
                self.emit(Put(window.array, window.index(()), value, adds=True))
            else:
                self.emit(Put(window.array, window.index(()), binary(op, window.at(), value)))
            return
        self.fill(window, self.elementwise(lambda a, b: binary(op, a, b), window, value, node=s), s)

    def store(self, base: Any, where: ast.expr, value: Any, s: ast.stmt) -> None:
        """``base[where] = value``."""
        window = self.subscripted(base, where)
        if not isinstance(window, ArrayWindow):
            raise self.error(s, "writes into what is no array of its own", "write into the array")
        if not window.axes:
            self.emit(Put(window.array, window.index(()), self.number(value, s)))
        else:
            self.fill(window, value, s)

    def on_If(self, s: ast.If) -> None:
        test = self.scalar(s.test)
        if test.op == "num" and test.parts[0] in ("True", "False", "0", "1"):
            self.block(s.body if test.parts[0] in ("True", "1") else s.orelse)
            return
        comment = self.comment
        scope = dict(self.frame.scope)
        with self.into() as yes:
            self.block(s.body)
        after_yes, self.frame.scope = self.frame.scope, dict(scope)
        self._keep_scalars(after_yes)
        with self.into() as no:
            self.block(s.orelse)
        for name in {*after_yes, *self.frame.scope}:
            one, other = after_yes.get(name), self.frame.scope.get(name)
            if one is not other and not leaves(s.body) and not leaves(s.orelse):
                if isinstance(one, Expr) and isinstance(other, Expr):
                    continue
                if one is None or other is None:
                    self.frame.scope[name] = one or other
                    if name not in scope:
                        continue
                self.frame.scope[name] = KernelError  # two arrays under one name
            elif leaves(s.orelse) and one is not None:
                self.frame.scope[name] = one
        self.comment = comment
        self.emit(If(test, yes, no))

    def _keep_scalars(self, scope: dict[str, Any]) -> None:
        for name, value in scope.items():
            if isinstance(value, Expr):
                self.frame.scope.setdefault(name, value)

    def on_For(self, s: ast.For) -> None:
        assert isinstance(s.target, ast.Name)
        bounds = self.range(s)
        leaves_early = contains(s, ast.Break, own=True) or contains(s, ast.Return)
        left, skipped = self.fresh("left"), self.fresh("skipped")
        comment = self.comment
        name = s.target.id
        clean = name in self.frame.counters and name not in self.frame.source.parameters
        if leaves_early:
            self.left_early(s, bounds, left, skipped)
            return
        counter = self.fresh(name)
        self.loops.add(counter)
        with self.turn(left, skipped) as inner:
            if clean:
                self.frame.scope[name] = var(counter)
            else:
                self.bind(name, var(counter), s)
            self.block(s.body)
        self.comment = comment
        self.emit(For(counter, *bounds, inner))

    @contextmanager
    def turn(self, left: str, skipped: str) -> Iterator[list[Statement]]:
        """The body of a loop."""
        self.frame.flags.append((left, skipped))
        self.read_in_loop.append(set())
        try:
            with self.into() as inner:
                self.emit(Let(skipped, ZERO))
                yield inner
        finally:
            self.frame.flags.pop()
            read = self.read_in_loop.pop()
            if self.read_in_loop:
                self.read_in_loop[-1] |= read

    def left_early(self, s: ast.For, bounds: Sequence[Expr], left: str, skipped: str) -> None:
        """A loop over a range that can be left is a loop with a test."""
        start, stop, step = bounds
        down = step.op == "neg" or (step.op == "num" and step.parts[0].startswith("-"))
        if step.op != "num":
            raise self.error(s, "leaves a loop whose step is not constant", "write `while`")
        comment = self.comment
        counter = self.fresh("next")
        self.emit(Let(counter, start))
        stop = self.held(stop, "stop")
        self.emit(Let(left, ZERO))
        with self.turn(left, skipped) as inner:
            self.bind(s.target.id, var(counter), s)  # type: ignore[attr-defined]
            self.emit(Let(counter, add(var(counter), step)))
            self.block(s.body)
        self.comment = comment
        test = [Expr("==", (var(left), ZERO)), Expr(">" if down else "<", (var(counter), stop))]
        self.emit(WhileLoop(all_of(self.not_done(s) + test), inner))

    def not_done(self, s: ast.stmt) -> list[Expr]:
        if self.frame.done and contains(s, ast.Return):
            return [Expr("==", (var(self.frame.done), ZERO))]
        return []

    def on_While(self, s: ast.While) -> None:
        left, skipped = self.fresh("left"), self.fresh("skipped")
        comment = self.comment
        self.emit(Let(left, ZERO))
        flags = [Expr("==", (var(left), ZERO))] if contains(s, ast.Break, own=True) else []
        flags = self.not_done(s) + flags
        with self.into() as before:
            test = self.scalar(s.test)
        if before:
            go = self.fresh("go")
            self.emit(Let(go, ONE))
        with self.turn(left, skipped) as inner:
            self.block(s.body)
        self.comment = comment
        if before:
            stop = Let(go, ZERO)
            inner = [*before, If(test, inner, [stop])]
            test = Expr("==", (var(go), ONE))
        always = test.op == "num" and test.parts[0] in ("True", "1")
        self.emit(WhileLoop(all_of(flags + [test] * (not always or not flags)), inner))

    def range(self, s: ast.For) -> tuple[Expr, Expr, Expr]:
        """The bounds of a loop."""
        it = s.iter
        name = ""
        if isinstance(it, ast.Call):
            try:
                found = self.frame.source.resolved(it.func)
            except KeyError:
                found = None
            name = getattr(found, "__name__", "")
        if name not in ("range", "prange") or not isinstance(it, ast.Call) or it.keywords:
            raise self.error(s, "a loop over more than range", "write `for i in range(n)`")
        found = [self.scalar(a) for a in it.args]
        if len(found) == 1:
            found.insert(0, ZERO)
        if len(found) == 2:
            found.append(ONE)
        return found[0], found[1], found[2]
