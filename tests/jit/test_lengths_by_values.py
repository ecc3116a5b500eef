"""Results whose length hangs on values: what reads no more than the length decides by it."""

import numpy as np
import pytest
from kernels_in_python import kernels_in_python

import linad
from linad.errors import GuardError

POINTS = [
    np.array([1.0, -1.0, 2.0]),
    np.array([1.0, 2.0, 3.0]),
    np.array([-1.0, -2.0, -3.0]),
    np.array([1.0, 1.0, 1.0]),
    np.array([2.0, -1.0, 1.0]),
]

LENGTHS = {
    "nonzero": lambda x: np.nonzero(x > 0)[0].size,
    "method nonzero": lambda x: len((x > 0).nonzero()[0]),
    "flatnonzero": lambda x: len(np.flatnonzero(x > 0)),
    "argwhere": lambda x: np.argwhere(x > 0).T.shape[1],
    "where": lambda x: np.size(np.where(x > 0)[0]),
    "like": lambda x: np.sum(np.ones_like(np.flatnonzero(x > 0))),
    "bytes": lambda x: np.flatnonzero(x > 0).nbytes,
    "iterated": lambda x: sum([1 for _ in np.nonzero(x > 0)[0]]),
    "choice": lambda x: [7, 5, 3, 1][len(np.flatnonzero(x > 0))],
    "branch": lambda x: 2 if np.flatnonzero(x > 0).size > 1 else 3,
    "mask": lambda x: x[x > 0].size,
    "extract": lambda x: np.extract(x > 0, x).size,
    "compress": lambda x: np.compress(x > 0, x).size,
    "unique": lambda x: np.unique(x).size,
    "unique counts": lambda x: np.unique(x, return_counts=True)[1].size,
    "unique_counts": lambda x: np.unique_counts(x)[1].size,
    "unique_values": lambda x: np.unique_values(x).size,
    "bincount": lambda x: np.bincount((x + 4).astype(int)).size,
    "trim_zeros": lambda x: np.trim_zeros(np.maximum(x, 0)).size,
    "delete": lambda x: np.delete(x, x > 0).size,
    "intersect1d": lambda x: np.intersect1d(x, [1.0, 2.0]).size,
    "union1d": lambda x: np.union1d(x, [1.0, 2.0]).size,
    "setdiff1d": lambda x: np.setdiff1d(x, [1.0, 2.0]).size,
    "setxor1d": lambda x: np.setxor1d(x, [1.0, 2.0]).size,
    "repeat": lambda x: np.repeat(x, (x > 0).astype(int)).size,
    "histogram": lambda x: np.histogram(x, bins="auto")[0].size,
    "split": lambda x: len(np.split(x, np.flatnonzero(x > 0))),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths(name):
    length = LENGTHS[name]

    def f(x):
        return x * length(x)

    def total(x):
        return np.sum(x * length(x))

    with kernels_in_python():
        compiled, gradient = linad.jit(f), linad.jit(linad.grad(total))
        for x in [x for point in POINTS for x in (point, point)]:
            np.testing.assert_array_equal(compiled(x), f(x))
            np.testing.assert_array_equal(gradient(x), np.full(3, length(x)))


@pytest.mark.parametrize("name", ["nonzero", "flatnonzero", "argwhere", "where"])
def test_a_tape_refuses_another_length(name):
    _, tape = linad.trace(lambda x: x * LENGTHS[name](x), POINTS[0])
    np.testing.assert_array_equal(tape(POINTS[4]), 2 * POINTS[4])
    with pytest.raises(GuardError):
        tape(POINTS[1])
