"""The operators of a traced array: how an operation finds its trace."""

import array
import collections
import ctypes
import math
import operator

import numpy as np
import pytest

import linad
from linad.core.primitive import Primitive

BESIDE = [2, 2.0, np.float64(2.0), np.array([2.0, 3.0])]


@pytest.mark.parametrize("other", BESIDE, ids=lambda other: type(other).__name__)
def test_the_trace_is_known_beside_a_plain_operand(other, monkeypatch):
    """Not every argument is asked: the primitive itself is not called."""

    def asked(self, *args, **params):
        raise AssertionError(f"{self.name} looked for a trace among its arguments")

    def f(x):
        with monkeypatch.context() as m:
            m.setattr(Primitive, "__call__", asked)
            return x * other - x if hasattr(other, "dtype") else other * x * other - x * other

    x = np.array([0.5, 1.5])
    factor = other - 1.0 if hasattr(other, "dtype") else other * other - other
    y, J = linad.linearize(f, x)
    np.testing.assert_allclose(y, factor * x)
    np.testing.assert_allclose(J @ np.ones(2), factor * np.ones(2))


BESIDE_LISTS = {
    "product": lambda x: [x[0], x[1], 1.0] * x,
    "difference": lambda x: x - (x[1], x[0], 2.0),
    "power": lambda x: x ** [x[0], 2.0, 1.0],
    "matrix": lambda x: np.outer(x, x) @ [x[0], x[1], x[2]],
    "lists in a list": lambda x: np.stack([x, x]) * [[x[0], 1.0, 2.0], [x[1], 3.0, x[2]]],
    "arrays in a list": lambda x: [x, 2 * x] * np.stack([x, x]),
    "ufunc": lambda x: np.multiply([x[0], x[1], 1.0], x),
    "maximum": lambda x: np.maximum(x, [x[2], x[1], 1.0]),
    "where": lambda x: np.where(x > 1.5, [x[0], x[1], 1.0], x),
    "clip": lambda x: np.clip(x, [x[0] - 1, x[0] - 2, 0.0], [5.0, 5.0, x[1]]),
    "correlate": lambda x: np.correlate([x[0], x[1], 2.0], x, "full"),
}


@pytest.mark.parametrize("f", BESIDE_LISTS.values(), ids=BESIDE_LISTS)
def test_lists_of_traced_numbers_beside_a_traced_array(f):
    x, h = np.array([1.0, 2.0, 3.0]), 1e-6
    columns = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(linad.jacobian(f)(x), np.stack(columns, axis=-1), atol=1e-6)


def test_numbers_beside_single_precision_stay_weak():
    x = np.float32([1.0, 2.0])
    for f in (lambda x: np.where(x > 1.5, x, 1.0), lambda x: np.clip(x, 0.5, 1.5)):
        assert linad.linearize(f, x)[0].dtype == np.float32


BESIDE_INTEGERS = {
    "product": lambda x: np.array([1, 2], np.int8) * round(x[0]),
    "reflected": lambda x: round(x[0]) + np.arange(3, dtype=np.uint16),
    "booleans": lambda x: np.array([True, False]) * math.floor(x[1]),
    "quotient": lambda x: np.arange(3) / round(x[1]) + x[0],
    "whole quotient": lambda x: np.arange(3, dtype=np.int16) // round(x[1]),
    **{
        name: lambda x, compare=compare: compare(np.array([1, 2], np.int8), round(1e3 * x[0]))
        for name, compare in vars(operator).items()
        if name in ("lt", "le", "gt", "ge", "eq", "ne")
    },
    "ufunc": lambda x: np.add(np.arange(3, dtype=np.int32), round(x[0])),
    "joined": lambda x: np.concatenate([x.astype(np.float32), [round(x[0])]]),
    "stacked": lambda x: np.stack([round(x[0]), round(x[1])]),
    "beside floats": lambda x: x.astype(np.float32) * round(x[0]),
    "chosen": lambda x: np.where(x > 1.5, x.astype(np.float32), round(x[0])),
}


@pytest.mark.parametrize("name", BESIDE_INTEGERS)
def test_what_python_rounds_beside_integers(name):
    f = BESIDE_INTEGERS[name]
    jitted = linad.jit(f)
    for x in (np.array([1.25, 2.5]), np.array([3.75, 4.5]), np.array([1.25, 2.5])):
        expected = f(x)
        for _ in range(2):
            found = jitted(x)
            assert (type(found), found.dtype) == (type(expected), expected.dtype)
            np.testing.assert_array_equal(found, expected)
        whole = linad.jvp(lambda x: f(x) * 1.0 + 0 * x[0], (x,), (x,))[0]
        np.testing.assert_array_equal(whole, expected * 1.0)


