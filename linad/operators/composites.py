"""Operators made of operators: adjoints, products, sums, multiples.

Each keeps its parts and applies them one after the other, so making one costs nothing.
`linad.operators.algebra` makes them, of parts that fit.
"""

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from linad.core.primitive import Traced
from linad.core.shapes import Shape, size_of
from linad.operators.base import JacobianOperator


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


class Transpose(_View):
    """A^T of a complex A: y -> conj(A^H conj(y))."""

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


class Chain(Typed):
    """A product of operators, kept flat: the first factor is applied last."""

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


class Scaled(Typed):
    """alpha A, for a number alpha; a complex one needs an A with complex results.

    The number does not change the precision: half of a float32 operator is float32.
    """

    def __init__(self, alpha: Any, op: JacobianOperator) -> None:
        self.alpha = alpha
        self.op = op
        self._complex = np.iscomplexobj(alpha)
        self._in_dtype, self._out_dtype = op.in_dtype, op.out_dtype
        self.fresh = op.fresh or not self._complex
        self.clinear, self.compiled = op.clinear, op.compiled
        self.wide = op.wide
        super().__init__(op.out_shape, op.in_shape, op.dtype)

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


def _times(alpha: Any, y: Any, fresh: bool) -> Any:
    """``alpha y``, in place if ``y`` is nobody else's."""
    if fresh and type(y) is np.ndarray and not isinstance(alpha, Traced):
        y *= alpha
        return y
    return alpha * y


class Sum(Typed):
    """A + B + ..., each applied to the same seed. All have the same dtypes."""

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


class Reshaped(Typed):
    """An operator on flat vectors seen as one on shaped arrays, or the other way round."""

    def __init__(self, op: JacobianOperator, out_shape: Shape, in_shape: Shape) -> None:
        self.op = op
        self._in_dtype, self._out_dtype = op.in_dtype, op.out_dtype
        self.fresh, self.clinear, self.wide = op.fresh, op.clinear, op.wide
        super().__init__(out_shape, in_shape, op.dtype)

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


class Extended(Typed):
    """The matrix of an operator, on arrays of wider types: real extended to complex.

    Parameters
    ----------
    op : JacobianOperator
    in_dtype, out_dtype : numpy.dtype
        Types of the arrays mapped. If ``in_dtype`` is complex, so is ``out_dtype``.
    """

    fresh = True

    def __init__(self, op: JacobianOperator, in_dtype: Any, out_dtype: Any) -> None:
        self.op = op
        self._in_dtype, self._out_dtype = in_dtype, out_dtype
        super().__init__(op.out_shape, op.in_shape, np.promote_types(in_dtype, out_dtype))

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
