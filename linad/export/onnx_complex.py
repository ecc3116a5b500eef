"""Complex numbers inside a model: pairs of real arrays.

ONNX has no complex arithmetic. A complex value of a program is two real values of the model, and
an equation with complex operands is written as a NumPy function of pairs. Arguments and results
of a model are real.

The discrete Fourier transform of length n = a b is one of length a, a turn of each number, and
one of length b (Cooley and Tukey); of a prime length, or a short one, it is a product with the
matrix of cosines and sines.

Source: J. Cooley, J. Tukey, "An algorithm for the machine calculation of complex Fourier series",
1965.
"""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from linad.arrays.tracer import Tracer
from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.tape import Equation, Var
from linad.export.onnx_writer import COMPLEX_FORMS, Writer
from linad.operators.facts import real_dtype


class Pair(NamedTuple):
    """Real and imaginary part: arrays, or their names in a model."""

    re: Any
    im: Any


def _is_complex(a: Any) -> bool:
    return np.dtype(a.dtype if isinstance(a, Var) else np.asarray(a).dtype).kind == "c"


def _as_pair(y: Any) -> Pair:
    return y if isinstance(y, Pair) else Pair(y, np.zeros_like(y))


# Primitives that are linear with real coefficients: each part by itself.

EACH_PART = """
    add add_at broadcast_to concatenate copy cumsum diagonal diff fit getitem insert_region
    main_diagonal masked mean negative overlap_add pad positive read_region reshape roll
    segment_sum settled spread stop_gradient subtract sum transpose view_region windows
    write_region
"""


def _each_part(writer: Writer, eqn: Equation) -> tuple[Any, ...]:
    made = []
    for k, part in enumerate((np.real, np.imag)):
        inputs: list[Any] = []
        for a in eqn.inputs:
            if not isinstance(a, Var):
                inputs.append(part(a))
                continue
            inputs.append(Var(a.index, a.shape, real_dtype(a.dtype)))
            if a.dtype.kind == "c":
                writer.names[inputs[-1]] = writer.names[a][k]
            else:
                zero = np.zeros(a.shape, a.dtype)
                writer.names[inputs[-1]] = writer.constant(zero) if k else writer.names[a]
        (y,) = eqn.outputs
        twin = Var(y.index, y.shape, real_dtype(y.dtype))
        writer.equations([Equation(eqn.primitive, tuple(inputs), eqn.params, (twin,), eqn.source)])
        made.append(writer.names[twin])
    return (Pair(*made),)


COMPLEX_FORMS.update(dict.fromkeys(EACH_PART.split(), _each_part))


# Others: functions of pairs, recorded like the compositions of real numbers.


