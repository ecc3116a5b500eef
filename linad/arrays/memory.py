"""An ndarray is bytes at an address; a traced array is not. What is left of that side of it.

Where the bytes lie is answered for the value that stands there (``strides``, ``flags``); what
would hand them out or read them as something else raises, and names what to do instead.
"""

import operator
import sys
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from linad.arrays.buffers import is_private, refresh, root_of
from linad.arrays.namespaces import namespace_for
from linad.arrays.refusing import ADOPT, WRAP, label, numpys_error, refuse
from linad.core.adopted import METHODS, WATCHERS, is_adopted
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.errors import BytesError, UnsupportedError

OUTSIDE = "call linad.stop_gradient(x) first"


_ARRAY: Any = np.empty(0)  # answers for all of them


def _tolist(x: Array) -> Any:
    return np.asarray(x).tolist()


def _item(x: Array, *index: Any) -> Any:
    return np.asarray(x).item(*index)


def constant_under(x: Array) -> Any:
    """The plain value of what depends on no argument of any trace; None for all else."""
    while isinstance(x, Traced):
        if not x._trace.is_constant(x):
            return None
        refresh(x)  # type: ignore[arg-type]
        x = x._value  # type: ignore[attr-defined]
    return x


def escape(
    how: str,
    remedy: str,
    exact: Callable[..., Any] | None = None,
    kind: str = "",
    by_caller: bool = False,
    decides: Callable[[Any], Any] = operator.attrgetter("decided"),
) -> Callable[..., Any]:
    """A method that would give the value away without its derivative, and refuses to.

    Integers, booleans, what `stop_gradient` gave and what depends on no argument, an array that
    adopted code has made for one, have none to lose: for these ``exact`` answers from the plain
    value. What
    it refuses, as ``float`` of several entries, is refused in its words. Without a ``kind`` it is
    bytes that are asked for, and the refusal leaves no mark. ``by_caller``: the method is one that
    Python calls, for a function that the message names. ``decides``: what ``exact`` is given, for
    which a recorded program then holds.
    """

    def refusal(self: Any, *args: Any, **kwargs: Any) -> Any:
        if exact is not None:
            if self.dtype.kind in "biu" or self._trace.is_detached(self):
                return exact(decides(self), *args, **kwargs)
            if (plain := constant_under(self)) is not None:
                return exact(plain, *args, **kwargs)
            if sys._getframe(1).f_globals.get("__name__") == "logging":
                return exact(self.printed(), *args, **kwargs)
            _refuse_as_numpy(self, exact, args, kwargs)
        return refuse(self, how, remedy, by_caller, kind)

    return refusal


def whole(x: Any) -> Any:
    """What ``int`` makes of a number: a recorded program holds for this integer, not for the
    number, which is another one at every point."""
    if x.dtype.kind == "f" and not x.ndim and abs(x.concrete) < WHOLE:
        return int(x.astype(np.int64))
    return x.decided


WHOLE = 2.0**63
"""What is smaller is rounded to an integer of 64 bits."""


