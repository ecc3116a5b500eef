"""Sorting on one core: short runs by insertion, merged two at a time until there is one.

    for each line x[o, :, i]:    order    the numbers of its entries, sorted by what is there

What is compared are integers, one for each entry, which have the order that NumPy sorts by: entries
that are integers are their own. The bits of a floating-point number are a sign and a magnitude v,
which grows with the number; v and -v are in its order, so that -0.0 and 0.0 are equal. NaN is last.

Runs are as long as they are found, those that descend are turned around. Equal entries keep their
order. The order of the run before is looked at first (`linad.sweeps.cpu.kept_orders`).

Source: D. Knuth, "The Art of Computer Programming", volume 3, 2nd edition, 1998, sections 5.2.1
and 5.2.4.
"""

from typing import Any

import numpy as np

from linad.sweeps.along_axis import split, words_of
from linad.sweeps.cpu.kept_orders import if_still_sorted
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, new_place
from linad.sweeps.searching import INTEGER

RUN = 16
"""Entries of a run that is sorted by insertion."""

LONGEST = 512
"""Entries of a line that are sorted here. Where there are more, NumPy's own sort is called by its
address (`linad.sweeps.cpu.numpy_sorts`), which is the faster one if many are equal."""

LAST = np.iinfo(np.int64).max
"""The integer of NaN."""


def key(d: str) -> str:
    """Statements of a kernel that read an entry as the integer ``a``."""
    if d[0] != "f":
        return f"a = to_i8(get_{d}(x, at + own * m, -1))\n"
    least = np.iinfo(f"i{d[1]}").min
    return (
        f"a = to_i8(get_i{d[1]}(x, at + own * m, -1))\n"
        f"            a = a if a >= 0 else {least} - a\n"
        f"            e = get_{d}(x, at + own * m, -1)\n"
        f"            a = a if e == e else {LAST}\n"
    )


def _source(d: str, first: str, kept: bool) -> str:
    """The kernel that sorts lines; ``first`` is the number of the k-th entry before."""
    return (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n    y = operand(p, 1)\n"
        "    q = operand(p, 2)\n    s = operand(p, 3)\n"
        "    u = operand(p, 4)\n    r = operand(p, 5)\n"
        "    g = operand(p, 6)\n    n = operand(p, 7)\n    m = operand(p, 8)\n"
        "    for t in range(start, stop):\n"
        "        at = t // m * n * m + t % m\n"
        f"{if_still_sorted(d) if kept else ''}"
        "        for k in range(n):\n"
        f"            own = {first}\n"
        f"            {key(d)}"
        "            set_i8(q, k, a, 0)\n"
        "            set_i8(s, k, own, 0)\n"
        f"{_RUNS}{_PASSES}"
        "        for k in range(n):\n"
        "            set_i8(y, at + k * m, get_i8(s, k, 0), 0)\n"
        "    return 0\n"
    )


_RUNS = f"""\
        count = 0
        low = 0
        while low < n:
            high = low + 1
            if high < n and get_i8(q, high, 0) < get_i8(q, low, 0):
                while high < n and get_i8(q, high, 0) < get_i8(q, high - 1, 0):
                    high = high + 1
                for k in range((high - low) // 2):
                    i = low + k
                    j = high - 1 - k
                    a = get_i8(q, i, 0)
                    own = get_i8(s, i, 0)
                    set_i8(q, i, get_i8(q, j, 0), 0)
                    set_i8(s, i, get_i8(s, j, 0), 0)
                    set_i8(q, j, a, 0)
                    set_i8(s, j, own, 0)
            else:
                while high < n and get_i8(q, high, 0) >= get_i8(q, high - 1, 0):
                    high = high + 1
            last = min(low + {RUN}, n)
            for k in range(high, last):
                a = get_i8(q, k, 0)
                own = get_i8(s, k, 0)
                j = k
                while j > low and a < get_i8(q, j - 1, 0):
                    set_i8(q, j, get_i8(q, j - 1, 0), 0)
                    set_i8(s, j, get_i8(s, j - 1, 0), 0)
                    j = j - 1
                set_i8(q, j, a, 0)
                set_i8(s, j, own, 0)
            set_i8(g, count, low, 0)
            count = count + 1
            low = max(high, last)
        set_i8(g, count, n, 0)
"""
"""Statements that find runs, and write down where each begins; short ones are made longer."""

