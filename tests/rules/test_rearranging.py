"""Repeating, shifting, turning, and windows."""

import itertools

import numpy as np
import pytest
from case_values import check_error
from numpy.lib.stride_tricks import sliding_window_view

import linad
from linad.core.primitive import Primitive
from linad.errors import UnsupportedError
from linad.rules import rearranging
from linad.testing.derivative_checks import check_derivatives
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
A = rng.standard_normal((2, 3))
C = rng.standard_normal((2, 3, 2))
V = rng.standard_normal(4)
S = np.asarray(rng.standard_normal())
EMPTY = np.zeros((0, 3))
ZEROS = np.array([0.0, 0.0, 1.5, 0.0, -2.0, 0.0])
Z = {"complex_": True}

CASES = [
    Case(rearranging.roll_, A, shifts=(1, -2), axes=(1, 0), check=Z),
    Case(rearranging.windows_, A, window=(2,), axes=(-1,), check=Z),
    Case(rearranging.overlap_add, C, window=(2,), axes=(-1,), shape=(2, 4), check=Z),
    Case(
        rearranging.overlap_add, np.ones((1, 2, 2, 2)), window=(2, 2), axes=(-2, -1), shape=(2, 3)
    ),
    Case(np.roll, A, shift=2, check=Z),
    Case(np.roll, A, shift=-1, axis=1),
    Case(np.roll, A, shift=(1, 5), axis=(0, -1)),
    Case(np.roll, A, shift=1, axis=(0, 1)),
    Case(np.roll, A, shift=(1, 1), axis=0),
    Case(np.roll, S, shift=3),
    Case(np.roll, EMPTY, shift=1, axis=0),
    Case(np.flip, A, check=Z),
    Case(np.flip, A, axis=-1),
    Case(np.flip, C, axis=(0, 2)),
    Case(np.flipud, A),
    Case(np.fliplr, A),
    *[Case(np.rot90, A, k=k) for k in (-1, 0, 1, 2, 3)],
    Case(np.rot90, C, k=1, axes=(2, 0), check=Z),
    Case(np.repeat, A, repeats=2, check=Z),
    Case(np.repeat, A, repeats=3, axis=0),
    Case(np.repeat, A, np.array([2, 0, 1]), axis=-1),
    Case(np.repeat, A, repeats=[2], axis=1),
    Case(np.repeat, A, repeats=0, axis=1),
    Case(np.repeat, S, repeats=2),
    Case(np.tile, A, reps=2, check=Z),
    Case(np.tile, A, reps=(3, 1, 2)),
    Case(np.tile, C, reps=(2, 1)),
    Case(np.tile, S, reps=(2, 2)),
    Case(np.tile, V, reps=0),
    Case(np.tile, EMPTY, reps=(2, 2)),
    Case(np.resize, A, new_shape=(2, 5), check=Z),
    Case(np.resize, A, new_shape=4),
    Case(np.trim_zeros, V),
    Case(rearranging.spread, A, shape=(2, 2, 3), check=Z),
    Case(np.tile, V, reps=1),
    Case(np.repeat, V, repeats=1),
    Case(sliding_window_view, V, window_shape=2, check=Z),
    Case(sliding_window_view, A, window_shape=(2, 2)),
    Case(sliding_window_view, C, window_shape=2, axis=1),
    Case(sliding_window_view, C, window_shape=(2, 1), axis=(-2, 0)),
    Case(sliding_window_view, V, window_shape=(2, 2), axis=(0, 0)),
]


@pytest.mark.parametrize("case", CASES, ids=itertools.count())
def test_values_are_numpys(case):
    if isinstance(case.function, Primitive):
        return
    expected = case.function(*case.args, **case.params)
    found = linad.linearize(
        lambda x: case.function(x, *case.args[1:], **case.params), case.args[0]
    )[0]
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("trim", ["f", "b", "fb", "BF"])
def test_trim_zeros(trim):
    x = np.outer(ZEROS, [0.0, 1.0])
    several = [(0, 1), ()] if np.lib.NumpyVersion(np.__version__) >= "2.4.0" else []
    for axis in [None, 0, -1, *several]:
        y, J = linad.linearize(lambda x, a=axis: np.trim_zeros(x, trim, axis=a), x)
        np.testing.assert_array_equal(y, np.trim_zeros(x, trim, axis=axis))
        np.testing.assert_array_equal(J.pushforward(x), y)
    np.testing.assert_array_equal(
        linad.linearize(np.trim_zeros, np.zeros(3))[0], np.trim_zeros(np.zeros(3))
    )


