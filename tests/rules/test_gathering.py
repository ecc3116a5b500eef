"""Entries at positions that a program has computed, or was given: one program for all of them."""

import numpy as np
import pytest
from kernels_in_python import kernels_in_python

import linad
from linad.core.regions import long_strides
from linad.core.traced_positions import counted
from linad.rules.gathering import gather, scatter_add
from linad.testing.rule_checks import Case

rng = np.random.default_rng(5)
VECTOR, MATRIX = rng.standard_normal(6), rng.standard_normal((3, 4))
BOX = rng.standard_normal((2, 3, 4))
TWICE, TABLE = np.array([2, 0, 2]), np.array([[1, 2], [0, 1]])
COMPLEX = {"complex_": True}

CASES = [
    Case(gather, VECTOR, np.array([4, 1, 4, 0]), axis=-1, check=COMPLEX),
    Case(gather, VECTOR, np.int64(3), axis=-1),
    Case(gather, MATRIX, TWICE, axis=-2),
    Case(gather, BOX, TABLE, axis=-2, check=COMPLEX),
    Case(gather, BOX, np.zeros(0, int), axis=-1),
    Case(scatter_add, rng.standard_normal(3), TWICE, axis=-1, size=4, check=COMPLEX),
    Case(scatter_add, np.float64(0.5), np.int64(1), axis=-1, size=3),
    Case(scatter_add, MATRIX, TWICE, axis=-2, size=5),
    Case(scatter_add, rng.standard_normal((2, 2, 2, 4)), TABLE, axis=-2, size=3, check=COMPLEX),
    Case(scatter_add, np.zeros((2, 0)), np.zeros(0, int), axis=-1, size=3),
]


def run_counted(f, *calls, argnums=0, order=1):
    """How often Python runs f, in calls whose results are those of eager derivatives."""
    runs = []

    def counting(*args):
        runs.append(args)
        return f(*args)

    transform = {0: lambda g: g, 1: linad.value_and_grad, 2: linad.hessian}[order]
    keywords = {"argnums": argnums} if order else {}
    compiled, plain = (
        linad.jit(transform(counting, **keywords)),
        transform(f, **keywords) if order else f,
    )
    for call in calls:
        given = [np.array(a) for a in call]
        found, expected = compiled(*call), plain(*call)
        for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True) if (
            order != 1
        ) else zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
        for a, b in zip(call, given, strict=True):
            np.testing.assert_array_equal(a, b)
    return len(runs)


def positions(n, shape, count=4):
    return [np.asarray(rng.integers(-n, n, shape)) for _ in range(count)]


INDEXED = {
    "entries": (lambda x, k: x[k], (6,), 6, (5,)),
    "an entry": (lambda x, k: x[k], (6,), 6, ()),
    "rows": (lambda x, k: x[k], (3, 4), 3, (5,)),
    "a row": (lambda x, k: x[k], (3, 4), 3, ()),
    "columns": (lambda x, k: x[:, k], (3, 4), 4, (2, 3)),
    "one in each row": (lambda x, k: x[np.arange(3), k], (3, 4), 4, (3,)),
    "pairs": (lambda x, k: x[k, k[::-1]], (4, 4), 4, (3,)),
    "beside slices": (lambda x, k: x[::-1, None, k, 1:], (2, 3, 4), 3, (2,)),
    "apart": (lambda x, k: x[k, 1:, k[:, None]], (2, 3, 2), 2, (2,)),
    "beside a mask": (lambda x, k: x[k, np.array([True, False, True])], (3, 3), 3, (2,)),
    "behind an ellipsis": (lambda x, k: x[..., k], (2, 3), 3, (2,)),
    "computed": (lambda x, k: x[(2 * k) % 6], (6,), 6, (4,)),
    "take": (lambda x, k: np.take(x, k), (3, 4), 12, (2, 2)),
    "take along": (lambda x, k: np.take(x, k, axis=1), (3, 4), 4, (2, 2)),
    "take wrapped": (lambda x, k: x.take(k, axis=0, mode="wrap"), (3, 4), 9, (2,)),
    "take clipped": (lambda x, k: np.take(x, k, axis=0, mode="clip"), (3, 4), 9, (2,)),
    "take one": (lambda x, k: np.take(x, k, axis=0), (3, 4), 3, ()),
    "along an axis": (lambda x, k: np.take_along_axis(x, k, axis=1), (3, 4), 4, (3, 2)),
    "along axis 0": (lambda x, k: np.take_along_axis(x, k, axis=0), (3, 4), 3, (2, 4)),
    "along a broadcast axis": (lambda x, k: np.take_along_axis(x, k, axis=1), (3, 4), 4, (1, 2)),
    "into a view": (lambda x, k: x.T[k], (3, 4), 4, (2,)),
    "twice": (lambda x, k: x[k][k % 2], (6,), 6, (4,)),
}


