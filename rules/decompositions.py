"""Cholesky and QR decompositions, and the reading of a Hermitian matrix.

A = L L^H        dL = L Φ(L^-1 dA L^-H)          Φ: lower triangle, with half the diagonal
A = Q R          X = dA R^-1,  M = Q^H X,  Ω = tril(M, -1) - tril(M, -1)^H + i Im diag M
                 dQ = X - Q M + Q Ω              dR = (M - Ω) R
                 (m < n: A = [A1 A2], Q and R1 from A1, dR2 = Q^H dA2 - Ω R2)

NumPy's cholesky and eigh read one triangle of their argument and take the other to be its
conjugate. The derivative is that of this function: exact for any argument, so a gradient
lies in the triangle that is read. Where the argument is exactly Hermitian, the mean
A / 2 + A^H / 2 is decomposed instead: the same value, and the gradient is Hermitian, as users
of symmetric matrices expect. (Halves are added, since a sum that is halved can overflow.)

QR needs full column rank (of the first m columns where m < n), and raises LinAlgError
without it. The signs and phases are LAPACK's: the diagonal of R is real.

Sources: M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode algorithmic differentiation", 2008. S. Walter and L. Lehmann, "Algorithmic
differentiation of linear algebra functions", 2010. M. Seeger, A. Hetzel, Z. Dai,
E. Meissner and N. Lawrence, "Auto-differentiating linear algebra", 2017.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import Shape
from linad.errors import UnsupportedError
from linad.operators.base import JacobianOperator
from linad.operators.cholesky_diagonals import diagonal_if_alone, pull_diagonal
from linad.operators.facts import EVERYTHING, UNSTRUCTURED
from linad.operators.relation_shapes import dense_along
from linad.operators.relations import Gather
from linad.operators.system_matrix import SystemMatrix
from linad.rules.complements import qr_complement, qr_rest_
from linad.rules.linalg import adjoint, check_square, dividing_by
from linad.rules.shaping import laid_out, still

QRResult = type(np.linalg.qr(np.eye(1)))


# A Hermitian matrix, of which one triangle is read.


class HermitianReading(JacobianOperator):
    """A -> H: the triangle of A that is read, its conjugate in the other, a real diagonal.

    Parameters
    ----------
    shape : tuple of int
        (..., n, n)
    dtype : numpy.dtype
    lower : bool
        Which triangle is read.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(self, shape: Shape, dtype: np.dtype[Any], lower: bool) -> None:
        n = shape[-1]
        strict = np.tri(n, k=-1, dtype=bool)
        self._strict = strict if lower else strict.T
        self._diagonal = np.eye(n, dtype=bool)
        self.clinear = dtype.kind != "c"
        super().__init__(shape, shape, dtype)

    def _parts(self, x: Array, other: Array) -> Any:
        """``x`` in the strict triangle that is read, Re ``other`` on the diagonal."""
        zero = np.zeros((), self.dtype)
        return np.where(self._strict, x, np.where(self._diagonal, other, zero))

    def pushforward(self, tangent: Array) -> Array:
        real = np.real(tangent) if self.dtype.kind == "c" else tangent
        half = self._parts(tangent, 0.5 * real)
        return half + adjoint(half)

    def pullback(self, cotangent: Array) -> Array:
        real = np.real(cotangent) if self.dtype.kind == "c" else cotangent
        return self._parts(cotangent + adjoint(cotangent), real)

    def relation(self) -> Gather:
        """y_ij reads a_ij or a_ji, whichever lies in the triangle."""
        numbers = np.arange(self.shape[1]).reshape(self.in_shape)
        read = np.where(self._strict | self._diagonal, numbers, np.swapaxes(numbers, -1, -2))
        return Gather(read.ravel(), self.shape[1])

    def relation_key(self) -> Any:
        return self._strict


def _read_hermitian(a: Array, *, lower: bool) -> Any:
    return HermitianReading(a.shape, a.dtype, lower).pushforward(a)


hermitian_ = Primitive("hermitian", _read_hermitian)


@hermitian_.jacobian(wrt=0)
def hermitian_wrt_a(y: Array, a: Array, *, lower: bool) -> JacobianOperator:
    return HermitianReading(a.shape, y.dtype, lower)


def symmetrized(a: Array, otherwise: Callable[[Any], Any] = lambda a: a) -> Any:
    """A / 2 + A^H / 2 where A is exactly Hermitian, which changes its derivative only.

    Else ``otherwise(A)``, by default A.
    """
    mirrored, value = adjoint(a), still(a)
    plain = not isinstance(value, Traced)
    exact = np.all(value == adjoint(value) if plain else a == mirrored)
    if isinstance(exact, Traced):  # a recorded program decides anew, for its own rounding
        return np.where(exact, 0.5 * a + 0.5 * mirrored, otherwise(a))
    return 0.5 * a + 0.5 * mirrored if exact else otherwise(a)


def hermitian_argument(a: Array, name: str, lower: bool = True) -> Any:
    """The matrix that NumPy sees when it reads one triangle of ``a``."""
    check_square(a, name)
    return symmetrized(a, lambda a: hermitian_(a, lower=lower))


# Cholesky.

cholesky_ = Primitive("cholesky", lambda a: np.linalg.cholesky(a))
cholesky_.partial = "positive definite"


