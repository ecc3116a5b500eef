"""The algebra as a table: what products and sums of operators become.

A rewrite is a function registered for the types of its operands. It returns the operator that
takes their place, or None where these two do not fit:

    @product(Diagonal, Diagonal)                     a @ b
    @total(Diagonal, Diagonal)                       a + b
    @whole                                           a product of several factors

What becomes of one operator alone (its multiple, adjoint, inverse) is a fact of its class, see
`linad.operators.facts`.

Those that cost nothing, or one pass over the numbers of a diagonal, are applied whenever
operators are composed: one look into a dictionary a composition. Others (``at_once=False``) do
work that should be asked for, such as products of matrices: `simplified` applies them.

`linad.operators.structural_rewrites` fills the tables; a rule file may add to them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.arrays.tracer import Tracer
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Sum, chain_of
from linad.operators.facts import knows
from linad.operators.reordering import Reshape
from linad.operators.structured import Identity, Zero
from linad.operators.wrappers import (
    Adjoint,
    Extended,
    Reshaped,
    Scaled,
    Transpose,
    adjoint_of,
    transpose_of,
)

Rewrite = Callable[..., Any]
Pair = tuple[type, type]

AT_ONCE: dict[Pair, Rewrite] = {}
PRODUCTS: dict[Pair, Rewrite] = {}
SUMS_AT_ONCE: dict[Pair, Rewrite] = {}
SUMS: dict[Pair, Rewrite] = {}
WHOLE: list[Rewrite] = []


def product(a: type, b: type, at_once: bool = True) -> Callable[[Rewrite], Rewrite]:
    """Register ``rewrite(a, b)`` for ``a @ b``."""

    def register(rewrite: Rewrite) -> Rewrite:
        PRODUCTS[a, b] = rewrite
        if at_once:
            AT_ONCE[a, b] = rewrite
        return rewrite

    return register


def total(a: type, b: type, at_once: bool = True) -> Callable[[Rewrite], Rewrite]:
    """Register ``rewrite(a, b)`` for ``a + b`` and ``b + a``."""

    def register(rewrite: Rewrite) -> Rewrite:
        for table in (SUMS, SUMS_AT_ONCE) if at_once else (SUMS,):
            table[a, b] = rewrite
            if a is not b:
                table[b, a] = lambda x, y: rewrite(y, x)
        return rewrite

    return register


def whole(rewrite: Rewrite) -> Rewrite:
    """Register ``rewrite(chain)``: the operator that a whole product is, or None."""
    WHOLE.append(rewrite)
    return rewrite


# Products.


def multiplied(
    left: Sequence[JacobianOperator],
    right: Sequence[JacobianOperator],
    table: dict[Pair, Rewrite],
) -> tuple[JacobianOperator, ...]:
    """The factors of a product of two lists of factors, rewritten where they meet.

    Each list is rewritten within already.
    """
    done = list(left)
    todo = list(right)[::-1]
    new = 1  # factors on top of ``todo`` that are not yet compared with what follows them
    while todo and (new > 0 or not done):
        factor = todo.pop()
        new -= 1
        if not done:
            done.append(factor)
            new = max(new, 1)
            continue
        last = done[-1]
        if type(factor) is Identity:
            new = max(new, 1)
            continue  # A I = A
        if type(last) is Identity:
            done[-1] = factor  # I A = A
            new = max(new, 1)
            continue
        if type(last) is Zero or type(factor) is Zero:
            found = _nothing(last, factor)
        else:
            rewrite = table.get((type(last), type(factor)))
            found = rewrite(last, factor) if rewrite is not None else None
        if found is None:
            done.append(factor)
        else:
            done.pop()
            parts = found.factors if type(found) is Chain else (found,)
            todo += reversed(parts)
            # The last part meets the rest anew.
            new = max(new, 0) + len(parts) + 1
    return tuple(done + todo[::-1])


def _nothing(a: JacobianOperator, b: JacobianOperator) -> Zero | None:
    """0 A = 0 and A 0 = 0."""
    one_type = a.out_dtype == a.in_dtype == b.out_dtype == b.in_dtype
    if not one_type or a.wide or b.wide:
        return None
    return Zero(a.out_shape, b.in_shape, a.in_dtype)


# Sums.


def summed(
    terms: Sequence[JacobianOperator], more: JacobianOperator, table: dict[Pair, Rewrite]
) -> tuple[JacobianOperator, ...]:
    """The terms of a sum and one more, which may merge with one of them."""
    if type(more) is Zero and terms:
        return tuple(terms)  # A + 0 = A
    kind = type(more)
    for k, term in enumerate(terms):
        if type(term) is Zero:
            return summed((*terms[:k], *terms[k + 1 :]), more, table)
        rewrite = table.get((type(term), kind))
        found = rewrite(term, more) if rewrite is not None else None
        if found is not None:
            return summed((*terms[:k], *terms[k + 1 :]), found, table)
    return (*terms, more)


def sum_of(terms: tuple[JacobianOperator, ...]) -> JacobianOperator:
    """A sum as an operator."""
    return terms[0] if len(terms) == 1 else Sum(terms)


def parts_of(op: Any, limit: int) -> int:
    """Number of single operators in an expression, counted up to a little above ``limit``.

    Reshapes do not count: they move nothing.
    """
    kind = type(op)
    if kind is Chain or kind is Sum:
        count = 0
        for part in op.factors if kind is Chain else op.terms:
            count += parts_of(part, limit - count)
            if count > limit:
                break
        return count
    if kind in (Adjoint, Transpose, Scaled, Reshaped, Extended):
        return parts_of(op.op, limit)
    return int(kind is not Reshape)


# Adjoints.


COMPOSITES = {Chain, Sum, Scaled}


def direct(op: JacobianOperator) -> JacobianOperator:
    """The adjoint or transpose of a single operator written out; anything else as it is."""
    if type(op) is Adjoint and type(op.op) not in COMPOSITES:
        return adjoint_of(op.op)
    if type(op) is Transpose and type(op.op) not in COMPOSITES:
        return transpose_of(op.op)
    return op


# Everything.


class OperatorSimplifier:
    """Simplify an expression of operators; a part that occurs twice is simplified once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[JacobianOperator, JacobianOperator]] = {}

    def __call__(self, op: JacobianOperator) -> JacobianOperator:
        known = self._known.get(id(op))
        if known is None:
            known = self._known[id(op)] = (op, self._simplify(op))  # op stays alive, and its id
        return known[1]

    def _simplify(self, op: JacobianOperator) -> JacobianOperator:
        kind = type(op)
        if kind is Chain and not op.wide:  # type: ignore[attr-defined]
            return self.product(op.factors)  # type: ignore[attr-defined]
        if kind is Sum and not op.wide:  # type: ignore[attr-defined]
            return self.total(op.terms)  # type: ignore[attr-defined]
        if kind is Scaled:
            return scaled(op.alpha, self(op.op))  # type: ignore[attr-defined]
        if kind is Adjoint or kind is Transpose:
            inner = self(op.op)  # type: ignore[attr-defined]
            turned = adjoint_of(inner) if kind is Adjoint else transpose_of(inner)
            return turned if type(turned) is kind else self(turned)
        found = op.plainer(self)
        return op if found is None else found

    def product(self, factors: Sequence[JacobianOperator]) -> JacobianOperator:
        """The product of operators, rewritten as far as the tables go."""
        alpha: Any = 1
        done: tuple[JacobianOperator, ...] = ()
        for factor in factors:
            found = self(factor)
            if type(found) is Scaled and type(found.alpha) in (int, float):
                alpha, found = alpha * found.alpha, found.op  # A (α B) = α (A B)
            done = multiplied(done, found.factors if type(found) is Chain else (found,), PRODUCTS)
        op = chain_of(done)
        for rewrite in WHOLE if type(op) is Chain else ():
            op = rewrite(op) or op
            if type(op) is not Chain:
                break
        return scaled(alpha, op)

    def total(self, terms: Sequence[JacobianOperator]) -> JacobianOperator:
        """The sum of operators, rewritten as far as the tables go."""
        done: tuple[JacobianOperator, ...] = ()
        for term in terms:
            found = self(term)
            for part in found.terms if type(found) is Sum else (found,):
                done = summed(done, part, SUMS)
        return sum_of(done)


def scaled(alpha: Any, op: JacobianOperator) -> JacobianOperator:
    """``alpha * op``, rewritten as far as the tables go."""
    if not isinstance(alpha, Tracer) and alpha == 1:
        return op
    if type(op) is Scaled:
        return scaled(alpha * op.alpha, op.op)
    found = op.multiple(alpha) if op.in_dtype == op.out_dtype else None
    if found is not None:
        return found
    if type(op) is Chain and knows(op.factors[0], "multiple"):
        first = op.factors[0]
        if first.in_dtype == first.out_dtype and not (np.iscomplexobj(alpha) and op.wide):
            # α (A B) = (α A) B
            return Chain((scaled(alpha, first), *op.factors[1:]))
    return Scaled(alpha, op)


def simplified(op: JacobianOperator) -> JacobianOperator:
    """`JacobianOperator.simplified`."""
    return OperatorSimplifier()(op.flat)
