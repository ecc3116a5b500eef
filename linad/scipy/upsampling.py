"""`scipy.signal.upfirdn`, traced: a filter between a rise and a fall of the sampling rate.

h * (x with up - 1 zeros behind each entry), of which every down-th entry is kept. A filter of
length m reaches (m - 1) // up entries beyond the ends, where x is continued. A continuation is
linear in x: entries of x again, with signs, or a line through two of them.
"""

from typing import Any

import numpy as np
import scipy.signal

from linad.core.array_type import Array
from linad.core.shapes import normalize_axis
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.scipy.linearfilters import lfilter
from linad.scipy.mirror import bound_form, inexact

_PADDED: dict[str, dict[str, Any]] = {
    **{mode: {"mode": mode} for mode in ("wrap", "edge", "symmetric", "reflect")},
    "antireflect": {"mode": "reflect", "reflect_type": "odd"},
}
_MODES = ("constant", *_PADDED, "antisymmetric", "smooth", "line")


@bound_form(scipy.signal.upfirdn)
def upfirdn(h: Any, x: Any, up: int, down: int, axis: int, mode: str, cval: Any) -> Any:
    h, x = inexact(h), inexact(x)
    if h.ndim != 1 or not h.shape[0]:
        raise ShapeError(f"upfirdn: h must be 1d and not empty, got shape {h.shape}")
    if up < 1 or down < 1:
        raise ValueError(f"upfirdn: up and down must be 1 or more, got {up} and {down}")
    mode = str(mode).lower()
    if mode not in _MODES:
        raise ValueError(f"upfirdn: mode must be one of {', '.join(_MODES)}, got {mode!r}")
    axis = normalize_axis(axis, x.ndim, "upfirdn")
    x = np.moveaxis(x, axis, -1)
    reach = (h.shape[0] - 1) // up
    if mode == "constant" and type(cval) in (int, float) and cval == 0:
        reach = 0  # the filter starts and ends with zeros by itself
    start, stop = reach * up, (reach + x.shape[-1] - 1) * up + h.shape[0]
    x = _continued(x, reach, mode, cval) if reach else x
    *rest, n = x.shape
    spread = np.concatenate([x[..., None], np.zeros((*rest, n, up - 1), x.dtype)], axis=-1)
    spread = spread.reshape((*rest, n * up))[..., : (n - 1) * up + 1]
    behind = np.zeros((*rest, h.shape[0] - 1 - start), x.dtype)
    y = lfilter(h, np.ones(1, h.dtype), np.concatenate([spread, behind], axis=-1))
    return np.moveaxis(y[..., start:stop:down], -1, axis)


def _continued(x: Array, reach: int, mode: str, cval: Any) -> Any:
    """``x`` with ``reach`` entries more at both ends of its last axis."""
    n = x.shape[-1]
    if n < 2 and mode in ("reflect", "antireflect", "smooth", "line"):
        raise ShapeError(f"upfirdn: mode={mode!r} needs 2 entries along the axis or more, got {n}")
    if mode == "constant":
        ends = np.full((*x.shape[:-1], reach), 1, x.dtype) * asarray(cval)
        return np.concatenate([ends, x, ends], axis=-1)
    if mode in _PADDED:
        return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(reach, reach)], **_PADDED[mode])
    if mode == "antisymmetric":  # x, then -x backwards, and so on
        turn, k = np.divmod(np.arange(-reach, n + reach), n)
        return np.where(turn % 2, -x[..., n - 1 - k], x[..., k])
    if mode == "smooth":  # on along the first step, and along the last
        before, after = x[..., 1:2] - x[..., :1], x[..., -1:] - x[..., -2:-1]
    else:
        before = after = (x[..., -1:] - x[..., :1]) / (n - 1)
    away = np.arange(1, reach + 1, dtype=np.finfo(x.dtype).dtype)
    ends = (x[..., :1] - away[::-1] * before, x[..., -1:] + away * after)
    return np.concatenate([ends[0], x, ends[1]], axis=-1)
