"""Code objects whose calls of a global name go by another name.

In CPython's bytecode a global that is called can be told from one that is only named: the
instruction that loads it leaves room for ``self``, or ``PUSH_NULL`` stands beside it. So
``np.zeros(3)`` is renamed to ``_linad_numpy_0.zeros(3)``, a byte of argument and a name more, while
``dtype=np.float64`` stays. Jumps, lines and everything else are untouched.
"""

import opcode
import sys
import types
from collections.abc import Callable, Iterator
from typing import NamedTuple

from linad.errors import UnsupportedError

KNOWN = ((3, 11), (3, 12), (3, 13))
"""The versions of Python whose bytecode this was written for, and tested on."""

_CACHE, _EXTENDED = opcode.opmap.get("CACHE", 0), opcode.opmap["EXTENDED_ARG"]
_GLOBAL, _NULL = opcode.opmap["LOAD_GLOBAL"], opcode.opmap.get("PUSH_NULL")
_ATTRIBUTE = opcode.opmap["LOAD_ATTR"]
_METHOD = opcode.opmap["LOAD_METHOD"] if sys.version_info < (3, 12) else None
"""Since 3.12 a bit of LOAD_ATTR says that what is loaded is called."""

_NULL_BEFORE = sys.version_info < (3, 13)
"""Whether PUSH_NULL stands before what is called; since 3.13 it stands behind."""


class ArgumentByte(NamedTuple):
    """An instruction: where the low byte of its argument is, and how many bytes stand before."""

    at: int
    op: int
    arg: int
    extensions: int


def is_known(version: tuple[int, int] = sys.version_info[:2]) -> bool:
    """Whether the bytecode of a version of Python, this one's to begin with, is known."""
    return version in KNOWN and sys.implementation.name == "cpython"


def check_version(version: tuple[int, int] = sys.version_info[:2]) -> None:
    """Raise unless the bytecode of this Python is known."""
    if not is_known(version):
        known = ", ".join(f"{major}.{minor}" for major, minor in KNOWN)
        raise UnsupportedError(
            f"adopt: the bytecode of Python {version[0]}.{version[1]} is not known to this version "
            f"of linad, which knows CPython {known}; import linad.numpy as np in the module "
            f"instead"
        )


def _instructions(code: types.CodeType) -> Iterator[ArgumentByte]:
    raw, extended, n = code.co_code, 0, 0
    for k in range(0, len(raw), 2):
        op, arg = raw[k], raw[k + 1] | extended
        if op == _CACHE:
            continue
        if op == _EXTENDED:
            extended, n = arg << 8, n + 1
            continue
        yield ArgumentByte(k + 1, op, arg, n)
        extended = n = 0


class Use(NamedTuple):
    """A global that a function loads: its name, the attributes read off it, whether it is called.

    ``attributes`` is empty where the global itself is what is called or named.
    """

    instruction: ArgumentByte
    name: str
    attributes: tuple[str, ...]
    called: bool


def _uses(code: types.CodeType) -> Iterator[Use]:
    listing = list(_instructions(code))
    names = code.co_names
    for k, instruction in enumerate(listing):
        if instruction.op != _GLOBAL:
            continue
        before = _NULL_BEFORE and k > 0 and listing[k - 1].op == _NULL
        called = before or bool(instruction.arg & 1)
        attributes = []
        j = k + 1
        while j < len(listing) and listing[j].op in (_ATTRIBUTE, _METHOD):
            op, arg = listing[j].op, listing[j].arg
            by_bit = _METHOD is None
            attributes.append(names[arg >> 1 if by_bit else arg])
            called = called or op == _METHOD or bool(by_bit and arg & 1)
            j += 1
            if called and (op == _METHOD or (by_bit and arg & 1)):
                break
        if not _NULL_BEFORE and j < len(listing) and listing[j].op == _NULL:
            called = True
        yield Use(instruction, names[instruction.arg >> 1], tuple(attributes), called)


def renamed(code: types.CodeType, name_for: Callable[[Use], str | None]) -> types.CodeType:
    """Return the code with other names for some of the globals it uses.

    Parameters
    ----------
    code : code object
        Of a function; the functions inside it are renamed as well.
    name_for : callable
        The new name of a use, None to leave it.

    Returns
    -------
    code object
        ``code`` itself if nothing in it is renamed.
    """
    constants = tuple(
        [renamed(c, name_for) if isinstance(c, types.CodeType) else c for c in code.co_consts]
    )
    changed = any(a is not b for a, b in zip(constants, code.co_consts, strict=True))
    names, raw = list(code.co_names), bytearray(code.co_code)
    wanted = [(use.instruction, new) for use in _uses(code) if (new := name_for(use)) is not None]
    if not wanted and not changed:
        return code
    for instruction, new in wanted:
        if new not in names:
            names.append(new)
        arg = names.index(new) << 1 | instruction.arg & 1
        if arg >> 8 * (instruction.extensions + 1):
            continue  # more names than its argument can count: this use stays as it is
        for b in range(instruction.extensions + 1):
            raw[instruction.at - 2 * b] = arg >> 8 * b & 255
    return code.replace(co_code=bytes(raw), co_names=tuple(names), co_consts=constants)
