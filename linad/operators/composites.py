"""Operators made of operators: adjoints, products, sums, multiples.

Each keeps its parts and applies them one after the other, so making one costs nothing.
`linad.operators.algebra` makes them, of parts that fit.
"""

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.primitive import Traced
from linad.core.shapes import Shape, size_of
from linad.errors import SingularError
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
    norm_of,
    real_dtype,
    squares,
    triangle_names,
)
from linad.operators.structured import Diagonal, Reshape


class Typed(JacobianOperator):
    """An operator whose argument and result may differ in dtype."""

    _in_dtype: Any
    _out_dtype: Any

    @property
    def in_dtype(self) -> Any:
        return self._in_dtype

    @property
    def out_dtype(self) -> Any:
        return self._out_dtype


class Wrapper(Typed):
    """An operator made of one other, whose properties it has unless it says otherwise.

    Attributes
    ----------
    op : JacobianOperator
    """

    def __init__(
        self, op: JacobianOperator, out_shape: Shape, in_shape: Shape, dtype: Any = None
    ) -> None:
        self.op = op
        self._in_dtype, self._out_dtype = op.in_dtype, op.out_dtype
        self.fresh, self.clinear, self.wide = op.fresh, op.clinear, op.wide
        self.compiled, self.hermitian = op.compiled, op.hermitian
        super().__init__(out_shape, in_shape, op.dtype if dtype is None else dtype)


class SameMatrix(Wrapper):
    """A wrapper with the matrix of what it holds: what is known of one is known of the other."""

    unknown = "adjoint_form multiple relation"

    inherits_facts = True

    def pushforward(self, tangent: Any) -> Any:
        return self.op.pushforward(tangent)

    def pullback(self, cotangent: Any) -> Any:
        return self.op.pullback(cotangent)

    def _apply_rows(self, x: Any, adjoint: bool) -> Any:
        return self.op._apply_rows(x, adjoint)

    def pattern_names(self) -> set[str]:
        return self.op.pattern_names()

    def isometric(self) -> bool:
        return self.op.isometric()

    def triangles(self) -> tuple[bool, bool]:
        return self.op.triangles()

    def definiteness(self) -> int:
        return self.op.definiteness() if self.shape[0] == self.shape[1] else NOTHING

    def rank_bound(self) -> int:
        return self.op.rank_bound()

    def diagonal_entries(self) -> Any:
        return diagonal_of(self.op)

    def column_squares(self) -> Any:
        return column_squares_of(self.op)

    def spectral_norm(self) -> Any:
        return norm_of(self.op)

    def inverse_form(self) -> JacobianOperator | None:
        found = self.op.inverse_form()
        return None if found is None else matched(found, self.in_shape, self.out_shape)


class _View(Typed):
    """The two methods of an operator, exchanged: what `Adjoint` and `Transpose` share."""

    remembered_as: str

    def __init__(self, op: JacobianOperator) -> None:
        self.op = op
        self._in_dtype, self._out_dtype = op.out_dtype, op.in_dtype
        self.fresh, self.compiled = op.fresh, op.compiled
        if op.dtype.kind == "c":
            self.wide = op.wide or (op.in_dtype.kind != "c" and op.out_dtype.kind == "c")
            self.clinear = op.clinear and not self.wide
        else:
            self.clinear = op.clinear
        super().__init__(op.in_shape, op.out_shape, op.dtype)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # A copied view must be the view of its operator, so that J.H.H is J again.
        refs = self.op.__dict__
        if refs.get(self.remembered_as) is None:
            refs[self.remembered_as] = weakref.ref(self)