def paired(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of pairs, with the parameters as keywords, as the form of primitives."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            COMPLEX_FORMS[name] = lambda writer, eqn: _compose(writer, eqn, function)
        return function

    return register


def _compose(writer: Writer, eqn: Equation, function: Callable[..., Any]) -> tuple[Any, ...]:
    operands: list[Any] = []
    for a in eqn.inputs:
        if not isinstance(a, Var):
            operands += [np.real(a), np.imag(a)] if _is_complex(a) else [a]
        elif a.dtype.kind == "c":
            operands += [(name, a.shape, real_dtype(a.dtype)) for name in writer.names[a]]
        else:
            operands.append((writer.names[a], a.shape, a.dtype))
    (y,) = eqn.outputs

    def run(*given: Any, **params: Any) -> Any:
        parts: Iterator[Any] = iter(given)
        args = [
            Pair(next(parts), next(parts)) if _is_complex(a) else next(parts) for a in eqn.inputs
        ]
        found = function(*args, **params)
        return tuple(_as_pair(found)) if y.dtype.kind == "c" else found

    wanted = [(y.shape, real_dtype(y.dtype))] * (2 if y.dtype.kind == "c" else 1)
    made = writer.record(run, operands, wanted, eqn.params)
    return (Pair(*made),) if y.dtype.kind == "c" else made


# Parts and moduli.


@paired("real")
def real(z: Pair) -> Any:
    return z.re


@paired("imag")
def imag(z: Pair) -> Any:
    return z.im


@paired("conjugate")
def conjugate(z: Pair) -> Pair:
    return Pair(z.re, -z.im)


@paired("absolute")
def absolute(z: Pair) -> Any:
    return np.hypot(z.re, z.im)


@paired("side", "sign")
def side(z: Pair) -> Pair:
    # z / |z|, and 0 at 0.
    size = np.hypot(z.re, z.im)
    divisor = np.where(size == 0, 1.0, size)
    return Pair(z.re / divisor, z.im / divisor)


@paired("astype", "astype_exact")
def astype(z: Any, *, dtype: np.dtype[Any], **_: Any) -> Any:
    # The parts are cast to what is wanted. Of a real number the imaginary part is left out.
    kind = np.dtype(dtype).kind
    if kind == "c":
        return _as_pair(z)
    return (z.re != 0) | (z.im != 0) if kind == "b" else z.re


@paired("empty_like", "zeros_like")
def zeros_like(x: Any, **_: Any) -> Pair:
    return Pair(0.0, 0.0)


@paired("_ones_like", "ones_like")
def ones_like(x: Any, **_: Any) -> Pair:
    return Pair(1.0, 0.0)


@paired("where")
def where(condition: Any, a: Any, b: Any) -> Pair:
    a, b = _as_pair(a), _as_pair(b)
    return Pair(np.where(condition, a.re, b.re), np.where(condition, a.im, b.im))


# Arithmetic.


def _bilinear(product: Callable[..., Any]) -> Callable[..., Any]:
    """(a + i b)(c + i d) = ac - bd + i (ad + bc), of a product of any kind."""

    def apply(x: Any, y: Any, **params: Any) -> Pair:
        if not isinstance(x, Pair):
            return Pair(product(x, y.re, **params), product(x, y.im, **params))
        if not isinstance(y, Pair):
            return Pair(product(x.re, y, **params), product(x.im, y, **params))
        return Pair(
            product(x.re, y.re, **params) - product(x.im, y.im, **params),
            product(x.re, y.im, **params) + product(x.im, y.re, **params),
        )

    return apply


multiply = _bilinear(np.multiply)
paired("multiply")(multiply)
for _name in ("convolve", "dot", "kron", "matmul", "matvec"):
    paired(_name)(_bilinear(Primitive.registry[_name]))


@paired("square")
def square(z: Pair) -> Pair:
    return multiply(z, z)


@paired("reciprocal")
def reciprocal(z: Pair) -> Pair:
    # Smith: the larger part is divided out first, so that no square over- or underflows.
    steep = np.abs(z.im) > np.abs(z.re)
    large, small = np.where(steep, z.im, z.re), np.where(steep, z.re, z.im)
    ratio = small / large
    scale = 1 / (large + small * ratio)
    return Pair(np.where(steep, ratio, 1.0) * scale, -np.where(steep, 1.0, ratio) * scale)


@paired("divide")
def divide(x: Any, y: Any) -> Pair:
    if not isinstance(y, Pair):
        return Pair(x.re / y, x.im / y)
    steep = np.abs(y.im) > np.abs(y.re)
    large, small = np.where(steep, y.im, y.re), np.where(steep, y.re, y.im)
    ratio = small / large
    scale = large + small * ratio
    a, b = _as_pair(x)
    re = np.where(steep, a * ratio + b, a + b * ratio)
    im = np.where(steep, b * ratio - a, b - a * ratio)
    return Pair(re / scale, im / scale)


# Elementary functions.


@paired("exp")
def exp(z: Pair) -> Pair:
    size = np.exp(z.re)
    return Pair(size * np.cos(z.im), size * np.sin(z.im))


@paired("log")
def log(z: Pair) -> Pair:
    return Pair(np.log(np.hypot(z.re, z.im)), np.arctan2(z.im, z.re))


@paired("sqrt")
def sqrt(z: Pair) -> Pair:
    # The larger part from |z| + |Re z|, the other by division.
    large = np.sqrt(0.5 * (np.hypot(z.re, z.im) + np.abs(z.re)))
    small = 0.5 * z.im / np.where(large == 0, 1.0, large)
    below = z.re < 0
    re = np.where(below, np.abs(small), large)
    return Pair(re, np.where(below, np.copysign(large, z.im), small))


@paired("power")
def power(x: Any, y: Any) -> Pair:
    # Whole exponents that are known by squaring; else exp(y log x), and 0 ** y is 0.
    if not isinstance(y, Pair) and np.ndim(y) == 0 and not isinstance(y, Tracer):
        count = int(y)
        if count == y and 0 < abs(count) <= 64:
            found = functools.reduce(multiply, _squares(_as_pair(x), abs(count)))
            return reciprocal(found) if count < 0 else found
    x = _as_pair(x)
    origin = (x.re == 0) & (x.im == 0)
    found = exp(multiply(log(Pair(np.where(origin, 1.0, x.re), x.im)), y))
    nothing = (y.re == 0) & (y.im == 0) if isinstance(y, Pair) else y == 0
    return Pair(
        np.where(origin, np.where(nothing, 1.0, 0.0), found.re), np.where(origin, 0.0, found.im)
    )


def _squares(x: Pair, count: int) -> Iterator[Pair]:
    """x to the powers of two that add up to count."""
    while count:
        if count & 1:
            yield x
        count >>= 1
        x = multiply(x, x) if count else x


@paired("sinh")
def sinh(z: Pair) -> Pair:
    return Pair(np.sinh(z.re) * np.cos(z.im), np.cosh(z.re) * np.sin(z.im))


@paired("cosh")
def cosh(z: Pair) -> Pair:
    return Pair(np.cosh(z.re) * np.cos(z.im), np.sinh(z.re) * np.sin(z.im))


@paired("sin")
def sin(z: Pair) -> Pair:
    return Pair(np.sin(z.re) * np.cosh(z.im), np.cos(z.re) * np.sinh(z.im))


@paired("cos")
def cos(z: Pair) -> Pair:
    return Pair(np.cos(z.re) * np.cosh(z.im), -np.sin(z.re) * np.sinh(z.im))


# Fourier transforms.

SHORT = 64
"""Up to this length a transform is a product with its matrix."""


def _split(n: int) -> int:
    """The divisor of n nearest to its root from below; 1 of a prime."""
    return max(a for a in range(1, math.isqrt(n) + 1) if n % a == 0)


def _turns(rows: int, columns: int, n: int, sign: int, dtype: np.dtype[Any]) -> Pair:
    """exp(± 2 pi i j k / n)"""
    count = np.outer(np.arange(rows), np.arange(columns)) % n
    turn = sign * 2 * np.pi * count / n
    return Pair(np.cos(turn).astype(dtype), np.sin(turn).astype(dtype))


def _transform(z: Pair, n: int, sign: int) -> Pair:
    """Σ_j z_j exp(± 2 pi i j k / n) along the last axis."""
    a = 1 if n <= SHORT else _split(n)
    if a == 1:
        matrix = _turns(n, n, n, sign, z.re.dtype)
        return Pair(
            z.re @ matrix.re - z.im @ matrix.im,
            z.re @ matrix.im + z.im @ matrix.re,
        )
    b, lead = n // a, z.re.shape[:-1]
    # j = j1 b + j2, k = k1 + a k2
    grid = Pair(*[np.swapaxes(np.reshape(part, (*lead, a, b)), -1, -2) for part in z])
    inner = multiply(_transform(grid, a, sign), _turns(b, a, n, sign, z.re.dtype))
    outer = _transform(Pair(*[np.swapaxes(part, -1, -2) for part in inner]), b, sign)
    return Pair(*[np.reshape(np.swapaxes(part, -1, -2), (*lead, n)) for part in outer])


def _factor(n: int, norm: str | None, inverse: bool) -> float:
    norm = norm or "backward"
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "backward") == inverse else 1.0


