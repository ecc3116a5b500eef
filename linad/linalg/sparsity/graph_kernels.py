"""Loops over graphs, written for Numba and run as plain Python where they are short.

`run` compiles a loop when it is first worth it, and keeps the machine code on disk.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.machine_code import kept_on_disk

WORTH = 50_000
"""Steps from which compiling, half a second for Numba alone, beats running in Python."""


def run(loop: Callable[..., Any], steps: int, *args: Any) -> Any:
    """Call a loop over arrays of integers, of about this many steps."""
    args = tuple([a.astype(np.int64, copy=False) for a in args])  # one version is compiled
    return (_compiled(loop) if steps > WORTH else loop)(*args)


@functools.cache
def _compiled(loop: Callable[..., Any]) -> Any:
    return kept_on_disk()(loop)


def colour_greedily(
    order: Array, row_ptr: Array, columns: Array, column_ptr: Array, rows: Array
) -> Any:  # pragma: no cover - compiled
    """Give each column the first colour that no column sharing a row with it has.

    Parameters
    ----------
    order : ndarray of int (n,)
        Columns in the order in which they choose.
    row_ptr, columns : ndarray of int
        Compressed rows.
    column_ptr, rows : ndarray of int
        Compressed columns of the same pattern.

    Returns
    -------
    ndarray of int (n,)
    """
    n = order.size
    colours = np.full(n, -1, np.int64)
    taken = np.full(n + 1, -1, np.int64)  # the column that last saw a colour taken
    for j in order:
        for p in range(column_ptr[j], column_ptr[j + 1]):
            i = rows[p]
            for q in range(row_ptr[i], row_ptr[i + 1]):
                colour = colours[columns[q]]
                if colour >= 0:
                    taken[colour] = j
        colour = 0
        while taken[colour] == j:
            colour += 1
        colours[j] = colour
    return colours


def count_neighbours(
    row_ptr: Array, columns: Array, column_ptr: Array, rows: Array
) -> Any:  # pragma: no cover - compiled
    """For each column, how many others share a row with it."""
    n = column_ptr.size - 1
    degrees = np.zeros(n, np.int64)
    seen = np.full(n, -1, np.int64)
    for j in range(n):
        seen[j] = j
        for p in range(column_ptr[j], column_ptr[j + 1]):
            i = rows[p]
            for q in range(row_ptr[i], row_ptr[i + 1]):
                k = columns[q]
                if seen[k] != j:
                    seen[k] = j
                    degrees[j] += 1
    return degrees


def order_smallest_last(
    degrees: Array, row_ptr: Array, columns: Array, column_ptr: Array, rows: Array
) -> Any:  # pragma: no cover - compiled
    """Take away a column with fewest neighbours left, again and again; the last one goes first.

    Columns wait in lists by their number of neighbours, linked both ways.
    """
    n = degrees.size
    degrees = degrees.copy()
    head = np.full(n + 1, -1, np.int64)
    after = np.full(n, -1, np.int64)
    before = np.full(n, -1, np.int64)
    for j in range(n - 1, -1, -1):
        d = degrees[j]
        after[j] = head[d]
        if head[d] >= 0:
            before[head[d]] = j
        head[d] = j
    gone = np.zeros(n, np.bool_)
    seen = np.full(n, -1, np.int64)
    order = np.empty(n, np.int64)
    least = 0
    for place in range(n - 1, -1, -1):
        while head[least] < 0:
            least += 1
        j = head[least]
        head[least] = after[j]
        if after[j] >= 0:
            before[after[j]] = -1
        gone[j] = True
        seen[j] = j
        order[place] = j
        for p in range(column_ptr[j], column_ptr[j + 1]):
            i = rows[p]
            for q in range(row_ptr[i], row_ptr[i + 1]):
                k = columns[q]
                if gone[k] or seen[k] == j:
                    continue
                seen[k] = j
                d = degrees[k]
                if before[k] >= 0:
                    after[before[k]] = after[k]
                else:
                    head[d] = after[k]
                if after[k] >= 0:
                    before[after[k]] = before[k]
                d -= 1
                degrees[k] = d
                before[k] = -1
                after[k] = head[d]
                if head[d] >= 0:
                    before[head[d]] = k
                head[d] = k
        least = max(least - 1, 0)
    return order


def colour_stars(order: Array, ptr: Array, neighbours: Array) -> Any:  # pragma: no cover - compiled
    """Colour a graph so that neighbours differ, and every path of four vertices has three colours.

    Two colours then induce stars only. A vertex may take a colour that is two steps away if the
    vertex between does not become, with it, the middle of such a path.

    Parameters
    ----------
    order : ndarray of int (n,)
    ptr, neighbours : ndarray of int
        Compressed rows of a symmetric pattern; its diagonal does not count.

    Returns
    -------
    ndarray of int (n,)
    """
    n = order.size
    colours = np.full(n, -1, np.int64)
    taken = np.full(n + 1, -1, np.int64)
    many = np.full(n + 1, -1, np.int64)  # colours that two neighbours of v have, by v
    once = np.full(n + 1, -1, np.int64)
    for v in order:
        for p in range(ptr[v], ptr[v + 1]):
            w = neighbours[p]
            if w != v and colours[w] >= 0:
                taken[colours[w]] = v
                if once[colours[w]] == v:
                    many[colours[w]] = v
                once[colours[w]] = v
        for p in range(ptr[v], ptr[v + 1]):
            w = neighbours[p]
            if w == v:
                continue
            c = colours[w]
            for q in range(ptr[w], ptr[w + 1]):
                x = neighbours[q]
                if x == v or colours[x] < 0 or taken[colours[x]] == v:
                    continue
                if x == w:
                    continue
                if c < 0 or many[c] == v:
                    # w could take any colour yet; or x - w - v - w' with colours of x = v, w = w'.
                    taken[colours[x]] = v
                    continue
                for s in range(ptr[x], ptr[x + 1]):
                    y = neighbours[s]
                    if y != w and y != x and colours[y] == c:
                        taken[colours[x]] = v  # v - w - x - y
                        break
        colour = 0
        while taken[colour] == v:
            colour += 1
        colours[v] = colour
    return colours
