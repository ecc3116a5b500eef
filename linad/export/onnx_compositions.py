"""Forms written in NumPy: what a primitive is, of primitives that have forms.

They are functions of the operands, with the parameters as keywords, in the dtypes of NumPy.
None of them takes a Python decision on a value.
"""

from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.export.onnx_writer import composed

LN2 = float(np.log(2.0))
LN10 = float(np.log(10.0))

# Exponentials and logarithms, to rounding near 0 as well.


@composed("log1p")
def log1p(x: Any) -> Any:
    # Kahan: what u = 1 + x rounds away is made up for by x / (u - 1).
    u = 1 + x
    d = u - 1
    exact = d == 0
    y = np.log(u) * x / np.where(exact, 1.0, d)
    return np.where(exact, x, np.where(u == np.inf, u, y))


@composed("expm1")
def expm1(x: Any) -> Any:
    # The same: u = e^x, and what it rounds away of x is made up for by x / log u.
    u = np.exp(x)
    d = u - 1
    exact, far = d == 0, (u == 0) | (u == np.inf)
    y = d * x / np.log(np.where(exact | far, 2.0, u))
    return np.where(exact, x, np.where(far, d, y))


@composed("exp2")
def exp2(x: Any) -> Any:
    return np.power(x.dtype.type(2), x)


@composed("exp10")
def exp10(x: Any) -> Any:
    return np.power(x.dtype.type(10), x)


@composed("log2")
def log2(x: Any) -> Any:
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
def logaddexp2(a: Any, b: Any) -> Any:
    top = np.maximum(a, b)
    gap = np.where(a == b, 0.0, np.abs(a - b))
    return top + np.log1p(np.exp2(-gap)) / LN2


