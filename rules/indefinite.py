"""The decomposition of Bunch and Kaufman, A = L D L^H.

P L is a unit triangle, D has blocks of order 1 and 2 on its diagonal. With the permutation held,

M = L^-1 dA L^-H      dD = M on the blocks      dL = L X,   X = M D^-1 on one side of the blocks

for M = X D + dD + D X^H, where X is 0 on the blocks and on their other side. The same with
transposes where A is symmetric and complex. One triangle of A is read.

A block of D that is 0 divides nothing if it comes last, as of a matrix whose rank is n - 1. There
is no derivative if others follow: the smallest change makes a block of order 2 of them.

Source: the differential of A = L D L^H; G. Golub and C. Van Loan, "Matrix Computations", 2013,
section 4.4.
"""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import matrix_transpose
from linad.errors import DegenerateError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.rules.decompositions import HermitianReading
from linad.rules.linalg import adjoint, dividing_by
from linad.rules.shaping import still
from linad.rules.triangular import solve_triangular_


def _ldl(a: Array, *, lower: bool, hermitian: bool) -> tuple[Array, Array, Array]:
    if hermitian and a.dtype.kind == "c":
        a = a - np.diag(1j * np.diagonal(a).imag).astype(a.dtype)  # of which SciPy would warn
    factor, d, order = scipy.linalg.ldl(a, lower=lower, hermitian=hermitian)
    return factor, d, order


ldl_ = Primitive("ldl", _ldl, outputs=3)
ldl_.partial = "finite"


class SymmetricReading:
    """A -> the symmetric matrix of one triangle, and the adjoint; of `HermitianReading` without
    conjugates."""

    def __init__(self, n: int, lower: bool) -> None:
        strict = np.tri(n, k=-1, dtype=bool)
        self._strict, self._diagonal = strict if lower else strict.T, np.eye(n, dtype=bool)

    def pushforward(self, tangent: Array) -> Any:
        strict = np.where(self._strict, tangent, 0)
        return strict + matrix_transpose(strict) + np.where(self._diagonal, tangent, 0)

    def pullback(self, cotangent: Array) -> Any:
        both = cotangent + matrix_transpose(cotangent)
        return np.where(self._strict, both, 0) + np.where(self._diagonal, cotangent, 0)


class IndefiniteDerivative(JacobianOperator):
    """dA -> (dL, dD), of the triangle of A that is read.

    Parameters
    ----------
    factor, d : array (n, n)
        L and D, kept by reference.
    order : array of int (n,)
        The rows of L that make it a triangle.
    lower, hermitian : bool
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, factor: Array, d: Array, order: Array, lower: bool, hermitian: bool) -> None:
        self.order, self.back, self.lower = order, np.argsort(order), lower
        self.triangle = np.take(factor, order, axis=0)
        self._star = adjoint if hermitian else matrix_transpose
        n = d.shape[-1]
        self._blocks = (still(d) != 0) | np.eye(n, dtype=bool)
        side = np.tri(n, k=-1, dtype=bool)
        self._side = (side if lower else side.T) & ~self._blocks
        self._zero = np.zeros((), factor.dtype)
        empty = ~np.any(self._blocks & (still(d) != 0), axis=-1)
        self.lost = np.any(empty & np.any(self._side, axis=-2))
        self.d = np.where(np.eye(n, dtype=bool) & empty, factor.dtype.type(1), d)
        self._reading: Any = SymmetricReading(n, lower)
        if hermitian:
            self._reading = HermitianReading(d.shape, factor.dtype, lower)
        self.clinear = not (hermitian and factor.dtype.kind == "c")
        super().__init__(d.shape, d.shape, factor.dtype)

    def _existing(self, m: Array) -> Any:
        """``m``; no numbers where D has no derivative."""
        if isinstance(self.lost, Traced):
            return np.where(self.lost, np.nan, m)
        if self.lost:
            raise DegenerateError(
                "ldl: no derivative where a block of D is 0 and others follow, as of a matrix "
                "whose rank is n - 2 or less; move the matrix off the point"
            )
        return m

    def _divide(self, d: Array, x: Array) -> Any:
        """X D^-T."""
        with dividing_by("ldl", "a block of D is singular"):
            return matrix_transpose(np.linalg.solve(d, matrix_transpose(x)))

    def _permuted(self, x: Array, order: Array) -> Any:
        return np.take(np.take(x, order, axis=-2), order, axis=-1)

    def _solve(self, triangle: Array, x: Array, lower: bool) -> Any:
        return solve_triangular_(triangle, x, lower=lower, unit=True)

    def pushforward(self, tangent: Array) -> Array:
        star = self._star
        e = self._permuted(self._reading.pushforward(tangent), self.order)
        m = self._solve(self.triangle, e, self.lower)
        m = self._existing(star(self._solve(self.triangle, star(m), self.lower)))
        x = self._divide(self.d.T, np.where(self._side, m, self._zero))
        moved = np.take(self.triangle @ x, self.back, axis=-2)
        return moved, np.where(self._blocks, m, self._zero), None

    def pullback(self, cotangent: Array) -> Array:
        moved, dd, _ = cotangent
        m: Any = np.where(self._blocks, self._zero if dd is None else dd, self._zero)
        if moved is not None:
            x = adjoint(self.triangle) @ np.take(moved, self.order, axis=-2)
            m = m + np.where(self._side, self._divide(self.d.conj(), x), self._zero)
        m = self._existing(m)
        # e -> T^-1 e T^-H, or T^-T, has the adjoint m -> T^-H m T^-1, or conj(T)^-1.
        up, across = adjoint(self.triangle), matrix_transpose(self.triangle)
        m = self._solve(up, m, not self.lower)
        across = across if self._star is adjoint else up
        m = matrix_transpose(self._solve(across, matrix_transpose(m), not self.lower))
        return self._reading.pullback(self._permuted(m, self.back))


@ldl_.jacobian(wrt=0)
def ldl_wrt_a(y: Array, a: Array, *, lower: bool, hermitian: bool) -> JacobianOperator:
    return IndefiniteDerivative(*y, lower, hermitian)


def symmetric_mean(a: Array) -> Any:
    """A / 2 + A^T / 2 where A is exactly symmetric, which changes its derivative only; else A."""
    mirrored, value = matrix_transpose(a), still(a)
    exact = np.all(value == matrix_transpose(value))
    if isinstance(exact, Traced):  # a recorded program decides anew
        return np.where(exact, 0.5 * a + 0.5 * mirrored, a)
    return 0.5 * a + 0.5 * mirrored if exact else a
