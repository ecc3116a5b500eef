"""Cotangents that are zero because nobody read the entry stay zero behind an infinite slope.

y = where(c, f(x), 0)     x̄ = f'(x) · where(c, ȳ, 0)

Where c is false x̄ is 0, whatever f' is: y does not depend on that entry. In IEEE arithmetic
0 · inf is NaN, so the zero is written once more behind the slope. Only zeros of this kind are
kept, those of entries that a choice, an index or a write left out. One that was computed,
as in the derivative 2 √x · 1/(2 √x) of (√x)² at 0, says nothing of the product and stays NaN.

One walk from the results to the arguments follows the mask of the entries that are read: a choice
cuts it, functions of one entry at a time hand it on, what moves entries moves it too, and the
relation of everything else says which entries it reads. What has several results, as a branch or a
loop, reads all of its arguments if any entry of any of its results is read, and nothing elsewhere:
inside it may have such slopes. A mask is applied where the cotangents leave the functions of one
entry at a time, so that a chain of them pays for one `np.where`. A program that does little but
read and write many small parts of a large array, one by one, is left as it is: a mask for each
would cost the square of their number.

There are two degrees of care. Where NaN has been found, every mask is followed, and weights that
are not finite are looked at as well, as those of a matrix product,
`linad.operators.unread_weights`. Before that a program that is recorded, which knows neither its
weights nor masks of data, follows those that cost next to nothing, and says whether there was more
to follow: then it has to look for NaN in what it finds (`linad.transforms.spoilt_zeros`).
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from linad.core.primitive import Traced
from linad.core.shapes import size_of
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain
from linad.operators.facts import EVERYTHING
from linad.transforms.entries_read import (
    EntriesRead,
    any_read,
    factors_of,
    for_all,
    joined,
    may_spoil,
    pulled,
)
from linad.transforms.spaces import seeds_of
from linad.transforms.tuple_entries import Entry

SMALL = 1_000_000
"""Entries of masks that take no time to speak of."""

SHARE = 4
"""Entries of masks for small parts, at most, for each entry that the other steps deal with."""

NOBODY = ((EntriesRead(np.zeros((), bool), False), None),)
"""The parts of what nobody reads."""

EVERYTHING_IS_READ: Mapping[Any, Any] = MappingProxyType({})


class KeptZeros(NamedTuple):
    """Steps that keep zeros.

    Attributes
    ----------
    steps : list or None
        None where those of the tape keep all that these would.
    partial : bool
        Whether more zeros are kept where NaN has been found.
    reached : sequence
        Of each input the mask of its entries that are read; empty where that is not known.
    """

    steps: list[Any] | None
    partial: bool
    reached: Sequence[Any] = ()


def guarded(
    tape: Any, found: bool, read: Mapping[Any, Any] = EVERYTHING_IS_READ, inputs: bool = False
) -> KeptZeros:
    """The steps of a `TapeOperator` with zeros kept.

    Parameters
    ----------
    tape : TapeOperator
    found : bool
        Whether there is NaN, so that what kept zeros cost does not matter.
    read : dict
        Masks of results, by their nodes, of which not all entries are read.
    inputs : bool
        Whether zeros of the inputs matter, too: slopes behind them may not be finite.
    """
    steps = tape.steps
    if _reads_bit_by_bit(steps):
        return KeptZeros(None, False)
    behind = None if found else _behind_slopes(steps, tape.inputs if inputs else ())
    if not (found or behind):
        return KeptZeros(None, False)
    walk = _WalkOfMasks(tape, read, behind)
    for out, links in reversed(walk.steps):
        if type(out) is not int:
            walk.pass_several(out, links)
        elif out not in walk.parts:
            continue
        elif links and type(links[0][1]) is Entry:
            walk.pass_tuple(out, links)
        else:
            walk.pass_array(out, links)
    reached = walk.arrive(tape)
    return KeptZeros(walk.steps if walk.changed else None, walk.partial and not found, reached)


class _WalkOfMasks:
    """Masks of the entries that are read, on their way from the results to the inputs.

    Parameters
    ----------
    tape : TapeOperator
    read : dict
        Masks of results, by their nodes, of which not all entries are read.
    behind : set or None
        Nodes whose zeros a slope may spoil; None, where there is NaN: any.

    Attributes
    ----------
    steps : list
        Those of the tape, with zeros kept as far as the walk has come.
    parts : dict
        Of each node what is known of the parts of its cotangent, each with its place in the steps.
    changed, partial : bool
        Whether zeros had to be written, and whether some may have been lost.
    """

    def __init__(self, tape: Any, read: Mapping[Any, Any], behind: set[Any] | None) -> None:
        self.steps = [(out, list(links)) for out, links in tape.steps]
        self.parts: dict[Any, list[Any]] = {
            node: [(EntriesRead(read.get(node), False), None)]
            for node in tape.outputs
            if node is not None
        }
        self.behind, self.found = behind, behind is None
        self._inside: dict[Any, Sequence[Any]] = {}  # what is read of the entries of tuples
        self.changed = self.partial = False

    def _wants(self, node: Any) -> bool:
        """Whether zeros of a node's cotangent matter."""
        return self.behind is None or node in self.behind

    def _hand_on(self, node: Any, known: EntriesRead, links: list[Any], k: int) -> None:
        self.parts.setdefault(node, []).append((known, (links, k)))

    def _joined(self, node: Any, alone: bool) -> EntriesRead:
        """What is known of all of a node's cotangent."""
        known, cleared = joined(self.parts.pop(node, NOBODY), alone)
        self.changed = self.changed or cleared
        return known

    def pass_several(self, out: tuple[Any, ...], links: list[Any]) -> None:
        """Pass an operation with several results."""
        asked = [self._joined(node, alone=False).mask for node in out]
        some = any_read(asked)
        for k, (node, J) in enumerate(links):
            self.partial = self.partial or J.loses_zeros(asked, self._wants(node))
            if self.found:
                opened, self._inside[node] = Opened.of(J, asked)
                self.changed = self.changed or opened is not J
                links[k] = node, opened
            given = EntriesRead(for_all(some, J.in_shape), some is not None)
            self._hand_on(node, given, links, k)

    def pass_tuple(self, out: Any, links: list[Any]) -> None:
        """Pass what makes a tuple of its entries."""
        [((some, _), _)] = self.parts.pop(out)
        self.changed = self.changed or some is not None
        reached = self._inside.get(out) or ()
        for k, (node, J) in enumerate(links):
            if some is not None:
                links[k] = node, J.where(some)
            mask = reached[J.k] if reached else for_all(some, J.in_shape)
            self._hand_on(node, EntriesRead(mask, False), links, k)

    def pass_array(self, out: Any, links: list[Any]) -> None:
        """Pass an operation that makes one array."""
        known = self._joined(out, alone=True)
        for k, (node, J) in enumerate(links):
            known_of_x, factors, lost = pulled(J, known, self._wants(node), self.found)
            self.partial = self.partial or lost
            if factors is not None:
                links[k] = node, Chain(factors)
                self.changed = True
            self._hand_on(node, known_of_x, links, k)

    def arrive(self, tape: Any) -> list[Any]:
        """Of each input the mask of its entries that are read."""
        return [
            for_all(self._joined(node, alone=False).mask, slot.shape)
            for node, slot in zip(tape.inputs, tape.in_slots, strict=True)
        ]


