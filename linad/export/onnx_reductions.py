"""Sums, statistics, products and running products as compositions; see `onnx_compositions`."""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import drop_axes, size_of
from linad.export.onnx_exponentials import logaddexp, logaddexp2
from linad.export.onnx_writer import composed

# Sums and statistics.


@composed("mean")
def mean(x: Any, *, axes: Any) -> Any:
    n = size_of([x.shape[k] for k in axes])
    total = np.sum(x, axis=axes) if axes else x
    return total / n if n else total * np.nan


def _free(x: Any, axes: Any, ddof: float) -> float:
    free = size_of([x.shape[k] for k in axes]) - ddof
    return free if free > 0 else float("nan")


@composed("var")
def var(x: Any, *, axes: Any, ddof: float) -> Any:
    n = size_of([x.shape[k] for k in axes])
    if not x.size:
        return np.full(drop_axes(x.shape, axes), np.nan)
    d = x - (np.sum(x, axis=axes, keepdims=True) / n if axes else x)
    total = np.sum(d * d, axis=axes) if axes else d * d
    return total / _free(x, axes, ddof)


@composed("std")
def std(x: Any, *, axes: Any, ddof: float) -> Any:
    return np.sqrt(var(x, axes=axes, ddof=ddof))


@composed("p_norm")
def p_norm(x: Any, *, p: float, axes: Any) -> Any:
    size = np.abs(x)
    if p == 2:
        return np.sqrt(np.sum(size * size, axis=axes))
    return np.power(np.sum(np.power(size, p), axis=axes), 1 / p)


@composed("diff")
def diff(x: Array, *, axis: int) -> Any:
    lanes = np.moveaxis(x, axis, -1)
    return np.moveaxis(lanes[..., 1:] - lanes[..., :-1], -1, axis)


@composed("running_mean")
def running_mean(x: Any, *, size: int) -> Any:
    n = x.shape[-1] - size + 1
    total = x[..., :n]
    for k in range(1, size):
        total = total + x[..., k : k + n]
    return total / size


# Products.


@composed("kron")
def kron(a: Any, b: Any) -> Any:
    ndim = max(np.ndim(a), np.ndim(b))
    left = (1,) * (ndim - np.ndim(a)) + np.shape(a)
    right = (1,) * (ndim - np.ndim(b)) + np.shape(b)
    wide = [n for m in left for n in (m, 1)]
    tall = [n for m in right for n in (1, m)]
    product = np.reshape(a, wide) * np.reshape(b, tall)
    return np.reshape(product, [m * n for m, n in zip(left, right, strict=True)])


@composed("convolve")
def convolve(a: Array, v: Array, *, mode: str, axes: int = 1) -> Any:
    # One product of matrices: rows are entries of a, columns entries of the result.
    m, n = np.shape(a)[-axes:], np.shape(v)[-axes:]
    full = mode != "valid"
    length = tuple([p + q - 1 if full else p - q + 1 for p, q in zip(m, n, strict=True)])
    lead = np.broadcast_shapes(np.shape(a)[:-axes], np.shape(v)[:-axes])
    if not size_of(m) or not size_of(n) or min(length) <= 0 or not size_of(lead):
        return np.zeros(lead + tuple([max(k, 0) for k in length]), np.result_type(a, v))
    at = np.unravel_index(np.arange(size_of(m))[:, None], m)
    to = np.unravel_index(np.arange(size_of(length))[None, :], length)
    kept, place = np.array(True), np.array(0)
    for i, j, q in zip(at, to, n, strict=True):
        lag = j - i + (0 if full else q - 1)
        kept = kept & (lag >= 0) & (lag < q)
        place = place * q + lag
    flat = np.reshape(v, (*np.shape(v)[:-axes], size_of(n)))
    matrix = np.where(kept, flat[..., np.where(kept, place, 0)], 0.0)
    rows = np.reshape(a, (*np.shape(a)[:-axes], 1, size_of(m)))
    return np.reshape(rows @ matrix, lead + length)


