"""Which entries of a cotangent are read, on its way back through operators.

A choice cuts the mask of those that are read, functions of one entry at a time hand it on, what
moves entries moves it too, and the relation of everything else says which entries it reads. How a
program is walked through so, and why, is in `linad.transforms.unread_entries`.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import Shape
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Composite
from linad.operators.facts import declares, read_by
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
from linad.operators.unread_weights import keeping_zeros

ENTRYWISE = (Cast, Conjugation, Diagonal, Masked, RealPart)


class EntriesRead(NamedTuple):
    """What is known of a cotangent.

    Attributes
    ----------
    mask : array or None
        True at the entries that are read; None: all are.
    loose : bool
        Whether entries that are not read may hold other numbers than zero.
    """

    mask: Any
    loose: bool


def may_spoil(f: JacobianOperator) -> bool:
    """Whether it may make NaN of zeros."""
    return not f.copies and _may_hold_nan(vars(f).values())


def _may_hold_nan(parts: Iterable[Any]) -> bool:
    """Whether some of the arrays that an operator is made of may not be finite."""
    for part in parts:
        if isinstance(part, (list, tuple)):
            found = _may_hold_nan(part)
        elif isinstance(part, LinearOperator):  # of one that is not linad's nothing is known
            found = not isinstance(part, JacobianOperator) or may_spoil(part)
        else:
            known = not isinstance(part, (np.ndarray, np.generic, Traced))
            found = not known and part.dtype.kind in "fc" and not _finite(part)
        if found:
            return True
    return False


def factors_of(J: JacobianOperator) -> tuple[JacobianOperator, ...]:
    return J.factors if type(J) is Chain else (J,)


def _finite(entries: Array) -> bool:
    if isinstance(entries, (int, Traced)):  # a Python integer, which may be too long
        return isinstance(entries, int)
    return bool(np.isfinite(entries).all())


def pulled(
    J: JacobianOperator, state: EntriesRead, wanted: bool, found: bool
) -> tuple[EntriesRead, tuple[JacobianOperator, ...] | None, bool]:
    """What is known behind an operator, its factors if zeros have to be written on the way, and
    whether zeros may have been lost."""
    mask, loose = state
    factors: list[JacobianOperator] = []
    given, changed = factors_of(J), False
    lost = False
    for f in given:
        if not isinstance(f, ENTRYWISE):
            if loose:
                factors.append(Masked(mask, f.out_shape, f.out_dtype))
                loose = False
            weighs = type(f) is WeightedSum
            spoilt = found or (weighs and may_spoil(f))
            loose = mask is not None and spoilt and not f.copies
            read = mask
            mask = _moved(f, mask, wanted, found)
            if read is not None and not f.copies:
                zeros = keeping_zeros(f, read, mask, found)
                lost = lost or (mask is None and isinstance(read, Traced))
                spoils = zeros is None and may_spoil(f) and not weighs
                lost = lost or (spoils and (mask is not None or _keeps_zeros(f)))
                if zeros is not None:
                    f, changed = zeros, True
            loose = loose and mask is not None
        elif type(f) is Masked:
            mask = f.mask if mask is None else mask & f.mask
        elif type(f) is Diagonal and mask is not None and not _finite(f.entries):
            loose = True
        factors.append(f)
    changed = changed or len(factors) > len(given)
    return EntriesRead(mask, loose), tuple(factors) if changed else None, lost


def _keeps_zeros(f: JacobianOperator) -> bool:
    """Whether there is an operator that keeps zeros in the place of this one. Where there is none,
    as for the derivative of a factorization, and all that it reads is read, nothing can be kept."""
    return bool(f.weighted_by) or declares(type(f), "where_read")


def _moved(f: JacobianOperator, mask: Any, wanted: bool, found: bool) -> Any:
    """The mask of what an operator reads, of those entries of its result that are read."""
    if not (f.copies or isinstance(f, IdentityMatrix)):
        if mask is None or _moves(f):
            return None
        if np.shape(mask) != f.out_shape:  # that of a choice has the axes of its condition
            mask = np.broadcast_to(mask, f.out_shape)
        traced = isinstance(mask, Traced)
        read = f.entries_read(mask if traced else np.asarray(mask))
        if read is None and traced and found:
            read = read_by_others(mask, relation=f.relation_read(), shape=f.in_shape)
        return _unless_full(read)
    if mask is None:
        if not (wanted and (f.scatters or f.writes)):
            return None
        times = np.ones(f.out_shape, f.out_dtype)
    else:
        times = np.broadcast_to(mask, f.out_shape).astype(f.out_dtype)
    if times.dtype.kind == "c":  # an imaginary part that is read counts as well
        times = times * times.dtype.type(1 + 1j)
    return _unless_full(f.pullback(times) != 0)


read_by_others = Primitive("entries_read", read_by, constant=True, register=False)
"""The entries that others read, by their relation: in a program NumPy finds them."""


def _moves(f: Any) -> bool:
    """Whether which entries it reads hangs on a traced place."""
    region: Any = getattr(f, "region", None)
    held: Any = ()
    if isinstance(f, Composite):
        held = f.factors if isinstance(f, Chain) else f.terms  # type: ignore[attr-defined]
    elif isinstance(part := getattr(f, "op", None), JacobianOperator):
        held = (part,)
    return not is_known(region) or any([_moves(part) for part in held])


def _unless_full(mask: Array) -> Any:
    known = mask is not None and not isinstance(mask, Traced)
    return None if known and np.all(mask) else mask


def any_read(masks: list[Any]) -> Any:
    """Whether any entry of several results is read; None: some are for certain."""
    total: Any = False
    for mask in masks:
        if mask is None:
            return None
        total = total | (np.any(mask) if mask.ndim else mask)
    return _unless_full(total)


def for_all(read: Array | None, shape: Shape) -> Any:
    """The mask of entries that are read together, or not at all."""
    return None if read is None else np.broadcast_to(read, shape)


def joined(parts: Any, alone: bool) -> tuple[EntriesRead, bool]:
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
            links[k] = node, Chain((*factors_of(J), Masked(mask, J.in_shape, J.in_dtype)))
            changed = True
        total = None if mask is None or total is None else total | mask
    return EntriesRead(None if total is None else _unless_full(total), False), changed
