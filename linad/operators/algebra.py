"""Operators made of operators: products, sums, scalings, adjoints."""

from typing import Any

import numpy as np
from scipy.sparse.linalg import aslinearoperator

from linad.errors import ShapeError
from linad.operators.base import ALGEBRA, JacobianOperator
from linad.operators.foreign import Foreign
from linad.operators.structured import Identity, Kronecker
from linad.primitive import Traced
from linad.shapes import Shape, size_of


class Adjoint(JacobianOperator):
    """A^H: the two methods of A, exchanged."""

    def __init__(self, op: JacobianOperator) -> None:
        self.op = op
        self.fresh = op.fresh
        self.clinear = op.clinear
        super().__init__(op.in_shape, op.out_shape, op.dtype)

    @property
    def in_dtype(self) -> Any:
        return self.op.out_dtype

    @property
    def out_dtype(self) -> Any:
        return self.op.in_dtype

    @property
    def flat(self) -> JacobianOperator:
        flat = self.op.flat
        return self if flat is self.op else flat.H

    def pushforward(self, tangent: Any) -> Any:
        return self.op.pullback(tangent)

    def pullback(self, cotangent: Any) -> Any:
        return self.op.pushforward(cotangent)

    def _apply_rows(self, x: Any, adjoint: bool) -> Any:
        return self.op._apply_rows(x, not adjoint)

    def _adjoint(self) -> JacobianOperator:
        return self.op


class Transpose(JacobianOperator):
    """A^T of a complex A: y -> conj(A^H conj(y))."""

    def __init__(self, op: JacobianOperator) -> None:
        self.op = op
        self.fresh = op.fresh
        self.clinear = op.clinear
        super().__init__(op.in_shape, op.out_shape, op.dtype)

    @property
    def in_dtype(self) -> Any:
        return self.op.out_dtype

    @property
    def out_dtype(self) -> Any:
        return self.op.in_dtype

    def pushforward(self, tangent: Any) -> Any:
        return np.conj(self.op.pullback(np.conj(tangent)))

    def pullback(self, cotangent: Any) -> Any:
        return np.conj(self.op.pushforward(np.conj(cotangent)))

    def _apply_rows(self, x: Any, adjoint: bool) -> Any:
        return np.conj(self.op._apply_rows(np.conj(x), not adjoint))

    def _transpose(self) -> JacobianOperator:
        return self.op


class Chain(JacobianOperator):
    """A product of operators, kept flat: the first factor is applied last."""

    def __init__(self, factors: tuple[JacobianOperator, ...]) -> None:
        self.factors = factors
        first, last = factors[0], factors[-1]
        self.fresh = first.fresh and last.fresh
        self.clinear = all([f.clinear for f in factors])
        out_dtype, in_dtype = first.out_dtype, last.in_dtype
        # Real in and real out make a real matrix, whatever happens in between.
        dtype = out_dtype if out_dtype is in_dtype else np.promote_types(out_dtype, in_dtype)
        super().__init__(first.out_shape, last.in_shape, dtype)

    @property
    def in_dtype(self) -> Any:
        return self.factors[-1].in_dtype

    @property
    def out_dtype(self) -> Any:
        return self.factors[0].out_dtype

    def pushforward(self, tangent: Any) -> Any:
        for factor in reversed(self.factors):
            tangent = factor.pushforward(tangent)
        return tangent

    def pullback(self, cotangent: Any) -> Any:
        for factor in self.factors:
            cotangent = factor.pullback(cotangent)
        return cotangent


class Scaled(JacobianOperator):
    """alpha A."""

    fresh = True

    def __init__(self, alpha: Any, op: JacobianOperator) -> None:
        self.alpha = alpha
        self.op = op
        self.clinear = op.clinear and (op.in_dtype.kind == "c" or not np.iscomplexobj(alpha))
        super().__init__(op.out_shape, op.in_shape, _scaled_dtype(alpha, op.dtype))

    @property
    def in_dtype(self) -> Any:
        return self.op.in_dtype

    def pushforward(self, tangent: Any) -> Any:
        return self.alpha * self.op.pushforward(tangent)

    def pullback(self, cotangent: Any) -> Any:
        pulled = self.op.pullback(np.conj(self.alpha) * cotangent)
        return pulled.real if pulled.dtype.kind == "c" and self.in_dtype.kind != "c" else pulled


class Sum(JacobianOperator):
    """A + B + ..., each applied to the same seed."""

    fresh = True

    def __init__(self, terms: tuple[JacobianOperator, ...]) -> None:
        self.terms = terms
        self.clinear = all(t.clinear for t in terms)
        dtype = np.result_type(*[t.dtype for t in terms])
        super().__init__(terms[0].out_shape, terms[0].in_shape, dtype)

    @property
    def in_dtype(self) -> Any:
        return np.result_type(*[t.in_dtype for t in self.terms])

    @property
    def out_dtype(self) -> Any:
        return np.result_type(*[t.out_dtype for t in self.terms])

    def pushforward(self, tangent: Any) -> Any:
        total = self.terms[0].pushforward(tangent)
        for term in self.terms[1:]:
            total = total + term.pushforward(tangent)
        return total

    def pullback(self, cotangent: Any) -> Any:
        total = self.terms[0].pullback(cotangent)
        for term in self.terms[1:]:
            total = total + term.pullback(cotangent)
        return total


