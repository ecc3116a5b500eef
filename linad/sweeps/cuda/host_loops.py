"""Loops and choices of a device's program that the host runs, one program after the other.

Where a body is too large for the registers of a thread, it is a program of its own. The
instruction that repeats it says, step by step, what is next:

    Run      an inner program, and the places of its arguments and of its results
    Copy     of one place to another, both in C order
    Put      a number

All places are in buffers of the outer program. What decides (how many repetitions there are,
whether a loop goes on, which branch is taken) is read where a program has left it; the host waits
there until everything before has run.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from linad.core.tape import Equation
from linad.sweeps.instructions import NO_RESULT, KernelCall
from linad.sweeps.lower import Lowering
from linad.sweeps.places import Buffer, Place


class Run(NamedTuple):
    """Run an inner program: its number, and the places of its inputs and then of its outputs."""

    program: int
    places: list[Place]


class Copy(NamedTuple):
    """Copy a place to another of as many bytes."""

    target: Place
    source: Place


class Put(NamedTuple):
    """Write an integer."""

    target: Place
    value: int


Step = Run | Copy | Put
Read = Callable[[Place], int]
"""Gives the number at a place, when everything before has run."""

Steps = Generator[Step, None, int]
"""Returns a status: zero, or why the program stops."""


class HostLoop(ABC):
    """An instruction that consists of runs of other programs.

    Parameters
    ----------
    label : str
        What reports call it.
    programs : sequence of Lowering
        Theirs, made for the same target.
    places : sequence of Place
        All that it reads and writes; rows of these, and numbers in them, are what steps name.

    Attributes
    ----------
    equations : list of Equation
        What it computes.
    """

    def __init__(self, label: str, programs: Sequence[Lowering], places: Sequence[Place]) -> None:
        self.label, self.programs, self.places = label, list(programs), list(places)
        self.equations: list[Equation] = []

    @abstractmethod
    def steps(self, read: Read) -> Steps:
        """What is to be done, one step after the other."""

    @property
    def buffers(self) -> list[Buffer]:
        return [p.buffer for p in self.places]

    def moved_bytes(self) -> int:
        """Estimate of what one run of each of its programs reads and writes."""
        return sum([i.moved_bytes() for p in self.programs for i in p.instructions])


def row(place: Place, k: int) -> Place:
    """Entry ``k`` along the first axis."""
    step, *strides = place.strides
    return Place(
        place.buffer, place.offset + k * step, place.shape[1:], tuple(strides), place.dtype
    )


class Repetitions(HostLoop):
    """A body, a number of times: see `linad.control.repeat.Repeat`.

    Parameters
    ----------
    label : str
    body : Lowering
    n : int or Place
        How many times, or where that stands.
    reverse : bool
        Whether the last row comes first.
    carries, rows, constants : list of Place
        Operands of the body, of which a repetition takes one entry of the rows. The carries are
        first values; where there may be no repetition at all, these are at ``last`` already.
    last, made : list of Place
        The last carries, and the rows that repetitions make.
    between : pair of list of Place
        Where carries are between two repetitions.
    """

    def __init__(
        self,
        label: str,
        body: Lowering,
        n: "int | Place",
        reverse: bool,
        *,
        carries: list[Place],
        rows: list[Place],
        constants: list[Place],
        last: list[Place],
        made: list[Place],
        between: tuple[list[Place], list[Place]],
    ) -> None:
        counter = [n] if isinstance(n, Place) else []
        every = [*counter, *carries, *rows, *constants, *last, *made, *between[0], *between[1]]
        super().__init__(label, [body], every)
        self.n, self.reverse = n, reverse
        self.carries, self.rows, self.constants = carries, rows, constants
        self.last, self.made, self.between = last, made, between

    def steps(self, read: Read) -> Steps:
        n = read(self.n) if isinstance(self.n, Place) else self.n
        carries = self.carries
        for j in range(n):
            k = n - 1 - j if self.reverse else j
            new = self.last if j == n - 1 else self.between[j % 2]
            rows, made = ([row(p, k) for p in places] for places in (self.rows, self.made))
            yield Run(0, [*carries, *rows, *self.constants, *new, *made])
            carries = new
        return 0


class Repeating(HostLoop):
    """A body as long as a test says so: see `linad.control.whiles.While`.

    Parameters
    ----------
    label : str
    test, body : Lowering
    limit : int or None
        Most repetitions.
    leap : int
        The stride when rows are first full; then it doubles.
    carries, constants : list of Place
    go : Place
        Where the test leaves its answer.
    between : pair of list of Place
        Where carries are between two repetitions.
    last : list of Place
        The last carries.
    counts : list of Place
        The number of repetitions; where rows are kept, the stride too.
    kept : list of Place
        Rows of carries.
    """

    def __init__(
        self,
        label: str,
        test: Lowering,
        body: Lowering,
        *,
        limit: int | None,
        leap: int,
        carries: list[Place],
        constants: list[Place],
        go: Place,
        between: tuple[list[Place], list[Place]],
        last: list[Place],
        counts: list[Place],
        kept: list[Place],
    ) -> None:
        every = [*carries, *constants, go, *between[0], *between[1], *last, *counts, *kept]
        super().__init__(label, [test, body], every)
        self.limit, self.leap = limit, leap
        self.carries, self.constants, self.go = carries, constants, go
        self.between, self.last, self.counts, self.kept = between, last, counts, kept

    def steps(self, read: Read) -> Steps:
        k = filled = following = 0
        stride, carries = 1, self.carries
        capacity = self.kept[0].shape[0] if self.kept else 0
        while True:
            yield Run(0, [*carries, *self.constants, self.go])
            if not read(self.go):
                break
            if k == self.limit:
                return NO_RESULT
            if self.kept and k == following and filled == capacity:
                fewer = self.leap if stride == 1 else 2
                filled, stride = -(-capacity // fewer), fewer * stride
                for rows in self.kept:
                    for j in range(1, filled):
                        yield Copy(row(rows, j), row(rows, fewer * j))
                following = filled * stride
            if self.kept and k == following:
                for rows, carry in zip(self.kept, carries, strict=True):
                    yield Copy(row(rows, filled), carry)
                filled += 1
                following = filled * stride
            new = self.between[k % 2]
            yield Run(1, [*carries, *self.constants, *new])
            carries, k = new, k + 1
        for last, carry in zip(self.last, carries, strict=True):
            if not carry.same(last):
                yield Copy(last, carry)
        for place, number in zip(self.counts, (k, stride), strict=False):
            yield Put(place, number)
        return 0


class Choice(HostLoop):
    """One of several programs: see `linad.control.branches.Branch`.

    Parameters
    ----------
    label : str
    branches : sequence of Lowering
    index : Place
        Where it stands which one.
    operands, results : list of Place
    """

    def __init__(
        self,
        label: str,
        branches: Sequence[Lowering],
        index: Place,
        operands: list[Place],
        results: list[Place],
    ) -> None:
        super().__init__(label, branches, [index, *operands, *results])
        self.index, self.given = index, [*operands, *results]

    def steps(self, read: Read) -> Steps:
        index = read(self.index)
        if not 0 <= index < len(self.programs):
            return NO_RESULT
        yield Run(index, self.given)
        return 0


Part = Any
"""A list of `KernelCall`, or one instruction of another kind."""


def parts_of(
    instructions: Sequence[Any],
    is_recorded: Callable[[Any], bool] = lambda i: isinstance(i, KernelCall),
) -> list[Part]:
    """What a device runs at once, and what comes between.

    Parameters
    ----------
    instructions : sequence
    is_recorded : callable, optional
        Whether a graph takes an instruction; by default it takes kernels.

    Returns
    -------
    parts : list
        What can be recorded and follows each other, as one list; every other instruction
        (`HostLoop`, `linad.sweeps.instructions.Fallback`, a call of a library) as it is.
    """
    parts: list[Part] = []
    for instruction in instructions:
        if not is_recorded(instruction):
            parts.append(instruction)
        elif parts and isinstance(parts[-1], list):
            parts[-1].append(instruction)
        else:
            parts.append([instruction])
    return parts
