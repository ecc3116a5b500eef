"""Whose memory a tangent is, and sums that are written in it."""

import numpy as np
import pytest

import linad
from linad.arrays.tracer import Tracer
from linad.operators.structured import Diagonal
from linad.transforms.tangent_sums import (
    buffer_for,
    handed_out,
    in_c_order,
    is_own,
    plus,
    smallest,
)
from linad.transforms.tuple_entries import Entry, met

D = Diagonal(np.array([2.0, 3.0]), (2,), np.dtype(float))


def test_what_is_handed_out_shares_no_memory():
    taken = set()
    x = np.ones(4)
    first, second = handed_out(x[:2], taken), handed_out(x[2:], taken)
    assert np.shares_memory(first, x)
    assert not np.shares_memory(second, x)
    frozen = np.ones(2)
    frozen.flags.writeable = False
    assert handed_out(frozen, taken).flags.writeable


def test_sums_of_tuples_and_of_nothing():
    one = np.ones(2)
    assert plus(None, one) is one
    assert plus(one, None) is one
    assert plus(None, None) is None
    total = plus((one, None), (one, one))
    np.testing.assert_array_equal(total, [[2, 2], [1, 1]])


def test_what_may_be_written():
    assert in_c_order(np.ones((2, 3)))
    assert not in_c_order(np.ones((2, 3)).T)
    assert not is_own(np.float64(1.0))
    seen = []

    def look(x):
        seen.extend([in_c_order(x * 2), is_own(x[1:])])
        assert type(buffer_for(x * 2, (), D)) is Tracer
        return np.sum(x)

    linad.grad(look)(np.ones(3))
    assert seen == [True, False]


def test_buffers():
    np.testing.assert_array_equal(buffer_for(None, (3,), D), np.zeros((3, 2)))
    held = np.ones((2, 2)).T
    made = buffer_for(held, (), D)
    assert made.flags.c_contiguous
    assert not np.shares_memory(made, held)


@pytest.mark.parametrize("dtype", "efdgFDG")
def test_a_nan_is_found_wherever_it_is(dtype):
    for order in "CF":
        for place in np.ndindex(3, 5):
            array = np.full((3, 5), -np.inf, dtype, order)
            assert smallest(array) == smallest(array)
            parts = [array.real, array.imag] if dtype in "FDG" else [array]
            for part in parts:
                held, part[place] = part[place], np.nan
                found = smallest(array), smallest(array[:, place[1] :])
                assert all(number != number for number in found)
                part[place] = held
    assert smallest(np.zeros((0, 2), dtype)) == 0


def test_many_arguments_of_one_operator_meet_in_one_tuple(monkeypatch):
    """A sum of n tuples of n parts made products with the Hessian of a jitted loop quadratic."""
    made = []
    push = Entry.pushforward
    monkeypatch.setattr(Entry, "pushforward", lambda J, t: made.append(J) or push(J, t))

    def f(p):
        return sum(np.sin((i + 1) * p[0]) * p[1] for i in range(20))

    p, v = np.array([0.3, 2.0]), np.array([1.0, -0.5])
    J = linad.linearize(linad.jit(linad.grad(f)), p)[1]
    np.testing.assert_allclose(J @ v, linad.hessian(f)(p) @ v, rtol=1e-12)
    H = linad.hessian_operator(linad.jit(f), p)
    np.testing.assert_allclose(H @ v, linad.hessian(f)(p) @ v, rtol=1e-12)
    assert not made


def test_a_tuple_of_no_tangent_is_none():
    links = [(1, Entry(0, np.zeros(2), 2)), (2, Entry(1, np.zeros(3), 2))]
    assert met(links, [None, None, None]) is None
    one = np.ones(3)
    assert met(links, [None, None, one]) == (None, one)
