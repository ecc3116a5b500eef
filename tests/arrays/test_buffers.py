"""Regions, versions and views; and what writes cost."""

import gc
import tracemalloc

import numpy as np
import pytest

import linad
from linad.arrays import buffers
from linad.core import regions
from linad.core.primitive import Primitive
from linad.core.regions import Window
from linad.core.view_regions import region_of, repeats
from linad.operators.region_writes import Erase, Extract, Insert
from linad.transforms import push, tape_operator, traced_values, unread_entries

rng = np.random.default_rng(0)
BASE = rng.standard_normal((3, 4, 2))


def test_parts():
    z = BASE + 1j * BASE[::-1]
    for name in ("real", "imag"):
        region = region_of(getattr(z[1:], name)[:, ::2], z)
        assert region.inner.shape == (2, 2, 2)
        np.testing.assert_array_equal(region.read(z), getattr(z, name)[1:, ::2])
        y = z.copy()
        region.assign(y, 7.0)
        other = "imag" if name == "real" else "real"
        assert (getattr(y, name)[1:, ::2] == 7.0).all()
        np.testing.assert_array_equal(getattr(y, other), getattr(z, other))
        assert not region.covers(z.size)
        assert region.dtype_in(np.dtype(complex)) == np.dtype(float)
        assert region.dtype_around(np.dtype(np.float32)) == np.complex64


@pytest.mark.parametrize(
    "view, twice",
    [
        (BASE[::2], False),
        (BASE.T, False),
        (np.broadcast_to(BASE, (2, 3, 4, 2)), True),
        (np.broadcast_to(BASE, (1, 3, 4, 2)), False),
        (np.lib.stride_tricks.sliding_window_view(BASE, 2, axis=0), True),
        (np.lib.stride_tricks.sliding_window_view(BASE, 3, axis=0), False),
        (np.broadcast_to(BASE[:0], (5, 0, 4, 2)), False),
        (BASE[0, 0, 0, ...], False),
    ],
    ids=range(8),
)
def test_views_that_show_an_entry_twice(view, twice):
    assert repeats(view) is twice


def test_operators_of_regions():
    region = Window(1, (2,), (3,), 1)
    extract, insert = (
        Extract(region, (2,), (6,), np.dtype(float)),
        Insert(region, (6,), np.dtype(float)),
    )
    erase = Erase(region, (6,), np.dtype(float))
    matrix = np.zeros((2, 6))
    matrix[0, 1] = matrix[1, 4] = 1.0
    np.testing.assert_array_equal(extract.todense(), matrix)
    np.testing.assert_array_equal(insert.todense(), matrix.T)
    np.testing.assert_array_equal(erase.todense(), np.eye(6) - matrix.T @ matrix)
    for op in (extract, insert, erase):
        np.testing.assert_array_equal(op.H.todense(), op.todense().T)


# Versions.


def test_storage_is_copied_once_and_views_follow():
    seen = {}

    def f(x):
        y = x[1:]
        z = y[::-1]
        seen["before"] = x._value
        x[0] = 5.0
        seen["after"] = x._value
        assert not np.shares_memory(seen["before"], seen["after"])
        y[0] = 6.0
        z[0] = 7.0
        assert x._value is seen["after"]
        assert y.concrete.tolist() == [6.0, 2.0, 7.0]
        assert np.shares_memory(z.concrete, x._value)
        assert buffers.root_of(z) is x
        assert x._buffer.version == 4  # storage of its own, and three writes
        return y

    x = np.arange(4.0)
    linad.linearize(f, x)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_view_of_written_storage_is_no_operation():
    def f(x):
        x[0] = 1.0
        steps = len(x._trace.steps)
        view = x.reshape(2, 3).T[1:][:, ::-1]
        assert view.concrete.shape == (2, 2)
        assert len(x._trace.steps) == steps
        view[0, 0] = 2.0  # one equation
        assert len(x._trace.steps) == steps + 1
        view[1, 1]  # and one more
        assert len(x._trace.steps) == steps + 2
        return x

    linad.linearize(f, np.arange(6.0))


def test_an_update_of_a_slice_is_written_once():
    def f(x):
        x[0] = 1.0
        steps = len(x._trace.steps)
        x[1:3] *= 2.0  # read, multiply, write
        assert len(x._trace.steps) == steps + 3
        return x

    linad.linearize(f, np.arange(6.0))


# What writes cost: counts, not times.


def entries(x):
    """One write an entry, with reads of neighbours before and after, all nonlinear."""
    for i in range(1, len(x) - 1):
        x[i] = 0.5 * np.sin(x[i - 1] * x[i + 1]) + x[i] ** 2
    return np.sum(x * x)


def rows(x):
    """The same through a view of a view."""
    row = x.reshape(2, -1)[1]
    for i in range(1, len(row)):
        row[i] += row[i - 1] * row[i]
    return np.sum(x * x)


def tails(x):
    """A view an iteration, each of all that is left."""
    for i in range(len(x) - 1):
        tail = x[i:]
        tail[1] += 0.1 * tail[0] * tail[1]
    return np.sum(x * x)


