"""Arithmetic on shapes and axes, against NumPy's."""

import functools

import numpy as np
import pytest

from linad.core.shapes import (
    align,
    check_function,
    drop_axes,
    keep_axes,
    memory_of,
    name_of,
    normalize_axes,
    reduced,
    sum_to_shape,
)
from linad.errors import ArgumentError, ShapeError

X = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("axis", [None, 0, -1, (2, 0), [1, -1], np.int64(1), ()])
def test_shapes_of_reductions(axis):
    axes = normalize_axes(axis, 3, "sum")
    by = tuple(axis) if isinstance(axis, list) else axis
    assert axes == tuple(sorted(axes))
    assert drop_axes(X.shape, axes) == np.sum(X, axis=by).shape
    assert keep_axes(X.shape, axes) == np.sum(X, axis=by, keepdims=True).shape
    behind, kept, dropped = reduced(X.shape, axes)
    seeded = np.stack([X, -X])
    assert np.sum(seeded, axis=behind).shape == (2, *dropped)
    assert np.sum(seeded, axis=behind, keepdims=True).shape == (2, *kept)


def test_axes_that_are_none():
    with pytest.raises(np.exceptions.AxisError, match="sum"):
        normalize_axes(3, 3, "sum")
    with pytest.raises(ValueError, match="repeated axis"):
        normalize_axes((0, -3), 3, "sum")
    with pytest.raises(ShapeError, match="axis must be an integer, got 'x'"):
        normalize_axes("x", 3, "sum")


@pytest.mark.parametrize("shape", [(), (4,), (1, 4), (3, 1), (1, 1), (3, 4)])
def test_sums_undo_broadcasts(shape):
    """The adjoint of a broadcast, behind seeds too: <broadcast v, w> = <v, sum w>."""
    rng = np.random.default_rng(0)
    v, w = rng.standard_normal(shape), rng.standard_normal((5, 3, 4))
    found = sum_to_shape(w, shape, 2)
    assert found.shape == (5, *shape)
    for one, total in zip(w, found, strict=True):
        np.testing.assert_allclose(np.vdot(np.broadcast_to(v, (3, 4)), one), np.vdot(v, total))
    seeds = rng.standard_normal((5, *shape))
    aligned = align(seeds, len(shape), 2)
    for one, expected in zip(seeds, np.broadcast_to(aligned, (5, 3, 4)), strict=True):
        np.testing.assert_array_equal(np.broadcast_to(one, (3, 4)), expected)


def test_views_live_in_the_memory_of_their_array():
    assert memory_of(X[0].T[1:]) == memory_of(X)
    assert memory_of(X.copy()) != memory_of(X)
    held = bytearray(16)
    assert memory_of(np.frombuffer(held, float)) == memory_of(np.frombuffer(held, float)[:1])


def test_names_of_functions():
    wrapped = functools.wraps(np.linalg.det)(lambda a: a)
    assert name_of(functools.partial(functools.partial(np.sin))) == "sin"
    assert name_of(wrapped) == "det"
    assert name_of(np.vectorize) == "vectorize"
    with pytest.raises(ArgumentError, match="^grad: the first argument must be a function, got 3"):
        check_function("grad", 3)
    with pytest.raises(ArgumentError, match=r"is not called there: f, and not f\(x\)$"):
        check_function("grad", np.ones(3))
    with pytest.raises(ArgumentError, match="^cond: yes must be a function, got 3$"):
        check_function("cond", 3, "yes")
