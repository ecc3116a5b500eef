"""Calls of the user's own functions: the body in the place of the call."""

import ast
from typing import Any

from linad.kernels.array_windows import ArrayWindow, Computed
from linad.kernels.building import Closure, Frame
from linad.kernels.expressions import ArrayKind, Expr, var
from linad.kernels.function_source import FunctionSource
from linad.kernels.numpy_functions import FROM_NUMPY, OF_MANY, OF_VECTORS, OTHER_FORMS
from linad.kernels.statements import Let, assigned
from linad.kernels.subscript_lowering import SubscriptLowering


class Inlining(SubscriptLowering):
    """Writes a function out where it is called."""

    def inlined(self, node: ast.Call, function: Any) -> Any:
        """The body of a function in the place of its call."""
        if len(node.args) + len(node.keywords) > 1:
            function = OTHER_FORMS.get(function, function) if callable(function) else function
        called = self.callee(function, node)
        source = called.source
        given = dict(zip(source.parameters, node.args, strict=False))
        for k in node.keywords:
            if k.arg is None or k.arg not in source.parameters:
                raise self.error(node, "the function has no such parameter", "name it")
            given[k.arg] = k.value
        if len(node.args) > len(source.parameters):
            raise self.error(
                node, "more arguments are given than there are parameters", "pass as many"
            )
        return self.inlined_with(node, called, {n: self.value(e) for n, e in given.items()})

    def callee(self, function: Any, node: ast.Call) -> Closure:
        """A function as it is called: its source, and what its names stand for."""
        if isinstance(function, Closure):
            return function
        source = FunctionSource(function)
        given = zip(source.parameters[::-1], (function.__defaults__ or ())[::-1], strict=False)
        return Closure(source, None, {n: self.outside(v, node) for n, v in given})

    def inlined_with(self, node: ast.Call, function: Any, values: dict[str, Any]) -> Any:
        """The body of a function in the place of its call, with these arguments."""
        source, outer, defaults = self.callee(function, node)
        if source.function in OF_MANY:
            name, other = OF_MANY[source.function]
            if isinstance(values.get(name), (ArrayWindow, Computed)):
                source, outer, defaults = self.callee(other, node)
        if source.function in FROM_NUMPY:
            values = {n: self.as_array(self.named_list(v, node), node) for n, v in values.items()}
        if source.key in self.calling:
            raise self.error(node, f"{source.name} calls itself", "write a loop, with an array")
        if source.function in OF_VECTORS:
            for value in values.values():
                if isinstance(value, (ArrayWindow, Computed)) and len(value.dims) > 1:
                    what = ast.unparse(node.func)
                    raise self.error(
                        node, f"{what} of an array with several axes", "write the loop"
                    )
        frame = Frame(source, self.depth, outer)
        sole = self.sole is node
        values = {**defaults, **values}
        if set(values) != set(source.parameters):
            raise self.error(node, "the numbers of arguments and of parameters differ", "pass each")
        before = {name for name, kind in self.kinds.items() if isinstance(kind, ArrayKind)}
        for name, value in values.items():
            frame.scope[name] = self.parameter(name, value, frame, node)
        self.calling.append(source.key)
        try:
            with self.into(inside=False) as inner:
                result = self.function(frame)
        finally:
            self.calling.pop()
        self.out += inner
        if not sole and assigned(inner) & before:
            raise self.error(
                node,
                f"{source.name} writes into an array within a larger expression",
                "call it on a line of its own",
            )
        if isinstance(result, Expr):
            return self.held(result)
        if isinstance(result, list):
            return [self.held(r) if isinstance(r, Expr) else r for r in result]
        return result

    def parameter(self, name: str, value: Any, frame: Frame, node: ast.Call) -> Any:
        """An argument as the parameter of that name; a variable where the body assigns it."""
        if not isinstance(value, Expr):
            return self.named_list(self.owned(value, name), node)
        if value.op != "num":
            value = self.held(value, name)
        if value.op != "num" or name not in frame.stored:
            return value
        new = self.fresh(name)
        self.emit(Let(new, value))
        return var(new)
