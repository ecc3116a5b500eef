"""Seeing that a function repeats itself while it is being recorded.

One byte an operation is noted. Where the last bytes repeat with a period, for many operations, the
function is probably in a Python loop, and from the next repetition on a
`linad.control.templates.TemplateTrace` takes over. That this is a guess costs nothing but time: a
template compares every operation.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.traces import Trace, interrupt_pending
from linad.control.replaced_methods import Hooks
from linad.control.templates import TemplateTrace
from linad.core.marks import running, running_traces
from linad.core.primitive import Primitive
from linad.core.regions import write_region
from linad.transforms.record import RecordTrace

LEAST_SEEN = 400
"""Operations that must have repeated, in four repetitions or more, before a template is tried.
After one that did not come about, it is twice as many as had repeated then, and `AFTER_FAILURE`
repetitions: a short loop inside of another is left to the other."""

AFTER_FAILURE = 16

LOOKED_AT = 128
"""Operations after which it is looked for a period again."""

TAIL = 32
"""Operations by which places that look alike are found."""

REMEMBERED = 2**15
"""Operations that are remembered; a longer period than a quarter of them is not seen."""

MOST_FAILURES = 8
"""Templates that did not come about, after which none is tried in this function."""


def watched(trace: Trace, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function whose operations a trace follows; its loops are recorded by templates, if a
    program is recorded at all."""
    for recorder in running_traces():
        if type(recorder) is RecordTrace and recorder.rolls:
            break
    else:
        return f(*args, **kwargs)
    if trace is not running.get() or trace.pending is not None:
        return f(*args, **kwargs)
    watch = LoopWatch(trace, recorder)
    try:
        return f(*args, **kwargs)
    finally:
        watch.end()


class LoopWatch:
    """What looks at the operations of a function.

    Parameters
    ----------
    trace : Trace
        The innermost one, whose function runs.
    recorder : RecordTrace
        The one that keeps the program.
    """

    def __init__(self, trace: Trace, recorder: RecordTrace) -> None:
        self.trace, self.recorder = trace, recorder
        self.template: TemplateTrace | None = None
        self.codes: dict[Primitive, int] = {}
        self.log = bytearray()
        self.due, self.begins, self.period, self.run = LOOKED_AT, -1, 0, 0
        self.failures, self.least = 0, LEAST_SEEN
        self.within = False  # an operation that is being carried out
        self._set_hooks()

    def _set_hooks(self) -> None:
        self.trace.pending = self
        self.apply, self.write = self.trace.apply, self.trace.write
        self.hooks = Hooks([self.trace], {"apply": self._look, "write": self._written})
        self.hooks.set()

    def _look(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        log = self.log
        n = len(log)
        if n == self.begins:
            if running.get() is self.trace and not self.within:
                return self._begin()(primitive, args, params)
            self.begins += 1  # not within a derivative that the function takes, or an operation
        elif n == self.due:
            self._consider()
        self._note(primitive)
        # To read its arguments it may carry out others: views of what has been written since.
        within, self.within = self.within, True
        try:
            return self.apply(primitive, args, params)
        finally:
            self.within = within

    def _written(self, root: Any, region: Any, value: Any) -> None:
        if len(self.log) == self.begins:
            self.begins += 1
        elif len(self.log) == self.due:
            self._consider()
        self._note(write_region)
        within, self.within = self.within, True
        try:
            self.write(root, region, value)
        finally:
            self.within = within

    def _note(self, primitive: Primitive) -> None:
        code = self.codes.get(primitive)
        if code is None:
            code = self.codes[primitive] = len(self.codes) & 255
        self.log.append(code)

    def _forget(self) -> None:
        self.log.clear()
        self.due, self.begins = LOOKED_AT, -1

    def _consider(self) -> None:
        self.recorder.still_running()
        log = self.log
        if len(log) >= REMEMBERED:
            del log[: REMEMBERED // 2]
            self.begins = -1
        n = len(log)
        self.due = n + LOOKED_AT
        if self.begins >= n:
            return
        tail, codes = bytes(log[-TAIL:]), np.frombuffer(bytes(log), np.uint8)
        at, times = n - TAIL, AFTER_FAILURE if self.failures else 3
        while True:
            at = log.rfind(tail, 0, at + TAIL - 1)
            period = n - TAIL - at
            if at < 0 or max(self.least, times * period) + period > n:
                return
            run = _run(codes, period)
            if run >= max(self.least, times * period):
                self._expect(period, n - period - run)
                return
            # A loop with this one inside of it has a longer period than that.
            at = min(at, n - TAIL - run)

    def _expect(self, period: int, first: int) -> None:
        """Let a template begin where the repetitions do, of which ``first`` is a beginning."""
        n = len(self.log)
        self.begins = n + (first - n) % period
        self.period, self.run = period, n - first
        if self.begins == n:
            self.begins += period

    def _begin(self) -> Callable[..., Any]:
        self.hooks.remove()
        period = self.period
        interrupt_pending()
        self.template = TemplateTrace(self, list(running_traces()), self.recorder, period)
        return self.template.apply

    def template_ended(self, settled: bool) -> None:
        """Look at operations again, if there is hope that they repeat."""
        if not settled and self.template is not None:
            self.failures += 1
            self.least = max(self.least, 2 * (self.run + self.template.applied))
        self.template = None
        if self.failures < MOST_FAILURES:
            self._set_hooks()

    def interrupt(self) -> None:
        """Another recorder begins: what it does is not seen here."""
        if self.template is not None:
            self.template.settle()
        self._forget()

    def end(self) -> None:
        """The function has returned: its values are those of its trace again."""
        self.failures = MOST_FAILURES
        if self.template is not None:
            self.template.settle()
        else:
            self.hooks.remove()
        self.trace.pending = None


def _run(codes: np.ndarray, period: int) -> int:
    """How many of the last operations are as those a period before them.

    Most periods that are tried end soon: parts of the past are compared, each larger than the last.
    """
    n = len(codes)
    compared = 2 * LOOKED_AT
    while True:
        compared = min(compared, n - period)
        differ = np.flatnonzero(codes[n - compared :] != codes[n - compared - period : n - period])
        if len(differ) or compared == n - period:
            return compared - 1 - int(differ[-1]) if len(differ) else compared
        compared *= 8
