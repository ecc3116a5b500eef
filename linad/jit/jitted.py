"""`jit`: functions, derivatives and linearizations as compiled programs.

The first call runs the function as it is, on traced values, and keeps the tape. Later calls
with arguments of the same containers, shapes and dtypes run the tape, compiled (`linad.sweeps`;
Numba is imported then). What Python decided on the way is guarded: where it would decide
otherwise, the function runs again and another variant is kept.
"""

import functools
import logging
import types
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

import numpy as np

from linad.arrays.tracer import Tracer
from linad.core import device_arrays, tree
from linad.core.callers import warn_user
from linad.core.collection_pause import collection_paused
from linad.core.compiler_lock import books
from linad.core.error_state import is_loud
from linad.core.failures import SUSPECT, internal_error, is_own_fault, warn_uncompiled
from linad.core.folding import fold
from linad.core.memory_layouts import copied
from linad.core.options import NAMES, POSITIONS, choice, takes
from linad.core.settings import compiler_is_off, settings
from linad.core.shapes import check_function, name_of
from linad.core.tape import Var
from linad.core.transformed_functions import named
from linad.errors import GuardError, LinadError, TracerError
from linad.jit.known_paths import KnownPaths
from linad.jit.outside import Outside, state_of
from linad.jit.outside_walk import has_state
from linad.jit.recording import record
from linad.jit.signature import Signature, StaticArguments
from linad.jit.specializations import COMPUTED, Variant, in_single_precision
from linad.operators.provided import OTHER
from linad.transforms.record import is_recorded

log = logging.getLogger("linad")

SIGNATURES = 256
"""Kinds of arguments that a jitted function remembers; the longest unused goes."""


P = ParamSpec("P")
R = TypeVar("R")


class _Entered:
    """An object whose first word machine code knows: `linad.sweeps.cpu.direct_calls`."""

    __slots__ = ("_entry",)
    _entry: Any


