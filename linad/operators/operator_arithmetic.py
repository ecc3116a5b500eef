"""Products, sums and powers of operators, by the signs of Python.

What they become is worked out in `linad.operators.algebra`; see `linad.operators.provided`.
"""

import operator
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np

from linad.core.array_type import Array
from linad.core.options import is_integer
from linad.core.primitive import Traced
from linad.core.showing import shown
from linad.errors import OperandError, ShapeError
from linad.operators.operands import as_numbers, columns, is_operator
from linad.operators.provided import ANSWERS

if TYPE_CHECKING:
    from linad.operators.base import JacobianOperator

NUMBERS = (int, float, complex, np.generic)


class OperatorArithmetic:
    """The part of `JacobianOperator` that multiplies and adds."""

    def dot(self: Any, x: Any) -> Any:
        """Apply to a vector or matrix, compose with an operator, or scale by a number."""
        if is_operator(x):
            return ANSWERS.compose(self, x)
        ndim = np.ndim(x)
        if ndim == 0:
            return ANSWERS.scale(x, self)
        return self._matvec(x) if ndim == 1 else self._matmat(x)

    def rdot(self: Any, x: Any) -> Any:
        """As `dot`, with ``x`` on the left: ``x @ self``."""
        if is_operator(x):
            return ANSWERS.compose(x, self)
        if np.ndim(x) == 0:
            return ANSWERS.scale(x, self)
        x = as_numbers(x)
        if x.shape[-1] != self.shape[0]:
            raise ShapeError(
                f"an array of shape {x.shape} times {self._label()}: the last axis of the array "
                f"must have length {self.shape[0]}"
            )
        if x.ndim == 1:
            return self.T._matvec(x)
        return columns(self.T._matmat(columns(x)))

    def __getitem__(self: Any, index: tuple[Any, ...]) -> NoReturn:
        raise OperandError(
            f"{self._label()} holds no entries to index; J.todense(), or J.tosparse() where most "
            f"of them are 0, makes a matrix of it"
        )

    __iter__ = __contains__ = None  # for these Python would index, with 0, 1, 2 ...

    _rdot = __rmul__ = rdot
    __mul__ = dot

    @overload
    def __matmul__(self: Any, other: "JacobianOperator") -> "JacobianOperator": ...

    @overload
    def __matmul__(self: Any, other: np.ndarray) -> np.ndarray: ...

    @overload
    def __matmul__(self: Any, other: Any) -> Any: ...

    def __matmul__(self: Any, other: Any) -> Any:
        if type(other) is np.ndarray and other.ndim == 1:
            return self._matvec(other)
        if isinstance(other, dict) or (not is_operator(other) and np.ndim(other) == 0):
            self._refuse_factor(other)
        return self.dot(other)

    def __rmatmul__(self: Any, other: Array) -> Any:
        if not is_operator(other) and np.ndim(other) == 0:
            self._refuse_factor(other)
        return self.rdot(other)

    def _refuse_factor(self: Any, other: Any) -> NoReturn:
        """Raise: ``other`` is neither an array nor an operator."""
        if isinstance(other, (*NUMBERS, np.ndarray, Traced)):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        raise OperandError(
            f"{self._label()} @ x: x must be a vector, a matrix or an operator, got "
            f"{shown(other)}; J.pushforward(x) takes a container, of the form of the arguments"
        )

    def __truediv__(self: Any, other: Any) -> Any:
        known: bool = isinstance(other, (*NUMBERS, np.ndarray, Traced))
        if not known:
            raise OperandError(f"{self._label()} / x: x must be a number, got {shown(other)}")
        if np.ndim(other):
            raise ValueError("Can only divide a linear operator by a scalar.")
        return ANSWERS.scale(1 / other, self)

    def __neg__(self: Any) -> Any:
        return ANSWERS.scale(-1, self)

    def __add__(self: Any, other: Any) -> Any:
        return ANSWERS.add(self, other)

    def __radd__(self: Any, other: Any) -> Any:
        return ANSWERS.add(other, self)

    def __sub__(self: Any, other: Any) -> Any:
        return ANSWERS.subtract(self, other)

    def __rsub__(self: Any, other: Any) -> Any:
        return ANSWERS.subtract(other, self)

    def __pow__(self: Any, power: Any) -> Any:
        if not is_integer(power):
            raise OperandError(f"{self._label()} ** p: p must be an integer, got {shown(power)}")
        return ANSWERS.power(self, operator.index(power))
