"""What random programs have found in compiled functions, in short."""

import math

import numpy as np
import pytest

import linad
from linad.errors import OpaqueRuleError


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


def test_flat_of_a_number_is_not_writable():
    def f(s):
        s.flat = 7.0
        return s * 2.0

    for transform in (linad.grad, linad.jit):
        with pytest.raises(TypeError, match="flat"):
            transform(f)(np.float64(3.0))


def test_copyto_drops_leading_axes_of_length_one():
    def f(x, a):
        np.copyto(x, a)
        return x * 2.0

    x, a = np.zeros(3), np.arange(3.0)[None]
    assert np.array_equal(linad.jit(f)(x, a), [0.0, 2.0, 4.0])
    found = linad.jacobian(f, (0, 1))(x, a)[1]
    assert np.array_equal(found, 2 * np.eye(3)[:, None])


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


def test_a_view_of_an_array_with_an_axis_of_length_one():
    def f(x):
        x.reshape(-1)[0] = 5.0
        return x * 2.0

    jitted = linad.jit(f)
    for _ in range(3):
        x = np.arange(6.0)[::-1].reshape(2, 1, 3)
        assert jitted(x)[0, 0, 0] == 10.0
        assert x[0, 0, 0] == 5.0


@pytest.mark.parametrize("order", ["FCCFC", "CFFCF"])
def test_what_was_a_copy_is_a_view_in_another_layout(order):
    def f(x):
        y = x.reshape(-1)
        x -= x  # of the whole array
        return y * 1.0

    jitted = linad.jit(f)
    for lie in order:
        x = np.arange(1.0, 7.0).reshape((2, 3), order=lie)
        assert np.array_equal(jitted(x.copy("K")), f(x))


def test_a_traced_mask_without_entries_beside_a_number():
    def f(x):
        np.multiply(x, 2.0, out=x, where=x > 0)
        return x

    jitted = linad.jit(f)
    for _ in range(2):
        assert jitted(np.ones((0, 2))).shape == (0, 2)


def test_put_along_no_axis_is_refused_where_numpy_refuses_it():
    def f(x):
        np.put_along_axis(x, np.array([0, 7, 2]), np.ones(3), None)
        return x

    jitted = linad.jit(f)
    for order in "CCFC":
        x = np.zeros((3, 4), order=order)
        if order == "C":
            assert jitted(x).sum() == 3.0
        else:
            with pytest.raises(ValueError, match=r"flat\[indices\]"):
                jitted(x)


def test_a_memoryview_is_part_of_the_program():
    jitted, held = linad.jit(lambda x, m: x * m[0]), bytearray(b"\x02\x03")
    x = np.ones(2)
    for _ in range(2):
        assert np.array_equal(jitted(x, memoryview(held)), [2.0, 2.0])
    held[0] = 5
    assert np.array_equal(jitted(x, memoryview(held)), [5.0, 5.0])
    assert np.array_equal(jitted(x, memoryview(b"\x07")), [7.0, 7.0])


@pytest.mark.parametrize("form", ["matrix", "pullback", "pair", "joint"])
def test_rules_of_math_code_leave_no_mark(form):
    @linad.primitive
    def sine(x):
        return math.sin(float(x))

    if form == "joint":
        sine.pullback(lambda x: (math.sin(float(x)), lambda w: (math.cos(float(x)) * float(w),)))
    else:
        sine.jacobian(wrt=0)(RULES[form])

    def f(x):
        return sine(x) * x

    x = np.float64(0.7)
    expected = math.cos(0.7) * 0.7 + math.sin(0.7)
    compiled, around = linad.jit(linad.grad(f)), linad.grad(linad.jit(f))
    forward = linad.jit(lambda x: linad.jvp(f, (x,), (1.0,))[1])
    for derivative in (compiled, compiled, around, around, forward, forward):
        np.testing.assert_allclose(derivative(x), expected, rtol=1e-14)
    with pytest.raises(OpaqueRuleError, match="sine"):
        linad.grad(linad.grad(f))(x)
    with pytest.raises(OpaqueRuleError, match="order=1"):
        linad.check_derivatives(f, x)
    linad.check_derivatives(f, x, order=1)


RULES = {
    "matrix": lambda y, x: np.array([[math.cos(float(x))]]),
    "pullback": lambda y, x: lambda w: math.cos(x) * float(w),
    "pair": lambda y, x: (lambda t: math.cos(x) * float(t), lambda w: math.cos(x) * float(w)),
}


@pytest.mark.parametrize("order", ["C", "F"])
def test_imaginary_parts_of_real_arrays_lie_as_those_of_numpy(order):
    def f(a):
        return np.flip(a).imag, a.imag, a.T.imag, a[::-1].imag

    jitted, x = linad.jit(f), np.array(np.ones((2, 3, 2), "f4"), order=order)
    for _ in range(3):
        found = [y.strides for y in jitted(x)]
        assert found == [y.strides for y in f(x)]


def test_numbers_have_no_matrix_product():
    """NumPy's numbers raise TypeError, arrays without axes ValueError: programs go on by that."""

    def f(a):
        try:
            return a @ a
        except ValueError:
            return a * 3

    assert linad.jit(f)(np.array(2.0)) == f(np.array(2.0)) == 6.0
    for transform in (linad.jit, linad.grad):
        for g in (f, lambda a: 2.0 @ a, lambda a: np.float64(2.0) @ a, lambda a: a @ 2.0):
            with pytest.raises(TypeError, match="@"):
                g(np.float64(2.0))
            with pytest.raises(TypeError, match="@"):
                transform(g)(np.float64(2.0))
        with pytest.raises(ValueError, match="axis"):
            transform(lambda a: np.ones(2) @ a)(np.float64(2.0))
