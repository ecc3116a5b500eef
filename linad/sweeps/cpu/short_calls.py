"""The shortest way through a compiled function, for arguments like those of the last call.

What the general way does for any containers, a few lines of Python written for these do at
once: take the arrays out, make the results, put them into their container. Types, dtypes,
shapes and layout of the arrays `linad.sweeps.cpu.engine` checks in machine code. What does not
fit goes the long way.

    def call(args):
        if changed and current() is not settings or state() is not INITIAL and is_loud():
            return OTHER
        (a0, a1) = args
        if type(a0) is not list or len(a0) != 2: return OTHER
        ...
        made = make(workspace.header, plan, (a0[0], a0[1], a1))
        if made is OTHER: return OTHER
        r0, r1 = made
        return (r0, [r1], ...)

Programs that let go of the interpreter, and those with steps in NumPy, get results that Python
makes: ``r0 = empty((3,), d0)``.

Where the arguments are arrays and floats, and the results arrays and numbers, there is no need
even of these lines: see `linad.sweeps.cpu.direct_calls`.
"""

import functools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from linad.core.error_state import INITIAL, is_loud, state
from linad.core.interrupts import is_interrupt
from linad.core.memory_layouts import laid_like
from linad.core.settings import changed, current, settings
from linad.operators.provided import OTHER
from linad.sweeps.cpu import engine
from linad.sweeps.cpu.direct_calls import entry
from linad.sweeps.cpu.direct_looks import DirectLook
from linad.sweeps.cpu.made_containers import Recipe
from linad.sweeps.cpu.made_results import enter_making, plan_of


def short_call(
    program: Any,
    args: tuple[Any, ...],
    dynamic: Sequence[Any],
    result: Any,
    slots: Sequence[Any],
    flat: Sequence[bool],
    look: Any = None,
    objects: Sequence[tuple[Any, list[str], dict[str, Any]]] = (),
    held: Sequence[Any] = (),
    lies: Sequence[Any] = (),
    any_order: bool = False,
    python_numbers: bool = True,
) -> Callable[[tuple[Any, ...]], Any] | None:
    """Write the function.

    Parameters
    ----------
    program : CpuProgram
    args : tuple
        Arguments of the last call.
    dynamic : list
        Their leaves that are data, in order.
    result : container
        Like the result, its leaves being the entries of ``slots``, or what is the same at every
        call.
    slots : list
        One object a result of the program, in order.
    flat : list of bool
        Which of them are arrays without axes, and not numbers.
    look : Look or None
        What the function reads from outside: its arrays follow those among the arguments.
    objects : list of tuple
        Objects among the arguments, each with lines that hold as long as it is as it is, and
        what the names in them stand for.
    held : list of ndarray
        Arrays that every call takes, before those among the arguments.
    lies : list
        How the results lie in memory, as `linad.core.memory_layouts.layout_of` says it; empty for
        orders C and F, in which the program makes them.
    any_order : bool
        Whether the program, which takes arrays in order C, holds for arrays in others: such are
        copied.
    python_numbers : bool
        Whether the program for a number of NumPy's holds for Python's own as well.

    Returns
    -------
    callable or None
        Of the tuple of arguments; it returns `OTHER` where they are not like these. None where
        there is no short way: containers other than tuples, lists and dictionaries, or programs
        that are not compiled. Where machine code can do without it, it has the attribute ``entry``.
    """
    if not program.made or (program.shared and settings().threads > 1):
        return None
    writer = _ShortCallWriter(dynamic, slots)
    writer.lies, writer.any_order, writer.python_numbers = lies, any_order, python_numbers
    writer.objects = {id(value) for value, _, _ in objects}
    try:
        writer.take("args", args, checked=len(args))
        returned = writer.give(result)
    except _NoShortWayError:
        return None
    lines = [
        "def call(args):",
        "    if changed and current() is not settings or state() is not INITIAL and is_loud():",
        "        return OTHER",
    ]
    lines += writer.lines
    scope = writer.scope | _NAMES | {"settings": settings()}
    outside, texts, seen = _outside(look, objects)
    if outside is not None:
        scope["outside"] = outside
        lines += ["    found = outside()", "    if found is None:", "        return OTHER"]
        lines += [f"    ({_listed(texts)}) = found"] if texts else []
    scope |= {f"h{k}": value for k, value in enumerate(held)}
    arrays = [*[f"h{k}" for k in range(len(held))], *writer.arrays, *texts]
    numbers = [s.shape == () and not f for s, f in zip(slots, flat, strict=True)]
    running, names_there = _running(program, arrays, numbers)
    lines += [*running, f"    return {returned}"]
    scope |= names_there
    exec(_compiled("\n".join(lines)), scope)
    call = scope["call"]
    numbers_given = [writer.numbers.get(f"v{k}", ()) for k in range(len(args))]
    taken = [f"array(v{k})" if kinds else f"v{k}" for k, kinds in enumerate(numbers_given)]
    if program.makes_results and arrays == [*taken, *texts] and not writer.needs_python:
        workspace = program.pool.pop() if program.pool else program.new_workspace()
        names = _result_names(program)
        plain = names[0] if len(names) == 1 else f"({_listed(names)})"
        recipe = None if returned == plain else Recipe(result, slots)
        direct = None if seen is None else seen()
        call.entry = entry(scope["plan"], workspace, outside, direct, numbers_given, recipe)
    return call  # type: ignore[no-any-return]


