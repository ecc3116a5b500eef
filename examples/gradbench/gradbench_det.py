"""The determinant of a matrix (n, n) by expansion in minors, along the rows from the last.

A minor of the last k rows belongs to a set of k columns S = {s_0 < s_1 ...}:

    M_S = sum_j (-1)^j a_(n-k, s_j) M_(S without s_j)

Equal minors are computed once, and all of one size together: 2^n of them, where the recursion
visits n! products.
"""

import functools
from itertools import combinations

import numpy as np

import linad


@functools.cache
def expansions(n):
    """For each size of minors the columns (sets, size), and the places of the smaller ones."""
    found, places = [], {(): 0}
    for size in range(1, n + 1):
        sets = list(combinations(range(n), size))
        smaller = [[places[s[:j] + s[j + 1 :]] for j in range(size)] for s in sets]
        found.append((np.array(sets), np.array(smaller)))
        places = {s: k for k, s in enumerate(sets)}
    return found


def primal(a):
    minors = np.ones(1)
    for k, (columns, smaller) in enumerate(expansions(len(a)), 1):
        signs = 1.0 - 2.0 * (np.arange(k) % 2)
        minors = np.sum(signs * a[-k][columns] * minors[smaller], axis=1)
    return minors[0]


def prepare(data):
    return (np.reshape(data["A"], (data["ell"], data["ell"])),)


FUNCTIONS = {
    "primal": (prepare, linad.jit(primal), float),
    "gradient": (prepare, linad.jit(linad.grad(primal)), lambda g: g.ravel().tolist()),
}