def test_what_python_rounds_to_more_than_integers_hold():
    f = BESIDE_INTEGERS["product"]
    jitted = linad.jit(f)
    jitted(np.ones(2))
    for x in (np.array([500.0, 1.0]), np.array([-129.0, 1.0])):
        for g in (f, jitted):
            with pytest.raises(OverflowError, match="out of bounds for int8"):
                g(x)
    np.testing.assert_array_equal(jitted(np.array([-64.0, 1.0])), [-64, -128])


def test_arrays_are_not_rounded_by_python():
    for x in (np.array([1.5]), np.array(1.5)):
        for f in (round, lambda x: round(x, 1)):
            for g in (f, linad.jit(f), linad.jacobian(f)):
                with pytest.raises(TypeError, match="__round__"):
                    g(x)


def test_half_powers_of_arrays_without_axes():
    """NumPy takes the root of an array, and the power of a number: they differ at -inf."""

    def f(x):
        return x**0.5, x ** np.float64(0.5), x ** np.float32(0.5), np.power(x, 0.5)

    jitted = linad.jit(f)
    for x in map(np.array, (4.0, -np.inf, -1.0, -0.0, np.inf)):
        with np.errstate(invalid="ignore"):
            for _ in range(3):
                np.testing.assert_array_equal(jitted(x)[:2], f(x)[:2])
                np.testing.assert_array_equal(jitted(x[()])[:2], f(x[()])[:2])
    np.testing.assert_allclose(linad.grad(lambda x: x**0.5)(np.array(4.0)), 0.25)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "op", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
)
def test_complex_numbers_of_python_beside_traced_numbers(op, dtype):
    """A float64 is a float, with which they compute themselves."""
    for f in (lambda x: op(1.5 - 2j, x), lambda x: op(x, 1.5 - 2j), lambda x: op(2j, x[()])):
        for x in (dtype(0.7), np.asarray(0.7, dtype)):
            y, J = linad.linearize(f, x)
            assert y == f(x)
            assert y.dtype == np.asarray(f(x)).dtype
            near = [complex(f(dtype(0.7) + dtype(h))) for h in (1e-3, -1e-3)]
            tangent = J.pushforward(dtype(1.0))
            assert abs(tangent - (near[0] - near[1]) / 2e-3) < 1e-3 * (1 + abs(tangent))
            np.testing.assert_allclose(linad.jit(f)(x), y, rtol=1e-6)


@pytest.mark.parametrize("text", ["3", b"3"], ids=["str", "bytes"])
@pytest.mark.parametrize("op", [operator.mul, operator.add, operator.truediv])
def test_a_text_beside_a_number_is_told(op, text):
    for f in (lambda x: op(x, text), lambda x: op(text, x)):
        with pytest.raises(TypeError, match=r"a traced number and a text, b?'3': float\(text\) is"):
            linad.grad(f)(2.0)


def test_texts_are_repeated_and_compared_as_ever():
    def f(x):
        assert (x == "3") is False
        assert "ab" * x.astype(int) == "abab"
        return x * x

    assert linad.grad(f)(2.0) == 4.0


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_package_has_its_own_np_matrix(monkeypatch):
    plain = np.matrix(np.diag([1.0, 2.0, 3.0]))
    monkeypatch.setattr(np, "matrix", type("matrix", (), {}))
    x = np.array([1.0, 2.0, 3.0])
    J = linad.jacobian(lambda x: np.ravel(plain @ x) + np.hypot(x, [0.0, 0.0, 0.0]))(x)
    np.testing.assert_allclose(J, np.diag([2.0, 3.0, 4.0])[None])


class ShownByInterface:
    """Says where an array lies."""

    def __init__(self, a):
        self.a = a

    @property
    def __array_interface__(self):
        return self.a.__array_interface__


OTHER = np.array([2.0, 3.0, 4.0])
SHOWN = [
    ShownByInterface(OTHER),
    memoryview(OTHER),
    array.array("d", OTHER),
    collections.deque(OTHER),
    (ctypes.c_double * 3)(*OTHER),
]


