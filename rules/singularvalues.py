"""Singular values and vectors.

A = U S V^H                 P = U^H dA V      ds = Re diag P
                            X = (P + P^H)_ij / (s_j - s_i)     X_ii = i Im P_ii / s_i
                            Y = (P - P^H)_ij / (s_j + s_i)     Y_ii = X_ii
                            dU = ½ U (X + Y) + (I - U U^H) dA V / S
                            dV = ½ V (X - Y) + (I - V V^H) dA^H U / S

Conventions. The vectors of a singular value are defined up to a factor of modulus 1, which both
have: dV is the one with diag(V^H dV) = 0, U follows, and functions that do not depend on the
factor have the right derivative.

Values closer than 8 n eps max s count as equal, and then X_ij = 0: see `linad.rules.couplings`. U
V^H has the right derivative there, for Y is known. At values 0, 1 / s = 0 is taken; of U f(S) V^H
the derivative is NaN there too. Singular values equal to 0 have derivative 0, as |x| has. Second
derivatives there are right, or raise: see `linad.rules.degeneracy`.

Sources: M. Giles, "An extended collection of matrix derivative results for forward and reverse
mode algorithmic differentiation", 2008. J. Townsend, "Differentiating the singular value
decomposition", 2016. Z. Wan and S. Zhang, "Automatic differentiation for complex valued SVD",
2019.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive
from linad.operators.base import JacobianOperator
from linad.operators.entangled import Entangled
from linad.operators.facts import EVERYTHING
from linad.rules.complements import complement, left_rest_
from linad.rules.couplings import (
    any_equal,
    diagonal,
    embedded,
    in_pairs,
    lost_couplings,
    more_than_rounding,
    plus,
    reciprocal,
    reciprocal_gaps,
    spoilt,
    used_values,
)
from linad.rules.degeneracy import inside, settle
from linad.rules.linalg import LinAlgError, adjoint
from linad.rules.spectral import eigh

SVDResult = type(np.linalg.svd(np.eye(1)))

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

    def __init__(self, u: Array, s: Array, vh: Array) -> None:
        u, s, vh = inside(u), inside(s), inside(vh)
        self.u, self.s, self.vh = u, s, vh
        sums = s[..., None, :] + s[..., :, None]
        self.gaps = reciprocal_gaps(s)
        self.sums = reciprocal(sums, sums == 0)
        self._positive = s > 0
        self._inverse = reciprocal(s, ~self._positive)
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
        ds = np.where(self._positive, np.real(diagonal(p)), np.zeros((), self.s.dtype))
        return du, ds, adjoint(dv)

    def undetermined(self, tangent: Array) -> Any:
        zero = ~self._positive
        if not (any_equal(self.s) or np.any(zero)):
            return None
        u, v = self.u, adjoint(self.vh)
        av, ahu = tangent @ v, adjoint(tangent) @ u
        p = adjoint(u) @ av
        lost = lost_couplings(self.s, p + adjoint(p)) | self._lost_at_zero(p)
        outside = (
            more_than_rounding(av - u @ p, (-2, -1)),
            more_than_rounding(ahu - v @ adjoint(p), (-2, -1)),
        )
        return in_pairs(lost) | zero & (np.any(outside[0], axis=-2) | np.any(outside[1], axis=-2))

    def _lost_at_zero(self, m: Array) -> Any:
        """Where both values are 0, and M is not."""
        zero = ~self._positive
        return zero[..., None, :] & zero[..., :, None] & more_than_rounding(m, (-2, -1))

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
                used = used_values(ds, du, None if dvh is None else adjoint(dvh))
                at_zero = np.where(used, np.nan, at_zero)
            p = embedded(np.where(self._positive, ds, at_zero), self._eye)
        if du is not None:
            left = adjoint(u) @ du
            if u.shape[-2] > u.shape[-1]:
                rest = ((du - u @ left) * inverse) @ vh
        if dvh is not None:
            dv = adjoint(dvh)
            right = vh @ dv
            if vh.shape[-1] > vh.shape[-2]:
                rest = plus(rest, u @ adjoint((dv - adjoint(vh) @ right) * inverse))
        if left is not None or right is not None:
            total = plus(left, right)
            apart = plus(left, None if right is None else -right)
            x, y = self.gaps * total, self.sums * apart
            if together:
                x = spoilt(self.s, used, x)
            if self._complex:
                y = y + self.sums * total * self._eye
            p = plus(p, 0.5 * (x + adjoint(x) + y - adjoint(y)))
        return plus(u @ p @ vh, rest)


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


def _hermitian_svd(a: Array) -> Any:
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
def svdvals(x: Array, /) -> Any:
    return svd(x, compute_uv=False)
