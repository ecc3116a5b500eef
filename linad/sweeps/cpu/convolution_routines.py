"""Convolutions along the last axes, of arrays with arrays.

y_g = Σ_k a_{g-k} v_k        0 <= g - k < n, 0 <= k < m        a number each for each axis

In mode "valid" only the g with all m terms are there. Where results are many, a loop over them is
the innermost one, and they stay in the cache until all terms are added, in order; where there are
fewer of them than terms, each is a sum by itself.
"""

from itertools import chain
from typing import Any

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.along_axis import words_of
from linad.sweeps.cpu.blas_lapack import offsets_of
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.loop_source import indented
from linad.sweeps.places import Place, constant_place, spread_over

BLOCK = 1024
"""Results that are computed together."""

FEW = 128
"""Terms of complex numbers that are added here; NumPy asks BLAS, which is faster where more are."""


def _added(d: str, axes: int) -> list[str]:
    """Statements that add one term after the other to the results from ``low`` to ``high``."""
    return [
        "for g in range(low, high):",
        f"    set_{d}(y, at + g, to_{d}(0), 0)",
        *_of_rows(
            axes,
            [
                "for k in range(m):",
                f"    c = get_{d}(z, v + k, -1)",
                "    for g in range(max(low, k), min(high, n + k)):",
                f"        term = get_{d}(x, a + g - k, -1) * c",
                f"        set_{d}(y, at + g, to_{d}(get_{d}(y, at + g, 0) + term), 0)",
            ],
        ),
    ]


def _summed(d: str, axes: int) -> list[str]:
    """Statements that sum up the terms of each result from ``low`` to ``high``."""
    terms = [
        "for k in range(max(g - n + 1, 0), min(g + 1, m)):",
        f"    term = get_{d}(x, a + g - k, -1) * get_{d}(z, v + k, -1)",
        "    total = accumulate(total, term)",
    ]
    return [
        "for g in range(low, high):",
        *indented([f"total = to_{d}(0)", *_of_rows(axes, terms)]),
        *indented([f"set_{d}(y, at + g, to_{d}(total), 0)"]),
    ]


def _of_rows(axes: int, inside: list[str]) -> list[str]:
    """Statements for each pair of rows that meet in the row of results: those that begin at entry
    ``a`` of one operand and ``v`` of the other."""
    begins = [f"a = {_nested(axes, 'g{0} - k{0}', 'n')}", f"v = {_nested(axes, 'k{0}', 'm')}"]
    found = [*begins, *inside]
    for i in reversed(range(axes - 1)):
        head = f"for k{i} in range(max(g{i} - n{i} + 1, 0), min(g{i} + 1, m{i})):"
        found = [head, *indented(found)]
    return found


def _nested(axes: int, number: str, length: str) -> str:
    """Where a row begins, of numbers and lengths by axes; the last axis has no number."""
    place = "0"
    for i in range(axes - 1):
        after = f"{length}{i + 1}" if i + 2 < axes else length
        place = f"({place} + {number.format(i)}) * {after}"
    return place


def _source(d: str, axes: int, sums: bool) -> str:
    """Source of the kernel: a row of results after the other."""
    row = [
        "x = operand(p, 0) + get_i8(q, b, -1)",
        "z = operand(p, 1) + get_i8(s, b, -1)",
        "at = t * (after - first) - first",
        f"for low in range(first, after, {BLOCK}):",
        f"    high = min(low + {BLOCK}, after)",
        *indented(_summed(d, axes) if sums else _added(d, axes)),
    ]
    reads, numbers = [], ["b = t"]
    for i in reversed(range(axes - 1)):
        words = [f"operand(p, {9 + 4 * i + k})" for k in range(4)]
        names = f"n{i}", f"m{i}", f"first{i}", f"after{i}"
        reads += [f"{name} = {word}" for name, word in zip(names, words, strict=True)]
        numbers += [f"g{i} = first{i} + b % (after{i} - first{i})", f"b //= after{i} - first{i}"]
    lines = [
        "y = operand(p, 2)",
        *("q = operand(p, 3)", "s = operand(p, 4)", "n = operand(p, 5)", "m = operand(p, 6)"),
        *("first = operand(p, 7)", "after = operand(p, 8)", *reads),
        "for t in range(start, stop):",
        *indented([*numbers, *row]),
        "return 0",
    ]
    return "\n".join(["def kernel(p, start, stop):", *indented(lines)]) + "\n"


@routine("convolve")
def convolve(lowering: Any, eqn: Equation) -> bool:
    """The leading axes are broadcast."""
    out, mode, axes = eqn.outputs[0], eqn.params["mode"], eqn.params.get("axes", 1)
    d = name_of_dtype(out.dtype)
    places = [lowering.place_of(operand) for operand in eqn.inputs]
    if d is None or d == "b1" or any(name_of_dtype(p.dtype) is None for p in places):
        return False
    if not all(size_of(p.shape) for p in places):
        return False
    n, m = [p.shape[-axes:] for p in places]
    if mode == "full" and size_of(n) < size_of(m):
        places.reverse()
        n, m = m, n
    length = out.shape[-axes:]
    if axes == 1 and d[0] == "c" and FEW < m[0] <= length[0]:
        return False
    a, v = [contiguous(lowering, in_dtype(lowering, p, out.dtype)) for p in places]
    y, lead = lowering.result(out), out.shape[:-axes]
    tables = [_blocks_of(p, lead, axes) for p in (a, v)]
    first = [k - 1 if mode == "valid" else 0 for k in m]
    sizes = [(n[i], m[i], first[i], first[i] + length[i]) for i in (axes - 1, *range(axes - 1))]
    words = [(a.buffer, 0), (v.buffer, 0), *words_of(y, *tables), *chain.from_iterable(sizes)]
    text = _source(d, axes, sums=length[-1] < m[-1])
    lowering.emit(text, size_of((*lead, *length[:-1])), words, "convolve")
    return True


def _blocks_of(place: Place, lead: tuple[int, ...], axes: int) -> Place:
    """Where each of the operands begins that are broadcast to leading axes."""
    return constant_place(offsets_of(spread_over(place, lead, axes), axes))
