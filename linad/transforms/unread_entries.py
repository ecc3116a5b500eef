"""Cotangents that are zero because nobody read the entry stay zero behind an infinite slope.

y = where(c, f(x), 0)     x̄ = f'(x) · where(c, ȳ, 0)

Where c is false x̄ is 0, whatever f' is: y does not depend on that entry. In IEEE arithmetic
0 · inf is NaN, so the zero is written once more behind the slope. Only zeros of this kind are
kept, those of entries that a choice, an index or a write left out. One that was computed,
as in the derivative 2 √x · 1/(2 √x) of (√x)² at 0, says nothing of the product and stays NaN.

One walk from the results to the arguments follows the mask of the entries that are read: a choice
cuts it, functions of one entry at a time hand it on, what moves entries moves it too, and the
relation of everything else says which entries it reads; of a mask that is traced only sums of few
do. Where NaN has been found already, weights that are not finite are looked at as well, as those of
a matrix product, `linad.operators.unread_weights`; a program does not know its weights. What has
several results, as a branch or a loop, reads all of its arguments if any entry of any of its
results is read, and nothing elsewhere: inside it may have such slopes. A mask is applied where the
cotangents leave the functions of one entry at a time, so that a chain of them pays for one
`np.where`. A program that does little but read and write many small parts of a large array, one by
one, is left as it is: a mask for each would cost the square of their number.
"""

from typing import Any, NamedTuple

import numpy as np

from linad.core.array_type import Array
from linad.core.marks import running
from linad.core.primitive import Traced
from linad.core.shapes import size_of
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Composite
from linad.operators.reduction import WeightedSum
from linad.operators.region_writes import is_known
from linad.operators.structured import (
    Cast,
    Conjugation,
    Diagonal,
    IdentityMatrix,
    Masked,
    RealPart,
)
from linad.operators.unread_weights import UnreadWeights, have_infinite_weights
from linad.transforms.tuple_entries import Entry

SMALL = 1_000_000
"""Entries of masks that take no time to speak of."""

SHARE = 4
"""Entries of masks for small parts, at most, for each entry that the other steps deal with."""

ENTRYWISE = (Cast, Conjugation, Diagonal, Masked, RealPart)


class EntriesRead(NamedTuple):
    """What is known of a cotangent.

    Attributes
    ----------
    mask : array or None
        True at the entries that are read; None: all are.
    loose : bool
        Whether entries that are not read may hold what is no zero.
    """

    mask: Any
    loose: bool


ALL = EntriesRead(None, False)


def guarded(tape: Any) -> list[Any] | None:
    """The steps of a `TapeOperator` with zeros kept, or None where no slope can spoil one."""
    steps = tape.steps
    if _reads_bit_by_bit(steps):
        return None
    found = running.get() is None  # there is NaN, and what kept zeros costs does not matter
    behind = None if found else _behind_slopes(steps)
    if not (found or behind):
        return None
    kept = [(out, list(links)) for out, links in steps]
    parts: dict[Any, list[Any]] = {node: [(ALL, None)] for node in tape.outputs if node is not None}
    changed = False
    for out, links in reversed(kept):
        if type(out) is not int:
            asked = []
            for node in out:
                if node in parts:
                    part, cleared = _joined(parts.pop(node), alone=False)
                    asked.append(part.mask)
                    changed = changed or cleared
            read = _any_read(asked)
            for k, (node, J) in enumerate(links):
                given = EntriesRead(_for_all(read, J), read is not None)
                parts.setdefault(node, []).append((given, (links, k)))
            continue
        if out in parts and links and type(links[0][1]) is Entry:
            [((read, _), _)] = parts.pop(out)
            changed = changed or read is not None
            for k, (node, J) in enumerate(links):
                if read is not None:
                    links[k] = node, J.where(read)  # type: ignore[attr-defined]
                given = EntriesRead(_for_all(read, J), False)
                parts.setdefault(node, []).append((given, (links, k)))
            continue
        if out in parts:
            state, cleared = _joined(parts.pop(out), alone=True)
            changed = changed or cleared
        else:
            continue
        for k, (node, J) in enumerate(links):
            state_of_x, factors = _pulled(J, state, behind is None or node in behind, found)
            if factors is not None:
                links[k] = node, Chain(factors)
                changed = True
            parts.setdefault(node, []).append((state_of_x, (links, k)))
    for node in tape.inputs:
        changed = _joined(parts.pop(node, ()), alone=False)[1] or changed
    return kept if changed else None


def _reads_bit_by_bit(steps: list[Any]) -> bool:
    """Whether masks for small parts of larger arrays cost far more than all other steps."""
    masks = others = 0
    for _, links in steps:
        for _, J in links:
            for f in _factors(J):
                out, into = size_of(f.out_shape), size_of(f.in_shape)
                if f.writes or (f.scatters and 2 * out < into):
                    masks += max(out, into)
                else:
                    others += min(out, into)
    return masks > max(SMALL, SHARE * others)


