"""Lengths that vary from turn to turn of a loop, and what they never exceed."""

from collections.abc import Collection, Mapping, Sequence

from linad.kernels.expressions import ZERO, Expr, add, call, operands


class Lengths:
    """What is known of integers while a function is lowered.

    Parameters
    ----------
    counters : collection of str
        Variables of loops.
    counts : collection of str
        Those of them that are never negative.
    definitions : mapping
        For each scalar the expressions that it has been assigned so far.
    """

    def __init__(
        self,
        counters: Collection[str],
        counts: Collection[str],
        definitions: Mapping[str, Sequence[Expr]],
    ) -> None:
        self.counters, self.counts, self.definitions = counters, counts, definitions
        self.relied_on: set[str] = set()  # scalars that must not be assigned a second time

    def vary(self, e: Expr) -> bool:
        """Whether a length may change while a loop runs."""
        if e.op == "get":
            return True
        if e.op == "var":
            name = e.parts[0]
            known = self.definitions.get(name, ())
            return name in self.counters or len(known) > 1 or any([self.vary(x) for x in known])
        return any([self.vary(x) for x in operands(e)])

    def most(self, e: Expr) -> Expr | None:
        """A length that does not vary and that this one never exceeds; None if none is known."""
        if not self.vary(e):
            return e
        if e.op == "var":
            known = self.single(e.parts[0])
            return None if known is None else self.most(known)
        if e.op == "-":
            return self.most(e.parts[0]) if self.never_negative(e.parts[1]) else None
        if e.op == "call" and e.parts[0] == "min":
            found = [m for m in map(self.most, e.parts[1]) if m is not None]
            return found[0] if len(found) == 1 else call("min", *found) if found else None
        if e.op == "+" or (e.op == "call" and e.parts[0] == "max"):
            a, b = map(self.most, operands(e))
            if a is None or b is None:
                return None
            return add(a, b) if e.op == "+" else b if a == ZERO else call("max", a, b)
        if e.op == "if":
            yes, no = map(self.most, e.parts[1:])
            return None if yes is None or no is None else call("max", yes, no)
        return None

    def single(self, name: str) -> Expr | None:
        """What a scalar is, if it is assigned once; a second time is found at the end."""
        known = self.definitions.get(name, ())
        if len(known) != 1:
            return None
        self.relied_on.add(name)
        return known[0]

    def broken(self) -> bool:
        """Whether a scalar was assigned again that was relied on."""
        return any([len(self.definitions[name]) > 1 for name in self.relied_on])

    def never_negative(self, e: Expr) -> bool:
        """Whether an integer is known to be at least 0."""
        if e.op == "num":
            return not e.parts[0].startswith("-")
        if e.op == "var":
            if e.parts[0] in self.counts:
                return True
            known = self.single(e.parts[0])
            return known is not None and self.never_negative(known)
        if e.op == "call" and e.parts[0] in ("min", "max"):
            found = [self.never_negative(x) for x in e.parts[1]]
            return all(found) if e.parts[0] == "min" else any(found)
        return e.op == "dim"
