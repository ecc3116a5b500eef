"""Convolution and polynomials, whose product it is.

convolve     y_k = Σ_j a_{k-j} v_j          linear in each argument: a Toeplitz matrix
correlate    y_k = Σ_j a_{k+j} conj(v_j)    a convolution with v conjugated and backwards
polyval      y = Σ_i p_i x^(n-1-i)          dy = p'(x) dx + Σ_i x^(n-1-i) dp_i
roots        p(r) = 0                       dr = -Σ_i r^(n-1-i) dp_i / p'(r); a multiple root has
                                            no derivative: it is infinite, or NaN
polydiv      u = q v + r                    long division, a step a coefficient of q

Coefficients come highest power first, as in numpy.polyval.
"""

import functools
from typing import Any

import numpy as np

from linad.arrays.zero_dim import array, gives
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive
from linad.core.shapes import size_of
from linad.errors import ShapeError
from linad.operators.base import JacobianOperator
from linad.operators.contraction import Contraction
from linad.operators.convolution import Convolution, ValidKernel
from linad.operators.matrices import Matrix
from linad.operators.reordering import Broadcast
from linad.operators.structured import Diagonal
from linad.rules.shaping import as_array, concrete, of_list

# Convolution along the last axis; either operand may have leading axes.


def _convolve(a: Any, v: Any, *, mode: Any) -> Any:
    """np.convolve of each pair of rows; mode "valid" takes a to be the longer one."""
    lead = np.broadcast_shapes(a.shape[:-1], v.shape[:-1])
    m, n = a.shape[-1], v.shape[-1]
    length = m + n - 1 if mode == "full" else m - n + 1
    y = np.zeros((*lead, length), np.result_type(a, v))
    if not (y.size and a.size and v.size):
        return y
    if a.ndim == v.ndim == 1:
        return np.convolve(a, v, mode)
    if mode == "full" and a.ndim == 1:
        a, v, m, n = v, a, n, m
    if v.ndim == 1 and y.dtype.char in "fdFD" and np.all(np.isfinite(v)):
        return _filtered_rows(a.astype(y.dtype, copy=False), v, mode)
    if size_of(lead) > min(m, n):
        # Many rows: an entry of the shorter operand at a time, for all rows together.
        if mode == "full":
            a, v, m, n = (a, v, m, n) if n <= m else (v, a, n, m)
        for k in range(n):
            if mode == "full":
                y[..., k : k + m] += v[..., k, None] * a
            else:
                y += v[..., k, None] * a[..., n - 1 - k : n - 1 - k + length]
        return y
    rows = np.broadcast_to(a, (*lead, m)).reshape(-1, m)
    kernels = np.broadcast_to(v, (*lead, n)).reshape(-1, n)
    flat = y.reshape((-1, length))
    for k, (row, kernel) in enumerate(zip(rows, kernels, strict=True)):
        flat[k] = np.convolve(row, kernel, mode)
    return y


