"""The operators of a traced array. What may stand beside it is in `foreign_operands`."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from linad.arrays.foreign_operands import COMPARISONS, as_array_of, foreign, is_pandas, operand
from linad.arrays.keys import KEYS, compared
from linad.arrays.methods import Methods, traced_function
from linad.arrays.refusing import refuse
from linad.arrays.roots import power_of_root, root_scaled, square_of_root
from linad.arrays.writes import overwrite
from linad.arrays.zero_dim import is_number
from linad.core.adopted import WATCHERS
from linad.core.array_type import Array
from linad.core.dispatch import MATRIX, OPERATORS, UFUNCS
from linad.core.primitive import Primitive, Traced
from linad.core.stand_ins import STANDING, stand_in

# Beside one of these the trace is known without asking every argument.
_UNTRACED = {np.ndarray, float, int, np.float64}


def _operand_of(other: Any) -> Any:
    """As `operand`, for Python's operators: an object is asked for the array that it can be."""
    known, kind = operand(other), type(other)
    if known is not NotImplemented:
        return known
    defers = hasattr(kind, "__array_ufunc__") or getattr(other, "__array_priority__", 0) > 0
    if defers or not hasattr(kind, "__array__"):
        return NotImplemented
    return as_array_of(other)


_REFLECTED = {
    np.add: "__radd__",
    np.subtract: "__rsub__",
    np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__",
    np.power: "__rpow__",
}


def _goes_first(kind: type, ufunc: Any) -> bool:
    """Whether a subclass of ndarray on the right has an operator that Python asks before ndarray's.

    Matrices and masked arrays compute in functions of NumPy that do not see a traced array.
    """
    name = _REFLECTED.get(ufunc, "")
    if not issubclass(kind, np.ndarray) or issubclass(kind, (MATRIX, np.ma.MaskedArray)):
        return False
    return getattr(kind, name, None) is not getattr(np.ndarray, name, None)


RING = {np.add, np.subtract, np.multiply}
"""What makes an int of two ints."""


def _is_int(x: Array) -> bool:
    return x._whole if isinstance(x, Traced) else type(x) is int


def _whole(y: Any) -> Any:
    y._whole = bool(np.isfinite(y.concrete))
    return y


def weakly(function: Any, a: Array, b: Array) -> tuple[Any, Any]:
    """Two operands. What is a Python int without a trace promotes no other array."""
    of_a, of_b = isinstance(a, Traced) and a._whole, isinstance(b, Traced) and b._whole
    if of_a == of_b:
        return a, b
    return (a, _like_int(function, b, a)) if of_b else (_like_int(function, a, b), b)


def _like_int(function: Any, whole: Array, other: Array) -> Any:
    dtype = getattr(other, "dtype", None)
    if dtype is not None and dtype.kind in "biu" and function not in COMPARISONS:
        return _integer(whole, dtype if dtype.kind != "b" else np.dtype(int))
    if dtype is None or dtype.kind not in "fc":
        return whole
    real = np.dtype(dtype.char.lower())
    return whole if whole.dtype == real else whole.astype(real)


def _integer(whole: Any, dtype: Any) -> Any:
    """What is a Python int without a trace, in the dtype of the integers that it meets."""
    limits = np.iinfo(dtype)
    if not (whole >= float(limits.min) and whole < float(limits.max) + 1):
        raise OverflowError(f"Python integer {int(whole.concrete)} out of bounds for {dtype}")
    return whole.astype(dtype)


SCALES: dict[Any, int] = {np.multiply: 1, np.true_divide: -1}
"""What makes a multiple of a root, and the power of the factor in it."""


def _with_root(function: Primitive, self: Any, other: Any, power: int) -> Any:
    """A product or a quotient with a root, whose square is known without the root."""
    root, factor = (self, other) if self._square is not None else (other, self)
    if power > 0 and root is self and (square := square_of_root(self, other)) is not None:
        return square
    y = function(self, other)
    return y if power < 0 and root is other else root_scaled(y, root, factor, power)


