"""Exponentials and logarithms, composed to rounding near 0 as well; see `onnx_compositions`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import drop_axes
from linad.export.onnx_writer import composed

LN2 = float(np.log(2.0))
LN10 = float(np.log(10.0))


@composed("log1p")
def log1p(x: Array) -> Any:
    # Kahan: what u = 1 + x rounds away is made up for by x / (u - 1).
    u = 1 + x
    d = u - 1
    exact = d == 0
    y = np.log(u) * x / np.where(exact, 1.0, d)
    return np.where(exact, x, np.where(u == np.inf, u, y))


@composed("expm1")
def expm1(x: Array) -> Any:
    # The same: u = e^x, and what it rounds away of x is made up for by x / log u.
    u = np.exp(x)
    d = u - 1
    exact, far = d == 0, (u == 0) | (u == np.inf)
    y = d * x / np.log(np.where(exact | far, 2.0, u))
    return np.where(exact, x, np.where(far, d, y))


@composed("exp2")
def exp2(x: Array) -> Any:
    return np.power(x.dtype.type(2), x)


@composed("exp10")
def exp10(x: Any) -> Any:
    return np.power(x.dtype.type(10), x)


@composed("log2")
def log2(x: Array) -> Any:
    # Exact for powers of two: the quotient is rounded once more where it is nearly whole.
    y = np.log(x) / LN2
    whole = np.rint(np.where(np.isfinite(y), y, 0.0))
    return np.where(np.power(x.dtype.type(2), whole) == x, whole, y)


@composed("log10")
def log10(x: Any) -> Any:
    return np.log(x) / LN10


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@composed("log_expit")
def log_expit(x: Any) -> Any:
    return -_softplus(-x)


@composed("logit")
def logit(x: Any) -> Any:
    return np.log(x) - np.log1p(-x)


@composed("logaddexp")
def logaddexp(a: Any, b: Any) -> Any:
    top = np.maximum(a, b)
    gap = np.where(a == b, 0.0, np.abs(a - b))
    return top + np.log1p(np.exp(-gap))


@composed("logaddexp2")
def logaddexp2(a: Array, b: Array) -> Any:
    top = np.maximum(a, b)
    gap = np.where(a == b, 0.0, np.abs(a - b))
    return top + np.log1p(np.exp2(-gap)) / LN2


def _log_sum(x: Any, axes: Any, exponential: Any, logarithm: Any) -> Any:
    if not axes:
        return x
    if not x.size:
        return np.full(drop_axes(x.shape, axes), -np.inf)
    top = np.max(x, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = logarithm(np.sum(exponential(x - top), axis=axes, keepdims=True)) + top
    return np.squeeze(total, axis=axes)


@composed("logaddexp_reduce")
def logaddexp_reduce(x: Any, *, axes: Any) -> Any:
    return _log_sum(x, axes, np.exp, np.log)


@composed("logaddexp2_reduce")
def logaddexp2_reduce(x: Any, *, axes: Any) -> Any:
    return _log_sum(x, axes, np.exp2, np.log2)


def _power(name: str, straight: Any, bent: Callable[..., Any]) -> None:
    """One of Box and Cox's powers: ``bent(x, lmbda)``, and ``straight(x)`` at lmbda = 0."""

    @composed(name)
    def form(x: Array, lmbda: Array) -> Any:
        at_zero = lmbda == 0
        return np.where(at_zero, straight(x), bent(x, np.where(at_zero, 1.0, lmbda)))


_power("boxcox", np.log, lambda x, k: np.expm1(k * np.log(x)) / k)
_power("boxcox1p", np.log1p, lambda x, k: np.expm1(k * np.log1p(x)) / k)
_power("inv_boxcox", np.exp, lambda x, k: np.exp(np.log1p(k * x) / k))
_power("inv_boxcox1p", np.expm1, lambda x, k: np.expm1(np.log1p(k * x) / k))


@composed("exprel")
def exprel(x: Any) -> Any:
    small = x == 0
    return np.where(small, 1.0, np.expm1(x) / np.where(small, 1.0, x))


@composed("xlogy")
def xlogy(x: Any, y: Any) -> Any:
    nothing = (x == 0) & (y == y)
    return np.where(nothing, 0.0, x * np.log(np.where(nothing, 1.0, y)))


@composed("xlog1py")
def xlog1py(x: Any, y: Any) -> Any:
    nothing = (x == 0) & (y == y)
    return np.where(nothing, 0.0, x * np.log1p(np.where(nothing, 0.0, y)))


@composed("entr")
def entr(x: Any) -> Any:
    inside = np.where(x > 0, x, 1.0)
    y = np.where(x == 0, 0.0, np.where(x < 0, -np.inf, -inside * np.log(inside)))
    return np.where(x != x, x, y)


@composed("pseudo_huber")
def pseudo_huber(delta: Any, r: Any) -> Any:
    flat = (delta == 0) | (r == 0)
    u = r / np.where(delta == 0, 1.0, delta)
    root = np.sqrt(1 + u * u)
    value = delta * delta * (u * u / (1 + root))
    return np.where(delta < 0, np.inf, np.where(flat, 0.0, value))


@composed("powm1")
def powm1(x: Any, y: Any) -> Any:
    good = x > 0
    return np.where(good, np.expm1(y * np.log(np.where(good, x, 1.0))), np.power(x, y) - 1)
