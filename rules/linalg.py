"""Linear systems, inverses and determinants.

A X = B       dX = A^-1 (dB - dA X)
Y = A^-1      dY = -Y dA Y
d = det A     dd = tr(adj(A) dA), adj(A) the adjugate, defined at singular A too
s, l = sign and log|det A|
              dl = Re tr(A^-1 dA)      ds = i s Im tr(A^-1 dA)

With A = U diag(σ) V^H the adjugate is adj(A) = det(U V^H) V diag(Π_{j≠i} σ_j) U^H, which
needs no inverse. Its own derivative, with E = U^H dA V and p_ij = Π_{k≠i,j} σ_k, is
det(U V^H) V D U^H,

    D_ij = -p_ij E_ij  (i ≠ j)      D_ii = Σ_{k≠i} p_ik E_kk

so first and second derivatives of det are right at singular matrices. Of three rows, counted
modulo 3, it is

    adj(A)_ji = a_{i+1,j+1} a_{i+2,j+2} - a_{i+1,j+2} a_{i+2,j+1}

slogdet has no derivative at singular matrices, and asking for it raises LinAlgError.

Sources: M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode algorithmic differentiation", 2008. G. W. Stewart, "On the adjugate matrix",
Linear Algebra and its Applications 283, 1998.
"""

import contextlib
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, matrix_transpose, size_of
from linad.errors import SingularError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.operators.linear_solves import solution_rules
from linad.operators.matrices import Kronecker, Solve
from linad.operators.reordering import Broadcast
from linad.operators.structured import Diagonal, Zero
from linad.operators.system_matrix import SystemMatrix
from linad.rules.degeneracy import settle
from linad.rules.shaping import as_array, replaced

LinAlgError = np.linalg.LinAlgError
SlogdetResult = type(np.linalg.slogdet(np.eye(1)))


def adjoint(a: Array) -> Any:
    """Conjugate transpose of the last two axes."""
    return matrix_transpose(np.conj(a) if a.dtype.kind == "c" else a)


@contextlib.contextmanager
def dividing_by(name: str, where: str) -> Iterator[None]:
    """Say of a derivative that divides by a factor why it does not exist, if that is singular.

    Raises
    ------
    SingularError
    """
    try:
        yield
    except LinAlgError:
        raise SingularError(
            f"{name}: no derivative where {where}; move the matrix off the point"
        ) from None