def _binary(ufunc: np.ufunc, table: Any = UFUNCS) -> tuple[Any, Any]:
    scale = SCALES.get(ufunc)

    def forward(self: Any, other: Any) -> Any:
        function = table[ufunc]
        if STANDING:
            other = stand_in(other)
        if self._whole or (type(other) is type(self) and other._whole):
            self, other = weakly(ufunc, self, other)
            if not isinstance(self, Traced):
                return ufunc(self, other)
            if ufunc in RING and _is_int(self) and _is_int(other):
                return _whole(function(self, other))
        kind = type(other)
        if kind is type(self) or kind in _UNTRACED:
            if type(function) is not Primitive:
                return function(self, other)
            if scale and (
                self._square is not None or (kind is type(self) and other._square is not None)
            ):
                return _with_root(function, self, other, scale)
            trace = self._trace
            if kind is type(self):
                of_other = other._trace
                if of_other is not trace and of_other.level > trace.level:
                    trace = of_other
            return trace.apply(function, (self, other), {})
        known = _operand_of(other)
        if known is NotImplemented:
            is_array = not isinstance(self.concrete, np.generic)
            if WATCHERS and is_array and _goes_first(type(other), ufunc):
                return NotImplemented
            return foreign(ufunc, other, self, other)
        return function(self, known)

    def reflected(self: Any, other: Any) -> Any:
        function = table[ufunc]
        if STANDING:
            other = stand_in(other)
        if self._whole:
            self, other = weakly(ufunc, self, other)
            if not isinstance(self, Traced):
                return ufunc(other, self)
            if ufunc in RING and _is_int(other):
                return _whole(function(other, self))
        if type(other) in _UNTRACED:
            if type(function) is not Primitive:
                return function(other, self)
            y = self._trace.apply(function, (other, self), {})
            return y if self._square is None or scale != 1 else root_scaled(y, self, other, 1)
        known = _operand_of(other)
        if known is NotImplemented:
            return foreign(ufunc, other, other, self)
        return function(known, self)

    return forward, reflected


def _of_arrays(forward: Callable[..., Any], reflected: Callable[..., Any]) -> tuple[Any, Any]:
    """``@``, which numbers do not have: a number times a number is a TypeError, not a product."""

    def refused(self: Any, other: Any) -> bool:
        if self.shape or not isinstance(self.concrete, np.generic):
            return False
        return not isinstance(getattr(other, "concrete", other), np.ndarray)

    def product(self: Any, other: Any) -> Any:
        if type(self._value) is not ndarray and refused(self, other):
            return NotImplemented
        return forward(self, other)

    def turned(self: Any, other: Any) -> Any:
        return NotImplemented if refused(self, other) else reflected(self, other)

    return product, turned


POWER_OF_ROTATION = (
    "for r ** n write linad.scipy.spatial.transform.Rotation.from_rotvec(n * r.as_rotvec())"
)


def _is_of_rotations(frame: Any) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("scipy.spatial.transform.")


def _comparison(ufunc: np.ufunc) -> Any:
    """``==`` and ``!=``: what cannot be compared, numbers and text, is unequal everywhere.

    SciPy's rotations have powers -1, 0 and 1 of their own, of which the exponent, compared with
    these, would have no derivative.
    """
    forward = _binary(ufunc)[0]

    def compare(self: Any, other: Array) -> Any:
        asking = sys._getframe(1)
        if asking.f_code.co_name == "__pow__" and _is_of_rotations(asking):
            refuse(self, "a power of SciPy's Rotation", POWER_OF_ROTATION, True, "float")
        if getattr(getattr(other, "dtype", None), "kind", "f") in "SUMm":
            shape = np.broadcast_shapes(self.shape, other.shape)
            return np.full(shape, ufunc is np.not_equal)
        if KEYS and ufunc is np.equal:
            return compared(forward, self, other)
        return forward(self, other)

    return compare


def _to_the(power: Callable[..., Any]) -> Any:
    def raised(self: Any, other: Any) -> Any:
        if self._square is not None:
            power_of_square = power_of_root(self, other)
            if power_of_square is not None:
                return power_of_square
        if type(other) is not int and _is_half(other, self) and not is_number(self):
            return UFUNCS[np.sqrt](self)  # as NumPy does of an array, which differs at -inf
        return power(self, other)

    return raised


def _is_half(other: Array, x: Array) -> bool:
    """Whether an exponent is the number 1/2, and leaves the dtype of ``x``, without axes."""
    if not isinstance(other, float) or other != 0.5 or x.shape or x.dtype.kind != "f":
        return False
    return type(other) is float or x.dtype == np.float64


