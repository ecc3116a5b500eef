"""What random programs have found in compiled functions, in short."""

import numpy as np
import pytest

import linad


@pytest.mark.parametrize("size", [0, 3])
def test_a_read_only_argument_is_refused_before_another_is_written(size):
    def f(x, y):
        x *= 2.0
        y[:] = x[:size] * 1.0
        return x

    jitted = linad.jit(f)
    for read_only in (False, False, True, True):
        x, y = np.arange(3.0), np.zeros(size)
        y.flags.writeable = not read_only
        if not read_only:
            jitted(x, y)
        else:
            with pytest.raises(ValueError, match="read-only"):
                jitted(x, y)
        assert np.array_equal(x, [0.0, 2.0, 4.0])


def test_a_function_found_to_compute_in_single_precision_writes_once():
    def f(x, c):
        x[0] += 1.0
        return x.astype("f4") * c

    jitted = linad.jit(f)
    for _ in range(3):
        x = np.array([1.0, 2.0])
        assert jitted(x, 1.5).dtype == np.float32
        assert np.array_equal(x, [2.0, 2.0])


@pytest.mark.parametrize("index", [slice(0), [], np.zeros(3, bool), slice(2, 2)])
def test_a_write_of_no_entries_into_a_read_only_argument_is_refused(index):
    def f(x):
        x[index] = 1.0
        return x * 2.0

    jitted, x = linad.jit(f), np.arange(3.0)
    for _ in range(3):
        assert np.array_equal(jitted(x), [0.0, 2.0, 4.0])
    x.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            jitted(x)


def test_copyto_drops_leading_axes_of_length_one():
    def f(x, a):
        np.copyto(x, a)
        return x * 2.0

    x, a = np.zeros(3), np.arange(3.0)[None]
    assert np.array_equal(linad.jit(f)(x, a), [0.0, 2.0, 4.0])
    assert np.array_equal(linad.jacobian(lambda x, a: f(x, a), (0, 1))(x, a)[1], 2 * np.eye(3)[:, None])


@pytest.mark.parametrize("shape", [(0,), (2, 0), (2, 0, 3), (0, 3)])
def test_a_mask_without_entries(shape):
    x = np.ones(shape)
    jitted = linad.jit(lambda x: x[x > 0])
    for _ in range(2):
        assert jitted(x).shape == (0,)


@pytest.mark.parametrize("dtype", ["i8", "?", "u1"])
def test_nan_to_num_of_integers(dtype):
    x = np.array([0, 1, 1], dtype)
    jitted = linad.jit(np.nan_to_num)
    for _ in range(2):
        y = jitted(x)
        assert np.array_equal(y, x)
        assert y.dtype == x.dtype


def test_fill_of_a_number_fills_a_copy():
    def f(s):
        s.fill(7.0)
        return s * 2.0

    assert linad.grad(f)(3.0) == 2.0
    assert linad.jit(f)(np.float64(3.0)) == 6.0