class Jitted(_Entered, Generic[P, R]):
    """A function that runs compiled from its second call on; see `jit`."""

    compiles = True

    def __init__(
        self, f: Callable[..., Any], static: StaticArguments, device: str | None = None
    ) -> None:
        self.function, self.static, self.device = f, static, device
        self.outside = Outside(f)
        self.variants: OrderedDict[Any, KnownPaths] = OrderedDict()
        self.related: dict[Any, Any] = {}  # what else is compiled of it: sparse derivatives
        self._short: Any = None
        self._warned = False
        self._narrow = False  # whether it computes in single precision, whatever comes in
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
            return self._answer(args, kwargs)
        except TracerError as error:
            hint = _static_numbers(args, kwargs)
            if hint and hint not in str(error):
                error.args = (f"{error}; {hint}",)
            raise
        except SUSPECT as error:
            if is_own_fault(error):
                raise internal_error(error, f"jit: {name_of(self.function)}") from error
            raise

    def _answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_loud():
            return self.function(*args, **kwargs)
        if self.device is not None or device_arrays.are_in(*args, *kwargs.values()):
            from linad.jit import device_calls

            if device_calls.are_plain(args, kwargs):
                return device_calls.called(self, args, kwargs)
        arguments = self._arguments(args, kwargs)
        if arguments.took_in:
            args, kwargs = tree.unflatten(arguments.structure, arguments.leaves)
        traced = [x for x in arguments.arrays if isinstance(x, Tracer)]
        if traced and any(is_recorded(x) for x in traced):
            return self.function(*args, **kwargs)  # becomes part of the program around it
        arguments.see(self.outside)
        paths = self._paths_of(arguments)
        if traced:
            return self._derived(arguments, paths)
        return self._run(arguments, paths, args, kwargs)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
        return Signature(*self.static.flatten(args, kwargs), self._narrow)

    def _paths_of(self, arguments: Signature) -> KnownPaths:
        """The paths known for arguments of this kind, under the settings in force."""
        chosen = settings()
        key = (arguments.key, chosen.vector_math, chosen.fast_math)
        with books:
            paths = self.variants.get(key)
            if paths is None:
                paths = self.variants[key] = KnownPaths()
            self.variants.move_to_end(key)
            if len(self.variants) > SIGNATURES:
                self.variants.popitem(last=False)
        return paths

    def variant(self, /, *args: Any, **kwargs: Any) -> Variant:
        """The path that a call takes, recorded if it is new; the arguments are not changed.

        Raises
        ------
        TracerError
            If the arguments, or what the function uses beside them, are traced.
        """
        return self._variant(args, kwargs)[0]

    def _variant(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Variant, list[np.ndarray]]:
        """The path of a call, and the arrays that it reads from outside."""
        arguments = self._arguments(args, kwargs)
        arguments.see(self.outside)
        paths = self._paths_of(arguments)
        path = None
        if not any(isinstance(x, Tracer) for x in arguments.arrays):
            for variant in paths.fitting(arguments.arrays):
                if variant.compiled.takes(arguments.operands):
                    return variant, arguments.outside
            path = self._recorded_on_values(arguments)
        if path is None:
            raise TracerError(
                f"{name_of(self.function)}: a program of its own needs plain arrays, and a "
                f"derivative around it is being taken; leave the derivative first"
            )
        if len(paths) < settings().variants:
            path = paths.add(path)
        return path, arguments.outside

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
        of other shapes, or that overlap, `GuardError` where Python would decide otherwise, and
        ArithmeticError where a matrix is singular.

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

    def _run(self, arguments: Signature, paths: KnownPaths, args: Any, kwargs: Any) -> Any:
        for variant in paths.fitting(arguments.arrays):
            if variant.runs_in_python(arguments.operands):
                return self.function(*args, **kwargs)
            compiled = variant.compiled  # what cannot be imported is the caller's to know
            try:
                values = compiled.impl(*arguments.operands)
            except GuardError:
                continue
            except ArithmeticError as stopped:
                # NumPy says what is wrong, or knows what to return.
                log.debug("%s runs uncompiled: %s", name_of(self.function), stopped)
                return self.function(*args, **kwargs)
            except Exception as failure:
                if isinstance(failure, LinadError) and not variant.written:
                    raise
                # It raises there, too, and what it has written before stays; or is caught.
                return self.function(*args, **kwargs)
            self._shorten(arguments, variant)
            return variant.finish(values, arguments.arrays)
        if not paths.has_room(arguments.outside):
            self._warn(paths)
            return self.function(*args, **kwargs)
        outside = arguments.outside
        with collection_paused():
            y, path = record(self.function, arguments)
        if path is None:
            return y
        if self._numbers_met_single_precision(arguments, path):
            _take_back(arguments, outside, path)
            return self._call(args, kwargs)
        paths.add(path)
        if path.changes_containers:
            _take_back(arguments, outside, path)
            return self.function(*args, **kwargs)
        return y

    def _numbers_met_single_precision(self, arguments: Signature, path: Variant) -> bool:
        """Whether Python numbers have to be part of the program after all; see `is_dynamic`."""
        # What was so when these arguments were taken apart: another thread may have found it since.
        if arguments.narrow or not arguments.hold_python_numbers():
            return False
        if not in_single_precision(path.tape):
            return False
        self._narrow = True
        return True

    def _derived(self, arguments: Signature, paths: KnownPaths) -> Any:
        """A call with traced values: one operation of the derivative around it."""
        for variant in paths.fitting(arguments.arrays):
            if variant.runs_in_python(arguments.operands):
                break
            _ = variant.compiled  # as in `_run`
            try:
                values = variant.applied(arguments.arrays, arguments.outside)
            except GuardError:
                continue
            except ArithmeticError:
                break
            except LinadError:
                raise
            except Exception as failure:  # which Python raises, too, or catches
                if is_own_fault(failure):
                    warn_uncompiled(name_of(self.function), failure)
                break
            return variant.finish(values, arguments.arrays)
        else:
            if paths.has_room(arguments.outside):
                new = self._recorded_on_values(arguments)
                if new is not None and new.fits(arguments.arrays):
                    path = paths.add(new)
                    if new.changes_outside:
                        # That is done now, and must not be done again.
                        before = new.example[len(arguments.arrays) :]
                        values = new.applied(arguments.arrays, before)
                        return new.finish(values, arguments.arrays)
                    if path.runs_in_python(arguments.operands):
                        return arguments.call(self.function, arguments.arrays)
                    values = path.applied(arguments.arrays, arguments.outside)
                    return path.finish(values, arguments.arrays)
            else:
                self._warn(paths)
        return arguments.call(self.function, arguments.arrays)

    def _recorded_on_values(self, arguments: Signature) -> Variant | None:
        """The path that the function takes on the values of traced arguments."""
        leaves = list(arguments.leaves)
        copies: dict[int, Any] = {}  # one array by two names stays one
        for k in arguments.dynamic:
            given = leaves[k]
            x = given.concrete if isinstance(given, Tracer) else given
            if isinstance(x, np.ndarray):
                x = copies.setdefault(id(given), copied(x))
            leaves[k] = x
        fixed = set(range(len(leaves))) - set(arguments.dynamic)
        plain = Signature(leaves, arguments.structure, fixed)
        plain.look, plain.outside = arguments.look, arguments.outside
        return record(self.function, plain)[1]

    def _warn(self, paths: KnownPaths) -> None:
        if self._warned:
            return
        self._warned = True
        warn_user(
            f"linad.jit: {name_of(self.function)} took a new path through its Python decisions "
            f"{len(paths)} times{paths.last_decision()}; from now on other paths run uncompiled. "
            f"np.where decides entry by entry; linad.config(variants=...) keeps more paths"
        )

    def _shorten(self, arguments: Signature, variant: Variant) -> None:
        """Make the way of the next call of this kind as short as it can be."""
        chosen = settings()
        look = arguments.look
        if variant.short is not None:
            known, seen, short = variant.short
            if known is chosen and seen is look:
                self._enter(short)
                return
        self._enter(None)
        args, kwargs = tree.unflatten(arguments.structure, arguments.leaves)
        if kwargs or variant.written:
            return
        if variant.memory is not None or variant.python_numbers is not None:
            return
        if compiler_is_off() or any([type(lie) is not str for lie in variant.layouts or ()]):
            return  # the program takes arrays in orders C and F
        slots = list(variant.tape.outputs)
        slots = [Var(k, a.shape, a.dtype) for k, a in enumerate(slots)]
        made = iter(slots)
        leaves = [next(made) if r is COMPUTED else r for r in variant.results]
        result = tree.unflatten(variant.out_tree, leaves)
        program = variant.compiled.program
        objects = [
            (x, *state_of(x, self.outside, f"s{k}_"))
            for k, x in enumerate(arguments.static_leaves)
            if has_state(x)
        ]
        short = program.short_call(
            args,
            arguments.arrays,
            result,
            slots,
            variant.flat,
            look,
            objects,
            lies=variant.lies or (),
            any_order=variant.layouts is None,
            python_numbers=not (self._narrow or arguments.holds_single_precision()),
        )
        self._enter(short)
        variant.short = chosen, look, short

    def _enter(self, short: Any) -> None:
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


def _take_back(arguments: Signature, outside: Sequence[np.ndarray], path: Variant) -> None:
    """Give arrays the entries that they had before a path was recorded: the call starts anew."""
    for k in path.written:
        arguments.arrays[k][...] = path.example[k]
    if path.changes_outside:
        before = path.example[len(arguments.arrays) :]
        for a, entries in zip(outside, before, strict=True):
            if a.flags.writeable:
                a[...] = entries


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
        the end. An argument is static by keyword, too.
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
        If ``f`` is no function.
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

    A call of a function of one array costs about 0.5 us, beside the work.

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
