"""Subclasses of ndarray around traced values, in adopted code.

A subclass of ndarray is bytes, and no traced array can be its base. So the class is made again over
`Held`, which has an array in place of bytes: its functions are copied, with the cell ``__class__``
of their ``super()`` pointing to the copy, and Held stands for ndarray among the bases. To all that
ask, an instance is one of the class that it was made from.

    x.view(Quantity)    an instance of the copy, which holds x
    q.view(np.ndarray)  the array that q holds
"""

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from linad.adoption.results import as_numpy_gives, holds_array
from linad.arrays.foreign_operands import has_own_arithmetic, refuse_arithmetic
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.core.adopted import METHODS, WATCHERS
from linad.core.array_type import Array
from linad.core.dispatch import FOREIGN
from linad.core.shapes import Shape
from linad.errors import UnsupportedError
from linad.rules.shaping import of_holder


class Held(np.lib.mixins.NDArrayOperatorsMixin):
    """What stands for ndarray: it holds an array, traced or plain, and does what ndarray does.

    Results of its methods and of ufuncs are instances of the same class, as NumPy's are, but for
    numbers that an index reads.
    """

    holds_array = True
    original: type = np.ndarray
    __array_priority__ = 1600.0  # above traced arrays
    __hash__ = None  # type: ignore[assignment]
    _held: Any

    def __array_finalize__(self, obj: Any) -> None:
        """As ndarray's, which does nothing."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return self._like(array)

    def _like(self, array: Array) -> Any:
        return _made(type(self), array, self)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """As `numpy.ndarray.view`."""
        cls = dtype if isinstance(dtype, _TYPE) else type
        if cls is np.ndarray:
            return self._held.view()
        if isinstance(cls, _TYPE) and issubclass(cls, np.ndarray):
            return _made(rebased(cls), self._held.view(), self)
        return self._like(self._held.view(*([] if dtype is None else [dtype])))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        inputs = tuple([remade(x) if _is_wrapped_up(type(x)) else x for x in inputs])
        if "out" in kwargs:
            given = [unwrapped(y) for y in kwargs["out"]]
            if any(y is not None for y in given):
                kwargs["out"] = tuple(given)
            first = next((y for y in given if y is not None), None)
            result = getattr(ufunc, method)(*map(unwrapped, inputs), **kwargs)
            owner = next(o for o in (*inputs, self) if holds_array(o))
            return owner._like(result) if first is None else self
        owner = max(filter(holds_array, inputs), key=_priority, default=None)
        result = getattr(ufunc, method)(*map(unwrapped, inputs), **kwargs)
        if owner is None:
            return result
        if isinstance(result, tuple):
            return tuple([owner._result(y, ufunc, inputs, k) for k, y in enumerate(result)])
        return owner._result(result, ufunc, inputs, 0)

    def _result(self, y: Array, ufunc: Any, inputs: tuple[Any, ...], k: int) -> Any:
        """The k-th result of a ufunc: as the class wraps results up, where it does."""
        if type(self).__array_wrap__ is Held.__array_wrap__:
            return self._like(y)
        return self.__array_wrap__(y, (ufunc, inputs, k), False)

    def __array_function__(
        self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        result = func(*unwrapped(args), **unwrapped(kwargs))
        return as_numpy_gives(result, func, args, kwargs, self._like)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if sys._getframe(1).f_code.co_name == "_matmul_dispatch":
            # SciPy's sparse arrays ask so before they multiply; see `linad.arrays.leaving`.
            shell = np.empty((), object)
            shell[()] = self
            return shell
        return self._held.__array__(dtype, copy=copy)

    def __matmul__(self, other: Any) -> Any:
        if issparse(other):
            return self._of_sparse(self._held @ other, other)
        return super().__matmul__(other)

    def __rmatmul__(self, other: Any) -> Any:
        if issparse(other):
            return self._of_sparse(other @ self._held, other)
        return super().__rmatmul__(other)

    def _of_sparse(self, product: Array, other: Any) -> Any:
        """A product with a sparse SciPy array, which makes a plain array of it."""
        return product

    def _set_shape(self, shape: Shape) -> None:
        """As ndarray's, for subclasses, from NumPy 2.5 on."""
        self._held.shape = shape

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Nothing: an array that is not to be written into can be traced as it is."""

    def __getitem__(self, index: Any) -> Any:
        entry = self._held[unwrapped(index)]
        return self._like(entry) if np.ndim(entry) else entry

    def __setitem__(self, index: Any, value: Any) -> None:
        self._held[unwrapped(index)] = unwrapped(value)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._held)

    def __float__(self) -> float:
        return float(self._held)

    def __repr__(self) -> str:
        return f"{self.original.__name__}({self._held!r})"


_TYPE = type


def _method(name: str) -> Callable[..., Any]:
    of_ndarray = getattr(np.ndarray, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args = tuple([_as_numbers(a) for a in args])
        if not holds_array(self):  # ``ndarray.ravel(x)``
            return getattr(self, name)(*unwrapped(args), **unwrapped(kwargs))
        traced = METHODS.get(name) if type(self._held) is Tracer else None
        call = functools.partial(traced, self._held) if traced else getattr(self._held, name)
        result = call(*unwrapped(args), **unwrapped(kwargs))
        return as_numpy_gives(result, of_ndarray, (self, *args), kwargs, self._like)

    method.__name__ = method.__qualname__ = name
    return method


def by_class(f: Any) -> Callable[..., Any]:
    """A method that is called by the class, ``np.ndarray.sum(x)``, of what holds an array too."""
    name = f.__name__

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        if holds_array(x):
            return getattr(Held, name)(x, *args, **kwargs)
        if type(x) is Tracer:
            traced = METHODS.get(name)
            return traced(x, *args, **kwargs) if traced else getattr(x, name)(*args, **kwargs)
        return f(x, *args, **kwargs)

    return call


def _as_numbers(x: Any) -> Any:
    """A plain array of a class that calculates as ndarray does, as ndarray: `Held` is the class."""
    kind = type(x)
    if kind is np.ndarray or not isinstance(x, np.ndarray):
        return x
    return x.view(np.ndarray) if not has_own_arithmetic(kind) or _is_wrapped_up(kind) else x


def _attribute(name: str) -> property:
    def read(self: Any) -> Any:
        result = getattr(self._held, name)
        return self._like(result) if type(result) in (Tracer, np.ndarray) else result

    def write(self: Any, value: Any) -> None:
        setattr(self._held, name, unwrapped(value))

    return property(read, write)


def _is_wrapped_up(kind: type) -> bool:
    """Whether it is a subclass of ndarray that sees to the results of ufuncs, not to the ufuncs."""
    return (
        issubclass(kind, np.ndarray)
        and has_own_arithmetic(kind)
        and kind.__array_ufunc__ is np.ndarray.__array_ufunc__
    )


def _priority(x: Any) -> float:
    """By which NumPy chooses the operand that wraps a result up; the first of several."""
    kind = type(x).original
    own = kind.__array_priority__ is not np.ndarray.__array_priority__
    return float(kind.__array_priority__) if own else 0.0


def _fill() -> None:
    """Give `Held` what ndarray has, by its name."""
    for name in dir(np.ndarray):
        if not name.startswith("_") and name not in vars(Held):
            made = _method if callable(getattr(np.ndarray, name)) else _attribute
            setattr(Held, name, made(name))


_fill()


def unwrapped(x: Any) -> Any:
    """The held arrays in the place of what holds them, in containers as well."""
    if holds_array(x):
        return x._held
    if type(x) in (list, tuple):
        return type(x)([unwrapped(part) for part in x])
    if type(x) is dict:
        return {key: unwrapped(part) for key, part in x.items()}
    return x


def _made(cls: Any, array: Array, source: Any) -> Any:
    new = object.__new__(cls)
    new.__dict__["_held"] = array
    new.__array_finalize__(source)
    return new


# The class made again.

_REBASED: dict[type, type] = {np.ndarray: Held}
_COPIED: dict[tuple[type, tuple[type, ...]], type] = {}

MADE_ELSEWHERE: dict[type, Callable[[], type]] = {}
"""Subclasses that another module makes again, and what gives the class made."""

_NOT_COPIED = ("__dict__", "__weakref__", "__class__", "__init_subclass__")


def forget() -> None:
    """Make the classes again when they are next needed: their functions have changed."""
    _REBASED.clear()
    _COPIED.clear()
    _REBASED[np.ndarray] = Held


def rebased(cls: Any) -> Any:
    """A class with `Held` where ndarray is among its bases; the class itself if it is not."""
    if not issubclass(cls, np.ndarray):
        return cls
    if cls in MADE_ELSEWHERE:
        return MADE_ELSEWHERE[cls]()
    if cls not in _REBASED:
        slots = vars(cls).get("__slots__")
        if slots or issubclass(cls, (np.recarray, np.memmap)):
            raise UnsupportedError(
                f"view: a traced value cannot become a {cls.__module__}.{cls.__qualname__}, a "
                f"subclass of numpy.ndarray {'with slots' if slots else 'that NumPy reads itself'};"
                f" use a plain array"
            )
        own = {"__class__": property(lambda self: cls), "original": cls}
        bases = tuple([rebased(base) for base in cls.__bases__])
        _REBASED[cls] = copied_class(cls, bases, **own)
    return _REBASED[cls]


def copied_class(cls: type, bases: tuple[type, ...], **own: Any) -> type:
    """A class with the same functions over other bases, and members of its ``own``."""
    known = _COPIED.get((cls, bases))
    if known is None:
        cell = types.CellType()
        body = {k: _copied(v, cell) for k, v in vars(cls).items() if k not in _NOT_COPIED}
        known = cell.cell_contents = type(cls)(cls.__name__, bases, body | own)
        _COPIED[cls, bases] = known
    return known


def _copied(v: Any, cell: Any) -> Any:
    """A member of a class for the class made again."""
    if isinstance(v, types.FunctionType):
        return _function(v, cell)
    if isinstance(v, (staticmethod, classmethod)):
        return type(v)(_copied(v.__func__, cell))
    if isinstance(v, property):
        parts = [None if f is None else _copied(f, cell) for f in (v.fget, v.fset, v.fdel)]
        made: Any = type(v)
        return made(*parts, v.__doc__)
    return v


def _function(f: types.FunctionType, cell: Any) -> types.FunctionType:
    closure = f.__closure__
    if closure and "__class__" in f.__code__.co_freevars:
        i = f.__code__.co_freevars.index("__class__")
        closure = (*closure[:i], cell, *closure[i + 1 :])
    new = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, closure)
    new.__kwdefaults__ = f.__kwdefaults__
    new.__dict__.update(f.__dict__)
    new.__qualname__, new.__doc__ = f.__qualname__, f.__doc__
    return new


def view_as(x: Array, cls: type) -> Any:
    """``x.view(cls)`` of a traced array."""
    if cls is np.ndarray:
        return x.view()
    return _made(rebased(cls), x.view(), x)


def _beside(ufunc: Any, *operands: Any) -> Any:
    """A ufunc of a traced array and of what was made, before the derivative, with other bytes."""
    first = next(x for x in operands if has_own_arithmetic(type(x)))
    if not WATCHERS:
        refuse_arithmetic(first, "an operand")
    return ufunc(*[remade(x) if x is first else x for x in operands])


def remade(x: Any) -> Any:
    """What stands for the very object: with all that it carries, if views carry it or not."""
    trace = running_trace()
    if trace is None:
        return x
    new = _made(rebased(type(x)), trace.constant(x.view(np.ndarray)), x)
    new.__dict__.update(getattr(x, "__dict__", {}))
    return new


FOREIGN[np.ndarray] = _beside


def array_maker(maker: Callable[..., Any], keeps: bool) -> Callable[..., Any]:
    """``asarray`` and its kind, of an array or of what holds one; ``keeps``: of the same class."""

    @functools.wraps(maker)
    def make(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not holds_array(a):
            return maker(of_holder(unwrapped(a)), *args, **kwargs)
        subok = kwargs.pop("subok", keeps)
        made = maker(a._held, *args, **kwargs)
        return a._like(made) if subok else made

    return make


def new_array(original: Callable[..., Any]) -> Callable[..., Any]:
    """``ndarray.__new__(cls, shape, dtype, buffer)``, whose buffer may be a traced array."""

    def new(
        cls: Any, shape: Shape = (), dtype: Any = float, buffer: Array | None = None, *rest: Any
    ) -> Any:
        array = unwrapped(buffer)
        if type(array) is not Tracer:
            return original(cls, shape, dtype, buffer, *rest)
        if any(rest):
            raise UnsupportedError(
                "ndarray.__new__: offset, strides and order of a traced buffer are not traced by "
                "linad; reshape the array, and take a view of it"
            )
        made = array.astype(dtype, copy=False).reshape(shape)
        return _made(rebased(getattr(cls, "original", cls)), made, None)  # of no other array

    return new