class Opened(JacobianOperator):
    """A map between tuples of arrays that goes back operation by operation, and keeps zeros.

    Parameters
    ----------
    op : JacobianOperator
    steps : TapeOperator
        Of the operations that it is made of.
    kept : KeptZeros
        What of them keeps zeros.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, op: JacobianOperator, steps: Any, kept: KeptZeros) -> None:
        self.op, self.steps, self.kept = op, steps, kept
        super().__init__(op.out_shape, op.in_shape, op.dtype)

    @classmethod
    def of(cls, op: JacobianOperator, asked: list[Any]) -> tuple[JacobianOperator, Sequence[Any]]:
        """One for masks of its results, or the map itself where it keeps all zeros or does not say
        what it is made of; and what is read of its arguments, where that is known."""
        steps = op.made_of()
        if steps is None:
            return op, ()
        read = {
            node: np.broadcast_to(mask, slot.shape)
            for node, slot, mask in zip(steps.outputs, steps.out_slots, asked, strict=True)
            if node is not None and mask is not None
        }
        kept = guarded(steps, True, read)
        return op if kept.steps is None else cls(op, steps, kept), kept.reached

    def pushforward(self, tangent: Any) -> Any:
        return self.op.pushforward(tangent)

    def pullback(self, cotangent: Any) -> Any:
        seeds = seeds_of(cotangent, self.steps.out_slots)
        return tuple(self.steps.pull_leaves(cotangent, seeds, self.kept.steps))


def _reads_bit_by_bit(steps: list[Any]) -> bool:
    """Whether masks for small parts of larger arrays cost far more than all other steps."""
    masks = others = 0
    for _, links in steps:
        for _, J in links:
            for f in factors_of(J):
                out, into = size_of(f.out_shape), size_of(f.in_shape)
                if f.writes or (f.scatters and 2 * out < into):
                    masks += max(out, into)
                else:
                    others += min(out, into)
    return masks > max(SMALL, SHARE * others)


def may_spoil_zeros(tape: Any) -> bool:
    """Whether a `TapeOperator` has slopes that may not be finite."""
    return bool(_behind_slopes(tape.steps, ()))


def is_read_nowhere(mask: Any) -> bool:
    """Whether a mask is known to be false everywhere."""
    return mask is not None and not isinstance(mask, Traced) and not np.any(mask)


def _behind_slopes(steps: list[Any], inputs: Iterable[Any]) -> set[Any]:
    """Nodes whose cotangent comes, entry by entry, to a slope that may not be finite, or to one
    of some inputs."""
    found: set[Any] = set(inputs)
    for out, links in steps:
        if type(out) is int:
            for node, J in links:
                factors = factors_of(J)
                if any([may_spoil(f) for f in factors]) or (node in found):
                    found.add(out)
        else:
            found.update(out)
    return found
