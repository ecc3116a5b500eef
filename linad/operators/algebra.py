"""The algebra of operators: what ``@ + - * / **`` do.

The parts are fitted to each other here, in shape and dtype, so that each sees arrays of its
own dtype: a real operator beside a complex one acts on real and imaginary parts. What the table
of `linad.operators.rewrites` knows at once of two neighbours is rewritten.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import aslinearoperator

from linad.arrays.tracer import Tracer
from linad.core.shapes import Shape, size_of
from linad.core.showing import shown
from linad.errors import OperandError, OptionError, ShapeError
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Sum, chain_of
from linad.operators.foreign import Foreign
from linad.operators.matrices import Matrix
from linad.operators.operands import is_operator
from linad.operators.provided import answer_of_operators
from linad.operators.rewrites import AT_ONCE, SUMS_AT_ONCE, direct, multiplied, sum_of, summed
from linad.operators.structured import Cast, Diagonal, Identity, Zero
from linad.operators.wrappers import Adjoint, Extended, Reshaped, Scaled, Transpose


def as_operator(a: Any, what: str = "") -> JacobianOperator:
    """Return anything that acts as a matrix as a JacobianOperator.

    Parameters
    ----------
    a : JacobianOperator, LinearOperator, sparse array, or array (m, n)
    what : str
        The function and argument that it is, for messages: "tag: J".

    Raises
    ------
    ShapeError
        For an array that is not a matrix.
    OperandError
        For anything else.
    """
    if isinstance(a, JacobianOperator):
        return a.flat
    if isinstance(a, (Tracer, np.ndarray)):
        if a.ndim != 2:
            raise ShapeError(f"an array of shape {a.shape} is not a matrix; expected two axes")
        if a.dtype.kind in "biu":
            a = a.astype(float)
        return Matrix(a)
    if is_operator(a):
        diagonal = _main_diagonal(a)
        return Foreign(aslinearoperator(a)) if diagonal is None else diagonal
    wanted = "an operator, a matrix or a sparse array"
    place = f"{what} must be {wanted}" if what else f"expected {wanted}"
    raise OperandError(f"{place}, got {shown(a)}")


def _main_diagonal(a: Any) -> JacobianOperator | None:
    """A sparse array of nothing but a main diagonal, as what it is."""
    if getattr(a, "format", None) != "dia" or a.offsets.tolist() != [0]:
        return None
    n = a.shape[0]
    if a.shape != (n, n) or a.data.shape[1] < n or a.dtype.kind not in "fc":
        return None
    return Diagonal(a.data[0, :n], (n,), a.dtype)


def matching(op: JacobianOperator, out_shape: Shape | None, in_shape: Shape | None) -> Any:
    """``op`` with the given shapes, which must have its sizes."""
    out_shape = op.out_shape if out_shape is None else out_shape
    in_shape = op.in_shape if in_shape is None else in_shape
    if out_shape == op.out_shape and in_shape == op.in_shape:
        return op
    if (size_of(out_shape), size_of(in_shape)) != op.shape:
        raise ShapeError(f"{op._label()} cannot stand between shapes {out_shape} and {in_shape}")
    return Reshaped(op, out_shape, in_shape)


def fitted(
    op: JacobianOperator, in_dtype: np.dtype[Any], out_dtype: np.dtype[Any]
) -> JacobianOperator:
    """``op`` between arrays of the given types, each at least as wide as its own."""
    if op.in_dtype != in_dtype or op.wide:
        if op.in_dtype != in_dtype or op.out_dtype != out_dtype:
            return Extended(op, in_dtype, out_dtype)
        return op
    if op.out_dtype != out_dtype:
        return compose(Cast(op.out_shape, out_dtype, op.out_dtype), op)
    return op


def common_dtypes(ops: Sequence[JacobianOperator]) -> tuple[Any, Any]:
    """Types that hold the arguments, and the results, of all ``ops``."""
    in_dtype = np.result_type(*[op.in_dtype for op in ops])
    out_dtype = np.result_type(*[op.out_dtype for op in ops])
    if in_dtype.kind == "c" and any(op.in_dtype.kind != "c" for op in ops):
        # A real matrix meets complex vectors.
        out_dtype = np.result_type(out_dtype, in_dtype)
    return in_dtype, out_dtype


def _factors(op: JacobianOperator, wide: bool) -> tuple[JacobianOperator, ...]:
    """The factors of a chain that applies them as the new one will: as maps or as matrices."""
    return op.factors if type(op) is Chain and op.wide == wide else (op,)


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
    taken, given = a.in_dtype, b.out_dtype
    if taken is not given and taken != given:
        between = np.promote_types(taken, given)
        b = fitted(b, b.in_dtype, between)
        if taken != between:
            a = Extended(a, between, np.promote_types(a.out_dtype, between))
    kind, other = type(a), type(b)
    if kind is Identity:
        return b
    if other is Identity:
        return a
    if kind is Adjoint or kind is Transpose:
        a = direct(a)
    if other is Adjoint or other is Transpose:
        b = direct(b)
    wide = a.wide or b.wide
    left, right = _factors(a, wide), _factors(b, wide)
    last, first = type(left[-1]), type(right[0])
    if (last, first) in AT_ONCE or last is Zero or first is Zero:
        return chain_of(multiplied(left, right, AT_ONCE))
    return Chain(left + right)


def scale(alpha: Any, op: Any) -> JacobianOperator:
    """``alpha * op``."""
    op = as_operator(op)
    alpha = _number(alpha, op)
    complex_ = np.iscomplexobj(alpha)
    if complex_ and op.out_dtype.kind != "c":
        op = fitted(op, op.in_dtype, np.result_type(op.out_dtype, np.complex64))
    if not isinstance(alpha, Tracer):
        if type(op) is Scaled and not isinstance(op.alpha, Tracer):
            alpha, op = alpha * op.alpha, op.op
        if alpha == 1:
            return op
    found = op.multiple(alpha) if op.scales_at_once else None
    return Scaled(alpha, op) if found is None else found


def _number(alpha: Any, op: JacobianOperator) -> Any:
    """A number that does not widen the operator's dtype when multiplied."""
    if type(alpha) in (int, float, complex):
        return alpha
    if isinstance(alpha, Tracer):
        if alpha.dtype.kind == "c":
            return alpha.astype(np.result_type(op.dtype, np.complex64))
        return alpha.astype(np.empty(0, op.dtype).real.dtype)
    number = np.asarray(alpha)
    if number.ndim or number.dtype.kind not in "biufc":
        raise OperandError(f"{op._label()} is scaled by a number, got {shown(alpha)}")
    return number.astype(complex if number.dtype.kind == "c" else float).item()


