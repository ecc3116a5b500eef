"""From the user's source to statements: names resolved, calls inlined, jumps made into flags.

What comes out has no `break`, `continue` or `return`, no slices and no calls of the user's
functions; arrays of the function's own are made at its top.
"""

import ast
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from linad.errors import KernelError
from linad.kernels.arrays import Array, ArrayWindow, Axis, Computed, length_of, whole
from linad.kernels.expressions import (
    CANONICAL,
    FUNCTIONS,
    NONE,
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    Kind,
    add,
    binary,
    call,
    dim,
    joined,
    kind_of,
    mul,
    names,
    negative,
    nodes,
    num,
    sub,
    var,
)
from linad.kernels.reach import contains, leaves, loop_names, single_return
from linad.kernels.source import FunctionSource, name_of_function
from linad.kernels.statements import (
    Check,
    For,
    If,
    Let,
    New,
    Put,
    Statement,
    Swap,
    WhileLoop,
    assigned,
    walk,
)

OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}

MAKERS = ("zeros", "empty", "ones", "full", "zeros_like", "empty_like", "ones_like", "copy")


METHODS = ("sum", "mean", "copy", "fill", "dot")


def check_calls(source: FunctionSource) -> None:
    """Look for loops and calls that kernels do not have.

    Raises
    ------
    KernelError
    """
    local = {*source.parameters}
    local |= {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name) and _is_store(n)}
    raised = {id(n.exc) for n in ast.walk(source.tree) if isinstance(n, ast.Raise)}
    for node in ast.walk(ast.Module(source.tree.body, [])):
        if isinstance(node, ast.For) and not isinstance(node.iter, ast.Call):
            raise source.error(node, "a loop over more than range", "write `for i in range(n)`")
        if not isinstance(node, ast.Call) or id(node) in raised:
            continue
        head = node.func
        while isinstance(head, ast.Attribute):
            head = head.value
        if not isinstance(head, ast.Name) or head.id in local:
            if isinstance(node.func, ast.Attribute) and node.func.attr not in METHODS:
                raise source.error(node, f"the method {node.func.attr}", "write the loop")
            continue
        try:
            function = source.resolved(node.func)
        except (KeyError, AttributeError):
            continue  # defined later, or a method of an array from outside
        if not _is_known(function):
            what = ast.unparse(node.func)
            raise source.error(node, f"{what} is not in the language of kernels", "write the loop")


def _is_store(n: ast.Name) -> bool:
    return isinstance(n.ctx, ast.Store)


def _is_known(function: Any) -> bool:
    if isinstance(function, types.FunctionType) or hasattr(function, "py_func"):
        name = name_of_function(function)
        if not name or name in CANONICAL or name in MAKERS:
            return True
    elif hasattr(function, "adjoint_source"):
        return True
    name = name_of_function(function)
    known = name in CANONICAL or name in FUNCTIONS or name in MAKERS or name in ("range", "pow")
    return (
        known
        or hasattr(LoweredKernel, f"call_{name}")
        or getattr(function, "__name__", "") == "prange"
        or (isinstance(function, type) and name in ("float64", "int64", "float32"))
    )


