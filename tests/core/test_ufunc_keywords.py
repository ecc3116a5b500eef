"""The keywords of ufuncs: where=, dtype=, out= and the harmless ones."""

import re

import numpy as np
import pytest

import linad
from linad.errors import TracerError, UnsupportedError

X = np.array([[1.2, -0.7, 2.4], [0.3, -1.8, 0.9]])
MASK = np.array([True, False, True])


def test_where_selects_entries():
    y, J = linad.linearize(lambda x: np.sin(x, where=MASK), X)
    assert np.array_equal(y[:, MASK], np.sin(X)[:, MASK])
    assert np.array_equal(J.pullback(np.ones_like(X)), np.where(MASK, np.cos(X), 0))


@pytest.mark.parametrize(
    "where", [True, MASK, X > 0, [[True], [False]], np.bool_(False), X > 9], ids=str
)
def test_where_of_any_shape(where):
    def f(x, a):
        return np.multiply(x, a, where=where, out=None)

    mask = np.broadcast_to(where, X.shape)
    a = np.array([2.0, 3.0, 4.0])
    y, J = linad.linearize(f, X, a)
    assert np.array_equal(y, np.where(mask, X * a, 0))
    dx, da = J.pullback(np.ones_like(X))
    assert np.array_equal(dx, np.where(mask, a, 0))
    assert np.array_equal(da, np.where(mask, X, 0).sum(0))


def test_where_is_traced_beside_scalars():
    assert linad.grad(lambda s: np.multiply(s, 3.0, where=True))(np.float64(2)) == 3
    found = linad.grad(lambda s: np.sum(np.exp(s, where=MASK)))(np.float64(0))
    assert found == 2


def test_where_keeps_singular_points_out():
    x = np.array([0.0, 2.0, -1.0])
    y, J = linad.linearize(lambda x: np.log(x, where=x > 0), x)
    assert np.array_equal(y, [0, np.log(2.0), 0])
    assert np.array_equal(J.pullback(np.ones(3)), [0, 0.5, 0])
    hessian = linad.hessian(lambda x: np.sum(np.log(x, where=x > 0)))(x)
    assert np.array_equal(hessian, np.diag([0, -0.25, 0]))


def test_where_of_comparisons_and_pairs():
    pairs = linad.jvp(lambda x: np.divmod(x, 0.7, where=MASK), (X,), (X,))
    expected = [np.where(MASK, part, 0) for part in np.divmod(X, 0.7)]
    for found, part in zip(pairs[0], expected, strict=True):
        assert np.array_equal(found, part)
    seen = []
    linad.linearize(lambda x: seen.append(np.less(x, 1, where=MASK)) or x, X)
    assert np.array_equal(seen[0], (X < 1) & MASK)


@pytest.mark.parametrize("where", [[1, 0, 1], (0.5, 0.0, 0.0), 1, 0, np.int64(1), None], ids=repr)
def test_where_may_be_a_list_of_any_truth_values(where):
    x = X[0]

    def f(x):
        return np.multiply(x, 3, out=np.zeros_like(x), where=where)

    mask = np.broadcast_to(np.array(where, bool), x.shape)
    for y, slope in (linad.jvp(f, (x,), (x,)), (linad.jit(f)(x), f(x))):
        assert np.array_equal(y, np.where(mask, 3 * x, 0))
        assert np.array_equal(slope, np.where(mask, 3 * x, 0))


def test_where_must_be_boolean():
    with pytest.raises(TypeError, match="sin: where= must be boolean, got float64"):
        linad.linearize(lambda x: np.sin(x, where=x), X)


def test_dtype():
    x32 = X.astype(np.float32)
    y, J = linad.linearize(lambda x: np.add(x, X, dtype=np.float32), X)
    assert y.dtype == np.float32
    assert np.array_equal(y, np.add(X, X, dtype=np.float32))
    assert J.pullback(y).dtype == np.float64
    y, J = linad.linearize(lambda x: np.exp(x, dtype=float), x32)
    assert np.array_equal(y, np.exp(x32.astype(float)))
    assert J.pullback(y).dtype == np.float32
    y, _ = linad.linearize(lambda x: np.multiply(x, 2, dtype=complex), X)
    assert y.dtype == complex
    y, _ = linad.linearize(lambda x: np.ldexp(x, 3, dtype=float), x32)
    assert np.array_equal(y, np.ldexp(x32, 3, dtype=float))


def test_dtype_that_numpy_refuses():
    with pytest.raises(TypeError, match=r"Cannot cast|same_kind|did not contain a loop"):
        linad.linearize(lambda x: np.add(x, x, dtype=int), X)


def test_out_is_refused():
    out = np.zeros_like(X)
    with pytest.raises(TracerError, match="sin: out="):
        linad.linearize(lambda x: np.sin(x, out=out), X)
    with pytest.raises(TracerError, match="multiply: out="):
        linad.linearize(lambda x: np.multiply.outer(x, x, out=np.zeros((3, 3))), X[0])


def test_harmless_and_unknown_keywords():
    y, _ = linad.linearize(lambda x: np.sin(x, order="F", casting="same_kind", subok=True), X)
    assert np.array_equal(y, np.sin(X))
    with pytest.raises(UnsupportedError, match="'signature'"):
        linad.linearize(lambda x: np.sin(x, signature="d->d"), X)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("dtype", [None, "f4", "f8", "c16", "i4"])
def test_casting_is_numpys(casting, dtype):
    for dtypes in (("f4", "f8"), ("f8", "f8"), ("c16", "f8"), ("f4", None)):
        arrays = [2.5 if d is None else np.array([1.5, 2.5], d) for d in dtypes]
        for f in (
            lambda x, b=arrays[1]: np.add(x, b, dtype=dtype, casting=casting),
            lambda x, b=arrays[1]: np.multiply(b, x, dtype=dtype, casting=casting),
            lambda x: np.negative(x, dtype=dtype, casting=casting),
        ):
            try:
                expected = f(arrays[0])
            except TypeError as refused:
                with pytest.raises(TypeError, match=re.escape(str(refused))):
                    linad.linearize(f, arrays[0])
                continue
            found = linad.linearize(lambda x, f=f: (x, f(x)), arrays[0])[0][1]
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("option", ["order", "subok", "casting", "axis", "axes", "keepdims"])
def test_wrong_values_are_numpys_errors(option):
    ufuncs = [np.sin, np.add] if option in ("order", "subok", "casting") else [np.vecdot, np.matmul]
    for ufunc in ufuncs:
        for value in ("x", -1, 2.5, None, object()):
            if (option, value) in (("axis", -1), ("order", None)) or (option, ufunc) in (
                ("axis", np.matmul),
                ("keepdims", np.matmul),
            ):
                continue

            def f(x, ufunc=ufunc, value=value):
                return ufunc(*[x] * ufunc.nin, **{option: value})

            with pytest.raises((TypeError, ValueError)):
                f(X[:, :2])
            with pytest.raises((TypeError, ValueError)):
                linad.linearize(f, X[:, :2])


@pytest.mark.parametrize("dtype", ["f4", "u2", "c8", "i1"])
def test_numbers_of_python_take_the_dtype_of_arrays_beside_a_mask(dtype, kernels):
    def f(x):
        y = x * 1
        np.add(x, 1, out=y, where=np.array([True, False, True]))
        return np.multiply(y, 2, where=y.real > 1, out=np.zeros_like(y))

    x, jitted = np.array([1, 2, 3], dtype), linad.jit(f)
    for _ in range(3):
        found = jitted(x)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, f(x))
