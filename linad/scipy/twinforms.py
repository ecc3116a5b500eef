"""What a module of `linad.scipy` gives of a function or class of SciPy that has a twin."""

import abc
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from linad.arrays.traces import running_trace
from linad.core.callers import innermost
from linad.core.failures import is_from_compiled
from linad.core.frames import library_of
from linad.errors import UnsupportedError
from linad.scipy.mirror import PLAIN_ERRORS, full_name, holds_traced, traced_form
from linad.scipy.twins import class_twin, function_twin, instance_twin, twin_of


@functools.cache
def form_by_twin(original: Any) -> Any:
    """SciPy's own for plain arguments, its twin for traced ones.

    A class is called as SciPy's; while a trace runs its objects are those of its twin, whose
    methods take traced values.
    """
    if isinstance(original, types.FunctionType):
        return _of_function(original)
    return _of_class(original) if isinstance(original, type) else FormOfObject(original)


def twins_among(module: types.ModuleType, names: Sequence[str]) -> Callable[[str], Any]:
    """The forms by twins of some functions and classes of a module, for `mirrored_names`."""

    def form(name: str) -> Any:
        return form_by_twin(getattr(module, name)) if name in names else None

    return form


def _of_function(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.cache
    def twin() -> Callable[..., Any]:  # modules have forms that make no twins when imported
        return function_twin(original)

    @traced_form(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return twin()(*map(_callback, args), **kwargs)
        except PLAIN_ERRORS as error:
            _at_compiled_code(original, error)
            raise

    run.is_twin = True  # type: ignore[attr-defined]
    return run


def _callback(value: Any) -> Any:
    """A SciPy function that is given to be called, as one that takes traced values."""
    return twin_of(value) if isinstance(value, types.FunctionType) else value


def _at_compiled_code(function: Callable[..., Any], error: Exception) -> None:
    """Raise an error that names the function, where compiled code was given a traced value."""
    if is_from_compiled(error):
        place: Any = innermost(error)
        if library_of(place.tb_frame) == "scipy":
            raise UnsupportedError(
                f"{full_name(function)}: with these arguments SciPy hands a traced value to "
                f"compiled code ({place.tb_frame.f_code.co_name}); pass linad.stop_gradient of "
                f"it, or wrap the call with @linad.primitive and give its Jacobian"
            ) from error


class _OfScipy(type):
    """The type of a stand-in for a class of SciPy."""

    _original: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        kind = cls._original if running_trace() is None else class_twin(cls._original)
        return kind(*args, **kwargs)

    def __instancecheck__(cls, x: Any) -> bool:
        return cls.__subclasscheck__(type(x))

    def __subclasscheck__(cls, kind: type) -> bool:
        # An abstract class asks its subclasses, of which the stand-in is one: they cannot ask it.
        return not {cls, cls._original, class_twin(cls._original)}.isdisjoint(kind.__mro__)


class _OfAbstract(_OfScipy, abc.ABCMeta):
    """As `_OfScipy`, of an abstract class."""


def _of_class(original: type) -> type:
    body: dict[str, Any] = {"_original": original, "__doc__": original.__doc__, "is_twin": True}
    body["__module__"], body["__qualname__"] = original.__module__, original.__qualname__
    for name, member in vars(original).items():
        if isinstance(member, (staticmethod, classmethod)) and not name.startswith("_"):
            body[name] = staticmethod(_of_maker(original, name))
    kind = _OfScipy if type(original) is type else _OfAbstract
    return kind(original.__name__, (original,), body)


def _of_maker(original: type, name: str) -> Callable[..., Any]:
    """A way to make an object other than to call its class."""
    theirs = getattr(original, name)

    @functools.wraps(theirs)
    def make(*args: Any, **kwargs: Any) -> Any:
        if running_trace() is None:
            return theirs(*args, **kwargs)
        return getattr(class_twin(original), name)(*args, **kwargs)

    return make


class FormOfObject:
    """A SciPy object whose methods take traced values: a distribution, or a frozen one."""

    is_twin = True

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        if name == "_original":
            raise AttributeError(name)
        theirs = getattr(self._original, name)
        if name.startswith("_") or not callable(theirs):
            return theirs
        return traced_method(self._original, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if running_trace() is not None and holds_traced((args, kwargs)):
            return instance_twin(self._original)(*args, **kwargs)
        return FormOfObject(self._original(*args, **kwargs))

    def __repr__(self) -> str:
        return repr(self._original)


def traced_method(owner: Any, name: str) -> Callable[..., Any]:
    """A method of a SciPy object, which runs on the object's twin for traced values."""
    theirs = getattr(owner, name)

    @functools.wraps(theirs)
    def method(*args: Any, **kwargs: Any) -> Any:
        if running_trace() is not None and holds_traced((args, kwargs)):
            return getattr(instance_twin(owner), name)(*args, **kwargs)
        return theirs(*args, **kwargs)

    return method
