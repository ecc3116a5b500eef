"""Functions of one entry at a time: how their rules are written.

y = f(a, b, ...)     dy = f_a da + f_b db + ...

Each Jacobian is diagonal, after the broadcast from the argument's own shape. A rule file
gives a slope an argument, ``slope(y, a, b, ...)``; None stands for the slope 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.refusing import instead_of_ufunc
from linad.core.array_type import Array
from linad.core.dispatch import UFUNC_METHODS, UFUNCS
from linad.core.primitive import Primitive
from linad.core.shapes import Shape
from linad.core.ufunc_keywords import call_with_keywords
from linad.errors import MissingRuleError
from linad.operators.algebra import Chain
from linad.operators.base import JacobianOperator
from linad.operators.facts import NOT_A_MATRIX
from linad.operators.reordering import Broadcast, broadcast
from linad.operators.slopes import SlopeRule
from linad.operators.structured import Masked
from linad.operators.typed import Typed

Slope = Callable[..., Any]


def register(ufunc: Any, function: Callable[..., Any]) -> None:
    """Make ``function`` the traced form of a ufunc, and of its ``outer`` if it has one."""
    UFUNCS[ufunc] = function
    if ufunc.nin == 2 and ufunc.signature is None:
        UFUNC_METHODS[ufunc, "outer"] = _outer(ufunc, function)


def _outer(ufunc: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    def outer(a: Array, b: Array, **keywords: Any) -> Any:
        column = np.reshape(a, shape_of(a) + (1,) * len(shape_of(b)))
        if keywords:
            return call_with_keywords(ufunc, function, (column, b), keywords)
        return function(column, b)

    return outer


def shape_of(a: Array) -> Shape:
    """Shape of an array, a traced value or a Python number."""
    return getattr(a, "shape", ())


def unary(name: str, ufunc: Any, slope: Slope) -> Primitive:
    """A primitive y = f(x) with ``slope(y, x)`` = f'(x)."""
    return several(name, ufunc, x=slope)


def binary(name: str, ufunc: Any, slope_a: Slope | None, slope_b: Slope | None) -> Primitive:
    """A primitive y = f(a, b) with slopes ``slope(y, a, b)``; None is the slope 1."""
    return several(name, ufunc, a=slope_a, b=slope_b)


def several(name: str, ufunc: Any, **slopes: Slope | None) -> Primitive:
    """A primitive of several arguments.

    Parameters
    ----------
    name : str
    ufunc : callable
        Its meaning.
    **slopes
        ``argument=slope`` in the order of the arguments, ``slope(y, *args, **params)``; None is the
        slope 1, and `NO_SLOPE` says that the derivative has no closed form.
    """
    primitive = Primitive(name, ufunc)
    primitive.slopes = len(slopes) if len(slopes) <= 2 else 0
    for i, (argument, slope) in enumerate(slopes.items()):
        if slope is NO_SLOPE:
            rule = _refusal(name, i, argument)
        else:
            rule = SlopeRule(f"{name}_wrt_{argument}", i, slope)
        primitive.jacobian(wrt=i)(rule)
    if isinstance(ufunc, np.ufunc):
        register(ufunc, primitive)
    return primitive


def levels_off(primitive: Primitive, *places: int) -> Primitive:
    """Say of arguments that the function is finite at an infinity of theirs.

    Its result does not move there, whatever the derivative of the argument is.
    """
    for place in places:
        rule = primitive.rules[place]
        assert isinstance(rule, SlopeRule)
        rule.level_off()
    return primitive


def steep(primitive: Primitive, kind: str, *places: int) -> Primitive:
    """Say of arguments what their slopes tell of poles: see `linad.operators.slopes.POLE`."""
    for place in places:
        rule = primitive.rules[place]
        assert isinstance(rule, SlopeRule)
        rule.grow_steep(kind)
    return primitive


def NO_SLOPE(y: Any, *args: Any) -> Any:
    """Stands for a derivative without closed form; its rule raises MissingRuleError."""
    raise NotImplementedError


