"""Products and sums of operators, and what else such an expression may be seen to be.

Each keeps its parts and applies them one after the other, so making one costs nothing.
`linad.operators.algebra` makes them, of parts that fit.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from linad.core import former_names
from linad.core.array_type import Array
from linad.operators.base import JacobianOperator
from linad.operators.facts import (
    HERMITIAN,
    NOTHING,
    SEMIDEFINITE,
    both,
    column_squares_of,
    diagonal_of,
    is_equal,
    knows,
    squares,
    triangle_names,
)
from linad.operators.reordering import Reshape
from linad.operators.structured import Diagonal
from linad.operators.wrappers import (
    Adjoint,
    SameMatrix,
    Transpose,
    Typed,
    adjoint_of,
    matched,
    transpose_of,
)


class Composite(Typed):
    """A product or sum, which may be seen to be an operator of another kind as well."""

    def forms(self) -> Iterator[Any]:
        """What else it is: the operators, or the like, that `recognises` has registered."""
        for kinds, recognise in RECOGNISERS:
            found = recognise(self) if isinstance(self, kinds) else None
            if found is not None:
                yield found


class Chain(Composite):
    """A product of operators, kept flat: the first factor is applied last."""

    unknown = "spectral_norm multiple relation"

    def __init__(self, factors: tuple[JacobianOperator, ...]) -> None:
        self.factors = factors
        first, last = factors[0], factors[-1]
        self.owns_result = first.owns_result and last.owns_result
        self._out_dtype, self._in_dtype = out_dtype, in_dtype = first.out_dtype, last.in_dtype
        # Real in and real out make a real matrix, whatever happens in between.
        dtype = out_dtype if out_dtype is in_dtype else np.promote_types(out_dtype, in_dtype)
        for f in factors:
            if f.compiled:
                self.compiled = True
            if not f.clinear:
                self.clinear = False
            if f.wide:
                self.wide = True
                dtype = np.promote_types(dtype, f.dtype)
        self.out_shape, self.in_shape, self.dtype = first.out_shape, last.in_shape, dtype

    def pushforward(self, tangent: Array) -> Array:
        for factor in reversed(self.factors):
            tangent = factor.pushforward(tangent)
        return tangent

    def pullback(self, cotangent: Array) -> Array:
        for factor in self.factors:
            cotangent = factor.pullback(cotangent)
        return cotangent

    def _apply_rows(self, x: Array, adjoint: bool) -> Any:
        if not self.wide:
            return super()._apply_rows(x, adjoint)
        for factor in self.factors if adjoint else reversed(self.factors):
            x = factor._apply_rows(x, adjoint)
        return x

    def pattern_names(self) -> set[str]:
        return _composite_names(self)

    def triangles(self) -> tuple[bool, bool]:
        if any(f.shape[0] != f.shape[1] for f in self.factors):
            return False, False
        return both(f.triangles() for f in self.factors)

    def definiteness(self) -> int:
        factors = [f for f in self.factors if type(f) is not Reshape]
        outer = 0
        while len(factors) >= 2 and are_adjoint(factors[0], factors[-1]):
            factors = factors[1:-1]  # B^H A B is as definite as A, but for the null space of B
            outer += 1
        if not factors:
            return SEMIDEFINITE
        if len(factors) > 1:
            return NOTHING
        level = factors[0].definiteness()
        return min(level, SEMIDEFINITE) if outer else level

    def rank_bound(self) -> int:
        return int(min(min(self.shape), *[f.rank_bound() for f in self.factors]))

    def diagonal_entries(self) -> Any:
        factors = [f for f in self.factors if type(f) is not Reshape]
        if len(factors) < 2 or self.dtype != self.in_dtype:
            return None
        first, last = factors[0], factors[-1]
        if type(first) is Diagonal:
            rest = diagonal_of(chain_of(factors[1:]))
            return None if rest is None else first.full().reshape(-1) * rest
        if type(last) is Diagonal:
            rest = diagonal_of(chain_of(factors[:-1]))
            return None if rest is None else rest * last.full().reshape(-1)
        if len(factors) == 2:
            if are_adjoint(first, last):
                found = column_squares_of(last)  # of B, for B^H B
                return None if found is None else found.astype(self.dtype)
            return last.diagonal_after(first)
        return None

    def column_squares(self) -> Any:
        if self.dtype != self.in_dtype:
            return None
        first, last = self.factors[0], self.factors[-1]
        if type(last) in (Diagonal, Reshape):
            rest = column_squares_of(chain_of(self.factors[:-1]))
            if rest is None or type(last) is Reshape:
                return rest
            return rest * squares(last.full().reshape(-1))
        return column_squares_of(chain_of(self.factors[1:])) if first.isometric() else None

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator | None:
        # (A B)^H = B^H A^H
        turn = _turning(self, conj)
        return turn and Chain(tuple([turn(f) for f in reversed(self.factors)]))

    def inverse_form(self) -> JacobianOperator | None:
        # (A B)^-1 = B^-1 A^-1
        if self.wide or self.in_dtype != self.out_dtype or not self.clinear:
            return None
        if any(f.shape[0] != f.shape[1] or not knows(f, "inverse_form") for f in self.factors):
            return None
        found: list[JacobianOperator] = []
        for factor in reversed(self.factors):
            part = factor.inverse_form()
            if part is None:
                return None
            found.append(part)
        return chain_of(found)


class Sum(Composite):
    """A + B + ..., each applied to the same seed. All have the same dtypes."""

    unknown = "column_squares spectral_norm multiple relation"

    owns_result = True

    def __init__(self, terms: tuple[JacobianOperator, ...]) -> None:
        self.terms = terms
        self.clinear = all(t.clinear for t in terms)
        self.wide = any(t.wide for t in terms)
        self.compiled = any(t.compiled for t in terms)
        first = terms[0]
        self._in_dtype, self._out_dtype = first.in_dtype, first.out_dtype
        dtype = first.dtype
        for t in terms[1:]:
            if t.dtype is not dtype:
                dtype = np.promote_types(dtype, t.dtype)
        super().__init__(first.out_shape, first.in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return _total((t.pushforward(tangent), t.owns_result) for t in self.terms)

    def pullback(self, cotangent: Array) -> Array:
        return _total((t.pullback(cotangent), t.owns_result) for t in self.terms)

    def _apply_rows(self, x: Array, adjoint: bool) -> Any:
        if self.wide:
            return _total((t._apply_rows(x, adjoint), True) for t in self.terms)
        return super()._apply_rows(x, adjoint)

    def pattern_names(self) -> set[str]:
        return _composite_names(self)

    def triangles(self) -> tuple[bool, bool]:
        return both(t.triangles() for t in self.terms)

    def definiteness(self) -> int:
        levels = [t.definiteness() for t in self.terms]
        # A sum of semidefinite matrices, one of which is definite, is definite.
        return max(levels) if min(levels) >= SEMIDEFINITE else min(*levels, HERMITIAN)

    def rank_bound(self) -> int:
        return int(min(min(self.shape), sum(t.rank_bound() for t in self.terms)))

    def diagonal_entries(self) -> Any:
        parts = [diagonal_of(bare(t)) for t in self.terms]
        return None if any(p is None for p in parts) else sum(parts[1:], parts[0])

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator | None:
        # (A + B)^H = A^H + B^H
        turn = _turning(self, conj)
        return turn and Sum(tuple([turn(t) for t in self.terms]))

    def inverse_form(self) -> JacobianOperator | None:
        for form in self.forms():
            found: JacobianOperator | None = form.inverse_form()
            if found is not None:
                return matched(found, self.in_shape, self.out_shape)
        return None


def _total(parts: Iterator[tuple[Any, bool]]) -> Any:
    """Sum of (array, whether it may be written), held in as few arrays as can be."""
    total, owned = next(parts)
    for part, _ in parts:
        if owned and type(total) is np.ndarray and type(part) is np.ndarray:
            total += part
        else:
            total = total + part
            owned = True
    return total


# What products and sums may be besides.

RECOGNISERS: list[tuple[tuple[type, ...], Callable[[Any], Any]]] = []


def recognises(*kinds: type) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register a function that sees in some composites something else, or returns None.

    What it returns says its `pattern_names`, its `definiteness` and its `inverse_form`.
    """

    def register(recognise: Callable[[Any], Any]) -> Callable[[Any], Any]:
        RECOGNISERS.append((kinds, recognise))
        return recognise

    return register


