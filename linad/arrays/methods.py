"""The methods of ndarray, for a traced array: each calls the traced form of a NumPy function."""

from typing import Any

import numpy as np
from numpy import ndarray

from linad.arrays.flat_iterator import FlatIterator
from linad.arrays.memory import OUTSIDE, MemoryMethods, escape
from linad.arrays.out_argument import call_into, output_position
from linad.arrays.writes import write
from linad.arrays.zero_dim import is_number, like_its_methods
from linad.core.array_type import Array
from linad.core.dispatch import FUNCTIONS, remedy
from linad.core.numpy_options import check_options
from linad.core.stand_ins import STANDING, stand_in
from linad.errors import UnsupportedError


def called(numpy_function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the traced form of a NumPy function, and write its result where ``out`` says."""
    function = FUNCTIONS.get(numpy_function) or traced_function(numpy_function)
    if kwargs:
        check_options(numpy_function, kwargs)
    if STANDING:
        args = tuple([stand_in(x) for x in args])
    if kwargs.get("out") is not None or (  # which is nowhere the first argument
        len(args) > 1 and len(args) > output_position(numpy_function, function)
    ):
        return call_into(numpy_function, function, args, kwargs)
    return function(*args, **kwargs)


def traced_function(numpy_function: Any) -> Any:
    """Return linad's form of a NumPy function, or raise UnsupportedError."""
    try:
        return FUNCTIONS[numpy_function]
    except KeyError:
        name = f"{numpy_function.__module__}.{numpy_function.__name__}"
        raise UnsupportedError(f"{name} is not traced by linad; {remedy(name)}") from None


def _method(numpy_function: Any) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = called(numpy_function, (self, *args), kwargs)
        return result if type(self._value) is ndarray else like_its_methods(self, result)

    method.__name__ = numpy_function.__name__
    method.__doc__ = f"As `numpy.ndarray.{numpy_function.__name__}`."
    return method


def check_number(x: Any, name: str) -> None:
    """Raise AttributeError, as NumPy does, unless a traced value stands for a real number."""
    value = x.concrete
    if not isinstance(value, np.generic) or value.dtype.kind == "c":
        kind = type(value).__name__
        raise AttributeError(f"{kind!r} object, here traced, has no attribute {name!r}")


def _of_numbers(name: str) -> Any:
    """A method of NumPy's numbers that gives the value away."""
    refusal = escape(f"{name}()", OUTSIDE)

    def method(self: Any) -> Any:
        check_number(self, name)
        return lambda: refusal(self)

    return property(method, doc=f"As `numpy.float64.{name}`, which is refused.")


class Methods(MemoryMethods):
    """What an array can do by itself: methods, transposes, parts."""

    __slots__ = ()

    @property
    def T(self) -> Any:
        """All axes reversed."""
        return like_its_methods(self, FUNCTIONS[np.transpose](self))

    @property
    def mT(self) -> Any:
        """The last two axes swapped."""
        return traced_function(np.matrix_transpose)(self)

    @property
    def real(self) -> Any:
        """Real part."""
        return traced_function(np.real)(self)

    @real.setter
    def real(self, value: Array) -> None:
        write(self.real, ..., value)

    @property
    def imag(self) -> Any:
        """Imaginary part."""
        return traced_function(np.imag)(self)

    @imag.setter
    def imag(self, value: Array) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        write(self.imag, ..., value)

    @property
    def flat(self) -> FlatIterator:
        """The entries in C order, to iterate over, to read and to write."""
        return FlatIterator(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        if is_number(self):
            kind = type(self.concrete).__name__
            raise TypeError(f"{kind!r} object does not support assignment to its flat")
        flat = FlatIterator(self)
        if flat.reads_itself(value):
            raise UnsupportedError(
                "x.flat = y, with y in the memory of x: whether NumPy reads what it has just "
                "written hangs on how they lie in memory; use x.flat = y.copy()"
            )
        flat[...] = value

    # Methods of ndarray.

    sum = _method(np.sum)
    mean = _method(np.mean)
    prod = _method(np.prod)
    max = _method(np.max)
    min = _method(np.min)
    var = _method(np.var)
    std = _method(np.std)
    cumsum = _method(np.cumsum)
    cumprod = _method(np.cumprod)
    any = _method(np.any)
    all = _method(np.all)
    argmax = _method(np.argmax)
    argmin = _method(np.argmin)
    argsort = _method(np.argsort)
    argpartition = _method(np.argpartition)
    searchsorted = _method(np.searchsorted)
    nonzero = _method(np.nonzero)
    clip = _method(np.clip)
    round = _method(np.round)
    squeeze = _method(np.squeeze)
    ravel = _method(np.ravel)
    swapaxes = _method(np.swapaxes)
    diagonal = _method(np.diagonal)
    trace = _method(np.trace)
    repeat = _method(np.repeat)
    take = _method(np.take)
    choose = _method(np.choose)
    dot = _method(np.dot)

    def conj(self) -> Any:
        """As `numpy.ndarray.conj`: a real array is its own conjugate, and no copy of it."""
        return traced_function(np.conjugate)(self) if self.dtype.kind == "c" else self

    conjugate = conj

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """As `numpy.ndarray.compress`."""
        return called(np.compress, (condition, self, axis), {} if out is None else {"out": out})

    # What a number has, and an array has not.

    @property
    def is_integer(self) -> Any:
        """As `numpy.float64.is_integer`, of a number; the answer counts as a decision."""
        check_number(self, "is_integer")
        return lambda: bool(np.isfinite(self) & (self == np.floor(self)))

    as_integer_ratio = _of_numbers("as_integer_ratio")
    hex = _of_numbers("hex")

    # What writes into the array.

    def fill(self, value: Any) -> None:
        """As `numpy.ndarray.fill`."""
        if np.ndim(value):
            # A list NumPy hands to int or complex, an array not.
            is_list = isinstance(value, (list, tuple)) and self.dtype.kind in "iuc"
            kind = TypeError if is_list else ValueError
            raise kind(f"fill: expected a single number, got values of shape {np.shape(value)}")
        if not is_number(self):  # of a number, NumPy fills a copy
            write(self, ..., value)

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, **options: Any) -> None:
        """As `numpy.ndarray.sort`: in place."""
        write(self, ..., traced_function(np.sort)(self, axis, kind, order, **options))

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
    ) -> None:
        """As `numpy.ndarray.partition`: in place."""
        write(self, ..., traced_function(np.partition)(self, kth, axis, kind, order))

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """As `numpy.ndarray.put`."""
        traced_function(np.put)(self, indices, values, mode)

    def reshape(self, *shape: Any, order: str | None = "C", copy: bool | None = None) -> Any:
        """As `numpy.ndarray.reshape`."""
        target = shape[0] if len(shape) == 1 else shape
        y = FUNCTIONS[np.reshape](self, target, order, copy=copy)
        return like_its_methods(self, y)

    def transpose(self, *axes: Any) -> Any:
        """As `numpy.ndarray.transpose`."""
        order = axes[0] if len(axes) == 1 else (axes or None)
        return like_its_methods(self, traced_function(np.transpose)(self, order))

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """As `numpy.ndarray.astype`."""
        if casting != "unsafe" and not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"astype: cannot cast {self.dtype} to {np.dtype(dtype)} by {casting!r}")
        y = traced_function(np.astype)(self, dtype, copy=copy)
        y = y if order == "K" else traced_function(np.asarray)(y, order=order)
        return like_its_methods(self, y)

    def copy(self, order: str | None = "C") -> Any:
        """As `numpy.ndarray.copy`."""
        return like_its_methods(self, traced_function(np.copy)(self, order or "C"))

    def flatten(self, order: str | None = "C") -> Any:
        """As `numpy.ndarray.flatten`."""
        return traced_function(np.copy)(traced_function(np.ravel)(self, order))

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy("K")
