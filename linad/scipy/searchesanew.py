"""Searches that SciPy makes anew at each run of a program.

    x = search(f, start)        f closes over values of the program that `linad.jit` records

The functions that SciPy is given are recorded when it first calls them, and what they refer to are
operands of one operation, the search: numbers as well, so that searches at many points are one and
the same. A run of the program binds them to the values of that run,
compiled, and lets SciPy search. How many steps that takes is no part of the program.

The operation has no derivative: that of what was found is the concern of
`linad.scipy.implicit_solutions`.
"""

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from linad.arrays.tracer import Tracer
from linad.control.bodies import Body, own_copy, run_tape
from linad.control.both_ways import in_any_way
from linad.control.closures import ClosureTrace, plain as held
from linad.control.lifted_numbers import all_lifted
from linad.control.recorded_bodies import leaf_of
from linad.control.runner import run_program
from linad.core.marks import Attempt
from linad.core.primitive import Primitive
from linad.core.reasons import because
from linad.core.settings import compiler_is_off
from linad.core.tape import needed, tape_of
from linad.errors import GuardError, TracerError
from linad.rules.creation import asarray
from linad.scipy.implicit_solutions import Watched, in_program, plain
from linad.scipy.mirror import holds_traced
from linad.transforms.record import node_of
from linad.transforms.rewriting import params_key

Function = Callable[..., Any]


def searched(original: Function, function: Watched, *start: Any, **given: Any) -> Any:
    """What ``original(function, *start, **given)`` gives; in a program, of each of its runs.

    Parameters
    ----------
    original : callable
        SciPy's.
    function : Watched
    *start
        Where to begin: a number or an array, which may be traced, each.
    **given
        Plain values, and further functions to watch.
    """
    watched = {key: f for key, f in given.items() if isinstance(f, Watched)}
    others = any([callable(v) for key, v in given.items() if key not in watched])
    if in_program() and not others:
        with Attempt(UnfitError, GuardError, TracerError):
            return _of_the_program(original, function, start, watched, given)
    return original(function, *map(plain, start), **given)


class UnfitError(Exception):
    """What SciPy does or returns cannot be an operation of a program."""


def _of_the_program(
    original: Function,
    function: Watched,
    start: tuple[Any, ...],
    watched: dict[str, Watched],
    given: dict[str, Any],
) -> Any:
    start = tuple([asarray(x) if holds_traced(x) else x for x in start])
    # Later runs begin from what stands there now, whatever is written into it afterwards.
    rest = copy.deepcopy({key: v for key, v in given.items() if key not in watched})
    every = {"": function, **watched}
    recorded = {key: _Recorded(f) for key, f in every.items()}
    begin = tuple([held(x) if isinstance(x, Tracer) else copy.deepcopy(x) for x in start])
    slopes = {key: recorded[key] for key in watched}
    result = original(recorded[""], *begin, **rest, **slopes)
    moving = [k for k, x in enumerate(start) if isinstance(x, Tracer) or _moves(x)]
    operands = [x for f in recorded.values() for x in f.captured]
    begins = [start[k] for k in moving]
    operands += [x if isinstance(x, Tracer) else np.array(x)[()] for x in begins]
    if not any([isinstance(x, Tracer) for x in operands]):
        return result
    for key, each in recorded.items():
        each.check()
        every[key].traced |= any([isinstance(x, Tracer) for x in each.captured])
    bodies = {key: f.body for key, f in recorded.items() if f.body is not None}
    search = _search_of(original, bodies, begin, moving, rest, result)
    *found, alike = search(*operands)
    with because("a search that ends with another message is a program of its own"):
        bool(alike)
    return _with_numbers(result, iter(found))


def _moves(x: Any) -> bool:
    """Whether a search may begin somewhere else where another one begins at ``x``."""
    return isinstance(x, (float, np.ndarray, np.floating)) and np.asarray(x).dtype.kind == "f"


