"""Polynomials.

polyval      y = Σ_i p_i x^(n-1-i)          dy = p'(x) dx + Σ_i x^(n-1-i) dp_i
roots        p(r) = 0                       dr = -Σ_i r^(n-1-i) dp_i / p'(r); a multiple root has
                                            no derivative: it is infinite, or NaN
polydiv      u = q v + r                    long division, a step a coefficient of q

Coefficients come highest power first, as in numpy.polyval. Zeros in front, which NumPy drops of
products, remainders and `numpy.poly1d`, are kept of what is traced, for they move.
"""

import functools
from typing import Any

import numpy as np

from linad.arrays.zero_dim import array, gives
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.errors import ShapeError
from linad.operators.base import JacobianOperator
from linad.operators.contraction import Contraction
from linad.operators.matrices import Matrix
from linad.operators.structured import Diagonal
from linad.rules.filters import convolve
from linad.rules.shaping import as_array, concrete

# Polynomials.


def _polyval(p: Array, x: Array) -> Any:
    return np.asarray(np.polyval(p, x))[()]


polyval_ = Primitive("polyval", _polyval)


def _powers(x: Array, n: int) -> Any:
    """x^(n-1), ..., x, 1 along a new last axis, by repeated multiplication."""
    powers = [np.ones_like(x)]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    return np.stack(powers[::-1], axis=-1)


@polyval_.jacobian(wrt=0)
def polyval_wrt_p(y: Array, p: Array, x: Array) -> JacobianOperator:
    labels = "abcdefghijklmnopqrstuvwxy"[: x.ndim]
    table = _powers(np.astype(x, y.dtype) if x.dtype != y.dtype else x, p.shape[0])
    return Contraction("z", [(labels + "z", table)], labels, y.shape, p.shape, y.dtype)


@polyval_.jacobian(wrt=1)
def polyval_wrt_x(y: Array, p: Array, x: Array) -> JacobianOperator:
    slope = polyval_(_derived(p), x) if p.shape[0] > 1 else 0
    return Diagonal(slope, y.shape, y.dtype)


@implements(np.polyval)
def polyval(p: Array, x: Any) -> Any:
    p = as_array(p)
    if isinstance(x, np.poly1d):
        return functools.reduce(lambda y, coefficient: y * x + coefficient, p, np.poly1d([0.0]))
    x = as_array(x)
    if p.ndim == 1 and p.shape[0]:
        return polyval_(p, x)
    y = np.zeros_like(x)  # as NumPy, which walks along the first axis of p
    for coefficient in p:
        y = y * x + coefficient
    return y


@implements(np.polyder)
def polyder(p: Array, m: int = 1) -> Any:
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = as_array(p)
    for _ in range(int(m)):
        p = _derived(p, int)
    return p


def _derived(p: Array, dtype: Any = None) -> Any:
    """The derivative of a polynomial; with integer powers, as in NumPy, it is never single."""
    powers = np.arange(p.shape[0] - 1, 0, -1, dtype=_real(p) if dtype is None else dtype)
    return p[:-1] * powers


def _real(p: Array) -> Any:
    """A real dtype that widens ``p`` as little as it can."""
    return np.finfo(p.dtype).dtype if p.dtype.kind in "fc" else np.dtype(float)


@implements(np.polyint)
@gives(array)
def polyint(p: Array, m: int = 1, k: Any = None) -> Any:
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p = as_array(p)
    m = int(m)
    constants = np.zeros(m) if k is None else np.atleast_1d(as_array(k))
    if constants.shape[0] == 1 and m > 1:
        constants = np.broadcast_to(constants, (m,))
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        powers = np.arange(p.shape[0], 0, -1)
        p = np.concatenate([p / powers, constants[i : i + 1]])
    return p


@implements(np.polymul)
def polymul(a1: Array, a2: Any) -> Any:
    return convolve(*[_without_leading_zeros(a) for a in (a1, a2)])


def _without_leading_zeros(a: Any) -> Any:
    """As `np.poly1d` keeps its coefficients: of nothing there is a 0. Traced ones are all kept."""
    a = np.atleast_1d(as_array(a))
    if a.ndim > 1:
        raise ValueError("polymul: Polynomial must be 1d only.")
    if isinstance(a, Traced) and a.shape[0]:
        return a
    a = np.trim_zeros(a, "f")
    return a if a.shape[0] else np.zeros(1, a.dtype)


@implements(np.polyadd)
def polyadd(a1: Array, a2: Array) -> Any:
    a1, a2 = _aligned(a1, a2)
    return a1 + a2


@implements(np.polysub)
def polysub(a1: Array, a2: Array) -> Any:
    a1, a2 = _aligned(a1, a2)
    return a1 - a2


def _aligned(a1: Array, a2: Array) -> tuple[Any, Any]:
    """Two polynomials with as many coefficients, zeros in front of the shorter."""
    a1, a2 = np.atleast_1d(as_array(a1)), np.atleast_1d(as_array(a2))
    n = max(a1.shape[0], a2.shape[0])
    return _padded(a1, n), _padded(a2, n)


def _padded(p: Array, n: int) -> Any:
    missing = n - p.shape[0]
    return np.concatenate([np.zeros(missing, p.dtype), p]) if missing else p


