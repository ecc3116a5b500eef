"""What goes along an axis entry by entry: running sums and means, recurrences, filters,
positions, segments.

Arrays are put in C order first, so an axis is a middle one of three:

    y[o, k, i]      o outer axes together, k along the axis, i inner axes together

and the innermost loop runs over neighbours in memory.
"""

from typing import Any

import numpy as np

from linad.core.shapes import Shape, normalize_axis, size_of
from linad.core.tape import Equation
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.loop_reductions import axis_of
from linad.sweeps.places import Place, constant_place, new_place
from linad.sweeps.routines import routine

HEAD = (
    "def kernel(p, start, stop):\n"
    "    x = operand(p, 0)\n    y = operand(p, 1)\n    n = operand(p, 2)\n    m = operand(p, 3)\n"
)


def split(shape: Shape, axis: int) -> tuple[int, int, int]:
    """Lengths of the outer axes together, the axis, and the inner axes together."""
    return size_of(shape[:axis]), shape[axis], size_of(shape[axis + 1 :])


def words_of(*places: Place) -> list[Any]:
    return [(p.buffer, p.offset) for p in places]


@routine("cumsum", "cumprod")
def accumulate(lowering: Any, eqn: Equation) -> bool:
    out = eqn.outputs[0]
    d = name_of_dtype(out.dtype)
    place = lowering.place_of(eqn.inputs[0])
    if d is None or d == "b1" or name_of_dtype(place.dtype) is None or not size_of(out.shape):
        return False
    x, y = contiguous(lowering, in_dtype(lowering, place, out.dtype)), lowering.result(out)
    outer, n, inner = split(out.shape, eqn.params["axis"])
    sign = "+" if eqn.primitive.name == "cumsum" else "*"
    text = HEAD + (
        "    for o in range(start, stop):\n"
        "        at = o * n * m\n"
        "        for i in range(at, at + m):\n"
        f"            set_{d}(y, i, get_{d}(x, i, -1), 0)\n"
        "        for i in range(at + m, at + n * m):\n"
        f"            t = get_{d}(y, i - m, 0) {sign} get_{d}(x, i, -1)\n"
        f"            set_{d}(y, i, to_{d}(t), 0)\n"
        "    return 0\n"
    )
    lowering.emit(text, outer, [*words_of(x, y), n, inner], eqn.primitive.name)
    return True


def _floating(lowering: Any, eqn: Equation) -> str | None:
    """The name of the dtype of a result, real or complex; None if it has no entries, or if kernels
    do not know it or that of an operand."""
    out = eqn.outputs[0]
    d = name_of_dtype(out.dtype)
    known = all(name_of_dtype(lowering.place_of(a).dtype) is not None for a in eqn.inputs)
    return d if d is not None and d[0] in "fc" and known and size_of(out.shape) else None


@routine("recurrence")
def recurrence(lowering: Any, eqn: Equation) -> bool:
    """h_k = a_k h_{k-1} + b_k, term by term."""
    out, d = eqn.outputs[0], _floating(lowering, eqn)
    if d is None:
        return False
    places = [lowering.place_of(a) for a in eqn.inputs]
    a, b = [spread(lowering, p, out.shape, out.dtype) for p in places]
    y = lowering.result(out)
    outer, n, inner = split(out.shape, normalize_axis(eqn.params["axis"], len(out.shape), ""))
    backward = eqn.params["backward"]
    order, first, before = (
        ("range(n - 2, -1, -1)", "(n - 1) * m", "+ m") if backward else ("range(1, n)", "0", "- m")
    )
    text = HEAD + (
        "    a = operand(p, 4)\n"
        "    for o in range(start, stop):\n"
        "        at = o * n * m\n"
        f"        for i in range(at + {first}, at + {first} + m):\n"
        f"            set_{d}(y, i, get_{d}(x, i, -1), 0)\n"
        f"        for k in {order}:\n"
        "            for i in range(at + k * m, at + k * m + m):\n"
        f"                t = get_{d}(a, i, -1) * get_{d}(y, i {before}, 0) + get_{d}(x, i, -1)\n"
        f"                set_{d}(y, i, to_{d}(t), 0)\n"
        "    return 0\n"
    )
    lowering.emit(text, outer, [*words_of(b, y), n, inner, *words_of(a)], "recurrence")
    return True