def _search_of(
    original: Function,
    bodies: dict[str, Body],
    begin: tuple[Any, ...],
    moving: list[int],
    given: dict[str, Any],
    result: Any,
) -> "ScipySearch":
    """The search; one for all that differ in operands alone and end alike."""
    made = ScipySearch(original, bodies, begin, moving, given, result)
    fixed = {str(k): x for k, x in enumerate(begin) if k not in moving}
    key: Any = "search", original, tuple(bodies), tuple(map(id, bodies.values())), tuple(moving)
    key += params_key(fixed), params_key(given)
    try:
        hash(key)
    except TypeError:
        return made
    if "" not in bodies:
        return made
    found: ScipySearch = bodies[""].once(key, lambda: made)
    return found if _alike(found.result, result) else made


ALIKE = 1e-6
"""How near values are that differ by rounding."""


class _Recorded:
    """A function that SciPy calls, recorded at the first call.

    Attributes
    ----------
    body : Body or None
        Its rows are the arguments, its constants what the function refers to.
    captured : list
        What it refers to: traced values, arrays, and numbers.
    """

    def __init__(self, watched: Watched) -> None:
        self.watched = self.__wrapped__ = watched  # SciPy counts the parameters
        self.captured: list[Any] = []
        self.body: Body | None = None
        self._bound: Any = None
        self._first: list[Any] = []
        self._last: list[Any] = []

    def __call__(self, *args: Any) -> Any:
        self._last = [own_copy(_float(x)) for x in args]
        if self.body is None:
            self._first = self._last
            self._record(self._last)
        return self._bound(*args)

    def check(self) -> None:
        """Raise UnfitError if the function, asked once more at the first and the last point, gives
        something else than its record: one that counts its calls may."""
        if self.body is None:
            return
        size = self._checked(self._first, 0.0)
        self._checked(self._last, ALIKE * size)  # where a root is, there is rounding left

    def _checked(self, args: list[Any], rounding: float) -> float:
        """How large the function is somewhere, as it was recorded and as it is now."""
        with ClosureTrace() as recorder:
            given = [recorder.input(own_copy(x)) for x in args]
            now = held(self.watched.values(*given))
        found = self._bound(*args)
        if np.shape(now) != found.shape or not np.allclose(now, found, ALIKE, rounding, True):
            raise UnfitError
        return float(np.max(abs(found), initial=0.0, where=np.isfinite(found)))

    def _record(self, args: list[Any]) -> None:
        self.body = in_any_way(
            lambda f: self._recorded(f, args),
            *(self.watched.values, TracerError, GuardError, TypeError),
        )
        if self.body is None:
            raise UnfitError
        self._bound = _Bound(self.body, [held(x) for x in self.captured])

    def _recorded(self, f: Function, args: list[Any]) -> Body:
        recorder = ClosureTrace()
        given = [recorder.input(own_copy(x)) for x in args]
        nodes = [t._node for t in given]
        with recorder:
            outputs = [node_of(recorder, leaf_of(recorder, f(*given)))]
            recorder.check()
        self.captured = [x for x, _ in recorder.captured]
        stands = [t for _, t in recorder.captured]
        equations = needed(recorder.equations, outputs)
        tape = tape_of("search", [*nodes, *[t._node for t in stands]], equations, outputs)
        body = Body(tape, [*args, *[t._value for t in stands]], 0, len(args))
        body, numbers = all_lifted(body)
        self.captured += numbers
        return body


def _float(x: Any) -> Any:
    """An argument that SciPy gives: now and then it begins with an integer."""
    x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        raise UnfitError
    return (x if x.dtype.kind in "fc" else x.astype(float))[()]