@composed("cosines")
def cosines(x: Any, *, kind: str, type: int, axis: int) -> Any:
    import scipy.fft

    eye = np.eye(x.shape[axis])
    matrix = getattr(scipy.fft, kind)(eye, type, axis=0, orthogonalize=False)
    lanes = np.moveaxis(x, axis, -1)
    return np.moveaxis(lanes @ matrix.T.astype(x.dtype), -1, axis)


# Running products, recurrences: the distance that is combined doubles.


def _behind(x: Array, d: int, fill: float) -> Any:
    edge = np.full((*x.shape[:-1], d), fill, x.dtype)
    return np.concatenate([edge, x[..., : x.shape[-1] - d]], axis=-1)


def _doubling(x: Array, axis: int, fill: float, combine: Any) -> Any:
    y = np.moveaxis(x, axis, -1)
    d = 1
    while d < y.shape[-1]:
        y = combine(_behind(y, d, fill), y)
        d *= 2
    return np.moveaxis(y, -1, axis)


@composed("cumprod")
def cumprod(x: Array, *, axis: int) -> Any:
    return _doubling(x, axis, 1, np.multiply)


@composed("logaddexp_accumulate")
def logaddexp_accumulate(x: Any, *, axis: int) -> Any:
    return _doubling(x, axis, -np.inf, logaddexp)


@composed("logaddexp2_accumulate")
def logaddexp2_accumulate(x: Array, *, axis: int) -> Any:
    return _doubling(x, axis, -np.inf, logaddexp2)


@composed("recurrence")
def recurrence(a: Array, b: Array, *, axis: int, backward: bool) -> Any:
    # h_k = a_k h_{k-1} + b_k: maps h -> a h + b, put one behind the other.
    a = np.broadcast_to(a, np.broadcast_shapes(np.shape(a), np.shape(b)))
    b = np.broadcast_to(b, a.shape)
    a, b = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
    if backward:
        a, b = a[..., ::-1], b[..., ::-1]
    d = 1
    while d < b.shape[-1]:
        a, b = a * _behind(a, d, 1.0), a * _behind(b, d, 0.0) + b
        d *= 2
    if backward:
        b = b[..., ::-1]
    return np.moveaxis(b, -1, axis)


@composed("first_attaining")
def first_attaining(x: Any, *, axis: int, ufunc: Any) -> Any:
    # The running extremum by doubling; where it rises, an entry attains it first.
    lanes = np.moveaxis(x, axis, -1)
    n = lanes.shape[-1]
    worst = -np.inf if ufunc is np.maximum else np.inf
    running = _doubling(lanes, -1, worst, ufunc)
    before = running[..., : n - 1]
    after = running[..., 1:]
    risen = (after != before) & (before == before)
    first = np.ones((*lanes.shape[:-1], 1), bool)
    risen = np.concatenate([first, risen], axis=-1)
    position = np.where(risen, np.arange(n), 0)
    d = 1
    while d < n:
        edge = np.zeros((*position.shape[:-1], d), position.dtype)
        shifted = np.concatenate([edge, position[..., : n - d]], axis=-1)
        position = np.maximum(position, shifted)
        d *= 2
    return np.moveaxis(position, -1, axis)


def _truths(x: Array, combine: Any, fill: float) -> Any:
    numbers = np.astype(x if x.dtype.kind == "b" else x != 0, np.float64)
    return _doubling(numbers, 0, fill, combine) != 0


@composed("logical_and_accumulate")
def logical_and_accumulate(x: Array) -> Any:
    return _truths(x, np.multiply, 1)


@composed("logical_or_accumulate")
def logical_or_accumulate(x: Array) -> Any:
    return _truths(x, np.maximum, 0)


@composed("logical_xor_accumulate")
def logical_xor_accumulate(x: Array) -> Any:
    return _truths(x, lambda a, b: np.abs(a - b), 0)