@routine("allpole")
def allpole(lowering: Any, eqn: Equation) -> bool:
    """y_n = (x_n - Σ_k a_k y_{n-k}) / a_0, along the last axis.

    The terms of the oldest samples come first, and each sample that is read again is multiplied by
    the zero that it has as a weight in the numerator: so it is in SciPy's filter, where infinities
    leave NaN behind them.
    """
    out, d = eqn.outputs[0], _floating(lowering, eqn)
    if d is None:
        return False
    places = [lowering.place_of(operand) for operand in eqn.inputs]
    a, x = [contiguous(lowering, in_dtype(lowering, p, out.dtype)) for p in places]
    m, weights, y = a.shape[0], new_place(a.shape, out.dtype), lowering.result(out)
    lowering.emit(_weights(d), m, words_of(a, weights), "weights")
    words = [*words_of(x, y), out.shape[-1], m, *words_of(weights)]
    lowering.emit(_recursion(d), size_of(out.shape[:-1]), words, "allpole")
    return True


def _weights(d: str) -> str:
    """Source that divides the coefficients by the first one, which itself becomes its inverse."""
    real = f"f{int(d[1:]) // 2}"
    quotient = "share / first" if d[0] == "f" else f"z_divide(share, first, to_{real}(1))"
    return (
        "def kernel(p, start, stop):\n"
        "    a = operand(p, 0)\n    c = operand(p, 1)\n"
        f"    first = get_{d}(a, 0, -1)\n"
        "    for k in range(start, stop):\n"
        f"        share = select(k == 0, to_{d}(1), get_{d}(a, k, -1))\n"
        f"        set_{d}(c, k, to_{d}({quotient}), 0)\n"
        "    return 0\n"
    )


def _recursion(d: str) -> str:
    """Source of the filter; the latest sample stays in a register."""
    return HEAD + (
        "    c = operand(p, 4)\n"
        f"    first = get_{d}(c, 0, 0)\n"
        f"    second = get_{d}(c, min(1, m - 1), 0)\n"
        "    for o in range(start, stop):\n"
        "        at = o * n\n"
        f"        read = get_{d}(x, at, -1)\n"
        f"        made = to_{d}(first * read)\n"
        f"        set_{d}(y, at, made, 0)\n"
        "        for k in range(1, n):\n"
        f"            t = to_{d}(0)\n"
        "            for j in range(min(m - 1, k), 1, -1):\n"
        f"                t = to_{d}(t + to_{d}(0) * get_{d}(x, at + k - j, -1))\n"
        f"                t = to_{d}(t - get_{d}(c, j, 0) * get_{d}(y, at + k - j, 0))\n"
        "            if m > 1:\n"
        f"                t = to_{d}(t + to_{d}(0) * read - second * made)\n"
        f"            read = get_{d}(x, at + k, -1)\n"
        f"            made = to_{d}(t + first * read)\n"
        f"            set_{d}(y, at + k, made, 0)\n"
        "    return 0\n"
    )


@routine("running_mean")
def running_mean(lowering: Any, eqn: Equation) -> bool:
    """Means of windows along the last axis, each of the sum before: as SciPy adds, in doubles."""
    out, size = eqn.outputs[0], eqn.params["size"]
    place = lowering.place_of(eqn.inputs[0])
    d = name_of_dtype(out.dtype)
    if d is None or d[0] not in "fc" or place.dtype != out.dtype or not size_of(out.shape):
        return False
    x, y = contiguous(lowering, place), lowering.result(out)
    real = d[0] == "f"
    wide = "f8" if real else "c16"
    mean = "t / size" if real else "complex(t.real / size, t.imag / size)"
    text = HEAD + (
        "    size = operand(p, 4)\n"
        "    for o in range(start, stop):\n"
        "        at = o * n\n"
        f"        t = to_{wide}(0)\n"
        "        for k in range(size):\n"
        f"            t = t + to_{wide}(get_{d}(x, at + k, -1))\n"
        f"        set_{d}(y, o * m, to_{d}({mean}), 0)\n"
        "        for k in range(1, m):\n"
        f"            added = to_{wide}(get_{d}(x, at + k + size - 1, -1))\n"
        f"            t = t + (added - to_{wide}(get_{d}(x, at + k - 1, -1)))\n"
        f"            set_{d}(y, o * m + k, to_{d}({mean}), 0)\n"
        "    return 0\n"
    )
    n, m = place.shape[-1], out.shape[-1]
    lowering.emit(text, size_of(out.shape[:-1]), [*words_of(x, y), n, m, size], "running_mean")
    return True


