"""Colourings of patterns: columns that share no row can be seeded together.

Columns of one colour go through the operator as one seed, and each row of the result holds the
entry of at most one of them (A. R. Curtis, M. J. D. Powell, J. K. Reid, "On the estimation of
sparse Jacobian matrices", 1974). For a symmetric matrix each entry may be read from its row or
from its column, which a star colouring of the adjacency graph ensures with fewer colours
(A. H. Gebremedhin, F. Manne, A. Pothen, "What color is your Jacobian? Graph coloring for
computing derivatives", SIAM Review 47, 2005).
"""

from typing import Any

import numpy as np

from linad.linalg.sparsity import graph_kernels as kernels
from linad.operators.relations import Relation

ORDERS = ("natural", "largest first", "smallest last")
"""In which order columns choose: as they come; those with most neighbours first; or so that each
has as few neighbours as can be among those before it."""


def colour_columns(pattern: Relation, order: str | None = None) -> np.ndarray:
    """Colour columns so that no two of a colour share a row.

    Parameters
    ----------
    pattern : Relation (m, n)
    order : str, optional
        One of `ORDERS`. None: the first that needs no more colours than the longest row, else
        the one with fewest.

    Returns
    -------
    ndarray of int (n,)
        Colours 0, 1, ...

    Notes
    -----
    Costs the sum over the rows of their length squared, for each order tried.
    """
    least = int(pattern.counts.max(initial=0))
    if order is None and least in (0, 1, pattern.n):
        return np.arange(pattern.n) if least > 1 else np.zeros(pattern.n, np.int64)
    best = None
    for name in ORDERS if order is None else (order,):
        colours = _colour_in(pattern, name)
        if best is None or colours.max(initial=-1) < best.max(initial=-1):
            best = colours
        if best.max(initial=-1) + 1 <= least:
            break
    assert best is not None
    return best


def _colour_in(pattern: Relation, name: str) -> np.ndarray:
    graph = pattern.indptr, pattern.indices, pattern.T.indptr, pattern.T.indices
    steps = int(np.sum(pattern.counts.astype(np.int64) ** 2)) + pattern.n
    return kernels.run(kernels.colour_greedily, steps, _order(name, graph, steps), *graph)


def _order(name: str, graph: tuple[Any, ...], steps: int) -> np.ndarray:
    n = len(graph[2]) - 1
    if name == "natural":
        return np.arange(n)
    degrees = kernels.run(kernels.count_neighbours, steps, *graph)
    if name == "largest first":
        return np.argsort(-degrees, kind="stable")
    return kernels.run(kernels.order_smallest_last, steps, degrees, *graph)


def colour_stars(pattern: Relation, order: str | None = None) -> np.ndarray:
    """Colour the vertices of a symmetric pattern so that any two colours induce stars.

    Parameters
    ----------
    pattern : Relation (n, n)
    order : str, optional
        As in `colour_columns`.

    Returns
    -------
    ndarray of int (n,)
    """
    counts = pattern.counts.astype(np.int64)
    steps = int(np.sum(counts**2)) + pattern.n
    graph = pattern.indptr, pattern.indices
    best = None
    for name in ORDERS if order is None else (order,):
        if name == "natural":
            places = np.arange(pattern.n)
        elif name == "largest first":
            places = np.argsort(-counts, kind="stable")
        else:
            places = _order(name, (*graph, *graph), steps)
        colours = kernels.run(kernels.colour_stars, steps, places, *graph)
        if best is None or colours.max(initial=-1) < best.max(initial=-1):
            best = colours
        if best.max(initial=-1) + 1 <= 2:
            break
    assert best is not None
    return best
