"""Recording a function that refers to traced values around it: they become operands.

Large plain arrays do as well, so that a program holds no copy of them and sees them as they are
when it runs.
"""

from contextvars import ContextVar
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh_node
from linad.arrays.tracer import Tracer
from linad.core.primitive import Primitive
from linad.core.regions import Region
from linad.transforms.record import RecordTrace

SMALL = 256
"""Bytes up to which a plain array becomes part of the program."""


in_a_body: ContextVar[bool] = ContextVar("in_a_body", default=False)
"""Whether the body of a loop is being recorded."""


class ClosureTrace(RecordTrace):
    """A recorder that takes up the values of other traces that it meets.

    Attributes
    ----------
    captured : list of (value, tracer)
        What was met, as it was then, and the input of this program that stands for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.captured: list[tuple[Any, Tracer]] = []
        self._known: dict[Any, Tracer] = {}
        self._alive: list[Any] = []

    def __enter__(self) -> "ClosureTrace":
        self._outside = in_a_body.set(True)
        super().__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        in_a_body.reset(self._outside)
        super().__exit__(kind, error, traceback)

    def apply(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return super().apply(primitive, tuple([self.lifted(a) for a in args]), params)

    def write(self, root: Tracer, region: Region, value: Any) -> None:
        super().write(root, region, self.lifted(value))

    def lifted(self, a: Any) -> Any:
        """The input that stands for a value of another trace; any other value as it is."""
        if isinstance(a, Tracer):
            if a._trace is self:
                return a
            refresh_node(a)
            key = "tracer", id(a), id(a._node)
        elif type(a) is np.ndarray and a.nbytes > SMALL and not a.dtype.hasobject:
            key = "array", id(a), 0
        else:
            return a
        if key not in self._known:
            self._alive += [a, getattr(a, "_node", None)]
            held = a.frozen() if isinstance(a, Tracer) else a
            concrete = a.concrete if isinstance(a, Tracer) else np.array(a)
            self._known[key] = self.input(concrete)
            self.captured.append((held, self._known[key]))
        return self._known[key]


def plain(value: Any) -> Any:
    """The array or number that a value is, traced or not."""
    if isinstance(value, Tracer):
        return value.concrete
    return value if isinstance(value, (np.ndarray, np.generic)) else np.asarray(value)[()]
