"""The algebra as a table: what products, sums, multiples and adjoints of operators become.

A rewrite is a function registered for the types of its operands. It returns the operator that
takes their place, or None where these two do not fit:

    @product(Diagonal, Diagonal)                     a @ b
    @total(Diagonal, Diagonal)                       a + b
    @multiple(Diagonal)                              alpha * a
    @adjoint(Diagonal)                               a.H, and a.T without conjugation
    @plainer(Contraction)                            a alone, in better known parts
    @whole                                           a product of several factors
    @inverts(Diagonal)                               a^-1; None where there is no closed form
    @named(Diagonal)                                 names of the pattern, for `J.structure`

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
from linad.operators.composites import Adjoint, Chain, Extended, Reshaped, Scaled, Sum, Transpose
from linad.operators.structured import Identity, Reshape, Zero

Rewrite = Callable[..., Any]
Pair = tuple[type, type]

AT_ONCE: dict[Pair, Rewrite] = {}
PRODUCTS: dict[Pair, Rewrite] = {}
SUMS_AT_ONCE: dict[Pair, Rewrite] = {}
SUMS: dict[Pair, Rewrite] = {}
MULTIPLES_AT_ONCE: dict[type, Rewrite] = {}
MULTIPLES: dict[type, Rewrite] = {}
ADJOINTS: dict[type, Rewrite] = {}
PLAINER: dict[type, Rewrite] = {}
WHOLE: list[Rewrite] = []
INVERSES: dict[type, Rewrite] = {}
NAMED: dict[type, Rewrite] = {}


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


def multiple(a: type, at_once: bool = True) -> Callable[[Rewrite], Rewrite]:
    """Register ``rewrite(alpha, a)`` for ``alpha * a``; the result must have a's dtype."""

    def register(rewrite: Rewrite) -> Rewrite:
        MULTIPLES[a] = rewrite
        if at_once:
            MULTIPLES_AT_ONCE[a] = rewrite
        return rewrite

    return register


def adjoint(a: type) -> Callable[[Rewrite], Rewrite]:
    """Register ``rewrite(a, conj)`` for ``a.H``.

    ``conj`` conjugates; for ``a.T``, and where a is real, it returns what it is given.
    """
    return lambda rewrite: ADJOINTS.setdefault(a, rewrite)


def plainer(a: type) -> Callable[[Rewrite], Rewrite]:
    """Register ``rewrite(a, simplify)``: a in better known parts, or None."""
    return lambda rewrite: PLAINER.setdefault(a, rewrite)


def whole(rewrite: Rewrite) -> Rewrite:
    """Register ``rewrite(chain)``: the operator that a whole product is, or None."""
    WHOLE.append(rewrite)
    return rewrite


def inverts(*kinds: type) -> Callable[[Rewrite], Rewrite]:
    """Register the function that inverts operators of some classes; it may return None."""

    def register(function: Rewrite) -> Rewrite:
        for kind in kinds:
            INVERSES[kind] = function
        return function

    return register


def named(kind: type) -> Callable[[Rewrite], Rewrite]:
    """Register the function that names the pattern of operators of a class."""
    return lambda function: NAMED.setdefault(kind, function)


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


def chain_of(factors: tuple[JacobianOperator, ...]) -> JacobianOperator:
    """A product as an operator."""
    return factors[0] if len(factors) == 1 else Chain(factors)


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


def _same(x: Any) -> Any:
    return x


def _conjugate(x: Any) -> Any:
    # The method, since np.conj would make a double of a Python number.
    return x.conjugate()


def adjoint_of(op: JacobianOperator) -> JacobianOperator:
    """``op.H`` as an operator of a known kind, where there is one."""
    rewrite = ADJOINTS.get(type(op))
    found = rewrite(op, _conjugate if op.dtype.kind == "c" else _same) if rewrite else None
    return op.H if found is None else found


def transpose_of(op: JacobianOperator) -> JacobianOperator:
    """``op.T`` as an operator of a known kind, where there is one."""
    rewrite = ADJOINTS.get(type(op)) if op.dtype.kind == "c" else None
    found = rewrite(op, _same) if rewrite else None
    return op.T if found is None else found


COMPOSITES = {Chain, Sum, Scaled}


def direct(op: JacobianOperator) -> JacobianOperator:
    """The adjoint or transpose of a single operator written out; anything else as it is."""
    if type(op) is Adjoint and type(op.op) not in COMPOSITES:
        return adjoint_of(op.op)
    if type(op) is Transpose and type(op.op) not in COMPOSITES:
        return transpose_of(op.op)
    return op


@adjoint(Chain)
def _(op: Chain, conj: Any) -> JacobianOperator | None:
    # (A B)^H = B^H A^H
    if op.wide or not op.clinear or op.in_dtype != op.out_dtype:
        return None
    turn = transpose_of if conj is _same and op.dtype.kind == "c" else adjoint_of
    return Chain(tuple([turn(f) for f in reversed(op.factors)]))


@adjoint(Sum)
def _(op: Sum, conj: Any) -> JacobianOperator | None:
    # (A + B)^H = A^H + B^H
    if op.wide or not op.clinear or op.in_dtype != op.out_dtype:
        return None
    turn = transpose_of if conj is _same and op.dtype.kind == "c" else adjoint_of
    return Sum(tuple([turn(t) for t in op.terms]))


@adjoint(Scaled)
def _(op: Scaled, conj: Any) -> JacobianOperator | None:
    # (α A)^H = conj(α) A^H
    if not op.clinear or op.in_dtype != op.out_dtype:
        return None
    turn = transpose_of if conj is _same and op.dtype.kind == "c" else adjoint_of
    return Scaled(conj(op.alpha), turn(op.op))


# Everything.


class Simplifier:
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
        rewrite = PLAINER.get(kind)
        found = rewrite(op, self) if rewrite is not None else None
        return op if found is None or found is op else found

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
    rewrite = MULTIPLES.get(type(op))
    if rewrite is not None and op.in_dtype == op.out_dtype:
        return rewrite(alpha, op)  # type: ignore[no-any-return]
    if type(op) is Chain and type(op.factors[0]) in MULTIPLES:
        first = op.factors[0]
        if first.in_dtype == first.out_dtype and not (np.iscomplexobj(alpha) and op.wide):
            # α (A B) = (α A) B
            return Chain((scaled(alpha, first), *op.factors[1:]))
    return Scaled(alpha, op)


def simplified(op: JacobianOperator) -> JacobianOperator:
    """`JacobianOperator.simplified`."""
    return Simplifier()(op.flat)
