"""Calls in the user's source: functions of numbers and arrays; see `linad.kernels.inlining`."""

import ast
import math
import types
from collections.abc import Hashable
from typing import Any

import numpy as np

from linad.kernels.array_windows import ArrayWindow, Computed, whole
from linad.kernels.building import DTYPES, Closure
from linad.kernels.expression_lowering import OPERATORS_BY_NAME
from linad.kernels.expression_source import joined
from linad.kernels.expressions import (
    NONE,
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    add,
    binary,
    call,
    mul,
    negative,
    num,
    sub,
)
from linad.kernels.function_source import (
    FunctionSource,
    LocalList,
    is_kernel,
    is_mapped,
    name_of_function,
)
from linad.kernels.number_lists import NumberList
from linad.kernels.numpy_functions import METHOD_NAMES, WRITTEN
from linad.kernels.numpy_matrices import diagonal, diagonal_matrix
from linad.kernels.reduction_lowering import REDUCTIONS, ReductionLowering
from linad.kernels.remedies import remedy_for
from linad.kernels.scalar_functions import CANONICAL, FUNCTIONS
from linad.kernels.statements import Put

ALONG = ("concatenate", "stack")
"""Functions that take an axis by name."""

LIKE = ("zeros_like", "empty_like", "ones_like", "full_like")

MAKERS = ("zeros", "empty", "ones", "full", *LIKE, "copy")

ARRAY_METHODS = {f.__name__: f for f in WRITTEN.values() if f.__name__ in METHOD_NAMES}

ARGUMENTS = {
    "len": (1, 1),
    "logical_not": (1, 1),
    "negative": (1, 1),
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


class CallLowering(ReductionLowering):
    """Writes calls out: ``call_<name>`` for the functions that are more than an expression."""

    def of_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            try:
                function = self.frame.source.resolved(node.func)
            except (KeyError, AttributeError):
                return self.method(node, node.func)
        else:
            function = self.value(node.func)
        body = _body_of(function)
        if body is not None:
            return self.inlined(node, body)
        return self.of_language(node, function, name_of_function(function))

    def of_language(self, node: ast.Call, function: Any, name: str) -> Any:
        """A function of Python's or NumPy's that the language of kernels has under a name."""
        along = name in ALONG and [k.arg for k in node.keywords] == ["axis"] and len(node.args) == 1
        if node.keywords and name not in (*MAKERS, *REDUCTIONS) and not along:
            raise self.error(
                node, "keyword arguments are not supported here", "pass arguments by position"
            )
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
            if function in (math.pow, np.float_power):  # of integers, too, a floating-point number
                given = [self.elementwise(lambda a: call("float", a), v, node=node) for v in given]
            return self.elementwise(lambda a, b: self.operation(op, a, b), *given, node=node)
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
            raise self.error(node, "out= must be an array", "pass an array")
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
            raise self.error(
                node, f"{name} does not take such arguments", "pass the shape and the dtype"
            )
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
        raise self.error(node, "the dtype is not known", "write np.float64 or np.int64")

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
                raise self.error(
                    node, "keyword arguments are not supported here", "pass arguments by position"
                )
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


def _body_of(function: Any) -> Any:
    """The Python function or closure that is written out in the place of a call; None if the
    language of kernels has the function, or nobody has."""
    if isinstance(function, Closure):
        return function
    written = WRITTEN.get(function) if isinstance(function, Hashable) else None
    if written is not None:
        return written
    inner = getattr(function, "py_func", function)
    if is_kernel(function):
        inner = function.source.function
    if is_mapped(function) and function.signature is None:
        inner = function.__wrapped__
    is_own = not name_of_function(function) and isinstance(inner, types.FunctionType)
    return inner if is_own else None
