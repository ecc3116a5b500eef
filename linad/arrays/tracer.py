"""The traced value: a duck array that carries its concrete value and its place in a trace.

A Tracer behaves as the array it stands for: operators, ufuncs, NumPy functions and the
ndarray methods all work, give the concrete result and tell the trace what happened. What
would take the value out of the trace (``float(x)``, ``np.array([x, 1.0])``) raises.
"""

import math
import operator
import sys
from typing import Any

import numpy as np

from linad.arrays.buffers import (
    View,
    in_memory,
    is_private,
    read_at,
    refresh,
    refresh_node,
)
from linad.arrays.foreign_operands import foreign, operand
from linad.arrays.keys import KEYS, compared, hash_of
from linad.arrays.leaving import (
    as_complex,
    as_float,
    as_plain_array,
    float_of_text,
    priority_for_pandas,
    refuse_int,
    refuse_repr,
)
from linad.arrays.lengths import LengthOfArrays
from linad.arrays.methods import called
from linad.arrays.names_of_tensors import missing_attribute
from linad.arrays.new_shapes import take_shape
from linad.arrays.number_texts import number_repr, text_of
from linad.arrays.out_argument import ufunc_into
from linad.arrays.python_operators import Arithmetic, weakly
from linad.arrays.refusing import instead_of_ufunc, refuse_index
from linad.arrays.roots import root_read
from linad.arrays.traces import Trace
from linad.arrays.writes import write, write_into
from linad.core import tree
from linad.core.adopted import ATTRIBUTES, WATCHERS, is_read_by_adopted
from linad.core.array_type import Array
from linad.core.callers import PASSES_AS_PLAIN, passes_as_plain
from linad.core.dispatch import (
    FUNCTIONS,
    MATRIX,
    UFUNC_METHODS,
    UFUNCS,
    matrix_room,
    remedy,
)
from linad.core.moving_regions import Moving
from linad.core.primitive import Primitive, Traced
from linad.core.regions import Region
from linad.core.stand_ins import STANDING, stand_in
from linad.core.ufunc_keywords import call_with_keywords, check_loop
from linad.errors import UnsupportedError

CREATORS: set[Any] = {
    *(np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.tri, np.arange),
    *(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require),
    *(np.fromiter, np.fromfunction, np.frombuffer, np.fromfile, np.fromstring),
    *(np.loadtxt, np.genfromtxt),
}
_ARRAYS = (Traced, np.ndarray)
_INDEXING = np.ndarray.__getitem__


