"""Calls in the user's source: functions of numbers and arrays, and his own, which are inlined."""

import ast
import functools
import types
from typing import Any

import numpy as np

from linad.kernels.arrays import ArrayWindow, Computed
from linad.kernels.building import Frame, regions_of
from linad.kernels.expression_lowering import ExpressionLowering
from linad.kernels.expressions import (
    CANONICAL,
    FUNCTIONS,
    NONE,
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    binary,
    call,
    kind_of,
    mul,
    num,
    var,
)
from linad.kernels.source import FunctionSource, name_of_function
from linad.kernels.statements import Let, assigned

MAKERS = ("zeros", "empty", "ones", "full", "zeros_like", "empty_like", "ones_like", "copy")

METHODS = ("sum", "mean", "copy", "fill", "dot")


class CallLowering(ExpressionLowering):
    """Writes calls out: ``call_<name>`` for the functions that are more than an expression."""

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
        kinds = {self.kinds[r].scalar for r, _ in regions_of(a)}  # type: ignore[union-attr]
        return ZERO if kinds <= {"i", "b"} and isinstance(a, ArrayWindow) else NONE

    def call_mean(self, node: ast.Call, values: list[Any]) -> Any:
        return Expr("/", (self.call_sum(node, values), functools.reduce(mul, values[0].dims, ONE)))

    def call_dot(self, node: ast.Call, values: list[Any]) -> Any:
        return self.product(values[0], values[1], node)

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
        or hasattr(CallLowering, f"call_{name}")
        or getattr(function, "__name__", "") == "prange"
        or (isinstance(function, type) and name in ("float64", "int64", "float32"))
    )