@implements(np.poly)
def poly(seq_of_zeros: Array) -> Any:
    zeros = np.atleast_1d(seq_of_zeros)
    if zeros.ndim == 2:
        zeros = np.linalg.eigvals(zeros)
    if zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    zeros = np.astype(zeros, np.mintypecode(zeros.dtype.char), copy=False)
    p = np.ones(1, zeros.dtype)
    for k in range(zeros.shape[0]):
        p = convolve(p, np.stack([np.ones((), zeros.dtype), -zeros[k]]))
    if zeros.dtype.kind == "c" and _in_pairs(concrete(zeros)):
        return np.real(p)
    return p


def _in_pairs(zeros: Array) -> bool:
    """Whether with each zero its conjugate is one."""
    return bool(np.all(np.sort(zeros) == np.sort(zeros.conjugate())))


@implements(np.polyfit)
def polyfit(
    x: Any,
    y: Array,
    deg: Any,
    rcond: Any = None,
    full: bool = False,
    w: Array | None = None,
    cov: Any = False,
) -> Any:
    if np.ndim(deg) or deg < 0:
        raise ValueError(f"polyfit: deg must be one non-negative integer, got {deg!r}")
    x, y = (as_array(v) + 0.0 for v in (x, y))
    if x.ndim != 1 or not x.shape[0]:
        raise TypeError(f"polyfit: expected non-empty 1D vector for x, got shape {x.shape}")
    if y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise TypeError(
            f"polyfit: expected 1D or 2D array for y, and x and y to have same length; "
            f"got shapes {x.shape} and {y.shape}"
        )
    table = _powers(x, int(deg) + 1)
    if w is not None:
        w = as_array(w)
        table = table * w[:, None]
        y = y * w.reshape(w.shape + (1,) * (y.ndim - 1))
    # Columns of length 1, as NumPy has them: the condition does not depend on units of x.
    scale = np.sqrt(np.sum(table * table, axis=0))
    cutoff = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    table = table / scale
    p, residuals, rank, s = np.linalg.lstsq(table, y, rcond=cutoff)
    p = p / scale.reshape(scale.shape + (1,) * (p.ndim - 1))
    if full:
        return p, residuals, rank, s, cutoff
    if not cov:
        return p
    covariance = np.linalg.inv(table.T @ table) / np.multiply.outer(scale, scale)
    covariance = covariance.reshape(covariance.shape + (1,) * (p.ndim - 1))
    if cov == "unscaled":
        return p, covariance
    freedom = x.shape[0] - p.shape[0]
    if freedom <= 0:
        raise ValueError("polyfit: to scale the covariance takes more points than coefficients")
    return p, covariance * (residuals / freedom)


roots_ = Primitive("roots", np.roots)
roots_.partial = "finite"


@roots_.jacobian(wrt=0)
def roots_wrt_p(y: Array, p: Array) -> JacobianOperator:
    slope = np.polyval(_derived(p), y).reshape((-1, 1))
    return Matrix(-_powers(y, p.shape[0]) / slope, y.dtype)


@implements(np.roots)
def roots(p: Array) -> Any:
    return roots_(np.atleast_1d(p))


@implements(np.polydiv)
def polydiv(u: Array, v: Any) -> Any:
    u, v = np.atleast_1d(as_array(u)), np.atleast_1d(as_array(v))
    if u.ndim > 1 or v.ndim > 1:
        raise ShapeError(f"polydiv: u and v must have one axis, got {u.shape} and {v.shape}")
    dtype = np.result_type(u.dtype, v.dtype, _real(u))
    rest, n = np.astype(u, dtype), v.shape[0]
    quotient = []
    for k in range(u.shape[0] - n + 1):
        factor = rest[k] * (1 / v[0])
        quotient.append(factor)
        rest = np.concatenate([rest[:k], rest[k : k + n] - factor * v, rest[k + n :]])
    rest = rest[min(len(quotient), rest.shape[0] - 1) :]  # what was subtracted leaves 0
    if not isinstance(rest, Traced):
        while rest.shape[0] > 1 and np.allclose(rest[0], 0, rtol=1e-14):
            rest = rest[1:]
    return np.stack(quotient) if quotient else np.zeros(1, dtype), rest


# numpy.polynomial, where it dispatches (since NumPy 2.4): several variables, lowest power first.


def _series(x: Array, c: Array, tensor: bool = True) -> Any:
    """Σ_i c_i x^i; with ``tensor`` the axes of x follow those of c, else they are matched."""
    c = np.atleast_1d(as_array(c))
    if c.dtype.kind in "biu":
        c = c + 0.0
    if tensor:
        c = c.reshape(c.shape + (1,) * np.ndim(x))
    y = c[-1] + x * 0
    for k in range(2, c.shape[0] + 1):
        y = c[-k] + y * x
    return y


def polyvalnd(pts: tuple[Any, ...], c: Array) -> Any:
    points = [as_array(x) for x in pts]
    if any(x.shape != points[0].shape for x in points):
        shapes = ", ".join(str(x.shape) for x in points)
        raise ValueError(f"the coordinates must have one shape, got {shapes}")
    c = _series(points[0], c)
    for x in points[1:]:
        c = _series(x, c, tensor=False)
    return c


implements(np.polynomial.polynomial.polyval2d)(lambda x, y, c: polyvalnd((x, y), c))
if hasattr(np.polynomial.polynomial, "polyvalnd"):  # since NumPy 2.5
    implements(np.polynomial.polynomial.polyvalnd)(polyvalnd)


@implements(np.polynomial.polynomial.polygrid2d)
def polygrid2d(x: Array, y: Array, c: Array) -> Any:
    return _series(as_array(y), _series(as_array(x), c))
