"""linad.numpy: NumPy itself for plain arguments, traced where NumPy cannot be."""

import numpy as np
import pytest

import linad
import linad.numpy as lnp
from linad.core.primitive import Traced
from linad.errors import UnsupportedError
from linad.testing.derivative_checks import check_derivatives

X = np.array([0.4, -1.3, 2.2])
PLAIN = np.array([1.0, 2.0, 3.0])


def test_the_rest_is_numpy():
    for name in ("bool_", "ndarray", "pi", "random", "block", "indices"):
        assert getattr(lnp, name) is getattr(np, name)
    assert np.dtype(lnp.float64) is np.dtype(np.float64)
    assert isinstance(np.float64(np.pi), lnp.float64)
    assert {"sin", "zeros", "r_"} <= set(dir(lnp))
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = lnp.no_such_thing


PLAIN_CALLS = {
    "array": lambda m: m.array([1, 2.5]),
    "array-dtype": lambda m: m.array([[1, 2]], dtype="f4", ndmin=3),
    "array-order": lambda m: m.array(PLAIN, copy=True, order="F"),
    "array-strings": lambda m: m.array(["a", "b"]),
    "array-scalar": lambda m: m.array(3),
    "asarray": lambda m: m.asarray((1, 2)),
    "asarray-complex": lambda m: m.asarray([1, 2j], dtype=complex),
    "asanyarray": lambda m: m.asanyarray(np.ma.masked_array([1, 2], [True, False])),
    "ascontiguousarray": lambda m: m.ascontiguousarray(2.0),
    "asfortranarray": lambda m: m.asfortranarray([[1.0, 2.0]]),
    "asarray_chkfinite": lambda m: m.asarray_chkfinite([1.0]),
    "require": lambda m: m.require([1, 2], float, ["C", "W"]),
    "fromiter": lambda m: m.fromiter((k * k for k in range(4)), int),
    "fromiter-count": lambda m: m.fromiter(iter([1, 2, 3]), float, 2),
    "arange": lambda m: m.arange(5),
    "arange-step": lambda m: m.arange(0.0, 1.0, 0.3, dtype="f4"),
    "zeros": lambda m: m.zeros((2, 3)),
    "zeros-int": lambda m: m.zeros(3, int),
    "zeros-order": lambda m: m.zeros((2, 3), order="F"),
    "ones": lambda m: m.ones(2, dtype=complex),
    "empty": lambda m: m.empty((0, 4)),
    "full": lambda m: m.full((2,), 7),
    "full-like": lambda m: m.full_like(PLAIN, 2),
    "zeros_like": lambda m: m.zeros_like([1, 2]),
    "ones_like": lambda m: m.ones_like(PLAIN),
    "empty_like": lambda m: m.empty_like(np.zeros((0, 2))),
    "copy": lambda m: m.copy(PLAIN, order="F"),
    "copy-int": lambda m: m.copy([1, 2]),
    "eye": lambda m: m.eye(3, k=1),
    "identity": lambda m: m.identity(2, bool),
    "r_": lambda m: m.r_[1:4, 0, 5.0],
    "r_-count": lambda m: m.r_[0:1:5j],
    "r_-directive": lambda m: m.r_["0,2", [1, 2], [3, 4]],
    "c_": lambda m: m.c_[[1, 2], [3, 4]],
    "vectorize": lambda m: m.vectorize(lambda a, b: a + b if a > b else a - b)([1, 2, 3], 2),
    "vectorize-otypes": lambda m: m.vectorize(lambda a: a, otypes=["f4"])([1, 2]),
    "vectorize-empty": lambda m: m.vectorize(lambda a: a, otypes=[float])([]),
    "sum": lambda m: m.sum([[1, 2], [3, 4]], axis=0),
    "max": lambda m: m.max([1, 5, 2]),
    "dot": lambda m: m.dot([1, 2], [3, 4]),
    "concatenate": lambda m: m.concatenate([[1], [2.0]]),
    "stack": lambda m: m.stack([[1, 2], [3, 4]], axis=1),
    "hstack": lambda m: m.hstack(([1], [2])),
    "sort": lambda m: m.sort([3, 1, 2]),
    "reshape": lambda m: m.reshape([1, 2, 3, 4], (2, 2)),
}


