"""The loops of the user's code that are running, as Python's own code tells them.

A loop is the stretch of a function's code from where a jump back leads to the jump; the frame that
runs it is at an instruction within.
"""

import dis
import sys
from types import FrameType

from linad.core.callers import ENGINES, package_of, user_frame
from linad.core.frames import frames_above, shown_file
from linad.core.installed import is_installed

TRANSFORMS = ("linad.api.", "linad.jit.", "linad.transforms.")
"""What calls a function that is traced."""

PROGRAMS = "linad.core.tape"
"""What runs a program that was recorded, in which no function of the user's is called."""


def running_loops() -> list[str]:
    """The loops, ``file:line`` each, that the code which called is in; the innermost first.

    Those around the derivative that is taken are none of it; nor are those around the run of a
    program that was recorded.
    """
    found: list[str] = []
    user = user_frame()
    for frame in frames_above(sys._getframe(1)):
        if frame is user:
            break
        if frame.f_globals.get("__name__") == PROGRAMS:
            return found
    for frame in frames_above(user):
        if str(frame.f_globals.get("__name__")).startswith(TRANSFORMS):
            break
        if package_of(frame) not in ENGINES and not is_installed(frame.f_code.co_filename):
            file = shown_file(frame.f_code.co_filename)
            found += [f"{file}:{line}" for line in loops_in(frame)]
    return found


def described(loops: list[str]) -> str:
    """Loops within each other, in words; "" for none."""
    if not loops:
        return ""
    around = f" (within {', '.join(loops[1:])})" if len(loops) > 1 else ""
    return f"the loop at {loops[0]}{around}"


def loops_in(frame: FrameType) -> list[int]:
    """The first lines of the loops that a frame is in, the innermost first."""
    instructions = list(dis.get_instructions(frame.f_code))
    lines: dict[int, int] = {}  # by where the loop begins
    for i in instructions:
        begin = i.argval
        if "JUMP_BACKWARD" in i.opname and begin <= frame.f_lasti <= i.offset:
            within = [j.positions for j in instructions if begin <= j.offset <= i.offset]
            numbers = [p.lineno for p in within if p is not None and p.lineno is not None]
            lines[begin] = min([*numbers, lines.get(begin, frame.f_lineno)])
    inner_first = [lines[begin] for begin in sorted(lines, reverse=True)]
    return list(dict.fromkeys(inner_first))
