"""A run of a function that is recorded: what goes in, what comes out, what it wrote into.

Whoever records calls the function with `RecordedRun.tracers`, within ``with run.trace:``, and
gives the leaves of its result to `RecordedRun.finish`.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh_node
from linad.arrays.tracer import Tracer
from linad.core.array_type import Array
from linad.core.settings import settings
from linad.core.tape import Equation, unchanged
from linad.transforms.plain_operands import is_frozen, is_uniform
from linad.transforms.record import RecordTrace


class RecordedRun:
    """A run of a function on traced arrays.

    Parameters
    ----------
    given : list
        The arrays and numbers among the arguments, as they are before.
    outside : list of ndarray
        What is read from outside, as it is before.
    direct : collection of int
        The arrays from outside that only meet traced values. The program holds for those entries
        that the others have now.
    first : list of int, optional
        For each argument the number of the first that is the same object, where that counts.
    still_running : callable
        Is called now and then.

    Attributes
    ----------
    trace : RecordTrace
        What is recorded goes there.
    tracers, stand_ins : list of Tracer
        In the place of arguments, and of arrays from outside.
    inputs : list of Var
        Of arguments, then of arrays from outside.
    values, nodes : list
        The leaves of what was returned: what a leaf is now, and what it is in the program; no
        node for what is a constant, and no array of floating or complex numbers.
    delivered : list
        The same leaves for the caller, who may write into them.
    written, entries : list
        The arguments that the function wrote into, and what is there now.
    outputs : list
        What the program makes: results, then arguments that it has written into.
    """

    def __init__(
        self,
        given: Sequence[Any],
        outside: Sequence[np.ndarray],
        direct: Collection[int],
        first: Sequence[int] | None,
        still_running: Callable[[], None],
    ) -> None:
        self.trace = trace = RecordTrace()
        trace.still_running = still_running
        tracers = [trace.input(x) for x in given]
        self.stand_ins = trace.stand_ins = [trace.input(a) for a in outside]
        self.inputs = [t._node for t in (*tracers, *self.stand_ins)]
        self.outside = outside
        trace.equations += self.checks(set(range(len(outside))).difference(direct))
        if first is not None:
            trace.memory_counts = True
            tracers = [tracers[k] for k in first]
        self.tracers = tracers
        self._before = [t._node for t in tracers]
        self.values: list[Any] = []
        self.nodes: list[Any] = []
        self.written: list[int] = []
        self.entries: list[Any] = []

    def checks(self, numbers: Collection[int]) -> list[Equation]:
        """Equations that compare arrays from outside with what they are now."""
        return [
            Equation(unchanged, (self.stand_ins[k]._node,), {"expected": self.outside[k]}, ())
            for k in sorted(numbers)
        ]

    def find_written(self) -> None:
        """Which arguments the function wrote into, whether it has ended or raised."""
        pairs = zip(self.tracers, self._before, strict=True)
        self.written = [k for k, (t, node) in enumerate(pairs) if _was_written(t, node)]
        # After ``np.copyto(x, p)`` the value of x is that of p, which may be written as well.
        self.entries = [_for_caller(self.tracers[k]._value) for k in self.written]

    def finish(self, leaves: Sequence[Any]) -> list[Equation]:
        """Read the leaves of the result; the equations that make them, and what was written.

        Raises
        ------
        OverwrittenError
            If a plain array that met a traced value has changed since.
        """
        self.find_written()
        for leaf in leaves:
            self._read(leaf)
        self.delivered = [_for_caller(v) for v in self.values]
        self.outputs = [node for node in self.nodes if node is not None]
        self.outputs += [self.tracers[k]._node for k in self.written]
        if any([isinstance(leaf, str) for leaf in leaves]):
            self.trace.check_texts()
        self.trace.operands.check()
        return _own_constants(self.trace.program(self.outputs))

    def _read(self, leaf: Array) -> None:
        node, value = None, leaf
        if isinstance(leaf, Tracer) and leaf._trace is self.trace:
            refresh_node(leaf)
            node, value = leaf._node, leaf._value
        elif type(leaf) is np.ndarray and leaf.dtype.kind in "fc":
            # A constant, as the gradient of a sum: the program delivers a copy of it.
            node = leaf.copy()
        self.nodes.append(node)
        self.values.append(value)


def _was_written(tracer: Tracer, node: Any) -> bool:
    refresh_node(tracer)
    buffer = tracer._buffer
    # A write of no entries leaves no equation, and NumPy refuses it for a read-only array.
    return tracer._node is not node or (buffer is not None and buffer.version > 0)


def _own_constants(equations: list[Equation]) -> list[Equation]:
    """The equations with copies of the large arrays that they refer to, each copied once.

    Small ones are copies already, see `linad.transforms.plain_operands`. What is read once has
    to be read at once, not when the program is compiled. Of one number all along an axis, as the
    ones that the derivative of a sum begins with, that number is kept.
    """
    copies: dict[int, np.ndarray] = {}

    def own(a: Any) -> Any:
        if type(a) is not np.ndarray or a.nbytes <= settings().snapshot_bytes or is_frozen(a):
            return a
        if id(a) not in copies:
            # With several axes the memory would say in what order those of results lie.
            mine = np.array(a[:1] if a.ndim == 1 and is_uniform(a) else a, order="C")
            mine.flags.writeable = False
            copies[id(a)] = mine if mine.shape == a.shape else np.broadcast_to(mine, a.shape)
        return copies[id(a)]

    return [eqn.with_inputs(tuple([own(a) for a in eqn.inputs])) for eqn in equations]


def _for_caller(value: Any) -> Any:
    """A value for the caller, who may write into it."""
    if isinstance(value, Tracer):
        return value.alias()
    return np.array(value) if type(value) is np.ndarray else value
