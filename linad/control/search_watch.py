"""Seeing the searches of a function that is recorded: its decisions, and its variables at each."""

from types import FrameType
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh, refresh_node
from linad.arrays.tracer import Tracer
from linad.arrays.traces import interrupt_pending
from linad.control.plain_searches import BegunSearch, PlainSearch, search_at
from linad.core.frames import using_frame
from linad.core.tape import Equation
from linad.transforms.record import RecordTrace

FEWEST = 3
"""Decisions from which it is told what the steps between them do."""


class AskedTest:
    """One answer to the test of a search.

    Attributes
    ----------
    guard : Equation
        That checks the answer.
    state : dict
        The variables of the loop: a `Var`, or a plain number.
    values : dict
        What they are.
    """

    def __init__(self, equation: Equation, state: dict[str, Any], values: dict[str, Any]) -> None:
        self.guard, self.state, self.values = equation, state, values


class RecordedSearch:
    """A search that Python has made, from its first decision to its last."""

    def __init__(self, begun: BegunSearch) -> None:
        self.begun, self.loop, self.limit = begun, begun.loop, begun.limit
        self.met: list[AskedTest] = []
        self.alike = True


class SearchWatch:
    """What looks at the decisions of a function that is recorded.

    Attributes
    ----------
    ended : list of RecordedSearch
        Those that came to their end, in the order in which they did.
    """

    def __init__(self, trace: RecordTrace) -> None:
        self.trace = trace
        self.ended: list[RecordedSearch] = []
        self._open: dict[Any, tuple[FrameType, RecordedSearch]] = {}

    def __call__(self, equation: Equation, answer: bool) -> None:
        """A decision is about to be written down."""
        frame = using_frame()
        loop = None if frame is None else search_at(frame)
        if frame is None or loop is None:
            return
        key = id(frame), loop.key
        _, search = self._open.get(key, (None, None))
        count = None if loop.counts is None else frame.f_locals.get(loop.counts)
        if search is None or search.loop is not loop or count == 0:
            self._open.pop(key, None)
            begun = loop.begun_in(frame)
            if begun is None:
                return
            search = RecordedSearch(begun)
            self._open[key] = frame, search
        interrupt_pending()  # its steps are not those of a longer loop's template
        if count is not None and count != len(search.met):
            search.alike = False  # not all of its tests were of traced values
        search.met.append(self._decision(equation, frame, loop))
        if answer is not loop.goes:
            del self._open[key]
            if search.alike and len(search.met) >= FEWEST:
                self.ended.append(search)
                self.trace.loops += 1
        elif count is not None and count + 1 == search.limit:
            del self._open[key]  # it goes on no longer

    def end(self) -> None:
        self._open.clear()

    def _decision(self, equation: Equation, frame: FrameType, loop: PlainSearch) -> AskedTest:
        own = frame.f_locals
        state, values = {}, {}
        for name in loop.assigned:
            if name in own:
                state[name], values[name] = self._noted(own[name])
        return AskedTest(equation, state, values)

    def _noted(self, x: Any) -> tuple[Any, Any]:
        """A variable as it is now, and its value."""
        while isinstance(x, Tracer) and x._trace is not self.trace:
            refresh(x)
            x = x._value
        if isinstance(x, Tracer):
            refresh_node(x)
            return x._node, np.array(x.concrete)[()]
        return x, x
