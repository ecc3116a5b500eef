"""How a traced form stands in for a function of SciPy, or for a class."""

import functools
import inspect
import numbers
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from linad.arrays.memory import constant_under
from linad.arrays.traces import running_trace
from linad.arrays.written_values import stacked
from linad.core.frames import library_of, public_module
from linad.core.marks import Attempt
from linad.core.primitive import Traced
from linad.core.shapes import is_inexact
from linad.core.tree import bare
from linad.errors import ArgumentError, DTypeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import astype, require_finite
from linad.scipy.option_kinds import check_options_of

Function = Callable[..., Any]


def holds_traced(value: Any) -> bool:
    """Whether a traced value is among nested lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_traced, value))
    if isinstance(value, dict):
        return any(map(holds_traced, value.values()))
    # A sparse array of `linad.scipy.sparse` says so itself, and an object of a twin of a class.
    kind = type(value)
    return (
        isinstance(value, Traced)
        or getattr(kind, "holds_traced", False)
        or getattr(kind, "holds_array", False)
    )


WITHOUT_EFFECT = (
    *("overwrite_a", "overwrite_b", "overwrite_ab", "overwrite_a_band", "overwrite_x"),
    *("check_finite", "driver", "lapack_driver", "lwork", "tol", "quiet", "plan", "workers"),
)
"""Arguments that say how SciPy is to compute, not what: see `taken_by_name`."""

PLAIN_ERRORS = (TypeError, ValueError, LookupError, AttributeError)


def _in_own_words(function: Any, error: Exception) -> None:
    """Raise an error of linad's own in the place of a bare one, which an option led to.

    Errors of a class of their own, `numpy.linalg.LinAlgError` for one, and those of the user's
    functions, stay.
    """
    if type(error) not in (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return
    place: Any = error.__traceback__
    while place is not None:
        if not library_of(place.tb_frame):
            return
        place = place.tb_next
    raise ArgumentError(f"{full_name(function)}: {error}") from error


def full_name(function: Any) -> str:
    """The name of a function of SciPy, as messages call it: ``"scipy.linalg.expm"``."""
    name = function.__name__
    return f"{public_module(getattr(function, '__module__', None) or 'scipy', name)}.{name}"


@functools.cache
def _names_in_order(function: Any) -> list[str]:
    """The names of the parameters that a function, or a class, takes by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # one in C that tells no signature
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _by_name(function: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(_names_in_order(function), args, strict=False))


def traced_form(scipy_function: Function) -> Callable[[Function], Function]:
    """Make the decorated function take over when an argument is traced.

    Parameters
    ----------
    scipy_function : callable
        Called for plain arguments; the decorated function has its name, its documentation
        and its signature.
    """

    def decorate(traced: Function) -> Function:
        # A SciPy constructor is a class, whose attributes stay there.
        @functools.wraps(scipy_function, updated=())
        def function(*args: Any, **kwargs: Any) -> Any:
            if running_trace() is not None and holds_traced((args, kwargs)):
                given = _by_name(scipy_function, args) | kwargs
                check_options_of(full_name(scipy_function), scipy_function, given)
                _check_masks(scipy_function, (*args, *kwargs.values()))
                args = tuple(map(_as_read, args))
                kwargs = {name: _as_read(value) for name, value in kwargs.items()}
                attempt = Attempt()
                try:
                    return traced(*args, **kwargs)
                except UnsupportedError:
                    if not _are_constant((args, kwargs)):
                        raise
                    attempt.forget()
                    return scipy_function(*_plain(args), **_plain(kwargs))
                except PLAIN_ERRORS as error:
                    _in_own_words(scipy_function, error)
                    raise
            return scipy_function(*args, **kwargs)

        return function

    return decorate


