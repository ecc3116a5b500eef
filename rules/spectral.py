"""Eigenvalues and eigenvectors.

A V = V Λ, A Hermitian      E = V^H dA V      dλ = diag E      dV = V (F ∘ E)
A V = V Λ, A general        C = V^-1 dA V     dλ = diag C      dV = V (F ∘ C) + V D
                            F_ij = 1 / (λ_j - λ_i), 0 for i = j

The diagonal D keeps what LAPACK fixes in eigenvectors of a general matrix: norm 1, and the
largest entry real.

Conventions. The vectors of a complex Hermitian matrix are defined up to a factor of modulus 1: dV
is the one with diag(V^H dV) = 0, and functions that do not depend on the factor have the right
derivative.

Values closer than 8 n eps max|λ| count as equal, and then F_ij = 0: see `linad.rules.couplings`.
An eigenvalue of a defective matrix has no derivative. It is NaN, in Σ λ as well, for what reaches
the rule may be Σ λ² / 2. Second derivatives at equal values are right, or raise: see
`linad.rules.degeneracy`.

Sources: M. Giles, "An extended collection of matrix derivative results for forward and reverse
mode algorithmic differentiation", 2008. M. Seeger, A. Hetzel, Z. Dai, E. Meissner and N.
Lawrence, "Auto-differentiating linear algebra", 2017.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.former_names import class_from
from linad.core.primitive import Primitive
from linad.operators.base import JacobianOperator
from linad.operators.entangled import Entangled
from linad.operators.facts import EVERYTHING
from linad.operators.system_matrix import SystemMatrix
from linad.rules.couplings import (
    any_equal,
    diagonal,
    embedded,
    in_pairs,
    lost_couplings,
    plus,
    reciprocal,
    reciprocal_gaps,
    spoilt,
    used_values,
)
from linad.rules.decompositions import HermitianReading, symmetrized
from linad.rules.degeneracy import inside, settle
from linad.rules.linalg import adjoint, check_square

EighResult = type(np.linalg.eigh(np.eye(1)))
EigResult = type(np.linalg.eig(np.eye(1)))


# Hermitian matrices.

eigh_ = Primitive("eigh", lambda a, *, UPLO: tuple(np.linalg.eigh(a, UPLO)), outputs=2)
eigh_.partial = "finite"


class HermitianEigen(Entangled):
    """dA -> (dλ, dV) of a Hermitian dA.

    Parameters
    ----------
    values, vectors : array (..., n) and (..., n, n)
        λ and V, kept by reference.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, values: Array, vectors: Array) -> None:
        self.values, self.vectors = inside(values), inside(vectors)
        self.gaps = reciprocal_gaps(self.values)
        self._eye = np.eye(vectors.shape[-1], dtype=values.dtype)
        self.clinear = vectors.dtype.kind != "c"
        super().__init__(vectors.shape, vectors.shape, vectors.dtype)

    def pushforward(self, tangent: Array) -> Array:
        v = settle(self.vectors, self.values, None, "eigh")
        e = adjoint(v) @ tangent @ v
        return np.real(diagonal(e)) + 0.0, v @ (self.gaps * e)

    def undetermined(self, tangent: Array) -> Any:
        if not any_equal(self.values):
            return None
        v = self.vectors
        return in_pairs(lost_couplings(self.values, adjoint(v) @ tangent @ v))

    def pullback(self, cotangent: Array) -> Array:
        values, vectors = cotangent
        v = settle(self.vectors, self.values, values if vectors is None else None, "eigh")
        e = None if values is None else embedded(values, self._eye)
        if vectors is not None:
            m = adjoint(v) @ vectors
            turned = self.gaps * m
            if values is not None:  # values with vectors, as in V f(Λ) V^H
                turned = spoilt(self.values, used_values(values, vectors), turned)
            e = plus(e, turned)
        return v @ e @ adjoint(v)