@pytest.mark.parametrize("other", SHOWN, ids=lambda other: type(other).__name__)
def test_objects_that_show_their_numbers_are_arrays(other):
    for f in (
        lambda x, y: x * y - x @ y,
        lambda x, y: np.power(y, x) + np.hypot(x, y),
        lambda x, y: np.where(x < y, x - y, y * x),
    ):
        x = np.array([1.5, 3.5, 0.5])
        expected = linad.jacobian(lambda x, f=f: f(x, OTHER))(x)
        found = linad.jacobian(lambda x, f=f: f(x, other))(x)
        np.testing.assert_array_equal(found, expected)
        jitted = linad.jit(lambda x, f=f: f(x, other))
        for _ in range(2):
            np.testing.assert_allclose(jitted(x), f(x, OTHER), rtol=1e-15)


@pytest.mark.parametrize("kind", ["deque", "memoryview", "array", "interface"])
def test_compiled_functions_see_what_such_objects_show_now(kind):
    a = OTHER.copy()
    made = {"deque": collections.deque(a), "array": array.array("d", a)}
    written = made.get(kind, a)
    shown = {"memoryview": memoryview(a), "interface": ShownByInterface(a), **made}[kind]
    f = linad.jit(lambda x: np.sum(x * shown))
    assert [f(np.ones(3)), f(np.ones(3))] == [9.0, 9.0]
    written[0] = 12.0
    assert f(np.ones(3)) == 19.0


@pytest.mark.parametrize("other", [{1: 2.0}, {1.0}, None, object()])
def test_other_objects_are_no_arrays(other):
    with pytest.raises(TypeError):
        linad.grad(lambda x: np.sum(x * other))(OTHER)


def _root_of(x):
    return np.sqrt(x)


def _size_of(x):
    return np.abs(x)


def _norms_of(x):
    return np.linalg.norm(np.outer(x, x), axis=1)


def _spread_of(x):
    return np.std(np.outer(x, x + 1.0), axis=1)


def _added(y, x):
    y += 1.0


def _multiplied(y, x):
    y *= y


def _by_out(y, x):
    np.add(y, x, out=y)


def _by_copyto(y, x):
    np.copyto(y, x)


def _by_a_view(y, x):
    part = y[1:]
    part += x[1:]


@pytest.mark.parametrize("change", [_added, _multiplied, _by_out, _by_copyto, _by_a_view])
@pytest.mark.parametrize("root", [_root_of, _size_of, _norms_of, _spread_of])
def test_squares_of_roots_that_were_written_into(root, change):
    def f(x):
        y = root(x)
        change(y, x)
        return np.sum(y**2 + np.square(y) + y * y)

    x = np.array([0.3, 1.7, 2.2])
    second = linad.hvp(f, (x,), (np.ones(3),))
    step = 1e-5
    slopes = [linad.grad(f)(x + h) for h in (step, -step)]
    np.testing.assert_allclose(second, (slopes[0] - slopes[1]) / (2 * step), 1e-6, 1e-8)


def test_squares_of_roots_of_plain_arrays_that_were_written_into():
    def f(x):
        legs = np.ones(3)
        y = np.hypot(x, legs)
        part = y[1:]
        legs += 1.0
        z = np.hypot(x, legs)
        return np.sum(y**2 + y * z) + np.sum(part**2)

    x = np.array([0.3, 1.7, 2.2])
    assert linad.jit(f)(x) == pytest.approx(f(x), rel=1e-12)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.float16])
@pytest.mark.parametrize("root", [np.sqrt, np.abs, lambda k: np.hypot(k, k)])
def test_squares_of_roots_of_small_numbers_have_the_range_of_the_root(root, dtype):
    def f(k):
        return root(k) ** 2, root(k) * root(k)

    k = np.array([100, 1, 0]).astype(dtype)
    for got, expected in zip(linad.jit(f)(k), f(k), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, 1e-2)


def test_squares_of_roots_of_mixed_precision():
    f = lambda x: np.hypot(x, 1.0 * x.astype(float)) ** 2  # noqa: E731
    x = np.array([1e25], np.float32)
    np.testing.assert_allclose(linad.jit(f)(x), f(x))


def test_squares_of_views_of_roots_in_loops():
    def f(x):
        y = np.sqrt(x)
        part, total = y[1:], 0.0
        for i in range(40):
            y[i % 3] = y[i % 3] + 0.01 * x[0]
            total = total + np.sum(part**2)
        return total + np.sum(part**2)

    x = np.array([0.3, 1.7, 2.2])
    assert linad.jit(f)(x) == pytest.approx(f(x), rel=1e-12)