def test_moving_average():
    x = rng.standard_normal(50)
    J = linad.jacobian(lambda x: np.mean(sliding_window_view(x, 5), axis=-1))(x)
    np.testing.assert_allclose(J, sum([np.eye(46, 50, k) for k in range(5)]) / 5)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.roll(x, 1, 2),
        lambda x: np.flip(x, 2),
        lambda x: np.flip(x, (0, 0)),
        lambda x: np.fliplr(x[0]),
        lambda x: np.flipud(x[0, 0]),
        lambda x: np.rot90(x, axes=(0, 0)),
        lambda x: np.rot90(x, axes=(0, 1, 2)),
        lambda x: np.repeat(x, [1, 2], axis=1),
        lambda x: np.repeat(x, -1),
        lambda x: np.repeat(x, 1, axis=2),
        lambda x: np.tile(x, -1),
        lambda x: np.resize(x, (-1, 2)),
        lambda x: np.trim_zeros(x, "q"),
        lambda x: sliding_window_view(x, 4, axis=1),
        lambda x: sliding_window_view(x, (1, 1), axis=1),
        lambda x: sliding_window_view(x, 1),
    ],
    ids=itertools.count(),
)
def test_errors_are_numpys(f):
    check_error(f, A)


def double_first(x):
    """Write into an array that has views."""
    x = x * 1.0
    views = [
        sliding_window_view(x, 2, axis=1),
        np.broadcast_to(x, (2, 2, 3)),
        np.diagonal(x, 1),
        np.flip(x, 1),
        np.rot90(x),
        x[:, ::2],
    ]
    x[0, 1] = 2 * x[1, 1]
    x[:, 2] = x[:, 0] ** 2
    return [view * np.arange(view.size).reshape(view.shape) for view in views]


def test_views_read_what_was_written_later():
    for a, b in zip(double_first(A), linad.linearize(double_first, A)[0], strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    check_derivatives(double_first, A)


COPIES = {
    "tile": lambda x: np.tile(x, 1),
    "repeat": lambda x: np.repeat(x, 1, axis=1),
    "roll": lambda x: np.roll(x, 0),
    "resize": lambda x: np.resize(x, (2, 3)),
    "pad": lambda x: np.pad(x, 0, mode="edge"),
    "copy": np.copy,
    "astype": lambda x: x.astype(float),
    "flatten": lambda x: x.flatten(),
    "block": np.block,
    "concatenate": lambda x: np.concatenate([x]),
    "delete": lambda x: np.delete(x, [], 0),
    "meshgrid": lambda x: np.meshgrid(x[0])[0],
    "sparse meshgrid": lambda x: np.meshgrid(x[0], x[1], sparse=True)[0],
    "take": lambda x: np.take(x, 0, axis=0),
    "array index": lambda x: x[np.array(0)],
    "mask": lambda x: x[x > -10],
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_copies(name):
    def f(x):
        x = x * 1.0
        y = COPIES[name](x)
        y[...] = 7.0
        return x

    np.testing.assert_array_equal(linad.linearize(f, A)[0], A)


@pytest.mark.parametrize(
    "view", [sliding_window_view, np.broadcast_to], ids=["windows", "broadcast"]
)
def test_views_that_show_an_entry_twice_are_read_only(view):
    def f(x):
        x = x * 1.0
        view(x, (2, 4) if view is np.broadcast_to else 2)[0] = 1.0

    with pytest.raises(ValueError, match="read-only"):
        f(V)
    with pytest.raises(ValueError, match="read-only"):
        linad.linearize(f, V)


def test_writeable_windows_are_refused():
    with pytest.raises(UnsupportedError, match="writeable=True"):
        linad.linearize(lambda x: sliding_window_view(x, 2, writeable=True), V)
