"""Operators around one other: adjoints, multiples, the same matrix on other shapes or dtypes."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape, size_of
from linad.errors import SingularError
from linad.operators.base import JacobianOperator
from linad.operators.facts import (
    HERMITIAN,
    NOTHING,
    SEMIDEFINITE,
    column_squares_of,
    diagonal_of,
    norm_of,
    real_dtype,
)
from linad.operators.provided import ANSWERS
from linad.operators.reordering import Reshape
from linad.operators.typed import Typed


class Wrapper(Typed):
    """An operator made of one other, whose properties it has unless it says otherwise.

    Attributes
    ----------
    op : JacobianOperator
    """

    def __init__(
        self,
        op: JacobianOperator,
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any] | None = None,
    ) -> None:
        self.op = op
        self._in_dtype, self._out_dtype = op.in_dtype, op.out_dtype
        self.owns_result, self.clinear, self.wide = op.owns_result, op.clinear, op.wide
        self.compiled, self.hermitian = op.compiled, op.hermitian
        super().__init__(out_shape, in_shape, op.dtype if dtype is None else dtype)


class SameMatrix(Wrapper):
    """A wrapper with the matrix of what it holds: what is known of one is known of the other."""

    unknown = "adjoint_form multiple relation"

    inherits_facts = True

    def pushforward(self, tangent: Array) -> Array:
        return self.op.pushforward(tangent)

    def pullback(self, cotangent: Array) -> Array:
        return self.op.pullback(cotangent)

    def _apply_rows(self, x: Array, adjoint: bool) -> Any:
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

    inherits_facts = True

    def __init__(self, op: JacobianOperator) -> None:
        self.op = op
        self._in_dtype, self._out_dtype = op.out_dtype, op.in_dtype
        self.owns_result, self.compiled = op.owns_result, op.compiled
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

    def triangles(self) -> tuple[bool, bool]:
        lower, upper = self.op.triangles()
        return upper, lower

    def definiteness(self) -> int:
        return self.op.definiteness() if self.shape[0] == self.shape[1] else NOTHING

    def rank_bound(self) -> int:
        return self.op.rank_bound()

    def spectral_norm(self) -> Any:
        return norm_of(self.op)

    def relation_read(self) -> Any:
        relation = self.op.relation_read()
        return None if relation is None else relation.T


class Adjoint(_View):
    """A^H: the two methods of A, exchanged."""

    unknown = "column_squares multiple relation"

    remembered_as = "_adjoint_ref"

    @property
    def flat(self) -> JacobianOperator:
        flat = self.op.flat
        return self if flat is self.op else flat.H

    def pushforward(self, tangent: Array) -> Array:
        return self.op.pullback(tangent)

    def pullback(self, cotangent: Array) -> Array:
        return self.op.pushforward(cotangent)

    @property
    def scatters(self) -> bool:  # type: ignore[override]
        return self.op.spreads

    @property
    def spreads(self) -> bool:  # type: ignore[override]
        return self.op.scatters

    def pushforward_into(self, tangent: Array, total: Array) -> None:
        self.op.pullback_into(tangent, total)

    def pullback_into(self, cotangent: Array, total: Array) -> None:
        self.op.pushforward_into(cotangent, total)

    def _matvec(self, x: Array) -> Any:
        return self.op._rmatvec(x) if self.op.clinear else super()._matvec(x)

    def _rmatvec(self, x: Array) -> Any:
        return self.op._matvec(x) if self.op.clinear else super()._rmatvec(x)

    matvec, rmatvec = _matvec, _rmatvec  # ``J.T @ w`` makes this view anew: keep it short

    def _apply_rows(self, x: Array, adjoint: bool) -> Any:
        if self.op.clinear or self.op.in_dtype.kind != "c" or self.op.wide:
            return self.op._apply_rows(x, not adjoint)
        return super()._apply_rows(x, adjoint)

    def _adjoint(self) -> JacobianOperator:
        return self.op

    def diagonal_entries(self) -> Any:
        found = diagonal_of(self.op)
        return None if found is None else np.conj(found)

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator | None:
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

    def pushforward(self, tangent: Array) -> Array:
        return np.conj(self.op.pullback(np.conj(tangent)))

    def pullback(self, cotangent: Array) -> Array:
        return np.conj(self.op.pushforward(np.conj(cotangent)))

    def _apply_rows(self, x: Array, adjoint: bool) -> Any:
        return np.conj(self.op._apply_rows(np.conj(x), not adjoint))

    def _transpose(self) -> JacobianOperator:
        return self.op

    def diagonal_entries(self) -> Any:
        return diagonal_of(self.op)

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator | None:
        return self.op if conj(1j) == 1j else None

    def inverse_form(self) -> JacobianOperator | None:
        # (A^T)^-1 = (A^-1)^T
        found = self.op.inverse_form()
        return None if found is None else found.T


class Scaled(Wrapper):
    """alpha A, for a number alpha; a complex one needs an A with complex results.

    The number does not change the precision: half of a float32 operator is float32.
    """

    unknown = "multiple relation"

    def __init__(self, alpha: Any, op: JacobianOperator) -> None:
        self.alpha = alpha
        self._complex = np.iscomplexobj(alpha)
        super().__init__(op, op.out_shape, op.in_shape)
        self.owns_result = op.owns_result or not self._complex
        self.hermitian = op.hermitian and not self._complex

    def relation_read(self) -> Any:
        return self.op.relation_read()

    def pushforward(self, tangent: Array) -> Array:
        return _times(self.alpha, self.op.pushforward(tangent), self.op.owns_result)

    def pullback(self, cotangent: Array) -> Array:
        if self._complex:
            # A may keep the real part, so the number comes first.
            return self.op.pullback(self.alpha.conjugate() * cotangent)
        return _times(self.alpha, self.op.pullback(cotangent), self.op.owns_result)

    def _apply_rows(self, x: Array, adjoint: bool) -> Any:
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

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator | None:
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


def _times(alpha: Array, y: Array, owned: bool) -> Any:
    """``alpha y``, in place if ``y`` is nobody else's."""
    if owned and type(y) is np.ndarray and not isinstance(alpha, Traced):
        y *= alpha
        return y
    return alpha * y


