"""np.put, np.copyto, ufunc.at and the others that write into their first argument."""

import itertools

import numpy as np
import pytest

import linad
from linad.testing.derivative_checks import check_derivatives
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
X = rng.standard_normal((3, 4))
MASK = X > 0


def written(name, write):
    """A function of x and v that writes v into a copy of x; traced if x or v is."""

    def function(x, v):
        y = x + 0.0 * np.sum(v)
        write(y, v)
        return y

    function.__name__ = name
    return function


def put_flat(t, v):
    """Without an axis NumPy wants an array in C order."""
    entries = t.copy()
    np.put_along_axis(entries, np.array([0, 7, 2]), v, None)
    t[...] = entries


V3 = rng.standard_normal(3)
WRITES = {
    "put": (lambda t, v: np.put(t, [0, 5, -1], v), V3),
    "put_cycles": (lambda t, v: np.put(t, [0, 5, 7, 2], v), V3[:2]),
    "put_twice": (lambda t, v: np.put(t, [0, 5, 0], v), V3),
    "put_wrap": (lambda t, v: np.put(t, [0, 15, -14], v, mode="wrap"), V3),
    "put_clip": (lambda t, v: np.put(t, [3, 15, -14], v, mode="clip"), V3),
    "put_method": (lambda t, v: t.put([1, 2, 3], v), V3),
    "place": (lambda t, v: np.place(t, MASK, v), V3),
    "place_all": (lambda t, v: np.place(t, t > -np.inf, v), V3),
    "putmask": (lambda t, v: np.putmask(t, MASK, v), V3),
    "putmask_whole": (lambda t, v: np.putmask(t, MASK, v), X * X),
    "put_along_axis": (
        lambda t, v: np.put_along_axis(t, np.array([[0], [2], [1]]), v, 1),
        V3[:, None],
    ),
    "put_along_axis_flat": (put_flat, V3),
    "fill_diagonal": (lambda t, v: np.fill_diagonal(t, v), V3),
    "fill_diagonal_scalar": (lambda t, v: np.fill_diagonal(t, v), V3[0]),
    "fill_diagonal_wrap": (lambda t, v: np.fill_diagonal(t.T, v, wrap=True), V3),
    "copyto": (lambda t, v: np.copyto(t, v), V3[:, None]),
    "copyto_where": (lambda t, v: np.copyto(t, v, where=MASK), V3[0]),
    "add_at": (lambda t, v: np.add.at(t, ([0, 1, 0], [1, 2, 1]), v), V3),
    "add_at_rows": (lambda t, v: np.add.at(t, [0, 2, 0], v[:, None]), V3),
    "add_at_slice": (lambda t, v: np.add.at(t, np.s_[1:, 0], v[:2]), V3),
    "subtract_at": (lambda t, v: np.subtract.at(t, ([0, 1, 0], [1, 2, 1]), v), V3),
    "multiply_at": (lambda t, v: np.multiply.at(t, ([0, 1, 0], [1, 2, 1]), v), V3),
    "divide_at": (lambda t, v: np.divide.at(t, ([0, 1, 0], [1, 2, 1]), v), V3),
    "maximum_at": (lambda t, v: np.maximum.at(t, ([0, 1, 0], [1, 2, 1]), v), V3 * 3),
    "minimum_at": (lambda t, v: np.minimum.at(t, ([0, 1, 0], [1, 2, 1]), v), V3 * 3),
    "power_at": (lambda t, v: np.power.at(t, ([0, 1, 0], [1, 2, 1]), 2) or t.fill(v), V3[0]),
    "negative_at": (lambda t, v: np.negative.at(t, ([0, 1, 0], [1, 2, 1])) or t.put(3, v), V3[0]),
    "add_at_entry": (lambda t, v: np.add.at(t, (1, 1), v), V3[0]),
    "fill": (lambda t, v: t.fill(v), V3[0]),
    "sort": (lambda t, v: t.put(2, v) or t.sort(), V3[0]),
    "sort_axis": (lambda t, v: t.put(2, v) or t.sort(axis=0), V3[0]),
    "partition": (lambda t, v: t.put(2, v) or t.partition(1), V3[0]),
    "flat": (lambda t, v: t.flat.__setitem__(slice(1, 7, 2), v), V3),
    "flat_cycles": (lambda t, v: t.T.flat.__setitem__(Ellipsis, v), V3),
}

CASES = [
    Case(written(name, write), X, value, check={"float32": "power" not in name})
    for name, (write, value) in WRITES.items()
]