@paired("fourier")
def fourier(z: Any, *, axes: tuple[int, ...], inverse: bool, norm: str | None) -> Pair:
    z = _as_pair(z)
    for axis in axes:
        n = z.re.shape[axis]
        found = _transform(
            Pair(*[np.moveaxis(part, axis, -1) for part in z]), n, 1 if inverse else -1
        )
        factor = _factor(n, norm, inverse)
        z = Pair(*[np.moveaxis(factor * part, -1, axis) for part in found])
    return z


@paired("rfft")
def rfft(x: Array, *, axis: int, norm: str | None) -> Pair:
    n = x.shape[axis]
    found = fourier(x, axes=(axis,), inverse=False, norm=norm)
    return Pair(*[_first(part, n // 2 + 1, axis) for part in found])


def _first(x: Array, count: int, axis: int) -> Any:
    return np.moveaxis(np.moveaxis(x, axis, -1)[..., :count], -1, axis)


@paired("irfft")
def irfft(z: Any, *, n: int, axis: int, norm: str | None) -> Any:
    # y_j = c Σ_k w_k Re(z_k exp(2 pi i jk / n)); the imaginary part of the first and the
    # middle number is not read, and the others stand for their conjugates as well.
    z = _as_pair(z)
    lanes = Pair(*[np.moveaxis(part, axis, -1) for part in z])
    m = n // 2 + 1
    have = lanes.re.shape[-1]
    if have < m:
        edge = [(0, 0)] * (lanes.re.ndim - 1) + [(0, m - have)]
        lanes = Pair(*[np.pad(part, edge) for part in lanes])
    re, im = [part[..., :m] for part in lanes]
    k = np.arange(m)
    alone = (k == 0) | (2 * k == n)
    im = np.where(alone, 0.0, im)
    tail = slice(m - 1 - (n % 2 == 0), 0, -1)
    whole = Pair(
        np.concatenate([re, re[..., tail]], axis=-1),
        np.concatenate([im, -im[..., tail]], axis=-1),
    )
    found = _transform(whole, n, 1)
    return np.moveaxis(_factor(n, norm, True) * found.re, -1, axis)
