"""Given matrices as operators: products with them, along one axis or two, and solves.

    y = A x     x = A^-1 b      adjoint: x -> A^-H x

The factors of a matrix that is solved with are kept, see `linad.operators.system_matrix`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape, align, matrix_transpose, size_of, sum_to_shape
from linad.errors import SingularError
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain
from linad.operators.factors import DenseLU, Triangular
from linad.operators.facts import (
    HERMITIAN,
    NOTHING,
    SMALL,
    WORK,
    both,
    is_hermitian,
    largest_singular_value,
    real_dtype,
    squares,
    triangle_names,
    triangles_of,
)
from linad.operators.foreign import Foreign
from linad.operators.linear_solves import LinearSolve
from linad.operators.relation_shapes import dense_along
from linad.operators.relations import Product
from linad.operators.reordering import Permutation, Reshape
from linad.operators.system_matrix import SystemMatrix


class Solve(LinearSolve):
    """x = A^-1 b, column by column.

    Parameters
    ----------
    matrix : SystemMatrix or array (..., n, n)
        A, kept by reference; operators given the same `SystemMatrix` share its factors.
    out_shape, in_shape : tuple of int
        Both (..., n, k); batch axes broadcast.
    dtype : numpy.dtype

    Raises
    ------
    numpy.linalg.LinAlgError
        When applied with a matrix that is singular.

    Notes
    -----
    The first application costs 2/3 n^3 operations for the factors, each one 2 n^2 k. A
    matrix with n <= 32, and each matrix of a stack, is factorised at every application.
    """

    unknown = (
        "triangles definiteness diagonal_entries column_squares spectral_norm adjoint_form multiple"
    )

    def __init__(
        self, matrix: Any, out_shape: Shape, in_shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.matrix = matrix if isinstance(matrix, SystemMatrix) else SystemMatrix(matrix)
        super().__init__(out_shape, in_shape, dtype)

    def solve_for(self, b: Array, adjoint: bool) -> Array:
        return self.matrix.solve(b, adjoint)

    def inverse_form(self) -> JacobianOperator | None:
        # (A^-1)^-1 = A
        if self.in_shape != self.out_shape:
            return None
        return Kronecker(self.matrix.a, None, self.out_shape, self.in_shape, self.dtype)


class Kronecker(JacobianOperator):
    """Apply X -> L X R^T: the matrix L ⊗ R, never formed.

    Parameters
    ----------
    left, right : array (..., m, p) and (..., n, q), or None
        L and R, kept by reference; None is the identity.
    out_shape, in_shape : tuple of int
        (..., m, n) and (..., p, q); batch axes broadcast.
    dtype : numpy.dtype

    Notes
    -----
    One matrix product per factor and application, for all seeds together where the factor
    has no batch axes, in the order that takes fewer multiplications. L ⊗ R itself would hold
    (m n)(p q) numbers.
    """

    owns_result = True

    weighted_by = ("left", "right")

    def __init__(
        self,
        left: Array | None,
        right: Array | None,
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any],
    ) -> None:
        self.left, self.right = left, right
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        tangent = align(tangent, len(self.in_shape), len(self.out_shape))
        right = None if self.right is None else matrix_transpose(self.right)
        return _between(self.left, tangent, right, self.in_shape, self.out_shape)

    def pullback(self, cotangent: Array) -> Array:
        left, right = self.left, self.right
        if self.dtype.kind == "c":
            left, right = [None if f is None else np.conj(f) for f in (left, right)]
        left = None if left is None else matrix_transpose(left)
        found = _between(left, cotangent, right, self.out_shape, self.in_shape)
        return sum_to_shape(found, self.in_shape, len(self.out_shape))

    def is_plain(self) -> bool:
        """Whether no batch axis is repeated on the way."""
        return self.in_shape[:-2] == self.out_shape[:-2]

    def pattern_names(self) -> set[str]:
        names = {"kronecker"} | triangle_names(self)
        return names | {"block diagonal"} if self.left is None else names

    def triangles(self) -> tuple[bool, bool]:
        if self.in_shape != self.out_shape:
            return False, False
        return both(triangles_of(f) for f in (self.left, self.right) if f is not None)

    def definiteness(self) -> int:
        factors = [f for f in (self.left, self.right) if f is not None]
        return HERMITIAN if all(is_hermitian(f) for f in factors) else NOTHING

    def diagonal_entries(self) -> Any:
        if self.in_shape != self.out_shape:
            return None
        one = np.ones(1, self.dtype)
        left, right = [
            one if f is None else np.diagonal(f, axis1=-2, axis2=-1)
            for f in (self.left, self.right)
        ]
        product = left[..., :, None] * right[..., None, :]
        return (product + np.zeros(self.in_shape, self.dtype)).reshape(self.shape[0])

    def column_squares(self) -> Any:
        if not self.is_plain():
            return None
        real = real_dtype(self.dtype)
        one = np.ones(1, real)
        left, right = [
            one if f is None else np.sum(squares(f), axis=-2) for f in (self.left, self.right)
        ]
        product = left[..., :, None] * right[..., None, :]
        return (product + np.zeros(self.in_shape, real)).reshape(self.shape[1])

    def spectral_norm(self) -> Any:
        factors = [f for f in (self.left, self.right) if f is not None]
        if not self.is_plain() or any(f.ndim > 2 or min(f.shape) > SMALL for f in factors):
            return None
        product: Any = 1.0
        for f in factors:
            product = product * largest_singular_value(f)
        return product

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator | None:
        # (L ⊗ R)^H = L^H ⊗ R^H
        if not self.is_plain():
            return None
        left, right = [
            f if f is None else conj(matrix_transpose(f)) for f in (self.left, self.right)
        ]
        return Kronecker(left, right, self.in_shape, self.out_shape, self.dtype)

    def multiple(self, alpha: Any) -> JacobianOperator:
        # α (L ⊗ R) = α L ⊗ R
        left, right = self.left, self.right
        if left is not None:
            left = alpha * left
        else:
            right = alpha * right
        return Kronecker(left, right, self.out_shape, self.in_shape, self.dtype)

    def inverse_form(self) -> JacobianOperator | None:
        # (L ⊗ R)^-1 = L^-1 ⊗ R^-1: X -> L^-1 X R^-T
        shape, dtype = self.in_shape, self.dtype
        if self.out_shape != shape:
            return None
        if any(f is not None and f.ndim > 2 for f in (self.left, self.right)):
            return self._stack_inverse()
        found: tuple[JacobianOperator, ...] = ()
        if self.left is not None:
            k = len(shape)
            swap = Permutation((*range(k - 2), k - 1, k - 2), shape, dtype)
            rows = _solving_rows(self.left, swap.out_shape[:-1], dtype)
            found = (swap.inverse_form(), rows, swap)
        if self.right is not None:
            found = (*found, _solving_rows(self.right, shape[:-1], dtype))
        return Chain(found) if len(found) > 1 else found[0]

    def _stack_inverse(self) -> JacobianOperator:
        """Of stacks of matrices, one for each batch index."""
        for f in (self.left, self.right):
            if f is not None:
                check_stack(np.asarray(concrete(f)), self)
        left, right = [f if f is None else np.linalg.inv(f) for f in (self.left, self.right)]
        return Kronecker(left, right, self.in_shape, self.out_shape, self.dtype)

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        # A factor of ones along an axis of length 1 is the identity.
        left, right = self.left, self.right
        if left is None or right is None or left.ndim != 2 or right.ndim != 2:
            return None
        if left.shape == (1, 1) and right.size <= WORK:
            return Kronecker(None, left[0, 0] * right, self.out_shape, self.in_shape, self.dtype)
        if right.shape == (1, 1):
            return Kronecker(left * right[0, 0], None, self.out_shape, self.in_shape, self.dtype)
        return None

    def relation(self) -> Product:
        left = () if self.left is None else (-2,)
        axes = left if self.right is None else (*left, -1)
        return dense_along(self.out_shape, self.in_shape, axes)

    def relation_key(self) -> Any:
        return self.left is None, self.right is None


def _product(a: Array, b: Array) -> Any:
    """``a @ b``. Of small arrays `numpy.matmul` takes a microsecond longer than `numpy.dot`."""
    if type(a) is type(b) is np.ndarray and 0 < a.ndim < 3 and 0 < b.ndim < 3:
        return a.dot(b)
    return a @ b


def _from_right(x: Array, a: Array) -> Any:
    """``x @ a``, the rows of all seeds in one product where ``a`` is one matrix."""
    if a.ndim != 2 or x.ndim < 3:
        return _product(x, a)
    n, k = a.shape
    return (x.reshape((size_of(x.shape[:-1]), n)) @ a).reshape((*x.shape[:-1], k))


def _from_left(a: Array, x: Array) -> Any:
    """``a @ x``, single columns of all seeds in one product where ``a`` is one matrix."""
    if a.ndim != 2 or x.ndim < 3 or x.shape[-1] != 1:
        return _product(a, x)
    m, n = a.shape
    rows = x.reshape((size_of(x.shape[:-2]), n)) @ matrix_transpose(a)
    return rows.reshape((*x.shape[:-2], m, 1))


def _between(left: Any, x: Array, right: Any, given: Shape, wanted: Shape) -> Any:
    """``left @ x @ right``, where a factor may be None, by the product first that leaves less to
    do: p q n + m p n multiplications from the right, m p q + m q n from the left."""
    (p, q), (m, n) = given[-2:], wanted[-2:]
    if right is not None and (left is None or p * n * (q + m) < m * q * (p + n)):
        x = _from_right(x, right)
        return x if left is None else _from_left(left, x)
    x = x if left is None else _from_left(left, x)
    return x if right is None else _from_right(x, right)


class Matrix(JacobianOperator):
    """y = A x along the last axis: x (n,), y (m,).

    Parameters
    ----------
    a : array (m, n)
        Kept by reference.
    dtype : numpy.dtype, optional
        That of ``a`` by default.

    Notes
    -----
    All seeds go through one matrix product.
    """

    unknown = "spectral_norm"

    owns_result = True

    weighted_by = ("a",)

    def __init__(self, a: Array, dtype: np.dtype[Any] | None = None) -> None:
        self.a = a
        shape = a.shape
        self.out_shape, self.in_shape = shape[:1], shape[1:]
        self.dtype = a.dtype if dtype is None else dtype

    def pushforward(self, tangent: Array) -> Array:
        return _product(tangent, matrix_transpose(self.a))

    def pullback(self, cotangent: Array) -> Array:
        return _product(cotangent, np.conj(self.a) if self.dtype.kind == "c" else self.a)

    def pattern_names(self) -> set[str]:
        return {"matrix"} | triangle_names(self)

    def triangles(self) -> tuple[bool, bool]:
        return triangles_of(self.a)

    def definiteness(self) -> int:
        return HERMITIAN if is_hermitian(self.a) else NOTHING

    def diagonal_entries(self) -> Any:
        return np.diagonal(self.a) + np.zeros((), self.dtype)

    def column_squares(self) -> Any:
        return np.sum(squares(self.a), axis=0)

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        return Matrix(conj(matrix_transpose(self.a)), self.dtype)

    def multiple(self, alpha: Any) -> JacobianOperator:
        return Matrix(alpha * self.a, self.dtype)

    def inverse_form(self) -> JacobianOperator:
        return _solving_rows(self.a, (), self.dtype)

    def relation(self) -> Product:
        return dense_along(self.out_shape, self.in_shape, (-1,))

    def diagonal_after(self, left: Any) -> Any:
        return np.einsum("ij,ji->i", left.a, self.a) if type(left) is Matrix else None


class RowProducts(JacobianOperator):
    """y = X v: the product of each row of X (..., n) with a vector; the matrix I ⊗ v^T.

    Parameters
    ----------
    v : array (n,)
        Kept by reference.
    in_shape : tuple of int
        Of X.
    dtype : numpy.dtype
    """

    unknown = "triangles definiteness diagonal_entries adjoint_form multiple inverse_form"

    owns_result = True

    weighted_by = ("v",)

    def __init__(self, v: Array, in_shape: Shape, dtype: np.dtype[Any]) -> None:
        self.v = v
        self.out_shape, self.in_shape = in_shape[:-1], in_shape
        self.dtype = dtype

    def pushforward(self, tangent: Array) -> Array:
        return tangent @ self.v

    def pullback(self, cotangent: Array) -> Array:
        v = np.conj(self.v) if self.dtype.kind == "c" else self.v
        return np.multiply.outer(cotangent, v)

    def column_squares(self) -> Any:
        found = squares(self.v) + np.zeros(self.in_shape, real_dtype(self.dtype))
        return found.reshape(self.shape[1])

    def spectral_norm(self) -> Any:
        return np.linalg.norm(self.v)

    def relation(self) -> Product:
        return dense_along((*self.out_shape, 1), self.in_shape, (-1,))


def solver(a: Array) -> Any:
    """What applies the inverse of a matrix (n, n) to vectors: its factors, or, of a traced one,
    the matrix to solve with."""
    lower, upper = triangles_of(a)
    if isinstance(a, Traced):
        DenseLU(np.asarray(concrete(a)))  # raises if it is singular
        return a
    return Triangular(a, lower) if lower or upper else DenseLU(a)


def _solving_rows(a: Array, lead: tuple[int, ...], dtype: np.dtype[Any]) -> JacobianOperator:
    """Apply the inverse of a matrix along the last axis of arrays (*lead, n)."""
    factors, n = solver(a), a.shape[-1]
    if not isinstance(factors, Traced):
        return Foreign(factors, lead=lead)
    columns, rows = (n, size_of(lead)), (*lead, n)
    swap, line = Permutation((1, 0), columns[::-1], dtype), Reshape(columns[::-1], rows, dtype)
    back = Permutation((1, 0), columns, dtype), Reshape(rows, columns[::-1], dtype)
    return Chain((back[1], back[0], Solve(factors, columns, columns, dtype), swap, line))


def check_stack(a: Array, op: JacobianOperator) -> None:
    """Raise SingularError if a matrix of a stack is singular to working precision."""
    worst = float(np.max(np.linalg.cond(a), initial=1.0)) if a.size else 1.0
    if not worst * np.finfo(a.dtype).eps < 1:
        raise SingularError(f"inverse: {op._label()} holds a singular matrix")