def _behind_slopes(steps: list[Any]) -> set[Any]:
    """Nodes whose cotangent comes, entry by entry, to a slope that may not be finite."""
    found: set[Any] = set()
    for out, links in steps:
        if type(out) is int:
            for node, J in links:
                factors = _factors(J)
                if any([_may_spoil(f) for f in factors]) or (node in found):
                    found.add(out)
        else:
            found.update(out)
    return found


def _may_spoil(f: JacobianOperator) -> bool:
    """Whether it may make NaN of zeros."""
    if type(f) is Diagonal:
        return not _finite(f.entries)
    if type(f) is WeightedSum:
        return not _finite(f.weights)
    return bool(f.weighted_by) and have_infinite_weights(f)


def _factors(J: JacobianOperator) -> tuple[JacobianOperator, ...]:
    return J.factors if type(J) is Chain else (J,)


def _finite(entries: Array) -> bool:
    if isinstance(entries, (int, Traced)):  # an integer of Python's, which may be too long
        return isinstance(entries, int)
    return bool(np.isfinite(entries).all())


def _pulled(
    J: JacobianOperator, state: EntriesRead, wanted: bool, found: bool
) -> tuple[EntriesRead, tuple[JacobianOperator, ...] | None]:
    """What is known behind an operator, and its factors if zeros have to be written on the way."""
    mask, loose = state
    factors: list[JacobianOperator] = []
    given, changed = _factors(J), False
    for f in given:
        if not isinstance(f, ENTRYWISE):
            if loose:
                factors.append(Masked(mask, f.out_shape, f.out_dtype))
                loose = False
            spoilt = found or (type(f) is WeightedSum and _may_spoil(f))
            loose = mask is not None and spoilt and not f.copies
            read = mask
            mask = _moved(f, mask, wanted)
            if f.weighted_by and read is not None and have_infinite_weights(f):
                f = UnreadWeights(f, read)
                changed = True
            loose = loose and mask is not None
        elif type(f) is Masked:
            mask = f.mask if mask is None else mask & f.mask
        elif type(f) is Diagonal and mask is not None and not _finite(f.entries):
            loose = True
        factors.append(f)
    changed = changed or len(factors) > len(given)
    return EntriesRead(mask, loose), tuple(factors) if changed else None


def _moved(f: JacobianOperator, mask: Any, wanted: bool) -> Any:
    """The mask of what an operator reads, of those entries of its result that are read."""
    if not (f.copies or isinstance(f, IdentityMatrix)):
        if mask is None or _moves(f):
            return None
        if np.shape(mask) != f.out_shape:  # that of a choice has the axes of its condition
            mask = np.broadcast_to(mask, f.out_shape)
        return _unless_full(f.entries_read(mask))
    if mask is None:
        if not (wanted and (f.scatters or f.writes)):
            return None
        times = np.ones(f.out_shape, f.out_dtype)
    else:
        times = np.broadcast_to(mask, f.out_shape).astype(f.out_dtype)
    if times.dtype.kind == "c":  # an imaginary part that is read counts as well
        times = times * times.dtype.type(1 + 1j)
    return _unless_full(f.pullback(times) != 0)


def _moves(f: Any) -> bool:
    """Whether which entries it reads hangs on a traced place."""
    held: Any = ()
    region: Any = getattr(f, "region", None)
    if isinstance(f, Composite):
        held = f.factors if isinstance(f, Chain) else f.terms  # type: ignore[attr-defined]
    elif isinstance(part := getattr(f, "op", None), JacobianOperator):
        held = (part,)
    return not is_known(region) or any([_moves(part) for part in held])


def _unless_full(mask: Array) -> Any:
    known = mask is not None and not isinstance(mask, Traced)
    return None if known and np.all(mask) else mask


def _any_read(masks: list[Any]) -> Any:
    """Whether any entry of several results is read; None: some are for certain."""
    total: Any = False
    for mask in masks:
        if mask is None:
            return None
        total = total | (np.any(mask) if mask.ndim else mask)
    return _unless_full(total)


def _for_all(read: Array | None, J: JacobianOperator) -> Any:
    """The mask of all entries that an operator reads together, or not at all."""
    return None if read is None else np.broadcast_to(read, J.in_shape)


def _joined(parts: Any, alone: bool) -> tuple[EntriesRead, bool]:
    """What is known of a sum of cotangents, and whether zeros had to be written into one.

    One part that stands ``alone`` may go on as it is.
    """
    if len(parts) == 1 and alone:
        return parts[0][0], False
    total: Any = False
    changed = False
    for (mask, loose), place in parts:
        if loose:
            links, k = place
            node, J = links[k]
            links[k] = node, Chain((*_factors(J), Masked(mask, J.in_shape, J.in_dtype)))
            changed = True
        total = None if mask is None or total is None else total | mask
    return EntriesRead(None if total is None else _unless_full(total), False), changed