def _log_sum(x: Any, axes: Any, exponential: Any, logarithm: Any) -> Any:
    top = np.max(x, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = logarithm(np.sum(exponential(x - top), axis=axes, keepdims=True)) + top
    return np.squeeze(total, axis=axes)


@composed("logaddexp_reduce")
def logaddexp_reduce(x: Any, *, axes: Any) -> Any:
    if not axes:
        return x
    if not x.size:
        return np.full(_left(x, axes), -np.inf)
    return _log_sum(x, axes, np.exp, np.log)


@composed("logaddexp2_reduce")
def logaddexp2_reduce(x: Any, *, axes: Any) -> Any:
    if not axes:
        return x
    if not x.size:
        return np.full(_left(x, axes), -np.inf)
    return _log_sum(x, axes, np.exp2, np.log2)


def _left(x: Any, axes: Any) -> Any:
    return tuple([n for k, n in enumerate(x.shape) if k not in axes])


@composed("boxcox")
def boxcox(x: Any, lmbda: Any) -> Any:
    straight = lmbda == 0
    power = np.where(straight, 1.0, lmbda)
    return np.where(straight, np.log(x), np.expm1(power * np.log(x)) / power)


@composed("boxcox1p")
def boxcox1p(x: Any, lmbda: Any) -> Any:
    straight = lmbda == 0
    power = np.where(straight, 1.0, lmbda)
    return np.where(straight, np.log1p(x), np.expm1(power * np.log1p(x)) / power)


@composed("inv_boxcox")
def inv_boxcox(x: Any, lmbda: Any) -> Any:
    straight = lmbda == 0
    power = np.where(straight, 1.0, lmbda)
    return np.where(straight, np.exp(x), np.exp(np.log1p(power * x) / power))


@composed("inv_boxcox1p")
def inv_boxcox1p(x: Any, lmbda: Any) -> Any:
    straight = lmbda == 0
    power = np.where(straight, 1.0, lmbda)
    return np.where(straight, np.expm1(x), np.expm1(np.log1p(power * x) / power))


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


@composed("rel_entr")
def rel_entr(x: Any, y: Any) -> Any:
    both = (x > 0) & (y > 0)
    # The logarithm of the ratio, to rounding where it is near 1.
    value = np.where(both, x, 1.0) * np.log(np.where(both, x, 1.0) / np.where(both, y, 1.0))
    edge = np.where((x == 0) & (y >= 0), 0.0, np.inf)
    return np.where((x != x) | (y != y), np.nan, np.where(both, value, edge))


@composed("kl_div")
def kl_div(x: Any, y: Any) -> Any:
    both = (x > 0) & (y > 0)
    a, b = np.where(both, x, 1.0), np.where(both, y, 1.0)
    edge = np.where((x == 0) & (y >= 0), y, np.inf)
    value = np.where(both, a * np.log(a / b) - a + b, edge)
    return np.where((x != x) | (y != y), np.nan, value)


@composed("huber")
def huber(delta: Any, r: Any) -> Any:
    size = np.abs(r)
    value = np.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return np.where(delta < 0, np.inf, value)


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


# Circles and hyperbolas.


@composed("tan")
def tan(x: Any) -> Any:
    return np.sin(x) / np.cos(x)


@composed("sinh")
def sinh(x: Any) -> Any:
    # e^x alone overflows earlier than its half.
    size = np.abs(x)
    near = np.expm1(np.minimum(size, 20.0))
    far = np.exp(0.5 * size)
    y = np.where(size < 20, 0.5 * (near + near / (near + 1)), 0.5 * far * far)
    return np.where(x != x, x, np.sign(x) * y)


@composed("cosh")
def cosh(x: Any) -> Any:
    half = np.exp(0.5 * np.abs(x))
    return 0.5 * half * half + 0.5 / half / half


@composed("arcsinh")
def arcsinh(x: Any) -> Any:
    size = np.abs(x)
    huge = size > 1e8 if x.dtype == np.float64 else size > 1e4
    z = np.where(huge, 1.0, size)
    y = np.log1p(z + z * z / (1 + np.sqrt(1 + z * z)))
    return np.sign(x) * np.where(huge, np.log(np.where(huge, size, 1.0)) + LN2, y)


@composed("arccosh")
def arccosh(x: Any) -> Any:
    huge = x > 1e8 if x.dtype == np.float64 else x > 1e4
    t = np.where(huge, 1.0, x) - 1
    y = np.log1p(t + np.sqrt(2 * t + t * t))
    return np.where(huge, np.log(np.where(huge, x, 1.0)) + LN2, y)


@composed("arctanh")
def arctanh(x: Any) -> Any:
    return 0.5 * (np.log1p(x) - np.log1p(-x))


def _series(t: Any) -> Any:
    """arctan of |t| <= tan(pi / 16), by its power series."""
    square = t * t
    total = square * 0
    for k in range(13, 0, -1):
        total = square * ((-1) ** k / (2 * k + 1) + total)
    return t + t * total


@composed("arctan")
def arctan(x: Any) -> Any:
    # Beyond 1 the reciprocal; then the angle is halved twice: tan(a/2) = t / (1 + sqrt(1 + t^2)).
    size = np.abs(x)
    steep = size > 1
    t = np.where(steep, 1 / np.where(steep, size, 1.0), size)
    for _ in range(2):
        t = t / (1 + np.sqrt(1 + t * t))
    angle = 4 * _series(t)
    y = np.sign(x) * np.where(steep, 0.5 * np.pi - angle, angle)
    return np.where(x != x, x, y)


@composed("arctan2")
def arctan2(y: Any, x: Any) -> Any:
    origin, far = (x == 0) & (y == 0), np.isinf(x) & np.isinf(y)
    above = np.where(far, np.sign(y), y)
    along = np.where(origin, np.copysign(1.0, x), np.where(far, np.sign(x), x))
    angle = np.arctan(np.abs(above) / np.abs(along))
    angle = np.where(along < 0, np.pi - angle, angle)
    return np.where(np.signbit(y), -angle, angle)


@composed("arcsin")
def arcsin(x: Any) -> Any:
    return np.arctan2(x, np.sqrt((1 - x) * (1 + x)))


@composed("arccos")
def arccos(x: Any) -> Any:
    return 2 * np.arctan2(np.sqrt(1 - x), np.sqrt(1 + x))


@composed("hypot")
def hypot(a: Any, b: Any) -> Any:
    a, b = np.abs(a), np.abs(b)
    large, small = np.maximum(a, b), np.minimum(a, b)
    ratio = small / np.where(large == 0, 1.0, large)
    y = large * np.sqrt(1 + ratio * ratio)
    return np.where((a == np.inf) | (b == np.inf), np.inf, y)


@composed("sinc")
def sinc(x: Any) -> Any:
    y = np.pi * np.where(x == 0, 1.0, x)
    return np.where(x == 0, 1.0, np.sin(y) / y)


@composed("radians", "deg2rad")
def radians(x: Any) -> Any:
    return x * (np.pi / 180)


@composed("degrees", "rad2deg")
def degrees(x: Any) -> Any:
    return x * (180 / np.pi)


@composed("radian")
def radian(d: Any, m: Any, s: Any) -> Any:
    return (d + m / 60 + s / 3600) * (np.pi / 180)


def _turn(x: Any) -> Any:
    """Degrees in [-45, 45], and the number of the quarter, 0 to 3."""
    quarter = np.rint(x / 90)
    return (x - 90 * quarter) * (np.pi / 180), quarter - 4 * np.floor(quarter / 4)


@composed("sindg")
def sindg(x: Any) -> Any:
    a, quarter = _turn(x)
    y = np.where((quarter == 1) | (quarter == 3), np.cos(a), np.sin(a))
    return np.where(quarter >= 2, -y, y)


@composed("cosdg")
def cosdg(x: Any) -> Any:
    a, quarter = _turn(x)
    y = np.where((quarter == 1) | (quarter == 3), np.sin(a), np.cos(a))
    return np.where((quarter == 1) | (quarter == 2), -y, y)


@composed("tandg")
def tandg(x: Any) -> Any:
    return sindg(x) / cosdg(x)


@composed("cotdg")
def cotdg(x: Any) -> Any:
    return cosdg(x) / sindg(x)


@composed("cosm1")
def cosm1(x: Any) -> Any:
    return -2 * np.sin(0.5 * x) ** 2


# Numbers and their parts.


@composed("square")
def square(x: Any) -> Any:
    return x * x


@composed("tip")
def tip(x: Any) -> Any:
    return np.where(x == 0, x.dtype.type(1), x)


@composed("cbrt")
def cbrt(x: Any) -> Any:
    # One step of Newton's takes off what the power rounds.
    size = np.abs(x)
    edge = (size == 0) | (size == np.inf)
    z = np.where(edge, 1.0, size)
    y = np.power(z, 1 / 3)
    y = y - (y - z / (y * y)) / 3
    return np.where(edge | (x != x), x, np.sign(x) * y)


@composed("signbit")
def signbit(x: Any) -> Any:
    return (x < 0) | ((x == 0) & (1 / x < 0)) if x.dtype.kind == "f" else x < 0


@composed("copysign")
def copysign(a: Any, b: Any) -> Any:
    return np.where(np.signbit(b), -np.abs(a), np.abs(a))


@composed("heaviside")
def heaviside(x: Any, at_zero: Any) -> Any:
    y = np.where(x > 0, 1.0, np.where(x == 0, at_zero, 0.0))
    return np.where(x != x, x, y)


@composed("isinf")
def isinf(x: Any) -> Any:
    return np.abs(x) == np.inf


@composed("isfinite")
def isfinite(x: Any) -> Any:
    return np.abs(x) < np.inf if x.dtype.kind == "f" else x == x


@composed("isposinf")
def isposinf(x: Any) -> Any:
    return x == np.inf


@composed("isneginf")
def isneginf(x: Any) -> Any:
    return x == -np.inf


@composed("isreal")
def isreal(x: Any) -> Any:
    return np.ones(np.shape(x), bool)


@composed("iscomplex")
def iscomplex(x: Any) -> Any:
    return np.zeros(np.shape(x), bool)


@composed("imag")
def imag(x: Any) -> Any:
    return np.zeros(x.shape, x.dtype)


@composed("fmax")
def fmax(a: Any, b: Any) -> Any:
    return np.where(a != a, b, np.where(b != b, a, np.maximum(a, b)))


@composed("fmin")
def fmin(a: Any, b: Any) -> Any:
    return np.where(a != a, b, np.where(b != b, a, np.minimum(a, b)))


@composed("fmax_reduce")
def fmax_reduce(x: Any, *, axes: Any) -> Any:
    if not axes:
        return x
    missing = x != x
    y = np.max(np.where(missing, -np.inf, x), axis=axes)
    return np.where(np.all(missing, axis=axes), np.nan, y)


@composed("fmin_reduce")
def fmin_reduce(x: Any, *, axes: Any) -> Any:
    if not axes:
        return x
    missing = x != x
    y = np.min(np.where(missing, np.inf, x), axis=axes)
    return np.where(np.all(missing, axis=axes), np.nan, y)


@composed("remainder")
def remainder(a: Any, b: Any) -> Any:
    y = np.fmod(a, b)
    return np.where(
        (y != 0) & ((y < 0) != (b < 0)), y + b, np.where(y == 0, np.copysign(0.0, b), y)
    )


@composed("floor_divide")
def floor_divide(a: Any, b: Any) -> Any:
    quotient = (a - remainder(a, b)) / b
    return np.where(b == 0, a / b, np.rint(quotient))


@composed("fraction")
def fraction(x: Any) -> Any:
    return np.where(np.abs(x) == np.inf, np.copysign(0.0, x), x - np.trunc(x))


@composed("round")
def round_(x: Any, *, decimals: int) -> Any:
    if x.dtype.kind != "f":
        if decimals < 0:
            scale = 10**-decimals
            return np.rint(x / scale) * scale
        return x
    scale = float(10 ** abs(decimals))
    return np.rint(x * scale) / scale if decimals >= 0 else np.rint(x / scale) * scale


@composed("ldexp")
def ldexp(x: Any, i: Any) -> Any:
    # In two halves, each a power of two that the dtype holds.
    dtype = np.result_type(x)
    half = np.floor(np.asarray(i) / 2) if not hasattr(i, "_trace") else np.floor(i / 2)
    rest = i - half
    two = dtype.type(2)
    return x * np.power(two, _like(half, dtype)) * np.power(two, _like(rest, dtype))


def _like(x: Any, dtype: Any) -> Any:
    return np.astype(x, dtype) if x.dtype != dtype else x


@composed("isclose")
def isclose(a: Any, b: Any, **keywords: Any) -> Any:
    rtol, atol = keywords.get("rtol", 1e-5), keywords.get("atol", 1e-8)
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & (np.abs(b) < np.inf)
    same = near | (a == b)
    return same | ((a != a) & (b != b)) if keywords.get("equal_nan") else same


@composed("allclose")
def allclose(a: Any, b: Any, **keywords: Any) -> Any:
    return np.all(isclose(a, b, **keywords))


@composed("array_equal")
def array_equal(a: Any, b: Any, **keywords: Any) -> Any:
    if np.shape(a) != np.shape(b):
        return np.array(False)
    same = a == b
    return np.all(same | ((a != a) & (b != b)) if keywords.get("equal_nan") else same)


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
        return np.full(_left(x, axes), np.nan)
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
def diff(x: Any, *, axis: int) -> Any:
    lanes = np.moveaxis(x, axis, -1)
    return np.moveaxis(lanes[..., 1:] - lanes[..., :-1], -1, axis)


@composed("unwrap")
def unwrap(p: Any, *, discont: Any = None, axis: int = -1, period: float = 2 * np.pi) -> Any:
    discont = period / 2 if discont is None else discont
    lanes = np.moveaxis(p, axis, -1)
    d = lanes[..., 1:] - lanes[..., :-1]
    moved = np.remainder(d + period / 2, period) - period / 2
    moved = np.where((moved == -period / 2) & (d > 0), period / 2, moved)
    jumps = np.where(np.abs(d) < discont, 0.0, moved - d)
    whole = np.concatenate([lanes[..., :1], lanes[..., 1:] + np.cumsum(jumps, axis=-1)], axis=-1)
    return np.moveaxis(whole, -1, axis)


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


@composed("cross")
def cross(a: Any, b: Any) -> Any:
    if np.shape(a)[-1] == 2 and np.shape(b)[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]

    def part(x: Any, k: int) -> Any:
        return x[..., k] if k < np.shape(x)[-1] else x[..., 0] * 0

    parts = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        parts.append(part(a, i) * part(b, j) - part(a, j) * part(b, i))
    return np.stack(parts, axis=-1)


@composed("polyval")
def polyval(p: Any, x: Any) -> Any:
    total = x * 0
    for k in range(np.shape(p)[0]):
        total = total * x + p[k]
    return total


def _lagged(v: Any, n: int, length: int, start: int) -> Any:
    """The Toeplitz matrix (n, length) with entries v[start + column - row], zero outside."""
    i, j = np.indices((n, length))
    lag = start + j - i
    kept = (lag >= 0) & (lag < v.shape[-1])
    return np.where(kept, v[..., np.where(kept, lag, 0)], 0.0)


@composed("convolve")
def convolve(a: Any, v: Any, *, mode: str) -> Any:
    m, n = np.shape(a)[-1], np.shape(v)[-1]
    length, start = (m + n - 1, 0) if mode == "full" else (m - n + 1, n - 1)
    lead = np.broadcast_shapes(np.shape(a)[:-1], np.shape(v)[:-1])
    if not m or not n or length <= 0 or not size_of(lead):
        return np.zeros((*lead, max(length, 0)), np.result_type(a, v))
    return (a[..., None, :] @ _lagged(v, m, length, start))[..., 0, :]


@composed("convolve_grid")
def convolve_grid(a: Any, v: Any, *, mode: str, axes: int) -> Any:
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


def _behind(x: Any, d: int, fill: float) -> Any:
    edge = np.full((*x.shape[:-1], d), fill, x.dtype)
    return np.concatenate([edge, x[..., : x.shape[-1] - d]], axis=-1)


def _doubling(x: Any, axis: int, fill: float, combine: Any) -> Any:
    y = np.moveaxis(x, axis, -1)
    d = 1
    while d < y.shape[-1]:
        y = combine(_behind(y, d, fill), y)
        d *= 2
    return np.moveaxis(y, -1, axis)


@composed("cumprod")
def cumprod(x: Any, *, axis: int) -> Any:
    return _doubling(x, axis, 1, np.multiply)


@composed("logaddexp_accumulate")
def logaddexp_accumulate(x: Any, *, axis: int) -> Any:
    return _doubling(x, axis, -np.inf, logaddexp)


@composed("logaddexp2_accumulate")
def logaddexp2_accumulate(x: Any, *, axis: int) -> Any:
    return _doubling(x, axis, -np.inf, logaddexp2)


@composed("recurrence")
def recurrence(a: Any, b: Any, *, axis: int, backward: bool) -> Any:
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