_PASSES = """\
        while count > 1:
            for c in range(0, count, 2):
                low = get_i8(g, c, 0)
                middle = get_i8(g, c + 1, 0)
                high = get_i8(g, min(c + 2, count), 0)
                first = low if middle < high else middle
                while first < middle:
                    k = (first + middle) // 2
                    if get_i8(q, middle, 0) < get_i8(q, k, 0):
                        break
                    first = k + 1
                last = high
                while last > middle:
                    k = (middle + last) // 2
                    if get_i8(q, k, 0) < get_i8(q, middle - 1, 0):
                        break
                    last = k
                for k in range(first, last):
                    set_i8(u, k, get_i8(q, k, 0), 0)
                    set_i8(r, k, get_i8(s, k, 0), 0)
                i = first
                j = middle
                e = middle - 1
                f = last - 1
                both = min(middle - first, last - middle)
                for k in range(both):
                    a, b = get_i8(u, i, 0), get_i8(u, j, 0)
                    a2, b2 = get_i8(u, e, 0), get_i8(u, f, 0)
                    v, w = get_i8(r, i, 0), get_i8(r, j, 0)
                    v2, w2 = get_i8(r, e, 0), get_i8(r, f, 0)
                    right = 1 if b < a else 0
                    left = 1 if b2 < a2 else 0
                    set_i8(q, first + k, b if b < a else a, 0)
                    set_i8(s, first + k, w if b < a else v, 0)
                    set_i8(q, last - 1 - k, a2 if b2 < a2 else b2, 0)
                    set_i8(s, last - 1 - k, v2 if b2 < a2 else w2, 0)
                    j = j + right
                    i = i + 1 - right
                    e = e - left
                    f = f - 1 + left
                k = first + both
                while i <= e and j <= f:
                    a, b = get_i8(u, i, 0), get_i8(u, j, 0)
                    v, w = get_i8(r, i, 0), get_i8(r, j, 0)
                    right = 1 if b < a else 0
                    set_i8(q, k, b if b < a else a, 0)
                    set_i8(s, k, w if b < a else v, 0)
                    i = i + 1 - right
                    j = j + right
                    k = k + 1
                if i > e:
                    i, e = j, f
                for j in range(e + 1 - i):
                    set_i8(q, k + j, get_i8(u, i + j, 0), 0)
                    set_i8(s, k + j, get_i8(r, i + j, 0), 0)
                set_i8(g, c // 2, low, 0)
            count = (count + 1) // 2
            set_i8(g, count, n, 0)
"""
"""Statements that merge runs, two at a time, until there is one.

Halves of the left one that come before all of the right one stay, and halves of the right one that
come after all of the left one. The rest is put aside and merged from both ends, as far as the
shorter one reaches, so that one step need not wait for the other."""


def sorted_order(lowering: Any, x: Place, axis: int, order: Place | None = None) -> Place:
    """Add the instruction that sorts along an axis, as `linad.sweeps.target` says."""
    outer, n, inner = split(x.shape, axis)
    d = name_of_dtype(x.dtype)
    assert d is not None, "looked at before"
    first = "k" if order is None else "get_i8(y, at + k * m, 0)"
    kept = order is None and n > 1
    found = order or new_place(x.shape, INTEGER, "kept" if kept else "arena")
    sizes = (n, n, n, n, n // RUN + 2)
    scratch = [new_place((size,), INTEGER) for size in sizes]
    words = [*words_of(x, found, *scratch), n, inner]
    lowering.emit(_source(d, first, kept), outer * inner, words, "sort")
    return found
