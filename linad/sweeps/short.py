"""The shortest way through a compiled function: arrays in, one array out.

Everything that a call checks otherwise, `linad.sweeps.engine` checks here in machine code:
types, dtypes, shapes and layout of the arguments. What does not fit goes the long way.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.config import Settings, current
from linad.sweeps.program import Program, Workspace


def short_call(program: Program, settings: Settings) -> Callable[[tuple[Any, ...]], Any] | None:
    """Return a function of a tuple of arrays: the result, or None for the long way."""
    if not program.straight or len(program.results) != 1:
        return None
    enter, pool = program.enter, program.pool
    (shape, dtype), empty = program.results[0], np.empty
    scalar = shape == ()

    def call(args: tuple[Any, ...]) -> Any:
        if current() is not settings:
            return None
        try:
            workspace = pool.pop()
        except IndexError:
            workspace = Workspace(program)
        result = empty(shape, dtype)
        status = enter(workspace.header, (*args, result))
        pool.append(workspace)
        if status:
            return None
        return result[()] if scalar else result

    return call