class Adjoint(_View):
    """A^H: the two methods of A, exchanged."""

    unknown = "column_squares multiple relation"

    remembered_as = "_adjoint_ref"

    @property
    def flat(self) -> JacobianOperator:
        flat = self.op.flat
        return self if flat is self.op else flat.H

    def pushforward(self, tangent: Any) -> Any:
        return self.op.pullback(tangent)

    def pullback(self, cotangent: Any) -> Any:
        return self.op.pushforward(cotangent)

    @property
    def scatters(self) -> bool:  # type: ignore[override]
        return self.op.spreads

    @property
    def spreads(self) -> bool:  # type: ignore[override]
        return self.op.scatters

    def pushforward_into(self, tangent: Any, total: Any) -> None:
        self.op.pullback_into(tangent, total)

    def pullback_into(self, cotangent: Any, total: Any) -> None:
        self.op.pushforward_into(cotangent, total)

    def _matvec(self, x: Any) -> Any:
        return self.op._rmatvec(x) if self.op.clinear else super()._matvec(x)

    def _rmatvec(self, x: Any) -> Any:
        return self.op._matvec(x) if self.op.clinear else super()._rmatvec(x)

    matvec, rmatvec = _matvec, _rmatvec  # ``J.T @ w`` makes this view anew: keep it short

    def _apply_rows(self, x: Any, adjoint: bool) -> Any:
        if self.op.clinear or self.op.in_dtype.kind != "c" or self.op.wide:
            return self.op._apply_rows(x, not adjoint)
        return super()._apply_rows(x, adjoint)

    def _adjoint(self) -> JacobianOperator:
        return self.op

    def triangles(self) -> tuple[bool, bool]:
        lower, upper = self.op.triangles()
        return upper, lower

    def definiteness(self) -> int:
        return self.op.definiteness() if self.shape[0] == self.shape[1] else NOTHING

    def rank_bound(self) -> int:
        return self.op.rank_bound()

    def diagonal_entries(self) -> Any:
        found = diagonal_of(self.op)
        return None if found is None else np.conj(found)

    def spectral_norm(self) -> Any:
        return norm_of(self.op)

    def adjoint_form(self, conj: Any) -> JacobianOperator | None:
        return self.op if self.dtype.kind != "c" or conj(1j) != 1j else None

    def inverse_form(self) -> JacobianOperator | None:
        # (A^H)^-1 = (A^-1)^H
        found = self.op.inverse_form()
        return None if found is None else found.H


