"""Calls in the user's source: functions of numbers and arrays; see `linad.kernels.inlining`."""

import ast
import functools
import types
from collections.abc import Hashable
from typing import Any

import numpy as np

from linad.kernels.array_lowering import ArrayLowering
from linad.kernels.array_windows import ArrayWindow, Computed, whole
from linad.kernels.building import DTYPES, Closure
from linad.kernels.expression_lowering import OPERATORS_BY_NAME
from linad.kernels.expressions import (
    CANONICAL,
    FUNCTIONS,
    NONE,
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    add,
    binary,
    call,
    is_integer,
    joined,
    mul,
    negative,
    num,
    sub,
    var,
)
from linad.kernels.function_source import (
    FunctionSource,
    LocalList,
    is_kernel,
    is_mapped,
    name_of_function,
)
from linad.kernels.number_lists import Display, NumberList
from linad.kernels.numpy_functions import (
    METHOD_NAMES,
    WRITTEN,
    diagonal,
    diagonal_matrix,
)
from linad.kernels.remedies import remedy_for
from linad.kernels.statements import Check, Let, Put

ALONG = ("concatenate", "stack")
"""Functions that take an axis by name."""

LIKE = ("zeros_like", "empty_like", "ones_like", "full_like")

MAKERS = ("zeros", "empty", "ones", "full", *LIKE, "copy")

REDUCTIONS = {name: name for name in ("sum", "mean", "prod", "max", "min")}
REDUCTIONS |= {"amax": "max", "amin": "min"}
"""What makes a number of the entries of an array, by its name in NumPy."""

ARRAY_METHODS = {f.__name__: f for f in WRITTEN.values() if f.__name__ in METHOD_NAMES}

ARGUMENTS = {
    "len": (1, 1),
    "logical_not": (1, 1),
    "negative": (1, 1),
    "clip": (3, 3),
    "where": (3, 3),
    "arange": (1, 3),
    "diag": (1, 1),
    "transpose": (1, 2),
    "reshape": (2, 2),
    "ravel": (1, 1),
    "ascontiguousarray": (1, 1),
    "array": (1, 2),
    "list": (0, 1),
    "concatenate": (1, 2),
    "stack": (1, 2),
    "vstack": (1, 1),
    "hstack": (1, 1),
    "column_stack": (1, 1),
    "append": (2, 2),
    "divmod": (2, 2),
    "vdot": (2, 2),
    "round": (1, 2),
    "around": (1, 2),
    "dot": (2, 3),
}
"""How many arguments functions take that are written out."""

METHODS = (
    *("append", "extend", "pop", "clear"),
    *("copy", "fill", "dot", "transpose", "reshape", "ravel", "flatten", "astype", "sort"),
    *REDUCTIONS,
    *ARRAY_METHODS,
)


