"""`jit`: functions, derivatives and linearizations as compiled programs.

The first call runs the function as it is, on traced values, and keeps the tape. Later calls
with arguments of the same containers, shapes and dtypes run the tape, compiled (`linad.sweeps`;
Numba is imported then). What Python decided on the way is guarded: where it would decide
otherwise, the function runs again and another variant is kept.
"""

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

from linad.core.failures import SUSPECT, internal_error, is_own_fault
from linad.core.folding import fold
from linad.core.options import NAMES, POSITIONS, choice, takes
from linad.core.shapes import check_function, name_of
from linad.core.transformed_functions import named
from linad.errors import TracerError
from linad.jit.known_paths import KnownCalls
from linad.jit.long_calls import LongCall, called
from linad.jit.outside import Outside
from linad.jit.recorded_anew import Recordings
from linad.jit.signature import Signature, StaticArguments
from linad.jit.specializations import Variant
from linad.operators.provided import OTHER

P = ParamSpec("P")
R = TypeVar("R")


class _Entered:
    """An object whose first word machine code knows: `linad.sweeps.cpu.direct_calls`."""

    __slots__ = ("_entry",)
    _entry: Any


class Jitted(_Entered, Generic[P, R]):
    """A function that runs compiled from its second call on; see `linad.jit`."""

    compiles = True

    def __init__(
        self, f: Callable[..., Any], static: StaticArguments, device: str | None = None
    ) -> None:
        self.function, self.static, self.device = f, static, device
        self.outside = Outside(f)
        self.variants, self.recordings = KnownCalls(), Recordings()
        self.related: dict[Any, Any] = {}  # what else is compiled of it: sparse derivatives
        self._short: Any = None
        self.narrow = False  # whether it computes in single precision, whatever comes in
        functools.update_wrapper(self, f, updated=())

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        short = self._short
        if short is not None and not kwargs:
            found = short(args)
            if found is not OTHER:
                return found  # type: ignore[no-any-return]  # what f returns is not known here
        try:
            return self._call(args, kwargs)  # type: ignore[no-any-return]
        except Exception as error:
            __tracebackhide__ = fold(error)
            raise

    _call_in_python = __call__

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return called(self, args, kwargs)
        except TracerError as error:
            hint = _static_numbers(args, kwargs)
            if hint and hint not in str(error):
                error.args = (f"{error}; {hint}",)
            raise
        except SUSPECT as error:
            if is_own_fault(error):
                raise internal_error(error, f"jit: {name_of(self.function)}") from error
            raise

    def variant(self, /, *args: Any, **kwargs: Any) -> Variant:
        """The path that a call takes, recorded if it is new; the arguments are not changed.

        Raises
        ------
        TracerError
            If the arguments, or what the function uses beside them, are traced.
        """
        return self._variant(args, kwargs)[0]

    def _variant(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Variant, list[Any]]:
        """The path of a call, and the arrays that it reads from outside."""
        call = LongCall(self, Signature(*self.static.flatten(args, kwargs), self.narrow))
        return call.path(), call.arguments.outside

    def njit(self, /, *args: Any, **kwargs: Any) -> Any:
        """The program that a call runs, as a function that Numba's own functions can call.

        Parameters
        ----------
        *args, **kwargs
            Signature like those it will be called with: their shapes and dtypes count, and
            what Python decides on their values.

        Returns
        -------
        dispatcher
            Of one signature, compiled. It takes the arrays and floats among the arguments, in
            order, then one array for each result that is an array, to be written into; it
            returns the results that are numbers: none, one, or a tuple. Arrays are C-ordered;
            those that are only read may be read-only. A function that writes into an argument
            writes into it.

        Raises
        ------
        FallbackError
            If the program calls NumPy; the message names the primitives.
        OutputError
            If a result is neither an array nor a number.

        Notes
        -----
        What the function reads from outside its arguments (globals, closures, attributes) is
        bound as it is when the program is made: arrays are copied, later changes are not seen.

        It needs neither the interpreter nor its lock, and allocates nothing. Each thread that
        is in it borrows a workspace from a fixed number of them. Raises ValueError for arrays
        of other shapes, or that overlap, `linad.errors.GuardError` where Python would decide
        otherwise, or where derivatives are NaN that were not, and may be zeros of entries that
        nobody reads; and ArithmeticError where a matrix is singular.

        Examples
        --------
        >>> import numba, numpy as np, linad
        >>> g = linad.jit(linad.value_and_grad(lambda x: np.sum(x**2))).njit(np.zeros(2))
        >>> @numba.njit
        ... def descend(x, gradient):
        ...     for _ in range(100):
        ...         value = g(x, gradient)
        ...         x -= 0.1 * gradient
        ...     return value
        >>> bool(descend(np.ones(2), np.empty(2)) < 1e-15)
        True
        """
        variant, outside = self._variant(args, kwargs)
        return variant.callable_from_numba(name_of(self.function), outside)

    def _enter(self, short: Callable[..., Any] | None) -> None:
        """From now on calls go this way first, and where machine code can, by it alone."""
        self._short = short
        entry = getattr(short, "entry", None)
        if entry is None and type(self) is Jitted:
            return
        from linad.sweeps.cpu.direct_calls import NO_ENTRY, machine_called

        self._entry = NO_ENTRY if entry is None else entry
        self.__class__ = machine_called(Jitted)

    def __reduce__(self) -> Any:
        # A decorated function is found by its name, as functions are.
        static = self.static
        made = _jitted, (self.function, static.argnums, static.argnames, self.device)
        return named(self) or made

    def __repr__(self) -> str:
        return f"<jit {name_of(self.function)}>"


