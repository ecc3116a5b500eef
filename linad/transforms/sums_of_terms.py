"""Norms, variances and the like as sums of terms: then one loop makes and adds the terms.

|x|_2 = sqrt(Σ x^2)        |x|_p = (Σ |x|^p)^(1/p)
var x = Σ (x - mean x)^2 / (n - ddof)
log Σ e^x = m + log Σ e^(x - m),  m the largest x, or 0 where that is not finite
diff x = x[1:] - x[:-1]
Σ -x = -Σ x, to the bit
"""

from typing import Any

import numpy as np

from linad.core.indices import Index
from linad.core.shapes import keep_axes, size_of
from linad.core.tape import Equation
from linad.transforms.rewriting import rule


def known(x: Any, axes: tuple[int, ...]) -> bool:
    """Whether ``x`` is real, of a precision that loops add in, and has entries to add."""
    return x.dtype.kind == "f" and x.dtype.itemsize >= 4 and size_of([x.shape[k] for k in axes]) > 0


@rule("sum")
def sum_of_negative(s: Any, eqn: Equation) -> Any:
    maker, out = s.maker(eqn.inputs[0]), eqn.outputs[0]
    if maker is None or maker.primitive.name != "negative" or out.dtype.kind not in "fc":
        return None
    if eqn.inputs[0].dtype != out.dtype:
        return None
    return s.emit_like("negative", [s.emit_like("sum", maker.inputs, eqn, **eqn.params)], eqn)


@rule("p_norm")
def norm(s: Any, eqn: Equation) -> Any:
    x, p, axes = eqn.inputs[0], eqn.params["p"], eqn.params["axes"]
    if not known(x, axes) or not np.isfinite(p):
        return None
    if p == 2:
        squares = s.emit("multiply", [x, x], x.shape, x.dtype)
        return s.emit_like("sqrt", [s.emit_like("sum", [squares], eqn, axes=axes)], eqn)
    size = s.emit("absolute", [x], x.shape, x.dtype)
    if p == 1:
        return s.emit_like("sum", [size], eqn, axes=axes)
    powers = s.emit("power", [size, float(p)], x.shape, x.dtype)
    total = s.emit_like("sum", [powers], eqn, axes=axes)
    return s.emit_like("power", [total, 1 / p], eqn)


@rule("var", "std")
def variance(s: Any, eqn: Equation) -> Any:
    x, axes, ddof = eqn.inputs[0], eqn.params["axes"], eqn.params["ddof"]
    n = size_of([x.shape[k] for k in axes])
    if not known(x, axes) or n <= ddof:
        return None
    kept = keep_axes(x.shape, axes)
    mean = s.emit_like("divide", [s.emit_like("sum", [x], eqn, axes=axes), float(n)], eqn)
    mean = s.emit("reshape", [mean], kept, x.dtype, shape=kept)
    deviation = s.emit("subtract", [x, mean], x.shape, x.dtype)
    squares = s.emit("multiply", [deviation, deviation], x.shape, x.dtype)
    total = s.emit_like("sum", [squares], eqn, axes=axes)
    y = s.emit_like("divide", [total, float(n - ddof)], eqn)
    return y if eqn.primitive.name == "var" else s.emit_like("sqrt", [y], eqn)


@rule("logaddexp_reduce", "logaddexp2_reduce")
def log_of_sum(s: Any, eqn: Equation) -> Any:
    x, axes = eqn.inputs[0], eqn.params["axes"]
    if not known(x, axes):
        return None
    two = "2" if eqn.primitive.name == "logaddexp2_reduce" else ""
    kept = keep_axes(x.shape, axes)
    top = s.emit_like("max", [x], eqn, axes=axes)
    finite = s.emit("isfinite", [top], top.shape, np.bool_)
    top = s.emit_like("where", [finite, top, 0.0], eqn)
    shift = s.emit("reshape", [top], kept, x.dtype, shape=kept)
    terms = s.emit("subtract", [x, shift], x.shape, x.dtype)
    terms = s.emit(f"exp{two}", [terms], x.shape, x.dtype)
    total = s.emit_like("sum", [terms], eqn, axes=axes)
    return s.emit_like("add", [s.emit_like(f"log{two}", [total], eqn), top], eqn)


@rule("diff")
def difference(s: Any, eqn: Equation) -> Any:
    x, axis = eqn.inputs[0], eqn.params["axis"]
    axis %= len(x.shape)
    shape = eqn.outputs[0].shape
    if x.dtype.kind == "b" or not size_of(shape):
        return None
    parts = []
    for part in (slice(1, None), slice(None, -1)):
        index = [slice(None)] * len(x.shape)
        index[axis] = part
        parts.append(s.emit("getitem", [x], shape, x.dtype, index=Index(index)))
    return s.emit_like("subtract", parts, eqn)


@rule("hermitian")
def one_triangle(s: Any, eqn: Equation) -> Any:
    """A real matrix of which one triangle is read: the other is its mirror image."""
    x, lower = eqn.inputs[0], eqn.params["lower"]
    if x.dtype.kind != "f":
        return None
    n, ndim = x.shape[-1], len(x.shape)
    axes = (*range(ndim - 2), ndim - 1, ndim - 2)
    mirrored = s.emit("transpose", [x], x.shape, x.dtype, axes=axes)
    read = np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T
    return s.emit_like("where", [read, x, mirrored], eqn)
