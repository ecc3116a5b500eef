"""Joining, splitting, inserting, deleting."""

import functools
import itertools
import time

import numpy as np
import pytest
from case_values import check_error, check_value

import linad
from linad.errors import TracerError
from linad.rules import joining
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
A = rng.standard_normal((2, 3))
B = rng.standard_normal((2, 3))
ROW = rng.standard_normal((1, 3))
V = rng.standard_normal(5)
W = rng.standard_normal(3)
S = np.asarray(rng.standard_normal())
C = rng.standard_normal((2, 2, 4))
EMPTY = np.zeros((0, 3))
Z = {"complex_": True}


def listed(function):
    """A NumPy function of a list of arrays as one of arrays."""

    @functools.wraps(function)
    def call(*arrays, **params):
        return function(list(arrays), **params)

    return call


def parts(function):
    """A NumPy function that returns a list as one that returns a tuple."""

    @functools.wraps(function)
    def call(*args, **params):
        return tuple(function(*args, **params))

    return call


def block(a, b, c, d):
    """np.block of two rows."""
    return np.block([[a, b], [c, d]])


concatenate = listed(np.concatenate)
stack = listed(np.stack)

CASES = [
    Case(joining.concatenate_, A, ROW, EMPTY, axis=0, check=Z),
    Case(joining.concatenate_, C, C[:, :1], axis=1),
    Case(concatenate, A, B, check=Z),
    Case(concatenate, A, B, axis=-1),
    Case(concatenate, A, V, S.reshape(1, 1), axis=None),
    Case(concatenate, A),
    Case(concatenate, A, np.arange(6).reshape(2, 3), check={"float32": False}),
    Case(concatenate, W, V, dtype=np.complex128, check={"float32": False}),
    Case(listed(np.concat), A, ROW),
    Case(stack, A, B, check=Z),
    Case(stack, A, B, axis=-1),
    Case(stack, S, S, S, axis=0),
    Case(stack, A, B, axis=1, dtype=np.float32, check={"rtol": 1e-3, "order": 1}),
    Case(listed(np.vstack), W, A, check=Z),
    Case(listed(np.vstack), S, S),
    Case(listed(np.hstack), W, V, S),
    Case(listed(np.hstack), A, B[:, :1], check=Z),
    Case(listed(np.dstack), W, W),
    Case(listed(np.dstack), A, B, check=Z),
    Case(listed(np.dstack), C, A[:, :2]),
    Case(listed(np.column_stack), W, A.T, W, check=Z),
    Case(block, A, A[:, :1], ROW, S.reshape(1, 1), check=Z),
    Case(listed(np.block), W, S, V),
    Case(np.block, A),
    Case(parts(np.split), A, indices_or_sections=3, axis=1, check=Z),
    Case(parts(np.split), V, indices_or_sections=[1, 1, 4]),
    Case(parts(np.split), V, indices_or_sections=[2, 9]),
    Case(parts(np.array_split), V, indices_or_sections=3, check=Z),
    Case(parts(np.array_split), A, indices_or_sections=4, axis=-2),
    Case(parts(np.hsplit), C, indices_or_sections=2),
    Case(parts(np.hsplit), V, indices_or_sections=[3]),
    Case(parts(np.vsplit), A, indices_or_sections=2),
    Case(parts(np.dsplit), C, indices_or_sections=[1, 3], check=Z),
    Case(np.unstack, A, check=Z),
    Case(np.unstack, C, axis=-1),
    Case(np.append, A, V, check=Z),
    Case(np.append, A, ROW, axis=0),
    Case(np.delete, A, np.array([0, 4]), check=Z),
    Case(np.delete, A, obj=-1, axis=1),
    Case(np.delete, A, obj=slice(None, None, 2), axis=1),
    Case(np.delete, A, obj=[], axis=0),
    Case(np.insert, A, np.array(1), W, axis=0, check=Z),
    Case(np.insert, A, np.array(-1), W[:2], axis=1),
    Case(np.insert, A, np.array(0), A[:, :2], axis=1),
    Case(np.insert, A, np.array([1]), W[:2, None], axis=1),
    Case(np.insert, A, np.array([0, 2, 2]), W, axis=1, check=Z),
    Case(np.insert, A, np.array([1, 5]), S),
    Case(np.insert, V, np.array([True, False, True, False, False]), W[:2]),
    Case(np.insert, V, np.array(5), W),
]