def operation_by_operation(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function that `jit` was given: of a compiled one only the whole is known, not what
    depends on what."""
    while isinstance(f, Jitted):
        f = f.function
    return f


def _static_numbers(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The remedy where Python has to know the value of a number among the arguments."""
    positions = [k for k, x in enumerate(args) if type(x) in (float, complex)]
    names = [name for name, x in kwargs.items() if type(x) in (float, complex)]
    options = [f"static_argnums={tuple(positions)}"] if positions else []
    options += [f"static_argnames={tuple(names)}"] if names else []
    if not options:
        return ""
    return (
        f"linad.jit traces Python numbers as well; where Python has to know them, "
        f"linad.jit(f, {', '.join(options)}) makes them part of the program"
    )


class _LeftOut:
    """In place of a function: `jit` is called with options alone, as a decorator."""

    def __repr__(self) -> str:
        return "<left out>"


_LEFT_OUT: Any = _LeftOut()


@overload
def jit(
    f: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    device: Literal["cuda"] | None = ...,
) -> Jitted[P, R]: ...


@overload
def jit(
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    device: Literal["cuda"] | None = ...,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


@takes(static_argnums=POSITIONS, static_argnames=NAMES, device=choice("cuda", None))
def jit(
    f: Any = _LEFT_OUT,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    device: Literal["cuda"] | None = None,
) -> Any:
    """Compile a function: its second call, and every later one, runs machine code.

    Parameters
    ----------
    f : callable
        A function of arrays, or containers of arrays, in plain NumPy. Left out: a decorator.
    static_argnums : int or sequence of int
        Positions of arguments that are part of the program, not data; negative ones count from
        the end. An argument counts as static by keyword as well.
    static_argnames : str or sequence of str
        The same by name.
    device : "cuda", optional
        Where it runs for NumPy's arrays, which are moved to the GPU and back. Arrays that are in
        the memory of a GPU make it run there without this; see :doc:`/cuda`.

    Returns
    -------
    callable
        With the signature and results of ``f``. It can be differentiated, jitted again, and
        called inside other jitted or differentiated functions.

    Raises
    ------
    TypeError
        If ``f`` is not a function.
    OptionError
        If ``f`` has no argument of that position or name.
    DeviceError
        When called with arrays of the host and of a GPU together, or where there is no GPU.
    OutputError
        When called, if ``f`` returns nothing and writes into no argument, or returns something
        other than arrays, numbers and strings in containers.

    Warns
    -----
    UserWarning
        When ``f`` takes more paths than ``linad.config(variants=...)``, and when it draws random
        numbers while it is traced.

    Notes
    -----
    The first call runs ``f`` itself and returns its result. Programs are kept by containers,
    shapes and dtypes of the arguments. Arrays, and floats, are data; integers, booleans,
    strings and other objects are part of the program. Objects of a user's classes are told apart
    by their attributes.

    What ``f`` reads from outside (globals, closures, defaults, attributes of a method's object)
    counts as it is at each call, through all functions of the user's own modules: another
    function, object or number is another program. An array is read at its address; one that
    plain NumPy makes something of before it meets a traced value is compared, and where it
    differs ``f`` runs again. Random numbers that ``f`` draws would be the same at every call; a
    warning says so.

    Python decisions on values (``if x[0] > 0``) are checked at each call; another path is
    another program. A primitive without a kernel runs in NumPy, inside the program; what
    happens where, `linad.explain` shows.

    Calling a function of one array costs about a quarter of a microsecond on top of the work.

    Examples
    --------
    >>> import numpy as np, linad
    >>> g = linad.jit(linad.grad(lambda x: np.sum(np.sin(x))))
    >>> for _ in range(3):
    ...     y = g(np.zeros(2))
    >>> y
    array([1., 1.])
    """
    if f is _LEFT_OUT:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames, device=device
        )
    if isinstance(f, (classmethod, staticmethod)):
        return type(f)(_jitted(f.__func__, static_argnums, static_argnames, device))
    return _jitted(f, static_argnums, static_argnames, device)


def _jitted(
    f: Any,
    argnums: int | Sequence[int],
    argnames: str | Sequence[str],
    device: str | None = None,
) -> Jitted:
    check_function("jit", f)
    return Jitted(f, StaticArguments(f, argnums, argnames), device)
