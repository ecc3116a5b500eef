"""Rules that run on plain numbers only: of compiled code, or written with `math`.

Such a rule cannot be looked into. Where its arguments are traced, its products stand in a
program as one operation, seed -> J seed, that runs in Python. It is linear in the seed, so
forward and reverse mode and compiled programs work; it has no derivative in the point, and says so.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import Shape
from linad.errors import LinadError, OpaqueRuleError, RefusalError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING


class PlainRule:
    """A rule that is called with plain numbers.

    Parameters
    ----------
    rule : callable
        ``rule(y, *args) -> JacobianOperator``.
    name : str
        For messages.
    reason : Exception
        Why it does not run on traced values.
    """

    def __init__(self, rule: Callable[..., JacobianOperator], name: str, reason: Exception) -> None:
        self.rule, self.name, self.reason = rule, name, str(reason)


def _product(seed: Array, y: Array, *args: Any, rule: PlainRule, adjoint: bool) -> Any:
    J = rule.rule(y, *args)
    dtype = J.in_dtype if adjoint else J.out_dtype
    found = J.pullback(seed) if adjoint else J.pushforward(seed)
    return np.asarray(found, dtype)[()]


product = Primitive("product_with_opaque_rule", _product, register=False)
"""J seed, or J^H seed, of a rule at a point."""


class Opaque(JacobianOperator):
    """The operator of a rule that runs on plain numbers only, at a point that may be traced.

    Parameters
    ----------
    rule : PlainRule
    y, args : array, tuple of arrays
        The point, and what the rule is about there.
    out_shape, in_shape : tuple of int
    dtype : dtype
    turned : bool
        Whether it is the adjoint.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(
        self,
        rule: PlainRule,
        point: tuple[Any, ...],
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any],
        turned: bool = False,
    ) -> None:
        self.rule, self.point, self.turned = rule, point, turned
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return product(tangent, *self.point, rule=self.rule, adjoint=self.turned)

    def pullback(self, cotangent: Array) -> Array:
        return product(cotangent, *self.point, rule=self.rule, adjoint=not self.turned)


@product.jacobian(wrt="each")
def product_wrt(
    i: int, result: Array, seed: Array, *point: Any, rule: PlainRule, adjoint: bool
) -> JacobianOperator:
    if i:
        refuse_second(rule.name, rule.reason)
    return Opaque(rule, point, result.shape, seed.shape, result.dtype, turned=adjoint)


def refuse_second(name: str, reason: str) -> NoReturn:
    """Raise: a derivative of a rule is asked for."""
    raise OpaqueRuleError(
        f"{name} runs on plain numbers only, so it has no second derivatives; write it in NumPy "
        f"functions: {reason}"
    )


def is_opaque(error: Exception) -> bool:
    """Whether a rule that raised this on traced values may run on plain numbers."""
    return not isinstance(error, LinadError) or isinstance(error, RefusalError)