@pytest.mark.parametrize("name", PLAIN_CALLS)
def test_plain_arguments_give_what_numpy_gives(name):
    found, expected = PLAIN_CALLS[name](lnp), PLAIN_CALLS[name](np)
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.flags.f_contiguous == expected.flags.f_contiguous
    np.testing.assert_array_equal(found, expected)


def test_asarray_gives_the_array_itself():
    assert lnp.asarray(PLAIN) is PLAIN


def loop(n):
    def f(x):
        y = lnp.zeros(n)
        for k in range(n):
            y[k] = x[k % 3] ** 2 + (y[k - 1] if k else 0.0)
        return y

    return f


def rotation(x):
    t = x[0]
    return lnp.array([[lnp.cos(t), -lnp.sin(t)], [lnp.sin(t), lnp.cos(t)]]) @ x[1:]


def piece(t):
    return t**3 if t > 0 else -t


TRACED = {
    "array": lambda x: lnp.array([x[0], 1.0, x[2] ** 2]),
    "array-nested": rotation,
    "array-ndmin": lambda x: lnp.array([x, 2 * x], ndmin=3),
    "array-copy": lambda x: lnp.array(x, copy=True) ** 2,
    "asarray": lambda x: lnp.asarray(x) ** 2,
    "asarray-list": lambda x: lnp.asarray([x[0], x[1] * x[2]]),
    "asanyarray": lambda x: lnp.asanyarray(x, dtype=complex) * (1 + 2j),
    "ascontiguousarray": lambda x: lnp.ascontiguousarray(x[0]) ** 2,
    "asarray_chkfinite": lambda x: lnp.asarray_chkfinite(x) ** 2,
    "require": lambda x: lnp.require(x, float, ["C"]) ** 2,
    "fromiter": lambda x: lnp.fromiter((s * s for s in x), float),
    "fromiter-count": lambda x: lnp.fromiter((s * s for s in x), float, count=2),
    "zeros-loop": loop(5),
    "zeros_like-plain": lambda x: fill(lnp.zeros_like(PLAIN), x),
    "ones": lambda x: fill(lnp.ones(3), x),
    "empty": lambda x: fill(lnp.empty(3), x),
    "full-writable": lambda x: fill(lnp.full(3, 2.0), x),
    "copy": lambda x: lnp.copy(x) ** 2,
    "copy-list": lambda x: lnp.copy([x[0], 1.0]) ** 2,
    "copy-plain": lambda x: fill(lnp.copy(PLAIN), x),
    "eye": lambda x: fill(lnp.eye(3), x),
    "full": lambda x: lnp.full((2, 2), x[0] ** 2),
    "full-list": lambda x: lnp.full((2, 3), [x[0], 1.0, x[1]]),
    "full_like": lambda x: lnp.full_like(PLAIN, x[0] ** 2),
    "full_like-list": lambda x: x * lnp.full_like([x[0], 1.0, 2.0], 2.0),
    "full_like-lists": lambda x: lnp.full_like([[x[0], 1.0]], x[1]),
    "zeros_like-list": lambda x: fill(lnp.zeros_like([x[0], 1.0, x[2]]), x),
    "empty_like-lists": lambda x: fill(lnp.empty_like([x, x])[1], x),
    "arange": lambda x: lnp.arange(x[2]) * x[0] + lnp.arange(x[0], 1.5, 0.5),
    "r_": lambda x: lnp.r_[x, 1.0, x[0] ** 2, PLAIN, 0:3],
    "r_-ends": lambda x: lnp.r_[x[0] : x[2] : 4j],
    "r_-directive": lambda x: lnp.r_["0,2", x, PLAIN] ** 2,
    "r_-columns": lambda x: lnp.r_["1,2,0", x, x**2],
    "c_": lambda x: lnp.c_[x, x**2, PLAIN],
    "vectorize": lambda x: lnp.vectorize(piece)(x),
    "vectorize-two": lambda x: lnp.vectorize(lambda a, b: a * b)(x[:, None], PLAIN),
    "vectorize-results": lambda x: lnp.vectorize(lambda a: (a**2, 3 * a))(x)[0],
    "vectorize-closure": lambda x: lnp.vectorize(lambda a: a * x[0])(PLAIN),
    "vectorize-keyword": lambda x: lnp.vectorize(lambda a, p: a**p, excluded=["p"])(x, p=3),
    "vectorize-signature": lambda x: lnp.vectorize(
        lambda a, b: a * (a @ b), signature="(n),(n)->(n)"
    )(lnp.stack([x, x**2]), PLAIN),
    "sum-list": lambda x: lnp.sum([x[0] ** 2, 3.0, x[1] * x[2]]),
    "mean-list": lambda x: lnp.mean([x, x**2], axis=0),
    "max-list": lambda x: lnp.max([x[0] ** 2, x[1] ** 2, 0.0]),
    "dot-list": lambda x: lnp.dot([x[0], x[1]], [x[2], 2.0]),
    "concatenate-lists": lambda x: lnp.concatenate([[x[0] ** 2], x, [1.0, x[1]]]),
    "stack-lists": lambda x: lnp.stack([[x[0], x[1]], [x[2], 1.0]], axis=1) ** 2,
    "shapes-of-lists": lambda x: x**2 * lnp.ndim([x]) * lnp.shape([x, x])[1] * lnp.size([x[0], 1]),
    "hstack-lists": lambda x: lnp.hstack([[x[0]], [2.0]]) ** 2,
    "column_stack": lambda x: lnp.column_stack([x, PLAIN, [x[0], 1.0, 2.0]]),
}


