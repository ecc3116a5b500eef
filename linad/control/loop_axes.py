"""Which loops in each other one loop is, by the numbers that its repetitions name entries with.

for i in range(3):
    for j in range(4):           entry 10 i + j:  0 1 2 3  10 11 12 13  20 21 22 23
        u[i, j] ...
"""

import itertools

import numpy as np

from linad.core.shapes import Shape


def axes_of(counters: list[np.ndarray], n: int) -> Shape:
    """The lengths of the loops in each other that ``n`` repetitions are, by their counters."""
    sizes = {n}  # of the repetitions of an outer loop, and all of those inside
    for counter in counters:
        if counter.ndim == 1 and counter.dtype.kind in "iu":
            sizes |= _periods(counter)
    found = sorted(sizes)
    if any([b % a for a, b in itertools.pairwise(found)]):
        return (n,)
    return tuple([b // a for a, b in itertools.pairwise([1, *found])][::-1])


def _periods(counter: np.ndarray) -> set[int]:
    """After how many numbers the loops inside begin anew, if these are the numbers of such."""
    found: set[int] = set()
    size = 1
    while len(counter) > 1:
        steps = np.diff(counter)
        breaks = np.flatnonzero(steps != steps[0])
        if not breaks.size:
            return found
        period = int(breaks[0]) + 1
        if period < 2 or len(counter) % period:
            return set()
        rows = counter.reshape(-1, period)
        if np.any(np.diff(rows, axis=1) != steps[0]):
            return set()
        size *= period
        found.add(size)
        counter = rows[:, 0]
    return found


def steps_along(numbers: np.ndarray) -> Shape | None:
    """What to add for one more along each axis; None if it is not the same all along."""
    steps = []
    for axis in range(numbers.ndim):
        along = np.diff(numbers, axis=axis)
        if along.size and np.any(along != along.flat[0]):
            return None
        steps.append(int(along.flat[0]) if along.size else 0)
    return tuple(steps)
