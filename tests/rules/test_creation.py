"""Arrays made like traced ones, and questions with plain answers."""

import io
import itertools

import numpy as np
import pytest

import linad
from linad.errors import UnsupportedError
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
A = rng.standard_normal((2, 3))
V = rng.standard_normal(3)
S = np.asarray(rng.standard_normal())


def array(x, **params):
    """np.array of nested lists of traced scalars and numbers."""
    return np.array([[x[0], 1.0], [2, x[1]]], like=x, **params)


def rows(x, y):
    """np.asarray of rows."""
    return np.asarray([x, [1.0, 2.0, 3.0], y], like=x + y)


def full(x, **params):
    """np.full of a traced number."""
    return np.full((2, 3), x, like=x, **params)


def full_like(x, **params):
    """np.full_like of a traced number."""
    return np.full_like(x, x[0] * x[1], **params)


def arange(x):
    """np.arange from a traced start by a traced step."""
    return np.arange(x[0], 2.5, x[1], like=x)


def filled(y, x):
    """An array after something has been written everywhere."""
    y[...] = x
    return y


# What depends on x through ``like=`` alone is constant: a sum keeps it differentiable.
CASES = [
    Case(lambda x: x + np.zeros_like(x), A),
    Case(lambda x: x * np.ones_like(x), A, check={"complex_": True}),
    Case(lambda x: filled(np.empty_like(x), x), A),
    Case(lambda x: x * np.full_like(x, 2.5), A),
    Case(full_like, V, check={"complex_": True}),
    Case(full_like, V, shape=(2, 2)),
    Case(full_like, A),
    Case(full, S, check={"complex_": True}),
    Case(full, V),
    Case(full, S, dtype=np.complex128, check={"float32": False}),
    Case(array, V, check={"float32": False, "complex_": True}),
    Case(array, V, ndmin=3, check={"float32": False}),
    Case(array, V, dtype=np.float32, check={"rtol": 1e-3, "order": 1}),
    Case(rows, V, 2 * V, check={"float32": False}),
    Case(lambda x: np.array(x, like=x), A),
    Case(lambda x: np.asanyarray(x, like=x), A),
    Case(lambda x: np.ascontiguousarray(x, like=x), S),
    Case(lambda x: np.asfortranarray(x, like=x), A),
    Case(arange, np.array([0.2, 0.5]), check={"float32": False}),
]


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "full_like", "empty_like"])
def test_constants_are_numpys(name):
    function = getattr(np, name)
    value = (1.5,) if name == "full_like" else ()
    for params in ({}, {"dtype": np.float32}, {"dtype": int}, {"shape": (4,)}, {"order": "F"}):
        made = linad.linearize(lambda x, p=params: (x, function(x, *value, **p)), A)[0][1]
        expected = (
            np.zeros_like(A, **params) if name == "empty_like" else function(A, *value, **params)
        )
        np.testing.assert_array_equal(made, expected, strict=True)


def test_constants_do_not_move():
    _, J = linad.linearize(np.zeros_like, A)
    np.testing.assert_array_equal(J.pushforward(A), np.zeros((2, 3)))
    np.testing.assert_array_equal(J.pullback(A), np.zeros((2, 3)))


def test_constructors_like_a_traced_array():
    def f(x):
        made = (
            np.zeros(2, like=x),
            np.ones((2, 1), np.float32, like=x),
            np.eye(2, 3, 1, like=x),
            np.identity(2, like=x),
            np.tri(2, like=x),
            np.full(2, 7, like=x),
            np.arange(3, like=x),
            np.arange(1.0, 2.0, 0.25, like=x),
            np.array([1, 2], like=x),
            np.asarray([1.0], like=x),
            np.empty((2, 2), like=x) * 0,
        )
        expected = (
            np.zeros(2),
            np.ones((2, 1), np.float32),
            np.eye(2, 3, 1),
            np.identity(2),
            np.tri(2),
            np.full(2, 7),
            np.arange(3),
            np.arange(1.0, 2.0, 0.25),
            np.array([1, 2]),
            np.array([1.0]),
            np.zeros((2, 2)),
        )
        for a, b in zip(made, expected, strict=True):
            np.testing.assert_array_equal(getattr(a, "concrete", a), b, strict=True)
        return x

    linad.linearize(f, A)


def test_traced_arrays_of_numbers():
    J = linad.jacobian(lambda x: np.array([x[0] * x[1], 1.0, x[1]], like=x))(np.array([2.0, 3.0]))
    np.testing.assert_array_equal(J, [[3, 2], [0, 0], [0, 1]])


def test_arange_of_a_traced_stop_is_constant():
    y, J = linad.linearize(lambda x: np.arange(x, like=x), np.asarray(2.5))
    np.testing.assert_array_equal(y, np.arange(2.5))
    np.testing.assert_array_equal(J.pushforward(np.ones(())), np.zeros(3))


def test_ndmax_is_refused():
    with pytest.raises(UnsupportedError, match="ndmax"):
        linad.rules.creation.array([S], ndmax=1)