def columns(x):
    """Written columnwise, in an array that lies columnwise."""
    a = np.zeros_like(x, shape=(2, len(x) // 2), order="F")
    for j in range(1, a.shape[1]):
        a[0, j] = x[j] * x[j - 1] + a[1, j - 1]
        a[1, j] = a[0, j] ** 2
    return np.sum(a * a)


def lists(x):
    for i in range(1, len(x)):
        x[[i]] = x[[i - 1]] * x[[i]]
    return np.sum(x * x)


def sums_in_place(x):
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = x[i] ** 2
        np.add.at(y, i, y[i - 1] * x[i])
        y[i : i + 1] *= x[i]
    return np.sum(y * y)


PROGRAMS = [entries, rows, tails, columns, lists, sums_in_place]


@pytest.fixture
def copied(monkeypatch):
    """Bytes that whole-array copies and zeros of linad take, counted as they are made."""
    total = {"bytes": 0}

    def counted(function):
        def call(*args, **kwargs):
            y = function(*args, **kwargs)
            total["bytes"] += getattr(y, "nbytes", 0)
            return y

        return call

    def counted_copy(function):
        def call(a, primitive):
            y = function(a, primitive)
            total["bytes"] += 0 if y is a._value else y.nbytes
            return y

        return call

    for name in ("write_region", "insert_region", "add_at", "copy", "zeros_like"):
        primitive = Primitive.registry[name]
        monkeypatch.setattr(primitive, "impl", counted(primitive.impl))
    monkeypatch.setattr(tape_operator, "buffer_for", counted(tape_operator.buffer_for))
    monkeypatch.setattr(traced_values, "_captured", counted_copy(traced_values._captured))
    monkeypatch.setattr(push, "_copied", counted(push._copied))
    storage = buffers.own_storage

    def own_storage(root):
        if root._buffer is None or not root._buffer.private:
            total["bytes"] += root.nbytes
        storage(root)

    monkeypatch.setattr(buffers, "own_storage", own_storage)
    return total


def point(n):
    return np.linspace(0.3, 0.6, n)


def value_and_sweeps(f, n):
    x = point(n)
    _, J = linad.linearize(f, x)
    J.pullback(1.0)
    J.pushforward(x)
    J.pullback(np.ones(2))


MODES = {
    "linearize and sweeps": value_and_sweeps,
    "jvp": lambda f, n: linad.jvp(f, (point(n),), (point(n),)),
    "hvp": lambda f, n: linad.hvp(f, (point(n),), (point(n),)),
    "jvp of jvp": lambda f, n: linad.jvp(
        lambda x: linad.jvp(f, (x,), (x,))[1], (point(n),), (point(n),)
    ),
    "grad of jvp": lambda f, n: linad.grad(lambda x: linad.jvp(f, (x,), (point(n),))[1])(point(n)),
    "grad of grad": lambda f, n: linad.grad(lambda x: np.sum(linad.grad(f)(x)))(point(n)),
}


@pytest.mark.sweep(part=0.3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_bytes_copied_grow_linearly(f, mode, copied, monkeypatch):
    monkeypatch.setattr(unread_entries, "SMALL", 0)  # below it, nobody counts
    counts = []
    for n in (40, 80, 160):
        copied["bytes"] = 0
        MODES[mode](f, n)
        counts.append(copied["bytes"])
    assert counts[0] > 0
    assert counts[2] - counts[1] <= 2.05 * (counts[1] - counts[0]), counts


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_steps_grow_linearly(f):
    steps = [len(linad.linearize(f, point(n))[1].steps) for n in (20, 40, 60)]
    equations = [len(linad.trace(f, point(n))[1]) for n in (20, 40, 60)]
    assert steps[2] - steps[1] == steps[1] - steps[0]
    assert equations[2] - equations[1] == equations[1] - equations[0]


@pytest.mark.rest
@pytest.mark.parametrize("f", [entries, rows], ids=lambda f: f.__name__)
def test_memory_grows_linearly(f):
    def peak(n):
        x = point(n)
        tracemalloc.start()
        try:
            linad.linearize(f, x)[1].pullback(1.0)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    # The lesser of two: a cache of something else may grow in between.
    small, large = (min(peak(n) for _ in range(2)) for n in (500, 1000))
    assert large < 2.3 * small


def test_regions_are_primitives():
    for primitive in (regions.read_region, regions.view_region):
        x = np.arange(6.0)
        window = Window(2, (2,), (1,), 1)
        np.testing.assert_array_equal(primitive(x, region=window), [2.0, 3.0])


def test_nothing_is_left_for_the_garbage_collector():
    def f(x):
        tail = x[1:]
        for i in range(1, len(x) - 1):
            x[i] = x[i - 1] * x[i + 1]
            tail[0] = x[2]
        return np.sum(x * tail[0])

    x = point(8)
    calls = [
        lambda: linad.grad(f)(x),
        lambda: linad.linearize(f, x)[1].pullback(1.0),
        lambda: linad.jvp(f, (x,), (x,)),
        lambda: linad.hvp(f, (x,), (x,)),
    ]
    for call in calls:
        call()
        while gc.collect():  # what finalizers of other tests leave in turn
            pass
        gc.disable()
        try:
            call()
            assert gc.collect() == 0
        finally:
            gc.enable()
