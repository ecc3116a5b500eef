"""Writes of no entries, and into arrays of whole numbers: compiled calls do what NumPy does."""

import numpy as np
import pytest
from kernels_in_python import kernels_in_python

import linad

X = np.array([1.0, 2.0, 3.0])


def away(a):
    return a > 100


EMPTY = {
    "a view": lambda x, a: a[2:].__imul__(2),
    "a slice": lambda x, a: a.__setitem__(slice(2, 2), 1),
    "a mask": lambda x, a: a.__setitem__(away(a), 1),
    "a list": lambda x, a: a.__setitem__([], 1),
    "out=, where=": lambda x, a: np.multiply(a, 2, out=a, where=away(a)),
    "out=": lambda x, a: np.multiply(a[2:], 2, out=a[2:]),
    "putmask": lambda x, a: np.putmask(a, away(a), 1),
    "place": lambda x, a: np.place(a, away(a), 1),
    "put": lambda x, a: np.put(a, [], x),
    "copyto": lambda x, a: np.copyto(a, 1, where=away(a)),
    "add.at": lambda x, a: np.add.at(a, [], 1),
    "flat": lambda x, a: a.flat.__setitem__(slice(0, 0), 1),
    "fill": lambda x, a: a[:0].fill(1),
    "sort": lambda x, a: a[:0].sort(),
    "transposed": lambda x, a: a.T[3:].__imul__(2),
    "reshaped": lambda x, a: a[2:].reshape(3, 0).__imul__(2),
    "fill_diagonal": lambda x, a: np.fill_diagonal(a[:0], 1),
    "put_along_axis": lambda x, a: np.put_along_axis(a, np.zeros((2, 0), int), 1, 1),
}

CASTS = {
    "putmask": lambda x, a: np.putmask(a, a > 1, x),
    "place": lambda x, a: np.place(a, a > 1, x),
    "put": lambda x, a: np.put(a, [0, 1], 1.6 * x),
    "add.at": lambda x, a: np.add.at(a, [0, 0, 1], 1.4 * x[0]),
    "subtract.at": lambda x, a: np.subtract.at(a, np.array([0, 0, 1]), 1.4 * x[0]),
    "maximum.at": lambda x, a: np.maximum.at(a, [0, 0, 1], 1.4 * x[0]),
    "flat": lambda x, a: a.flat.__setitem__(slice(0, 2), 1.6 * x[0]),
    "fill": lambda x, a: a.fill(1.7 * x[0]),
}


def entries(dtype, writeable=True):
    a = np.arange(6).reshape(2, 3).astype(dtype)
    a.flags.writeable = writeable
    return a


def outcome(f, a):
    """What a call gives and leaves behind, or the kind of its error."""
    try:
        y = f(X, a)
    except (TypeError, ValueError) as error:
        return type(error)
    return y.dtype, y.tolist(), a.tolist()


@pytest.mark.parametrize("dtype", [float, int])
@pytest.mark.parametrize("name", EMPTY)
def test_no_entries(name, dtype):
    def f(x, a):
        EMPTY[name](x, a)
        return x * a.sum()

    with kernels_in_python():
        for first in (True, False):
            compiled = linad.jit(f)
            for writeable in (first, first, not first, first):
                expected = outcome(f, entries(dtype, writeable))
                assert outcome(compiled, entries(dtype, writeable)) == expected, writeable


@pytest.mark.parametrize("dtype", [int, np.uint8])
@pytest.mark.parametrize("name", CASTS)
def test_casts(name, dtype):
    def f(x, a):
        CASTS[name](x, a)
        return a * 1

    with kernels_in_python(), np.errstate(invalid="ignore"):
        compiled = linad.jit(f)
        for _ in range(3):
            assert outcome(compiled, entries(dtype)) == outcome(f, entries(dtype))


def test_what_is_read_before_the_entry_is_replaced():
    """A mask without entries once put the read after the write in compiled forward mode."""

    def f(a):
        np.putmask(a, a > 10, np.ones(3))
        t = a[2]
        a[2] = 0.0
        return t

    with kernels_in_python():
        compiled = linad.jit(f)
        for _ in range(3):
            assert linad.jvp(compiled, (X.copy(),), (np.ones(3),))[1] == 1.0
