"""What operations decide on floating-point numbers, and what they are with a decision held.

On which side of its surface a point is, says the margin of a decision:

    a > b, max(a, b)    a - b               sign(x), |x|, heaviside(x)    x
    floor(x), x mod b   x, less the next integer on the way
    argmax(a), argsort  a where it is found, less a where it is found on the other side
    arctan2(y, x)       y at the cut, where x < 0
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.core.array_type import Array


class Decision(NamedTuple):
    """What an operation decides.

    Attributes
    ----------
    taken : callable
        ``taken(*operands)``: an array, what is decided on plain operands.
    held : callable
        ``held(decided, *operands)``: what the operation gives then, beyond its surface as well.
    margin : callable
        ``margin(decided, other, *operands)``: what passes zero where it becomes the other.
    """

    taken: Callable[..., Any]
    held: Callable[..., Any]
    margin: Callable[..., Any]


def _upward(step: float = 1.0, shift: float = 0.0) -> Callable[..., Any]:
    """The threshold of rounding down, to multiples, behind which the other multiple is."""

    def threshold(n: Array, other: Array) -> Any:
        return n + step * (shift + np.where(other > n, 1.0, 0.0))

    return threshold


def _of_trunc(n: Array, other: Array) -> Any:
    return np.where(other > n, np.where(n >= 0, n + 1, n), np.where(n > 0, n, n - 1))


def _compared(ufunc: Any) -> Decision:
    return Decision(ufunc, lambda d, a, b: d, lambda d, other, a, b: a - b)


def _chosen(ufunc: Any) -> Decision:
    """Of two values one; at a tie the first."""
    return Decision(
        lambda a, b: ufunc(a, b) == a,
        lambda d, a, b: np.where(d, a, b),
        lambda d, other, a, b: a - b,
    )


def _rounded(ufunc: Any, threshold: Callable[..., Any]) -> Decision:
    return Decision(
        lambda x, **params: ufunc(x),
        lambda d, x, **params: d,
        lambda d, other, x, **params: x - threshold(d, other),
    )


def _parts(ufunc: Any, threshold: Callable[..., Any], rest: bool) -> Decision:
    """How often b goes into a, or what is left."""
    return Decision(
        lambda a, b: ufunc(a / b),
        (lambda d, a, b: a - b * d) if rest else (lambda d, a, b: d),
        lambda d, other, a, b: a / b - threshold(d, other),
    )


def _signs(x: Array) -> Any:
    """1 and -1: on which side of zero; zero itself counts as above."""
    return np.where(x < 0, -1.0, 1.0)


def _clipped(d: Array, x: Array, low: Array, high: Array) -> Any:
    return np.where(d < 0, low, np.where(d > 0, high, x))


def _found(
    d: Array, other: Array, table: Array, x: Array, side: str = "left", sorter: Any = None
) -> Any:
    return _binned(d, other, x, table if sorter is None else np.take(table, sorter))


def _binned(d: Array, other: Array, x: Array, bins: Array, *right: Any, **params: Any) -> Any:
    place = np.where(other > d, d, d - 1)
    return x - bins[np.clip(place, 0, len(bins) - 1)]


def _best(function: Any) -> Decision:
    """Where in an array an entry is."""

    def margin(d: Array, other: Array, a: Array, axis: Any = None, **params: Any) -> Any:
        if axis is None:
            return np.ravel(a)[d] - np.ravel(a)[other]
        kept = d.ndim == a.ndim
        d, other = (p if kept else np.expand_dims(p, axis) for p in (d, other))
        found = np.take_along_axis(a, d, axis) - np.take_along_axis(a, other, axis)
        return found if kept else found[(*[slice(None)] * (axis % a.ndim), 0)]

    return Decision(function, lambda d, *operands, **params: d, margin)


def _order_margin(d: Array, other: Array, a: Array, axis: Any = -1, **params: Any) -> Any:
    if axis is None:
        return np.ravel(a)[d] - np.ravel(a)[other]
    return np.take_along_axis(a, d, axis) - np.take_along_axis(a, other, axis)


def _beside_cut(y: Array, x: Array) -> Any:
    """1 and -1 above and below the cut of an angle, 0 where no cut is."""
    return np.where(x < 0, np.where(y < 0, -1.0, 1.0), 0.0)


def _beyond_cut(d: Array, y: Array, x: Array) -> Any:
    angle = np.arctan2(y, x)
    return angle + np.where(d * angle < -np.pi / 2, 2 * np.pi * d, 0.0)


def _closeness(
    d: Array, other: Array, a: Array, b: Array, rtol: Any = 1e-5, atol: Any = 1e-8, **params: Any
) -> Any:
    """|a - b|, less what it may be."""
    return abs(a - b) - (atol + rtol * abs(b))


_FLOOR, _CEIL, _RINT = _upward(), _upward(shift=-1.0), _upward(shift=-0.5)

DECISIONS: dict[str, Decision] = {
    "less": _compared(np.less),
    "less_equal": _compared(np.less_equal),
    "greater": _compared(np.greater),
    "greater_equal": _compared(np.greater_equal),
    "equal": _compared(np.equal),
    "not_equal": _compared(np.not_equal),
    "sign": Decision(np.sign, lambda d, x: d, lambda d, other, x: x),
    "signbit": Decision(np.signbit, lambda d, x: d, lambda d, other, x: x),
    "side": Decision(np.sign, lambda d, x: d, lambda d, other, x: x),
    "heaviside": Decision(
        lambda x, at_zero: np.sign(x),
        lambda d, x, at_zero: np.where(d < 0, 0.0, np.where(d > 0, 1.0, at_zero)),
        lambda d, other, x, at_zero: x,
    ),
    "absolute": Decision(_signs, lambda d, x: d * x, lambda d, other, x: x),
    "fabs": Decision(_signs, lambda d, x: d * x, lambda d, other, x: x),
    "copysign": Decision(
        lambda a, b: _signs(a) * np.copysign(1.0, b),
        lambda d, a, b: d * a,
        lambda d, other, a, b: a * b,
    ),
    "maximum": _chosen(np.maximum),
    "minimum": _chosen(np.minimum),
    "fmax": _chosen(np.fmax),
    "fmin": _chosen(np.fmin),
    "clip": Decision(
        lambda x, low, high: np.where(x < low, -1.0, np.where(x > high, 1.0, 0.0)),
        _clipped,
        lambda d, other, x, low, high: x - np.where((d < 0) | (other < 0), low, high),
    ),
    "floor": _rounded(np.floor, _FLOOR),
    "ceil": _rounded(np.ceil, _CEIL),
    "rint": _rounded(np.rint, _RINT),
    "trunc": _rounded(np.trunc, _of_trunc),
    "fix": _rounded(np.trunc, _of_trunc),
    "fraction": Decision(
        np.trunc, lambda d, x: x - d, lambda d, other, x: x - _of_trunc(d, other)
    ),
    "round": Decision(
        np.round,
        lambda d, x, decimals: d,
        lambda d, other, x, decimals: x - _upward(10.0**-decimals, -0.5)(d, other),
    ),
    "floor_divide": _parts(np.floor, _FLOOR, rest=False),
    "remainder": _parts(np.floor, _FLOOR, rest=True),
    "fmod": _parts(np.trunc, _of_trunc, rest=True),
    "astype": Decision(
        lambda x, dtype: np.trunc(x),
        lambda d, x, dtype: d,
        lambda d, other, x, dtype: x - _of_trunc(d, other),
    ),
    "exponent": Decision(
        lambda x: np.frexp(x)[1],
        lambda d, x: d,
        lambda d, other, x: abs(x) - 2.0 ** np.where(other > d, d, d - 1),
    ),
    "searchsorted": Decision(np.searchsorted, lambda d, table, x, **params: d, _found),
    "digitize": Decision(np.digitize, lambda d, *operands, **params: d, _binned),
    "argmax": _best(np.argmax),
    "argmin": _best(np.argmin),
    "nanargmax": _best(np.nanargmax),
    "nanargmin": _best(np.nanargmin),
    "argsort": Decision(np.argsort, lambda d, *operands, **params: d, _order_margin),
    "isclose": Decision(np.isclose, lambda d, *operands, **params: d, _closeness),
    "allclose": Decision(np.isclose, lambda d, *operands, **params: np.all(d), _closeness),
    "arctan2": Decision(
        _beside_cut, _beyond_cut, lambda d, other, y, x: np.where(d * other < 0, y, x)
    ),
}
DECISIONS["astype_exact"] = DECISIONS["astype"]
"""What is decided, by the name of the primitive. Other integers that are made of floating-point
numbers are decided on as well; they have no margin."""

COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