class Reshaped(JacobianOperator):
    """An operator on flat vectors seen as one on shaped arrays, or the other way round."""

    def __init__(self, op: JacobianOperator, out_shape: Shape, in_shape: Shape) -> None:
        self.op = op
        self.clinear = op.clinear
        super().__init__(out_shape, in_shape, op.dtype)

    @property
    def in_dtype(self) -> Any:
        return self.op.in_dtype

    @property
    def out_dtype(self) -> Any:
        return self.op.out_dtype

    def pushforward(self, tangent: Any) -> Any:
        seeds = tangent.shape[: tangent.ndim - len(self.in_shape)]
        result = self.op.pushforward(tangent.reshape(seeds + self.op.in_shape))
        return result.reshape(seeds + self.out_shape)

    def pullback(self, cotangent: Any) -> Any:
        seeds = cotangent.shape[: cotangent.ndim - len(self.out_shape)]
        result = self.op.pullback(cotangent.reshape(seeds + self.op.out_shape))
        return result.reshape(seeds + self.in_shape)


def as_operator(a: Any) -> JacobianOperator:
    """Return anything that acts as a matrix as a JacobianOperator."""
    if isinstance(a, JacobianOperator):
        return a.flat
    if isinstance(a, (Traced, np.ndarray)) and a.ndim == 2:
        return Kronecker.matrix(a)
    return Foreign(aslinearoperator(a))


def matching(op: JacobianOperator, out_shape: Shape | None, in_shape: Shape | None) -> Any:
    """``op`` with the given shapes, which must have its sizes."""
    out_shape = op.out_shape if out_shape is None else out_shape
    in_shape = op.in_shape if in_shape is None else in_shape
    if out_shape == op.out_shape and in_shape == op.in_shape:
        return op
    if (size_of(out_shape), size_of(in_shape)) != op.shape:
        raise ShapeError(
            f"{op._label()} cannot stand between shapes {out_shape} and {in_shape}"
        )
    return Reshaped(op, out_shape, in_shape)


def _factors(op: JacobianOperator) -> tuple[JacobianOperator, ...]:
    return op.factors if type(op) is Chain else (op,)


def compose(a: Any, b: Any) -> JacobianOperator:
    """The product ``a @ b``."""
    a, b = as_operator(a), as_operator(b)
    if a.in_shape != b.out_shape:
        if a.shape[1] != b.shape[0]:
            raise ShapeError(
                f"cannot compose {a._label()} with {b._label()}: {a.shape[1]} columns, "
                f"{b.shape[0]} rows"
            )
        a = matching(a, None, b.out_shape)
    if type(a) is Identity and a.dtype == b.dtype:
        return b
    if type(b) is Identity and a.dtype == b.dtype:
        return a
    return Chain(_factors(a) + _factors(b))


def scale(alpha: Any, op: Any) -> JacobianOperator:
    """``alpha * op``."""
    op = as_operator(op)
    return Scaled(alpha, op)


def add(a: Any, b: Any) -> JacobianOperator:
    """``a + b``."""
    a, b = as_operator(a), as_operator(b)
    if a.shape != b.shape:
        raise ShapeError(f"cannot add {a._label()} and {b._label()}: the shapes differ")
    b = matching(b, a.out_shape, a.in_shape)
    terms = (a.terms if type(a) is Sum else (a,)) + (b.terms if type(b) is Sum else (b,))
    return Sum(terms)


def power(op: JacobianOperator, p: int) -> JacobianOperator:
    """``op`` applied ``p`` times."""
    op = as_operator(op)
    m, n = op.shape
    if m != n or p < 0:
        raise ShapeError(f"{op._label()}: only square operators have powers, and p >= 0")
    result: JacobianOperator = Identity(op.in_shape, op.dtype)
    for _ in range(p):
        result = compose(op, result)
    return result


def _scaled_dtype(alpha: Any, dtype: Any) -> Any:
    """dtype of ``alpha * array``: NumPy's rule, Python numbers being weak."""
    return (np.empty(0, dtype) * (alpha if not isinstance(alpha, Traced) else 1.0)).dtype


ALGEBRA.compose, ALGEBRA.scale, ALGEBRA.add, ALGEBRA.power = compose, scale, add, power
ALGEBRA.as_operator, ALGEBRA.Adjoint, ALGEBRA.Transpose = as_operator, Adjoint, Transpose
