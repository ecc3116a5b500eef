"""A value that a program has found, if it has: where not, the program stops.

Then whoever runs it does the same by other means, as for a matrix that LAPACK refuses.
"""

from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.during import during
from linad.core.primitive import Primitive
from linad.core.tape import Equation
from linad.errors import InternalError
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.routines import routine

_on_examples: ContextVar[bool] = ContextVar("linad_on_examples", default=False)


def on_examples() -> AbstractContextManager[None]:
    """A program is recorded on values that are examples: nobody wants what it finds."""
    return during(_on_examples, True)


def _assured(x: Array, sound: Any) -> Any:
    if not np.all(sound) and not _on_examples.get():
        raise InternalError("what a program has found is not sound, and NumPy ran that part of it")
    return x


assured = Primitive("assured", _assured, register=False)
"""The first operand, where the second is true."""


@routine("assured")
def lower(lowering: Any, eqn: Equation) -> bool:
    x, sound = (lowering.place_of(a) for a in eqn.inputs)
    text = (
        "def kernel(p, start, stop):\n"
        "    if not get_b1(operand(p, 0), 0, -1):\n"
        f"        return {NO_RESULT}\n"
        "    return 0\n"
    )
    lowering.emit(text, 1, [(sound.buffer, sound.offset)], "assured")
    lowering.copy(lowering.result(eqn.outputs[0]), x)
    return True