class Frame:
    """One function that is being lowered: the kernel, or one that it calls.

    Attributes
    ----------
    scope : dict
        What a name stands for: an `Expr`, an array, a tuple of these, or a function.
    done : str or None
        The scalar that says the function has returned, where it can return early.
    flags : list of (str, str)
        For each loop around, the scalars that say it was left, and that this turn was.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.source = source
        self.scope: dict[str, Any] = {}
        self.done: str | None = None
        self.results: list[str] | None = None
        self.flags: list[tuple[str, str]] = []
        self.counters = loop_names(source.tree)
        self.stored = {
            n.id
            for n in ast.walk(source.tree)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }


class LoweredKernel:
    """A kernel as statements.

    Attributes
    ----------
    parameters : list of str
        In the order of the function's; those that stand for functions are left out.
    kinds : dict
        Of all scalars and arrays.
    body : list of Statement
    results : list
        What the function returns, in order: an `Expr`, or an `ArrayWindow` of a whole array.
    single : bool
        Whether it returns one value, no tuple.
    constants : dict
        Arrays from outside of the function, by name.
    """

    def __init__(self, source: FunctionSource, kinds: Sequence[Kind | Any]) -> None:
        self.kinds: dict[str, Kind] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.taken: set[str] = set(CANONICAL) | {"np", "math", "grown", "range", "min", "max"}
        self.out: list[Statement] = []
        self.depth = 0
        self.calling: list[Any] = []
        self.read_in_loop: list[set[str]] = []
        self.unnamed: set[str] = set()  # new arrays that the user has no name for yet
        self.sole: Any = None
        self.comment = ""
        self.frame = frame = Frame(source)
        self.parameters = []
        for name, kind in zip(source.parameters, kinds, strict=True):
            if isinstance(kind, (str, ArrayKind)):
                new = self.fresh(name)
                self.parameters.append(new)
                self.kinds[new] = kind
                frame.scope[name] = (
                    whole(new, kind.ndim) if isinstance(kind, ArrayKind) else var(new)
                )
            else:
                frame.scope[name] = kind
        self.calling.append(source.function.__code__)
        value = self.function(frame)
        self.single = not isinstance(value, list)
        self.results = [] if value is None else value if isinstance(value, list) else [value]
        for k, r in enumerate(self.results):
            if isinstance(r, Computed) or (isinstance(r, ArrayWindow) and not r.is_whole()):
                self.results[k] = self.copied(r)
            elif not isinstance(r, (Expr, ArrayWindow)):
                raise source.error(
                    source.tree, "returns neither numbers nor arrays", "return these"
                )
        self.body = self.out
        self.infer()
        self.body = [*self.made_first(), *self.body]
        self.infer()
        self.prune()

    # Names, and what is written down.

    def fresh(self, name: str) -> str:
        """A name that nothing else has."""
        name = name if name.isascii() and not name.endswith("_n") else f"{name}_"
        found, k = name, 1
        while found in self.taken or _is_derived(found):
            found, k = f"{name}_{k}", k + 1
        self.taken.add(found)
        return found

    def emit(self, s: Statement) -> None:
        """Add a statement."""
        s.comment = self.comment
        self.out.append(s)

    @contextmanager
    def into(self, inside: bool = True) -> Iterator[list[Statement]]:
        """Statements emitted in the block go to a list of their own."""
        before, self.out = self.out, []
        self.depth += inside
        try:
            yield self.out
        finally:
            self.out = before
            self.depth -= inside

    def held(self, e: Expr, name: str = "t") -> Expr:
        """A scalar that has the value of an expression."""
        if e.op == "num":
            return e
        new = self.fresh(name)
        self.emit(Let(new, e))
        return var(new)

    def error(self, node: ast.AST, problem: str, remedy: str) -> KernelError:
        """An error that names the user's line."""
        return self.frame.source.error(node, problem, remedy)

    # Functions and statements.

    def function(self, frame: Frame) -> Any:
        """Lower the body of a function; returns what it returns."""
        outer, self.frame = self.frame, frame
        comment = self.comment
        tree = frame.source.tree
        body = list(tree.body)
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        try:
            value: Any = None
            if single_return(tree):
                if body and isinstance(body[-1], ast.Return):
                    self.block(body[:-1])
                    if body[-1].value is not None:
                        self.comment = frame.source.line(body[-1])
                        self.sole = body[-1].value
                        value = self.value(body[-1].value)
                else:
                    self.block(body)
            else:
                frame.done = self.fresh("done")
                self.emit(Let(frame.done, ZERO))
                found = [n for n in ast.walk(tree) if isinstance(n, ast.Return) and n.value]
                if found:
                    given = found[0].value
                    one = not isinstance(given, ast.Tuple)
                    count = 1 if one else len(given.elts)  # type: ignore[union-attr]
                    frame.results = [self.fresh("result") for _ in range(count)]
                    for r in frame.results:
                        self.emit(Let(r, ZERO))
                    value = [var(r) for r in frame.results]
                    value = value[0] if one else value
                self.block(body)
        finally:
            self.frame, self.comment = outer, comment
        return value

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
                self.emit(If(_all([Expr("==", (var(f), ZERO)) for f in flags]), inner, []))
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

    def pinned(self, w: ArrayWindow) -> ArrayWindow:
        """The window as it is now, whatever becomes of the scalars it was made with."""
        loops = set().union(*[{v.parts[0]} for v in self._loop_vars()])

        def pin(e: Expr) -> Expr:
            return e if names(e) <= loops else self.held(e)

        entries: list[Any] = []
        for e in w.entries:
            if isinstance(e, Axis):
                entries.append(Axis(pin(e.start), pin(e.step), pin(e.length), e.whole))
            else:
                entries.append(pin(e))
        return ArrayWindow(w.array, tuple(entries))

    def _loop_vars(self) -> list[Expr]:
        return [
            v for v in self.frame.scope.values() if isinstance(v, Expr) and v.parts[0] in self.loops
        ]

    @functools.cached_property
    def loops(self) -> set[str]:
        """Variables of loops, which nothing assigns."""
        return set()

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

    def fill(self, window: ArrayWindow, value: Any, s: ast.stmt) -> None:
        """Write an array, or a number, into all entries of a window."""
        if isinstance(value, (ArrayWindow, Computed)):
            mine = (window.array, window.entries)
            if any([a == window.array and (a, e) != mine for a, e in _regions(value)]):
                value = self.copied(value)
            self.check_dims(window.dims, value.dims, s)
            if len(value.dims) > len(window.dims):
                raise self.error(s, "the value has more axes than the place", "index it")
        elif not isinstance(value, Expr):
            raise self.error(s, "writes what is no number and no array", "write numbers")
        elif names(value) & {window.array}:
            value = self.held(value)
        with self.loops_over(window.dims) as indices:
            if isinstance(value, Expr):
                entry = value
            else:
                entry = value.at(*indices[len(indices) - len(value.dims) :])
            self.emit(Put(window.array, window.index(indices), entry))

    def check_dims(self, a: Sequence[Expr], b: Sequence[Expr], node: ast.AST) -> None:
        """Check, when the kernel runs, that axes have the same lengths."""
        for m, n in zip(reversed(a), reversed(b), strict=False):
            if m != n:
                self.emit(
                    Check(
                        Expr("==", (m, n)),
                        f"kernel {self.frame.source.name}: axes of different lengths in "
                        f"`{self.comment}`; kernels do not stretch an axis of length 1",
                    )
                )

    @contextmanager
    def loops_over(self, dims: Sequence[Expr]) -> Iterator[tuple[Expr, ...]]:
        """Emit loops, one in the other; what is emitted in the block is their body."""
        counters = [self.fresh("k") for _ in dims]
        self.loops.update(counters)
        with self.into() as inner:
            yield tuple([var(c) for c in counters])
        for c, n in reversed([*zip(counters, dims, strict=True)]):
            loop = For(c, ZERO, n, ONE, inner)
            loop.comment = self.comment
            inner = [loop]
        self.out += inner

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
        self.emit(WhileLoop(_all(self.not_done(s) + test), inner))

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
        self.emit(WhileLoop(_all(flags + [test] * (not always or not flags)), inner))

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

    # Values.

    def scalar(self, node: ast.expr) -> Expr:
        """The value of an expression that must be a number."""
        return self.number(self.value(node), node)

    def number(self, value: Any, node: ast.AST) -> Expr:
        if isinstance(value, (ArrayWindow, Computed)) and not value.dims:
            return value.at()
        if not isinstance(value, Expr):
            raise self.error(node, "an array or tuple where a number is needed", "name an entry")
        return value

    def array_of(self, node: ast.expr) -> Any:
        value = self.value(node)
        if not isinstance(value, (ArrayWindow, Computed, list)):
            raise self.error(node, "an index on what is no array", "use arrays")
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
        if isinstance(node.value, (bool, int, float)):
            return num(node.value)
        raise self.error(node, f"the constant {node.value!r}", "use numbers")

    def of_Name(self, node: ast.Name) -> Any:
        return self.name(node)

    def name(self, node: ast.Name) -> Any:
        if node.id in self.frame.scope:
            value = self.frame.scope[node.id]
            if value is KernelError:
                raise self.error(node, f"{node.id} is one of two arrays", "use an array for each")
            if isinstance(value, ArrayWindow):
                for read in self.read_in_loop:
                    read.add(node.id)
            return value
        if node.id in self.frame.stored:
            found = self.frame.scope[node.id] = var(self.fresh(node.id))
            return found  # assigned later in a loop, or not at all
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

    def of_Tuple(self, node: ast.Tuple) -> Any:
        return [self.value(e) for e in node.elts]

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
                return _transposed(base)
            if node.attr == "dtype":
                return base
        raise self.error(node, f"the attribute {node.attr}", "use shape, size, ndim or T")

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Not):
            return Expr("not", (self.number(value, node),))
        if isinstance(node.op, ast.USub):
            return self.elementwise(negative, value, node=node)
        raise self.error(node, "~ is not in the language of kernels", "use `not`")

    def of_BinOp(self, node: ast.BinOp) -> Any:
        a, b = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.MatMult):
            return self.product(a, b, node)
        op = OPERATORS.get(type(node.op))
        if op is None:
            name = type(node.op).__name__
            raise self.error(node, f"{name} is not in the language of kernels", "use arithmetic")
        if isinstance(a, list) or isinstance(b, list):
            raise self.error(node, "arithmetic with tuples", "name the parts")
        return self.elementwise(lambda x, y: binary(op, x, y), a, b, node=node)

    def of_Compare(self, node: ast.Compare) -> Any:
        left, tests = self.scalar(node.left), []
        for op, right in zip(node.ops, node.comparators, strict=True):
            b = self.scalar(right)
            tests.append(Expr(OPERATORS[type(op)], (left, b)))
            left = b
        return _all(tests)

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        op = "and" if isinstance(node.op, ast.And) else "or"
        found = self.scalar(node.values[0])
        for part in node.values[1:]:
            with self.into() as before:
                value = self.scalar(part)
            if before:  # evaluated only where it decides
                flag = self.fresh("flag")
                self.emit(Let(flag, found))
                before.append(Let(flag, value))
                yes = op == "and"
                self.emit(If(var(flag), before if yes else [], [] if yes else before))
                found = var(flag)
            else:
                found = Expr(op, (found, value))
        return found

    def of_IfExp(self, node: ast.IfExp) -> Any:
        test = self.scalar(node.test)
        new = self.fresh("chosen")
        with self.into() as yes:
            self.emit(Let(new, self.scalar(node.body)))
        with self.into() as no:
            self.emit(Let(new, self.scalar(node.orelse)))
        self.emit(If(test, yes, no))
        return var(new)

    def of_Subscript(self, node: ast.Subscript) -> Any:
        found = self.subscripted(self.array_of(node.value), node.slice)
        return found.at() if isinstance(found, ArrayWindow) and not found.axes else found

    def subscripted(self, base: Any, where: ast.expr) -> Any:
        """The part of an array, or of a tuple, that an index names."""
        if isinstance(base, list):
            k = self.scalar(where)
            if k.op != "num":
                raise self.error(where, "a tuple at an index that varies", "use an array")
            return base[int(k.parts[0])]
        if isinstance(base, Computed):
            base = self.copied(base)
        given = list(where.elts) if isinstance(where, ast.Tuple) else [where]
        if len(given) == 1 and not isinstance(given[0], ast.Slice):
            one = self.value(given[0])
            if isinstance(one, list):
                return self.at_scalars(base, one, where)
        dots = [isinstance(e, ast.Constant) and e.value is Ellipsis for e in given]
        if any(dots):
            at = dots.index(True)
            given[at : at + 1] = [ast.Slice()] * (len(base.dims) - len(given) + 1)
        if len(given) > len(base.dims):
            raise self.error(where, "more indices than axes", "count the axes")
        left = iter([*given, *[ast.Slice()] * (len(base.dims) - len(given))])
        entries: list[Any] = [
            self.part_of_axis(e, next(left)) if isinstance(e, Axis) else e for e in base.entries
        ]
        return ArrayWindow(base.array, tuple(entries))

    def at_scalars(self, base: ArrayWindow, indices: list[Expr], node: ast.AST) -> ArrayWindow:
        if len(indices) != len(base.dims):
            raise self.error(node, "a tuple of indices that is no entry", "name an entry")
        return ArrayWindow(base.array, base.index(tuple(indices)))

    def part_of_axis(self, axis: Axis, e: ast.expr) -> Any:
        """The entry, or entries, of an axis that an index names."""
        if not isinstance(e, ast.Slice):
            value = self.value(e)
            if not isinstance(value, Expr):
                raise self.error(e, "an index that is no integer", "write a loop")
            if value.op == "num" and value.parts[0].startswith("-"):
                value = add(axis.length, value)
            elif not axis.whole and value.op != "num" and value.parts[0] not in self.loops:
                value = self.held(value)
                turned = add(value, axis.length)
                value = Expr("if", (Expr("<", (value, ZERO)), turned, value))
            return add(axis.start, mul(axis.step, value))
        step = self.scalar(e.step) if e.step else ONE
        if step == num(-1) and e.lower is None and e.upper is None:
            return Axis(
                add(axis.start, mul(axis.step, sub(axis.length, ONE))),
                negative(axis.step) if axis.step.op != "num" else mul(num(-1), axis.step),
                axis.length,
            )
        if step.op != "num" or int(step.parts[0]) < 1:
            raise self.error(
                e, "a slice with a step that is not a positive constant", "write a loop"
            )
        start = self.bound(e.lower, ZERO, axis)
        stop = self.bound(e.upper, axis.length, axis)
        length = length_of(start, stop, int(step.parts[0]))
        if start == ZERO and stop == axis.length and step == ONE:
            return axis
        return Axis(add(axis.start, mul(axis.step, start)), mul(axis.step, step), length)

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

    def elementwise(self, f: Callable[..., Expr], *values: Any, node: ast.AST) -> Any:
        """A function of numbers, applied to numbers and arrays."""
        for v in values:
            if not isinstance(v, (Expr, ArrayWindow, Computed)):
                raise self.error(node, "an operand that is no number and no array", "use these")
        arrays = [v for v in values if not isinstance(v, Expr)]
        if not arrays:
            return f(*values)
        longest = max(arrays, key=lambda a: len(a.dims))
        for a in arrays:
            self.check_dims(longest.dims, a.dims, node)
        fixed = [self.held(v) if isinstance(v, Expr) else v for v in values]

        def at(*indices: Expr) -> Expr:
            parts = [
                v if isinstance(v, Expr) else v.at(*indices[len(indices) - len(v.dims) :])
                for v in fixed
            ]
            return f(*parts)

        reads = frozenset().union(*[_regions(a) for a in arrays])
        return Computed(longest.dims, at, reads)

    # Arrays of the function's own.

    def new(self, dims: Sequence[Expr], dtype: str, name: str = "array") -> ArrayWindow:
        """A new array of zeros."""
        found = self.fresh(name)
        self.unnamed.add(found)
        self.kinds[found] = ArrayKind(dtype, len(dims))
        self.emit(New(found, tuple([self.held(d, "size") for d in dims]), dtype))
        return whole(found, len(dims))

    def copied(self, a: Array) -> ArrayWindow:
        """An array of its own with these entries."""
        kind = self.kinds.get(a.array) if isinstance(a, ArrayWindow) else None
        dtype = kind.dtype if isinstance(kind, ArrayKind) else self.dtype_of(a)
        new = self.new(a.dims, dtype)
        with self.loops_over(a.dims) as indices:
            self.emit(Put(new.array, indices, a.at(*indices)))
        return new

    def dtype_of(self, a: Any) -> str:
        known = {self.kinds[r].dtype for r, _ in _regions(a)}  # type: ignore[union-attr]
        floats = {d for d in known if d.startswith("float")}
        return floats.pop() if len(floats) == 1 and len(known) == 1 else "float64"

    def of_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            try:
                function = self.frame.source.resolved(node.func)
            except (KeyError, AttributeError):
                return self.method(node, node.func)
        else:
            function = self.value(node.func)
        if function is np.linalg.norm:
            raise self.error(node, "np.linalg.norm", "write np.sqrt(np.sum(x * x))")
        inner = getattr(function, "py_func", getattr(function, "function", function))
        if hasattr(function, "adjoint_source"):
            inner = getattr(inner, "py_func", inner)
        name = name_of_function(function)
        if not name and isinstance(inner, types.FunctionType):
            return self.inlined(node, inner)
        if node.keywords and name not in MAKERS:
            raise self.error(node, "keyword arguments here", "pass arguments by position")
        if name in ("float64", "int64", "float32") or name in CANONICAL or name in FUNCTIONS:
            known = CANONICAL.get(name, name)
            if known in FUNCTIONS:
                return self.function_of_numbers(known, node)
        handler = getattr(self, f"call_{name}", None)
        if name in MAKERS:
            return self.made(name, node)
        if handler is None:
            raise self.error(
                node,
                f"{ast.unparse(node.func)} is not in the language of kernels",
                "write the loop",
            )
        return handler(node, [self.value(a) for a in node.args])

    def function_of_numbers(self, name: str, node: ast.Call) -> Any:
        values = [self.value(a) for a in node.args]
        if name in ("min", "max") and len(values) > 2:
            first, *rest = values
            for v in rest:
                first = self.elementwise(lambda *x: call(name, *x), first, v, node=node)
            return first
        count = max(1, len(FUNCTIONS[name].slopes))
        if len(values) != count:
            raise self.error(node, f"{name} of {len(values)} arguments", f"pass {count}")
        return self.elementwise(lambda *x: call(name, *x), *values, node=node)

    def call_len(self, node: ast.Call, values: list[Any]) -> Any:
        (a,) = values
        return num(len(a)) if isinstance(a, list) else a.dims[0]

    def call_pow(self, node: ast.Call, values: list[Any]) -> Any:
        return self.elementwise(lambda a, b: binary("**", a, b), *values, node=node)

    call_power = call_pow

    def call_fmod(self, node: ast.Call, values: list[Any]) -> Any:
        raise self.error(node, "fmod", "use %")

    def call_sum(self, node: ast.Call, values: list[Any]) -> Any:
        (a,) = values
        total = self.fresh("total")
        self.emit(Let(total, self.start_of(a)))
        with self.loops_over(a.dims) as indices:
            self.emit(Let(total, Expr("+", (var(total), a.at(*indices)))))
        return var(total)

    def start_of(self, a: Any) -> Expr:
        kinds = {self.kinds[r].scalar for r, _ in _regions(a)}  # type: ignore[union-attr]
        return ZERO if kinds <= {"i", "b"} and isinstance(a, ArrayWindow) else NONE

    def call_mean(self, node: ast.Call, values: list[Any]) -> Any:
        return Expr("/", (self.call_sum(node, values), functools.reduce(mul, values[0].dims, ONE)))

    def call_dot(self, node: ast.Call, values: list[Any]) -> Any:
        return self.product(values[0], values[1], node)

    def product(self, a: Any, b: Any, node: ast.AST) -> Any:
        """``a @ b``."""
        if not all(
            [isinstance(v, (ArrayWindow, Computed)) and len(v.dims) in (1, 2) for v in (a, b)]
        ):
            raise self.error(node, "a product of what are no vectors or matrices", "write loops")
        a, b = [self.copied(v) if isinstance(v, Computed) else v for v in (a, b)]
        self.check_dims(a.dims[-1:], b.dims[:1], node)
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
            self.emit(Put(new.array, tuple(where), mul(a.at(*i, k), b.at(k, *j)), adds=True))
        return new

    def clear(self, a: ArrayWindow, value: Expr = NONE) -> None:
        """Set all entries."""
        if self.depth or value != NONE:
            kind = self.kinds[a.array]
            if value == NONE and isinstance(kind, ArrayKind) and kind.scalar != "f":
                value = ZERO if kind.scalar == "i" else num(False)
            with self.loops_over(a.dims) as indices:
                self.emit(Put(a.array, indices, value))

    def made(self, name: str, node: ast.Call) -> Any:
        """np.zeros and its kin."""
        given = dict(zip(("first", "second"), node.args, strict=False))
        for k in node.keywords:
            if k.arg not in ("dtype", "shape", "fill_value"):
                raise self.error(node, f"{name} with {k.arg}", "pass the shape and the dtype")
            given[{"shape": "first", "fill_value": "fill"}.get(k.arg, k.arg)] = k.value
        base = self.value(given["first"])
        if name == "copy":
            return self.copied(base)
        second = given.get("second")
        if name == "full":
            given.setdefault("fill", second)  # type: ignore[arg-type]
        elif second is not None:
            given.setdefault("dtype", second)
        if name.endswith("_like"):
            dims = base.dims
            kind = self.kinds.get(getattr(base, "array", ""))
            dtype = kind.dtype if isinstance(kind, ArrayKind) else self.dtype_of(base)
        else:
            dims = base if isinstance(base, list) else [base]
            dtype = "float64"
        if "dtype" in given:
            dtype = self.dtype(given["dtype"])
        fill = NONE
        if name == "full":
            fill = self.held(self.scalar(given["fill"]))
            if "dtype" not in given and kind_of(fill, self.kinds) == "i":
                dtype = "int64"
        elif name.startswith("ones"):
            fill = num(1.0)
        new = self.new([self.number(d, node) for d in dims], dtype)
        if not name.startswith("empty"):
            self.clear(new, fill)
        return new

    def dtype(self, node: ast.expr) -> str:
        """The dtype that an expression names."""
        try:
            return np.dtype(self.frame.source.resolved(node)).name
        except (KeyError, TypeError):
            pass
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            base = self.value(node.value)
            if isinstance(base, ArrayWindow):
                return self.kinds[base.array].dtype  # type: ignore[union-attr]
        raise self.error(node, "a dtype that is not known", "write np.float64 or np.int64")

    def method(self, node: ast.Call, f: ast.Attribute) -> Any:
        """``x.sum()`` and its kin."""
        base = self.value(f.value)
        values = [self.value(a) for a in node.args]
        if isinstance(base, (ArrayWindow, Computed)) and not node.keywords:
            if f.attr == "copy":
                return self.copied(base)
            if f.attr in ("sum", "mean") and not values:
                return getattr(self, f"call_{f.attr}")(node, [base])
            if f.attr == "dot" and len(values) == 1:
                return self.product(base, values[0], node)
            if f.attr == "fill" and len(values) == 1 and isinstance(base, ArrayWindow):
                self.fill(base, self.held(self.number(values[0], node)), ast.Pass())
                return None
        raise self.error(node, f"the method {f.attr}", "write the loop")

    # Calls of the user's functions.

    def inlined(self, node: ast.Call, function: Any) -> Any:
        """The body of a function in the place of its call."""
        if function.__code__ in self.calling:
            raise self.error(
                node, f"{function.__name__} calls itself", "write a loop, with an array"
            )
        source = FunctionSource(function)
        frame = Frame(source)
        given = dict(zip(source.parameters, node.args, strict=False))
        for k in node.keywords:
            if k.arg is None or k.arg not in source.parameters:
                raise self.error(node, "an argument that the function does not have", "name it")
            given[k.arg] = k.value
        sole = self.sole is node
        values: dict[str, Any] = {name: self.value(e) for name, e in given.items()}
        defaults = function.__defaults__ or ()
        for name, default in zip(source.parameters[::-1], defaults[::-1], strict=False):
            if name not in values:
                values[name] = self.outside(default, node)
        if set(values) != set(source.parameters) or len(node.args) > len(source.parameters):
            raise self.error(node, "another number of arguments than parameters", "pass each")
        before = {name for name, kind in self.kinds.items() if isinstance(kind, ArrayKind)}
        for name, value in values.items():
            if isinstance(value, Expr):
                value = value if value.op == "num" else self.held(value, name)
                if name in frame.stored and value.op == "num":
                    new = self.fresh(name)
                    self.emit(Let(new, value))
                    value = var(new)
            elif isinstance(value, Computed):
                value = self.copied(value)
            elif isinstance(value, ArrayWindow):
                value = self.pinned(value)
            frame.scope[name] = value
        self.calling.append(function.__code__)
        try:
            with self.into(inside=False) as inner:
                result = self.function(frame)
        finally:
            self.calling.pop()
        self.out += inner
        if not sole and assigned(inner) & before:
            raise self.error(
                node,
                f"{function.__name__} writes into an array within a larger expression",
                "call it on a line of its own",
            )
        if isinstance(result, Expr):
            return self.held(result)
        if isinstance(result, list):
            return [self.held(r) if isinstance(r, Expr) else r for r in result]
        return result

    # Afterwards.

    def infer(self) -> None:
        """Find the kinds of scalars."""
        changed = True
        while changed:
            changed = False
            for s in walk(self.body if hasattr(self, "body") else self.out):
                if isinstance(s, For):
                    found = "i"
                elif isinstance(s, Let):
                    found = kind_of(s.value, self.kinds)
                else:
                    continue
                known = self.kinds.get(s.name)
                new = found if known is None else joined([known, found])  # type: ignore[list-item]
                if new != known:
                    self.kinds[s.name] = new
                    changed = True

    def made_first(self) -> list[Statement]:
        """Take arrays that are made within loops and branches out of these, to the top."""
        definitions: dict[str, list[Expr]] = {}
        unstable: set[str] = set()
        for s in walk(self.body):
            if isinstance(s, Let):
                definitions.setdefault(s.name, []).append(s.value)
            elif isinstance(s, For):
                unstable.add(s.name)
        made = {s.array: s for s in walk(self.body) if isinstance(s, New)}

        def resolved(e: Expr) -> Expr | None:
            if e.op == "dim" and e.parts[0] in made:
                return resolved(made[e.parts[0]].dims[e.parts[1]])
            if e.op == "get" or (e.op == "var" and e.parts[0] in unstable):
                return None
            if e.op == "var" and e.parts[0] in definitions:
                found = definitions[e.parts[0]]
                if len(found) > 1 or e.parts[0] in self.parameters:
                    return None
                return resolved(found[0])
            return _rebuilt_or_none(e, resolved)

        first: list[Statement] = []

        def without(body: list[Statement], top: bool) -> list[Statement]:
            kept: list[Statement] = []
            for s in body:
                if isinstance(s, New):
                    dims = [resolved(d) for d in s.dims]
                    if None not in dims:
                        s.dims = tuple([d for d in dims if d is not None])
                        first.append(s)
                        continue
                    if not top:
                        raise KernelError(
                            f"kernel {self.frame.source.name}: an array whose length varies is "
                            f"made within a loop or branch; make it before, as long as needed\n"
                            f"  {self.frame.source.file}\n    {s.comment}"
                        )
                if isinstance(s, (For, WhileLoop)):
                    s.body = without(s.body, False)
                elif isinstance(s, If):
                    s.yes, s.no = without(s.yes, False), without(s.no, False)
                kept.append(s)
            return kept

        self.body = without(self.body, True)
        return first

    def prune(self) -> None:
        """Leave out scalars that nothing reads, and branches without statements."""
        while True:
            used: set[str] = set()
            for s in walk(self.body):
                for e in _all_expressions(s):
                    used |= {n.parts[0] for n in nodes(e) if n.op == "var"}
            for r in self.results:
                if isinstance(r, Expr):
                    used |= names(r)
            size = sum(1 for _ in walk(self.body))
            self.body = _pruned(self.body, used)
            if sum(1 for _ in walk(self.body)) == size:
                return


