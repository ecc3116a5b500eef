"""Linear filters and trends of scipy.signal, traced.

With a_0 = 1, y = lfilter(b, a, x, zi=z) solves a * y = b * x + z (convolutions, cut off after the
last sample), and the final state is what b * x + z - a * y has beyond it. `linad.rules.filters` has
the recursion and its derivatives in b, a, x and z; both modes cost O(n) for n samples.
"""

import itertools
from typing import Any

import numpy as np
import scipy.signal

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.rules.filters import allpole_, convolve_
from linad.rules.shaping import astype, still
from linad.scipy.mirror import bound_form, inexact, traced_form
from linad.scipy.twins import function_twin


def _coefficients(name: str, c: Array) -> Any:
    c = np.atleast_1d(asarray(c))
    if c.ndim != 1 or not c.shape[0]:
        raise ShapeError(f"lfilter: {name} must be a non-empty 1d array, got shape {c.shape}")
    return c


def _filled(x: Array, n: int) -> Any:
    """``x`` with zeros behind, to n entries of the last axis."""
    missing = n - x.shape[-1]
    if not missing:
        return x
    return np.concatenate([x, np.zeros((*x.shape[:-1], missing), x.dtype)], axis=-1)


def _filter(b: Array, a: Array, x: Array, state: Array | None) -> tuple[Any, Any]:
    """Filter along the last axis.

    Parameters
    ----------
    b, a : array (m + 1,)
        Of one length, with a_0 = 1.
    x : array (..., n)
    state : array (..., m) or None

    Returns
    -------
    y : array (..., n)
    final : array (..., m), or None without a state
    """
    n, m = x.shape[-1], b.shape[0] - 1
    driven = convolve_(x, b, mode="full")
    if state is not None:
        driven = driven + _filled(state, n + m)
    y = driven[..., :n] if m == 0 else allpole_(a, driven[..., :n])
    if state is None:
        return y, None
    # Of y only the last m samples reach beyond the end.
    last = min(n, m)
    echo = convolve_(y[..., n - last :], a, mode="full")[..., last : last + m]
    return y, driven[..., n:] - _filled(echo, m)


@traced_form(scipy.signal.lfilter)
def lfilter(b: Array, a: Array, x: Array, axis: int = -1, zi: Array | None = None) -> Any:
    b, a, x = _coefficients("b", b), _coefficients("a", a), asarray(x)
    if x.ndim == 0:
        raise ShapeError("lfilter: x must have at least one axis, got a number")
    axis = normalize_axis(axis, x.ndim, "lfilter")
    operands = [b, a, x] if zi is None else [b, a, x, asarray(zi)]
    dtype = np.result_type(*[c.dtype for c in operands], np.float32)
    b, a, x, *rest = [astype(c, dtype, copy=False) for c in operands]
    m = max(b.shape[0], a.shape[0]) - 1
    if a[0] == 0:
        raise ValueError("lfilter: the first coefficient in a must not be 0")
    b, a = _filled(b / a[0], m + 1), _filled(a / a[0], m + 1)
    x = np.moveaxis(x, axis, -1)
    state = _state(rest[0], x, m, axis) if rest else None
    y, final = _filter(b, a, x, state)
    y = np.moveaxis(y, -1, axis)
    return y if state is None else (y, np.moveaxis(final, -1, axis))


def _state(zi: Array, x: Array, m: int, axis: int) -> Any:
    """The initial state with the filtered axis last; other axes broadcast."""
    expected = (*x.shape[:-1], m)
    if zi.ndim == x.ndim:
        zi = np.moveaxis(zi, axis, -1)
        others = zip(zi.shape[:-1], expected[:-1], strict=True)
        if zi.shape[-1] == m and all(k in (1, n) for k, n in others):
            return np.broadcast_to(zi, expected)
    raise ShapeError(
        f"lfilter: zi must have {m} entries along axis {axis} and match x along the others, got "
        f"shape {zi.shape}"
    )


