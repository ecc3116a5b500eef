"""Methods of traces for which others stand for a while."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from linad.arrays.traces import Trace


class Hooks:
    """Methods that take the place of methods of traces.

    Parameters
    ----------
    traces : sequence of Trace
    methods : dict
        By the names of those whose place they take. A trace may have others there already: these
        come back.
    """

    def __init__(self, traces: Sequence[Trace], methods: dict[str, Any]) -> None:
        self.traces, self.methods = traces, methods
        self.before = [{name: vars(t).get(name) for name in methods} for t in traces]
        self.on = False

    def set(self) -> None:
        self.on = True
        for trace in self.traces:
            vars(trace).update(self.methods)

    def remove(self) -> None:
        if not self.on:
            return
        self.on = False
        for trace, before in zip(self.traces, self.before, strict=True):
            for name, method in before.items():
                if method is None:
                    del vars(trace)[name]
                else:
                    vars(trace)[name] = method

    @contextmanager
    def away(self) -> Iterator[None]:
        """Within, the traces have their own methods."""
        was_on = self.on
        self.remove()
        try:
            yield
        finally:
            if was_on:
                self.set()