@pytest.mark.parametrize("name", INDEXED)
def test_one_program_for_all_positions_that_are_arguments(name):
    read, shape, n, of_positions = INDEXED[name]
    x = rng.standard_normal(shape)
    calls = [(x, k) for k in positions(n, of_positions)]

    def loss(x, k):
        y = read(x, k)
        return np.sum(np.sin(y) * np.arange(1.0, 1 + y.size).reshape(y.shape))

    with kernels_in_python():
        for order in (0, 1, 2):
            assert run_counted(loss, *calls, order=order) == 1
        for call in calls:  # what is read is what NumPy reads, as it lies in memory
            expected, found = read(*call), linad.jit(read)(*call)
            np.testing.assert_array_equal(found, expected, strict=True)
            assert long_strides(np.asarray(found)) == long_strides(np.asarray(expected))


def in_parts(x, k):
    row, column = x[k], x[:, k]
    return (row**2).sum() * x[k, 1:].sum() + column.prod() + x[..., k, None].sum()


def written_in_parts(x, k):
    y = x * 1.0
    y[k] = 2 * y[k - 1] ** 2
    y[k, 1] += 3.0
    y[k][2] = y[0, 0] * y[1, 1]
    y[:, k] *= x[1, :]
    return np.sum(y**3)


def written_through_views(x, k):
    y = x * 1.0
    row = y[k]
    row[np.array([0, 2])] = x[1, :2]
    row[1:] -= x[0, 1:]
    y.ravel()[k] = 5 * x[0, 0]
    return np.sum(y**3) * row[1]


def written_in_complex_parts(x, k):
    z = x + 1j * x**2
    z[k].real[...] = x[0]
    z[k].imag[1] = 2 * x[1, 1]
    return np.sum(np.abs(z) ** 2)


def rows_in_a_loop(x, k):
    y, total = x * 1.0, 0.0
    for j in range(4):
        total = total + x[(k + j) % 4].sum() * x[j, k]
        y[(k * j) % 4] += x[j]
    return total + np.sum(y**2)


@pytest.mark.parametrize(
    "f",
    [in_parts, written_in_parts, written_through_views, written_in_complex_parts, rows_in_a_loop],
    ids=lambda f: f.__name__,
)
def test_a_number_names_a_view_that_may_be_written(f):
    calls = [(rng.standard_normal((4, 4)), np.array(k)) for k in (2, 0, 3, 1, -1, -3)]
    with kernels_in_python():
        for order in (0, 1, 2):
            assert run_counted(f, *calls, order=order) == 1


def written(x, k):
    y = x * 1.0
    y[k] = x[0] * x[1]
    y[k, 1] *= 2
    y[:, k] += x[:, :1]
    y[k, k[::-1]] = x[0, :3] ** 2
    return np.sum(y**2)


def the_last_stays(x, k):
    y = x.ravel() * 1.0
    y[k] = np.array([1.0, 2.0, 3.0])
    y[k % 2] *= x[2, :3]
    y[k[:2]] = x[1, 1]
    return np.sum(y**2)


def written_to_views(x, k):
    y = x.T * 1.0
    part, turned = y[1:], y.T
    part[k % 3] = x[:3] * x[1]
    turned[k, 1:3] = x[0, :2]
    return np.sum(y**3) + np.sum(part)


def written_along(x, k):
    y = x * 1.0
    np.put_along_axis(y, np.argsort(x, axis=1)[:, :2], x[:, 2:] ** 2, axis=1)
    y[np.arange(4), np.argmax(x, axis=1)] += y[k[0]]
    return np.sum(y**2)


def ranked(x, k):
    ranks = np.zeros_like(x[0], dtype=int)
    ranks[np.argsort(x[0])] = np.arange(4)
    return np.sum(x[1] * ranks)


def written_from_lists(x, k):
    y = x * 1.0
    y[k] = [[1.0, 2, 3, 4]]
    y[k, 0] = [x[0, 0], 2.0, x[1, 1]]
    y[k[:0]] = 7.0
    np.add.at(y, k, x[:3])
    np.subtract.at(y, k, 0.5)
    return np.sum(y**2)