class CallLowering(ArrayLowering):
    """Writes calls out: ``call_<name>`` for the functions that are more than an expression."""

    def of_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            try:
                function = self.frame.source.resolved(node.func)
            except (KeyError, AttributeError):
                return self.method(node, node.func)
        else:
            function = self.value(node.func)
        if isinstance(function, Closure):
            return self.inlined(node, function)
        written = WRITTEN.get(function) if isinstance(function, Hashable) else None
        if written is not None:
            return self.inlined(node, written)
        inner = getattr(function, "py_func", getattr(function, "function", function))
        if is_kernel(function):
            inner = getattr(inner, "py_func", inner)
        if is_mapped(function) and function.signature is None:
            inner = function.__wrapped__
        name = name_of_function(function)
        if not name and isinstance(inner, types.FunctionType):
            return self.inlined(node, inner)
        along = name in ALONG and [k.arg for k in node.keywords] == ["axis"] and len(node.args) == 1
        if node.keywords and name not in (*MAKERS, *REDUCTIONS) and not along:
            raise self.error(node, "keyword arguments here", "pass arguments by position")
        if name in REDUCTIONS and function not in (max, min):
            values, axis = self.reduced(node, node.args)
            return self.reduction(REDUCTIONS[name], values, axis, node)
        if name in ("float64", "int64", "float32") or name in CANONICAL or name in FUNCTIONS:
            known = CANONICAL.get(name, name)
            if known in FUNCTIONS:
                return self.function_of_numbers(known, node)
        if name in OPERATORS_BY_NAME and len(node.args) == 2:
            op = OPERATORS_BY_NAME[name]
            given = [self.value(a) for a in node.args]
            return self.elementwise(lambda a, b: binary(op, a, b), *given, node=node)
        handler = getattr(self, f"call_{name}", None)
        if name in MAKERS:
            return self.made(name, node)
        if handler is None:
            what = ast.unparse(node.func)
            raise self.error(node, f"{what} is not in the language of kernels", remedy_for(what))
        least, most = ARGUMENTS[name]
        if not least <= len(node.args) <= most:
            count = f"{least}" if least == most else f"{least} to {most}"
            raise self.error(node, f"{name} of {len(node.args)} arguments", f"pass {count}")
        return handler(
            node, [self.value(a) for a in [*node.args, *[k.value for k in node.keywords]]]
        )

    def function_of_numbers(self, name: str, node: ast.Call) -> Any:
        values = [self.value(a) for a in node.args]
        if name in ("min", "max") and len(values) == 1 and isinstance(values[0], NumberList):
            return self.reduction(name, [self.as_array(values[0], node)], None, node)
        if name in ("min", "max") and len(values) == 1 and isinstance(values[0], list):
            values = values[0]
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
        if isinstance(a, NumberList):
            return self.held(a.length, "length")
        return num(len(a)) if isinstance(a, list) else self.array_given(a, node).dims[0]

    def call_list(self, node: ast.Call, values: list[Any]) -> NumberList:
        return self.listed(values[0] if values else [], node)

    def call_logical_not(self, node: ast.Call, values: list[Any]) -> Any:
        return self.elementwise(lambda a: Expr("not", (a,)), *values, node=node)

    def call_negative(self, node: ast.Call, values: list[Any]) -> Any:
        return self.elementwise(negative, *values, node=node)

    def call_clip(self, node: ast.Call, values: list[Any]) -> Any:
        return self.elementwise(
            lambda a, low, high: call("min", call("max", a, low), high), *values, node=node
        )

    def call_where(self, node: ast.Call, values: list[Any]) -> Any:
        return self.elementwise(lambda *x: Expr("if", x), *values, node=node)

    def call_arange(self, node: ast.Call, values: list[Any]) -> Any:
        bounds = [self.held(self.number(v, node)) for v in values[:3]]
        start = bounds[0] if len(bounds) > 1 else ZERO
        stop = bounds[min(1, len(bounds) - 1)]
        step = bounds[2] if len(bounds) > 2 else ONE
        steps = Expr("/", (sub(stop, start), step))
        count = self.held(call("max", ZERO, call("ceil", steps)), "count")
        new = self.new([count], DTYPES[joined([self.kind_here(b) for b in (start, stop, step)])])
        with self.loops_over([count]) as (k,):
            self.emit(Put(new.array, new.index((k,)), add(start, mul(k, step))))
        return new

    def call_diag(self, node: ast.Call, values: list[Any]) -> Any:
        (a,) = values
        return self.inlined_with(node, diagonal if len(a.dims) == 2 else diagonal_matrix, {"a": a})

    def call_vdot(self, node: ast.Call, values: list[Any]) -> Any:
        a, b = [self.call_ravel(node, [v]) for v in values]
        return self.product(a, b, node)

    def call_round(self, node: ast.Call, values: list[Any]) -> Any:
        """To the nearest integer, or to a number of digits; halves go to the even one."""
        if len(values) == 1 and self.frame.source.resolved(node.func) is round:
            return call("int", call("nprint", self.number(values[0], node)))
        digits = self.constant(values[1], node) if len(values) > 1 else 0
        scale = num(10.0 ** abs(digits))
        if digits == 0:
            return self.elementwise(lambda a: call("nprint", a), values[0], node=node)
        up, down = ("*", "/") if digits > 0 else ("/", "*")
        return self.elementwise(
            lambda a: binary(down, call("nprint", binary(up, a, scale)), scale),
            values[0],
            node=node,
        )

    call_around = call_round

    def call_divmod(self, node: ast.Call, values: list[Any]) -> list[Expr]:
        a, b = [self.held(self.number(v, node)) for v in values]
        return [binary("//", a, b), binary("%", a, b)]

    def call_array(self, node: ast.Call, values: list[Any]) -> Any:
        (a,) = values[:1]
        dtype = self.dtype(node.args[1]) if len(node.args) > 1 else ""
        if isinstance(a, NumberList):
            if isinstance(node.args[0], LocalList) and a.exact and a.has_numbers and not dtype:
                self.unnamed.add(a.entry)
                return whole(a.entry, 1)  # nothing else has the list
            return self.array_of_list(a, node, dtype)
        if isinstance(a, list):
            return self.array_from(a, node, dtype)
        return self.copied(self.array_given(a, node), dtype)

    def call_dot(self, node: ast.Call, values: list[Any]) -> Any:
        product = self.product(values[0], values[1], node)
        if len(values) < 3:
            return product
        if not isinstance(values[2], ArrayWindow) or isinstance(product, Expr):
            raise self.error(node, "a place for the product that is not an array", "pass an array")
        self.fill(values[2], product, ast.Pass())
        return values[2]

    def made(self, name: str, node: ast.Call) -> Any:
        """np.zeros and its kin."""
        given = dict(zip(("first", "second", "third"), node.args, strict=False))
        for k in node.keywords:
            if k.arg not in ("dtype", "shape", "fill_value"):
                raise self.error(node, f"{name} with {k.arg}", "pass the shape and the dtype")
            given[{"shape": "first", "fill_value": "fill"}.get(k.arg, k.arg)] = k.value
        base = self.value(given["first"])
        if name == "copy":
            return self.copied(base)
        rest = [given[n] for n in ("second", "third") if n in given]
        for meaning in ("fill", "dtype") if name.startswith("full") else ("dtype",):
            if rest and meaning not in given:
                given[meaning] = rest.pop(0)
        if rest or len(node.args) > 3 or (name.startswith("full") and "fill" not in given):
            raise self.error(node, f"{name} with such arguments", "pass the shape and the dtype")
        if name in LIKE:
            dims = base.dims
            kind = self.kinds.get(getattr(base, "array", ""))
            dtype = kind.dtype if isinstance(kind, ArrayKind) else self.dtype_of(base)
        else:
            dims = base if isinstance(base, list) else [base]
            dtype = "float64"
        if "dtype" in given:
            dtype = self.dtype(given["dtype"])
        fill = NONE
        if name.startswith("full"):
            fill = self.held(self.scalar(given["fill"]))
            if "dtype" not in given and name == "full":
                dtype = DTYPES[self.kind_here(fill)]
        elif name.startswith("ones"):
            fill = num(1.0)
        zeros = name.startswith("zeros")
        new = self.new([self.number(d, node) for d in dims], dtype, zeros)
        if not name.startswith("empty"):
            self.clear(new, fill)
        return new

    def dtype(self, node: ast.expr) -> str:
        """The dtype that an expression names."""
        try:
            known = np.dtype(self.frame.source.resolved(node))
        except (KeyError, TypeError):
            pass
        else:
            if known.kind not in "fiub" or known in (np.float16, np.longdouble):
                raise self.error(node, f"an array of {known}", "use float64, float32 or integers")
            return known.name
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            base = self.value(node.value)
            if isinstance(base, ArrayWindow):
                return self.kinds[base.array].dtype  # type: ignore[union-attr]
        raise self.error(node, "a dtype that is not known", "write np.float64 or np.int64")

    def method(self, node: ast.Call, f: ast.Attribute) -> Any:
        """``x.sum()`` and its kin."""
        base = self.value(f.value)
        if isinstance(base, NumberList) and not node.keywords:
            return self.list_method(node, base, f.attr, [self.value(a) for a in node.args])
        if isinstance(base, (ArrayWindow, Computed)):
            if f.attr in REDUCTIONS:
                values, axis = self.reduced(node, node.args)
                return self.reduction(REDUCTIONS[f.attr], [base, *values], axis, node)
            if node.keywords:
                raise self.error(node, "keyword arguments here", "pass arguments by position")
            if f.attr == "astype" and len(node.args) == 1:
                return self.as_dtype(base, self.dtype(node.args[0]))
            values = [self.value(a) for a in node.args]
            if f.attr == "sort" and not values and isinstance(base, ArrayWindow):
                self.fill(base, self.inlined_with(node, WRITTEN[np.sort], {"a": base}), ast.Pass())
                return None
            if f.attr == "copy" and not values:
                return self.copied(base)
            if f.attr == "transpose" or (f.attr == "reshape" and values):
                return getattr(self, f"call_{f.attr}")(node, [base, *values])
            if f.attr in ("ravel", "flatten") and not values:
                return getattr(self, f"call_{f.attr}")(node, [base])
            if f.attr in ARRAY_METHODS and not values:
                return self.inlined_with(node, ARRAY_METHODS[f.attr], {"a": base})
            if f.attr == "dot" and len(values) == 1:
                return self.product(base, values[0], node)
            if f.attr == "fill" and len(values) == 1 and isinstance(base, ArrayWindow):
                self.fill(base, self.held(self.number(values[0], node)), ast.Pass())
                return None
        raise self.error(node, f"the method {f.attr}", remedy_for(f".{f.attr}"))

    def reduced(self, node: ast.Call, given: list[ast.expr]) -> tuple[list[Any], Expr | None]:
        """The array that is summed up, if it is named, and the axis along which."""
        if [k.arg for k in node.keywords] not in ([], ["axis"]):
            raise self.error(node, "keyword arguments here", "pass the axis only")
        values = [self.value(a) for a in given]
        arrays = 0 if self.is_method(node) else 1
        if not arrays <= len(values) + len(node.keywords) <= arrays + 1:
            raise self.error(node, "other arguments than an array and an axis", "pass these only")
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
            raise self.error(node, "an axis that is not a constant of this array", "write the loop")
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
            self.emit(Let(total, first))
        elif kind == "prod":
            self.emit(Let(total, num(1.0) if real else ONE))
        else:
            self.emit(Let(total, NONE if real else ZERO))
        with self.loops_over(dims) as along:
            value = entry(along)
            if kind in ("max", "min"):
                new = call(kind, var(total), value)
            else:
                new = Expr("*" if kind == "prod" else "+", (var(total), value))
            self.emit(Let(total, new))
        if kind == "mean":
            return Expr("/", (var(total), functools.reduce(mul, dims, ONE)))
        return var(total)


