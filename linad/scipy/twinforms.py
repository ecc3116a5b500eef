"""What a module of `linad.scipy` gives of a function or class of SciPy that has a twin."""

import functools
from collections.abc import Callable
from typing import Any

from linad.arrays.traces import running_trace
from linad.core.frames import package_of
from linad.errors import UnsupportedError
from linad.scipy.mirror import PLAIN_ERRORS, full_name, traced_form
from linad.scipy.twins import class_twin, function_twin


@functools.cache
def form_by_twin(original: Any) -> Any:
    """SciPy's own for plain arguments, its twin for traced ones.

    A class is called as SciPy's; while a trace runs its objects are those of its twin, whose
    methods take traced values.
    """
    made = _of_class(original) if isinstance(original, type) else _of_function(original)
    made.is_twin = True
    return made


def _of_function(original: Callable[..., Any]) -> Callable[..., Any]:
    @traced_form(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function_twin(original)(*args, **kwargs)
        except PLAIN_ERRORS as error:
            _at_compiled_code(original, error)
            raise

    return run


_FROM_COMPILED = ("Tracer", "No matching signature", "object arrays are not supported")


def _at_compiled_code(function: Any, error: Exception) -> None:
    """Raise an error that names the function, where compiled code was given a traced value."""
    if type(error) in (TypeError, ValueError) and any(w in str(error) for w in _FROM_COMPILED):
        place: Any = error.__traceback__
        while place.tb_next is not None:
            place = place.tb_next
        if package_of(place.tb_frame) == "scipy":
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
        return isinstance(x, cls._original)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls._original)


def _of_class(original: type) -> type:
    body: dict[str, Any] = {"_original": original, "__doc__": original.__doc__}
    body["__module__"], body["__qualname__"] = original.__module__, original.__qualname__
    return _OfScipy(original.__name__, (original,), body)
