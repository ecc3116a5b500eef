"""The source of a function that runs, where it is known to be that of its code.

A file may have been edited since it was imported, a function made by `exec`, or rewritten. So the
source is compiled again, and counts only if the code that runs, or what that was before it was
adopted, is among what comes of it.
"""

import ast
import dis
import functools
import linecache
from types import CodeType
from typing import Any

from linad.core.adopted import as_written
from linad.core.codes import codes_in, is_of, place_at, place_of

LONGEST = 400_000
"""Letters of a file that is read."""

_GENERATOR, _COROUTINE, _ASYNC = 0x20, 0x80, 0x200


def source_of(code: CodeType) -> Any:
    """The part of a syntax tree that a function was compiled from; None where that is unsure, and
    of generators and coroutines."""
    code = as_written(code)
    if code.co_flags & (_GENERATOR | _COROUTINE | _ASYNC):
        return None
    text = "".join(linecache.getlines(code.co_filename))
    if not text or len(text) > LONGEST:
        return None
    parsed = _parsed(code.co_filename, text)
    if parsed is None:
        return None
    tree, compiled = parsed
    if not any([c == code for c in codes_in(compiled)]):
        return None
    found = [n for n in ast.walk(tree) if is_of(n, code)]
    if code.co_name == "<lambda>":
        found = _innermost(found, code)
    return found[0] if len(found) == 1 else None


@functools.lru_cache(maxsize=64)
def _parsed(filename: str, text: str) -> tuple[ast.Module, CodeType] | None:
    try:
        return ast.parse(text), compile(text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def _innermost(found: list[Any], code: CodeType) -> list[Any]:
    """Of the lambdas in a line, that whose body has all of the code's instructions."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "RESUME"]
    places = [place_at(code, step.offset) for step in steps]
    places = [p for p in places if None not in p and p[::2] != p[1::2]]  # that say where they are

    def has_all(node: ast.Lambda) -> bool:
        first, last, left, right = place_of(node.body)
        return all([(first, left) <= (a, c) and (b, d) <= (last, right) for a, b, c, d in places])

    having = [n for n in found if has_all(n)]
    inner = [n for n in having if not any([m is not n and m in ast.walk(n) for m in having])]
    return inner if places else []