def fill(y, x):
    """Writes into a view, a mask and the array itself."""
    y[1:][:] = (x[:2] ** 2).reshape((2,) + (1,) * (y.ndim - 1))
    y[0] = x[2] * y[1]
    y[y > 1.5] += x[0]
    return y


@pytest.mark.parametrize("name", TRACED)
def test_traces(name):
    f = TRACED[name]
    y, _ = linad.linearize(f, X)
    expected = f(X)  # outside of a trace all is NumPy
    assert not isinstance(expected, Traced)
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y, expected, rtol=1e-14)
    check_derivatives(f, X)


def test_integers_stay_plain():
    def f(x):
        index = lnp.zeros(2, int)
        index[1] = 2
        assert isinstance(index, np.ndarray)
        assert isinstance(lnp.ones(3, bool), np.ndarray)
        assert isinstance(lnp.array([1.0, 2.0]), np.ndarray)
        return x[index] ** 2

    check_derivatives(f, X)


def test_constants_belong_to_the_innermost_trace():
    def outer(x):
        def inner(z):
            y = lnp.zeros(2)
            y[0], y[1] = z * x[0], z**2 * x[1]
            return lnp.sum(y)

        total = lnp.zeros(1)
        total[0] = linad.grad(inner)(x[2])
        return total

    np.testing.assert_allclose(linad.linearize(outer, X)[0], [X[0] + 2 * X[2] * X[1]])
    check_derivatives(outer, X)


def test_no_trace_is_left_running():
    def fails(x):
        lnp.zeros(3)[0] = x[0]
        raise KeyError("user's own")

    for derivative in (linad.grad(fails), linad.jacobian(fails)):
        with pytest.raises(KeyError):
            derivative(X)
        assert isinstance(lnp.zeros(3), np.ndarray)
    with pytest.raises(KeyError):
        linad.jvp(fails, (X,), (X,))
    with pytest.raises(KeyError):
        linad.trace(fails, X)
    assert isinstance(lnp.zeros(3), np.ndarray)


def test_recorded_programs_run_again():
    y, tape = linad.trace(loop(4), X)
    np.testing.assert_allclose(tape(2 * X), 4 * y)


def test_what_it_cannot_do_is_an_error():
    with pytest.raises(UnsupportedError, match="concatenate"):
        linad.grad(lambda x: lnp.r_["r", x, x].sum())(X)
    with pytest.raises(ValueError, match="too short"):
        linad.grad(lambda x: lnp.fromiter(iter(x), float, 5).sum())(X)
    with pytest.raises(ValueError, match="infs or NaNs"):
        linad.grad(lambda x: lnp.asarray_chkfinite(x).sum())(np.array([np.inf]))


def test_types_are_found_among_others():
    assert np.dtype("float64") in (lnp.float32, lnp.float64)
    assert np.dtype("float32") not in (lnp.complex64, lnp.float64)


def test_an_array_like_one_of_an_outer_derivative_takes_values_of_the_inner_one():
    def inner(x):
        def f(t):
            y = lnp.zeros_like(x)
            y[0] = t * t * x[1]
            return np.sum(y**2)

        return linad.derivative(f)(0.5)

    np.testing.assert_allclose(linad.grad(inner)(np.array([1.0, 3.0])), [0.0, 3.0])


