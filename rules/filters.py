"""Filters of signals and images.

convolve_grid   y_k = Σ_j a_{k-j} v_j over several axes    linear in each argument
allpole         Σ_k a_k y_{n-k} = r_n                      dy = T(a)^-1 (dr - T(da) y)
running_mean    y_n = (x_n + ... + x_{n+s-1}) / s          linear

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
from linad.core.primitive import Primitive
from linad.operators.base import JacobianOperator
from linad.operators.filtering import (
    AllPole,
    GridConvolution,
    GridKernel,
    RunningMean,
    TruncatedKernel,
)
from linad.operators.linear_solves import solution_rules
from linad.operators.reordering import Broadcast
from linad.rules.polynomials import convolve_

# Convolution on a grid.


def _convolve_grid(a: Any, v: Any, *, mode: str, axes: int) -> Any:
    """Convolution along the last ``axes`` axes, an entry of the smaller operand at a time."""
    m, n = a.shape[-axes:], v.shape[-axes:]
    lead = np.broadcast_shapes(a.shape[:-axes], v.shape[:-axes])
    dtype = np.result_type(a, v)
    if mode == "valid":
        length = tuple([p - q + 1 for p, q in zip(m, n, strict=True)])
        y = np.zeros(lead + length, dtype)
        for j in itertools.product(*map(range, n)):
            first = [q - 1 - k for q, k in zip(n, j, strict=True)]
            part = (..., *[slice(k, k + s) for k, s in zip(first, length, strict=True)])
            y += v[(..., *[slice(k, k + 1) for k in j])] * a[part]
        return y
    y = np.zeros(lead + tuple([p + q - 1 for p, q in zip(m, n, strict=True)]), dtype)
    if np.prod(m) < np.prod(n):
        a, v, m, n = v, a, n, m
    for j in itertools.product(*map(range, n)):
        window: Any = (..., *[slice(k, k + p) for k, p in zip(j, m, strict=True)])
        y[window] += v[(..., *[slice(k, k + 1) for k in j])] * a
    return y


convolve_grid_ = Primitive("convolve_grid", _convolve_grid)


def _repeated(J: JacobianOperator, x: Array) -> JacobianOperator:
    """``J`` on all of the leading axes, to which the argument ``x`` is broadcast."""
    return J if x.shape == J.in_shape else J @ Broadcast(J.in_shape, x.shape, J.dtype)


@convolve_grid_.jacobian(wrt=0)
def convolve_grid_wrt_a(y: Array, a: Array, v: Array, *, mode: str, axes: int) -> JacobianOperator:
    shape = y.shape[:-axes] + a.shape[-axes:]
    J = GridConvolution(convolve_grid_, v, mode, axes, y.shape, shape, y.dtype)
    return _repeated(J, a)


@convolve_grid_.jacobian(wrt=1)
def convolve_grid_wrt_v(y: Array, a: Array, v: Array, *, mode: str, axes: int) -> JacobianOperator:
    shape = y.shape[:-axes] + v.shape[-axes:]
    if mode == "full":
        J: JacobianOperator = GridConvolution(
            convolve_grid_, a, mode, axes, y.shape, shape, y.dtype
        )
    else:
        J = GridKernel(convolve_grid_, a, axes, y.shape, shape, y.dtype)
    return _repeated(J, v)


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