def _pruned(body: list[Statement], used: set[str]) -> list[Statement]:
    kept: list[Statement] = []
    for s in body:
        if isinstance(s, Let) and s.name not in used:
            continue
        if isinstance(s, (For, WhileLoop)):
            s.body = _pruned(s.body, used)
        if isinstance(s, For) and not s.body:
            continue
        if isinstance(s, If):
            s.yes, s.no = _pruned(s.yes, used), _pruned(s.no, used)
            if not s.yes and not s.no:
                continue
        kept.append(s)
    return kept


def _all_expressions(s: Statement) -> tuple[Expr, ...]:
    from linad.kernels.statements import expressions

    return expressions(s)


def _rebuilt_or_none(e: Expr, change: Callable[[Expr], Expr | None]) -> Expr | None:
    from linad.kernels.expressions import operands

    parts = [change(x) for x in operands(e)]
    if None in parts:
        return None
    if e.op in ("num", "var", "dim"):
        return e
    if e.op == "call":
        return Expr("call", (e.parts[0], tuple(parts)))
    return Expr(e.op, tuple(parts))


def _is_derived(name: str) -> bool:
    head, _, tail = name.rpartition("_")
    return bool(head) and tail[:1] in ("b", "d") and tail[1:].isdigit()


def _all(tests: list[Expr]) -> Expr:
    return functools.reduce(lambda a, b: Expr("and", (a, b)), tests)


def _regions(a: Any) -> frozenset[Any]:
    if isinstance(a, ArrayWindow):
        return frozenset([(a.array, a.entries)])
    return a.reads if isinstance(a, Computed) else frozenset()


def _transposed(a: Array) -> Array:
    if len(a.dims) < 2:
        return a
    return Computed(a.dims[::-1], lambda *i: a.at(*i[::-1]), _transposed_regions(a))


def _transposed_regions(a: Array) -> frozenset[Any]:
    # Another order of the same entries is another region.
    return frozenset([(array, "transposed") for array, _ in _regions(a)])
