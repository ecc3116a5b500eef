"""Indices of every kind: values as NumPy gives them, and adjoints that accumulate."""

import itertools
import time

import numpy as np
import pytest
from case_values import check_error

import linad
from linad.core.indices import Index, canonical
from linad.core.primitive import Primitive
from linad.errors import TracerError
from linad.rules import indexing
from linad.testing.derivative_checks import check_derivatives
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
A = rng.standard_normal((2, 3))
B = rng.standard_normal((2, 3, 2))
V = rng.standard_normal(5)
S = np.asarray(rng.standard_normal())
EMPTY = np.zeros((0, 3))
MASK = np.array([[True, False, True], [False, True, True]])
Z = {"complex_": True}
ALL = slice(None)


def at(x, *, index):
    """x[index] as a function with a name."""
    return x[index]


INDICES = [
    (A, 1),
    (A, -1),
    (A, (0, 2)),
    (A, np.int64(1)),
    (A, np.array(1)),
    (A, slice(None, None, -1)),
    (A, (slice(1, None), slice(None, None, 2))),
    (A, (slice(2, 0, -1), None)),
    (A, (None, ..., None, -1)),
    (A, ...),
    (A, ()),
    (S, ()),
    (S, None),
    (S, ...),
    (V, slice(4, None, -2)),
    (V, slice(3, 3)),
    (V, [0, 0, 3, -5, 0]),
    (V, []),
    (V, np.array([[1, 2], [2, -4]])),
    (V, V > 0),
    (V, np.zeros(5, bool)),
    (V, [True, False, False, True, True]),
    (A, MASK),
    (A, (MASK[0] & False, 0)[1]),
    (A, (1, MASK[0])),
    (A, (MASK[:, 0], slice(1, None))),
    (A, ([0, 1, 1], [2, 0, 0])),
    (A, ([[0], [1]], [0, 0, 2])),
    (A, (0, [1, 1])),
    (B, (ALL, [0, 2, 2], 1)),
    (B, ([0, 1], ALL, [1, 0])),
    (B, ([0, 1, 0], ALL, [1, 0, 1])),
    (B, (0, ALL, [1, 1])),
    (B, (..., [1, 0, 1])),
    (B, (ALL, [0, 0], ..., [0, 0])),
    (B, ([1, 1], None, [0, 2])),
    (B, (None, [1, 1], None, [0, 2], 0)),
    (B, (ALL, MASK[0], None, [1, 0])),
    (B, (MASK, [0, 1, 0, 1])),
    (B, (True, ALL, 0)),
    (B, (ALL, True, [1])),
    (A, False),
    (S, True),
    (EMPTY, (ALL, 1)),
    (EMPTY, (ALL, [1, 1])),
]

CASES = [
    Case(indexing.getitem_, A, index=Index((1, slice(None, None, -1))), check=Z),
    Case(indexing.getitem_, A, index=Index((np.array([1, 0, 1]), np.array([0, 0, 0])))),
    Case(indexing.add_at, V, index=Index((np.array([0, 2, 0, 1, 1]),)), shape=(4,), check=Z),
    Case(indexing.add_at, A, index=Index((slice(None), np.array([3, 3, 0]))), shape=(2, 4)),
    Case(indexing.add_at, S, index=Index((2, 1)), shape=(3, 2)),
    *[Case(at, x, index=index) for x, index in INDICES],
    Case(at, B, index=([0, 1, 0], ALL, [1, 0, 1]), check=Z),
    Case(np.take, A, np.array([5, 0, 0, -1]), check=Z),
    Case(np.take, A, np.array([[2, 0], [0, 0]]), axis=-1),
    Case(np.take, A, np.array([-7, 4, 1]), axis=1, mode="wrap"),
    Case(np.take, A, np.array([-7, 4, 1]), axis=1, mode="clip"),
    Case(np.take, A, np.array(1), axis=0),
    Case(np.take, A, np.zeros(0, int), axis=0),
    Case(np.take_along_axis, A, np.array([[2, 0, 0, 1], [1, 1, -1, 0]]), axis=1, check=Z),
    Case(np.take_along_axis, A, np.array([[1, 0, 1]]), axis=0),
    Case(np.take_along_axis, A, np.array([0, 5, 5]), axis=None),
    Case(np.compress, np.array([False, True, True]), A, axis=1, check=Z),
    Case(np.compress, np.array([True, False, True]), A),
    Case(np.extract, MASK, A, check=Z),
]
if np.lib.NumpyVersion(np.__version__) >= "2.3.0":  # the axis has a default
    CASES.append(Case(np.take_along_axis, A, np.array([[0], [2]])))


