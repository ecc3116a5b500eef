"""The recorder of a loop's body, which runs on values that are examples."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from linad.arrays.tracer import Tracer
from linad.core.moving_regions import example_values
from linad.core.zero_seeds import read_results
from linad.transforms.record import RecordTrace

scripted: ContextVar[Callable[[Tracer], bool] | None] = ContextVar("linad_scripted", default=None)
"""What answers Python's decisions on values of a body, see `linad.control.both_ways`."""


class BodyTrace(RecordTrace):
    """A recorder of a body, on values that are examples."""

    def answer(self, tracer: Tracer, question: Callable[[Any], Any]) -> Any:
        script = scripted.get()
        if script is None or question is not bool:
            return super().answer(tracer, question)
        bool(tracer.concrete)  # raises what NumPy raises, of several entries
        test = tracer.reshape(()) if tracer.shape else tracer
        return script(test if test.dtype.kind == "b" else test != 0)

    def __enter__(self) -> "BodyTrace":
        self._around_it = example_values(), read_results()
        try:  # an interrupt may come between any two calls
            for around in self._around_it:
                around.__enter__()
            super().__enter__()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            self._leave()
        finally:
            super().__exit__(kind, error, traceback)

    def _leave(self) -> None:
        for around in reversed(self._around_it):
            around.__exit__(None, None, None)
