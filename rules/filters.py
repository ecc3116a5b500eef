"""Filters of signals and images.

convolve        y_k = Σ_j a_{k-j} v_j                linear in each argument: a Toeplitz matrix
correlate       y_k = Σ_j a_{k+j} conj(v_j)          a convolution with v conjugated and backwards
allpole         Σ_k a_k y_{n-k} = r_n                dy = T(a)^-1 (dr - T(da) y)
running_mean    y_n = (x_n + ... + x_{n+s-1}) / s    linear

T(a) is the lower triangular Toeplitz matrix with first column a; such matrices commute. T(da) y is
the convolution of y with da, cut off at the length of y. T(a)^-H is the filter with conj(a), run
backwards in time. So each of both modes is a filter again, and costs O(n m) for n samples and m
coefficients.

A filter with numerator b, denominator a (a_0 = 1) and initial state z is allpole(a, b * x + z). Its
final state is what b * x + z - a * y has beyond the last sample: linear difference equations, see
A. Oppenheim and R. Schafer, "Discrete-Time Signal Processing", 3rd edition, 2010, section 6.3
(transposed direct form II).
"""

import itertools
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive
from linad.core.shapes import size_of
from linad.operators.base import JacobianOperator
from linad.operators.convolution import Convolution, ValidKernel
from linad.operators.filtering import AllPole, RunningMean, TruncatedKernel
from linad.operators.linear_solves import solution_rules
from linad.operators.reordering import Broadcast
from linad.rules.shaping import as_array, of_list

# Convolution along the last axes; either operand may have leading axes.


def _convolve(a: Array, v: Array, *, mode: str, axes: int = 1) -> Any:
    """Convolution along the last ``axes`` axes; mode "valid" takes a to be the longer one."""
    return _row_by_row(a, v, mode) if axes == 1 else _on_grid(a, v, mode, axes)


def _row_by_row(a: Array, v: Array, mode: Any) -> Any:
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


def _filtered_rows(rows: Array, kernel: Array, mode: str) -> Any:
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


def _on_grid(a: Any, v: Any, mode: str, axes: int) -> Any:
    """Convolution along the last ``axes`` axes, an entry of the smallest array at a time."""
    m, n = a.shape[-axes:], v.shape[-axes:]
    lead = np.broadcast_shapes(a.shape[:-axes], v.shape[:-axes])
    dtype = np.result_type(a, v)
    window: Any
    if mode == "valid":
        length = tuple([p - q + 1 for p, q in zip(m, n, strict=True)])
        y = np.zeros(lead + length, dtype)
        if size_of(length) < size_of(n):
            window = (..., *[slice(None, None, -1)] * axes)
            backwards = v[window]
            for g in itertools.product(*map(range, length)):
                window = (..., *[slice(k, k + q) for k, q in zip(g, n, strict=True)])
                at: Any = (..., *g)
                y[at] = np.sum(a[window] * backwards, axis=tuple(range(-axes, 0)))
            return y
        for j in itertools.product(*map(range, n)):
            first = [q - 1 - k for q, k in zip(n, j, strict=True)]
            part = (..., *[slice(k, k + s) for k, s in zip(first, length, strict=True)])
            y += v[(..., *[slice(k, k + 1) for k in j])] * a[part]
        return y
    y = np.zeros(lead + tuple([p + q - 1 for p, q in zip(m, n, strict=True)]), dtype)
    if np.prod(m) < np.prod(n):
        a, v, m, n = v, a, n, m
    for j in itertools.product(*map(range, n)):
        window = (..., *[slice(k, k + p) for k, p in zip(j, m, strict=True)])
        y[window] += v[(..., *[slice(k, k + 1) for k in j])] * a
    return y


convolve_ = Primitive("convolve", _convolve)


def _repeated(J: JacobianOperator, x: Array) -> JacobianOperator:
    """``J`` on all of the leading axes, to which the argument ``x`` is broadcast."""
    return J if x.shape == J.in_shape else J @ Broadcast(J.in_shape, x.shape, J.dtype)


@convolve_.jacobian(wrt=0)
def convolve_wrt_a(y: Array, a: Array, v: Array, *, mode: str, axes: int = 1) -> JacobianOperator:
    shape = y.shape[:-axes] + a.shape[-axes:]
    return _repeated(Convolution(convolve_, v, mode, axes, y.shape, shape, y.dtype), a)


@convolve_.jacobian(wrt=1)
def convolve_wrt_v(y: Array, a: Array, v: Array, *, mode: str, axes: int = 1) -> JacobianOperator:
    shape = y.shape[:-axes] + v.shape[-axes:]
    if mode == "full":
        return _repeated(Convolution(convolve_, a, mode, axes, y.shape, shape, y.dtype), v)
    return _repeated(ValidKernel(convolve_, a, axes, y.shape, shape, y.dtype), v)


def _vector(name: str, a: Any) -> Any:
    a = np.atleast_1d(as_array(a))
    if a.ndim > 1:
        raise ValueError(f"{name}: object too deep for desired array: shape {a.shape}")
    if not a.shape[0]:
        raise ValueError(f"{name}: the arguments cannot be empty")
    return a


_MODES = ("valid", "same", "full")  # which are also called 0, 1 and 2


def _mode(name: str, mode: Any) -> str:
    found = mode
    if isinstance(mode, (int, np.integer)) and not isinstance(mode, bool) and 0 <= mode < 3:
        found = _MODES[mode]
    if found not in _MODES:
        raise ValueError(f"{name}: mode must be 'full', 'valid' or 'same', got {mode!r}")
    return found


@implements(np.convolve)
def convolve(a: Array, v: Any, mode: Any = "full") -> Any:
    mode = _mode("convolve", mode)
    a, v = _vector("convolve", a), _vector("convolve", v)
    if a.shape[0] < v.shape[0]:
        a, v = v, a
    if mode != "same":
        return convolve_(a, v, mode=mode)
    start = (v.shape[0] - 1) // 2
    return convolve_(a, v, mode="full")[start : start + a.shape[0]]


@implements(np.correlate)
def correlate(a: Array, v: Array, mode: Any = "valid") -> Any:
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


# Recursion.


def _allpole(a: Array, r: Array) -> Any:
    dtype = np.result_type(a, r)
    if not r.size:
        return np.zeros(r.shape, dtype)
    from scipy.signal import lfilter

    return lfilter(np.ones(1, dtype), a.astype(dtype), r.astype(dtype))


allpole_ = Primitive("allpole", _allpole)


solution_rules(
    allpole_,
    right_side=1,
    inverse=lambda y, shape, a, r: AllPole(allpole_, a, shape, y.dtype),
    changes={0: lambda y, a, r: -TruncatedKernel(convolve_, y, a.shape[0], y.dtype)},
)


# Running means.


def _running_mean(x: Array, *, size: int) -> Any:
    from scipy.ndimage import uniform_filter1d

    n = x.shape[-1] - size + 1
    if not x.size:
        return np.zeros((*x.shape[:-1], n), x.dtype)
    before = size // 2  # entries of the window before the one at which SciPy puts the mean
    return uniform_filter1d(x, size, mode="constant")[..., before : before + n]


running_mean_ = Primitive("running_mean", _running_mean)


@running_mean_.jacobian(wrt=0)
def running_mean_wrt_x(y: Array, x: Array, *, size: int) -> JacobianOperator:
    return RunningMean(running_mean_, size, y.shape, x.shape, y.dtype)