def in_parts(workspace: Any, arrays: tuple[Any, ...]) -> Any:
    """Run a program with steps in NumPy; where one of them raises, the long way does so again."""
    try:
        return workspace.run_in_parts(arrays, engine.sweep)
    except Exception as failure:
        if is_interrupt(failure):
            raise
        return OTHER


_NAMES = {
    "__name__": __name__,  # whose lines these are
    "changed": changed,
    "state": state,
    "INITIAL": INITIAL,
    "is_loud": is_loud,
    "current": current,
    "OTHER": OTHER,
    "empty": np.empty,
    "array": np.array,
    "ndarray": np.ndarray,
    "in_parts": in_parts,
    "in_rows": np.ascontiguousarray,
    "laid_like": laid_like,
}
"""What the lines of all calls name."""


def _result_names(program: Any) -> list[str]:
    return [f"r{k}" for k in range(len(program.results))]


def _running(
    program: Any, arrays: list[str], numbers: list[bool]
) -> tuple[list[str], dict[str, Any]]:
    """Lines that run a program on arrays, and give its results their names; and what they name.

    ``numbers`` says which of the results are numbers, and not arrays without axes.
    """
    names = _result_names(program)
    scope: dict[str, Any] = {
        "pool": program.pool,
        "new_workspace": program.new_workspace,
        "enter": program.enter,
    }
    # What the plan, and the lines, have of the dtypes is addresses.
    scope |= {f"d{k}": result.dtype for k, result in enumerate(program.results)}
    made: list[str] = []
    if program.makes_results:
        scope |= {"make": enter_making, "plan": plan_of(len(arrays), program.results, numbers)}
        target = names[0] if len(names) == 1 else "made"
        run = f"{target} = make(workspace.header, plan, ({_listed(arrays)}))"
        failed = f"{target} is OTHER"
        after = [f"{_listed(names)} = made"] if len(names) > 1 else []
    else:
        for k, (shape, _, order) in enumerate(program.results):
            made.append(f"    r{k} = empty({shape!r}, d{k}, {order!r})")
        given = f"({_listed([*arrays, *names])})"
        straight = f"enter(workspace.header, {given})"
        run = f"status = {straight if program.straight else f'in_parts(workspace, {given})'}"
        failed = "status"
        after = [f"r{k} = r{k}[()]" for k, number in enumerate(numbers) if number]
    lines = [
        *made,
        "    try:",
        "        workspace = pool.pop()",
        "    except IndexError:",
        "        workspace = new_workspace()",
        f"    {run}",
        "    pool.append(workspace)",
        f"    if {failed}:",
        "        return OTHER",
        *[f"    {line}" for line in after],
    ]
    return lines, scope


def _outside(
    look: Any, objects: Sequence[Any]
) -> tuple[Callable[[], Any] | None, list[str], Callable[[], DirectLook] | None]:
    """A function that gives the arrays outside, None where things are not as they were.

    With the names that the lines of a call have for these arrays, and what makes the same for
    machine code.
    """
    lines = [test for _, found, _ in objects for test in found]
    scope: dict[str, Any] = {"LookupAgain": (LookupError, AttributeError, ValueError, TypeError)}
    for _, _, names_of in objects:
        scope |= names_of
    texts: list[str] = []
    if look is not None:
        scope |= look.scope
        lines, texts = [*lines, *look.lines], look.texts
    if not lines and not texts:
        return None, [], None
    source = ["def outside():", "    try:"]
    source += [f"        if not ({test}): return None" for test in lines]
    source += [
        f"        return ({_listed(texts)})",
        "    except LookupAgain:",
        "        return None",
    ]
    exec(_compiled("\n".join(source)), scope)
    names = [f"o{k}" for k in range(len(texts))]
    return scope["outside"], names, functools.partial(DirectLook, lines, texts, scope)