@pytest.mark.parametrize("name", WRITES)
def test_values_are_numpys(name):
    write, value = WRITES[name]
    f = written(name, write)
    expected = f(X, value)
    found, _ = linad.linearize(f, X, value)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "write",
    [
        lambda t, v: np.put(t, [0], v),
        lambda t, v: np.place(t, t == 0, v),
        lambda t, v: np.putmask(t, t == 0, v),
        lambda t, v: np.put_along_axis(t, np.zeros((1, 1), int), v, 0),
        lambda t, v: np.fill_diagonal(t, v),
        lambda t, v: np.copyto(t, v),
        lambda t, v: np.add.at(t, ([0], [0]), v),
        lambda t, v: np.add(v, 1.0, out=t),
        lambda t, v: np.sum(v, out=t[0, 0:1].reshape(())),
        lambda t, v: t.__iadd__(v),
    ],
    ids=itertools.count(),
)
def test_a_plain_array_takes_no_traced_values(write):
    target = np.zeros((2, 2))

    def f(v):
        write(target, v)
        return v

    with pytest.raises(linad.errors.TracerError, match="lose its derivative"):
        linad.grad(f)(1.0)
    assert not target.any()


def test_a_plain_array_takes_what_has_no_derivative():
    mask, order = np.zeros(3, bool), np.zeros((), int)

    def f(x):
        np.greater(x, 0.5, out=mask)
        np.argmax(x, out=order)
        return np.sum(np.where(mask, x * x, 0.0))

    np.testing.assert_array_equal(linad.grad(f)(np.array([0.1, 0.7, 0.6])), [0, 1.4, 1.2])
    assert mask.tolist() == [False, True, True]
    assert order == 1


def test_repeated_indices_many_times():
    """A histogram with weights: 200 values in 5 bins."""
    bins = rng.integers(0, 5, 200)

    def histogram(w):
        h = np.zeros_like(w, shape=5)
        np.add.at(h, bins, w * w)
        return np.log(1 + h)

    w = rng.standard_normal(200)
    np.testing.assert_allclose(
        linad.linearize(histogram, w)[0], np.log(1 + np.bincount(bins, w * w)), rtol=1e-14
    )
    check_derivatives(histogram, w, order=1)


@pytest.mark.parametrize(
    "write, error",
    [
        (lambda t: np.put(t, [20], 1.0), IndexError),
        (lambda t: np.put(t, [0.5], 1.0), TypeError),
        (lambda t: np.put(t, [0], 1.0, mode="other"), ValueError),
        (lambda t: np.place(t, MASK, []), ValueError),
        (lambda t: np.putmask(t, MASK[0], 1.0), ValueError),
        (lambda t: np.put_along_axis(t, np.array([1]), 1.0, 0), ValueError),
        (lambda t: np.fill_diagonal(t[0], 1.0), ValueError),
        (lambda t: np.copyto(t, 1j), TypeError),
        (lambda t: np.copyto(t, np.ones(3)), ValueError),
        (lambda t: t.fill(np.ones(2)), ValueError),
        (lambda t: t[0].resize(2), ValueError),
        (lambda t: (t * 1, t[0], t.resize(4)), linad.errors.UnsupportedError),
    ],
    ids=itertools.count(),
)
def test_errors(write, error):
    def f(x):
        write(x)
        return x

    with pytest.raises(error):
        linad.linearize(f, X)


@pytest.mark.parametrize("shape", [X.shape, X.shape[::-1]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_resize_keeps_the_layout(shape, order):
    def f(x):
        y = np.copy(x, order)
        of_that = y.T  # an array that has views may keep its shape
        y.resize(y.shape)
        z = np.copy(x, order)
        z.resize(shape)
        return y, z, of_that

    compiled = linad.jit(f)
    expected = f(X)
    for found in (linad.linearize(f, X)[0], compiled(X), compiled(X)):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.flags.c_contiguous == b.flags.c_contiguous


@pytest.mark.parametrize("kind", ["b1", "i1", "u1", "i4", "f4"])
@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
def test_repeated_places_take_small_numbers_as_numbers(ufunc, kind):
    terms = np.array([1, 100, 100, 1]).astype(kind)

    def f(x):
        y = x * 1.0
        ufunc.at(y, [0, -1, 0, 0], terms)
        return y

    jitted, x = linad.jit(f), np.array([0.5, 1.5])
    np.testing.assert_array_equal(linad.linearize(f, x)[0], f(x))
    for _ in range(3):
        np.testing.assert_array_equal(jitted(x), f(x))


@pytest.mark.parametrize(
    "write",
    [
        lambda y, v: np.put(y, [0, 1, 7, 2], v),
        lambda y, v: np.put(y, [-9, 1], v),
        lambda y, v: y.flat.__setitem__([0, 1, 2, 7], v[:2]),
        lambda y, v: y.flat.__setitem__(np.array([1, -4]), v[0]),
    ],
    ids=["put", "put_first", "flat", "flat_number"],
)
def test_what_is_named_before_an_entry_that_is_not_there_is_written(write):
    def f(y, v):
        write(y, v)
        return y

    jitted = linad.jit(f)
    for _ in range(3):
        y = np.zeros(3)
        with pytest.raises(IndexError):
            jitted(y, np.array([1.0, 2.0, 3.0, 4.0]))
        plain = np.zeros(3)
        with pytest.raises(IndexError):
            f(plain, np.array([1.0, 2.0, 3.0, 4.0]))
        np.testing.assert_array_equal(y, plain)