def check_square(a: Array, name: str) -> None:
    """Raise LinAlgError, as NumPy does, unless the last two axes are equally long."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise LinAlgError(f"{name}: expected square matrices, got shape {a.shape}")


# Systems.

solve_ = Primitive("solve", lambda a, b: np.linalg.solve(a, b))
solve_.partial = "regular"

_shared = threading.local()


def _matrix(y: Array, a: Array) -> SystemMatrix:
    """The matrix of the equation with result ``y``: one object, so one factorisation."""
    known = getattr(_shared, "latest", None)
    if known is not None and known[0]() is y:
        return known[1]
    matrix = SystemMatrix(a)
    _shared.latest = (weakref.ref(y), matrix)
    return matrix


def minus_product(x: Array, a: Array) -> JacobianOperator:
    """The operator dA -> -(dA) x, for columns x (..., n, k)."""
    return Kronecker(None, matrix_transpose(-x), x.shape, a.shape, x.dtype)


solution_rules(
    solve_,
    right_side=1,
    inverse=lambda x, shape, a, b: Solve(_matrix(x, a), x.shape, shape, x.dtype),
    changes={0: lambda x, a, b: minus_product(x, a)},
)


@implements(np.linalg.solve)
def solve(a: Array, b: Array) -> Any:
    a, b = as_array(a), as_array(b)
    check_square(a, "solve")
    if b.ndim != 1:
        return solve_(a, b)
    y = solve_(a, b.reshape((*b.shape, 1)))
    return y.reshape(y.shape[:-1])


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Array, b: Array, axes: Sequence[int] | None = None) -> Any:
    a, b = as_array(a), as_array(b)
    if axes is not None:
        order = list(range(a.ndim))
        for k in axes:
            order.remove(k)
            order.append(k)
        a = a.transpose(order)
    # As NumPy counts: of an array of no more axes than b, all that it has.
    shape = a.shape[-(a.ndim - b.ndim) :]
    n = size_of(shape)
    if a.size != n * n or b.size != n:
        raise LinAlgError(
            f"tensorsolve: a {a.shape} and b {b.shape}: the axes of a must have the shape of b, "
            f"then a shape of as many entries"
        )
    return solve(a.reshape((n, n)), b.reshape((n,))).reshape(shape)


# Inverses.

inv_ = Primitive("inv", lambda a: np.linalg.inv(a))
inv_.partial = "regular"


@inv_.jacobian(wrt=0)
def inv_wrt_a(y: Array, a: Array) -> JacobianOperator:
    return Kronecker(-y, matrix_transpose(y), y.shape, a.shape, y.dtype)


@implements(np.linalg.inv)
def inv(a: Array) -> Any:
    check_square(a, "inv")
    return inv_(a)


@implements(np.linalg.tensorinv)
def tensorinv(a: Array, ind: int = 2) -> Any:
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be a positive integer, got {ind!r}")
    n = size_of(a.shape[ind:])
    if a.size != n * n:
        raise LinAlgError(
            f"tensorinv: a {a.shape}: the first {ind} axes must hold as many entries as the rest"
        )
    return inv(a.reshape((n, n))).reshape(a.shape[ind:] + a.shape[:ind])


# Determinants.


def trace_of_product(m: Array, y: Array, a: Array) -> JacobianOperator:
    """The operator dA -> tr(M dA), matrix by matrix of the stack ``a``."""
    last = (a.ndim - 2, a.ndim - 1)
    total = Broadcast(a.shape, y.shape, y.dtype, last).H
    return total @ Diagonal(matrix_transpose(m), a.shape, y.dtype)


det_ = Primitive("det", lambda a: np.linalg.det(a))


@det_.jacobian(wrt=0)
def det_wrt_a(y: Array, a: Array) -> JacobianOperator:
    small = 0 < a.shape[-1] <= len(NEXT)
    return trace_of_product(_small_adjugate(a) if small else adjugate_(a), y, a)


@implements(np.linalg.det)
def det(a: Array) -> Any:
    check_square(a, "det")
    return det_(a)


def _small_adjugate(a: Array) -> Any:
    """adj(A) by products of entries."""
    n = a.shape[-1]
    if n == 1:
        return np.ones(a.shape, a.dtype)

    def moved(rows: np.ndarray, columns: np.ndarray) -> Any:
        return a[..., rows[:, None], columns]

    if n == 2:
        cofactors = a[..., ::-1, ::-1] * SIGNS.astype(a.dtype)
    else:
        cofactors = moved(NEXT, NEXT) * moved(LAST, LAST) - moved(NEXT, LAST) * moved(LAST, NEXT)
    number = a.dtype.type
    known = np.where(_not_finite(a), number(np.nan), number(1))
    return matrix_transpose(cofactors) * known


NEXT, LAST = np.array([1, 2, 0]), np.array([2, 0, 1])
"""The two other rows of three."""

SIGNS = np.array([[1, -1], [-1, 1]])


def _adjugate(a: Array) -> Any:
    if not a.size:
        return np.zeros(a.shape, a.dtype)
    bad = _not_finite(a)
    u, s, vh = np.linalg.svd(np.where(bad, 0, a))
    minors = _product_of_others(s)
    middle = _sign(u, vh)[..., None, None] * minors[..., None] * adjoint(u)
    return np.where(bad, np.nan, adjoint(vh) @ middle)


def _not_finite(a: Array) -> Any:
    """Which matrices have no decomposition, (..., 1, 1). NumPy has NaN for their determinants."""
    return ~np.all(np.isfinite(a), axis=(-2, -1))[..., None, None]


def _sign(u: Array, vh: Array) -> Any:
    """det(U V^H), of modulus 1."""
    return np.linalg.det(u) * np.linalg.det(vh)


def _product_of_others(s: Array) -> Any:
    """Π_{j≠i} s_j, without division."""
    eye = np.eye(s.shape[-1], dtype=bool)
    return np.prod(np.where(eye, np.ones((), s.dtype), s[..., None, :]), axis=-1)


def _product_of_other_pairs(s: Array) -> Any:
    """p_ij = Π_{k≠i,j} s_k without division, and 0 for i = j.

    For i < j it is the product before i, times that between, times that after j.
    """
    n = s.shape[-1]
    one = np.ones((*s.shape[:-1], 1), s.dtype)
    previous = np.concatenate([one, s[..., :-1]], axis=-1)
    following = np.concatenate([one, np.flip(s, -1)[..., :-1]], axis=-1)
    before = np.cumprod(previous, axis=-1)
    after = np.flip(np.cumprod(following, axis=-1), -1)
    i, j = np.ogrid[:n, :n]
    between = np.cumprod(np.where(j - 1 > i, previous[..., None, :], one[..., None]), axis=-1)
    upper = np.where(
        j > i, before[..., :, None] * between * after[..., None, :], 0 * one[..., None]
    )
    return upper + matrix_transpose(upper)


adjugate_ = Primitive("adjugate", _adjugate)


class AdjugateDerivative(JacobianOperator):
    """E -> D of the module's docstring: -p ∘ E, and off-diagonal sums of p on the diagonal.

    Parameters
    ----------
    products : array (..., n, n)
        p, symmetric, with zero diagonal.
    shape : tuple of int
        (..., n, n), of E and D.
    dtype : numpy.dtype
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, products: Array, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.products = products
        self._eye = np.eye(shape[-1], dtype=dtype)
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        diagonal = np.sum(tangent * self._eye, axis=-1)
        sums = np.sum(self.products * diagonal[..., None, :], axis=-1)
        return sums[..., None] * self._eye - self.products * tangent

    def pullback(self, cotangent: Array) -> Array:
        return self.pushforward(cotangent)  # p is real and symmetric