@pytest.mark.parametrize("case", CASES, ids=itertools.count())
def test_values_are_numpys(case):
    if isinstance(case.function, Primitive):
        return
    place = 1 if case.function in (np.compress, np.extract) else 0

    def f(x):
        full = list(case.args)
        full[place] = x
        return case.function(*full, **case.params)

    expected = f(case.args[place])
    found = linad.linearize(f, case.args[place])[0]
    np.testing.assert_array_equal(expected, found, strict=True)


def reads():
    """Items that an index can be made of."""
    yield from (0, -1, slice(None), slice(None, None, -1), slice(1, None), None, ...)
    yield from ([0, 1], np.array([[1], [0]]), True, False, np.array([True, False]))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_canonical_form_reads_what_numpy_reads(length):
    x = rng.standard_normal((2, 3, 4))
    for index in itertools.product(reads(), repeat=length):
        try:
            expected = x[index]
        except IndexError:
            with pytest.raises(IndexError):
                indexing.getitem(x, index)
        else:
            np.testing.assert_array_equal(indexing.getitem(x, index), expected, strict=True)


def test_canonical_index_covers_all_axes():
    shape, axes, index = canonical(([0, 1], ..., 1), (2, 3, 4))
    assert shape == (2, 3, 4)
    assert axes == (0, 2, 1)
    assert index[1:] == (1, slice(None))
    assert index.advanced


@pytest.mark.parametrize(
    "index",
    [5, (0, 0, 0), 1.0, "a", [0.5], (..., ...), np.ones(3, bool), np.ones((2, 2), bool), [0, 7]],
    ids=itertools.count(),
)
def test_errors_are_numpys(index):
    with pytest.raises(IndexError):
        A[index]
    with pytest.raises(IndexError):
        linad.linearize(lambda x: x[index], A)


def test_traced_floats_are_no_index():
    with pytest.raises(IndexError, match="traced array of floats"):
        linad.linearize(lambda x: x[x], V)


def test_an_index_array_is_kept_as_it_was():
    where = np.array([0, 1])

    def f(x):
        y = x[where]
        where[:] = 4
        return y

    np.testing.assert_array_equal(linad.linearize(f, V)[1].todense(), np.eye(5)[:2])


def test_known_jacobian():
    J = linad.jacobian(lambda x: x[[2, 0, 2]])(V)
    np.testing.assert_array_equal(J, np.eye(5)[[2, 0, 2]])
    hessian = linad.hessian(lambda x: np.sum(x[[0, 0, 1]] * x[[1, 2, 2]]))(V[:3])
    np.testing.assert_array_equal(hessian, [[0, 1, 1], [1, 0, 1], [1, 1, 0]])


def test_seeds_of_every_rank():
    index = ([0, 1, 0], slice(None), [1, 0, 1])
    _, J = linad.linearize(lambda x: x[index], B)
    w = rng.standard_normal((2, 1, 2, 3, 3))
    expected = np.zeros((2, 1, 2, *B.shape))
    for k in np.ndindex(2, 1, 2):
        np.add.at(expected[k], index, w[k])
    np.testing.assert_allclose(J.pullback(w), expected)


def test_reading_one_entry_at_a_time_is_linear_in_time():
    def f(x):
        return np.sum(x[0] * x[-1]) + sum([x[i] for i in range(300)])

    def seconds(n):
        x = np.ones(n)
        _, J = linad.linearize(f, x)
        best = np.inf
        for _ in range(5):
            start = time.thread_time()
            J.pullback(np.ones(()))
            best = min(best, time.thread_time() - start)
        return best

    # 300 arrays of 8 MB would take 300 ms; one takes about 1 ms.
    assert seconds(1_000_000) < 20 * seconds(1_000) + 0.02


def test_reads_mixed_with_other_uses():
    def f(x):
        y = np.tanh(x)
        return y[0] * np.sum(y) + y[1:][0] * y[[1, 1, 0]][1] + np.sum(y[::-1] * y)

    check_derivatives(f, V)