class CholeskyDerivative(JacobianOperator):
    """dA -> L Φ(L^-1 dA L^-H), of a Hermitian dA.

    Parameters
    ----------
    lower : array (..., n, n)
        L, kept by reference.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(self, lower: Array) -> None:
        self.lower = lower
        self.matrix = SystemMatrix(lower)
        n = lower.shape[-1]
        real = np.dtype(lower.dtype.char.lower())
        self._half = np.tri(n, dtype=real) - 0.5 * np.eye(n, dtype=real)
        super().__init__(lower.shape, lower.shape, lower.dtype)

    def pushforward(self, tangent: Array) -> Array:
        x = self.matrix.solve(adjoint(self.matrix.solve(tangent)))
        return self.lower @ (self._half * adjoint(x))

    def pullback(self, cotangent: Array) -> Array:
        alone = diagonal_if_alone(self.lower, cotangent)
        if alone is not None:
            return pull_diagonal(self.lower, alone)
        x = self._half * (adjoint(self.lower) @ cotangent)
        x = adjoint(self.matrix.solve(x, adjoint=True))
        return adjoint(self.matrix.solve(x, adjoint=True))

    def relation(self) -> Any:
        """Each matrix of a stack on all entries of its own."""
        return dense_along(self.out_shape, self.in_shape, (-2, -1))


@cholesky_.jacobian(wrt=0)
def cholesky_wrt_a(y: Array, a: Array) -> JacobianOperator:
    return CholeskyDerivative(y) @ HermitianReading(a.shape, y.dtype, lower=True)


@implements(np.linalg.cholesky)
def cholesky(a: Array, /, *, upper: bool = False) -> Any:
    check_square(a, "cholesky")
    # The upper factor is read from the upper triangle, the lower one of the adjoint.
    a = symmetrized(a)
    return laid_out(adjoint(cholesky_(adjoint(a))), "C", "cholesky") if upper else cholesky_(a)


# QR.

qr_ = Primitive("qr", lambda a: tuple(np.linalg.qr(a)), outputs=2)


class QRDerivative(JacobianOperator):
    """dA -> (dQ, dR) of the reduced decomposition.

    Parameters
    ----------
    q, r : array (..., m, k) and (..., k, n), k = min(m, n)
        Kept by reference.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, q: Array, r: Array) -> None:
        self.q, self.r = q, r
        k = r.shape[-2]
        self._k = k
        self._transposed = SystemMatrix(np.swapaxes(r[..., :k], -1, -2))
        self._strict = np.tri(k, k=-1, dtype=bool)
        self._eye = np.eye(k, dtype=bool)
        self._zero = np.zeros((), q.dtype)
        self._complex = q.dtype.kind == "c"
        self.clinear = not self._complex
        shape = (*q.shape[:-1], r.shape[-1])
        super().__init__(shape, shape, q.dtype)

    def _divide(self, x: Array, adjoint_: bool = False) -> Any:
        """X R1^-1, or X R1^-H."""
        with dividing_by("qr", "columns depend on each other, or rows for rq"):
            return np.swapaxes(self._transposed.solve(np.swapaxes(x, -1, -2), adjoint_), -1, -2)

    def _skew(self, m: Array) -> Any:
        """Ω of M."""
        lower = np.where(self._strict, m, self._zero)
        omega = lower - adjoint(lower)
        return omega + self._imaginary_diagonal(m) if self._complex else omega

    def _skew_adjoint(self, w: Array) -> Any:
        """The adjoint of `_skew`."""
        lower = np.where(self._strict, w - adjoint(w), self._zero)
        return lower + self._imaginary_diagonal(w) if self._complex else lower

    def _imaginary_diagonal(self, m: Array) -> Any:
        return 1j * np.where(self._eye, np.imag(m), np.imag(self._zero))

    def pushforward(self, tangent: Array) -> Array:
        q, r, k = self.q, self.r, self._k
        x = self._divide(tangent[..., :k])
        m = adjoint(q) @ x
        omega = self._skew(m)
        # M - Ω is upper triangular; so is the result, exactly.
        upper = np.where(self._strict, self._zero, m - omega)
        dr = upper @ r[..., :k]
        if r.shape[-1] > k:
            rest = adjoint(q) @ tangent[..., k:] - omega @ r[..., k:]
            dr = np.concatenate([dr, rest], axis=-1)
        return x + q @ (omega - m), dr

    def pullback(self, cotangent: Array) -> Array:
        dq, dr = cotangent
        q, r, k = self.q, self.r, self._k
        m = omega = rest = None
        if dr is not None:
            m = np.where(self._strict, self._zero, dr[..., :k] @ adjoint(r[..., :k]))
            omega = -m
            if r.shape[-1] > k:
                rest = dr[..., k:]
                omega = omega - rest @ adjoint(r[..., k:])
        if dq is not None:
            product = adjoint(q) @ dq
            m = -product if m is None else m - product
            omega = product if omega is None else omega + product
        x = q @ (m + self._skew_adjoint(omega))
        da = self._divide(x if dq is None else x + dq, adjoint_=True)
        if r.shape[-1] == k:
            return da
        extra = (*da.shape[:-1], r.shape[-1] - k)
        rest = np.zeros(extra, self.dtype) if rest is None else q @ rest
        return np.concatenate([da, rest], axis=-1)


@qr_.jacobian(wrt=0)
def qr_wrt_a(y: Array, a: Array) -> JacobianOperator:
    return QRDerivative(*y)


@implements(np.linalg.qr)
def qr(a: Array, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        if mode == "raw":
            raise UnsupportedError(
                "qr: mode='raw' is not traced by linad; use 'reduced', 'complete' or 'r'"
            )
        raise ValueError(f"qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"qr: expected at least two axes, got shape {a.shape}")
    q, r = qr_(a)
    m, n = a.shape[-2:]
    if mode == "complete" and m > n:
        q = np.concatenate([q, qr_complement(q, qr_rest_(a))], axis=-1)
        r = np.concatenate([r, np.zeros((*r.shape[:-2], m - n, n), r.dtype)], axis=-2)
    return r if mode == "r" else QRResult(q, r)
