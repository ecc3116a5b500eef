"""Numbers that sum up samples: means, moments and what is made of them.

    m_k = Σ_i (x_i - x̄)^k / n        skewness m_3 / m_2^(3/2)        kurtosis m_4 / m_2^2

With ``bias=False`` the last two are G_1 = √(n(n-1)) / (n-2) m_3 / m_2^(3/2) and
G_2 = (n-1) / ((n-2)(n-3)) ((n+1) m_4 / m_2^2 - 3(n-1)).

Source: D. Joanes, C. Gill, "Comparing measures of sample skewness and kurtosis", The Statistician
47, 1998.
"""

from typing import Any

import numpy as np
import scipy.special
import scipy.stats

from linad.scipy.mirror import check_real, inexact, refuse, traced_form


def _sample(name: str, a: Any, axis: Any, nan_policy: str) -> tuple[Any, Any]:
    """The sample in floats, and the axis that is summed up; all of it for None."""
    refuse(name, nan_policy=(nan_policy, "propagate"))
    a = inexact(a)
    check_real(name, a=a)
    return (a.reshape(-1), 0) if axis is None else (a, axis)


def _moments(x: Any, axis: Any, *orders: int) -> list[Any]:
    """Central moments, with the axis kept."""
    d = x - np.mean(x, axis, keepdims=True)
    return [np.mean(d**k, axis, keepdims=True) for k in orders]


def _delivered(y: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    """What was computed with the axis kept, in the shape that SciPy gives."""
    if not keepdims:
        return np.squeeze(y, 0 if axis is None else axis)[()]
    return y.reshape((1,) * np.ndim(a)) if axis is None else y


def _ratio(m: Any, m2: Any, power: float, x: Any, axis: Any) -> Any:
    """``m / m2**power``; NaN where the sample is constant to rounding, as SciPy has it."""
    rounding = np.finfo(x.dtype).resolution * np.mean(x, axis, keepdims=True)
    constant = m2 <= rounding**2
    return np.where(constant, np.nan, m / np.where(constant, 1.0, m2) ** power)


@traced_form(scipy.stats.moment)
def moment(
    a: Any,
    order: Any = 1,
    axis: Any = 0,
    nan_policy: str = "propagate",
    *,
    center: Any = None,
    keepdims: bool = False,
) -> Any:
    x, along = _sample("moment", a, axis, nan_policy)
    if np.ndim(order):
        return np.stack([moment(a, k, axis, center=center, keepdims=keepdims) for k in order])
    if order != round(order):
        raise ValueError(f"moment: order must be an integer, got {order!r}")
    d = x - (np.mean(x, along, keepdims=True) if center is None else center)
    if order == 1 and center is None:
        d = 0 * d  # without rounding
    return _delivered(np.mean(d ** int(order), along, keepdims=True), a, axis, keepdims)


@traced_form(scipy.stats.skew)
def skew(
    a: Any,
    axis: Any = 0,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    x, along = _sample("skew", a, axis, nan_policy)
    n = x.shape[along]
    m2, m3 = _moments(x, along, 2, 3)
    value = _ratio(m3, m2, 1.5, x, along)
    if not bias and n > 2:
        value = value * (np.sqrt((n - 1.0) * n) / (n - 2.0))
    return _delivered(value, a, axis, keepdims)


@traced_form(scipy.stats.kurtosis)
def kurtosis(
    a: Any,
    axis: Any = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    x, along = _sample("kurtosis", a, axis, nan_policy)
    n = x.shape[along]
    m2, m4 = _moments(x, along, 2, 4)
    value = _ratio(m4, m2, 2, x, along)
    if not bias and n > 3:
        value = 3 + (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * value - 3.0 * (n - 1))
    return _delivered(value - 3 if fisher else value, a, axis, keepdims)


@traced_form(scipy.stats.zscore)
def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    refuse("zscore", nan_policy=(nan_policy, "propagate"))
    x = inexact(a)
    d = x - np.mean(x, axis, keepdims=True)
    return d / np.std(x, axis, ddof=ddof, keepdims=True)


@traced_form(scipy.stats.sem)
def sem(
    a: Any,
    axis: Any = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    x, along = _sample("sem", a, axis, nan_policy)
    error = np.std(x, along, ddof=ddof, keepdims=True) / x.shape[along] ** 0.5
    return _delivered(error, a, axis, keepdims)


def _weighted_mean(x: Any, weights: Any, axis: Any) -> Any:
    if weights is None:
        return np.mean(x, axis, keepdims=True)
    w = np.broadcast_to(inexact(weights).reshape(-1) if x.ndim == 1 else inexact(weights), x.shape)
    return np.sum(x * w, axis, keepdims=True) / np.sum(w, axis, keepdims=True)


@traced_form(scipy.stats.gmean)
def gmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    refuse("gmean", dtype=(dtype, None))
    x, along = _sample("gmean", a, axis, nan_policy)
    return _delivered(np.exp(_weighted_mean(np.log(x), weights, along)), a, axis, keepdims)


@traced_form(scipy.stats.hmean)
def hmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    refuse("hmean", dtype=(dtype, None))
    x, along = _sample("hmean", a, axis, nan_policy)
    return _delivered(1.0 / _weighted_mean(1.0 / x, weights, along), a, axis, keepdims)


@traced_form(scipy.stats.entropy)
def entropy(
    pk: Any,
    qk: Any = None,
    base: Any = None,
    axis: Any = 0,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    if qk is None:
        p, along = _sample("entropy", pk, axis, nan_policy)
        terms = scipy.special.entr(p / np.sum(p, along, keepdims=True))
    else:
        pk, qk = np.broadcast_arrays(inexact(pk), inexact(qk))
        p, along = _sample("entropy", pk, axis, nan_policy)
        q = _sample("entropy", qk, axis, nan_policy)[0]
        p, q = p / np.sum(p, along, keepdims=True), q / np.sum(q, along, keepdims=True)
        terms = scipy.special.rel_entr(p, q)
    total = np.sum(terms, along, keepdims=True)
    if base is not None:
        total = total / np.log(base)
    return _delivered(total, pk, axis, keepdims)