@pytest.mark.parametrize("case", CASES, ids=itertools.count())
def test_values_are_numpys(case):
    check_value(case)


def test_splits_are_lists():
    kinds = []

    def f(x):
        kinds.extend([type(np.split(x, 5)), type(np.array_split(x, 2)), type(np.unstack(x))])
        return x

    linad.linearize(f, V)
    assert kinds == [list, list, tuple]


def test_numbers_beside_traced_scalars():
    J = linad.jacobian(lambda x: np.stack([x[0] * x[1], 1.0, 2, x[0]]))(np.array([2.0, 3.0]))
    np.testing.assert_array_equal(J, [[3, 2], [0, 0], [0, 0], [1, 0]])


def test_rows_of_a_traced_matrix():
    def f(x):
        return np.concatenate(x), np.hstack(x), np.vstack(x), np.stack(x, axis=1)

    for found, expected in zip(linad.linearize(f, A)[0], f(A), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_many_arrays_in_groups():
    n = 1100
    x = rng.standard_normal(n)
    y, J = linad.linearize(lambda x: np.stack([2 * a for a in x]), x)
    np.testing.assert_array_equal(y, 2 * x)
    np.testing.assert_array_equal(J.pushforward(x), 2 * x)
    np.testing.assert_array_equal(J.pullback(x), 2 * x)


def test_groups_promote_all_at_once():
    arrays = [np.ones(1, np.int16)] * 40 + [np.ones(1, np.uint16)] * 40

    def f(x):
        return np.concatenate([*arrays, x])

    x = np.ones(2, np.float32)
    assert linad.linearize(f, x)[0].dtype == f(x).dtype


def test_many_arrays_cost_little_in_forward_mode():
    def seconds(n):
        x = np.ones(n)
        _, J = linad.linearize(lambda x: np.stack(list(x)), x)
        best = np.inf
        for _ in range(3):
            start = time.thread_time()
            J.pushforward(x)
            best = min(best, time.thread_time() - start)
        return best

    # Eight times the arrays: 64 times the time where each writes the whole result.
    assert seconds(8000) < 24 * seconds(1000)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.concatenate([x, W]),
        lambda x: np.concatenate([x, V[:, None]]),
        lambda x: np.concatenate([x, x], axis=2),
        lambda x: np.concatenate([x, x], dtype=np.float32, casting="safe"),
        lambda x: np.concatenate([x[0, 0], x[0, 1]]),
        lambda x: np.stack([x, x], axis=3),
        lambda x: np.stack([x, W]),
        lambda x: np.block([[x], x]),
        lambda x: np.block([x, []]),
        lambda x: np.block([(x, x)]),
        lambda x: np.split(x, 2, axis=1),
        lambda x: np.array_split(x, 0),
        lambda x: np.dsplit(x, 1),
        lambda x: np.vsplit(x[0], 1),
        lambda x: np.hsplit(x[0, 0], 1),
        lambda x: np.unstack(x[0, 0]),
        lambda x: np.delete(x, 9, 0),
        lambda x: np.insert(x, 9, 0.0, 0),
        lambda x: np.insert(x, [0, 9], 0.0, 0),
        lambda x: np.insert(x, [0, 1], x[0, :2], 0),
    ],
    ids=itertools.count(),
)
def test_errors_are_numpys(f):
    check_error(f, A)


def test_out_is_refused():
    with pytest.raises(TracerError, match="concatenate"):
        linad.linearize(lambda x: np.concatenate([x, x], out=np.empty((4, 3))), A)
    with pytest.raises(TracerError, match="out="):
        linad.linearize(lambda x: np.stack([x, x], out=np.empty((2, 2, 3))), A)