@pytest.mark.parametrize(
    "f",
    [written, the_last_stays, written_to_views, written_along, ranked, written_from_lists],
    ids=lambda f: f.__name__,
)
def test_writes_at_arrays_of_positions(f):
    calls = [(rng.standard_normal((4, 4)), k) for k in positions(4, (3,), 6)]
    with kernels_in_python():
        for order in (0, 1, 2):
            assert run_counted(f, *calls, order=order) == 1


def test_arguments_are_written_at_positions():
    def put(c, a, k):
        c[k] = a

    compiled = linad.jit(put)
    for k in positions(5, (3,)):
        found, expected, a = np.zeros(5), np.zeros(5), rng.standard_normal(3)
        compiled(found, a, k)
        put(expected, a, k)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 5"):
        compiled(found, a, np.array([0, 9, 1]))
    with pytest.raises(IndexError, match="index -6 is out of bounds for axis 0 with size 5"):
        put(found, a, np.array([0, -6, 1]))


def scanned(x, k):
    def step(state, chosen):
        rows = x[chosen]
        state = state * 1.0
        state[chosen] = np.sin(state[chosen]) + np.sort(rows, axis=1)[:, 1]
        np.add.at(state, chosen, 0.5)
        return state, state[np.argmax(state)] + rows[:, chosen % 4].sum()

    state, maxima = linad.scan(step, x[0], k.reshape(3, 2))
    return np.sum(state**2) + np.sum(maxima)


def repeated(x, k):
    total = linad.fori_loop(0, 3, lambda i, s: s + np.sum(x[k] ** 2) * np.median(x[i]), x[0, 0])
    for i in range(20):
        total = total + x[k[i % 6], k[(i + 1) % 6]] * np.sin(x[k[i % 3]]).sum()
    return total


@pytest.mark.rest
@pytest.mark.parametrize("f", [scanned, repeated], ids=lambda f: f.__name__)
def test_positions_in_loops(f):
    calls = [(rng.standard_normal((4, 4)), k) for k in positions(4, (6,), 5)]
    with kernels_in_python():
        assert run_counted(f, *calls) == 1


ALONG = np.linspace(0.5, 1.5, 12)
EDGES = np.array([-1.0, 0.0, 1.0])
FOUND = {
    "median": lambda x: np.median(x) ** 2,
    "medians": lambda x: np.sum(np.median(x.reshape(3, 4), axis=1) ** 2),
    "quantile": lambda x: np.quantile(x, 0.3) ** 2,
    "sort": lambda x: np.sum(np.sort(x) * ALONG),
    "sort along an axis": lambda x: np.sum(np.sort(x.reshape(3, 4), axis=0) ** 2 * np.arange(4)),
    "partition": lambda x: np.sum(np.partition(x, 3)[:3] ** 2),
    "largest": lambda x: x[np.argmax(x)] ** 2,
    "least": lambda x: x[x.argmin()] ** 2,
    "argsort": lambda x: np.sum((x * x)[np.argsort(x)] * ALONG),
    "top k": lambda x: np.sum(x[np.argsort(-x)[:3]] ** 3),
    "ranks": lambda x: np.sum(x * np.argsort(np.argsort(x))),
    "nearest": lambda x: np.sum(
        np.take_along_axis(d := (x[:, None] - x) ** 2, np.argsort(d, axis=1)[:, 1:3], axis=1)
    ),
    "searchsorted": lambda x: np.sum(np.sort(x)[np.searchsorted(np.sort(x), EDGES) % 12] ** 2),
    "digitize": lambda x: np.sum(np.asarray(ALONG, like=x)[np.digitize(x, EDGES)] * x),
    "largest of each row": lambda x: np.sum(
        x.reshape(3, 4)[np.arange(3), x.reshape(3, 4).argmax(1)]
    ),
    "lexsort": lambda x: np.sum(x[np.lexsort((x, np.round(x)))] * ALONG),
    "absolute deviation": lambda x: np.median(np.abs(x - np.median(x))),
    "interpolation": lambda x: np.sum(np.interp(x, EDGES, ALONG[:3]) ** 2),
    "interpolation at a number": lambda x: np.interp(x[0], EDGES, ALONG[:3]) * x[1],
    "histogram": lambda x: np.sum(np.bincount(np.digitize(x, EDGES), weights=x, minlength=4) ** 2),
}


@pytest.mark.parametrize("name", FOUND)
def test_one_program_for_all_positions_that_are_computed(name):
    calls = [(rng.standard_normal(12),) for _ in range(6)]
    with kernels_in_python():
        assert run_counted(FOUND[name], *calls) == 1