def _term(x: Any, other: Any) -> JacobianOperator:
    """A summand; arrays and numbers are refused, as SciPy does."""
    if isinstance(x, (np.ndarray, Tracer, list)):
        raise OperandError(
            f"cannot add an array to {other._label()}, or subtract it; to add the matrix, wrap "
            f"it with scipy.sparse.linalg.aslinearoperator"
        )
    if isinstance(x, (int, float, complex, np.generic)):
        raise OperandError(
            f"cannot add a number to {other._label()}, or subtract it; a multiple of the "
            f"identity is {x!r} * linad.eye(n)"
        )
    return as_operator(x)


def add(a: Any, b: Any) -> JacobianOperator:
    """``a + b``."""
    a, b = _term(a, b), _term(b, a)
    if a.shape != b.shape:
        raise ShapeError(f"cannot add {a._label()} and {b._label()}: the shapes differ")
    b = matching(b, a.out_shape, a.in_shape)
    if a.in_dtype != b.in_dtype or a.out_dtype != b.out_dtype:
        dtypes = common_dtypes([a, b])
        a, b = fitted(a, *dtypes), fitted(b, *dtypes)
    terms = a.terms if type(a) is Sum else (a,)
    for term in b.terms if type(b) is Sum else (b,):
        terms = summed(terms, term, SUMS_AT_ONCE)
    return sum_of(terms)


def subtract(a: Any, b: Any) -> JacobianOperator:
    """``a - b``."""
    return add(_term(a, b), scale(-1, _term(b, a)))


def power(op: JacobianOperator, p: int) -> JacobianOperator:
    """``op`` applied ``p`` times."""
    op = as_operator(op)
    asked = f"{op._label()} ** {p}"
    written = f"np.linalg.matrix_power(J.todense(), {p})"
    m, n = op.shape
    if m != n or p < 0:
        raise ShapeError(f"{asked}: expected a square operator and p >= 0")
    result: JacobianOperator = Identity(op.in_shape, op.dtype)
    while p:
        if p % 2:
            result = compose(op, result)
        op, p = compose(op, op) if p > 1 else op, p // 2
        if isinstance(op, Chain) and len(op.factors) > MOST_FACTORS:
            raise OptionError(
                f"{asked}: a product of more than {MOST_FACTORS} operators is not written out; "
                f"{written} multiplies matrices"
            )
    return result


MOST_FACTORS = 1 << 16
"""Of a power, which applies an operator as often as it says."""


for answer in (compose, scale, power, add, subtract, Adjoint, Transpose):
    answer_of_operators(answer)
