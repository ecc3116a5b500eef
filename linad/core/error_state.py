"""NumPy's error state (`numpy.errstate`), and where compiled code cannot do as it says.

Under "ignore" and "warn" a division by zero changes no number, and compiled code computes the same
(it gives no warning). Under "raise", "call", "print" and "log" something happens at the operation
that fails, which compiled code does not do: such a call runs uncompiled.
"""

import contextvars
import warnings
from typing import Any

import numpy as np
from numpy._core import _ufunc_config

state: Any = getattr(_ufunc_config, "_extobj_contextvar").get  # noqa: B009  # not in its stub
"""The error state in force, an object that NumPy makes anew when it changes; in one call of C."""

INITIAL: Any = contextvars.Context().run(state)
"""The state of a process in which nobody has changed it: warnings, and nothing for underflow."""

QUIET = ("ignore", "warn")

_last_quiet: list[Any] = [INITIAL]


def is_loud() -> bool:
    """Whether something happens beside the numbers when an operation divides by zero, say."""
    found = state()
    if found is _last_quiet[0]:
        return False
    if all([mode in QUIET for mode in np.geterr().values()]):
        _last_quiet[0] = found
        return False
    return True


def quiet_state() -> Any:
    """The error state in force, or, where that one is loud, the initial one."""
    return INITIAL if is_loud() else state()


class Watch:
    """Whether a function changes, while it runs, what happens at a division by zero."""

    __slots__ = ("changed", "filters", "state")

    def __init__(self) -> None:
        self.state, self.filters = state(), warnings.filters
        self.changed = False

    def look(self) -> None:
        """Take note of the state that an operation is about to run in."""
        if state() is not self.state:
            self.changed = self.changed or is_loud()
        if warnings.filters is not self.filters:
            self.changed = self.changed or _warnings_are_errors()

    def finish(self) -> bool:
        """Whether an operation ran in another state, or the function leaves another behind."""
        return self.changed or state() is not self.state


def _warnings_are_errors() -> bool:
    """Whether the warning that a division by zero gives would be raised."""
    for action, message, category, module, _ in warnings.filters:
        if issubclass(RuntimeWarning, category) and message is None and module is None:
            return action == "error"
        if action == "error" and issubclass(RuntimeWarning, category):
            return True
    return False
