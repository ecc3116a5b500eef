"""Triangular systems and the LU decomposition, as in scipy.linalg.

T X = B       dX = T^-1 (dB - tri(dT) X)         tri keeps the triangle that is read
P A = L U     X = L^-1 P dA     F = X U^-1     G = tril(F, -1)
              dL = L G          dU = X - G U     (G and U^-1 are 0 where dU has to be)

L and U are held in one matrix, as LAPACK does; the permutation is constant. G leaves out the last
column of F, for which nothing is divided by the last diagonal entry of U: it may be 0, as that of
a matrix whose rank is n - 1. Any number stands in its place.

Source: M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode algorithmic differentiation", 2008. F. de Hoog, R. Anderssen and M. Lukas,
"Differentiation of matrix functionals using triangular factorization", Mathematics of
Computation 80, 2011.
"""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, matrix_transpose
from linad.errors import SingularError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.operators.linear_solves import LinearSolve, solution_rules
from linad.operators.matrices import Kronecker
from linad.operators.relations import Gather, Prefix, Product
from linad.operators.structured import Diagonal
from linad.rules import linalg
from linad.rules.linalg import adjoint, dividing_by, minus_product


def _solved(triangle: Array, columns: Array, lower: bool, unit: bool) -> Any:
    """SciPy's solution, and an error of linad's where there is none."""
    try:
        return scipy.linalg.solve_triangular(
            triangle, columns, lower=lower, unit_diagonal=unit, check_finite=False
        )
    except np.linalg.LinAlgError:
        zero = int(np.argmax(triangle.diagonal() == 0))
        raise SingularError(
            f"a triangle, or a factor of a matrix, with a 0 on its diagonal, at entry {zero}, is "
            f"singular: no equations are solved by it"
        ) from None


def _solve_triangular(a: Array, b: Array, *, lower: bool, unit: bool) -> Any:
    """Solve for all columns of b (*more, ..., n, k) and each matrix of a (..., n, n)."""
    lead = b.shape[: max(b.ndim - a.ndim, 0)]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[len(lead) : -2])
    a = np.broadcast_to(a, batch + a.shape[-2:])
    b = np.broadcast_to(b, lead + batch + b.shape[-2:])
    x = np.empty(b.shape, np.result_type(a, b))
    if x.size:
        for index in np.ndindex(*batch):
            block = (..., *index, slice(None), slice(None))
            columns = np.moveaxis(b[block], -2, 0)
            flat = columns.reshape((len(columns), -1))
            solved = _solved(a[index], flat, lower, unit)
            x[block] = np.moveaxis(solved.reshape(columns.shape), 0, -2)
    return x


solve_triangular_ = Primitive("solve_triangular", _solve_triangular)
solve_triangular_.partial = "regular"


class TriangularSolve(LinearSolve):
    """b -> T^-1 b, column by column.

    Parameters
    ----------
    a : array (..., n, n)
        Holds T in one triangle, kept by reference; the other is not read.
    out_shape, in_shape : tuple of int
        Both (..., n, k); batch axes broadcast.
    dtype : numpy.dtype
    lower : bool
        Which triangle T is.
    unit : bool
        Whether the diagonal of T is 1, whatever ``a`` holds there.

    Notes
    -----
    n^2 operations per column.
    """

    unknown = (
        "triangles definiteness diagonal_entries column_squares spectral_norm adjoint_form multiple"
    )

    def __init__(
        self,
        a: Array,
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any],
        lower: bool,
        unit: bool,
    ) -> None:
        self.a, self.lower, self.unit = a, lower, unit
        super().__init__(out_shape, in_shape, dtype)

    def solve_for(self, b: Array, adjoint: bool) -> Array:
        a = linalg.adjoint(self.a) if adjoint else self.a
        return solve_triangular_(a, b, lower=self.lower != adjoint, unit=self.unit)

    def relation(self) -> Product:
        """x_i reads b_j with j <= i for a lower T: the inverse of a triangle is one."""
        numbers = np.arange(self.shape[1]).reshape(self.in_shape)
        repeated = np.broadcast_to(numbers, self.out_shape).ravel()
        return Product(
            Prefix(self.out_shape, len(self.out_shape) - 2, not self.lower),
            Gather(repeated, self.shape[1]),
        )

    def relation_key(self) -> Any:
        return self.lower

    def inverse_form(self) -> JacobianOperator | None:
        # (T^-1)^-1 = T
        if self.in_shape != self.out_shape:
            return None
        a = np.tril(self.a) if self.lower else np.triu(self.a)
        if self.unit:
            eye = np.eye(a.shape[-1], dtype=self.dtype)
            a = a - a * eye + eye
        return Kronecker(a, None, self.out_shape, self.in_shape, self.dtype)


