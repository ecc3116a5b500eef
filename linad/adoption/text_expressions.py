"""Expressions of numexpr, which it computes in C of a text, as NumPy's functions.

ne.evaluate("C * exp(-r**2 / 2)")    names are those of the caller, functions numexpr's
"""

import ast
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.conversions import concrete_parts, held
from linad.errors import UnsupportedError

_OF_NUMPY = (
    *("abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "ceil"),
    *("conj", "copysign", "cos", "cosh", "exp", "expm1", "floor", "fmod", "hypot", "imag"),
    *("isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "max", "maximum", "min"),
    *("minimum", "ones_like", "prod", "real", "round", "sign", "signbit", "sin", "sinh", "sqrt"),
    *("sum", "tan", "tanh", "trunc", "where"),
)

_FUNCTIONS: dict[str, Any] = {name: getattr(np, name) for name in _OF_NUMPY}
_FUNCTIONS["complex"] = lambda real, imag: real + 1j * imag
_FUNCTIONS["copy"] = np.copy


def expressions(numexpr: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """The forms of numexpr's functions, by name."""
    original = numexpr.evaluate

    @functools.wraps(original)
    def evaluate(
        ex: str,
        local_dict: Any = None,
        global_dict: Any = None,
        out: Any = None,
        *rest: Any,
        _frame_depth: int = 3,
        **options: Any,
    ) -> Any:
        frame = sys._getframe(_frame_depth - 2)
        values = _values(ex, frame, local_dict, global_dict)
        if not held(values.values()):
            return original(ex, values, {}, out, *rest, **options)
        if out is not None:
            raise UnsupportedError(
                "numexpr.evaluate: out= takes no traced values; take the result, "
                "y = numexpr.evaluate(...)"
            )
        plain = {name: concrete_parts(value) for name, value in values.items()}
        expected = original(ex, plain, {}, None, *rest, **options)  # or its errors
        y = eval(ex.strip(), {"__builtins__": {}}, _FUNCTIONS | values)
        _check(ex, concrete_parts(y), expected)
        return y

    return {"evaluate": evaluate}


def _values(ex: str, frame: Any, local_dict: Any, global_dict: Any) -> dict[str, Any]:
    """What the names in an expression stand for where it is evaluated."""
    own = frame.f_locals if local_dict is None else local_dict
    others = frame.f_globals if global_dict is None else global_dict
    nodes = list(ast.walk(ast.parse(ex.strip(), mode="eval")))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called}
    values = {name: own[name] if name in own else others[name] for name in names}
    if local_dict is None and own is not frame.f_globals and sys.version_info < (3, 13):
        own.clear()  # the copy, which would be one more reference to each local variable
    return values


def _check(ex: str, y: Any, expected: Any) -> None:
    """Whether numexpr means by an expression what NumPy does: it divides integers otherwise."""
    rtol = np.sqrt(np.finfo(np.result_type(expected, np.float16)).eps)
    if np.shape(y) == np.shape(expected) and np.allclose(y, expected, rtol, rtol, equal_nan=True):
        return
    raise UnsupportedError(
        f"numexpr.evaluate: of {ex!r} NumPy gives other values than numexpr; write it in NumPy"
    )
