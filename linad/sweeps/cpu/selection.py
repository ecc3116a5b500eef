"""Where the entries stand that come at some places of a sorted line, without sorting all of it.

What lies around a place is halved until all of it is equal: entries that are smaller than one that
is picked go to the front, those equal to it follow. Which one is picked is a matter of chance, so
that no order of entries is a bad one; where the place is the first or the last that is left, it is
the smallest or the greatest. Entries are compared as integers (`linad.sweeps.cpu.merge_sort`), and
of equal ones the first comes first.

Source: C. Hoare, "Algorithm 65: Find", Communications of the ACM 4, 1961.
"""

from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps import sorted_orders
from linad.sweeps.along_axis import words_of
from linad.sweeps.cpu.merge_sort import key
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import contiguous
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import constant_place, new_place
from linad.sweeps.searching import INTEGER, is_ordered

_SOURCE = """\
def kernel(p, start, stop):
    x = operand(p, 0)
    y = operand(p, 1)
    n = operand(p, 2)
    m = 1
    places = operand(p, 3)
    count = operand(p, 4)
    seed = 1
    for t in range(start, stop):
        at = t * n
        u = operand(p, 5) + at * 8
        w = operand(p, 6) + at * 8
        for own in range(n):
            {key}
            set_i8(u, own, a, 0)
            set_i8(w, own, a, 0)
            set_i8(y, at + own, own, 0)
        found = 0
        value = 0
        smaller = 0
        for c in range(count):
            k = get_i8(places, c, -1)
            low = found
            high = n
            while found <= k:
                value = get_i8(w, low, 0)
                if k == low or k == high - 1:
                    sign = select(k == low, 1, -1)
                    for i in range(low, high):
                        b = get_i8(w, i, 0)
                        value = select(sign * b < sign * value, b, value)
                elif high - low > 3:
                    seed = (seed * 1103515245 + 12345) % 2147483648
                    a = get_i8(w, low + seed % (high - low), 0)
                    seed = (seed * 1103515245 + 12345) % 2147483648
                    b = get_i8(w, low + seed % (high - low), 0)
                    seed = (seed * 1103515245 + 12345) % 2147483648
                    value = get_i8(w, low + seed % (high - low), 0)
                    value = max(min(a, b), min(max(a, b), value))
                smaller = low
                for i in range(low, high):
                    b = get_i8(w, i, 0)
                    set_i8(w, i, get_i8(w, smaller, 0), 0)
                    set_i8(w, smaller, b, 0)
                    smaller = smaller + select(b < value, 1, 0)
                if k < smaller:
                    high = smaller
                else:
                    low = smaller
                    for i in range(smaller, high):
                        b = get_i8(w, i, 0)
                        set_i8(w, i, get_i8(w, low, 0), 0)
                        set_i8(w, low, b, 0)
                        low = low + select(b == value, 1, 0)
                    found = select(k < low, low, found)
            rank = k - smaller
            own = 0
            while rank >= 0:
                rank = rank - select(get_i8(u, own, 0) == value, 1, 0)
                own = own + 1
            set_i8(y, at + k, own - 1, 0)
    return 0
"""


@routine("ordered_places")
def ordered_places(lowering: Any, eqn: Equation) -> bool:
    place, out = lowering.place_of(eqn.inputs[0]), eqn.outputs[0]
    n = place.shape[-1]
    kth = np.unique(np.array(eqn.params["kth"], INTEGER) % n)
    if len(kth) > n.bit_length() or not is_ordered(place.dtype):
        return sorted_orders.ordered_places(lowering, eqn)  # all are sorted sooner
    x, y = contiguous(lowering, place), lowering.result(out)
    keys = [new_place(x.shape, INTEGER) for _ in range(2)]
    words = [*words_of(x, y), n, *words_of(constant_place(kth)), len(kth), *words_of(*keys)]
    text = _SOURCE.replace("{key}\n", key(name_of_dtype(x.dtype) or ""))
    lowering.emit(text, size_of(x.shape[:-1]), words, "places in order")
    return True