class Read(Entangled):
    """An operator with several results after a `HermitianReading`."""

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, op: Entangled, reading: HermitianReading) -> None:
        self.op, self.of_triangle = op, reading
        self.clinear = op.clinear
        super().__init__(op.out_shape, reading.in_shape, op.dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self.op.pushforward(self.of_triangle.pushforward(tangent))

    def undetermined(self, tangent: Array) -> Any:
        return self.op.undetermined(self.of_triangle.pushforward(tangent))

    def pullback(self, cotangent: Array) -> Array:
        return self.of_triangle.pullback(self.op.pullback(cotangent))


@eigh_.jacobian(wrt=0)
def eigh_wrt_a(y: Array, a: Array, *, UPLO: str) -> JacobianOperator:
    return Read(HermitianEigen(*y), HermitianReading(a.shape, y[1].dtype, UPLO == "L"))


def _eigh(a: Array, UPLO: str, name: str) -> Any:
    UPLO = UPLO.upper()
    if UPLO not in ("L", "U"):
        raise ValueError(f"{name}: UPLO must be 'L' or 'U', got {UPLO!r}")
    check_square(a, name)
    return eigh_(symmetrized(a), UPLO=UPLO)


@implements(np.linalg.eigh)
def eigh(a: Array, UPLO: str = "L") -> Any:
    return EighResult(*_eigh(a, UPLO, "eigh"))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Array, UPLO: str = "L") -> Any:
    return _eigh(a, UPLO, "eigvalsh")[0]


# General matrices.


def _conditions(vectors: Array) -> Any:
    """1 / |cos| of the angles between right and left eigenvectors; inf for singular matrices."""
    found = np.full(vectors.shape[:-1], np.inf, vectors.real.dtype)
    for index in np.ndindex(vectors.shape[:-2]):
        try:
            left = np.linalg.inv(vectors[index])
        except np.linalg.LinAlgError:
            continue
        found[index] = np.linalg.norm(left, axis=-1) * np.linalg.norm(vectors[index], axis=-2)
    return found


conditions_ = Primitive("eigen_conditions", _conditions, constant=True)


def defective(vectors: Array) -> Any:
    """Which eigenvalues have no derivative, or none with a digit that holds.

    The derivative of an eigenvalue of condition c has an error of eps c² beside it.
    """
    return ~(conditions_(vectors) < 0.1 * float(np.finfo(vectors.dtype).eps) ** -0.5)


eig_ = Primitive("eig", lambda a: tuple(np.linalg.eig(a)), outputs=2)
eig_.partial = "finite"