class Transpose(_View):
    """A^T of a complex A: y -> conj(A^H conj(y))."""

    unknown = "column_squares multiple relation"

    remembered_as = "_transpose_ref"

    @property
    def flat(self) -> JacobianOperator:
        flat = self.op.flat
        return self if flat is self.op else flat.T

    def pushforward(self, tangent: Any) -> Any:
        return np.conj(self.op.pullback(np.conj(tangent)))

    def pullback(self, cotangent: Any) -> Any:
        return np.conj(self.op.pushforward(np.conj(cotangent)))

    def _apply_rows(self, x: Any, adjoint: bool) -> Any:
        return np.conj(self.op._apply_rows(np.conj(x), not adjoint))

    def _transpose(self) -> JacobianOperator:
        return self.op

    def triangles(self) -> tuple[bool, bool]:
        lower, upper = self.op.triangles()
        return upper, lower

    def definiteness(self) -> int:
        return self.op.definiteness() if self.shape[0] == self.shape[1] else NOTHING

    def rank_bound(self) -> int:
        return self.op.rank_bound()

    def diagonal_entries(self) -> Any:
        found = diagonal_of(self.op)
        return None if found is None else found

    def spectral_norm(self) -> Any:
        return norm_of(self.op)

    def adjoint_form(self, conj: Any) -> JacobianOperator | None:
        return self.op if conj(1j) == 1j else None

    def inverse_form(self) -> JacobianOperator | None:
        # (A^T)^-1 = (A^-1)^T
        found = self.op.inverse_form()
        return None if found is None else found.T


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
        self.fresh = first.fresh and last.fresh
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
        super().__init__(first.out_shape, last.in_shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        for factor in reversed(self.factors):
            tangent = factor.pushforward(tangent)
        return tangent

    def pullback(self, cotangent: Any) -> Any:
        for factor in self.factors:
            cotangent = factor.pullback(cotangent)
        return cotangent

    def _apply_rows(self, x: Any, adjoint: bool) -> Any:
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

    def adjoint_form(self, conj: Any) -> JacobianOperator | None:
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


class Scaled(Wrapper):
    """alpha A, for a number alpha; a complex one needs an A with complex results.

    The number does not change the precision: half of a float32 operator is float32.
    """

    unknown = "multiple relation"

    def __init__(self, alpha: Any, op: JacobianOperator) -> None:
        self.alpha = alpha
        self._complex = np.iscomplexobj(alpha)
        super().__init__(op, op.out_shape, op.in_shape)
        self.fresh = op.fresh or not self._complex
        self.hermitian = op.hermitian and not self._complex

    def pushforward(self, tangent: Any) -> Any:
        return _times(self.alpha, self.op.pushforward(tangent), self.op.fresh)

    def pullback(self, cotangent: Any) -> Any:
        if self._complex:
            # A may keep the real part, so the number comes first.
            return self.op.pullback(self.alpha.conjugate() * cotangent)
        return _times(self.alpha, self.op.pullback(cotangent), self.op.fresh)

    def _apply_rows(self, x: Any, adjoint: bool) -> Any:
        alpha = self.alpha.conjugate() if adjoint else self.alpha
        return _times(alpha, self.op._apply_rows(x, adjoint), True)

    def pattern_names(self) -> set[str]:
        return self.op.pattern_names() - {"identity", "permutation", "unitary", "selection"}

    def triangles(self) -> tuple[bool, bool]:
        return self.op.triangles()

    def definiteness(self) -> int:
        level, alpha = self.op.definiteness(), concrete(self.alpha)
        if level == NOTHING or np.imag(alpha) or np.isnan(alpha):
            return NOTHING
        if alpha > 0:
            return level
        return HERMITIAN if alpha < 0 else min(level, SEMIDEFINITE)

    def rank_bound(self) -> int:
        return self.op.rank_bound()

    def diagonal_entries(self) -> Any:
        found = diagonal_of(self.op)
        return None if found is None else self.alpha * found

    def column_squares(self) -> Any:
        found = column_squares_of(self.op)
        return None if found is None else abs(self.alpha) ** 2 * found

    def spectral_norm(self) -> Any:
        found = norm_of(self.op)
        return None if found is None else abs(self.alpha) * found

    def adjoint_form(self, conj: Any) -> JacobianOperator | None:
        # (α A)^H = conj(α) A^H
        if not self.clinear or self.in_dtype != self.out_dtype:
            return None
        turn = transpose_of if self.dtype.kind == "c" and conj(1j) == 1j else adjoint_of
        return Scaled(conj(self.alpha), turn(self.op))

    def inverse_form(self) -> JacobianOperator | None:
        # (α A)^-1 = α^-1 A^-1
        if not concrete(self.alpha):
            raise SingularError(f"inverse: {self._label()} is zero times another operator")
        found = self.op.inverse_form()
        return None if found is None else Scaled(1 / self.alpha, found)


def _times(alpha: Any, y: Any, fresh: bool) -> Any:
    """``alpha y``, in place if ``y`` is nobody else's."""
    if fresh and type(y) is np.ndarray and not isinstance(alpha, Traced):
        y *= alpha
        return y
    return alpha * y


class Sum(Composite):
    """A + B + ..., each applied to the same seed. All have the same dtypes."""

    unknown = "column_squares spectral_norm multiple relation"

    fresh = True

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

    def pushforward(self, tangent: Any) -> Any:
        return _total((t.pushforward(tangent), t.fresh) for t in self.terms)

    def pullback(self, cotangent: Any) -> Any:
        return _total((t.pullback(cotangent), t.fresh) for t in self.terms)

    def _apply_rows(self, x: Any, adjoint: bool) -> Any:
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

    def adjoint_form(self, conj: Any) -> JacobianOperator | None:
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
    total, fresh = next(parts)
    for part, _ in parts:
        if fresh and type(total) is np.ndarray and type(part) is np.ndarray:
            total += part
        else:
            total = total + part
            fresh = True
    return total


class Reshaped(SameMatrix):
    """An operator on flat vectors seen as one on shaped arrays, or the other way round."""

    def __init__(self, op: JacobianOperator, out_shape: Shape, in_shape: Shape) -> None:
        super().__init__(op, out_shape, in_shape)

    def pushforward(self, tangent: Any) -> Any:
        seeds = tangent.shape[: tangent.ndim - len(self.in_shape)]
        result = self.op.pushforward(tangent.reshape(seeds + self.op.in_shape))
        return result.reshape(seeds + self.out_shape)

    def pullback(self, cotangent: Any) -> Any:
        seeds = cotangent.shape[: cotangent.ndim - len(self.out_shape)]
        result = self.op.pullback(cotangent.reshape(seeds + self.op.out_shape))
        return result.reshape(seeds + self.in_shape)

    def _apply_rows(self, x: Any, adjoint: bool) -> Any:
        return self.op._apply_rows(x, adjoint)

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        # The operator inside, between reshapes that may vanish in turn
        inner = simplify(self.op)
        if self.wide or inner.wide or inner.in_dtype != inner.out_dtype:
            return None
        factors = (
            Reshape(self.out_shape, inner.out_shape, self.dtype),
            inner,
            Reshape(inner.in_shape, self.in_shape, self.dtype),
        )
        return simplify(Chain(factors))  # type: ignore[no-any-return]


class Extended(Wrapper):
    """The matrix of an operator, on arrays of wider types: real extended to complex.

    Parameters
    ----------
    op : JacobianOperator
    in_dtype, out_dtype : numpy.dtype
        Types of the arrays mapped. If ``in_dtype`` is complex, so is ``out_dtype``.
    """

    unknown = "adjoint_form multiple inverse_form relation"

    fresh = True

    def __init__(self, op: JacobianOperator, in_dtype: Any, out_dtype: Any) -> None:
        super().__init__(op, op.out_shape, op.in_shape, np.promote_types(in_dtype, out_dtype))
        self._in_dtype, self._out_dtype = in_dtype, out_dtype
        # The matrix itself is applied, to whatever numbers.
        self.fresh, self.clinear, self.wide = True, True, False

    def pushforward(self, tangent: Any) -> Any:
        return self._apply_shaped(tangent, self.in_shape, self.out_shape, False)

    def pullback(self, cotangent: Any) -> Any:
        return self._apply_shaped(cotangent, self.out_shape, self.in_shape, True)

    def _apply_shaped(self, x: Any, taken: Shape, given: Shape, adjoint: bool) -> Any:
        seeds = x.shape[: x.ndim - len(taken)]
        y = self.op._apply_rows(x.reshape((*seeds, size_of(taken))), adjoint)
        dtype = self.in_dtype if adjoint else self.out_dtype
        if y.dtype.kind == "c" and dtype.kind != "c":
            y = y.real
        return y.reshape(seeds + given).astype(dtype)

    def triangles(self) -> tuple[bool, bool]:
        return self.op.triangles()

    def definiteness(self) -> int:
        return self.op.definiteness() if self.shape[0] == self.shape[1] else NOTHING

    def rank_bound(self) -> int:
        return self.op.rank_bound()

    def diagonal_entries(self) -> Any:
        found = diagonal_of(self.op)
        return None if found is None else found.astype(self.dtype)

    def column_squares(self) -> Any:
        found = column_squares_of(self.op)
        return None if found is None else found.astype(real_dtype(self.dtype))

    def spectral_norm(self) -> Any:
        return norm_of(self.op)


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


# Adjoints.


def _same(x: Any) -> Any:
    return x


def _conjugate(x: Any) -> Any:
    # The method, since np.conj would make a double of a Python number.
    return x.conjugate()


def adjoint_of(op: JacobianOperator) -> JacobianOperator:
    """``op.H`` as an operator of a known kind, where there is one."""
    found = op.adjoint_form(_conjugate if op.dtype.kind == "c" else _same)
    return op.H if found is None else found


def transpose_of(op: JacobianOperator) -> JacobianOperator:
    """``op.T`` as an operator of a known kind, where there is one."""
    found = op.adjoint_form(_same) if op.dtype.kind == "c" else None
    return op.T if found is None else found


def _turning(op: Composite, conj: Any) -> Any:
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


# Shapes.


def chain_of(factors: Sequence[JacobianOperator]) -> JacobianOperator:
    """A product as an operator."""
    return factors[0] if len(factors) == 1 else Chain(tuple(factors))


def matched(op: JacobianOperator, out_shape: Shape, in_shape: Shape) -> JacobianOperator:
    """The same matrix on arrays of other shapes."""
    if op.out_shape == out_shape and op.in_shape == in_shape:
        return op
    return Reshaped(op, out_shape, in_shape)


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
