"""Cotangents in the backward sweep: where they are kept, and how an assignment hands them on.

For several seeds, arrays of cotangents have an axis in front, and what hands them on is a loop over
the seeds inside of that what computes values again: these are the same for all seeds.
"""

from collections.abc import Sequence

from linad.kernels.analysis import KernelProgram
from linad.kernels.expressions import NONE, ONE, ZERO, ArrayKind, Expr, add, dim, get, names, var
from linad.kernels.fresh_names import FreshNames
from linad.kernels.needs import BackwardNeeds
from linad.kernels.partials import Derivative
from linad.kernels.statements import For, Let, New, Put, Statement

Step = tuple[Expr, Expr] | Statement
"""A scalar or entry and what is added to its cotangent, or an assignment before that."""

Planned = tuple[Let | Put, tuple[Expr, ...], str, list[Step]]
"""An assignment, the indices of its entry, the name of its cotangent (or ""), and steps."""


class Cotangents(BackwardNeeds):
    """Writes what assignments do to cotangents.

    Parameters
    ----------
    program : KernelProgram
    active : sequence of str
    seeded : bool
        Whether there are several seeds.
    """

    def __init__(self, program: KernelProgram, active: Sequence[str], seeded: bool = False) -> None:
        super().__init__(program, active)
        self.level = program.level + 1
        self.names = FreshNames(program, f"_b{self.level}")
        self.versions: dict[str, str] = {}  # the scalar of which a name is a version
        self.seed: tuple[Expr, ...] = ()
        if seeded:
            self.seed = (var(self.fresh("seed")),)
            self.kinds[self.seed[0].parts[0]] = "i"
        for name in self.varied:
            if name in self.kinds:
                self.kinds[self.bar(name)] = self.kind_of_bar(name)

    # Names.

    def bar(self, name: str) -> str:
        """The name of a cotangent."""
        return f"{name}_b{self.level}"

    def slot(self, name: str) -> str:
        """The name of the array in which the cotangent of a scalar argument goes out."""
        return f"{name}_slot_b{self.level}"

    def fresh(self, name: str) -> str:
        """A name for a value."""
        return self.names.make(name)

    def kind_of_bar(self, name: str) -> str | ArrayKind:
        """The kind of a cotangent."""
        kind = self.kinds[name]
        if isinstance(kind, ArrayKind):
            return ArrayKind(kind.dtype, kind.ndim + len(self.seed))
        return ArrayKind("float64", 1) if self.seed and name not in self.local else kind

    # What is written for them.

    def seeds(self) -> tuple[Expr, ...]:
        """The length of the axis of the seeds, if there is one."""
        return (dim(self.arguments()[0], 0),) if self.seed else ()

    def arguments(self) -> list[str]:
        """The arrays of cotangents that an adjoint takes."""
        found = []
        for name in self.program.arguments:
            if name in self.varied and isinstance(self.kinds[name], ArrayKind):
                found.append(self.bar(name))
            elif name in self.active and name in self.varied:
                found.append(self.slot(name))
        return found

    def new_bar(self, name: str, in_turn: bool = False) -> Statement:
        """Make the cotangent of a scalar, or of an array of the program's own.

        ``in_turn`` is whether each turn of a loop has the scalar or array for itself.
        """
        kind = self.kinds[self.bar(name)]
        if not isinstance(kind, ArrayKind):
            return Let(self.bar(name), NONE)
        own = self.kinds[name]
        dims = [dim(name, k) for k in range(own.ndim)] if isinstance(own, ArrayKind) else []
        return New(self.bar(name), (*self.seeds(), *dims), kind.dtype, in_turn=in_turn)

    def bar_of(self, leaf: Expr) -> Expr:
        """The cotangent of a scalar or an entry."""
        name = self.bar(leaf.parts[0])
        if leaf.op == "get":
            return get(name, *self.seed, *leaf.parts[1])
        return get(name, *self.seed) if isinstance(self.kinds[name], ArrayKind) else var(name)

    def set_bar(self, leaf: Expr, value: Expr, adds: bool = False) -> Statement:
        """Assign a cotangent, or add to it."""
        bar = self.bar_of(leaf)
        if bar.op == "get":
            return Put(bar.parts[0], bar.parts[1], value, adds)
        return Let(bar.parts[0], add(bar, value) if adds else value)

    def planned(
        self,
        s: Let | Put,
        e: Expr,
        place: tuple[Expr, ...],
        versions: dict[str, Expr],
        derivative: Derivative,
    ) -> Planned:
        """What the backward form of an assignment does, in the values of this point."""
        seed = self.fresh("w")
        self.kinds[seed] = "f"
        collected: list[Statement] = []
        sums: dict[Expr, Expr] = {}

        def sink(leaf: Expr, w: Expr) -> None:
            if leaf.op == "get":
                leaf = get(leaf.parts[0], *derivative.values.index(leaf.parts[1]))
            sums[leaf] = add(sums[leaf], w) if leaf in sums else w

        known = {e.parts[0]: name for name, e in versions.items()}
        if isinstance(s, Let) and e.op in "+-" and _is_self(e.parts[0], s, known):
            rest = e.parts[1]
            if s.name not in {known.get(n, n) for n in names(rest)}:
                w = self.bar_of(var(s.name))
                derivative.pull(rest, w if e.op == "+" else Expr("neg", (w,)), sink, collected)
                return s, place, "", [*collected, *sums.items()]
        derivative.pull(e, var(seed), sink, collected)
        return s, place, seed, [*collected, *sums.items()]

    def handed_on(self, work: list[Planned]) -> list[Statement]:
        """Cotangents handed on for each seed, the last assignment's first."""
        return self.for_each_seed(self.handed_on_once(work))

    def for_each_seed(self, body: list[Statement]) -> list[Statement]:
        """Statements about cotangents, in a loop over the seeds if there are several."""
        if not body or not self.seed:
            return body
        straight = all([isinstance(s, (Let, Put)) for s in body])
        seed = self.seed[0].parts[0]
        return [For(seed, ZERO, self.seeds()[0], ONE, body, any_order=straight)]

    def handed_on_once(self, work: list[Planned]) -> list[Statement]:
        """Cotangents handed on for one seed."""
        out: list[Statement] = []
        local = {n for n in self.local if n in self.varied}
        zero = set(local)  # scalars whose cotangents are nothing so far
        for s, place, seed, steps in reversed(work):
            start = len(out)
            own = NONE
            if isinstance(s, Let):
                if s.name in zero:
                    continue
                if seed:
                    if steps:
                        out.append(Let(seed, self.bar_of(var(s.name))))
                    zero.add(s.name)
            else:
                here = get(s.array, *place)
                if steps:
                    out.append(Let(seed, self.bar_of(here)))
                if not s.adds:
                    if any([isinstance(step, tuple) and step[0] == here for step in steps]):
                        own = here
                    else:
                        out.append(self.set_bar(here, NONE))
            lets = [step for step in steps if isinstance(step, Statement)]
            links = [step for step in steps if not isinstance(step, Statement)]
            links.sort(key=lambda link: link[0] != own)
            out += lets
            for leaf, w in links:
                if leaf.op == "get":
                    out.append(self.set_bar(leaf, w, adds=leaf != own))
                    continue
                name = self.versions.get(leaf.parts[0], leaf.parts[0])
                out.append(self.set_bar(var(name), w, adds=name not in zero))
                zero.discard(name)
            if len(out) > start and not out[start].comment:
                out[start].comment = s.comment
        return out + [self.set_bar(var(name), NONE) for name in sorted(zero - local)]


def _is_self(e: Expr, s: Let, known: dict[str, str]) -> bool:
    return e.op == "var" and known.get(e.parts[0], e.parts[0]) == s.name