class _Bound:
    """A recorded function of its arguments alone."""

    def __init__(self, body: Body, constants: Sequence[Any]) -> None:
        self.body, self.constants = body, constants
        self.described = [(v.shape, v.dtype) for v in body.tape.inputs[: body.rows]]
        names = [f"x{k}" for k in range(body.rows)]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(x, kind) for x in names])

    def __call__(self, *args: Any) -> Any:
        args = tuple(map(_float, args))
        if [(x.shape, x.dtype) for x in args] != self.described:
            raise UnfitError
        runs = run_tape if compiler_is_off() else run_program
        return np.asarray(runs(self.body, [*args, *self.constants])[0])[()]


class ScipySearch(Primitive):
    """A search by SciPy, of what its functions refer to and where it begins.

    Parameters
    ----------
    original : callable
        SciPy's.
    bodies : dict of str to Body
        The functions by their keywords, the first argument by "".
    start : tuple
        Where it begins; ``moving`` are those places of it that are operands.
    given : dict
        SciPy's keywords.
    result : object
        What an example gives; the result of another run is alike but for the numbers in it.

    Notes
    -----
    Results: the numbers and arrays of numbers in SciPy's result, in order, and whether it is alike.
    """

    dear = True

    def __init__(
        self,
        original: Function,
        bodies: dict[str, Body],
        start: tuple[Any, ...],
        moving: list[int],
        given: dict[str, Any],
        result: Any,
    ) -> None:
        count = len(_numbers_of(result))
        name = original.__name__
        super().__init__(name, self._run, constant=True, outputs=count + 1, register=False)
        self.original, self.bodies, self.result = original, bodies, result
        self.start, self.moving, self.given = start, moving, given

    def __reduce__(self) -> tuple[Any, ...]:
        made = self.original, self.bodies, self.start, self.moving, self.given, self.result
        return ScipySearch, made

    def _run(self, *operands: Any) -> tuple[Any, ...]:
        values = iter(operands)
        functions = {
            key: _Bound(body, [next(values) for _ in range(body.constants)])
            for key, body in self.bodies.items()
        }
        start = list(self.start)
        for k in self.moving:
            start[k] = next(values)
        first = functions.pop("")
        found = self.original(first, *start, **{**self.given, **functions})
        alike = _alike(self.result, found)
        numbers = _numbers_of(found if alike else self.result)
        return (*[np.asarray(x)[()] for x in numbers], np.bool_(alike))


CONSTANT = (bool, np.bool_, str, type(None))
"""What is the same in all results that are alike."""


def _parts(result: Any) -> list[Any] | None:
    """What a container of SciPy's holds; None for what is none."""
    if isinstance(result, dict):
        return list(result.values())
    return list(result) if isinstance(result, (tuple, list)) else None


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.ndarray, np.number)) and not isinstance(x, bool)


def _numbers_of(result: Any) -> list[Any]:
    """The numbers and arrays in a result, in order.

    Raises
    ------
    UnfitError
        If it holds what is neither a number nor known to be a constant, or to be refused.
    """
    parts = _parts(result)
    if parts is not None:
        return [x for part in parts for x in _numbers_of(part)]
    if _is_number(result):
        return [result]
    if not isinstance(result, (*CONSTANT, LinearOperator)):
        raise UnfitError
    return []


def _alike(a: Any, b: Any) -> bool:
    """Whether results differ in numbers alone."""
    if type(a) is not type(b):
        return False
    parts, others = _parts(a), _parts(b)
    if parts is not None and others is not None:
        if len(parts) != len(others) or (isinstance(a, dict) and a.keys() != b.keys()):
            return False
        return all(map(_alike, parts, others))
    if _is_number(a):
        return np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
    return isinstance(a, LinearOperator) or bool(a == b)


def _with_numbers(result: Any, found: Iterator[Any]) -> Any:
    """A result with others in the place of its numbers."""
    if isinstance(result, dict):
        return type(result)({key: _with_numbers(v, found) for key, v in result.items()})
    parts = _parts(result)
    if parts is not None:
        made = [_with_numbers(v, found) for v in parts]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
    return next(found) if _is_number(result) else result
