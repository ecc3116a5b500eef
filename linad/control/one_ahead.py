"""What a repetition does without its carries, done one repetition ahead.

    for each row:                 a = f(first row)
        a = f(row)                for each row:
        c = g(c, a)                   b = a
                                      a = f(next row)
                                      c = g(c, b)

The way back of a loop runs a step again, from what was kept of it, and pulls through it: f and g
are chains of operations that wait for one another. A processor finds what need not wait among the
next hundred operations or so, and those are g's where f stands first.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from linad.control.registers import Statements

FEWEST_AHEAD, FEWEST_BEHIND = 8, 32
"""Statements of f, and of g, from which it is worth it."""

MOST_PASSED = 24
"""Numbers that are handed on, at most: each takes a register."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_LET = re.compile(r"(\w+) = (.+)")


class OneAhead(NamedTuple):
    """The statements of a body in two parts.

    Attributes
    ----------
    ahead : list of str
        Those that need no carries.
    behind : list of str
        The others, which have what was computed ahead by other names.
    passed : list of str
        Lines that give it these names.
    names : dict
        What was computed ahead, and the other names.
    """

    ahead: list[str]
    behind: list[str]
    passed: list[str]
    names: dict[str, str]

    def renamed(self, line: str) -> str:
        """A line that comes after those of ``behind``."""
        return _renamed(line, self.names)


def one_ahead(
    statements: Statements, carries: int, rows: int, after: Sequence[str]
) -> OneAhead | None:
    """Take the statements of a body apart; None where that does not pay, or some touch memory.

    Parameters
    ----------
    statements : Statements
    carries, rows : int
        How many of its inputs are carries, and rows.
    after : list of str
        What follows the statements in a repetition, or the names in it.
    """
    lines = [_LET.fullmatch(line) for line in statements.lines]
    if None in lines or any([names is None for names in statements.inputs]):
        return None
    waiting = _all_of(statements.inputs[:carries])
    early = _all_of(statements.inputs[carries : carries + rows])
    ahead: list[str] = []
    behind: list[str] = []
    for name, text in [line.groups() for line in lines if line]:
        waits = not waiting.isdisjoint(_NAME.findall(text))
        (behind if waits else ahead).append(f"{name} = {text}")
        (waiting if waits else early).add(name)
    read = {name for line in (*behind, *after) for name in _NAME.findall(line)}
    passed = sorted(early & read)
    few = len(ahead) < FEWEST_AHEAD or len(behind) < FEWEST_BEHIND
    if not rows or few or len(passed) > MOST_PASSED:
        return None
    names = {name: f"h{name}" for name in passed}
    handed = [f"{new} = {name}" for name, new in names.items()]
    return OneAhead(ahead, [_renamed(line, names) for line in behind], handed, names)


def _all_of(arrays: Iterable[Any]) -> set[str]:
    return {name for names in arrays for name in names.ravel()}


def _renamed(line: str, names: dict[str, str]) -> str:
    return _NAME.sub(lambda found: names.get(found[0], found[0]), line)
