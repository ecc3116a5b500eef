"""Says that a solver spends its time in Python, and what to write instead; and seldom again."""

import dis
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from linad.core.callers import defining_package
from linad.core.frames import held_by, names_in
from linad.core.long_traces import ended_after
from linad.core.patience import SECONDS, say
from linad.core.settings import settings
from linad.core.shapes import name_of
from linad.core.tolerances import Tolerance
from linad.jit.jitted import Jitted
from linad.jit.specializations import LONG
from linad.solve.compile_clock import compiled_seconds

RARELY = 10.0
"""By how much longer it has to take until it is said again; and seconds, at least."""

FEW = 100
"""Operations of which a few more or less are no loop that goes round more often."""

PATHS = 8
"""Numbers of operations, at so many different points, that are no more than a few programs."""

WORTH = 4e-4
"""Seconds of a run in Python below which a compiled one takes about as long: 1e-4 and more, however
little it does."""


class Waiting:
    """A function that a solver runs, and a clock of the time spent in it.

    ``with waiting:`` goes around what else runs it, or its derivative. Whatever a solver does
    between, linear algebra above all, does not count, nor does what Numba compiles in it, as the
    user's kernels, nor where it waits, or another program has the core, nor the first run and the
    first derivative, in which much is done for the first time: compiling the function would not
    help.

    Parameters
    ----------
    name, called : str
        The solver, and the function that the user gave.
    given : callable
        That function; nothing is said of one that is compiled, or linad's own.
    run : callable
        What to run.
    """

    def __init__(
        self, name: str, called: str, given: Callable[..., Any], run: Callable[..., Any]
    ) -> None:
        self.name, self.called, self.given, self.run = name, called, given, run
        self.__name__ = called
        while isinstance(given, functools.partial):
            given = given.func
        self.compiled = _is_compiled(given) or defining_package(given) == "linad"
        self.hands_on = _calls_compiled(given)
        self.silent = self.compiled or not settings().progress
        self.seconds, self.compiling, self.depth = 0.0, 0.0, 0
        self.entered = 0.0, 0.0
        self.one_program = True  # can hold it
        self.longest = 0.0  # seconds of a run that has come to its end
        self.outside = 0.0  # the same of another function that runs around it
        self.due = SECONDS
        self.runs = 0  # of it, of its derivatives, and of those applied
        self.points = 0  # at which there was a derivative
        self.most = 0  # operations
        self.lengths: dict[int, set[int]] = {}  # of operations, by how many are unknown

    def __call__(self, *args: Any) -> Any:
        with self:
            return self.run(*args)

    def __enter__(self) -> None:
        self.depth += 1
        if self.depth == 1:
            if self.seconds >= self.due and not self.silent:
                self.due = max(RARELY * self.seconds, RARELY)
                if remedy := self._remedy():
                    ran = f"{self.called} has run for {self.seconds:.0f} s in Python"
                    say(f"{self.name}: {ran}; {remedy}")
            self.compiling = compiled_seconds()
            self.outside = ended_after.get()
            ended_after.set(self.longest)
            self.entered = time.perf_counter(), time.thread_time()

    def __exit__(self, *error: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            ended_after.set(self.outside)
            began, ran = self.entered
            passed = time.perf_counter() - began - (compiled_seconds() - self.compiling)
            if error[:1] == (None,):
                self.longest = max(self.longest, passed)
            if self.runs:
                self.seconds += max(min(passed, time.thread_time() - ran), 0.0)
            self.runs += 1

    def saw(self, J: Any = None, iterations: Sequence[Tolerance] = ()) -> None:
        """Note a derivative at a point, and of how many operations the function was, if J tells.

        Integrations, and searches of linad's, are loops in a program, however often they go round;
        but for those that are another program for each set of steps.
        """
        self.one_program = self.one_program and all(met.one_program for met in iterations)
        self.points += 1
        if self.points == 1:
            self.seconds = 0.0
        operations = len(getattr(J, "steps", ()))
        if operations and not iterations:
            self.most = max(self.most, operations)
            self.lengths.setdefault(J.shape[-1], set()).add(operations)

    @property
    def varies(self) -> tuple[int, int] | None:
        """The fewest and the most operations, if there is ever another number of them, as of
        loops whose length hangs on values.

        A few numbers are those of an ``if``, or of a loop with few repetitions: as many programs.
        Where some unknowns are held, as in profiles, there are a few operations more of linad's.
        """
        several = [found for found in self.lengths.values() if len(found) > PATHS]
        varying = [(min(found), max(found)) for found in several if min(found) > FEW]
        return max(varying, key=lambda ends: ends[1] - ends[0], default=None)

    @property
    def pays_compiled(self) -> bool:
        """Whether `linad.jit` would make it faster, as far as is known."""
        if self.compiled or self._only_hands_on or self.varies or not self.one_program:
            return False
        return self._is_slow

    @property
    def _only_hands_on(self) -> bool:
        """Whether it does little but call what is compiled, as ``lambda p: -fast(*p)``."""
        return self.hands_on and self.most <= FEW

    @property
    def _is_slow(self) -> bool:
        """Whether a run in Python takes longer than a compiled call does in any case."""
        return self.seconds >= WORTH * max(self.points, self.runs)

    def _remedy(self) -> str:
        """What would help: no compiler where there would be ever more to compile, and nothing
        where the function is short, and only runs often, or has what no one program holds."""
        if not self.one_program:
            return ""
        if self.varies:
            fewest, most = self.varies
            return (
                f"it is {fewest} operations at one point and {most} at another, ever another "
                f"number, and "
                f"linad.jit would compile it anew for each number of them: let loops go round as "
                f"often at every point, with np.where for what does not count, best over whole "
                f"arrays; linad.scipy.optimize.brentq for one that finds a root; or linad.kernel "
                f"compiles loops and ifs over numbers as they stand"
            )
        if not self._is_slow or self._only_hands_on:
            return ""
        compiled = f"{self.name}(linad.jit({self.called}), ...)"
        if _has_nested_loops(self.given):
            return (
                f"it has a loop within a loop: {self.name}(linad.kernel({self.called}), ...) "
                f"compiles them as they stand, if they are over numbers; {compiled} suits inner "
                f"loops that go round as often each time, and takes long over others"
            )
        if self.most >= LONG:
            return (
                f"it is {self.most} operations: {compiled} compiles a loop that does the same in "
                f"each step in seconds, and any other one by one, which takes longer; linad.kernel "
                f"compiles loops and ifs over numbers as they stand"
            )
        if 0 < self.most <= FEW:
            return (
                f"{compiled} makes one program of its {self.most} operations, which takes a half "
                f"of the time or less once it is compiled; linear algebra, and what other code "
                f"computes, take as long as before"
            )
        return (
            f"{compiled} compiles it, in seconds that count if it runs once, or linad.kernel, if "
            f"it is loops and ifs over numbers"
        )


def _has_nested_loops(f: Any) -> bool:
    """Whether the code of a function says ``for`` within ``for``."""
    code = getattr(f, "__code__", None)
    end = 0
    for step in () if code is None else dis.get_instructions(code):
        if step.opname == "FOR_ITER":
            if step.offset < end:
                return True
            end = step.argval
    return False


def _is_compiled(f: Any) -> bool:
    """Whether `linad.jit` or `linad.kernel` has made a function."""
    return isinstance(f, Jitted) or type(f).__module__.startswith("linad.kernels.")


def _calls_compiled(f: Any) -> bool:
    """Whether the code of a function names one that is compiled."""
    code = getattr(f, "__code__", None)
    space = getattr(f, "__globals__", {})
    named = [] if code is None else [space.get(name) for name in names_in(code)]
    return any(map(_is_compiled, (*named, *held_by(f))))


def waiting_of(name: str, f: Callable[..., Any]) -> Waiting:
    """The clock of a function: itself, the one that it brings along, or a new one."""
    found = f if isinstance(f, Waiting) else getattr(f, "waiting", None)
    return found if isinstance(found, Waiting) else Waiting(name, name_of(f), f, f)
