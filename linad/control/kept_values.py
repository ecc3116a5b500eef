"""Values in a loop's body that take longer to compute than to read, and that slopes are made of.

The way back of a loop computes again what a repetition has computed, from its carries. Of a small
array an exponential takes longer than to read it, and its slope is itself, as that of tanh is
1 - tanh²: these are kept beside the carries, and what they are made of need not be computed again.
Of numbers, which a loop holds in registers, nothing is kept. Nor is anything where programs of
several lengths are to be of the same operations, as in a model whose axes have any length.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from linad.core.shapes import size_of
from linad.core.tape import Equation, Tape, Var

NAMES = frozenset({"exp", "exp2", "expm1", "expit", "tanh"})
"""Functions of which that is so."""

MOST = 32
"""Entries of a value that is kept: of larger arrays, in whole vectors, memory takes as long."""


keeping: ContextVar[bool] = ContextVar("keeping", default=True)


@contextmanager
def nothing_kept() -> Iterator[None]:
    """Derivatives of loops that are recorded meanwhile compute all of these values again."""
    token = keeping.set(False)
    try:
        yield
    finally:
        keeping.reset(token)


def kept_values(tape: Tape) -> list[Var]:
    """The values of a body that are kept for the way back."""
    return [e.outputs[0] for e in tape.equations if e.primitive.name in NAMES and _is_small(e)]


def _is_small(e: Equation) -> bool:
    y = e.outputs[0]
    return isinstance(e.inputs[0], Var) and 1 < size_of(y.shape) <= MOST and y.dtype.kind == "f"
