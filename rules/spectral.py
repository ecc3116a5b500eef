"""Eigenvalues, eigenvectors and singular values.

A V = V Λ, A Hermitian      E = V^H dA V      dλ = diag E      dV = V (F ∘ E)
A V = V Λ, A general        C = V^-1 dA V     dλ = diag C      dV = V (F ∘ C) + V D
                            F_ij = 1 / (λ_j - λ_i), 0 for i = j
A = U S V^H                 P = U^H dA V      ds = Re diag P
                            X = (P + P^H)_ij / (s_j - s_i)     X_ii = i Im P_ii / s_i
                            Y = (P - P^H)_ij / (s_j + s_i)     Y_ii = X_ii
                            dU = ½ U (X + Y) + (I - U U^H) dA V / S
                            dV = ½ V (X - Y) + (I - V V^H) dA^H U / S

The diagonal D keeps what LAPACK fixes in eigenvectors of a general matrix: norm 1, and the
largest entry real.

Conventions. The vectors of a complex Hermitian matrix, and of a singular value, are defined
up to a factor of modulus 1: dV is the one with diag(V^H dV) = 0 (of singular vectors, V has
it and U follows), and functions that do not depend on the factor have the right derivative.

Values closer than 8 n eps max|λ| count as equal, and then F_ij = X_ij = 0 (and 1/s = 0 for s = 0):
the vectors within an eigenspace are taken to stay, and derivatives stay finite. What
depends on the values only and treats equal ones alike (a sum, a trace, a maximum's
subgradient) has the right first derivative there, and so have vectors of the other
eigenspaces, and U V^H, for Y is known. What turns the vectors of one eigenspace into each
other is lost: there is no derivative of a single vector. A function V f(Λ) V^H of the matrix
needs it as well, and so does U f(S) V^H: what depends on the values and on the vectors that are
coupled is NaN, in both modes (`linad.operators.entangled`), and has to be differentiated in
another way. Of U f(S) V^H this holds at singular values 0 too. An
eigenvalue of a defective matrix has no derivative. It is NaN, in Σ λ as well, for what reaches the
rule may be Σ λ² / 2. Singular values equal to 0 have derivative 0, as |x| has. Second derivatives
there are right, or raise: see `linad.rules.degeneracy`.

Sources: M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode algorithmic differentiation", 2008. M. Seeger, A. Hetzel, Z. Dai, E. Meissner
and N. Lawrence, "Auto-differentiating linear algebra", 2017. J. Townsend, "Differentiating
the singular value decomposition", 2016. Z. Wan and S. Zhang, "Automatic differentiation
for complex valued SVD", 2019.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.operators.base import JacobianOperator
from linad.operators.entangled import Entangled
from linad.operators.facts import EVERYTHING
from linad.operators.matrices import SystemMatrix
from linad.rules.complements import complement, left_rest_
from linad.rules.decompositions import HermitianReading, symmetrized
from linad.rules.degeneracy import equal_values, inside, settle
from linad.rules.linalg import LinAlgError, adjoint, check_square

EighResult = type(np.linalg.eigh(np.eye(1)))
EigResult = type(np.linalg.eig(np.eye(1)))
SVDResult = type(np.linalg.svd(np.eye(1)))


def _reciprocal(x: Array, zero: Any) -> Any:
    """1 / x, and 0 where the mask ``zero`` is true."""
    one = np.ones((), x.dtype)
    return np.where(zero, 0 * one, one / np.where(zero, one, x))


def reciprocal_gaps(values: Any) -> Any:
    """F_ij = 1 / (λ_j - λ_i), 0 on the diagonal and for values that count as equal."""
    return _reciprocal(values[..., None, :] - values[..., :, None], equal_values(values))


def _counts(m: Any, axes: tuple[int, ...]) -> Any:
    """Which entries are more than rounding beside the largest along ``axes``."""
    size = np.abs(m)
    far = 100 * m.shape[-1] * float(np.finfo(m.dtype).eps)
    return size > far * np.max(size, axis=axes, keepdims=True, initial=0.0)


def _others_equal(values: Any) -> Any:
    """Which pairs of different values count as equal."""
    return equal_values(values) & ~np.eye(values.shape[-1], dtype=bool)


def _lost(values: Any, m: Any) -> Any:
    """Where a coupling M of vectors of equal values is not 0: it is in no F ∘ M."""
    return _others_equal(values) & _counts(m, (-2, -1))


def _used(values: Any, *vectors: Any) -> Any:
    """Which values a function makes use of, judging by cotangents of theirs and of their vectors.

    Those of values that are cut off are exactly 0, beside others. So are those of f(Λ) where f is 0
    and only what is lost matters; if nothing else does, all are 0: then all count as used.
    """
    used = values != 0
    for v in vectors:
        if v is not None:
            used = used | np.any(v != 0, axis=-2)
    return used | ~np.any(used, axis=-1, keepdims=True)


def _spoilt(values: Any, used: Any, turned: Any) -> Any:
    """``turned``, and NaN for pairs of equal values that are used."""
    pairs = used[..., None, :] | used[..., :, None]
    return np.where(_others_equal(values) & pairs, np.nan, turned)


def _any_equal(values: Any) -> bool:
    """Whether two values are equal, as far as is known before a program runs."""
    return isinstance(values, Traced) or bool(np.any(_others_equal(values)))


def _in_pairs(lost: Any) -> Any:
    """Which values, and which vectors, a coupling belongs to."""
    return np.any(lost, axis=-1) | np.any(lost, axis=-2)


def _conditions(vectors: Any) -> Any:
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


def defective(vectors: Any) -> Any:
    """Which eigenvalues have no derivative, or none with a digit that holds.

    The derivative of an eigenvalue of condition c has an error of eps c² beside it.
    """
    return ~(conditions_(vectors) < 0.1 * float(np.finfo(vectors.dtype).eps) ** -0.5)


def _diagonal(m: Any) -> Any:
    return np.diagonal(m, axis1=-2, axis2=-1)


def _plus(a: Any, b: Any) -> Any:
    """a + b, where None is zero."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _embedded(values: Any, eye: Any) -> Any:
    """The diagonal matrices of ``values``."""
    return values[..., None] * eye


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

    def __init__(self, values: Any, vectors: Any) -> None:
        self.values, self.vectors = inside(values), inside(vectors)
        self.gaps = reciprocal_gaps(self.values)
        self._eye = np.eye(vectors.shape[-1], dtype=values.dtype)
        self.clinear = vectors.dtype.kind != "c"
        super().__init__(vectors.shape, vectors.shape, vectors.dtype)

    def pushforward(self, tangent: Array) -> Array:
        v = settle(self.vectors, self.values, None, "eigh")
        e = adjoint(v) @ tangent @ v
        return np.real(_diagonal(e)) + 0.0, v @ (self.gaps * e)

    def undetermined(self, tangent: Array) -> Any:
        if not _any_equal(self.values):
            return None
        v = self.vectors
        return _in_pairs(_lost(self.values, adjoint(v) @ tangent @ v))

    def pullback(self, cotangent: Array) -> Array:
        values, vectors = cotangent
        v = settle(self.vectors, self.values, values if vectors is None else None, "eigh")
        e = None if values is None else _embedded(values, self._eye)
        if vectors is not None:
            m = adjoint(v) @ vectors
            turned = self.gaps * m
            if values is not None:  # values with vectors, as in V f(Λ) V^H
                turned = _spoilt(self.values, _used(values, vectors), turned)
            e = _plus(e, turned)
        return v @ e @ adjoint(v)


