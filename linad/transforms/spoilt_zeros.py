"""Programs look for NaN in derivatives whose zeros were not all kept.

Where a program that is recorded has not followed all masks of what is read
(`linad.transforms.unread_entries`), it asks at each run whether what it has found holds NaN. That
is a decision like those of Python: at the first NaN another path is recorded, which follows them
all, and is compiled when it is needed again. What is NaN because the function is, that path finds
NaN as well.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.reasons import because
from linad.core.tape import Equation, Reasoned, guard
from linad.transforms.record import RecordTrace, node_of
from linad.transforms.unread_entries import guarded

REASON = (
    "its derivatives are NaN at some calls and not at others, and where they are, linad looks for "
    "entries that nobody reads"
)


def hold_nan(parts: Iterable[Array]) -> bool:
    """Whether there is NaN among derivatives, some of which are traced."""
    with because(REASON):
        return any([bool(part) for part in _questions(parts)])


def refuse_nan(recorder: RecordTrace, J: Any, parts: Sequence[Array]) -> None:
    """Record that a pull is another one where it gives NaN, if it has not kept all zeros.

    It is recorded on seeds that tell nothing of those it will be run on.
    """
    if not guarded(J, found=False).partial:
        return
    line = recorder.line()
    source = None if line is None else Reasoned(line, REASON)
    for question in _questions(parts):
        node = node_of(recorder, question)
        expected = {"expected": np.False_}
        recorder.equations.append(Equation(guard, (node,), expected, (), source))


def _questions(parts: Iterable[Array]) -> list[Any]:
    return [np.any(np.isnan(x)) for x in parts if x is not None and x.dtype.kind in "fc"]