@adjugate_.jacobian(wrt=0)
def adjugate_wrt_a(y: Array, a: Array) -> JacobianOperator:
    if not a.size:
        return Zero(y.shape, a.shape, y.dtype)
    bad = _not_finite(a)
    u, s, vh = np.linalg.svd(replaced(a, bad, 0))
    u = settle(u, s, None, "svd")  # a third derivative of a determinant would need more
    shape, dtype = y.shape, y.dtype
    into = Kronecker(adjoint(u), np.conj(vh), shape, shape, dtype)
    middle = AdjugateDerivative(_product_of_other_pairs(s), shape, dtype)
    left = replaced(_sign(u, vh)[..., None, None] * adjoint(vh), bad, np.nan)
    return Kronecker(left, np.conj(u), shape, shape, dtype) @ middle @ into


slogdet_ = Primitive("slogdet", lambda a: tuple(np.linalg.slogdet(a)), outputs=2)


class LogDeterminant(JacobianOperator):
    """dA -> (ds, dl) = (i s Im t, Re t) with t = tr(A^-1 dA); ds is 0 for a real A.

    Parameters
    ----------
    sign : array (...)
    inverse : array (..., n, n)
        A^-1.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, sign: Array, inverse: Array) -> None:
        self.sign, self.inverted = sign, inverse
        self._complex = sign.dtype.kind == "c"
        self.clinear = not self._complex
        super().__init__(sign.shape, inverse.shape, inverse.dtype)

    def pushforward(self, tangent: Array) -> Array:
        t = np.sum(tangent * matrix_transpose(self.inverted), axis=(-2, -1))
        if not self._complex:
            return None, t
        return 1j * self.sign * np.imag(t), np.real(t)

    def pullback(self, cotangent: Array) -> Array:
        ds, dl = cotangent
        if not self._complex:
            # The sign of a real determinant is constant.
            t = 0 * ds if dl is None else dl
        else:
            t = dl
            if ds is not None:
                turned = np.conj(ds) * self.sign
                turned = 0.5 * (np.conj(turned) - turned)  # -i Im
                t = turned if dl is None else dl + turned
        return t[..., None, None] * adjoint(self.inverted)


@slogdet_.jacobian(wrt=0)
def slogdet_wrt_a(y: Array, a: Array) -> JacobianOperator:
    return LogDeterminant(y[0], np.linalg.inv(a))


@implements(np.linalg.slogdet)
def slogdet(a: Array) -> Any:
    check_square(a, "slogdet")
    return SlogdetResult(*slogdet_(a))