def _refusal(name: str, i: int, argument: str) -> Any:
    def rule(y: Array, *args: Any) -> JacobianOperator:
        remedy = "pass a number or array that does not depend on what you differentiate in"
        raise MissingRuleError(
            f"{name}: the derivative in argument {i}, {argument}, has no closed form; "
            f"{instead_of_ufunc(remedy)}"
        )

    return rule


def copied(y: Array, x: Array) -> JacobianOperator:
    """The operator of y = x, broadcast to the shape of y."""
    return broadcast(y.shape, x.shape, y.dtype)


def masked(mask: Array, y: Array, x: Array) -> JacobianOperator:
    """The operator of y = x where the mask is true, and something independent elsewhere.

    Entries masked out pass nothing on, not even NaN.
    """
    select = Masked(mask, y.shape, y.dtype)
    if x.shape == y.shape:
        return select
    return Chain((select, Broadcast(y.shape, x.shape, y.dtype)))


def constant(name: str, *ufuncs: Any) -> Primitive:
    """A primitive whose derivative is zero wherever it exists; registered for each ufunc."""
    primitive = Primitive(name, ufuncs[0], constant=True)
    for ufunc in ufuncs:
        if isinstance(ufunc, np.ufunc):
            register(ufunc, primitive)
    return primitive


class Fan(Typed):
    """Several results of one argument: y_k = d_k x, entry by entry.

    Parameters
    ----------
    diagonals : sequence of array
        The d_k, kept by reference; each broadcasts to ``shape``.
    shape : tuple of int
        Shape of x and of each y_k.
    out_dtype, in_dtype : numpy.dtype
        Type of the y_k, and of x. Complex results of a real x pull back to a real part.
    """

    unknown = NOT_A_MATRIX

    owns_result = True

    def __init__(
        self,
        diagonals: tuple[Any, ...],
        shape: Shape,
        out_dtype: np.dtype[Any],
        in_dtype: np.dtype[Any],
    ) -> None:
        self.diagonals = tuple(diagonals)
        self._out_dtype, self._in_dtype = out_dtype, in_dtype
        super().__init__(shape, shape, np.promote_types(out_dtype, in_dtype))

    def pushforward(self, tangent: Array) -> Array:
        return tuple([self._push(tangent, d) for d in self.diagonals])

    def _push(self, tangent: Array, diagonal: Array) -> Any:
        product = tangent * diagonal
        return product if product.dtype == self._out_dtype else product.astype(self._out_dtype)

    def pullback(self, cotangent: Array) -> Array:
        total: Any = None
        for ybar, d in zip(cotangent, self.diagonals, strict=True):
            if ybar is not None:
                part = ybar * (d.conjugate() if self._out_dtype.kind == "c" else d)
                total = part if total is None else total + part
        if total.dtype == self._in_dtype:
            return total
        if total.dtype.kind == "c" and self._in_dtype.kind != "c":
            total = np.real(total)
        return total.astype(self._in_dtype)

    def relation(self) -> Any:
        return None


def fan(name: str, ufunc: Any, outputs: int, **slopes: Slope) -> Primitive:
    """A primitive with several results, ``slope(y, *args)`` giving one slope a result."""
    primitive = Primitive(name, ufunc, outputs=outputs)
    for i, (argument, slope) in enumerate(slopes.items()):
        rule = _refusal(name, i, argument) if slope is NO_SLOPE else _fan_rule(i, slope)
        rule.__name__ = rule.__qualname__ = f"{name}_wrt_{argument}"
        primitive.jacobian(wrt=i)(rule)
    register(ufunc, primitive)
    return primitive


def _fan_rule(i: int, slope: Slope) -> Any:
    def rule(y: tuple[Any, ...], *args: Any) -> JacobianOperator:
        x, shape = args[i], y[0].shape
        op = Fan(slope(y, *args), shape, y[0].dtype, x.dtype)
        return op if x.shape == shape else Chain((op, Broadcast(shape, x.shape, x.dtype)))

    return rule