@functools.lru_cache(256)
def _compiled(source: str) -> CodeType:
    """The code of a text: those of many operators differ only in what their names stand for."""
    return compile(source, "<short call>", "exec")


UNCHANGED = (int, float, bool, str, type(None))
"""Results that are the same at every call, and cannot be written into."""


def alike(kind: type) -> tuple[type, ...]:
    """Types whose numbers a program does not tell apart."""
    for kinds in ((float, np.float64), (complex, np.complex128)):
        if kind in kinds:
            return kinds
    return (kind,)


def _listed(names: Sequence[str]) -> str:
    """Names with a comma after each, as a tuple has them."""
    return "".join([f"{name}, " for name in names])


DEEPEST = 100
"""Containers within containers of a result; Python reads no more than 200 nested brackets."""


class _NoShortWayError(Exception):
    """A container or leaf that the long way is for."""


class _ShortCallWriter:
    """The lines that take containers apart, and the expression that makes one."""

    def __init__(self, dynamic: Sequence[Any], slots: Sequence[Any]) -> None:
        self.dynamic = {id(x) for x in dynamic}
        self.slots = {id(s): k for k, s in enumerate(slots)}
        self.lines: list[str] = []
        self.arrays: list[str] = []
        self.scope: dict[str, Any] = {}
        self.objects: set[int] = set()
        self.lies: Sequence[Any] = ()
        self.any_order = False
        self.python_numbers = True
        self.needs_python = False
        """Whether a result is one that only Python can make."""
        self.numbers: dict[str, tuple[type, ...]] = {}
        self.count = 0

    def _name(self, value: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def _unless(self, test: str) -> None:
        self.lines += [f"    if not ({test}):", "        return OTHER"]

    def take(self, text: str, value: Any, checked: int | None = None) -> None:
        """Take a container apart that the expression ``text`` gives."""
        kind = type(value)
        if kind in (tuple, list):
            if checked is None:
                self._unless(f"type({text}) is {kind.__name__} and len({text}) == {len(value)}")
            else:
                self._unless(f"len({text}) == {checked}")
            for k, item in enumerate(value):
                name = f"v{self.count}"
                self.count += 1
                self.lines.append(f"    {name} = {text}[{k}]")
                self.take(name, item)
        elif kind is dict:
            if not all(type(key) is str for key in value):
                raise _NoShortWayError
            self._unless(f"type({text}) is dict and list({text}) == {list(value)!r}")
            for key in sorted(value):
                name = f"v{self.count}"
                self.count += 1
                self.lines.append(f"    {name} = {text}[{key!r}]")
                self.take(name, value[key])
        elif kind is np.ndarray and id(value) in self.dynamic:
            if self.any_order and value.ndim > 1 and not value.flags.c_contiguous:
                self._unless(f"type({text}) is ndarray")
                text = f"in_rows({text})"
            self.arrays.append(text)
        elif id(value) in self.dynamic and issubclass(kind, (float, complex, np.generic)):
            kinds = alike(kind) if self.python_numbers else (kind,)
            self._unless(f"type({text}) in {self._name(kinds)}")
            self.arrays.append(f"array({text})")
            self.numbers[text] = kinds
        elif kind in (int, bool, str):
            self._unless(f"type({text}) is {kind.__name__} and {text} == {value!r}")
        elif value is None:
            self._unless(f"{text} is None")
        elif id(value) in self.objects:
            self._unless(f"{text} is {self._name(value)}")
        else:
            raise _NoShortWayError

    def give(self, value: Any, depth: int = 0) -> str:
        """An expression for the result."""
        if depth > DEEPEST:
            raise _NoShortWayError
        k = self.slots.get(id(value))
        if k is not None:
            if self.lies and type(self.lies[k]) is not str:
                self.needs_python = True
                return f"laid_like(r{k}, {self._name(self.lies[k])})"
            return f"r{k}"
        kind = type(value)
        if kind in UNCHANGED:
            return self._name(value)
        if kind is tuple:
            return "(" + "".join([self.give(v, depth + 1) + ", " for v in value]) + ")"
        if kind is list:
            return "[" + ", ".join([self.give(v, depth + 1) for v in value]) + "]"
        if kind is dict and all(type(key) is str for key in value):
            parts = [f"{key!r}: {self.give(v, depth + 1)}" for key, v in value.items()]
            return "{" + ", ".join(parts) + "}"
        raise _NoShortWayError