def spread(lowering: Any, place: Place, shape: Shape, dtype: np.dtype[Any]) -> Place:
    """The place in C order, in a shape and dtype."""
    if place.shape == shape and place.dtype == dtype:
        return contiguous(lowering, place)
    fresh = new_place(shape, dtype)
    lowering.copy(fresh, place)
    return fresh


def _place_of_extreme(d: str, sign: str, stored: str) -> str:
    """Source that looks for the first extreme entry; ``stored`` after all entries, or each."""
    return HEAD + (
        "    for o in range(start, stop):\n"
        "        for i in range(m):\n"
        f"            best = get_{d}(x, o * n * m + i, -1)\n"
        "            found = 0\n"
        "            for k in range(n):\n"
        f"                t = get_{d}(x, (o * n + k) * m + i, -1)\n"
        f"                if (t {sign} best or t != t) and best == best:\n"
        "                    best = t\n                    found = k\n"
        f"{stored}"
        "    return 0\n"
    )


@routine("argmax", "argmin")
def position(lowering: Any, eqn: Equation) -> bool:
    """Where the first extreme entry is; NaN counts as extreme."""
    out = eqn.outputs[0]
    place = lowering.place_of(eqn.inputs[0])
    d, params = name_of_dtype(place.dtype), eqn.params
    known, axis = axis_of(eqn, None)
    if d is None or d[0] == "c" or not known or not params.keys() <= {"axis"}:
        return False
    if not size_of(place.shape) or out.dtype != np.int64:
        return False
    x, y = contiguous(lowering, place), lowering.result(out)
    if axis is None:
        outer, n, inner = 1, size_of(place.shape), 1
    else:
        outer, n, inner = split(place.shape, axis % len(place.shape))
    sign = ">" if eqn.primitive.name == "argmax" else "<"
    text = _place_of_extreme(d, sign, "            set_i8(y, o * m + i, found, 0)\n")
    lowering.emit(text, outer, [*words_of(x, y), n, inner], eqn.primitive.name)
    return True


@routine("first_attaining")
def first_attaining(lowering: Any, eqn: Equation) -> bool:
    """Where, up to each entry, the first is that attains the running extremum."""
    out, ufunc = eqn.outputs[0], eqn.params["ufunc"]
    place = lowering.place_of(eqn.inputs[0])
    d = name_of_dtype(place.dtype)
    if d is None or d[0] != "f" or not size_of(out.shape) or out.dtype != np.int64:
        return False
    x, y = contiguous(lowering, place), lowering.result(out)
    outer, n, inner = split(out.shape, eqn.params["axis"])
    sign = ">" if ufunc is np.maximum else "<"
    stored = "                set_i8(y, (o * n + k) * m + i, found, 0)\n"
    text = _place_of_extreme(d, sign, stored)
    lowering.emit(text, outer, [*words_of(x, y), n, inner], "first_attaining")
    return True


@routine("segment_sum")
def segment_sum(lowering: Any, eqn: Equation) -> bool:
    """Sums from each start to the next."""
    out = eqn.outputs[0]
    d = name_of_dtype(out.dtype)
    place = lowering.place_of(eqn.inputs[0])
    starts = np.asarray(eqn.params["starts"], np.int64)
    if d is None or d == "b1" or place.dtype != out.dtype or not size_of(out.shape):
        return False
    x, y = contiguous(lowering, place), lowering.result(out)
    outer, n, inner = split(place.shape, eqn.params["axis"])
    table = constant_place(np.append(starts, n))
    text = HEAD + (
        "    q = operand(p, 4)\n    s = operand(p, 5)\n"
        "    for o in range(start, stop):\n"
        "        for j in range(s):\n"
        "            for i in range(m):\n"
        f"                total = to_{d}(0)\n"
        "                for k in range(get_i8(q, j, -1), get_i8(q, j + 1, -1)):\n"
        f"                    total = accumulate(total, get_{d}(x, (o * n + k) * m + i, -1))\n"
        f"                set_{d}(y, (o * s + j) * m + i, total, 0)\n"
        "    return 0\n"
    )
    words = [*words_of(x, y), n, inner, *words_of(table), len(starts)]
    lowering.emit(text, outer, words, "segment_sum")
    return True