QUESTIONS = [
    np.shape,
    np.ndim,
    np.size,
    lambda x: np.size(x, 1),
    np.result_type,
    lambda x: np.result_type(x, np.complex64),
    np.common_type,
    np.min_scalar_type,
    np.iscomplexobj,
    np.isrealobj,
    np.array_repr,
    np.array_str,
    lambda x: np.array2string(x, precision=2),
    lambda x: [i.tolist() for i in np.tril_indices_from(x, 1)],
    lambda x: [i.tolist() for i in np.triu_indices_from(x)],
    lambda x: [i.tolist() for i in np.diag_indices_from(x[:, :2])],
]


@pytest.mark.parametrize("question", QUESTIONS, ids=itertools.count())
def test_questions_have_plain_answers(question):
    answers = []
    linad.linearize(lambda x: answers.append(question(x)) or x, A)
    assert answers == [question(A)]


def test_can_cast_asks_for_the_dtype():
    def f(x):
        assert not np.can_cast(x, np.float32)
        assert np.can_cast(x, np.float32, casting="same_kind")
        return x

    linad.linearize(f, A)


def test_memory_is_that_of_the_values():
    def f(x):
        assert np.shares_memory(x, x.T)
        assert np.may_share_memory(x[:1], x)
        assert not np.shares_memory(x, x.copy())
        return x

    linad.linearize(f, A)


def test_text_and_bytes_give_traced_constants():
    """They are plain numbers, in arrays to write into."""

    def f(x):
        made = [
            np.frombuffer(np.arange(3.0).tobytes(), like=x),
            np.fromstring("1 2 3", sep=" ", like=x),
            np.loadtxt(io.StringIO("1 2 3"), like=x),
            np.genfromtxt(io.StringIO("1 2 3"), like=x),
            np.tri(3, like=x)[0],
            np.fromfunction(lambda i: 2 * i, (3,), like=x),
            np.fromiter([1, 2, 3], float, like=x),
        ]
        for m in made:
            m[0] = x[0]
        return np.stack(made)

    y, J = linad.linearize(f, V)
    assert np.array_equal(y[:, 1:], [[1, 2], [2, 3], [2, 3], [2, 3], [0, 0], [2, 4], [2, 3]])
    assert np.array_equal(J.pullback(np.ones((7, 3))), [7, 0, 0])


def test_traced_numbers_of_an_iterator():
    def f(x):
        return np.fromiter((2 * v for v in x), np.float64, like=x)

    assert np.array_equal(linad.jacobian(f)(V), 2 * np.eye(3))
    assert np.array_equal(
        linad.jacobian(lambda x: np.fromiter(x, float, 2, like=x))(V), np.eye(3)[:2]
    )
    with pytest.raises(ValueError, match="expected 4 but iterator had only 3"):
        linad.linearize(lambda x: np.fromiter(x, float, 4, like=x), V)


def test_functions_of_indices_and_required_arrays():
    J = linad.jacobian(lambda x: np.fromfunction(lambda i, j: x[0] * i + j, (2, 3), like=x))(V)
    assert np.array_equal(J[..., 0], [[0, 0, 0], [1, 1, 1]])
    found = linad.jacobian(lambda x: np.require([x[0], 1.0], requirements="C", like=x))(V)
    assert np.array_equal(found, [[1, 0, 0], [0, 0, 0]])


def test_arrays_of_texts_and_objects_are_plain():
    def f(x):
        warm = np.full_like(x, "cold", dtype=object)
        warm[np.asarray(x > 1)] = "warmer"
        made = [type(a) for a in (warm, np.empty_like(x, object), np.zeros_like(x, dtype="U3"))]
        assert made == [np.ndarray] * 3
        return x * len(warm[0])

    for g in (f, linad.jit(f)):
        np.testing.assert_array_equal(linad.jacobian(g)(np.array([0.5, 2.0])), 4 * np.eye(2))


LISTS = {
    "row": lambda x: [x[0], 1, 2.5],
    "matrix": lambda x: [[x[0], 1], [2, x[1] * 1j]],
    "cube": lambda x: [[[x[0]], [x[1]]]],
    "single precision": lambda x: [[np.float32(2), x[0].astype(np.float32)]],
    "of rows": lambda x: [x, [1, x[0]], (2, 3)],
    "tuples": lambda x: ((x[0],), [x[1]]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_numbers_are_joined_as_numpy_does(name):
    make = LISTS[name]
    x = np.array([0.5, -1.5])
    for options in ({}, {"order": "F"}, {"ndmin": 4}, {"dtype": complex}):
        expected = np.array(make(x), **options)

        def f(x, options=options):
            made = linad.numpy.array(make(x), **options)
            assert made.flags.writeable
            other = linad.numpy.array(made)
            made[...] = 2 * made  # its memory is its own
            return made, other

        for y, other in (linad.linearize(f, x)[0], linad.jit(f)(x)):
            np.testing.assert_array_equal(y, 2 * expected)
            np.testing.assert_array_equal(other, expected)
            assert y.dtype == expected.dtype
            assert y.flags.c_contiguous == expected.flags.c_contiguous