def check_calls(source: FunctionSource, around: frozenset[str] = frozenset()) -> None:
    """Look for loops and calls that kernels do not have; ``around`` are names of functions around.

    Raises
    ------
    KernelError
    """
    local = {*source.parameters, *around}
    local |= {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name) and _is_store(n)}
    for inner in source.local_sources:
        check_calls(inner, frozenset(local))
    raised = {id(n.exc) for n in ast.walk(source.tree) if isinstance(n, ast.Raise)}
    for node in ast.walk(ast.Module(source.tree.body, [])):
        if not isinstance(node, ast.Call) or id(node) in raised:
            continue
        head = node.func
        while isinstance(head, ast.Attribute):
            head = head.value
        if not isinstance(head, ast.Name) or head.id in local:
            if isinstance(node.func, ast.Attribute) and node.func.attr not in METHODS:
                what = node.func.attr
                raise source.error(node, f"the method {what}", remedy_for(f".{what}"))
            continue
        try:
            function = source.resolved(node.func)
        except (KeyError, AttributeError):
            continue  # defined later, or a method of an array from outside
        if not _is_known(function):
            what = ast.unparse(node.func)
            raise source.error(node, f"{what} is not in the language of kernels", remedy_for(what))


def _is_store(n: ast.Name) -> bool:
    return isinstance(n.ctx, ast.Store)


def _is_known(function: Any) -> bool:
    if isinstance(function, types.FunctionType) or hasattr(function, "py_func"):
        name = name_of_function(function)
        if not name or name in CANONICAL or name in MAKERS:
            return True
    elif is_kernel(function) or is_mapped(function):
        return True
    name = name_of_function(function)
    known = name in CANONICAL or name in FUNCTIONS or name in MAKERS or name in REDUCTIONS
    return (
        known
        or name in ("range", "enumerate", "zip", *OPERATORS_BY_NAME)
        or (isinstance(function, Hashable) and function in WRITTEN)
        or hasattr(CallLowering, f"call_{name}")
        or getattr(function, "__name__", "") == "prange"
        or (isinstance(function, type) and name in ("float64", "int64", "float32"))
    )
