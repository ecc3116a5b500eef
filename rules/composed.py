"""Functions made of simpler ones, for targets that have no operator of their own for them.

Each takes the operands and parameters of its primitive, and decides nothing on a value. There are
no derivatives here: rules have taken them before. A model and a device write these forms, see
`linad.export.onnx_writer.composed` and `linad.sweeps.cuda.compositions.composes`.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    # Python's abs: a Python number does not widen the precision of the array beside it.
    same = (a == b) | ((abs(a - b) <= atol + rtol * abs(b)) & (abs(b) < np.inf))
    return same | ((a != a) & (b != b)) if equal_nan else same


def allclose(*args: Any, **keywords: Any) -> Any:
    return np.all(isclose(*args, **keywords))


def array_equal(a: Array, b: Array, *, equal_nan: bool = False) -> Any:
    if np.shape(a) != np.shape(b):
        return np.array(False)
    same = a == b
    return np.all(same | ((a != a) & (b != b)) if equal_nan else same)


def rounded(x: Array, *, decimals: int = 0) -> Any:
    """As NumPy does it: by a power of ten, to an integer, and back."""
    if not decimals or (x.dtype.kind != "f" and decimals > 0):
        return np.rint(x) if x.dtype.kind == "f" else x
    scale = float(10 ** abs(decimals))
    return np.rint(x / scale) * scale if decimals < 0 else np.rint(x * scale) / scale


def polyval(p: Any, x: Any) -> Any:
    """Horner's rule."""
    total = x * 0
    for k in range(np.shape(p)[0]):
        total = total * x + p[k]
    return total


def cross(a: Any, b: Any) -> Any:
    (x, y, z), (u, v, w) = ([m[..., k] for k in range(3)] for m in (a, b))
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def fraction(x: Any) -> Any:
    """What is behind the point, with the sign of the number."""
    return np.copysign(np.where(np.abs(x) == np.inf, 0, x - np.trunc(x)), x)


def unwrap(p: Any, *, discont: Any = None, axis: int = -1, period: float = 2 * np.pi) -> Any:
    """NumPy's own, of floats."""
    steps = np.diff(p, axis=axis)
    high = period / 2
    within = np.mod(steps + high, period) - high
    within = np.where((within == -high) & (steps > 0), high, within)
    jumps = np.where(np.abs(steps) < (high if discont is None else discont), 0, within - steps)
    first, rest = np.split(p, [1], axis=axis)
    return np.concatenate([first, rest + np.cumsum(jumps, axis=axis)], axis=axis)


# Entropies and losses.


def _relative(x: Any, y: Any, inside: Any, at_zero: Any) -> Any:
    """``inside(x, y)`` for positive numbers, ``at_zero`` at x = 0 <= y, infinite elsewhere."""
    both = (x > 0) & (y > 0)
    known = inside(np.where(both, x, 1.0), np.where(both, y, 1.0))
    edge = np.where((x == 0) & (y >= 0), at_zero, np.inf)
    return np.where((x != x) | (y != y), np.nan, np.where(both, known, edge))


def rel_entr(x: Any, y: Any) -> Any:
    return _relative(x, y, lambda x, y: x * np.log(x / y), 0.0)


def kl_div(x: Any, y: Any) -> Any:
    return _relative(x, y, lambda x, y: x * np.log(x / y) - x + y, y)


def huber(delta: Any, r: Any) -> Any:
    size = np.abs(r)
    found = np.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return np.where(delta < 0, np.inf, found)


FORMS = {
    "isclose": isclose,
    "allclose": allclose,
    "array_equal": array_equal,
    "round": rounded,
    "polyval": polyval,
    "cross": cross,
    "fraction": fraction,
    "unwrap": unwrap,
    "rel_entr": rel_entr,
    "kl_div": kl_div,
    "huber": huber,
}
"""The form of each primitive, by name."""