class Reshaped(SameMatrix):
    """An operator on flat vectors seen as one on shaped arrays, or the other way round."""

    def __init__(self, op: JacobianOperator, out_shape: Shape, in_shape: Shape) -> None:
        super().__init__(op, out_shape, in_shape)

    def pushforward(self, tangent: Array) -> Array:
        seeds = tangent.shape[: tangent.ndim - len(self.in_shape)]
        result = self.op.pushforward(tangent.reshape(seeds + self.op.in_shape))
        return result.reshape(seeds + self.out_shape)

    def pullback(self, cotangent: Array) -> Array:
        seeds = cotangent.shape[: cotangent.ndim - len(self.out_shape)]
        result = self.op.pullback(cotangent.reshape(seeds + self.op.out_shape))
        return result.reshape(seeds + self.in_shape)

    def _apply_rows(self, x: Array, adjoint: bool) -> Any:
        return self.op._apply_rows(x, adjoint)

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        # The operator inside, between reshapes that may vanish in turn
        inner = simplify(self.op)
        if self.wide or inner.wide or inner.in_dtype != inner.out_dtype:
            return None
        before = Reshape(inner.in_shape, self.in_shape, self.dtype)
        after = Reshape(self.out_shape, inner.out_shape, self.dtype)
        whole = ANSWERS.compose(after, ANSWERS.compose(inner, before))
        return simplify(whole)  # type: ignore[no-any-return]


class Extended(Wrapper):
    """The matrix of an operator, on arrays of wider types: real extended to complex.

    Parameters
    ----------
    op : JacobianOperator
    in_dtype, out_dtype : numpy.dtype
        Types of the arrays mapped. If ``in_dtype`` is complex, so is ``out_dtype``.
    """

    unknown = "adjoint_form multiple inverse_form relation"

    owns_result = True

    def __init__(
        self, op: JacobianOperator, in_dtype: np.dtype[Any], out_dtype: np.dtype[Any]
    ) -> None:
        super().__init__(op, op.out_shape, op.in_shape, np.promote_types(in_dtype, out_dtype))
        self._in_dtype, self._out_dtype = in_dtype, out_dtype
        # The matrix itself is applied, to whatever numbers.
        self.owns_result, self.clinear, self.wide = True, True, False

    def pushforward(self, tangent: Array) -> Array:
        return self._apply_shaped(tangent, self.in_shape, self.out_shape, False)

    def pullback(self, cotangent: Array) -> Array:
        return self._apply_shaped(cotangent, self.out_shape, self.in_shape, True)

    def _apply_shaped(self, x: Array, taken: Shape, given: Shape, adjoint: bool) -> Any:
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


def _same(x: Array) -> Any:
    return x


def _conjugate(x: Array) -> Any:
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


def matched(op: JacobianOperator, out_shape: Shape, in_shape: Shape) -> JacobianOperator:
    """The same matrix on arrays of other shapes."""
    if op.out_shape == out_shape and op.in_shape == in_shape:
        return op
    return Reshaped(op, out_shape, in_shape)