def _minus_triangle_times_x(
    x: Array, a: Array, b: Array, *, lower: bool, unit: bool
) -> JacobianOperator:
    read = np.tri(a.shape[-1], k=-1 if unit else 0, dtype=x.dtype)
    return minus_product(x, a) @ Diagonal(read if lower else read.T, a.shape, x.dtype)


solution_rules(
    solve_triangular_,
    right_side=1,
    inverse=lambda x, shape, a, b, *, lower, unit: TriangularSolve(
        a, x.shape, shape, x.dtype, lower, unit
    ),
    changes={0: _minus_triangle_times_x},
)


def _lu(a: Array) -> Any:
    """L and U in one matrix, and the pivots, matrix by matrix."""
    lu = np.empty(a.shape, a.dtype)
    pivots = np.empty(a.shape[:-1], np.int32)
    if a.size:
        for index in np.ndindex(*a.shape[:-2]):
            lu[index], pivots[index] = scipy.linalg.lu_factor(a[index], check_finite=False)
    return lu, pivots


lu_ = Primitive("lu", _lu, outputs=2)


def permutation(pivots: Array) -> Any:
    """Rows in their order after LAPACK's exchanges: P A = A[permutation(pivots)]."""
    pivots = np.asarray(pivots)
    order = np.empty(pivots.shape, np.intp)
    for index in np.ndindex(*pivots.shape[:-1]):
        rows = list(range(pivots.shape[-1]))
        for i, p in enumerate(pivots[index].tolist()):
            rows[i], rows[p] = rows[p], rows[i]
        order[index] = rows
    return order


def permute_rows(a: Array, order: Array) -> Any:
    """The rows of a (*more, ..., n, k) in the orders (..., n)."""
    if order.ndim == 1:
        return a[..., order, :]
    shape = np.broadcast_shapes(a.shape[:-1], order.shape) + a.shape[-1:]
    order = np.broadcast_to(order[..., None], shape)
    return np.take_along_axis(np.broadcast_to(a, shape), order, axis=-2)


U_OF_LU = "U has a 0 on its diagonal and columns after it, as of a matrix of dependent columns"


class LUDerivative(JacobianOperator):
    """dA -> dL + dU, in one matrix.

    Parameters
    ----------
    lu : array (..., n, n)
        L below the diagonal, U above, kept by reference.
    order : array of int (..., n)
        Of the rows.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, lu: Array, order: Array) -> None:
        n = lu.shape[-1]
        self.lu, self.order = lu, order
        self.back = np.argsort(order, axis=-1)
        self.lower = np.tril(lu, -1) + np.eye(n, dtype=lu.dtype)
        self.upper = np.triu(lu)
        last = np.arange(n * n).reshape(n, n) == n * n - 1
        self._divisor = np.where(last, lu.dtype.type(1), lu)
        super().__init__(lu.shape, lu.shape, lu.dtype)

    def pushforward(self, tangent: Array) -> Array:
        x = permute_rows(tangent, self.order)
        x = solve_triangular_(self.lu, x, lower=True, unit=True)
        with dividing_by("lu", U_OF_LU):
            f = matrix_transpose(
                solve_triangular_(
                    matrix_transpose(self._divisor), matrix_transpose(x), lower=True, unit=False
                )
            )
        strict = np.tril(f, -1)
        return self.lower @ strict + np.triu(x - strict @ self.upper), None

    def pullback(self, cotangent: Array) -> Array:
        w, _ = cotangent
        x = np.triu(w)
        strict = np.tril(adjoint(self.lower) @ np.tril(w, -1) - x @ adjoint(self.upper), -1)
        with dividing_by("lu", U_OF_LU):
            f = adjoint(solve_triangular_(self._divisor, adjoint(strict), lower=False, unit=False))
        x = solve_triangular_(adjoint(self.lu), x + f, lower=False, unit=True)
        return permute_rows(x, self.back)


@lu_.jacobian(wrt=0)
def lu_wrt_a(y: Array, a: Array) -> JacobianOperator:
    lu, pivots = y
    return LUDerivative(lu, permutation(pivots))
