"""Statements of the user's source; `break`, `continue` and `return` become flags."""

import ast
from collections.abc import Sequence
from typing import Any

from linad.errors import KernelError
from linad.kernels.array_windows import ArrayWindow, Computed
from linad.kernels.building import all_of
from linad.kernels.expression_lowering import OPERATORS
from linad.kernels.expressions import ONE, ZERO, Expr, negative, num, var
from linad.kernels.function_source import FunctionSource
from linad.kernels.loop_lowering import LoopLowering
from linad.kernels.number_lists import NumberList
from linad.kernels.statements import Check, If, Let, Put, Statement, assigned
from linad.kernels.syntax import contains, leaves


class StatementLowering(LoopLowering):
    """Writes statements: ``on_<node>`` for each kind of them."""

    def __init__(self, source: FunctionSource) -> None:
        super().__init__(source)
        self.taken_results: set[str] = set()  # those that a return has given a value

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
            raise self.error(s, "the value of an expression is not used", "leave it out")
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
            if len(values) != len(frame.results):
                raise self.error(
                    s, "returns a different number of values elsewhere", "return as many"
                )
            for k, (r, v) in enumerate(zip(frame.results, values, strict=True)):
                self.keep_result(k, r, v, s)
        self.emit(Let(frame.done, ONE))

    def keep_result(self, k: int, name: str, value: Any, s: ast.Return) -> None:
        """Put a returned value where all returns of a function put it."""
        seen = name in self.taken_results
        self.taken_results.add(name)
        known = self.frame.arrays.get(k)
        if isinstance(value, Expr) and known is None:
            self.emit(Let(name, value))
        elif isinstance(value, (ArrayWindow, Computed)) and (known is not None or not seen):
            if known is None:
                self.frame.arrays[k] = self.copied(value)
                self.unnamed.discard(self.frame.arrays[k].array)
            else:
                self.fill(known, value, s)
        else:
            raise self.error(s, "returns a number here and an array elsewhere", "return one kind")

    def on_Break(self, s: ast.Break) -> None:
        self.emit(Let(self.frame.flags[-1][0], ONE))

    def on_Continue(self, s: ast.Continue) -> None:
        self.emit(Let(self.frame.flags[-1][1], ONE))

    def on_Raise(self, s: ast.Raise) -> None:
        message = "the kernel raised an error"
        if isinstance(s.exc, ast.Call) and s.exc.args:
            message = text_of(s.exc.args[0]) or message
        self.emit(Check(num(False), message))

    def on_Assert(self, s: ast.Assert) -> None:
        message = (text_of(s.msg) if s.msg else "") or "assertion failed"
        self.emit(Check(self.scalar(s.test), message))

    def on_AugAssign(self, s: ast.AugAssign) -> None:
        self.sole = s.value
        op = OPERATORS.get(type(s.op))
        if op is None:
            raise self.error(s, f"{type(s.op).__name__} is not in the language of kernels", "use +")
        with self.into(inside=False) as right:
            value = self.value(s.value)
        if isinstance(s.target, ast.Name):
            self.out += right
            window = self.updated_name(s, s.target, op, value)
        elif isinstance(s.target, ast.Subscript):
            window = self.updated_place(s, s.target, op, value, right)
        else:
            raise self.error(s, "assigns to an attribute", "use arrays and scalars")
        if window is not None:
            self.update(s, window, op, value)

    def updated_name(self, s: ast.AugAssign, target: ast.Name, op: str, value: Any) -> Any:
        """The array of a name that is updated; None where it is not an array, and was updated."""
        old = self.name(target)
        if isinstance(old, NumberList) and op == "+":
            given = self.listed(value, s) if value is old else value
            self.extend(old, given, s)
            return None
        if isinstance(old, Expr):
            self.emit(Let(old.parts[0], self.operation(op, old, self.number(value, s))))
            return None
        return old

    def updated_place(
        self, s: ast.AugAssign, target: ast.Subscript, op: str, value: Any, right: list[Statement]
    ) -> Any:
        """The part of an array that is updated, behind the statements of the right side; None
        where it is read before them, and was updated."""
        changed = assigned(right)
        base = self.array_of(target.value)
        if isinstance(base, NumberList) and not isinstance(target.slice, ast.Slice):
            if changed & {base.count, *base.scalars}:
                raise self.error(
                    s, "updates a list that its right side changes", "give the value a name"
                )
            place = self.place_in(base, self.scalar(target.slice), s)
            old = self.number(base.at(place), s)
            self.out += right
            self.put(base, place, self.operation(op, old, self.number(value, s)), s)
            return None
        if not isinstance(base, ArrayWindow):
            raise self.error(
                s, "updates an expression that is not a name of an array", "update the array"
            )
        window = self.subscripted(base, target.slice)
        if window.array in changed and not window.axes:  # it is read first
            old = self.held(window.at(), "old")
            self.out += right
            new = self.operation(op, old, self.number(value, s))
            self.emit(Put(window.array, window.index(()), new))
            return None
        self.out += right
        return window

    def update(self, s: ast.AugAssign, window: Any, op: str, value: Any) -> None:
        """Update the entries of an array, or one of them."""
        if isinstance(window, Computed) or not isinstance(window, ArrayWindow):
            raise self.error(s, "updates something other than an array", "use arrays and scalars")
        if not window.axes:
            value = self.number(value, s)
            if op in ("+", "-"):
                value = value if op == "+" else negative(value)
                self.emit(Put(window.array, window.index(()), value, adds=True))
            else:
                self.emit(
                    Put(window.array, window.index(()), self.operation(op, window.at(), value))
                )
            return
        updated = self.elementwise(lambda a, b: self.operation(op, a, b), window, value, node=s)
        self.fill(window, updated, s)

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
            numbers = isinstance(value, list) and all([isinstance(v, Expr) for v in value])
            if isinstance(value, Expr) or numbers:
                self.frame.scope.setdefault(name, value)


def text_of(e: ast.expr) -> str:
    """The text of an error; of an f-string, with what stands in its braces as it is written."""
    if isinstance(e, ast.Constant):
        return str(e.value)
    if not isinstance(e, ast.JoinedStr):
        return ""
    parts = [
        f"{{{ast.unparse(v.value)}}}" if isinstance(v, ast.FormattedValue) else text_of(v)
        for v in e.values
    ]
    return "".join(parts)