class Read(Entangled):
    """An operator with several results after a `HermitianReading`."""

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, op: Entangled, reading: HermitianReading) -> None:
        self.op, self.reading = op, reading
        self.clinear = op.clinear
        super().__init__(op.out_shape, reading.in_shape, op.dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self.op.pushforward(self.reading.pushforward(tangent))

    def undetermined(self, tangent: Array) -> Any:
        return self.op.undetermined(self.reading.pushforward(tangent))

    def pullback(self, cotangent: Array) -> Array:
        return self.reading.pullback(self.op.pullback(cotangent))


@eigh_.jacobian(wrt=0)
def eigh_wrt_a(y: Array, a: Array, *, UPLO: str) -> JacobianOperator:
    return Read(HermitianEigen(*y), HermitianReading(a.shape, y[1].dtype, UPLO == "L"))


def _eigh(a: Any, UPLO: str, name: str) -> Any:
    UPLO = UPLO.upper()
    if UPLO not in ("L", "U"):
        raise ValueError(f"{name}: UPLO must be 'L' or 'U', got {UPLO!r}")
    check_square(a, name)
    return eigh_(symmetrized(a), UPLO=UPLO)


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    return EighResult(*_eigh(a, UPLO, "eigh"))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return _eigh(a, UPLO, "eigvalsh")[0]


# General matrices.

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

    def __init__(self, values: Any, vectors: Any, in_dtype: Any) -> None:
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

    def _settled(self, weights: Any) -> tuple[Any, SystemMatrix]:
        """V, and V to solve with."""
        v = settle(self.vectors, self.values, weights, "eig")
        return v, self.matrix if v is self.vectors else SystemMatrix(v)

    def _weights(self) -> Any:
        """1 / v at the largest entry of each column v, 0 elsewhere."""
        return _reciprocal(np.real(self.vectors), ~self._largest)

    def pushforward(self, tangent: Array) -> Array:
        v, matrix = self._settled(None)
        c = matrix.solve(tangent @ v)
        dv = v @ np.where(self._defective[..., None, :], np.nan, self.gaps * c)
        along = np.sum(np.conj(v) * dv, axis=-2, keepdims=True)
        if not self._complex:
            return self._known(_diagonal(c)), dv - v * along
        phase = np.sum(self._weights() * np.imag(dv), axis=-2, keepdims=True)
        return self._known(_diagonal(c)), dv - v * (np.real(along) + 1j * phase)

    def undetermined(self, tangent: Array) -> Any:
        if not _any_equal(self.values):
            return None
        c = self.matrix.solve(tangent @ self.vectors)
        return _in_pairs(_lost(self.values, c))

    def _known(self, values: Any) -> Any:
        """Tangents or cotangents of eigenvalues: NaN where a defective one is not left out."""
        return np.where(self._defective & (values != 0), np.nan, values) + 0.0

    def pullback(self, cotangent: Array) -> Array:
        values, vectors = cotangent
        v, matrix = self._settled(values if vectors is None else None)
        c = None if values is None else _embedded(self._known(values), self._eye)
        if vectors is not None:
            used = None if values is None else _used(values, vectors)
            along = np.sum(np.conj(v) * vectors, axis=-2, keepdims=True)
            if self._complex:
                phase = np.imag(np.conj(along)) * self._weights()
                vectors = vectors - v * np.real(along) + 1j * phase
            else:
                vectors = vectors - v * along
            m = adjoint(v) @ vectors
            turned = np.conj(self.gaps) * m
            if values is not None:
                turned = _spoilt(self.values, used, turned)
            c = _plus(c, np.where(self._defective[..., None, :] & (m != 0), np.nan, turned))
        da = matrix.solve(c @ adjoint(v), adjoint=True)
        return np.real(da) + 0.0 if self._in_dtype.kind != "c" and self._complex else da


@eig_.jacobian(wrt=0)
def eig_wrt_a(y: Array, a: Array) -> JacobianOperator:
    return GeneralEigen(y[0], y[1], a.dtype)


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    check_square(a, "eig")
    return EigResult(*eig_(a))


eigvals_ = Primitive("eigvals", lambda a: np.linalg.eigvals(a))
eigvals_.partial = "finite"


class GeneralEigenvalues(GeneralEigen):
    """dA -> dλ = diag(V^-1 dA V); the parameters are those of `GeneralEigen`."""

    def __init__(self, values: Any, vectors: Any, in_dtype: Any) -> None:
        super().__init__(values, vectors, in_dtype)
        self.out_shape = values.shape
        self.clinear = True  # unlike vectors, with their norm and their phase

    def pushforward(self, tangent: Array) -> Array:
        v, matrix = self._settled(None)
        return self._known(_diagonal(matrix.solve(tangent @ v)))

    def pullback(self, cotangent: Array) -> Array:
        return super().pullback((cotangent, None))


@eigvals_.jacobian(wrt=0)
def eigvals_wrt_a(y: Array, a: Array) -> JacobianOperator:
    values, vectors = np.linalg.eig(a)
    return GeneralEigenvalues(y, _in_order(y, values, vectors), a.dtype)


def _in_order(wanted: Any, values: Any, vectors: Any) -> Any:
    """The eigenvectors in the order of eigvals, should LAPACK's two ways to them differ."""
    if np.all(np.abs(wanted - values) <= 1e-8 * np.abs(values)):
        return vectors
    nearest = np.argmin(np.abs(wanted[..., :, None] - values[..., None, :]), axis=-1)
    return np.take_along_axis(vectors, nearest[..., None, :], axis=-1)


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    check_square(a, "eigvals")
    return eigvals_(a)


# Singular values.

svd_ = Primitive("svd", lambda a: tuple(np.linalg.svd(a, full_matrices=False)), outputs=3)
svd_.partial = "finite"


class SingularDerivative(Entangled):
    """dA -> (dU, ds, dV^H) of the reduced decomposition.

    Parameters
    ----------
    u, s, vh : array (..., m, k), (..., k) and (..., k, n), k = min(m, n)
        Kept by reference.
    """

    unknown = EVERYTHING

    owns_result = True

    values_at, rows_at = 1, 2

    def __init__(self, u: Any, s: Any, vh: Any) -> None:
        u, s, vh = inside(u), inside(s), inside(vh)
        self.u, self.s, self.vh = u, s, vh
        sums = s[..., None, :] + s[..., :, None]
        self.gaps = reciprocal_gaps(s)
        self.sums = _reciprocal(sums, sums == 0)
        self._positive = s > 0
        self._inverse = _reciprocal(s, ~self._positive)
        self._eye = np.eye(s.shape[-1], dtype=s.dtype)
        self._complex = u.dtype.kind == "c"
        self.clinear = not self._complex
        shape = (*u.shape[:-1], vh.shape[-1])
        super().__init__(shape, shape, u.dtype)

    def pushforward(self, tangent: Array) -> Array:
        u, vh = settle(self.u, self.s, None, "svd"), self.vh
        v = adjoint(vh)
        inverse = self._inverse[..., None, :]
        av = tangent @ v
        p = adjoint(u) @ av
        ph = adjoint(p)
        x, y = self.gaps * (p + ph), self.sums * (p - ph)
        if self._complex:
            x = x + y * self._eye
        du, dv = u @ (0.5 * (x + y)), v @ (0.5 * (x - y))
        if u.shape[-2] > u.shape[-1]:
            du = du + (av - u @ p) * inverse
        if vh.shape[-1] > vh.shape[-2]:
            dv = dv + (adjoint(tangent) @ u - v @ ph) * inverse
        ds = np.where(self._positive, np.real(_diagonal(p)), np.zeros((), self.s.dtype))
        return du, ds, adjoint(dv)

    def undetermined(self, tangent: Array) -> Any:
        zero = ~self._positive
        if not (_any_equal(self.s) or np.any(zero)):
            return None
        u, v = self.u, adjoint(self.vh)
        av, ahu = tangent @ v, adjoint(tangent) @ u
        p = adjoint(u) @ av
        lost = _lost(self.s, p + adjoint(p)) | self._lost_at_zero(p)
        outside = _counts(av - u @ p, (-2, -1)), _counts(ahu - v @ adjoint(p), (-2, -1))
        return _in_pairs(lost) | zero & (np.any(outside[0], axis=-2) | np.any(outside[1], axis=-2))

    def _lost_at_zero(self, m: Any) -> Any:
        """Where both values are 0, and M is not."""
        zero = ~self._positive
        return zero[..., None, :] & zero[..., :, None] & _counts(m, (-2, -1))

    def pullback(self, cotangent: Array) -> Array:
        du, ds, dvh = cotangent
        only = ds if du is None and dvh is None else None
        u, vh = settle(self.u, self.s, only, "svd"), self.vh
        inverse = self._inverse[..., None, :]
        together = only is None and ds is not None  # as in U f(S) V^H
        p = rest = left = right = used = None
        if ds is not None:
            at_zero = np.zeros((), ds.dtype)
            if together:  # what leads out of the range of A is seen in neither
                used = _used(ds, du, None if dvh is None else adjoint(dvh))
                at_zero = np.where(used, np.nan, at_zero)
            p = _embedded(np.where(self._positive, ds, at_zero), self._eye)
        if du is not None:
            left = adjoint(u) @ du
            if u.shape[-2] > u.shape[-1]:
                rest = ((du - u @ left) * inverse) @ vh
        if dvh is not None:
            dv = adjoint(dvh)
            right = vh @ dv
            if vh.shape[-1] > vh.shape[-2]:
                rest = _plus(rest, u @ adjoint((dv - adjoint(vh) @ right) * inverse))
        if left is not None or right is not None:
            total = _plus(left, right)
            apart = _plus(left, None if right is None else -right)
            x, y = self.gaps * total, self.sums * apart
            if together:
                x = _spoilt(self.s, used, x)
            if self._complex:
                y = y + self.sums * total * self._eye
            p = _plus(p, 0.5 * (x + adjoint(x) + y - adjoint(y)))
        return _plus(u @ p @ vh, rest)


@svd_.jacobian(wrt=0)
def svd_wrt_a(y: Array, a: Array) -> JacobianOperator:
    return SingularDerivative(*y)


@implements(np.linalg.svd)
def svd(
    a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if a.ndim < 2:
        raise LinAlgError(f"svd: expected at least two axes, got shape {a.shape}")
    if hermitian:
        u, s, vh = _hermitian_svd(a)
        return SVDResult(u, s, vh) if compute_uv else s
    if not compute_uv:
        return svd_(a)[1]
    m, n = a.shape[-2:]
    u, s, vh = svd_(a)
    if full_matrices and m > n:
        u = np.concatenate([u, complement(u, left_rest_(a))], axis=-1)
    elif full_matrices and m < n:
        v = adjoint(vh)
        v = np.concatenate([v, complement(v, left_rest_(adjoint(a)))], axis=-1)
        vh = adjoint(v)
    return SVDResult(u, s, vh)


def _hermitian_svd(a: Any) -> Any:
    """By eigh, as NumPy: s = |λ| in falling order, the signs go into V."""
    values, vectors = eigh(a)
    order = np.argsort(np.abs(values), axis=-1)[..., ::-1]
    values = np.take_along_axis(values, order, axis=-1)
    one = np.ones((), values.dtype)
    signs = np.where(np.signbit(values), -one, one)
    s = values * signs
    u = np.take_along_axis(vectors, order[..., None, :], axis=-1)
    return u, s, adjoint(u * signs[..., None, :])


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return svd(x, compute_uv=False)