def in_adopted_code(name: str, refusal: Callable[..., Any]) -> Callable[..., Any]:
    """A method that adopted code may call, and what it is elsewhere."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if WATCHERS and self.dtype.kind in "fc" and is_adopted(sys._getframe(1)):
            return METHODS[name](self, *args, **kwargs)
        return refusal(self, *args, **kwargs)

    method.__name__ = name
    return method


def _refuse_as_numpy(
    self: Any, exact: Callable[..., Any], args: tuple[Any, ...], kwargs: Any
) -> None:
    """Raise what NumPy raises, where it does not give the plain value either."""
    try:
        with warnings.catch_warnings(action="ignore"):
            exact(self.concrete, *args, **kwargs)
    except (ValueError, OverflowError):
        _ = self.decided  # as int(nan): it is the value that decides
        raise
    except TypeError as error:
        if self.ndim:
            raise numpys_error(self, error) from None
        if self.dtype.kind != "c":
            raise
        # The int of a complex number: into an array of integers NumPy writes it, though.


def _no_bytes(name: str, remedy: str) -> Any:
    """An attribute that an array without bytes does not have: ``hasattr`` says so too."""

    def refusal(self: Any) -> NoReturn:
        raise BytesError(f"{name}: a traced value {label(self)} lends no memory; {remedy}")

    return property(refusal, doc="Not to be had from a traced array.")


def _reread(name: str, remedy: str) -> Callable[..., NoReturn]:
    """A method that reads or writes the bytes as something else."""

    def refusal(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(
            f"{name}: the bytes of a traced value {label(self)} cannot be read as something "
            f"else, which has no derivative; {remedy}",
            kind=name,
            trace=self._trace,
        )

    refusal.__name__ = refusal.__qualname__ = name
    return refusal


_TYPE = type


class Flags:
    """The flags of an array, to be read; what is set changes nothing."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        object.__setattr__(self, "_array", array)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._array.flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._array[...].flags, name, value)

    def __getitem__(self, name: str) -> Any:
        return self._array.flags[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._array[...].flags[name] = value

    def __eq__(self, other: Any) -> bool:
        return bool(self._array.flags == (other._array.flags if type(other) is Flags else other))

    __hash__ = None  # type: ignore[assignment]  # as the flags of an ndarray

    def __repr__(self) -> str:
        return repr(self._array.flags)


class NotTraced:
    """The plain array that a traced argument is a view of: not None, and nothing else."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise UnsupportedError(
            f"base: a traced value {self._name} is a view of an array that is not traced; use "
            f"np.shares_memory(x, y) to compare memory, or pass the whole array as an argument"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.__getattr__("__array__")


class MemoryMethods(Traced):
    """The attributes and methods of ndarray that are about its memory."""

    __slots__ = ()

    # What the value that stands there answers.

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from an entry to the next along each axis."""
        refresh(self)
        return self.laid.strides  # type: ignore[attr-defined, no-any-return]

    @property
    def flags(self) -> Any:
        """Flags of the value; setting one has no effect on the array."""
        refresh(self)
        return Flags(self.placed)

    @property
    def _view_of(self) -> Any:
        """As `base` among traced arrays, and nobody takes note of the question."""
        root = root_of(self)
        return None if root is self else root

    @property
    def base(self) -> Any:
        """The traced array whose entries a view shows; None for one that is not a view.

        For an argument that came as a view of a plain array it is neither: an object that is
        not None and can be used for nothing else.
        """
        root = root_of(self)
        placed = root.placed
        if root is not self:
            return root
        came_as_view = isinstance(placed, np.ndarray) and placed.base is not None
        return NotTraced(label(self)) if came_as_view and not is_private(root) else None

    device = "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """As `numpy.ndarray.to_device`: the array itself, which is on the CPU."""
        _ARRAY.to_device(device, stream=stream)  # raises for others
        return self

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        _ARRAY.__array_namespace__(api_version=api_version)  # raises for unknown ones
        return namespace_for(sys._getframe(1))

    def __dlpack_device__(self) -> tuple[int, int]:
        return _ARRAY.__dlpack_device__()

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """As `numpy.ndarray.view`, of the array's own dtype."""
        cls = type if type is not None else dtype
        if isinstance(cls, _TYPE) and issubclass(cls, np.ndarray) and cls is not np.ndarray:
            return self._as_subclass(cls)
        if dtype is None or dtype is np.ndarray or np.dtype(dtype) == self.dtype:
            return self.reshape(self.shape)
        return self._refuse_view(dtype)

    def _as_subclass(self, cls: Any) -> Any:
        if WATCHERS and is_adopted(sys._getframe(2)):
            return METHODS["view"](self, cls)
        return self._refuse_subclass(cls)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """As `numpy.ndarray.setflags`, which a traced array has no use for."""
        if write is not None and not write and not (WATCHERS and is_adopted(sys._getframe(1))):
            raise UnsupportedError(
                "setflags: a traced array cannot be made read-only; leave it out, linad never "
                "changes an array of yours"
            )

    # What would hand the bytes out, or read them as something else.

    data = _no_bytes("data", "linad.stop_gradient(x).data is that of the value")
    ctypes = _no_bytes("ctypes", "linad.stop_gradient(x).ctypes is that of the value")
    _as_parameter_ = property(
        escape(
            "calling compiled code by ctypes", f"compiled code is not traced; {WRAP}", kind="ctypes"
        )
    )
    _refuse_view = _reread(
        "view", "use x.astype(dtype), or np.stack([z.real, z.imag], -1) for z.view(float)"
    )
    _refuse_subclass = escape(
        *("view() as a subclass of ndarray", "leave the view out", None, "view"),
    )
    _refuse_getfield = _reread("getfield", "use x.astype(dtype), x.real or x.imag")
    _refuse_setfield = _reread("setfield", "use x[...] = value, x.real = value or x.imag = value")

    def getfield(self, dtype: Any, offset: int = 0) -> Any:
        """As `numpy.ndarray.getfield`, of the array's own dtype: all of it."""
        if np.dtype(dtype) != self.dtype or offset:
            return self._refuse_getfield(dtype)
        return self.reshape(self.shape)

    def setfield(self, val: Any, dtype: Any, offset: int = 0) -> None:
        """As `numpy.ndarray.setfield`, of the array's own dtype: all of it."""
        if np.dtype(dtype) != self.dtype or offset:
            self._refuse_setfield(val, dtype)
        self[...] = val

    byteswap = _reread("byteswap", OUTSIDE)
    item = in_adopted_code(
        "item",
        escape("item()", f"leave it out of a number; index an array, x[0]; {ADOPT}", _item, "item"),
    )
    tolist = in_adopted_code(
        "tolist",
        escape("tolist()", f"iterate over the array instead; {ADOPT}", _tolist, "tolist"),
    )
    tobytes = in_adopted_code(
        "tobytes",
        escape("tobytes()", OUTSIDE, lambda x, *args, **kwargs: x.tobytes(*args, **kwargs)),
    )
    if hasattr(np.ndarray, "tostring"):  # until NumPy 2.2
        tostring = escape("tostring()", OUTSIDE)
    tofile = escape("tofile()", OUTSIDE)
    dump = escape("dump()", OUTSIDE)
    dumps = escape("dumps()", OUTSIDE)
    __dlpack__ = escape("exporting by DLPack", OUTSIDE)
    __reduce__ = escape("pickling", "return the value from the traced function")
