"""Recording a function that refers to traced values around it: they become operands.

Large plain arrays do as well, so that a program holds no copy of them and sees them as they are
when it runs.
"""

from typing import Any

import numpy as np

from linad.arrays.buffers import refresh_node, root_of
from linad.arrays.tracer import Tracer
from linad.control.body_trace import BodyTrace
from linad.control.replaced_methods import Hooks
from linad.core.array_type import Array
from linad.core.moving_regions import Moving
from linad.core.primitive import Primitive
from linad.core.regions import Region
from linad.core.tape import Var, guard
from linad.errors import OverwrittenError, TracerError
from linad.transforms.plain_operands import same_bits

SMALL = 256
"""Bytes up to which a plain array becomes part of the program."""


class ClosureTrace(BodyTrace):
    """A recorder that takes up the values of other traces that it meets.

    Attributes
    ----------
    captured : list of (value, tracer)
        What was met, as it was then, and the input of this program that stands for it.
    hooks : Hooks
        What stands for methods of the traces around while this one records.
    """

    def __init__(self) -> None:
        super().__init__()
        self.captured: list[tuple[Any, Tracer]] = []
        self._known: dict[Any, Tracer] = {}
        self._alive: list[Any] = []
        self._arrays: list[tuple[np.ndarray, np.ndarray]] = []  # plain ones, and copies
        self.hooks = Hooks((), {})

    def apply(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return super().apply(primitive, tuple([self.lifted(a) for a in args]), params)

    def write(self, root: Tracer, region: Region, value: Array) -> None:
        if any([t is root for _, t in self.captured]):
            raise TracerError(
                "an array that was made outside of the body of a loop is written in it; give it "
                "to the loop as a carry"
            )
        if isinstance(region, Moving):
            region = Moving(region.inner, self.lifted(region.at))
        super().write(root, region, self.lifted(value))

    def own(self, x: Tracer) -> Tracer:
        return self.lifted(x)  # type: ignore[no-any-return]

    def lifted(self, a: Array) -> Any:
        """The input that stands for a value of another trace; any other value as it is."""
        if isinstance(a, Tracer):
            if a._trace is self:
                return a
            # A copy of what a trace around holds is that trace's operation.
            with self.hooks.away():
                refresh_node(a)
                # Another handle on the same value is the same operand.
                version = getattr(root_of(a)._buffer, "version", 0)
                key = "tracer", id(a._value), id(a._node), version
                if key not in self._known:
                    self._meet(key, a, a.frozen(), a.concrete)
        elif type(a) is np.ndarray and a.nbytes > SMALL and not a.dtype.hasobject:
            key = "array", id(a), 0, 0
            if key in self._known:
                _check_same(a, self._known[key]._value)
            else:
                copy = np.array(a)
                self._arrays.append((a, copy))
                self._meet(key, a, a, copy)
        else:
            return a
        return self._known[key]

    def _meet(self, key: tuple[Any, ...], a: Array, held: Array, concrete: Array) -> None:
        self._alive += [a, getattr(a, "_node", None), getattr(a, "_value", None)]
        self._known[key] = self.input(concrete)
        self.captured.append((held, self._known[key]))

    def check(self) -> None:
        """Raise OverwrittenError if a plain array has changed since it was met."""
        self.operands.check()
        for a, copy in self._arrays:
            _check_same(a, copy)

    def asked(self) -> set[Var]:
        """The inputs whose integers Python has learned, or integers computed from them: a plain
        array was indexed by them, or a list. Values of traces around are asked there as well."""
        waiting = [
            e.inputs[0]
            for e in self.equations
            if e.primitive is guard and isinstance(e.inputs[0], Var)
        ]
        waiting = [v for v in waiting if v.dtype.kind in "iu"]
        if not waiting:
            return set()
        makers = {v: e for e in self.equations for v in e.outputs}
        found: set[Var] = set()
        while waiting:
            v = waiting.pop()
            if v not in found:
                found.add(v)
                read = makers[v].inputs if v in makers else ()
                waiting += [a for a in read if isinstance(a, Var)]
        for held, stands in self.captured:
            if stands._node in found and isinstance(held, Tracer) and held.dtype.kind in "iu":
                held._trace.answer(held, np.array if held.ndim else int)
        return found


def _check_same(a: np.ndarray, copy: np.ndarray) -> None:
    if not same_bits(a, copy):
        raise OverwrittenError(
            f"a plain array of shape {a.shape} that the body of a loop reads is overwritten in the "
            f"body; make it there, with np.zeros_like of a traced value, so that linad sees the "
            f"writes"
        )


def plain(value: Array) -> Any:
    """The array or number that a value is, traced or not."""
    if isinstance(value, Tracer):
        return value.concrete
    return value if isinstance(value, (np.ndarray, np.generic)) else np.asarray(value)[()]
