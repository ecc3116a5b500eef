"""The traced value: a duck array that carries its concrete value and its place in a trace.

A Tracer behaves as the array it stands for: operators, ufuncs, NumPy functions and the
ndarray methods all work, give the concrete result and tell the trace what happened. What
would take the value out of the trace (``float(x)``, ``np.array([x, 1.0])``) raises.
"""

import itertools
import sys
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any

import numpy as np

from linad import tree
from linad.buffers import is_private, overwrite, refresh, settle, write, write_into
from linad.dispatch import FOREIGN, FUNCTIONS, UFUNC_METHODS, UFUNCS, remedy
from linad.errors import LeakedTracerError, LinadError, TracerError, UnsupportedError
from linad.flat import Flat
from linad.memory import Memory, escape
from linad.outputs import call_into, output_position, ufunc_into
from linad.primitive import Primitive, Traced
from linad.regions import Region
from linad.ufuncs import call_with_keywords

_levels = itertools.count(1)
_running: ContextVar["Trace | None"] = ContextVar("linad_running_trace", default=None)


def running_trace() -> "Trace | None":
    """The innermost trace whose function is running in this thread; None outside of any."""
    return _running.get()


class Trace:
    """What a function ran on tracers leaves behind.

    The function runs inside ``with trace:``, whichever way it ends.

    Attributes
    ----------
    level : int
        Later traces have higher levels, so an inner derivative always sits above the one
        around it and the two cannot be confused.
    finished : bool
        Set when the traced function has returned or raised; its tracers are dead then.
    arguments : tuple or None
        The traced arguments of the function, and what knows the caller's arrays.
    """

    def __init__(self) -> None:
        self.level = next(_levels)
        self.finished = False
        self.arguments: Any = None
        self._around: Token[Trace | None]

    def __enter__(self) -> "Trace":
        self._around = _running.set(self)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        _running.reset(self._around)
        del self._around
        self.finished = True
        self.arguments = None  # they refer to this trace
        cause = getattr(error, "__cause__", None)
        if isinstance(cause, TracerError) and not isinstance(error, LinadError):
            # ``a[0] = s`` into a plain array: NumPy hides why behind words of its own.
            raise cause.with_traceback(traceback) from None

    def apply(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run a primitive on arguments of which at least one belongs to this trace."""
        raise NotImplementedError

    def answer(self, tracer: "Tracer", question: Callable[[Any], Any]) -> Any:
        """Answer ``bool``, ``int`` or ``np.array`` (of an index) from the concrete value."""
        refresh(tracer)
        return question(tracer._value)

    def check_alone(self, root: "Tracer") -> None:
        """Raise if an array is an argument that shares memory with another argument."""
        if self.arguments is not None:
            tracers, call = self.arguments
            if id(root) in tracers:
                call.check_alone(tracers[id(root)][0])

    def constant(self, value: Any) -> "Tracer":
        """Return a traced array that depends on nothing, to be written into."""
        raise NotImplementedError

    def write(self, root: "Tracer", region: Region, value: Any) -> None:
        """Write ``value`` at a region of an array of this trace that owns its storage."""
        raise NotImplementedError

    def detach(self, tracer: "Tracer") -> Any:
        """Return the tracer's value without derivative."""
        refresh(tracer)
        value = tracer._value
        if isinstance(value, Tracer):
            return value._trace.detach(value)
        return value.copy() if isinstance(value, np.ndarray) else value

    def check_alive(self) -> None:
        """Raise if the traced function has returned already."""
        if self.finished:
            raise LeakedTracerError(
                "a traced value was used after the function that traced it had returned; "
                "return what you need from the function instead of storing it outside"
            )


# Beside one of these the trace is known without asking every argument.
_UNTRACED = {np.ndarray, float, int, np.float64}
CREATORS: set[Any] = {
    *(np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.tri, np.arange),
    *(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require),
    *(np.fromiter, np.fromfunction, np.frombuffer, np.fromfile, np.fromstring),
    *(np.loadtxt, np.genfromtxt),
}
_ARRAYS = (np.ndarray, Traced)
_PLAIN = (np.ndarray, np.generic, int, float, complex, Traced)
OTHER_ARITHMETIC = (np.matrix, np.ma.MaskedArray)


def refuse_arithmetic(value: Any, name: str) -> None:
    """Raise: an array does not calculate as `numpy.ndarray` does."""
    masked = isinstance(value, np.ma.MaskedArray)
    raise UnsupportedError(
        f"{name} is a {type(value).__name__}, whose arithmetic linad does not differentiate; use a "
        f"plain array: {'np.where(m.mask, 0.0, m.data)' if masked else 'np.asarray(A), and @'}"
    )


def _operand(other: Any) -> Any:
    """An operand of a binary operator; NotImplemented for types with operators of their own."""
    if isinstance(other, _PLAIN):
        if isinstance(other, OTHER_ARITHMETIC):
            refuse_arithmetic(other, "an operand")
        return other
    if isinstance(other, (list, tuple)):
        return np.asarray(other)
    return NotImplemented


def _foreign(ufunc: Any, foreign: Any, *operands: Any) -> Any:
    """``ufunc(*operands)``, of which ``foreign`` is neither an array nor a number."""
    for cls in type(foreign).__mro__:
        if cls in FOREIGN:
            return FOREIGN[cls](ufunc, *operands)
    return NotImplemented


def _binary(ufunc: np.ufunc) -> tuple[Any, Any]:
    def forward(self: "Tracer", other: Any) -> Any:
        function = UFUNCS[ufunc]
        if type(function) is Primitive and (
            type(other) in _UNTRACED or (type(other) is Tracer and other._trace is self._trace)
        ):
            return self._trace.apply(function, (self, other), {})
        operand = _operand(other)
        if operand is NotImplemented:
            return _foreign(ufunc, other, self, other)
        return function(self, operand)

    def reflected(self: "Tracer", other: Any) -> Any:
        function = UFUNCS[ufunc]
        if type(function) is Primitive and type(other) in _UNTRACED:
            return self._trace.apply(function, (other, self), {})
        operand = _operand(other)
        if operand is NotImplemented:
            return _foreign(ufunc, other, other, self)
        return function(operand, self)

    return forward, reflected


def _unary(ufunc: np.ufunc) -> Any:
    def operator(self: "Tracer") -> Any:
        return UFUNCS[ufunc](self)

    return operator


def _method(numpy_function: Any) -> Any:
    def method(self: "Tracer", *args: Any, **kwargs: Any) -> Any:
        return _called(numpy_function, (self, *args), kwargs)

    method.__name__ = numpy_function.__name__
    method.__doc__ = f"As `numpy.ndarray.{numpy_function.__name__}`."
    return method


def _in_place(forward: Any) -> Any:
    def operator(self: "Tracer", other: Any) -> Any:
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


def _called(numpy_function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the traced form of a NumPy function, and write its result where ``out`` says."""
    function = traced_function(numpy_function)
    if kwargs.get("out") is not None or len(args) > output_position(numpy_function, function):
        return call_into(numpy_function, function, args, kwargs)
    return function(*args, **kwargs)


def traced_function(numpy_function: Any) -> Any:
    """Return linad's form of a NumPy function, or raise UnsupportedError."""
    try:
        return FUNCTIONS[numpy_function]
    except KeyError:
        name = f"{numpy_function.__module__}.{numpy_function.__name__}"
        raise UnsupportedError(f"{name} is not traced by linad; {remedy(name)}") from None


def _in_package(frame: Any, package: str) -> bool:
    return frame.f_globals.get("__name__", "").startswith(package + ".")


class Tracer(Memory):
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

    __slots__ = ("__weakref__", "_buffer", "_node", "_value")
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]  # as ndarray: == is elementwise

    def __init__(self, trace: Trace, node: Any, value: Any) -> None:
        self._trace = trace
        self._node = node
        self._value = value
        self._buffer: Any = None  # a View, or a Storage once it has views or was written

    def frozen(self) -> "Tracer":
        """A handle on the array as it is now, that later writes do not change."""
        return self.copy("K") if is_private(self) else self.alias()

    def alias(self) -> "Tracer":
        """Another handle on the array as it is now; what is written to it stays its own."""
        settle(self)
        return Tracer(self._trace, self._node, self._value)

    def write_at(self, region: Region, value: Any) -> None:
        """Write a value at a region of the array, which is the root of its views."""
        write_into(self, region, value)

    # What an array knows of itself.

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self._value.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        if self._buffer is not None:
            raise UnsupportedError(
                "setting the shape of a traced array that has views, is one, or was written into "
                "is not supported; use y = x.reshape(shape), a view"
            )
        new = self.reshape(shape)
        if new._buffer is None:
            raise AttributeError("the shape cannot be set without a copy; use reshape")
        self._node, self._value, self._buffer = new._node, new._value, None

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
    def T(self) -> Any:
        """All axes reversed."""
        return traced_function(np.transpose)(self)

    @property
    def mT(self) -> Any:
        """The last two axes swapped."""
        return traced_function(np.matrix_transpose)(self)

    @property
    def real(self) -> Any:
        """Real part."""
        return traced_function(np.real)(self)

    @real.setter
    def real(self, value: Any) -> None:
        write(self.real, ..., value)

    @property
    def imag(self) -> Any:
        """Imaginary part."""
        return traced_function(np.imag)(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        write(self.imag, ..., value)

    @property
    def flat(self) -> Flat:
        """The entries in C order, to iterate over, to read and to write."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[...] = value

    @property
    def concrete(self) -> Any:
        """The value as a plain array, for looking at; it carries no derivative."""
        refresh(self)
        value = self._value
        while isinstance(value, Tracer):
            value = value._value
        return value

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            return ufunc_into(ufunc, method, inputs, kwargs)
        if method == "__call__":
            function = UFUNCS.get(ufunc)
            if len(inputs) == 1 and type(function) is Primitive and not kwargs:
                return self._trace.apply(function, inputs, kwargs)
        elif method == "at":
            return FUNCTIONS[np.ufunc.at](ufunc, *inputs)
        else:
            function = UFUNC_METHODS.get((ufunc, method))
        if function is None:
            suffix = "" if method == "__call__" else f".{method}"
            raise UnsupportedError(
                f"{ufunc.__name__}{suffix} is not traced by linad; "
                f"{remedy(f'numpy.{ufunc.__name__}{suffix}')}"
            )
        for x in inputs:
            if type(x) is not Tracer and type(x) is not np.ndarray:
                operands = tuple([_operand(x) for x in inputs])
                if NotImplemented in [x for x in operands if not isinstance(x, _ARRAYS)]:
                    x = next(x for x in inputs if _operand(x) is NotImplemented)
                    return _foreign(ufunc, x, *inputs) if method == "__call__" else NotImplemented
                inputs = operands
                break
        if method == "__call__" and kwargs:
            return call_with_keywords(ufunc, function, inputs, kwargs)
        return function(*inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = _called(func, args, kwargs)
        if func in CREATORS and isinstance(result, np.ndarray) and result.dtype.kind in "fc":
            # np.zeros(n, like=x): NumPy has taken ``like`` away, and it is self.
            return self._trace.constant(result)
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.dtype.kind in "biu":
            return self._trace.answer(self, np.array)
        caller = sys._getframe(1)
        if caller.f_code.co_name == "_matmul_dispatch":
            # SciPy's sparse arrays ask whether an operand is an array before they multiply.
            # A 0-d object array says no, and Python goes on to __rmatmul__.
            shell = np.empty((), object)
            shell[()] = self
            return shell
        while _in_package(caller, "numpy") and caller.f_back is not None:
            caller = caller.f_back
        if _in_package(caller, "scipy"):
            return self._refuse_scipy()
        return self._refuse_array()

    # Operators.

    __add__, __radd__ = _binary(np.add)
    __sub__, __rsub__ = _binary(np.subtract)
    __mul__, __rmul__ = _binary(np.multiply)
    __truediv__, __rtruediv__ = _binary(np.true_divide)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide)
    __mod__, __rmod__ = _binary(np.remainder)
    __pow__, __rpow__ = _binary(np.power)
    __matmul__, __rmatmul__ = _binary(np.matmul)
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
    __eq__ = _binary(np.equal)[0]
    __ne__ = _binary(np.not_equal)[0]
    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)
    __floor__ = _unary(np.floor)
    __ceil__ = _unary(np.ceil)
    __trunc__ = _unary(np.trunc)

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
        return traced_function(np.round)(self, ndigits or 0)

    # Sequence.

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, index: Any) -> Any:
        return FUNCTIONS[np.ndarray.__getitem__](self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        write(self, index, value)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    # What leaves the trace.

    def __bool__(self) -> bool:
        return self._trace.answer(self, bool)

    def __int__(self) -> int:
        if self.dtype.kind in "fc":
            return self._refuse_int()
        return self._trace.answer(self, int)

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return self._trace.answer(self, int)

    _refuse_array = escape(
        "making a plain NumPy array, of a list or by writing into one,",
        "use np.stack([...]) for a list, write into np.zeros_like(x), drop np.asarray, or "
        "import linad.numpy as np, whose array(), zeros() and others trace",
    )
    _refuse_scipy = escape(
        "making a plain NumPy array, as this SciPy function does,",
        "linad.scipy has traced forms of many functions, A @ x works with a sparse A, and "
        "@linad.primitive wraps any function",
    )
    __float__ = escape(
        "float() or a math function, or writing it into a plain array,",
        "use NumPy functions (np.sin for math.sin), and write into traced arrays: "
        "np.zeros_like(x), np.stack([...]) or linad.numpy.zeros instead of np.zeros",
    )
    _refuse_int = escape("int()", "use np.floor or np.trunc, or linad.stop_gradient(x) first")
    __complex__ = escape("complex()", "use x + 1j * y")

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
        return _called(np.compress, (condition, self, axis), {} if out is None else {"out": out})

    # What writes into the array.

    def fill(self, value: Any) -> None:
        """As `numpy.ndarray.fill`."""
        if getattr(value, "ndim", 0):
            raise ValueError("fill: a single number is needed")
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

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        """Not supported: the array would change its size under its views."""
        raise UnsupportedError("resize: in place it is not supported; use np.resize(x, shape)")

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """As `numpy.ndarray.reshape`."""
        target = shape[0] if len(shape) == 1 else shape
        return traced_function(np.reshape)(self, target, order=order, copy=copy)

    def transpose(self, *axes: Any) -> Any:
        """As `numpy.ndarray.transpose`."""
        order = axes[0] if len(axes) == 1 else (axes or None)
        return traced_function(np.transpose)(self, order)

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
        return traced_function(np.astype)(self, dtype, copy=copy)

    def copy(self, order: str = "C") -> Any:
        """As `numpy.ndarray.copy`."""
        return traced_function(np.copy)(self, order)

    def flatten(self, order: str = "C") -> Any:
        """As `numpy.ndarray.flatten`."""
        return traced_function(np.copy)(traced_function(np.ravel)(self, order))

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    # For people.

    def __repr__(self) -> str:
        return f"Tracer({self.concrete!r}, level={self._trace.level})"

    def __str__(self) -> str:
        return str(self.concrete)

    def __format__(self, spec: str) -> str:
        return format(self.concrete, spec)


tree.leaf_types.add(Tracer)
