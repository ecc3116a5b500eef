"""Errors of arithmetic that the function does not make, but the rule of its derivative does.

Under ``np.errstate(all="raise")`` the square root of 0 is 0, and its slope there divides by zero.
A function that catches the error must go the way that it goes without a derivative.
"""

from typing import Any

import numpy as np

from linad.arrays.traces import Trace
from linad.core.primitive import Primitive

RAISED = (FloatingPointError, RuntimeWarning)
"""What NumPy raises where errors are to be raised, and warnings are errors."""


def with_quiet_rules(
    error: Exception,
    trace: Trace,
    primitive: Primitive,
    args: tuple[Any, ...],
    params: dict[str, Any],
) -> Any:
    """An operation that raised ``error``, done again without errors, if it was a rule that raised.

    Operations that do not raise pay nothing for it. A function of the user's own is not run again:
    it may have written into its arguments, and an error of its rule is the user's as well.
    """
    users = primitive.registry.get(primitive.name) is not primitive
    if users or set(np.geterr().values()) == {"ignore"}:
        raise error
    # Raises if the error is the operation's own.
    primitive.impl(*[getattr(a, "concrete", a) for a in args], **params)
    with np.errstate(all="ignore"):
        return trace.apply(primitive, args, params)