def _filtered_rows(rows: Any, kernel: Any, mode: str) -> Any:
    """Convolution of many rows with one finite kernel, all in one call of compiled code."""
    from scipy.ndimage import correlate1d

    n = kernel.shape[0]
    if mode == "full":
        edge = np.zeros((*rows.shape[:-1], n - 1), rows.dtype)
        rows = np.concatenate([rows, edge], axis=-1)
    # Correlation conjugates; the origin puts the last weight on the entry itself.
    weights = np.conj(kernel[::-1])
    y = correlate1d(rows, weights, axis=-1, mode="constant", origin=(n - 1) // 2)
    return y if mode == "full" else y[..., n - 1 :]


convolve_ = Primitive("convolve", _convolve)


def _after_repeat(J: JacobianOperator, x: Array) -> JacobianOperator:
    """``J`` on all rows, after the broadcast of the argument ``x`` to them."""
    return J if x.shape == J.in_shape else J @ Broadcast(J.in_shape, x.shape, J.dtype)


@convolve_.jacobian(wrt=0)
def convolve_wrt_a(y: Array, a: Array, v: Array, *, mode: str) -> JacobianOperator:
    shape = (*y.shape[:-1], a.shape[-1])
    return _after_repeat(Convolution(convolve_, v, mode, y.shape, shape, y.dtype), a)


@convolve_.jacobian(wrt=1)
def convolve_wrt_v(y: Array, a: Array, v: Array, *, mode: str) -> JacobianOperator:
    shape = (*y.shape[:-1], v.shape[-1])
    if mode == "full":
        return _after_repeat(Convolution(convolve_, a, mode, y.shape, shape, y.dtype), v)
    return _after_repeat(ValidKernel(convolve_, a, y.shape, shape, y.dtype), v)


def _vector(name: str, a: Any) -> Any:
    a = np.atleast_1d(as_array(a))
    if a.ndim > 1:
        raise ValueError(f"{name}: object too deep for desired array: shape {a.shape}")
    if not a.shape[0]:
        raise ValueError(f"{name}: the arguments cannot be empty")
    return a


_MODES = {"f": "full", "v": "valid", "s": "same", 0: "valid", 1: "same", 2: "full"}


def _mode(name: str, mode: Any) -> str:
    found = _MODES.get(mode[:1].lower() if isinstance(mode, str) else mode)
    if found is None:
        raise ValueError(f"{name}: mode must be 'full', 'valid' or 'same', got {mode!r}")
    return found


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    mode = _mode("convolve", mode)
    a, v = _vector("convolve", a), _vector("convolve", v)
    if a.shape[0] < v.shape[0]:
        a, v = v, a
    if mode != "same":
        return convolve_(a, v, mode=mode)
    start = (v.shape[0] - 1) // 2
    return convolve_(a, v, mode="full")[start : start + a.shape[0]]


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    mode = _mode("correlate", mode)
    a, v = of_list(a), of_list(v)
    if not (np.ndim(a) and np.ndim(v)):
        raise ValueError("correlate: object of too small depth for desired array: it has no axes")
    a, v = _vector("correlate", a), _vector("correlate", v)
    m, n = a.shape[0], v.shape[0]
    kernel = v[::-1]
    if v.dtype.kind == "c":
        kernel = np.conj(kernel)
    if mode == "full":
        return convolve_(a, kernel, mode=mode)
    if mode == "valid":
        return convolve_(a, kernel, mode=mode) if m >= n else convolve_(kernel, a, mode=mode)
    # The middle, of the longer one's length; where it is not unique NumPy counts from the
    # start of the longer one.
    start = (n - 1) - (n // 2) if m >= n else m // 2
    return convolve_(a, kernel, mode="full")[start : start + max(m, n)]


# Polynomials.


def _polyval(p: Any, x: Any) -> Any:
    return np.asarray(np.polyval(p, x))[()]


polyval_ = Primitive("polyval", _polyval)


def _powers(x: Any, n: int) -> Any:
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
def polyval(p: Any, x: Any) -> Any:
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
def polyder(p: Any, m: int = 1) -> Any:
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = as_array(p)
    for _ in range(int(m)):
        p = _derived(p, int)
    return p


def _derived(p: Any, dtype: Any = None) -> Any:
    """The derivative of a polynomial; with integer powers, as in NumPy, it is never single."""
    powers = np.arange(p.shape[0] - 1, 0, -1, dtype=_real(p) if dtype is None else dtype)
    return p[:-1] * powers


def _real(p: Any) -> Any:
    """A real dtype that widens ``p`` as little as it can."""
    return np.finfo(p.dtype).dtype if p.dtype.kind in "fc" else np.dtype(float)


@implements(np.polyint)
@gives(array)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
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
def polymul(a1: Any, a2: Any) -> Any:
    return convolve(*[_without_leading_zeros(a) for a in (a1, a2)])


def _without_leading_zeros(a: Any) -> Any:
    """As `np.poly1d` keeps its coefficients: of nothing there is a 0."""
    a = np.atleast_1d(as_array(a))
    if a.ndim > 1:
        raise ValueError("polymul: Polynomial must be 1d only.")
    a = np.trim_zeros(a, "f")
    return a if a.shape[0] else np.zeros(1, a.dtype)


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    a1, a2 = _aligned(a1, a2)
    return a1 + a2


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    a1, a2 = _aligned(a1, a2)
    return a1 - a2


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Two polynomials with as many coefficients, zeros in front of the shorter."""
    a1, a2 = np.atleast_1d(as_array(a1)), np.atleast_1d(as_array(a2))
    n = max(a1.shape[0], a2.shape[0])
    return _padded(a1, n), _padded(a2, n)


def _padded(p: Any, n: int) -> Any:
    missing = n - p.shape[0]
    return np.concatenate([np.zeros(missing, p.dtype), p]) if missing else p


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
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


def _in_pairs(zeros: Any) -> bool:
    """Whether with each zero its conjugate is one."""
    return bool(np.all(np.sort(zeros) == np.sort(zeros.conjugate())))


@implements(np.polyfit)
def polyfit(
    x: Any,
    y: Any,
    deg: Any,
    rcond: Any = None,
    full: bool = False,
    w: Any = None,
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
def roots(p: Any) -> Any:
    return roots_(np.atleast_1d(p))


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
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
    while rest.shape[0] > 1 and bool(np.allclose(rest[0], 0, rtol=1e-14)):
        rest = rest[1:]
    return np.stack(quotient) if quotient else np.zeros(1, dtype), rest


# numpy.polynomial, where it dispatches (since NumPy 2.4): several variables, lowest power first.


def _series(x: Any, c: Any, tensor: bool = True) -> Any:
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


def polyvalnd(pts: Any, c: Any) -> Any:
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
def polygrid2d(x: Any, y: Any, c: Any) -> Any:
    return _series(as_array(y), _series(as_array(x), c))
