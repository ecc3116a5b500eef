"""Why a kernel stopped, and at which line of its source: its status tells both."""

from linad.sweeps.instructions import NOT_COMPILED

REASONS = RAISED, DIVISION, NO_STEP, NO_MEMORY, NO_ENTRY = range(5)
"""What the line raises, a division by zero, a range whose step is zero, memory, an index."""

FIRST = NOT_COMPILED + 1


def status_of(line: int, reason: int) -> int:
    return FIRST + len(REASONS) * line + reason


def stop_of(status: int) -> tuple[int, int]:
    """The line and the reason."""
    return divmod(status - FIRST, len(REASONS))
