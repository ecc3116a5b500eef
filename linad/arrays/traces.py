"""Traces: what is told of each operation on a traced value, and which of them is innermost."""

import itertools
import warnings
from collections.abc import Callable, Iterator
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.arrays.buffers import refresh
from linad.arrays.leaks import give_back_constants, kept_in
from linad.arrays.lending import READ_ONLY, check_unwritten, written_to_read_only
from linad.arrays.memory import constant_under
from linad.arrays.names_of_tensors import say_missing
from linad.arrays.refusing import given_to_scipy
from linad.core.adopted import WATCHERS
from linad.core.arithmetic_warnings import FILTER, move_to_user_lines
from linad.core.callers import calls_of_engines
from linad.core.collection_pause import resume
from linad.core.failures import causes_of, handed_to_compiled
from linad.core.long_traces import NUMBERS
from linad.core.marks import Mark, running, running_traces
from linad.core.near_ties import FEW, NearTies
from linad.core.primitive import Primitive, Traced
from linad.core.regions import Region
from linad.errors import (
    LeakedTracerError,
    LinadError,
    SwallowedError,
    TracerError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from linad.arrays.tracer import Tracer

_levels = itertools.count(1)


def running_trace() -> "Trace | None":
    """The innermost trace whose function is running in this thread; None outside of any."""
    return running.get()


def interrupt_pending() -> None:
    """Have done what the traces whose functions run have put off."""
    for trace in running_traces():
        if trace.pending is not None:
            trace.pending.interrupt()


def swallowed(mark: Mark) -> SwallowedError:
    """The error of a function that returned although one of its values was refused."""
    file, line, function = mark.place
    where = f"{file}, line {line}, in {function}"
    if mark.user != mark.place:
        where += f" (called from {mark.user.file}, line {mark.user.line})"
    return SwallowedError(
        f"a refusal was caught at {where}, and the function went on another way than with plain "
        f"numbers: {mark.error}"
    )


def put_aside(
    marks: list[Mark], error: BaseException, traceback: TracebackType | None
) -> Exception | None:
    """The refusal in whose place an error came out of a call of SciPy's or NumPy's; or None.

    Compiled code may go on after a number was refused, as `scipy.optimize.brentq` does when a
    callback has returned what is none. It raises an error of its own in the end, or calls the
    user's function again while the refusal is pending in the interpreter: then Python takes the
    refusal for a failure of the next attribute that is looked up, whosever that is, and what is
    raised differs from run to run.
    """
    if not isinstance(error, Exception) or isinstance(error, SwallowedError):
        return None
    calls = calls_of_engines(traceback)
    first = next((m.error for m in marks if m.place in calls), None)
    if first is None or first is error:
        return None
    says_more = isinstance(error, LinadError) and first in causes_of(error)
    return None if says_more else first


CHOOSING = (
    "linad: an if, a while, min and max decide on one number; np.where(condition, first, second) "
    "chooses for each entry of an array, np.all and np.any of a comparison decide for all"
)


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
    marks : list of Mark
        What its values were refused.
    """

    finished: bool

    arguments: Any = None

    _places: dict[int, int] | None = None
    """Of the traced arguments, by their ids: made when somebody asks, which few functions need."""

    layout_counts = False
    """Whether somebody has asked how an array lies in memory."""

    memory_counts = False
    """Whether somebody has asked which arrays share memory, or for flags."""

    shaped = False
    """Whether an array was given another shape, by a view or a copy as it lies in memory."""

    records = False
    """Whether what happens is kept as a program, to be run with other values."""

    derives = False
    """Whether the function takes derivatives itself, or says what has none: then a result that
    depends on nothing is no accident."""

    stops = False
    """Whether the function says what has no derivative, by `stop_gradient`."""

    decisions = 0
    """How many comparisons the function has made, until there have been a few."""

    ties: NearTies | None = None
    """What looks at those that follow."""

    searches = False
    """Whether the function has called a program that searches by comparisons."""

    cut = False
    """Whether some traced value may depend on no argument."""

    lent: Any = ()
    """What of its numbers plain code was given; see `linad.arrays.lending`."""

    watcher: Any = None
    """What knows of adopted code, if there was any when it started."""

    keys: Any = ()
    """Its values that were keys of dictionaries or sets, weakly; see `linad.arrays.keys`."""

    gave_back = False
    """Whether its constants that containers have kept are plain again."""

    told_apart = False
    """Whether such a key was told from another one of the same value."""

    paused = False
    """Whether the garbage collector waits for its end: it is long."""

    pending: Any = None
    """What follows the operations of the function and may put some off, if there is such a thing:
    ``pending.interrupt()`` has them done."""

    def __init__(self) -> None:
        self.level = next(_levels)
        self.finished = False  # of the trace itself: Python is slow to find what its class has
        self.count = itertools.chain(*NUMBERS)  # of what it does, where it counts
        self.marks: list[Mark] = []
        self._around: Token[Trace | None]

    def __enter__(self) -> "Trace":
        if self.records:
            interrupt_pending()
        around = running.get()
        try:
            self._around = running.set(self)
            if not warnings.filters or warnings.filters[0] is not FILTER:  # a call less
                move_to_user_lines()
            if WATCHERS:
                watcher = next(iter(WATCHERS), None)  # another thread may have ended it
                if watcher is not None:
                    watcher.enter(self)
        except BaseException:  # an interrupt: there is no end of a block that has not begun
            running.set(around)
            self.finished = True
            if self.watcher is not None:
                self.watcher.leave(self, None)
            raise
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        running.reset(self._around)
        del self._around
        self.finished = True
        if self.paused:
            resume()
        self.arguments = None  # they refer to this trace
        if self.watcher is not None:
            self.watcher.leave(self, error)
        if self.marks:
            marks, self.marks = self.marks, []  # their errors hold frames, which hold this trace
            if kind is None:
                raise swallowed(marks[0]) from marks[0].error
            first = put_aside(marks, error, traceback)
            if first is not None:
                raise first.with_traceback(traceback) from None
            if kind.__module__ == "builtins" and not isinstance(error.__cause__, TracerError):
                error.add_note(f"linad: {swallowed(marks[0])}")
        if kind is None:
            if self.lent:
                check_unwritten(self)
            return
        if kind is AttributeError:
            say_missing(error)
        if written_to_read_only(self, error):
            error.add_note(READ_ONLY)
        told = handed_to_compiled(error, Traced)
        if told:
            raise UnsupportedError(told) from error
        hint = "" if isinstance(error, LinadError) else given_to_scipy(traceback)
        if kind is ValueError and str(error).startswith("The truth value of an array"):
            hint = CHOOSING
        if hint and hint not in getattr(error, "__notes__", ()):
            error.add_note(hint)
        cause = error.__cause__
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
        place = self.place_of_argument(root)
        if place is not None:
            self.arguments[1].check_alone(place)

    def place_of_argument(self, x: "Tracer") -> int | None:
        """Which of the traced arguments of the function a value is, if it is one."""
        if self.arguments is None:
            return None
        if self._places is None:
            self._places = {id(leaf): k for k, leaf in enumerate(self.arguments[0])}
        return self._places.get(id(x))

    def constant(self, value: Any) -> "Tracer":
        """Return a traced array that depends on nothing, to be written into."""
        raise NotImplementedError

    def is_constant(self, x: "Tracer") -> bool:
        """Whether a value is known to depend on no argument: it has no derivative to lose."""
        return False

    def same(self, x: "Tracer", y: "Tracer") -> bool:
        """Whether two of its values are known to be one: to have the same derivatives."""
        return False

    def own(self, x: "Tracer") -> "Tracer":
        """A value of a trace around as this one knows it, if it takes such values up."""
        return x

    def takes_over(self, x: "Tracer") -> bool:
        """Whether an array of a trace around, all of which a value of this one replaces, is an
        array of this trace from now on."""
        return False

    def aliased(self, made: "Tracer") -> None:
        """Take note of another handle on a value."""

    def write(self, root: "Tracer", region: Region, value: Any) -> None:
        """Write ``value`` at a region of an array of this trace that owns its storage."""
        raise NotImplementedError

    def shape_counts(self) -> None:
        """Take note, here and in the traces around, that memory decided on view or copy."""
        for trace in self._all():
            trace.shaped = True

    def written_to(self) -> None:
        """Take note of a write: from now on it counts whether a reshape was a view."""
        if self.shaped:
            for trace in self._all():
                trace.layout_counts = trace.layout_counts or trace.shaped

    def _all(self) -> "Iterator[Trace]":
        """This trace and those whose functions are running around it."""
        yield self
        yield from running_traces()

    def written_out(self, root: "Tracer") -> None:
        """Take note that a value of this trace is to be written into an array of another."""

    def decide(self, operands: Any) -> None:
        """Take note of what a comparison compares, after the first few."""
        self.decisions += 1
        if self.decisions > FEW:
            self.ties = self.ties or NearTies()
            self.decide = self.ties.note  # type: ignore[method-assign]
            self.decide(operands)

    def pick(self, values: Any) -> None:
        """Take note of values of which the least or the largest is looked for."""
        self.ties = self.ties or NearTies()
        self.ties.pick(values)

    def may_search(self) -> bool:
        """Whether the function seems to search by comparisons, and does not say that what has no
        derivative is meant to have none."""
        return not self.stops and (self.searches or (self.ties is not None and self.ties.look()))

    def looked_at(self, tracer: "Tracer") -> None:
        """Take note that Python learns the value, to decide on it."""

    def shown(self, tracer: "Tracer") -> None:
        """Take note that the value is part of a text."""

    def detach(self, tracer: "Tracer") -> Any:
        """Return the value of a tracer without derivative."""
        self.derives = self.stops = True
        refresh(tracer)
        value = tracer._value
        if isinstance(value, Traced):
            return value._trace.detach(value)
        return value.copy() if isinstance(value, np.ndarray) else value

    def is_detached(self, tracer: "Tracer") -> bool:
        """Whether a value depends on arguments by what `detach` has returned alone."""
        return False

    def connects(self, results: list["Tracer"], inputs: list[Any]) -> bool:
        """Whether one of the results depends on an argument, whose nodes ``inputs`` are, through
        operations that have a derivative."""
        return True

    def lasting(self, x: "Tracer") -> Any:
        """A value of this trace, which may have ended: then it is a plain copy, of a constant that
        the function has kept; raises of other values."""
        if not self.finished:
            return x
        plain = constant_under(x)
        if plain is None:
            self.check_alive()
        if not self.gave_back:
            self.gave_back = True
            give_back_constants(self)
        return plain.copy()

    def after_its_end(self, primitive: Primitive, args: tuple[Any, ...], params: Any) -> Any:
        """What an operation gives of constants that have outlived their trace."""
        lasting = [a._trace.lasting(a) if isinstance(a, Traced) else a for a in args]
        return primitive(*lasting, **params)

    def check_alive(self) -> None:
        """Raise if the traced function has returned already."""
        if self.finished:
            place = kept_in(self)
            where = f": it was kept in {place}" if place else ""
            plain = "" if self.records else ", or store linad.stop_gradient(value), a plain array"
            raise LeakedTracerError(
                f"a traced value was used after the function that traced it had returned{where}; "
                f"return what you need from the function instead of storing it outside{plain}"
            )
