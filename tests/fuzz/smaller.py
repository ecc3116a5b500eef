"""Make a failing program small: statements, lines of them, points and changes go while it still
fails."""

import re
from dataclasses import replace

from fuzz.checks import difference


def smaller(program, rounds=3):
    """The smallest program found that differs too."""

    kind = kind_of(difference(program) or "")

    def fails(candidate):
        try:
            compile(candidate.source(), "<candidate>", "exec")
        except SyntaxError:
            return False
        found = difference(candidate)
        return found is not None and kind_of(found) == kind

    for _ in range(rounds):
        before = program
        for k in reversed(range(len(program.body))):
            if fails(program.without(k)):
                program = program.without(k)
        for k in range(len(program.body)):
            for j in reversed(range(program.body[k].count("\n") + 1)):
                text = without_line(program.body[k], j)
                shorter = replace(program, body=(*program.body[:k], text, *program.body[k + 1 :]))
                if text and fails(shorter):
                    program = shorter
        for k in reversed(range(len(program.around))):
            shorter = replace(program, around=program.around[:k] + program.around[k + 1 :])
            if fails(shorter):
                program = shorter
        for k in reversed(range(1, len(program.points))):
            shorter = replace(
                program,
                points=program.points[:k] + program.points[k + 1 :],
                changes=program.changes[: k - 1] + program.changes[k:],
            )
            if fails(shorter):
                program = shorter
        for k in range(len(program.changes)):
            changes = (*program.changes[:k], "pass", *program.changes[k + 1 :])
            if program.changes[k] != "pass" and fails(replace(program, changes=changes)):
                program = replace(program, changes=changes)
        for name in program.names:
            shorter = replace(program, result=name)
            if name != "n" and shorter != program and fails(shorter):
                program = shorter
        if program == before:
            break
    return program


def without_line(statement, j):
    """A statement without one of its lines, and what stands inside of that."""
    lines = statement.split("\n")
    margin = indent_of(lines[j])
    after = j + 1
    while after < len(lines) and indent_of(lines[after]) > margin:
        after += 1
    return "\n".join(lines[:j] + lines[after:])


def indent_of(line):
    return len(line) - len(line.lstrip())


def kind_of(found):
    """What goes wrong, without the numbers."""
    return re.sub(r"[^a-zA-Z: ]", "", found.split("\n")[0])[:70]