def _composite_names(op: Composite) -> set[str]:
    names = triangle_names(op)
    for form in op.forms():
        names |= form.pattern_names()
    if "low rank plus diagonal" not in names and op.rank_bound() <= min(op.shape) // 2:
        names.add("low rank")
    return names


def _turning(op: Composite, conj: Callable[..., Any]) -> Any:
    """What turns each part of a composite; None where the whole is more than its parts."""
    if op.wide or not op.clinear or op.in_dtype != op.out_dtype:
        return None
    return transpose_of if op.dtype.kind == "c" and conj(1j) == 1j else adjoint_of


def are_adjoint(a: Any, b: Any) -> bool:
    """Whether one operator is seen to be the adjoint of the other."""
    if type(a) is Adjoint:
        return a.op is b or is_equal(a.op, b)
    if type(b) is Adjoint:
        return b.op is a or is_equal(b.op, a)
    if type(a) is Transpose or type(b) is Transpose:
        return False
    turned = adjoint_of(a)
    return type(turned) is not Adjoint and is_equal(turned, b)


def chain_of(factors: Sequence[JacobianOperator]) -> JacobianOperator:
    """A product as an operator."""
    return factors[0] if len(factors) == 1 else Chain(tuple(factors))


def bare(op: JacobianOperator) -> JacobianOperator:
    """The operator without reshapes at its ends, which do not change the matrix."""
    if isinstance(op, SameMatrix):
        return bare(op.op)
    if type(op) is not Chain:
        return op
    factors = list(op.factors)
    while len(factors) > 1 and type(factors[0]) is Reshape:
        factors.pop(0)
    while len(factors) > 1 and type(factors[-1]) is Reshape:
        factors.pop()
    return op if len(factors) == len(op.factors) else chain_of(factors)


def __getattr__(name: str) -> Any:
    return former_names.class_from(__name__, name)
