"""A path of a jitted function without a compiler: its tape, run by NumPy.

What `linad.sweeps.compiled.Compiled` is elsewhere, where Numba has been told to compile nothing
(``NUMBA_DISABLE_JIT``, for debuggers and coverage): the same results, guards and errors, slowly.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import number
from linad.core.tape import Tape
from linad.errors import GuardError
from linad.jit.signature import as_recorded


class Interpreted:
    """A tape, called with plain or traced arrays.

    Parameters
    ----------
    tape : Tape
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """The results, in arrays of their own.

        Raises
        ------
        GuardError
            If a Python decision would be taken otherwise.
        """
        given = [v if isinstance(v, Tracer) else as_recorded(v) for v in values]
        return tuple([_own(y) for y in self.tape.run(given)])

    impl = __call__

    def takes(self, values: Sequence[Any]) -> bool:
        """Whether Python would decide as recorded, with these arguments."""
        try:
            self(*values)
        except GuardError:
            return False
        return True


def _own(value: Any) -> Any:
    if isinstance(value, Tracer):
        return np.copy(value) if value.shape else number(value)
    return np.array(value) if np.ndim(value) else np.asarray(value)[()]
