"""What is known of a kernel before it is differentiated: what varies, what never changes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linad.kernels.expressions import ArrayKind, Expr, Kind, names, rebuilt_or_none
from linad.kernels.partials import Derivative, Values
from linad.kernels.statements import (
    Grow,
    Let,
    New,
    NewStack,
    PopValue,
    PushValue,
    Put,
    Statement,
    Swap,
    walk,
    written,
)


@dataclass
class KernelProgram:
    """A kernel as statements, with its arguments.

    Attributes
    ----------
    name : str
    arguments : list of str
    kinds : dict
        Of all scalars and arrays.
    body : list of Statement
    level : int
        How often it was differentiated; names of derivatives end in it.
    checkpoints : int
        How many states the adjoint of a loop at the top keeps; 0 is all that is overwritten.
    written : tuple
        The file, and the first and last line there, of the function.
    writes : tuple of str
        The arguments that it writes into.
    """

    name: str
    arguments: list[str]
    kinds: dict[str, Kind]
    body: list[Statement]
    level: int = 0
    checkpoints: int = 0
    written: tuple[str, int, int] = ("", 0, 0)

    @property
    def writes(self) -> tuple[str, ...]:
        found = {s.array for s in walk(self.body) if isinstance(s, Put)}
        for group in swapped(self.body):
            if group & found:
                found |= group
        return tuple([a for a in self.arguments if a in found])

    @property
    def rooms(self) -> dict[str, tuple[Expr, ...]]:
        """Arrays of its own whose lengths follow from those of the arguments, with these lengths.

        Who calls it gives it these arrays, and may do so again; that is cheaper than `np.zeros`.
        """
        found: dict[str, tuple[Expr, ...]] = {}
        steady: dict[str, tuple[Expr, ...]] = {}  # those that do not grow
        growing = {s.array for s in walk(self.body) if isinstance(s, Grow)}
        for s in self.body:
            if isinstance(s, New):
                dims = tuple([self._of_arguments(d, steady) for d in s.dims])
                if None not in dims:
                    found[s.array] = dims  # type: ignore[assignment]  # none is None
                    if s.array not in growing:
                        steady[s.array] = found[s.array]
        return found

    def _of_arguments(self, e: Expr, known: dict[str, tuple[Expr, ...]]) -> Expr | None:
        """A length in terms of lengths of arguments, if it depends on nothing else."""
        if e.op == "dim":
            array, axis = e.parts
            return known[array][axis] if array in known else e if array in self.arguments else None
        if e.op in ("var", "get"):
            return None
        return rebuilt_or_none(e, lambda x: self._of_arguments(x, known))

    @property
    def grows(self) -> bool:
        """Whether arrays of its own get longer while it runs."""
        return any([isinstance(s, Grow) for s in walk(self.body)])

    @property
    def stacks(self) -> list[NewStack]:
        """The stacks that it needs."""
        return [s for s in self.body if isinstance(s, NewStack)]


def swapped(body: Sequence[Statement]) -> list[set[str]]:
    """Groups of arrays that may change names with each other."""
    groups: list[set[str]] = []
    for s in walk([*body]):
        if isinstance(s, Swap):
            mine = {*s.targets}
            for other in [g for g in groups if g & mine]:
                groups.remove(other)
                mine |= other
            groups.append(mine)
    return groups


def spread(found: set[str], groups: Iterable[set[str]]) -> None:
    """Add all members of a group of which one member is there."""
    for group in groups:
        if group & found:
            found |= group


def varied_names(program: KernelProgram, active: Iterable[str]) -> set[str]:
    """Scalars and arrays of floats that depend on the active arguments."""
    found = set(active)
    groups = swapped(program.body)
    stacks: set[str] = set()
    while True:
        before = len(found) + len(stacks)
        spread(found, groups)
        derivative = Derivative(Values(program.kinds, str, []), found)
        for s in walk(program.body):
            if isinstance(s, Let) and derivative.varies(s.value):
                if program.kinds[s.name] == "f":
                    found.add(s.name)
            elif isinstance(s, Put) and derivative.varies(s.value):
                kind = program.kinds[s.array]
                if isinstance(kind, ArrayKind) and kind.scalar == "f":
                    found.add(s.array)
            elif isinstance(s, PushValue) and derivative.varies(s.value):
                stacks.add(s.stack)
            elif isinstance(s, PopValue) and s.stack in stacks and program.kinds[s.name] == "f":
                found.add(s.name)
        if len(found) + len(stacks) == before:
            return found | stacks


def constant_names(program: KernelProgram) -> set[str]:
    """Scalars that are assigned once, outside of loops and branches, or never."""
    count: dict[str, int] = {}
    for s in walk(program.body):
        for name in written(s):
            count[name] = count.get(name, 0) + 1
    top = {s.name for s in program.body if isinstance(s, Let) and count[s.name] == 1}
    scalars = {n for n in program.arguments if isinstance(program.kinds[n], str)}
    return (top - {*program.arguments}) | {n for n in scalars if n not in count}


def unwritten_arrays(program: KernelProgram) -> set[str]:
    """Arrays that nothing writes."""
    touched: set[str] = set()
    for s in walk(program.body):
        if isinstance(s, (Put, New, Swap)):
            touched |= written(s)
    arrays = {n for n, kind in program.kinds.items() if isinstance(kind, ArrayKind)}
    return arrays - touched


__all__ = [
    "KernelProgram",
    "constant_names",
    "names",
    "spread",
    "swapped",
    "unwritten_arrays",
    "varied_names",
]
