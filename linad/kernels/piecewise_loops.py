"""Loops over ``prange`` in the adjoint: which can go through pieces, and how.

A loop that keeps values for its way back is run forward again, piece by piece, so that each piece
keeps its own and goes back at once. Before that it is run with nothing kept, if anything needs what
it writes.
"""

from collections.abc import Callable, Sequence

from linad.kernels.analysis import KernelProgram
from linad.kernels.cotangents import Cotangents
from linad.kernels.expressions import NONE, ONE, ZERO, Expr, var
from linad.kernels.needs import Run, walk_runs
from linad.kernels.pieces import exposed, in_pieces, is_by_pieces, is_sum
from linad.kernels.room import pushes, with_room
from linad.kernels.statements import For, Let, New, Statement, assigned, reads, written


class PiecewiseLoops(Cotangents):
    """Writes what adjoints do with loops in pieces."""

    def __init__(self, program: KernelProgram, active: Sequence[str], seeded: bool = False) -> None:
        super().__init__(program, active, seeded)
        self.pieces: set[int] = set()  # the ids of loops that go through pieces
        self.own: dict[int, set[str]] = {}  # scalars that each of their turns has for itself
        self.sums: dict[int, set[str]] = {}  # scalars that they only add to
        self.keeping: set[int] = set()  # those that keep values, a piece at a time
        self.first_time: set[int] = set()  # those that are run only then

    def forward(
        self, body: Sequence[Statement], around: frozenset[str] = frozenset()
    ) -> list[Statement]:
        """The statements, with what they overwrite kept."""
        raise NotImplementedError

    def plain(self, body: Sequence[Statement]) -> list[Statement]:
        """The statements that anything needs, with nothing kept."""
        raise NotImplementedError

    def backward(
        self, body: Sequence[Statement], around: frozenset[str] = frozenset()
    ) -> list[Statement]:
        """The backward forms of statements, the last one's first."""
        raise NotImplementedError

    def reversed_loop(
        self, name: str, start: Expr, stop: Expr, step: Expr, inner: list[Statement]
    ) -> list[Statement]:
        """The loop, last turn first."""
        raise NotImplementedError

    def find_loops_in_pieces(self) -> None:
        """Find the loops at the top that can go through pieces."""
        for k, s in enumerate(self.body):
            if is_by_pieces(s) and self.may_be_cut(k, s):
                self.pieces.add(id(s))

    def may_be_cut(self, k: int, s: For) -> bool:
        """Whether a loop may go through pieces.

        It can be run again if nothing that it reads has been written since, by itself or by what
        follows, and if nothing before it needs what it has written. Where nothing needs what it
        writes, it is run then for the first time.
        """
        if not all([self.steady_here(e, frozenset()) for e in (s.start, s.stop)]):
            return False
        before, after = self.backward(self.body[:k]), self.body[k + 1 :]
        parts = assignments(s.body)
        mine = {p.name for p in parts if isinstance(p, Let)}
        self.own[id(s)] = mine - exposed(s.body, {s.name}) - exposed(after)
        sums = {n for n in mine & self.live if is_sum(n, parts)} - exposed(before)
        kept = dict(self.kept)
        for t in walk_runs(s.body):
            if isinstance(t, Run):
                self.kept[id(t)] = self.kept[id(t)] - sums
        self.sums[id(s)] = sums
        again = self.forward_again(s)
        if not pushes(again):
            return True
        self.keeping.add(id(s))
        anew = {t.array for t in self.program.body if isinstance(t, New) and t.in_turn}
        anew -= touched([*self.body[:k], *after])
        made, needed = assigned(again), exposed(again, {s.name}) - self.own[id(s)] - anew
        following = self.forward(after)
        if not needed & assigned(following):
            if not (made | sums) & exposed([*following, *self.backward(after)]):
                self.first_time.add(id(s))
                return True
            if not made & (needed | exposed(before)):
                return True
        self.kept = kept
        return False

    def forward_again(self, s: For) -> list[Statement]:
        """The turns of a loop that keep their values, without sums, which no turn reads."""
        live, self.live = self.live, self.live - self.sums[id(s)]
        try:
            return self.forward(s.body, frozenset([s.name]))
        finally:
            self.live = live

    def pieces_forward(self, s: For) -> list[Statement]:
        """A loop in pieces, with nothing kept, if its first time is not later."""
        inner = self.plain(s.body)
        if not inner or id(s) in self.first_time:
            return []
        return [in_pieces(s, lambda a, b: [For(s.name, a, b, ONE, inner)], self.integer)]

    def pieces_backward(self, s: For) -> list[Statement]:
        """A loop in pieces, each backward after it has kept its values."""
        return [in_pieces(s, self.turns_backward(s), self.integer)]

    def turns_backward(self, s: For) -> Callable[[Expr, Expr], list[Statement]]:
        """What is done for the turns from one to another."""

        def turns(begin: Expr, end: Expr) -> list[Statement]:
            around = frozenset([s.name])
            out: list[Statement] = []
            # What a turn leaves in its own scalars is nothing to the next, and so for cotangents.
            for name in sorted(self.own[id(s)] - self.local):
                out.append(Let(name, NONE if self.kinds[name] == "f" else ZERO))
                if name in self.varied and not self.seed:
                    out.append(self.new_bar(name))
            if id(s) in self.keeping:
                out += with_room([For(s.name, begin, end, ONE, self.forward_again(s))])
            inner = self.backward(s.body, around)
            return [*out, *self.reversed_loop(s.name, begin, end, ONE, inner)]

        return turns

    def integer(self, name: str) -> Expr:
        """A new scalar."""
        new = self.fresh(name)
        self.kinds[new] = "i"
        return var(new)


def assignments(body: Sequence[Statement]) -> list[Statement]:
    """All statements, those of runs among them."""
    return [p for s in walk_runs(body) for p in (s.parts if isinstance(s, Run) else [s])]


def touched(body: Sequence[Statement]) -> set[str]:
    """Names that statements read or assign, but for the making of arrays."""
    found = [reads(s) | written(s) for s in assignments(body) if not isinstance(s, New)]
    return set().union(*found)