@traced_form(scipy.signal.sosfilt)
def sosfilt(sos: Array, x: Array, axis: int = -1, zi: Array | None = None) -> Any:
    sos, x = asarray(sos), asarray(x)
    if x.ndim == 0:
        raise ShapeError("sosfilt: x must have at least one axis, got a number")
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ShapeError(f"sosfilt: sos must have shape (n_sections, 6), got {sos.shape}")
    if not np.all(sos[:, 3] == 1):
        raise ValueError("sosfilt: sos[:, 3] should be all ones")
    axis = normalize_axis(axis, x.ndim, "sosfilt")
    shape = list(x.shape)
    shape[axis] = 2
    if zi is not None and np.shape(zi) != (sos.shape[0], *shape):
        raise ShapeError(
            f"sosfilt: zi must have shape {(sos.shape[0], *shape)}, got {np.shape(zi)}"
        )
    final = []
    for k in range(sos.shape[0]):
        b, a = sos[k, :3], sos[k, 3:]
        if zi is None:
            x = lfilter(b, a, x, axis)
        else:
            x, state = lfilter(b, a, x, axis, asarray(zi)[k])
            final.append(state)
    return x if zi is None else (x, np.stack(final))


@traced_form(scipy.signal.lfilter_zi)
def lfilter_zi(b: Array, a: Array) -> Any:
    b, a = _coefficients("b", inexact(b)), _coefficients("a", inexact(a))
    while a.shape[0] > 1 and a[0] == 0.0:
        a = a[1:]
    b, a = b / a[0], a / a[0]
    n = max(a.shape[0], b.shape[0])
    b, a = _filled(b, n), _filled(a, n)
    # z = A z + B: the state that a constant input leaves as it is.
    first = np.zeros((n - 1, n - 1), a.dtype)
    first[:, :1] = 1
    shift = np.eye(n - 1, k=1, dtype=a.dtype)
    identity = np.eye(n - 1, dtype=a.dtype)
    return np.linalg.solve(identity - shift + a[1:, None] * first, b[1:] - a[1:] * b[0])


# Trends.


@bound_form(scipy.signal.detrend)
def detrend(data: Array, axis: int, type: str, bp: Any, overwrite_data: bool) -> Any:
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError(f"detrend: type must be 'linear' or 'constant', got {type!r}")
    data = inexact(data)
    axis = normalize_axis(axis, data.ndim, "detrend")
    if type in ("constant", "c"):
        return data - np.mean(data, axis, keepdims=True)
    x = np.moveaxis(data, axis, -1)
    n = x.shape[-1]
    breaks = np.unique(np.concatenate([np.zeros(1, int), np.atleast_1d(bp), [n]]))
    if breaks[-1] > n:
        raise ValueError(f"detrend: breakpoints must not exceed {n}, got {bp!r}")
    parts = [_residual(x[..., i:j]) for i, j in itertools.pairwise(breaks)]
    y = np.moveaxis(np.concatenate(parts, axis=-1), -1, axis)
    if overwrite_data:  # SciPy then works in these columns, a view of the data if they have one
        columns = np.moveaxis(data, axis, 0).reshape(n, -1)
        columns[...] = np.moveaxis(y, axis, 0).reshape(n, -1)
    return y


def _residual(x: Array) -> Any:
    """``x`` without its least-squares line along the last axis: minus a projection."""
    n = x.shape[-1]
    real = np.finfo(x.dtype).dtype
    line = np.stack([np.arange(1, n + 1) / n, np.ones(n)], axis=1)[:, : min(n, 2)]
    q = np.linalg.qr(line)[0].astype(real)
    return x - (x @ q) @ q.T


@bound_form(scipy.signal.lfiltic)
def lfiltic(b: Array, a: Array, y: Array, x: Any) -> Any:
    b, a = _coefficients("b", b), _coefficients("a", a)
    if still(a[0]) == 0:
        raise ValueError("lfiltic: the first coefficient of a must not be 0")
    if _DIVIDES:  # unless it is 1, where the division has a derivative as well
        b, a = b / a[0], a / a[0]
    return function_twin(scipy.signal.lfiltic)(b, a, y, x)


_DIVIDES = scipy.signal.lfiltic([1.0], [2.0, 1.0], [1.0])[0] != -1.0
"""Whether this SciPy divides by the first coefficient: before 1.16 it took it for 1."""