def test_out_of_bounds_raises_what_numpy_raises():
    x, MANY = np.arange(12.0).reshape(3, 4), np.array([0, 4, -9])
    read = linad.jit(lambda x, k: np.sum(x[:, k]))
    for k in (np.array([0, 1, -4]), np.array([0, 3, 2]), MANY, np.array([0, 1, -5])):
        try:
            expected = np.sum(x[:, k])
        except IndexError as error:
            with pytest.raises(IndexError, match=f"^{error}$"):
                read(x, k)
        else:
            assert read(x, k) == expected
    unread = linad.jit(lambda x, k: (x[k], np.sum(x))[1])
    assert unread(x, np.array(1)) == unread(x, np.array(2)) == 66
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        unread(x, np.array(3))
    both = linad.jit(lambda x, k: (x[k], x.T[k], np.sum(x))[2])
    assert both(x, np.array(1)) == both(x, np.array(2)) == 66
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        both(x, np.array(3))
    with pytest.raises(IndexError, match="index 12 is out of bounds for axis 0 with size 12"):
        linad.jit(lambda x, k: np.take(x, k))(x, np.array([12]))
    with pytest.raises(IndexError, match=r"could not be broadcast together with shapes \(2,\) \(3"):
        linad.jit(lambda x, k: x[k[:2], k])(x, np.array([0, 1, 2]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_positions_of_all_dtypes(dtype):
    x = np.linspace(0.0, 1.0, 300)
    calls = [(x, np.array(k, dtype)) for k in ([3, 100, 7], [0, 5, 5], [99, 1, 2])]
    assert run_counted(lambda x, k: np.sum(x[k] ** 2), *calls) == 1
    assert counted(np.array([-1, 3], np.int8), size=300, axis=0).tolist() == [299, 3]


def test_python_decisions_on_positions_are_paths():
    def f(x):
        k = np.argmax(x)
        return x[k] ** 2 if k > 2 else np.sum(x[: int(k) + 1])

    calls = [(x,) for x in np.eye(5)[[4, 4, 3, 1, 0, 4]]]
    assert run_counted(f, *calls) == 3


READERS = {
    "one": lambda x, k: np.sum(x[k] ** 2),
    "with a slice": lambda x, k: np.sum(x[k][1:] * x[k][:-1]),
    "two axes": lambda x, k: np.sum(np.outer(x, x)[k, k] * np.arange(k.size)),
    "rows": lambda x, k: np.sum(np.outer(x, x)[k] ** 3),
    "columns": lambda x, k: np.sum(np.outer(x, x)[:, k] ** 3),
    "other arrays": lambda x, k: np.sum(x[k] * np.cumsum(x)[k] * np.exp(x)[k]),
    "other lengths": lambda x, k: np.sum(x[k] * x[2:][k]),
    "positions as well": lambda x, k: np.sum(x[k] * np.sort(k)),
    "what is read": lambda x, k: np.sum(x[(np.arange(x.size) * 2 % 5)[k]] * x[k]),
    "no entries": lambda x, k: np.sum(x[:, None][:, 1:][k]) + np.sum(x),
    "written": lambda x, k: np.sum(_written(x, k) ** 2),
}
"""Who reads an array of positions."""


def _written(x, k):
    y = x * 2.0
    y[k] = x[k] ** 2
    y[k] += 1.0
    return y


@pytest.mark.parametrize("name", READERS)
def test_positions_are_counted_by_those_who_read_them(name):
    """From the end where they are negative; and out of bounds is NumPy's error, at any time."""
    f, x = READERS[name], np.array([0.5, -1.5, 2.0, 3.0, -0.25])
    value, slopes = linad.jit(f), linad.jit(linad.value_and_grad(f))
    for k in ([0, 2, 1], [0, 2, 1], [-1, -2, 0], [-3, -3, -3], [2, -1, 2]):
        k = np.array(k)
        np.testing.assert_allclose(value(x, k), f(x, k), rtol=1e-14)
        found, wanted = slopes(x, k), linad.value_and_grad(f)(x, k)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-14)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-14, atol=1e-14)
        for wrong in (5, -6, 2**40):
            there = np.array([0, wrong, 1])
            for compiled in (value, slopes):
                with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
                    compiled(x, there)


def test_positions_from_the_end_need_no_pass_of_their_own():
    seen = []

    def f(x, k):
        seen.append(1)
        return np.sum(x[k] ** 2)

    compiled, x = linad.jit(f), np.arange(5.0)
    for k in ([1, 2], [-1, 2], [-5, 4], [0, -2]):
        compiled(x, np.array(k))
    steps = [s.name for s in linad.explain(compiled)(x, np.array([1, 2])).steps]
    assert "counted" not in " ".join(steps)
    seen.clear()
    compiled(x, np.array([-4, 4]))
    assert not seen