def test_iteration_and_unpacking():
    def f(x):
        a, b, *rest = x
        return a * b + sum(rest)

    np.testing.assert_allclose(linad.grad(f)(V), [V[1], V[0], 1, 1, 1])


def test_where_entries_are_nonzero():
    x = np.array([[0.0, 2.0], [3.0, 0.0]])
    seen = []

    def f(x):
        seen.append(
            (
                np.nonzero(x),
                np.flatnonzero(x),
                np.argwhere(x),
                np.count_nonzero(x),
                np.count_nonzero(x, axis=0, keepdims=True),
                x.nonzero(),
                np.count_nonzero(x, axis=-1),
            )
        )
        return np.sum(x[np.nonzero(x)] ** 2)

    np.testing.assert_array_equal(linad.grad(f)(x), 2 * x)
    expected = (
        np.nonzero(x),
        np.flatnonzero(x),
        np.argwhere(x),
        np.count_nonzero(x),
        np.count_nonzero(x, axis=0, keepdims=True),
        x.nonzero(),
        np.count_nonzero(x, axis=-1),
    )
    for a, b in zip(seen[0], expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.take(x, [9]),
        lambda x: np.take(x, [0], axis=2),
        lambda x: np.take(x, np.array([0.5])),
        lambda x: np.take(x, [0], mode="other"),
        lambda x: np.take_along_axis(x, np.array([0]), 0),
        lambda x: np.take_along_axis(x, np.array([[0]]), None),
        lambda x: np.take_along_axis(x, np.array([[0.0]]), 0),
        lambda x: np.compress([[True]], x),
    ],
    ids=itertools.count(),
)
def test_function_errors_are_numpys(f):
    check_error(f, A)


def test_out_is_refused():
    with pytest.raises(TracerError, match="take"):
        linad.linearize(lambda x: np.take(x, [0], out=np.empty(1)), V)
    with pytest.raises(TracerError, match="compress"):
        linad.linearize(lambda x: np.compress([True], x, out=np.empty(1)), V)


@pytest.mark.parametrize(
    "index", [(None, slice(1, None)), (None, 2), (slice(None, 3), None), 1, slice(0, 3, 2), ...]
)
def test_seeds_and_new_axes(index):
    """Both put axes in front: a sweep of many seeds adds to the right entries."""
    x = np.array([0.5, -1.0, 2.0, 3.0])
    f = lambda x: np.sin(x[index]) * x[index]  # noqa: E731
    found = linad.jacobian(f)(x)
    step = 1e-6 * np.eye(4)
    for k in range(4):
        expected = (f(x + step[k]) - f(x - step[k])) / 2e-6
        np.testing.assert_allclose(found[..., k], expected, atol=1e-9)
    y, J = linad.linearize(f, x)
    seeds = np.random.default_rng(0).standard_normal((4, *np.shape(y)))
    for seed, pulled in zip(seeds, J.pullback(seeds), strict=True):
        np.testing.assert_allclose(pulled, J.pullback(seed), rtol=1e-14)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("index", [[[0, 1], [1, 0]], [5], [], 0])
def test_take_from_no_lanes(index, mode):
    """Where there is no lane, NumPy does not look at the indices, either."""
    for shape in ((0, 0), (0, 2)):
        expected = np.take(np.zeros(shape), index, axis=1, mode=mode)

        def f(x):
            return np.take(x, index, axis=1, mode=mode)

        for g in (f, linad.jit(f)):
            for _ in range(2):
                y, J = linad.linearize(g, np.zeros(shape))
                assert y.shape == expected.shape
                assert J.shape == (0, 0)


def test_integers_and_slices_need_no_general_reading(monkeypatch):
    """What most programs index with, an operation after the other."""

    def refuse(index, shape):
        raise AssertionError(f"{index} is read as indices of any kind are")

    x = np.arange(12.0).reshape(3, 4)

    def read(x):
        parts = [x[1, 2], x[1], x[1:, 2], x[:, ::-1], x[-1:], x[..., 0], x[..., 1:, None]]
        return [*parts, x[np.array([0, 1])], x[1:, np.array([3, 1])], x[x[:, 0] > 1]]

    found = read(x)
    monkeypatch.setattr(indexing, "canonical", refuse)
    made = linad.linearize(read, x)[0]
    for mine, theirs in zip(made, found, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    with pytest.raises(AssertionError, match="is read"):
        linad.linearize(lambda x: x[..., 0, 0], x)