def _check_masks(function: Function, values: tuple[Any, ...]) -> None:
    """Raise for masked arrays where SciPy leaves masked entries out, or refuses them."""
    name = full_name(function)
    if name.startswith(("scipy.stats.", "scipy.linalg.")):
        for value in values:
            if isinstance(value, np.ma.MaskedArray):
                raise UnsupportedError(
                    f"{name} of a masked array around a traced value is not traced by linad; pass "
                    f"the entries that are not masked, m.compressed()"
                )


def _are_constant(value: Any) -> bool:
    """Whether what is traced in arguments depends on nothing, and nothing is called or hidden."""
    if isinstance(value, (list, tuple)):
        return all(map(_are_constant, value))
    if isinstance(value, dict):
        return all(map(_are_constant, value.values()))
    if isinstance(value, Traced):
        return constant_under(value) is not None
    return not callable(value) and not holds_traced(value)


def _plain(value: Any) -> Any:
    """Arguments that `_are_constant` with the plain values of what is traced."""
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return constant_under(value) if isinstance(value, Traced) else value


def _as_read(value: Any) -> Any:
    """A list of numbers, or of lists of numbers, as the array that SciPy makes of it.

    Tuples, lists of arrays and others may be read in parts; they stay. Of a Series, and of a
    subclass of ndarray, SciPy takes the numbers.
    """
    if type(value) is list and _holds_numbers(value):
        return stacked(value)
    if type(value) in (list, tuple):
        return type(value)(map(bare, value))
    return bare(value)


def _holds_numbers(nested: Any) -> bool:
    """Whether all that lists hold are numbers, one of them traced at least."""
    leaves, traced = [nested], False
    while leaves:
        value = leaves.pop()
        if type(value) is list:
            leaves += value
        elif isinstance(value, Traced):
            traced = True
            if value.ndim:  # type: ignore[attr-defined]
                return False
        elif not isinstance(value, numbers.Number):
            return False
    return traced


def arguments_of(scipy_function: Function) -> Callable[..., dict[str, Any]]:
    """What gives the arguments of a call by their names in SciPy's signature.

    Raises
    ------
    ArgumentError
        From what is returned, for arguments that SciPy's function does not take.
    """
    signature = inspect.signature(scipy_function)
    parameters = signature.parameters.values()
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    in_order = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    needed = {p.name for p in parameters if p.default is p.empty}
    more = [p.name for p in parameters if p.kind is p.VAR_KEYWORD]

    def arguments(*args: Any, **kwargs: Any) -> dict[str, Any]:
        given = dict(zip(in_order, args, strict=False))
        count = len(given) + len(kwargs)
        given |= kwargs
        # As `bind` has it, which takes five times as long.
        if len(given) == count == len(args) + len(kwargs) and needed <= given.keys() <= named:
            return given
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise ArgumentError(f"{full_name(scipy_function)}: {error}") from error
        for name in more:
            given |= given.pop(name, {})
        return given

    return arguments


def taken_by_name(scipy_function: Function, form: Function) -> Function:
    """A form that names only those of SciPy's arguments which it reads, for calls with any of them.

    A parameter of the form that has no default has SciPy's. An argument that the form does not name
    is one that changes no result, or must be left at SciPy's default. A form with ``**`` gets all.
    """
    theirs, own = [inspect.signature(f).parameters for f in (scipy_function, form)]
    takes_all = any(p.kind is p.VAR_KEYWORD for p in own.values())
    left = {} if takes_all else {k: p.default for k, p in theirs.items() if k not in own}
    filled = {
        key: theirs[key].default
        for key, p in own.items()
        if p.default is p.empty and key in theirs and theirs[key].default is not p.empty
    }

    def call(**given: Any) -> Any:
        for key in left.keys() & given.keys():
            value = given.pop(key)
            if key not in WITHOUT_EFFECT:
                refuse(scipy_function.__name__, **{key: (value, left[key])})
        return form(**{**filled, **given})

    return call


