"""The Schur form of a matrix.

A = Z T Z^H, T upper triangular; real: with a block of order 2 for each complex pair of eigenvalues

M = Z^H dA Z      Ω = Z^H dZ, skew      dZ = Z Ω      dT = M + T Ω - Ω T

Ω is what keeps T in its form. Below the blocks dT is 0, and block column by block column, from the
left, that is Sylvester's equation of a triangular matrix for X, what Ω has below the blocks:

    X_bJ T_JJ - T_bb X_bJ = M_bJ - X_b< T_<J        b the rows below J, < what is before it

In a real block [p q; r p] LAPACK keeps the diagonal equal: of the rest N of dT, Ω has the angle
(N_22 - N_11) / (2 (q + r)). The phases of the columns of a complex Z are of no account: diag Ω = 0,
as for eigenvectors, and what does not depend on them has the right derivative.

With S(T, M) = Ω, linear in M, the derivatives of S are S again:

    dΩ = S(T, dM + dT Ω - Ω dT)      and of Y = S*(T, W)      dY = S*(T, dW + dT^H Y - Y dT^H)

Where eigenvalues are equal, or a real block is normal (q + r = 0), the form has no derivative.

Source: the differential of A Z = Z T; G. Golub and C. Van Loan, "Matrix Computations", 2013,
sections 7.4, 7.6.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import matrix_transpose
from linad.errors import DegenerateError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.operators.matrices import Kronecker
from linad.operators.reordering import Permutation
from linad.operators.structured import Conjugation
from linad.rules.linalg import adjoint
from linad.rules.shaping import still

# Ω of T and M, and the adjoint.


def _blocks(t: Array) -> list[slice]:
    """The rows of each block on the diagonal."""
    starts = [0, *[k for k in range(1, len(t)) if t[k, k - 1] == 0], len(t)]
    return [slice(a, b) for a, b in itertools.pairwise(starts)]


def _divided(t: Array, block: slice, right: Array, adjoint: bool) -> Array:
    """X with X T_JJ - T_bb X = R for each R (k, b, J), or of the adjoint equation."""
    rest, own = t[block.stop :, block.stop :], t[block, block]
    (trsyl,) = scipy.linalg.get_lapack_funcs(("trsyl",), (t,))
    turned = {"trana": "C", "tranb": "C"} if adjoint else {}
    x = np.empty_like(right)
    for k, r in enumerate(right):
        found, scale, info = trsyl(rest, own, -r, isgn=-1, **turned)
        if info:
            raise DegenerateError(
                "schur: no derivative where eigenvalues are equal; a function of the matrix, "
                "expm or sqrtm, has one, and so have the eigh of a symmetric matrix and its sums"
            )
        x[k] = found / scale
    return x


def _twice_sum(t: Array, block: slice) -> Any:
    """2 (q + r) of a block of order 2."""
    q, r = t[block.start, block.stop - 1], t[block.stop - 1, block.start]
    if abs(q + r) <= 4 * np.finfo(t.dtype).eps * max(abs(q), abs(r)):
        raise DegenerateError(
            "schur: no derivative of the real form where a block is normal, as those of rotations "
            "and skew matrices are; pass output='complex'"
        )
    return 2 * (q + r)


def _turn_of(t: Array, m: Array) -> Array:
    """Ω (k, n, n) of T (n, n) and M (k, n, n)."""
    x = np.zeros_like(m)
    for j in _blocks(t):
        before, below = slice(0, j.start), slice(j.stop, None)
        if j.stop < len(t):
            right = m[:, below, j] - x[:, below, before] @ t[before, j]
            x[:, below, j] = _divided(t, j, right, False)
        if j.stop - j.start == 2:
            n = m[:, j, j] + t[j, below] @ x[:, below, j] - x[:, j, before] @ t[before, j]
            x[:, j.start + 1, j.start] = (n[:, 1, 1] - n[:, 0, 0]) / _twice_sum(t, j)
    return x - adjoint(x)


def _pulled_turn_of(t: Array, w: Array) -> Array:
    """The adjoint, from a cotangent of Ω to one of M; the steps of `_turn_of` from the last on."""
    v, y = w - adjoint(w), np.zeros_like(w)
    for j in reversed(_blocks(t)):
        before, below = slice(0, j.start), slice(j.stop, None)
        if j.stop - j.start == 2:
            angle = v[:, j.start + 1, j.start] / _twice_sum(t, j)
            n = angle[:, None, None] * np.diag([-1, 1]).astype(t.dtype)
            y[:, j, j] = n
            v[:, below, j] += t[j, below].T @ n
            v[:, j, before] -= n @ t[before, j].T
        if j.stop < len(t):
            y[:, below, j] = _divided(t, j, v[:, below, j], True)
            v[:, below, before] -= y[:, below, j] @ adjoint(t[before, j])
    return y


def _over_stacks(function: Callable[..., Array]) -> Callable[..., Any]:
    """For T (..., n, n) and arrays (*seeds, ..., n, n)."""

    def stacked(t: Array, m: Array) -> Any:
        seeds = m.shape[: m.ndim - t.ndim]
        y = np.empty(m.shape, t.dtype)
        if not m.size:
            return y
        for at in np.ndindex(t.shape[:-2]):
            part = (*[slice(None)] * len(seeds), *at)
            flat = m[part].astype(t.dtype, copy=False).reshape((-1, *t.shape[-2:]))
            y[part] = function(t[at], flat).reshape(m[part].shape)
        return y

    return stacked


turn_ = Primitive("schur_turn", _over_stacks(_turn_of))
pulled_turn_ = Primitive("schur_turn_pulled", _over_stacks(_pulled_turn_of))


class Turn(JacobianOperator):
    """M -> Ω = S(T, M), or the adjoint.

    Parameters
    ----------
    t : array (..., n, n)
        Kept by reference.
    shape : tuple of int
        (*more, ..., n, n)
    pulled : bool
        Whether it is the adjoint.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, t: Array, shape: Any, pulled: bool = False) -> None:
        self.t = t
        self._maps = (pulled_turn_, turn_) if pulled else (turn_, pulled_turn_)
        self.clinear = t.dtype.kind != "c"
        super().__init__(shape, shape, t.dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self._maps[0](self.t, tangent)

    def pullback(self, cotangent: Array) -> Array:
        return self._maps[1](self.t, cotangent)


def _commutator(y: Array, t: Array) -> JacobianOperator:
    """E -> E Y - Y E."""
    after = Kronecker(None, matrix_transpose(y), y.shape, t.shape, y.dtype)
    return after - Kronecker(y, None, y.shape, t.shape, y.dtype)


@turn_.jacobian(wrt=0)
def turn_wrt_t(y: Array, t: Array, m: Array) -> JacobianOperator:
    return Turn(t, y.shape) @ _commutator(y, t)


@turn_.jacobian(wrt=1)
def turn_wrt_m(y: Array, t: Array, m: Array) -> JacobianOperator:
    return Turn(t, y.shape)


@pulled_turn_.jacobian(wrt=0)
def pulled_turn_wrt_t(y: Array, t: Array, w: Array) -> JacobianOperator:
    axes = (*range(t.ndim - 2), t.ndim - 1, t.ndim - 2)
    flip: JacobianOperator = Permutation(axes, t.shape, t.dtype)
    if t.dtype.kind == "c":
        flip = Conjugation(t.shape, t.dtype) @ flip
    return Turn(t, y.shape, pulled=True) @ _commutator(y, t) @ flip


@pulled_turn_.jacobian(wrt=1)
def pulled_turn_wrt_w(y: Array, t: Array, w: Array) -> JacobianOperator:
    return Turn(t, y.shape, pulled=True)


# The form.


def _form_of(a: Array, output: str, sort: Any) -> Any:
    if output == "converted":  # of a real form
        return scipy.linalg.rsf2csf(a, np.eye(len(a), dtype=a.dtype))
    return scipy.linalg.schur(a, output, sort=sort)[:2]


def _schur(a: Array, *, output: str, sort: Any) -> tuple[Array, Array]:
    dtype = a.dtype if output == "real" else np.result_type(a.dtype, np.complex64)
    t, z = np.empty(a.shape, dtype), np.empty(a.shape, dtype)
    for at in np.ndindex(a.shape[:-2]):
        t[at], z[at] = _form_of(a[at], output, sort)
    return t, z


schur_ = Primitive("schur", _schur, outputs=2)
schur_.partial = "finite"


class SchurDerivative(JacobianOperator):
    """dA -> (dT, dZ).

    Parameters
    ----------
    t, z : array (..., n, n)
        Kept by reference.
    in_dtype : numpy.dtype
        Of A, which may be real where T is complex.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, t: Array, z: Array, in_dtype: np.dtype[Any]) -> None:
        self.t, self.z = t, z
        self._in_dtype = in_dtype
        self._kept = np.tri(t.shape[-1], dtype=bool).T | (still(t) != 0)
        self._zero = np.zeros((), t.dtype)
        self.clinear = t.dtype.kind != "c"
        super().__init__(t.shape, t.shape, t.dtype)

    @property
    def in_dtype(self) -> Any:
        return self._in_dtype

    def pushforward(self, tangent: Array) -> Array:
        t, z = self.t, self.z
        m = adjoint(z) @ tangent @ z
        turn = turn_(t, m)
        return np.where(self._kept, m + t @ turn - turn @ t, self._zero), z @ turn

    def pullback(self, cotangent: Array) -> Array:
        dt, dz = cotangent
        t, z = self.t, self.z
        m = turn = None
        if dt is not None:
            m = np.where(self._kept, dt, self._zero)
            turn = adjoint(t) @ m - m @ adjoint(t)
        if dz is not None:
            turned = adjoint(z) @ dz
            turn = turned if turn is None else turn + turned
        pulled = pulled_turn_(t, turn)
        da = z @ (pulled if m is None else m + pulled) @ adjoint(z)
        return np.real(da) + 0.0 if self._in_dtype.kind != "c" and da.dtype.kind == "c" else da


@schur_.jacobian(wrt=0)
def schur_wrt_a(y: Array, a: Array, *, output: str, sort: Any) -> JacobianOperator:
    return SchurDerivative(*y, a.dtype)