def _unary(ufunc: np.ufunc) -> Any:
    def operator(self: Any) -> Any:
        function = UFUNCS[ufunc]
        if type(function) is Primitive:
            return self._trace.apply(function, (self,), {})
        return function(self)

    return operator


def _to_whole(ufunc: np.ufunc) -> Any:
    """round, math.floor and their kin: of a number an int, in what types and texts tell of it.

    It stays a traced float: a loop over particles takes the same path whatever cell they are in.
    """

    def operator(self: Any) -> Any:
        y = UFUNCS[ufunc](self)
        if not self.ndim and self.dtype.kind == "f":
            if not np.isfinite(y):
                int(y.concrete)  # raises what Python does
            y._whole = True
        return y

    return operator


_rounded = _to_whole(np.rint)


def _in_place(forward: Any) -> Any:
    def operator(self: Any, other: Any) -> Any:
        if type(other) not in _UNTRACED and self.ndim and is_pandas(other):
            other = other.to_numpy()  # an array that is written into stays one
        result = forward(self, other)
        if result is NotImplemented or isinstance(self.concrete, np.generic):
            return result  # a NumPy scalar is replaced, not changed
        if result.shape != self.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {self.shape} doesn't match the "
                f"broadcast shape {result.shape}"
            )
        if not np.can_cast(result.dtype, self.dtype, "same_kind"):
            raise TypeError(f"an in-place operation cannot cast {result.dtype} to {self.dtype}")
        overwrite(self, result)
        return self

    return operator


class Arithmetic(Methods):
    """``+ - * / // % ** @ & | ^ ~ < <= == ...``, reflected and in place."""

    __slots__ = ()

    __add__, __radd__ = _binary(np.add)
    __sub__, __rsub__ = _binary(np.subtract)
    __mul__, __rmul__ = _binary(np.multiply, OPERATORS)
    __truediv__, __rtruediv__ = _binary(np.true_divide)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide)
    __mod__, __rmod__ = _binary(np.remainder)
    __pow__, __rpow__ = _binary(np.power, OPERATORS)
    __pow__ = _to_the(__pow__)
    __matmul__, __rmatmul__ = _of_arrays(*_binary(np.matmul))
    __and__, __rand__ = _binary(np.bitwise_and)
    __or__, __ror__ = _binary(np.bitwise_or)
    __xor__, __rxor__ = _binary(np.bitwise_xor)
    __lshift__, __rlshift__ = _binary(np.left_shift)
    __rshift__, __rrshift__ = _binary(np.right_shift)
    __divmod__, __rdivmod__ = _binary(np.divmod)
    __lt__ = _binary(np.less)[0]
    __le__ = _binary(np.less_equal)[0]
    __gt__ = _binary(np.greater)[0]
    __ge__ = _binary(np.greater_equal)[0]
    __eq__ = _comparison(np.equal)
    __ne__ = _comparison(np.not_equal)
    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)
    __floor__ = _to_whole(np.floor)
    __ceil__ = _to_whole(np.ceil)
    __trunc__ = _to_whole(np.trunc)

    __iadd__ = _in_place(__add__)
    __isub__ = _in_place(__sub__)
    __imul__ = _in_place(__mul__)
    __itruediv__ = _in_place(__truediv__)
    __ifloordiv__ = _in_place(__floordiv__)
    __imod__ = _in_place(__mod__)
    __ipow__ = _in_place(__pow__)
    __imatmul__ = _in_place(__matmul__)
    __iand__ = _in_place(__and__)
    __ior__ = _in_place(__or__)
    __ixor__ = _in_place(__xor__)
    __ilshift__ = _in_place(__lshift__)
    __irshift__ = _in_place(__rshift__)

    def __round__(self, ndigits: int | None = None) -> Any:
        if not is_number(self):
            raise TypeError("type numpy.ndarray doesn't define __round__ method")
        if ndigits is None:
            if not self.ndim and self.dtype.kind in "iu":  # an int, of as many bits as there are
                return self.astype(np.uint64 if self.dtype == np.uint64 else np.int64)
            return _rounded(self)
        return traced_function(np.round)(self, ndigits)