class GeneralEigen(Entangled):
    """dA -> (dλ, dV), V with columns of norm 1 and their largest entries real.

    Parameters
    ----------
    values, vectors : array (..., n) and (..., n, n)
        λ and V, kept by reference.
    in_dtype : numpy.dtype
        Of A, which may be real where V is complex.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, values: Array, vectors: Array, in_dtype: np.dtype[Any]) -> None:
        values, vectors = inside(values), inside(vectors)
        self.values, self.vectors = values, vectors
        self.gaps = reciprocal_gaps(values)
        self.matrix = SystemMatrix(vectors)
        self._in_dtype = in_dtype
        self._complex = vectors.dtype.kind == "c"
        self._defective = defective(vectors)
        self.clinear = in_dtype.kind != "c"
        n = vectors.shape[-1]
        self._eye = np.eye(n, dtype=vectors.dtype.char.lower())
        # The entry that LAPACK made real is so exactly.
        modulus = np.where(np.imag(vectors) == 0, np.abs(vectors), -1.0)
        rows = np.argmax(modulus, axis=-2)[..., None, :] if n else np.zeros(vectors.shape, int)
        self._largest = np.arange(n)[:, None] == rows
        super().__init__(vectors.shape, vectors.shape, np.promote_types(in_dtype, vectors.dtype))

    @property
    def in_dtype(self) -> Any:
        return self._in_dtype

    @property
    def out_dtype(self) -> Any:
        return self.vectors.dtype

    def _settled(self, weights: Array | None) -> tuple[Any, SystemMatrix]:
        """V, and V to solve with."""
        v = settle(self.vectors, self.values, weights, "eig")
        return v, self.matrix if v is self.vectors else SystemMatrix(v)

    def _weights(self) -> Any:
        """1 / v at the largest entry of each column v, 0 elsewhere."""
        return reciprocal(np.real(self.vectors), ~self._largest)

    def pushforward(self, tangent: Array) -> Array:
        v, matrix = self._settled(None)
        c = matrix.solve(tangent @ v)
        dv = v @ np.where(self._defective[..., None, :], np.nan, self.gaps * c)
        along = np.sum(np.conj(v) * dv, axis=-2, keepdims=True)
        if not self._complex:
            return self._known(diagonal(c)), dv - v * along
        phase = np.sum(self._weights() * np.imag(dv), axis=-2, keepdims=True)
        return self._known(diagonal(c)), dv - v * (np.real(along) + 1j * phase)

    def undetermined(self, tangent: Array) -> Any:
        if not any_equal(self.values):
            return None
        c = self.matrix.solve(tangent @ self.vectors)
        return in_pairs(lost_couplings(self.values, c))

    def _known(self, values: Array) -> Any:
        """Tangents or cotangents of eigenvalues: NaN where a defective one is not left out."""
        return np.where(self._defective & (values != 0), np.nan, values) + 0.0

    def pullback(self, cotangent: Array) -> Array:
        values, vectors = cotangent
        v, matrix = self._settled(values if vectors is None else None)
        c = None if values is None else embedded(self._known(values), self._eye)
        if vectors is not None:
            used = None if values is None else used_values(values, vectors)
            along = np.sum(np.conj(v) * vectors, axis=-2, keepdims=True)
            if self._complex:
                phase = np.imag(np.conj(along)) * self._weights()
                vectors = vectors - v * np.real(along) + 1j * phase
            else:
                vectors = vectors - v * along
            m = adjoint(v) @ vectors
            turned = np.conj(self.gaps) * m
            if values is not None:
                turned = spoilt(self.values, used, turned)
            c = plus(c, np.where(self._defective[..., None, :] & (m != 0), np.nan, turned))
        da = matrix.solve(c @ adjoint(v), adjoint=True)
        return np.real(da) + 0.0 if self._in_dtype.kind != "c" and self._complex else da


@eig_.jacobian(wrt=0)
def eig_wrt_a(y: Array, a: Array) -> JacobianOperator:
    return GeneralEigen(y[0], y[1], a.dtype)


@implements(np.linalg.eig)
def eig(a: Array) -> Any:
    check_square(a, "eig")
    return EigResult(*eig_(a))


eigvals_ = Primitive("eigvals", lambda a: np.linalg.eigvals(a))
eigvals_.partial = "finite"


class GeneralEigenvalues(GeneralEigen):
    """dA -> dλ = diag(V^-1 dA V); the parameters are those of `GeneralEigen`."""

    def __init__(self, values: Array, vectors: Array, in_dtype: np.dtype[Any]) -> None:
        super().__init__(values, vectors, in_dtype)
        self.out_shape = values.shape
        self.clinear = True  # unlike vectors, with their norm and their phase

    def pushforward(self, tangent: Array) -> Array:
        v, matrix = self._settled(None)
        return self._known(diagonal(matrix.solve(tangent @ v)))

    def pullback(self, cotangent: Array) -> Array:
        return super().pullback((cotangent, None))


@eigvals_.jacobian(wrt=0)
def eigvals_wrt_a(y: Array, a: Array) -> JacobianOperator:
    values, vectors = np.linalg.eig(a)
    return GeneralEigenvalues(y, _in_order(y, values, vectors), a.dtype)


def _in_order(wanted: Array, values: Array, vectors: Array) -> Any:
    """The eigenvectors in the order of eigvals, should LAPACK's two ways to them differ."""
    if np.all(np.abs(wanted - values) <= 1e-8 * np.abs(values)):
        return vectors
    nearest = np.argmin(np.abs(wanted[..., :, None] - values[..., None, :]), axis=-1)
    return np.take_along_axis(vectors, nearest[..., None, :], axis=-1)


@implements(np.linalg.eigvals)
def eigvals(a: Array) -> Any:
    check_square(a, "eigvals")
    return eigvals_(a)


def __getattr__(name: str) -> Any:
    return class_from(__name__, name)
