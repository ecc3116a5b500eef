"""The operators of a traced array. What may stand beside it is in `foreign_operands`."""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from linad.arrays.buffers import is_private
from linad.arrays.foreign_operands import COMPARISONS, as_array_of, foreign, is_pandas, operand
from linad.arrays.keys import KEYS, compared
from linad.arrays.methods import Methods, traced_function
from linad.arrays.refusing import refuse
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


def _binary(ufunc: np.ufunc, table: Any = UFUNCS) -> tuple[Any, Any]:
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
            if self._square is not None and ufunc is np.multiply:
                square = square_of_root(self, other)
                if square is not None:
                    return square
            trace = self._trace
            if kind is type(self) and other._trace.level > trace.level:
                trace = other._trace
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
            return self._trace.apply(function, (other, self), {})
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


class _Root(NamedTuple):
    """What the result of a root is the root of: ``square(*args)``; its third power by ``cube``."""

    square: Callable[..., Any]
    args: tuple[Any, ...]
    cube: Callable[[Any], Any] | None

    def is_of_the_same(self, other: "_Root") -> bool:
        return self.square is other.square and all(map(_are_one, self.args, other.args))


def _are_one(a: Any, b: Any) -> bool:
    """Whether two arguments are one traced value, one array, or equal options."""
    if isinstance(a, Traced) and isinstance(b, Traced):
        return a._trace is b._trace and a._node is b._node and a._value is b._value
    if isinstance(a, (Traced, ndarray)) or isinstance(b, (Traced, ndarray)):
        return a is b
    if isinstance(a, _Root) and isinstance(b, _Root):
        return a.is_of_the_same(b)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(_are_one, a, b))
    return type(a) is type(b) and bool(a == b)


def rooted(
    y: Array, square: Callable[..., Any], *args: Any, cube: Callable[[Any], Any] | None = None
) -> Any:
    """Mark ``y`` as the root of ``square(*args)``, which is smooth where y has a tip.

    |x|² has derivatives of all orders at 0, |x|³ two and |x|^p, p >= 4, three, which no rule finds
    on the way through |x|: so ``y**p`` and ``y * y`` are computed without y; y³ by ``cube``, a
    function of the square, and without one by its power 3/2. What was written into is not kept
    for this.
    """
    traced = [x for x in args if isinstance(x, Traced)]
    if traced and isinstance(y, Traced) and not any(map(is_private, traced)):
        kept = tuple([x.alias() if isinstance(x, Traced) else x for x in args])
        y._square = _Root(square, kept, cube)  # type: ignore[attr-defined]  # a Tracer
    return y


def root_read(y: Any, root: Any, index: Any) -> Any:
    """Mark entries of a root as the roots of the entries of its square."""
    parts = index if type(index) is tuple else (index,)
    if isinstance(y, Traced) and not is_private(root) and all(map(_is_kind_of_index, parts)):
        kept = tuple([p.copy() if isinstance(p, (ndarray, list)) else p for p in parts])
        y._square = _Root(_read_square, (root._square, kept), root._square.cube)  # type: ignore[attr-defined]
    return y


def _is_kind_of_index(part: Any) -> bool:
    if type(part) is list:
        return all([type(k) in (int, bool) for k in part])
    return part is None or part is ... or type(part) in (int, np.int64, slice, ndarray)


def _read_square(root: _Root, index: Any) -> Any:
    return root.square(*root.args)[index]


def power_of_root(root: Any, exponent: Any) -> Any:
    """A power of what has a mark of `rooted`, by its square: 2, 3, or from 4 on; None else."""
    if type(exponent) not in (int, float) or is_private(root):
        return None
    if not (exponent in (2, 3) or 4 <= exponent < math.inf):
        return None
    mark = root._square
    square = mark.square(*mark.args)
    if exponent == 3 and mark.cube is not None:
        return mark.cube(square)
    half = exponent / 2
    return square if half == 1 else square ** (int(half) if half.is_integer() else half)


def square_of_root(a: Any, b: Any) -> Any:
    """The product of two roots of one value, without the roots; None if they are no such."""
    if type(b) is not type(a) or b._square is None or is_private(a) or is_private(b):
        return None
    return power_of_root(a, 2) if b is a or a._square.is_of_the_same(b._square) else None


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
