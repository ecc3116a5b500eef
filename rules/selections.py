"""The rewrites of selections: what a read of entries is, together with what stands around it.

S = Selection(index) has one 1 per row, at the entry that is read, and so has every operator that
only moves or repeats entries. Their product is a selection again, whose index is what the
product makes of the numbers 0, 1, 2, ...

    S B = S'        S P = S'        S T = S'        S diag(d) = diag(S d) S
    S^T S = diag(how often each entry is read)      S S^T = I where none is read twice
    E^T E, S E      parts of an array among zeros: a part, or zero
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.indices import Index
from linad.core.shapes import size_of
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Sum, chain_of
from linad.operators.placement import Pad, Roll
from linad.operators.relation_shapes import numbered
from linad.operators.reordering import Broadcast, Permutation, Reshape
from linad.operators.rewrites import (
    PRODUCTS,
    SUMS,
    multiplied,
    parts_of,
    product,
    sum_of,
    summed,
)
from linad.operators.structured import Diagonal, Identity, Masked, Zero
from linad.operators.wrappers import Adjoint
from linad.rules.indexing import Selection


def reading(sources: Array, a: JacobianOperator, b: JacobianOperator) -> JacobianOperator:
    """The operator y = x.ravel()[sources], from the argument of b to the result of a."""
    n = size_of(b.in_shape)
    flat = np.ravel(sources)
    if flat.size == n and np.array_equal(flat, np.arange(n)):
        if a.out_shape == b.in_shape:
            return Identity(b.in_shape, b.dtype)
        return Reshape(a.out_shape, b.in_shape, b.dtype)
    if len(b.in_shape) == 1:
        return Selection(Index((sources,)), a.out_shape, b.in_shape, b.dtype)
    line = Selection(Index((sources,)), a.out_shape, (n,), b.dtype)
    return Chain((line, Reshape((n,), b.in_shape, b.dtype)))


@product(Selection, Broadcast, at_once=False)
@product(Selection, Permutation, at_once=False)
@product(Selection, Roll, at_once=False)
@product(Selection, Selection, at_once=False)
@product(Permutation, Selection, at_once=False)
@product(Roll, Selection, at_once=False)
def selection_times_reordering(a: Any, b: Any) -> JacobianOperator:
    # S B = S'
    return reading(a.pushforward(b.pushforward(numbered(b.in_shape))), a, b)


@product(Selection, Reshape, at_once=False)
def selection_times_reshape(a: Selection, b: Reshape) -> JacobianOperator | None:
    # S T = S', of the entries in one line, which is how S' is written
    if len(a.in_shape) == 1 and len(b.in_shape) != 1:
        return None
    return reading(a.pushforward(b.pushforward(numbered(b.in_shape))), a, b)


@product(Selection, Diagonal, at_once=False)
def selection_times_diagonal(a: Selection, b: Diagonal) -> Chain:
    # S diag(d) = diag(S d) S
    moved = b.entries if np.ndim(b.entries) == 0 else b.full()[a.index.seeded]
    return Chain((Diagonal(moved, a.out_shape, a.dtype), a))


@product(Selection, Masked, at_once=False)
def selection_times_masked(a: Selection, b: Masked) -> Chain:
    # S diag(m) = diag(S m) S
    mask = np.broadcast_to(b.mask, b.in_shape)[a.index]
    return Chain((Masked(mask, a.out_shape, a.dtype), a))


@product(Adjoint, Selection, at_once=False)
def selection_adjoint_times_selection(a: Adjoint, b: Selection) -> Diagonal | None:
    # S^T S counts how often each entry is read
    if type(a.op) is not Selection or not _same(a.op, b):
        return None
    times = b.pullback(np.ones(b.out_shape, b.dtype))
    return Diagonal(times, b.in_shape, b.dtype)


@product(Selection, Adjoint, at_once=False)
def selection_times_adjoint(a: Selection, b: Adjoint) -> JacobianOperator | None:
    # S S^T = I where no entry is read twice; S E^T is a selection or nothing
    if type(b.op) is not Selection or not _same(a, b.op) or a.index.repeats(a.in_shape):
        return None
    return Identity(a.out_shape, a.dtype)


@product(Selection, Pad, at_once=False)
def selection_times_pad(a: Selection, b: Pad) -> JacobianOperator | None:
    # S E reads entries of the part, or zeros, or both
    sources = a.pushforward(b.pushforward(numbered(b.in_shape) + 1))
    if (sources > 0).all():
        return reading(sources - 1, a, b)
    return None if (sources > 0).any() else Zero(a.out_shape, b.in_shape, b.dtype)


@product(Selection, Sum, at_once=False)
def selection_times_sum(a: Selection, b: Sum) -> JacobianOperator | None:
    # S (A + B) = S A + S B, where that has no more parts: the rest of a concatenation vanishes
    terms: tuple[JacobianOperator, ...] = ()
    for term in b.terms:
        factors = term.factors if type(term) is Chain else (term,)
        terms = summed(terms, chain_of(multiplied((a,), factors, PRODUCTS)), SUMS)
    found, limit = sum_of(terms), parts_of(b, 1000) + 1
    return found if parts_of(found, limit) <= limit else None


def _same(a: Selection, b: Selection) -> bool:
    if a is b:
        return True
    if a.in_shape != b.in_shape or a.out_shape != b.out_shape:
        return False
    return np.array_equal(numbered(a.in_shape)[a.index], numbered(b.in_shape)[b.index])