class Tracer(Arithmetic):
    """A traced array.

    Parameters
    ----------
    trace : Trace
        The trace that owns it.
    node : object
        Its place in the trace; what it is only the trace knows.
    value : ndarray, NumPy scalar or Tracer of a lower level
        The concrete value.
    """

    # _square, where it is set, computes the square of a root, and _whole is True for what is an
    # Python int without a trace: see `rooted` and `_to_whole` in python_operators.
    __slots__ = ("__weakref__", "_buffer", "_node", "_square", "_value", "_whole")
    __array_priority__ = 1500.0  # above pandas, below linad's operators
    __pandas_priority__ = property(priority_for_pandas)
    __hash__ = hash_of  # of a number in adopted code; as ndarray it has none: == is elementwise

    def __init__(self, trace: Trace, node: Any, value: Array) -> None:
        self._trace = trace
        self._node = node
        self._value = value
        self._buffer: Any = None  # a View, or a Storage once it has views or was written
        self._square: Any = None
        self._whole = False

    # No __getattr__: with one, Python asks it for each attribute that is read, and reads none the
    # quick way. The trace words what is said of one that is missing (`names_of_tensors`).

    @property
    def __array_interface__(self) -> Any:
        """Of adopted code only, and in words that NumPy's compiled code does not understand."""
        name = "__array_interface__"
        read = ATTRIBUTES.get(name)
        if read is None or not WATCHERS or not is_read_by_adopted(sys._getframe(1), name):
            raise AttributeError(missing_attribute(self, name), name=name, obj=self)
        return read(self)

    def frozen(self) -> "Tracer":
        """A handle on the array as it is now, that later writes do not change."""
        return self.copy("K") if is_private(self) else self.alias()

    def alias(self) -> "Tracer":
        """Another handle on the array as it is now; what is written to it stays its own."""
        refresh_node(self)
        made = Tracer(self._trace, self._node, self._value)
        self._trace.aliased(made)
        return made

    def write_at(self, region: Region, value: Array) -> None:
        """Write a value at a region of the array, which is the root of its views."""
        write_into(self, region, value)

    def read_at(self, region: Moving) -> Any:
        """What lies at a region of the array that moves with a loop."""
        return read_at(self, region)

    # What an array knows of itself.

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self._value.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        take_shape(self, shape)

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        """As `numpy.ndarray.resize`: in place, new entries are 0."""
        target = shape[0] if len(shape) == 1 else shape
        if shape and target is not None:
            entries = (target,) if np.ndim(target) == 0 else target
            new = tuple(map(operator.index, entries))
            if not self.laid.flags.forc:
                raise ValueError("resize only works on single-segment arrays")
            if new != self.shape:
                self._become_resized(new)

    def _become_resized(self, shape: tuple[int, ...]) -> None:
        if type(self._buffer) is View:
            raise ValueError("resize: a view cannot be resized in place; use np.resize(x, shape)")
        if getattr(self._buffer, "viewed", False):
            raise UnsupportedError(
                "resize: in place, of a traced array that has had views, it is not supported; use "
                "np.resize(x, shape)"
            )
        flat = np.ravel(self, "A")  # entries keep their places in memory
        size = math.prod(shape)
        more = np.zeros(max(size - flat.size, 0), self.dtype)
        kept = np.concatenate([flat[:size], more])
        made: Any = kept.reshape(shape[::-1]).T if self.laid.flags.fnc else kept.reshape(shape)
        made = made.copy("K")
        self._node, self._value, self._buffer = made._node, made._value, None
        self._square = None

    @property
    def dtype(self) -> Any:
        """Type of the entries."""
        return self._value.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._value.ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self._value.size

    @property
    def itemsize(self) -> int:
        """Bytes of one entry."""
        return self._value.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all entries."""
        return self._value.size * self._value.dtype.itemsize

    @property
    def concrete(self) -> Any:
        """The value as a plain array, for looking at; it carries no derivative."""
        refresh(self)
        value = self._value
        while isinstance(value, Tracer):
            value = value._value
        return value

    @property
    def decided(self) -> Any:
        """As `concrete`, for Python to decide on: a recorded program holds for this value only."""
        value: Any = self
        while isinstance(value, Tracer):
            value._trace.looked_at(value)
            refresh(value)
            value = value._value
        return value

    @property
    def laid(self) -> Any:
        """As `concrete`, to ask how it lies in memory: a recorded program holds for arguments
        that lie as those it was recorded with.
        """
        value: Any = self
        while isinstance(value, Tracer):
            value._trace.layout_counts = True
            value = value._value
        return in_memory(self)

    @property
    def placed(self) -> Any:
        """As `laid`, to ask what it shares its memory with, and what its flags are."""
        for trace in self._traces():
            trace.memory_counts = True
        return self.laid

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What ``isinstance`` asks last: a traced array is what its value is, an array or a
        number, to all but the packages that tell it from one to treat it well.
        """
        frame = sys._getframe(1)
        name = frame.f_globals.get("__name__", "")
        plain = PASSES_AS_PLAIN.get(name)
        if not (passes_as_plain(frame, name) if plain is None else plain):
            return Tracer
        if self._whole:
            return int
        value: Any = self._value
        while type(value) is Tracer:
            value = value._value
        return type(value)

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if STANDING:
            inputs = tuple([stand_in(x) for x in inputs])
        if "out" in kwargs:
            return ufunc_into(ufunc, method, inputs, kwargs)
        if method == "__call__":
            function = UFUNCS.get(ufunc)
            if function is not None and not kwargs:
                if len(inputs) == 1:
                    if type(function) is Primitive:
                        return self._trace.apply(function, inputs, kwargs)
                    return function(*inputs)
                if len(inputs) == 2 and not KEYS:  # the common case, asked in as few steps
                    a, b = inputs
                    if (
                        not (a._whole if type(a) is Tracer else type(a) not in _KNOWN)
                        and not (b._whole if type(b) is Tracer else type(b) not in _KNOWN)
                    ):
                        if type(function) is Primitive:
                            return function.on(inputs, kwargs)
                        return function(a, b)
        elif method == "at":
            return FUNCTIONS[np.ufunc.at](ufunc, *inputs)
        else:
            function = UFUNC_METHODS.get((ufunc, method))
            if kwargs.get("dtype") is not None:
                check_loop(ufunc, inputs[0], kwargs["dtype"])
        if function is None:
            suffix = "" if method == "__call__" else f".{method}"
            raise UnsupportedError(
                f"{ufunc.__name__}{suffix} is not traced by linad; "
                f"{instead_of_ufunc(remedy(f'numpy.{ufunc.__name__}{suffix}'), ufunc)}"
            )
        for x in inputs:
            if type(x) not in _KNOWN:
                operands = tuple([operand(x) for x in inputs])
                if NotImplemented in [x for x in operands if not isinstance(x, _ARRAYS)]:
                    x = next(x for x in inputs if operand(x) is NotImplemented)
                    plain = method == "__call__" and not kwargs
                    return foreign(ufunc, x, *inputs) if plain else NotImplemented
                inputs = operands
                break
        if method != "__call__":
            return function(*inputs, **kwargs)
        if len(inputs) == 2:
            a, b = inputs
            if (type(a) is Tracer and a._whole) or (type(b) is Tracer and b._whole):
                inputs = weakly(ufunc, a, b)
                if not any([isinstance(x, Tracer) for x in inputs]):
                    return ufunc(*inputs, **kwargs)
            if KEYS and ufunc is np.equal and not kwargs:
                return compared(lambda *_: function(*inputs), a, b)
        if kwargs:
            return call_with_keywords(ufunc, function, inputs, kwargs)
        return function.on(inputs, kwargs) if type(function) is Primitive else function(*inputs)

    def __array_function__(
        self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        if len(types) > 1:
            for kind in types:
                if kind not in _KNOWN and getattr(kind, "holds_array", False):
                    # A subclass of ndarray around a traced value: `linad.adoption`.
                    return NotImplemented
                if issubclass(kind, MATRIX):
                    return matrix_room().array_function(func, args, kwargs)
        result = called(func, args, kwargs)
        if func in CREATORS and isinstance(result, np.ndarray) and result.dtype.kind in "fc":
            # np.zeros(n, like=x): NumPy has taken ``like`` away, and it is self.
            return self._trace.constant(result)
        return result

    __array__ = as_plain_array

    # Sequence.

    @LengthOfArrays
    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, index: Any) -> Any:
        y = FUNCTIONS[_INDEXING](self, index)
        return y if self._square is None else root_read(y, self, index)

    def __setitem__(self, index: Any, value: Array) -> None:
        write(self, index, value)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    # What leaves the trace.

    def __bool__(self) -> bool:
        return self._trace.answer(self, bool)

    def __int__(self) -> int:
        if self.dtype.kind in "fc":
            return refuse_int(self)
        return self._trace.answer(self, int)

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind == "b":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        if self.dtype.kind not in "iu":
            return refuse_index(self)
        return self._trace.answer(self, int)

    __float__ = as_float
    __complex__ = as_complex
    float_of_text = float_of_text
    refuse_repr = refuse_repr

    # For people.

    def __repr__(self) -> str:
        if any([trace.records for trace in self._traces()]):
            return number_repr(self)  # it may be a result, or a key
        return f"Tracer({self.concrete!r}, level={self._trace.level})"

    def __str__(self) -> str:
        return text_of(self, str)

    def __format__(self, spec: str) -> str:
        return text_of(self, lambda value: format(value, spec))

    def _traces(self) -> list[Trace]:
        """The traces that the value belongs to, from the innermost."""
        value: Any = self
        found = []
        while isinstance(value, Tracer):
            found.append(value._trace)
            value = value._value
        return found

    def printed(self) -> Any:
        """The value for a text. That of an integer, a key perhaps, counts as a decision."""
        if self.dtype.kind in "biu":
            return self.decided
        if self._whole and np.isfinite(self.concrete):
            return int(self.decided)
        value: Any = self
        while isinstance(value, Tracer):
            value._trace.shown(value)
            value = value._value
        return self.concrete


_KNOWN = {Tracer, np.ndarray, float, int, np.float64}
"""What stands beside a traced array most, and has no say in what becomes of them."""

tree.leaf_types.add(Tracer)
