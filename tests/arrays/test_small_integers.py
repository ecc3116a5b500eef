"""Numbers that an integer dtype does not have: written and clipped as NumPy does, or an error."""

import itertools

import numpy as np
import pytest
from released import newer_numpy

import linad

DTYPES = [
    *(np.int8, np.uint32, np.int64),
    *[pytest.param(dtype, marks=pytest.mark.rest) for dtype in (np.uint8, np.int16)],
]
VALUES = [
    *(300, -1, -129, 2**40, 2**70, 3.7, -0.5, float("nan"), 1e20, True),
    *(np.int64(300), np.int8(-1), np.float64(300.5), np.uint64(2**40)),
    *([300, 1, 2], [1, 2, 3], np.array([300, -1, 5]), np.array([300]), np.array(300)),
]


def fill(a, value):
    a.fill(value)


def at(index):
    def write(a, value):
        a[index] = value

    return write


def by(function, *between):
    def write(a, value):
        function(a, *between, value)

    return write


WRITES = {
    "a number": at(0),
    "a slice": at(slice(None)),
    "all": at(...),
    "places": at([0, 1, 2]),
    "a mask": at(np.array([True, True, True])),
    "fill": fill,
    "put": by(np.put, [0, 1, 2]),
    "place": by(np.place, np.array([True, False, True])),
    "putmask": by(np.putmask, np.array([True, False, True])),
    "copyto": by(np.copyto),
    "insert": lambda a, value: np.insert(a, 1, value),
    "flat": lambda a, value: a.flat.__setitem__([0, 1, 2], value),
}


def outcome(function, *args):
    """What a function returns, and its first argument then; or the error."""
    args = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
    try:
        y = function(*args)
    except Exception as error:  # compared
        return error
    return y, args[0]


def agree(plain, found):
    if isinstance(plain, Exception):
        return isinstance(found, (type(plain), linad.errors.LinadError))
    if isinstance(found, Exception):
        return False
    return all(
        np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(a, b)
        for a, b in zip(plain, found, strict=True)
    )


@newer_numpy
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_written_constants(dtype, kernels):
    for (name, write), value in itertools.product(WRITES.items(), VALUES):

        def f(a, x, write=write, value=value):
            made = write(a, value)
            return (a if made is None else made) * x

        a, plain = np.array([7, 8, 9], dtype), outcome(f, np.array([7, 8, 9], dtype), 2.0)
        jitted = linad.jit(f)
        for call in ("first", "second", "third"):
            found = outcome(jitted, a, 2.0)
            assert agree(plain, found), (name, value, call, plain, found)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_written_numbers_of_arguments(dtype, kernels):
    """A number of an argument is in range at one call and out of it at the next."""
    for source, index in itertools.product((np.int64, np.uint8, np.float64), (0, slice(1, 3))):

        def f(a, b, x, index=index):
            a[index] = b[0]
            return a * x

        jitted = linad.jit(f)
        values = [5, 100, 200, 300, 5, 2**40] if source is np.int64 else [5, 127, 128, 255]
        values = [5.5, -128.5, np.nan, 127.9, 1e20, -0.0] if source is np.float64 else values
        for value in values:
            a, b = np.array([7, 8, 9], dtype), np.array([value], source)
            assert agree(outcome(f, a, b, 2.0), outcome(jitted, a, b, 2.0)), (source, value)


LISTS = {
    "two numbers": lambda b: [b[0], b[1]],
    "tuple": lambda b: (b[0], 5),
    "nested": lambda b: [[b[0], 2.5]],
    "without axes": lambda b: [b[:1].reshape(()), b[1]],
    "arrays": lambda b: [b],
}
LIST_WRITES = {
    "slice": at(slice(2)),
    "places": at([0, 2]),
    "mask": at(np.array([True, False, True])),
    "some flat": lambda a, value: a.flat.__setitem__(slice(2), value),
    "flat": lambda a, value: setattr(a, "flat", value),
    "put": by(np.put, [0, 2]),
    "place": WRITES["place"],
    "putmask": WRITES["putmask"],
    "copyto": lambda a, value: np.copyto(a[:2], value, casting="unsafe"),
    "copyto where": lambda a, value: np.copyto(a[:2], value, casting="unsafe", where=[True, False]),
    "array": lambda a, value: np.array(value, dtype=a.dtype, like=a),
    "insert": WRITES["insert"],
    "concatenate": lambda a, value: np.concatenate(
        [a[:2], np.ravel(np.array(value, like=a))], dtype=a.dtype, casting="unsafe"
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("source", [np.float64, np.int64, np.uint64])
@pytest.mark.parametrize("dtype", DTYPES)
def test_written_lists_of_numbers_of_arguments(dtype, source, kernels):
    """NumPy takes each for a number of Python, but from copyto, and what lists of arrays hold."""
    values = [5.5, np.nan, np.inf, 300.5, 2.0**63] if source is np.float64 else [5, 300, 2**40]
    values += [2**63 + 5] if source is np.uint64 else []
    for (name, write), (kind, listed) in itertools.product(LIST_WRITES.items(), LISTS.items()):

        def f(a, b, write=write, listed=listed):
            made = write(a, listed(b))
            return a[0] * 2 if made is None else made

        jitted = linad.jit(f)
        for value in values:
            a, b = np.array([7, 8, 9], dtype), np.array([value, 1], source)
            plain, found = outcome(f, a, b), outcome(jitted, a, b)
            assert agree(plain, found), (name, kind, value, plain, found)


def test_what_a_mask_leaves_keeps_all_its_digits(kernels):
    # By way of float64, which int64 and a float have in common, 2^53 + 1 would become 2^53.
    def f(a, b):
        np.copyto(a, b, where=np.array([True, False]), casting="unsafe")
        return a

    a, b, jitted = np.array([1, 2**53 + 1]), np.array([3.7, np.nan]), linad.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(a.copy(), b), [3, 2**53 + 1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_clipped_by_numbers_of_python(dtype, kernels):
    bounds = [None, -1, 0, 5, 300, -300, 2**70, -(2**70), 2.5, np.int64(300)]
    for low, high in itertools.product(bounds, bounds):

        def f(a, x, low=low, high=high):
            return np.clip(a, low, high) * x

        a = np.array([7, 0, 9], dtype)
        plain, jitted = outcome(f, a, 2.0), linad.jit(f)
        for _ in range(3):
            found = outcome(jitted, a, 2.0)
            assert agree(plain, found), (low, high, plain, found)
