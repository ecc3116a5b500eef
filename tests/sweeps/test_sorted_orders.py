"""Sorting in compiled programs: what NumPy finds, entry by entry, without Python."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import linad
from linad.sweeps.cpu import numpy_sorts
from linad.sweeps.cpu.merge_sort import LONGEST

RNG = np.random.default_rng(0)
SPECIAL = np.array([np.nan, 1.0, -np.inf, -0.0, 0.0, -1.0, 0.0, -0.0, 1.0, np.inf, np.nan, -np.nan])
LINES = {
    "one": np.array([2.0]),
    "special": SPECIAL,
    "special and many": RNG.choice(SPECIAL, 200),
    "random": RNG.normal(size=301),
    "equal": np.zeros(40),
    "ascending": np.arange(100.0),
    "descending": -np.arange(100.0),
    "descending with equal ones": -np.arange(100.0) // 3,
    "nearly ascending": np.arange(500.0) + RNG.normal(size=500),
    "two runs": np.concatenate([np.arange(0, 90.0, 2), np.arange(40, 120.0)]),
    "up and down": np.concatenate([np.arange(90.0), np.arange(70.0)[::-1]]),
    "the least": np.append(np.finfo(float).tiny * RNG.integers(-5, 5, 30) / 2**40, SPECIAL),
}


def check(f, *args):
    """Compiled and eager find the same, and nothing is left to NumPy."""
    compiled = linad.jit(f)
    with np.errstate(all="ignore"):
        for _ in range(3):
            np.testing.assert_array_equal(compiled(*args), f(*args))
    assert not linad.explain(compiled)(*args).fallbacks


def order(axis=-1):
    return lambda x: np.argsort(x, axis, kind="stable")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "b1"])
@pytest.mark.parametrize("name", LINES)
def test_lines(name, dtype):
    x = LINES[name] if dtype[0] == "f" else np.nan_to_num(LINES[name])
    x = np.clip(x, -(2.0**31), 2.0**31 - 1) if dtype == "i4" else x
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
    check(order(), x)
    check(np.sort, x)
    check(lambda x: order()(x[::-2]), x)


@pytest.mark.parametrize("dtype", ["i8", "i4"])
def test_extreme_integers(dtype):
    ends = np.iinfo(dtype)
    check(order(), np.array([0, ends.max, ends.min, -1, ends.max, ends.min + 1, ends.min], dtype))


@pytest.mark.parametrize("view", ["whole", "in columns", "with gaps", "permuted"])
def test_axes(view):
    x = RNG.integers(0, 4, (5, 7, 6)) * 1.0
    x = np.asfortranarray(x) if view == "in columns" else x
    part = {"with gaps": lambda x: x[::-1, ::2], "permuted": lambda x: x.transpose(2, 0, 1)}
    seen = part.get(view, lambda x: x)
    for axis in (0, 1, 2, -3, None):
        check(lambda x, axis=axis: order(axis)(seen(x)), x)
        check(lambda x, axis=axis: np.sort(seen(x), axis), x)
    check(order(0), np.zeros((0, 3)))
    check(order(1), np.zeros((3, 0)))


@pytest.mark.parametrize("n", range(1, 70))
def test_every_length(n):
    check(order(), RNG.integers(0, 9, (4, n)) * 1.0)


def test_what_is_made_of_orders_needs_no_numpy():
    x = RNG.normal(size=(6, 9))
    for f in (
        lambda x: np.sum(np.sort(x, axis=0) * np.arange(9)),
        lambda x: np.median(x) * np.median(x, axis=1)[2],
        lambda x: np.sum(np.quantile(x, [0.1, 0.7], axis=0) ** 2),
        lambda x: np.sum(np.sort(x, axis=None)[:7] ** 2),
        lambda x: np.sum(np.unique(np.round(x)) * x[0, 0]),
        lambda x: np.sum(x[0, np.lexsort((x[1], x[2] > 0))] * x[3]),
    ):
        compiled = linad.jit(linad.grad(f))
        for _ in range(3):
            np.testing.assert_allclose(compiled(x), linad.grad(f)(x), rtol=1e-12, atol=1e-14)
        assert not linad.explain(compiled)(x).fallbacks


def test_an_order_that_was_a_decision_is_looked_at_in_long_lines_too():
    """Another order, another one of equal entries, is seen, and gives what NumPy gives."""
    x = RNG.integers(0, 50, 3 * LONGEST) * 1.0
    weights = np.arange(x.size)
    compiled = linad.jit(linad.grad(lambda x: np.sum(np.sort(x) * weights)))
    others = [x, x + 1, x[::-1].copy(), np.where(x == 3, 2, x), np.append(x[1:], np.nan)]
    for given in (x, x, *others, *others):
        wanted = np.empty(x.size)
        wanted[np.argsort(given, stable=True)] = weights
        np.testing.assert_array_equal(compiled(given), wanted)
    assert not linad.explain(compiled)(x).fallbacks


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "b1", "c16", "c8"])
@pytest.mark.parametrize("n", [1, 12, 40, 300, LONGEST + 1, 3000])
def test_orders_of_which_numpy_promises_nothing(n, dtype):
    """Equal entries come as they do in NumPy, and lines of any length are sorted."""
    whole = RNG.integers(0, 1 + n // 4, (3, n))
    x = (np.where(whole == 2, np.nan, whole) if dtype[0] in "fc" else whole).astype(dtype)
    for given in (x, np.asfortranarray(x), x[:, ::-1]):
        check(np.argsort, given)
        check(lambda x: np.argsort(x, axis=None, kind="quicksort"), given)
        check(lambda x: np.argsort(x.T, axis=0), given)
        check(order(), given)
        check(lambda x: np.sort(x.T, axis=0), given)
    check(np.argsort, np.zeros((0, n), dtype))
    if dtype[0] != "c":
        check(lambda x: np.lexsort((x[1], x[0])), x)
        check(lambda x: np.median(x, axis=1), x)
        check(lambda x: np.unique(x, return_inverse=True)[1], x)
        check(lambda x: np.unique(x), x)


def test_gradients_through_long_orders():
    x = RNG.integers(0, 90, 900) / 7
    weights = np.arange(900)
    for f in (
        lambda x: np.sum(x[np.argsort(x)] * weights),
        lambda x: np.median(x) * np.quantile(x, 0.3),
        lambda x: np.sum(np.unique(x) ** 2),
    ):
        compiled = linad.jit(linad.grad(f))
        for _ in range(3):
            np.testing.assert_allclose(compiled(x), linad.grad(f)(x), rtol=1e-12)
        assert not linad.explain(compiled)(x).fallbacks


def test_what_is_left_to_numpy(monkeypatch):
    """Other kinds of sorts; and where NumPy's sorts are not known, all of which it promises
    nothing."""
    x = RNG.normal(size=LONGEST + 1)
    heap = linad.jit(lambda x: np.argsort(x, kind="heapsort"))
    assert [heap(x).tolist() for _ in range(3)] == 3 * [np.argsort(x, kind="heapsort").tolist()]
    assert [s.name for s in linad.explain(heap)(x).fallbacks] == ["argsort"]
    monkeypatch.setattr(numpy_sorts, "address_of", lambda dtype, kind: None)
    check(order(), x)
    compiled = linad.jit(np.argsort)
    assert [compiled(x).tolist() for _ in range(3)] == 3 * [np.argsort(x).tolist()]
    assert [s.name for s in linad.explain(compiled)(x).fallbacks] == ["argsort"]


PARTIAL_NAN = complex(1, np.nan), complex(np.nan, 1)


def _moved(x):
    """Data that a program with a kept order of x may go wrong with: moved, with other equal
    entries, with NaN, zeros of both signs, and far away."""
    kind, n = x.dtype.kind, x.shape[-1]
    steps = RNG.integers(-1, 2, x.shape)
    found = [x, x + x.dtype.type(1), x, (x + steps).astype(x.dtype), x[..., ::-1].copy()]
    swapped = x.copy()
    swapped[..., [0, n - 1]] = x[..., [n - 1, 0]]
    found += [x, swapped, np.zeros_like(x), np.ones_like(x), x]
    found += [(x * n + np.arange(n)).astype(x.dtype), x]  # sorted as is x by a stable sort
    if kind in "fc":
        for special in (np.nan, -0.0, np.inf, *(PARTIAL_NAN if kind == "c" else ())):
            there = x.copy()
            there[..., :: max(1, n // 5)] = special
            found += [there, there.copy(), x]
            found += [np.where(np.abs(x) > n // 8, special, x).astype(x.dtype), x]
    if kind == "c":
        without = x.copy()
        without.imag[..., :: max(1, n // 5)] = np.nan
        found += [without, x]
    return found


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "c16"])
@pytest.mark.parametrize("n", [1, 2, 40, 300, 3 * LONGEST])
def test_an_order_that_is_kept_changes_no_result(n, dtype):
    """To the last number, whatever data came before: with few, many and no equal entries."""
    for values in (RNG.integers(0, 1 + n // 4, (2, n)), RNG.permutation(2 * n).reshape(2, n)):
        x = values.astype(dtype)
        x = x + 1j * RNG.integers(0, 3, x.shape) if dtype[0] == "c" else x
        for f in (
            np.argsort,
            order(),
            lambda x: np.argsort(x.T, axis=0, kind="stable"),
            lambda x: np.argsort(x, axis=None),
            lambda x: np.argsort(np.sort(x)[:, ::-1], kind="stable"),
        ):
            compiled = linad.jit(f)
            for given in _moved(x):
                for _ in range(2):
                    np.testing.assert_array_equal(compiled(given), f(given))


def test_kept_orders_are_private_to_a_call():
    """Threads, calls inside of others, and calls that end in an error leave others' alone."""

    def ordered(x, k):
        found = np.argsort(x, kind="stable")
        return found, x[found] / x[k]

    compiled = linad.jit(ordered)
    lines = [RNG.permutation(3 * LONGEST) * 1.0 + j for j in range(4)]
    compiled(lines[0], np.array(3))

    def run(x):
        for _ in range(20):
            np.testing.assert_array_equal(compiled(x, np.array(3))[0], np.argsort(x))
            with pytest.raises(IndexError, match="out of bounds"):
                compiled(x[::-1].copy(), np.array(x.size))
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, lines))


def test_orders_that_loops_keep():
    """A repetition begins from the order of the one before; threads and blocks of rows, too."""
    x = np.cumsum(RNG.normal(size=(8, LONGEST + 88)), axis=0) * 0.01

    def step(c, row):
        return np.sort(c + row), (np.argsort(c * row), np.median(row))

    def f(x):
        return linad.scan(step, x[0], x)

    found = linad.jit(f)
    for given in (x, x, x[::-1].copy(), -x, x):
        c, orders = given[0], []
        for row in given:
            c, (order_of_row, _) = step(c, row)
            orders.append(order_of_row)
        last, (made, _) = found(given)
        np.testing.assert_array_equal(last, c)
        np.testing.assert_array_equal(made, orders)