def called_as(scipy_function: Function, form: Function) -> Function:
    """A form that takes its arguments by name (`taken_by_name`), called as SciPy's function is."""
    arguments, call = arguments_of(scipy_function), taken_by_name(scipy_function, form)
    return lambda *args, **kwargs: call(**arguments(*args, **kwargs))


def bound_form(scipy_function: Function) -> Callable[[Function], Function]:
    """As `traced_form`, for a form that takes its arguments by their names (`taken_by_name`)."""
    return lambda form: traced_form(scipy_function)(called_as(scipy_function, form))


def made_form(scipy_function: Function) -> Callable[[Function], Function]:
    """As `bound_form`, for what makes an object: of constants of a trace SciPy makes its own, which
    all of SciPy takes, and into which adopted code writes."""

    def decorate(form: Function) -> Function:
        bound = called_as(scipy_function, form)

        def make(*args: Any, **kwargs: Any) -> Any:
            if _are_constant((args, kwargs)):
                return scipy_function(*_plain(args), **_plain(kwargs))
            return bound(*args, **kwargs)

        return traced_form(scipy_function)(make)

    return decorate


class StandIn:
    """Base of what stands in for a SciPy object: what only the latter has is refused by name.

    Attributes
    ----------
    stands_for : type
        The SciPy class.
    """

    stands_for: type
    holds_traced = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "stands_for" or not hasattr(self.stands_for, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        kind = self.stands_for.__name__
        raise UnsupportedError(
            f"{kind}.{name} is not traced by linad; ask it of the {kind} that SciPy makes of "
            f"linad.stop_gradient of the data, as a constant"
        )


class TracedClass:
    """Base, before a SciPy class, of one that is SciPy's for plain data.

    Traced data go to ``of_traced``, a static method that takes them by the names that SciPy has
    (`taken_by_name`), and returns what stands in for an instance. Its ``stands_for`` says of which
    class: adopted code may ask by ``isinstance``.
    """

    of_traced: ClassVar[Function]
    _made: ClassVar[Function]

    def __init_subclass__(cls) -> None:
        *ours, theirs = cls.__bases__
        if ours:
            cls._made = staticmethod(called_as(theirs, cls.of_traced))
            cls.__signature__ = inspect.signature(theirs)  # type: ignore[attr-defined]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if holds_traced((args, kwargs)):
            given = _by_name(cls, args) | kwargs
            check_options_of(cls.__name__, cls, given)
            try:
                made = cls._made(*args, **kwargs)
                made.stands_for = cls.__mro__[cls.__mro__.index(TracedClass) + 1]
                return made
            except PLAIN_ERRORS as error:
                _in_own_words(cls, error)
                raise
        return super().__new__(cls)


def inexact(x: Any) -> Any:
    """``x``, which may be lists of traced numbers, as an array of floats or complex numbers."""
    x = asarray(x)
    return x if is_inexact(x.dtype) else astype(x, float)


def doubled(x: Any) -> Any:
    """``x`` as an array in double precision, for functions that SciPy computes in no other."""
    x = inexact(x)
    return astype(x, np.result_type(x.dtype, np.float64), copy=False)


def check_finite(wanted: bool, *arrays: Any) -> None:
    """Raise ValueError for infinities and NaNs, as SciPy does."""
    if wanted:
        for a in arrays:
            require_finite(a)


def check_real(name: str, **given: Any) -> None:
    """Raise for complex numbers where SciPy's function is one of real ones, and drops the rest."""
    for key, value in given.items():
        if value is not None and inexact(value).dtype.kind == "c":
            raise DTypeError(f"{name}: {key} must be real, got {inexact(value).dtype}")


def refuse(name: str, **keywords: Any) -> None:
    """Raise for keywords that have no traced meaning; each comes with its default."""
    for key, (value, default) in keywords.items():
        if holds_traced(value) or (value is not default and np.any(value != default)):
            raise UnsupportedError(
                f"{name}: {key}={value!r} is not traced by linad; leave it at {default!r}"
            )