def test_windows_and_shapes_of_traced_arrays():
    x, fixed = np.array([0.7, 3.0]), np.arange(6.0).reshape(3, 2)

    def window(x):
        return lnp.kaiser(7, x[1]) * x[0] + lnp.kaiser(1, x[0])

    def pairs(x):
        together = lnp.broadcast(x, fixed)
        assert (together.shape, together.nd, together.numiter) == ((3, 2), 2, 2)
        return np.stack([a * b for a, b in together])

    check_derivatives(window, x)
    check_derivatives(pairs, x)
    np.testing.assert_array_equal(lnp.kaiser(5, 3.0), np.kaiser(5, 3.0))
    assert type(lnp.broadcast(x, fixed)) is np.broadcast


def test_a_traced_number_is_a_scalar():
    asked = []

    def f(x):
        asked.extend(lnp.isscalar(v) for v in (x[0], x, np.sum(x), lnp.asarray(x[0]), 2.0, "s", []))
        return x[0]

    linad.grad(f)(np.ones(2))
    assert asked == [True, False, True, False, True, True, False]


def test_ndenumerate(adopting):
    x = np.arange(1.0, 7.0).reshape(2, 3)

    def weighted(m, x):
        return sum([entry**2 * (1 + sum(index)) for index, entry in m.ndenumerate(x)])

    weights = 1.0 + np.add.outer(np.arange(2), np.arange(3))
    np.testing.assert_allclose(linad.grad(lambda x: weighted(lnp, x))(x), 2 * x * weights)
    assert weighted(lnp, x) == weighted(np, x)
    assert isinstance(lnp.ndenumerate(x), np.ndenumerate)

    def doubled(x):
        y = np.zeros(x.shape)
        for index, entry in np.ndenumerate(x):
            y[index] = 2.0 * entry
        return y

    with linad.adopt(doubled):
        np.testing.assert_allclose(linad.jacobian(doubled)(x[0]), 2.0 * np.eye(3))


def powers_by_index(x):
    y = np.zeros(x.shape)
    it = np.nditer(x, flags=["multi_index"])
    while not it.finished:
        y[it.multi_index] = it[0] ** (1 + sum(it.multi_index))
        it.iternext()
    return y


def entries_in_place(x):
    y = x.copy()
    with np.nditer(y, op_flags=["readwrite"]) as it:
        for entry in it:
            entry[...] = 3 * entry * entry
    return y


def iterators_abreast(x):
    y = np.empty(x.shape, dtype=x.dtype)
    ours, theirs, out = np.nditer(x), np.nditer(np.ones(x.shape)), np.nditer(y, [], ["readwrite"])
    for k in range(y.size):
        entry, one, result = next(ours), next(theirs), next(out)
        result[...] = (entry + one) * k
    return y


def broadcast_and_made(x):
    it = np.nditer([x, np.arange(3.0), None])
    for a, b, c in it:
        c[...] = a * b
    return it.operands[2]


def as_it_lies(x):
    total = 0.0
    for entry in np.nditer(x.T):
        total = total * 1.5 + entry
    return total


def numbered(x):
    it = np.nditer(x, ["f_index"])
    total = sum([entry * it.index for entry in it])
    it.reset()
    return total * next(it)


@pytest.mark.parametrize(
    "f",
    [
        powers_by_index,
        entries_in_place,
        iterators_abreast,
        broadcast_and_made,
        as_it_lies,
        numbered,
    ],
    ids=lambda f: f.__name__,
)
def test_nditer(adopting, f):
    x, v = np.arange(1.0, 7.0).reshape(2, 3) / 3, np.cos(np.arange(6.0)).reshape(2, 3)
    expected, slope = f(x), (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
    with linad.adopt(f):
        for g in (f, linad.jit(f)):
            for _ in range(2):
                y, dy = linad.jvp(g, (x,), (v,))
                np.testing.assert_allclose(y, expected, rtol=1e-12)
                np.testing.assert_allclose(dy, slope, rtol=1e-6)


def test_nditer_of_plain_arrays_is_numpys_and_says_what_it_does_not_take():
    assert type(lnp.nditer(np.ones(2), ["external_loop"])) is np.nditer
    with pytest.raises(UnsupportedError, match="nditer: .*'external_loop' is not traced"):
        linad.grad(lambda x: sum(lnp.nditer(x, ["external_loop"])))(np.ones(2))
    with pytest.raises(ValueError, match="multi-index"):
        linad.grad(lambda x: lnp.nditer(x).multi_index)(np.ones(2))
